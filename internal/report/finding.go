package report

// Status is what a check found.
type Status string

const (
	Pass    Status = "pass"
	Warn    Status = "warn"
	Fail    Status = "fail"
	Skip    Status = "skip"    // does not apply here
	Unknown Status = "unknown" // applies, but could not be read: never "ok", never "not there"
)

// Severity is the weight of a fail; it belongs to the check, not to the host.
type Severity string

const (
	Blocker Severity = "blocker"
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Evidence is what was seen, where, and what was wanted.
type Evidence struct {
	Source string `json:"source"` // a path, or "$ command"
	Seen   Text   `json:"seen"`   // values, paths and words of tools are the same in both
	Wanted Text   `json:"wanted,omitzero"`
}

// Finding is the verdict of one check.
type Finding struct {
	ID       string     `json:"id"` // stable, greppable, English: "cann.installed"
	Status   Status     `json:"status"`
	Severity Severity   `json:"severity"`
	Because  []string   `json:"because,omitempty"` // root findings that explain this one
	Text     Text       `json:"text"`              // true when all is well; the status says whether it holds
	Evidence []Evidence `json:"evidence,omitempty"`
	Fix      Text       `json:"fix,omitzero"`
	Run      string     `json:"run,omitempty"`     // one command that can be pasted
	Ignored  bool       `json:"ignored,omitempty"` // failed, and a person asked to take that as a warning
}

// Root tells a cause from its consequences. Screens and counts show roots and
// fold the rest under them; JSON has all.
func (f Finding) Root() bool { return len(f.Because) == 0 }

// Refuses is true for a finding that makes the answer "no" (exit 3).
func (f Finding) Refuses() bool {
	return f.Root() && f.Status == Fail && (f.Severity == Blocker || f.Severity == Error)
}

// Cautions is true for a finding that --fail-on warn counts (exit 4): what
// could not be read is a warning there.
func (f Finding) Cautions() bool {
	return f.Root() && (f.Status == Warn || f.Status == Unknown || f.Status == Fail && !f.Refuses())
}
