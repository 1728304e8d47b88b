//go:build cgo && linux

package acl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func lane(t *testing.T, l *Library) *Lane {
	t.Helper()
	n, err := l.Lane(0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// do runs f on a lane of a fresh simulated library, closes both, and gives the
// log. Whatever f leaves behind must be freed by then.
func do(t *testing.T, f func(*Thread) error, defines ...string) string {
	t.Helper()
	l, log := opened(t, Options{}, defines...)
	n := lane(t, l)
	if err := n.Do(t.Context(), f); err != nil {
		t.Error(err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log(), " left 0") {
		t.Errorf("something is left over: %s", log())
	}
	return log()
}

// wantRefused wants a call that was not made, or one that failed with a code.
func wantRefused(t *testing.T, what string, err error, code int, cause error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Action == "" || e.Call == "" || cause != nil && !errors.Is(err, cause) {
		t.Errorf("%s: got %v; want code %d and %v", what, err, code, cause)
	}
}

// each gives the first failure of calls whose results do not matter.
func each(errs ...error) error { return errors.Join(errs...) }

func TestLaneOwnsOneThreadAndGivesItBack(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	log := do(t, func(t *Thread) error {
		b, err := t.Malloc(100)
		s, err2 := t.NewStream()
		e, err3 := t.NewEvent()
		_, err4 := t.MallocHost(64)
		if err := each(err, err2, err3, err4); err != nil {
			return err
		}
		return each(t.Record(e, s), t.Wait(t.Main(), e), t.Sync(t.Main(), time.Second), t.DestroyEvent(e), t.DestroyStream(s), t.Free(b))
	})
	want := []string{"set 0", "new context", "new stream", "malloc 100", "new stream", "new event", "malloc 64",
		"drop event", "drop stream", "drop memory", "drop pinned", "drop stream", "drop context", "reset 0"}
	var got []string
	threads := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(.*) @(\d+)$`).FindAllStringSubmatch(log, -1) {
		if i := slices.Index(want, m[1]); i >= 0 {
			got = append(got, m[1])
			threads[m[2]] = true
		}
	}
	if !slices.Equal(got, want) || len(threads) != 1 {
		t.Errorf("on threads %v:\n%q\nwant\n%q", threads, got, want)
	}
}

func TestThreadIsGoodOnItsThreadOnly(t *testing.T) {
	var leaked *Thread
	do(t, func(th *Thread) error {
		leaked = th
		done := make(chan error)
		go func() { _, err := th.Malloc(64); done <- err }()
		wantRefused(t, "another goroutine", <-done, 0, ErrThread)
		return nil
	})
	_, err := leaked.Malloc(64)
	wantRefused(t, "after the lane", err, 0, ErrThread)
}

func TestObjectsStayOnTheirLane(t *testing.T) {
	l, _ := opened(t, Options{})
	one, two := lane(t, l), lane(t, l)
	var b *Buffer
	var s *Stream
	var m *Model
	err := one.Do(t.Context(), func(t *Thread) (err error) {
		s = t.Main()
		b, err = t.Malloc(128)
		if err == nil {
			m, err = t.Load(LoadOptions{Path: "static"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("close with open lanes: %v", err)
	}
	err = two.Do(t.Context(), func(th *Thread) error {
		own, err := th.Malloc(128)
		wantRefused(t, "free", th.Free(b), 0, ErrThread)
		wantRefused(t, "copy", th.Copy(own.All(), b.All()), 0, ErrThread)
		wantRefused(t, "sync", th.Sync(s, time.Second), 0, ErrThread)
		_, bad := th.Inputs(m, own.All())
		wantRefused(t, "dataset", bad, 0, ErrThread)
		wantRefused(t, "unload", th.Unload(m), 0, ErrThread)
		shared, err2 := th.Load(LoadOptions{Path: "static", Weight: b}) // weights may be another lane's
		return each(err, err2, th.Unload(shared))
	})
	if err := each(err, two.Close(t.Context()), one.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if err := one.Do(t.Context(), func(*Thread) error { return nil }); err != ErrClosed {
		t.Errorf("after close: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.desk.Do(ended, func(*Thread) error { return errors.New("ran") }); err != context.Canceled {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestLaneThatCannotOpenLeavesNothing(t *testing.T) {
	for _, fail := range []string{"aclrtSetDevice:507033", "aclrtCreateContext:107001", "aclrtCreateStream:207008"} {
		l, log := opened(t, Options{})
		t.Setenv("TINY_FAIL", fail)
		_, err := l.Lane(0)
		call, _, _ := strings.Cut(fail, ":")
		var e *Error
		if !errors.As(err, &e) || e.Call != call {
			t.Errorf("%s: got %v", fail, err)
		}
		if err := l.Close(); err != nil || !strings.Contains(log(), " left 0") {
			t.Errorf("%s: %v\n%s", fail, err, log())
		}
	}
	l, _ := opened(t, Options{})
	if _, err := l.Lane(-1); err == nil {
		t.Error("device -1 was taken")
	}
}

// floats is n numbers 0, 1, 2 ...
func floats(n int) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(i)))
	}
	return b
}

func TestModelRunsEitherWay(t *testing.T) {
	for _, sync := range []bool{true, false} {
		log := do(t, func(th *Thread) error {
			m, err := th.Load(LoadOptions{Path: "/models/static"})
			if err != nil {
				return err
			}
			x, err := th.Malloc(128)
			y, err2 := th.Malloc(128)
			in, err3 := th.Inputs(m, x.All())
			out, err4 := th.Outputs(m, y.All())
			if err := each(err, err2, err3, err4, th.Copy(x.All(), Memory(floats(32)))); err != nil {
				return err
			}
			run := func(sync bool) error {
				if sync {
					return th.Execute(m, in, out)
				}
				return each(th.ExecuteAsync(th.Main(), m, in, out), th.Sync(th.Main(), time.Second))
			}
			back := make([]byte, 128)
			if err := each(run(sync), th.Copy(Memory(back), y.All())); err != nil {
				return err
			}
			for i := range 32 {
				if got := math.Float32frombits(binary.LittleEndian.Uint32(back[4*i:])); got != float32(2*i) {
					t.Errorf("element %d is %g", i, got)
				}
			}
			if run(!sync) == nil {
				t.Error("both ways on one model")
			}
			c := th.lib.Copied()
			if c.In != 128 || c.Out != 128 || c.Device != 0 || c.Host != 0 || c.Calls != 2 {
				t.Errorf("counted %+v", c)
			}
			d := m.Desc
			if d.Dynamic || d.GearKind != "" || d.Outputs[0].Name != "/Double:0:y" || d.Inputs[0].Name != "x" || d.Inputs[0].Size != 128 {
				t.Errorf("described as %+v", d)
			}
			return nil
		})
		if strings.Index(log, "unload") > strings.Index(log, "drop context") {
			t.Error("the model outlived its context")
		}
	}
}

func TestWhatQueuedWorkUsesIsKept(t *testing.T) {
	do(t, func(th *Thread) error {
		m, err := th.Load(LoadOptions{Path: "static"})
		x, err2 := th.Malloc(256)
		y, err3 := th.Malloc(128)
		pinned, err4 := th.MallocHost(128)
		in, err5 := th.Inputs(m, x.Span(0, 128))
		out, err6 := th.Outputs(m, y.All())
		s, err7 := th.NewStream()
		e, err8 := th.NewEvent()
		if err := each(err, err2, err3, err4, err5, err6, err7, err8); err != nil {
			return err
		}
		if err := each(th.CopyAsync(s, x.All(), pinned.All()), th.Record(e, s), th.Wait(th.Main(), e), th.ExecuteAsync(th.Main(), m, in, out)); err != nil {
			return err
		}
		for what, err := range map[string]error{
			"free input":      th.Free(x),
			"free output":     th.Free(y),
			"free pinned":     th.Free(pinned),
			"unload":          th.Unload(m),
			"destroy dataset": th.DestroyDataset(in),
			"destroy stream":  th.DestroyStream(s),
			"destroy event":   th.DestroyEvent(e),
			"set":             th.Set(in, 0, x.Span(128, 128)),
			"copy":            th.Copy(x.All(), Memory(make([]byte, 4))),
			"clear":           th.Clear(y.All()),
			"another stream":  th.ExecuteAsync(s, m, in, out),
			"record again":    th.Record(e, s),
		} {
			wantRefused(t, what, err, 0, ErrBusy)
		}
		t.Setenv("TINY_FAIL", "aclrtSynchronizeStreamWithTimeout:507046")
		err = th.Sync(th.Main(), time.Millisecond)
		var late *Error
		if !errors.As(err, &late) || !late.TimedOut() {
			t.Errorf("time-out: %v", err)
		}
		wantRefused(t, "free after the time-out", th.Free(x), 0, ErrBusy)
		t.Setenv("TINY_FAIL", "aclrtSynchronizeStreamWithTimeout:507015")
		wantRefused(t, "fault", th.Sync(th.Main(), time.Second), 507015, nil)
		t.Setenv("TINY_FAIL", "")
		// The execution waited for the copy: that one is done too.
		return each(th.Free(pinned), th.DestroyEvent(e), th.DestroyStream(s), th.Set(in, 0, x.Span(128, 128)), th.DestroyDataset(in),
			th.DestroyDataset(out), th.Free(x), th.Unload(m))
	})
}

func TestHangingWorkKeepsItsMemory(t *testing.T) {
	l, log := opened(t, Options{})
	n := lane(t, l)
	err := n.Do(t.Context(), func(t *Thread) error {
		x, err := t.Malloc(64)
		p, err2 := t.MallocHost(64)
		return each(err, err2, t.CopyAsync(t.Main(), x.All(), p.All()))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TINY_FAIL", "aclrtSynchronizeStreamWithTimeout:507046")
	if err := n.Close(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	if strings.Contains(log(), "drop") || strings.Contains(log(), "reset") {
		t.Errorf("freed under a running device: %s", log())
	}
}

func TestGearsAreSetAtTheirInput(t *testing.T) {
	for _, c := range []struct {
		model string
		kind  string
		gear  int
		log   string
		dims  [][]int64
		rows  int
	}{
		{"gbatch", GearBatch, 1, "gear 1: 4 0", [][]int64{{4, 4}}, 4},
		{"gfirstbatch", GearBatch, 2, "gear 0: 8 0", [][]int64{{8, 4}}, 8},
		{"gimage", GearImage, 1, "gear 1: 4 2", [][]int64{{4, 2}}, 4},
		{"gdims", GearDims, 1, "gear 1: 4 4", [][]int64{{4, 4}}, 4},
	} {
		log := do(t, func(th *Thread) error {
			m, err := th.Load(LoadOptions{Path: c.model})
			if err != nil {
				return err
			}
			d := m.Desc
			if d.GearKind != c.kind || len(d.Inputs) != 1 || d.Dynamic || d.Gears[c.gear].Rows() != c.rows || !slices.EqualFunc(d.Gears[c.gear].Dims, c.dims, slices.Equal) {
				t.Errorf("%s: described as %+v", c.model, d)
			}
			x, err := th.Malloc(128)
			y, err2 := th.Malloc(128)
			in, err3 := th.Inputs(m, x.All())
			out, err4 := th.Outputs(m, y.All())
			if err := each(err, err2, err3, err4); err != nil {
				return err
			}
			wantRefused(t, c.model+": gear never set", th.ExecuteAsync(th.Main(), m, in, out), 0, nil)
			wantRefused(t, c.model+": gear 9", th.SetGear(in, 9), 0, nil)
			wantRefused(t, c.model+": gear of outputs", th.SetGear(out, 0), 0, nil)
			if err := each(th.SetGear(in, c.gear), th.ExecuteAsync(th.Main(), m, in, out)); err != nil {
				return err
			}
			wantRefused(t, c.model+": gear while running", th.SetGear(in, 0), 0, ErrBusy)
			if err := each(th.Sync(th.Main(), time.Second), th.Set(in, 0, x.All())); err != nil {
				return err
			}
			wantRefused(t, c.model+": gear not set since", th.ExecuteAsync(th.Main(), m, in, out), 0, nil)
			return nil
		})
		if !strings.Contains(log, c.log+" @") {
			t.Errorf("%s: log lacks %q:\n%s", c.model, c.log, log)
		}
	}
}

func TestDynamicShapes(t *testing.T) {
	do(t, func(th *Thread) error {
		m, err := th.Load(LoadOptions{Path: "dynamic"})
		if err != nil {
			return err
		}
		if !m.Desc.Dynamic || !slices.Equal(m.Desc.Inputs[0].Range, [][2]int64{{1, 8}, {4, 4}}) {
			t.Errorf("described as %+v", m.Desc)
		}
		x, err := th.Malloc(128)
		in, err2 := th.Inputs(m, x.All())
		out, err3 := th.Outputs(m, Span{})
		if err := each(err, err2, err3, th.Clear(x.All())); err != nil {
			return err
		}
		wantRefused(t, "nine rows", th.SetShape(in, 0, []int64{9, 4}), 0, nil)
		wantRefused(t, "three dims", th.SetShape(in, 0, []int64{1, 4, 1}), 0, nil)
		wantRefused(t, "another column", th.SetShape(in, 0, []int64{1, 3}), 0, nil)
		wantRefused(t, "no memory, asynchronously", th.ExecuteAsync(th.Main(), m, in, out), 0, nil)
		if err := each(th.SetShape(in, 0, []int64{2, 4}), th.Execute(m, in, out)); err != nil {
			return err
		}
		shape, err := th.Shape(out, 0)
		if err != nil || !slices.Equal(shape, []int64{2, 4}) {
			t.Errorf("shape %d, %v", shape, err)
		}
		b, err := th.Taken(out, 0)
		if err != nil {
			return err
		}
		if _, err := th.Taken(out, 0); err == nil {
			t.Error("taken twice")
		}
		return th.Free(b)
	})
}

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
