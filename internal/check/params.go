package check

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Param is a number, a list or a word that a judge works with. Unit is for
// people: a sign, or {en, zh} where evidence shows it. Source says where the
// value comes from, `guess:` when it is ours.
type Param struct {
	Value  any    `yaml:"value"`
	Unit   any    `yaml:"unit"`
	Source string `yaml:"source"`
}

// kinds are the shapes a judge can ask for; the loader has checked them, so
// the readers below need no second answer.
var kinds = map[string]func(v any) bool{
	"number": func(v any) bool { _, ok := number(v); return ok },
	"word":   scalar,
	"regex": func(v any) bool {
		_, err := regexp.Compile(fmt.Sprint(v))
		return scalar(v) && err == nil
	},
	"list": func(v any) bool {
		l, ok := v.([]any)
		return ok && all(l, scalar)
	},
	"dict": func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && allOf(m, scalar)
	},
	"records": func(v any) bool { // maps of words, one after the other
		l, ok := v.([]any)
		return ok && all(l, func(v any) bool { m, ok := v.(map[string]any); return ok && allOf(m, scalar) })
	},
	"phrases": func(v any) bool { // what people read, by key
		m, ok := v.(map[string]any)
		return ok && allOf(m, isPhrase)
	},
	"lists": func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && allOf(m, func(v any) bool { l, ok := v.([]any); return ok && all(l, scalar) })
	},
}

func (s *Spec) number(name string) float64 { n, _ := number(s.Params[name].Value); return n }

func (s *Spec) word(name string) string { return text(s.Params[name].Value) }

func (s *Spec) regex(name string) *regexp.Regexp { return regexp.MustCompile(s.word(name)) }

func (s *Spec) list(name string) []string { return texts(s.Params[name].Value) }

func (s *Spec) dict(name string) map[string]string {
	m, _ := s.Params[name].Value.(map[string]any)
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = text(v)
	}
	return out
}

func (s *Spec) lists(name string) map[string][]string {
	m, _ := s.Params[name].Value.(map[string]any)
	out := make(map[string][]string, len(m))
	for k, v := range m {
		out[k] = texts(v)
	}
	return out
}

func (s *Spec) records(name string) (out []map[string]string) {
	l, _ := s.Params[name].Value.([]any)
	for _, e := range l {
		m, _ := e.(map[string]any)
		r := make(map[string]string, len(m))
		for k, v := range m {
			r[k] = text(v)
		}
		out = append(out, r)
	}
	return out
}

func (s *Spec) phrases(name string) map[string]report.Text {
	m, _ := s.Params[name].Value.(map[string]any)
	out := make(map[string]report.Text, len(m))
	for k, v := range m {
		out[k] = phrase(v)
	}
	return out
}

// shown is a param with its unit, as evidence says what was wanted: "10 s".
func (s *Spec) shown(name string) report.Text {
	value, unit := text(s.Params[name].Value), phrase(s.Params[name].Unit)
	gap := " "
	if strings.HasPrefix(unit.Zh, "%") || strings.HasPrefix(unit.Zh, "°") {
		gap = "" // as Chinese is set
	}
	return report.Text{En: strings.TrimSpace(value + " " + unit.En), Zh: strings.TrimSpace(value + gap + unit.Zh)}
}

// phrase reads a word, or {en, zh}.
func phrase(v any) report.Text {
	if m, ok := v.(map[string]any); ok {
		return report.Text{En: text(m["en"]), Zh: text(m["zh"])}
	}
	if v == nil {
		return report.Text{}
	}
	return raw(text(v))
}

// isPhrase is true for what phrase reads.
func isPhrase(v any) bool {
	m, ok := v.(map[string]any)
	return scalar(v) || ok && len(m) == 2 && m["en"] != nil && m["zh"] != nil && allOf(m, scalar)
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func text(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func texts(v any) []string {
	l, _ := v.([]any)
	out := make([]string, len(l))
	for i, e := range l {
		out[i] = text(e)
	}
	return out
}

func scalar(v any) bool {
	switch v.(type) {
	case string, int, float64, bool:
		return true
	}
	return false
}

func all(l []any, ok func(any) bool) bool {
	for _, v := range l {
		if !ok(v) {
			return false
		}
	}
	return true
}

func allOf(m map[string]any, ok func(any) bool) bool {
	for _, v := range m {
		if !ok(v) {
			return false
		}
	}
	return true
}
