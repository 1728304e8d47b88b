package host

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachKeepsOrderAndBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		out := Each(t.Context(), []int{0, 1, 2, 3, 4, 5, 6}, 3, 0, func(_ context.Context, n int) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Duration(10-n) * time.Second)
			now.Add(-1)
			if n == 2 {
				return 0, errors.New("bad")
			}
			return n * n, nil
		})
		for i, o := range out {
			if i == 2 && o.Err == nil || i != 2 && (o.Err != nil || o.Value != i*i) {
				t.Errorf("%d: %+v", i, o)
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d at a time, want 3", most.Load())
		}
	})
}

// TestEachGivesUpOnWhoHangs: two that hang, one of them deaf, hold two of two
// slots; the rest is done all the same.
func TestEachGivesUpOnWhoHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		began := time.Now()
		out := Each(t.Context(), []string{"hangs", "deaf", "fine", "fine"}, 2, 10*time.Second, func(ctx context.Context, h string) (string, error) {
			switch h {
			case "hangs":
				<-ctx.Done()
				return "", context.Cause(ctx)
			case "deaf":
				<-release
			}
			return h, nil
		})
		close(release)
		if !errors.Is(out[0].Err, ErrTimeout) || !errors.Is(out[1].Err, ErrTimeout) || out[2].Value != "fine" || out[3].Value != "fine" {
			t.Errorf("%+v", out)
		}
		if took := time.Since(began); took != 10*time.Second+deaf {
			t.Errorf("took %v", took)
		}
	})
}

func TestEachStopsStartingWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		out := Each(ctx, []int{0, 1, 2}, 1, 0, func(context.Context, int) (int, error) { stop(why); return 1, nil })
		if out[0].Value != 1 || out[0].Err != nil || !errors.Is(out[1].Err, why) || !errors.Is(out[2].Err, why) {
			t.Errorf("%+v", out)
		}
		if out := Each(t.Context(), []int{}, 0, 0, func(context.Context, int) (int, error) { return 1, nil }); len(out) != 0 {
			t.Errorf("%+v", out)
		}
	})
}
