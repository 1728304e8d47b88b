//go:build cgo && linux

package ort

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"go.uber.org/goleak"
)

const digits = "../../testdata/models/digits/digits.onnx"

// library opens ONNX Runtime once: the one ASCENDCTL_ORT_LIB names, else what
// `make deps` fetched, else what the machine has.
var library = sync.OnceValues(func() (*Library, error) {
	s := Searcher{Explicit: os.Getenv("ASCENDCTL_ORT_LIB"), Arch: runtime.GOARCH, Getenv: os.Getenv, Glob: filepath.Glob}
	var err error
	if s.Cache, err = filepath.Abs("../../.cache/ort"); err != nil {
		return nil, err
	}
	found, tried := Search(s)
	if dir, err := os.UserCacheDir(); err == nil && found.How == Loader {
		s.Cache = filepath.Join(dir, "ascendctl")
		found, _ = Search(s)
	}
	lib, err := Open(found.File)
	if err != nil {
		return nil, fmt.Errorf("%w\nlooked in %s\nrun: make deps", err, strings.Join(tried, ", "))
	}
	return lib, nil
})

func load(t *testing.T, o Options) *Session {
	t.Helper()
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	s, err := lib.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// image is n rows of zeros for the digits model.
func image(n int) []Tensor {
	return []Tensor{{DType: ascend.Float, Shape: []int64{int64(n), 1, 8, 8}, Data: make([]byte, 256*n)}}
}

func fresh(_ int, _ ascend.DType, _ []int64, size int64) ([]byte, error) {
	return make([]byte, size), nil
}

func TestLibraryTellsVersionAndFile(t *testing.T) {
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	if !usable(lib.Version) || !filepath.IsAbs(lib.File) || !strings.Contains(lib.File, "libonnxruntime") {
		t.Errorf("got %q, %q", lib.Version, lib.File)
	}
}

func TestPortsOfDigits(t *testing.T) {
	s := load(t, Options{Path: digits})
	defer s.Close()
	want := Port{"image", TensorKind, ascend.Float, []int64{-1, 1, 8, 8}, []string{"batch", "", "", ""}}
	if got := s.Inputs; len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	want = Port{"logits", TensorKind, ascend.Float, []int64{-1, 10}, []string{"batch", ""}}
	if got := s.Outputs; len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("outputs %v, want %v", got, want)
	}
}

// build compiles a library whose version string is the one given and whose
// table must not be asked for: GetApi ends the process.
func build(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	c, so := filepath.Join(dir, "double.c"), filepath.Join(dir, "libonnxruntime.so.1")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	args := append(strings.Fields(cc), "-shared", "-fPIC", "-o", so, c)
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return so
}

const double = `#include <stdlib.h>
static const void *get_api(unsigned version) { (void)version; %s }
static const char *version(void) { return "%s"; }
static const struct { const void *(*a)(unsigned); const char *(*v)(void); } base = { get_api, version };
const void *OrtGetApiBase(void) { return &base; }
`

func TestLibrariesThatCannotBeUsedAreRefused(t *testing.T) {
	for _, c := range []struct{ name, path, says string }{
		{"a missing file", "/nowhere/libonnxruntime.so", "/nowhere/libonnxruntime.so: cannot open"},
		{"another library", "libm.so.6", "is not ONNX Runtime"},
		{"too old", build(t, fmt.Sprintf(double, "abort();", "1.16.3")), "version 1.16.3, expected 1.17 or newer"},
		{"another major", build(t, fmt.Sprintf(double, "abort();", "2.17.0")), "version 2.17.0, expected 1.17"},
		{"a version that is none", build(t, fmt.Sprintf(double, "abort();", "nightly")), "version nightly"},
		{"no table", build(t, fmt.Sprintf(double, "return NULL;", "1.30.0")), "does not offer API version 17"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib, err := Open(c.path)
			if lib != nil || !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v; want ErrNoLibrary that says %q", err, c.says)
			}
		})
	}
}

func TestRunRefusesWhatTheModelDoesNotHave(t *testing.T) {
	s := load(t, Options{Path: digits})
	defer s.Close()
	full := errors.New("no room")
	for name, c := range map[string]struct {
		in    []Tensor
		out   []int
		place Place
		code  int
	}{
		"no input":            {nil, []int{0}, fresh, CodeInvalidArgument},
		"two inputs":          {append(image(1), image(1)...), []int{0}, fresh, CodeInvalidArgument},
		"no output":           {image(1), nil, fresh, CodeInvalidArgument},
		"output 1":            {image(1), []int{1}, fresh, CodeInvalidArgument},
		"output -1":           {image(1), []int{-1}, fresh, CodeInvalidArgument},
		"another type":        {[]Tensor{{ascend.Int32, []int64{1, 1, 8, 8}, make([]byte, 256)}}, []int{0}, fresh, CodeInvalidArgument},
		"another dim":         {[]Tensor{{ascend.Float, []int64{1, 1, 4, 16}, make([]byte, 256)}}, []int{0}, fresh, CodeInvalidArgument},
		"too few bytes":       {[]Tensor{{ascend.Float, []int64{1, 1, 8, 8}, make([]byte, 255)}}, []int{0}, fresh, CodeInvalidArgument},
		"a type we know not":  {[]Tensor{{99, []int64{1, 1, 8, 8}, make([]byte, 256)}}, []int{0}, fresh, CodeInvalidArgument},
		"a buffer too short":  {image(1), []int{0}, func(int, ascend.DType, []int64, int64) ([]byte, error) { return make([]byte, 39), nil }, CodeInvalidArgument},
		"no buffer":           {image(1), []int{0}, func(int, ascend.DType, []int64, int64) ([]byte, error) { return nil, full }, 0},
		"an undefined tensor": {[]Tensor{{}}, []int{0}, fresh, CodeInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Run(t.Context(), c.in, c.out, c.place)
			var e *Error
			if c.code == 0 && err != full || c.code != 0 && (!errors.As(err, &e) || e.Code != c.code || e.Name == "") {
				t.Errorf("got %v, want code %d", err, c.code)
			}
			if err := s.Run(t.Context(), image(2), []int{0}, fresh); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestClosedSessionSaysSo(t *testing.T) {
	s := load(t, Options{Path: digits})
	for i, want := range []error{nil, ErrClosed} {
		if err := s.Close(); err != want {
			t.Errorf("Close %d: got %v, want %v", i+1, err, want)
		}
	}
	if err := s.Run(t.Context(), image(1), []int{0}, fresh); err != ErrClosed {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// identity is a model of one Identity from x to y, floats of any shape, as
// protobuf of onnx.proto; every part is shorter than 128 bytes.
func identity() []byte {
	part := func(tag byte, b string) string { return string([]byte{tag, byte(len(b))}) + b }
	port := func(name string) string { return part(0x0a, name) + part(0x12, part(0x0a, "\x08\x01")) }
	graph := part(0x0a, part(0x0a, "x")+part(0x12, "y")+part(0x22, "Identity")) + part(0x12, "g") +
		part(0x5a, port("x")) + part(0x62, port("y"))
	return []byte("\x08\x08" + part(0x3a, graph) + part(0x42, "\x10\x11"))
}

// TestNothingLeaks takes every way out of Run and of Load so often that what
// one of them forgets adds up to more than the allowance.
func TestNothingLeaks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := load(t, Options{Data: identity(), Threads: 1})
	data := make([]byte, 1<<20)
	in := []Tensor{{ascend.Float, []int64{1 << 18}, data}}
	out := make([]byte, len(data))
	into := func(int, ascend.DType, []int64, int64) ([]byte, error) { return out, nil }
	words := []Tensor{{ascend.Float, []int64{1}, data[:4]}}
	few := out[:4]
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, way := range []struct {
		name  string
		times int
		take  func() error
		want  string // what the error says
	}{
		{"success", 200, func() error { return s.Run(t.Context(), in, []int{0}, into) }, ""},
		{"no room", 200, func() error {
			return s.Run(t.Context(), in, []int{0}, func(int, ascend.DType, []int64, int64) ([]byte, error) { return nil, errors.New("full") })
		}, "full"},
		{"cancelled meanwhile", 200, func() error {
			ctx, cancel := context.WithCancel(t.Context())
			return s.Run(ctx, in, []int{0}, func(int, ascend.DType, []int64, int64) ([]byte, error) { cancel(); return nil, ctx.Err() })
		}, "canceled"},
		{"cancelled before", 1000, func() error { return s.Run(ended, in, []int{0}, into) }, "stopped"},
		{"small and many", 20000, func() error {
			return s.Run(t.Context(), words, []int{0}, func(int, ascend.DType, []int64, int64) ([]byte, error) { return few, nil })
		}, ""},
		// Refused at the input, not within Run: there ONNX Runtime 1.30 itself
		// loses 2 KiB each time.
		{"refused by the library", 40000, func() error {
			return s.Run(t.Context(), []Tensor{{ascend.Complex64, []int64{1}, data[:8]}}, []int{0}, into)
		}, "NOT_IMPLEMENTED"},
		{"not loaded", 100, func() error { _, err := s.lib.Load(Options{Data: []byte("rubbish")}); return err }, "INVALID_PROTOBUF"},
		{"load and close", 30, func() error {
			s, err := s.lib.Load(Options{Path: digits, Threads: 3})
			if err != nil {
				return err
			}
			return s.Close()
		}, ""},
	} {
		var before, threads int
		for i := range way.times + way.times/10 {
			if i == way.times/10 {
				before, threads = self(t)
			}
			if err := way.take(); (err == nil) != (way.want == "") || err != nil && !strings.Contains(err.Error(), way.want) {
				t.Fatalf("%s: %v", way.name, err)
			}
		}
		after, threadsAfter := self(t)
		t.Logf("%s: %d KiB, %d threads more", way.name, (after-before)>>10, threadsAfter-threads)
		if after-before > allowance || threadsAfter-threads > 16 {
			t.Errorf("%s: %d KiB and %d threads more after %d times", way.name, (after-before)>>10, threadsAfter-threads, way.times)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// self is this process' resident memory in bytes and its number of threads.
func self(t *testing.T) (resident, threads int) {
	t.Helper()
	debug.FreeOSMemory() // Go's own heap is not what is measured
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch f[0] {
		case "VmRSS:":
			resident, err = strconv.Atoi(f[1])
			resident <<= 10
		case "Threads:":
			threads, err = strconv.Atoi(f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return resident, threads
}

func FuzzTensorCheck(f *testing.F) {
	f.Add(uint8(ascend.String), int64(2), int64(1), []byte("\x01\x00\x00\x00a\x00\x00\x00\x00"))
	f.Add(uint8(ascend.String), int64(1), int64(1), []byte("\xff\xff\xff\xff"))
	f.Add(uint8(ascend.Bool), int64(1), int64(3), []byte{0, 1, 2})
	f.Add(uint8(ascend.Int4), int64(1), int64(3), []byte{0, 1})
	f.Add(uint8(ascend.Float), int64(1<<31), int64(1<<33), []byte{})
	f.Add(uint8(250), int64(-1), int64(0), []byte{})
	f.Fuzz(func(t *testing.T, dtype uint8, a, b int64, data []byte) {
		x := Tensor{ascend.DType(dtype), []int64{a, b}, data}
		n, err := x.check()
		if err != nil {
			return
		}
		// What C does with it afterwards must stay within data.
		if x.DType != ascend.String {
			if size, ok := x.DType.Size(n); !ok || size != int64(len(data)) {
				t.Fatalf("%d elements of %v in %d bytes", n, x.DType, len(data))
			}
			return
		}
		for range n {
			data = data[4+binary.LittleEndian.Uint32(data):]
		}
		if len(data) != 0 {
			t.Fatalf("%d bytes left", len(data))
		}
	})
}

func TestErrorNamesItsCode(t *testing.T) {
	for code, want := range map[int]string{1: "FAIL (1): x", 2: "INVALID_ARGUMENT (2): x", 15: "DEVICE_RESET (15): x", 99: "UNKNOWN (99): x", -1: "UNKNOWN (-1): x"} {
		if got := failure(code, "x").Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if kinds := []Kind{kindOf(1), kindOf(6), kindOf(7), kindOf(-1)}; !slices.Equal(kinds, []Kind{TensorKind, "optional", Unknown, Unknown}) {
		t.Errorf("kinds %v", kinds)
	}
}
