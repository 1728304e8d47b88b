//go:build cgo && linux

package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// The tests on simulated NPUs run the built binary on the double of libascendcl,
// which is simulated: front, workers and sockets are real, the NPU is not.

// built is the binary, made once for all of them.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func product(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "ascendctl-npu-"); built.err != nil {
			return
		}
		args := []string{"build", "-o", filepath.Join(built.dir, "ascendctl")}
		if raceDetector {
			args = append(args, "-race")
		}
		if text, err := exec.Command("go", append(args, "..")...).CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, text)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "ascendctl")
}

// stage is a folder with a model, the double and what it notes.
type stage struct {
	t      testing.TB
	double *fakeacl.Library
	dir    string
	report string
	config string
	ends   int    // of processes that use ACL, at least
	binary string // in place of the product
	env    []string
}

func newStage(t testing.TB, o fakeacl.Options, config string) *stage {
	t.Helper()
	if o.Profile == "" {
		o.Profile = fakeacl.Split
	}
	s := &stage{t: t, double: fakeacl.Build(t, o), dir: t.TempDir(), config: config}
	s.report = filepath.Join(s.dir, "report")
	return s
}

// gears is an .om that gives back its rows: x FLOAT [n,4] -> y.
func gears() omtest.File {
	row := []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{8, 4}}}
	return omtest.File{Generation: omtest.Wide, SoC: "Ascend310P3", ATC: "7.7.0.1.238", Inputs: row, Outputs: []omtest.Tensor{{Name: "y", DType: "FLOAT", Dims: []int64{8, 4}}},
		Function: "identity", Work: 4096, Weights: make([]byte, 4096),
		Gears: model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {2}, {4}, {8}}}, GearInputs: [][]int64{{-1, 4}}}
}

func (s *stage) write(name string, data []byte) string {
	s.t.Helper()
	at := filepath.Join(s.dir, name)
	if err := os.WriteFile(at, data, 0o644); err != nil {
		s.t.Fatal(err)
	}
	return at
}

// command is the binary with the double in its environment.
func (s *stage) command(args ...string) *exec.Cmd {
	if s.binary == "" {
		s.binary = product(s.t)
	}
	c := exec.Command(s.binary, args...)
	root, err := filepath.Abs("..")
	if err != nil {
		s.t.Fatal(err)
	}
	// A comma would end the path in GORACE: the name of a test here has none.
	c.Env = append(os.Environ(), "HOME="+s.dir, "LANG=C.UTF-8", "GORACE=log_path="+s.races())
	c.Env = append(c.Env, s.env...)
	c.Env = append(c.Env, s.double.Env(s.config, s.report, library(s.t, root))...)
	return c
}

// clean wants nothing noted, no leak at any end and no race.
func (s *stage) clean() {
	s.t.Helper()
	for _, dirt := range s.dirt() {
		s.t.Error(dirt)
	}
}

// dirt is what the double and the race detector hold against the processes. One
// that does not end properly has leaks that nobody counts.
func (s *stage) dirt() (all []string) {
	s.t.Helper()
	events, err := fakeacl.Events(s.report)
	if err != nil {
		return []string{err.Error()}
	}
	if v := fakeacl.Violations(events); len(v) > 0 {
		all = append(all, fmt.Sprintf("violations: %q", v))
	}
	ends := 0
	for _, e := range events {
		if e.Event != "end" {
			continue
		}
		if e.Leaks > 0 || e.Unpinned > 0 {
			all = append(all, fmt.Sprintf("process %d: %d leaks, %d copies from memory that is not pinned", e.PID, e.Leaks, e.Unpinned))
		}
		if e.Finalized {
			ends++
		}
	}
	if ends < s.ends {
		all = append(all, fmt.Sprintf("%d processes ended as they should, expected %d", ends, s.ends))
	}
	races, _ := filepath.Glob(s.races() + ".*") // the pattern is good
	for _, at := range races {
		text, err := os.ReadFile(at)
		all = append(all, fmt.Sprintf("%s%v", text, err))
	}
	return all
}

// races is where the race detector writes, in every process; the end of a worker
// has its reasons, so its status would not tell.
func (s *stage) races() string { return filepath.Join(s.dir, "race") }

// pinned wants tensors to go to and fro by the device itself, out of pinned
// memory and into it, or not at all.
func (s *stage) pinned(want bool) {
	s.t.Helper()
	events, err := fakeacl.Events(s.report)
	if err != nil {
		s.t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e fakeacl.Event) bool { return e.Event == "end" }) {
		s.t.Error("the double wrote no end")
	}
	for _, e := range events {
		if e.Event == "end" && (e.Calls["aclrtMemcpyAsync"] > e.Executes) != want {
			s.t.Errorf("process %d: %d asynchronous and %d other copies for %d runs", e.PID, e.Calls["aclrtMemcpyAsync"], e.Calls["aclrtMemcpy"], e.Executes)
		}
	}
}

// heard is what somebody writes and others read meanwhile.
type heard struct {
	mu   sync.Mutex
	text []byte
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p...)
	return len(p), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

// running is a service on the double.
type running struct {
	*stage
	cmd   *exec.Cmd
	out   *heard
	ended chan error
	url   string
	ready struct {
		URL    string
		Models []struct {
			Device  struct{ Simulated bool }
			Devices []struct{ PID int }
		}
	}
}

// serve starts a service and waits until it is ready. At the end of the test it
// must stop cleanly.
func (s *stage) serve(file string, args ...string) *running {
	s.t.Helper()
	r := s.start(file, args...)
	s.t.Cleanup(func() { // after it has ended
		if m := r.ready.Models; len(m) > 0 {
			s.ends += max(len(m[0].Devices), 1)
		}
		s.clean()
	})
	s.t.Cleanup(func() {
		if err := r.stop(); err != nil {
			s.t.Error(err)
		}
	})
	if err := r.await(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *stage) start(file string, args ...string) *running {
	s.t.Helper()
	r := &running{stage: s, out: &heard{}, ended: make(chan error, 1)}
	r.cmd = s.command(append([]string{"serve", file, "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0", "--ready-file", s.readyFile(), "--access-log", "none"}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	return r
}

func (s *stage) readyFile() string { return filepath.Join(s.dir, "ready.json") }

// await is nil once the service is ready.
func (r *running) await() error {
	for range 1200 {
		if text, err := os.ReadFile(r.readyFile()); err == nil {
			err := json.Unmarshal(text, &r.ready)
			r.url = r.ready.URL
			return err
		}
		select {
		case err := <-r.ended:
			r.ended <- err
			return fmt.Errorf("it ended: %v\n%s", err, r.out)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("not ready within a minute")
}

// stop ends the service as an operator does.
func (r *running) stop() error {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-r.ended:
		if err != nil {
			return fmt.Errorf("the service: %w\n%s", err, r.out)
		}
		return nil
	case <-time.After(60 * time.Second):
		_ = r.cmd.Process.Signal(syscall.SIGABRT)
		<-r.ended
		return fmt.Errorf("the service does not stop\n%s", r.out)
	}
}
