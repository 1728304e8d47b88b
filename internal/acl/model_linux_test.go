//go:build cgo && linux

package acl

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

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
			other, err := th.Malloc(128)
			if err != nil {
				return err
			}
			got := make([]byte, 128)
			err = each(th.Copy(other.All(), Memory(floats(32))), th.Set(in, 0, other.All()), th.SetGear(in, c.gear),
				th.ExecuteAsync(th.Main(), m, in, out), th.Sync(th.Main(), time.Second), th.Copy(Memory(got), y.All()))
			if last := math.Float32frombits(binary.LittleEndian.Uint32(got[124:])); last != 62 {
				t.Errorf("%s: with other memory the last element is %g", c.model, last)
			}
			return err
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
