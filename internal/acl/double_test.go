//go:build cgo && linux

package acl

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/internal/ort"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// play is the variable by which the tests start themselves: what to play.
const play = "ASCENDCTL_ACL_PLAY"

// scene is a play in a process of its own on the double, which notes whatever
// the real library would punish. violation is what it must note; "" is nothing.
type scene struct {
	config    string
	violation string
	act       func(*testing.T, *Thread) error
	both      func(*testing.T, *Library) // in place of act: for several lanes
}

// scenes end with misuses planted behind the binding's back: what the double says
// to them proves that its silence to the others means something.
var scenes = map[string]scene{
	"static": {act: playStatic},
	"gears":  {act: playGears},
	"ring":   {act: playRing, config: `{"latency_us":300}`},
	"errors": {act: playErrors},
	"digits": {act: playDigits},
	"two":    {both: playTwo},
	"board":  {act: playBoard, config: `{"run_mode":"device"}`},
	"fault":  {act: playFault, config: `{"faults":[{"call":"aclmdlExecuteAsync","at":2,"async":507015}]}`},
	"hang":   {act: playHang, config: `{"faults":[{"call":"aclmdlExecuteAsync","at":1,"device_hang_ms":300}]}`},

	"forgotten memory": {violation: "reset-with-live", act: func(_ *testing.T, th *Thread) error {
		_, err := th.Malloc(64)
		th.owned = th.owned[:len(th.owned)-1]
		return err
	}},
	"early free": {violation: "aclrtFree", config: `{"latency_us":200000}`, act: func(_ *testing.T, th *Thread) error {
		l, err := load(th, "static.om")
		if err != nil {
			return err
		}
		err = th.ExecuteAsync(th.Main(), l.m, l.in, l.out)
		l.x.used, l.y.used = mark{}, mark{}
		err = errors.Join(err, th.Free(l.x), th.Free(l.y))
		_ = th.Sync(th.Main(), time.Minute) // a fault, of course
		return err
	}},
	"gear at a data input": {violation: "aclmdlSetDynamicBatchSize", act: func(_ *testing.T, th *Thread) error {
		l, err := load(th, "gears.om")
		if err != nil {
			return err
		}
		l.m.Desc.gearAt = 0
		return th.SetGear(l.in, 1)
	}},
	"short input": {violation: "short-input", act: func(_ *testing.T, th *Thread) error {
		l, err := load(th, "gears.om")
		if err != nil {
			return err
		}
		l.m.Desc.Inputs[0].Size = 0
		err = errors.Join(th.Set(l.in, 0, l.x.Span(0, 16)), th.SetGear(l.in, 2), th.ExecuteAsync(th.Main(), l.m, l.in, l.out))
		_ = th.Sync(th.Main(), time.Minute)
		return err
	}},
}

func TestBindingOnTheDouble(t *testing.T) {
	if name := os.Getenv(play); name != "" {
		perform(t, scenes[name])
		return
	}
	dir := t.TempDir()
	row := []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{8, 4}}}
	out := []omtest.Tensor{{Name: "y", DType: "FLOAT", Dims: []int64{8, 4}}}
	digits, err := os.ReadFile("../../testdata/models/digits/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	gears, err := omtest.FromONNX(digits, omtest.File{Generation: omtest.Wide}, 1, 1, 4, 16)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]omtest.File{
		"digits.om": gears,
		"static.om": {Generation: omtest.Wide},
		"gears.om":  {Generation: omtest.Wide, Gears: model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {4}, {8}}}, GearInputs: [][]int64{{-1, 4}}},
		"other.om":  {Generation: omtest.Wide, SoC: "Ascend910"},
	} {
		if f.ONNX == nil {
			f.Inputs, f.Outputs, f.Function, f.Work = row, out, "identity", 4096
		}
		if f.SoC == "" {
			f.SoC = "Ascend310P3"
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "digits.onnx"), digits, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{fakeacl.Old, fakeacl.Split} {
		lib := fakeacl.Build(t, fakeacl.Options{Profile: profile})
		for name := range scenes {
			t.Run(profile+"/"+name, func(t *testing.T) { stage(t, lib, name, dir) })
		}
	}
}

// stage runs one play and reads what the double noted.
func stage(t *testing.T, lib *fakeacl.Library, name, dir string) {
	reportFile := filepath.Join(t.TempDir(), "report")
	cmd := exec.Command(os.Args[0], "-test.run=^TestBindingOnTheDouble$", "-test.timeout=60s")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), play+"="+name, "ASCENDCTL_ACL_FILES="+strings.Join(lib.Files, ":"), fakeacl.EnvReport+"="+reportFile, fakeacl.EnvORT+"="+onnxRuntime(t))
	if c := scenes[name].config; c != "" {
		cmd.Env = append(cmd.Env, fakeacl.EnvConfig+"="+c)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	events, err := fakeacl.Events(reportFile)
	if err != nil {
		t.Fatal(err)
	}
	v, want := fakeacl.Violations(events), scenes[name].violation
	if (want == "") != (len(v) == 0) || len(v) > 0 && !strings.Contains(v[0], want) {
		t.Errorf("violations %q; expected %q", v, want)
	}
}

// onnxRuntime is the library that the double and the CPU backend compute with:
// the one ASCENDCTL_ORT_LIB names, else what the search finds.
func onnxRuntime(t *testing.T) string {
	t.Helper()
	cache, err := filepath.Abs("../../.cache/ort")
	if err != nil {
		t.Fatal(err)
	}
	s := ort.Searcher{Explicit: os.Getenv("ASCENDCTL_ORT_LIB"), Cache: cache, Arch: runtime.GOARCH, Getenv: os.Getenv, Glob: filepath.Glob}
	found, _ := ort.Search(s)
	if dir, err := os.UserCacheDir(); err == nil && found.How == ort.Loader {
		s.Cache = filepath.Join(dir, "ascendctl")
		found, _ = ort.Search(s)
	}
	return found.File
}

func perform(t *testing.T, s scene) {
	l, err := Open(Options{Search: exact(strings.Split(os.Getenv("ASCENDCTL_ACL_FILES"), ":")...), Explain: known})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Simulated || len(l.Signals()) != 0 {
		t.Errorf("simulated %v, signals %v", l.Simulated, l.Signals())
	}
	if s.both != nil {
		s.both(t, l)
	} else {
		onDouble(t, l, s.act)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func onDouble(t *testing.T, l *Library, f func(*testing.T, *Thread) error) {
	n := lane(t, l)
	if err := n.Do(t.Context(), func(th *Thread) error { return f(t, th) }); err != nil {
		t.Error(err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// loaded is a model with memory for both sides.
type loaded struct {
	m       *Model
	x, y    *Buffer
	in, out *Dataset
}

func load(th *Thread, path string) (l loaded, err error) {
	if l.m, err = th.Load(LoadOptions{Path: path}); err != nil {
		return l, err
	}
	var errs [4]error
	l.x, errs[0] = th.Malloc(128)
	l.y, errs[1] = th.Malloc(128)
	if err := errors.Join(errs[:2]...); err != nil {
		return l, err
	}
	l.in, errs[2] = th.Inputs(l.m, l.x.All())
	l.out, errs[3] = th.Outputs(l.m, l.y.All())
	return l, errors.Join(errs[:]...)
}

func (l loaded) run(th *Thread, in []byte) ([]byte, error) {
	out := make([]byte, 128)
	return out, errors.Join(th.Copy(l.x.All(), Memory(in)), th.ExecuteAsync(th.Main(), l.m, l.in, l.out),
		th.Sync(th.Main(), 10*time.Second), th.Copy(Memory(out), l.y.All()))
}

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
