package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ascendctl/ascendctl/internal/report"
)

// holder starts a process that locks device 3 in the folders.
func holder(t *testing.T, dirs ...string) *exec.Cmd {
	t.Helper()
	s := child(append([]string{"lock"}, dirs...)...)
	c := exec.Command(s.Argv[0])
	c.Env = s.Env
	return locked(t, c)
}

func locked(t *testing.T, c *exec.Cmd) *exec.Cmd {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	b := make([]byte, 200)
	if n, err := out.Read(b); string(b[:n]) != "locked\n" {
		t.Fatalf("holder says %q, %v", b[:n], err)
	}
	return c
}

func TestTwoServesDoNotShareADevice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "run")
	c := holder(t, dir)
	us := LockOptions{Dirs: []string{dir}, Devices: []int{2, 3, 2}, Holder: Holder{What: "resnet", Mark: "m2"}}
	_, err := LockDevices(us)
	var p *report.Problem
	if !errors.As(err, &p) || !strings.Contains(p.Why.En, "digits on :8080") || !strings.Contains(p.What.En, "device 3") {
		t.Fatalf("got %v", err)
	}
	share := us
	share.Share = true
	if _, err := LockDevices(share); !errors.As(err, &p) || !strings.Contains(p.Do.En, "sharing") {
		t.Fatalf("sharing with one who does not: %v", err)
	}

	// Killed: the lock is free, and the file tells whose leavings to look for.
	_ = c.Process.Signal(syscall.SIGKILL)
	_ = c.Wait()
	l, err := LockDevices(us) // device 2 was given back by the failure above
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Stale) != 1 || l.Stale[0].Mark != "m1" || l.Stale[0].PID != c.Process.Pid {
		t.Errorf("stale %+v", l.Stale)
	}
	if _, err := LockDevices(us); err == nil {
		t.Error("locked twice by one process")
	}
	_ = l.Close()

	// Ended as it should: nothing is left to look for.
	c = holder(t, dir)
	_ = c.Process.Signal(syscall.SIGTERM)
	_ = c.Wait()
	if l, err = LockDevices(us); err != nil || len(l.Stale) != 0 {
		t.Errorf("stale %+v, %v", l, err)
	}
	_ = l.Close()
}

// TestAUserLocksWhatRootMade: root and a user see each other through the file
// of root, which the user can only read.
func TestAUserLocksWhatRootMade(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("without root both would be one user: only the order is tested")
	}
	base, err := os.MkdirTemp("", "engine-lock")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	root, user, exe := filepath.Join(base, "root"), filepath.Join(base, "user"), filepath.Join(base, "exe")
	us := LockOptions{Dirs: []string{root}, Devices: []int{3}, Holder: Holder{What: "resnet"}}
	l, err := LockDevices(us)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	for _, step := range []error{os.Mkdir(user, 0o700), os.Chmod(base, 0o755), os.Chmod(root, 0o755), copyFile(exe)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	c := exec.Command(exe)
	c.Env = child("lock", user, root).Env
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := os.Chown(user, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	locked(t, c)
	var p *report.Problem
	if _, err := LockDevices(us); !errors.As(err, &p) || !strings.Contains(p.Why.En, fmt.Sprintf("process %d holds", c.Process.Pid)) {
		t.Errorf("root takes what the user holds: %v", err)
	}
}

func copyFile(to string) error {
	data, err := os.ReadFile(child("").Argv[0])
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

func TestThoseWhoAskForItShare(t *testing.T) {
	o := LockOptions{Dirs: []string{t.TempDir()}, Devices: []int{0}, Share: true, Holder: Holder{What: "one"}}
	a, err := LockDevices(o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := LockDevices(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Share = false
	if _, err := LockDevices(o); err == nil {
		t.Error("a third takes it alone")
	}
	_ = a.Close()
	if data, err := os.ReadFile(filepath.Join(o.Dirs[0], "device-0.lock")); len(parseHolders(data)) == 0 {
		t.Errorf("one who left took the name of the other away: %v", err)
	}
	_ = b.Close()
	c, err := LockDevices(o)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

func TestLockFilesThatAreNone(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "device-0.lock")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "device-1.lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "device-2.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	for device := range 3 {
		var p *report.Problem
		if _, err := LockDevices(LockOptions{Dirs: []string{dir}, Devices: []int{device}}); !errors.As(err, &p) {
			t.Errorf("device %d: %v", device, err)
		}
	}
	if data, err := os.ReadFile(victim); string(data) != "mine" {
		t.Errorf("a link led the lock to somebody's file: %q %v", data, err)
	}
	if _, err := LockDevices(LockOptions{Devices: []int{0}}); err == nil {
		t.Error("locked nowhere")
	}
	// A folder that cannot be written beside one that can.
	l, err := LockDevices(LockOptions{Dirs: []string{"/proc/no", dir}, Devices: []int{7}})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func TestRubbishInALockFileDoesNoHarm(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "device-0.lock")
	text := "{\x00\n" + `{"pid":-1}` + "\n" + strings.Repeat("x", 100<<10) + "\n"
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := LockDevices(LockOptions{Dirs: []string{dir}, Devices: []int{0}, Holder: Holder{What: "us"}})
	if err != nil || len(l.Stale) != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	data, _ := os.ReadFile(at)
	if all := parseHolders(data); len(all) != 1 || all[0].PID != os.Getpid() || strings.Count(string(data), "\n") != 1 {
		t.Errorf("file: %.200q", data)
	}
	_ = l.Close()
	if data, _ := os.ReadFile(at); len(data) != 0 {
		t.Errorf("left: %q", data)
	}
}

func TestANumberThatCameBackIsAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	line := fmt.Sprintf(`{"pid":%d,"start":1,"mark":"m"}`+"\n", os.Getpid())
	if err := os.WriteFile(filepath.Join(dir, "device-0.lock"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := LockDevices(LockOptions{Dirs: []string{dir}, Devices: []int{0}})
	if err != nil || len(l.Stale) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	_ = l.Close()
}

func TestWhereLocksLie(t *testing.T) {
	for _, c := range []struct {
		root bool
		run  string
		want string
	}{
		{true, "/run/user/0", "/run/ascendctl"},
		{false, "/run/user/7", "/run/user/7/ascendctl /run/ascendctl"},
		{false, "", "/run/ascendctl"},
	} {
		if got := strings.Join(LockDirs(c.root, c.run), " "); got != c.want {
			t.Errorf("root %v, runtime folder %q: %s", c.root, c.run, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("12 (a b) c) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2")
	f.Add("12 (x) S")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) { _, _ = parseStat(s) })
}

func TestStatOfAProcess(t *testing.T) {
	st, err := parseStat("12 (a b) c) S 1 13 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2")
	if err != nil || st != (stat{pid: 12, group: 13, state: 'S', start: 4711}) {
		t.Errorf("%+v, %v", st, err)
	}
	for _, bad := range []string{"", "12 (x) S 1", "x (x) S 1 13 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711", ")", "12 (x) SS 1 13 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
