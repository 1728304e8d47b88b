package infer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	loadCallers = 8
	killEvery   = 6000
)

// loadRequests counts both transports and models together; the race detector
// makes do with less, and a proof (ASCENDCTL_PROOF=1) wants more.
var loadRequests = flag.Int64("infer.requests", func() int64 {
	switch {
	case os.Getenv("ASCENDCTL_PROOF") == "1":
		return 1_000_000
	case raceDetector:
		return 20_000
	}
	return 100_000
}(), "mixed requests under faults")

// fleet is one worker after the other: whoever finds it lost gets a new one, as
// from a supervisor.
type fleet struct {
	t     *testing.T
	model string
	arena int64

	mu     sync.Mutex
	w      *workerProcess
	r      *Remote
	killed bool
	gone   []*Remote
}

// renew replaces a lost remote, unless another caller has done so.
func (f *fleet) renew(lost *Remote) *Remote {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.r == lost {
		if lost != nil {
			f.w.kill()
			f.gone = append(f.gone, lost)
		}
		f.w, f.killed = startWorker(f.t), false
		f.r = connect(f.t, f.w, RemoteOptions{Model: f.model, Arena: f.arena})
	}
	return f.r
}

// kill is what no worker can prepare for.
func (f *fleet) kill() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return false
	}
	f.killed = true
	_ = f.w.cmd.Process.Kill()
	return true
}

// tally counts how requests ended.
type tally struct {
	right, cancelled, failed, rejected, lost, kills atomic.Int64
}

// TestMixedRequestsUnderFaults sends requests of all sizes, in lent and own
// memory, with cancels, scripted faults, lost devices and kill -9 of the worker.
// Every answer is right or a clear error that has a reason.
func TestMixedRequestsUnderFaults(t *testing.T) {
	total, part := int64(0), *loadRequests/20
	for _, c := range []struct {
		model, transport string
		n                int64
	}{{"faulty sim", "socket", 7 * part}, {"faulty sim", "shared memory", 7 * part}, {"twins", "socket", 3 * part}, {"twins", "shared memory", 3 * part}} {
		t.Run(c.model+" by "+c.transport, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) })
			f := &fleet{t: t, model: c.model, arena: transports[c.transport]}
			f.renew(nil)
			var next atomic.Int64
			var sum tally
			var all sync.WaitGroup
			for range loadCallers {
				all.Go(func() {
					for i := next.Add(1) - 1; i < c.n; i = next.Add(1) - 1 {
						if every := min(killEvery, c.n/5); i%every == every/2 && f.kill() {
							sum.kills.Add(1)
						}
						if why := f.request(uint64(i), &sum); why != "" {
							t.Errorf("request %d: %s", i, why)
							return
						}
					}
				})
			}
			all.Wait()
			total += sum.check(t, c.n, c.model != "twins", int64(len(f.gone)))
			for _, r := range append(f.gone, f.r) {
				if err := r.Close(); err != nil {
					t.Error(err)
				} else if r.arena != nil && r.arena.mem != nil {
					t.Errorf("%d pieces of shared memory are out", len(r.arena.taken))
				}
			}
		})
	}
	if total != *loadRequests && !t.Failed() {
		t.Errorf("%d requests ended, expected %d", total, *loadRequests)
	}
}

// request runs one and says what is wrong with how it ended, or "".
func (f *fleet) request(i uint64, sum *tally) string {
	f.mu.Lock()
	r := f.r
	f.mu.Unlock()
	rng := rand.New(rand.NewPCG(i, 2))
	batch := twinsBatch([]int{1, 2, 3, 32, 0, 500}[rng.IntN(6)], i)
	if rng.IntN(4) == 0 {
		batch.Outputs[0].Data = nil
		batch.Alloc = func(_ int, size int64) ([]byte, error) { return make([]byte, size), nil }
	}
	if rng.IntN(8) == 0 {
		slices.Reverse(batch.Outputs)
	}
	defer borrow(r, batch, rng)()
	ctx, cancels := context.Background(), rng.IntN(10) == 0
	if cancels {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, time.Duration(rng.IntN(200))*time.Microsecond)
		defer stop()
	}
	err := r.Run(ctx, batch)
	return f.judge(r, batch, err, cancels, sum)
}

// borrow lays some of the tensors into shared memory; back returns it.
func borrow(r *Remote, b *Batch, rng *rand.Rand) (back func()) {
	var lent [][]byte
	lend := func(n int) []byte {
		buf := r.Lend(n)
		if buf != nil {
			lent = append(lent, buf)
		}
		return buf
	}
	for i := range b.Inputs {
		if buf := lend(len(b.Inputs[i].Data)); buf != nil && rng.IntN(2) == 0 {
			copy(buf, b.Inputs[i].Data)
			b.Inputs[i].Data = buf
		}
	}
	for k := range b.Outputs {
		if buf := lend(len(b.Outputs[k].Data)); buf != nil && rng.IntN(2) == 0 {
			b.Outputs[k].Data = buf
		}
	}
	return func() {
		for _, buf := range lent {
			r.TakeBack(buf)
		}
	}
}

func (f *fleet) judge(r *Remote, b *Batch, err error, cancels bool, sum *tally) string {
	var e *Error
	switch {
	case err == nil:
		outs := [2]int{}
		for k, o := range b.Outputs {
			outs[slices.Index([]string{"ya", "yb"}, o.Name)] = k
		}
		if why := same(b.Inputs[0], b.Outputs[outs[0]]) + same(b.Inputs[1], b.Outputs[outs[1]]); why != "" {
			return why
		}
		sum.right.Add(1)
	case !errors.As(err, &e) || e.Op != "Run" || e.Detail == "":
		return fmt.Sprintf("no clear error: %#v", err)
	case e.Class == Canceled && cancels && errors.Is(err, context.DeadlineExceeded):
		sum.cancelled.Add(1)
	case e.Class == Failed && e.Code == 507011:
		sum.failed.Add(1)
	case e.Class == Reject && e.Code == 100000:
		sum.rejected.Add(1)
	case e.Class == Lost:
		sum.lost.Add(1)
		f.renew(r)
	default:
		return fmt.Sprintf("an error without a reason: %#v", e)
	}
	return ""
}

// check holds the sums against what was done to the workers, and gives how many
// requests ended.
func (s *tally) check(t *testing.T, n int64, faults bool, renewed int64) int64 {
	t.Logf("%d right, %d cancelled, %d failed, %d rejected, %d lost with %d workers, %d of them killed",
		s.right.Load(), s.cancelled.Load(), s.failed.Load(), s.rejected.Load(), s.lost.Load(), renewed, s.kills.Load())
	ended := s.right.Load() + s.cancelled.Load() + s.failed.Load() + s.rejected.Load() + s.lost.Load()
	if ended != n {
		t.Errorf("%d requests ended, expected %d", ended, n)
	}
	if s.kills.Load() == 0 || renewed < s.kills.Load() || s.lost.Load() > renewed*loadCallers {
		t.Errorf("%d lost, but %d workers with %d callers were", s.lost.Load(), renewed, loadCallers)
	}
	if faults != (s.failed.Load() > n/20 && s.rejected.Load() > n/20) {
		t.Error("the scripted faults do not show")
	}
	return ended
}
