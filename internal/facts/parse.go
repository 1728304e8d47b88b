package facts

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Parsers of small texts. Each takes known text and either understands it or
// says what it is: text that is not understood is an unknown fact, never a zero.

// word is one line without blanks around it; nothing is no answer.
func word(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "\n\x00") {
		return "", odd("one line", s)
	}
	return s, nil
}

// token is a word without blanks inside: what uname and version keys give.
func token(s string) (string, error) {
	w, err := word(s)
	if err != nil || strings.ContainsAny(w, " \t") {
		return "", odd("one word", s)
	}
	return w, nil
}

func wholeNumber(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0, odd("a number", s)
	}
	return n, nil
}

func lines(s string) (out []string) {
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func list(s string) ([]string, error) { return lines(s), nil }

// pairs reads key=value lines, or those of another mark between the two.
func pairs(s, mark string) map[string]string {
	m := map[string]string{}
	for _, line := range lines(s) {
		if k, v, ok := strings.Cut(line, mark); ok {
			m[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return m
}

// typedPairs reads the key=value lines of a typed answer, which must hold key.
func typedPairs(s, key string) (map[string]string, error) {
	m := pairs(s, "=")
	if m[key] == "" {
		return nil, odd(key+"=", s)
	}
	return m, nil
}

// bracketed reads "[a],[b]" and "[a,b],[c,d]" as lists of lists.
func bracketed(s string) (out [][]string) {
	for {
		_, rest, open := strings.Cut(s, "[")
		inner, after, shut := strings.Cut(rest, "]")
		if !open || !shut {
			return out
		}
		s = after
		parts := strings.Split(inner, ",")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		out = append(out, parts)
	}
}

func ranges(s string) (out []Range) {
	for _, p := range bracketed(s) {
		if len(p) == 2 && p[0] != "" && p[1] != "" {
			out = append(out, Range{p[0], p[1]})
		}
	}
	return out
}

func branches(s string) (out []string) {
	for _, p := range bracketed(s) {
		if len(p) == 1 && p[0] != "" {
			out = append(out, p[0])
		}
	}
	return out
}

// environment reads NUL-separated KEY=VALUE. A value may hold anything else.
func environment(s string) (map[string]string, error) {
	m := map[string]string{}
	for part := range strings.SplitSeq(s, "\x00") {
		if k, v, ok := strings.Cut(part, "="); ok && k != "" {
			if secret(k) {
				v = hidden
			}
			m[k] = v
		}
	}
	if len(m) == 0 {
		return nil, odd("KEY=VALUE", s)
	}
	return m, nil
}

// hidden stands for a value that may be a secret: facts are printed, kept and
// sent around.
const hidden = "(hidden)"

func secret(key string) bool {
	key = strings.ToUpper(key)
	for _, w := range []string{"TOKEN", "PASSWORD", "PASSWD", "SECRET", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"} {
		if strings.Contains(key, w) {
			return true
		}
	}
	return false
}

// unix reads Unix seconds with a fraction.
func unix(s string) (time.Time, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e11 {
		return time.Time{}, odd("Unix seconds", s)
	}
	whole, part := math.Modf(f)
	return time.Unix(int64(whole), int64(part*1e9)).UTC(), nil
}

func atoi(s string, none int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return none
	}
	return n
}

func atol(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// version finds the first a.b or a.b.c in a text: "g++ (GCC) 10.3.1".
func firstVersion(s string) (string, error) {
	first, _, _ := strings.Cut(s, "\n")
	fields := strings.Fields(first)
	for i := len(fields) - 1; i >= 0; i-- { // "gcc (Ubuntu 11.4.0-1ubuntu1) 11.4.0": the last one counts
		w := strings.Trim(fields[i], "()v,")
		if w != "" && w[0] >= '0' && w[0] <= '9' && strings.Contains(w, ".") {
			return w, nil
		}
	}
	return "", odd("a version", s)
}
