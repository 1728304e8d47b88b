package metrics

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// number is a float that many goroutines add to.
type number struct{ bits atomic.Uint64 }

func (n *number) load() float64   { return math.Float64frombits(n.bits.Load()) }
func (n *number) store(v float64) { n.bits.Store(math.Float64bits(v)) }
func (n *number) add(v float64) {
	for {
		old := n.bits.Load()
		if n.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Counter is a number that only grows.
type Counter struct {
	whole atomic.Uint64 // one instruction, where a float needs a retry loop
	parts number
}

// Inc adds one.
func (c *Counter) Inc() { c.whole.Add(1) }

// Add adds v. What would make a counter fall or undefined (negative, NaN, Inf;
// a clock that was set back) is left out.
func (c *Counter) Add(v float64) {
	switch {
	case !(v > 0) || math.IsInf(v, 1):
	case v < 1<<53 && v == math.Trunc(v):
		c.whole.Add(uint64(v))
	default:
		c.parts.add(v)
	}
}

// Value is the sum so far.
func (c *Counter) Value() float64 { return float64(c.whole.Load()) + c.parts.load() }

func (c *Counter) samples(name string, labels []Label) []Sample {
	return []Sample{{name, labels, c.Value()}}
}

// Gauge is a number that rises and falls.
type Gauge struct {
	value number
	ask   atomic.Pointer[func() float64]
}

// Set makes it v.
func (g *Gauge) Set(v float64) { g.value.store(v) }

// Add adds v, which may be negative.
func (g *Gauge) Add(v float64) { g.value.add(v) }

// Value is what a scrape would see.
func (g *Gauge) Value() float64 {
	if f := g.ask.Load(); f != nil {
		return (*f)()
	}
	return g.value.load()
}

func (g *Gauge) samples(name string, labels []Label) []Sample {
	return []Sample{{name, labels, g.Value()}}
}

// Histogram counts observations by size.
type Histogram struct {
	*bounds
	counts []atomic.Uint64 // one for each bound, and one above all
	sum    number
}

// bounds of the buckets; one set for all children of a family.
type bounds struct {
	upper []float64
	text  []string // as in the label le
}

func newBounds(upper []float64) *bounds {
	b := &bounds{upper: slices.Clone(upper)}
	for _, u := range upper {
		b.text = append(b.text, formatFloat(u))
	}
	b.text = append(b.text, "+Inf")
	return b
}

func rising(b []float64) bool {
	for i, v := range b {
		if math.IsNaN(v) || math.IsInf(v, 0) || i > 0 && v <= b[i-1] {
			return false
		}
	}
	return true
}

func newHistogram(b *bounds) *Histogram {
	return &Histogram{bounds: b, counts: make([]atomic.Uint64, len(b.text))}
}

// Observe counts v; NaN is left out.
func (h *Histogram) Observe(v float64) {
	if v != v {
		return
	}
	// Bounds are few and small values common: walking beats a binary search.
	i := 0
	for i < len(h.upper) && v > h.upper[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.add(v)
}

func (h *Histogram) samples(name string, labels []Label) []Sample {
	out := make([]Sample, 0, len(h.counts)+2)
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
		le := append(slices.Clip(labels), Label{"le", h.text[i]})
		out = append(out, Sample{name + "_bucket", le, float64(n)})
	}
	// The count is the last bucket, not a number of its own: the two never differ.
	return append(out, Sample{name + "_sum", labels, h.sum.load()}, Sample{name + "_count", labels, float64(n)})
}

// SecondsBuckets are bounds for durations of requests: 100 µs to 30 s.
func SecondsBuckets() []float64 {
	return []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// ExpBuckets gives n bounds, each factor times the one before it.
func ExpBuckets(first, factor float64, n int) []float64 {
	b := make([]float64, n)
	for i := range b {
		b[i] = first
		first *= factor
	}
	return b
}

// CounterVec, GaugeVec and HistogramVec are families with a child for each
// combination of label values.
type (
	CounterVec   struct{ vec[Counter, *Counter] }
	GaugeVec     struct{ vec[Gauge, *Gauge] }
	HistogramVec struct{ vec[Histogram, *Histogram] }
)

// Func lets f answer for the child with these values at every scrape.
func (v *GaugeVec) Func(f func() float64, values ...string) { v.With(values...).ask.Store(&f) }

type instrument[T any] interface {
	*T
	samples(name string, labels []Label) []Sample
}

// vec is read without a lock: its map is replaced, never changed. Adding a
// child costs a copy, so values must come from a small set, never from input.
type vec[T any, P instrument[T]] struct {
	labels []string
	fresh  func() P
	mu     sync.Mutex
	kids   atomic.Pointer[map[string]child[P]]
}

type child[P any] struct {
	values []string
	it     P
}

func (v *vec[T, P]) init(labels []string, fresh func() P) {
	v.labels, v.fresh = slices.Clone(labels), fresh
	v.kids.Store(&map[string]child[P]{})
}

// With gives the child with these values, in the order of the labels; it
// panics when their number differs. It does not allocate for a known child.
func (v *vec[T, P]) With(values ...string) P {
	if len(values) != len(v.labels) {
		panic("metrics: as many values as labels are needed")
	}
	var room [128]byte
	key := room[:0]
	for _, s := range values {
		key = binary.AppendUvarint(key, uint64(len(s)))
		key = append(key, s...)
	}
	if c, ok := (*v.kids.Load())[string(key)]; ok {
		return c.it
	}
	return v.add(string(key), values)
}

func (v *vec[T, P]) add(key string, values []string) P {
	v.mu.Lock()
	defer v.mu.Unlock()
	old := *v.kids.Load()
	if c, ok := old[key]; ok {
		return c.it
	}
	c := child[P]{it: v.fresh()}
	for _, s := range values {
		c.values = append(c.values, strings.ToValidUTF8(s, "\uFFFD"))
	}
	kids := maps.Clone(old)
	kids[key] = c
	v.kids.Store(&kids)
	return c.it
}

// gather gives the samples of all children in order of their values.
func (v *vec[T, P]) gather(name string) func() []Sample {
	return func() []Sample {
		kids := slices.Collect(maps.Values(*v.kids.Load()))
		slices.SortFunc(kids, func(a, b child[P]) int { return slices.Compare(a.values, b.values) })
		var out []Sample
		for _, c := range kids {
			var labels []Label
			for i, l := range v.labels {
				labels = append(labels, Label{l, c.values[i]})
			}
			out = append(out, c.it.samples(name, labels)...)
		}
		return out
	}
}
