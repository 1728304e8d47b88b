// Package ui knows what a terminal can show: language, colour, width, marks,
// progress. It never decides what is said.
package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/mattn/go-runewidth"
	"github.com/muesli/termenv"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Options describe one stream. Nothing is asked of the process itself.
type Options struct {
	W       io.Writer
	TTY     bool
	Columns int // 0: unknown
	Lang    report.Lang
	NoColor bool
	Getenv  func(string) string
}

// Out writes to one stream in one language.
type Out struct {
	w     io.Writer
	r     *lipgloss.Renderer
	lang  report.Lang
	tty   bool
	width int
	ascii bool
	cells runewidth.Condition
}

const (
	widest  = 100 // longer lines are hard to read
	assumed = 80  // where the width is not known
)

// New looks at the stream and the handed-in environment once. lipgloss keeps
// a global renderer that would ask the process; each Out has its own instead.
func New(o Options) *Out {
	out := &Out{w: &lockedWriter{w: o.W}, r: lipgloss.NewRenderer(o.W), lang: o.Lang, tty: o.TTY, width: assumed, ascii: !utf8Locale(o.Getenv)}
	if o.Columns > 0 {
		out.width = min(o.Columns, widest)
	}
	out.r.SetHasDarkBackground(true) // else lipgloss asks the terminal and waits
	out.r.SetColorProfile(termenv.ANSI)
	if !o.TTY || o.NoColor || o.Getenv("NO_COLOR") != "" || o.Getenv("TERM") == "dumb" {
		out.r.SetColorProfile(termenv.Ascii)
	}
	return out
}

// Lang is the language of this stream.
func (o *Out) Lang() report.Lang { return o.lang }

// TTY tells whether a person's terminal is behind the stream.
func (o *Out) TTY() bool { return o.tty }

// Say writes one text and ends the line.
func (o *Out) Say(t report.Text) { fmt.Fprintln(o.w, t.In(o.lang)) }

// Print writes what is the same in every language.
func (o *Out) Print(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// Faint is for ids, sources, passed lines.
func (o *Out) Faint(s string) string { return o.r.NewStyle().Faint(true).Render(s) }

// Bold is for the one word that carries a line.
func (o *Out) Bold(s string) string { return o.r.NewStyle().Bold(true).Render(s) }

// marks are one column wide in every font and locale: U+2713 and U+2717 are
// neutral in the East Asian width table, while the warning sign, bullets and
// box drawing are ambiguous and break columns on Chinese terminals.
var marks = map[report.Status]struct{ glyph, ascii, colour string }{
	report.Pass:    {"✓", "ok", "2"},
	report.Warn:    {"!", "!!", "3"},
	report.Fail:    {"✗", "xx", "1"},
	report.Skip:    {"-", "--", ""},
	report.Unknown: {"?", "??", "6"},
}

// Mark is the sign of a status.
func (o *Out) Mark(s report.Status) string {
	m := marks[s]
	glyph := m.glyph
	if o.ascii {
		glyph = m.ascii
	}
	if m.colour == "" {
		return glyph
	}
	return o.r.NewStyle().Foreground(lipgloss.Color(m.colour)).Render(glyph)
}

// labels of the lines under a problem.
var labels = [...]report.Text{
	{En: "why", Zh: "原因"}, {En: "do", Zh: "处理"}, {En: "run", Zh: "命令"}, {En: "log", Zh: "日志"},
}

// Problem writes what happened, why, what to do and the next command.
func (o *Out) Problem(tool string, p *report.Problem) {
	fmt.Fprintf(o.w, "%s: %s\n", tool, p.What.In(o.lang))
	for i, s := range []string{p.Why.In(o.lang), p.Do.In(o.lang), p.Run, p.Log} {
		if s == "" {
			continue
		}
		label := o.Faint(o.pad(labels[i].In(o.lang), 6))
		fmt.Fprintf(o.w, "  %s%s\n", label, strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n        "))
	}
}

// Pair is one line of a block of "label  value".
type Pair struct {
	Label report.Text
	Value string
}

// Pairs writes labels in one column and values in the next; a pair without a
// value is left out.
func (o *Out) Pairs(indent int, pairs []Pair) {
	w := 0
	for _, p := range pairs {
		if p.Value != "" {
			w = max(w, o.cells.StringWidth(p.Label.In(o.lang)))
		}
	}
	for _, p := range pairs {
		if p.Value != "" {
			fmt.Fprintf(o.w, "%*s%s  %s\n", indent, "", o.Faint(o.pad(p.Label.In(o.lang), w)), p.Value)
		}
	}
}

// Column heads one column of a table.
type Column struct {
	Head  report.Text
	Right bool // numbers
}

// Table writes rows under their heads, aligned by display width; the last
// column is cut where the terminal ends. Where no terminal reads it, it is
// tab-separated, without heads and whole, for cut and awk.
func (o *Out) Table(cols []Column, rows [][]string) {
	if !o.tty {
		for _, r := range rows {
			fmt.Fprintln(o.w, strings.Join(r, "\t"))
		}
		return
	}
	head := make([]string, len(cols))
	for i, c := range cols {
		head[i] = c.Head.In(o.lang)
	}
	w := make([]int, len(cols))
	for _, r := range append([][]string{head}, rows...) {
		for i, cell := range r {
			w[i] = max(w[i], o.cells.StringWidth(cell))
		}
	}
	for n, r := range append([][]string{head}, rows...) {
		line := ""
		for i, cell := range r {
			if i > 0 {
				line += "  "
			}
			gap := strings.Repeat(" ", w[i]-o.cells.StringWidth(cell))
			if cols[i].Right {
				line += gap + cell
			} else {
				line += cell + gap
			}
		}
		line = strings.TrimRight(line, " ")
		if o.cells.StringWidth(line) > o.width { // only the last column may be cut
			line = o.cells.Truncate(line, o.width, "...")
		}
		if n == 0 {
			line = o.Faint(line)
		}
		fmt.Fprintln(o.w, line)
	}
}

func (o *Out) pad(s string, w int) string {
	return s + strings.Repeat(" ", max(0, w-o.cells.StringWidth(s)))
}

// utf8Locale follows the C library: the first of the three that is set rules.
func utf8Locale(getenv func(string) string) bool {
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(k)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Language chooses the language of a whole run: what was said by name (flag,
// environment or config, "" where none did), else the locale of this process.
func Language(named string, getenv func(string) string) report.Lang {
	for _, v := range []string{named, getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")} {
		if v == "" {
			continue
		}
		if strings.HasPrefix(strings.ToLower(v), "zh") {
			return report.Zh
		}
		return report.En
	}
	return report.En
}
