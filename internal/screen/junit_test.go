package screen

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

func TestJUnitCountsWhatMakesTheExitCode(t *testing.T) {
	why := report.T("no answer", "无应答")
	d := Preflight{Envelope: report.Envelope{Started: time.Date(2026, 11, 30, 1, 45, 0, 0, time.UTC)}, Hosts: []PreflightHost{
		{Host: "npu01", TookMS: 2300, Findings: findings()},
		{Host: "npu02 <&\x00>", Error: &why},
	}, Fleet: []report.Finding{{ID: "fleet.driver", Status: report.Fail, Severity: report.Error, Text: report.T("one driver", "一个驱动")}}}
	for _, strict := range []bool{false, true} {
		d.Strict = strict
		var b bytes.Buffer
		if err := Write("junit", &b, ui.New(ui.Options{W: &b, Lang: report.En, Getenv: func(string) string { return "" }}), d); err != nil {
			t.Fatal(err)
		}
		var got JUnit
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if len(got.Suites) != 3 || got.Suites[1].Errors != 1 || got.Suites[2].Failures != 1 || got.Suites[0].Time != "2.300" || !strings.HasPrefix(got.Suites[0].Timestamp, "2026-11-30T01:45:00") {
			t.Errorf("%+v", got)
		}
		want := 0
		for _, f := range findings() {
			if f.Refuses() || strict && f.Cautions() {
				want++
			}
		}
		if s := got.Suites[0]; s.Failures != want || s.Tests != len(findings()) {
			t.Errorf("strict %t: want %d failures of %d, got %+v", strict, want, len(findings()), s)
		}
		for _, c := range got.Suites[0].Cases {
			if c.Name == "" || c.Class == "" || c.Failure != nil && c.Skipped != nil {
				t.Errorf("%+v", c)
			}
		}
	}
}
