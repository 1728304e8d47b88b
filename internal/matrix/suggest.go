package matrix

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Ask is what a person has, wants and will not touch.
type Ask struct {
	Have  Parts    // what is there
	Want  Parts    // the engine, with or without a version ("" or "any"); none: vllm_ascend
	Fixed []string // parts that must stay: driver and firmware where a provider looks after them
}

// Advice is what to change, best first.
type Advice struct {
	Suggestions []Suggestion `json:"suggestions"`
	None        report.Text  `json:"none,omitzero"` // why there is none, or why the wanted engine is not among them
	DataDate    string       `json:"data_date"`
}

// Suggestion is a whole stack that the matrix answers for.
type Suggestion struct {
	Kind    string        `json:"kind"`    // least_change: for the wanted version; newest, newest_rc: the newest engine for what is hard to change; new_driver: where no supported stack takes the present driver
	Engine  string        `json:"engine"`  // the part that was looked for
	Row     string        `json:"row"`     // the row the stack is taken from
	Keep    []string      `json:"keep"`    // parts that stay, what is hard to change first
	Change  []Change      `json:"change"`  // what to install or replace, in that order
	Parts   Parts         `json:"parts"`   // the stack after it
	Verdict Verdict       `json:"verdict"` // of the stack after it: supported, or unknown and labelled so
	Images  []string      `json:"images,omitempty"`
	Files   []string      `json:"files,omitempty"` // CANN packages for chip and architecture
	Notes   []report.Text `json:"notes,omitempty"`

	final bool
	v     Version
	cost  []int
}

// Change is one part that a suggestion replaces or adds.
type Change struct {
	Part string `json:"part"`
	From string `json:"from,omitempty"` // empty: not there, or not given
	To   string `json:"to"`
}

// engineParts are what can be wanted.
var engineParts = []string{"vllm_ascend", "mindie", "mindspore", "sglang", "torch_npu"}

// rooted are parts no suggestion ever replaces: the machine and its system.
var rooted = []string{"chip", "soc_version", "product", "arch", "os", "kernel", "glibc"}

// EngineParts lists the parts that a suggestion can be asked for.
func EngineParts() []string { return slices.Clone(engineParts) }

// Suggest looks for stacks that keep what is hard to change: chip, system,
// driver, CANN, Python, engine, in this order. Each suggestion is resolved; one
// that is not supported is offered only where nothing supported is, and its
// verdict says what is unknown.
func (m *Matrix) Suggest(a Ask) (Advice, error) {
	if err := cmp.Or(a.Have.check(), a.Want.check()); err != nil {
		return Advice{}, err
	}
	engine, version := "vllm_ascend", ""
	for _, p := range engineParts {
		if v, ok := a.Want[p]; ok {
			engine, version = p, v
			break
		}
	}
	out := Advice{Suggestions: []Suggestion{}, DataDate: m.DataDay}
	s := m.suggester(a, engine)
	if version != "" && version != "any" {
		least := s.wanted(version)
		out.Suggestions = append(out.Suggestions, least...)
		if len(least) == 0 {
			out.None = s.why(version)
		}
	}
	rest := s.newest()
	if !slices.ContainsFunc(slices.Concat(out.Suggestions, rest), func(o Suggestion) bool { return o.Verdict.Verdict == Supported }) {
		if better := s.newDriver(); len(better) > 0 {
			rest = better // guesses about a driver that nobody promises anything for would only distract
		}
	}
	for _, best := range rest {
		if !slices.ContainsFunc(out.Suggestions, func(o Suggestion) bool { return maps.Equal(o.Parts, best.Parts) }) {
			out.Suggestions = append(out.Suggestions, best)
		}
	}
	if len(out.Suggestions) == 0 && out.None.IsZero() {
		out.None = s.why("")
	}
	return out, m.failed()
}

type suggester struct {
	m      *Matrix
	a      Ask
	engine string
	chip   Chip
	chipOK bool
	offers []offer
	// What stands against the newest offer that was refused.
	refused Version
	because report.Text
}

// offer is a stack as a row has it.
type offer struct {
	parts Parts
	row   string
	final bool
}

func (m *Matrix) suggester(a Ask, engine string) *suggester {
	s := &suggester{m: m, a: a, engine: engine}
	if s.a.Have == nil {
		s.a.Have = Parts{}
	}
	s.chip, s.chipOK = m.Chip(a.Have["chip"])
	s.offers = s.offered()
	return s
}

// wanted gives the suggestion that reaches one version with the least change;
// none when the version has no row, or what is fixed stands against it.
func (s *suggester) wanted(version string) []Suggestion {
	want, _ := Parse(schemeOf(s.engine), version)
	all := s.build(func(v Version) bool { return v.Equal(want) }, true)
	slices.SortStableFunc(all, func(a, b Suggestion) int { return cmp.Or(doubt(a, b), slices.Compare(a.cost, b.cost)) })
	for i := range all {
		all[i].Kind = "least_change"
	}
	return all[:min(1, len(all))]
}

// newest gives the newest final engine for the driver that is there, and the
// newest release candidate when that is newer still. Without a driver it is the
// newest of all.
func (s *suggester) newest() (out []Suggestion) {
	all := s.build(func(Version) bool { return true }, s.a.Have["driver"] == "")
	slices.SortStableFunc(all, func(a, b Suggestion) int {
		return cmp.Or(doubt(a, b), newest(a.v, b.v), slices.Index(tiers, a.Verdict.Tier)-slices.Index(tiers, b.Verdict.Tier), slices.Compare(a.cost, b.cost))
	})
	final := slices.IndexFunc(all, func(c Suggestion) bool { return c.final })
	if final > 0 && doubt(all[0], all[final]) < 0 { // a supported candidate goes before a final release nobody vouches for
		final = -1
	}
	if final >= 0 {
		all[final].Kind = "newest"
		out = append(out, all[final])
	}
	if len(all) > 0 && final != 0 && (final < 0 || all[0].Verdict.Verdict == Supported) {
		all[0].Kind = "newest_rc"
		out = append(out, all[0])
	}
	return out
}

// newDriver gives the stack with the least change beside a newer driver, for a
// host whose driver no supported stack takes; none where the driver must stay.
func (s *suggester) newDriver() []Suggestion {
	if s.a.Have["driver"] == "" || slices.Contains(s.a.Fixed, "driver") {
		return nil
	}
	all := slices.DeleteFunc(s.build(func(Version) bool { return true }, true), func(c Suggestion) bool {
		return c.Verdict.Verdict != Supported || s.same("driver", c.Parts["driver"], s.a.Have["driver"])
	})
	slices.SortStableFunc(all, func(a, b Suggestion) int {
		return cmp.Or(slices.Compare(a.cost[:2], b.cost[:2]), prefer(a.final, b.final), newest(a.v, b.v), slices.Compare(a.cost, b.cost))
	})
	for i := range all {
		all[i].Kind = "new_driver"
	}
	return all[:min(1, len(all))]
}

func prefer(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// blame keeps why the newest refused offer was refused.
func (s *suggester) blame(v Version, verdict Verdict) {
	if s.refused.Known() && !s.refused.before(v) {
		return
	}
	s.refused, s.because = v, verdict.Pairs[0].Text // worst first
}

// doubt puts what is supported before what is not known.
func doubt(a, b Suggestion) int {
	rank := func(s Suggestion) int {
		if s.Verdict.Verdict == Supported {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

// build makes a suggestion of every offer whose version is wanted and that the
// fixed parts allow. Unknown ones stay, for the caller to sort last.
func (s *suggester) build(want func(Version) bool, moveDriver bool) (out []Suggestion) {
	for _, o := range s.offers {
		v, _ := Parse(schemeOf(s.engine), o.parts[s.engine])
		if !want(v) {
			continue
		}
		parts, ok := s.complete(o, moveDriver)
		if !ok {
			continue
		}
		verdict, err := s.m.Judge(parts)
		if err != nil || verdict.Verdict == Unsupported {
			s.blame(v, verdict)
			continue
		}
		c := Suggestion{Engine: s.engine, Row: o.row, Parts: parts, Verdict: verdict, final: o.final, v: v}
		s.compare(&c)
		s.names(&c)
		out = append(out, c)
	}
	return out
}

// complete fills an offer up with what is there and what it needs.
func (s *suggester) complete(o offer, moveDriver bool) (Parts, bool) {
	p := maps.Clone(o.parts)
	for _, name := range rooted {
		if v := s.a.Have[name]; v != "" && name != "soc_version" {
			p[name] = v
		}
	}
	if p["driver"] = s.driver(p["cann"], moveDriver); p["driver"] == "" {
		return nil, false
	}
	if fw := s.a.Have["firmware"]; fw != "" && p["driver"] == s.a.Have["driver"] {
		p["firmware"] = fw
	} else if fw != "" {
		if p["firmware"] = s.firmware(p["driver"]); p["firmware"] == "" {
			delete(p, "firmware")
		}
	}
	if py := s.python(p); py != "" {
		p["python"] = py
	}
	for _, name := range []string{"nnal", "ops_package"} {
		if s.a.Have[name] != "" && p["cann"] != "" {
			p[name] = p["cann"]
		}
	}
	for _, name := range s.a.Fixed {
		if have := s.a.Have[name]; have != "" && p[name] != "" && !s.same(name, have, p[name]) {
			return nil, false
		}
	}
	return p, true
}

func (s *suggester) same(part, a, b string) bool {
	if part == "cann" {
		return s.m.cann(a).Equal(s.m.cann(b))
	}
	x, _ := Parse(schemeOf(part), a)
	y, _ := Parse(schemeOf(part), b)
	return x.Equal(y) || schemeOf(part) == Text && strings.EqualFold(a, b)
}

// driver keeps the one that is there when it is promised for the CANN; else it
// takes the strongest promise, and of those the least newer one. Where the
// driver must stay, or none is promised, it stays: the verdict says what is
// unknown then. Empty when the present one is refused and must not move.
func (s *suggester) driver(cann string, move bool) string {
	have, given := Parse(HDK, s.a.Have["driver"])
	c, w := s.m.cann(cann), where{s.chip, s.chipOK}
	answer := Unknown
	if given {
		if answer = s.m.driverCANN(have, c, w).answer; answer == Supported {
			return s.a.Have["driver"]
		}
	}
	move = move && !slices.Contains(s.a.Fixed, "driver")
	best, tier := Version{}, -1
	var known []Version
	if move {
		known = s.m.drivers()
	}
	for _, d := range known {
		j := s.m.driverCANN(d, c, w)
		t := slices.Index(tiers, j.tier)
		if newer := !given || have.before(d); j.answer != Supported || !newer {
			continue
		}
		better := tier < 0 || t < tier || t == tier && (given && d.before(best) || !given && best.before(d))
		if better {
			best, tier = d, t
		}
	}
	switch {
	case tier >= 0:
		return best.Text
	case answer == Unsupported:
		return ""
	}
	return s.a.Have["driver"]
}

// firmware is the one a driver is released with.
func (s *suggester) firmware(driver string) string {
	d, _ := Parse(HDK, driver)
	w := where{s.chip, s.chipOK}
	for _, r := range s.m.plain("driver.firmware_pairs") {
		if parseAny(HDK, r.Strs("hdk")).has(d) && w.covers(r.Strs("chips")) && r.Str("crossed") != "true" && !guess(r) {
			return r.Str("firmware")
		}
	}
	return ""
}

// python keeps the one that is there when every part takes it, else gives the
// newest that they do.
func (s *suggester) python(p Parts) string {
	fits := func(py string) bool {
		q := maps.Clone(p)
		q["python"] = py
		st := s.m.stack(q)
		st.r02()
		return len(st.pairs) > 0 && !slices.ContainsFunc(st.pairs, func(p Pair) bool { return p.Verdict != Supported })
	}
	for _, py := range []string{s.a.Have["python"], "3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8"} {
		if py != "" && fits(py) {
			return py
		}
	}
	return s.a.Have["python"]
}

// effort is how hard a part is to change, in places of the cost: driver, CANN,
// Python, the rest.
var effort = map[string]int{"driver": 0, "cann": 1, "nnal": 1, "ops_package": 1, "python": 2}

// compare says what stays and what changes, and counts the cost.
func (s *suggester) compare(c *Suggestion) {
	c.cost = make([]int, 4)
	c.Keep, c.Change = []string{}, []Change{}
	for _, name := range PartNames() {
		to, have := c.Parts[name], s.a.Have[name]
		switch {
		case to == "":
		case have != "" && s.same(name, have, to):
			c.Keep = append(c.Keep, name)
		default:
			c.Change = append(c.Change, Change{name, have, to})
			if name == "firmware" { // comes with the driver
				continue
			}
			at, ok := effort[name]
			if !ok {
				at = 3
			}
			c.cost[at]++
		}
	}
	if s.a.Have["driver"] != "" && c.Parts["driver"] != s.a.Have["driver"] {
		c.Notes = append(c.Notes, report.T("upgrading: firmware first, then the driver, then a reboot", "升级：先固件，再驱动，然后重启"))
		if s.a.Have["firmware"] != "" && c.Parts["firmware"] == "" {
			c.Notes = append(c.Notes, report.T("the firmware of driver %s is in no row: take the one of its release", "没有任何行列出驱动 %s 的固件：使用同一发布包中的固件", c.Parts["driver"]))
		}
	}
	for _, name := range PartNames() {
		if s.a.Have[name] != "" && c.Parts[name] == "" && name != "soc_version" && name != "firmware" {
			c.Notes = append(c.Notes, report.T("%s %s was not judged with the new set", "%s %s 未与新的组合一起判断", name, s.a.Have[name]))
		}
	}
	if c.Verdict.Tier == Compatible {
		c.Notes = append(c.Notes, report.T("compatible is thin: what is old runs, new features may want a newer driver or CANN", "compatible 级别较弱：已有功能可运行，新功能可能需要更新的驱动或 CANN"))
	}
}

// why says what stands in the way when there is nothing to suggest.
func (s *suggester) why(version string) report.Text {
	if version != "" {
		want, _ := Parse(schemeOf(s.engine), version)
		if !slices.ContainsFunc(s.m.known(s.engine), want.Equal) && s.engine != "sglang" {
			return report.T("no row knows %s %s", "没有任何行收录 %s %s", s.engine, version)
		}
		if slices.Contains(s.a.Fixed, "driver") && s.a.Have["driver"] != "" {
			return report.T("%s %s has no stack on driver %s, which must stay", "%s %s 在必须保留的驱动 %s 上没有可用组合", s.engine, version, s.a.Have["driver"])
		}
		return report.T("no stack of %s %s fits what must stay", "%s %s 没有与必须保留的部件相配的组合", s.engine, version)
	}
	if !s.because.IsZero() {
		return report.T("no row has a stack of %s for what must stay; against %s stands: %s", "没有任何行为必须保留的部件给出 %s 的组合；%s 不可用的原因：%s", s.engine, s.refused.Text, s.because)
	}
	return report.T("no row has a stack of %s for what must stay", "没有任何行为必须保留的部件给出 %s 的组合", s.engine)
}
