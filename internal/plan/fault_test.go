//go:build unix

package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// snapshot is everything undo has to give back: type, mode, owner, size,
// sha256 and link target of every path.
func snapshot(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%v %d:%d", info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s := sha256.Sum256(data)
			line += fmt.Sprintf(" %d %s", len(data), hex.EncodeToString(s[:]))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		out[strings.TrimPrefix(p, root)] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kinds of breaking.
const (
	cutLine    = "cut connection" // the script dies at a command, and nobody answers any more
	killRemote = "kill remote"    // the script dies at a command
	killSelf   = "kill ascendctl" // nothing of this side runs on
	fullDisk   = "full disk"      // simulated by a limit of file size 0
	noSudo     = "refused sudo"   // from here on
)

// breaking is a host on which the call number at (from 1) goes wrong: scripts
// die before their command number deep.
type breaking struct {
	host.Host
	mu       sync.Mutex
	kind     string
	at, deep int
	calls    int
	dead     bool
	from     bool // fullDisk and noSudo: since when
	hit      bool // the script died, or the fault was felt
	boot     string
	ran      []host.Command
	hook     func(point) error
}

func (b *breaking) reach() error {
	return fmt.Errorf("simulated: %w", host.ErrUnreachable)
}

func (b *breaking) Run(ctx context.Context, c host.Command) (host.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return host.Result{}, b.reach()
	}
	b.calls++
	b.ran = append(b.ran, c)
	if b.boot != "" && len(c.Argv) > 2 {
		c.Argv = slices.Clone(c.Argv)
		c.Argv[2] = strings.ReplaceAll(c.Argv[2], "/proc/sys/kernel/random/boot_id", b.boot)
	}
	here := b.calls == b.at
	b.from = b.from || here
	script := len(c.Argv) > 2 && c.Argv[1] == "-c"
	switch {
	case b.kind == fullDisk && b.from && script:
		b.hit = true
		c.Argv = slices.Clone(c.Argv)
		c.Argv[2] = "ulimit -f 0; trap '' XFSZ\n" + c.Argv[2]
	case b.kind == noSudo && b.from && c.Root:
		b.hit = true
		return host.Result{}, fmt.Errorf("%w: simulated", host.ErrNoRoot)
	case here && (b.kind == cutLine || b.kind == killRemote):
		return b.die(ctx, c, script)
	}
	return b.Host.Run(ctx, c)
}

func (b *breaking) die(ctx context.Context, c host.Command, script bool) (host.Result, error) {
	if script {
		c.Argv = slices.Clone(c.Argv)
		c.Argv[0] = "/bin/bash"
		c.Argv[2] = "set -T; trap 'asc_n=$((${asc_n:-0}+1)); [ $asc_n -lt " + strconv.Itoa(b.deep) + " ] || { kill -9 $$; exit 137; }' DEBUG\n" + c.Argv[2]
	}
	r, err := b.Host.Run(ctx, c)
	if !script && b.deep == 0 {
		r, err = host.Result{Exit: 137}, nil
	}
	b.hit = r.Exit == 137
	if b.kind == cutLine {
		b.dead = true
		return host.Result{}, b.reach()
	}
	return r, err
}

func (b *breaking) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if b.dead {
		return nil, b.reach()
	}
	return b.Host.ReadFile(ctx, name)
}

// holder is a process that holds a lock for a run and can be killed with it.
func holder(t testing.TB) (pid string, kill func()) {
	t.Helper()
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	kill = func() { p.Kill(); p.Wait() }
	t.Cleanup(kill)
	return strconv.Itoa(p.Pid), kill
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// options journals into a folder of the test and holds locks by pid.
func options(dir, pid string) Options {
	now := noon
	return Options{Dir: dir, Who: "ann@laptop", Poll: 10 * time.Millisecond, owner: pid, Now: func() time.Time { now = now.Add(time.Second); return now }}
}

// apply makes, agrees and runs.
func apply(t testing.TB, h host.Host, p Plan, o Options) (Outcome, error) {
	t.Helper()
	m, err := Make(t.Context(), h, p, o)
	if err != nil {
		return Outcome{}, err
	}
	if err := Agree(t.Context(), Consent{Yes: true, Risks: Risks()}, m); err != nil {
		return Outcome{}, err
	}
	return m.Run(t.Context())
}

func takeBack(t testing.TB, h host.Host, id string, o Options) (Outcome, error) {
	t.Helper()
	m, err := Undo(t.Context(), h, id, o)
	if err != nil {
		return Outcome{}, err
	}
	if err := Agree(t.Context(), Consent{Yes: true}, m); err != nil {
		return Outcome{}, err
	}
	return m.Run(t.Context())
}

func title(s string) report.Text { return report.Same(s) }
