//go:build unix

package host_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/report"
)

// refusedBy connects in vain and gives the problem a person would see.
func refusedBy(t *testing.T, tg host.Target, o host.Options) *report.Problem {
	t.Helper()
	h, err := host.Connect(t.Context(), tg, o)
	if err == nil {
		h.Close()
		t.Fatal("was let in")
	}
	var p *report.Problem
	if !errors.As(err, &p) {
		t.Fatalf("not a problem: %v", err)
	}
	if p.Exit == report.ExitUnreachable && !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("exit 5 without ErrUnreachable: %v", err)
	}
	return p
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestHostKeys(t *testing.T) {
	d := hosttest.StartSSHD(t)
	tg, o := d.Target(t), d.Options(t)

	t.Run("unknown, then trusted", func(t *testing.T) {
		noLeak(t)
		o := o
		o.KnownHosts = []string{filepath.Join(t.TempDir(), "new", "known_hosts")}
		p := refusedBy(t, tg, o)
		var key *host.UnknownKey
		if !errors.As(p, &key) || key.Fingerprint != gossh.FingerprintSHA256(d.HostKey) || !strings.Contains(p.Why.Zh, key.Fingerprint) {
			t.Fatalf("%v: %+v", p, key)
		}
		if err := key.Trust(); err != nil {
			t.Fatal(err)
		}
		connect(t, tg, o)
	})
	t.Run("changed", func(t *testing.T) {
		noLeak(t)
		other := hosttest.NewKey(t).PublicKey()
		file := hosttest.KnownHosts(t, d.Addr, other)
		o := o
		o.KnownHosts, o.AcceptNew = []string{file}, true // accepting new keys does not accept changed ones
		p := refusedBy(t, tg, o)
		var key *host.ChangedKey
		if !errors.As(p, &key) {
			t.Fatal(p)
		}
		for _, want := range []string{gossh.FingerprintSHA256(d.HostKey), gossh.FingerprintSHA256(other), file + ":1"} {
			if !strings.Contains(p.Why.En, want) || !strings.Contains(p.Why.Zh, want) {
				t.Errorf("no %s in %q", want, p.Why)
			}
		}
		_, port, _ := net.SplitHostPort(d.Addr)
		if want := report.Line("ssh-keygen", "-R", "[127.0.0.1]:"+port, "-f", file); p.Run != want {
			t.Errorf("run %q, want %q", p.Run, want)
		}
	})
}

func TestAcceptNewHostKeys(t *testing.T) {
	d := hosttest.StartSSHD(t)
	tg, o := d.Target(t), d.Options(t)
	t.Run("once", func(t *testing.T) {
		noLeak(t)
		o := o
		o.KnownHosts, o.AcceptNew = []string{hosttest.KnownHosts(t, "elsewhere:22", hosttest.NewKey(t).PublicKey())}, true
		var all sync.WaitGroup
		for range 4 { // side by side: one line all the same
			all.Go(func() {
				h, err := host.Connect(t.Context(), tg, o)
				if err != nil {
					t.Error(err)
					return
				}
				h.Close()
			})
		}
		all.Wait()
		data, err := os.ReadFile(o.KnownHosts[0])
		if err != nil || strings.Count(string(data), "\n") != 2 {
			t.Errorf("known_hosts: %q, %v", data, err)
		}
		o.AcceptNew = false
		connect(t, tg, o)
	})
	t.Run("hashed names stay hashed", func(t *testing.T) {
		noLeak(t)
		file := filepath.Join(t.TempDir(), "known_hosts")
		first := "|1|" + strings.Repeat("A", 27) + "=|" + strings.Repeat("A", 27) + "= " + strings.TrimSpace(string(gossh.MarshalAuthorizedKey(hosttest.NewKey(t).PublicKey())))
		if err := os.WriteFile(file, []byte(first), 0o600); err != nil { // no newline at its end
			t.Fatal(err)
		}
		o := o
		o.KnownHosts, o.AcceptNew = []string{file}, true
		connect(t, tg, o)
		data, _ := os.ReadFile(file)
		if ls := strings.Split(string(data), "\n"); len(ls) != 3 || !strings.HasPrefix(ls[1], "|1|") {
			t.Errorf("known_hosts: %q", data)
		}
	})
}

// A server with two keys of which the file holds the less usual one must not
// look like a changed host.
func TestHostKeyAlgorithmsFollowTheFile(t *testing.T) {
	noLeak(t)
	ed, rsa := hosttest.NewKey(t), hosttest.NewRSAKey(t)
	s := hosttest.Serve(t, hosttest.Config{HostKeys: []gossh.Signer{ed, rsa}})
	for name, key := range map[string]gossh.PublicKey{"ed25519": ed.PublicKey(), "rsa": rsa.PublicKey()} {
		o := s.Options(t)
		o.KnownHosts = []string{hosttest.KnownHosts(t, s.Addr, key)}
		if h, err := host.Connect(t.Context(), s.Target(t), o); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			h.Close()
		}
	}
}

func TestPasswords(t *testing.T) {
	s := hosttest.Serve(t, hosttest.Config{Password: "open sesame"})
	asked := hosttest.Serve(t, hosttest.Config{Interactive: map[string]string{"Password: ": "open sesame"}})
	tg := s.Target(t)
	tg.PasswordEnv = "NPU01_PASSWORD"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("open sesame\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	prompt := func(answers ...string) func(context.Context, host.Secret) (string, error) {
		return func(_ context.Context, s host.Secret) (string, error) {
			if s.Kind != host.LoginPassword || s.User != "tester" || len(answers) == 0 {
				return "", errors.New("asked for the wrong thing")
			}
			a := answers[0]
			answers = answers[1:]
			return a, nil
		}
	}
	for name, c := range map[string]struct {
		server *hosttest.Server
		change func(o *host.Options)
		in     bool
	}{
		"variable of the hosts file": {s, func(o *host.Options) { o.Getenv = env("NPU01_PASSWORD", "open sesame") }, true},
		"our variable":               {s, func(o *host.Options) { o.Getenv = env("ASCENDCTL_SSH_PASSWORD", "open sesame") }, true},
		"a file":                     {s, func(o *host.Options) { o.PasswordFile = file }, true},
		"typed":                      {s, func(o *host.Options) { o.Prompt = prompt("open sesame") }, true},
		"typed at the third try":     {s, func(o *host.Options) { o.Prompt = prompt("a", "b", "open sesame") }, true},
		"wrong":                      {s, func(o *host.Options) { o.Getenv = env("ASCENDCTL_SSH_PASSWORD", "wrong") }, false},
		"nobody to ask":              {s, func(o *host.Options) {}, false},
		"keyboard-interactive":       {asked, func(o *host.Options) { o.Getenv = env("ASCENDCTL_SSH_PASSWORD", "open sesame") }, true},
		"keyboard-interactive typed": {asked, func(o *host.Options) { o.Prompt = prompt("open sesame") }, true},
		"keyboard-interactive wrong": {asked, func(o *host.Options) { o.Getenv = env("ASCENDCTL_SSH_PASSWORD", "wrong") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			o := c.server.Options(t)
			c.change(&o)
			tg := tg
			tg.Name, tg.Port = c.server.Addr, c.server.Target(t).Port
			if c.in {
				connect(t, tg, o)
				return
			}
			p := refusedBy(t, tg, o)
			if p.Exit != report.ExitUnreachable || strings.Contains(p.Error()+p.Unwrap().Error(), "sesame") {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestPasswordFileThatOthersCanRead(t *testing.T) {
	noLeak(t)
	s := hosttest.Serve(t, hosttest.Config{Password: "open sesame"})
	o := s.Options(t)
	o.PasswordFile = filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(o.PasswordFile, []byte("open sesame\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := refusedBy(t, s.Target(t), o); p.Exit != report.ExitUsage || !strings.Contains(p.Run, "chmod 600") {
		t.Errorf("%+v", p)
	}
}

func TestKeysAndAgent(t *testing.T) {
	dir := t.TempDir()
	plain, locked := filepath.Join(dir, "plain"), filepath.Join(dir, "locked")
	_, plainPub := hosttest.WriteKey(t, plain, "")
	_, lockedPub := hosttest.WriteKey(t, locked, "a phrase")
	sock, inAgent := startAgent(t)
	s := hosttest.Serve(t, hosttest.Config{Keys: []gossh.PublicKey{plainPub, lockedPub, inAgent}})
	phrase := func(answer string) func(context.Context, host.Secret) (string, error) {
		return func(_ context.Context, s host.Secret) (string, error) {
			if s.Kind != host.KeyPassphrase || s.File != locked {
				return "", errors.New("asked for the wrong thing")
			}
			return answer, nil
		}
	}
	for name, c := range map[string]struct {
		change func(o *host.Options)
		exit   report.Exit
	}{
		"identity":            {func(o *host.Options) { o.Identity = plain }, 0},
		"encrypted":           {func(o *host.Options) { o.Identity, o.Prompt = locked, phrase("a phrase") }, 0},
		"encrypted, wrong":    {func(o *host.Options) { o.Identity, o.Prompt = locked, phrase("no") }, report.ExitUnreachable},
		"encrypted, nobody":   {func(o *host.Options) { o.Identity = locked }, report.ExitUnreachable},
		"agent":               {func(o *host.Options) { o.Getenv = env("SSH_AUTH_SOCK", sock) }, 0},
		"agent is gone":       {func(o *host.Options) { o.Getenv = env("SSH_AUTH_SOCK", sock+"x") }, report.ExitUnreachable},
		"no key":              {func(o *host.Options) {}, report.ExitUnreachable},
		"identity is missing": {func(o *host.Options) { o.Identity = plain + "x" }, report.ExitUsage},
		"identity is no key":  {func(o *host.Options) { o.Identity = "/etc/passwd" }, report.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			o := s.Options(t)
			c.change(&o)
			if c.exit == 0 {
				connect(t, s.Target(t), o)
			} else if p := refusedBy(t, s.Target(t), o); p.Exit != c.exit {
				t.Errorf("exit %d: %v", p.Exit, p)
			}
		})
	}
}

// startAgent serves an agent with one key on a socket.
func startAgent(t *testing.T) (sock string, key gossh.PublicKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	keys, err := ring.List()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock = filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { _ = agent.ServeAgent(ring, c); c.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	pub, err := gossh.ParsePublicKey(keys[0].Blob)
	if err != nil {
		t.Fatal(err)
	}
	return sock, pub
}

// A real sshd takes the password of a real account, and refuses a wrong one.
func TestPasswordAtARealServer(t *testing.T) {
	noLeak(t)
	d := hosttest.StartSSHD(t)
	name := hosttest.AddUser(t, hosttest.Person{Password: "s3cret word"})
	tg, o := d.Target(t), d.Options(t)
	tg.User, tg.Identity = name, ""
	o.Getenv = env("ASCENDCTL_SSH_PASSWORD", "s3cret word")
	h := connect(t, tg, o)
	if r := run(t, h, "id", "-un"); strings.TrimSpace(string(r.Stdout)) != name {
		t.Errorf("logged in as %q", r.Stdout)
	}
	o.Getenv = env("ASCENDCTL_SSH_PASSWORD", "wrong")
	if p := refusedBy(t, tg, o); !strings.Contains(p.Why.En, "password") {
		t.Errorf("%v", p)
	}
}

func TestUnreachable(t *testing.T) {
	noLeak(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, addr := range map[string]string{"refused": closed.Addr().String(), "silent": silent.Addr().String()} {
		tg, err := host.ParseTarget("u@" + addr)
		if err != nil {
			t.Fatal(err)
		}
		p := refusedBy(t, tg, host.Options{Timeout: 200 * time.Millisecond})
		if p.Exit != report.ExitUnreachable || p.Why.En == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	tg, _ := host.ParseTarget("u@" + silent.Addr().String())
	if _, err := host.Connect(ctx, tg, host.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// An agent that never answers is given up with the login.
func TestAgentThatHangs(t *testing.T) {
	noLeak(t)
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := hosttest.Serve(t, hosttest.Config{Password: "x"})
	o := s.Options(t)
	o.Getenv, o.Timeout = env("SSH_AUTH_SOCK", filepath.Join(dir, "s")), 300*time.Millisecond
	if p := refusedBy(t, s.Target(t), o); p.Exit != report.ExitUnreachable {
		t.Errorf("%v", p)
	}
}
