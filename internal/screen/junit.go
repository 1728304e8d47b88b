package screen

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// JUnit is a verdict as CI systems read it: one suite a host, one case a check.
type JUnit struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []JUnitSuite `xml:"testsuite"`
}

// JUnitSuite is one host, or what the hosts are to each other.
type JUnitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"` // seconds
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []JUnitCase `xml:"testcase"`
}

// JUnitCase is one check. At most one of the three is there.
type JUnitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *JUnitNote `xml:"failure,omitempty"`
	Error   *JUnitNote `xml:"error,omitempty"`
	Skipped *JUnitNote `xml:"skipped,omitempty"`
	Out     string     `xml:"system-out,omitempty"` // a warning that does not fail
}

// JUnitNote says why a case is not a pass.
type JUnitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit gives the verdict for a CI system, in one language. What makes the exit
// code is a failure; what a root explains, does not apply or is not known is
// skipped; a host that gave no answer is an error.
func (d Preflight) JUnit(l report.Lang) JUnit {
	out := JUnit{Name: "ascendctl preflight"}
	add := func(name string, ms int64, cases []JUnitCase) {
		s := JUnitSuite{Name: name, Tests: len(cases), Time: fmt.Sprintf("%.3f", float64(ms)/1000), Timestamp: d.Started.UTC().Format("2006-01-02T15:04:05"), Cases: cases}
		for _, c := range cases {
			switch {
			case c.Failure != nil:
				s.Failures++
			case c.Error != nil:
				s.Errors++
			case c.Skipped != nil:
				s.Skipped++
			}
		}
		out.Suites = append(out.Suites, s)
	}
	for _, h := range d.Hosts {
		if h.Error != nil {
			add(h.Host, h.TookMS, []JUnitCase{{Class: "preflight", Name: "answer", Error: &JUnitNote{Message: h.Error.In(l), Type: "unreachable"}}})
			continue
		}
		add(h.Host, h.TookMS, d.cases(h.Findings, l))
	}
	if len(d.Fleet) > 0 {
		add(report.T("across the hosts", "主机之间").In(l), 0, d.cases(d.Fleet, l))
	}
	return out
}

func (d Preflight) cases(findings []report.Finding, l report.Lang) []JUnitCase {
	var cases []JUnitCase
	for _, f := range findings {
		group, _, _ := strings.Cut(f.ID, ".")
		c := JUnitCase{Class: "preflight." + group, Name: f.ID}
		note := &JUnitNote{Message: f.Text.In(l), Type: string(f.Severity), Text: told(f, l)}
		switch {
		case f.Status == report.Pass:
		case f.Status == report.Skip:
			c.Skipped = &JUnitNote{Message: report.T("does not apply", "不适用").In(l), Text: note.Text}
		case !f.Root():
			c.Skipped = &JUnitNote{Message: report.T("because of %s", "由 %s 引起", strings.Join(f.Because, " ")).In(l), Text: note.Text}
		case f.Refuses(), d.Strict:
			c.Failure = note
		case f.Status == report.Unknown:
			c.Skipped = &JUnitNote{Message: report.T("not known", "未知").In(l), Text: note.Text}
		default:
			c.Out = f.Text.In(l) + "\n" + note.Text
		}
		cases = append(cases, c)
	}
	return cases
}

// told is the evidence and the way out, a line each.
func told(f report.Finding, l report.Lang) string {
	var b strings.Builder
	for _, e := range f.Evidence {
		seen := report.T("%s: %s", "%s：%s", e.Source, e.Seen)
		if !e.Wanted.IsZero() {
			seen = report.T("%s: %s, wanted %s", "%s：%s，应为 %s", e.Source, e.Seen, e.Wanted)
		}
		b.WriteString(seen.Tight().In(l) + "\n")
	}
	if !f.Fix.IsZero() {
		b.WriteString(f.Fix.In(l) + "\n")
	}
	if f.Run != "" {
		b.WriteString("$ " + f.Run + "\n")
	}
	return b.String()
}

func writeJUnit(w io.Writer, j JUnit) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(j); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
