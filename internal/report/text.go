// Package report holds the words every command speaks in: texts in two
// languages, problems, findings, the envelope of machine output, exit codes,
// and the redactor that keeps secrets out of all of them.
package report

import (
	"fmt"
	"unicode"
)

// Lang is the language of what people read.
type Lang string

const (
	En Lang = "en"
	Zh Lang = "zh"
)

// Text is one sentence in both languages. Every sentence a person can read is
// one; a test walks the source and refuses a missing half or unequal
// place-holders.
type Text struct {
	En string `json:"en" yaml:"en"`
	Zh string `json:"zh" yaml:"zh"`
}

// T makes a text; with args both halves are formats for them.
func T(en, zh string, args ...any) Text {
	if len(args) == 0 {
		return Text{en, zh}
	}
	return Text{fmt.Sprintf(en, in(En, args)...), fmt.Sprintf(zh, in(Zh, args)...)}
}

// Same is a text that needs no translation: a name, a path, a vendor's words.
func Same(s string) Text { return Text{s, s} }

// In gives the half of that language.
func (t Text) In(l Lang) string {
	if l == Zh {
		return t.Zh
	}
	return t.En
}

// IsZero is true for no text at all.
func (t Text) IsZero() bool { return t == Text{} }

// in lets a text stand among the arguments of a text.
func in(l Lang, args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if t, ok := a.(Text); ok {
			a = t.In(l)
		}
		out[i] = a
	}
	return out
}

// Tight takes out the blank that a place-holder left between two Chinese
// characters: it is for Latin words, and here a Chinese one took its place.
func (t Text) Tight() Text {
	r := []rune(t.Zh)
	out := make([]rune, 0, len(r))
	for i, c := range r {
		if c == ' ' && i > 0 && i+1 < len(r) && unicode.Is(unicode.Han, r[i-1]) && unicode.Is(unicode.Han, r[i+1]) {
			continue
		}
		out = append(out, c)
	}
	return Text{t.En, string(out)}
}
