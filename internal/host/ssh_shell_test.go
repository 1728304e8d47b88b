//go:build unix

package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/report"
)

// loginShell writes a shell script that stands for a login shell.
func loginShell(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "shell")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "shell")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755)); err != nil {
		t.Fatal(err)
	}
	return file
}

// strange refuses what fish or csh would not understand or would change: it
// knows single quotes without escapes, and no $, ;, &, | outside of them.
const strange = `outside=$(printf %s "$2" | sed "s/'[^']*'//g")
case $outside in *['$;&|<>(){}"\!']*) echo "shell: syntax error" >&2; exit 2;; esac
case $2 in *\\*|*!*) echo "shell: expands this" >&2; exit 2;; esac
exec /bin/sh -c "$2"
`

const talkative = `echo "Welcome to npu01!"; echo "   last login: never" >&2
exec /bin/sh -c "$2"
`

func TestLoginShells(t *testing.T) {
	d := hosttest.StartSSHD(t)
	words := []string{"printf", `%s|%s`, "a'b\\c!\n$HOME", "中文"}
	for name, text := range map[string]string{"one that is not POSIX": strange, "one that talks on both outputs": talkative} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			shell := loginShell(t, text)
			home := d.Target(t)
			home.User = hosttest.AddUser(t, hosttest.Person{Shell: shell})
			for where, h := range map[string]*host.SSH{
				"sshd": connect(t, home, d.Options(t)),
				"inproc": func() *host.SSH {
					s := hosttest.Serve(t, hosttest.Config{Exec: hosttest.Shell(shell), Banner: "keep out\n"})
					return connect(t, s.Target(t), s.Options(t))
				}(),
			} {
				if r := run(t, h, words...); string(r.Stdout) != words[2]+"|"+words[3] || len(r.Stderr) > 0 {
					t.Errorf("%s: %q %q", where, r.Stdout, r.Stderr)
				}
				a := h.Ask(t.Context(), []host.Question{{Kind: host.File, Args: []string{"/etc/passwd"}}, {Kind: host.File, Args: []string{"/no/such"}}})
				want, _ := os.ReadFile("/etc/passwd")
				if string(a[0].Stdout) != string(want) || a[1].State != host.Absent {
					t.Errorf("%s: ask: %+v", where, a)
				}
			}
		})
	}
	for name, text := range map[string]string{
		"says no":      "echo 'This account is not available.'; exit 1\n",
		"says nothing": "exit 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			s := hosttest.Serve(t, hosttest.Config{Exec: hosttest.Shell(loginShell(t, text))})
			h := connect(t, s.Target(t), s.Options(t))
			_, err := h.Run(t.Context(), host.Command{Argv: []string{"true"}})
			var p *report.Problem
			if !errors.As(err, &p) || errors.Is(err, host.ErrUnreachable) {
				t.Fatalf("got %v", err)
			}
			if name == "says no" && !strings.Contains(p.Why.En, "not available") {
				t.Errorf("why: %s", p.Why.En)
			}
		})
	}
}

// Under MaxSessions 1 many callers at once wait for each other.
func TestOneSessionForManyCallers(t *testing.T) {
	noLeak(t)
	s := hosttest.Serve(t, hosttest.Config{MaxSessions: 1})
	h := connect(t, s.Target(t), s.Options(t))
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := h.Run(t.Context(), host.Command{Argv: []string{"true"}})
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := s.Sessions(); n != 8 {
		t.Errorf("%d sessions for 8 commands", n)
	}
}

// However many questions: one session.
func TestAskIsOneSession(t *testing.T) {
	noLeak(t)
	s := hosttest.Serve(t, hosttest.Config{})
	h := connect(t, s.Target(t), s.Options(t))
	var qs []host.Question
	for range 100 {
		qs = append(qs, host.Question{Kind: host.Stat, Args: []string{"/"}}, host.Question{Kind: host.Exec, Args: []string{"id"}, Root: true})
	}
	for i, a := range h.Ask(t.Context(), qs) {
		if a.State != host.Known {
			t.Fatalf("question %d: %+v", i, a)
		}
	}
	if n := s.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// The server without processes gives what the real one gave.
func TestCannedAnswersAreTheRealOnes(t *testing.T) {
	noLeak(t)
	exec := hosttest.Shell("/bin/sh")
	runs := 0
	counted := func(ctx context.Context, s hosttest.Session) int { runs++; return exec(ctx, s) }
	s := hosttest.Serve(t, hosttest.Config{Exec: hosttest.Canned(counted)})
	qs := []host.Question{{Kind: host.File, Args: []string{"/etc/passwd"}}, {Kind: host.Identity}, {Kind: host.File, Args: []string{"/no/such"}}}
	want := host.NewLocal().Ask(t.Context(), qs)
	for range 3 {
		h := connect(t, s.Target(t), s.Options(t))
		for i, a := range h.Ask(t.Context(), qs) {
			if a.State != want[i].State || string(a.Stdout) != string(want[i].Stdout) {
				t.Errorf("question %d: %+v, want %+v", i, a, want[i])
			}
		}
	}
	if runs != 1 {
		t.Errorf("%d commands ran", runs)
	}
}
