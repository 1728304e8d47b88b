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

const sudoSecret = "pass'word $x"

// asPerson logs in to a real sshd as a throw-away user.
func asPerson(t *testing.T, d *hosttest.SSHD, p hosttest.Person, change func(*host.Target, *host.Options)) *host.SSH {
	t.Helper()
	tg, o := d.Target(t), d.Options(t)
	tg.User = hosttest.AddUser(t, p)
	if change != nil {
		change(&tg, &o)
	}
	return connect(t, tg, o)
}

var asRoot = host.Command{Argv: []string{"sh", "-c", "id -u; cat"}, Root: true}

// rootRun runs a command as root with stdin and wants it to see exactly that.
func rootRun(t *testing.T, h host.Host) {
	t.Helper()
	c := asRoot
	c.Stdin = strings.NewReader("the input\n")
	r, err := h.Run(t.Context(), c)
	if err != nil || string(r.Stdout) != "0\nthe input\n" || len(r.Stderr) > 0 {
		t.Errorf("got %q %q %v", r.Stdout, r.Stderr, err)
	}
}

func TestSudo(t *testing.T) {
	d := hosttest.StartSSHD(t, "MaxSessions 1")

	t.Run("the login is root", func(t *testing.T) {
		noLeak(t)
		h := connect(t, d.Target(t), d.Options(t))
		rootRun(t, h)
		rootRun(t, h)
	})
	t.Run("without a password", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, hosttest.Person{Sudo: "ALL=(ALL) NOPASSWD: ALL"}, nil)
		before := d.Sessions()
		rootRun(t, h)
		rootRun(t, h)
		if n := d.Sessions() - before; n != 2 {
			t.Errorf("two commands took %d sessions", n)
		}
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{"no-such-command"}, Root: true}); !errors.Is(err, host.ErrNoCommand) {
			t.Errorf("missing command: %v", err)
		}
	})
	t.Run("without a password, though one is at hand", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, hosttest.Person{Password: sudoSecret, Sudo: "ALL=(ALL) NOPASSWD: ALL"}, func(_ *host.Target, o *host.Options) {
			o.Getenv = env("ASCENDCTL_SUDO_PASSWORD", sudoSecret)
		})
		rootRun(t, h) // the password does not end up in the command's stdin
		rootRun(t, h)
	})
}

func TestSudoRefused(t *testing.T) {
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	for name, p := range map[string]hosttest.Person{
		"refused: not in sudoers":     {},
		"refused: a password, no one": {Password: sudoSecret, Sudo: "ALL=(ALL) ALL"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			h := asPerson(t, d, p, nil)
			_, err := h.Run(t.Context(), asRoot)
			var problem *report.Problem
			if !errors.Is(err, host.ErrNoRoot) || !errors.As(err, &problem) || !strings.Contains(problem.Why.En, "password is required") {
				t.Fatalf("%v", err)
			}
			before := d.Sessions()
			if _, err := h.Run(t.Context(), asRoot); !errors.Is(err, host.ErrNoRoot) || d.Sessions() != before {
				t.Errorf("asked again: %v", err)
			}
			if r := run(t, h, "id", "-u"); string(r.Stdout) == "0\n" {
				t.Errorf("a plain command ran as root")
			}
			a := h.Ask(t.Context(), []host.Question{{Kind: host.Exec, Args: []string{"id", "-u"}, Root: true}})
			if a[0].State != host.Unknown || !errors.Is(a[0].Err, host.ErrNoRoot) {
				t.Errorf("ask: %+v", a[0])
			}
		})
	}
}

func TestSudoAsTheHostsFileSays(t *testing.T) {
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	t.Run("switched off", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, hosttest.Person{Sudo: "ALL=(ALL) NOPASSWD: ALL"}, func(tg *host.Target, _ *host.Options) { tg.Sudo = "never" })
		if _, err := h.Run(t.Context(), asRoot); !errors.Is(err, host.ErrNoRoot) {
			t.Errorf("got %v", err)
		}
		id := host.Question{Kind: host.Exec, Args: []string{"id", "-u"}}
		as := h.Ask(t.Context(), []host.Question{{Kind: id.Kind, Args: id.Args, Root: true}, id})
		if as[0].State != host.Unknown || !errors.Is(as[0].Err, host.ErrNoRoot) || as[1].State != host.Known {
			t.Errorf("ask: %+v", as)
		}
	})
	t.Run("always", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, hosttest.Person{Sudo: "ALL=(ALL) NOPASSWD: ALL"}, func(tg *host.Target, _ *host.Options) { tg.Sudo = "always" })
		if r := run(t, h, "id", "-u"); string(r.Stdout) == "0\n" {
			t.Error("a command that did not ask for it ran as root")
		}
		rootRun(t, h)
		tg, o := d.Target(t), d.Options(t)
		tg.User, o.Sudo = hosttest.AddUser(t, hosttest.Person{}), "always"
		if p := refusedBy(t, tg, o); !errors.Is(p, host.ErrNoRoot) {
			t.Errorf("got %v", p)
		}
	})
}

func TestSudoWithAPassword(t *testing.T) {
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	person := hosttest.Person{Password: sudoSecret, Sudo: "ALL=(ALL) ALL"}
	prompt := func(answers ...string) func(context.Context, host.Secret) (string, error) {
		return func(_ context.Context, s host.Secret) (string, error) {
			if s.Kind != host.SudoPassword || len(answers) == 0 {
				return "", errors.New("asked for the wrong thing")
			}
			a := answers[0]
			answers = answers[1:]
			return a, nil
		}
	}
	for name, change := range map[string]func(*host.Target, *host.Options){
		"our variable": func(_ *host.Target, o *host.Options) { o.Getenv = env("ASCENDCTL_SUDO_PASSWORD", sudoSecret) },
		"variable of the hosts file": func(tg *host.Target, o *host.Options) {
			tg.SudoPasswordEnv = "NPU01_SUDO"
			o.Getenv = env("NPU01_SUDO", sudoSecret, "ASCENDCTL_SUDO_PASSWORD", "that of other hosts")
		},
		"typed":              func(_ *host.Target, o *host.Options) { o.Prompt = prompt(sudoSecret) },
		"typed, not at once": func(_ *host.Target, o *host.Options) { o.Prompt = prompt("a", sudoSecret) },
	} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			h := asPerson(t, d, person, change)
			if err := h.Elevate(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := d.Sessions()
			rootRun(t, h)
			a := h.Ask(t.Context(), []host.Question{
				{Kind: host.Exec, Args: []string{"id", "-u"}, Root: true}, {Kind: host.Exec, Args: []string{"id", "-u"}}})
			if string(a[0].Stdout) != "0\n" || string(a[1].Stdout) == "0\n" || a[1].State != host.Known {
				t.Errorf("ask: %+v", a)
			}
			if n := d.Sessions() - before; n != 2 {
				t.Errorf("a command and a round of questions took %d sessions", n)
			}
		})
	}
}

func TestSudoPasswordStaysHidden(t *testing.T) {
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	person := hosttest.Person{Password: sudoSecret, Sudo: "ALL=(ALL) ALL"}
	t.Run("wrong", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, person, func(_ *host.Target, o *host.Options) { o.Getenv = env("ASCENDCTL_SUDO_PASSWORD", "wrong word") })
		_, err := h.Run(t.Context(), asRoot)
		if !errors.Is(err, host.ErrNoRoot) || strings.Contains(err.Error(), "wrong word") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("in no list of processes and no environment", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, person, func(_ *host.Target, o *host.Options) { o.Getenv = env("ASCENDCTL_SUDO_PASSWORD", sudoSecret) })
		for range 2 { // deciding, and decided
			if _, err := h.Run(t.Context(), host.Command{Argv: []string{"true"}, Root: true,
				Stdin: &onRead{f: func() { seesNoSecret(t) }}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", "sleep 0.1; tr '\\0' '\\n' </proc/$PPID/environ; env; true"}, Root: true, Stdout: &noSecret{t}}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("cancelled as root, the processes go", func(t *testing.T) {
		noLeak(t)
		h := asPerson(t, d, person, func(_ *host.Target, o *host.Options) { o.Getenv = env("ASCENDCTL_SUDO_PASSWORD", sudoSecret) })
		ctx, cancel := context.WithCancel(t.Context())
		mark := newMark()
		go func() {
			waitFor(t, "the start", func() bool { return sleeping(mark) == 1 })
			cancel()
		}()
		_, err := h.Run(ctx, host.Command{Argv: []string{"timeout", "60", "sleep", mark}, Root: true})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		waitFor(t, "the end of a process of root", func() bool { return sleeping(mark) == 0 })
	})
}

// seesNoSecret looks at every process of the machine for the password.
func seesNoSecret(t *testing.T) {
	for _, kind := range []string{"cmdline", "environ"} {
		files, _ := filepath.Glob("/proc/[0-9]*/" + kind)
		for _, f := range files {
			if data, _ := os.ReadFile(f); strings.Contains(string(data), sudoSecret) {
				t.Errorf("%s holds the password: %q", f, data)
			}
		}
	}
}

type noSecret struct{ t *testing.T }

func (n *noSecret) Write(p []byte) (int, error) {
	if strings.Contains(string(p), sudoSecret) {
		n.t.Errorf("the password is in %q", p)
	}
	return len(p), nil
}
