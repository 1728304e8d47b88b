package metrics

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Registry holds the families of one process. It is safe for concurrent use.
type Registry struct {
	mu       sync.Mutex
	families map[string]gatherer
}

// gatherer gives a family with the values of this moment.
type gatherer func() Family

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{families: map[string]gatherer{}} }

// Counter registers a family of numbers that only grow. Its name ends in
// _total and says the unit before that (seconds, bytes). With the names of
// labels it has one child for each combination of values; without any, With()
// is the only child.
//
// A name that breaks the rules of the format, or is taken, is a mistake in the
// program: all registrations panic on one.
func (r *Registry) Counter(name, help string, labels ...string) *CounterVec {
	mustMatch(strings.HasSuffix(name, "_total"), name, "a counter ends in _total")
	v := &CounterVec{}
	v.init(labels, func() *Counter { return new(Counter) })
	r.add(name, help, labels, KindCounter, v.gather(name))
	return v
}

// Gauge registers a family of numbers that rise and fall. See Counter.
func (r *Registry) Gauge(name, help string, labels ...string) *GaugeVec {
	mustMatch(!strings.HasSuffix(name, "_total"), name, "only a counter ends in _total")
	v := &GaugeVec{}
	v.init(labels, func() *Gauge { return new(Gauge) })
	r.add(name, help, labels, KindGauge, v.gather(name))
	return v
}

// GaugeFunc registers a gauge that f answers for at every scrape; f may be
// called from several goroutines.
func (r *Registry) GaugeFunc(name, help string, f func() float64) {
	r.Gauge(name, help).Func(f)
}

// Histogram registers a family of distributions. buckets are upper bounds
// (inclusive, rising); +Inf is added. See Counter for the rest.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...string) *HistogramVec {
	for _, suffix := range []string{"_total", "_bucket", "_sum", "_count"} {
		mustMatch(!strings.HasSuffix(name, suffix), name, "a histogram does not end in "+suffix)
	}
	mustMatch(!slices.Contains(labels, "le"), name, "the label le belongs to the buckets")
	mustMatch(len(buckets) > 0 && rising(buckets), name, "buckets are finite and rise")
	bounds := newBounds(buckets)
	v := &HistogramVec{}
	v.init(labels, func() *Histogram { return newHistogram(bounds) })
	r.add(name, help, labels, KindHistogram, v.gather(name))
	return v
}

var (
	nameRule  = pattern(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelRule = pattern(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func (r *Registry) add(name, help string, labels []string, kind Kind, samples func() []Sample) {
	mustMatch(nameRule().MatchString(name), name, "not a metric name")
	mustMatch(help != "" && help == strings.TrimSpace(help), name, "help is a sentence without blanks around it")
	for i, l := range labels {
		mustMatch(labelRule().MatchString(l) && !strings.HasPrefix(l, "__"), name, "not a label name: "+l)
		mustMatch(!slices.Contains(labels[:i], l), name, "label twice: "+l)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, taken := r.families[name]
	mustMatch(!taken, name, "registered twice")
	r.families[name] = func() Family { return Family{Name: name, Help: help, Kind: kind, Samples: samples()} }
}

func mustMatch(ok bool, name, rule string) {
	if !ok {
		panic(fmt.Sprintf("metrics: %q: %s", name, rule))
	}
}

// Families gives all values of this moment, families in order of name, their
// samples in order of label values. Families without children are left out.
func (r *Registry) Families() Families {
	r.mu.Lock()
	gather := make([]gatherer, 0, len(r.families))
	for _, g := range r.families {
		gather = append(gather, g)
	}
	r.mu.Unlock() // a GaugeFunc may take its time, or register something
	var fs Families
	for _, g := range gather {
		if f := g(); len(f.Samples) > 0 {
			fs = append(fs, f)
		}
	}
	slices.SortFunc(fs, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	return fs
}

// WriteTo writes all values of this moment as text.
func (r *Registry) WriteTo(w io.Writer) (int64, error) { return r.Families().WriteTo(w) }

// ContentType is the media type of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// ServeHTTP answers a scrape.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", ContentType)
	_, _ = r.WriteTo(w) // a scraper that left needs no answer
}

// pattern compiles when first used: start-up pays for nothing it does not need.
func pattern(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}
