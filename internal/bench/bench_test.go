package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a service of its own for one model x FP32 [-1,3] -> y, the same. It
// counts two rows for every batch.
type stub struct {
	sig      oip.Signature
	seen     atomic.Int64
	answer   func(n int64, w http.ResponseWriter) bool // true: answered
	mangle   func(*oip.Response)
	noCounts bool
	reg      *metrics.Registry
	batches  *metrics.Counter
	rows     *metrics.Counter
}

func newStub() *stub {
	port := func(name string) []oip.Port {
		return []oip.Port{{Name: name, DType: ascend.Float, Dims: []int64{-1, 3}, DimNames: []string{"", ""}}}
	}
	reg := metrics.NewRegistry()
	return &stub{sig: oip.Signature{Inputs: port("x"), Outputs: port("y")}, reg: reg,
		batches: reg.Counter("ascendctl_infer_batches_total", "Batches.", "model").With("org/m 1"),
		rows:    reg.Counter("ascendctl_infer_rows_total", "Rows.", "model").With("org/m 1")}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v2/models/org/m 1":
		meta := s.sig.Metadata("org/m 1", "stub_stub", "1")
		meta.Parameters = map[string]any{"device_kind": "sim", "device": "simulated, not an NPU", "simulated": true, "max_batch": 32}
		_ = json.NewEncoder(w).Encode(meta)
	case "/metrics":
		if s.noCounts {
			http.NotFound(w, r)
			return
		}
		s.reg.ServeHTTP(w, r)
	case "/v2/models/org/m 1/infer":
		s.infer(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":"no such model: other"}`)
	}
}

func (s *stub) infer(w http.ResponseWriter, r *http.Request) {
	n := s.seen.Add(1) - 1
	if s.answer != nil && s.answer(n, w) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	req, err := oip.DecodeRequest(body, r.Header.Get(oip.HeaderLength), s.sig)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.rows.Add(float64(req.Inputs[0].Shape[0]))
	s.batches.Add(float64(req.Inputs[0].Shape[0]) / 2)
	out := req.Inputs[0]
	out.Name = "y"
	resp := oip.Response{Model: "org/m 1", Outputs: []oip.Tensor{out}, Binary: []bool{req.Outputs[0].Binary}}
	if s.mangle != nil {
		s.mangle(&resp)
	}
	text, head, err := resp.Append(nil)
	if err != nil {
		panic(err)
	}
	if head >= 0 {
		w.Header().Set(oip.HeaderLength, fmt.Sprint(head))
	}
	_, _ = w.Write(text)
}

// rows makes n rows of three whose largest is at label i%3; and the labels.
func rows(n int) (oip.Tensor, []int64) {
	t := oip.Tensor{DType: ascend.Float, Shape: []int64{int64(n), 3}}
	labels := make([]int64, n)
	for i := range n {
		labels[i] = int64(i % 3)
		for c := range 3 {
			v := float32(-c - i)
			if c == i%3 {
				v = 7
			}
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
		}
	}
	return t, labels
}

// options point at a server of s.
func options(t *testing.T, s *stub) Options {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	data, labels := rows(10)
	return Options{URL: srv.URL + "/", Model: "org/m 1", Data: map[string]oip.Tensor{"x": data}, Labels: labels}
}

func TestRunMeasuresEveryRowOnce(t *testing.T) {
	for _, binary := range []bool{false, true} {
		s := newStub()
		o := options(t, s)
		o.Binary, o.Rows, o.Concurrency, o.WarmUp = binary, 3, []int{1, 4}, 5
		var last atomic.Int64
		o.Progress = func(done, total int) {
			if total != 8 || done < 1 || done > 8 {
				t.Errorf("progress %d of %d, want up to 8 of 8", done, total)
			}
			last.Store(max(last.Load(), int64(done)))
		}
		got, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if want := (Device{Kind: "sim", Name: "simulated, not an NPU", Simulated: true, MaxBatch: 32}); got.Device != want {
			t.Errorf("device %+v, want %+v", got.Device, want)
		}
		if got.Binary != binary || got.Load != "closed" || got.RowsPerSend != 3 || len(got.Levels) != 2 || last.Load() != 8 || s.seen.Load() != 2*(5+4) {
			t.Errorf("got %+v after %d requests and progress %d", got, s.seen.Load(), last.Load())
		}
		for i, l := range got.Levels {
			// 10 rows in requests of 3: four, the last of one row.
			if l.Concurrency != o.Concurrency[i] || l.Requests != 4 || l.Errors != 0 || *l.Accuracy != (Accuracy{10, 10, 100}) {
				t.Errorf("level %+v, accuracy %+v, want 4 requests and 10 of 10", l, l.Accuracy)
			}
			if l.MeanBatch == nil || *l.MeanBatch != 2 {
				t.Errorf("mean batch %v, want 2", l.MeanBatch)
			}
			if !(0 < l.P50 && l.P50 <= l.P90 && l.P90 <= l.P99 && l.P99 <= l.Max) || l.PerSecond <= 0 || l.Seconds <= 0 {
				t.Errorf("figures %+v", l)
			}
		}
	}
}

func TestWrongAnswersAreCounted(t *testing.T) {
	s := newStub()
	s.mangle = func(r *oip.Response) { // every answer says class 0
		copy(r.Outputs[0].Data, []byte{0, 0, 0xc8, 0x42})
	}
	o := options(t, s)
	got, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if a := *got.Levels[0].Accuracy; a != (Accuracy{4, 10, 40}) {
		t.Errorf("accuracy %+v, want 4 of 10", a)
	}
}

func TestErrorsAreCountedByKindAndDoNotEndTheRun(t *testing.T) {
	s := newStub()
	s.noCounts = true
	s.answer = func(n int64, w http.ResponseWriter) bool {
		switch n {
		case 1:
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"error":"the queue is full"}`)
		case 2:
			_, _ = io.WriteString(w, "not JSON")
		case 3:
			_, _ = io.WriteString(w, `{"outputs":[{"name":"y","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]}]}`)
		case 4:
			_, _ = io.WriteString(w, `{"outputs":[{"name":"z","datatype":"FP32","shape":[1,3],"data":[1,2,3]}]}`)
		case 5:
			panic(http.ErrAbortHandler)
		case 6:
			time.Sleep(2 * time.Second)
		default:
			return false
		}
		return true
	}
	o := options(t, s)
	o.WarmUp, o.Timeout = -1, time.Second
	got, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l := got.Levels[0]
	want := map[string]int{"http_429": 1, "answer": 3, "transport": 1, "timeout": 1}
	if fmt.Sprint(l.ErrorKinds) != fmt.Sprint(want) || l.Errors != 6 || l.Requests != 10 || l.Accuracy.Total != 4 || l.MeanBatch != nil {
		t.Errorf("got %+v, want the errors %v of 10", l, want)
	}
	if !strings.Contains(l.FirstError, "the queue is full") {
		t.Errorf("first error %q", l.FirstError)
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	s := newStub()
	good := options(t, s)
	short, _ := rows(9)
	wide := oip.Tensor{DType: ascend.Float, Shape: []int64{10, 4}, Data: make([]byte, 160)}
	double := oip.Tensor{DType: ascend.Double, Shape: []int64{10, 3}, Data: make([]byte, 240)}
	empty := oip.Tensor{DType: ascend.Float, Shape: []int64{0, 3}}
	closed := httptest.NewServer(s)
	closed.Close()
	for name, c := range map[string]struct {
		change func(*Options)
		exit   report.Exit
		want   string
	}{
		"no address":      {func(o *Options) { o.URL = "127.0.0.1:8000" }, 64, "expected one like"},
		"nobody there":    {func(o *Options) { o.URL = closed.URL }, 5, "cannot reach"},
		"no model":        {func(o *Options) { o.Model = "" }, 64, "no model"},
		"another model":   {func(o *Options) { o.Model = "other" }, 64, "no such model: other"},
		"no such input":   {func(o *Options) { o.Data = map[string]oip.Tensor{"x": short, "z": short}; o.Labels = nil }, 64, "no input z"},
		"a missing input": {func(o *Options) { o.Data = map[string]oip.Tensor{} }, 64, "no data for input x"},
		"another width":   {func(o *Options) { o.Data = map[string]oip.Tensor{"x": wide} }, 64, "expected FP32 [-1,3], got FP32 [10,4]"},
		"another dtype":   {func(o *Options) { o.Data = map[string]oip.Tensor{"x": double} }, 64, "got FP64 [10,3]"},
		"no rows":         {func(o *Options) { o.Data = map[string]oip.Tensor{"x": empty}; o.Labels = nil }, 64, "no rows"},
		"fewer rows":      {func(o *Options) { o.Data = map[string]oip.Tensor{"x": short} }, 64, "10 labels for 9 rows"},
		"labels alone":    {func(o *Options) { o.Data = nil }, 64, "labels need the data"},
		"no such output":  {func(o *Options) { o.Output = "z" }, 64, "no output z"},
		"no clients":      {func(o *Options) { o.Concurrency = []int{0} }, 64, "concurrency"},
		"too many":        {func(o *Options) { o.Concurrency = []int{1 << 20} }, 64, "concurrency"},
		"both ends":       {func(o *Options) { o.Requests, o.Duration = 1, 1 }, 64, "not both"},
		"negative rows":   {func(o *Options) { o.Rows = -1 }, 64, "rows"},
	} {
		o := good
		c.change(&o)
		_, err := Run(t.Context(), o)
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != c.exit || !strings.Contains(p.Error(), c.want) || p.What.Zh == "" {
			t.Errorf("%s: got %v, want exit %d and %q", name, err, c.exit, c.want)
		}
	}
	if n := s.seen.Load(); n != 0 {
		t.Errorf("%d requests were sent for them", n)
	}
}

func TestAModelWithAFixedBatchNeedsThatManyRows(t *testing.T) {
	s := newStub()
	s.sig.Inputs[0].Dims = []int64{4, 3}
	o := options(t, s)
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "exactly 4 rows") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutDataRowsAreRandomAndTheSameForASeed(t *testing.T) {
	var first []byte
	for range 2 {
		s := newStub()
		var sent bytes.Buffer
		s.mangle = func(r *oip.Response) { sent.Write(r.Outputs[0].Data) }
		o := options(t, s)
		o.Data, o.Labels, o.Seed, o.Requests, o.Binary = nil, nil, 7, 5, true
		got, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if l := got.Levels[0]; l.Requests != 5 || l.Errors != 0 || l.Accuracy != nil {
			t.Errorf("got %+v", l)
		}
		if first != nil && !bytes.Equal(first, sent.Bytes()) {
			t.Error("the same seed gave other rows")
		}
		first = sent.Bytes()
	}
	if len(bytes.TrimLeft(first, "\x00")) == 0 {
		t.Error("the rows are zeros")
	}
}

// Under the clock of the bubble the figures are exact: an answer takes 10 ms,
// every tenth 100 ms, and a level lasts 10 s.
func TestFiguresAreThoseOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		s.answer = func(n int64, w http.ResponseWriter) bool {
			time.Sleep(10 * time.Millisecond)
			if n%10 == 9 {
				time.Sleep(90 * time.Millisecond)
			}
			return false
		}
		data, labels := rows(10)
		o := Options{URL: "http://stub", Model: "org/m 1", Data: map[string]oip.Tensor{"x": data}, Labels: labels,
			Duration: 10 * time.Second, WarmUp: 10, Client: &http.Client{Transport: direct{s}}}
		o.Progress = func(done, total int) {
			if total != 0 {
				t.Errorf("progress to %d, want no total", total)
			}
		}
		got, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		// 190 ms for ten: 52 times ten in 9.88 s, and 12 more begun before 10 s are over.
		l := got.Levels[0]
		if l.Requests != 532 && l.Requests != 530 || l.P50 != 10 || l.P90 != 10 || l.P99 != 100 || l.Max != 100 {
			t.Errorf("got %+v", l)
		}
		if want := float64(l.Requests) / l.Seconds; math.Abs(l.PerSecond-want) > 1e-9 || math.Abs(l.PerSecond-10/.19) > .5 {
			t.Errorf("%v requests per second over %v s", l.PerSecond, l.Seconds)
		}
	})
}

// direct calls a handler without a network.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	d.h.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestTheEndOfTheContextEndsTheRun(t *testing.T) {
	s := newStub()
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, s)
	o.Requests, o.Concurrency = 1<<30, []int{1, 2}
	o.Progress = func(done, _ int) {
		if done == 20 {
			cancel()
		}
	}
	got, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(got.Levels) != 0 || got.Model != "org/m 1" {
		t.Errorf("got %d levels, %v, want none and %v", len(got.Levels), err, context.Canceled)
	}
}

func TestRankIsTheNearest(t *testing.T) {
	var times []time.Duration
	if got := rank(times, .5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 100 {
		times = append(times, time.Duration(i+1)*time.Millisecond)
	}
	for share, want := range map[float64]float64{.5: 50, .9: 90, .99: 99, 1: 100, .001: 1} {
		if got := rank(times, share); got != want {
			t.Errorf("rank %v is %v, want %v", share, got, want)
		}
	}
	if got := rank(times[:1], .5); got != 1 {
		t.Errorf("of one: %v", got)
	}
}

func TestClassOfAllTypes(t *testing.T) {
	le := binary.LittleEndian
	for name, c := range map[string]struct {
		dtype ascend.DType
		row   []byte
		want  int64
	}{
		"float":              {ascend.Float, f32(1, 3, 2), 1},
		"negative floats":    {ascend.Float, f32(-3, -1, -2), 1},
		"the first of two":   {ascend.Float, f32(1, 3, 3), 1},
		"NaN is never it":    {ascend.Float, f32(float32(math.NaN()), 3, 2), 1},
		"all NaN":            {ascend.Float, f32(float32(math.NaN())), -1},
		"minus infinity":     {ascend.Float, f32(float32(math.Inf(-1)), float32(math.Inf(-1))), 0},
		"one float":          {ascend.Float, f32(5), 0},
		"half":               {ascend.Float16, []byte{0x00, 0x3c, 0x00, 0x40}, 1},
		"bfloat16":           {ascend.BFloat16, []byte{0x80, 0x3f, 0x00, 0xbf}, 0},
		"int8 scores":        {ascend.Int8, []byte{0xff, 0, 0x80}, 1},
		"one integer is it":  {ascend.Int64, le.AppendUint64(nil, 9), 9},
		"a negative integer": {ascend.Int32, le.AppendUint32(nil, 0xffffffff), -1},
	} {
		size, _ := c.dtype.Size(1)
		if got := class(c.row, int(size), number(c.dtype), whole(c.dtype)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func f32(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
