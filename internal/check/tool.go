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
		return fail(f.Source, absent(), report.T("a compiler for operators", "编译算子所需的工具"))
	case f.Absent():
		return skip(f.Source, report.T("absent, and no operators are to be built", "不存在，且无需编译算子"))
	case !isVersion(f.Value):
		return unknown(f.Source, raw(f.Value))
	}
	return see()
}

func toolGCC(l *look) verdict {
	return l.builder(l.GCC, func() verdict {
		ok := inRange(l.GCC.Value, l.word("oldest"), l.word("newest"))
		return ifElse(ok, report.Warn, l.GCC.Source, raw(l.GCC.Value), report.T("%s to %s", "%s 至 %s", l.word("oldest"), l.word("newest")))
	})
}

func toolCMake(l *look) verdict {
	return l.builder(l.CMake, func() verdict {
		least, release := l.word("new"), l.cannVersion()
		if release != "" && compareVersions(firstTwo(release), l.word("border")) < 0 {
			least = l.word("old")
		}
		return ifElse(compareVersions(l.CMake.Value, least) >= 0, report.Warn, l.CMake.Source, raw(l.CMake.Value), raw(">=", least))
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
		return fail(l.Tools.Source, noSuch(strings.Join(needed, ", ")), raw(l.list("needed")...))
	case len(useful) > 0:
		return warn(l.Tools.Source, noSuch(strings.Join(useful, ", ")), raw(l.list("useful")...))
	case len(unasked)+len(rest) > 0:
		return unknown(l.Tools.Source, notAsked(append(unasked, rest...)))
	}
	return pass(l.Tools.Source, allThere())
}
