package matrix

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Resolve judges a stack with every rule whose parts are given. An unknown part
// name is a *report.Problem (exit 64); a version nobody knows is no error but an
// unknown that names its neighbours.
func (m *Matrix) Resolve(given Parts) (Verdict, error) {
	return m.resolve(given, true)
}

// Judge is Resolve without neighbours, which cost more than the verdict: for
// whoever asks about many stacks.
func (m *Matrix) Judge(given Parts) (Verdict, error) { return m.resolve(given, false) }

func (m *Matrix) resolve(given Parts, neighbours bool) (Verdict, error) {
	if err := given.check(); err != nil {
		return Verdict{}, err
	}
	s := m.stack(given)
	s.lonely = !neighbours
	for _, rule := range rules {
		rule(s)
	}
	v := Verdict{Parts: s.canonical(), Pairs: append([]Pair{}, s.pairs...), DataDate: m.DataDay}
	v.Unjudged, v.Unchecked = s.unjudged(), s.unchecked()
	v.sum()
	return v, m.failed()
}

// rules are R01 to R18. Their order never matters for the verdict.
var rules = []func(*stack){
	(*stack).r01, (*stack).r02, (*stack).r03, (*stack).r04, (*stack).r05, (*stack).r06, (*stack).r07, (*stack).r08, (*stack).r09,
	(*stack).r10, (*stack).r11, (*stack).r12, (*stack).r13, (*stack).r14, (*stack).r15, (*stack).r16, (*stack).r17, (*stack).r18,
}

// stack is what is asked about, parsed.
type stack struct {
	m       *Matrix
	given   Parts
	version map[string]Version
	chip    Chip
	chipOK  bool
	pairs   []Pair
	lonely  bool // nobody asks for neighbours
}

func (m *Matrix) stack(given Parts) *stack {
	s := &stack{m: m, given: given, version: make(map[string]Version, len(given))}
	for name, text := range given {
		switch scheme := schemeOf(name); scheme {
		case CANN:
			s.version[name] = m.cann(text)
		default:
			s.version[name], _ = Parse(scheme, text)
		}
	}
	if s.has("chip") {
		s.chip, s.chipOK = m.Chip(given["chip"])
	}
	if s.has("arch") {
		s.version["arch"] = Version{Text: archOf(given["arch"])}
	}
	return s
}

func archOf(a string) string {
	switch a = strings.ToLower(a); a {
	case "arm64":
		return "aarch64"
	case "amd64":
		return "x86_64"
	}
	return a
}

func (s *stack) has(names ...string) bool {
	for _, n := range names {
		if s.given[n] == "" {
			return false
		}
	}
	return true
}

func (s *stack) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return s.has(n) })
}

func (s *stack) canonical() Parts {
	out := maps.Clone(s.given)
	for name, v := range s.version {
		out[name] = cmp.Or(v.Text, out[name])
	}
	return out
}

// judged is what the rows say about one question.
type judged struct {
	answer Answer // empty: nothing to say
	tier   Tier
	file   string // the file of the row
	row    *book.Row
	text   report.Text
	near   []Near
}

// add keeps what a rule found out about these parts.
func (s *stack) add(rule string, j judged, parts ...string) {
	if j.answer == "" {
		return
	}
	p := Pair{Rule: rule, Parts: parts, Verdict: j.answer, Text: j.text, Nearest: j.near}
	if j.answer == Supported {
		p.Tier = cmp.Or(j.tier, Matched)
	}
	if j.row != nil {
		p.Row, p.Source, p.Status = j.file+"/"+j.row.ID, j.row.Str("source"), j.row.Str("status")
		p.Date = cmp.Or(j.row.Str("date"), dateOf(p.Source))
		p.Conflict = s.conflicts(j, parts)
	} else if r := s.m.rule(rule); r != nil {
		p.Source, p.Status = r.Str("source"), r.Str("status")
		p.Date = dateOf(p.Source)
	}
	s.pairs = append(s.pairs, p)
}

// rule finds the row of a rule.
func (m *Matrix) rule(id string) *book.Row {
	for _, r := range m.plain("rules.rules") {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// dateOf finds the day in a source of the form NAME@YYYY-MM-DD, the newest if
// there are several.
func dateOf(source string) (day string) {
	for _, piece := range strings.Split(source, "@")[1:] {
		n := 0
		for n < len(piece) && n < 10 && (piece[n] >= '0' && piece[n] <= '9' || piece[n] == '-') {
			n++
		}
		if d := strings.TrimRight(piece[:n], "-"); len(d) >= 7 && d[4] == '-' {
			day = max(day, d)
		}
	}
	return day
}

// dispute is a row of conflicts with the parts its subject names: "HDK of CANN
// 9.1.0" names cann 9.1.0, and driver without a version.
type dispute struct {
	*book.Row
	names map[string]anyOf
}

func (m *Matrix) disputes() []dispute {
	return table(m, "conflicts.conflicts", func(r *book.Row) dispute {
		d := dispute{r, map[string]anyOf{}}
		part := ""
		for _, w := range strings.FieldsFunc(r.Prose("about").En, func(r rune) bool { return strings.ContainsRune(" ,()/", r) }) {
			if p := called[w]; p != "" {
				part = p
				d.names[part] = nil
			} else if part != "" && w[0] >= '0' && w[0] <= '9' {
				d.names[part] = append(d.names[part], parseSpec(schemeOf(part), w))
			}
		}
		return d
	})
}

// called are the names that the subjects of conflicts use for parts.
var called = map[string]string{"CANN": "cann", "HDK": "driver", "torch_npu": "torch_npu", "vllm-ascend": "vllm_ascend",
	"MindSpore": "mindspore", "triton-ascend": "triton_ascend", "Python": "python"}

// about is true when all parts the subject names are in the pair, those with a
// version have it, and at least one has one.
func (d dispute) about(s *stack, parts []string) bool {
	versions := false
	for part, these := range d.names {
		if !slices.Contains(parts, part) || len(these) > 0 && !these.has(s.version[part]) {
			return false
		}
		versions = versions || len(these) > 0
	}
	return versions
}

// conflicts are the disagreements that a row is known for: its own, and those
// listed with the name and version of a part of it.
func (s *stack) conflicts(j judged, parts []string) (out []Conflict) {
	if own := j.row.Prose("conflict"); !own.IsZero() {
		out = append(out, Conflict{Text: own})
	}
	for _, d := range s.m.disputes() {
		if d.about(s, parts) {
			out = append(out, Conflict{ID: d.ID, Text: report.T("%s: (a) %s; (b) %s; taken: %s", "%s：(a) %s；(b) %s；采用：%s",
				d.Prose("about"), d.Prose("a"), d.Prose("b"), d.Prose("prefer"))})
		}
	}
	return out
}

// unjudged are the given parts that no rule has judged.
func (s *stack) unjudged() (out []string) {
	for _, name := range PartNames() {
		if s.has(name) && !slices.ContainsFunc(s.pairs, func(p Pair) bool { return slices.Contains(p.Parts, name) }) {
			out = append(out, name)
		}
	}
	return out
}

// wants says which parts belong to a stack that has a part: a green verdict
// that lacks them is green for half a stack.
var wants = []struct {
	given string // empty: every stack
	parts string
}{
	{"", "chip driver firmware cann python os"},
	{"torch_npu", "torch"}, {"pta", "torch"}, {"torch", "torch_npu"},
	{"vllm_ascend", "vllm torch torch_npu nnal triton_ascend"},
	{"mindie", "torch pta abi glibc"}, {"sglang", "torch torch_npu"}, {"cann", "ops_package"},
}

func (s *stack) unchecked() []string {
	missing := map[string]bool{}
	for _, w := range wants {
		if w.given != "" && !s.has(w.given) {
			continue
		}
		for _, p := range strings.Fields(w.parts) {
			missing[p] = !s.has(p)
		}
	}
	if c := s.version["cann"]; missing["ops_package"] && !(c.Known() && (c.key[0] > 8 || c.key[0] == 8 && c.key[1] >= 5)) {
		delete(missing, "ops_package") // part of the toolkit's own packages before 8.5
	}
	out := []string{}
	for _, name := range PartNames() {
		if missing[name] {
			out = append(out, name)
		}
	}
	return out
}

// release is a row of cann.releases.
type release struct {
	*book.Row
	v       Version
	folder  string // T version: the name of its download folder
	running string
}

func (m *Matrix) releases() []release {
	return table(m, "cann.releases", func(r *book.Row) release {
		v, _ := Parse(CANN, r.Str("version"))
		running := r.Get("running_version")
		return release{r, v, r.Str("t_version"), running.Str("value")}
	})
}

// cann parses a CANN version; T versions are known by table only.
func (m *Matrix) cann(text string) Version {
	if strings.ContainsAny(text, "tT") {
		for _, r := range m.releases() {
			if r.folder != "" && strings.EqualFold(r.folder, strings.TrimSpace(text)) {
				return r.v
			}
		}
	}
	// People write 7.0 RC1 for 7.0.RC1.
	v, ok := Parse(CANN, text)
	if !ok {
		dotted := strings.Join(strings.Fields(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "CANN")), ".")
		if v, ok = Parse(CANN, dotted); !ok {
			v.Text = dotted
		}
	}
	return v
}

// release finds the row of a CANN version.
func (m *Matrix) release(v Version) *release {
	for i, r := range m.releases() {
		if v.Known() && r.v.Equal(v) {
			return &m.releases()[i]
		}
	}
	return nil
}

// ReleaseOf gives the CANN release of a running number as version files print
// it, 8.1.RC1 of 7.7.0.1.238; by its first two numbers where the whole is not
// known.
func (m *Matrix) ReleaseOf(running string) (string, bool) {
	for _, r := range m.plain("order.version_order") {
		if r.Str("kind") != "internal_to_release" {
			continue
		}
		for _, pair := range r.Get("values").List {
			if w := pair.Strings(); len(w) == 2 && strings.EqualFold(w[0], running) {
				return w[1], true
			}
		}
	}
	first := func(s string) string {
		return strings.Join(strings.SplitN(s, ".", 3)[:min(2, strings.Count(s, ".")+1)], ".")
	}
	for _, r := range m.releases() {
		if r.running != "" && first(r.running) == first(running) {
			return r.Str("version"), true
		}
	}
	return "", false
}

// near picks, out of known versions, the nearest older and the nearest newer one
// with which the same question is answered with supported. known is sorted,
// newest first.
func near(part string, now Version, known []Version, ask func(Version) judged) (out []Near) {
	first := func(versions iter.Seq2[int, Version], side int) {
		for _, k := range versions {
			if c, ok := k.Compare(now); !ok || c*side <= 0 {
				continue
			}
			if j := ask(k); j.answer == Supported {
				n := Near{Part: part, Value: k.Text, Tier: cmp.Or(j.tier, Matched)}
				if j.row != nil {
					n.Row = j.file + "/" + j.row.ID
				}
				out = append(out, n)
				return
			}
		}
	}
	first(slices.All(known), -1)
	first(slices.Backward(known), 1)
	return out
}

// sorted keeps a list of versions, newest first, for the next question.
func (m *Matrix) sorted(name string, make func() []Version) []Version {
	m.mu.Lock()
	kept, ok := m.tables[name].([]Version)
	m.mu.Unlock()
	if ok {
		return kept
	}
	out := make() // reads sections, which locks
	slices.SortStableFunc(out, newest)
	m.mu.Lock()
	m.tables[name] = out
	m.mu.Unlock()
	return out
}
