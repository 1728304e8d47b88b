package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/report"
)

// closed is a description that holds a scene and nothing else.
func closed(s hosttest.Scene) *host.Description {
	d := &host.Description{World: host.Closed, Files: s.Files, Links: s.Links, Commands: map[string]host.Output{}}
	for line, r := range s.Commands {
		d.Commands[line] = host.Output{Stdout: string(r.Stdout), Stderr: string(r.Stderr), Exit: r.Exit}
	}
	return d
}

func TestContractReplay(t *testing.T) {
	hosttest.Look(t, "replay", func(_ *testing.T, s hosttest.Scene) host.Host { return host.Replay("scene", closed(s)) })
}

// TestContractRecord runs the whole contract on a recorder in front of this
// machine, and looks at what was recorded.
func TestContractRecord(t *testing.T) {
	hosttest.Contract(t, "record", func(*testing.T) host.Host { return host.Record(host.NewLocal()) })
	hosttest.Look(t, "record", func(t *testing.T, s hosttest.Scene) host.Host {
		return remembered{host.Replay("scene", closed(s)), t}
	})
}

// remembered answers each call from the recording of that call.
type remembered struct {
	host.Host
	t *testing.T
}

func (h remembered) replay(look func(host.Host)) host.Host {
	r := host.Record(h.Host)
	look(r)
	data, err := r.YAML(host.RecordOptions{Masks: host.NewMasks()})
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := host.LoadDescription("recording", data)
	if err != nil {
		h.t.Fatalf("%v\n%s", err, data)
	}
	return host.Replay("recording", d)
}

func (h remembered) Ask(ctx context.Context, qs []host.Question) []host.Answer {
	return h.replay(func(r host.Host) { r.Ask(context.WithoutCancel(ctx), qs) }).Ask(ctx, qs)
}

func (h remembered) Run(ctx context.Context, c host.Command) (host.Result, error) {
	return h.replay(func(r host.Host) { _, _ = r.Run(ctx, c) }).Run(ctx, c)
}

func (h remembered) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return h.replay(func(r host.Host) { _, _ = r.ReadFile(ctx, name) }).ReadFile(ctx, name)
}

// TestRecordingOfThisMachineReplaysToEqualAnswers asks the machine the test
// runs on whatever a look asks, as it is.
func TestRecordingOfThisMachineReplaysToEqualAnswers(t *testing.T) {
	q := func(k host.Kind, args ...string) host.Question { return host.Question{Kind: k, Args: args} }
	qs := []host.Question{
		q(host.File, "/etc/os-release"), q(host.File, "/etc/passwd"), q(host.File, "/proc/meminfo"), q(host.File, "/proc/cpuinfo"), q(host.File, "/proc/self/status"),
		q(host.File, "/bin/sh"), q(host.File, "/no/such/file"), q(host.File, "/etc"), q(host.Link, "/bin"), q(host.Link, "/etc/passwd"), q(host.Glob, "/etc/*"), q(host.Glob, "/no/*"),
		q(host.Stat, "/", "/etc/passwd", "/dev/null", "/tmp", "/no"), q(host.Stat, "/no"), q(host.Disk, "/"), q(host.Disk, "/no/such/folder"),
		q(host.Exec, "uname", "-a"), q(host.Exec, "df", "-Pk"), q(host.Exec, "npu-smi", "info"), q(host.Exec, "false"), q(host.Exec, "ls", "/no"),
		{Kind: host.Exec, Args: []string{"id"}, Root: true}, {Kind: host.File, Args: []string{"/etc/shadow"}, Root: true},
		q(host.Identity), q(host.Limits), q(host.Tools, "sh", "python3", "npu-smi"), q(host.Env), q(host.Env, "1"), q(host.Nodes), q(host.PCI), q(host.Packages), q(host.Python, "sqlite3"),
		q(host.Hostname), q(host.Clock), q(host.Boot), q(host.Ports), q(host.Locks), q(host.Shells), q(host.Procs, "1"), q(host.Sandbox), q(host.TorchABI),
	}
	for name, masks := range map[string]*host.Masks{"kept": nil, "masked": host.NewMasks()} {
		t.Run(name, func(t *testing.T) {
			r := host.Record(host.NewLocal())
			live := r.Ask(t.Context(), qs)
			data, err := r.YAML(host.RecordOptions{Masks: masks}) // compares every answer with its replay itself
			if err != nil {
				t.Fatal(err)
			}
			d, err := host.LoadDescription("local.yaml", data)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range host.Replay("local.yaml", d).Ask(t.Context(), qs) {
				if a.State != live[i].State {
					t.Errorf("%v: %s %v, live %s %v", qs[i], a.State, a.Err, live[i].State, live[i].Err)
				}
				// A secret of this machine may be masked with the identifiers kept.
				if masks == nil && a.State == host.Known && string(a.Stdout) != string(live[i].Stdout) && qs[i].Kind != host.Env && !strings.Contains(string(a.Stdout), report.Mask) {
					t.Errorf("%v: %q, live %q", qs[i], a.Stdout, live[i].Stdout)
				}
			}
		})
	}
}
