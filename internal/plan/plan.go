// Package plan is the one way a host is changed: steps that are shown, agreed
// to, written into a journal on the host before and after they run, taken up
// again after a break, and taken back.
//
// What is shown is what runs, because both are made of the same Acts. What is
// done is found by looking at the host; the journal only holds what undo needs:
// how things were before.
package plan

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Plan is what one host is to become.
type Plan struct {
	Name  string      // stable: a broken-off run is taken up again by the plan of the same name
	Title report.Text // "CANN 9.1.0 (row vllm-ascend/0.23.0)"
	Again string      // the command line that makes this plan, for people
	Steps []Step
}

// Check looks at a host and says whether something is so. It changes nothing.
// The host it gets has root rights when the step has them.
type Check func(ctx context.Context, h host.Host) (bool, error)

// Step is one line of a plan.
type Step struct {
	ID    string // "cann.toolkit"
	Title report.Text
	Needs []string // steps that come before; order of the list otherwise
	Do    []Act
	// Check says that the step is done already. nil: it is done when each act is.
	Check Check
	// Verify looks after the step; nil: Check must hold, or that of each act.
	Verify Check
	Risk   string // one of Risks: needs consent by name
	Root   bool   // acts run with elevated rights
	// Keeps says what undo leaves as it is, and why. A command with neither an
	// undo nor watched paths needs it.
	Keeps report.Text
}

// The named dangers of --accept-risk.
const (
	RiskReboot    = "reboot"
	RiskDriver    = "replace-driver"
	RiskService   = "stop-service"
	RiskOverwrite = "overwrite"
)

// Risks lists the names --accept-risk knows, sorted.
func Risks() []string { return []string{RiskOverwrite, RiskReboot, RiskDriver, RiskService} }

// order checks the plan and gives its steps with what they need before them.
// A plan is made by code, so what is wrong is a bug and worded for its author.
func (p Plan) order(mask *report.Redactor) ([]Step, error) {
	if p.Name == "" || strings.ContainsAny(p.Name, "\n\x00") {
		return nil, bug("plan", "it needs a name of one line")
	}
	if why := p.contradicts(); why != "" {
		return nil, bug("plan", why)
	}
	at := map[string]int{}
	for i, s := range p.Steps {
		if _, twice := at[s.ID]; twice || s.ID == "" {
			return nil, bug(s.ID, "every step needs an id of its own")
		}
		at[s.ID] = i
		if err := s.valid(mask); err != nil {
			return nil, err
		}
	}
	var out []Step
	state := make([]int, len(p.Steps)) // 1: on the way, 2: placed
	var place func(i int) error
	place = func(i int) error {
		if state[i] == 1 {
			return bug(p.Steps[i].ID, "it needs itself")
		}
		if state[i] == 2 {
			return nil
		}
		state[i] = 1
		for _, need := range p.Steps[i].Needs {
			k, ok := at[need]
			if !ok {
				return bug(p.Steps[i].ID, "it needs step "+need+", which is not in the plan")
			}
			if err := place(k); err != nil {
				return err
			}
		}
		state[i] = 2
		out = append(out, p.Steps[i])
		return nil
	}
	for i := range p.Steps {
		if err := place(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// contradicts names two acts of which one spoils the other: such a plan is
// never done, and looking at the host cannot tell how far it is. Lines and
// commands may share a file among themselves.
func (p Plan) contradicts() string {
	owner, gone := map[string]string{}, map[string]bool{}
	for _, s := range p.Steps {
		for _, a := range s.Do {
			kind, _, _ := strings.Cut(a.key(), " ")
			for _, t := range a.touches() {
				if was := owner[t.Path]; was != "" && (was != kind || kind != "line" && kind != "run") {
					return "two acts want " + t.Path + ": " + was + " and " + kind
				}
				owner[t.Path] = kind
				gone[t.Path] = gone[t.Path] || t.how == "gone"
			}
		}
	}
	for name := range owner {
		for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
			if gone[dir] {
				return "one act wants " + name + ", another wants " + dir + " gone"
			}
		}
	}
	return ""
}

func (s Step) valid(mask *report.Redactor) error {
	switch {
	case s.Title.IsZero() || len(s.Do) == 0:
		return bug(s.ID, "it needs a title and something to do")
	case s.Risk != "" && !slices.Contains(Risks(), s.Risk):
		return bug(s.ID, "its risk has no name that --accept-risk knows: "+s.Risk)
	}
	keys := map[string]bool{}
	for _, a := range s.Do {
		if keys[a.key()] {
			return bug(s.ID, "it does the same thing twice: "+a.key())
		}
		keys[a.key()] = true
		if why := a.valid(s, mask); why != "" {
			return bug(s.ID, why)
		}
		if mask.String(a.key()) != a.key() {
			return bug(s.ID, "what it shows holds a secret: hand that in as Secret")
		}
		for _, t := range a.touches() {
			if !path.IsAbs(t.Path) || path.Clean(t.Path) != t.Path || t.Path == "/" || strings.ContainsAny(t.Path, "\n\x00") {
				return bug(s.ID, "it needs a clean absolute path, got "+t.Path)
			}
		}
	}
	return nil
}

func bug(step, why string) error {
	return &report.Problem{
		What: report.T("step %s of the plan is wrong", "变更计划的步骤 %s 有误", step),
		Why:  report.Same(why),
		Do:   report.T("report this, it is a bug of ascendctl; nothing was changed", "这是 ascendctl 的缺陷，应上报；未做任何变更"),
		Exit: report.ExitFailed,
	}
}
