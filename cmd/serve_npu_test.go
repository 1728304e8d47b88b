//go:build cgo && linux

package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/cmd"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// The tests of this file run the built binary on the double of libascendcl,
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
	c := exec.Command(product(s.t), args...)
	root, err := filepath.Abs("..")
	if err != nil {
		s.t.Fatal(err)
	}
	c.Env = append(os.Environ(), "HOME="+s.dir, "LANG=C.UTF-8")
	c.Env = append(c.Env, s.double.Env(s.config, s.report, library(s.t, root))...)
	return c
}

// clean wants nothing noted, and no leak at any end.
func (s *stage) clean() {
	s.t.Helper()
	events, err := fakeacl.Events(s.report)
	if err != nil {
		s.t.Fatal(err)
	}
	if v := fakeacl.Violations(events); len(v) > 0 {
		s.t.Errorf("violations: %q", v)
	}
	for _, e := range events {
		if e.Event == "end" && (e.Leaks > 0 || e.Unpinned > 0) {
			s.t.Errorf("process %d: %d leaks, %d copies from memory that is not pinned", e.PID, e.Leaks, e.Unpinned)
		}
	}
}

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

func TestWhatCannotBeServedOnAnNPUSaysWhy(t *testing.T) {
	large := gears()
	large.Work = 10 << 30
	dynamic := gears()
	dynamic.Gears, dynamic.GearInputs, dynamic.Dynamic = model.Gears{}, nil, true
	dynamic.Inputs = []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{-1, 4}, Range: [][2]int64{{1, 64}, {4, 4}}}}
	encrypted := gears()
	encrypted.Encrypted = true
	bundle := gears()
	bundle.Type = 5
	good := gears().Encode()
	for name, c := range map[string]struct {
		file   []byte
		lib    fakeacl.Options
		config string
		args   []string
		want   []string
	}{
		"another chip":       {config: `{"soc":"Ascend910B2"}`, want: []string{"compiled for another chip", "for Ascend310P3, device 0 is Ascend910B2", "--soc_version=Ascend910B2"}},
		"cut short":          {file: good[:len(good)-100], want: []string{"cut short", "copy or download the file again"}},
		"encrypted":          {file: encrypted.Encode(), want: []string{"encrypted"}},
		"a bundle":           {file: bundle.Encode(), want: []string{"bundle"}},
		"unknown shapes":     {file: dynamic.Encode(), want: []string{"unknown shapes", "--dynamic_batch_size"}},
		"over the budget":    {file: large.Encode(), want: []string{"do not fit on device 0", "needed 10.00 GiB", "free on the device: 1"}},
		"no driver library":  {lib: fakeacl.Options{NoDriver: true}, want: []string{"libraries of the NPU driver are missing", "libascend_hal.so", "mount /usr/local/Ascend/driver"}},
		"no driver":          {config: `{"driver":0}`, want: []string{"ACL does not start", "aclInit", "500000"}},
		"no such device":     {args: []string{"--device", "7"}, want: []string{"device 7 cannot be used", "107001"}},
		"one device missing": {config: `{"devices":2}`, args: []string{"--device", "1-2"}, want: []string{"device 2 cannot be used", "107001"}},
		"a sick device":      {config: `{"starts":0}`, want: []string{"device 0 cannot be used", "507033"}},
		"a newer compiler": {config: `{"faults":[{"call":"aclmdlLoadFromFile","code":507009}]}`, args: []string{"--runtime-version", "7.6.0.1.220"},
			want: []string{"does not load", "compiled by ATC 7.7.0.1.238, the runtime here is 7.6.0.1.220"}},
		"a load that fails":        {config: `{"faults":[{"call":"aclmdlLoadFromFile","code":245002}]}`, want: []string{"does not load", "245002"}},
		"a worker that is killed":  {config: `{"faults":[{"call":"aclmdlLoadFromFile","kill":true}]}`, want: []string{"the worker of device 0 ended while it started", "SIGKILL"}},
		"a worker that aborts":     {config: `{"faults":[{"call":"aclInit","abort":true}]}`, want: []string{"the worker of device 0 ended while it started", "SIGABRT"}},
		"no library":               {args: []string{"--acl-lib", "/nowhere/libascendcl.so"}, want: []string{"CANN is not installed here"}},
		"an .om on the CPU":        {args: []string{"--backend", "cpu"}, want: []string{"never on the CPU"}},
		"a list that is none":      {args: []string{"--device", "1-0"}, want: []string{"1-0"}},
		"two devices, one process": {args: []string{"--device", "0-1", "--single-process"}, want: []string{"one process serves one device"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.lib, c.config)
			if c.file == nil {
				c.file = good
			}
			file := s.write("model.om", c.file)
			args := []string{"serve", file, "--listen", "127.0.0.1:0", "--lock-dir", s.dir}
			if !strings.Contains(strings.Join(c.args, " "), "--acl-lib") {
				args = append(args, "--acl-lib", s.double.Dir)
			}
			run := s.command(append(args, c.args...)...)
			var out bytes.Buffer
			run.Stdout, run.Stderr = &out, &out
			stop := time.AfterFunc(30*time.Second, func() { _ = run.Process.Signal(syscall.SIGABRT) })
			err := run.Run()
			stop.Stop()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 && exit.ExitCode() != 64 {
				t.Errorf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not say %q:\n%s", want, out.String())
				}
			}
			for line := range strings.Lines(out.String()) {
				if line, ok := strings.CutPrefix(line, "  run   "+cmd.Name); ok {
					if err := cmd.ParseLine(cmd.Name + strings.TrimSuffix(line, "\n")); err != nil {
						t.Errorf("%q: %v", line, err)
					}
				}
			}
			s.clean()
		})
	}
}

// running is a service on the double.
type running struct {
	*stage
	cmd   *exec.Cmd
	out   *bytes.Buffer
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
	r := &running{stage: s, out: &bytes.Buffer{}}
	s.t.Cleanup(s.clean) // after it has ended
	at := filepath.Join(s.dir, "ready.json")
	r.cmd = s.command(append([]string{"serve", file, "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0", "--ready-file", at, "--access-log", "none"}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait() }()
	s.t.Cleanup(func() {
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				s.t.Errorf("the service: %v\n%s", err, r.out)
			}
		case <-time.After(60 * time.Second):
			_ = r.cmd.Process.Signal(syscall.SIGABRT)
			<-ended
			s.t.Errorf("the service does not stop\n%s", r.out)
		}
	})
	for range 1200 {
		if text, err := os.ReadFile(at); err == nil {
			if err := json.Unmarshal(text, &r.ready); err != nil {
				s.t.Fatal(err)
			}
			r.url = r.ready.URL
			return r
		}
		select {
		case err := <-ended:
			ended <- err
			s.t.Fatalf("%v\n%s", err, r.out)
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.t.Fatal("not ready within a minute")
	return nil
}

func TestServiceOnOneProcessAndOnABoard(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		args   []string
	}{
		"workers": {`{}`, nil},
		"single":  {`{}`, []string{"--single-process"}},
		"board":   {`{"run_mode":"device"}`, []string{"--single-process"}},
		"old":     {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := fakeacl.Options{}
			if name == "old" {
				o.Profile = fakeacl.Old
			}
			s := newStage(t, o, c.config)
			t.Cleanup(func() { s.pinned(name != "board") }) // after the service has ended
			r := s.serve(s.write("model.om", gears().Encode()), append(c.args, "--name", "model")...)
			if len(r.ready.Models) != 1 || !r.ready.Models[0].Device.Simulated || !strings.Contains(r.out.String(), "SIMULATED, not an NPU") {
				t.Errorf("not labelled as simulated: %+v\n%s", r.ready, r.out)
			}
			if workers := len(r.ready.Models[0].Devices); workers != 1 && c.args == nil || workers != 0 && c.args != nil {
				t.Errorf("%d workers", workers)
			}
			client := newClient(r.url, 1)
			defer client.http.CloseIdleConnections()
			for rows := 1; rows <= 8; rows++ {
				if status, err := client.ask(t.Context(), rows); status != 200 || err != nil {
					t.Errorf("%d rows: %d %v", rows, status, err)
				}
			}
		})
	}
}

// TestDeviceIsNotSharedUnasked: the second service names the first; with both
// asking for it they share.
func TestDeviceIsNotSharedUnasked(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{}`)
	file := s.write("model.om", gears().Encode())
	r := s.serve(file)
	second := s.command("serve", file, "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0")
	out, err := second.CombinedOutput()
	if want := fmt.Sprintf("process %d serves model on 127.0.0.1:", r.cmd.Process.Pid); err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, does not say %q:\n%s", err, want, out)
	}
	if got := r.devices(); len(got) != 1 || got[0].State != "ready" {
		t.Errorf("the first is %+v", got)
	}
	t.Run("shared", func(t *testing.T) {
		a := newStage(t, fakeacl.Options{}, `{}`)
		file := a.write("model.om", gears().Encode())
		a.serve(file, "--share-device")
		if err := os.Remove(filepath.Join(a.dir, "ready.json")); err != nil {
			t.Fatal(err)
		}
		a.serve(file, "--share-device")
	})
}

// TestWorkersDieWithTheFront, however it ends.
func TestWorkersDieWithTheFront(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"devices":2}`)
	c := s.command("serve", s.write("model.om", gears().Encode()), "--device", "0-1", "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0",
		"--ready-file", filepath.Join(s.dir, "ready.json"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Models []struct{ Devices []struct{ PID int } }
	}
	for range 600 {
		if text, err := os.ReadFile(filepath.Join(s.dir, "ready.json")); err == nil {
			if err := json.Unmarshal(text, &ready); err != nil {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if len(ready.Models) != 1 || len(ready.Models[0].Devices) != 2 {
		t.Fatalf("not ready: %+v", ready)
	}
	for _, d := range ready.Models[0].Devices {
		for n := 0; syscall.Kill(d.PID, 0) == nil; n++ {
			if n == 600 {
				t.Fatalf("worker %d lives on", d.PID)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
