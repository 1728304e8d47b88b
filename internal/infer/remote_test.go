package infer

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// contractWorker is the worker of all remote subjects.
var contractWorker *workerProcess

func remoteSubject(model, slow string, arena int64) subject {
	return subject{
		open: func(t *testing.T) Backend {
			return connect(t, contractWorker, RemoteOptions{Model: model, Arena: arena})
		},
		slow: func(t *testing.T) (Backend, *Batch) {
			batch := spinnerBatch()
			if model == "sim" {
				batch = twinsBatch(1, 1)
			}
			return connect(t, contractWorker, RemoteOptions{Model: slow, Arena: arena}), batch
		},
	}
}

// transports are both ways of a tensor.
var transports = map[string]int64{"socket": 0, "shared memory": 1 << 20}

func TestWorkerTellsWhatItHas(t *testing.T) {
	w := startWorker(t)
	r := connect(t, w, RemoteOptions{Model: "geared sim", Arena: 1 << 16})
	d := r.Describe()
	if !d.Device.Simulated || !strings.Contains(d.Device.Name, "simulated") || len(d.Gears) != 2 || d.Gears[1].Rows != 4 || d.Gears[1].Dims[1][0] != 4 {
		t.Errorf("got %+v", d)
	}
	if c := r.Costs(); len(c) != 2 || c[1] != (Cost{1, 4, 3 * time.Millisecond, 5 * time.Millisecond, 1, 2}) {
		t.Errorf("costs %+v", c)
	}
	if r.PID() != w.cmd.Process.Pid || !r.Shared() {
		t.Errorf("process %d, want %d; shared %v", r.PID(), w.cmd.Process.Pid, r.Shared())
	}
	batch := twinsBatch(4, 1)
	batch.Gear = 1
	mustRun(t, r, batch)
	batch.Gear = 0
	wantClass(t, r.Run(t.Context(), batch), Reject)
}

func TestUnknownModelIsRefusedByName(t *testing.T) {
	_, err := Connect(t.Context(), RemoteOptions{Dial: dialer(startWorker(t).path), Model: "twin"})
	if e := wantClass(t, err, Reject); !strings.Contains(e.Detail, `"twin"`) || !strings.Contains(e.Detail, `"twins"`) {
		t.Errorf("got %v", e)
	}
}

func TestConnectSaysWhyItCannot(t *testing.T) {
	dir := t.TempDir()
	_, err := Connect(t.Context(), RemoteOptions{Dial: dialer(filepath.Join(dir, "none"))})
	wantClass(t, err, Lost)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // a worker that says nothing
	defer cancel()
	_, err = Connect(ctx, RemoteOptions{Dial: dialer(l.Addr().String())})
	if wantClass(t, err, Canceled); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsKeepTheirWords(t *testing.T) {
	r := connect(t, startWorker(t), RemoteOptions{Model: "faulty sim", Lanes: 1})
	for n := range 10 {
		err := r.Run(t.Context(), twinsBatch(1, 1))
		switch n {
		case 3:
			if e := wantClass(t, err, Failed); e.Code != 507011 || e.Name != "ACL_ERROR_RT_MODEL_EXECUTE" || e.Op != "Run" || e.Detail != "simulated: a kernel timed out" {
				t.Errorf("got %+v", e)
			}
		case 7:
			if e := wantClass(t, err, Reject); e.Code != 100000 {
				t.Errorf("got %+v", e)
			}
		default:
			if err != nil {
				t.Errorf("run %d: %v", n, err)
			}
		}
	}
}

func TestDeadlineEndsARunInTheWorker(t *testing.T) {
	w := startWorker(t)
	for name, arena := range transports {
		r := connect(t, w, RemoteOptions{Model: "stuck sim", Arena: arena})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		err := r.Run(ctx, twinsBatch(1, 1))
		if wantClass(t, err, Canceled); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		if r.lost.Load() != nil || len(r.lanes) != cap(r.lanes) {
			t.Errorf("%s: %v, %d lanes", name, r.lost.Load(), len(r.lanes))
		}
	}
}

// TestDeadWorkerFailsExactlyWhatItHeld: two batches are in it, one waits.
func TestDeadWorkerFailsExactlyWhatItHeld(t *testing.T) {
	for name, arena := range transports {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			w := startWorker(t)
			r := connect(t, w, RemoteOptions{Model: "stuck sim", Lanes: 2, Arena: arena})
			other := connect(t, startWorker(t), RemoteOptions{Model: "sim", Arena: arena})
			held := make(chan error, 3)
			for i := range uint64(3) {
				go func() { held <- r.Run(context.Background(), twinsBatch(1, i)) }()
			}
			for len(r.lanes) > 0 {
				time.Sleep(time.Millisecond)
			}
			w.kill()
			for range 3 {
				wantClass(t, <-held, Lost)
			}
			<-r.Gone()
			wantClass(t, r.Run(t.Context(), twinsBatch(1, 1)), Lost)
			wantClass(t, r.Probe(t.Context()), Lost)
			if r.Lend(8) != nil {
				t.Error("memory of a dead worker is lent")
			}
			mustRun(t, other, twinsBatch(1, 1))
			if err := errors.Join(r.Close(), other.Close()); err != nil {
				t.Error(err)
			}
			goleak.VerifyNone(t, before)
		})
	}
}

func TestDeathIsSeenWithoutACall(t *testing.T) {
	w := startWorker(t)
	r := connect(t, w, RemoteOptions{Model: "sim"})
	w.kill()
	<-r.Gone()
	wantClass(t, r.Run(t.Context(), twinsBatch(1, 1)), Lost)
}

func TestHungWorkerIsLostAfterTheGrace(t *testing.T) {
	for name, arena := range transports {
		t.Run(name, func(t *testing.T) {
			w := startWorker(t)
			r := connect(t, w, RemoteOptions{Model: "hung", Grace: 20 * time.Millisecond, Arena: arena})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if e := wantClass(t, r.Run(ctx, twinsBatch(1, 1)), Lost); !strings.Contains(e.Detail, "ended 20ms ago") || !errors.Is(e, context.DeadlineExceeded) {
				t.Errorf("got %v", e)
			}
			<-r.Gone()
			w.kill()
		})
	}
}

func TestProbeOfAHungDeviceEndsWithItsContext(t *testing.T) {
	w := startWorker(t)
	r := connect(t, w, RemoteOptions{Model: "hung"})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		wantClass(t, r.Probe(ctx), Canceled)
		cancel()
	}
	w.kill()
	<-r.Gone()
}

// TestWorkerThatLeavesAnswersFirst: SIGTERM while a batch runs.
func TestWorkerThatLeavesAnswersFirst(t *testing.T) {
	front, l := t.Context(), listen(t)
	ctx, leave := context.WithCancel(context.Background())
	inside, release := make(chan struct{}), make(chan struct{})
	held := openSim(t, SimOptions{Cost: func(int64) time.Duration { return 1 }, Sleep: func(context.Context, time.Duration) error {
		close(inside)
		<-release
		return nil
	}})
	served := make(chan error, 1)
	go func() { served <- ServeWorker(ctx, l, []Hosted{{Name: "m", Backend: held}}, WorkerOptions{}) }()
	r, err := Connect(front, RemoteOptions{Dial: dialer(l.Addr().String()), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ran := make(chan error, 1)
	batch := twinsBatch(2, 1)
	go func() { ran <- r.lone(batch) }()
	<-inside
	leave()
	<-r.Gone()
	close(release)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// lone is a run with nothing to end it.
func (r *Remote) lone(b *Batch) error { return r.Run(context.Background(), b) }

func TestMeasureTellsTheCostOfEachGear(t *testing.T) {
	gears := []Gear{{Rows: 1, Dims: [][]int64{{1, 4}, {1, 2}}}, {Rows: 4, Dims: [][]int64{{4, 4}, {4, 2}}}}
	runs := 0
	b := openSim(t, SimOptions{Gears: gears,
		Cost:  func(rows int64) time.Duration { runs++; return time.Duration(rows*100) + time.Duration(runs%10) },
		Sleep: func(context.Context, time.Duration) error { return nil }})
	costs, err := Measure(t.Context(), b, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []Cost{{Gear: 0, Rows: 1, Median: 104, P99: 109}, {Gear: 1, Rows: 4, Median: 404, P99: 409}}
	if !slices.Equal(costs, want) || runs != 20 {
		t.Errorf("%d runs: got %+v, want %+v", runs, costs, want)
	}
	if costs, err := Measure(t.Context(), openSim(t, SimOptions{}), 10); costs != nil || err != nil {
		t.Errorf("without gears: %v, %v", costs, err)
	}
	b.Close()
	_, err = Measure(t.Context(), b, 1)
	wantClass(t, err, Closed)
}
