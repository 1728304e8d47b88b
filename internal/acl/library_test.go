//go:build cgo && linux

package acl

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

var built sync.Map

// tiny builds the simulated library once for each set of defines, into a folder
// with that name for the libraries of CANN.
func tiny(t *testing.T, name string, defines ...string) string {
	t.Helper()
	key := name + strings.Join(defines, "")
	if f, ok := built.Load(key); ok {
		return f.(string)
	}
	dir, err := os.MkdirTemp("", "tiny")
	if err != nil {
		t.Fatal(err)
	}
	cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, name)
	args := []string{"-shared", "-fPIC", "-std=gnu11", "-O1", "-Wl,-Bsymbolic", "-o", file, "testdata/tiny/tiny.c", "testdata/tiny/rest.c"}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	built.Store(key, file)
	return file
}

var atEnd []func()

func cleanup(f func()) { atEnd = append(atEnd, f) }

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

func exact(files ...string) Found { return Found{Layouts: [][]string{files}} }

// opened is the simulated library, open, with its log.
func opened(t *testing.T, o Options, defines ...string) (*Library, func() string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("TINY_LOG", log)
	if o.Search.Layouts == nil {
		o.Search = exact(tiny(t, "libascendcl.so", append(defines, "SIMULATED")...))
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return l, func() string {
		data, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(data)
	}
}

func TestOpenTellsWhatIsLoaded(t *testing.T) {
	l, log := opened(t, Options{Config: "acl.json"})
	if l.Layout != Whole || l.Version != "1.16.0" || !l.Simulated || !l.Owned || len(l.Lacks) != 0 || len(l.Files) != 1 || !filepath.IsAbs(l.Files[0]) {
		t.Errorf("got %+v", l)
	}
	if _, err := Open(Options{Search: exact(l.Files[0])}); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("a second library: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := log(); !strings.Contains(got, "init acl.json") || !strings.Contains(got, "reference left 0") {
		t.Errorf("log: %s", got)
	}
}

func TestOldReleaseIsTakenAndItsGapsNamed(t *testing.T) {
	l, log := opened(t, Options{}, "OLD")
	if l.Version != "" || !slices.Contains(l.Lacks, "aclrtStreamAbort") || !slices.Contains(l.Lacks, "aclFinalizeReference") {
		t.Errorf("version %q, lacks %v", l.Version, l.Lacks)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log(), "finalize left 0") {
		t.Errorf("log: %s", log())
	}
}

func TestSplitLibrariesAreOneTable(t *testing.T) {
	rt := tiny(t, rtName, "SIMULATED")
	mdl := filepath.Join(filepath.Dir(rt), mdlName)
	empty(t, mdl)
	l, _ := opened(t, Options{Search: Search(Searcher{Explicit: filepath.Dir(rt), Exists: exists})})
	if l.Layout != Split || len(l.Files) != 2 {
		t.Errorf("got %s %v", l.Layout, l.Files)
	}
}

func exists(p string) bool { _, err := os.Stat(p); return err == nil }

// empty builds a library without any function.
func empty(t *testing.T, file string, more ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", append([]string{"-shared", "-fPIC", "-o", file, "-xc", "/dev/null"}, more...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
}

func TestWhatCannotBeUsedSaysWhyAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text", wholeName)
	none := filepath.Join(dir, "none", wholeName)
	stub := filepath.Join(dir, "devlib", "linux", wholeName)
	hal := filepath.Join(dir, "hal", wholeName)
	undefined := filepath.Join(dir, "lib64", wholeName)
	empty(t, none)
	empty(t, stub)
	gone := filepath.Join(dir, "gone", "libascend_hal.so")
	empty(t, gone, "-Wl,-soname,libascend_hal.so")
	empty(t, hal, "-Wl,--no-as-needed", "-L"+filepath.Dir(gone), "-l:libascend_hal.so")
	beside := filepath.Join(dir, "gone", "libruntime.so")
	empty(t, beside, "-Wl,-soname,libruntime.so")
	empty(t, undefined, "-Wl,--no-as-needed", "-L"+filepath.Dir(gone), "-l:libruntime.so")
	linked := filepath.Join(dir, "linked", wholeName)
	for _, err := range []error{os.RemoveAll(filepath.Dir(gone)), os.MkdirAll(filepath.Dir(text), 0o755), os.WriteFile(text, []byte(strings.Repeat("no library ", 500)), 0o644),
		os.MkdirAll(filepath.Dir(linked), 0o755), os.Symlink(stub, linked)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, file, what, run string }{
		{"nothing there", "/nowhere/" + wholeName, "CANN is not installed here", "ascendctl preflight"},
		{"no driver", hal, "the libraries of the NPU driver are missing", "ascendctl preflight"},
		{"no neighbours", undefined, "not the libraries beside it", "source " + filepath.Join(dir, "set_env.sh")},
		{"damaged", text, "of another architecture or damaged", ""},
		{"a link to a stub", linked, "a stub for building", ""}, // before the stub: the loader keeps the first name of a file
		{"a stub", stub, "a stub for building", ""},
		{"no ACL library", none, "lacks the function aclInit", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(Options{Search: exact(c.file)})
			var p *report.Problem
			if !errors.Is(err, ErrNoLibrary) || !errors.As(err, &p) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(p.Error(), c.what) || p.Do.IsZero() || p.Do.Zh == "" || c.run != "" && p.Run != c.run {
				t.Errorf("got %s; do %s; run %s", p, p.Do.En, p.Run)
			}
		})
	}
	if _, err := Open(Options{}); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("no file: %v", err)
	}
}

func TestInitialisedByAnotherIsNoFailure(t *testing.T) {
	t.Setenv("TINY_FAIL", "aclInit:100002")
	l, log := opened(t, Options{}, "OLD")
	if l.Owned {
		t.Error("owned")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log(), "finalize") {
		t.Error("finalised what another part of the process uses")
	}
	t.Setenv("TINY_FAIL", "aclInit:500000")
	_, err := Open(Options{Search: exact(tiny(t, "libascendcl.so", "OLD", "SIMULATED"))})
	var e *Error
	if !errors.As(err, &e) || e.Code != 500000 || e.Call != "aclInit" {
		t.Errorf("got %v", err)
	}
}

// TestSignalsOfGoSurvive loads a library whose constructor takes 13 signals
// without an alternate stack, as CANN up to 9.1 does where it is not told
// otherwise, and gives its thread another alternate stack, as later ones do; its
// handler ends the process with status 77.
func TestSignalsOfGoSurvive(t *testing.T) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	defer signal.Stop(term)
	l, log := opened(t, Options{Search: exact(tiny(t, "libascendcl.so", "SIGNALS"))})
	if got := l.Signals(); !slices.Equal(got, []int{2, 3, 4, 5, 6, 7, 8, 11, 15, 24, 25, 31, 35}) {
		t.Errorf("put back %v", got)
	}
	if !strings.Contains(log(), "coredump=none") {
		t.Errorf("log: %s", log())
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		var p *int
		*p = 1
	}()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-term:
	case <-time.After(10 * time.Second):
		t.Error("SIGTERM does not arrive")
	}
}
