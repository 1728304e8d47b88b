package screen

import (
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Diff compares two hosts: a good one and a bad one.
type Diff struct {
	report.Envelope
	A     string           `json:"a"`
	B     string           `json:"b"`
	Facts []facts.Compared `json:"facts"` // what differs first, then what is unsure, then the rest

	Verbose bool `json:"-"` // equal ones too
}

// Show writes the document for people.
func (d Diff) Show(o *ui.Out) {
	var rows [][]string
	n := map[facts.Verdict]int{}
	matter := []string{}
	for _, c := range d.Facts {
		n[c.Verdict]++
		if c.Verdict == facts.Same && !d.Verbose {
			continue
		}
		mark := ""
		switch c.Verdict {
		case facts.Differs:
			mark = report.T("<- differs", "<- 不同").In(o.Lang())
			if c.Check != "" && len(matter) < 3 {
				matter = append(matter, c.Key+" ("+c.Check+")")
			}
		case facts.Unsure:
			mark = report.T("? not compared", "? 未比较").In(o.Lang())
		}
		rows = append(rows, []string{c.Key, entry(o, c.A), entry(o, c.B), mark})
	}
	o.Table([]ui.Column{{Head: report.T("FACT", "项目")}, {Head: report.Same(d.A)}, {Head: report.Same(d.B)}, {}}, rows)
	o.Print("\n")
	o.Say(report.T("not compared: serial numbers, addresses, times, load", "不比较：序列号、地址、时间、负载"))
	o.Say(report.T("differences: %d, not sure: %d, equal: %d", "不同：%d，无法确定：%d，相同：%d", n[facts.Differs], n[facts.Unsure], n[facts.Same]))
	if len(matter) > 0 {
		o.Say(report.T("Most likely to matter: %s", "最可能相关：%s", strings.Join(matter, ", ")))
	}
}

func entry(o *ui.Out, e facts.Entry) string {
	switch {
	case e.State == "absent":
		return report.T("absent", "无").In(o.Lang())
	case e.State != "known":
		return "?"
	}
	return cut(first(e.Short, e.Text), 40)
}

// Drift is what differs over a fleet.
type Drift struct {
	report.Envelope
	Hosts   []string      `json:"hosts"` // that answered
	Silent  []DriftSilent `json:"silent,omitempty"`
	Differs []facts.Drift `json:"differs"`
}

// DriftSilent is a host without an answer.
type DriftSilent struct {
	Host  string      `json:"host"`
	Error report.Text `json:"error"`
}

// Show writes the document for people.
func (d Drift) Show(o *ui.Out) {
	var rows [][]string
	for _, f := range d.Differs {
		for i, other := range f.Others {
			key, majority := f.Key, fmt.Sprintf("%s (%d)", entry(o, f.Majority), len(f.Has))
			if i > 0 {
				key, majority = "", ""
			}
			rows = append(rows, []string{key, majority, entry(o, other.Entry), cut(strings.Join(other.Hosts, " "), 40)})
		}
	}
	o.Table([]ui.Column{{Head: report.T("FACT", "项目")}, {Head: report.T("MOST", "多数")}, {Head: report.T("OTHERWISE", "其他取值")}, {Head: report.T("ON", "主机")}}, rows)
	o.Print("\n")
	for _, s := range d.Silent {
		o.Say(report.T("%s gave no answer: %s", "%s 无应答：%s", s.Host, s.Error))
	}
	o.Say(report.T("%d facts differ over %d hosts", "%d 项在 %d 台主机间不同", len(d.Differs), len(d.Hosts)))
}
