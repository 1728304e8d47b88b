package screen

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Env is the environment that the CANN of a host needs.
type Env struct {
	report.Envelope
	Host string     `json:"host"`
	Tree cann.Tree  `json:"cann"`
	NNAL *cann.NNAL `json:"nnal,omitempty"` // absent: none
	ABI  int        `json:"cxx_abi"`        // of the build of nnal that is used
	cann.Setup
	Moves []cann.Move `json:"moves"` // what it does to the environment of the login

	Explain bool   `json:"-"` // why each variable, and from which file
	Load    string `json:"-"` // the command that puts it into effect
}

// Show writes the document for people.
func (d Env) Show(o *ui.Out) {
	o.Print("CANN %s  %s\n", o.Bold(d.Tree.Version), d.Tree.Path)
	if d.NNAL != nil {
		o.Print("nnal %s  %s  cxx_abi %d\n", o.Bold(d.NNAL.Version), d.NNAL.Path, d.ABI)
	}
	o.Print("\n")
	width, conflicts, changes := 0, 0, 0
	for _, m := range d.Moves {
		width = max(width, len(m.Name))
	}
	for _, m := range d.Moves {
		pad := strings.Repeat(" ", width-len(m.Name))
		switch {
		case m.Act == "drop":
			conflicts++
			for _, p := range m.Drop {
				o.Say(report.T("  drop  %s  %s (another CANN)", "  移除  %s  %s（属于其他 CANN）", m.Name+pad, p))
			}
			continue
		case m.Act == "keep":
			o.Say(report.T("  keep  %s  as it is", "  保留  %s  无需改动", m.Name+pad))
		case m.Front > 0:
			changes++
			o.Say(report.T("  set   %s  %d folders in front, %d of yours kept", "  设置  %s  前置 %d 个目录，保留原有 %d 个", m.Name+pad, m.Front, m.Kept))
		default:
			changes++
			o.Say(report.T("  set   %s  %s", "  设置  %s  %s", m.Name+pad, m.Value))
		}
		if d.Explain {
			o.Say(report.T("        why   %s", "        用途  %s", m.Var.Why))
			for _, f := range m.Var.From {
				o.Say(report.T("        from  %s", "        来源  %s", f))
			}
			for _, f := range m.Var.Front {
				o.Print("        + %s\n", f)
			}
		}
	}
	o.Print("\n")
	if conflicts > 0 {
		o.Say(report.T("Conflicts in this environment: %d. Next: %s", "当前环境中的冲突：%d 处。下一步：%s", conflicts, d.Load))
	} else if changes > 0 {
		o.Say(report.T("Variables to set: %d. Next: %s", "需要设置的变量：%d 个。下一步：%s", changes, d.Load))
	} else {
		o.Say(report.T("Nothing to change: this environment is ready", "无需改动：当前环境已就绪"))
	}
}
