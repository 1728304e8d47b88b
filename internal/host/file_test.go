package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFilesThroughCommands: what a Host without a file protocol stands on.
func TestFilesThroughCommands(t *testing.T) {
	dir := t.TempDir()
	name := dir + "/it's a file"
	h := NewLocal()
	if err := writeFile(t.Context(), h, name, []byte("old\x00\xff"), 0o640); err != nil {
		t.Fatal(err)
	}
	if data, err := readFile(t.Context(), h, name); err != nil || string(data) != "old\x00\xff" {
		t.Errorf("%q %v", data, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	for _, broken := range []struct{ name, tool, script string }{ // simulated failures
		{"the connection ends early", "cat", "head -c 2"},
		{"the disk is full", "cat", "echo 'cat: write error: No space left on device' >&2; exit 1"},
		{"mv fails", "mv", "echo 'mv: cannot move: Read-only file system' >&2; exit 1"},
	} {
		bin := t.TempDir()
		stub(t, bin, broken.tool, broken.script+"\n")
		err := writeFile(t.Context(), through{Local: h, path: bin + ":" + os.Getenv("PATH")}, name, []byte("new"), 0o640)
		data, _ := os.ReadFile(name)
		left, _ := os.ReadDir(dir)
		if err == nil || string(data) != "old\x00\xff" || len(left) != 1 {
			t.Errorf("%s: %v, file %q, left %v", broken.name, err, data, left)
		}
	}
	for name, want := range map[string]error{dir + "/none": fs.ErrNotExist, name + "/none": fs.ErrNotExist} {
		if _, err := readFile(t.Context(), h, name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUploadIsVerifiedOnTheHost(t *testing.T) {
	dir := t.TempDir()
	data := []byte(strings.Repeat("weights", 1000))
	for _, c := range []struct{ why, tool, script, want string }{ // simulated failures
		{"a byte is lost on the way", "cat", "tr w v", ErrUpload.Error()},
		{"no sha256sum", "sha256sum", "exit 127", "said nothing"},
		{"the disk is full", "cat", "head -c 3000; echo 'cat: write error: No space left on device' >&2; exit 1", "No space left"},
	} {
		bin, name := t.TempDir(), dir+"/"+c.why
		stub(t, bin, c.tool, c.script+"\n")
		h := through{Local: NewLocal(), path: bin + ":" + os.Getenv("PATH")}
		err := Upload(t.Context(), h, bytes.NewReader(data), int64(len(data)), name, 0o600, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.why, err)
		}
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s: the file has its name", c.why)
		}
	}
	// The 3000 bytes of the full disk are what the next try starts with.
	name := dir + "/the disk is full"
	var first int64 = -1
	err := Upload(t.Context(), NewLocal(), bytes.NewReader(data), int64(len(data)), name, 0o600, func(n int64) {
		if first < 0 {
			first = n
		}
	})
	if err != nil || first != 3000 {
		t.Errorf("resumed at %d: %v", first, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := Upload(ctx, NewLocal(), bytes.NewReader(data), int64(len(data)), name, 0o600, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// asUser simulates a login that is not root, with a state folder of its own.
func asUser(t *testing.T, env ...string) (h Host, state string) {
	t.Helper()
	bin, state := t.TempDir(), t.TempDir()
	stub(t, bin, "id", "echo 1000\n")
	return withEnv{NewLocal(), append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "XDG_STATE_HOME=" + state}, env...)}, state
}

type withEnv struct {
	*Local
	env []string
}

func (h withEnv) Run(ctx context.Context, c Command) (Result, error) {
	c.Env = append(c.Env, h.env...)
	return h.Local.Run(ctx, c)
}

func TestJobFolderIsPrivateAndOfTheUser(t *testing.T) {
	h, state := asUser(t)
	j, err := Start(t.Context(), h, JobSpec{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(j.Dir) != state+"/ascendctl/scratch" {
		t.Errorf("folder %s", j.Dir)
	}
	for _, dir := range []string{j.Dir, filepath.Dir(j.Dir), j.Path(".")} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info.Mode(), err)
		}
	}
	h, home := asUser(t, "XDG_STATE_HOME=")
	if j, err = Start(t.Context(), withEnv{h.(withEnv).Local, append(h.(withEnv).env, "HOME="+home)}, JobSpec{Argv: []string{"true"}}); err != nil || filepath.Dir(j.Dir) != home+"/.local/state/ascendctl/scratch" {
		t.Errorf("%+v %v", j, err)
	}
	h, _ = asUser(t, "XDG_STATE_HOME=relative", "HOME=")
	if _, err := Start(t.Context(), h, JobSpec{Argv: []string{"true"}}); !errors.Is(err, ErrNoHome) {
		t.Errorf("no home: %v", err)
	}
	if _, err := Jobs(t.Context(), h); !errors.Is(err, ErrNoHome) {
		t.Errorf("no home: %v", err)
	}
}

func TestJobThatVanishedIsLost(t *testing.T) {
	h, state := asUser(t)
	j, err := Start(t.Context(), h, JobSpec{Argv: []string{"sh", "-c", "echo said; exec sleep 985"}})
	if err != nil {
		t.Fatal(err)
	}
	pid := jobPid(t, j)
	until(t, func() bool { s, err := j.Status(t.Context()); return err == nil && string(s.Log) == "said\n" })
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { s, err := j.Status(t.Context()); return err == nil && s.State == JobLost })
	// The pid lives again, as somebody else: this test.
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(j.Dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pid", strconv.Itoa(os.Getpid())+" 1\n")
	if s, err := j.Status(t.Context()); err != nil || s.State != JobLost {
		t.Errorf("a pid that came again: %+v %v", s, err)
	}
	if err := j.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err) // and this test goes on
	}
	for _, text := range []string{"", "x", "rubbish\n"} {
		write("status", text)
		if s, err := j.Status(t.Context()); err == nil {
			t.Errorf("status %q: %+v", text, s)
		}
	}
	write("status", "3\n")
	if s, err := j.Status(t.Context()); err != nil || s.State != JobExited || s.Exit != 3 {
		t.Errorf("%+v %v", s, err)
	}
	all, err := Jobs(t.Context(), h)
	if err != nil || len(all) != 1 || all[0].ID != j.ID {
		t.Errorf("%v %v", all, err)
	}
	if err := j.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(state + "/ascendctl/scratch"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := sh(t.Context(), h, "job_drop.sh", nil, state); err == nil {
		t.Error("a folder that is no scratch folder was deleted")
	}
}

func jobPid(t *testing.T, j *Job) int {
	t.Helper()
	data, err := os.ReadFile(j.Dir + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("it does not come about")
}

func TestJobSpecsThatCannotBe(t *testing.T) {
	src := strings.NewReader("")
	for _, s := range []JobSpec{
		{}, {Argv: []string{""}}, {Argv: []string{"a\x00"}}, {Argv: []string{"true"}, Env: []string{"=x"}}, {Argv: []string{"true"}, Env: []string{"SECRET"}},
		{Argv: []string{"true"}, Files: []JobFile{{Name: "../x", Src: src}}}, {Argv: []string{"true"}, Files: []JobFile{{Name: "/x", Src: src}}},
		{Argv: []string{"true"}, Files: []JobFile{{Name: ".", Src: src}}}, {Argv: []string{"true"}, Files: []JobFile{{Name: "x"}}},
	} {
		if _, err := Start(t.Context(), NewLocal(), s); err == nil {
			t.Errorf("started %+v", s)
		}
	}
}

func TestLocalRunBoundsWhatItKeeps(t *testing.T) {
	if _, err := NewLocal().Run(t.Context(), Command{Argv: []string{"yes"}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("endless output: %v", err)
	}
	var full fullDisk
	if _, err := NewLocal().Run(t.Context(), Command{Argv: []string{"yes"}, Stdout: full}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a writer that fails: %v", err)
	}
	// A daemon left behind holds the pipes and is not waited for.
	began := time.Now()
	r, err := NewLocal().Run(t.Context(), Command{Argv: []string{"sh", "-c", "sleep 20 & echo done"}})
	if err != nil || string(r.Stdout) != "done\n" || time.Since(began) > 15*time.Second {
		t.Errorf("%q %v", r.Stdout, err)
	}
	if r, err := NewLocal().Run(t.Context(), Command{Argv: []string{"sh", "-c", "kill -9 $$"}}); err != nil || r.Exit != 137 {
		t.Errorf("killed: %d %v", r.Exit, err)
	}
	for _, argv := range [][]string{nil, {""}} {
		if _, err := NewLocal().Run(t.Context(), Command{Argv: argv}); err == nil {
			t.Errorf("%q ran", argv)
		}
	}
	script := t.TempDir() + "/plain"
	if err := os.WriteFile(script, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLocal().Run(t.Context(), Command{Argv: []string{script}}); err == nil || errors.Is(err, ErrNoCommand) {
		t.Errorf("it is there and may not be run: %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestLocalReadFileDoesNotWaitForAPipe(t *testing.T) {
	name := t.TempDir() + "/fifo"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLocal().ReadFile(t.Context(), name); err == nil {
		t.Error("a pipe was read")
	}
}
