package screen

import (
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// NPUSmi is what pasted output of npu-smi says.
type NPUSmi struct {
	report.Envelope
	facts.NPUSmi
}

// Show writes the document for people.
func (d NPUSmi) Show(o *ui.Out) {
	if f := d.Failure; f != nil {
		o.Print("%s npu-smi: %s\n", o.Mark(report.Fail), first(f.Line, string(f.Error)))
		o.Say(report.T("  why   %s", "  原因  %s", f.Cause))
		return
	}
	o.Print("npu-smi %s, %s, %s\n", first(d.ToolVersion, "?"), d.Kind, d.Type)
	showChips(o, &facts.Facts{NPUInfo: facts.Fact[facts.NPUSmi]{Value: d.NPUSmi, State: "known"}})
	if d.Truncated {
		o.Say(report.T("the text stops early: what is missing is unknown", "文本不完整：缺失部分为未知"))
	}
}
