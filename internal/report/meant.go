package report

import "slices"

// Meant suggests the known word that is nearest to a misspelt one, as the end
// of a sentence; it is empty when none is near. The order of known is lost.
func Meant(word string, known []string) Text {
	if best := Nearest(word, known); best != "" {
		return T(", did you mean %s", "，是否应为 %s", best)
	}
	return Text{}
}

// Nearest gives the known word that is nearest to a misspelt one, empty when
// none is near. The order of known is lost.
func Nearest(word string, known []string) string {
	slices.Sort(known)
	best, least := "", max(2, len(word)/3+1)
	for _, k := range known {
		if d := distance(word, k, least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, change or swap with their
// neighbour to get from a to b. A distance that is surely limit or more is not
// counted out.
func distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		now, prev, old := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			change := prev[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			now[j] = min(prev[j]+1, now[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], old[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
