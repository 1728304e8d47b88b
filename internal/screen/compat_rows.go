package screen

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// CompatList shows rows of the matrix with their sources.
type CompatList struct {
	report.Envelope
	Rows []matrix.ListRow `json:"rows"`

	Sections []string `json:"-"` // shown instead of rows when none was asked for
	Verbose  bool     `json:"-"` // every key and the source too
}

// Show writes the document for people.
func (d CompatList) Show(o *ui.Out) {
	if d.Rows == nil {
		for _, s := range d.Sections {
			o.Print("%s\n", s)
		}
		o.Say(report.T("Next: %s", "下一步：%s", "ascendctl compat list driver.cann_hdk"))
		return
	}
	for _, r := range d.Rows {
		cells := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			cells[i] = c.Key + " " + c.Value.In(o.Lang())
		}
		line := strings.Join(cells, ", ")
		if !d.Verbose {
			line = cut(line, 160)
		}
		o.Print("%s  %s\n", o.Bold(r.Section+"/"+r.ID), line)
		if d.Verbose {
			o.Say(report.T("    from  %s (%s)", "    来源  %s（%s）", r.Source, strings.TrimSpace(r.Status+" "+r.Date)))
			o.Say(report.T("    file  %s", "    文件  %s", r.At))
		}
	}
	o.Say(report.T("rows: %d", "条目数：%d", len(d.Rows)))
}

// CompatLint says what is wrong with the tables of all layers.
type CompatLint struct {
	report.Envelope
	Complaints []matrix.Complaint `json:"complaints"`
}

// Show writes the document for people.
func (d CompatLint) Show(o *ui.Out) {
	for _, c := range d.Complaints {
		o.Say(report.T("%s %s: %s", "%s %s：%s", o.Mark(report.Fail), c.At, c.Text))
	}
	if len(d.Complaints) == 0 {
		o.Say(report.T("Nothing to complain about", "未发现问题"))
		return
	}
	o.Say(report.T("complaints: %d", "问题数：%d", len(d.Complaints)))
}

// CompatDiff compares two stacks.
type CompatDiff struct {
	report.Envelope
	Names [2]string `json:"names"`
	matrix.Diff
}

// Show writes the document for people.
func (d CompatDiff) Show(o *ui.Out) {
	var rows [][]string
	for _, c := range d.Parts {
		rows = append(rows, []string{c.Part, first(c.From, "-"), first(c.To, "-")})
	}
	o.Table([]ui.Column{{Head: report.T("PART", "部件")}, {Head: report.Same(d.Names[0])}, {Head: report.Same(d.Names[1])}}, rows)
	o.Print("\n")
	for i, v := range []matrix.Verdict{d.A, d.B} {
		o.Say(report.T("%s: %s", "%s：%s", d.Names[i], answers[v.Verdict]))
		for _, p := range v.Pairs {
			if p.Verdict != matrix.Supported {
				o.Say(report.T("    why   %s", "    原因  %s", p.Text))
			}
		}
	}
	o.Say(report.T("differences: %d (data of %s)", "不同：%d 处（数据日期 %s）", len(d.Parts), d.DataDate))
}
