package check

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var toolJudges = map[string]judge{
	"tool.gcc":   {"oldest:word newest:word", toolGCC},
	"tool.cmake": {"border:word new:word old:word", toolCMake},
	"tool.basic": {"needed:list useful:list", toolBasic},
}

// builder judges a tool that matters only where operators are built.
func (l *look) builder(f facts.Fact[string], see func() verdict) verdict {
	if v, stop := blank(f); stop {
		return v
	}
	switch {
	case f.Absent() && l.job.installs("operators"):
		return fail(f.Source, "absent", "a compiler for operators")
	case f.Absent():
		return skip(f.Source, "absent, and no operators are to be built")
	case !isVersion(f.Value):
		return unknown(f.Source, f.Value)
	}
	return see()
}

func toolGCC(l *look) verdict {
	return l.builder(l.GCC, func() verdict {
		ok := inRange(l.GCC.Value, l.word("oldest"), l.word("newest"))
		return ifElse(ok, report.Warn, l.GCC.Source, l.GCC.Value, l.word("oldest")+" to "+l.word("newest"))
	})
}

func toolCMake(l *look) verdict {
	return l.builder(l.CMake, func() verdict {
		least, release := l.word("new"), l.cannVersion()
		if release != "" && compareVersions(firstTwo(release), l.word("border")) < 0 {
			least = l.word("old")
		}
		return ifElse(compareVersions(l.CMake.Value, least) >= 0, report.Warn, l.CMake.Source, l.CMake.Value, ">= "+least)
	})
}

func toolBasic(l *look) verdict {
	if v, stop := blank(l.Tools); stop {
		return v
	}
	needed, unasked := l.lacking(l.list("needed"))
	useful, rest := l.lacking(l.list("useful"))
	switch {
	case len(needed) > 0:
		return fail(l.Tools.Source, "no "+strings.Join(needed, ", "), strings.Join(l.list("needed"), " "))
	case len(useful) > 0:
		return warn(l.Tools.Source, "no "+strings.Join(useful, ", "), strings.Join(l.list("useful"), " "))
	case len(unasked)+len(rest) > 0:
		return unknown(l.Tools.Source, "not asked for "+strings.Join(append(unasked, rest...), " "))
	}
	return pass(l.Tools.Source, "all there")
}
