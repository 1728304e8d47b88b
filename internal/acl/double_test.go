//go:build cgo && linux

package acl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

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
