package matrix

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// r17: the thing exists. Drivers, firmware, torch and vLLM are not judged.
func (s *stack) r17() {
	if s.has("chip") && !s.chipOK {
		s.add("R17", s.noChip(), "chip")
	}
	if s.has("product") {
		if _, known := s.m.productRows(s.given["product"]); !known {
			j := judged{answer: Unknown, text: report.T("no row knows the product %q", "没有任何行收录产品 %q", s.given["product"])}
			if near := report.Nearest(s.given["product"], s.m.products()); near != "" {
				j.near = []Near{{Part: "product", Value: near}}
			}
			s.add("R17", j, "product")
		}
	}
	for _, part := range []string{"cann", "torch_npu", "vllm_ascend", "mindie", "mindspore"} {
		if s.has(part) {
			s.add("R17", s.exists(part), part)
		}
	}
}

func (m *Matrix) products() (out []string) {
	for _, a := range m.plain("os.product_aliases") {
		out = append(out, a.Str("alias"))
	}
	return out
}

// exists has no answer for a version that some row knows.
func (s *stack) exists(part string) judged {
	v, raw := s.version[part], s.given[part]
	for _, r := range s.m.plain("nonexistent.nonexistent") {
		if r.Str("component") != part || !parsePattern(schemeOf(part), r.Str("version")).has(v, raw) {
			continue
		}
		a := Answer(r.Str("verdict"))
		if guess(r) {
			a = Unknown
		}
		return judged{answer: a, file: "nonexistent", row: r, text: r.Prose("say"), near: s.m.neighbours(part, v, raw)}
	}
	known := s.m.known(part)
	if slices.ContainsFunc(known, v.Equal) {
		return judged{}
	}
	j := judged{answer: Unknown, near: s.m.neighbours(part, v, raw), text: report.T("no row knows %s %s", "没有任何行收录 %s %s", part, v.Text)}
	if release, ok := "", false; part == "cann" {
		if release, ok = s.m.ReleaseOf(raw); ok && strings.Count(raw, ".") > 2 {
			j.text = report.T("%s is a running number, that of CANN %s", "%s 是内部版本号，对应 CANN %s", raw, release)
			j.near = []Near{{Part: part, Value: release}}
		}
	}
	if v.Known() && len(known) > 0 && slices.MaxFunc(known, func(a, b Version) int { return newest(b, a) }).before(v) {
		j.text = report.T("%s %s is newer than the data of %s", "%s %s 晚于数据日期 %s", part, v.Text, s.m.DataDay)
	}
	return j
}

// known are the versions of a part that some row has.
func (m *Matrix) known(part string) (out []Version) {
	switch part {
	case "cann":
		for _, r := range m.releases() {
			out = append(out, r.v)
		}
	case "torch_npu":
		return slices.Clone(m.allPacks())
	case "vllm_ascend":
		for _, k := range m.engineKeys() {
			out = append(out, k.v)
		}
	case "mindie":
		for _, r := range m.mindies() {
			out = append(out, r.names...)
		}
	case "mindspore":
		for _, r := range m.plain("mindspore.rows") {
			v, _ := Parse(PEP440, r.Str("mindspore"))
			out = append(out, v)
		}
	}
	return out
}

// neighbours are the known versions next to one that is not known: by order
// where it can be read, else by spelling.
func (m *Matrix) neighbours(part string, v Version, raw string) (out []Near) {
	known := m.known(part)
	if v.Known() {
		slices.SortFunc(known, newest)
		return near(part, v, known, func(Version) judged { return judged{answer: Supported} })
	}
	texts := make([]string, len(known))
	for i, k := range known {
		texts[i] = k.Text
	}
	for _, word := range []string{v.Text, strings.ToUpper(raw), raw} {
		if best := report.Nearest(word, texts); best != "" {
			return []Near{{Part: part, Value: best}}
		}
	}
	return nil
}

// bad is a row of known_bad.
type bad struct {
	*book.Row
	when []condition
}

type condition struct {
	part   string
	values anyOf
	texts  []string
}

func (m *Matrix) bads() []bad {
	return table(m, "known_bad.known_bad", func(r *book.Row) bad {
		b := bad{Row: r}
		for _, f := range r.Get("when").Map {
			texts := f.Value.Strings()
			b.when = append(b.when, condition{f.Key, parseAny(schemeOf(f.Key), texts), texts})
		}
		return b
	})
}

// r18: confirmed failures whose every condition is given and holds.
func (s *stack) r18() {
	for _, b := range s.m.bads() {
		var parts []string
		for _, c := range b.when {
			if s.holds(c) {
				parts = append(parts, c.part)
			}
		}
		if len(parts) == 0 || len(parts) < len(b.when) {
			continue
		}
		j := judged{answer: Answer(b.Str("verdict")), file: "known_bad", row: b.Row, text: b.Prose("effect")}
		if fix := b.Prose("fix"); fix.En != "" {
			j.text = report.T("%s; instead: %s", "%s；改用：%s", j.text, fix)
		}
		if guess(b.Row) {
			j.answer = Unknown
		}
		s.add("R18", j, parts...)
	}
}

func (s *stack) holds(c condition) bool {
	if !s.has(c.part) {
		return false
	}
	if c.part == "chip" {
		return s.chipOK && s.chip.among(c.texts)
	}
	if schemeOf(c.part) == Text {
		return slices.ContainsFunc(c.texts, func(t string) bool { return glob(strings.ToLower(t), strings.ToLower(s.given[c.part])) })
	}
	return slices.ContainsFunc(c.values, func(p spec) bool { return p.has(s.version[c.part], s.given[c.part]) })
}
