package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// level is one number of clients in a closed loop.
type level struct {
	o       *Options
	c       *client
	f       *feed
	clients int
	done    *atomic.Int64 // requests of all levels, for the progress
	next    atomic.Int64  // number of the next request
}

// worker is one client and what it saw.
type worker struct {
	l      *level
	inputs []oip.Tensor
	body   []byte
	answer bytes.Buffer
	times  []time.Duration
	errors map[string]int
	first  error
	right  int
	total  int
	last   time.Time // its last answer
}

func (l *level) run(ctx context.Context) (Level, error) {
	warm := l.o.WarmUp
	if warm == 0 {
		warm = 2 * l.clients
	}
	if _, err := l.send(ctx, max(warm, 0), 0, nil); err != nil {
		return Level{}, err
	}
	batches, rows, counted := l.c.batches(ctx)
	start := l.o.Now()
	workers, err := l.send(ctx, l.o.Requests, l.o.Duration, func() {
		total := l.o.Requests * len(l.o.Concurrency)
		l.o.Progress(int(l.done.Add(1)), total)
	})
	if err != nil {
		return Level{}, err
	}
	m := l.sum(workers, start)
	if after, rowsAfter, ok := l.c.batches(ctx); ok && counted && after > batches {
		mean := (rowsAfter - rows) / (after - batches)
		m.MeanBatch = &mean
	}
	return m, nil
}

// send has the clients send requests 0, 1, ... until there were that many, or
// for d where it is positive. The error is that of ctx.
func (l *level) send(ctx context.Context, requests int, d time.Duration, each func()) ([]*worker, error) {
	l.next.Store(0)
	end := l.o.Now().Add(d)
	workers := make([]*worker, l.clients)
	var all sync.WaitGroup
	for i := range workers {
		w := &worker{l: l, errors: map[string]int{}}
		workers[i] = w
		all.Go(func() {
			for ctx.Err() == nil {
				n := int(l.next.Add(1) - 1)
				if d > 0 && !l.o.Now().Before(end) || d <= 0 && n >= requests {
					return
				}
				w.one(ctx, n)
				if each != nil {
					each()
				}
			}
		})
	}
	all.Wait()
	return workers, ctx.Err()
}

// one sends request n and keeps what came of it.
func (w *worker) one(ctx context.Context, n int) {
	var labels []int64
	w.inputs, labels = w.l.f.take(n, w.inputs)
	body, jsonBytes, err := oip.AppendRequest(w.body[:0], &oip.Request{Inputs: w.inputs}, w.l.o.Binary)
	if err != nil {
		w.fail(&failure{"request", err.Error()})
		return
	}
	w.body = body
	ctx, cancel := context.WithTimeout(ctx, w.l.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.l.c.about+"/infer", bytes.NewReader(body))
	if err != nil {
		w.fail(&failure{"request", err.Error()})
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if jsonBytes >= 0 {
		req.Header.Set("Content-Type", "application/octet-stream")
		req.Header.Set(oip.HeaderLength, strconv.Itoa(jsonBytes))
	}
	start := w.l.o.Now()
	header, end, err := w.l.c.do(req, &w.answer)
	w.last = end
	if err != nil {
		w.fail(err.(*failure))
		return
	}
	resp, err := oip.DecodeResponse(w.answer.Bytes(), header)
	if err == nil && labels != nil {
		err = w.judge(resp, labels)
	}
	if err != nil {
		w.fail(&failure{"answer", err.Error()})
		return
	}
	w.times = append(w.times, end.Sub(start))
}

func (w *worker) fail(f *failure) {
	w.errors[f.kind]++
	if w.first == nil {
		w.first = f
	}
}

// judge counts the rows whose class is their label.
func (w *worker) judge(resp *oip.Response, labels []int64) error {
	i := slices.IndexFunc(resp.Outputs, func(t oip.Tensor) bool { return t.Name == w.l.f.output })
	if i < 0 {
		return &failure{"answer", "the answer has no output " + w.l.f.output}
	}
	t := resp.Outputs[i]
	at := number(t.DType)
	if at == nil || len(t.Shape) == 0 || t.Shape[0] != int64(len(labels)) {
		return &failure{"answer", "output " + t.Name + " is " + typeOf(t.DType, t.Shape) + ", expected numbers for " + strconv.Itoa(len(labels)) + " rows"}
	}
	size, _ := t.DType.Size(1)
	row := len(t.Data) / len(labels)
	for r, label := range labels {
		w.total++
		if class(t.Data[r*row:(r+1)*row], int(size), at, whole(t.DType)) == label {
			w.right++
		}
	}
	return nil
}

// class is the index of the largest element, the first of equals; -1 without
// any that is a number. A single integer is the class itself.
func class(row []byte, size int, at func([]byte) float64, integer bool) int64 {
	if integer && len(row) == size {
		return int64(at(row))
	}
	best, largest := int64(-1), math.Inf(-1)
	for i := 0; i*size < len(row); i++ {
		if v := at(row[i*size:]); v > largest || best < 0 && v == largest {
			best, largest = int64(i), v
		}
	}
	return best
}

// sum puts together what the clients saw.
func (l *level) sum(workers []*worker, start time.Time) Level {
	m := Level{Concurrency: l.clients, ErrorKinds: map[string]int{}}
	var times []time.Duration
	right, total, end := 0, 0, start
	for _, w := range workers {
		times = append(times, w.times...)
		right, total = right+w.right, total+w.total
		for kind, n := range w.errors {
			m.ErrorKinds[kind] += n
			m.Errors += n
		}
		if w.first != nil && m.FirstError == "" {
			m.FirstError = w.first.Error()
		}
		if w.last.After(end) {
			end = w.last
		}
	}
	m.Requests = len(times) + m.Errors
	if m.Seconds = end.Sub(start).Seconds(); m.Seconds > 0 {
		m.PerSecond = float64(len(times)) / m.Seconds
	}
	slices.Sort(times)
	m.P50, m.P90, m.P99, m.Max = rank(times, .50), rank(times, .90), rank(times, .99), rank(times, 1)
	if l.f.labels != nil {
		m.Accuracy = &Accuracy{Right: right, Total: total, Percent: math.Round(1e4*float64(right)/float64(max(1, total))) / 100}
	}
	return m
}

// rank is the nearest-rank percentile in milliseconds: the smallest time that
// at least that share of the requests did not exceed.
func rank(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return float64(sorted[max(i, 0)]) / float64(time.Millisecond)
}

func whole(d ascend.DType) bool {
	switch d {
	case ascend.Float, ascend.Double, ascend.Float16, ascend.BFloat16:
		return false
	}
	return true
}

// number reads one element; nil for types that are no numbers. Integers beyond
// 2^53 are rounded, which no class reaches.
func number(d ascend.DType) func([]byte) float64 {
	le := binary.LittleEndian
	switch d {
	case ascend.Float:
		return func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }
	case ascend.Double:
		return func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }
	case ascend.BFloat16:
		return func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }
	case ascend.Float16:
		return func(b []byte) float64 { return half(le.Uint16(b)) }
	case ascend.Int8:
		return func(b []byte) float64 { return float64(int8(b[0])) }
	case ascend.Uint8, ascend.Bool:
		return func(b []byte) float64 { return float64(b[0]) }
	case ascend.Int16:
		return func(b []byte) float64 { return float64(int16(le.Uint16(b))) }
	case ascend.Uint16:
		return func(b []byte) float64 { return float64(le.Uint16(b)) }
	case ascend.Int32:
		return func(b []byte) float64 { return float64(int32(le.Uint32(b))) }
	case ascend.Uint32:
		return func(b []byte) float64 { return float64(le.Uint32(b)) }
	case ascend.Int64:
		return func(b []byte) float64 { return float64(int64(le.Uint64(b))) }
	case ascend.Uint64:
		return func(b []byte) float64 { return float64(le.Uint64(b)) }
	}
	return nil
}

// half is the value of an IEEE 754 binary16.
func half(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	v := math.Ldexp(1024+frac, exp-25)
	switch {
	case exp == 0:
		v = math.Ldexp(frac, -24)
	case exp == 31 && frac == 0:
		v = math.Inf(1)
	case exp == 31:
		v = math.NaN()
	}
	if h>>15 != 0 {
		return -v
	}
	return v
}

// Labels reads the classes out of an array of integers with one element a row.
func Labels(name string, t oip.Tensor) ([]int64, error) {
	at := number(t.DType)
	size, _ := t.DType.Size(1)
	n := int64(len(t.Data))
	if at == nil || !whole(t.DType) || len(t.Shape) == 0 || n/size != t.Shape[0] {
		return nil, &failure{"labels", name + ": expected one integer a row, got " + typeOf(t.DType, t.Shape)}
	}
	labels := make([]int64, t.Shape[0])
	for i := range labels {
		labels[i] = int64(at(t.Data[int64(i)*size:]))
	}
	return labels, nil
}
