package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text of others is read within these bounds.
const (
	maxLine    = 64 << 10 // bytes
	maxLabels  = 128      // of one sample
	maxSamples = 1 << 20
)

// Parse reads text exposition 0.0.4, and of OpenMetrics 1.0 what looks the
// same. Timestamps and exemplars are passed over. An error names the line.
func Parse(r io.Reader) (Families, error) {
	p := parser{index: map[string]int{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := p.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	} else if err != nil {
		return nil, fmt.Errorf("after line %d: %w", n, err)
	}
	return p.families, nil
}

type parser struct {
	families Families
	index    map[string]int // of a family, by name
	samples  int
}

func (p *parser) line(line string) error {
	line = strings.TrimLeft(strings.TrimRight(line, "\r"), " \t")
	switch {
	case !utf8.ValidString(line):
		return errors.New("not UTF-8")
	case line == "":
		return nil
	case line[0] == '#':
		return p.comment(line[1:])
	}
	return p.sample(line)
}

// comment reads HELP and TYPE; any other comment says nothing to us.
func (p *parser) comment(rest string) error {
	word, rest := nextWord(rest)
	if word != "HELP" && word != "TYPE" {
		return nil
	}
	name, rest := nextWord(rest)
	if !nameRule().MatchString(name) {
		return fmt.Errorf("%s: expected a metric name, got %q", word, name)
	}
	f := p.family(name)
	if word == "HELP" {
		f.Help = unescape(rest)
		return nil
	}
	kind, err := readKind(strings.TrimSpace(rest))
	if err == nil && len(f.Samples) > 0 {
		err = fmt.Errorf("TYPE of %s comes after its samples", name)
	}
	f.Kind = kind
	return err
}

// readKind takes the types that only OpenMetrics has for untyped.
func readKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case KindCounter, KindGauge, KindHistogram, KindSummary, KindUntyped:
		return k, nil
	case "unknown", "info", "stateset", "gaugehistogram":
		return KindUntyped, nil
	}
	return KindUntyped, fmt.Errorf("TYPE: expected counter, gauge, histogram, summary or untyped, got %q", s)
}

func (p *parser) family(name string) *Family {
	i, ok := p.index[name]
	if !ok {
		i = len(p.families)
		p.index[name] = i
		p.families = append(p.families, Family{Name: name, Kind: KindUntyped})
	}
	return &p.families[i]
}

// owner finds the family of a sample: the one with its name, or else the
// histogram, summary or (OpenMetrics) counter whose name it extends.
func (p *parser) owner(sample string) *Family {
	if _, ok := p.index[sample]; ok {
		return p.family(sample)
	}
	if cut := strings.LastIndexByte(sample, '_'); cut > 0 {
		if i, ok := p.index[sample[:cut]]; ok && extends(p.families[i].Kind, sample[cut:]) {
			return &p.families[i]
		}
	}
	return p.family(sample)
}

func extends(k Kind, suffix string) bool {
	switch suffix {
	case "_bucket":
		return k == KindHistogram
	case "_sum", "_count":
		return k == KindHistogram || k == KindSummary
	case "_total":
		return k == KindCounter
	}
	return false
}

func (p *parser) sample(line string) error {
	if p.samples++; p.samples > maxSamples {
		return fmt.Errorf("more than %d samples", maxSamples)
	}
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		end = len(line)
	}
	s := Sample{Name: line[:end]}
	if !nameRule().MatchString(s.Name) {
		return fmt.Errorf("expected a metric name, got %q", s.Name)
	}
	rest := strings.TrimLeft(line[end:], " \t")
	var err error
	if strings.HasPrefix(rest, "{") {
		if s.Labels, rest, err = readLabels(rest[1:]); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if s.Value, err = readValue(rest); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	f := p.owner(s.Name)
	f.Samples = append(f.Samples, s)
	return nil
}

// readLabels reads what follows the opening brace, and gives what follows the
// closing one.
func readLabels(s string) (labels []Label, rest string, err error) {
	for {
		if s = strings.TrimLeft(s, " \t"); strings.HasPrefix(s, "}") {
			return labels, s[1:], nil
		}
		name, after, ok := strings.Cut(s, "=")
		if name = strings.TrimRight(name, " \t"); !ok || !labelRule().MatchString(name) {
			return nil, "", fmt.Errorf(`expected label="value", got %q`, clip(s))
		}
		for _, l := range labels {
			if l.Name == name {
				return nil, "", fmt.Errorf("label %s twice", name)
			}
		}
		value, after, err := readQuoted(strings.TrimLeft(after, " \t"))
		if err != nil {
			return nil, "", fmt.Errorf("label %s: %w", name, err)
		}
		if labels = append(labels, Label{name, value}); len(labels) > maxLabels {
			return nil, "", fmt.Errorf("more than %d labels", maxLabels)
		}
		s = strings.TrimLeft(after, " \t")
		if strings.HasPrefix(s, ",") {
			s = s[1:]
		} else if !strings.HasPrefix(s, "}") {
			return nil, "", fmt.Errorf("expected , or } after label %s, got %q", name, clip(s))
		}
	}
}

func readQuoted(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", fmt.Errorf(`expected ", got %q`, clip(s))
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return unescape(s[1:i]), s[i+1:], nil
		}
	}
	return "", "", errors.New(`the closing " is missing`)
}

// unescape undoes \\, \n and \"; other pairs stay as they are.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if at := strings.IndexByte(`\n"`, s[i+1]); at >= 0 {
				b.WriteByte("\\\n\""[at])
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// readValue reads the number of a sample; a timestamp may follow it, and an
// exemplar that.
func readValue(s string) (float64, error) {
	s, _, _ = strings.Cut(s, "#")
	fields := strings.Fields(s)
	if len(fields) == 0 || len(fields) > 2 {
		return 0, fmt.Errorf("expected a value and perhaps a timestamp, got %q", clip(s))
	}
	for _, f := range fields {
		// Go alone reads hexadecimal and underscores.
		if _, err := strconv.ParseFloat(f, 64); err != nil || strings.ContainsAny(f, "xXpP_") {
			return 0, fmt.Errorf("expected a number, got %q", clip(f))
		}
	}
	return strconv.ParseFloat(fields[0], 64)
}

func nextWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexAny(s, " \t")
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimLeft(s[end:], " \t")
}

// clip keeps a quotation in an error short.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}
