package screen

import (
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Journals lists what was changed on hosts.
type Journals struct {
	report.Envelope
	Hosts []JournalHost `json:"hosts"`
}

// JournalHost is what was changed on one host.
type JournalHost struct {
	Host    string        `json:"host"`
	Changes []*plan.Entry `json:"changes"` // newest first
	Error   *report.Text  `json:"error,omitempty"`
}

// Show writes the document for people.
func (d Journals) Show(o *ui.Out) {
	var rows [][]string
	for _, h := range d.Hosts {
		if h.Error != nil {
			rows = append(rows, []string{h.Host, "-", report.T("no answer", "无应答").In(o.Lang()), "", h.Error.In(o.Lang())})
		}
		for _, c := range h.Changes {
			word := stateWord(c.State, false)
			if c.State == plan.Open {
				word = report.T("not finished", "未完成")
			}
			rows = append(rows, []string{h.Host, c.ID, word.In(o.Lang()), c.Who, c.Title.In(o.Lang())})
		}
	}
	if len(rows) == 0 {
		o.Say(report.T("Nothing was changed", "没有变更记录"))
		return
	}
	o.Table([]ui.Column{{Head: report.T("HOST", "主机")}, {Head: report.Same("ID")}, {Head: report.T("STATE", "状态")}, {Head: report.T("BY", "执行者")}, {Head: report.T("CHANGE", "变更")}}, rows)
}
