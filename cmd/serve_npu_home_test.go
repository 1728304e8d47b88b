//go:build cgo && linux

package cmd_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// cannHome puts the double into the home of a user as CANN of a release, with a
// version of its runtime, and npu-smi into his path.
func (s *stage) cannHome(runtime string) (home string) {
	s.t.Helper()
	home = filepath.Join(s.dir, "Ascend", "cann-8.5.0")
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goruntime.GOARCH]
	for name, text := range map[string]string{
		arch + "-linux/ascend_toolkit_install.info": "package_name=Ascend-cann-toolkit\nversion=8.5.0\narch=" + arch + "\nos=linux\npath=" + home + "\n",
		"share/info/runtime/version.info":           "Version=" + runtime + "\nversion_dir=8.5.0\n",
	} {
		s.put(filepath.Join(home, name), []byte(text))
	}
	libraries, err := filepath.Glob(filepath.Join(s.double.Dir, "lib*.so"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, lib := range libraries {
		text, err := os.ReadFile(lib)
		if err != nil {
			s.t.Fatal(err)
		}
		s.put(filepath.Join(home, "lib64", filepath.Base(lib)), text)
	}
	if err := os.Symlink("cann-8.5.0", filepath.Join(s.dir, "Ascend", "cann")); err != nil {
		s.t.Fatal(err)
	}
	return home
}

func (s *stage) put(at string, data []byte) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, data, 0o755)); err != nil {
		s.t.Fatal(err)
	}
}

// atHome is a command that finds CANN by itself: no library is named and the
// loader is told of none.
func (s *stage) atHome(args ...string) *exec.Cmd {
	c := s.command(append(args, "--lock-dir", s.dir, "--listen", "127.0.0.1:0")...)
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool {
		return strings.HasPrefix(v, "LD_LIBRARY_PATH=") || strings.HasPrefix(v, "ASCEND_")
	})
	return c
}

// serveAtHome starts a service that finds CANN by itself.
func (s *stage) serveAtHome(args ...string) *running {
	s.t.Helper()
	r := &running{stage: s, out: &heard{}, ended: make(chan error, 1)}
	r.cmd = s.atHome(slices.Concat([]string{"serve", s.write("model.om", gears().Encode()), "--ready-file", s.readyFile()}, args)...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	s.t.Cleanup(func() {
		if err := r.stop(); err != nil {
			s.t.Error(err)
		}
		s.clean()
	})
	if err := r.await(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// TestEnvironmentOfCANNIsThereBeforeTheProcess, which the loader demands: in a
// worker, and in a front that is its own worker.
func TestEnvironmentOfCANNIsThereBeforeTheProcess(t *testing.T) {
	for _, single := range []bool{false, true} {
		s := newStage(t, fakeacl.Options{}, `{}`)
		home := filepath.Join(filepath.Dir(s.cannHome("8.5.0.1.220")), "cann")
		r := s.serveAtHome(fmt.Sprintf("--single-process=%t", single))
		pid := r.cmd.Process.Pid
		if !single {
			pid = r.on("model")[0].PID
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"ASCEND_HOME_PATH=" + home, "LD_LIBRARY_PATH=" + home + "/lib64:", "ASCEND_OPP_PATH=" + home + "/opp"} {
			if !strings.Contains("\x00"+string(env), "\x00"+want) {
				t.Errorf("single %t: not in the environment: %s", single, want)
			}
		}
		if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)); err != nil || !strings.Contains(string(maps), filepath.Join(s.dir, "Ascend", "cann-8.5.0", "lib64")) {
			t.Errorf("single %t: the library of the home is not loaded: %v", single, err)
		}
	}
}

// TestOnlyHealthyDevicesServe where nobody says which: here the second chip of a
// card, after npu-smi, which a script plays.
func TestOnlyHealthyDevicesServe(t *testing.T) {
	table, err := os.ReadFile("../testdata/cases/npu-smi/310p3-duo-25.2.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, fakeacl.Options{}, `{"devices":2}`)
	s.cannHome("8.5.0.1.220")
	ill := strings.Replace(string(table), "| OK              |", "| Alarm           |", 1)
	s.put(filepath.Join(s.dir, "bin", "npu-smi"), []byte("#!/bin/sh\n[ \"$*\" = info ] || exit 1\ncat <<'END'\n"+ill+"END\n"))
	s.env = []string{"PATH=" + filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH")}
	r := s.serveAtHome()
	if d := r.on("model"); len(d) != 1 || d[0].Device != 1 {
		t.Errorf("%+v", d)
	}
	if locks, _ := filepath.Glob(filepath.Join(s.dir, "device-*.lock")); len(locks) != 1 || filepath.Base(locks[0]) != "device-1.lock" {
		t.Errorf("locked: %v", locks)
	}
}

// TestANewerCompilerIsNamedByWhatTheHostHas: the version of the runtime is read
// off CANN, not given.
func TestANewerCompilerIsNamedByWhatTheHostHas(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"faults":[{"call":"aclmdlLoadFromFile","code":507009}]}`)
	s.cannHome("7.6.0.1.220")
	out, err := s.atHome("serve", s.write("model.om", gears().Encode()), "--lang", "zh").CombinedOutput()
	if want := "编译所用 ATC 为 7.7.0.1.238，本机 runtime 为 7.6.0.1.220，版本较低"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, does not say %q:\n%s", err, want, out)
	}
}
