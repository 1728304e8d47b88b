// Package check says what is wrong on one host. It is a pure function of facts:
// the same recording gives the same verdict on any machine, a year later.
//
// A check is a row of compat/checks.yaml (texts, conditions, thresholds) and a
// judge, the few lines of Go that data cannot say. The head of that file is the
// grammar that this package follows.
package check

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Spec is one row of the catalogue.
type Spec struct {
	ID       string            `yaml:"id"`
	Title    report.Text       `yaml:"title"`
	Scope    string            `yaml:"scope"` // host, card, fleet
	Severity report.Severity   `yaml:"severity"`
	Needs    []string          `yaml:"needs"`
	When     When              `yaml:"when"`
	Reads    []string          `yaml:"reads"`
	Params   map[string]Param  `yaml:"params"`
	Rule     map[string]string `yaml:"rule"`
	Fix      report.Text       `yaml:"fix"`
	Run      string            `yaml:"run"`
	CuredBy  []string          `yaml:"cured_by"`
	Touches  []string          `yaml:"touches"` // what the fix replaces; a provider may look after it
	Source   string            `yaml:"source"`
}

// Group is a heading that checks stand under: the word before the dot of an id.
type Group struct {
	ID    string      `yaml:"id" json:"id"`
	Title report.Text `yaml:"title" json:"title"`
}

// When says where a check applies; all keys that are set must hold.
type When struct {
	Task      []string `yaml:"task"`
	Installs  []string `yaml:"installs"`
	Chip      []string `yaml:"chip"`
	Engine    []string `yaml:"engine"`
	Uses      []string `yaml:"uses"`
	Has       []string `yaml:"has"`
	Lacks     []string `yaml:"lacks"`
	Known     []string `yaml:"known"`
	Packages  []string `yaml:"packages"`
	Failed    []string `yaml:"failed"`
	MinCards  int      `yaml:"min_cards"`
	Container *bool    `yaml:"container"`
	VM        *bool    `yaml:"vm"`
	SoC       *bool    `yaml:"soc"`
	VNPU      *bool    `yaml:"vnpu"`
	MultiNode *bool    `yaml:"multi_node"`
	Online    *bool    `yaml:"online"`
	Deep      *bool    `yaml:"deep"`
	Root      *bool    `yaml:"root"`
	AnyOf     []When   `yaml:"any_of"`
}

// owns names the check whose verdict a word of `has` stands for.
var owns = map[string]string{
	"driver": "driver.installed", "firmware": "driver.firmware_installed", "cann": "cann.installed", "nnal": "cann.nnal",
}

// asks gives the checks whose verdict the condition looks at.
func (w When) asks() (ids []string) {
	ids = slices.Clone(w.Failed)
	for _, h := range w.Has {
		ids = append(ids, owns[h])
	}
	if w.VNPU != nil {
		ids = append(ids, "dev.vnpu")
	}
	for _, any := range w.AnyOf {
		ids = append(ids, any.asks()...)
	}
	return ids
}

// before gives all checks that must be judged first.
func (s Spec) before() []string { return append(s.When.asks(), s.Needs...) }

// Check is asked by the book, which adds file and line: a row that the judge
// could not read would fail at the worst moment.
func (s Spec) Check() error {
	j, ok := judgeOf(s.ID)
	switch {
	case !ok:
		return fmt.Errorf("no judge of this build is called %s", s.ID)
	case !slices.Contains([]report.Severity{report.Blocker, report.Error, report.Warning, report.Info}, s.Severity):
		return fmt.Errorf("severity: want blocker, error, warning or info, got %q", s.Severity)
	case !slices.Contains([]string{"host", "card", "fleet"}, s.Scope):
		return fmt.Errorf("scope: want host, card or fleet, got %q", s.Scope)
	}
	return errors.Join(s.checkParams(j), s.checkRule(), s.When.check())
}

// checkParams holds the params of the row against those the judge reads.
func (s Spec) checkParams(j judge) error {
	want := map[string]string{}
	for _, p := range strings.Fields(j.params) {
		name, kind, _ := strings.Cut(p, ":")
		want[name] = kind
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		kind, known := want[name]
		if !known {
			return fmt.Errorf("params: %s is read by nobody", name)
		}
		if p := s.Params[name]; !kinds[kind](p.Value) {
			return fmt.Errorf("params.%s: want %s, got %v", name, kind, p.Value)
		} else if p.Unit != nil && !isPhrase(p.Unit) {
			return fmt.Errorf("params.%s.unit: want a word or {en, zh}, got %v", name, p.Unit)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		return fmt.Errorf("params: %s missing", strings.Join(slices.Sorted(maps.Keys(want)), ", "))
	}
	return nil
}

// checkRule makes sure that the sentences for people name existing params.
func (s Spec) checkRule() error {
	for status, sentence := range s.Rule {
		if !slices.Contains([]string{"pass", "warn", "fail", "skip", "unknown"}, status) {
			return fmt.Errorf("rule: %q is no status", status)
		}
		for _, m := range regexp.MustCompile(`\{([a-z_]+)\}`).FindAllStringSubmatch(sentence, -1) {
			if _, ok := s.Params[m[1]]; !ok {
				return fmt.Errorf("rule.%s: there is no param %s", status, m[1])
			}
		}
	}
	return nil
}

// check refuses words that no part of the engine decides.
func (w When) check() error {
	for _, c := range []struct {
		key        string
		got, words []string
	}{
		{"task", w.Task, []string{"serve", "convert", "train", "install"}},
		{"chip", w.Chip, []string{"310", "310P", "310B", "A1", "A2", "A3", "950"}},
		{"has", w.Has, slices.Collect(maps.Keys(owns))},
		{"lacks", w.Lacks, []string{"modules"}},
		{"known", w.Known, []string{"cann", "target_cann", "engine_version", "product", "model_size"}},
	} {
		for _, g := range c.got {
			if !slices.Contains(c.words, g) {
				slices.Sort(c.words)
				return fmt.Errorf("when.%s: want one of %s, got %s", c.key, strings.Join(c.words, " "), g)
			}
		}
	}
	for _, any := range w.AnyOf {
		if err := any.check(); err != nil {
			return err
		}
	}
	return nil
}
