package check

import (
	"slices"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// look is all a judge may see: the facts of one host, what a person wants of
// it, the row with its params, and the verdicts that stand already.
type look struct {
	*facts.Facts
	job *Scene
	row string // which row wants the CANN of job, where a row does
	*Spec
	c    *Catalogue
	done map[string]*report.Finding
}

// judge is what data cannot say about a check. params lists what it reads of
// the row, as name:kind; the loader holds rows against it.
type judge struct {
	params string
	see    func(*look) verdict
}

// judgeOf finds the judge of a check among those of its group.
func judgeOf(id string) (judge, bool) {
	j, ok := judges()[groupOf(id)][id]
	return j, ok
}

func judges() map[string]map[string]judge {
	return map[string]map[string]judge{
		"os": osJudges, "hw": hwJudges, "driver": driverJudges, "dev": devJudges, "npu": npuJudges,
		"cann": cannJudges, "env": envJudges, "py": pyJudges, "tool": toolJudges, "net": netJudges, "ctr": ctrJudges, "fleet": fleetJudges,
	}
}

// Host judges every check on one host and gives the findings in the order of
// the catalogue. Nothing is left out: what does not apply is a skip, and what
// could not be read is unknown and never a fail.
func Host(c *Catalogue, f *facts.Facts, s Scene) []report.Finding {
	out := make([]report.Finding, len(c.specs))
	job, row := c.complete(s, f)
	l := look{Facts: f, job: &job, row: row, c: c, done: map[string]*report.Finding{}}
	for _, i := range c.order {
		l.Spec = &c.specs[i]
		out[i] = l.finding()
		l.done[out[i].ID] = &out[i]
	}
	return out
}

func (l *look) finding() report.Finding {
	s := l.Spec
	f := report.Finding{ID: s.ID, Severity: s.Severity, Text: s.Title}
	applies, clause := l.applies(s.When)
	blame := s.Needs
	var v verdict
	switch applies {
	case no:
		v = skip("when "+clause.key, clause.seen)
	case open:
		v = unknown("when "+clause.key, clause.seen)
		blame = append(slices.Clone(blame), clause.blame...)
	default:
		j, _ := judgeOf(s.ID)
		v = j.see(l)
	}
	f.Status, f.Evidence = v.status, v.evidence
	if !v.ofTarget {
		f.Because = l.because(f.Status, blame)
	}
	if f.Status == report.Warn || f.Status == report.Fail {
		f.Fix, f.Run = s.Fix, s.Run
		if overlap(s.Touches, l.managed()) {
			f.Fix, f.Run = leaveIt, ""
		}
	}
	return f
}

// leaveIt stands in for a fix that would replace what a provider looks after.
var leaveIt = report.T(
	"The provider of this host looks after this part: choose versions above it that fit, or ask the provider.",
	"该部分由主机提供方管理：在其上选择适配的版本，或联系提供方。")

// because names the roots among the needs that explain a finding.
func (l *look) because(status report.Status, needs []string) (roots []string) {
	if status == report.Pass || status == report.Skip {
		return nil
	}
	for _, id := range needs {
		n := l.done[id]
		switch {
		case n == nil:
		case n.Status != report.Fail && (n.Status != report.Unknown || status != report.Unknown):
		case n.Root():
			roots = append(roots, id)
		default:
			roots = append(roots, n.Because...) // always the root, never a link of the chain
		}
	}
	return unique(roots)
}

// failed is true for a check that failed on this host.
func (l *look) failed(id string) bool { return l.done[id] != nil && l.done[id].Status == report.Fail }

// of gives the row of another check, whose params this one shares.
func (l *look) of(id string) *Spec { return &l.c.specs[l.c.at[id]] }

// Overall sums findings up as the head of checks.yaml defines it: fail with
// exit 3 when a root of weight refuses, warn when a root of weight warns or a
// lighter one fails, else pass. Unknown changes neither.
func Overall(findings []report.Finding) (report.Status, report.Exit) {
	if slices.ContainsFunc(findings, report.Finding.Refuses) {
		return report.Fail, report.ExitNo
	}
	for _, f := range findings {
		if f.Root() && (f.Status == report.Fail || f.Status == report.Warn && f.Severity != report.Info) {
			return report.Warn, report.ExitOK
		}
	}
	return report.Pass, report.ExitOK
}

// Demote turns the fails of the checks a person ignores into warnings. What
// they explain stays explained.
func Demote(findings []report.Finding, ids []string) {
	for i := range findings {
		if f := &findings[i]; f.Status == report.Fail && slices.Contains(ids, f.ID) {
			f.Status, f.Ignored = report.Warn, true
		}
	}
}
