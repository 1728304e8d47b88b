// Package codes says what an error code of the Ascend stack means: numbers of
// ACL, aclnn, HCCL, DCMI, the driver, the runtime and the graph engine, and
// the text codes (E10016, EZ9999) in both of their generations.
//
// The knowledge is compat/codes/*.yaml. A family is decoded when a question can
// concern it, because all of them together would cost more than the answer.
package codes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

const (
	folder = "codes/"
	head   = folder + "families.yaml"
	text   = "text"  // section of the text codes
	torch  = "torch" // torch_npu's own codes are put together from two tables
)

// Book answers questions about codes. It is safe for concurrent use.
type Book struct {
	b      *book.Book
	lore   func() (*lore, error)
	finder func() (*finder, error)

	mu       sync.Mutex
	sections map[string]*section
}

// Load makes a book of codes; nothing is read yet.
func Load(b *book.Book) *Book {
	c := &Book{b: b, sections: map[string]*section{}}
	c.lore = sync.OnceValues(func() (*lore, error) { return readLore(b) })
	c.finder = sync.OnceValues(func() (*finder, error) { return readFinder(b, c.lore) })
	return c
}

// lore is what all families share.
type lore struct {
	families []family // in the order in which answers are ranked
	prefixes []family // of text codes
	spans    []span
	shapes   []shape
	classes  map[string]titled
	actions  map[string]titled
	parts    map[string]titled
	kinds    map[string]titled
	sources  map[string]string
}

func readLore(b *book.Book) (l *lore, err error) {
	l = &lore{sources: map[string]string{}}
	var spelled []source
	for _, read := range []func() error{
		func() error { l.families, err = book.Rows[family](b, head, "families"); return err },
		func() error { l.prefixes, err = book.Rows[family](b, head, "prefixes"); return err },
		func() error { l.spans, err = book.Rows[span](b, head, "ranges"); return err },
		func() error { l.shapes, err = book.Rows[shape](b, head, "shapes"); return err },
		func() error { l.classes, err = words(b, "classes"); return err },
		func() error { l.actions, err = words(b, "actions"); return err },
		func() error { l.parts, err = words(b, "torch_parts"); return err },
		func() error { l.kinds, err = words(b, "torch_kinds"); return err },
		func() error { spelled, err = book.Rows[source](b, head, "sources"); return err },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	for _, s := range spelled {
		l.sources[s.ID] = s.Text
	}
	return l, nil
}

func words(b *book.Book, section string) (map[string]titled, error) {
	rows, err := book.Rows[titled](b, head, section)
	m := make(map[string]titled, len(rows))
	for _, r := range rows {
		m[r.ID] = r
	}
	return m, err
}

// section is one decoded family.
type section struct {
	rows   []row
	byID   map[string]int
	byNum  map[int64]int
	byName map[string]int
}

// section reads and indexes rows, each section once.
func (c *Book) section(files, name string) (*section, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sections[files+name]; s != nil {
		return s, nil
	}
	rows, err := book.Rows[row](c.b, folder+files, name)
	if err != nil {
		return nil, err
	}
	s := &section{rows: rows, byID: map[string]int{}, byNum: map[int64]int{}, byName: map[string]int{}}
	for i, r := range rows {
		s.byID[r.ID] = i
		if n, _, ok := number(r.ID); ok {
			s.byNum[n] = i
		}
		if r.Name != "" {
			s.byName[r.Name] = i
		}
	}
	if err := c.checkWords(rows, files); err != nil {
		return nil, err
	}
	c.sections[files+name] = s
	return s, nil
}

// checkWords holds a row's class and action against the closed lists, which
// the book cannot see.
func (c *Book) checkWords(rows []row, files string) error {
	l, err := c.lore()
	if err != nil {
		return err
	}
	for _, r := range rows {
		for _, w := range []struct {
			key, got string
			known    map[string]titled
		}{{"class", r.Class, l.classes}, {"action", r.Action, l.actions}} {
			if _, ok := w.known[w.got]; ok || w.got == "" {
				continue
			}
			return &report.Problem{
				What: report.T("%s: row %s has an unknown %s", "%s：行 %s 的 %s 未知", folder+files, r.ID, w.key),
				Why:  report.T("got %q%s", "实为 %q%s", w.got, report.Meant(w.got, keys(w.known))),
				Do:   report.T("correct the row that --compat adds", "修正 --compat 所加的行"),
				Exit: report.ExitUsage,
			}
		}
	}
	return nil
}

func keys(m map[string]titled) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

func (l *lore) family(id string) (family, bool) {
	return named(l.families, id)
}

// prefix gives the family of a text code.
func (l *lore) prefix(code string) (family, bool) {
	if len(code) < 2 {
		return family{}, false
	}
	return named(l.prefixes, code[:2])
}

func named(fs []family, id string) (family, bool) {
	i := slices.IndexFunc(fs, func(f family) bool { return f.ID == id })
	if i < 0 {
		return family{}, false
	}
	return fs[i], true
}

// ByACL gives what a return code of ACL or aclnn means, for those who call the
// library. Codes without a row give the entry of their range; false is for
// numbers that no ACL library returns.
func (c *Book) ByACL(code int) (Entry, bool) {
	l, err := c.lore()
	if err != nil {
		return Entry{}, false
	}
	for _, exact := range []bool{true, false} {
		for _, id := range []string{"acl", "aclnn"} {
			f, ok := l.family(id)
			if !ok {
				continue
			}
			if e, ok, err := c.find(l, f, int64(code), exact); ok && err == nil {
				return e, true
			}
		}
	}
	return Entry{}, false
}

// find looks a number up in one family: its row, or else the narrowest range.
func (c *Book) find(l *lore, f family, n int64, exact bool) (Entry, bool, error) {
	if n < f.Low || n > f.High {
		return Entry{}, false, nil
	}
	s, err := c.section(f.Files, f.ID)
	if err != nil {
		return Entry{}, false, err
	}
	if i, ok := s.byNum[n]; ok {
		e, err := c.entry(l, f, s.rows[i])
		return e, err == nil, err
	}
	if exact {
		return Entry{}, false, nil
	}
	best := -1
	for i, r := range l.spans {
		if r.Family == f.ID && n >= r.Low && n <= r.High && (best < 0 || r.High-r.Low < l.spans[best].High-l.spans[best].Low) {
			best = i
		}
	}
	if best < 0 {
		return Entry{}, false, nil
	}
	r := l.spans[best]
	e, err := c.entry(l, f, row{ID: spell(f, n), ACL: r.ACL, Meaning: r.Meaning, Source: r.Source})
	e.Range, e.Near = true, s.near(n)
	return e, err == nil, err
}

// spell writes a number as its family prints it.
func spell(f family, n int64) string {
	if f.Hex {
		return fmt.Sprintf("0x%02x", n)
	}
	return strconv.FormatInt(n, 10)
}

// near gives the codes on both sides of a number that has no row.
func (s *section) near(n int64) (out []string) {
	below, above := -1, -1
	var low, high int64
	for i, r := range s.rows {
		m, _, _ := number(r.ID)
		if m < n && (below < 0 || m > low) {
			below, low = i, m
		}
		if m > n && (above < 0 || m < high) {
			above, high = i, m
		}
	}
	for _, i := range []int{below, above} {
		if i >= 0 {
			out = append(out, strings.TrimSpace(s.rows[i].ID+" "+s.rows[i].Name))
		}
	}
	return out
}
