//go:build unix

package host_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/report"
)

// onRead calls f once, when the command's input is first asked for.
type onRead struct {
	f    func()
	done bool
}

func (r *onRead) Read([]byte) (int, error) {
	if !r.done {
		r.done = true
		r.f()
	}
	return 0, io.EOF
}

// throughProxy connects to a real sshd over a relay that can fail.
func throughProxy(t *testing.T, delay, keepalive time.Duration) (*host.SSH, *hosttest.Proxy, *hosttest.SSHD) {
	t.Helper()
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	p := hosttest.NewProxy(t, d.Addr, delay)
	tg, err := host.ParseTarget(d.Target(t).User + "@" + p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	tg.Identity = d.Key
	return connect(t, tg, host.Options{KnownHosts: []string{hosttest.KnownHosts(t, p.Addr, d.HostKey)}, Keepalive: keepalive}), p, d
}

func wantLost(t *testing.T, what string, err error) {
	t.Helper()
	var p *report.Problem
	if !errors.Is(err, host.ErrUnreachable) || !errors.As(err, &p) || p.Exit != report.ExitUnreachable {
		t.Errorf("%s: %v", what, err)
	}
}

func TestConnectionCutInMidCommand(t *testing.T) {
	for name, stdin := range map[string]string{"no stdin": "", "stdin": "some input"} {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			h, p, _ := throughProxy(t, 0, 0)
			mark := newMark()
			go func() {
				waitFor(t, "the start", func() bool { return sleeping(mark) == 2 })
				p.Cut()
			}()
			_, err := h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", "timeout 600 sleep " + mark + " & exec sleep " + mark}, Stdin: strings.NewReader(stdin)})
			wantLost(t, "the command", err)
			waitFor(t, "the end of the processes", func() bool { return sleeping(mark) == 0 })
			_, err = h.Run(t.Context(), host.Command{Argv: []string{"true"}})
			wantLost(t, "the next command", err)
			a := h.Ask(t.Context(), []host.Question{{Kind: host.Hostname}})
			if a[0].State != host.Unknown || !errors.Is(a[0].Err, host.ErrUnreachable) {
				t.Errorf("ask: %+v", a[0])
			}
		})
	}
}

func TestConnectionCutInMidUpload(t *testing.T) {
	noLeak(t)
	h, p, d := throughProxy(t, 0, 0)
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	name := filepath.Join(t.TempDir(), "weights")
	p.CutAfter(5 << 20)
	wantLost(t, "the upload", host.Upload(t.Context(), h, bytes.NewReader(data), int64(len(data)), name, 0o644, nil))
	if _, err := os.Stat(name); err == nil {
		t.Error("half a file has the name of the whole one")
	}
	var told []int64
	again := connect(t, d.Target(t), d.Options(t))
	if err := host.Upload(t.Context(), again, bytes.NewReader(data), int64(len(data)), name, 0o644, func(n int64) { told = append(told, n) }); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(name); !bytes.Equal(got, data) {
		t.Error("the file is not what was sent")
	}
	if len(told) == 0 || told[0] < 1<<20 {
		t.Errorf("sent again from %v", told[:min(1, len(told))])
	}
}

func TestConnectionCutInMidWrite(t *testing.T) {
	noLeak(t)
	h, p, _ := throughProxy(t, 0, 0)
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.CutAfter(3 << 20)
	wantLost(t, "the write", h.WriteFile(t.Context(), name, make([]byte, 6<<20), 0o600))
	time.Sleep(300 * time.Millisecond) // the host may still be cleaning up
	if got, err := os.ReadFile(name); string(got) != "old" {
		t.Errorf("the old file is gone: %d bytes, %v", len(got), err)
	}
	waitFor(t, "the temporary file to go", func() bool {
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*config*"))
		return len(left) == 1
	})
}

// A network that says nothing at all is noticed by the keepalive.
func TestSilentNetworkIsNoticed(t *testing.T) {
	noLeak(t)
	h, p, _ := throughProxy(t, 0, 100*time.Millisecond)
	run(t, h, "true")
	time.AfterFunc(100*time.Millisecond, p.Freeze)
	_, err := h.Run(t.Context(), host.Command{Argv: []string{"sleep", "30"}})
	wantLost(t, "a command", err)
}

func TestHangingCommandEndsWithItsDeadline(t *testing.T) {
	noLeak(t)
	h, _, _ := throughProxy(t, 20*time.Millisecond, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	mark := newMark()
	// It reads nothing, says nothing and will not be told.
	_, err := h.Run(ctx, host.Command{Argv: []string{"sh", "-c", "trap '' TERM HUP INT PIPE; while :; do sleep " + mark + "; done"}, Stdin: bytes.NewReader(make([]byte, 8<<20))})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	waitFor(t, "the end of the process", func() bool { return sleeping(mark) == 0 })
	if r := run(t, h, "echo", "well"); string(r.Stdout) != "well\n" {
		t.Errorf("after it: %+v", r)
	}
}

// An input that fails must not look like one that ended.
func TestStdinThatFails(t *testing.T) {
	everyServer(t, func(t *testing.T, h *host.SSH) {
		broken := errors.New("disk error")
		name := filepath.Join(t.TempDir(), "copy")
		_, err := h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", `cat && touch "$1"`, "sh", name},
			Stdin: io.MultiReader(strings.NewReader("half"), &failing{broken})})
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(name); err == nil {
			t.Error("the command took the failure for the end")
		}
	})
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestOutputThatNobodyTakes(t *testing.T) {
	everyServer(t, func(t *testing.T, h *host.SSH) {
		full := errors.New("disk full")
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{"yes"}, Stdout: &refusing{full}}); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
	})
}

type refusing struct{ err error }

func (r *refusing) Write([]byte) (int, error) { return 0, r.err }

// The target is named, and the jump host that is to blame.
func TestJumpHostThatIsNotThere(t *testing.T) {
	noLeak(t)
	tg, o := overJumps(t)
	tg.Jump[1].Port = 1
	p := refusedBy(t, tg, o)
	if !strings.Contains(p.What.En, tg.Name) || !strings.Contains(p.Why.En, "second") {
		t.Errorf("%v", p)
	}
	tg, o = overJumps(t)
	o.KnownHosts = o.KnownHosts[:2] // the key of the second jump host is unknown
	var key *host.UnknownKey
	if p := refusedBy(t, tg, o); !errors.As(p, &key) || key.Host != "second" {
		t.Errorf("%v", p)
	}
}

// Cutting a jump host loses what is behind it.
func TestJumpHostCut(t *testing.T) {
	noLeak(t)
	tg, o := overJumps(t)
	p := hosttest.NewProxy(t, fmt.Sprintf("%s:%d", tg.Jump[0].Address, tg.Jump[0].Port), 5*time.Millisecond)
	through, err := host.ParseTarget(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	old := tg.Jump[0]
	tg.Jump[0].Address, tg.Jump[0].Port = through.Address, through.Port
	known, err := os.ReadFile(o.KnownHosts[1])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(known), fmt.Sprint(old.Port), fmt.Sprint(through.Port))
	if err := os.WriteFile(o.KnownHosts[1], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := connect(t, tg, o)
	mark := newMark()
	go func() {
		waitFor(t, "the start", func() bool { return sleeping(mark) == 1 })
		p.Cut()
	}()
	_, err = h.Run(t.Context(), host.Command{Argv: []string{"sleep", mark}})
	wantLost(t, "the command", err)
	waitFor(t, "the end of the process", func() bool { return sleeping(mark) == 0 })
}
