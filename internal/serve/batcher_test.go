package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// crowd starts jobs one after the other, each when the one before stands
// still, and waits for all.
type crowd struct {
	q    *batcher
	wait sync.WaitGroup
	jobs []*job
}

func (c *crowd) add(j *job) *job {
	c.jobs = append(c.jobs, j)
	c.wait.Go(func() { j.err = c.q.do(j) })
	synctest.Wait()
	return j
}

func TestABusyBackendCollectsBatchesAndAnIdleOneRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		for i, n := range []int{1, 2, 1, 3, 5, 1, 20, 1} {
			c.add(rowsOf(t.Context(), n, float32(i)))
		}
		if got := f.ran(); !slices.Equal(got, []int{1}) {
			t.Fatalf("before the gate opens: %v, want the first alone", got)
		}
		for range 4 {
			f.gate <- struct{}{}
			synctest.Wait()
		}
		c.wait.Wait()
		// 2+1+3 leaves room for 1 and 1 but not for 5; 20 is over the limit and runs alone.
		if got := f.ran(); !slices.Equal(got, []int{1, 8, 5, 20}) {
			t.Errorf("batches of %v rows, want 1, 8, 5, 20", got)
		}
		for _, j := range c.jobs {
			checkRows(t, j)
			j.release()
		}
	})
}

func TestOnlyEqualShapesShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, -1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		for i := range 5 {
			j := rowsOf(t.Context(), 2, float32(i))
			if i%2 == 0 {
				j.inputs[0].Shape, j.rows = []int64{1, 2}, 1
			}
			c.add(j)
		}
		j := c.add(rowsOf(t.Context(), 2, 9))
		j.rows = 0 // cannot share
		for range 4 {
			f.gate <- struct{}{}
			synctest.Wait()
		}
		c.wait.Wait()
		if got := f.ran(); !slices.Equal(got, []int{1, 4, 2, 2}) {
			t.Errorf("batches of %v rows, want 1, 4, 2, 2", got)
		}
		for _, j := range c.jobs {
			checkRows(t, j)
		}
	})
}

func TestLanesRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 1, 3, 100)}
		for i := range 7 {
			c.add(rowsOf(t.Context(), 1, float32(i)))
		}
		if got := len(f.ran()); got != 3 {
			t.Errorf("%d runs at once, want 3", got)
		}
		close(f.gate)
		c.wait.Wait()
		if got := f.ran(); !slices.Equal(got, []int{1, 1, 1, 1, 1, 1, 1}) {
			t.Errorf("batches of %v rows, want seven of 1", got)
		}
	})
}

func TestAFullQueueRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 8, 1, 2)}
		for range 3 {
			c.add(rowsOf(t.Context(), 1, 0))
		}
		if err := c.q.do(rowsOf(t.Context(), 1, 0)); !errors.Is(err, errQueueFull) {
			t.Errorf("got %v, want %v", err, errQueueFull)
		}
		close(f.gate)
		c.wait.Wait()
		if err := c.q.do(rowsOf(t.Context(), 1, 0)); err != nil {
			t.Errorf("when the queue is empty again: %v", err)
		}
	})
}

func TestTheTimeoutEndsQueueingButNeverARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 1, 1, 100)}
		limited := func(d time.Duration) *job {
			j := rowsOf(t.Context(), 1, 0)
			wait, stop := context.WithTimeoutCause(t.Context(), d, errTimeout)
			t.Cleanup(stop)
			j.wait = wait
			return j
		}
		running, late := c.add(limited(time.Second)), c.add(limited(2*time.Second))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !errors.Is(late.err, errTimeout) {
			t.Errorf("queued past its timeout: %v, want %v", late.err, errTimeout)
		}
		close(f.gate)
		c.wait.Wait()
		if running.err != nil {
			t.Errorf("running past its timeout: %v, want the answer", running.err)
		}
		if got := f.ran(); len(got) != 1 {
			t.Errorf("%d runs, want 1: a late request is not executed", len(got))
		}
	})
}

func TestACancelledRequestLeavesTheQueueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		c.add(rowsOf(t.Context(), 1, 1))
		ctx, cancel := context.WithCancel(t.Context())
		gone := c.add(rowsOf(ctx, 1, 2))
		c.add(rowsOf(t.Context(), 1, 3))
		cancel()
		synctest.Wait()
		if n, _ := c.q.state(); n != 1 || !errors.Is(gone.err, context.Canceled) {
			t.Errorf("%d wait and the cancelled one got %v, want 1 and %v", n, gone.err, context.Canceled)
		}
		close(f.gate)
		c.wait.Wait()
		if got := f.ran(); !slices.Equal(got, []int{1, 1}) {
			t.Errorf("batches of %v rows, want 1, 1: the cancelled request is not executed", got)
		}
	})
}

func TestAChosenRequestThatIsGonePassesTheLaneOn(t *testing.T) {
	f := &fake{sig: vectors(ascend.Float, 1)}
	q := testQueue(f, 8, 1, 100)
	l := q.free[0]
	q.free = nil // as if l ran
	ctx, cancel := context.WithCancel(t.Context())
	gone, next := rowsOf(ctx, 1, 1), rowsOf(t.Context(), 1, 2)
	next.turn = make(chan *lane, 1)
	q.queue = []*job{next}
	cancel()
	q.lead(l, q.take(l, gone))
	if !errors.Is(gone.err, context.Canceled) || len(f.ran()) != 0 {
		t.Errorf("got %v after %d runs, want %v and none", gone.err, len(f.ran()), context.Canceled)
	}
	if got := <-next.turn; got != l {
		t.Errorf("the next got lane %p, want %p", got, l)
	}
}

func TestAJoinedRunEndsOnlyWhenAllItsMembersAreGone(t *testing.T) {
	for _, gone := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
			c := &crowd{q: testQueue(f, 8, 1, 100)}
			c.add(rowsOf(t.Context(), 1, 0))
			var cancels []context.CancelFunc
			for i := range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cancels = append(cancels, cancel)
				c.add(rowsOf(ctx, 1, float32(i+1)))
			}
			f.gate <- struct{}{}
			synctest.Wait() // the three run together now
			for _, cancel := range cancels[:gone] {
				cancel()
			}
			synctest.Wait()
			if got, want := f.canceled, gone/3; got != want {
				t.Errorf("%d of 3 gone: %d runs cancelled, want %d", gone, got, want)
			}
			close(f.gate)
			c.wait.Wait()
		})
	}
}

func TestAPoisonedRequestFailsAlone(t *testing.T) {
	for _, class := range []infer.Class{infer.Reject, infer.Failed, infer.Lost} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
			f.run = func(b *infer.Batch) error {
				for _, v := range slices.Collect(slices.Chunk(b.Inputs[0].Data, 4)) {
					if slices.Equal(v, floats(666)) {
						return &infer.Error{Class: class, Op: "Run", Detail: "poison"}
					}
				}
				return nil
			}
			c := &crowd{q: testQueue(f, 8, 1, 100)}
			for i := range 4 {
				c.add(rowsOf(t.Context(), 1, float32(i)))
			}
			poison := c.add(rowsOf(t.Context(), 2, 666))
			close(f.gate)
			c.wait.Wait()
			for _, j := range c.jobs {
				var failure *infer.Error
				failed := errors.As(j.err, &failure) && failure.Class == class
				all := class == infer.Lost && j != c.jobs[0] // a lost device takes its batch along
				switch {
				case failed != (j == poison || all):
					t.Errorf("class %s: %v for the job of %d rows", class, j.err, j.rows)
				case !failed:
					checkRows(t, j)
				}
			}
		})
	}
}

func TestAnOutputThatIsNotRowsEndsBatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		f.compute = func(in []oip.Tensor) []oip.Tensor { // as an operator like NonZero does
			if out := in[0]; out.Shape[0] > 2 {
				out.Shape, out.Data = []int64{1, 1}, out.Data[:4]
				return []oip.Tensor{out}
			}
			return in
		}
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		c.q.seen.begin(Batching{On: true, MaxRows: 8})
		for i := range 4 {
			c.add(rowsOf(t.Context(), 1, float32(i)))
		}
		close(f.gate)
		c.wait.Wait()
		for _, j := range c.jobs {
			checkRows(t, j)
		}
		if b := c.q.seen.shares(); b.On || b.Why.IsZero() || c.q.maxRows != 1 {
			t.Errorf("batching is %+v with at most %d rows, want off with a reason", b, c.q.maxRows)
		}
	})
}

func TestAPanickingBackendLosesNoLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		f.run = func(b *infer.Batch) error {
			if b.Inputs[0].Shape[0] == 3 {
				panic("a fault of the backend")
			}
			return nil
		}
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		c.add(rowsOf(t.Context(), 1, 0))
		leader, panicked := rowsOf(t.Context(), 1, 1), false
		c.wait.Go(func() {
			defer func() { panicked = recover() != nil }()
			_ = c.q.do(leader)
		})
		synctest.Wait()
		follower := c.add(rowsOf(t.Context(), 2, 2))
		close(f.gate)
		c.wait.Wait()
		if !panicked || !errors.Is(follower.err, errPanicked) {
			t.Errorf("leader panicked: %t, follower got %v, want true and %v", panicked, follower.err, errPanicked)
		}
		if err := c.q.do(rowsOf(t.Context(), 1, 5)); err != nil {
			t.Errorf("the next request: %v", err)
		}
	})
}

func TestDrainFinishesWhatIsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 2, 1, 100)}
		for i := range 5 {
			c.add(rowsOf(t.Context(), 1, float32(i)))
		}
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			if cut, stuck := c.q.close(context.Background()); cut != 0 || stuck != 0 {
				t.Errorf("%d cut, %d stuck, want none", cut, stuck)
			}
		}()
		synctest.Wait()
		if err := c.q.do(rowsOf(t.Context(), 1, 0)); !errors.Is(err, errDraining) {
			t.Errorf("a new job in the drain: %v, want %v", err, errDraining)
		}
		select {
		case <-closed:
			t.Error("close came back while jobs were in")
		default:
		}
		close(f.gate)
		<-closed
		c.wait.Wait()
		for _, j := range c.jobs {
			checkRows(t, j)
		}
	})
}

func TestCloseRefusesWhatStillWaitsWhenItsTimeIsUp(t *testing.T) {
	for _, back := range []bool{true, false} { // whether the run comes back a little later
		synctest.Test(t, func(t *testing.T) {
			f := &fake{sig: vectors(ascend.Float, 1), gate: make(chan struct{})}
			c := &crowd{q: testQueue(f, 2, 1, 100)}
			for i := range 4 {
				c.add(rowsOf(t.Context(), 1, float32(i)))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if back {
				time.AfterFunc(2*time.Second, func() { close(f.gate) })
			}
			cut, stuck := c.q.close(ctx)
			if want := map[bool]int{false: 1}[back]; cut != 3 || stuck != want {
				t.Errorf("back %t: %d cut, %d stuck, want 3 and %d", back, cut, stuck, want)
			}
			if !back {
				close(f.gate)
			}
			c.wait.Wait()
			checkRows(t, c.jobs[0])
			for _, j := range c.jobs[1:] {
				if !errors.Is(j.err, errDraining) {
					t.Errorf("queued: %v, want %v", j.err, errDraining)
				}
			}
		})
	}
}

func TestStringsAreCutByTheirElements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.String, 2), gate: make(chan struct{})}
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		for i := range 4 {
			var data []byte
			for k := range 2 {
				s := fmt.Sprint(i, "abcdefgh"[:i*k])
				data = append(append(data, byte(len(s)), 0, 0, 0), s...)
			}
			in := oip.Tensor{Name: "x", DType: ascend.String, Shape: []int64{1, 2}, Data: data}
			c.add(&job{ctx: t.Context(), wait: t.Context(), inputs: []oip.Tensor{in}, want: []int{0}, rows: 1})
		}
		close(f.gate)
		c.wait.Wait()
		if got := f.ran(); !slices.Equal(got, []int{1, 3}) {
			t.Errorf("batches of %v rows, want 1, 3", got)
		}
		for _, j := range c.jobs {
			checkRows(t, j)
		}
	})
}

func TestEachMemberGetsTheOutputsItWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sig := vectors(ascend.Float, 1)
		sig.Outputs = append(sig.Outputs, sig.Outputs[0], sig.Outputs[0])
		sig.Outputs[1].Name, sig.Outputs[2].Name = "z", "unasked"
		f := &fake{sig: sig, gate: make(chan struct{})}
		asked := 0
		f.run = func(b *infer.Batch) error { asked = max(asked, len(b.Outputs)); return nil }
		f.compute = func(in []oip.Tensor) []oip.Tensor { return []oip.Tensor{in[0], in[0], in[0]} }
		c := &crowd{q: testQueue(f, 8, 1, 100)}
		wants := [][]int{{0}, {1}, {1, 0}, {0}}
		for i, want := range wants {
			j := rowsOf(t.Context(), 1, float32(i))
			j.want = want
			c.add(j)
		}
		close(f.gate)
		c.wait.Wait()
		if asked != 2 {
			t.Errorf("%d outputs were computed, want the 2 that somebody wants", asked)
		}
		for i, j := range c.jobs {
			var names []int
			for _, o := range j.outputs {
				names = append(names, slices.IndexFunc(sig.Outputs, func(p oip.Port) bool { return p.Name == o.Name }))
				if !slices.Equal(o.Data, j.inputs[0].Data) {
					t.Errorf("job %d: data %v, want %v", i, o.Data, j.inputs[0].Data)
				}
			}
			if !slices.Equal(names, wants[i]) {
				t.Errorf("job %d: outputs %v, want %v", i, names, wants[i])
			}
		}
	})
}

// Everything at once: random rows, lanes, cancels, timeouts and faults; every
// answer is right or a clear error, and nothing is left behind.
func TestRandomLoadMixesNothingUp(t *testing.T) {
	const clients, each = 16, 400
	f := &fake{sig: vectors(ascend.Float, 1)}
	f.run = func(b *infer.Batch) error {
		if rand.IntN(20) == 0 {
			return &infer.Error{Class: infer.Failed, Op: "Run", Detail: "scripted"}
		}
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		return nil
	}
	q := testQueue(f, 8, 2, 1000)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := range each {
				ctx, cancel := context.WithCancel(t.Context())
				j := rowsOf(ctx, 1+rand.IntN(10), float32(client*each+n))
				if rand.IntN(10) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, cancel)
				}
				var failure *infer.Error
				switch err := q.do(j); {
				case err == nil:
					checkRows(t, j)
					j.release()
				case errors.Is(err, context.Canceled):
				case errors.As(err, &failure) && failure.Class == infer.Failed:
				default:
					t.Errorf("%v", err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if n, since := q.state(); n != 0 || !since.IsZero() || len(q.free) != 2 {
		t.Errorf("%d queued, oldest run %v, %d lanes free: want nothing left", n, since, len(q.free))
	}
	if cut, stuck := q.close(t.Context()); cut != 0 || stuck != 0 {
		t.Errorf("%d cut, %d stuck, want none", cut, stuck)
	}
}

func TestBuffersAreAlignedAndComeBack(t *testing.T) {
	p := new(pool)
	for _, n := range []int{0, 1, 64, 4095, 4096, 4097, 1 << 20, 1<<26 + 1} {
		b := p.get(n)
		if len(b.data) < n || uintptr(unsafe.Pointer(&b.data[:1][0]))%align != 0 {
			t.Errorf("%d bytes asked: %d at %p", n, len(b.data), &b.data[:1][0])
		}
		p.put(b)
	}
}
