package screen

import (
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Change is a plan for hosts and, after it ran, what came of it.
type Change struct {
	report.Envelope
	Plans   []ChangePlan    `json:"plans"`
	Results []ChangeOutcome `json:"results,omitempty"` // absent: nothing was run

	Again   string   `json:"-"` // how to do it, after a dry run
	Undo    []string `json:"-"` // a line for each host
	Next    string   `json:"-"`
	Verbose bool     `json:"-"`
}

// ChangePlan is what would be done to one host.
type ChangePlan struct {
	plan.Shown
	Row    string           `json:"row,omitempty"` // of the matrix, that the versions are taken from
	Keep   []ChangeKept     `json:"keep,omitempty"`
	Notes  []report.Text    `json:"notes,omitempty"`
	Checks []report.Finding `json:"checks,omitempty"` // preconditions
	Error  *report.Text     `json:"error,omitempty"`  // why this host has no plan
}

// ChangeKept is a part that stays as it is.
type ChangeKept struct {
	Part    string      `json:"part"`
	Version string      `json:"version"`
	Why     report.Text `json:"why,omitzero"`
}

// ChangeOutcome is what came of one host.
type ChangeOutcome struct {
	Host string `json:"host"`
	plan.Outcome
	TookMS int64        `json:"took_ms"`
	Error  *report.Text `json:"error,omitempty"`
}

// KeptOf turns the parts that an installation leaves alone.
func KeptOf(kept []install.Kept) (out []ChangeKept) {
	for _, k := range kept {
		out = append(out, ChangeKept(k))
	}
	return out
}

// Show writes the plan, or what came of it.
func (d Change) Show(o *ui.Out) {
	if d.Results != nil {
		d.results(o)
		return
	}
	for i, p := range d.Plans {
		if i > 0 {
			o.Print("\n")
		}
		p.show(o, d.Verbose)
	}
	if d.Again != "" {
		o.Say(report.T("Nothing was changed. To do it: %s", "未做任何变更。执行变更：%s", d.Again))
	}
}

func (p ChangePlan) show(o *ui.Out, verbose bool) {
	if p.Error != nil {
		o.Say(report.T("%s: no plan: %s", "%s：无变更计划：%s", o.Bold(p.Host), *p.Error))
		return
	}
	o.Say(report.T("Plan for %s: %s", "%s 的变更计划：%s", o.Bold(p.Host), p.Title))
	if p.Resumes != "" {
		o.Say(report.T("goes on with %s, which was not finished", "继续未完成的变更 %s", p.Resumes))
	}
	o.Print("\n")
	for _, k := range p.Keep {
		o.Say(report.T("  keep  %s %s  %s", "  保留  %s %s  %s", k.Part, k.Version, o.Faint(k.Why.In(o.Lang()))))
	}
	n := 0
	for _, s := range p.Steps {
		if s.Keep {
			o.Say(report.T("  done  %s", "  已有  %s", s.Title))
			continue
		}
		n++
		o.Say(report.T("  do %d  %s  %s", "  执行 %d  %s  %s", n, s.Title, o.Faint(s.Undo.In(o.Lang()))))
		for _, a := range s.Acts {
			if verbose || !tidies(a) {
				act(o, a, verbose)
			}
		}
	}
	for _, f := range p.Checks {
		if verbose || f.Status != report.Pass {
			finding(o, f, nil)
		}
	}
	for _, r := range p.Risks {
		o.Say(report.T("  risk  %s", "  风险  %s", r))
	}
	for _, t := range p.Notes {
		o.Say(report.T("  note  %s", "  说明  %s", t))
	}
	o.Print("\n")
	if n == 0 {
		o.Say(report.T("Nothing to do: everything is as wanted", "无需变更：全部符合要求"))
		return
	}
	o.Say(p.Undo)
}

// act is one line of what runs; -v shows the content of files too.
func act(o *ui.Out, a plan.ShownAct, verbose bool) {
	switch a.Kind {
	case "run":
		o.Print("          $ %s\n", strings.TrimSpace(report.Line(append(append([]string{}, a.Env...), a.Argv...)...)))
	case "upload":
		o.Say(report.T("          send  %s  %s", "          发送  %s  %s", a.Path, o.Faint(strings.TrimSpace(sizeOf(a.Size)+" "+a.From))))
	case "link":
		o.Print("          %s -> %s\n", a.Path, a.Target)
	case "line":
		o.Print("          %s += %s\n", a.Path, a.Text)
	case "undo":
		o.Print("          undo $ %s\n", report.Line(a.Undo...))
	case "restore", "gone":
		o.Print("          %s %s%s\n", a.Kind, a.Path, report.Line(a.Argv...))
	default:
		if verbose || a.Kind != "dir" {
			o.Print("          %s\n", strings.TrimRight(strings.Join([]string{a.Kind, a.Path, a.Mode, a.Owner}, " "), " "))
		}
	}
	if verbose && a.Text != "" && a.Kind == "file" {
		o.Print("%s\n", indented(a.Text, "            "))
	}
}

// tidies is true for an act that takes its own files away again.
func tidies(a plan.ShownAct) bool {
	words := a.Argv
	if a.Kind == "undo" {
		words = a.Undo
	}
	return (a.Kind == "run" || a.Kind == "undo") && len(words) > 1 && words[0] == "rm"
}

func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by)
}

// sizeOf is a size that is known; a plan without its files has none.
func sizeOf(n int64) string {
	if n <= 1 {
		return ""
	}
	return ui.Bytes(n)
}

// states of a run in words.
var states = map[plan.State]report.Text{
	plan.Done: {En: "done", Zh: "已完成"}, plan.Nothing: {En: "nothing to do", Zh: "无需变更"}, plan.Restart: {En: "reboot, then run the same command again", Zh: "重启后再次执行同一命令"},
	plan.Lost: {En: "connection lost", Zh: "连接中断"}, plan.Undone: {En: "failed and undone", Zh: "失败，已撤销"}, plan.Stuck: {En: "failed and not undone", Zh: "失败，未能撤销"},
	plan.NotDone: {En: "not begun", Zh: "未开始"},
}

// stateWord: what was taken back because somebody asked for it has not failed.
func stateWord(s plan.State, failed bool) report.Text {
	if s == plan.Undone && !failed {
		return report.T("taken back", "已撤销")
	}
	if word, ok := states[s]; ok {
		return word
	}
	return report.Same(string(s))
}

func (d Change) results(o *ui.Out) {
	for _, r := range d.Results {
		word := stateWord(r.State, r.Error != nil)
		o.Say(report.T("%s: %s (%s)", "%s：%s（%s）", o.Bold(r.Host), word, ui.Duration(time.Duration(r.TookMS)*time.Millisecond)))
		if r.Error != nil && len(d.Results) > 1 {
			o.Say(report.T("    why   %s", "    原因  %s", *r.Error))
		}
		for _, l := range r.Left {
			o.Say(report.T("    left  %s %s: %s", "    遗留  %s %s：%s", l.Step, l.Path, l.Why))
		}
		for _, k := range r.Keeps {
			o.Say(report.T("    stays after an undo: %s", "    撤销后仍保留：%s", k))
		}
	}
	for _, line := range d.Undo {
		o.Say(report.T("Undo: %s", "撤销：%s", line))
	}
	if d.Next != "" {
		o.Say(report.T("Next: %s", "下一步：%s", d.Next))
	}
}

// Downloads says what to bring from elsewhere.
type Downloads struct {
	report.Envelope
	Host  string            `json:"host"`
	Files []install.Printed `json:"files"`
}

// Show writes the document for people: lines that can be pasted, the rest as
// comments.
func (d Downloads) Show(o *ui.Out) {
	for _, f := range d.Files {
		size := report.Same(sizeOf(f.Size))
		if size.IsZero() && f.Item != "python" {
			size = report.T("size not known", "大小未知") // no list of the vendor has it
		}
		o.Print("%s\n", strings.TrimSpace("# "+f.Name+"  "+size.In(o.Lang())))
		switch {
		case f.Here:
			o.Say(report.T("# is here already", "# 已在本机"))
		case f.Page != "" && f.URL == "":
			o.Say(report.T("# needs a login: %s", "# 需要登录后下载：%s", f.Page))
		}
		for _, line := range []string{f.Command, f.Check} {
			if line != "" {
				o.Print("%s\n", line)
			}
		}
		if f.SHA256 == "" && f.Command != "" {
			o.Say(report.T("# no digest is published for it", "# 未发布该文件的摘要"))
		}
	}
	if len(d.Files) == 0 {
		o.Say(report.T("# nothing to download", "# 无需下载"))
	}
}

// Bundled says what an offline bundle holds.
type Bundled struct {
	report.Envelope
	File     string           `json:"file"`
	Manifest install.Manifest `json:"manifest"`

	Next string `json:"-"` // what to run on the other side
}

// Show writes the document for people.
func (d Bundled) Show(o *ui.Out) {
	var rows [][]string
	var sum int64
	for _, f := range d.Manifest.Files {
		sum += f.Size
		mark := o.Mark(report.Pass)
		if !f.Verified {
			mark = o.Mark(report.Unknown)
		}
		rows = append(rows, []string{mark, f.Path, ui.Bytes(f.Size), f.SHA256[:12]})
	}
	o.Table([]ui.Column{{}, {Head: report.T("FILE", "文件")}, right("SIZE", "大小"), {Head: report.Same("SHA256")}}, rows)
	o.Print("\n")
	o.Say(report.T("%s: %d files, %s, for %s %s (%s)", "%s：%d 个文件，%s，适用于 %s %s（%s）", o.Bold(d.File), len(d.Manifest.Files), ui.Bytes(sum), d.Manifest.Chip, d.Manifest.Arch, first(d.Manifest.Row, "-")))
	o.Say(report.T("Next: %s", "下一步：%s", d.Next))
}
