package codes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// longest is the length of a query that is looked at; log lines are shorter.
const longest = 4096

// Explain gives every meaning of a code, the likeliest first. The query is a
// code in any spelling (107002, 0x7BC80, -8005, ez9999, a name with or without
// the prefix of its family) or a log line that holds some. A number without a
// row gives what is known of its range, marked so. Without any meaning the
// error is a *report.Problem with the nearest known code: exit 3 for what
// looks like a code, 64 for what does not.
func (c *Book) Explain(query string) ([]Entry, error) {
	l, err := c.lore()
	if err != nil {
		return nil, err
	}
	q := strings.ToUpper(strings.Trim(strings.ToValidUTF8(query[:min(len(query), longest)], ""), " \t\r\n\"'`()[]{}:,.;"))
	var entries []Entry
	n, hex, isNumber := number(q)
	switch {
	case isText(q):
		entries, err = c.byText(l, q)
	case isTorch(q):
		entries = byTorch(l, q)
	case isNumber:
		entries, err = c.byNumber(l, n, hex)
	case isWord(q):
		if entries, err = c.byBareHex(l, q); err == nil && len(entries) == 0 {
			entries, err = c.byName(l, q)
		}
	default:
		entries, err = c.byLine(query[:min(len(query), longest)])
	}
	if err == nil && len(entries) == 0 {
		err = c.unknown(l, q)
	}
	return entries, err
}

// isWord is true for the letters of a constant's name.
func isWord(q string) bool {
	other := func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	return q != "" && len(q) <= 80 && strings.IndexFunc(q, other) < 0
}

func (c *Book) byText(l *lore, code string) ([]Entry, error) {
	f, ok := l.prefix(code)
	if !ok {
		return nil, nil
	}
	s, err := c.section(f.Files, text)
	if err != nil {
		return nil, err
	}
	r := row{ID: code, Meaning: f.Title, Source: f.Source}
	i, known := s.byID[code]
	switch {
	case known:
		r = s.rows[i]
	case isInner(code):
		r.Class = "internal"
	}
	e, err := c.entry(l, f, r)
	e.Range = !known
	if !known {
		e.Near = s.nearText(code)
	}
	return []Entry{e}, err
}

// nearText gives the known text codes on both sides, of the same prefix.
func (s *section) nearText(code string) (out []string) {
	below, above := "", ""
	for _, r := range s.rows {
		switch {
		case r.ID[:2] != code[:2]:
		case r.ID < code:
			below = max(below, r.ID)
		case above == "" || r.ID < above:
			above = r.ID
		}
	}
	for _, id := range []string{below, above} {
		if id != "" {
			out = append(out, id)
		}
	}
	return out
}

// byTorch puts a code of torch_npu together: ERR, part, kind.
func byTorch(l *lore, code string) []Entry {
	part, ok := l.parts[code[3:5]]
	kind, known := l.kinds[code[5:]]
	if !ok && !known {
		return nil
	}
	e := Entry{Code: code, Family: torch, FamilyTitle: report.T("torch_npu", "torch_npu"), Name: part.Name, Range: !ok || !known,
		Meaning: report.T("%s: %s", "%s：%s", part.Title, kind.Title), Action: kind.Action, ActionText: l.actions[kind.Action].Title,
		Sources: []string{l.sources[cmp.Or(part.Source, kind.Source)]}, Status: "src"}
	switch {
	case !ok:
		e.Meaning = kind.Title
	case !known:
		e.Meaning = part.Title
	}
	return []Entry{e}
}

// ranked is an entry with its distance from what was written: 0 as spelled,
// 1 in the other base, 2 with a sign or width lost, 3 an exit status.
type ranked struct {
	Entry
	far int
}

func (c *Book) byNumber(l *lore, n int64, hex bool) ([]Entry, error) {
	var all []ranked
	for _, f := range l.families {
		found, err := c.inFamily(l, f, n, hex)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		for _, f := range l.families {
			e, ok, err := c.find(l, f, n, false)
			if err != nil {
				return nil, err
			}
			if ok {
				all = append(all, ranked{e, base(f, hex)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return a.far - b.far })
	entries := make([]Entry, len(all))
	for i, r := range all {
		entries[i] = r.Entry
	}
	return entries, nil
}

func base(f family, hex bool) int {
	if f.Hex == hex {
		return 0
	}
	return 1
}

// inFamily tries a number as it stands and in the forms that logs and shells
// make of it.
func (c *Book) inFamily(l *lore, f family, n int64, hex bool) (out []ranked, err error) {
	try := func(m int64, far int, as report.Text) {
		e, ok, bad := c.find(l, f, m, true)
		if err == nil && bad != nil {
			err = bad
		}
		if ok {
			e.As = as
			out = append(out, ranked{e, far})
		}
	}
	try(n, base(f, hex), report.Text{})
	if n > 1<<31 && n < 1<<32 {
		try(n-1<<32, 2, report.T("read as a signed 32-bit number", "按有符号 32 位数读取"))
	}
	if n != 0 {
		try(-n, 2, report.T("with the other sign", "正负号相反"))
	}
	if f.Low < 0 && n > 0 && n < 256 && !hex { // exit status of a tool that ends with its negative code
		for m := int64(-9005); m <= -8001; m++ {
			if m&255 == n {
				try(m, 3, report.T("exit status %d of npu-smi is its lowest 8 bits", "npu-smi 的退出码 %d 是其最低 8 位", n))
			}
		}
	}
	return out, err
}

// byName finds constants by their whole name or by its end.
func (c *Book) byName(l *lore, q string) ([]Entry, error) {
	var entries []Entry
	for _, whole := range []bool{true, false} {
		for _, f := range l.families {
			if f.Names == "" || whole && !strings.HasPrefix(q, f.Names) {
				continue // with the prefix of a family, no other one is decoded
			}
			s, err := c.section(f.Files, f.ID)
			if err != nil {
				return nil, err
			}
			for _, r := range s.rows {
				if r.Name == q || !whole && len(q) > 3 && strings.HasSuffix(r.Name, "_"+q) {
					e, err := c.entry(l, f, r)
					if err != nil {
						return nil, err
					}
					entries = append(entries, e)
				}
			}
		}
		if len(entries) > 0 {
			break
		}
	}
	return entries, nil
}

// byBareHex reads hexadecimal digits without 0x, as in "ret 7BC80".
func (c *Book) byBareHex(l *lore, q string) ([]Entry, error) {
	n, err := strconv.ParseInt(q, 16, 63)
	if len(q) < 4 || err != nil {
		return nil, nil
	}
	return c.byNumber(l, n, true)
}

// byLine explains the codes of a log line, each once.
func (c *Book) byLine(line string) ([]Entry, error) {
	hits, err := c.Find(line)
	var entries []Entry
	for _, h := range hits {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Code == h.Entry.Code && e.Family == h.Entry.Family }) {
			entries = append(entries, h.Entry)
		}
	}
	return entries, err
}

// unknown names the nearest known code.
func (c *Book) unknown(l *lore, q string) error {
	var known []string
	for _, f := range l.families {
		s, err := c.section(f.Files, f.ID)
		if err != nil {
			return err
		}
		for _, r := range s.rows {
			known = append(known, strings.ToUpper(r.ID), r.Name)
		}
	}
	for _, f := range l.prefixes {
		s, err := c.section(f.Files, text)
		if err != nil {
			return err
		}
		for id := range s.byID {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	p := &report.Problem{
		What: report.T("nothing is known of the code %s%s", "没有错误码 %s 的资料%s", shown(q), report.Meant(q[:min(len(q), 80)], slices.Compact(known))),
		Do:   report.T("give one code as the log prints it: 107002, 0x7BC80, EZ9999, -8005, HCCL_E_TIMEOUT", "按日志原样给出一个错误码：107002、0x7BC80、EZ9999、-8005 或 HCCL_E_TIMEOUT"),
		Exit: report.ExitNo,
	}
	if !strings.ContainsAny(q, "0123456789_") || strings.ContainsAny(q, " \t\n") {
		p.Exit = report.ExitUsage
	}
	return p
}

// shown cuts and quotes what was asked.
func shown(q string) string {
	if isWord(strings.TrimLeft(q, "+-")) {
		return q
	}
	if v := []rune(q); len(v) > 60 {
		q = string(v[:60]) + "..."
	}
	return fmt.Sprintf("%q", q)
}
