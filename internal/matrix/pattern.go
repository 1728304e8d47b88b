package matrix

import (
	"slices"
	"strings"
)

// pattern is one way a row names versions: exactly, as a whole line (25.2.X),
// with * for any characters, or by a comparison. The zero pattern names none.
type pattern struct {
	op   string // "", "X", "*", or one of < <= > >= == !=
	v    Version
	text string  // of *
	line []int64 // of X: the numbers every member starts with
}

// spec is a list of patterns that must all hold: >=3.9,<3.12.
type spec []pattern

// anyOf is a list of specs, one of which must hold.
type anyOf []spec

// parsePattern reads one pattern of a row.
func parsePattern(s Scheme, text string) pattern {
	text = strings.TrimSpace(text)
	if v, ok := Parse(s, text); ok { // most are
		return pattern{v: v}
	}
	for _, op := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if rest, ok := strings.CutPrefix(text, op); ok {
			v, _ := Parse(s, rest)
			return pattern{op: op, v: v}
		}
	}
	if strings.Contains(text, "*") {
		return pattern{op: "*", text: strings.ToLower(text)}
	}
	if rest, ok := strings.CutSuffix(strings.ToUpper(text), ".X"); ok {
		if v, ok := Parse(Opaque, rest); ok {
			return pattern{op: "X", line: slices.Clone(v.key[:strings.Count(rest, ".")+1]), text: text}
		}
	}
	v, _ := Parse(s, text)
	return pattern{v: v}
}

// parseSpec reads patterns with commas between them.
func parseSpec(s Scheme, text string) (out spec) {
	for _, p := range strings.Split(text, ",") {
		out = append(out, parsePattern(s, p))
	}
	return out
}

// parseAny reads what a row has under a key: one value or a list.
func parseAny(s Scheme, texts []string) (out anyOf) {
	for _, t := range texts {
		if t != "" {
			out = append(out, parseSpec(s, t))
		}
	}
	return out
}

// has is true when the version is one of those the pattern names. raw is the
// version as a person wrote it: * looks at both spellings.
func (p pattern) has(v Version, raw string) bool {
	switch p.op {
	case "":
		return p.v.Text != "" && p.v.Equal(v)
	case "X":
		return v.final && slices.Equal(v.key[:len(p.line)], p.line)
	case "*":
		return glob(p.text, strings.ToLower(v.Text)) || glob(p.text, strings.ToLower(raw))
	}
	c, ok := v.Compare(p.v)
	switch p.op {
	case "<":
		return ok && c < 0
	case "<=":
		return ok && c <= 0
	case ">":
		return ok && c > 0
	case ">=":
		return ok && c >= 0
	case "!=":
		return !p.v.Equal(v)
	}
	return p.v.Equal(v)
}

func (s spec) has(v Version, raw string) bool {
	for _, p := range s {
		if !p.has(v, raw) {
			return false
		}
	}
	return len(s) > 0
}

func (a anyOf) has(v Version) bool {
	for _, s := range a {
		if s.has(v, v.Text) {
			return true
		}
	}
	return false
}

// floor gives the version a pattern starts at: 9.1.X starts at 9.1.0.
func (p pattern) floor() Version {
	if p.op != "X" {
		return p.v
	}
	v, _ := Parse(CANN, dotted(append(slices.Clone(p.line), 0)))
	return v
}

// glob matches text against a pattern in which * stands for any characters.
func glob(pat, text string) bool {
	parts := strings.Split(pat, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	for _, mid := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, mid)
		if i < 0 {
			return false
		}
		rest = rest[i+len(mid):]
	}
	return strings.HasSuffix(rest, last)
}

// pythons reads a range of Python versions: 3.9-3.13, >=3.9,<3.12, ==3.11 or
// 3.10. Only the first two numbers count: 3.7.5-3.10 starts at 3.7.
type pythons []pattern

func parsePythons(text string) (out pythons) {
	if low, high, ok := strings.Cut(text, "-"); ok {
		text = ">=" + low + ",<=" + high
	}
	for _, p := range parseSpec(Opaque, text) {
		if !p.v.Known() {
			return nil
		}
		p.v = p.v.minor()
		out = append(out, p)
	}
	return out
}

// has is true for a Python inside the range.
func (r pythons) has(v Version) bool { return spec(r).has(v.minor(), "") }
