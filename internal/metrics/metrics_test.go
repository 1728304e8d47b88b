package metrics

import (
	"bytes"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleRegistry has every kind, with and without labels, and values that
// need escaping.
func sampleRegistry() *Registry {
	r := NewRegistry()
	runs := r.Counter("demo_runs_total", "Runs by model and outcome.", "model", "outcome")
	runs.With("resnet", "ok").Add(41)
	runs.With("resnet", "ok").Inc()
	runs.With(`a"b\c`+"\nd", "failed").Inc()
	r.Counter("demo_busy_seconds_total", `Seconds, with a \ and two`+"\nlines.").With().Add(1.5)
	r.Gauge("demo_queue_depth", "Requests waiting.").With().Set(-3)
	r.GaugeFunc("demo_open_files", "Files open.", func() float64 { return math.Inf(1) })
	r.Gauge("demo_lanes", "Lanes.", "device").Func(func() float64 { return 2 }, "0")
	h := r.Histogram("demo_wait_seconds", "Seconds in the queue.", []float64{.5, 1, 1e6}, "model")
	for _, v := range []float64{.25, .5, .75, 2, math.NaN()} {
		h.With("resnet").Observe(v)
	}
	r.Counter("demo_never_total", "Has labels and no child yet.", "model")
	return r
}

const sampleText = `# HELP demo_busy_seconds_total Seconds, with a \\ and two\nlines.
# TYPE demo_busy_seconds_total counter
demo_busy_seconds_total 1.5
# HELP demo_lanes Lanes.
# TYPE demo_lanes gauge
demo_lanes{device="0"} 2
# HELP demo_open_files Files open.
# TYPE demo_open_files gauge
demo_open_files +Inf
# HELP demo_queue_depth Requests waiting.
# TYPE demo_queue_depth gauge
demo_queue_depth -3
# HELP demo_runs_total Runs by model and outcome.
# TYPE demo_runs_total counter
demo_runs_total{model="a\"b\\c\nd",outcome="failed"} 1
demo_runs_total{model="resnet",outcome="ok"} 42
# HELP demo_wait_seconds Seconds in the queue.
# TYPE demo_wait_seconds histogram
demo_wait_seconds_bucket{model="resnet",le="0.5"} 2
demo_wait_seconds_bucket{model="resnet",le="1"} 3
demo_wait_seconds_bucket{model="resnet",le="1000000"} 4
demo_wait_seconds_bucket{model="resnet",le="+Inf"} 4
demo_wait_seconds_sum{model="resnet"} 3.5
demo_wait_seconds_count{model="resnet"} 4
`

func TestTextIsExactAndStable(t *testing.T) {
	r := sampleRegistry()
	for range 3 {
		var b bytes.Buffer
		n, err := r.WriteTo(&b)
		if err != nil || n != int64(b.Len()) {
			t.Fatalf("WriteTo: %d bytes of %d, %v", n, b.Len(), err)
		}
		if d := cmp.Diff(sampleText, b.String()); d != "" {
			t.Fatal(d)
		}
	}
}

func TestScrapeOverHTTP(t *testing.T) {
	r := sampleRegistry()
	for _, c := range []struct {
		method string
		status int
	}{{"GET", 200}, {"HEAD", 200}, {"POST", 405}, {"OPTIONS", 405}} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(c.method, "/metrics", nil))
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d", c.method, w.Code, c.status)
		}
		if c.status == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow %q", c.method, w.Header().Get("Allow"))
		}
		if c.status == 200 && w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
			t.Errorf("%s: Content-Type %q", c.method, w.Header().Get("Content-Type"))
		}
	}
}

func TestBadRegistrationsPanic(t *testing.T) {
	for name, f := range map[string]func(r *Registry){
		"counter without _total": func(r *Registry) { r.Counter("demo_runs", "Runs.") },
		"gauge with _total":      func(r *Registry) { r.Gauge("demo_total", "Runs.") },
		"histogram with _count":  func(r *Registry) { r.Histogram("demo_count", "Runs.", []float64{1}) },
		"name with a dash":       func(r *Registry) { r.Gauge("demo-x", "X.") },
		"empty name":             func(r *Registry) { r.Gauge("", "X.") },
		"no help":                func(r *Registry) { r.Gauge("demo_x", "") },
		"label with a dash":      func(r *Registry) { r.Gauge("demo_x", "X.", "a-b") },
		"reserved label":         func(r *Registry) { r.Gauge("demo_x", "X.", "__name__") },
		"label twice":            func(r *Registry) { r.Gauge("demo_x", "X.", "a", "a") },
		"label le":               func(r *Registry) { r.Histogram("demo_x", "X.", []float64{1}, "le") },
		"falling buckets":        func(r *Registry) { r.Histogram("demo_x", "X.", []float64{2, 1}) },
		"infinite bucket":        func(r *Registry) { r.Histogram("demo_x", "X.", []float64{1, math.Inf(1)}) },
		"no buckets":             func(r *Registry) { r.Histogram("demo_x", "X.", nil) },
		"twice":                  func(r *Registry) { r.Gauge("demo_x", "X."); r.Gauge("demo_x", "X.") },
		"too few values":         func(r *Registry) { r.Gauge("demo_x", "X.", "a").With() },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("was accepted")
				}
			}()
			f(NewRegistry())
		})
	}
}

func TestACounterNeverFalls(t *testing.T) {
	c := NewRegistry().Counter("demo_total", "Demo.").With()
	for _, v := range []float64{3, -1, .5, math.NaN(), math.Inf(1), math.Inf(-1), 0} {
		c.Add(v)
	}
	if c.Value() != 3.5 {
		t.Errorf("got %g, want 3.5", c.Value())
	}
}

func TestLabelValuesThatOnlyDifferInTheirCutStayApart(t *testing.T) {
	v := NewRegistry().Counter("demo_total", "Demo.", "a", "b")
	v.With("x", "yz").Inc()
	if got := v.With("xy", "z").Value(); got != 0 {
		t.Errorf("shared a child: %g", got)
	}
	if once, again := v.With("x", "yz"), v.With("x", "yz"); once != again {
		t.Error("the same values gave two children")
	}
}

// Writers add while readers scrape: no reading is below the one before it, a
// histogram's count is its last bucket, and in the end nothing was lost.
func TestConcurrentCountingIsMonotonicAndLosesNothing(t *testing.T) {
	const writers, rounds = 8, 2000
	r := NewRegistry()
	c := r.Counter("demo_total", "Demo.", "writer")
	g := r.Gauge("demo_open", "Demo.").With()
	h := r.Histogram("demo_seconds", "Demo.", SecondsBuckets()).With()
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for range rounds {
				c.With(string(rune('a' + i%3))).Add(1.25)
				g.Add(1)
				g.Add(-1)
				h.Observe(.003)
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	var last, lastCount float64
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		fs := r.Families()
		sum, _ := fs.Sum("demo_total")
		count, _ := fs.Sum("demo_seconds_count")
		inf, _ := fs.Sum("demo_seconds_bucket", "le", "+Inf")
		if sum < last || count < lastCount || count != inf {
			t.Fatalf("sum %g after %g, count %g after %g, last bucket %g", sum, last, count, lastCount, inf)
		}
		last, lastCount = sum, count
	}
	if want := writers * rounds * 1.25; last != want || lastCount != writers*rounds || g.Value() != 0 {
		t.Errorf("sum %g of %g, count %g of %d, gauge %g of 0", last, want, lastCount, writers*rounds, g.Value())
	}
}

func TestTheHotPathDoesNotAllocate(t *testing.T) {
	r := NewRegistry()
	c := r.Counter("demo_total", "Demo.", "class", "code")
	h := r.Histogram("demo_seconds", "Demo.", SecondsBuckets(), "class")
	class := strings.Repeat("i", 20)
	step := func() {
		c.With(class, "200").Inc()
		h.With(class).Observe(.01)
	}
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%g allocations a call", n)
	}
}

func TestWriteErrorsAreReported(t *testing.T) {
	if _, err := sampleRegistry().WriteTo(brokenWriter{}); err == nil {
		t.Error("no error")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, http.ErrHandlerTimeout }

func BenchmarkCounterWith(b *testing.B) {
	c := NewRegistry().Counter("demo_total", "Demo.", "class", "code")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.With("infer", "200").Inc()
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	h := NewRegistry().Histogram("demo_seconds", "Demo.", SecondsBuckets()).With()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Observe(.004)
		}
	})
}
