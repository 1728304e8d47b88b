package screen

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/hub"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Fetch says what was fetched, or with --dry-run what would be.
type Fetch struct {
	report.Envelope
	Result *hub.Result  `json:"result,omitempty"`
	Plan   *hub.Planned `json:"plan,omitempty"` // only with --dry-run
}

// Show writes the document for people.
func (d Fetch) Show(o *ui.Out) {
	if d.Plan != nil {
		showPlan(o, *d.Plan)
		return
	}
	r := d.Result
	for _, t := range r.Tried {
		o.Say(report.T("tried   %s", "曾尝试  %s", t))
	}
	if r.Already {
		o.Say(report.T("ONNX Runtime %s is there and verified (sha256)", "ONNX Runtime %s 已存在并通过校验（sha256）", r.Version))
	} else {
		o.Say(report.T("ONNX Runtime %s by %s, verified (sha256), %s", "ONNX Runtime %s 经 %s 获取，已校验（sha256），%s", r.Version, r.Carrier, ui.Bytes(r.Bytes)))
	}
	o.Print("  %s\n", r.File)
}

func showPlan(o *ui.Out, p hub.Planned) {
	if p.Already {
		o.Say(report.T("nothing to do: %s is there and verified", "无需操作：%s 已存在并通过校验", p.File))
		return
	}
	o.Say(report.T("Would fetch into %s; nothing was changed. The first that works ends it:", "将下载到 %s；未做任何变更。依次尝试，成功即止：", p.File))
	for _, s := range p.Steps {
		o.Print("  $ %s\n", s.Command)
		if s.Requirements != "" {
			o.Print("      %s\n", strings.ReplaceAll(strings.TrimSpace(s.Requirements), "\n", "\n      "))
		}
		o.Say(report.T("      %s to download", "      需下载 %s", ui.Bytes(s.Bytes)))
	}
}
