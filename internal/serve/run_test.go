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

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
)

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
