package serve

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/ascend"
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

func TestNothingIsTakenThatIsGone(t *testing.T) {
	q := testQueue(&fake{sig: vectors(ascend.Float, 1)}, 8, 1, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	head, gone, third := rowsOf(t.Context(), 1, 1), rowsOf(ctx, 1, 2), rowsOf(t.Context(), 1, 3)
	q.queue = []*job{gone, third}
	if got := q.take(&lane{}, head); !slices.Equal(got, []*job{head, third}) || !slices.Equal(q.queue, []*job{gone}) {
		t.Errorf("took %d jobs and left %d, want the two that are still wanted", len(got), len(q.queue))
	}
	q.queue = nil
	q.abort()
	if got := q.take(&lane{}, head); got != nil || !errors.Is(head.err, errDraining) {
		t.Errorf("after abort: took %d jobs, %v, want none and %v", len(got), head.err, errDraining)
	}
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

// Everything at once: random rows, lanes, cancels, timeouts and faults; every
// answer is right or a clear error, and nothing is left behind.
