package screen

import (
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Compat says whether versions belong together.
type Compat struct {
	report.Envelope
	Hosts []CompatHost `json:"stacks"`

	Explain bool `json:"-"` // rows and sources of every pair too
}

// CompatHost is the verdict on one stack: of a host, or of what was given.
type CompatHost struct {
	Host string `json:"host,omitempty"` // absent: only given parts
	matrix.Verdict
	DataDays int          `json:"data_days"` // age of the data
	DataOld  bool         `json:"data_old"`  // so old that releases are missing
	Exit     report.Exit  `json:"exit"`
	Error    *report.Text `json:"error,omitempty"` // why there is no answer

	Next string `json:"-"`
}

// Show writes the document for people.
func (d Compat) Show(o *ui.Out) {
	for i, h := range d.Hosts {
		if i > 0 {
			o.Print("\n")
		}
		switch {
		case h.Error != nil:
			o.Say(report.T("%s: no answer: %s", "%s：无应答：%s", h.Host, *h.Error))
		default:
			h.show(o, d.Explain)
		}
	}
}

func (h CompatHost) show(o *ui.Out, explain bool) {
	if h.Host != "" {
		o.Say(report.T("%s: %s", "%s：%s", o.Bold(h.Host), given(h.Parts)))
	}
	for _, p := range h.Pairs {
		if !explain && p.Verdict == matrix.Supported {
			continue
		}
		h.pair(o, p, explain)
	}
	if len(h.Unjudged) > 0 {
		o.Say(report.T("Given, but no rule has judged it: %s", "已给出但没有规则判断：%s", strings.Join(h.Unjudged, ", ")))
	}
	if explain && len(h.Unchecked) > 0 {
		o.Say(report.T("Unchecked, because not given: %s", "未给出，因而未检查：%s", strings.Join(h.Unchecked, ", ")))
	}
	if explain && h.Tier == matrix.Compatible {
		o.Say(report.T("\"compatible\" is thin: what existed before runs, new features may need the newer part", "compatible 级别较弱：只保证已有功能可运行，新特性可能需要更新的部件"))
	}
	if h.DataOld {
		o.Say(report.T("The data is %d days old: releases since then are missing", "数据已有 %d 天：缺少此后的版本", h.DataDays))
	}
	o.Say(h.last(explain))
	if h.Next != "" {
		o.Say(report.T("Next: %s", "下一步：%s", h.Next))
	}
}

// last is the line a person in a hurry reads.
func (h CompatHost) last(explain bool) report.Text {
	answer := answers[h.Verdict.Verdict]
	if h.Tier != "" {
		answer = report.T("%s, weakest tier: %s", "%s，最弱依据：%s", answer, string(h.Tier))
	}
	if !explain && len(h.Unchecked) > 0 {
		answer = report.T("%s; not given: %s", "%s；未给出：%s", answer, cut(strings.Join(h.Unchecked, ", "), 60))
	}
	return report.T("%s (data of %s)", "%s（数据日期 %s）", answer, h.DataDate)
}

// answers are the three verdicts in words.
var answers = map[matrix.Answer]report.Text{
	matrix.Supported:   {En: "Supported", Zh: "支持"},
	matrix.Unsupported: {En: "Unsupported", Zh: "不支持"},
	matrix.Unknown:     {En: "Unknown", Zh: "未知"},
}

// marks are the signs of the three verdicts.
var marks = map[matrix.Answer]report.Status{matrix.Supported: report.Pass, matrix.Unsupported: report.Fail, matrix.Unknown: report.Unknown}

// pair is one line and, where asked for or where something is wrong, its reason.
func (h CompatHost) pair(o *ui.Out, p matrix.Pair, explain bool) {
	words := make([]string, len(p.Parts))
	for i, name := range p.Parts {
		words[i] = strings.TrimSpace(name + " " + h.Parts[name])
	}
	o.Print("%s %s  %s\n", o.Mark(marks[p.Verdict]), strings.Join(words, " x "), o.Faint(strings.TrimSpace(p.Rule+" "+string(p.Tier))))
	o.Say(report.T("    why   %s", "    原因  %s", p.Text))
	for _, c := range p.Conflict {
		o.Say(report.T("    note  %s %s", "    说明  %s %s", c.ID, c.Text))
	}
	for i, n := range p.Nearest {
		if i == mostEvidence {
			break
		}
		o.Say(report.T("    known %s %s", "    已知  %s %s", n.Part, n.Value))
	}
	if !explain {
		return
	}
	if p.Row != "" {
		o.Say(report.T("    row   %s", "    条目  %s", p.Row))
	}
	if p.Source != "" {
		o.Say(report.T("    from  %s (%s)", "    来源  %s（%s）", cut(p.Source, 160), strings.TrimSpace(p.Status+" "+p.Date)))
	}
}

// given are parts in one line, what is hard to change first.
func given(p matrix.Parts) string {
	var out []string
	for _, name := range matrix.PartNames() {
		if v := p[name]; v != "" {
			out = append(out, fmt.Sprintf("%s %s", name, v))
		}
	}
	return strings.Join(out, ", ")
}
