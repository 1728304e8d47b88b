package matrix

import (
	"fmt"
	"slices"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// pack is one published torch_npu package: a row of releases, tagged_packages
// or dev_and_local.
type pack struct {
	*book.Row
	v Version
}

func (p pack) cann() anyOf { return parseAny(CANN, p.Strs("cann")) }

var packSections = []string{"releases", "tagged_packages", "dev_and_local"}

// packsOf are the rows of one section.
func (m *Matrix) packsOf(section string) []pack {
	return table(m, "torch_npu."+section, func(r *book.Row) pack {
		v, _ := Parse(PEP440, r.Str("torch_npu"))
		return pack{r, v}
	})
}

// packs are the rows of a torch_npu version, the official table first.
func (m *Matrix) packs(v Version) (out []pack) {
	for _, section := range packSections {
		for _, p := range m.packsOf(section) {
			if p.v.Equal(v) {
				out = append(out, p)
			}
		}
	}
	return out
}

// allPacks are all versions of torch_npu that have a row, newest first.
func (m *Matrix) allPacks() []Version { return m.sorted("packs", m.everyPack) }

func (m *Matrix) everyPack() (out []Version) {
	for _, section := range packSections {
		for _, p := range m.packsOf(section) {
			out = append(out, p.v)
		}
	}
	return out
}

func guess(r *book.Row) bool { return r.Str("status") == "guess" }

func disputed(r *book.Row) bool { return r.Str("disputed") == "true" }

// evidence turns a row that says yes into an answer: a guess and a disputed row
// never give supported.
func evidence(r *book.Row) Answer {
	if guess(r) || disputed(r) {
		return Unknown
	}
	return Supported
}

// suspected is the sentence of a yes that is no evidence.
func suspected(r *book.Row, yes report.Text) report.Text {
	switch {
	case guess(r) || r.Str("cann_status") == "guess":
		return report.T("only suspected, no source says so: %s", "仅为推测，没有来源说明：%s", yes)
	case disputed(r):
		return report.T("sources disagree: %s", "来源之间不一致：%s", yes)
	}
	return yes
}

// r01: torch and torch_npu have the same release part.
func (s *stack) r01() {
	if !s.has("torch", "torch_npu") {
		return
	}
	t, n := s.version["torch"], s.version["torch_npu"]
	j := judged{answer: Supported, text: report.T("both are %s", "两者均为 %s", t.Base())}
	switch {
	case !t.Known() || !n.Known():
		j = unread(s, "torch", "torch_npu")
	case t.Base() != n.Base():
		j = judged{answer: Unsupported, text: report.T("torch_npu %s is built for torch %s, not for %s", "torch_npu %s 为 torch %s 构建，不适用于 %s", n.Text, n.Base(), t.Text),
			near: []Near{{Part: "torch", Value: n.Base()}}}
	}
	s.add("R01", j, "torch", "torch_npu")
}

// unread is the answer for a version that its scheme cannot read.
func unread(s *stack, parts ...string) judged {
	for _, p := range parts {
		if v := s.version[p]; schemeOf(p) != Text && !v.Known() {
			return judged{answer: Unknown, text: report.T("%q is not the spelling of a %s version", "%q 不是 %s 版本的写法", s.given[p], p)}
		}
	}
	return judged{}
}

// r02: Python inside the range of each thing that has one.
func (s *stack) r02() {
	if !s.has("python") {
		return
	}
	py := s.version["python"]
	if s.hasAny("torch_npu", "vllm_ascend", "mindspore", "mindie") && !py.Known() {
		s.add("R02", unread(s, "python"), "python")
		return
	}
	if s.has("torch_npu") {
		s.add("R02", s.m.pythonOfTorch(s.version["torch_npu"], py), "python", "torch_npu")
	}
	for _, e := range []struct{ part, file, section string }{
		{"vllm_ascend", "vllm_ascend", "releases"}, {"mindspore", "mindspore", "rows"}, {"mindie", "mindie", "rows"}} {
		for _, r := range s.engineRows(e.part) {
			if s.has(e.part) && r.Str("python") != "" {
				s.add("R02", inPythons(e.file, r, parsePythons(r.Str("python")), py), "python", e.part)
				break
			}
		}
	}
	s.pythonOfCANN(py)
}

// pythonOfTorch looks for the narrowest statement first: the row of the
// release, that of the tag, the torch line.
func (m *Matrix) pythonOfTorch(v, py Version) judged {
	for _, section := range packSections[:2] {
		for _, p := range m.packsOf(section) {
			if p.v.Equal(v) && p.Str("python") != "" {
				return inPythons("torch_npu", p.Row, parsePythons(p.Str("python")), py)
			}
		}
	}
	if !v.Known() {
		return judged{}
	}
	for _, r := range m.plain("torch_npu.python_by_torch") {
		if slices.ContainsFunc(r.Strs("torch"), func(t string) bool { p, _ := Parse(PEP440, t); return p.Known() && p.Base() == v.Base() }) {
			return inPythons("torch_npu", r, parsePythons(r.Str("python")), py)
		}
	}
	return judged{}
}

func inPythons(file string, r *book.Row, span pythons, py Version) judged {
	j := judged{file: file, row: r, answer: evidence(r)}
	j.text = report.T("Python %s is inside %s", "Python %s 在 %s 范围内", py.Text, r.Str("python"))
	for _, d := range r.Strs("python_disputed") {
		if v, _ := Parse(Opaque, d); v.minor().Equal(py.minor()) {
			j.answer = Unknown
			j.text = report.T("sources disagree about Python %s", "关于 Python %s 的来源不一致", py.Text)
			return j
		}
	}
	if !span.has(py) {
		if !guess(r) {
			j.answer = Unsupported
		}
		j.text = report.T("Python %s is outside %s", "Python %s 不在 %s 范围内", py.Text, r.Str("python"))
	}
	return j
}

// pythonOfCANN: only a Python outside the guide's range counts, as unknown.
func (s *stack) pythonOfCANN(py Version) {
	r := s.m.release(s.version["cann"])
	if !s.has("cann") || r == nil || !py.Known() {
		return
	}
	span := r.Get("python")
	low, _ := Parse(Opaque, span.Str("min"))
	high, _ := Parse(Opaque, span.Str("max"))
	if low.Known() && py.minor().before(low.minor()) || high.Known() && high.minor().before(py.minor()) {
		s.add("R02", judged{answer: Unknown, file: "cann", row: r.Row, text: report.T("Python %s is outside %s to %s, the range of the installation guide",
			"Python %s 不在安装指南的范围 %s 到 %s 内", py.Text, low.Text, high.Text)}, "python", "cann")
	}
}

// ptaRow is a row of torch_npu.pta_cann: one cell line of the release notes.
type ptaRow struct {
	*book.Row
	pta  anyOf
	line [2]int64
	cann anyOf
}

func (m *Matrix) ptaRows() []ptaRow {
	return table(m, "torch_npu.pta_cann", func(r *book.Row) ptaRow {
		p := ptaRow{Row: r, pta: parseAny(Opaque, r.Strs("pta")), cann: parseAny(CANN, r.Strs("cann"))}
		p.line, _ = ptaLine(r.Str("pta"))
		return p
	})
}

// ptaLine is the first two numbers of a PTA; 26.1.0-beta.2 is of the line 26.1.
func ptaLine(text string) (line [2]int64, ok bool) {
	n, _ := fmt.Sscanf(text, "%d.%d", &line[0], &line[1])
	return line, n == len(line)
}

// r03: torch_npu, or the PTA release it belongs to, and CANN.
func (s *stack) r03() {
	if !s.has("cann") {
		return
	}
	cann := s.version["cann"]
	together := s.has("torch_npu", "pta") && slices.ContainsFunc(s.m.packs(s.version["torch_npu"]), s.ofGivenPTA)
	if s.has("torch_npu") {
		j := s.m.torchCANN(s.version["torch_npu"], cann)
		if j.answer != Supported && !s.lonely {
			j.near = s.m.nearTorch(s.version["torch_npu"], cann)
		}
		if together {
			s.add("R03", j, "torch_npu", "pta", "cann")
		} else {
			s.add("R03", j, "torch_npu", "cann")
		}
	}
	if s.has("pta") && !together {
		s.add("R03", s.m.ptaCANN([]Version{s.version["pta"]}, cann), "pta", "cann")
	}
}

// ofGivenPTA: the package is of the PTA that is given, so one answer counts for
// both. Where they differ each is asked.
func (s *stack) ofGivenPTA(p pack) bool {
	pta, _ := Parse(Opaque, p.Str("pta"))
	return !disputed(p.Row) && pta.Text == s.version["pta"].Text
}

func (m *Matrix) nearTorch(npu, cann Version) []Near {
	out := near("cann", cann, m.finals(), func(c Version) judged { return m.torchCANN(npu, c) })
	base := npu.Base()
	return append(out, near("torch_npu", npu, slices.DeleteFunc(slices.Clone(m.allPacks()), func(v Version) bool { return v.Base() != base }),
		func(n Version) judged { return m.torchCANN(n, cann) })...)
}

// finals are the finished CANN releases, newest first.
func (m *Matrix) finals() []Version { return m.sorted("finals", m.allFinals) }

func (m *Matrix) allFinals() (out []Version) {
	for _, r := range m.releases() {
		if r.v.Finished() {
			out = append(out, r.v)
		}
	}
	return out
}

func (m *Matrix) torchCANN(npu, cann Version) judged {
	packs := m.packs(npu)
	var ptas []Version
	var doubt judged
	for _, p := range packs {
		if pta, _ := Parse(Opaque, p.Str("pta")); !disputed(p.Row) && !guess(p.Row) && pta.Text != "" {
			ptas = append(ptas, pta)
		}
		if !cann.Known() || !p.cann().has(cann) {
			continue
		}
		yes := report.T("the row of torch_npu %s names CANN %s", "torch_npu %s 的行列出 CANN %s", npu.Text, cann.Text)
		relation := Tier(p.Str("relation"))
		if evidence(p.Row) == Supported && p.Str("cann_status") != "guess" && (relation == "" || slices.Contains(tiers, relation)) {
			return judged{answer: Supported, tier: relation, file: "torch_npu", row: p.Row, text: yes}
		}
		if doubt.answer == "" || disputed(p.Row) {
			doubt = judged{answer: Unknown, file: "torch_npu", row: p.Row, text: suspected(p.Row, yes)}
		}
	}
	j := m.ptaCANN(ptas, cann)
	if j.answer == Supported {
		return j
	}
	if e := m.engineNames("torch_npu", npu, cann); e.answer == Supported {
		return e
	}
	if doubt.answer != "" && (disputed(doubt.row) || j.answer != Unsupported) {
		return doubt
	}
	if len(packs) == 0 {
		j.text = report.T("no row knows torch_npu %s", "没有任何行收录 torch_npu %s", npu.Text)
	}
	return j
}

// ptaCANN asks the lists of the PTA releases. Without one of them the answer is
// unknown.
func (m *Matrix) ptaCANN(ptas []Version, cann Version) judged {
	j := judged{answer: Unknown, text: report.T("no list names CANN %s for it", "没有列表为其列出 CANN %s", cann.Text)}
	if !cann.Known() {
		j.text = report.T("%q is not the spelling of a CANN version", "%q 不是 CANN 版本的写法", cann.Text)
		return j
	}
	var lowest Version
	var low *book.Row
	for _, r := range m.ptaRows() {
		for _, p := range ptas {
			if r.pta.has(p) && r.cann.has(cann) && evidence(r.Row) == Supported {
				return judged{answer: Supported, tier: Compatible, file: "torch_npu", row: r.Row, text: report.T("the list of PTA %s has CANN %s", "PTA %s 的列表包含 CANN %s", r.Str("pta"), cann.Text)}
			}
			if line, ok := ptaLine(p.Text); !ok || r.line != line || guess(r.Row) {
				continue
			}
			for _, c := range r.cann {
				if f := c[0].floor(); low == nil || f.before(lowest) {
					lowest, low = f, r.Row
				}
			}
		}
	}
	for _, p := range ptas {
		if e := m.engineNames("pta", p, cann); e.answer == Supported {
			return e
		}
	}
	if low != nil && cann.before(lowest) {
		return judged{answer: Unsupported, file: "torch_npu", row: low, text: report.T("CANN %s is older than %s, the lowest of the list of its PTA line",
			"CANN %s 早于 %s，即其 PTA 系列列表中的最低版本", cann.Text, lowest.Text)}
	}
	return j
}
