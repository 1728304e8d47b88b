package book

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// listed is how many mistakes are told; the rest is counted.
const listed = 20

// mistakes collects what is wrong with the files of a layer.
type mistakes struct {
	n     int
	file  string // the first one
	lines []report.Text
	cause error
}

// add keeps one mistake; line 0 stands for the file as a whole.
func (m *mistakes) add(file string, line int, en, zh string, args ...any) {
	m.n++
	m.file = cmp.Or(m.file, file)
	if len(m.lines) == listed {
		return
	}
	where := file
	if line > 0 {
		where = fmt.Sprintf("%s:%d", file, line)
	}
	text := report.T(en, zh, args...)
	m.lines = append(m.lines, report.Text{En: where + ": " + text.En, Zh: where + ": " + text.Zh})
}

// take adds what another file got wrong.
func (m *mistakes) take(o *mistakes) {
	m.n += o.n
	m.file = cmp.Or(m.file, o.file)
	m.lines = append(m.lines, o.lines[:min(len(o.lines), listed-len(m.lines))]...)
	if m.cause == nil {
		m.cause = o.cause
	}
}

// err is nil when nothing is wrong.
func (m *mistakes) err(user bool) error {
	if m.n == 0 {
		return nil
	}
	all := report.Text{En: joined(m.lines, report.En), Zh: joined(m.lines, report.Zh)}
	if more := m.n - len(m.lines); more > 0 {
		all = report.T("%s\nand %d more", "%s\n另有 %d 处", all, more)
	}
	if !user {
		if m.cause != nil {
			return fmt.Errorf("%s: %w", all.En, m.cause)
		}
		return errors.New(all.En)
	}
	return &report.Problem{
		What: report.T("%s has mistakes: %d", "%s 有错误：%d 处", m.file, m.n),
		Why:  all,
		Do:   report.T("correct the lines named above", "修正上述各行"),
		Exit: report.ExitUsage,
		Err:  m.cause,
	}
}

func joined(lines []report.Text, l report.Lang) string {
	out := make([]string, len(lines))
	for i, t := range lines {
		out[i] = t.In(l)
	}
	return strings.Join(out, "\n")
}
