package codes

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// row is one code; compat/codes/families.yaml says what the columns mean.
type row struct {
	ID        string        `yaml:"id"`
	Name      string        `yaml:"name"`
	Component string        `yaml:"component"`
	Title     string        `yaml:"title"`
	Text      string        `yaml:"text"`
	Text8     string        `yaml:"text8"`
	Class     string        `yaml:"class"`
	Action    string        `yaml:"action"`
	Meaning   report.Text   `yaml:"meaning"`
	Causes    []report.Text `yaml:"causes"`
	Remedy    report.Text   `yaml:"remedy"`
	Note      report.Text   `yaml:"note"`
	ACL       int64         `yaml:"acl"`
	Since     string        `yaml:"since"`
	Until     string        `yaml:"until"`
	Now       string        `yaml:"now"`
	Was       string        `yaml:"was"`
	Seen      string        `yaml:"seen"`
	Source    string        `yaml:"source"`
	Status    string        `yaml:"status"`
}

// Check refuses ids that no query could reach.
func (r row) Check() error {
	if _, _, ok := number(r.ID); !ok && !isText(r.ID) {
		return fmt.Errorf("id: want a number (107002, -8005, 0x7010001) or a text code (E10016), got %q", r.ID)
	}
	return nil
}

// family is a numbering of its own; low and high bound it, so that a number
// decodes only the files that can hold it.
type family struct {
	ID     string      `yaml:"id"`
	Files  string      `yaml:"files"`
	Names  string      `yaml:"names"` // how the names of its constants begin
	Low    int64       `yaml:"low"`
	High   int64       `yaml:"high"`
	Hex    bool        `yaml:"hex"` // printed in hexadecimal
	Title  report.Text `yaml:"title"`
	Source string      `yaml:"source"`
}

// titled is a word of a closed list: a class, an action, a part of torch_npu.
type titled struct {
	ID      string        `yaml:"id"`
	Name    string        `yaml:"name"`
	Title   report.Text   `yaml:"title"`
	Action  string        `yaml:"action"`
	Meaning report.Text   `yaml:"meaning"`
	Causes  []report.Text `yaml:"causes"`
	Remedy  report.Text   `yaml:"remedy"`
	Source  string        `yaml:"source"`
}

// span is what is known of numbers without a row.
type span struct {
	ID      string      `yaml:"id"`
	Family  string      `yaml:"family"`
	Low     int64       `yaml:"low"`
	High    int64       `yaml:"high"`
	ACL     int64       `yaml:"acl"`
	Meaning report.Text `yaml:"meaning"`
	Source  string      `yaml:"source"`
}

// shape is a place in a log line where a code stands: group 1.
type shape struct {
	ID     string `yaml:"id"`
	Family string `yaml:"family"`
	Re     string `yaml:"re"`
	Source string `yaml:"source"`
}

// Check compiles, so that a broken pattern is told with its line.
func (s shape) Check() error {
	re, err := regexp.Compile(s.Re)
	if err == nil && re.NumSubexp() != 1 {
		err = fmt.Errorf("re: want one group, got %d", re.NumSubexp())
	}
	return err
}

// sign is a class of free text.
type sign struct {
	ID     string      `yaml:"id"`
	Re     string      `yaml:"re"`
	Class  string      `yaml:"class"`
	Remedy report.Text `yaml:"remedy"`
	Status string      `yaml:"status"`
	Source string      `yaml:"source"`
}

// Check compiles, so that a broken pattern is told with its line.
func (s sign) Check() error {
	_, err := regexp.Compile(s.Re)
	return err
}

// source spells out a key of the column source.
type source struct {
	ID     string `yaml:"id"`
	Text   string `yaml:"text"`
	Source string `yaml:"source"`
}

// number reads decimal and 0x numbers with a sign; hex tells the spelling.
func number(s string) (n int64, hex, ok bool) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" {
		return 0, false, false
	}
	base := 10
	if d, cut := strings.CutPrefix(strings.ToLower(digits), "0x"); cut {
		digits, base = d, 16
	}
	u, err := strconv.ParseUint(digits, base, 62) // a minus fits too
	n = int64(u)
	if s[0] == '-' {
		n = -n
	}
	return n, base == 16, err == nil
}

// isText is true for the form of a text code: E10016, EZ9999, EG10000, W11001.
func isText(s string) bool {
	if len(s) < 6 || len(s) > 7 || s[0] != 'E' && s[0] != 'W' || !isDigit(s[1]) && (s[1] < 'A' || s[1] > 'Z') {
		return false
	}
	return allDigits(s[2:])
}

// isTorch is true for a code of torch_npu: ERR00100.
func isTorch(s string) bool { return len(s) == 8 && s[:3] == "ERR" && allDigits(s[3:]) }

// isInner is true for codes whose text alone says what happened.
func isInner(text string) bool {
	return strings.HasSuffix(text, "9999") || strings.HasSuffix(text, "8888")
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func allDigits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
