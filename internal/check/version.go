package check

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var versionPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+|[A-Za-z]+`) })

// before and after order the words of a version around its end: 8.1.RC1 comes
// before 8.1.0, 2.5.1.post1 after 2.5.1. Other words (.oe2203, -generic) end
// what can be compared.
var wordRank = map[string]int{"alpha": -4, "a": -4, "beta": -3, "b": -3, "rc": -2, "t": -3, "post": 1}

type versionToken struct{ rank, n int }

// compareVersions orders releases as their makers count them: 25.0.rc1.1 <
// 25.0.0, 9.0.0-beta.1 < 9.0.0, 4.19.90 < 5.10. A missing number counts as 0,
// and what follows a plus sign is not compared.
func compareVersions(a, b string) int {
	x, y := tokens(a), tokens(b)
	for i := range max(len(x), len(y)) {
		var l, r versionToken
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			r = y[i]
		}
		if c := cmp.Or(cmp.Compare(l.rank, r.rank), cmp.Compare(l.n, r.n)); c != 0 {
			return c
		}
	}
	return 0
}

func tokens(v string) (out []versionToken) {
	v, _, _ = strings.Cut(v, "+")
	for _, part := range versionPart().FindAllString(strings.TrimLeft(v, "vV"), -1) {
		if n, err := strconv.Atoi(part); err == nil {
			out = append(out, versionToken{n: n})
			continue
		}
		rank, known := wordRank[strings.ToLower(part)]
		if !known {
			break
		}
		out = append(out, versionToken{rank: rank})
	}
	return out
}

// firstTwo gives the train of a release: 8.3 of 8.3.RC1, 9.0 of 9.0.0.
func firstTwo(v string) string {
	parts := strings.SplitN(v, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func isVersion(v string) bool { return len(tokens(v)) > 0 }

// inRange compares first numbers only where a bound has no more: 13.2 is not
// newer than 13.
func inRange(v, low, high string) bool {
	cut := func(bound string) string {
		parts := strings.Split(v, ".")
		return strings.Join(parts[:min(len(parts), strings.Count(bound, ".")+1)], ".")
	}
	return compareVersions(v, low) >= 0 && compareVersions(cut(high), high) <= 0
}

// unique keeps the first of each, in order.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
