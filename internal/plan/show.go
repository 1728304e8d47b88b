package plan

import (
	"slices"
	"unicode/utf8"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Shown is a plan for the reader: what runs, in order, and nothing else runs.
// Secrets are not in it.
type Shown struct {
	Host    string      `json:"host"`
	Name    string      `json:"name"`
	Title   report.Text `json:"title"`
	Undoes  string      `json:"undoes,omitempty"`  // the journal this takes back
	Resumes string      `json:"resumes,omitempty"` // the journal this goes on with
	Journal string      `json:"journal"`           // folder on the host
	Steps   []ShownStep `json:"steps"`
	Risks   []string    `json:"risks,omitempty"` // that need consent by name
	Undo    report.Text `json:"undo"`            // what undo gives back
}

// Changes counts the steps that do something.
func (s Shown) Changes() (n int) {
	for _, st := range s.Steps {
		if !st.Keep {
			n++
		}
	}
	return n
}

// ShownStep is one line of a plan.
type ShownStep struct {
	ID    string      `json:"id"`
	Title report.Text `json:"title"`
	Keep  bool        `json:"keep"` // done already
	Acts  []ShownAct  `json:"acts"`
	Risk  string      `json:"risk,omitempty"`
	Root  bool        `json:"root,omitempty"`
	Undo  report.Text `json:"undo"` // "can be undone", or what stays
}

// ShownAct is one thing that runs. Kind is run, undo, file, link, dir, gone,
// copy, upload, line, reboot or, in a plan that takes back, restore.
type ShownAct struct {
	Kind   string   `json:"kind"`
	Argv   []string `json:"argv,omitempty"`
	Env    []string `json:"env,omitempty"`
	Stdin  string   `json:"stdin,omitempty"`
	Secret []string `json:"secret,omitempty"` // names of variables whose values are not shown
	Long   bool     `json:"detached,omitempty"`
	Undo   []string `json:"undo,omitempty"`
	Path   string   `json:"path,omitempty"`
	From   string   `json:"from,omitempty"`
	Target string   `json:"target,omitempty"`
	Mode   string   `json:"mode,omitempty"` // octal; empty: as it is
	Owner  string   `json:"owner,omitempty"`
	Size   int64    `json:"size,omitempty"`
	SHA256 string   `json:"sha256,omitempty"`
	Text   string   `json:"text,omitempty"` // content of a small text file, the line
	Watch  []Touch  `json:"watch,omitempty"`
}

// showMax is the longest file content a plan shows, in bytes.
const showMax = 4 << 10

func (a File) shown() ShownAct {
	s := ShownAct{Kind: "file", Path: a.Path, Mode: octal(a.Mode), Owner: a.Owner, Size: int64(len(a.Data))}
	if a.Secret {
		s.Text, s.Size = report.Mask, 0
		return s
	}
	s.SHA256 = sum(a.Data)
	if len(a.Data) <= showMax && utf8.Valid(a.Data) {
		s.Text = string(a.Data)
	}
	return s
}

func (a Link) shown() ShownAct { return ShownAct{Kind: "link", Path: a.Path, Target: a.Target} }
func (a Dir) shown() ShownAct {
	return ShownAct{Kind: "dir", Path: a.Path, Mode: octal(a.Mode), Owner: a.Owner}
}
func (a Gone) shown() ShownAct { return ShownAct{Kind: "gone", Path: a.Path} }
func (a Copy) shown() ShownAct { return ShownAct{Kind: "copy", Path: a.Path, From: a.From} }
func (a Upload) shown() ShownAct {
	return ShownAct{Kind: "upload", Path: a.Path, From: a.From, Mode: octal(a.perm()), Owner: a.Owner, Size: a.Size, SHA256: a.SHA256}
}
func (a Line) shown() ShownAct   { return ShownAct{Kind: "line", Path: a.Path, Text: a.Text} }
func (a Reboot) shown() ShownAct { return ShownAct{Kind: "reboot", Argv: a.argv()} }
func (c Command) shown() ShownAct {
	s := ShownAct{Kind: "run", Argv: c.Argv, Env: c.Env, Stdin: c.Stdin, Long: c.Long, Undo: c.Undo, Watch: c.Touch}
	if len(c.Argv) == 0 {
		s.Kind = "undo"
	}
	for _, v := range c.Secret {
		s.Secret = append(s.Secret, v.Name)
	}
	return s
}

// masked takes known secrets and secret shapes out of what people read.
func (a ShownAct) masked(mask *report.Redactor) ShownAct {
	a.Text, a.From = mask.String(a.Text), mask.String(a.From)
	return a
}

// back words what undo does with a step.
func back(s Step) report.Text {
	if !s.Keeps.IsZero() {
		return report.T("undo keeps: %s", "撤销时保留：%s", s.Keeps)
	}
	if slices.ContainsFunc(s.Do, func(a Act) bool { _, ok := a.(Reboot); return ok }) {
		return report.Text{} // there is nothing to take back
	}
	return report.T("can be undone", "可撤销")
}

// Show gives the plan for the reader.
func (m *Made) Show() Shown {
	s := Shown{
		Host: m.site.h.String(), Name: m.plan.Name, Title: m.plan.Title, Undoes: m.undoes,
		Journal: m.site.dir, Risks: m.risks(), Undo: report.T("all steps can be undone", "所有步骤均可撤销"),
	}
	if o := m.site.open; o != nil && m.undoes == "" {
		s.Resumes = o.ID
	}
	if m.undoes != "" {
		s.Steps, s.Undo = m.site.open.back(), report.T("an undo is not undone; run the first command again instead", "撤销本身不可撤销；可重新运行原命令")
		return s
	}
	m.showSteps(&s)
	return s
}

func (m *Made) showSteps(s *Shown) {
	for i, st := range m.steps {
		v := ShownStep{ID: st.ID, Title: st.Title, Keep: m.kept[i], Risk: st.Risk, Root: st.Root, Undo: back(st)}
		for _, a := range st.Do {
			v.Acts = append(v.Acts, a.shown().masked(m.o.Redact))
		}
		if !v.Keep && !st.Keeps.IsZero() {
			s.Undo = report.T("undo keeps something, as the steps say", "撤销会保留部分内容，见各步骤")
		}
		s.Steps = append(s.Steps, v)
	}
}

// Draft shows a plan for a host that cannot be asked, such as a recording. What
// is done there already only done can say.
func Draft(host string, p Plan, o Options, done func(Step) bool) (Shown, error) {
	o = o.filled()
	steps, err := p.order(o.Redact)
	m := &Made{plan: p, steps: steps, o: o}
	for _, s := range steps {
		m.kept = append(m.kept, done(s))
	}
	s := Shown{Host: host, Name: p.Name, Title: p.Title, Risks: m.risks(), Undo: report.T("all steps can be undone", "所有步骤均可撤销")}
	m.showSteps(&s)
	return s, err
}
