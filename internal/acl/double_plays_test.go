//go:build cgo && linux

package acl

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/ort"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

func playStatic(t *testing.T, th *Thread) error {
	work, weight, err := th.Need(LoadOptions{Path: "static.om"})
	if err != nil || work != 4096 {
		t.Errorf("needs %d + %d, %v", work, weight, err)
	}
	l, err := load(th, "static.om")
	if err != nil {
		return err
	}
	for range 3 {
		got, err := l.run(th, floats(32))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, floats(32)) {
			t.Errorf("got %x", got)
		}
	}
	data, err := os.ReadFile("static.om")
	if err != nil {
		return err
	}
	m, err := th.Load(LoadOptions{Data: data})
	return errors.Join(err, th.Unload(m))
}

func playGears(t *testing.T, th *Thread) error {
	l, err := load(th, "gears.om")
	if err != nil {
		return err
	}
	if d := l.m.Desc; d.GearKind != GearBatch || len(d.Gears) != 3 || d.Gears[1].Rows() != 4 || len(d.Inputs) != 1 || d.Dynamic {
		t.Errorf("described as %+v", d)
	}
	for gear, rows := range []int64{1, 4, 8} {
		if err := th.SetGear(l.in, gear); err != nil {
			return err
		}
		got, err := l.run(th, floats(32))
		if err != nil {
			return err
		}
		if !bytes.Equal(got[:16*rows], floats(32)[:16*rows]) {
			t.Errorf("gear %d: got %x", gear, got)
		}
	}
	return nil
}

// playDigits compares numbers through the simulated ACL with those of the CPU
// backend, bit by bit.
func playDigits(t *testing.T, th *Thread) error {
	lib, err := ort.Open(os.Getenv(fakeacl.EnvORT))
	if err != nil {
		return err
	}
	cpu, err := lib.Load(ort.Options{Path: "digits.onnx"})
	if err != nil {
		return err
	}
	m, err := th.Load(LoadOptions{Path: "digits.om"})
	if err != nil {
		return err
	}
	d := m.Desc
	if len(d.Gears) != 3 || d.Inputs[0].Size != 16*256 || d.Outputs[0].Size != 16*40 {
		t.Fatalf("described as %+v", d)
	}
	x, err := th.Malloc(d.Inputs[0].Size)
	y, err2 := th.Malloc(d.Outputs[0].Size)
	in, err3 := th.Inputs(m, x.All())
	out, err4 := th.Outputs(m, y.All())
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	images := floats(16 * 64)
	for gear := range d.Gears {
		rows := int64(d.Gears[gear].Rows())
		got, want := make([]byte, 40*rows), make([]byte, 40*rows)
		err := errors.Join(th.Copy(x.All(), Memory(images[:256*rows])), th.SetGear(in, gear), th.ExecuteAsync(th.Main(), m, in, out),
			th.Sync(th.Main(), 10*time.Second), th.Copy(Memory(got), y.Span(0, 40*rows)),
			cpu.Run(t.Context(), []ort.Tensor{{DType: ascend.Float, Shape: []int64{rows, 1, 8, 8}, Data: images[:256*rows]}}, []int{0},
				func(int, ascend.DType, []int64, int64) ([]byte, error) { return want, nil }))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) || bytes.Equal(want, make([]byte, len(want))) {
			t.Errorf("%d rows: got %x, the CPU says %x", rows, got, want)
		}
		if dims, err := th.GearDims(m, 0); err != nil || !slices.Equal(dims, []int64{rows, 10}) {
			t.Errorf("%d rows: dims %d, %v", rows, dims, err)
		}
	}
	return nil
}

// playRing overlaps copies and runs of two slots on three streams.
func playRing(t *testing.T, th *Thread) error {
	type slot struct {
		loaded
		host             *Buffer
		copied, ran, out *Event
	}
	in, err := th.NewStream()
	back, err2 := th.NewStream()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	first, err := load(th, "static.om")
	if err != nil {
		return err
	}
	var slots [2]slot
	for i := range slots {
		s := &slots[i]
		s.m = first.m
		var errs [8]error
		s.x, errs[0] = th.Malloc(128)
		s.y, errs[1] = th.Malloc(128)
		s.host, errs[2] = th.MallocHost(256)
		s.copied, errs[3] = th.NewEvent()
		s.ran, errs[4] = th.NewEvent()
		s.out, errs[5] = th.NewEvent()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		s.in, errs[6] = th.Inputs(s.m, s.x.All())
		s.loaded.out, errs[7] = th.Outputs(s.m, s.y.All())
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
	}
	for round := range 20 {
		s := &slots[round%2]
		if round >= 2 {
			if err := th.SyncEvent(s.out, 10*time.Second); err != nil {
				return err
			}
			if want := byte(round - 2); s.host.Bytes()[128] != want || s.host.Bytes()[255] != want {
				t.Errorf("round %d: got %d", round, s.host.Bytes()[128])
			}
		}
		for i := range 128 {
			s.host.Bytes()[i] = byte(round)
		}
		err := errors.Join(th.CopyAsync(in, s.x.All(), s.host.Span(0, 128)), th.Record(s.copied, in), th.Wait(th.Main(), s.copied),
			th.ExecuteAsync(th.Main(), s.m, s.in, s.loaded.out), th.Record(s.ran, th.Main()), th.Wait(back, s.ran),
			th.CopyAsync(back, s.host.Span(128, 128), s.y.All()), th.Record(s.out, back))
		if err != nil {
			return err
		}
	}
	return th.Sync(back, 10*time.Second)
}

func playErrors(t *testing.T, th *Thread) error {
	for _, c := range []struct {
		name string
		o    LoadOptions
		code []int // of the profiles
		says string
	}{
		{"no such file", LoadOptions{Path: "none.om"}, []int{145002}, ""},
		{"not a model", LoadOptions{Data: bytes.Repeat([]byte("no om "), 100)}, []int{145000, 145006}, ""},
		{"another chip", LoadOptions{Path: "other.om"}, []int{507008, 500002}, "Ascend910"},
	} {
		_, err := th.Load(c.o)
		var e *Error
		if !errors.As(err, &e) || !slices.Contains(c.code, e.Code) || !strings.Contains(e.Detail, c.says) || e.Action == "" || strings.Contains(e.Detail, "rtGetDevMsg") {
			t.Errorf("%s: got %+v", c.name, e)
		}
	}
	_, err := th.Malloc(1 << 45)
	wantRefused(t, "too much", err, 207001, nil)
	if b, err := th.Malloc(64); err != nil {
		return err
	} else {
		return th.Free(b)
	}
}

// playBoard needs no copy: the run reads and writes what the host wrote and reads.
func playBoard(t *testing.T, th *Thread) error {
	l, err := load(th, "static.om")
	if err != nil {
		return err
	}
	copy(l.x.Bytes(), floats(32))
	err = errors.Join(th.ExecuteAsync(th.Main(), l.m, l.in, l.out), th.Sync(th.Main(), 10*time.Second))
	if !bytes.Equal(l.y.Bytes(), floats(32)) || th.lib.Copied() != (Copied{}) {
		t.Errorf("got %x, copied %+v", l.y.Bytes(), th.lib.Copied())
	}
	data, err2 := os.ReadFile("static.om")
	_, err3 := th.Load(LoadOptions{Data: data})
	return errors.Join(err, err2, err3)
}

func playFault(t *testing.T, th *Thread) error {
	l, err := load(th, "static.om")
	if err != nil {
		return err
	}
	if _, err := l.run(th, floats(32)); err != nil {
		return err
	}
	_, err = l.run(th, floats(32))
	var e *Error
	if !errors.As(err, &e) || e.Code != 507015 || e.Action != ReloadContext || !strings.HasPrefix(e.Call, "aclrtSynchronizeStream") {
		t.Errorf("got %v", err)
	}
	_, err = l.run(th, floats(32))
	return err
}

func playHang(t *testing.T, th *Thread) error {
	l, err := load(th, "static.om")
	if err != nil {
		return err
	}
	err = errors.Join(th.ExecuteAsync(th.Main(), l.m, l.in, l.out))
	late := th.Sync(th.Main(), 20*time.Millisecond)
	var e *Error
	if !errors.As(late, &e) || !e.TimedOut() {
		t.Errorf("got %v", late)
	}
	wantRefused(t, "free", th.Free(l.x), 0, ErrBusy)
	return errors.Join(err, th.Sync(th.Main(), 30*time.Second), th.Free(l.x))
}

// playTwo runs two lanes on one device at once, each with its own model.
func playTwo(t *testing.T, l *Library) {
	a, b := lane(t, l), lane(t, l)
	done := make(chan error)
	for i, n := range []*Lane{a, b} {
		go func() {
			done <- n.Do(t.Context(), func(th *Thread) error {
				l, err := load(th, "static.om")
				for range 50 {
					in := bytes.Repeat([]byte{byte(i + 1)}, 128)
					got, err2 := l.run(th, in)
					if err = errors.Join(err, err2); err != nil || !bytes.Equal(got, in) {
						return errors.Join(err, errors.New("wrong answer"))
					}
				}
				return err
			})
		}()
	}
	if err := errors.Join(<-done, <-done, a.Close(t.Context()), b.Close(t.Context())); err != nil {
		t.Error(err)
	}
}
