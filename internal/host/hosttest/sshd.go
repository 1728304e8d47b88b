//go:build unix

package hosttest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/ascendctl/ascendctl/internal/host"
)

// SSHD is a real OpenSSH server on the loopback with keys and a configuration
// of its own. It ends with the test.
type SSHD struct {
	Addr    string
	Key     string // private key file that opens every account
	HostKey gossh.PublicKey
	dir     string
}

const sshdFile = "/usr/sbin/sshd"

// StartSSHD starts sshd; config are further lines of sshd_config, which win
// over the usual ones because sshd takes the first value of a key. A machine
// without sshd fails the test: a test that did not run must not look like one
// that passed.
func StartSSHD(t testing.TB, config ...string) *SSHD {
	t.Helper()
	need(t, sshdFile, "openssh-server")
	if os.Geteuid() == 0 { // where sshd keeps its unprivileged half; packages make it at boot
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Throw-away users read their key from here, so it is open to all.
	dir, err := os.MkdirTemp("", "ascendctl-sshd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := &SSHD{dir: dir, Key: filepath.Join(dir, "key")}
	_, d.HostKey = WriteKey(t, filepath.Join(dir, "host_key"), "")
	_, pub := WriteKey(t, d.Key, "")
	d.write(t, "authorized", string(gossh.MarshalAuthorizedKey(pub)), 0o644)
	for range 5 { // the port may be taken between looking and starting
		if d.start(t, config) {
			return d
		}
	}
	t.Fatalf("sshd does not start:\n%s", d.Log())
	return nil
}

func need(t testing.TB, file, pkg string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%s is missing (package %s): run make deps", file, pkg)
	}
}

func (d *SSHD) write(t testing.TB, name, text string, perm os.FileMode) string {
	t.Helper()
	file := filepath.Join(d.dir, name)
	if err := os.WriteFile(file, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	return file
}

func (d *SSHD) start(t testing.TB, config []string) bool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.Addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(d.Addr)
	l.Close()
	// The real home of the user would let its .bashrc speak and cost time.
	home := filepath.Join(d.dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := append(slices.Clone(config),
		"ListenAddress 127.0.0.1", "Port "+port, "HostKey "+filepath.Join(d.dir, "host_key"), "PidFile none",
		"AuthorizedKeysFile "+filepath.Join(d.dir, "authorized"), "StrictModes no", "PermitRootLogin yes",
		"UsePAM no", "PasswordAuthentication yes", "KbdInteractiveAuthentication no", "AllowTcpForwarding yes",
		"PrintMotd no", "UseDNS no", "LogLevel VERBOSE", "MaxStartups 200", "Subsystem sftp internal-sftp",
		"Match User "+me(t), "SetEnv HOME="+home)
	conf := d.write(t, "sshd_config", strings.Join(lines, "\n")+"\n", 0o600)
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(sshdFile, "-D", "-e", "-f", conf)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for range 100 {
		if c, err := net.DialTimeout("tcp", d.Addr, time.Second); err == nil {
			c.Close()
			t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	return false
}

// Log is what sshd has said so far.
func (d *SSHD) Log() string {
	data, _ := os.ReadFile(filepath.Join(d.dir, "log"))
	return string(data)
}

// Sessions counts the sessions sshd has started so far.
func (d *SSHD) Sessions() int { return strings.Count(d.Log(), "Starting session:") }

// Target is the server as a target, with the key that opens it.
func (d *SSHD) Target(t testing.TB) host.Target {
	tg := target(t, d.Addr)
	tg.Identity = d.Key
	tg.User = me(t)
	return tg
}

func me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// Options trusts the server's host key and nothing else.
func (d *SSHD) Options(t testing.TB) host.Options {
	return host.Options{Home: t.TempDir(), KnownHosts: []string{KnownHosts(t, d.Addr, d.HostKey)}}
}

// WriteKey makes an ed25519 key and writes its private half to file,
// encrypted when passphrase is not empty.
func WriteKey(t testing.TB, file, passphrase string) (gossh.Signer, gossh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = gossh.MarshalPrivateKey(key, "test")
	} else {
		block, err = gossh.MarshalPrivateKeyWithPassphrase(key, "test", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s, s.PublicKey()
}

// Person is a throw-away account.
type Person struct {
	Password string
	Sudo     string // sudoers rule after the name: "ALL=(ALL) ALL"; empty: none
	Shell    string // empty: /bin/sh
}

// AddUser makes an account that goes with the test, and gives its name. It
// needs root, as CI is; without it the test fails.
func AddUser(t testing.TB, p Person) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root to make a throw-away user: run make test as root, as CI does")
	}
	name := "asc" + strings.ToLower(rand.Text()[:8])
	if p.Shell == "" {
		p.Shell = "/bin/sh"
	}
	system(t, "", "useradd", "--create-home", "--shell", p.Shell, name)
	t.Cleanup(func() {
		system(t, "", "userdel", "--force", "--remove", name)
	})
	password := p.Password
	if password == "" {
		password = rand.Text() // sshd refuses an account without one as locked
	}
	system(t, name+":"+password+"\n", "chpasswd")
	if p.Sudo != "" {
		need(t, "/usr/bin/sudo", "sudo")
		rule := filepath.Join("/etc/sudoers.d", name)
		if err := os.WriteFile(rule, fmt.Appendf(nil, "%s %s\n", name, p.Sudo), 0o440); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(rule) })
	}
	return name
}

func system(t testing.TB, stdin, name string, args ...string) {
	t.Helper()
	for try := 0; ; try++ {
		cmd := exec.Command(name, args...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		if try == 20 || !strings.Contains(string(out), "lock") { // of the password file: another test has it
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
