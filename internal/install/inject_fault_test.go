//go:build linux

package install

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
)

// holdOf names where the work of a step can be held while something is broken:
// in the simulated installers, in the package manager, in the index of pip.
func holdOf(step, where string) string {
	part := step[strings.IndexByte(step, '.')+1:]
	switch step {
	case "os.packages":
		return "os"
	case "python.packages":
		return "pip"
	case "hdk.driver", "hdk.firmware", "cann.toolkit", "cann.ops", "cann.kernels", "cann.nnal":
		return part + "." + where
	}
	return ""
}

func (w *world) holds(name string) string {
	name = cmp.Or(name, "nothing")
	return filepath.Join("/proc", strconv.Itoa(w.PID()), "root/.laid/hold", name)
}

// hold stops who calls it while a test holds the name.
func (w *world) hold(name string) {
	_ = os.WriteFile(w.holds(name+".reached"), nil, 0o644)
	for there(w.holds(name)) {
		time.Sleep(10 * time.Millisecond)
	}
}

// spoils is true while the index hands out damaged wheels.
func (w *world) spoils() bool { return there(w.holds("spoil")) }

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// breaking is a host that goes wrong once, in the middle of a step.
type breaking struct {
	host.Host
	t     testing.TB
	w     *world
	kind  string
	step  plan.Step
	name  string // that is held; "" for a step whose work is one call
	deep  int    // command of a script at which it dies; number of the journal line
	lines int    // of the journal so far
	hit   bool
	heal  []func()
}

var errGone = errors.New("ascendctl is gone")

func (b *breaking) Run(ctx context.Context, c host.Command) (host.Result, error) {
	if b.kind == aroundLine {
		return b.around(ctx, c)
	}
	if !b.hit && b.now(c) {
		b.hit = true
		return b.strike(ctx, c)
	}
	return b.Host.Run(ctx, c)
}

// around ends this side before (even) or after (odd) a line of the journal.
func (b *breaking) around(ctx context.Context, c host.Command) (host.Result, error) {
	if !slices.Contains([]string{"lock", "append", "begin", "finish"}, function(c)) {
		return b.Host.Run(ctx, c)
	}
	here := b.lines == b.deep/2 && !b.hit
	b.lines++
	b.hit = b.hit || here
	if here && b.deep%2 == 0 {
		panic(errGone)
	}
	r, err := b.Host.Run(ctx, c)
	if here {
		panic(errGone)
	}
	return r, err
}

// function is the part of the plan's shell that a call runs; "" for others.
func function(c host.Command) string {
	if len(c.Argv) > 4 && c.Argv[1] == "-c" && strings.HasPrefix(c.Argv[2], "# What a plan does") {
		return c.Argv[4]
	}
	return ""
}

// now is true in the middle of the step's work.
func (b *breaking) now(c host.Command) bool {
	if b.kind == corrupt { // the installer is there and will be run
		return function(c) == "begin" && len(b.staged()) > 0
	}
	if b.name != "" {
		return there(b.w.holds(b.name + ".reached"))
	}
	return slices.ContainsFunc(b.step.Do, func(a plan.Act) bool {
		switch a := a.(type) {
		case plan.Command:
			return len(a.Argv) > 0 && slices.Equal(a.Argv, c.Argv)
		case plan.Reboot:
			return slices.Equal(c.Argv, []string{"systemctl", "reboot"})
		}
		return slices.Contains([]string{"folder", "link", "place"}, function(c))
	})
}

// staged are the installers that lie on the host.
func (b *breaking) staged() (files []string) {
	for _, stage := range []string{"var/lib/ascendctl/stage", "home/ubuntu/.local/state/ascendctl/stage"} {
		found, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(b.w.PID()), "root", stage, "*/*.run"))
		files = append(files, found...)
	}
	return files
}

// flip changes a byte near the end, where the archive is.
func flip(t testing.TB, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		data[len(data)-100] ^= 1
		err = os.WriteFile(file, data, 0o500)
	}
	if err != nil {
		t.Error(err)
	}
}

func (b *breaking) strike(ctx context.Context, c host.Command) (host.Result, error) {
	defer func() { _ = os.Remove(b.w.holds(b.name)) }()
	switch b.kind {
	case cutLine:
		b.w.CutConnections()
	case killRemote:
		return b.kill(ctx, c)
	case powerLoss:
		b.w.Reboot(b.t)
	case killSelf:
		if b.deep%2 == 1 {
			_, _ = b.Host.Run(ctx, c)
		}
		panic(errGone)
	case fullDisk:
		b.heal = append(b.heal, b.w.FillDisk(b.t, 8<<10))
	case noSudo:
		b.w.Sh(b.t, "mv /etc/sudoers.d/laid /.laid/sudoers")
		b.heal = append(b.heal, func() { b.w.Sh(b.t, "mv /.laid/sudoers /etc/sudoers.d/laid") })
	case corrupt:
		for _, file := range b.staged() {
			flip(b.t, file)
		}
	}
	return b.Host.Run(ctx, c)
}

// kill ends the work of the step with SIGKILL: what is held, the script of the
// plan at one of its commands, or a command after it was through.
func (b *breaking) kill(ctx context.Context, c host.Command) (host.Result, error) {
	switch {
	case b.name == "os":
		b.w.KillRemote(b.t, "/usr/bin/dnf")
	case b.name == "pip":
		b.w.KillRemote(b.t, "-m pip")
	case b.name != "":
		b.w.KillRemote(b.t, ".run")
	case function(c) != "":
		c.Argv = slices.Clone(c.Argv)
		c.Argv[0] = "/bin/bash"
		c.Argv[2] = "set -T; trap 'asc_n=$((${asc_n:-0}+1)); [ $asc_n -lt " + strconv.Itoa(10+b.deep) + " ] || { kill -9 $$; exit 137; }' DEBUG\n" + c.Argv[2]
	default:
		_, _ = b.Host.Run(ctx, c)
		return host.Result{Exit: 137}, nil
	}
	return b.Host.Run(ctx, c)
}

// spoilt is a package that is not what it was when it is read again.
type spoilt struct {
	src  io.ReaderAt
	size int64
	read int64
}

func (s *spoilt) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.src.ReadAt(p, at)
	if s.read += int64(n); s.read > s.size && n > 0 {
		p[n-1] ^= 1
	}
	return n, err
}
