package facts

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// No output comes near these; they keep a hostile text from costing time.
const (
	maxSmi     = 1 << 20 // bytes that are read
	maxDevices = 1024    // chips, NPUs, labels of a topology
)

// smiText is an output as lines: no colours, no CR, valid UTF-8, trimmed.
type smiText struct {
	lines []string
	whole bool // the last line was ended; else it may have been cut
}

// smiEscapes are the colour and title sequences that come with a terminal's log.
var smiEscapes = pattern(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)`)

func cleanSmi(raw []byte) smiText {
	s := strings.ToValidUTF8(string(raw[:min(len(raw), maxSmi)]), "\uFFFD")
	if s = strings.TrimPrefix(s, "\uFEFF"); strings.Contains(s, "\x1b") {
		s = smiEscapes().ReplaceAllString(s, "")
	}
	s = strings.NewReplacer("\x00", "", "\u00a0", " ").Replace(s) // UTF-16 saved by an editor; blanks of a web page
	var t smiText
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimRight(line, "\r")
		for part := range strings.SplitSeq(line, "\r") { // overwritten progress is noise on its own line
			t.lines = append(t.lines, strings.TrimSpace(strings.TrimLeft(part, "> "))) // quoted in a mail
		}
	}
	last := len(t.lines) - 1
	if t.whole = t.lines[last] == ""; t.whole {
		t.lines = t.lines[:last]
	}
	return t
}

// ended is the lines that were printed to their end. A number at the cut may
// have lost digits, so it is not read at all.
func (t smiText) ended() []string {
	if t.whole {
		return t.lines
	}
	return t.lines[:len(t.lines)-1]
}

func (t smiText) empty() bool {
	for _, l := range t.lines {
		if l != "" {
			return false
		}
	}
	return true
}

// smiField names what a column or key stands for; the names are those of the JSON.
type smiField string

// smiNorm is how header words are compared: releases differ in blanks, dashes
// and capitals. The unit in brackets counts: GB is not read as MB.
func smiNorm(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-' || r == '_' || r == '\t':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// chunks cuts a trimmed line where two or more blanks, or a tab, stand.
func chunks(s string) (out []string) {
	s = strings.ReplaceAll(s, "\t", "  ")
	for s != "" {
		chunk, rest, _ := strings.Cut(s, "  ")
		out, s = append(out, chunk), strings.TrimLeft(rest, " ")
	}
	return out
}

// columnsOf reads the header words of one cell; "" is a column nobody knows,
// which still takes its value. Two known words may stand one blank apart.
func columnsOf(cell string, known map[string]smiField) []smiField {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return nil
	}
	var out []smiField
	for _, chunk := range chunks(cell) {
		if f, ok := known[smiNorm(chunk)]; ok {
			out = append(out, f)
		} else if fs := knownWords(strings.Fields(chunk), known); fs != nil {
			out = append(out, fs...)
		} else {
			out = append(out, "")
		}
	}
	return out
}

// knownWords cuts words into known names, the longest first; nil when a word is left.
func knownWords(words []string, known map[string]smiField) []smiField {
	var out []smiField
	for len(words) > 0 {
		n := min(len(words), 4)
		for ; n > 0; n-- {
			if f, ok := known[smiNorm(strings.Join(words[:n], ""))]; ok {
				out = append(out, f)
				break
			}
		}
		if n == 0 {
			return nil
		}
		words = words[n:]
	}
	return out
}

// closeSlashes makes "839  / 15170" one word.
func closeSlashes(s string) string {
	parts := strings.Split(s, "/")
	for i := range parts {
		if i > 0 {
			parts[i] = strings.TrimLeft(parts[i], " ")
		}
		if i < len(parts)-1 {
			parts[i] = strings.TrimRight(parts[i], " ")
		}
	}
	return strings.Join(parts, "/")
}

// valuesOf cuts the values of one cell for n columns, nil when they cannot be
// told apart: a blank value or a name with a blank leaves the cell unknown.
func valuesOf(cell string, n int) []string {
	cell = strings.TrimSpace(cell)
	if n == 1 {
		return []string{cell}
	}
	cell = closeSlashes(cell)
	if vs := chunks(cell); len(vs) == n {
		return vs
	}
	if vs := strings.Fields(cell); len(vs) == n {
		return vs
	}
	return nil
}

// noDoubles makes columns that stand twice unknown: no telling which is meant.
func noDoubles(rows [][][]smiField) {
	count := map[smiField]int{}
	each := func(do func(*smiField)) {
		for _, row := range rows {
			for _, cell := range row {
				for i := range cell {
					do(&cell[i])
				}
			}
		}
	}
	each(func(f *smiField) { count[*f]++ })
	each(func(f *smiField) {
		if count[*f] > 1 {
			*f = ""
		}
	})
}

// na is how the tool writes "not available".
func na(s string) bool { return s == "" || s == "NA" || s == "N/A" || s == "-" }

func smiInt(s string) *int {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || s[0] == '+' {
		return nil
	}
	v := int(n)
	return &v
}

// smiCount is smiInt for what cannot be negative: ids, sizes, counts.
func smiCount(s string) *int {
	if n := smiInt(s); n != nil && *n >= 0 {
		return n
	}
	return nil
}

func smiPct(s string) *int {
	if n := smiCount(s); n != nil && *n <= 100 {
		return n
	}
	return nil
}

var smiDecimal = pattern(`^\d{1,6}(\.\d{1,3})?$`)

func smiFloat(s string) *float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !smiDecimal().MatchString(s) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// smiPair reads "839 / 15170"; nil unless at least one side is a number and the
// other is a number or NA.
func smiPair(s string) *Pair {
	used, total, ok := strings.Cut(s, "/")
	used, total = strings.TrimSpace(used), strings.TrimSpace(total)
	p := Pair{smiCount(used), smiCount(total)}
	if !ok || p[0] == nil && p[1] == nil || p[0] == nil && !na(used) || p[1] == nil && !na(total) {
		return nil
	}
	return &p
}

// pattern compiles when first used: start-up pays for nothing it does not need.
func pattern(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}
