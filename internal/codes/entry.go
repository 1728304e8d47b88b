package codes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Answer is what explain says of a query (the data of ascendctl.explain/v1).
type Answer struct {
	Query   string  `json:"query"`
	Entries []Entry `json:"entries"` // the likeliest first
}

// Entry is one meaning of a code.
type Entry struct {
	Code        string      `json:"code"`   // as the vendor prints it: "107002", "0x7010001", "-8005", "E10016"
	Family      string      `json:"family"` // acl, aclnn, dcmi, hccl, hal, runtime, scheduler, ge, text, torch, sign
	FamilyTitle report.Text `json:"family_title"`
	Name        string      `json:"name,omitempty"`      // constant of the vendor's headers
	Component   string      `json:"component,omitempty"` // part of the stack, in the vendor's words
	// Range is true when only the range of the code is known; Near names the
	// known codes beside it.
	Range bool     `json:"range,omitempty"`
	Near  []string `json:"near,omitempty"`
	// As says how the query leads here when it is not spelled as Code is.
	As report.Text `json:"as,omitzero"`

	Meaning report.Text   `json:"meaning"`
	Causes  []report.Text `json:"causes,omitempty"`
	Remedy  report.Text   `json:"remedy,omitzero"`
	Note    report.Text   `json:"note,omitzero"`

	Class      string      `json:"class,omitempty"` // whose trouble it is
	ClassText  report.Text `json:"class_text,omitzero"`
	Action     string      `json:"action,omitempty"` // what a program should do: reject, retry, reset_device ...
	ActionText report.Text `json:"action_text,omitzero"`

	ACL      int64     `json:"acl,omitempty"` // return code that a caller of ACL sees for it
	ACLName  string    `json:"acl_name,omitempty"`
	Messages []Message `json:"messages,omitempty"` // how logs print a text code, newest first
	Since    string    `json:"since,omitempty"`    // first release whose headers have it
	Until    string    `json:"until,omitempty"`    // last release that has it
	Now      string    `json:"now,omitempty"`      // code that took over
	Was      string    `json:"was,omitempty"`      // code that it took over from
	Seen     string    `json:"seen,omitempty"`     // reports of users
	Sources  []string  `json:"sources"`
	Status   string    `json:"status"` // src, seen, guess
}

// Message is how releases of CANN print a text code; {names} stand for values.
type Message struct {
	Releases string `json:"releases"` // UpTo83 or From85
	Line     string `json:"line"`
}

// The two generations of text codes.
const (
	UpTo83 = "<=8.3"
	From85 = ">=8.5"
)

// entry fills a row up from the ACL code it is reported as and from its class.
func (c *Book) entry(l *lore, f family, r row) (Entry, error) {
	e := Entry{Code: r.ID, Family: f.ID, FamilyTitle: f.Title, Name: r.Name, Component: r.Component,
		Meaning: r.Meaning, Causes: r.Causes, Remedy: r.Remedy, Note: r.Note, Class: r.Class, Action: r.Action,
		ACL: r.ACL, Since: r.Since, Until: r.Until, Now: r.Now, Was: r.Was, Seen: r.Seen, Status: cmp.Or(r.Status, "src")}
	for _, key := range strings.Fields(r.Source) {
		if l.sources[key] == "" { // a layer's own words
			e.Sources = []string{r.Source}
			break
		}
		e.Sources = append(e.Sources, l.sources[key])
	}
	if r.ACL != 0 {
		acl, ok := l.family("acl")
		if up, found, err := c.find(l, acl, r.ACL, true); err != nil {
			return e, err
		} else if ok && found {
			e.ACLName = up.Name
			if r.Class == "" || !l.collects(r.ACL) {
				e.fill(up.Meaning, up.Causes, up.Remedy)
				e.Class, e.Action = cmp.Or(e.Class, up.Class), cmp.Or(e.Action, up.Action)
			}
		}
	}
	k := l.classes[e.Class]
	e.fill(k.Meaning, k.Causes, k.Remedy)
	e.Action = cmp.Or(e.Action, k.Action)
	e.ClassText, e.ActionText = k.Title, l.actions[e.Action].Title
	if isText(r.ID) {
		e.Family, e.Messages = text, messages(r)
	}
	return e, nil
}

// collects is true for an ACL code that stands for many: what it knows is true
// of no code in particular.
func (l *lore) collects(acl int64) bool {
	return slices.ContainsFunc(l.spans, func(s span) bool { return s.ACL == acl })
}

// fill takes what a row does not say itself.
func (e *Entry) fill(meaning report.Text, causes []report.Text, remedy report.Text) {
	if e.Meaning.IsZero() {
		e.Meaning = meaning
	}
	if e.Causes == nil {
		e.Causes = causes
	}
	if e.Remedy.IsZero() {
		e.Remedy = remedy
	}
}

// messages writes the lines of both generations, of those that have the code.
func messages(r row) (out []Message) {
	if r.Text == "" {
		return nil
	}
	old := strings.Contains(" "+r.Source+" ", " f8 ")
	only8 := r.Source == "f8"
	users := r.Status == "seen" // nobody said of which release
	if !only8 {
		out = append(out, Message{From85, "[PID: n] time " + strings.ReplaceAll(r.Title, " ", "_") + "(" + r.ID + "): " + r.Text})
	}
	if old || users {
		out = append(out, Message{UpTo83, r.ID + ": [PID: n] time " + cmp.Or(r.Text8, r.Text)})
	}
	return out
}
