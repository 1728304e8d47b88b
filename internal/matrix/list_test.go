package matrix_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestListFindsRowsByWhatTheyName(t *testing.T) {
	m := load(t)
	all, err := m.List("", nil)
	if err != nil || len(all) < 700 {
		t.Fatal(len(all), err)
	}
	for _, r := range all {
		if r.Source == "" || r.ID == "" || r.Section == "" || len(r.Cells) == 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, c := range []struct {
		section string
		filter  matrix.Parts
		want    string // one row that must be there
		not     string // one that must not
	}{
		{"driver.cann_hdk", matrix.Parts{"cann": "9.1.0", "driver": "25.2.3"}, "9.1.X", "8.5.0"},
		{"vllm_ascend.releases", matrix.Parts{"cann": "8.5.0", "chip": "910B3"}, "0.13.0", "0.23.0"},
		{"cann", matrix.Parts{"cann": "9.1.T1"}, "9.1.0-beta.1", "9.1.0-beta.2"},
		{"known_bad", nil, "KB01", ""},
	} {
		rows, err := m.List(c.section, c.filter)
		has := func(want string) bool {
			return slices.ContainsFunc(rows, func(r matrix.ListRow) bool {
				return r.ID == want || slices.ContainsFunc(r.Cells, func(x matrix.Cell) bool { return x.Value.En == want })
			})
		}
		if err != nil || !has(c.want) || c.not != "" && has(c.not) {
			t.Errorf("%s %v: %d rows %v", c.section, c.filter, len(rows), err)
		}
	}
	_, err = m.List("driver.cann_hkd", nil)
	var p *report.Problem
	if !errors.As(err, &p) || !strings.Contains(p.What.En, "did you mean driver.cann_hdk") {
		t.Error(err)
	}
}

func TestDiffShowsWhatDiffersAndJudgesBoth(t *testing.T) {
	d, err := load(t).Diff(matrix.Parts{"cann": "8.2.rc1", "driver": "25.2.0"}, matrix.Parts{"cann": "9.2.0", "driver": "25.2.0", "python": "3.11"})
	if err != nil {
		t.Fatal(err)
	}
	want := []matrix.Change{{Part: "cann", From: "8.2.RC1", To: "9.2.0"}, {Part: "python", To: "3.11"}}
	if !slices.Equal(d.Parts, want) || d.A.Verdict != matrix.Supported || d.B.Verdict != matrix.Unsupported {
		t.Errorf("%+v", d)
	}
	if _, err := load(t).Diff(matrix.Parts{}, matrix.Parts{"nonsense": "1"}); err == nil {
		t.Error("an unknown part was compared")
	}
}

func TestTheDataHasNothingToComplainAbout(t *testing.T) {
	complaints, err := matrix.Lint(yamlOnly(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range complaints {
		t.Errorf("%s %s: %s", c.At, c.Row, c.Text.En)
	}
}

// TestLintSaysNo proves that each complaint can be made.
func TestLintSaysNo(t *testing.T) {
	for want, c := range map[string]struct{ file, text string }{
		"no status":                    {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.7.0, hdk: 27.0.0, relation: tested, source: s}\n"},
		`cann: "9.7" is not`:           {"driver.yaml", "cann_hdk:\n  - {id: x, cann: '9.7', hdk: 27.0.0, relation: tested, source: s, status: seen}\n"},
		`relation: nobody reads "test`: {"driver.yaml", "cann_hdk:\n  - {id: x, cann: 9.7.0, hdk: 27.0.0, relation: testet, source: s, status: seen}\n"},
		`when: nobody reads "drivr"`:   {"known_bad.yaml", "known_bad:\n  - {id: x, when: {drivr: 1.0.0}, verdict: unsupported, effect: {en: a, zh: 甲}, source: s, status: seen}\n"},
		`verdict: nobody reads "bad"`:  {"known_bad.yaml", "known_bad:\n  - {id: x, when: {driver: 1.0.0}, verdict: bad, effect: {en: a, zh: 甲}, source: s, status: seen}\n"},
		"contradicts":                  {"chips.yaml", "socs:\n  - {id: x, soc_version: Ascend910B3, short: Ascend910B, generation: A3, npu_arch: 2201, bf16: true, source: s, status: seen}\n"},
		"no code answers for rule":     {"rules.yaml", "rules:\n  - {id: R19, cls: exact, source: s, status: src}\n"},
	} {
		complaints, err := matrix.Lint(yamlOnly(t), book.Layer{Name: "update", FS: fstest.MapFS{"matrix/" + c.file: &fstest.MapFile{Data: []byte("schema: 1\nas_of: 2027-01-01\n" + c.text)}}})
		if err != nil || !slices.ContainsFunc(complaints, func(c matrix.Complaint) bool {
			return strings.Contains(c.Text.En, want) && strings.HasPrefix(c.At, "update/")
		}) {
			t.Errorf("%s: %v %v", want, complaints, err)
		}
	}
}

func TestPairsForOthers(t *testing.T) {
	m := load(t)
	if got := m.CANNFor("24.1.0", "910B3"); len(got) == 0 || got[0] != "8.2.RC1" {
		t.Error(got)
	}
	if got := m.DriversFor("8.5.0", "A2"); len(got) == 0 || got[len(got)-1] != "25.0.RC1" {
		t.Error(got)
	}
	c, ok := m.Chip("ascend910b3")
	if !ok || c.SoC != "Ascend910B3" || c.Generation != "A2" || !c.BF16 || c.Package != "910b" {
		t.Errorf("%+v", c)
	}
	for name, want := range map[string]string{"910B": "A1", "910_9391": "A3", "950dt_9582": "950", "310p": "310P", "910": "", "950DTX": "", "": ""} {
		if c, ok := m.Chip(name); c.Generation != want || ok != (want != "") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
