package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Scheme is a way to spell and order versions. Generic semantic-version readers
// misread 8.2.RC1, .post2 and 24.1.RC3.10, so each family has its own.
type Scheme uint8

const (
	Text   Scheme = iota // no order: compared as it is written
	CANN                 // CANN, nnal, operator packages: 8.2.RC1.alpha003, 9.1.0-beta.1
	HDK                  // driver packages: 24.1.RC3.10
	PEP440               // Python packages: 2.7.1.post1+git0123abc
	Opaque               // numbers between dots, RCn allowed: MindIE, PTA, firmware, Python, glibc
)

// Version is one parsed version. Two of one scheme are the same release when
// Equal says so, whatever their spelling.
type Version struct {
	Text   string // canonical spelling; as written when the scheme cannot read it
	scheme Scheme // Text when it could not be read
	final  bool   // finished: what a line pattern such as 25.2.X takes
	line   int64  // product line; versions of different lines have no order
	key    [10]int64
}

// Parse reads a version. What the scheme cannot read gives ok false and a
// version that equals only the same text.
func Parse(s Scheme, text string) (v Version, ok bool) {
	text = strings.TrimSpace(text)
	switch s {
	case CANN:
		v, ok = parseCANN(text)
	case HDK:
		v, ok = parseHDK(text)
	case PEP440:
		v, ok = parsePEP440(text)
	case Opaque:
		v, ok = parseOpaque(text)
	}
	switch {
	case ok:
	case s == Text:
		return Version{Text: text}, false
	default:
		return Version{Text: strings.ReplaceAll(text, "rc", "RC")}, false
	}
	v.scheme = s
	return v, true
}

// Known is false for a version its scheme could not read.
func (v Version) Known() bool { return v.scheme != Text }

// Equal is true for two spellings of one release. PEP 440 local parts do not
// count: +cpu and +git... are builds of the same release.
func (v Version) Equal(o Version) bool {
	if v.scheme != o.scheme {
		return false
	}
	if v.scheme == Text || v.scheme == Opaque {
		return v.Text == o.Text
	}
	return v.key == o.key
}

// Compare orders two versions of one scheme and product line; ok is false
// where there is no order.
func (v Version) Compare(o Version) (c int, ok bool) {
	if v.scheme == Text || v.scheme != o.scheme || v.line != o.line {
		return 0, false
	}
	return slices.Compare(v.key[:], o.key[:]), true
}

// before is true when v is surely older than o.
func (v Version) before(o Version) bool {
	c, ok := v.Compare(o)
	return ok && c < 0
}

// Finished is false for alphas, betas, release candidates of the new scheme and
// builds. An RCn of CANN and HDK is a finished release, that of PEP 440 is not.
func (v Version) Finished() bool { return v.final }

// Base gives the release part of a PEP 440 version, 2.7.1 of 2.7.1.post1+cpu.
func (v Version) Base() string {
	n := 3
	for i := 5; i > 3 && n == 3; i-- {
		if v.key[i-1] != 0 {
			n = i
		}
	}
	return dotted(v.key[:n])
}

// Num is what aclsysGetVersionNum gives for a CANN version: major*10^7 +
// minor*10^5 + patch*10^3, less 300, 200 or 100 plus n for alpha, beta and rc.
// ok is false for X.Y.RCn, which that function refuses. Source: hicann/runtime
// src/acl/aclrt_impl/acl.cpp@2026-08-22.
func (v Version) Num() (n int64, ok bool) {
	if v.scheme != CANN || v.key[2] < 0 || v.key[3] > 0 || v.key[4] == cannBuild {
		return 0, false
	}
	n = v.key[0]*1e7 + v.key[1]*1e5 + v.key[2]*1e3
	if v.key[4] != cannFinal {
		n += v.key[5] - 100*(4-v.key[4])
	}
	return n, true
}

// scan reads a lower-case version from the left.
type scan string

// num takes a number of at most 18 digits.
func (s *scan) num() (int64, bool) {
	i := 0
	for i < len(*s) && (*s)[i] >= '0' && (*s)[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(string((*s)[:i]), 10, 64)
	if err != nil || i > 18 {
		return 0, false
	}
	*s = (*s)[i:]
	return n, true
}

// skip takes the text if it is next.
func (s *scan) skip(text string) bool {
	rest, ok := strings.CutPrefix(string(*s), text)
	if ok {
		*s = scan(rest)
	}
	return ok
}

// after takes a text and the number behind it, or nothing.
func (s *scan) after(text string) (int64, bool) {
	was := *s
	if s.skip(text) {
		if n, ok := s.num(); ok {
			return n, true
		}
	}
	*s = was
	return 0, false
}

// rcBelow makes RC1 < RC2 < .0 in the third place of a version.
const rcBelow = -1000

// three reads X.Y.RCn or X.Y.Z.
func (s *scan) three() (x, y, z int64, ok bool) {
	if x, ok = s.num(); !ok {
		return
	}
	if y, ok = s.after("."); !ok {
		return
	}
	if z, ok = s.after(".rc"); ok {
		return x, y, z + rcBelow, z < -rcBelow
	}
	z, ok = s.after(".")
	return
}

// The fifth place of a CANN key: inside one release alpha < beta < rc < build.
const (
	cannAlpha int64 = iota + 1
	cannBeta
	cannRC
	cannBuild
	cannFinal
)

// cannSuffix are the spellings of what is no finished release: the old scheme
// has no dot before the number, conda writes dots for the dash.
var cannSuffix = []struct {
	text, show string
	kind       int64
}{
	{".alpha.", "-alpha.%d", cannAlpha}, {"-alpha.", "-alpha.%d", cannAlpha}, {".alpha", ".alpha%03d", cannAlpha},
	{".beta.", "-beta.%d", cannBeta}, {"-beta.", "-beta.%d", cannBeta}, {".beta", ".beta%d", cannBeta},
	{".rc.", "-rc.%d", cannRC}, {"-rc.", "-rc.%d", cannRC}, {".b", ".B%03d", cannBuild},
}

// parseCANN reads both schemes: X.Y.RCn and X.Y.Z with .m, .alphaNNN, .betaN,
// .Bnnn (up to 8.3), X.Y.Z with -alpha.N, -beta.N, -rc.N (from 8.5).
func parseCANN(text string) (v Version, ok bool) {
	s := scan(strings.ToLower(text))
	if s.skip("cann") {
		s = scan(strings.TrimLeft(string(s), " -_"))
	}
	x, y, z, ok := s.three()
	if !ok {
		return v, false
	}
	patch, patched := s.after(".")
	kind, n, show := cannFinal, int64(0), ""
	for _, suffix := range cannSuffix {
		if k, ok := s.after(suffix.text); ok {
			kind, n, show = suffix.kind, k, suffix.show
			break
		}
	}
	if s != "" {
		return v, false
	}
	old := x < 8 || x == 8 && y <= 3
	if old && show == ".beta%d" && n == 1 && z <= 0 && !patched {
		kind, n = cannFinal, 0 // the community spelling of the release itself
	}
	v.final = kind == cannFinal
	v.key = [10]int64{x, y, z, patch, kind, n}
	var room [48]byte
	out := appendDotted(room[:0], v.key[:numbers(patched)])
	if kind != cannFinal {
		out = fmt.Appendf(out, show, n)
	}
	v.Text = spelt(text, out)
	return v, true
}

// numbers is how many numbers of a key a version shows.
func numbers(patched bool) int {
	if patched {
		return 4
	}
	return 3
}

// spelt gives the canonical spelling, and the text itself where it is that: most
// rows are, and need no copy.
func spelt(text string, canonical []byte) string {
	if text == string(canonical) {
		return text
	}
	return string(canonical)
}

// parseHDK reads X.Y.RCn or X.Y.Z with an optional patch number. The lines 1.0,
// 25.1, 25.6 and 25.7 are products of their own (950 series): no order between
// them and the rest. Source: CANN 9.1.0 and 9.2.0 release notes; hicann/community
// QA reports.
func parseHDK(text string) (v Version, ok bool) {
	s := scan(strings.ToLower(text))
	x, y, z, ok := s.three()
	if !ok {
		return v, false
	}
	patch, patched := s.after(".")
	if s != "" {
		return v, false
	}
	if x == 1 && y == 0 || x == 25 && (y == 1 || y == 6 || y == 7) {
		v.line = x*100 + y
	}
	v.final = true
	v.key = [10]int64{x, y, z, patch}
	var room [48]byte
	v.Text = spelt(text, appendDotted(room[:0], v.key[:numbers(patched)]))
	return v, true
}

// parseOpaque reads up to six numbers between dots, one of which may be RCn.
func parseOpaque(text string) (v Version, ok bool) {
	s := scan(strings.ToLower(text))
	for n := range 6 {
		if v.key[n], ok = s.num(); !ok && n > 0 {
			v.key[n], ok = s.after("rc")
			v.key[n] += rcBelow
		}
		if !ok || v.key[n] < rcBelow || s != "" && !s.skip(".") {
			return v, false
		}
		if s == "" {
			if strings.HasSuffix(text, ".") {
				return v, false
			}
			var room [48]byte
			v.Text, v.final = spelt(text, appendDotted(room[:0], v.key[:n+1])), true
			return v, true
		}
	}
	return v, false
}

// dotted writes numbers; one below zero is an RC.
func dotted(ns []int64) string { return string(appendDotted(nil, ns)) }

func appendDotted(out []byte, ns []int64) []byte {
	for i, n := range ns {
		if i > 0 {
			out = append(out, '.')
		}
		if n < 0 {
			out, n = append(out, "RC"...), n-rcBelow
		}
		out = strconv.AppendInt(out, n, 10)
	}
	return out
}

// minor cuts a version down to its first two numbers, as Python and glibc are
// compared.
func (v Version) minor() Version {
	out := Version{scheme: v.scheme, final: v.final, Text: dotted(v.key[:2])}
	copy(out.key[:], v.key[:2])
	return out
}

// newest sorts versions, newest first; those without an order go last, by text.
func newest(a, b Version) int {
	if c, ok := b.Compare(a); ok {
		return c
	}
	return cmp.Or(cmp.Compare(b.scheme, a.scheme), cmp.Compare(a.line, b.line), cmp.Compare(a.Text, b.Text))
}
