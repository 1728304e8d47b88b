//go:build linux

package hosttest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// load reads a description; a line without a file name is one itself.
func load(t *testing.T, text string) *host.Description {
	t.Helper()
	data := []byte(text)
	if !strings.Contains(text, "\n") {
		var err error
		if data, err = os.ReadFile("../../../testdata/cases/hosts/" + text + ".yaml"); err != nil {
			t.Fatal(err)
		}
	}
	d, err := host.LoadDescription("description", data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t *testing.T, h host.Host, root bool, argv ...string) (said string, exit int) {
	t.Helper()
	r, err := h.Run(t.Context(), host.Command{Argv: argv, Root: root})
	if err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	return strings.TrimSpace(string(r.Stdout) + string(r.Stderr)), r.Exit
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestABareUbuntuIsLaid uses one host for all that does not disturb the rest.
func TestABareUbuntuIsLaid(t *testing.T) {
	l := hosttest.Lay(t, load(t, "ubuntu2204-a2-no-driver"))
	h := l.Dial(t, "")
	t.Run("it is the described machine to who asks", func(t *testing.T) {
		said, _ := run(t, h, false, "sh", "-c", "uname -m; uname -sr; uname -a | wc -w; hostname; id -un; ulimit -n; echo $LANG")
		want(t, said, "x86_64\nLinux 5.15.0-119-generic\n8\na2-01\nubuntu\n1024\nC.UTF-8")
		said, _ = run(t, h, false, "cat", "/proc/modules")
		if !strings.HasPrefix(said, "nvme 49152") {
			t.Errorf("modules: %q", said)
		}
	})
	t.Run("root, sudo without a password, with one, and none", func(t *testing.T) {
		said, _ := run(t, l.Dial(t, "root"), false, "id", "-un")
		want(t, said, "root")
		said, _ = run(t, h, true, "id", "-un")
		want(t, said, "root")
		none := l.Dial(t, l.AddUser(t, "", hosttest.Person{}))
		if _, err := none.Run(t.Context(), host.Command{Argv: []string{"id"}, Root: true}); !errors.Is(err, host.ErrNoRoot) {
			t.Errorf("a login without sudo: %v", err)
		}
		o := l.Options(t)
		o.Sudo = "always"
		o.Prompt = func(context.Context, host.Secret) (string, error) { return "pass word", nil }
		asked, err := host.Connect(t.Context(), l.Target(t, l.AddUser(t, "", hosttest.Person{Password: "pass word", Sudo: "ALL=(ALL) ALL"})), o)
		if err != nil {
			t.Fatal(err)
		}
		defer asked.Close()
		said, _ = run(t, asked, true, "id", "-un")
		want(t, said, "root")
	})
	t.Run("a change shows, and its undoing too", func(t *testing.T) {
		before := l.Snapshot(t, "/var/log")
		run(t, h, true, "sh", "-c", `mkdir -m 750 /opt/v && echo one >/opt/v/f && ln -s f /opt/v/l && chown ubuntu /opt/v/f
echo more >>/etc/hosts; rm /etc/hostname; chmod 600 /etc/os-release; echo x >/var/log/left-out; echo nobody >/tmp/x`)
		var changed []string
		for _, c := range hosttest.Changes(before, l.Snapshot(t, "/var/log")) {
			changed = append(changed, strings.SplitN(c, ":", 2)[0])
		}
		if diff := cmp.Diff([]string{"- /etc/hostname", "~ /etc/hosts", "~ /etc/os-release", "+ /opt/v", "+ /opt/v/f", "+ /opt/v/l", "+ /tmp/x"}, changed); diff != "" {
			t.Error(diff)
		}
		run(t, h, true, "sh", "-c", `rm -r /opt/v /tmp/x; sed -i '$d' /etc/hosts; echo a2-01 >/etc/hostname; chmod 644 /etc/os-release`)
		if left := hosttest.Changes(before, l.Snapshot(t, "/var/log")); len(left) > 0 {
			t.Errorf("%q", left)
		}
	})
	t.Run("what changes a host is recorded", func(t *testing.T) {
		for _, c := range []string{"systemctl daemon-reload", "systemctl enable --now x.service", "apt-get install -y gcc"} {
			if said, exit := run(t, h, true, strings.Fields(c)...); exit != 0 {
				t.Errorf("%s: %d %s", c, exit, said)
			}
			if calls := l.Calls(t); calls[len(calls)-1] != c {
				t.Errorf("%s is not the last of %q", c, calls)
			}
		}
		said, exit := run(t, h, false, "systemctl", "is-active", "x.service")
		if exit != 1 || !strings.Contains(said, "not recorded") {
			t.Errorf("nobody knows: %d %q", exit, said)
		}
		l.Stub(t, "/usr/bin/gcc", "echo mine $1")
		said, _ = run(t, h, false, "gcc", "--version")
		want(t, said, "mine --version")
	})
	t.Run("a full disk is full, and has room again", func(t *testing.T) {
		root := l.Dial(t, "root")
		free := l.FillDisk(t, 1<<20)
		if err := root.WriteFile(t.Context(), "/opt/big", make([]byte, 4<<20), 0o600); err == nil || !strings.Contains(err.Error(), "No space left") {
			t.Errorf("%v", err)
		}
		a := root.Ask(t.Context(), []host.Question{{Kind: host.Disk, Args: []string{"/opt"}}})[0]
		if !bytes.Contains(a.Stdout, []byte("\navail_kb=1")) || len(a.Stdout) > 300 {
			t.Errorf("df says %q", a.Stdout)
		}
		free()
		if err := root.WriteFile(t.Context(), "/opt/big", make([]byte, 4<<20), 0o600); err != nil {
			t.Error(err)
		}
	})
	t.Run("it reaches what it is told to reach, and has a real python", func(t *testing.T) {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "an index") }))
		defer web.Close()
		l.Serve(t, 8080, web.Listener.Addr().String())
		said, _ := run(t, h, false, "sh", "-c", `cd && python3 -m venv --without-pip v && v/bin/python -c 'import sys, urllib.request as u
print(sys.version_info[0], sys.prefix, u.urlopen("http://127.0.0.1:8080/").read().decode())' && python3 -V`)
		want(t, said, "3 /home/ubuntu/v an index\nPython 3.10.12")
	})
}

func TestALaidHostReboots(t *testing.T) {
	l := hosttest.Lay(t, load(t, "openeuler2203-910b3-healthy"))
	h := l.Dial(t, "")
	state := func(h host.Host) (id, boot string) {
		id, _ = run(t, h, false, "cat", "/proc/sys/kernel/random/boot_id")
		return id, string(h.Ask(t.Context(), []host.Question{{Kind: host.Boot}})[0].Stdout)
	}
	id, boot := state(h)
	want(t, boot, "boot=1793589000\n")
	l.WriteFile(t, "/.laid/boot.d/driver", "#!/bin/sh\nmknod -m 660 /dev/davinci9 c 236 9\n", 0o755)
	run(t, h, false, "sh", "-c", "echo kept >/root/kept; echo x >/tmp/x; echo x >/run/x; mkdir /opt/y; sleep 1234 >/dev/null 2>&1 &")
	// As on a real host the session may end before the command has.
	if r, err := h.Run(t.Context(), host.Command{Argv: []string{"systemctl", "reboot"}}); r.Exit != 0 || err != nil && !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("exit %d, %v", r.Exit, err)
	}
	for l.Boots() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	again := l.Dial(t, "")
	if _, err := h.Run(t.Context(), host.Command{Argv: []string{"true"}}); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("the old session lives: %v", err)
	}
	newID, newBoot := state(again)
	if newID == id || newBoot == boot || len(newID) != 36 {
		t.Errorf("boot id %q, then %q; %q, then %q", id, newID, boot, newBoot)
	}
	said, _ := run(t, again, false, "sh", "-c", "ls /tmp /run; cat /root/kept; ls -d /opt/y /dev/davinci9 /dev/davinci0; pgrep -x sleep -a | grep -c 1234; ps -eo stat | grep -c Z; echo end")
	want(t, said, "/run:\nsshd\n\n/tmp:\nkept\n/dev/davinci0\n/dev/davinci9\n/opt/y\n0\n0\nend")
}

func TestALaidHostLosesConnectionsAndProcesses(t *testing.T) {
	l := hosttest.Lay(t, load(t, "openeuler2203-910b3-healthy"))
	h := l.Dial(t, "")
	job, err := host.Start(t.Context(), h, host.JobSpec{Argv: []string{"sleep", "4321"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := h.Run(t.Context(), host.Command{Argv: []string{"sleep", "60"}})
		ended <- err
	}()
	for !strings.Contains(l.Sh(t, "ps -eo args"), "sleep 60") {
		time.Sleep(10 * time.Millisecond)
	}
	l.CutConnections()
	if err := <-ended; !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a command whose line was cut: %v", err)
	}
	again, err := host.Attach(t.Context(), l.Dial(t, ""), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := again.Status(t.Context()); err != nil || s.State != host.JobRunning {
		t.Errorf("the job: %+v %v", s, err)
	}
	if n := l.KillRemote(t, "sleep 4321"); n == 0 {
		t.Error("nothing was killed")
	}
	if s, err := again.Status(t.Context()); err != nil || s.State == host.JobRunning {
		t.Errorf("the job: %+v %v", s, err)
	}
}

func TestALaidHostCanStandOnADisk(t *testing.T) {
	dir := t.TempDir()
	l := hosttest.LayOn(t, load(t, "ubuntu2204-a2-no-driver"), hosttest.Ground{Dir: dir})
	h := l.Dial(t, "root")
	if err := h.WriteFile(t.Context(), "/opt/here", []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
	found, _ := exec.Command("find", dir, "-name", "here").Output()
	if !strings.HasSuffix(strings.TrimSpace(string(found)), "/opt/here") {
		t.Errorf("found %q", found)
	}
}

// TestDescribedProcessesAreLaid compares with a replay of the same.
func TestDescribedProcessesAreLaid(t *testing.T) {
	container := strings.Repeat("0123456789abcdef", 4)
	d := load(t, `world: closed
id: processes
login: {user: root, sudo: true}
facts:
  identity: {uid: 0, gid: 0, user: root, home: /root, groups: [{name: root, gid: 0}]}
  boot_time: 1700000000
  procs: {'811': "1000\tml\t1700000100\t`+container+`\tpython3 serve.py --port 8000"}
  process_env: {'811': [A=1, 'B=two words']}
files:
  /etc/os-release: "ID=debian\nVERSION_ID=\"12\"\n"
  /etc/passwd: "root:x:0:0:root:/root:/bin/bash\nml:x:1000:1000::/home/ml:/bin/bash\n"
  /etc/group: "root:x:0:\nml:x:1000:\n"
`)
	l := hosttest.Lay(t, d)
	h := l.Dial(t, "")
	qs := []host.Question{{Kind: host.Procs, Args: []string{"811"}}, {Kind: host.Env, Args: []string{"811"}}}
	if diff := cmp.Diff(host.Replay("x", d).Ask(t.Context(), qs), h.Ask(t.Context(), qs), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".Took"
	}, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	t.Run("apt and dpkg of a Debian are real", func(t *testing.T) {
		said, exit := run(t, h, false, "sh", "-c", `mkdir -p /tmp/p/DEBIAN /tmp/p/opt/real && cd /tmp &&
printf 'Package: real\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: simulated\n' >p/DEBIAN/control &&
dpkg-deb --build p real.deb >/dev/null && apt-get install -y ./real.deb >/dev/null 2>&1; dpkg-query -W -f '${Status}' real; ls -d /opt/real`)
		if exit != 0 {
			t.Errorf("exit %d", exit)
		}
		want(t, said, "install ok installed/opt/real")
	})
}

// TestALaidHostEndsWithTheTestProcess kills a test process that has laid a host.
func TestALaidHostEndsWithTheTestProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestChildThatIsKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "LAY_AND_WAIT=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for buf, all := make([]byte, 4096), ""; pid == 0; {
		n, err := out.Read(buf)
		if all += string(buf[:n]); strings.Contains(all, "pid of the host: ") && strings.HasSuffix(all, "\n") {
			_, after, _ := strings.Cut(all, "pid of the host: ")
			pid, _ = strconv.Atoi(strings.Fields(after)[0])
		} else if err != nil {
			t.Fatalf("%v: %s", err, all)
		}
	}
	ns, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for range 500 {
		if !slices.Contains(namespaces(), ns) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("processes of the host are left")
}

// namespaces are the mount namespaces that processes are in.
func namespaces() (out []string) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		if ns, err := os.Readlink("/proc/" + d.Name() + "/ns/mnt"); err == nil {
			out = append(out, ns)
		}
	}
	return out
}

// TestChildThatIsKilled is the other half of the test above.
func TestChildThatIsKilled(t *testing.T) {
	if os.Getenv("LAY_AND_WAIT") == "" {
		return
	}
	l := hosttest.Lay(t, load(t, "ubuntu2204-a2-no-driver"))
	l.Dial(t, "")
	t.Logf("pid of the host: %d", l.PID())
	select {}
}
