package install

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
)

// coreDump begins as the ELF header of a dump (type 4) does.
const coreDump = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00 dump"

// litterIn are the facts of a login whose home is a folder of the test; all
// that is asked besides is asked of this machine.
func litterIn(t *testing.T) (string, *facts.Facts) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &facts.Facts{Target: "local"}
	f.Identity = facts.Fact[facts.Identity]{State: host.Known, Value: facts.Identity{UID: os.Getuid(), User: "me", Home: home}}
	f.Env = facts.Fact[map[string]string]{State: host.Known, Value: map[string]string{"XDG_STATE_HOME": filepath.Join(home, "state")}}
	return home, f
}

// write makes a file of that age with the folders above it, all as old.
func write(t *testing.T, home, name, text string, age time.Duration) string {
	t.Helper()
	p := filepath.Join(home, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	for at := p; at != home; at = filepath.Dir(at) {
		if err := os.Chtimes(at, then, then); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

const day = 24 * time.Hour

// litters are all kinds but ours: that looks into /var/lib of this machine.
var litters = []string{litterCANN, litterCores, litterKernel, litterLogs}

// clean makes the plan and, when run is set, does it.
func clean(t *testing.T, w Sweep, f *facts.Facts, run bool) *Set {
	t.Helper()
	h := host.NewLocal()
	set, err := Clean(t.Context(), h, w, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set.Plan.Steps {
		if s.Keeps.IsZero() {
			t.Errorf("%s does not say that it cannot be taken back", s.ID)
		}
	}
	if !run {
		return set
	}
	made, err := plan.Make(t.Context(), h, set.Plan, plan.Options{Dir: t.TempDir(), Poll: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Agree(t.Context(), plan.Consent{Yes: true}, made); err != nil {
		t.Fatal(err)
	}
	if out, err := made.Run(t.Context()); err != nil || out.State != plan.Done && out.State != plan.Nothing {
		t.Fatal(out, err)
	}
	return set
}

func exists(p string) bool { _, err := os.Lstat(p); return err == nil }

func keptAs(s *Set, p string) string {
	for _, k := range s.Keep {
		if k.Version == p {
			return k.Why.En
		}
	}
	return ""
}

func TestOldLitterGoesAndTheRestStays(t *testing.T) {
	home, f := litterIn(t)
	goes := []string{
		write(t, home, "ascend/log/debug/plog/plog-1_2.log", "x", 8*day),
		write(t, home, "ascend/log/run/device-0/device-1_2.log", "x", 8*day),
		write(t, home, "ascend/atrace/trace_1/event_2/schedule_3.bin", "x", 8*day),
		write(t, home, "w o'rk\t*/kernel_meta/kernel_meta_7/te_add.o", "x", 8*day),
		write(t, home, "kernel_meta_temp_12/a.cce", "x", 8*day),
		write(t, home, "work/core.12", coreDump, 8*day),
		write(t, home, "stackcore_tracer_11_12.txt", "x", 8*day),
	}
	stays := []string{
		write(t, home, "ascend/log/debug/plog/plog-3_4.log", "x", 6*day),
		write(t, home, "ascend/log/debug/plog/notes.txt", "x", 8*day),
		write(t, home, "ascend/log/debug/mine/a.log", "x", 8*day),
		write(t, home, "ascend/log/a.log", "x", 8*day),
		write(t, home, "work/core", "the core of the matter", 8*day),
		write(t, home, "work/core.py", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00 a library", 8*day),
		write(t, home, "work/core.13", coreDump, day),
		write(t, home, "work2/kernel_meta/b.o", "x", day),
		write(t, home, "kernel_metadata/b.o", "x", 8*day),
	}
	set := clean(t, Sweep{What: litters, Age: 7 * day}, f, true)
	for _, p := range goes {
		if exists(p) {
			t.Errorf("%s is still there", p)
		}
	}
	for _, p := range stays {
		if !exists(p) {
			t.Errorf("%s is gone", p)
		}
	}
	if exists(filepath.Join(home, "kernel_meta_temp_12")) || !exists(filepath.Join(home, "work2/kernel_meta")) {
		t.Error("a folder goes whole or stays whole")
	}
	if again := clean(t, Sweep{What: litters, Age: 7 * day}, f, false); len(again.Plan.Steps) != 0 || len(set.Plan.Steps) < 5 {
		t.Errorf("%d steps, then %d", len(set.Plan.Steps), len(again.Plan.Steps))
	}
}

func TestWhatAProcessHoldsStaysAndIsNamed(t *testing.T) {
	home, f := litterIn(t)
	open := write(t, home, "ascend/log/debug/plog/plog-1_2[a].log", "x", 8*day)
	beside := write(t, home, "ascend/log/debug/plog/plog-1_2a.log", "x", 8*day)
	stood := filepath.Dir(write(t, home, "svc/kernel_meta/a.o", "x", 8*day))
	file, err := os.Open(open)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sleeper(t, stood, "sleep")
	set := clean(t, Sweep{Age: 7 * day, What: litters}, f, true)
	if !exists(open) || !exists(stood) || exists(beside) {
		t.Errorf("open %v, stood in %v, beside %v", exists(open), exists(stood), exists(beside))
	}
	for _, p := range []string{open, stood} {
		if why := keptAs(set, p); !strings.Contains(why, "in use by process") {
			t.Errorf("%s: %q", p, why)
		}
	}
}

// sleeper is a process that stands in dir.
func sleeper(t *testing.T, dir, program string) {
	t.Helper()
	c := exec.Command(program, "60")
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
}

func TestAHomeBehindALinkIsSearchedAndItsUsersAreSeen(t *testing.T) {
	home, f := litterIn(t)
	f.Identity.Value.Home = filepath.Join(home, "link")
	if err := os.Symlink("real", f.Identity.Value.Home); err != nil {
		t.Fatal(err)
	}
	open := write(t, home, "real/ascend/log/run/plog/plog-1_2.log", "x", 8*day)
	other := write(t, home, "real/ascend/log/run/plog/plog-3_4.log", "x", 8*day)
	file, err := os.Open(open)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	clean(t, Sweep{What: litters, Age: 7 * day}, f, true)
	if !exists(open) || exists(other) {
		t.Error(exists(open), exists(other))
	}
}

func TestVariablesAndFlagsSayWhereToSearch(t *testing.T) {
	home, f := litterIn(t)
	f.Env.Value["ASCEND_WORK_PATH"] = filepath.Join(home, "w")
	f.CorePattern = facts.Fact[string]{State: host.Known, Value: filepath.Join(home, "dumps/%e.%p")}
	w := Sweep{What: litters, Age: time.Hour, In: []string{filepath.Join(home, "deep/1/2/3/4/srv")}}
	goes := []string{
		write(t, home, "w/log/run/plog/plog-1_2.log", "x", day),
		write(t, home, "w/kernel_meta/a.o", "x", day),
		write(t, home, "dumps/python3.77", coreDump, day),
		write(t, home, "deep/1/2/3/4/srv/kernel_meta/a.o", "x", day),
	}
	stays := write(t, home, "ascend/log/run/plog/plog-1_2.log", "x", day)
	clean(t, w, f, true)
	for _, p := range goes {
		if exists(p) {
			t.Errorf("%s is still there", p)
		}
	}
	if !exists(stays) {
		t.Error("a folder that is not searched lost a file")
	}
	for _, bad := range []string{"srv", "/", "/a/../b", "/a\nb"} {
		if _, err := Clean(t.Context(), host.NewLocal(), Sweep{In: []string{bad}}, f); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// oldCANN lays a CANN with an uninstaller that removes it.
func oldCANN(t *testing.T, home, version string) cann.Tree {
	t.Helper()
	tree := cann.Tree{Path: filepath.Join(home, "Ascend", "cann-"+version), Version: version, User: true}
	tree.Info = write(t, home, "Ascend/cann-"+version+"/x86_64-linux/ascend_toolkit_install.info", "version="+version, 0)
	run := write(t, home, "Ascend/cann-"+version+"/cann_uninstall.sh", "#!/bin/sh\nrm -rf '"+tree.Path+"'\n", 0)
	if err := os.Chmod(run, 0o755); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestOnlyACANNThatNothingUsesGoes(t *testing.T) {
	home, f := litterIn(t)
	trees := map[string]cann.Tree{}
	for _, v := range []string{"8.5.0", "8.5.1", "8.5.2", "9.0.0", "9.0.1", "9.1.0"} {
		trees[v] = oldCANN(t, home, v)
	}
	active := trees["9.1.0"]
	active.Active = filepath.Join(home, "Ascend/cann")
	trees["9.1.0"] = active
	f.CANN = facts.Fact[cann.Installed]{State: host.Known, Value: cann.Installed{Trees: slices.Collect(maps.Values(trees))}}

	program, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	mapped := write(t, home, "Ascend/cann-8.5.1/bin/sleep", string(data), 0)
	if err := os.Chmod(mapped, 0o755); err != nil {
		t.Fatal(err)
	}
	sleeper(t, "/", mapped)
	write(t, home, ".bashrc", "source "+trees["8.5.2"].Path+"/set_env.sh\n", 0)
	f.Env.Value["LD_LIBRARY_PATH"] = "/lib:" + trees["9.0.0"].Path + "/lib64"
	if err := os.Remove(filepath.Join(trees["9.0.1"].Path, "cann_uninstall.sh")); err != nil {
		t.Fatal(err)
	}

	hint := clean(t, Sweep{Age: 7 * day, What: []string{litterKernel}}, f, false)
	if len(hint.Plan.Steps) != 0 || len(hint.Notes) != 1 || !strings.Contains(hint.Notes[0].En, "8.5.0") {
		t.Errorf("unasked: %d steps, notes %v", len(hint.Plan.Steps), hint.Notes)
	}
	set := clean(t, Sweep{What: []string{litterCANN}}, f, true)
	for v, tree := range trees {
		if exists(tree.Path) != (v != "8.5.0") {
			t.Errorf("%s: there %v", v, exists(tree.Path))
		}
	}
	for v, why := range map[string]string{"8.5.1": "process", "8.5.2": ".bashrc", "9.0.0": "LD_LIBRARY_PATH", "9.0.1": "uninstall", "9.1.0": "default"} {
		if got := keptAs(set, trees[v].Path); !strings.Contains(got, why) {
			t.Errorf("%s is kept because %q, want %s", v, got, why)
		}
	}
}

// TestWhateverLiesThereOnlyOldOwnLitterGoes deletes by the very commands of
// plans, over random folders.
func TestWhateverLiesThereOnlyOldOwnLitterGoes(t *testing.T) {
	root := os.Getuid() == 0
	files, gone := 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		home, f := litterIn(t)
		dirs := []string{"ascend/log/debug/plog", "ascend/log/security/device-1", "ascend/log", "kernel_meta", "a/b/kernel_meta_9", "a/kernel_metas", "p", "p/q/r/s/kernel_meta", "ascend/atrace/t"}
		names := []string{"a.log", "core", "core.1", "b.log.1", "x y", "stackcore_tracer_1_2.txt", "[a]*?.log", "new\nline.log"}
		want := map[string]bool{} // path to: may go
		var held []*os.File
		for range 25 {
			p := filepath.Join(home, dirs[r.IntN(len(dirs))], names[r.IntN(len(names))])
			if exists(p) {
				continue
			}
			old, foreign, inUse := r.IntN(4) > 0, r.IntN(5) == 0, r.IntN(8) == 0
			age := time.Duration(r.IntN(6)) * day
			if old {
				age += 8 * day
			}
			write(t, home, strings.TrimPrefix(p, home+"/"), []string{"text", coreDump}[r.IntN(2)], age)
			if foreign && root {
				if err := os.Lchown(p, 4711, 4711); err != nil {
					t.Fatal(err)
				}
			}
			if inUse {
				h, err := os.Open(p)
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, h)
			}
			want[p] = old && !(foreign && root) && !inUse
		}
		set := clean(t, Sweep{What: litters, Age: 7 * day}, f, false)
		for _, s := range set.Plan.Steps {
			argv := s.Do[0].(plan.Command).Argv
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Errorf("seed %d: %q: %v\n%s", seed, argv, err, out)
			}
		}
		for p, may := range want {
			files++
			if exists(p) {
				continue
			}
			gone++
			if !may || !litterAt(strings.TrimPrefix(p, home+"/")) {
				t.Errorf("seed %d: %q is gone", seed, p)
			}
		}
		for _, h := range held {
			h.Close()
		}
	}
	t.Logf("%d files, %d deleted", files, gone)
	if gone == 0 || gone == files {
		t.Error("all or nothing proves nothing")
	}
}

// litterAt is a second opinion on what is litter by its place and name.
func litterAt(p string) bool {
	dir, name := filepath.Split(p)
	dir = "/" + dir
	for _, d := range []string{"/kernel_meta/", "/kernel_meta_9/", "/atrace/", "/plog/", "/device-1/"} {
		if strings.Contains(dir, d) {
			return true
		}
	}
	return strings.HasPrefix(name, "core") || strings.HasPrefix(name, "stackcore_tracer_")
}

func TestWhoCannotLookIsToldSo(t *testing.T) {
	_, f := litterIn(t)
	f.Identity = facts.Fact[facts.Identity]{State: host.Unknown, Note: "no answer in time"}
	if _, err := Clean(t.Context(), host.NewLocal(), Sweep{}, f); err == nil || !strings.Contains(fmt.Sprint(err), "cannot see") {
		t.Error(err)
	}
}
