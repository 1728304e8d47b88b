//go:build unix

package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// noLeak fails the test when a goroutine outlives it. Cleanups run in reverse,
// so it is called first.
func noLeak(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if !t.Failed() {
			goleak.VerifyNone(t, before)
		}
	})
}

func connect(t *testing.T, tg host.Target, o host.Options) *host.SSH {
	t.Helper()
	h, err := host.Connect(t.Context(), tg, o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { h.Close() })
	return h.(*host.SSH)
}

func run(t *testing.T, h host.Host, argv ...string) host.Result {
	t.Helper()
	r, err := h.Run(t.Context(), host.Command{Argv: argv})
	if err != nil {
		t.Fatalf("run %q: %v", argv, err)
	}
	return r
}

// everyServer runs a test against the in-process server and a real sshd.
func everyServer(t *testing.T, f func(t *testing.T, h *host.SSH)) {
	t.Run("inproc", func(t *testing.T) {
		noLeak(t)
		s := hosttest.Serve(t, hosttest.Config{})
		f(t, connect(t, s.Target(t), s.Options(t)))
	})
	t.Run("sshd", func(t *testing.T) {
		noLeak(t)
		d := hosttest.StartSSHD(t, "MaxSessions 1")
		f(t, connect(t, d.Target(t), d.Options(t)))
	})
}

func TestSSHRunsCommands(t *testing.T) {
	everyServer(t, func(t *testing.T, h *host.SSH) {
		var all []byte
		for b := 1; b < 256; b++ {
			all = append(all, byte(b))
		}
		if r := run(t, h, "printf", "%s|%s", string(all), ""); string(r.Stdout) != string(all)+"|" {
			t.Errorf("argv came back as %q", r.Stdout)
		}
		if r := run(t, h, "sh", "-c", "echo out; echo err >&2; exit 3"); r.Exit != 3 || string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" {
			t.Errorf("got %+v", r)
		}
		if r := run(t, h, "sh", "-c", "kill -TERM $$"); r.Exit != 143 {
			t.Errorf("killed by SIGTERM: exit %d", r.Exit)
		}
		if r := run(t, h, "sh", "-c", "exit 127"); r.Exit != 127 {
			t.Errorf("127 of a command that is there: %+v", r)
		}
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{"no-such-command"}}); !errors.Is(err, host.ErrNoCommand) {
			t.Errorf("missing command: %v", err)
		}
		big := bytes.Repeat([]byte("0123456789abcde\n"), 200_000)
		r, err := h.Run(t.Context(), host.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(big), Env: []string{"A=1"}})
		if err != nil || !bytes.Equal(r.Stdout, big) {
			t.Errorf("cat of %d bytes gave %d, %v", len(big), len(r.Stdout), err)
		}
		r, err = h.Run(t.Context(), host.Command{Argv: []string{"head", "-c", "3"}, Stdin: bytes.NewReader(big)})
		if err != nil || string(r.Stdout) != "012" {
			t.Errorf("head: %q %v", r.Stdout, err)
		}
		r, err = h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", `echo "$ODD$LC_ALL"`}, Env: []string{"ODD=a'b\n"}})
		if err != nil || string(r.Stdout) != "a'b\nC\n" {
			t.Errorf("environment: %q %v", r.Stdout, err)
		}
	})
}

func TestSSHCancelKillsEverything(t *testing.T) {
	everyServer(t, func(t *testing.T, h *host.SSH) {
		for name, stdin := range map[string]io.Reader{"no stdin": nil, "stdin": strings.NewReader("x")} {
			ctx, cancel := context.WithCancel(t.Context())
			mark := newMark()
			text := fmt.Sprintf("trap '' TERM; timeout 600 sleep %s & sleep %s & sleep %s", mark, mark, mark)
			go func() {
				waitFor(t, "the start", func() bool { return sleeping(mark) == 3 })
				cancel()
			}()
			_, err := h.Run(ctx, host.Command{Argv: []string{"sh", "-c", text}, Stdin: stdin})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			waitFor(t, name+": the end of all processes", func() bool { return sleeping(mark) == 0 })
			if r := run(t, h, "echo", "again"); string(r.Stdout) != "again\n" {
				t.Errorf("after a cancel: %+v", r)
			}
		}
	})
}

// newMark is a number of seconds that no other process of this machine sleeps.
func newMark() string { return fmt.Sprint(1<<30 + rand.Uint32()>>2) }

// sleeping counts the processes whose command line is "sleep MARK".
func sleeping(mark string) int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if data, _ := os.ReadFile(f); string(data) == "sleep\x00"+mark+"\x00" {
			n++
		}
	}
	return n
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 400 {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Errorf("waited 10 s for %s", what)
}
