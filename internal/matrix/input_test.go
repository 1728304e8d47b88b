package matrix_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestPartsThatCannotBeMeantAreNamed(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"torch-np=2.7.1", "no part of a stack is called torch_np, did you mean torch_npu"},
		{"vllm-asend=0.23.0", "did you mean vllm_ascend"},
		{"hdk=25.2.0", "no part of a stack is called hdk, did you mean driver"},
		{"cann", `"cann" gives no value`},
		{"cann=", "gives no value"},
		{"=8.2.RC1", "no part of a stack is called "},
	} {
		_, err := matrix.ParseParts([]string{c.arg})
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != report.ExitUsage || !strings.Contains(p.What.En, c.want) || p.What.Zh == p.What.En || p.Do.Zh == "" {
			t.Errorf("%s: %v", c.arg, err)
		}
	}
	if _, err := matrix.ParseParts([]string{"cann=8.2.RC1", "CANN=8.3.RC1"}); err == nil || !strings.Contains(err.Error(), "given twice: 8.2.RC1 and 8.3.RC1") {
		t.Error(err)
	}
	p, err := matrix.ParseParts([]string{"Torch-NPU=2.7.1", "cann=8.3.RC1", "cann=8.3.RC1"})
	if err != nil || p["torch_npu"] != "2.7.1" || len(p) != 2 {
		t.Error(p, err)
	}
	if _, err := load(t).Resolve(matrix.Parts{"kann": "8.2.RC1"}); err == nil {
		t.Error("a stack with a part nobody knows was judged")
	}
}

// TestMisspeltVersionsAreUnknownAndNameTheNearest: what a person may have meant
// is said, and what is newer than the data is told as that.
func TestMisspeltVersionsAreUnknownAndNameTheNearest(t *testing.T) {
	m := load(t)
	for _, c := range []struct{ part, value, near, says string }{
		{"cann", "8.2.RC", "8.2.RC1", "RC without its number"},
		{"cann", "7.0 RC", "7.0.RC1", "RC without its number"},
		{"cann", "7.1.0", "7.0.1", "running number"},
		{"cann", "8.2rc1", "8.2.RC1", "no row knows cann"},
		{"cann", "7.7.0.1.238", "8.1.RC1", "running number"},
		{"cann", "9.9.0", "9.2.0", "newer than the data of 20"},
		{"chip", "ascend910c", "A3", "names no chip"},
		{"chip", "910", "A1", "names no chip"},
		{"chip", "910B33", "910B3", "names no chip"},
		{"torch_npu", "2.9.0.post99", "2.9.0.post9", "no row knows"},
		{"vllm_ascend", "0.31.0", "0.30.0rc2", "newer than the data"},
		{"vllm_ascend", "0.23.O", "0.23.0", "no row knows"},
		{"mindie", "2.1.RC9", "2.1.RC2", "no row knows"},
		{"product", "Atlas 800T A22", "Atlas 800T A2", "no row knows the product"},
	} {
		v, err := m.Resolve(matrix.Parts{c.part: c.value})
		if err != nil || v.Verdict != matrix.Unknown {
			t.Errorf("%s=%s: %s %v", c.part, c.value, v.Verdict, err)
			continue
		}
		p := v.Pair("R17", c.part)
		if p == nil || !strings.Contains(p.Text.En, c.says) || len(p.Nearest) == 0 || p.Nearest[0].Value != c.near || p.Nearest[0].Part != c.part {
			t.Errorf("%s=%s: %+v", c.part, c.value, p)
		}
	}
}

// TestUnknownPairsNameTheirNeighbours: each neighbour is supported when it is
// asked about.
func TestUnknownPairsNameTheirNeighbours(t *testing.T) {
	m := load(t)
	v, err := m.Resolve(matrix.Parts{"chip": "A2", "cann": "8.3.RC2", "driver": "24.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	p := v.Pair("R04", "driver")
	if p == nil || p.Verdict != matrix.Unknown || len(p.Nearest) < 2 {
		t.Fatalf("%+v", p)
	}
	seen := map[string]bool{}
	for _, n := range p.Nearest {
		seen[n.Part+"="+n.Value] = true
		q := matrix.Parts{"chip": "A2", "cann": "8.3.RC2", "driver": "24.1.0"}
		q[n.Part] = n.Value
		if v, err := m.Resolve(q); err != nil || v.Verdict != matrix.Supported || n.Row == "" {
			t.Errorf("%+v is %s %v", n, v.Verdict, err)
		}
	}
	if !seen["cann=8.2.RC1"] || !seen["driver=25.2.1"] {
		t.Errorf("%v", seen)
	}
}

// overlay makes a user's layer of one file.
func overlay(file, text string) book.Layer {
	return book.Layer{Name: "mine", User: true, FS: fstest.MapFS{"matrix/" + file: &fstest.MapFile{Data: []byte("schema: 1\nas_of: 2027-02-01\n" + text)}}}
}

func TestOverlaysReplaceAndAddRows(t *testing.T) {
	ask := matrix.Parts{"driver": "26.9.0", "cann": "9.1.0"}
	if v, err := load(t).Resolve(ask); err != nil || v.Verdict != matrix.Unknown {
		t.Fatal(v.Verdict, err)
	}
	m := load(t, overlay("driver.yaml", "cann_hdk:\n  - {id: mine-1, cann: 9.1.X, hdk: 26.9.X, relation: tested, source: our lab, status: seen}\n"))
	v, err := m.Resolve(ask)
	if err != nil || v.Verdict != matrix.Supported || v.Tier != matrix.Tested || v.DataDate != "2027-02-01" {
		t.Errorf("%+v %v", v, err)
	}
	if p := v.Pair("R04", "cann"); p == nil || p.Row != "driver/mine-1" || p.Source != "our lab" || p.Status != "seen" {
		t.Errorf("%+v", p)
	}
}

// TestARefusalWins: one official no outweighs any promise, also where no floor
// says so.
func TestARefusalWins(t *testing.T) {
	m := load(t, overlay("driver.yaml", "cann_hdk:\n  - {id: mine-1, cann: 9.1.0, hdk: 26.9.0, relation: not_compatible, source: our lab, status: seen}\n"))
	v, err := m.Resolve(matrix.Parts{"driver": "26.9.0", "cann": "9.1.0"})
	if err != nil || v.Verdict != matrix.Unsupported || v.Pair("R04", "driver").Row != "driver/mine-1" {
		t.Errorf("%+v %v", v, err)
	}
}

func TestMistakesInOverlaysAreNamedByLine(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"unknown key":   {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.1.0, hkd: 26.9.0, relation: tested, source: s, status: seen}\n", "mine/matrix/driver.yaml:4: unknown key hkd, did you mean hdk"},
		"wrong shape":   {"driver.yaml", "cann_hdk:\n  - {id: x, cann: {a: b}, hdk: 26.9.0, relation: tested, source: s, status: seen}\n", "mine/matrix/driver.yaml:4: cann: no row below writes a mapping here"},
		"no source":     {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.1.0, hdk: 26.9.0, relation: tested, status: seen}\n", "mine/matrix/driver.yaml:4: source is missing"},
		"bad status":    {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.1.0, hdk: 26.9.0, relation: tested, source: s, status: sure}\n", "status: want src, seen or guess"},
		"section":       {"driver.yaml", "cann_hkd: []\n", "mine/matrix/driver.yaml:3: unknown section cann_hkd, did you mean cann_hdk"},
		"no list":       {"driver.yaml", "cann_hdk: {a: b}\n", "section cann_hdk: want a list of rows"},
		"file name":     {"drivers.yaml", "cann_hdk: []\n", "mine/matrix/drivers.yaml: no table of the matrix has this name, did you mean driver.yaml"},
		"id twice":      {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.1.0, hdk: 26.9.0, relation: tested, source: s, status: seen}\n  - {id: x, cann: 9.1.0, hdk: 26.9.0, relation: tested, source: s, status: seen}\n", "id x stands twice, first at mine/matrix/driver.yaml:4"},
		"contradiction": {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.1.0, hdk: 25.2.3, relation: not_compatible, source: s, status: seen}\n", "mine/matrix/driver.yaml:4: contradicts compat/matrix/driver.yaml:"},
		"contradiction inside": {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.7.0, hdk: 27.0.0, relation: not_compatible, source: s, status: seen}\n  - {id: y, cann: 9.7.X, hdk: 27.0.X, relation: tested, source: s, status: seen}\n",
			"contradicts mine/matrix/driver.yaml:4 (9.7.X x 27.0.X: not_compatible, tested)"},
		"one version twice": {"vllm_ascend.yaml", "releases:\n  - {id: mine, vllm_ascend: 0.23.0, vllm: [0.23.0], cann: 9.9.0, torch: 2.10.0, torch_npu: 2.10.0, soc: [A2], source: s, status: seen}\n",
			"to replace that row, give yours its id 0.23.0"},
		"a version that is said not to exist": {"vllm_ascend.yaml", "releases:\n  - {id: 0.26.0, vllm_ascend: 0.26.0, vllm: [0.26.0], cann: 9.1.0, torch: 2.10.0, torch_npu: 2.10.0, soc: [A2], source: s, status: seen}\n",
			"contradicts compat/matrix/nonexistent.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := matrix.Load(embedded(), overlay(c.file, c.text))
			var p *report.Problem
			if !errors.As(err, &p) || p.Exit != report.ExitUsage || !strings.Contains(p.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

func TestOldDataIsSaid(t *testing.T) {
	v, err := load(t).Resolve(matrix.Parts{"cann": "9.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	day, err := time.Parse(time.DateOnly, v.DataDate)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after int
		old   bool
	}{{0, false}, {100, false}, {183, false}, {184, true}} {
		if days, old := v.Old(day.AddDate(0, 0, c.after)); days != c.after || old != c.old {
			t.Errorf("after %d days: %d %v", c.after, days, old)
		}
	}
}

func TestWhatIsMissingIsListed(t *testing.T) {
	v, err := load(t).Resolve(matrix.Parts{"chip": "910B4", "driver": "25.2.0", "cann": "9.1.0", "torch_npu": "2.10.0.post4", "vllm_ascend": "0.23.0", "memory": "32GB"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(v.Unchecked, " "); got != "os firmware nnal ops_package python torch triton_ascend vllm" {
		t.Error(got)
	}
	if got := strings.Join(v.Unjudged, " "); got != "memory" {
		t.Error(got)
	}
	if v.Verdict != matrix.Supported || v.Tier != matrix.Compatible || v.Parts["driver"] != "25.2.0" {
		t.Errorf("%+v", v)
	}
	if p := v.Pair("R05", "torch_npu"); p == nil || p.Row != "vllm_ascend/0.23.0" || len(p.Conflict) == 0 || p.Conflict[0].ID != "CF06" || p.Date == "" {
		t.Errorf("%+v", p)
	}
	if p := v.Pair("R04", "driver"); p == nil || len(p.Conflict) != 1 || p.Conflict[0].ID != "CF02" || p.Tier != matrix.Compatible {
		t.Errorf("%+v", p)
	}
}
