package book

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/report"
)

func TestFreeRowsKeepWhatIsWritten(t *testing.T) {
	base := layer("base", head+"  - {id: a, source: s, version: 3.10, list: [1.0, x], more: {k: [y]}, none: ~, note: {en: e, zh: 中}}\n  - {id: b, source: s, note: plain, list: one}\n")
	mine := layer("mine", head+"  - {id: b, source: s2, list: [p, q]}\n  - {id: c, source: s}\n")
	mine.User = true
	rows, err := Free(New(base, mine), "*.yaml", "tools")
	if err != nil || len(rows) != 3 {
		t.Fatal(rows, err)
	}
	a, b := rows[0], rows[1]
	more := a.Get("more")
	if a.Str("version") != "3.10" || a.Str("none") != "" || a.At != "base/tools.yaml:4" || a.User {
		t.Errorf("%+v", a)
	}
	if d := cmp.Diff([][]string{{"1.0", "x"}, {"y"}, {"3.10"}, {}}, [][]string{a.Strs("list"), more.Strs("k"), a.Strs("version"), a.Strs("absent")}); d != "" {
		t.Error(d)
	}
	if a.Prose("note") != (report.Text{En: "e", Zh: "中"}) || !a.Prose("absent").IsZero() {
		t.Errorf("%+v", a.Prose("note"))
	}
	if b.Str("source") != "s2" || b.At != "mine/tools.yaml:4" || !b.User || b.Prose("note") != (report.Text{}) || rows[2].ID != "c" {
		t.Errorf("%+v", b)
	}
}

func TestFreeRowsAreHeldAgainstTheLayersBelow(t *testing.T) {
	base := layer("base", head+"  - {id: a, source: s, list: [x]}\n")
	for text, want := range map[string]string{
		"  - {id: b, source: s, lsit: [x]}\n":            "unknown key lsit, did you mean list",
		"  - {id: b, source: s, list: x}\n":              "list: no row below writes a single value here",
		"  - {id: b, source: s, status: sure}\n":         "status: want src, seen or guess",
		"  - {id: b}\n":                                  "source is missing",
		"  - {id: ~, source: s}\n":                       "id is missing",
		"  - x\n":                                        "want a row with id and source, got a single value",
		"  - {id: b, source: s}\n  - {id: b, source: s}": "id b stands twice, first at mine/tools.yaml:4",
		"  {a: b}\n":                                     "section tools: want a list of rows, got a mapping",
	} {
		mine := layer("mine", head+text)
		mine.User = true
		_, err := Free(New(base, mine), "*.yaml", "tools")
		var p *report.Problem
		if !errors.As(err, &p) || !strings.Contains(p.Why.En, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Free(New(base), "*.yaml", "gone"); err == nil {
		t.Error("a missing section gave rows")
	}
}
