package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Complaint is something wrong with the data, at a line.
type Complaint struct {
	At   string      `json:"at"` // LAYER/FILE:LINE
	Row  string      `json:"row"`
	Text report.Text `json:"text"`
}

// Lint reads all rows of all layers from the YAML and says what a maintainer
// should correct: rows without a status, versions that their scheme cannot read,
// words nobody reads, sentences in one language, rows that contradict each other
// where no conflict is noted. What is not even YAML or has unknown keys is an
// error.
func Lint(layers ...book.Layer) ([]Complaint, error) {
	m := &Matrix{book: book.New(layers...), rows: map[string][]book.Row{}, tables: map[string]any{}}
	for _, l := range layers {
		if _, err := filesOf(l); err != nil {
			return nil, err
		}
	}
	l := linter{m: m}
	for _, name := range Sections() {
		rows := m.section(name)
		for i := range rows {
			l.row(name, &rows[i])
		}
	}
	for _, c := range m.clashes() {
		l.say(c.b, "contradicts %s: %s", "与 %s 矛盾：%s", c.a.At, c.what)
	}
	return l.out, m.failed()
}

type linter struct {
	m   *Matrix
	out []Complaint
}

func (l *linter) say(r *book.Row, en, zh string, args ...any) {
	l.out = append(l.out, Complaint{At: r.At, Row: r.ID, Text: report.T(en, zh, args...)})
}

// versionKeys are the keys whose values are versions, in any section.
var versionKeys = map[string]Scheme{"cann": CANN, "ops": CANN, "toolkit": CANN, "hdk": HDK, "torch": PEP440, "torch_npu": PEP440,
	"vllm": PEP440, "vllm_ascend": PEP440, "triton_ascend": PEP440, "mindspore": PEP440, "sglang": PEP440, "firmware": Opaque, "mindie": Opaque}

// looseSections hold words of documents beside versions: nothing compares them.
var looseSections = []string{"others.others", "sglang.docs", "sglang.sgl_kernel_npu", "chips.cloud", "cann.naming", "mindspore.lite"}

func (l *linter) row(section string, r *book.Row) {
	if r.Str("status") == "" && section != "os.product_aliases" {
		l.say(r, "no status: write src, seen or guess", "缺少 status：应为 src、seen 或 guess")
	}
	for _, f := range r.Map {
		l.languages(r, f.Key, f.Value)
		scheme, is := versionKeys[f.Key]
		if section == "cann.releases" && f.Key == "version" {
			scheme, is = CANN, true
		}
		if !is || slices.Contains(looseSections, section) || section == "cann.releases" && f.Key == "hdk" {
			continue
		}
		for _, text := range f.Value.Strings() {
			if !readable(scheme, text) {
				l.say(r, "%s: %q is not the spelling of such a version", "%s：%q 不是该类版本的写法", f.Key, text)
			}
		}
	}
	l.words(section, r)
}

// readable is false for a version its scheme cannot read. Words with a blank,
// an @ or two dots are notes, and so is "any".
func readable(s Scheme, text string) bool {
	if text == "" || text == "any" || strings.ContainsAny(text, " @*") || strings.Contains(text, "..") {
		return true
	}
	for _, p := range parseSpec(s, text) {
		if p.op != "X" && !p.v.Known() {
			v, ok := Parse(Opaque, p.v.Text) // >=26.0 starts a line
			if !ok || p.op == "" || v.Text == "" {
				return false
			}
		}
	}
	return true
}

func (l *linter) languages(r *book.Row, key string, v book.Value) {
	if (v.Str("en") == "") != (v.Str("zh") == "") {
		l.say(r, "%s: a language is missing", "%s：缺少一种语言", key)
	}
}

// relations are the words of driver.cann_hdk; the rest would be read by nobody.
var relations = []string{"matched", "tested", "cloud", "compatible", "not_compatible", "listed_together", "min", "known_bad", "seen_ok", "seen_trouble"}

// words holds the words that rules look for.
func (l *linter) words(section string, r *book.Row) {
	one := func(key, value string, known []string) {
		if !slices.Contains(known, value) {
			l.say(r, "%s: nobody reads %q%s", "%s：没有规则读取 %q%s", key, value, report.Meant(value, slices.Clone(known)))
		}
	}
	verdicts := []string{string(Unsupported), string(Unknown)}
	switch section {
	case "driver.cann_hdk":
		one("relation", r.Str("relation"), relations)
	case "nonexistent.nonexistent":
		one("verdict", r.Str("verdict"), verdicts)
		one("component", r.Str("component"), PartNames())
	case "known_bad.known_bad":
		one("verdict", r.Str("verdict"), verdicts)
		for _, f := range r.Get("when").Map {
			one("when", f.Key, PartNames())
		}
	case "rules.rules":
		if n := len(rules); r.ID < "R01" || r.ID > fmt.Sprintf("R%02d", n) {
			l.say(r, "no code answers for rule %s", "没有代码实现规则 %s", r.ID)
		}
	}
}

// clash is two rows that cannot both be right.
type clash struct {
	a, b *book.Row
	what string
}

// keyed says which rows of a section are about the same thing, and what they
// say about it.
var keyed = []struct {
	section, key string
	scheme       Scheme
	says         string
}{
	{"cann.releases", "version", CANN, "arch"},
	{"driver.cann_hdk_floor", "cann", CANN, "hdk"},
	{"torch_npu.releases", "torch_npu", PEP440, "torch cann pta"},
	{"torch_npu.pta_cann", "pta", Opaque, "cann"},
	{"vllm_ascend.releases", "vllm_ascend", PEP440, "vllm torch torch_npu cann triton_ascend"},
	{"mindspore.rows", "mindspore", PEP440, "cann"},
	{"mindie.rows", "mindie", Opaque, "cann"},
	{"chips.socs", "soc_version", Text, "generation short npu_arch bf16"},
	{"chips.families", "generation", Text, "kernels_package bf16"},
}

// clashes finds rows about one thing that say different things, pairs that are
// promised and refused, and versions that exist and do not. A row with a
// conflict or a dispute on it says so itself.
func (m *Matrix) clashes() (out []clash) {
	for _, k := range keyed {
		rows := m.section(k.section)
		first := map[string]*book.Row{}
		for i := range rows {
			r := &rows[i]
			v, _ := Parse(k.scheme, r.Str(k.key))
			key := fmt.Sprint(v.scheme, v.key)
			if v.scheme == Text || v.scheme == Opaque {
				key = v.Text
			}
			was := first[key]
			if was == nil {
				first[key] = r
				continue
			}
			if what := differ(was, r, strings.Fields(k.says)); what != "" && !noted(was) && !noted(r) {
				out = append(out, clash{was, r, r.Str(k.key) + " " + what})
			}
		}
	}
	return append(append(out, m.refusedAndPromised()...), m.notThere()...)
}

func noted(r *book.Row) bool {
	return !r.Prose("conflict").IsZero() || disputed(r)
}

func differ(a, b *book.Row, keys []string) string {
	for _, k := range keys {
		if x, y := strings.Join(a.Strs(k), ", "), strings.Join(b.Strs(k), ", "); x != y {
			return fmt.Sprintf("%s: %s, %s", k, cmp.Or(x, "-"), cmp.Or(y, "-"))
		}
	}
	return ""
}

// refusedAndPromised are cells of driver.cann_hdk that overlap and disagree.
func (m *Matrix) refusedAndPromised() (out []clash) {
	for _, no := range m.hdks() {
		if no.relation != "not_compatible" {
			continue
		}
		for _, yes := range m.hdks() {
			chips := len(no.chips) == 0 || len(yes.chips) == 0 || slices.ContainsFunc(no.chips, func(c string) bool { return slices.Contains(yes.chips, c) })
			if slices.Contains(tiers, Tier(yes.relation)) && chips && overlap(no.cann, yes.cann) && overlap(no.hdk, yes.hdk) {
				a, b := no.Row, yes.Row
				out = append(out, clash{a, b, fmt.Sprintf("%s x %s: %s, %s", b.Str("cann"), strings.Join(b.Strs("hdk"), ", "), no.relation, yes.relation)})
			}
		}
	}
	return out
}

// overlap is true when one version is named by both.
func overlap(a, b anyOf) bool {
	for _, x := range a {
		for _, y := range b {
			p, q := x[0], y[0]
			switch {
			case p.op == "X" && q.op == "X":
				n := min(len(p.line), len(q.line))
				if slices.Equal(p.line[:n], q.line[:n]) {
					return true
				}
			case q.op == "X":
				if q.has(p.v, "") {
					return true
				}
			case p.has(q.v, ""):
				return true
			}
		}
	}
	return false
}

// notThere are versions that nonexistent names and a row has.
func (m *Matrix) notThere() (out []clash) {
	rows := m.section("nonexistent.nonexistent")
	tables := map[string][2]string{"cann": {"cann.releases", "version"}, "torch_npu": {"torch_npu.releases", "torch_npu"},
		"vllm_ascend": {"vllm_ascend.releases", "vllm_ascend"}, "mindie": {"mindie.rows", "mindie"}, "mindspore": {"mindspore.rows", "mindspore"}}
	for i := range rows {
		no := &rows[i]
		at, ok := tables[no.Str("component")]
		if !ok {
			continue
		}
		scheme := schemeOf(no.Str("component"))
		p := parsePattern(scheme, no.Str("version"))
		yes := m.section(at[0])
		for j := range yes {
			text := yes[j].Str(at[1])
			if v, _ := Parse(scheme, text); p.has(v, text) {
				out = append(out, clash{no, &yes[j], text})
			}
		}
	}
	return out
}

// contradictions refuses an upper layer whose rows cannot be right together with
// the others: which of them won would be chance.
func (m *Matrix) contradictions() error {
	var lines []report.Text
	for _, c := range m.clashes() {
		a, b := c.a, c.b
		if a.User && !b.User {
			a, b = b, a
		}
		if !b.User {
			continue
		}
		lines = append(lines, report.T("%s: contradicts %s (%s); to replace that row, give yours its id %s", "%s：与 %s 矛盾（%s）；若要替换该行，使用其 id %s", b.At, a.At, c.what, a.ID))
	}
	if len(lines) == 0 {
		return m.failed()
	}
	all := report.Text{}
	for i, t := range lines[:min(len(lines), 20)] {
		if i > 0 {
			all.En, all.Zh = all.En+"\n", all.Zh+"\n"
		}
		all.En, all.Zh = all.En+t.En, all.Zh+t.Zh
	}
	return &report.Problem{
		What: report.T("rows of the matrix contradict each other: %d", "版本配套表的行相互矛盾：%d 处", len(lines)),
		Why:  all,
		Do:   report.T("correct the lines named above", "修正上述各行"),
		Exit: report.ExitUsage,
	}
}
