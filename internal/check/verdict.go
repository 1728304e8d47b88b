package check

import (
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

// say is a verdict with one piece of evidence; a zero wanted is not shown.
func say(status report.Status, source string, seen, wanted report.Text) verdict {
	return verdict{status: status, evidence: []report.Evidence{{Source: source, Seen: seen.Tight(), Wanted: wanted.Tight()}}}
}

func pass(source string, seen report.Text) verdict {
	return say(report.Pass, source, seen, report.Text{})
}

func warn(source string, seen, wanted report.Text) verdict {
	return say(report.Warn, source, seen, wanted)
}

func fail(source string, seen, wanted report.Text) verdict {
	return say(report.Fail, source, seen, wanted)
}

func skip(source string, seen report.Text) verdict {
	return say(report.Skip, source, seen, report.Text{})
}

func unknown(source string, seen report.Text) verdict {
	return say(report.Unknown, source, seen, report.Text{})
}

// noTarget is unknown for want of a value that only the person knows.
func noTarget(what report.Text) verdict {
	v := unknown("target", report.T("%s not given", "未给出%s", what))
	v.ofTarget = true
	return v
}

// ifElse warns or passes: the shape of most advice.
func ifElse(good bool, bad report.Status, source string, seen, wanted report.Text) verdict {
	if good {
		return pass(source, seen)
	}
	return say(bad, source, seen, wanted)
}

// atLeast judges a number with two borders: good passes, least warns.
func atLeast(n, good, least float64, source string, seen, wanted report.Text) verdict {
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
	return unknown(f.Source, reason(f)), true
}
