package screen

import (
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Suggest says which stacks to aim at.
type Suggest struct {
	report.Envelope
	Hosts []SuggestHost `json:"stacks"`

	Verbose bool `json:"-"` // the whole stack too
}

// SuggestHost is the advice for one stack: of a host, or of what was given.
type SuggestHost struct {
	Host string `json:"host,omitempty"` // absent: only given parts
	matrix.Advice
	Error *report.Text `json:"error,omitempty"` // why there is no answer

	Next string `json:"-"`
}

// Show writes the document for people.
func (d Suggest) Show(o *ui.Out) {
	for i, h := range d.Hosts {
		if i > 0 {
			o.Print("\n")
		}
		if h.Error != nil {
			o.Say(report.T("%s: no answer: %s", "%s：无应答：%s", h.Host, *h.Error))
			continue
		}
		if h.Host != "" {
			o.Print("%s\n", o.Bold(h.Host))
		}
		for _, s := range h.Suggestions {
			suggestion(o, s, d.Verbose)
			o.Print("\n")
		}
		if !h.None.IsZero() {
			o.Say(h.None)
		}
		if h.Next != "" {
			o.Say(report.T("Next: %s", "下一步：%s", h.Next))
		}
	}
}

// kinds of suggestions in words.
var kinds = map[string]report.Text{
	"least_change": {En: "least change for the wanted version", Zh: "达到所需版本的最小变更"},
	"new_driver":   {En: "no supported stack takes the present driver: least change with a newer one", Zh: "没有支持现有驱动的组合：更换驱动的最小变更"},
	"newest":       {En: "newest release that fits", Zh: "可用的最新正式版"},
	"newest_rc":    {En: "newest release candidate that fits", Zh: "可用的最新候选版"},
}

func suggestion(o *ui.Out, s matrix.Suggestion, verbose bool) {
	tier := string(s.Verdict.Tier)
	if tier == "" {
		tier = answers[s.Verdict.Verdict].In(o.Lang())
	}
	o.Print("%s %s  %s\n", o.Mark(marks[s.Verdict.Verdict]), o.Bold(s.Engine+" "+s.Parts[s.Engine]), o.Faint(kinds[s.Kind].In(o.Lang())+", "+tier))
	keep := make([]string, len(s.Keep))
	for i, name := range s.Keep {
		keep[i] = name + " " + s.Parts[name]
	}
	if len(keep) > 0 {
		o.Say(report.T("    keep    %s", "    保留    %s", strings.Join(keep, ", ")))
	}
	for _, c := range s.Change {
		was := ""
		if c.From != "" {
			was = fmt.Sprintf("  (%s)", c.From)
		}
		o.Say(report.T("    change  %s %s%s", "    变更    %s %s%s", c.Part, c.To, was))
	}
	for _, p := range s.Verdict.Pairs {
		if p.Verdict != matrix.Supported {
			o.Say(report.T("    open    %s", "    存疑    %s", p.Text))
		}
	}
	for _, n := range s.Notes {
		o.Say(report.T("    note    %s", "    说明    %s", n))
	}
	for _, i := range s.Images {
		o.Say(report.T("    image   %s", "    镜像    %s", i))
	}
	if verbose {
		for _, f := range s.Files {
			o.Say(report.T("    file    %s", "    文件    %s", f))
		}
		o.Say(report.T("    row     %s", "    条目    %s", s.Row))
	}
}
