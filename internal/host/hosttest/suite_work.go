package hosttest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
)

// cut is a source whose reading fails at a byte, once the sums are made.
type cut struct {
	*bytes.Reader
	whole int64 // bytes that may be read in all, before the failure
	read  int64
}

var errCut = errors.New("the simulated line was cut")

func (c *cut) ReadAt(p []byte, at int64) (int, error) {
	if c.read >= c.whole {
		return 0, errCut
	}
	n, err := c.Reader.ReadAt(p[:min(int64(len(p)), c.whole-c.read)], at)
	c.read += int64(n)
	if err == nil && n < len(p) {
		err = errCut
	}
	return n, err
}

func upload(t *testing.T, h host.Host) {
	name := t.TempDir() + "/model's file"
	data := bytes.Repeat([]byte("\x00weights\xff"), 200_000)
	size := int64(len(data))
	send := func(src interface {
		ReadAt([]byte, int64) (int, error)
	}) (told []int64, err error) {
		err = host.Upload(t.Context(), h, src, size, name, 0o640, func(n int64) { told = append(told, n) })
		return told, err
	}
	// One pass for the sum, and half a pass for the sending.
	if _, err := send(&cut{Reader: bytes.NewReader(data), whole: size + size/2}); err == nil {
		t.Fatal("a cut line was not noticed")
	}
	if _, err := os.Stat(name); err == nil {
		t.Fatal("half a file has the name of the whole one")
	}
	parts, _ := filepath.Glob(name + ".*.part")
	if len(parts) != 1 {
		t.Fatalf("parts: %q", parts)
	}
	told, err := send(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if told[0] == 0 || told[len(told)-1] != size {
		t.Errorf("resumed at %d, ended at %d of %d", told[0], told[len(told)-1], size)
	}
	check := func(why string) {
		t.Helper()
		got, err := os.ReadFile(name)
		info, err2 := os.Stat(name)
		if err != nil || err2 != nil || !bytes.Equal(got, data) || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %d bytes, %v %v", why, len(got), err, err2)
		}
		alone(t, name)
	}
	check("resumed")
	if told, err = send(bytes.NewReader(data)); err != nil || len(told) != 2 {
		t.Errorf("again: %v, %v", told, err)
	}
	check("again")
	// What was left behind is not what we send: it is not built upon.
	if err := os.Rename(name, parts[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(parts[0], []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = send(bytes.NewReader(data)); err != nil {
		t.Error(err)
	}
	check("rubbish")
	if err := host.Upload(t.Context(), h, bytes.NewReader(nil), 0, name, 0o600, nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

// job runs in the state folder of the login: XDG_STATE_HOME or, as root,
// /var/lib/ascendctl, and leaves nothing there.
func job(t *testing.T, h host.Host) {
	ctx := t.Context()
	_, err := host.Start(ctx, h, host.JobSpec{Argv: []string{"no-such-binary"}})
	if !errors.Is(err, host.ErrNoCommand) {
		t.Errorf("no such command: %v", err)
	}
	spec := host.JobSpec{
		Argv:  []string{"sh", "-c", `echo "$A"; cat in/put; echo out >result; while [ ! -e go ]; do sleep 0.05; done; echo end >&2; exit 7`},
		Env:   []string{"A=it's"},
		Files: []host.JobFile{{Name: "in/put", Src: strings.NewReader("from here\n"), Size: 10}},
	}
	j, err := host.Start(ctx, h, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		j.Stop(ctx)
		j.Remove(ctx)
	})
	again, err := host.Attach(ctx, h, j.ID)
	if err != nil || again.Dir != j.Dir {
		t.Fatalf("attach: %+v %v", again, err)
	}
	s := status(t, again)
	if s.State != host.JobRunning {
		t.Errorf("%+v", s)
	}
	if err := again.Remove(ctx); !errors.Is(err, host.ErrJobRuns) {
		t.Errorf("removed while it runs: %v", err)
	}
	if err := h.WriteFile(ctx, j.Path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { s = status(t, again); return s.State != host.JobRunning }, "it does not end")
	if s.State != host.JobExited || s.Exit != 7 || string(s.Log) != "it's\nfrom here\nend\n" {
		t.Errorf("%s %d %q", s.State, s.Exit, s.Log)
	}
	var out bytes.Buffer
	if err := again.Fetch(ctx, "result", &out); err != nil || out.String() != "out\n" {
		t.Errorf("fetch: %q %v", out.String(), err)
	}
	if err := again.Fetch(ctx, "../status", &out); err == nil {
		t.Error("fetched from outside")
	}
	if err := again.Remove(ctx); err != nil {
		t.Error(err)
	}
	if _, err := again.Status(ctx); !errors.Is(err, host.ErrNoJob) {
		t.Errorf("after remove: %v", err)
	}
	if _, err := host.Attach(ctx, h, j.ID); !errors.Is(err, host.ErrNoJob) {
		t.Errorf("attach after remove: %v", err)
	}
	stopped(t, h)
}

// stopped: a stopped job is lost, and so is one that was killed.
func stopped(t *testing.T, h host.Host) {
	j, err := host.Start(t.Context(), h, host.JobSpec{Argv: []string{"sh", "-c", "sleep 986 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if s := status(t, j); s.State == host.JobRunning {
		t.Errorf("%+v", s)
	}
	if err := j.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func status(t *testing.T, j *host.Job) host.JobStatus {
	t.Helper()
	s, err := j.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
