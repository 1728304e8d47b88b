package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// vector is a request of n rows of one float for the model x -> y.
func vector(id string, timeout int, values ...float32) string {
	data := make([]string, len(values))
	for i, v := range values {
		data[i] = fmt.Sprint(v)
	}
	return fmt.Sprintf(`{"id":%q,"parameters":{"timeout":%d},"inputs":[{"name":"x","shape":[%d,1],"datatype":"FP32","data":[%s]}]}`,
		id, timeout, len(values), strings.Join(data, ","))
}

// gated is a service over one fake whose runs a test lets through.
func gated(t *testing.T, cfg Config) (*rig, *fake) {
	t.Helper()
	f := &fake{sig: vectors(ascend.Float, 1)}
	cfg.Models = []Model{loaded("m", f)}
	r := newRig(t, cfg, front.Options{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate, f.batches = make(chan struct{}), nil // the warm-up went through
	return r, f
}

// pending sends a request in the background.
func (r *rig) pending(body string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		a, err := r.try("POST", "/v2/models/m/infer", body)
		if err != nil {
			a.body = []byte(err.Error())
		}
		got <- a
	}()
	return got
}

func (r *rig) queued(n int) {
	r.t.Helper()
	until(r.t, fmt.Sprintf("%d requests wait", n), func() bool { return int(r.sum("ascendctl_infer_queue_requests", "model", "m")) == n })
}

func (f *fake) began(t *testing.T, n int) {
	t.Helper()
	until(t, fmt.Sprintf("%d runs began", n), func() bool { return len(f.ran()) == n })
}

func TestConformanceScheduling(t *testing.T) {
	t.Run("C77 a request with more rows than a batch runs alone", func(t *testing.T) {
		r := newRig(t, Config{MaxBatch: 4, Models: []Model{loaded("m", line(t, 1, infer.SimOptions{}))}}, front.Options{})
		got := r.want(200, "POST", "/v2/models/m/infer", vector("big", 0, 1, 2, 3, 4, 5, 6, 7))
		out := got["outputs"].([]any)[0].(map[string]any)
		if !slices.Equal(out["data"].([]any), []any{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}) {
			t.Errorf("got %v", out)
		}
	})
	t.Run("C82 the timeout passes in the queue", func(t *testing.T) {
		r, f := gated(t, Config{})
		first := r.pending(vector("1", 0, 1))
		f.began(t, 1)
		r.want(504, "POST", "/v2/models/m/infer", vector("2", 1000, 2))
		close(f.gate)
		if a := <-first; a.status != 200 {
			t.Errorf("the first: %d %s", a.status, a.body)
		}
		if got := f.ran(); len(got) != 1 {
			t.Errorf("%d runs, want 1: what timed out is not executed", len(got))
		}
		if n := r.sum("ascendctl_infer_requests_total", "model", "m", "outcome", "timeout"); n != 1 {
			t.Errorf("%v timeouts counted, want 1", n)
		}
		for _, bad := range []string{`"soon"`, "-1", "1.5", "true"} {
			r.want(400, "POST", "/v2/models/m/infer", strings.Replace(vector("3", 7, 1), "7", bad, 1))
		}
	})
	t.Run("C84 a full queue is 429 with Retry-After", func(t *testing.T) {
		r, f := gated(t, Config{Queue: 2, MaxBatch: 4})
		waiting := []<-chan answer{r.pending(vector("0", 0, 0))}
		f.began(t, 1)
		waiting = append(waiting, r.pending(vector("1", 0, 1)), r.pending(vector("2", 0, 2)))
		r.queued(2)
		a := r.ask("POST", "/v2/models/m/infer", vector("3", 0, 3))
		if r.object(a); a.status != 429 || a.header.Get("Retry-After") == "" || a.header.Get("X-Ascendctl-Error") != "queue_full" {
			t.Errorf("got %d %v %s", a.status, a.header, a.body)
		}
		close(f.gate)
		for _, w := range waiting {
			if a := <-w; a.status != 200 {
				t.Errorf("one that waited: %d %s", a.status, a.body)
			}
		}
	})
	t.Run("C85 a client that leaves frees its slot and is not executed", func(t *testing.T) {
		r, f := gated(t, Config{})
		first := r.pending(vector("1", 0, 1))
		f.began(t, 1)
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := vector("2", 0, 2)
		fmt.Fprintf(conn, "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		r.queued(1)
		left := time.Now()
		conn.Close()
		r.queued(0)
		if d := time.Since(left); d > 5*time.Second { // 100 ms on a quiet machine
			t.Errorf("the slot was free after %s", d)
		}
		close(f.gate)
		<-first
		if got := f.ran(); len(got) != 1 {
			t.Errorf("%d runs, want 1", len(got))
		}
		until(t, "it counts as canceled", func() bool {
			return r.sum("ascendctl_infer_requests_total", "model", "m", "outcome", "canceled") == 1
		})
	})
	t.Run("a poisoned request fails alone", func(t *testing.T) {
		r, f := gated(t, Config{})
		f.run = func(b *infer.Batch) error {
			if bytes.Contains(b.Inputs[0].Data, floats(666)) {
				return &infer.Error{Class: infer.Failed, Op: "Run", Detail: "poison"}
			}
			return nil
		}
		waiting := []<-chan answer{r.pending(vector("0", 0, 0))}
		f.began(t, 1)
		for i, v := range []float32{1, 666, 3} {
			waiting = append(waiting, r.pending(vector("x", 0, v)))
			r.queued(i + 1)
		}
		close(f.gate)
		for i, w := range waiting {
			a := <-w
			if want := map[bool]int{true: 500, false: 200}[i == 2]; a.status != want {
				t.Errorf("request %d: %d %s, want %d", i, a.status, a.body, want)
			}
			r.object(a)
		}
		if got := f.ran(); !slices.Equal(got, []int{1, 3, 1, 1, 1}) {
			t.Errorf("batches of %v rows, want the joined one and then its members", got)
		}
	})
}

func TestConformanceDrain(t *testing.T) { // C04 and C87
	f := &fake{sig: vectors(ascend.Float, 1)}
	reg := metrics.NewRegistry()
	svc, err := New(Config{Metrics: reg, Models: []Model{loaded("m", f)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.gate, f.batches = make(chan struct{}), nil
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- front.New(front.Options{Metrics: reg, Ready: svc.Ready, Exempt: HealthPaths()}).Run(ctx, ln, svc.Handler())
	}()
	r := &rig{t: t, svc: svc, url: "http://" + ln.Addr().String(), reg: reg}
	in := []<-chan answer{r.pending(vector("0", 0, 0))}
	f.began(t, 1)
	in = append(in, r.pending(vector("1", 0, 1)), r.pending(vector("2", 0, 2)))
	r.queued(2)
	health, late := dial(t, ln), dial(t, ln) // now: the drain takes no new connections
	stop()
	until(t, "readiness ends", func() bool { return health.post(t, "GET /v2/health/ready", "") == 503 })
	if got := late.post(t, "POST /v2/models/m/infer", vector("late", 0, 1)); got != 503 {
		t.Errorf("a new request in the drain: %d, want 503", got)
	}
	close(f.gate)
	for i, w := range in {
		if a := <-w; a.status != 200 {
			t.Errorf("request %d was in flight: %d %s", i, a.status, a.body)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("front: %v", err)
	}
	if err := svc.Close(t.Context()); err != nil || !f.closed {
		t.Errorf("close: %v, backend closed %t", err, f.closed)
	}
	if err := svc.Ready(); err == nil {
		t.Error("ready after Close")
	}
}

// Eight clients with random payload against a slow simulated device: every row
// is right (C78, C80), no row appears that nobody sent (C79), batches form, and
// the statistics add up (C104, C105).
func TestConformanceUnderLoad(t *testing.T) {
	const clients, each, width = 8, 1250, 5 // 10^4 requests
	slow := infer.SimOptions{Cost: func(rows int64) time.Duration { return 300*time.Microsecond + time.Duration(rows)*20*time.Microsecond }}
	r := newRig(t, Config{MaxBatch: 16, Models: []Model{loaded("m", line(t, width, slow))}}, front.Options{})
	before := r.reg.Families()
	var rows atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				n := 1 + rand.Int64N(3)
				rows.Add(n)
				r.echo("m", n, width)
			}
		})
	}
	all.Wait()
	// What was answered is counted a moment later.
	until(t, "all are counted", func() bool {
		return r.sum("ascendctl_infer_requests_total", "model", "m", "outcome", "ok") == clients*each
	})
	batches, got := r.sum("ascendctl_infer_batches_total", "model", "m"), r.sum("ascendctl_infer_rows_total", "model", "m")
	if got != float64(rows.Load()) {
		t.Errorf("%v rows executed, %d sent", got, rows.Load())
	}
	if got/batches <= 2 { // the mean request alone has 2 rows
		t.Errorf("mean batch %.2f over %v batches: none were shared", got/batches, batches)
	}
	t.Logf("mean batch %.2f rows, %v batches for %d requests", got/batches, batches, clients*each)
	stats := r.want(200, "GET", "/v2/models/m/stats", "")["model_stats"].([]any)[0].(map[string]any)
	total := stats["inference_stats"].(map[string]any)
	sum := func(m map[string]any, key string) float64 { return m[key].(map[string]any)["count"].(float64) }
	if sum(total, "success") != clients*each || sum(total, "fail") != 0 || sum(total, "queue") != clients*each {
		t.Errorf("inference_stats %v, want %d successes", total, clients*each)
	}
	var counted, items float64
	for _, b := range stats["batch_stats"].([]any) {
		n := sum(b.(map[string]any), "compute_infer")
		counted, items = counted+n, items+n*b.(map[string]any)["batch_size"].(float64)
	}
	if stats["execution_count"] != batches || counted != batches || stats["inference_count"] != got || items != got {
		t.Errorf("execution_count %v, inference_count %v, batch_stats %v batches of %v rows; want %v and %v",
			stats["execution_count"], stats["inference_count"], counted, items, batches, got)
	}
	text := r.ask("GET", "/metrics", "")
	after, err := metrics.Parse(bytes.NewReader(text.body))
	if err != nil || text.status != 200 {
		t.Fatalf("/metrics: %d, %v", text.status, err)
	}
	for _, family := range before {
		for _, s := range family.Samples {
			if family.Kind == "counter" || family.Kind == "histogram" {
				var pairs []string
				for _, l := range s.Labels {
					pairs = append(pairs, l.Name, l.Value)
				}
				if now, n := after.Sum(s.Name, pairs...); n == 0 || now < s.Value {
					t.Errorf("%s %v fell from %v to %v", s.Name, pairs, s.Value, now)
				}
			}
		}
	}
}

// echo sends random rows to an identity model, as binary data, and demands
// them back.
func (r *rig) echo(model string, rows, width int64) {
	t := oip.Tensor{Name: "x", DType: ascend.Float, Shape: []int64{rows, width}}
	for range rows * width {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, rand.Uint32())
	}
	id := fmt.Sprint(rand.Uint64())
	resp, err := r.call(model, &oip.Request{ID: id, Inputs: []oip.Tensor{t}})
	if err != nil {
		r.t.Errorf("%v", err)
		return
	}
	out := resp.Outputs[0]
	if resp.ID != id || !slices.Equal(out.Shape, t.Shape) || !bytes.Equal(out.Data, t.Data) {
		r.t.Errorf("id %s: got id %s and %v %x, sent %v %x", id, resp.ID, out.Shape, out.Data, t.Shape, t.Data)
	}
}

// call is a whole binary request.
func (r *rig) call(model string, req *oip.Request) (*oip.Response, error) {
	body, head, err := oip.AppendRequest(nil, req, true)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequest(http.MethodPost, r.url+"/v2/models/"+model+"/infer", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set(oip.HeaderLength, fmt.Sprint(head))
	resp, err := http.DefaultTransport.RoundTrip(post)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return oip.DecodeResponse(text, resp.Header.Get(oip.HeaderLength))
}
