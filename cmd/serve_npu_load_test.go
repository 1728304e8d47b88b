//go:build cgo && linux

package cmd_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/serve"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// npuRequests is what the issue asks for; the race detector is ten times slower,
// and a proof (ASCENDCTL_PROOF=1) wants more.
var npuRequests = flag.Int64("npu.requests", func() int64 {
	switch {
	case os.Getenv("ASCENDCTL_PROOF") == "1":
		return 1_000_000
	case raceDetector:
		return 20_000
	}
	return 100_000
}(), "requests of the load on simulated NPUs")

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

// load is mixed requests and how they ended.
type load struct {
	t                            *testing.T
	r                            *running
	n                            int64 // to send
	sent, rows, right, cancelled atomic.Int64

	mu      sync.Mutex
	refused map[int]int64 // by status
}

// TestEveryRequestIsAnsweredRightOrRefused: mixed requests through the whole
// path while devices fail, hang, run out of memory and are lost and workers are
// killed.
func TestEveryRequestIsAnsweredRightOrRefused(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, "")
	files := s.script(*npuRequests)
	t.Cleanup(s.tell) // after it has ended
	r := s.serve(s.write("model.om", gears().Encode()), "--device", "0-2", "--name", "model")
	if err := os.Remove(s.once("memory")); err != nil { // from here on a start may fail
		t.Fatal(err)
	}
	l := &load{t: t, r: r, n: *npuRequests, refused: map[int]int64{}}
	var all sync.WaitGroup
	for id := range uint64(24) {
		all.Go(func() { l.client(newClient(r.url, id)) })
	}
	killed := 0
	all.Go(func() { killed = l.kill() })
	all.Wait()
	starts := l.recover()
	t.Logf("%d requests: %d right, %d cancelled, refused %v; %d workers killed, %d scripted ends, %d starts",
		l.n, l.right.Load(), l.cancelled.Load(), l.refused, killed, len(files), starts)
	l.account()
	// Restarts wait longer and longer, so more faults than these are mostly 503;
	// what they cost is some thousands, however many there are.
	if n := l.right.Load(); n < l.n*3/4-5000 {
		t.Errorf("only %d right answers", n)
	}
	if killed == 0 || starts < 3+len(files) { // a kill may hit whom a fault has ended already
		t.Errorf("%d starts after %d kills and %d scripted ends", starts, killed, len(files))
	}
	for _, at := range files {
		if _, err := os.Stat(at); err != nil {
			t.Errorf("a scripted fault did not happen: %v", err)
		}
	}
}

// once is the file of a fault that befalls one process only: the one that makes it.
func (s *stage) once(name string) string { return filepath.Join(s.dir, "once-"+name) }

// script makes the settings of the double for n requests, and gives the files of
// the faults that end a process. That of memory is there already, so that the
// first starts are spared.
func (s *stage) script(n int64) (files []string) {
	const run, wait = "aclmdlExecuteAsync", "aclrtSynchronizeStreamWithTimeout"
	faults := []map[string]any{
		{"call": run, "every": max(n/50, 1000) - 3, "async": 507011},
		{"call": run, "every": max(n/33, 1500) - 1, "code": 207001}, // no memory for it
	}
	end := func(name, call string, per1000 int64, what map[string]any) {
		what["call"], what["at"], what["once"] = call, max(n*per1000/1000, 1), s.once(name)
		faults, files = append(faults, what), append(files, s.once(name))
	}
	end("hang", run, 15, map[string]any{"device_hang_ms": 600_000})
	end("lost", run, 25, map[string]any{"lost": true})
	end("kill", run, 35, map[string]any{"kill": true})
	end("driver", wait, 45, map[string]any{"code": 507899})
	end("memory", "aclmdlLoadFromFile", 0, map[string]any{"code": 245002})
	s.write(filepath.Base(s.once("memory")), nil)
	config, err := json.Marshal(map[string]any{"devices": 3, "latency_us": 300, "faults": faults})
	if err != nil {
		s.t.Fatal(err)
	}
	s.config = string(config)
	return files
}

// tell logs what the double noted.
func (s *stage) tell() {
	events, err := fakeacl.Events(s.report)
	if err != nil {
		s.t.Error(err)
	}
	ends, leaks, faults := 0, 0, 0
	for _, e := range events {
		switch {
		case e.Event == "end" && e.Finalized:
			ends, leaks = ends+1, leaks+e.Leaks
		case e.Event == "note" && e.Name == "fault":
			faults++
		}
	}
	s.t.Logf("the double noted %d scripted faults, %d violations, %d leaks of the %d processes that ended by themselves",
		faults, len(fakeacl.Violations(events)), leaks, ends)
}

// client sends requests until there are enough.
func (l *load) client(c *client) {
	defer c.leave()
	for l.sent.Add(1) <= l.n && !l.t.Failed() {
		patience, rows := time.Duration(0), 1+c.rng.IntN(8)
		switch c.rng.IntN(100) {
		case 0, 1: // leaves early
			patience = time.Duration(1+c.rng.IntN(2000)) * time.Microsecond
		case 2: // more than the largest gear
			rows = 9
		}
		l.rows.Add(int64(rows))
		status, err := c.ask(patience, rows)
		switch {
		case patience > 0 && errors.Is(err, os.ErrDeadlineExceeded):
			l.cancelled.Add(1)
		case err != nil:
			l.t.Errorf("%d rows: %v", rows, err)
		case rows == 9 && status != http.StatusBadRequest && status != http.StatusServiceUnavailable:
			l.t.Errorf("9 rows: %d", status)
		case status == http.StatusOK:
			l.right.Add(1)
		default:
			l.mu.Lock()
			l.refused[status]++
			l.mu.Unlock()
			if status == http.StatusServiceUnavailable { // as the answer asks, but sooner
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
}

// kill ends workers as the kernel does, one after each quarter of the load but
// the last.
func (l *load) kill() (killed int) {
	for killed < 3 && l.sent.Load() < l.n && !l.t.Failed() {
		time.Sleep(50 * time.Millisecond)
		all := l.r.devices()
		if l.sent.Load() >= int64(killed+1)*l.n/4 && readyOf(all) == len(all) {
			_ = syscall.Kill(all[killed%3].PID, syscall.SIGKILL)
			killed++
		}
	}
	return killed
}

// recover waits until every device is back, and counts how often they started.
func (l *load) recover() (starts int) {
	for range 900 {
		if readyOf(l.r.devices()) == 3 || l.t.Failed() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, d := range l.r.devices() {
		starts += d.Starts
		if d.State != "ready" {
			l.t.Errorf("device %d is %s: %s", d.Device, d.State, d.Why.En)
		}
	}
	return starts
}

// account holds what the clients saw against what the service counted.
func (l *load) account() {
	told, heard := map[int]float64{}, l.right.Load()
	for outcome, status := range map[string]int{"ok": 200, "invalid": 400, "failed": 500, "unavailable": 503, "queue_full": 429, "timeout": 504, "canceled": 499} {
		told[status] = l.r.metric(fmt.Sprintf(`ascendctl_infer_requests_total{model="model",outcome=%q}`, outcome))
	}
	all := 0.0
	for status, n := range told {
		all += n
		got := float64(l.refused[status])
		if status == http.StatusOK {
			got = float64(l.right.Load())
		}
		// Who left may have been answered all the same, but nobody else.
		if n < got || n > got+float64(l.cancelled.Load()) {
			l.t.Errorf("status %d: %.0f counted, %.0f came", status, n, got)
		}
	}
	for status, n := range l.refused {
		heard += n
		if status != http.StatusBadRequest && status != http.StatusInternalServerError && status != http.StatusServiceUnavailable {
			l.t.Errorf("%d answers of status %d", n, status)
		}
	}
	if heard+l.cancelled.Load() != l.n || all < float64(heard) || all > float64(l.n) {
		l.t.Errorf("%d answers and %d cancelled of %d requests, %.0f counted", heard, l.cancelled.Load(), l.n, all)
	}
	// The socket fills pinned memory, also where requests share a batch.
	sent := float64(16 * l.rows.Load())
	in, out := l.r.copied()
	batches := l.r.metric(`ascendctl_infer_batches_total{model="model"}`)
	l.t.Logf("%.0f batches; a byte of the tensors was copied %.2f times on the way in, %.2f on the way out", batches, in/sent, out/sent)
	if in != 0 || out != 0 {
		l.t.Errorf("copied %.0f bytes in and %.0f out of %.0f", in, out, sent)
	}
	if batches > 0.9*float64(l.n) {
		l.t.Errorf("%.0f batches: requests hardly share any", batches)
	}
}

// copied is the bytes of tensors copied in user space, in all processes.
func (r *running) copied() (in, out float64) {
	r.t.Helper()
	return r.metric(`ascendctl_infer_copied_bytes_total{model="model",direction="in"}`), r.metric(`ascendctl_infer_copied_bytes_total{model="model",direction="out"}`)
}
