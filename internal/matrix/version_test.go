package matrix_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/matrix"
)

// vectors are the rows of version_order: what a comparator must get right.
func vectors(t *testing.T) []struct {
	Component, Kind string
	Values          []any
} {
	t.Helper()
	data, err := os.ReadFile("../../compat/matrix/order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows []struct {
			Component, Kind string
			Values          []any
		} `yaml:"version_order"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil || len(file.Rows) < 12 {
		t.Fatal(len(file.Rows), err)
	}
	out := make([]struct {
		Component, Kind string
		Values          []any
	}, len(file.Rows))
	for i, r := range file.Rows {
		out[i].Component, out[i].Kind, out[i].Values = r.Component, r.Kind, r.Values
	}
	return out
}

var schemes = map[string]matrix.Scheme{"cann": matrix.CANN, "hdk": matrix.HDK, "torch_npu": matrix.PEP440, "vllm_ascend": matrix.PEP440}

func words(v any) (out []string) {
	for _, e := range v.([]any) {
		s, _ := e.(string)
		out = append(out, s)
	}
	return out
}

// vectorTest holds what the kinds of vectors need.
type vectorTest struct {
	*testing.T
	m         *matrix.Matrix
	component string
}

func (v vectorTest) read(text string) matrix.Version {
	text, _, _ = strings.Cut(text, " (") // the product line stands in brackets
	if v.component == "cann" && strings.Contains(text, ".T") {
		verdict, err := v.m.Resolve(matrix.Parts{"cann": text}) // download folders: by table
		if err != nil {
			v.Fatal(err)
		}
		text = verdict.Parts["cann"]
	}
	out, ok := matrix.Parse(schemes[v.component], text)
	if !ok {
		v.Errorf("%s %s is not read", v.component, text)
	}
	return out
}

func (v vectorTest) older(a, b string) {
	x, y := v.read(a), v.read(b)
	c, ok := x.Compare(y)
	d, okBack := y.Compare(x)
	if !ok || !okBack || c >= 0 || d <= 0 || x.Equal(y) {
		v.Errorf("%s: %s < %s: %d %v, %d %v", v.component, a, b, c, ok, d, okBack)
	}
}

// kindsOfVectors says what each kind of vector promises about one value.
var kindsOfVectors = map[string]func(v vectorTest, w []string, value []any){
	"equal": func(v vectorTest, w []string, _ []any) {
		for _, other := range w[1:] {
			if a, b := v.read(w[0]), v.read(other); !a.Equal(b) {
				v.Errorf("%s: %s and %s are not equal: %s, %s", v.component, w[0], other, a.Text, b.Text)
			}
		}
	},
	"build_suffix": func(v vectorTest, w []string, _ []any) { v.older(w[0], w[2]) },
	"not_comparable": func(v vectorTest, w []string, _ []any) {
		if c, ok := v.read(w[0]).Compare(v.read(w[1])); ok {
			v.Errorf("%v are ordered: %d", w, c)
		}
	},
	"version_num": func(v vectorTest, w []string, value []any) {
		want, isNum := value[1].(int)
		if got, ok := v.read(w[0]).Num(); ok != isNum || got != int64(want) {
			v.Errorf("%v: %d %v", value, got, ok)
		}
	},
	"internal_to_release": func(v vectorTest, w []string, _ []any) {
		if got, ok := v.m.ReleaseOf(w[0]); !ok || got != w[1] {
			v.Errorf("%s is of %s, got %s %v", w[0], w[1], got, ok)
		}
	},
	"post_is_not_order": func(v vectorTest, w []string, _ []any) {
		rows, err := v.m.List("torch_npu", matrix.Parts{"torch_npu": w[0]})
		cann := func(r matrix.ListRow) bool {
			return slices.ContainsFunc(r.Cells, func(c matrix.Cell) bool { return c.Key == "cann" && c.Value.En == w[1] })
		}
		if err != nil || !slices.ContainsFunc(rows, cann) {
			v.Errorf("%v: %v %v", w, rows, err)
		}
	},
	"release_date_is_not_order": func(v vectorTest, w []string, _ []any) {
		rows, err := v.m.List("vllm_ascend.releases", matrix.Parts{"vllm_ascend": w[0]})
		if err != nil || len(rows) != 1 || rows[0].Date != w[1] {
			v.Errorf("%v: %v %v", w, rows, err)
		}
	},
}

// TestVersionVectors runs every row of version_order.
func TestVersionVectors(t *testing.T) {
	m := load(t)
	ran := map[string]bool{}
	for _, row := range vectors(t) {
		ran[row.Kind] = true
		v := vectorTest{t, m, row.Component}
		if row.Kind == "ascending" {
			for i := range row.Values[1:] {
				v.older(row.Values[i].(string), row.Values[i+1].(string))
			}
			continue
		}
		holds := kindsOfVectors[row.Kind]
		if holds == nil {
			t.Errorf("no test knows the kind %s", row.Kind)
			continue
		}
		for _, value := range row.Values {
			holds(v, words(value), value.([]any))
		}
	}
	if len(ran) != len(kindsOfVectors)+1 {
		t.Errorf("only %v ran", ran)
	}
}

func TestCanonicalSpellings(t *testing.T) {
	for _, c := range []struct {
		scheme       matrix.Scheme
		in, want     string
		readable     bool
		isAFinalForX bool
	}{
		{matrix.CANN, "cann 8.2.rc1", "8.2.RC1", true, true},
		{matrix.CANN, "8.0.RC1.beta1", "8.0.RC1", true, true},
		{matrix.CANN, "8.5.0-BETA.1", "8.5.0-beta.1", true, false},
		{matrix.CANN, "9.1.0.beta.1", "9.1.0-beta.1", true, false},
		{matrix.CANN, "8.2.RC1.alpha3", "8.2.RC1.alpha003", true, false},
		{matrix.CANN, "8.1.RC1.B80", "8.1.RC1.B080", true, false},
		{matrix.CANN, "6.3.RC3.1", "6.3.RC3.1", true, true},
		{matrix.CANN, "8.2.RC", "8.2.RC", false, false},
		{matrix.CANN, "8.2", "8.2", false, false},
		{matrix.CANN, "8.2.RC1.x", "8.2.RC1.x", false, false},
		{matrix.CANN, "", "", false, false},
		{matrix.HDK, "24.1.rc3.10", "24.1.RC3.10", true, true},
		{matrix.HDK, "25.2", "25.2", false, false},
		{matrix.HDK, "25.2.0-beta.1", "25.2.0-beta.1", false, false},
		{matrix.PEP440, "V2.1.0.RC1", "2.1.0rc1", true, false},
		{matrix.PEP440, "2.6.0-rc1", "2.6.0rc1", true, false},
		{matrix.PEP440, "2.5.1.post1.dev20250528", "2.5.1.post1.dev20250528", true, false},
		{matrix.PEP440, "2.9.0.post1+git4c901a4", "2.9.0.post1", true, true},
		{matrix.PEP440, "2.9.0+", "2.9.0+", false, false},
		{matrix.PEP440, "2.9.0 cpu", "2.9.0 cpu", false, false},
		{matrix.PEP440, "99999999999999999999", "99999999999999999999", false, false},
		{matrix.Opaque, "2.1.rc1", "2.1.RC1", true, true},
		{matrix.Opaque, "7.5.0.5.220", "7.5.0.5.220", true, true},
		{matrix.Opaque, "26.2.0-0day", "26.2.0-0day", false, false},
	} {
		v, ok := matrix.Parse(c.scheme, c.in)
		if ok != c.readable || v.Text != c.want || v.Finished() != c.isAFinalForX || v.Known() != ok {
			t.Errorf("%q: %q %v finished %v", c.in, v.Text, ok, v.Finished())
		}
		again, _ := matrix.Parse(c.scheme, v.Text)
		if !again.Equal(v) {
			t.Errorf("%q: its canonical spelling %q is another version", c.in, v.Text)
		}
	}
}

// FuzzVersions: no text makes a parser panic, what is read reads back from its
// canonical spelling, and order is the same from both sides.
func FuzzVersions(f *testing.F) {
	for _, s := range []string{"8.2.RC1.alpha003", "9.1.0-beta.1", "24.1.RC3.10", "2.5.1.post1.dev20250528+cpu", "1!2.0", "7.5.0.5.220", "rc", "", "0.0.0"} {
		f.Add(s, "8.2.RC1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []matrix.Scheme{matrix.CANN, matrix.HDK, matrix.PEP440, matrix.Opaque} {
			v, ok := matrix.Parse(s, a)
			w, _ := matrix.Parse(s, b)
			if again, okAgain := matrix.Parse(s, v.Text); ok && (!okAgain || !again.Equal(v)) {
				t.Errorf("%q reads as %q, which is another version", a, v.Text)
			}
			x, okX := v.Compare(w)
			y, okY := w.Compare(v)
			if okX != okY || x != -y {
				t.Errorf("%q and %q: %d and %d", a, b, x, y)
			}
		}
	})
}
