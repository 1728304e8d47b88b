//go:build cgo && linux

package infer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// These tests run on the double of libascendcl, which is simulated. A process
// loads one library, so each of them is a process.

const npuEnv = "INFER_TEST_NPU"

// npuPlay is what one process does. config is that of the double.
type npuPlay struct {
	config map[string]any
	act    func(t *testing.T, lib *acl.Library)
	hangs  bool // nothing can be given back at the end
}

var npuPlays = map[string]npuPlay{
	"contract":    {act: playContract, config: map[string]any{"set_device_ms": 1}},
	"board":       {act: playContract, config: map[string]any{"run_mode": "device"}},
	"static":      {act: playStatic},
	"padding":     {act: playPadding},
	"allocations": {act: playAllocations},
	"room":        {act: playRoom},
	"moved":       {act: playMoved},
	"board moved": {act: playBoardMoved, config: map[string]any{"run_mode": "device"}},
	"failed": {act: playFailed, config: map[string]any{"faults": []any{
		map[string]any{"call": "aclmdlExecuteAsync", "at": 2, "async": 507011}}}},
	"lost": {act: playLost, hangs: true, config: map[string]any{"faults": []any{
		map[string]any{"call": "aclmdlExecuteAsync", "at": 2, "lost": true}}}},
	"hang": {act: playHang, hangs: true, config: map[string]any{"faults": []any{
		map[string]any{"call": "aclmdlExecuteAsync", "at": 2, "device_hang_ms": 600000}}}},
}

func TestNPUOnTheDouble(t *testing.T) {
	if name := os.Getenv(npuEnv); name != "" {
		perform(t, npuPlays[name])
		return
	}
	dir := t.TempDir()
	writeModels(t, dir)
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{fakeacl.Old, fakeacl.Split} {
		double := fakeacl.Build(t, fakeacl.Options{Profile: profile})
		for name, play := range npuPlays {
			t.Run(profile+"/"+name, func(t *testing.T) {
				config, err := json.Marshal(play.config)
				if err != nil {
					t.Fatal(err)
				}
				if play.config == nil {
					config = []byte("{}")
				}
				noted := filepath.Join(t.TempDir(), "report")
				cmd := exec.Command(os.Args[0], "-test.run=^TestNPUOnTheDouble$", "-test.timeout=30s", fmt.Sprint("-test.v=", testing.Verbose()))
				cmd.Env = append(append(os.Environ(), double.Env(string(config), noted, lib.File)...), npuEnv+"="+name, "INFER_TEST_DIR="+dir, "INFER_TEST_ACL="+strings.Join(double.Files, ":"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if testing.Verbose() {
					t.Logf("%s", out)
				}
				clean(t, noted, !play.hangs)
			})
		}
	}
}

// clean wants a report of the double without violations and leaks, and with an
// end where the process could end properly.
func clean(t *testing.T, file string, ended bool) {
	t.Helper()
	events, err := fakeacl.Events(file)
	if err != nil {
		t.Fatal(err)
	}
	if v := fakeacl.Violations(events); len(v) > 0 {
		t.Errorf("violations: %q", v)
	}
	ends := 0
	for _, e := range events {
		if e.Event == "end" && ended { // some builds end by the C library, which writes one in any case
			ends++
			if e.Leaks > 0 || !e.Finalized || e.Unpinned > 0 {
				t.Errorf("%d leaks, finalized %v, %d unpinned copies", e.Leaks, e.Finalized, e.Unpinned)
			}
		}
	}
	if ended && ends == 0 {
		t.Error("the double wrote no end")
	}
}

func writeModels(t *testing.T, dir string) {
	t.Helper()
	files := map[string]omtest.File{
		"static.om": {Function: "identity", Inputs: []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{2, 3}}},
			Outputs: []omtest.Tensor{{Name: "y", DType: "FLOAT", Dims: []int64{2, 3}}}, Work: 1 << 20, Weights: make([]byte, 4096)},
		"large.om": {Function: "identity", Inputs: []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{64, 4096}}},
			Outputs: []omtest.Tensor{{Name: "y", DType: "FLOAT", Dims: []int64{64, 4096}}}},
		"slow.om": {Function: "sleep", Inputs: []omtest.Tensor{{Name: "x", DType: "INT32", Dims: []int64{1, 1}}},
			Outputs: []omtest.Tensor{{Name: "y", DType: "INT32", Dims: []int64{1, 1}}}},
	}
	twins, err := omtest.FromONNX(twins(), omtest.File{Generation: omtest.Wide}, 0, 1, 2, 4, 8, 16, 32, 64)
	if err != nil {
		t.Fatal(err)
	}
	files["twins.om"] = twins
	for name, f := range files {
		f.Generation, f.SoC = omtest.Wide, "Ascend310P3"
		if err := os.WriteFile(filepath.Join(dir, name), f.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func perform(t *testing.T, play npuPlay) {
	explain := func(code string) (acl.Meaning, bool) {
		if code != "507011" {
			return acl.Meaning{}, false
		}
		return acl.Meaning{Name: "ACL_ERROR_RT_MODEL_EXECUTE", Action: acl.Retry}, true
	}
	lib, err := acl.Open(acl.Options{Explain: explain, Search: acl.Found{Layouts: [][]string{strings.Split(os.Getenv("INFER_TEST_ACL"), ":")}}})
	if err != nil {
		t.Fatal(err)
	}
	if !lib.Simulated {
		t.Error("the double is not known as such")
	}
	play.act(t, lib)
	if play.hangs {
		return
	}
	if err := lib.Close(); err != nil {
		t.Error(err)
	}
}

// shifting is what the batcher does: it chooses the gear.
type shifting struct{ Backend }

func (s shifting) Run(ctx context.Context, b *Batch) error {
	d := s.Describe()
	d.Shift(b)
	return s.Backend.Run(ctx, b)
}

func openNPU(t *testing.T, n *NPU, name string, o NPUOptions) Backend {
	t.Helper()
	o.Path = filepath.Join(os.Getenv("INFER_TEST_DIR"), name)
	b, err := n.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func takeNPU(t *testing.T, lib *acl.Library) *NPU {
	t.Helper()
	n, err := TakeNPU(lib, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
