package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

// ward starts workers that are no processes: a simulated backend behind the real
// socket, with an end of its own.
type ward struct {
	t      *testing.T
	dir    string
	faults map[string]func(n int) *infer.Error
	models []string // what each worker has beside m

	mu     sync.Mutex
	starts map[string]int
	ends   map[string]context.CancelFunc
	refuse map[string]bool // ends at once in place of serving
}

func newWard(t *testing.T) *ward {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // short enough for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &ward{t: t, dir: dir, faults: map[string]func(int) *infer.Error{}, starts: map[string]int{}, ends: map[string]context.CancelFunc{}, refuse: map[string]bool{}}
}

// start is engine.Deps.Start.
func (w *ward) start(s engine.Spec, sink engine.Sink) (engine.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starts[s.Name]++
	done := make(chan engine.Exit, 1)
	if w.refuse[s.Name] {
		done <- engine.Exit{Code: 1}
		return engine.Process{PID: 1, Signal: func(syscall.Signal) error { return nil }, Done: done}, nil
	}
	b, err := infer.OpenSim(infer.SimOptions{Signature: vectors(ascend.Float, 1), Fault: w.faults[s.Name],
		Gears: []infer.Gear{{Rows: 1, Dims: [][]int64{{1, 1}}, Pads: true}, {Rows: 8, Dims: [][]int64{{8, 1}}, Pads: true}}})
	if err != nil {
		return engine.Process{}, err
	}
	hosted := []infer.Hosted{{Name: "m", Backend: b}}
	for _, name := range w.models {
		hosted = append(hosted, infer.Hosted{Name: name, Backend: b})
	}
	at := filepath.Join(w.dir, s.Name)
	_ = os.Remove(at)
	l, err := net.Listen("unix", at)
	if err != nil {
		return engine.Process{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.ends[s.Name] = cancel
	go func() {
		sink("stdout", "ready")
		_ = infer.ServeWorker(ctx, l, hosted, infer.WorkerOptions{})
		_ = b.Close()
		done <- engine.Exit{Code: -1, Signal: "SIGKILL"}
	}()
	return engine.Process{PID: os.Getpid(), Signal: func(syscall.Signal) error { cancel(); return nil }, Done: done}, nil
}

func (w *ward) kill(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[name]()
}

func (w *ward) config(names ...string) CrewConfig {
	cfg := CrewConfig{Models: []Hosting{{Name: "m"}}, Floor: 50 * time.Millisecond, Deps: engine.Deps{Start: w.start, Explain: func(c engine.Crash) engine.Explanation {
		if c.State == engine.Starting {
			return engine.Explanation{Action: engine.FixHost, Problem: &report.Problem{What: report.T("device %d has no driver", "设备 %d 没有驱动", c.Devices[0])}}
		}
		return engine.Explanation{}
	}}}
	for i, name := range names {
		cfg.Workers = append(cfg.Workers, Worker{Device: i,
			Spec: engine.Spec{Name: name, Devices: []int{i}, Argv: []string{name}, Grace: time.Second, Milestones: []engine.Milestone{{ID: "ready", Pattern: "^ready", Ready: true}},
				Restart: engine.Restart{First: time.Millisecond, Max: 2 * time.Millisecond}},
			Dial: func(ctx context.Context) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(w.dir, name))
			}})
	}
	return cfg
}

func (w *ward) open(names ...string) *Workers {
	w.t.Helper()
	crew, err := OpenCrew(w.t.Context(), w.config(names...))
	if err != nil {
		w.t.Fatal(err)
	}
	return crew.Model("m")
}

// three is a batch of three rows.
func three() *infer.Batch {
	return &infer.Batch{Gear: 1, Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{3, 1}, Data: make([]byte, 12)}},
		Outputs: []oip.Tensor{{Name: "y", Data: make([]byte, 12)}}}
}

func TestWorkersShareBatchesAndComeBack(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWard(t)
	all := w.open("npu0", "npu1")
	if d := all.Describe(); all.Width() != 2 || len(d.Gears) != 2 || !d.Device.Simulated || strings.Count(d.Device.Name, ";") != 1 {
		t.Errorf("got %+v of %d", d, all.Width())
	}
	for range 50 {
		if err := all.Run(t.Context(), three()); err != nil {
			t.Fatal(err)
		}
	}
	w.kill("npu0")
	until(t, "npu0 was started again", func() bool { return all.Devices()[0].Starts == 2 && all.Devices()[0].State == engine.Ready })
	if err := all.Run(t.Context(), three()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(all.Ready(), all.Probe(t.Context()), all.Close()); err != nil {
		t.Error(err)
	}
	all.crew.Close()
	if e, ok := errors.AsType[*infer.Error](all.Run(t.Context(), three())); !ok || e.Class != infer.Closed {
		t.Errorf("after Close: %v", e)
	}
}

// TestDeviceThatFailsIsLeftOut: the batch learns that its device went, the
// supervisor what to do, and the other device serves.
func TestDeviceThatFailsIsLeftOut(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWard(t)
	w.faults["npu0"] = func(n int) *infer.Error {
		if n < 0 {
			return nil
		}
		return &infer.Error{Class: infer.Lost, Code: 507899, Name: "ACL_ERROR_RT_DRV_INTERNAL_ERROR", Detail: "gone", Action: string(engine.Quarantine)}
	}
	all := w.open("npu0", "npu1")
	defer all.crew.Close()
	away := 0
	for range 10 {
		if e, ok := errors.AsType[*infer.Error](all.Run(t.Context(), three())); ok {
			away++
			if e.Class != infer.Away || e.Code != 507899 || !strings.Contains(e.Detail, "npu0 went away") {
				t.Errorf("got %#v", e)
			}
		}
	}
	if away == 0 || away == 10 {
		t.Errorf("%d of 10 batches failed", away)
	}
	until(t, "the fault is told", func() bool { return len(all.Devices()[0].Faults) > 0 })
	if f := all.Devices()[0].Faults[0]; f.Code != 507899 || f.Action != engine.Quarantine {
		t.Errorf("fault %+v", f)
	}
}

func TestNoDeviceIsSaidAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWard(t)
	all := w.open("npu0")
	w.mu.Lock()
	w.refuse["npu0"] = true
	w.mu.Unlock()
	w.kill("npu0")
	until(t, "npu0 failed for good", func() bool { return all.Devices()[0].State == engine.Failed })
	for what, err := range map[string]error{"Run": all.Run(t.Context(), three()), "Ready": all.Ready(), "Probe": all.Probe(t.Context())} {
		if e, ok := errors.AsType[*infer.Error](err); !ok || e.Class != infer.Away || !strings.Contains(e.Detail, "npu0 is failed") {
			t.Errorf("%s: %v", what, err)
		}
	}
	all.crew.Close()
}

func TestOneWorkerThatCannotStartEndsTheStart(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWard(t)
	w.refuse["npu1"] = true
	_, err := OpenCrew(t.Context(), w.config("npu0", "npu1"))
	if p, ok := errors.AsType[*report.Problem](err); !ok || p.What.En != "device 1 has no driver" {
		t.Errorf("got %v", err)
	}
}

// TestGearsAreFilledUp: requests of several rows join into gears, and the rows
// nobody asked for are counted.
func TestGearsAreFilledUp(t *testing.T) {
	b, err := infer.OpenSim(infer.SimOptions{Signature: vectors(ascend.Float, 1),
		Gears: []infer.Gear{{Rows: 1, Dims: [][]int64{{1, 1}}, Pads: true}, {Rows: 8, Dims: [][]int64{{8, 1}}, Pads: true}}})
	if err != nil {
		t.Fatal(err)
	}
	reg := newRig(t, Config{Models: []Model{loaded("m", b)}, MaxBatch: 32}, front.Options{})
	if info := reg.svc.Models()[0]; !info.Batching.On || info.Batching.MaxRows != 8 {
		t.Errorf("batching %+v", info.Batching)
	}
	if a := <-reg.pending(vector("a", 0, 1, 2, 3)); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := <-reg.pending(vector("a", 0, make([]float32, 9)...)); a.status != 400 || !strings.Contains(string(a.body), "9 rows, the largest gear holds 8") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if n := reg.sum("ascendctl_infer_padding_rows_total", "model", "m"); n != 5 {
		t.Errorf("%g rows of padding, want 5", n)
	}
}
