// Package settings knows what people set on Ascend hosts: the environment
// variables that something reads, those that were removed, and those that are
// inventions, with what to do in their place. It judges an environment as a
// pure function and says what a container must be given.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Kind says whether a setting exists.
type Kind string

const (
	Real      Kind = "real"
	Removed   Kind = "removed"   // something read it once
	Fictional Kind = "fictional" // nothing ever did
)

// Entry is one setting: a row of compat/env.yaml.
type Entry struct {
	ID        string      `yaml:"id" json:"id"`
	Kind      Kind        `yaml:"kind" json:"kind"`
	Form      string      `yaml:"form" json:"form,omitempty"` // "" = variable; option, command, file
	Also      []string    `yaml:"also" json:"also,omitempty"` // other spellings in use
	Component string      `yaml:"component" json:"component,omitempty"`
	Type      string      `yaml:"type" json:"type,omitempty"`
	Default   string      `yaml:"default" json:"default,omitempty"`
	Values    Values      `yaml:"values" json:"values,omitempty"`
	Of        string      `yaml:"of" json:"of,omitempty"`       // the product whose versions count
	Since     string      `yaml:"since" json:"since,omitempty"` // first version that has it
	Until     string      `yaml:"until" json:"until,omitempty"` // last version that has it
	Gone      string      `yaml:"gone" json:"gone,omitempty"`   // first version without it
	Exported  string      `yaml:"exported" json:"exported,omitempty"`
	What      report.Text `yaml:"what" json:"what"`
	Instead   report.Text `yaml:"instead" json:"instead,omitzero"`
	Note      report.Text `yaml:"note" json:"note,omitzero"`
	Source    string      `yaml:"source" json:"source"`
	Status    string      `yaml:"status" json:"status"` // src, seen, guess
}

// Check refuses a row that would mislead.
func (e Entry) Check() error {
	switch {
	case !slices.Contains([]Kind{Real, Removed, Fictional}, e.Kind):
		return fmt.Errorf("kind %s: want real, removed or fictional", e.Kind)
	case !slices.Contains([]string{"", "option", "command", "file"}, e.Form):
		return fmt.Errorf("form %s: want option, command or file, or none for a variable", e.Form)
	case e.What.IsZero():
		return errors.New("what is missing")
	case e.Status == "":
		return errors.New("status is missing")
	case e.Kind != Real && e.Instead.IsZero():
		return fmt.Errorf("a %s setting needs instead", e.Kind)
	case e.Kind == Removed && e.Until == "" && e.Gone == "":
		return errors.New("a removed setting needs until or gone")
	case e.Of == "" && e.Since+e.Until+e.Gone != "":
		return errors.New("versions without the product that they are of")
	case !slices.Contains([]string{"", "nnal"}, e.Exported):
		return fmt.Errorf("exported %s: want nnal", e.Exported)
	}
	return e.Values.check()
}

// Conflict is a row of what must not stand together.
type Conflict struct {
	ID     string            `yaml:"id"`
	When   map[string]Values `yaml:"when"`   // all of them hold
	Rising []string          `yaml:"rising"` // two variables; the first must be less
	Text   report.Text       `yaml:"text"`
	Source string            `yaml:"source"`
	Status string            `yaml:"status"`
}

// Check refuses a row that could never speak.
func (c Conflict) Check() error {
	if len(c.When) == 0 || len(c.Rising) != 0 && len(c.Rising) != 2 {
		return errors.New("want variables in when, and none or two in rising")
	}
	for _, v := range c.When {
		if err := v.check(); err != nil {
			return err
		}
	}
	return nil
}

// Settings is the knowledge of compat/env.yaml. It is safe for concurrent use.
type Settings struct {
	entries   []Entry
	conflicts []Conflict
	at        map[string]int // lower case of an id or spelling
	names     []string       // variables that exist or did, for suggestions
}

const file = "env.yaml"

// Load reads the settings of a book. Its errors are the book's.
func Load(b *book.Book) (*Settings, error) {
	variables, err := book.Rows[Entry](b, file, "variables")
	if err != nil {
		return nil, err
	}
	others, err := book.Rows[Entry](b, file, "others")
	if err != nil {
		return nil, err
	}
	s := &Settings{entries: append(variables, others...), at: map[string]int{}}
	for i, e := range s.entries {
		for _, name := range append([]string{e.ID}, e.Also...) {
			s.at[strings.ToLower(name)] = i
		}
		if e.Form == "" && e.Kind != Fictional {
			s.names = append(s.names, e.ID)
		}
	}
	s.conflicts, err = book.Rows[Conflict](b, file, "conflicts")
	return s, err
}

// All gives every entry, in the order of the file.
func (s *Settings) All() []Entry { return slices.Clone(s.entries) }

// Look finds a setting by its name or by a spelling in use, in any case; what
// follows a "=" is not looked at unless it belongs to the spelling.
func (s *Settings) Look(name string) (Entry, bool) {
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	i, ok := s.at[name]
	if !ok {
		before, _, _ := strings.Cut(name, "=")
		i, ok = s.at[before]
	}
	if !ok {
		return Entry{}, false
	}
	return s.entries[i], true
}

// Meant suggests the variable that is nearest to a misspelt name, as the end of
// a sentence; empty when none is near. An invention is never suggested.
func (s *Settings) Meant(name string) report.Text {
	return report.Meant(name, slices.Clone(s.names))
}

// Default is a variable that a vendor's script exports with a fixed value.
// {HOME} and {ATB_HOME_PATH} in the value stand for what the host has.
type Default struct{ Name, Value string }

// Exported gives what the script called by that name ("nnal") exports in that
// version. compare orders two versions of the product; an empty version is the
// newest.
func (s *Settings) Exported(script, version string, compare func(a, b string) int) (out []Default) {
	for _, e := range s.entries {
		if e.Exported == script && (e.Gone == "" || version != "" && compare(train(version), e.Gone) < 0) {
			out = append(out, Default{e.ID, e.Default})
		}
	}
	return out
}
