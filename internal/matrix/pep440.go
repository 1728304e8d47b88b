package matrix

import (
	"math"
	"strconv"
	"strings"
)

// pepPre are the words of a PEP 440 pre-release, longest first.
var pepPre = []struct {
	word, short string
	rank        int64
}{{"preview", "rc", 3}, {"alpha", "a", 1}, {"beta", "b", 2}, {"pre", "rc", 3}, {"rc", "rc", 3}, {"c", "rc", 3}, {"a", "a", 1}, {"b", "b", 2}}

// parsePEP440 reads a public version; the local part is read and dropped. The
// key holds five release numbers, pre-release, post and dev release.
func parsePEP440(text string) (v Version, ok bool) {
	s := scan(strings.ToLower(text))
	s.skip("v")
	v.key = [10]int64{5: 4, 7: -1, 8: math.MaxInt64}
	n := 0
	for more := true; more; n++ {
		if n == 5 {
			return v, false
		}
		if v.key[n], ok = s.num(); !ok {
			return v, false
		}
		if more = s.isDotDigit(); more {
			s.skip(".")
		}
	}
	var room [64]byte
	out := appendDotted(room[:0], v.key[:n])
	var pre, post, dev bool
	for _, w := range pepPre {
		if pre = s.word(w.word, &v.key[6]); pre {
			v.key[5] = w.rank
			out = strconv.AppendInt(append(out, w.short...), v.key[6], 10)
			break
		}
	}
	if post = s.word("post", &v.key[7]) || s.word("rev", &v.key[7]) || s.word("r", &v.key[7]); post {
		out = strconv.AppendInt(append(out, ".post"...), v.key[7], 10)
	}
	if dev = s.word("dev", &v.key[8]); dev {
		out = strconv.AppendInt(append(out, ".dev"...), v.key[8], 10)
	}
	if dev && !pre && !post {
		v.key[5] = 0 // a dev release of X.Y.Z comes before its first alpha
	}
	v.final = !dev && !pre
	v.Text = spelt(text, out)
	return v, s == "" || s.local()
}

// word reads one part of a version, with or without a separator, and the number
// behind it.
func (s *scan) word(word string, n *int64) bool {
	p := *s
	if len(p) > 0 && strings.IndexByte("._-", p[0]) >= 0 {
		p = p[1:]
	}
	if !p.skip(word) {
		return false
	}
	*n = p.tail()
	*s = p
	return true
}

// tail takes the number behind a word, 0 where there is none.
func (s *scan) tail() int64 {
	p := *s
	if len(p) > 1 && strings.IndexByte("._-", p[0]) >= 0 && p[1] >= '0' && p[1] <= '9' {
		p = p[1:]
	}
	n, ok := p.num()
	if ok {
		*s = p
	}
	return n
}

func (s *scan) isDotDigit() bool {
	return len(*s) > 1 && (*s)[0] == '.' && (*s)[1] >= '0' && (*s)[1] <= '9'
}

// local is true when a well-formed local part is all that is left.
func (s *scan) local() bool {
	rest, ok := strings.CutPrefix(string(*s), "+")
	return ok && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}
