//go:build cgo && linux

package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/serve"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

var npuRequests = flag.Int("npu.requests", 100_000, "requests of the load on simulated NPUs")

// devices asks the service how its devices are.
func (r *running) devices() []serve.DeviceInfo {
	r.t.Helper()
	resp, err := http.Get(r.url + "/v2/models/model")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	var d struct {
		Parameters struct{ Devices []serve.DeviceInfo }
	}
	if err := json.NewDecoder(resp.Body).Decode(&d); err != nil {
		r.t.Fatal(err)
	}
	return d.Parameters.Devices
}

// metric is a value of /metrics.
func (r *running) metric(name string) float64 {
	r.t.Helper()
	resp, err := http.Get(r.url + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return n
		}
	}
	r.t.Fatalf("no %s in\n%s", name, text)
	return 0
}

func readyOf(all []serve.DeviceInfo) (n int) {
	for _, d := range all {
		if d.State == "ready" {
			n++
		}
	}
	return n
}

// client sends requests and knows the answers: a model of the tests gives back
// its rows.
type client struct {
	http *http.Client
	rng  *rand.Rand
	url  string
}

func newClient(url string, seed uint64) *client {
	return &client{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 60 * time.Second}, rand.New(rand.NewPCG(seed, 7)), url}
}

// ask sends rows and gives the status; an answer with any other content than
// what was sent is an error.
func (c *client) ask(ctx context.Context, rows int) (status int, err error) {
	data := make([]byte, 16*rows)
	for i := range data { // numbers around 0.5, none of them NaN
		data[i] = byte(c.rng.Uint32())
		if i%4 == 3 {
			data[i] = 0x3f
		}
	}
	req := oip.Request{ID: strconv.FormatUint(c.rng.Uint64(), 36), Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{int64(rows), 4}, Data: data}}}
	body, head, err := oip.AppendRequest(nil, &req, c.rng.IntN(4) > 0)
	if err != nil {
		return 0, err
	}
	h, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v2/models/model/infer", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if head >= 0 {
		h.Header.Set(oip.HeaderLength, strconv.Itoa(head))
	}
	resp, err := c.http.Do(h)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		if word := resp.Header.Get("X-Ascendctl-Error"); word == "" {
			return resp.StatusCode, fmt.Errorf("status %d without a word: %s", resp.StatusCode, text)
		}
		return resp.StatusCode, nil
	}
	got, err := oip.DecodeResponse(text, resp.Header.Get(oip.HeaderLength))
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, text)
	}
	if got.ID != req.ID || len(got.Outputs) != 1 || !bytes.Equal(got.Outputs[0].Data, data) || resp.Header.Get("X-Ascendctl-Simulated") != "true" {
		return resp.StatusCode, fmt.Errorf("a wrong answer: %+v", got)
	}
	return resp.StatusCode, nil
}

// TestEveryRequestIsAnsweredRightOrRefused: mixed requests through the whole
// path while devices fail, hang and are lost and workers are killed.
func TestEveryRequestIsAnsweredRightOrRefused(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, "")
	once := func(name string) string { return filepath.Join(s.dir, name) }
	faults := []map[string]any{
		{"call": "aclmdlExecuteAsync", "every": 1997, "async": 507011},
		{"call": "aclmdlExecuteAsync", "every": 2999, "code": 207001},
		{"call": "aclmdlExecuteAsync", "at": 1500, "device_hang_ms": 600_000, "once": once("hang")},
		{"call": "aclmdlExecuteAsync", "at": 2500, "lost": true, "once": once("lost")},
		{"call": "aclmdlExecuteAsync", "at": 3500, "kill": true, "once": once("kill")},
		{"call": "aclrtSynchronizeStreamWithTimeout", "at": 4500, "code": 507899, "once": once("driver")},
	}
	config, err := json.Marshal(map[string]any{"devices": 3, "latency_us": 300, "faults": faults})
	if err != nil {
		t.Fatal(err)
	}
	s.config = string(config)
	r := s.serve(s.write("model.om", gears().Encode()), "--device", "0-2", "--name", "model")

	const clients = 24
	var sent, rowsSent, right, cancelled atomic.Int64
	var mu sync.Mutex
	refused := map[int]int{}
	var all sync.WaitGroup
	for id := range uint64(clients) {
		all.Go(func() {
			c := newClient(r.url, id)
			defer c.http.CloseIdleConnections()
			for sent.Add(1) <= int64(*npuRequests) && !t.Failed() {
				ctx, cancel, rows := t.Context(), func() {}, 1+c.rng.IntN(8)
				switch c.rng.IntN(100) {
				case 0, 1: // leaves early
					ctx, cancel = context.WithTimeout(ctx, time.Duration(c.rng.IntN(2000))*time.Microsecond)
				case 2: // more than the largest gear
					rows = 9
				}
				rowsSent.Add(int64(rows))
				status, err := c.ask(ctx, rows)
				left := ctx.Err() != nil
				cancel()
				switch {
				case left && errors.Is(err, context.DeadlineExceeded):
					cancelled.Add(1)
				case err != nil:
					t.Errorf("%d rows: %v", rows, err)
				case rows == 9 && status != http.StatusBadRequest && status != http.StatusServiceUnavailable:
					t.Errorf("9 rows: %d", status)
				case status == http.StatusOK:
					right.Add(1)
				default:
					mu.Lock()
					refused[status]++
					mu.Unlock()
					if status == http.StatusServiceUnavailable { // as the answer asks, but sooner
						time.Sleep(20 * time.Millisecond)
					}
				}
			}
		})
	}
	var killed int
	all.Go(func() {
		for sent.Load() < int64(*npuRequests) && !t.Failed() {
			time.Sleep(50 * time.Millisecond)
			all := r.devices()
			if sent.Load() < int64((killed+1)**npuRequests/4) || readyOf(all) < len(all) {
				continue
			}
			_ = syscall.Kill(all[killed%3].PID, syscall.SIGKILL)
			killed++
		}
	})
	all.Wait()
	for range 600 { // every device comes back
		if readyOf(r.devices()) == 3 || t.Failed() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	starts, last := 0, []serve.DeviceInfo(nil)
	for _, d := range r.devices() {
		starts += d.Starts
		last = append(last, d)
		if d.State != "ready" {
			t.Errorf("device %d is %s: %s", d.Device, d.State, d.Why.En)
		}
	}
	t.Logf("%d right, %d cancelled, refused %v; %d workers killed, %d starts", right.Load(), cancelled.Load(), maps.Clone(refused), killed, starts)
	for status := range refused {
		if status != http.StatusBadRequest && status != http.StatusInternalServerError && status != http.StatusServiceUnavailable {
			t.Errorf("%d answers of status %d", refused[status], status)
		}
	}
	// Only what shares a batch is copied, once, when it is laid beside the others.
	in, out := r.metric(`ascendctl_infer_copied_bytes_total{model="model",direction="in"}`), r.metric(`ascendctl_infer_copied_bytes_total{model="model",direction="out"}`)
	if in == 0 || in > float64(16*rowsSent.Load()) || out != 0 {
		t.Errorf("copied %.0f bytes in and %.0f out of %d rows of 16 bytes", in, out, rowsSent.Load())
	}
	// Restarts wait longer and longer, so more faults than these are mostly 503.
	if n := right.Load(); n < int64(*npuRequests)*3/4 {
		t.Errorf("only %d right answers", n)
	}
	if starts < 3+killed {
		t.Errorf("%d starts after %d kills: %+v", starts, killed, last)
	}
}

// BenchmarkHungDevice stops one of three workers, again and again, and tells how
// long it stays in service, in bounds of the watchdog (200 ms), and what the two
// others serve meanwhile, as a part of two thirds of what all three did.
func BenchmarkHungDevice(b *testing.B) {
	s := newStage(b, fakeacl.Options{}, `{"devices":3,"latency_us":10000}`)
	r := s.serve(s.write("model.om", gears().Encode()), "--device", "0-2", "--watchdog-floor", "200ms", "--name", "model")
	var right atomic.Int64
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for id := range uint64(64) {
		all.Go(func() {
			c := newClient(r.url, id)
			for ctx.Err() == nil {
				if status, err := c.ask(ctx, 1); err == nil && status == http.StatusOK {
					right.Add(1)
				}
			}
		})
	}
	window := func() float64 {
		begin, n := time.Now(), right.Load()
		time.Sleep(700 * time.Millisecond)
		return float64(right.Load()-n) / time.Since(begin).Seconds()
	}
	var bounds, share float64
	for b.Loop() {
		for readyOf(r.devices()) < 3 {
			time.Sleep(10 * time.Millisecond)
		}
		whole := window()
		victim := r.devices()[0].PID
		begin := time.Now()
		_ = syscall.Kill(victim, syscall.SIGSTOP)
		for r.devices()[0].State != "quarantined" {
			time.Sleep(time.Millisecond)
		}
		bounds += time.Since(begin).Seconds() / 0.2
		share += window() / (whole * 2 / 3)
	}
	stop()
	all.Wait()
	b.ReportMetric(bounds/float64(b.N), "bounds/quarantine")
	b.ReportMetric(share/float64(b.N), "goodput/share")
}
