package check

import (
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// verdict is what a judge says. ofTarget marks an unknown that only the person
// can lift: no failed check explains it.
type verdict struct {
	status   report.Status
	evidence []report.Evidence
	ofTarget bool
}

func say(status report.Status, source, seen string, wanted ...string) verdict {
	return verdict{status: status, evidence: []report.Evidence{{Source: source, Seen: seen, Wanted: strings.Join(wanted, " ")}}}
}

func pass(source, seen string) verdict { return say(report.Pass, source, seen) }

func warn(source, seen string, wanted ...string) verdict {
	return say(report.Warn, source, seen, wanted...)
}

func fail(source, seen string, wanted ...string) verdict {
	return say(report.Fail, source, seen, wanted...)
}

func skip(source, seen string) verdict { return say(report.Skip, source, seen) }

func unknown(source, note string) verdict { return say(report.Unknown, source, note) }

// noTarget is unknown for want of a value that only the person knows.
func noTarget(what string) verdict {
	v := unknown("target", what+" not given")
	v.ofTarget = true
	return v
}

// ifElse warns or passes: the shape of most advice.
func ifElse(good bool, bad report.Status, source, seen, wanted string) verdict {
	if good {
		return pass(source, seen)
	}
	return say(bad, source, seen, wanted)
}

// atLeast judges a number with two borders: good passes, least warns.
func atLeast(n, good, least float64, source, seen, wanted string) verdict {
	switch {
	case n >= good:
		return pass(source, seen)
	case n >= least:
		return warn(source, seen, wanted)
	}
	return fail(source, seen, wanted)
}

var weight = map[report.Status]int{report.Pass: 1, report.Unknown: 2, report.Warn: 3, report.Fail: 4}

// worst gives the weightiest of several verdicts with the evidence of all that
// weigh as much; no verdict at all is a skip.
func worst(all ...verdict) verdict {
	out := verdict{status: report.Skip}
	for _, v := range all {
		switch {
		case weight[v.status] > weight[out.status]:
			out = v
		case v.status == out.status:
			out.evidence = append(out.evidence[:len(out.evidence):len(out.evidence)], v.evidence...)
		}
	}
	return out
}

// blank is the verdict on a fact that could not be read; false when it could.
func blank[T any](f facts.Fact[T]) (verdict, bool) {
	if !unread(f) {
		return verdict{}, false
	}
	note := f.Note
	if note == "" {
		note = "not asked"
	}
	return unknown(f.Source, note), true
}

// count writes "3 cards": what people read in evidence.
func count(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }
