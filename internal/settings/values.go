package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Values is what a variable may be set to, joined by "|": words in any case,
// whole numbers a..b and a.., numbers a..b/n in steps of n from 0, "ids" for
// rising logic ids, "*" for anything. Empty: nothing is known, so everything
// passes.
type Values string

// Take is true for a value that is among them.
func (v Values) Take(value string) bool {
	if v == "" {
		return true
	}
	value = strings.TrimSpace(value)
	for want := range strings.SplitSeq(string(v), "|") {
		switch r, ok := parseRange(want); {
		case want == "*", strings.EqualFold(want, value), want == "ids" && rising(value), ok && r.holds(value):
			return true
		}
	}
	return false
}

// String says them in a message.
func (v Values) String() string {
	if v == "ids" {
		return "0,1,2"
	}
	return strings.ReplaceAll(string(v), "|", ", ")
}

func (v Values) check() error {
	for want := range strings.SplitSeq(string(v), "|") {
		if _, ok := parseRange(want); !ok && strings.Contains(want, "..") {
			return fmt.Errorf("values %s: want words, a..b, a.. or a..b/n", v)
		}
	}
	return nil
}

// span is a range of whole numbers; last < first: without an end.
type span struct{ first, last, step int }

func parseRange(s string) (r span, ok bool) {
	from, to, dots := strings.Cut(s, "..")
	if !dots {
		return r, false
	}
	to, step, stepped := strings.Cut(to, "/")
	var err [3]error
	r.step = 1
	r.first, err[0] = strconv.Atoi(from)
	if r.last = r.first - 1; to != "" {
		r.last, err[1] = strconv.Atoi(to)
	}
	if stepped {
		r.step, err[2] = strconv.Atoi(step)
	}
	return r, err == [3]error{} && r.step > 0 && (to == "" || r.first <= r.last)
}

func (r span) holds(value string) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n >= r.first && (r.last < r.first || n <= r.last) && n%r.step == 0
}

// rising is true for ids that the runtime takes as they stand: it refuses a
// list that does not rise. src: hicann/runtime runtime.cc, api_impl.cc.
func rising(value string) bool {
	last := -1
	for word := range strings.SplitSeq(value, ",") {
		id, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || id <= last {
			return false
		}
		last = id
	}
	return true
}
