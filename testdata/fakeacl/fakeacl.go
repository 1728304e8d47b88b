// Package fakeacl builds the double of libascendcl and reads its reports. The
// double is a shared library in C (folder c) that behaves like the vendor's and
// notes every use that the vendor's would punish; it computes on the CPU and is
// labelled simulated wherever it shows. Only tests import this package.
package fakeacl

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Profiles: which files there are, which functions they have, and the default
// of the setting "release".
const (
	Old   = "old" // one libascendcl.so with the functions up to 6.0; release 6.0
	Split = "8.5" // libacl_rt.so, libacl_mdl.so and the front libascendcl.so; release head
)

// Symbol is in every build: a text that says that nothing here is an NPU.
const Symbol = "fakeacl_is_simulated"

// Environment of a process that loads the double.
const (
	EnvConfig = "FAKEACL_CONFIG" // a JSON file, or the JSON itself; README.md lists the keys
	EnvReport = "FAKEACL_REPORT" // the file that events are appended to
	EnvORT    = "FAKEACL_ORT"    // libonnxruntime.so; needed by models that hold ONNX
)

// Options of a build.
type Options struct {
	Profile  string
	Missing  []string // functions to leave out, beside those the profile lacks
	Sanitize string   // for -fsanitize: address, undefined
	NoDriver bool     // Split only: it wants a libascend_hal.so that is not there
}

// Library is a built double.
type Library struct {
	Dir     string
	Front   string   // libascendcl.so
	Files   []string // where the functions are: libascendcl.so, or libacl_rt.so and libacl_mdl.so
	Play    string   // the program that plays scripts against them
	Missing []string // the functions left out
}

// Build compiles the double, once for each state of the sources and options:
// the result stays in the temporary folder for the next run.
func Build(t testing.TB, o Options) *Library {
	t.Helper()
	_, self, _, _ := runtime.Caller(0)
	src := filepath.Join(filepath.Dir(self), "c")
	missing, err := leftOut(filepath.Join(src, "acl.h"), o)
	if err != nil {
		t.Fatal(err)
	}
	key, err := fingerprint(src, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(os.TempDir(), "ascendctl-fakeacl-"+strconv.Itoa(os.Getuid())+"-"+key)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := build(src, dir, o, missing); err != nil {
			t.Fatal(err)
		}
	}
	l := &Library{Dir: dir, Front: filepath.Join(dir, "libascendcl.so"), Play: filepath.Join(dir, "play"), Missing: missing}
	l.Files = []string{l.Front}
	if o.Profile == Split {
		l.Files = []string{filepath.Join(dir, "libacl_rt.so"), filepath.Join(dir, "libacl_mdl.so")}
	}
	return l
}

// Env is the environment a process needs to load the library from l.Dir with
// these settings (JSON), a report file and libonnxruntime.so; "" leaves one out.
// CANN's signal handlers are kept away, as the product has to.
func (l *Library) Env(config, report, onnxruntime string) []string {
	env := []string{"ASCEND_COREDUMP_SIGNAL=none", "LD_LIBRARY_PATH=" + l.Dir}
	for name, value := range map[string]string{EnvConfig: config, EnvReport: report, EnvORT: onnxruntime} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// leftOut are the functions a build lacks: acl.h tells since when each is.
func leftOut(header string, o Options) ([]string, error) {
	text, err := os.ReadFile(header)
	if err != nil {
		return nil, err
	}
	out, since := slices.Clone(o.Missing), 0.0
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "// since "); ok {
			if since, err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
				return nil, fmt.Errorf("acl.h: %w", err)
			}
		}
		if before, _, ok := strings.Cut(line, "("); ok && since > 6 && o.Profile == Old && strings.HasSuffix(line, ");\n") {
			fields := strings.Fields(strings.ReplaceAll(before, "*", " "))
			out = append(out, fields[len(fields)-1])
		}
	}
	return out, nil
}

func fingerprint(src string, o Options) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, o, runtime.GOARCH)
	files, err := filepath.Glob(filepath.Join(src, "*"))
	for _, name := range append(files, filepath.Join(src, "../../../internal/ort/ort_abi.h")) {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(name), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// build compiles into a folder of its own and moves it into place, so that two
// tests at once do no harm.
func build(src, dir string, o Options, missing []string) error {
	work, err := os.MkdirTemp("", "ascendctl-fakeacl-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	release := "HEAD"
	if o.Profile == Old {
		release = "R60"
	}
	flags := []string{"-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Wno-format-truncation", "-fPIC", "-DFAKE_RELEASE=" + release, "-isystem", filepath.Join(src, "../../../internal/ort")}
	link := []string{"-shared", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-L" + work, "-Wl,--version-script=" + filepath.Join(work, "hidden")}
	if o.Sanitize != "" {
		flags = append(flags, "-fsanitize="+o.Sanitize, "-fno-omit-frame-pointer")
	}
	hidden := "{ global: *; local: fakeacl_nothing; "
	for _, name := range missing {
		hidden += name + "; "
	}
	if err := os.WriteFile(filepath.Join(work, "hidden"), []byte(hidden+"};\n"), 0o644); err != nil {
		return err
	}
	shared := func(name string, more ...string) error {
		return compile(work, slices.Concat(flags, link, []string{"-Wl,-soname," + name, "-o", filepath.Join(work, name)}, more, []string{"-lpthread", "-ldl"}))
	}
	rt, mdl := sources(src, "rt_*.c"), sources(src, "mdl_*.c")
	if o.Profile == Old {
		err = shared("libascendcl.so", append(rt, mdl...)...)
	} else {
		if o.NoDriver {
			err = shared("libascend_hal.so")
			rt = append(rt, "-lascend_hal")
		}
		err = errors.Join(err, shared("libacl_rt.so", rt...), shared("libacl_mdl.so", append(mdl, "-lacl_rt")...), shared("libascendcl.so", "-lacl_mdl", "-lacl_rt"))
	}
	if o.NoDriver {
		err = errors.Join(err, os.Remove(filepath.Join(work, "libascend_hal.so")))
	}
	if err != nil {
		return err
	}
	if err := compile(work, slices.Concat(flags, []string{"-o", filepath.Join(work, "play"), filepath.Join(src, "play.c"), "-lpthread", "-ldl"})); err != nil {
		return err
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			return err
		}
	}
	return nil
}

func sources(src, pattern string) []string {
	files, _ := filepath.Glob(filepath.Join(src, pattern)) // the pattern is good
	return files
}

func compile(dir string, args []string) error {
	cmd := exec.Command("gcc", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return nil
}

// Event is a line of a report.
type Event struct {
	Event  string // violation, note, or end: the process ended by itself
	Name   string // of the violation, as double-free
	Call   string // the function that was called
	Detail string
	PID    int
	Thread int

	// Of the event end.
	Violations, Leaks, Executes, Unpinned int
	Finalized                             bool
	Calls                                 map[string]int
}

// Events reads a report; a process that noted nothing and was killed leaves
// none. The last line of a killed process may be cut short: that is an error.
func Events(file string) ([]Event, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Event
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return out, fmt.Errorf("%s, line %d: %w", file, len(out)+1, err)
		}
		out = append(out, e)
	}
	return out, lines.Err()
}

// Violations are the violations among the events, as "name in call: detail".
func Violations(events []Event) (out []string) {
	for _, e := range events {
		if e.Event == "violation" {
			out = append(out, fmt.Sprintf("%s in %s: %s", e.Name, e.Call, e.Detail))
		}
	}
	return out
}
