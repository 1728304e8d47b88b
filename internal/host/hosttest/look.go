package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Scene is the least a host must hold to be looked at by Look: what a
// description of it says, file contents, links and what commands answer.
type Scene struct {
	Files    map[string]string
	Links    map[string]string
	Commands map[string]host.Result // command line -> what it leaves behind
}

// Seen is the scene Look expects in a closed world.
func Seen() Scene {
	return Scene{
		Files:    map[string]string{"/etc/look/a": "one\r\ntwo", "/etc/look/b": ""},
		Links:    map[string]string{"/etc/look/l": "a", "/etc/look/nowhere": "../none"},
		Commands: map[string]host.Result{"npu-smi info": {Stdout: []byte("simulated\n"), Stderr: []byte("warn\n"), Exit: 187}},
	}
}

// Look runs the parts of the contract that make sense for a host that is only
// looked at. open gives a host that holds Seen and nothing else.
func Look(t *testing.T, name string, open func(t *testing.T, s Scene) host.Host) {
	t.Helper()
	Ran(name)
	h := open(t, Seen())
	t.Run("ask", func(t *testing.T) {
		as := expect(t, h,
			want{q(host.File, "/etc/look/a"), host.Known, "one\r\ntwo"},
			want{q(host.File, "/etc/look/b"), host.Known, ""},
			want{q(host.File, "/etc/look/l"), host.Known, "one\r\ntwo"},
			want{q(host.File, "/etc/look/none"), host.Absent, ""},
			want{q(host.File, "/etc/look/nowhere"), host.Absent, ""},
			want{q(host.File, "/etc/look/a/none"), host.Absent, ""},
			want{q(host.Glob, "/etc/look/[ab]"), host.Known, "/etc/look/a\n/etc/look/b\n"},
			want{q(host.Glob, "/etc/look/n*"), host.Known, "/etc/look/nowhere\n"},
			want{q(host.Glob, "/etc/none/*"), host.Known, ""},
			want{q(host.Link, "/etc/look/l"), host.Known, "a\n"},
			want{q(host.Link, "/etc/look/a"), host.Absent, ""},
			want{q(host.Exec, "npu-smi", "info"), host.Known, "simulated\n"},
			want{q(host.Exec, "/usr/local/bin/npu-smi", "info"), host.Known, "simulated\n"},
			want{q(host.Exec, "no-such-binary"), host.Absent, ""},
			want{q(host.Clock), host.Unknown, ""},
		)
		if a := as[11]; a.Exit != 187 || string(a.Stderr) != "warn\n" {
			t.Errorf("%+v", a)
		}
		if !errors.Is(as[14].Err, host.ErrNotRecorded) {
			t.Errorf("a value nobody has: %v", as[14].Err)
		}
	})
	t.Run("run and read", func(t *testing.T) {
		if r := run(t, h, host.Command{Argv: []string{"npu-smi", "info"}}); r.Exit != 187 || string(r.Stdout) != "simulated\n" {
			t.Errorf("%+v", r)
		}
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{"no-such-binary"}}); !errors.Is(err, host.ErrNoCommand) {
			t.Errorf("no such command: %v", err)
		}
		if data, err := h.ReadFile(t.Context(), "/etc/look/a"); err != nil || string(data) != "one\r\ntwo" {
			t.Errorf("%q %v", data, err)
		}
		if _, err := h.ReadFile(t.Context(), "/etc/look/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no such file: %v", err)
		}
	})
	t.Run("cannot be changed", func(t *testing.T) {
		if err := h.WriteFile(t.Context(), "/etc/look/a", nil, 0o600); !errors.Is(err, host.ErrReadOnly) {
			t.Errorf("%v", err)
		}
	})
	t.Run("cancelled before it starts", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if as := h.Ask(ctx, []host.Question{q(host.File, "/etc/look/a")}); as[0].State != host.Unknown || !errors.Is(as[0].Err, context.Canceled) {
			t.Errorf("%+v", as[0])
		}
	})
}
