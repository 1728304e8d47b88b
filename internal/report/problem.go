package report

import "encoding/json"

// Problem is every failure a person sees: what happened, why (the evidence),
// what to do, and one command to run next. It is an error, so it travels as one.
type Problem struct {
	What Text // lower case, no full stop; names the host, file or flag
	Why  Text // quotes evidence; a vendor's words stay as they came
	Do   Text // one sentence
	Run  string
	Exit Exit
	Log  string // path of the log file; filled in at the desk for exits 1, 7, 8
	Err  error  // the cause, for errors.Is and the log
}

// Error is the English half in one line, for logs.
func (p *Problem) Error() string {
	if p.Why.En == "" {
		return p.What.En
	}
	return p.What.En + ": " + p.Why.En
}

func (p *Problem) Unwrap() error { return p.Err }

// ProblemJSON is the JSON of a problem: {"error": {...}}.
type ProblemJSON struct {
	Error struct {
		What Text   `json:"what"`
		Why  *Text  `json:"why,omitempty"`
		Do   *Text  `json:"do,omitempty"`
		Run  string `json:"run,omitempty"`
		Exit Exit   `json:"exit"`
		Log  string `json:"log,omitempty"`
	} `json:"error"`
}

// MarshalJSON writes {"error": {"what", "why", "do", "run", "exit", "log"}}.
func (p *Problem) MarshalJSON() ([]byte, error) {
	var j ProblemJSON
	j.Error.What, j.Error.Run, j.Error.Exit, j.Error.Log = p.What, p.Run, p.Exit, p.Log
	if !p.Why.IsZero() {
		j.Error.Why = &p.Why
	}
	if !p.Do.IsZero() {
		j.Error.Do = &p.Do
	}
	return json.Marshal(j)
}
