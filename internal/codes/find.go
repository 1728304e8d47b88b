package codes

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Hit is a code, or a known sign of free text, in a log.
type Hit struct {
	Line  int    `json:"line"` // from 1
	Text  string `json:"text"` // what matched
	Entry Entry  `json:"entry"`
}

// finder holds the compiled shapes and signs.
type finder struct {
	shapes []compiled
	signs  []compiled
}

type compiled struct {
	*regexp.Regexp
	shape
	sign
}

// Find gives the codes that a text holds, line by line, in order. Only forms
// that logs are known to print count, so a bare number is no hit, and a number
// without a row is none either. Terminal colours must be gone already.
func (c *Book) Find(log string) ([]Hit, error) {
	l, err := c.lore()
	if err != nil {
		return nil, err
	}
	f, err := c.finder()
	if err != nil {
		return nil, err
	}
	var hits []Hit
	no := 0
	for line := range strings.Lines(log) {
		no++
		found, err := c.inLine(l, f, no, strings.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	return hits, nil
}

// readFinder compiles everything once; the rows' Check has tried each pattern.
func readFinder(b *book.Book, lore func() (*lore, error)) (*finder, error) {
	l, err := lore()
	if err != nil {
		return nil, err
	}
	signs, err := book.Rows[sign](b, folder+"patterns.yaml", "patterns")
	if err != nil {
		return nil, err
	}
	f := &finder{}
	for _, s := range l.shapes {
		f.shapes = append(f.shapes, compiled{Regexp: regexp.MustCompile(s.Re), shape: s})
	}
	for _, s := range signs {
		f.signs = append(f.signs, compiled{Regexp: regexp.MustCompile(s.Re), sign: s})
	}
	return f, nil
}

// inLine tries the shapes in their order; what one took is gone for the next.
func (c *Book) inLine(l *lore, f *finder, no int, line string) (hits []Hit, err error) {
	rest := line
	at := map[int]Hit{} // by place, to give them in order
	for _, s := range f.shapes {
		for _, m := range s.FindAllStringSubmatchIndex(rest, -1) {
			code := strings.ToUpper(line[m[2]:m[3]])
			entries, err := c.shaped(l, s.shape.Family, code)
			if err != nil {
				return nil, err
			}
			if len(entries) == 0 {
				continue
			}
			at[m[2]] = Hit{no, line[m[0]:m[1]], entries[0]}
			rest = rest[:m[2]] + strings.Repeat(" ", m[3]-m[2]) + rest[m[3]:]
		}
	}
	for _, place := range slices.Sorted(maps.Keys(at)) {
		h := at[place]
		if !slices.ContainsFunc(hits, func(o Hit) bool { return o.Entry.Code == h.Entry.Code && o.Entry.Family == h.Entry.Family }) {
			hits = append(hits, h) // a line that says its code twice, as those of inner errors do, is one hit
		}
	}
	for _, s := range f.signs {
		if m := s.FindString(line); m != "" {
			k := l.classes[s.Class]
			hits = append(hits, Hit{no, m, Entry{Code: s.sign.ID, Family: "sign", FamilyTitle: report.T("sign in free text", "自由文本中的特征"),
				Meaning: k.Title, Remedy: s.Remedy, Class: s.Class, ClassText: k.Title, Action: k.Action, ActionText: l.actions[k.Action].Title,
				Sources: []string{l.sources[s.sign.Source]}, Status: s.Status}})
		}
	}
	return hits, nil
}

// shaped looks a code up in the families that its shape allows.
func (c *Book) shaped(l *lore, families, code string) ([]Entry, error) {
	switch families {
	case text:
		return c.byText(l, code)
	case torch:
		return byTorch(l, code), nil
	case "":
		return c.byName(l, code)
	}
	n, _, _ := number(code)
	for _, id := range strings.Fields(families) {
		f, _ := l.family(id)
		if e, ok, err := c.find(l, f, n, true); ok || err != nil {
			return []Entry{e}, err
		}
	}
	return nil, nil
}
