package matrix

import (
	"slices"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// set is one accepted set of a vllm_ascend row: the row itself, or one of its
// also_accepted entries.
type set struct {
	text     map[string]string // cann, torch_npu, triton_ascend as written; absent where the set has none
	version  map[string]Version
	disputed bool
}

var setParts = []struct {
	name   string
	scheme Scheme
}{{"torch_npu", PEP440}, {"cann", CANN}, {"triton_ascend", PEP440}}

func readSet(v *book.Value) set {
	s := set{text: map[string]string{}, version: map[string]Version{}, disputed: v.Str("disputed") == "true"}
	for _, p := range setParts {
		s.put(p.name, p.scheme, v.Str(p.name))
	}
	return s
}

func (s set) put(part string, scheme Scheme, text string) {
	if text != "" {
		s.text[part] = text
		s.version[part], _ = Parse(scheme, text)
	}
}

func (s set) has(part string, v Version) bool {
	w, ok := s.version[part]
	return ok && w.Equal(v)
}

// engine is a row of vllm_ascend.releases.
type engine struct {
	*book.Row
	v       Version
	sets    []set // the row's own first
	images  map[string]Version
	soc     []string
	doubted []string // soc_disputed
	pins    map[string]spec
}

// engineKey is the version of a row; the rest is read when it is asked for.
type engineKey struct {
	*book.Row
	v    Version
	read *sync.Once
	e    *engine
}

func (m *Matrix) engineKeys() []engineKey {
	return table(m, "vllm_ascend.releases", func(r *book.Row) engineKey {
		v, _ := Parse(PEP440, r.Str("vllm_ascend"))
		return engineKey{r, v, &sync.Once{}, &engine{}}
	})
}

// engine reads the row.
func (k engineKey) engine() *engine {
	k.read.Do(func() { *k.e = readEngine(k.Row, k.v) })
	return k.e
}

func readEngine(r *book.Row, v Version) engine {
	e := engine{Row: r, v: v, sets: []set{readSet(&r.Value)}, images: map[string]Version{}, pins: map[string]spec{},
		soc: r.Strs("soc"), doubted: r.Strs("soc_disputed")}
	for _, also := range r.Get("also_accepted").List {
		e.sets = append(e.sets, readSet(&also))
	}
	for _, f := range r.Get("image_cann").Map {
		e.images[f.Key], _ = Parse(CANN, f.Value.Text)
	}
	for _, f := range r.Get("pins").Map {
		e.pins[f.Key] = parsePin(f.Value.Text)
	}
	return e
}

func (m *Matrix) engines() []*engine {
	keys := m.engineKeys()
	out := make([]*engine, len(keys))
	for i, k := range keys {
		out[i] = k.engine()
	}
	return out
}

// parsePin reads a requirement: the comparisons behind the name of the package.
// A bare name pins nothing and gives an empty list.
func parsePin(text string) spec {
	i := strings.IndexAny(text, "<>=!")
	if i < 0 {
		return spec{}
	}
	return parseSpec(PEP440, text[i:])
}

// engine finds the row of a vllm_ascend version.
func (m *Matrix) engine(v Version) *engine {
	for _, k := range m.engineKeys() {
		if k.v.Equal(v) {
			return k.engine()
		}
	}
	return nil
}

// engineRows are the rows of the given engine's version.
func (s *stack) engineRows(part string) (out []*book.Row) {
	v := s.version[part]
	switch part {
	case "vllm_ascend":
		if e := s.m.engine(v); e != nil && s.has(part) {
			out = append(out, e.Row)
		}
	case "mindie":
		if r := s.m.mindie(v); r != nil && s.has(part) {
			out = append(out, r.Row)
		}
	case "mindspore":
		for _, r := range s.m.mindspores(v) {
			out = append(out, r.Row)
		}
	}
	return out
}

// engineNames is yes when one engine row names a part together with a CANN: it
// was released with both, so they belong together even without the engine.
func (m *Matrix) engineNames(part string, v, cann Version) judged {
	yes := func(file string, r *book.Row) judged {
		return judged{answer: Supported, file: file, row: r, text: report.T("%s %s was released with both", "%s %s 与两者一同发布", file, r.ID)}
	}
	for _, e := range m.engines() {
		if evidence(e.Row) != Supported {
			continue
		}
		for i, s := range e.sets {
			image := func(c Version) bool { return i == 0 && c.Equal(cann) }
			if !s.disputed && s.has(part, v) && (s.has("cann", cann) || slices.ContainsFunc(values(e.images), image)) {
				return yes("vllm_ascend", e.Row)
			}
		}
	}
	if part != "pta" {
		return judged{}
	}
	for _, r := range m.mindies() {
		for _, one := range r.sets {
			if p, _ := Parse(Opaque, one["pta"]); p.Text != "" && p.Equal(v) && r.cann.Known() && r.cann.Equal(cann) && evidence(r.Row) == Supported {
				return yes("mindie", r.Row)
			}
		}
	}
	return judged{}
}

func values[K comparable, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// r05: the parts beside vllm_ascend are those of its row.
func (s *stack) r05() {
	if !s.has("vllm_ascend") {
		return
	}
	e := s.m.engine(s.version["vllm_ascend"])
	if e == nil {
		return // R17 says so
	}
	for _, part := range []string{"vllm", "torch"} {
		if s.has(part) {
			s.add("R05", s.equalsRow(e, part, Unsupported), "vllm_ascend", part)
		}
	}
	s.setOf(e)
	if s.has("mindie_turbo") {
		s.add("R05", s.equalsRow(e, "mindie_turbo", Unknown), "vllm_ascend", "mindie_turbo")
	}
	s.pinned(e, "numpy", Unsupported)
	s.pinned(e, "transformers", Unknown)
}

// of makes an answer that rests on the row of the engine.
func (e *engine) of(a Answer, text report.Text) judged {
	if a == Supported {
		a = evidence(e.Row)
	} else if guess(e.Row) {
		a = Unknown
	}
	return judged{answer: a, file: "vllm_ascend", row: e.Row, text: text}
}

func (e *engine) lacks(part string) judged {
	return e.of(Unknown, report.T("the row of vllm-ascend %s names no %s", "vllm-ascend %s 的行未列出 %s", e.ID, part))
}

// equalsRow: any value the row has, else the given answer.
func (s *stack) equalsRow(e *engine, part string, otherwise Answer) judged {
	texts := e.Strs(part)
	if len(texts) == 0 {
		return e.lacks(part)
	}
	want := strings.Join(texts, ", ")
	switch v := s.version[part]; {
	case !v.Known():
		return unread(s, part)
	case parseAny(PEP440, texts).has(v):
		return e.of(Supported, report.T("the row of vllm-ascend %s names %s %s", "vllm-ascend %s 的行列出 %s %s", e.ID, part, want))
	}
	j := e.of(otherwise, report.T("the row of vllm-ascend %s wants %s %s, not %s", "vllm-ascend %s 的行要求 %s %s，而非 %s", e.ID, part, want, s.version[part].Text))
	j.near = []Near{{Part: part, Value: texts[0], Row: "vllm_ascend/" + e.ID}}
	return j
}

// accepted are the sets of a row for the given chip, whose image may stand on
// another CANN than the row says.
func (e *engine) accepted(c Chip, given bool) []set {
	image, ok := e.images[c.Package]
	if !given || !ok {
		return e.sets
	}
	own := set{text: map[string]string{}, version: map[string]Version{}}
	for part, v := range e.sets[0].version {
		own.text[part], own.version[part] = e.sets[0].text[part], v
	}
	own.text["cann"], own.version["cann"] = image.Text, image
	return append([]set{own}, e.sets[1:]...)
}

// setOf: torch_npu, CANN and triton_ascend come from one accepted set.
func (s *stack) setOf(e *engine) {
	var given []string
	for _, p := range setParts {
		if s.has(p.name) {
			given = append(given, p.name)
		}
	}
	if len(given) == 0 {
		return
	}
	sets := e.accepted(s.chip, s.chipOK)
	fits := func(o set) bool {
		return !slices.ContainsFunc(given, func(p string) bool { return !o.has(p, s.version[p]) })
	}
	parts := append([]string{"vllm_ascend"}, given...)
	if i := slices.IndexFunc(sets, func(o set) bool { return fits(o) && !o.disputed }); i >= 0 {
		s.add("R05", e.of(Supported, report.T("one set of vllm-ascend %s", "属于 vllm-ascend %s 的同一组配套", e.ID)), parts...)
		return
	}
	if slices.ContainsFunc(sets, fits) {
		s.add("R05", e.of(Unknown, report.T("sources disagree about this set of vllm-ascend %s", "关于 vllm-ascend %s 的这组配套，来源不一致", e.ID)), parts...)
		return
	}
	said := false
	for _, p := range given {
		if j := s.outside(e, sets, p); j.answer != "" {
			s.add("R05", j, "vllm_ascend", p)
			said = true
		}
	}
	if !said {
		j := e.of(Unknown, report.T("each is named for vllm-ascend %s, but in different sets", "均为 vllm-ascend %s 所列，但不在同一组配套中", e.ID))
		j.near = setNear(e, sets)
		s.add("R05", j, parts...)
	}
}

func setNear(e *engine, sets []set) (out []Near) {
	for _, p := range setParts {
		if t := sets[0].text[p.name]; t != "" {
			out = append(out, Near{Part: p.name, Value: t, Row: "vllm_ascend/" + e.ID})
		}
	}
	return out
}

// outside judges one part of a set that does not hold together; no answer for a
// part that some set has.
func (s *stack) outside(e *engine, sets []set, part string) judged {
	v := s.version[part]
	var names []string
	older := true
	for _, o := range sets {
		w, ok := o.version[part]
		switch {
		case !ok:
			continue
		case w.Equal(v):
			return judged{}
		}
		older = older && v.before(w)
		names = append(names, o.text[part])
	}
	if len(names) == 0 {
		return e.lacks(part)
	}
	if !v.Known() {
		return unread(s, part)
	}
	a := Unknown
	pin := e.pins["torch_npu"]
	if part == "cann" && older || part == "torch_npu" && (len(pin) == 0 || !pin.has(v, v.Text)) {
		a = Unsupported
	}
	j := e.of(a, report.T("vllm-ascend %s goes with %s %s, not with %s", "vllm-ascend %s 配套 %s %s，而非 %s", e.ID, part, strings.Join(names, ", "), v.Text))
	j.near = []Near{{Part: part, Value: names[0], Row: "vllm_ascend/" + e.ID}}
	return j
}

// pinned: outside the requirement of the package is the given answer, inside is
// nothing.
func (s *stack) pinned(e *engine, part string, outside Answer) {
	if !s.has(part) {
		return
	}
	pin, ok := e.pins[part]
	v := s.version[part]
	switch {
	case !ok:
		s.add("R05", e.lacks(part), "vllm_ascend", part)
	case !v.Known():
		s.add("R05", unread(s, part), "vllm_ascend", part)
	case len(pin) > 0 && !pin.has(v, v.Text):
		pins := e.Get("pins")
		s.add("R05", e.of(outside, report.T("vllm-ascend %s requires %s, not %s", "vllm-ascend %s 要求 %s，而非 %s", e.ID, pins.Str(part), v.Text)), "vllm_ascend", part)
	}
}
