package check

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Judges of Python, torch and the engine, and what a wanted engine implies.

// pyVersion asks the ranges of CANN, and of the engine where its version is
// wanted.
func pyVersion(l *look) verdict {
	if v, stop := blank(l.Python); stop {
		return v
	}
	have, release := l.Python.Value.Version, l.cannVersion()
	if l.Python.Absent() || !isVersion(have) || release == "" {
		return unknown(l.Python.Source, report.T("python3 %s, CANN %s", "python3 为 %s，CANN 为 %s", orNone(have), orNone(release)))
	}
	seen := report.T("Python %s with CANN %s", "Python %s 与 CANN %s", have, release)
	minor := firstTwo(have)
	if compareVersions(minor, l.word("oldest")) < 0 {
		return fail(l.Python.Source, seen, raw(">=", l.word("oldest")))
	}
	if p := l.enginePair("R02", "python", matrix.Parts{"python": have}); p != nil && p.Verdict == matrix.Unsupported {
		return fail(l.Python.Source, comma(seen, raw(l.job.Engine, l.job.Version)), p.Text)
	}
	for _, r := range l.records("by_cann") {
		if compareVersions(firstTwo(release), r["upto"]) > 0 {
			continue
		}
		low, high, _ := strings.Cut(r["good"], "-")
		switch {
		case compareVersions(minor, r["newest"]) > 0:
			return fail(l.Python.Source, seen, raw(r["good"]))
		case slices.Contains(l.list("ending"), minor), compareVersions(minor, low) < 0, compareVersions(minor, high) > 0:
			return warn(l.Python.Source, seen, raw(r["good"]))
		}
		return pass(l.Python.Source, seen)
	}
	return noRow(l.Python.Source, report.T("%s: no range", "%s：没有对应范围", seen))
}

// matrixName is an engine as the matrix calls it; torch and acl have no rows
// of their own.
func matrixName(engine string) string {
	switch engine {
	case "vllm-ascend", "sglang", "mindie", "mindspore":
		return strings.ReplaceAll(engine, "-", "_")
	}
	return ""
}

// enginePair is what a rule says about a part and the engine of the target; nil
// when no version was named or it says nothing.
func (l *look) enginePair(rule, part string, parts matrix.Parts) *matrix.Pair {
	name := matrixName(l.job.Engine)
	if name == "" || l.job.Version == "" {
		return nil
	}
	parts[name] = l.job.Version
	v, ok := l.ask(parts)
	if !ok {
		return nil
	}
	for i, p := range v.Pairs {
		if p.Rule == rule && slices.Contains(p.Parts, part) && slices.Contains(p.Parts, name) {
			return &v.Pairs[i]
		}
	}
	return nil
}

func pyTorchNPU(l *look) verdict {
	torch, npu, cann := l.Packages.Value["torch"], l.Packages.Value["torch-npu"], l.cannVersion()
	seen := report.T("torch %s, torch_npu %s, CANN %s", "torch 为 %s，torch_npu 为 %s，CANN 为 %s", orNone(torch), npu, orNone(cann))
	if torch == "" {
		return noRow(l.Packages.Source, seen)
	}
	v, ok := l.ask(matrix.Parts{"torch": torch, "torch_npu": npu, "cann": cann})
	if !ok {
		return noRow(l.Packages.Source, comma(seen, noMatrix()))
	}
	base, pair := v.Pair("R01", "torch_npu"), v.Pair("R03", "torch_npu")
	for _, p := range []*matrix.Pair{base, pair} {
		if p != nil && p.Verdict == matrix.Unsupported {
			return fail(pairEvidence(p, l.Packages.Source), seen, p.Text)
		}
	}
	if base != nil && base.Verdict == matrix.Supported && pair != nil && pair.Verdict == matrix.Supported {
		return pass(pairEvidence(pair, l.Packages.Source), seen)
	}
	if pair != nil {
		have, _ := matrix.Parse(matrix.PEP440, npu)
		for _, n := range pair.Nearest {
			if near, ok := matrix.Parse(matrix.PEP440, n.Value); ok && n.Part == "torch_npu" && have.Known() && near.Base() == have.Base() {
				return warn(pairEvidence(pair, l.Packages.Source), seen, raw("torch_npu", n.Value))
			}
		}
	}
	return noRow(l.Packages.Source, unlisted(seen))
}

// pyEngine asks every rule that reads the wanted engine version, with all that
// the host has.
func pyEngine(l *look) verdict {
	name := matrixName(l.job.Engine)
	parts := matrix.Parts{name: l.job.Version, "chip": l.chipName(), "cann": l.cannVersion(), "driver": l.Driver.Value.Version,
		"torch": l.Packages.Value["torch"], "torch_npu": l.Packages.Value["torch-npu"]}
	v, ok := l.ask(parts)
	source := "matrix"
	if !ok {
		return noRow(source, noMatrix())
	}
	seen := report.T("%s %s on %s", "%s %s，芯片 %s", l.job.Engine, l.job.Version, orNone(l.chipName()))
	all := []verdict{}
	for _, p := range v.Pairs {
		if !slices.Contains(p.Parts, name) {
			continue
		}
		switch p.Verdict {
		case matrix.Unsupported:
			all = append(all, fail(pairEvidence(&p, source), says(seen, strings.Join(p.Parts, " ")), p.Text))
		case matrix.Unknown:
			all = append(all, noRow(pairEvidence(&p, source), says(seen, p.Text)))
		default:
			all = append(all, pass(pairEvidence(&p, source), seen))
		}
	}
	if len(all) == 0 {
		return noRow(source, unlisted(seen))
	}
	return worst(all...)
}

// complete fills in what the target leaves to be derived: what an installation
// would put there, and the CANN of the wanted engine; row names where that is from.
func (c *Catalogue) complete(s Scene, f *facts.Facts) (out Scene, row string) {
	l := look{Facts: f, job: &s, c: c}
	if s.Task == "install" && len(s.Installs) == 0 {
		s.Installs = l.wholeStack()
	}
	if s.CANN == "" && s.Version != "" {
		if cann, from := l.engineCANN(); cann != "" {
			s.CANN, row = cann, from
		}
	}
	return s, row
}

// wholeStack is what a host lacks of a whole stack.
func (l *look) wholeStack() []string {
	out := []string{"os_packages"}
	if !l.Driver.Known() {
		out = append(out, "driver", "firmware")
	}
	if l.active() == nil {
		out = append(out, "cann", "ops")
	}
	if l.job.Engine != "" && l.job.Engine != "acl" {
		out = append(out, "engine")
		if len(l.CANN.Value.NNAL) == 0 {
			out = append(out, "nnal")
		}
	}
	managed := l.managed()
	return slices.DeleteFunc(out, func(w string) bool { return slices.Contains(managed, w) })
}

// engineCANN gives the CANN of the row of the wanted engine; an image for this
// chip may stand on another than the row says.
func (l *look) engineCANN() (cann, row string) {
	name := matrixName(l.job.Engine)
	want, _ := matrix.Parse(matrix.PEP440, l.job.Version)
	for _, section := range map[string][]string{"vllm_ascend": {"vllm_ascend.releases"}, "sglang": {"sglang.images"}, "mindie": {"mindie.rows"}, "mindspore": {"mindspore.rows"}}[name] {
		for _, r := range l.rows(section) {
			same := func(v string) bool {
				p, ok := matrix.Parse(matrix.PEP440, v)
				return v == l.job.Version || ok && p.Equal(want)
			}
			if !slices.ContainsFunc(r.Strs(name), same) || r.Str("status") == "guess" {
				continue
			}
			cann := r.Str("cann")
			if chip, ok := l.c.matrix.Chip(l.chipName()); ok {
				images := r.Get("image_cann")
				if v := images.Str(chip.Package); v != "" {
					cann = v
				}
			}
			return cann, name + "/" + l.job.Version
		}
	}
	return "", ""
}
