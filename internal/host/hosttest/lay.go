//go:build linux

package hosttest

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Ground is what a laid host stands on. The zero value is memory.
type Ground struct {
	Bytes int64  // of memory that its changes may take; 0: 4 GiB
	Dir   string // instead: an empty folder of a disk, not on an overlay
}

// Laid is a simulated host that can be changed: a description laid over a small
// Debian root, in namespaces of its own, behind a real OpenSSH sshd. Files,
// links, nodes, accounts, limits, mounts and the environment are there for
// everybody; programs the description records are stubs that answer as
// recorded. It ends with the test, and with the test process however that ends.
//
// What it cannot be: another kernel or machine. Programs that are linked
// dynamically are told the described release, machine, files of /proc and sizes
// of file systems (lay/kernel.c); static ones see this kernel, with most of /proc
// as described. getconf and python3 -c say what is described, the interpreter is
// the base's. Device nodes exist and open nothing. Soft limits above what this
// machine may give stand in /proc/self/limits alone.
type Laid struct {
	Addr    string // 127.0.0.1:port, the same after a reboot
	Key     string // private key file that opens every account
	HostKey gossh.PublicKey

	t      testing.TB
	d      *host.Description
	dir    string
	pid    int // process 1 of the host, as seen from here
	limits []string
	log    *os.File // what its sshd says
	door   door
	power  sync.Mutex // one reboot at a time
	boots  atomic.Int64
	hashes map[string]hashed
}

// Lay makes a simulated host of a description. A machine that cannot carry one
// fails the test and says what is missing.
func Lay(t testing.TB, d *host.Description) *Laid {
	t.Helper()
	return LayOn(t, d, Ground{})
}

// LayOn is Lay with a say in what the host stands on.
func LayOn(t testing.TB, d *host.Description, g Ground) *Laid {
	t.Helper()
	for file, pkg := range map[string]string{"/usr/bin/nsenter": "util-linux", "/usr/bin/mount": "mount"} {
		need(t, file, pkg)
	}
	base := Base(t)
	kernel := kernelLibrary(t, base)
	dir, err := os.MkdirTemp("", "ascendctl-laid-")
	if err != nil {
		t.Fatal(err)
	}
	l := &Laid{t: t, d: d, dir: dir, Key: filepath.Join(dir, "key"), hashes: map[string]hashed{}}
	t.Cleanup(func() { os.RemoveAll(dir) }) // nothing is mounted below it in our namespace
	if err := os.Mkdir(filepath.Join(dir, "mnt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if l.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.log.Close() })
	b := newLayout(t, d, base)
	l.secure(b)
	l.limits = b.limits()
	b.file("/.laid/kernel.so", kernel, 0o755)
	b.write(filepath.Join(dir, "tree.tar"))
	l.boot(base, b.name(), g)
	l.listenTo(d.Facts.Listening)
	l.open()
	l.obey()
	return l
}

// secure lays the keys and the configuration of sshd. The environment of the
// description is that of its login alone.
func (l *Laid) secure(b *layout) {
	l.t.Helper()
	_, pub := WriteKey(l.t, l.Key, "")
	own := filepath.Join(l.dir, "host_key")
	_, l.HostKey = WriteKey(l.t, own, "")
	data, err := os.ReadFile(own)
	if err != nil {
		l.t.Fatal(err)
	}
	b.file("/.laid/host_key", string(data), 0o600)
	b.file("/.laid/authorized", string(gossh.MarshalAuthorizedKey(pub)), 0o644)
	conf := `HostKey /.laid/host_key
PidFile none
AuthorizedKeysFile /.laid/authorized
StrictModes no
PermitRootLogin yes
UsePAM no
KbdInteractiveAuthentication no
PrintMotd no
UseDNS no
LogLevel VERBOSE
Subsystem sftp internal-sftp
`
	if len(l.d.Env) > 0 {
		conf += "Match User " + l.User() + "\nSetEnv"
		for _, k := range sortedKeys(l.d.Env) {
			if strings.Contains(l.d.Env[k], "\n") {
				l.t.Fatalf("env %s: sshd cannot set a value of several lines", k)
			}
			conf += ` "` + k + "=" + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.d.Env[k]) + `"`
		}
	}
	b.file("/.laid/sshd_config", conf+"\n", 0o644)
}

// User is the login of the description, root where it names none.
func (l *Laid) User() string {
	if id := l.d.Facts.Identity; id != nil {
		return id.User
	}
	return cmp.Or(l.d.Login.User, "root")
}

// boot starts process 1 in new namespaces and waits until the root is laid.
func (l *Laid) boot(base, name string, g Ground) {
	l.t.Helper()
	size := strconv.FormatInt(cmp.Or(g.Bytes, 4<<30), 10)
	cmd := exec.Command("/bin/sh", "-c", layText(l.t, "setup.sh"), "sh", base, l.dir, size, name, g.Dir)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS |
		syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC}
	var said bytes.Buffer
	cmd.Stderr = &said
	life, err := cmd.StdinPipe() // process 1 reads it: its end is the end of the host
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatalf("namespaces are refused on this machine: %v", err)
	}
	l.pid = cmd.Process.Pid
	word, _ := bufio.NewReader(out).ReadString('\n')
	if word != "ready\n" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		l.t.Fatalf("the description cannot be laid:\n%s", tail(said.Bytes()))
	}
	l.t.Cleanup(func() {
		life.Close()
		_ = cmd.Wait()
	})
}

// inside is a command of the host, run as root from here and not over ssh.
func (l *Laid) inside(argv ...string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/nsenter", append([]string{"-t", strconv.Itoa(l.pid), "-m", "-u", "-i", "-n", "-p", "-r", "-w", "--"}, argv...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/.laid/real", "LC_ALL=C", "HOME=/root"}
	return cmd
}

// Sh runs a script in the host, as root and not over ssh, with args as $1 and
// on. It gives what the script prints; a script that fails fails the test.
func (l *Laid) Sh(t testing.TB, script string, args ...string) string {
	t.Helper()
	return l.feed(t, nil, script, args...)
}

func (l *Laid) feed(t testing.TB, stdin io.Reader, script string, args ...string) string {
	t.Helper()
	cmd := l.inside(append([]string{"/bin/sh", "-c", script, "sh"}, args...)...)
	cmd.Stdin = stdin
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("in the laid host: %v\n%s\n%s", err, script, tail(errs.Bytes()))
	}
	return out.String()
}

// Target is the host as a target; user "" is the login of the description.
func (l *Laid) Target(t testing.TB, user string) host.Target {
	t.Helper()
	to := target(t, l.Addr)
	to.Identity, to.User = l.Key, cmp.Or(user, l.User())
	return to
}

// Options trusts the host's key and nothing else.
func (l *Laid) Options(t testing.TB) host.Options {
	t.Helper()
	return host.Options{Home: t.TempDir(), KnownHosts: []string{KnownHosts(t, l.Addr, l.HostKey)}}
}

// Dial connects over ssh until the test ends; user as in Target.
func (l *Laid) Dial(t testing.TB, user string) host.Host {
	t.Helper()
	h, err := host.Connect(t.Context(), l.Target(t, user), l.Options(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, l.Log())
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Log is what the host's sshd has said so far.
func (l *Laid) Log() string {
	data, _ := os.ReadFile(l.log.Name())
	return string(data)
}

// PID is process 1 of the host, as this machine numbers it.
func (l *Laid) PID() int { return l.pid }
