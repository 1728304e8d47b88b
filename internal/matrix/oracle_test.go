package matrix_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// oracle answers from the YAML rows with code of its own: regular expressions
// and maps, nothing of the engine. It is slow and says only the verdict.
type oracle struct {
	tables map[string][]entry // file.section
	memo   map[[2]string]key
	chips  map[string]chipOf
	globs  map[string]*regexp.Regexp
}

type entry map[string]any

// newOracle reads the files so that every scalar stays as it is written.
func newOracle(t testing.TB) *oracle {
	t.Helper()
	o := &oracle{tables: map[string][]entry{}, memo: map[[2]string]key{}, chips: map[string]chipOf{}, globs: map[string]*regexp.Regexp{}}
	files, err := filepath.Glob("../../compat/matrix/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var top yaml.Node
		if err := yaml.Unmarshal(data, &top); err != nil {
			t.Fatal(err)
		}
		file := strings.TrimSuffix(filepath.Base(f), ".yaml")
		doc, _ := asWritten(top.Content[0]).(map[string]any)
		for section, rows := range doc {
			list, _ := rows.([]any)
			for _, r := range list {
				o.tables[file+"."+section] = append(o.tables[file+"."+section], entry(r.(map[string]any)))
			}
		}
	}
	return o
}

func asWritten(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = asWritten(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		l := []any{}
		for _, c := range n.Content {
			l = append(l, asWritten(c))
		}
		return l
	}
	if n.Tag == "!!null" {
		return nil
	}
	return n.Value
}

func (r entry) s(k string) string { s, _ := r[k].(string); return s }

func (r entry) l(k string) (out []string) {
	switch v := r[k].(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			s, _ := e.(string)
			out = append(out, s)
		}
	}
	return out
}

func (r entry) m(k string) entry { m, _ := r[k].(map[string]any); return m }

func (r entry) rows(k string) (out []entry) {
	l, _ := r[k].([]any)
	for _, e := range l {
		out = append(out, entry(e.(map[string]any)))
	}
	return out
}

func (r entry) guess() bool { return r.s("status") == "guess" }

// key is a version as numbers; ok is false for what has no reading.
type key struct {
	n     []int
	line  string
	final bool
	ok    bool
}

var (
	reCANN = regexp.MustCompile(`^(\d+)\.(\d+)\.(rc)?(\d+)(?:\.(\d+))?(?:([.-])(alpha|beta|rc|b)(\.?)(\d+))?$`)
	reHDK  = regexp.MustCompile(`^(\d+)\.(\d+)\.(rc)?(\d+)(?:\.(\d+))?$`)
	rePEP  = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:[._-]?(a|b|rc|c|alpha|beta|pre|preview)[._-]?(\d*))?(?:[._-]?(?:post|rev|r)[._-]?(\d*))?(?:[._-]?dev[._-]?(\d*))?(?:\+[a-z0-9._-]+)?$`)
	reOp   = regexp.MustCompile(`^(<=|>=|==|<|>)?\s*(.*)$`)
	reNum  = regexp.MustCompile(`^\d+(\.(rc)?\d+)*$`)
)

func num(s string) int { n, _ := strconv.Atoi(s); return n }

// read gives the key of a version by kind: cann, hdk, pep or num.
func (o *oracle) read(kind, text string) key {
	id := [2]string{kind, text}
	if k, ok := o.memo[id]; ok {
		return k
	}
	k := parseKey(kind, strings.ToLower(strings.TrimSpace(text)))
	o.memo[id] = k
	return k
}

func parseKey(kind, text string) key {
	switch kind {
	case "cann":
		return cannKey(text)
	case "hdk":
		return hdkKey(text)
	case "pep":
		return pepKey(text)
	}
	if !reNum.MatchString(text) {
		return key{}
	}
	k := key{ok: true, final: true}
	for _, p := range strings.Split(text, ".") {
		rc, isRC := strings.CutPrefix(p, "rc")
		n := num(rc)
		if isRC {
			n -= 5000
		}
		k.n = append(k.n, n)
	}
	return k
}

func cannKey(text string) key {
	text = strings.Join(strings.Fields(strings.TrimSpace(strings.TrimPrefix(text, "cann"))), ".")
	m := reCANN.FindStringSubmatch(text)
	if m == nil || m[7] == "b" && (m[6] != "." || m[8] != "") || m[6] == "-" && m[8] == "" || m[7] == "rc" && m[8] == "" {
		return key{}
	}
	x, y, z := num(m[1]), num(m[2]), num(m[4])
	if m[3] != "" {
		z -= 5000
	}
	kind, n := 9, 0
	if m[7] != "" {
		kind, n = map[string]int{"alpha": 1, "beta": 2, "rc": 3, "b": 4}[m[7]], num(m[9])
		if m[7] == "beta" && n == 1 && m[6] == "." && m[8] == "" && m[5] == "" && (x < 8 || x == 8 && y <= 3) && z <= 0 {
			kind, n = 9, 0
		}
	}
	return key{[]int{x, y, z, num(m[5]), kind, n}, "", kind == 9, true}
}

func hdkKey(text string) key {
	m := reHDK.FindStringSubmatch(text)
	if m == nil {
		return key{}
	}
	z := num(m[4])
	if m[3] != "" {
		z -= 5000
	}
	line := m[1] + "." + m[2]
	if !slices.Contains([]string{"1.0", "25.1", "25.6", "25.7"}, line) {
		line = ""
	}
	return key{[]int{num(m[1]), num(m[2]), z, num(m[5])}, line, true, true}
}

func pepKey(text string) key {
	m := rePEP.FindStringSubmatch(text)
	if m == nil {
		return key{}
	}
	k := key{ok: true}
	for _, p := range strings.Split(m[1], ".") {
		k.n = append(k.n, num(p))
	}
	for len(k.n) < 6 {
		k.n = append(k.n, 0)
	}
	has := func(word string) bool { return strings.Contains(strings.Split(text, "+")[0], word) }
	pre, post, dev := 8, -1, 1<<60
	if has("dev") {
		dev = num(m[5])
	}
	if has("post") {
		post = num(m[4])
	}
	switch {
	case m[2] != "":
		pre = map[byte]int{'a': 1, 'b': 2, 'r': 3, 'c': 3, 'p': 3}[m[2][0]]
	case dev < 1<<60 && post < 0:
		pre = 0
	}
	k.n = append(k.n[:6], pre, num(m[3]), post, dev)
	k.final = pre == 8 && dev == 1<<60
	return k
}

// same compares two versions; text that has no reading equals only itself.
func (o *oracle) same(kind, a, b string) bool {
	x, y := o.read(kind, a), o.read(kind, b)
	if !x.ok || !y.ok {
		return x.ok == y.ok && strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
	}
	return slices.Equal(x.n, y.n)
}

// cmp orders; ok is false without an order.
func (o *oracle) cmp(kind, a, b string) (int, bool) {
	x, y := o.read(kind, a), o.read(kind, b)
	if !x.ok || !y.ok || x.line != y.line {
		return 0, false
	}
	return slices.Compare(x.n, y.n), true
}

func (o *oracle) below(kind, a, b string) bool { c, ok := o.cmp(kind, a, b); return ok && c < 0 }

// covers is true when one value of a entry names the version: equal, or a line.
func (o *oracle) covers(kind, value, v string) bool {
	prefix, isLine := strings.CutSuffix(strings.ToUpper(value), ".X")
	if !isLine {
		return o.same(kind, value, v)
	}
	k, p := o.read(kind, v), parseKey("num", strings.ToLower(prefix))
	return k.ok && k.final && len(k.n) >= len(p.n) && slices.Equal(k.n[:len(p.n)], p.n)
}

func (o *oracle) any(kind string, values []string, v string) bool {
	return slices.ContainsFunc(values, func(x string) bool { return x != "" && o.covers(kind, x, v) })
}

// holds is a condition with comparisons, commas and *.
func (o *oracle) holds(kind, cond, v string) bool {
	for _, c := range strings.Split(cond, ",") {
		c = strings.TrimSpace(c)
		op := reOp.FindStringSubmatch(c)
		if strings.Contains(c, "*") {
			if o.globs[c] == nil {
				o.globs[c] = regexp.MustCompile("(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(c), `\*`, ".*") + "$")
			}
			if !o.globs[c].MatchString(v) {
				return false
			}
			continue
		}
		x, ok := o.cmp(kind, v, op[2])
		good := map[string]bool{"<": ok && x < 0, "<=": ok && x <= 0, ">": ok && x > 0, ">=": ok && x >= 0, "==": o.same(kind, v, op[2]), "": o.same(kind, v, op[2])}[op[1]]
		if !good {
			return false
		}
	}
	return true
}

func base(v string) string {
	m := rePEP.FindStringSubmatch(strings.ToLower(v))
	if m == nil {
		return ""
	}
	p := append(strings.Split(m[1], "."), "0", "0")[:3]
	return strings.Join(p, ".")
}

// kinds of the parts that are versions.
var kinds = map[string]string{"cann": "cann", "nnal": "cann", "ops_package": "cann", "driver": "hdk", "firmware": "num", "python": "num", "glibc": "num",
	"pta": "num", "mindie": "num", "torch": "pep", "torch_npu": "pep", "vllm": "pep", "vllm_ascend": "pep", "triton_ascend": "pep", "mindspore": "pep",
	"sglang": "pep", "numpy": "pep", "transformers": "pep", "mindie_turbo": "pep", "paddle_custom_npu": "pep", "dlinfer_ascend": "pep"}

// twoNumbers cuts a version for Python and glibc.
func twoNumbers(v string) (int, int) {
	p := append(strings.Split(v, "."), "0")
	return num(p[0]), num(p[1])
}

func pyInside(span, v string) bool {
	x, y := twoNumbers(v)
	have := x*1000 + y
	if low, high, ok := strings.Cut(span, "-"); ok {
		a, b := twoNumbers(low)
		c, d := twoNumbers(high)
		return have >= a*1000+b && have <= c*1000+d
	}
	for _, c := range strings.Split(span, ",") {
		op := reOp.FindStringSubmatch(strings.TrimSpace(c))
		a, b := twoNumbers(op[2])
		w := a*1000 + b
		if !map[string]bool{"<": have < w, "<=": have <= w, ">": have > w, ">=": have >= w, "==": have == w, "": have == w}[op[1]] {
			return false
		}
	}
	return true
}
