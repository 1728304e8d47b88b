package matrix

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// r06: the chip and the engine.
func (s *stack) r06() {
	if !s.has("chip") {
		return
	}
	for _, part := range []string{"vllm_ascend", "sglang", "mindie", "torch_npu", "mindspore"} {
		if !s.has(part) {
			continue
		}
		if !s.chipOK {
			s.add("R06", s.noChip(), "chip", part)
			continue
		}
		if s.chip.engines.Str(part) == "no" {
			a := Unsupported
			f := s.m.familyRow(s.chip.Generation)
			if guess(f) {
				a = Unknown
			}
			s.add("R06", judged{answer: a, file: "chips", row: f, text: report.T("%s does not run on %s", "%s 不能在 %s 上运行", part, s.chip.Generation)}, "chip", part)
			continue
		}
		switch part {
		case "vllm_ascend":
			s.add("R06", s.chipOfVLLM(), "chip", part)
		case "sglang":
			s.add("R06", s.chipOfSGLang(), "chip", part)
		}
	}
}

func (s *stack) noChip() judged {
	return judged{answer: Unknown, text: report.T("%q names no chip for certain", "%q 不能确定指哪种芯片", s.given["chip"]), near: s.m.chipsLike(s.given["chip"])}
}

func (m *Matrix) familyRow(generation string) *book.Row {
	for _, f := range m.families() {
		if f.Str("generation") == generation {
			return f
		}
	}
	return nil
}

func (s *stack) chipOfVLLM() judged {
	e := s.m.engine(s.version["vllm_ascend"])
	if e == nil {
		return judged{}
	}
	c := s.chip
	name := c.Generation
	if c.Variant != "" {
		name = c.Variant
	}
	list := strings.Join(e.soc, ", ")
	switch {
	case len(e.soc) == 0:
		return e.lacks("soc")
	case c.among(e.soc):
		return e.of(Supported, report.T("vllm-ascend %s is released for %s", "vllm-ascend %s 面向 %s 发布", e.ID, name))
	case c.among(e.doubted):
		return e.of(Unknown, report.T("sources disagree whether vllm-ascend %s runs on %s", "vllm-ascend %s 能否在 %s 上运行，来源不一致", e.ID, name))
	case c.Generation == "950" && c.Variant != "950DT" && (slices.Contains(e.soc, "950DT") || slices.Contains(e.doubted, "950DT")):
		return e.of(Unknown, report.T("vllm-ascend %s names 950DT, nothing is said about %s", "vllm-ascend %s 列出 950DT，未提及 %s", e.ID, name))
	}
	return e.of(Unsupported, report.T("vllm-ascend %s is released for %s, not for %s", "vllm-ascend %s 面向 %s 发布，不支持 %s", e.ID, list, name))
}

func (s *stack) chipOfSGLang() judged {
	v := s.version["sglang"]
	for _, r := range s.m.plain("sglang.images") {
		if parseAny(PEP440, r.Strs("sglang")).has(v) && s.chip.among(r.Strs("chips")) {
			return judged{answer: evidence(r), file: "sglang", row: r, text: suspected(r, report.T("an image of SGLang %s is listed for %s", "SGLang %s 有面向 %s 的镜像", v.Text, s.chip.Generation))}
		}
	}
	return judged{answer: Unknown, text: report.T("no row names SGLang %s for %s", "没有任何行将 SGLang %s 列为支持 %s", v.Text, s.chip.Generation)}
}

// r09: triton_ascend beside triton, chip and CANN.
func (s *stack) r09() {
	if !s.has("triton_ascend") {
		return
	}
	if s.has("triton") {
		s.add("R09", judged{answer: Unsupported, text: report.T("triton and triton-ascend overwrite each other", "triton 与 triton-ascend 会相互覆盖")}, "triton_ascend", "triton")
	}
	if s.has("chip") {
		s.add("R09", s.tritonChip(), "triton_ascend", "chip")
	}
	if s.has("cann") {
		s.add("R09", s.m.tritonCANN(s.version["triton_ascend"], s.version["cann"]), "triton_ascend", "cann")
	}
}

func (s *stack) tritonChip() judged {
	if !s.chipOK {
		return s.noChip()
	}
	f := s.m.familyRow(s.chip.Generation)
	if f == nil {
		return judged{answer: Unknown, text: report.T("nothing is said about %s", "没有关于 %s 的说明", s.chip.Generation)}
	}
	j := judged{file: "chips", row: f, answer: Unknown, text: report.T("nothing is said about triton-ascend on %s", "没有关于 triton-ascend 在 %s 上的说明", s.chip.Generation)}
	switch s.chip.engines.Str("triton_ascend") {
	case "yes":
		j.answer, j.text = evidence(f), report.T("triton-ascend runs on %s", "triton-ascend 可在 %s 上运行", s.chip.Generation)
	case "no":
		j.answer, j.text = Unsupported, report.T("triton-ascend does not run on %s", "triton-ascend 不能在 %s 上运行", s.chip.Generation)
	}
	if guess(f) {
		j.answer = Unknown
	}
	return j
}

func (m *Matrix) tritonCANN(v, cann Version) judged {
	for _, r := range m.plain("others.others") {
		if r.Str("package") == "triton-ascend" && parseAny(PEP440, r.Strs("version")).has(v) && cann.Known() && parseAny(CANN, r.Strs("cann")).has(cann) && evidence(r) == Supported {
			return judged{answer: Supported, file: "others", row: r, text: report.T("triton-ascend %s names CANN %s", "triton-ascend %s 列出 CANN %s", v.Text, cann.Text)}
		}
	}
	if e := m.engineNames("triton_ascend", v, cann); e.answer == Supported {
		return e
	}
	return judged{answer: Unknown, text: report.T("no row names triton-ascend %s with CANN %s", "没有任何行将 triton-ascend %s 与 CANN %s 列在一起", v.Text, cann.Text)}
}

// mindieRow is a row of mindie.rows.
type mindieRow struct {
	*book.Row
	names []Version // version and aliases
	cann  Version
	sets  []map[string]string
}

func (m *Matrix) mindies() []mindieRow {
	return table(m, "mindie.rows", func(r *book.Row) mindieRow {
		out := mindieRow{Row: r}
		for _, n := range append([]string{r.Str("mindie")}, r.Strs("aliases")...) {
			v, _ := Parse(Opaque, n)
			out.names = append(out.names, v)
		}
		out.cann, _ = Parse(CANN, r.Str("cann"))
		for _, e := range r.Get("sets").List {
			one := map[string]string{}
			for _, f := range e.Map {
				one[f.Key] = f.Value.Text
			}
			out.sets = append(out.sets, one)
		}
		return out
	})
}

// mindie finds the row of a MindIE version or of one of its other names.
func (m *Matrix) mindie(v Version) *mindieRow {
	for i, r := range m.mindies() {
		if slices.ContainsFunc(r.names, v.Equal) {
			return &m.mindies()[i]
		}
	}
	return nil
}

// r10: MindIE and its set.
func (s *stack) r10() {
	if !s.has("mindie") || !s.hasAny("cann", "torch", "pta", "abi", "driver") {
		return
	}
	r := s.m.mindie(s.version["mindie"])
	if r == nil || guess(r.Row) {
		j := judged{answer: Unknown, text: report.T("nothing certain is known about MindIE %s", "没有关于 MindIE %s 的确切说明", s.version["mindie"].Text)}
		if r != nil {
			j.file, j.row = "mindie", r.Row
		}
		s.add("R10", j, s.present("mindie", "cann", "torch", "pta", "abi", "driver")...)
		return
	}
	if s.has("cann") {
		s.add("R10", s.mindieCANN(r), "mindie", "cann")
	}
	if s.hasAny("torch", "pta", "abi") {
		s.add("R10", s.mindieSet(r), s.present("mindie", "torch", "pta", "abi")...)
	}
	if s.has("driver") {
		s.add("R10", s.mindieDriver(r), "mindie", "driver")
	}
}

// present are those of the parts that are given.
func (s *stack) present(parts ...string) (out []string) {
	for _, p := range parts {
		if s.has(p) {
			out = append(out, p)
		}
	}
	return out
}

func (r *mindieRow) of(a Answer, text report.Text) judged {
	if a == Supported {
		a = evidence(r.Row)
	}
	return judged{answer: a, file: "mindie", row: r.Row, text: text}
}

func (s *stack) mindieCANN(r *mindieRow) judged {
	v := s.version["cann"]
	switch {
	case r.cann.Text == "":
		return r.of(Unknown, report.T("no CANN is named for MindIE %s", "没有为 MindIE %s 列出 CANN", r.ID))
	case !v.Known():
		return unread(s, "cann")
	case r.cann.Equal(v):
		return r.of(Supported, report.T("MindIE %s goes with CANN %s", "MindIE %s 配套 CANN %s", r.ID, v.Text))
	}
	j := r.of(Unsupported, report.T("MindIE %s goes with CANN %s, not with %s", "MindIE %s 配套 CANN %s，而非 %s", r.ID, r.cann.Text, v.Text))
	j.near = []Near{{Part: "cann", Value: r.cann.Text, Row: "mindie/" + r.ID}}
	return j
}

// mindieSet: one entry of sets has all given ones, or contradicts none.
func (s *stack) mindieSet(r *mindieRow) judged {
	given := s.present("torch", "pta", "abi")
	if len(r.sets) == 0 {
		return r.of(Unknown, report.T("no set is named for MindIE %s", "没有为 MindIE %s 列出配套组合", r.ID))
	}
	open := false
	for _, one := range r.sets {
		whole, contradicts := true, false
		for _, p := range given {
			if one[p] == "" {
				whole = false
			} else if !s.sameAs(p, one[p]) {
				contradicts = true
			}
		}
		if whole && !contradicts {
			return r.of(Supported, report.T("one set of MindIE %s", "属于 MindIE %s 的同一组配套", r.ID))
		}
		open = open || !contradicts
	}
	if open {
		return r.of(Unknown, report.T("the set of MindIE %s does not name all of them", "MindIE %s 的配套组合未全部列出这些部件", r.ID))
	}
	return r.of(Unsupported, report.T("no set of MindIE %s has them", "MindIE %s 没有包含这些部件的配套组合", r.ID))
}

// sameAs compares a given part with a value of a row.
func (s *stack) sameAs(part, text string) bool {
	scheme := schemeOf(part)
	if scheme == Text {
		return strings.EqualFold(s.given[part], text)
	}
	v, _ := Parse(scheme, text)
	return v.Equal(s.version[part])
}

// mindieDriver: the drivers the notes list; what is older than all is out, and
// what is newer is left to R04.
func (s *stack) mindieDriver(r *mindieRow) judged {
	v := s.version["driver"]
	older := len(r.Strs("hdk")) > 0
	for _, t := range r.Strs("hdk") {
		p := parsePattern(HDK, t)
		if p.has(v, v.Text) {
			return r.of(Supported, report.T("driver %s is in the list of MindIE %s", "驱动 %s 在 MindIE %s 的列表中", v.Text, r.ID))
		}
		older = older && v.before(p.floorHDK())
	}
	if older {
		return r.of(Unsupported, report.T("driver %s is older than every driver listed for MindIE %s", "驱动 %s 早于 MindIE %s 所列的全部驱动", v.Text, r.ID))
	}
	return judged{}
}

// sporeRow is a row of mindspore.rows.
type sporeRow struct {
	*book.Row
	v    Version
	cann anyOf
}

func (m *Matrix) mindspores(v Version) (out []sporeRow) {
	for _, r := range table(m, "mindspore.rows", func(r *book.Row) sporeRow {
		v, _ := Parse(PEP440, r.Str("mindspore"))
		return sporeRow{r, v, parseAny(CANN, r.Strs("cann"))}
	}) {
		if r.v.Equal(v) {
			out = append(out, r)
		}
	}
	return out
}

// r11: MindSpore and CANN are those of one row; nothing else is promised.
func (s *stack) r11() {
	if !s.has("mindspore", "cann") {
		return
	}
	v, cann := s.version["mindspore"], s.version["cann"]
	j := judged{answer: Unknown, text: report.T("no row names MindSpore %s with CANN %s", "没有任何行将 MindSpore %s 与 CANN %s 列在一起", v.Text, cann.Text)}
	for _, r := range s.m.mindspores(v) {
		if j.row == nil {
			j.file, j.row = "mindspore", r.Row
		}
		for _, want := range r.Strs("cann") {
			j.near = append(j.near, Near{Part: "cann", Value: want, Row: "mindspore/" + r.ID})
		}
		if cann.Known() && r.cann.has(cann) {
			yes := report.T("the row of MindSpore %s names CANN %s", "MindSpore %s 的行列出 CANN %s", v.Text, cann.Text)
			j = judged{answer: evidence(r.Row), tier: Tier(r.Str("relation")), file: "mindspore", row: r.Row, text: suspected(r.Row, yes)}
			break
		}
	}
	s.add("R11", j, "mindspore", "cann")
}
