package metrics

import (
	"io"
	"math"
	"strconv"
	"strings"
)

// Kind is the type of a family.
type Kind string

const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
	KindSummary   Kind = "summary"
	KindUntyped   Kind = "untyped"
)

// Families is an exposition, in the order in which it is written.
type Families []Family

// Family is one metric with all its samples.
type Family struct {
	Name, Help string
	Kind       Kind
	Samples    []Sample
}

// Sample is one line. The name of a histogram's or summary's sample has a
// suffix that its family's name has not.
type Sample struct {
	Name   string
	Labels []Label
	Value  float64
}

// Label is one pair of a sample.
type Label struct{ Name, Value string }

// Label gives the value of that label, "" when there is none: to the format
// the two are the same.
func (s Sample) Label(name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Find gives the family of that name.
func (fs Families) Find(name string) (Family, bool) {
	for _, f := range fs {
		if f.Name == name {
			return f, true
		}
	}
	return Family{}, false
}

// Sum adds up the samples of that name ("x_total", "x_seconds_count") that
// have all the label pairs (name, value, name, value, ...); n is how many
// there were.
func (fs Families) Sum(sample string, pairs ...string) (sum float64, n int) {
	for _, f := range fs {
		for _, s := range f.Samples {
			if s.Name == sample && s.has(pairs) {
				sum += s.Value
				n++
			}
		}
	}
	return sum, n
}

func (s Sample) has(pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if s.Label(pairs[i]) != pairs[i+1] {
			return false
		}
	}
	return true
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// WriteTo writes the text format; Parse gives the same families back.
func (fs Families) WriteTo(w io.Writer) (int64, error) {
	var total int64
	var b []byte
	for _, f := range fs {
		b = f.append(b[:0])
		n, err := w.Write(b)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (f Family) append(b []byte) []byte {
	if f.Help != "" {
		b = append(b, "# HELP "+f.Name+" "+escapeHelp.Replace(f.Help)+"\n"...)
	}
	b = append(b, "# TYPE "+f.Name+" "+string(f.Kind)+"\n"...)
	for _, s := range f.Samples {
		b = append(b, s.Name...)
		for i, l := range s.Labels {
			b = append(b, "{,"[min(i, 1)])
			b = append(b, l.Name+`="`+escapeValue.Replace(l.Value)+`"`...)
		}
		if len(s.Labels) > 0 {
			b = append(b, '}')
		}
		b = append(b, " "+formatFloat(s.Value)+"\n"...)
	}
	return b
}

// formatFloat writes whole numbers without an exponent, as people and diffs
// like them.
func formatFloat(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
