//go:build cgo && linux && !race

package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// plant is one misuse of ACL: what is put behind a line of the product. Where
// the binding itself would refuse it, a second line takes that away.
type plant struct {
	noted string // what the double must say
	edits []edit
}

type edit struct{ file, line, behind string }

// plants are mistakes that a change of the product could make.
func plants() map[string]plant {
	one := func(noted, file, line, behind string) plant { return plant{noted, []edit{{file, line, behind}}} }
	return map[string]plant{
		"the gear is set at a data input": one("gear-index", "internal/acl/dataset_linux.go",
			"	v, at := m.Desc.Gears[gear].Values, C.size_t(m.Desc.gearAt)", "if PLANTED { at = 0 }"),
		"data buffers are left": one("leak-data-buffer", "internal/acl/dataset_linux.go",
			"	for _, b := range d.bufs {", "if PLANTED { break }"),
		"pinned memory is left": one("reset-with-live", "internal/acl/memory_linux.go",
			"	b.ptr, b.Size = nil, 0", "if PLANTED && b.Pinned { return nil }"),
		"the device is left": one("leak-device", "internal/acl/lane_linux.go",
			"func (c claim) release(t *Thread) error {", "if PLANTED { return nil }"),
		"the end comes in the wrong order": one("reset-with-live", "internal/acl/lane_linux.go",
			"		last := len(t.owned) - 1", "if PLANTED { last = 0 }"),
		"a data buffer is destroyed twice": one("stale-data-buffer", "internal/acl/dataset_linux.go",
			"	err := t.check(\"aclmdlDestroyDataset\", C.c_aclmdlDestroyDataset(t.self, d.ptr))", "if PLANTED { C.c_aclDestroyDataBuffer(t.self, d.bufs[0]) }"),
		"a model runs synchronously, too": one("mixed-execute", "internal/acl/execute_linux.go",
			"	err := t.check(call, C.c_aclmdlExecuteAsync(t.self, m.id, in.ptr, out.ptr, s.ptr))", "if PLANTED { C.c_aclmdlExecute(t.self, m.id, in.ptr, out.ptr) }"),
		"calls come from any thread": one("no-context", "internal/acl/lane_linux.go",
			"		case j := <-l.jobs:", "if PLANTED { go func() { runtime.LockOSThread(); t.self = C.acl_thread(); j.res <- j.run(t) }(); continue }"),
		"memory is freed too early": {"free-in-use", []edit{
			{"internal/acl/lane_linux.go", "	if o.busy() {", "}\nif o.busy() && !PLANTED {"},
			{"internal/infer/npu_run_linux.go", "	err := b.queue(t, batch, wanted)", "if PLANTED { _ = t.Free(b.inputs[0]) }"}}},
		"ACL is not finalized": one("0 processes ended as", "internal/acl/library_linux.go",
			"	l.closed = true", "if PLANTED { return nil }"),
	}
}

// TestAPlantedMisuseIsCaught: with any of these mistakes in it, the product would
// fail every test of this package that serves on the double.
func TestAPlantedMisuseIsCaught(t *testing.T) {
	binary := withPlants(t)
	for _, name := range append([]string{""}, slices.Sorted(maps.Keys(plants()))...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakeacl.Options{}, `{"latency_us":2000}`)
			s.binary, s.ends, s.env = binary, 1, []string{"ASCENDCTL_TEST_PLANTED=" + name}
			r := s.start(s.write("model.om", gears().Encode()), "--name", "model")
			failed := r.await()
			if failed == nil {
				c := newClient(r.url, 1)
				for rows := 1; rows <= 8; rows++ {
					_, _ = c.ask(0, rows) // a wrong answer is no wonder
				}
				c.leave()
			}
			_ = r.stop()
			dirt := strings.Join(s.dirt(), "\n")
			if want := plants()[name].noted; want == "" && (failed != nil || dirt != "") || !strings.Contains(dirt, want) {
				t.Errorf("%v; the double says %q, which should hold %q", failed, dirt, want)
			}
		})
	}
}

// withPlants builds the product with all plants in it, each behind a switch. The
// lines they hang on must be there, once.
func withPlants(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, sources := t.TempDir(), map[string]string{}
	for name, p := range plants() {
		for _, e := range p.edits {
			at := filepath.Join(root, e.file)
			if sources[at] == "" {
				text, err := os.ReadFile(at)
				if err != nil {
					t.Fatal(err)
				}
				sources[at] = string(text)
			}
			if n := strings.Count(sources[at], e.line+"\n"); n != 1 {
				t.Fatalf("%q stands %d times in %s", e.line, n, e.file)
			}
			planted := strings.ReplaceAll(e.behind, "PLANTED", fmt.Sprintf("planted(%q)", name))
			sources[at] = strings.Replace(sources[at], e.line+"\n", e.line+"\n"+planted+"\n", 1)
		}
	}
	for _, room := range []string{"acl", "infer"} {
		sources[filepath.Join(root, "internal", room, "planted.go")] = "package " + room + "\n\nimport \"os\"\n\nfunc planted(name string) bool { return os.Getenv(\"ASCENDCTL_TEST_PLANTED\") == name }\n"
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for at, text := range sources {
		to := filepath.Join(dir, fmt.Sprint(len(overlay.Replace), ".go"))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[at] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "ascendctl")
	if text, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return binary
}
