package metrics

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sameFloat = cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })

func TestParseReadsWhatTheRegistryWrites(t *testing.T) {
	r := sampleRegistry()
	got, err := Parse(strings.NewReader(sampleText))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Families(), got); d != "" {
		t.Error(d)
	}
}

func TestParseReadsTextOfOthers(t *testing.T) {
	text := strings.Join([]string{
		"",
		"# a remark",
		"#TYPE-less remark",
		"  # HELP  vllm:reqs  Requests  running. ",
		"# TYPE vllm:reqs gauge\r",
		`vllm:reqs{ engine = "0" , model_name="C:\\x\"\n\q", } 3 1700000000000`,
		"# TYPE lat summary",
		`lat{quantile="0.5"} NaN`,
		"lat_sum 1.5e3",
		"lat_count 2",
		"# TYPE open counter",
		`open_total 7 # {trace_id="x"} 1 1700000000.5`,
		"# TYPE build info",
		"build_info{} 1",
		"plain\t-Inf",
		"x_bucket 1",
		"# EOF",
	}, "\n")
	got, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Families{
		{"vllm:reqs", "Requests  running. ", KindGauge, []Sample{
			{"vllm:reqs", []Label{{"engine", "0"}, {"model_name", `C:\x"` + "\n" + `\q`}}, 3}}},
		{"lat", "", KindSummary, []Sample{
			{"lat", []Label{{"quantile", "0.5"}}, math.NaN()}, {"lat_sum", nil, 1500}, {"lat_count", nil, 2}}},
		{"open", "", KindCounter, []Sample{{"open_total", nil, 7}}},
		{"build", "", KindUntyped, nil},
		{"build_info", "", KindUntyped, []Sample{{"build_info", nil, 1}}},
		{"plain", "", KindUntyped, []Sample{{"plain", nil, math.Inf(-1)}}},
		{"x_bucket", "", KindUntyped, []Sample{{"x_bucket", nil, 1}}},
	}
	if d := cmp.Diff(want, got, sameFloat); d != "" {
		t.Error(d)
	}
}

func TestParseErrorsNameTheLineAndWhatWasExpected(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"ok 1\n3x 1", `line 2: expected a metric name, got "3x"`},
		{"x", `line 1: x: expected a value and perhaps a timestamp, got ""`},
		{"x 1 2 3", `line 1: x: expected a value and perhaps a timestamp, got "1 2 3"`},
		{"x one", `line 1: x: expected a number, got "one"`},
		{"x 0x1p4", `line 1: x: expected a number, got "0x1p4"`},
		{"x 1 soon", `line 1: x: expected a number, got "soon"`},
		{`x{a="1" 2`, `line 1: x: expected , or } after label a, got "2"`},
		{`x{a=1} 2`, `line 1: x: label a: expected ", got "1} 2"`},
		{`x{a="1`, `line 1: x: label a: the closing " is missing`},
		{`x{a="1\"`, `line 1: x: label a: the closing " is missing`},
		{`x{a-b="1"} 2`, `line 1: x: expected label="value", got "a-b=\"1\"} 2"`},
		{`x{a="1",a="2"} 2`, `line 1: x: label a twice`},
		{`x{`, `line 1: x: expected label="value", got ""`},
		{"# TYPE x thing", `line 1: TYPE: expected counter, gauge, histogram, summary or untyped, got "thing"`},
		{"# TYPE 3 gauge", `line 1: TYPE: expected a metric name, got "3"`},
		{"x 1\n# TYPE x gauge", "line 2: TYPE of x comes after its samples"},
		{"x{a=\"\xff\"} 1", "line 1: not UTF-8"},
		{"x 1\n# " + strings.Repeat("y", 70_000), "line 2: longer than 65536 bytes"},
		{"x{" + manyLabels(129) + "} 1", "line 1: x: more than 128 labels"},
		{"x{" + manyLabels(128) + "} 1", ""},
		{"x " + strings.Repeat("9", 100), ""},
		{"{" + strings.Repeat("y", 100), `line 1: expected a metric name, got ""`},
	} {
		_, err := Parse(strings.NewReader(c.text))
		if got := errText(err); got != c.want {
			t.Errorf("%.60q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func manyLabels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `l%d="",`, i)
	}
	return b.String()
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSumAndFind(t *testing.T) {
	fs := sampleRegistry().Families()
	for _, c := range []struct {
		name  string
		pairs []string
		sum   float64
		n     int
	}{
		{"demo_runs_total", nil, 43, 2},
		{"demo_runs_total", []string{"outcome", "ok"}, 42, 1},
		{"demo_runs_total", []string{"outcome", "ok", "model", "other"}, 0, 0},
		{"demo_wait_seconds_count", []string{"model", "resnet"}, 4, 1},
		{"demo_queue_depth", []string{"absent", ""}, -3, 1},
	} {
		if sum, n := fs.Sum(c.name, c.pairs...); sum != c.sum || n != c.n {
			t.Errorf("%s %v: %g of %d, want %g of %d", c.name, c.pairs, sum, n, c.sum, c.n)
		}
	}
	if f, ok := fs.Find("demo_wait_seconds"); !ok || f.Kind != KindHistogram {
		t.Errorf("Find: %v %v", f.Kind, ok)
	}
	if _, ok := fs.Find("demo"); ok {
		t.Error("found a family that is not there")
	}
}

// FuzzParse: no input panics, and what was read survives being written.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sampleText))
	f.Add([]byte("# HELP x \\\\ \\n\n# TYPE x histogram\nx_bucket{le=\"+Inf\"} 1 5\nx_sum NaN\nx_count 1\n"))
	f.Add([]byte("# TYPE x counter\nx_total 1 # {a=\"b\"} 2\n# TYPE x_total gauge\nx_total 2\n# HELP y\r\r\n"))
	f.Add([]byte("# TYPE x summary\nx{a=\"\\q\\\"\r\",} -Inf\n\tx_count{} 0x1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := Parse(bytes.NewReader(text))
		if err != nil {
			if !strings.Contains(err.Error(), "line ") {
				t.Fatalf("the error names no line: %v", err)
			}
			return
		}
		var b bytes.Buffer
		if _, err := first.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		second, err := Parse(&b)
		if err != nil && !strings.Contains(err.Error(), "longer than") { // escapes and TYPE lines add length
			t.Fatalf("%v in %q", err, b.String())
		}
		if d := cmp.Diff(first, second, sameFloat); err == nil && d != "" {
			t.Fatal(d)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(sampleText)))
	for b.Loop() {
		if _, err := Parse(strings.NewReader(sampleText)); err != nil {
			b.Fatal(err)
		}
	}
}
