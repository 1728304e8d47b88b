//go:build cgo && linux

package acl

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMemoryRulesAreKept(t *testing.T) {
	do(t, func(th *Thread) error {
		b, err := th.Malloc(256)
		p, err2 := th.MallocHost(64)
		m, err3 := th.Load(LoadOptions{Path: "static"})
		if err := each(err, err2, err3); err != nil {
			return err
		}
		for name, s := range map[string]Span{"negative": b.Span(-1, 8), "behind": b.Span(256, 1), "too long": b.Span(200, 57), "huge": b.Span(8, math.MaxInt64), "nothing": b.Span(0, 0), "rest of nothing": b.Span(256, -1)} {
			wantRefused(t, name, th.Copy(s, Memory([]byte{1})), 0, nil)
		}
		wantRefused(t, "too small", th.Copy(b.Span(0, 4), Memory(make([]byte, 5))), 0, nil)
		wantRefused(t, "queued from Go", th.CopyAsync(th.Main(), b.All(), Memory(make([]byte, 5))), 0, nil)
		wantRefused(t, "queued on the host", th.CopyAsync(th.Main(), p.All(), p.All()), 0, nil)
		if b.Bytes() != nil || len(p.Bytes()) != 64 {
			t.Error("device memory in the host's reach, or pinned memory not")
		}
		for name, s := range map[string]Span{"short": b.Span(0, 127), "unaligned": b.Span(32, 128), "pinned": p.All(), "Go": Memory(make([]byte, 128)), "none": {}} {
			_, err := th.Inputs(m, s)
			wantRefused(t, name, err, 0, nil)
		}
		_, err = th.Inputs(m)
		wantRefused(t, "no span", err, 0, nil)
		for _, n := range []int64{0, -1} {
			_, err := th.Malloc(n)
			wantRefused(t, "size", err, 0, nil)
		}
		copy(p.Bytes(), "pinned")
		got := make([]byte, 6)
		if err := each(th.Copy(b.All(), p.Span(0, 6)), th.Copy(Memory(got), b.Span(0, 6)), th.Copy(b.Span(64, 6), b.Span(0, 6))); err != nil {
			return err
		}
		if string(got) != "pinned" {
			t.Errorf("got %q", got)
		}
		if c := th.lib.Copied(); c.In != 6 || c.Out != 6 || c.Device != 6 {
			t.Errorf("counted %+v", c)
		}
		if err := th.Free(b); err != nil {
			return err
		}
		wantRefused(t, "free twice", th.Free(b), 0, nil)
		wantRefused(t, "use after free", th.Copy(b.Span(0, 1), Memory([]byte{1})), 0, nil)
		t.Setenv("TINY_FAIL", "aclrtMalloc:207001")
		_, err = th.Malloc(64)
		wantRefused(t, "full", err, 207001, nil)
		return nil
	})
}

func TestBoardsShareTheirMemory(t *testing.T) {
	t.Setenv("TINY_RC", "1")
	log := do(t, func(th *Thread) error {
		b, err := th.Malloc(64)
		if err != nil {
			return err
		}
		copy(b.Bytes(), "direct")
		got := make([]byte, 6)
		if err := th.Copy(Memory(got), b.Span(0, 6)); err != nil || !bytes.Equal(got, []byte("direct")) {
			t.Errorf("got %q, %v", got, err)
		}
		if c := th.lib.Copied(); c.Host != 6 || c.Out != 0 {
			t.Errorf("counted %+v", c)
		}
		m, err := th.Load(LoadOptions{Data: []byte("static")})
		return each(err, th.Unload(m))
	})
	if strings.Contains(log, "memcpy") || !strings.Contains(log, "from memory 6") || !strings.Contains(log, "malloc 6 ") {
		t.Errorf("log: %s", log)
	}
}

func TestModelsThatCannotBeLoadedLeaveNothing(t *testing.T) {
	do(t, func(th *Thread) error {
		for _, o := range []LoadOptions{{}, {Path: "static", Data: []byte("x")}} {
			_, err := th.Load(o)
			wantRefused(t, "path and data", err, 0, nil)
		}
		_, err := th.Load(LoadOptions{Path: "bad"}) // 129 dims
		wantRefused(t, "rank", err, 0, nil)
		_, err = th.Load(LoadOptions{Path: "gnone"}) // a gear input and no gears
		wantRefused(t, "no gears", err, 0, nil)
		for fail, path := range map[string]string{"aclmdlLoadFromFile:145000": "static", "aclmdlGetDesc:145003": "static"} {
			t.Setenv("TINY_FAIL", fail)
			_, err := th.Load(LoadOptions{Path: path})
			if err == nil {
				t.Error(fail)
			}
		}
		t.Setenv("TINY_FAIL", "aclmdlAddDatasetBuffer:100000")
		m, err := th.Load(LoadOptions{Path: "gbatch"})
		b, err2 := th.Malloc(128)
		if err := each(err, err2); err != nil {
			return err
		}
		_, err = th.Inputs(m, b.All())
		wantRefused(t, "dataset", err, 100000, nil)
		t.Setenv("TINY_FAIL", "")
		work, weight, err := th.Need(LoadOptions{Path: "static"})
		if work != 320000 || weight != 90624 {
			t.Errorf("needs %d + %d", work, weight)
		}
		return err
	})
}

func TestDeskAnswersWithoutADevice(t *testing.T) {
	l, _ := opened(t, Options{})
	err := l.Do(func(th *Thread) error {
		n, err := th.Devices()
		if n != 2 || th.Soc() != "Ascend310P3" {
			t.Errorf("%d devices, soc %q", n, th.Soc())
		}
		free, total, err2 := th.Memory()
		if free != 1<<20 || total != 1<<21 { // DDR, because this product has no HBM
			t.Errorf("memory %d of %d", free, total)
		}
		ok, err3 := th.Normal(0)
		if !ok {
			t.Error("not normal")
		}
		_, err4 := th.Use(0)
		return each(err, err2, err3, err4, th.LimitOperators(1500*time.Millisecond))
	})
	if err != nil {
		t.Error(err)
	}
}

func TestReleaseWithoutLimitsWaitsPlainly(t *testing.T) {
	do(t, func(th *Thread) error {
		e, err := th.NewEvent()
		if err := each(err, th.Record(e, th.Main()), th.SyncEvent(e, time.Second), th.Sync(th.Main(), time.Second)); err != nil {
			return err
		}
		wantRefused(t, "abort", th.Abort(th.Main()), 0, ErrMissing)
		_, err = th.Reached(e)
		wantRefused(t, "reached", err, 0, ErrMissing)
		return nil
	}, "OLD")
}

func TestErrorCarriesTheTextOfItsThread(t *testing.T) {
	t.Setenv("TINY_FAIL", "")
	l, _ := opened(t, Options{Explain: known})
	a, b := lane(t, l), lane(t, l)
	t.Setenv("TINY_FAIL", "aclmdlQuerySize:500002,aclrtGetMemInfo:107002")
	var wg sync.WaitGroup
	for _, n := range []*Lane{a, b} {
		wg.Go(func() {
			for range 50 {
				err := n.Do(t.Context(), func(t *Thread) error { _, _, err := t.Need(LoadOptions{Path: "x"}); return err })
				var e *Error
				if !errors.As(err, &e) || !strings.HasPrefix(e.Detail, "[PID: 7] 2026-11-30-10:00:00.000.001 Invalid_Argument(EE1003): made up.") || strings.Contains(e.Detail, "older") || strings.Contains(e.Detail, "/opt/build") {
					t.Errorf("got %v: %q", err, e.Detail)
				}
				if e.Cause != "EE1003" || e.Action != FixCode || e.Name != "GE_FAILURE" {
					t.Errorf("got %+v", e)
				}
			}
		})
	}
	wg.Wait()
	if err := each(a.Close(t.Context()), b.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestExplicitFolderIsSearched(t *testing.T) {
	file := tiny(t, "libascendcl.so", "SIMULATED")
	l, _ := opened(t, Options{Search: Search(Searcher{Explicit: filepath.Dir(file), Exists: exists})})
	if l.Files[0] != file {
		t.Errorf("loaded %s", l.Files[0])
	}
}

// TestWorkOfARunDoesNotGrowWithItsBytes holds what one run allocates in Go.
func TestWorkOfARunDoesNotGrowWithItsBytes(t *testing.T) {
	l, _ := opened(t, Options{})
	n := lane(t, l)
	t.Setenv("TINY_LOG", "/dev/null")
	var counts []float64
	for _, size := range []int64{128, 1 << 20} {
		var x, y *Buffer
		var in, out *Dataset
		var m *Model
		host, back := make([]byte, size), make([]byte, size)
		err := n.Do(t.Context(), func(t *Thread) (err error) {
			if m, err = t.Load(LoadOptions{Path: "static"}); err != nil {
				return err
			}
			x, err = t.Malloc(size)
			var err2, err3, err4 error
			y, err2 = t.Malloc(size)
			in, err3 = t.Inputs(m, x.All())
			out, err4 = t.Outputs(m, y.All())
			return each(err, err2, err3, err4)
		})
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, testing.AllocsPerRun(50, func() {
			err := n.Do(t.Context(), func(t *Thread) error {
				if err := t.Copy(x.All(), Memory(host)); err != nil {
					return err
				}
				if err := t.ExecuteAsync(t.Main(), m, in, out); err != nil {
					return err
				}
				if err := t.Sync(t.Main(), time.Minute); err != nil {
					return err
				}
				return t.Copy(Memory(back), y.All())
			})
			if err != nil {
				t.Error(err)
			}
		}))
	}
	if counts[0] != counts[1] || counts[0] > 4 {
		t.Errorf("allocations %v for 128 B and 1 MiB, expected equal and at most 4", counts)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
