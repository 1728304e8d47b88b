//go:build unix

package hosttest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gliderlabs/ssh"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Session is one exec request as a server sees it.
type Session struct {
	User, Line     string
	Stdin          io.Reader // ends when the client ends the session
	Stdout, Stderr io.Writer
}

// Exec serves a session and gives its exit status. ctx ends with the
// connection.
type Exec func(ctx context.Context, s Session) int

// Config is what an in-process server is like. The zero value lets everybody
// in and runs what it is told with the sh of this machine.
type Config struct {
	Exec        Exec // nil: Shell("/bin/sh")
	MaxSessions int  // open at once; 0: no limit
	HostKeys    []gossh.Signer
	Password    string            // asked for when not empty
	Interactive map[string]string // keyboard-interactive: question -> answer
	Keys        []gossh.PublicKey // let in when not empty
	Banner      string            // before the login
}

// Server is an SSH server inside the test: real protocol, no sshd. It also
// serves as a jump host.
type Server struct {
	Addr     string // 127.0.0.1:port
	HostKeys []gossh.PublicKey
	sessions atomic.Int64
	open     atomic.Int64
}

// Sessions counts the session channels that were opened so far, the ones it
// refused not among them.
func (s *Server) Sessions() int { return int(s.sessions.Load()) }

// Serve starts a server that ends with the test.
func Serve(t testing.TB, c Config) *Server {
	t.Helper()
	if len(c.HostKeys) == 0 {
		c.HostKeys = []gossh.Signer{NewKey(t)}
	}
	if c.Exec == nil {
		c.Exec = Shell("/bin/sh")
	}
	s := &Server{}
	srv := &ssh.Server{
		Handler: func(sess ssh.Session) {
			_ = sess.Exit(c.Exec(sess.Context(), Session{
				User: sess.User(), Line: sess.RawCommand(), Stdin: sess, Stdout: sess, Stderr: sess.Stderr()}))
		},
		Banner:                      c.Banner,
		LocalPortForwardingCallback: func(ssh.Context, string, uint32) bool { return true },
		ChannelHandlers: map[string]ssh.ChannelHandler{
			"direct-tcpip": ssh.DirectTCPIPHandler,
			"session":      s.counted(c.MaxSessions),
		},
		RequestHandlers: map[string]ssh.RequestHandler{
			"keepalive@openssh.com": func(ssh.Context, *ssh.Server, *gossh.Request) (bool, []byte) { return true, nil },
		},
	}
	for _, k := range c.HostKeys {
		srv.AddHostKey(k)
		s.HostKeys = append(s.HostKeys, k.PublicKey())
	}
	c.auth(srv)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = l.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-ended; !errors.Is(err, ssh.ErrServerClosed) {
			t.Errorf("in-process server: %v", err)
		}
	})
	return s
}

func (c Config) auth(srv *ssh.Server) {
	if c.Password != "" {
		srv.PasswordHandler = func(_ ssh.Context, got string) bool { return got == c.Password }
	}
	if len(c.Keys) > 0 {
		srv.PublicKeyHandler = func(_ ssh.Context, key ssh.PublicKey) bool {
			for _, k := range c.Keys {
				if ssh.KeysEqual(k, key) {
					return true
				}
			}
			return false
		}
	}
	if len(c.Interactive) > 0 {
		srv.KeyboardInteractiveHandler = func(_ ssh.Context, ask gossh.KeyboardInteractiveChallenge) bool {
			for q, want := range c.Interactive {
				got, err := ask("", "", []string{q}, []bool{false})
				if err != nil || len(got) != 1 || got[0] != want {
					return false
				}
			}
			return true
		}
	}
}

func (s *Server) counted(limit int) ssh.ChannelHandler {
	return func(srv *ssh.Server, conn *gossh.ServerConn, ch gossh.NewChannel, ctx ssh.Context) {
		defer s.open.Add(-1)
		if n := s.open.Add(1); limit > 0 && n > int64(limit) {
			_ = ch.Reject(gossh.ResourceShortage, "no more sessions")
			return
		}
		s.sessions.Add(1)
		ssh.DefaultSessionHandler(srv, conn, ch, ctx) // returns when the channel is closed
	}
}

// Target is the server as a target.
func (s *Server) Target(t testing.TB) host.Target {
	return target(t, s.Addr)
}

// Options trusts the server's host keys and nothing else.
func (s *Server) Options(t testing.TB) host.Options {
	return host.Options{User: "tester", Home: t.TempDir(), KnownHosts: []string{KnownHosts(t, s.Addr, s.HostKeys...)}}
}

func target(t testing.TB, addr string) host.Target {
	t.Helper()
	h, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return host.Target{Name: addr, Address: h, Port: n}
}

// NewKey makes an ed25519 key.
func NewKey(t testing.TB) gossh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NewRSAKey makes an RSA key, as old hosts have.
func NewRSAKey(t testing.TB) gossh.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// KnownHosts writes a known_hosts file with keys for addr.
func KnownHosts(t testing.TB, addr string, keys ...gossh.PublicKey) string {
	t.Helper()
	var text string
	for _, k := range keys {
		text += knownhosts.Line([]string{addr}, k) + "\n"
	}
	name := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Shell runs what it is told with a login shell of this machine, in a session
// of its own as sshd does.
func Shell(file string) Exec {
	return func(ctx context.Context, s Session) int {
		cmd := exec.CommandContext(ctx, file, "-c", s.Line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return 255
		}
		if err := cmd.Start(); err != nil {
			_, _ = io.WriteString(s.Stderr, err.Error())
			return 255
		}
		var fed sync.WaitGroup
		fed.Go(func() {
			_, _ = io.Copy(in, s.Stdin)
			in.Close()
		})
		err = cmd.Wait()
		var status *exec.ExitError
		switch {
		case err == nil:
			return 0
		case errors.As(err, &status) && status.Exited():
			return status.ExitCode()
		}
		return 255
	}
}
