package screen

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/codes"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Explain says what an error code means.
type Explain struct {
	report.Envelope
	codes.Answer

	Verbose bool `json:"-"` // sources, log lines and more than three meanings too
}

// mostMeanings is how many meanings of one number a screen shows.
const mostMeanings = 3

// Show writes the document for people.
func (d Explain) Show(o *ui.Out) {
	for i, e := range d.Entries {
		if i == mostMeanings && !d.Verbose {
			o.Say(report.T("\nand %d more meanings (-v)", "\n另有 %d 种含义（-v）", len(d.Entries)-i))
			break
		}
		if i > 0 {
			o.Print("\n")
		}
		d.meaning(o, e)
	}
}

func (d Explain) meaning(o *ui.Out, e codes.Entry) {
	o.Print("%s  %s\n", o.Bold(join("  ", e.Code, e.Name)), o.Faint(e.FamilyTitle.In(o.Lang())))
	line := func(label, text report.Text) {
		if !text.IsZero() {
			o.Say(report.T("    %s  %s", "    %s  %s", label, text))
		}
	}
	if e.Range {
		line(report.T("range", "范围"), report.T("this code has no row; known beside it: %s", "没有该码的条目；相邻的已知码：%s", first(strings.Join(e.Near, ", "), "-")))
	}
	line(report.T("asked", "查询"), e.As)
	line(report.T("means", "含义"), e.Meaning)
	for _, c := range e.Causes {
		line(report.T("why  ", "原因"), c)
	}
	line(report.T("do   ", "处理"), e.Remedy)
	line(report.T("act  ", "动作"), e.ActionText)
	line(report.T("note ", "说明"), e.Note)
	if e.ACL != 0 {
		line(report.T("seen ", "可见"), report.T("by a caller of ACL as %d %s", "ACL 调用方看到 %d %s", e.ACL, e.ACLName))
	}
	if e.Now != "" {
		line(report.T("now  ", "现为"), report.Same(e.Now))
	}
	if !d.Verbose {
		return
	}
	for _, m := range e.Messages {
		line(report.T("log  ", "日志"), report.Same(m.Releases+"  "+m.Line))
	}
	for _, s := range e.Sources {
		line(report.T("from ", "来源"), report.Same(s+" ("+e.Status+")"))
	}
}
