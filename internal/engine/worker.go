package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/report"
)

// WorkerOptions is what differs between our ACL workers.
type WorkerOptions struct {
	Exe     string   // this binary
	Args    []string // hidden sub-command and its flags
	Name    string
	Devices []int             // physical ids
	Setup   cann.Setup        // of the CANN that was chosen
	Base    map[string]string // environment of the front
	LogDir  string            // for the vendor's logs; "": where they go anyway
	CPUs    []int
}

// Worker is the spec of our own process beside a device. Which device it opens
// stands in Args: ids count as they do for the front, because the list of
// visible devices is handed on as it is.
func Worker(o WorkerOptions) Spec {
	own := map[string]string{
		// CANN's constructors would take Go's signal handlers away (facts/acl.md 0.3).
		"ASCEND_COREDUMP_SIGNAL": "none",
		// 2 s of waiting for device logs at the end are 2 s without the device.
		"ASCEND_LOG_DEVICE_FLUSH_TIMEOUT": "0",
	}
	if o.LogDir != "" {
		own["ASCEND_PROCESS_LOG_PATH"] = o.LogDir
	}
	return Spec{
		Name: o.Name, Devices: o.Devices, Argv: append([]string{o.Exe}, o.Args...), Env: Environ(o.Setup, o.Base, own), CPUs: o.CPUs,
		Stop: syscall.SIGTERM, Grace: 5 * time.Second, // ACL may hang in its finalizer (runtime.md 3.1)
	}
}

// Environ gives the whole environment of a process, sorted: that of the front,
// with the variables of a CANN over it, and the process's own over both.
func Environ(setup cann.Setup, base, own map[string]string) []string {
	all := setup.Over(base)
	delete(all, markName) // of an engine that we are ourselves
	maps.Copy(all, own)
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}

// ProbeWith makes a Spec.Probe that runs a process once: the device works when
// it ends with status 0. The process gets a group, a mark and an end of its
// own, as the supervised one does.
func ProbeWith(s Spec, d Deps) func(context.Context) error {
	return func(ctx context.Context) error {
		one, err := New(s, d)
		if err != nil {
			return err
		}
		log := newJournal(one.deps.Clock.Now, func(stream, line string) {
			one.deps.Log.Info("probe output", "engine", s.Name, "stream", stream, "line", line)
		})
		p, err := one.launch(0, func(stream, line string) { log.add(stream, line) })
		if err != nil {
			return err
		}
		select {
		case e := <-p.Done:
			if e.Code == 0 {
				return nil
			}
			return fmt.Errorf("%s%s", e, lastLine(log.end()))
		case <-ctx.Done():
		}
		_ = p.Signal(syscall.SIGKILL) // it may have ended just now
		waited, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer one.deps.Clock.AfterFunc(one.spec.Grace, cancel)()
		select {
		case <-p.Done:
			return fmt.Errorf("no answer in time%s", lastLine(log.end()))
		case <-waited.Done():
			return fmt.Errorf("no answer in time, and process %d does not end on SIGKILL", p.PID)
		}
	}
}

func lastLine(tail []string) string {
	if len(tail) == 0 {
		return ""
	}
	return ": " + tail[len(tail)-1]
}

// Board is what the shape of a service depends on.
type Board struct {
	RC       bool  // the program runs on the SoC itself (ACL_DEVICE): 200I DK, Orange Pi AIpro
	MemTotal int64 // bytes of the system's memory
	Small    int64 // below which a second process is too dear; 0: 6 GiB
	Single   bool  // asked for
}

// Layout is how a service is built on a board.
type Layout struct {
	Single bool // front and worker are one process
	Why    report.Text
}

// Shape decides: workers of their own wherever they can be afforded, because a
// device fault then costs a worker and not the service.
func Shape(b Board) Layout {
	if b.Small == 0 {
		b.Small = 6 << 30 // guess: boards come with 4, 8 and more GiB
	}
	switch {
	case b.Single:
		return Layout{true, report.T("one process, as asked", "按要求使用单进程")}
	case b.RC && b.MemTotal < b.Small:
		return Layout{true, report.T("one process: the board has %s of memory", "单进程：板卡内存为 %s", gib(b.MemTotal))}
	case b.RC:
		return Layout{false, report.T("one worker for the device, memory shared with it", "每个设备一个 worker，与设备共享内存")}
	}
	return Layout{false, report.T("one worker for each device", "每个设备一个 worker")}
}
