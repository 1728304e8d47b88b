package check

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Evidence is read in both languages. What a host, a tool or a row says goes
// through raw and stays as it came; every word of ours is a text.

func raw(words ...string) report.Text { return report.Same(strings.Join(words, " ")) }

func orNone(s string) report.Text {
	if s == "" {
		return report.T("none", "无")
	}
	return raw(s)
}

// says puts what is said behind whom it is said of.
func says(who, what any) report.Text { return report.T("%s: %s", "%s：%s", who, what) }

func comma(a, b any) report.Text { return report.T("%s, %s", "%s，%s", a, b) }

func atLeastOf(least any) report.Text { return report.T(">= %s", ">= %s", least) }

func atMost(most any) report.Text { return report.T("<= %s", "<= %s", most) }

// either writes "a or b".
func either(words []string) report.Text {
	return joined(raws(words), " or ", " 或 ")
}

// both writes "a and b".
func both(words []string) report.Text {
	return joined(raws(words), " and ", " 与 ")
}

func without(words ...string) report.Text {
	return report.T("missing: %s", "缺少：%s", strings.Join(words, " "))
}

// noSuch says that the host has no such thing.
func noSuch(what any) report.Text { return report.T("no %s", "没有 %s", what) }

func notAsked(words []string) report.Text {
	return report.T("not asked for %s", "未查询 %s", strings.Join(words, " "))
}

func absent() report.Text { return report.T("absent", "不存在") }

func allThere() report.Text { return report.T("all there", "齐全") }

func equal() report.Text { return report.T("equal", "一致") }

func notKnown() report.Text { return report.T("not known", "未知") }

// joined puts texts in a row.
func joined(parts []report.Text, en, zh string) (out report.Text) {
	for i, p := range parts {
		if i > 0 {
			out.En, out.Zh = out.En+en, out.Zh+zh
		}
		out.En, out.Zh = out.En+p.En, out.Zh+p.Zh
	}
	return out
}

// commas is a list of values, which Chinese sets with half-width commas too.
func commas(parts []report.Text) report.Text { return joined(parts, ", ", ", ") }

func raws(words []string) []report.Text {
	out := make([]report.Text, len(words))
	for i, w := range words {
		out[i] = raw(w)
	}
	return out
}
