package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/check"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Preflight says what is wrong on hosts.
type Preflight struct {
	report.Envelope
	Hosts []PreflightHost  `json:"hosts"`
	Fleet []report.Finding `json:"fleet,omitempty"` // what the hosts are to each other; only for several

	Verbose bool `json:"-"` // passed, skipped and folded findings too
	Strict  bool `json:"-"` // warnings fail too: JUnit must say so
}

// PreflightHost is the verdict on one host.
type PreflightHost struct {
	Host     string           `json:"host"`
	Overall  report.Status    `json:"overall"` // pass, warn, fail; unknown: no answer
	Exit     report.Exit      `json:"exit"`
	Findings []report.Finding `json:"findings"` // all of them, in the order of the catalogue
	Error    *report.Text     `json:"error,omitempty"`
	TookMS   int64            `json:"took_ms"`

	Facts  *facts.Facts           `json:"-"` // for the head line
	Groups map[string]report.Text `json:"-"` // headings by the word before the dot
	Next   string                 `json:"-"` // command to run next
}

// Show writes the document for people: of one host everything that is not
// well, of several only their bad lines and a table.
func (d Preflight) Show(o *ui.Out) {
	for _, h := range d.Hosts {
		if h.Error != nil {
			continue
		}
		if len(d.Hosts) > 1 && h.Overall == report.Pass {
			continue
		}
		h.show(o, d.Verbose)
		o.Print("\n")
	}
	if len(d.Hosts) > 1 || d.Hosts[0].Error != nil {
		d.table(o)
	}
	d.across(o)
}

// across says what differs between the hosts.
func (d Preflight) across(o *ui.Out) {
	said := false
	for _, f := range d.Fleet {
		if f.Status != report.Warn && f.Status != report.Fail && !d.Verbose {
			continue
		}
		if !said {
			o.Print("\n")
			o.Say(report.T("Across the hosts", "主机之间"))
			said = true
		}
		finding(o, f, nil)
	}
}

func (h PreflightHost) show(o *ui.Out, verbose bool) {
	o.Say(h.head(o))
	explains, group := h.explains(), ""
	for _, f := range h.Findings {
		plain := f.Status == report.Pass || f.Status == report.Skip || !f.Root()
		if plain && !verbose {
			continue
		}
		if g, _, _ := strings.Cut(f.ID, "."); g != group {
			group = g
			heading := h.Groups[g]
			if heading.IsZero() {
				heading = report.Same(g)
			}
			o.Print("\n%s\n", heading.In(o.Lang()))
		}
		finding(o, f, explains[f.ID])
	}
	o.Print("\n")
	o.Say(h.verdict(true))
	if h.Next != "" {
		o.Say(report.T("Next: %s", "下一步：%s", h.Next))
	}
}

// head is "npu01: openEuler 22.03, aarch64, 8 x A2, driver 25.2.0, CANN 9.1.0".
func (h PreflightHost) head(o *ui.Out) report.Text {
	if h.Facts == nil {
		return report.Same(h.Host)
	}
	f := h.Facts
	version := func(name string, v string) string {
		if v == "" {
			return ""
		}
		return name + " " + v
	}
	var cannVersion string
	if f.CANN.Known() && len(f.CANN.Value.Trees) > 0 {
		cannVersion = f.CANN.Value.Trees[0].Version
	}
	words := join(", ", or(f.OS, nil, func(v facts.OS) string { return first(v.Name, v.ID+" "+v.Version) }), or(f.Arch, nil, asIs),
		or(f.PCI, nil, buses), version(report.T("driver", "驱动").In(o.Lang()), or(f.Driver, nil, func(d facts.Driver) string { return d.Version })),
		version("CANN", cannVersion))
	return report.T("%s: %s", "%s：%s", o.Bold(h.Host), words)
}

// explains counts what each root explains.
func (h PreflightHost) explains() map[string][]string {
	out := map[string][]string{}
	for _, f := range h.Findings {
		for _, root := range f.Because {
			out[root] = append(out[root], f.ID)
		}
	}
	return out
}

// finding is one line and, where something is wrong, what was seen, what to do
// and what it explains.
func finding(o *ui.Out, f report.Finding, explains []string) {
	o.Print("  %s %s  %s\n", o.Mark(f.Status), f.Text.In(o.Lang()), o.Faint(f.ID))
	if f.Status == report.Pass || f.Status == report.Skip {
		return
	}
	for i, e := range f.Evidence {
		if i == mostEvidence {
			o.Say(report.T("      and %d more (-v)", "      另有 %d 条（-v）", len(f.Evidence)-i))
			break
		}
		seen := report.T("      seen  %s: %s", "      依据  %s：%s", cut(e.Source, 80), short(e.Seen))
		if !e.Wanted.IsZero() {
			seen = report.T("      seen  %s: %s, wanted %s", "      依据  %s：%s，应为 %s", cut(e.Source, 80), short(e.Seen), short(e.Wanted))
		}
		o.Say(seen.Tight())
	}
	if f.Ignored {
		o.Say(report.T("      failed, taken as a warning (--ignore)", "      未通过，按警告处理（--ignore）"))
	}
	if len(f.Because) > 0 {
		o.Say(report.T("      because of %s", "      由 %s 引起", strings.Join(f.Because, " ")))
	}
	if !f.Fix.IsZero() {
		o.Say(report.T("      do    %s", "      处理  %s", f.Fix))
	}
	if f.Run != "" {
		o.Print("      $ %s\n", f.Run)
	}
	if len(explains) > 0 {
		o.Say(report.T("      explains %d more: %s (-v)", "      由此引起另外 %d 项：%s（-v）", len(explains), strings.Join(explains[:min(4, len(explains))], " ")))
	}
}

// mostEvidence is how many lines of evidence a finding shows; JSON has all.
const mostEvidence = 3

// cut keeps a text to one line of a screen.
func cut(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func short(t report.Text) report.Text {
	return report.Text{En: cut(t.En, 160), Zh: cut(t.Zh, 160)}
}

// verdict is "Not ready: 2 fail, 1 warn, 21 pass, 9 do not apply (2.3s)";
// counts are of roots, and a count of zero is not said.
func (h PreflightHost) verdict(took bool) report.Text {
	n := map[report.Status]int{}
	for _, f := range h.Findings {
		if f.Root() {
			n[f.Status]++
		}
	}
	var en, zh []string
	for _, c := range []struct {
		status report.Status
		text   report.Text
	}{
		{report.Fail, report.T("%d fail", "未通过 %d 项", n[report.Fail])}, {report.Warn, report.T("%d warn", "警告 %d 项", n[report.Warn])},
		{report.Unknown, report.T("%d unknown", "未知 %d 项", n[report.Unknown])}, {report.Pass, report.T("%d pass", "通过 %d 项", n[report.Pass])},
		{report.Skip, report.T("%d do not apply", "不适用 %d 项", n[report.Skip])},
	} {
		if n[c.status] > 0 {
			en, zh = append(en, c.text.En), append(zh, c.text.Zh)
		}
	}
	counts := report.Text{En: strings.Join(en, ", "), Zh: strings.Join(zh, "，")}
	word := report.T("Ready", "已就绪")
	if h.Exit == report.ExitNo {
		word = report.T("Not ready", "未就绪")
	}
	if !took {
		return report.T("%s: %s", "%s：%s", word, counts)
	}
	return report.T("%s: %s (%s)", "%s：%s（%s）", word, counts, ui.Duration(time.Duration(h.TookMS)*time.Millisecond))
}

// table is one line a host, worst things first in each.
func (d Preflight) table(o *ui.Out) {
	var rows [][]string
	ready := 0
	for _, h := range d.Hosts {
		word, cause := report.T("ready", "已就绪"), "-"
		switch {
		case h.Error != nil:
			word, cause = report.T("no answer", "无应答"), h.Error.In(o.Lang())
		case h.Exit == report.ExitNo:
			word = report.T("not ready", "未就绪")
		default:
			ready++
		}
		fails, warns := 0, 0
		for _, f := range h.Findings {
			if f.Root() && f.Status == report.Fail {
				if fails++; fails == 1 {
					cause = f.ID
				}
			} else if f.Root() && f.Status == report.Warn {
				warns++
			}
		}
		rows = append(rows, []string{h.Host, word.In(o.Lang()), fmt.Sprint(fails), fmt.Sprint(warns), cause})
	}
	o.Table([]ui.Column{
		{Head: report.T("HOST", "主机")}, {Head: report.T("VERDICT", "结论")}, right("FAIL", "未通过"), right("WARN", "警告"), {Head: report.T("FIRST ROOT", "首个根因")},
	}, rows)
	o.Print("\n")
	o.Say(report.T("%d of %d ready", "%d 台已就绪，共 %d 台", ready, len(d.Hosts)))
}

// Checks is the list of checks.
type Checks struct {
	report.Envelope
	Checks []check.Row `json:"checks"`
}

// Show writes the document for people.
func (d Checks) Show(o *ui.Out) {
	var rows [][]string
	for _, c := range d.Checks {
		rows = append(rows, []string{c.ID, string(c.Severity), c.Text.In(o.Lang())})
	}
	o.Table([]ui.Column{{Head: report.Same("ID")}, {Head: report.T("SEVERITY", "级别")}, {Head: report.T("CHECK", "检查项")}}, rows)
}
