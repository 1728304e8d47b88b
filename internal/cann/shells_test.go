package cann_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/settings"
)

// shells are those the forms are for, without any start-up file.
var shells = map[string][]string{
	"bash": {"bash", "--norc", "--noprofile", "-eu", "-c"}, "dash": {"dash", "-eu", "-c"},
	"zsh": {"zsh", "-f", "-eu", "-c"}, "fish": {"fish", "--no-config", "-c"},
}

// shellsOwn are what shells set without being asked.
var shellsOwn = []string{"PWD", "OLDPWD", "SHLVL", "_", "LOGNAME", "USER"}

// after gives the environments that the shell exports after the script ran once
// and after it ran twice.
func after(t fatal, shell, script string, base map[string]string) (once, twice map[string]string) {
	t.Helper()
	const show = "/usr/bin/env -0\n"
	argv := append(slices.Clone(shells[shell]), script+show+script+show)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = []string{}
	for k, v := range base {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%s: %v\n%s\n%s", shell, err, &complaints, script)
	}
	once, twice = map[string]string{}, map[string]string{}
	into := once
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		k, v, _ := strings.Cut(line, "=")
		if _, again := into[k]; again { // every name comes twice
			into = twice
		}
		into[k] = v
	}
	for _, m := range []map[string]string{once, twice} {
		for _, own := range shellsOwn {
			delete(m, own)
		}
	}
	return once, twice
}

type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func written(t fatal, s cann.Setup, shell string) string {
	t.Helper()
	write := s.Sh
	if shell == "fish" {
		write = s.Fish
	}
	text, err := write("CANN of a test", "two\nlines; echo no")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTwiceIsOnceInEveryShell: whatever the values hold, real shells end up
// with what Over says, after one evaluation and after two.
func TestTwiceIsOnceInEveryShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b c", "'", `"`, "$HOME", "`id`", "\\", "*", "?", "[x]", "!", "~", "#", ";", "&", "\n", "=", "{}", "(", "é", "中", "-n", "%s", "\t"})
		text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "pieces"), "") })
		folder := rapid.Custom(func(t *rapid.T) string {
			return "/" + rapid.SampledFrom([]string{"x", "y", "old"}).Draw(t, "root") + "/" + text.Draw(t, "below")
		})
		folders := rapid.SliceOfNDistinct(folder, 1, 3, rapid.ID[string])
		s := cann.Setup{Foreign: rapid.SliceOfN(folder, 0, 2).Draw(t, "foreign")}
		base := map[string]string{"HOME": "/nowhere", "LANG": "C.UTF-8"}
		for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "PYTHONPATH"} {
			v := cann.Var{Name: name, Front: folders.Draw(t, "front")}
			v.Back = slices.DeleteFunc(rapid.SliceOfN(folder, 0, 1).Draw(t, "back"), func(p string) bool { return slices.Contains(v.Front, p) })
			s.Vars = append(s.Vars, v)
			if rapid.Bool().Draw(t, "set before") || name == "PATH" {
				before := rapid.SliceOfN(rapid.OneOf(folder, rapid.Just("")), 0, 4).Draw(t, "before")
				base[name] = strings.Join(append(before, "/bin"), ":") // a shell without any PATH makes one up
			}
		}
		s.Vars = append(s.Vars, cann.Var{Name: "ASCEND_X", Value: text.Draw(t, "value")}, cann.Var{Name: "ATB_Y", Value: text.Draw(t, "default"), Default: true})
		if rapid.Bool().Draw(t, "default set") {
			base["ATB_Y"] = text.Draw(t, "mine")
		}
		want := s.Over(base)
		if d := cmp.Diff(want, s.Over(want)); d != "" {
			t.Fatalf("Over is not idempotent:\n%s", d)
		}
		for shell := range shells {
			want := want
			if shell == "fish" {
				want = s.Over(asFishTakes(base))
			}
			once, twice := after(t, shell, written(t, s, shell), base)
			if d := cmp.Diff(want, once); d != "" {
				t.Fatalf("%s, once (-want +got)\n%s", shell, d)
			}
			if d := cmp.Diff(want, twice); d != "" {
				t.Fatalf("%s, twice (-want +got)\n%s", shell, d)
			}
		}
		file, err := s.File(base)
		if strings.Contains(fmt.Sprint(s, base), "\n") {
			return // refused, or written: a test of its own
		}
		if err != nil {
			t.Fatal(err)
		}
		once, _ := after(t, "dash", "set -a\n"+file, base)
		if d := cmp.Diff(want, once); d != "" {
			t.Fatalf("file (-want +got)\n%s", d)
		}
	})
}

// asFishTakes gives an environment as fish reads it: in PATH, and only there,
// an empty element becomes "." before any script runs.
func asFishTakes(base map[string]string) map[string]string {
	out := maps.Clone(base)
	parts := strings.Split(base["PATH"], ":")
	for i, p := range parts {
		if p == "" {
			parts[i] = "."
		}
	}
	out["PATH"] = strings.Join(parts, ":")
	return out
}

// vendor runs the vendor-like scripts in a clean bash, as `.` does.
func vendor(t *testing.T, root string, before map[string]string, scripts ...string) map[string]string {
	t.Helper()
	var lines string
	for _, name := range scripts {
		data, err := os.ReadFile("testdata/set_env/" + name + ".sh")
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(root, name, "set_env.sh")
		arg := ""
		if strings.HasPrefix(name, "nnal") {
			at, arg = filepath.Join(root, "nnal/atb/set_env.sh"), " --cxx_abi=1"
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, bytes.ReplaceAll(data, []byte("/usr/local/Ascend"), []byte(root)), 0o644); err != nil {
			t.Fatal(err)
		}
		lines += ". " + at + arg + "\n"
	}
	cmd := exec.Command("bash", "--norc", "--noprofile", "-c", lines+"/usr/bin/env -0\n")
	cmd.Env = []string{}
	for k, v := range before {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if k, v, _ := strings.Cut(line, "="); !slices.Contains(shellsOwn, k) {
			got[k] = v
		}
	}
	return got
}

func defaults(t *testing.T, version string) (out []cann.Var) {
	t.Helper()
	s, err := settings.Load(book.New(book.Layer{Name: "compat", FS: compat.FS}))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Exported("nnal", version, strings.Compare) { // one digit each: the order of text
		out = append(out, cann.Var{Name: d.Name, Value: d.Value})
	}
	return out
}

// generation is an installed pair as the scripts of testdata/set_env expect it.
type generation struct{ toolkit, nnal, version, nnalVersion string }

func (g generation) installed(root, driver, arch string) (cann.Tree, cann.Needs) {
	t := cann.Tree{Path: root + "/cann-" + g.version, Layout: "8.5", Active: root + "/cann", Version: g.version}
	if strings.Compare(g.version, "8.5") < 0 {
		t = cann.Tree{Path: root + "/ascend-toolkit/" + g.version, Layout: "8.3", Active: root + "/ascend-toolkit/latest", Version: g.version}
	}
	n := cann.Needs{Arch: arch, Driver: driver, ABI: 1, Home: "/home/u"}
	if g.nnal != "" {
		n.NNAL = &cann.NNAL{Path: root + "/nnal/atb/" + g.nnalVersion, Active: true}
	}
	return t, n
}

// excuses applies the documented differences to what the vendor's script left,
// and notes which it needed.
func excuses(got map[string]string, before map[string]string, root string, foreign []string, driver string, used map[string]bool) map[string]string {
	out := maps.Clone(got)
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH"} {
		value, set := got[name]
		if !set {
			continue
		}
		var kept []string
		for one := range strings.SplitSeq(value, ":") {
			below := func(f string) bool { return strings.HasPrefix(one, f+"/") }
			switch {
			case one == "":
				used["empty"] = true
			case slices.ContainsFunc(foreign, below):
				used["one-cann"] = true
			case name == "PATH" && one == "/sbin" && !strings.Contains(before[name], "/sbin"):
				used["sbin"] = true
			case driver == "" && below(root+"/driver"):
				used["driver"] = true
			case slices.Contains(kept, one):
				used["once"] = true
			default:
				kept = append(kept, one)
			}
		}
		out[name] = strings.Join(kept, ":")
	}
	for name, mine := range before {
		if out[name] != mine && (strings.HasPrefix(name, "ATB_") || strings.HasPrefix(name, "ASDOPS_")) {
			out[name], used["yours"] = mine, true
		}
	}
	return out
}

func TestEnvEqualsTheVendorsScripts(t *testing.T) {
	uname, err := exec.Command("uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	arch := strings.TrimSpace(string(uname))
	used := map[string]bool{}
	compared := 0
	for _, g := range []generation{
		{"toolkit-7.0.0", "", "7.0.0", ""}, {"toolkit-8.1.RC1", "nnal-8.1.RC1", "8.1.RC1", "8.1.RC1"}, {"toolkit-8.5.0", "nnal-8.5.0", "8.5.0", "8.5.0"},
		{"toolkit-9.0.0", "nnal-8.5.0", "9.0.0", "8.5.0"}, {"toolkit-9.2-dev", "", "9.2.0", ""},
	} {
		for state, before := range map[string]map[string]string{
			"clean":  {},
			"preset": {"LD_LIBRARY_PATH": "/opt/x/lib", "PYTHONPATH": "/opt/x/py", "CMAKE_PREFIX_PATH": "/opt/x/cmake", "ATB_MATMUL_SHUFFLE_K_ENABLE": "0"},
			"twice":  {"LD_LIBRARY_PATH": "/opt/x/lib:/opt/y"},
			"driver": {"LD_LIBRARY_PATH": "ROOT/driver/lib64/driver:/opt/x/lib"},
		} {
			t.Run(g.toolkit+" "+state, func(t *testing.T) {
				root := t.TempDir()
				base := map[string]string{"HOME": "/home/u", "PATH": "/usr/bin:/bin"}
				for k, v := range before {
					base[k] = strings.ReplaceAll(v, "ROOT", root)
				}
				driver := ""
				if state == "driver" {
					driver = root + "/driver"
					lay(t, driver+"/lib64/driver/libascend_hal.so")
				}
				scripts := []string{g.toolkit}
				if g.nnal != "" {
					scripts = append(scripts, g.nnal)
				}
				if state == "twice" {
					scripts = append(scripts, scripts...)
				}
				tree, needs := g.installed(root, driver, arch)
				if g.nnal != "" {
					needs.Defaults = defaults(t, g.nnalVersion)
				}
				want := excuses(vendor(t, root, base, scripts...), base, root, nil, driver, used)
				setup := cann.Setup{Vars: cann.Env(tree, needs)}
				if driver != "" { // one of up to 8.3 names the driver only when it was there at install time
					want["LD_LIBRARY_PATH"] = withDriver(want["LD_LIBRARY_PATH"], driver)
				}
				for shell := range shells {
					once, twice := after(t, shell, written(t, setup, shell), base)
					if d := cmp.Diff(want, once); d != "" {
						t.Errorf("%s (-vendor +ours)\n%s", shell, d)
					}
					if d := cmp.Diff(once, twice); d != "" {
						t.Errorf("%s, twice\n%s", shell, d)
					}
					compared += len(want)
				}
			})
		}
	}
	t.Run("from 8.1 to 8.5", func(t *testing.T) {
		root := t.TempDir()
		base := map[string]string{"HOME": "/home/u", "PATH": "/usr/bin:/bin"}
		before := vendor(t, root, base, "toolkit-8.1.RC1")
		tree, needs := generation{version: "8.5.0"}.installed(root, "", arch)
		old, _ := generation{version: "8.1.RC1"}.installed(root, "", arch)
		in := cann.Installed{Trees: []cann.Tree{old, tree}, Links: []cann.Link{{Path: old.Active, Real: old.Path}, {Path: tree.Active, Real: tree.Path}}}
		setup := cann.Setup{Vars: cann.Env(tree, needs), Foreign: in.Foreign(tree, needs)}
		want := excuses(vendor(t, root, base, "toolkit-8.1.RC1", "toolkit-8.5.0"), base, root, []string{root + "/ascend-toolkit"}, "", used)
		if d := cmp.Diff(want, setup.Over(before)); d != "" {
			t.Errorf("(-vendor +ours)\n%s", d)
		}
	})
	for _, d := range cann.Differences() {
		if !used[d.ID] {
			t.Errorf("the difference %s is documented and never met", d.ID)
		}
		delete(used, d.ID)
	}
	for id := range used {
		t.Errorf("the difference %s is not documented", id)
	}
	t.Logf("%d variables compared", compared)
}

// withDriver puts the three folders where ours stand: behind those of CANN.
func withDriver(list, driver string) string {
	var out []string
	for one := range strings.SplitSeq(list, ":") {
		if !strings.HasPrefix(one, driver+"/") {
			out = append(out, one)
		}
	}
	at := slices.IndexFunc(out, func(p string) bool { return strings.HasPrefix(p, "/opt/") })
	return strings.Join(slices.Insert(out, at, driver+"/lib64", driver+"/lib64/common", driver+"/lib64/driver"), ":")
}

func lay(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
