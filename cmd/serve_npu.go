package cmd

import (
	"cmp"
	"context"
	secret "crypto/rand"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/serve"
)

// stand is what a model on devices stands on: what was found on this host, the
// devices it may use, and their locks.
type stand struct {
	setup   cann.Setup // environment that the CANN of this host needs; empty: as it is
	runtime string     // version of the component runtime, "" = not known
	facts   *facts.Facts
	devices []int
	layout  engine.Layout
	locks   *engine.Locks
	mark    string // of our processes
}

// survey looks at this host, chooses the devices and locks them. The caller
// closes the locks.
func (s *session) survey(ctx context.Context, o serveOptions, what string) (*stand, error) {
	st := &stand{mark: secret.Text()}
	set, err := facts.ParseDevices(first(o.device, "0"))
	if err != nil {
		return nil, err
	}
	explicit := first(o.aclLib, s.app.Getenv("ASCENDCTL_ACL_LIB")) != ""
	// A library that somebody names comes with an environment that he made.
	if !explicit || set.Free {
		_, k, err := s.setupOf(ctx, targetFlags{hosts: []string{"local"}, parallel: 1, sudo: "never"}, "", false)
		if k.facts == nil {
			return nil, err
		}
		if st.facts = k.facts; err == nil && !explicit { // without any CANN the worker says what is missing
			st.setup, st.runtime = k.Setup, k.tree.Components["runtime"].Version
		}
	}
	if err := st.choose(o, set); err != nil {
		return nil, err
	}
	st.layout = engine.Shape(st.board(o))
	if st.layout.Single && len(st.devices) > 1 {
		return nil, usage(report.T("one process serves one device, %d were named", "单进程只使用一个设备，实际指定了 %d 个", len(st.devices)), st.layout.Why,
			report.T("name one with --device", "用 --device 指定一个"), "")
	}
	dirs := engine.LockDirs(os.Geteuid() == 0, s.app.Getenv("XDG_RUNTIME_DIR"))
	if o.lockDir != "" {
		dirs = []string{o.lockDir}
	}
	holder := engine.Holder{What: what, Since: s.app.Now(), Mark: st.mark}
	if st.locks, err = engine.LockDevices(engine.LockOptions{Dirs: dirs, Devices: st.physical(), Share: o.share, Holder: holder}); err != nil {
		return nil, err
	}
	for _, dead := range st.locks.Stale {
		if dead.Mark != "" {
			engine.Sweep(dead.Mark)
		}
	}
	return st, nil
}

// choose takes the devices named, else all that are healthy, else the first.
func (st *stand) choose(o serveOptions, set facts.DeviceSet) (err error) {
	if st.facts == nil {
		st.devices = set.IDs
		return nil
	}
	all := st.facts.Devices()
	if o.device == "" && all.Known() {
		for _, d := range all.Value {
			if d.Logic != nil && d.Health == "OK" {
				st.devices = append(st.devices, *d.Logic)
			}
		}
		slices.Sort(st.devices)
	}
	if len(st.devices) == 0 {
		st.devices, err = set.Pick(all, 0)
	}
	return err
}

// board tells what the shape of the service depends on.
func (st *stand) board(o serveOptions) engine.Board {
	b := engine.Board{Single: o.single}
	if st.facts != nil {
		b.MemTotal = st.facts.Memory.Value.TotalKB << 10
		// On the bus there is a card; a 310B that is not on it is the machine itself.
		b.RC = st.facts.Generation.Value == "310B" && len(st.facts.PCI.Value) == 0
	}
	return b
}

// device is what is known of a logic id; nil for nothing.
func (st *stand) device(id int) *facts.Device {
	if st.facts == nil {
		return nil
	}
	all := st.facts.Devices().Value
	if i := slices.IndexFunc(all, func(d facts.Device) bool { return d.Logic != nil && *d.Logic == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// physical are the ids under which the devices are locked: those of the nodes,
// which are the same in every container.
func (st *stand) physical() (out []int) {
	for _, id := range st.devices {
		if d := st.device(id); d != nil && d.Phy != nil {
			id = *d.Phy
		}
		out = append(out, id)
	}
	return out
}

// places binds each worker to CPUs near its device, where it is sure which they
// are: the chips on the bus and those npu-smi lists are the same number.
func (st *stand) places() map[int][]int {
	if st.facts == nil {
		return nil
	}
	var chips []facts.PCI
	for _, p := range st.facts.PCI.Value {
		if p.Generation != "" {
			chips = append(chips, p)
		}
	}
	slices.SortFunc(chips, func(a, b facts.PCI) int { return cmp.Compare(a.Address, b.Address) })
	if len(chips) != len(st.facts.Devices().Value) {
		return nil
	}
	var nodes []engine.Node
	for _, n := range st.facts.NUMA.Value {
		nodes = append(nodes, engine.Node{ID: n.Node, CPUs: n.CPUs})
	}
	var seats []engine.Seat
	for _, id := range st.devices {
		if d := st.device(id); d != nil && d.Phy != nil && *d.Phy < len(chips) {
			seats = append(seats, engine.Seat{Device: id, Node: chips[*d.Phy].NUMA})
		}
	}
	out, err := engine.Place(nodes, seats, nil)
	if err != nil {
		return nil // a list that cannot be read binds nobody
	}
	return out
}

// openDevices starts a worker for each device, or loads the model here where one
// process is to do it all.
func (s *session) openDevices(ctx context.Context, st *stand, o serveOptions, file, dir string, registry *metrics.Registry) (infer.Backend, error) {
	if st.layout.Single {
		o.device = strconv.Itoa(st.devices[0])
		b, err := s.openDevice(ctx, o, file)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	crew := &crew{dirs: map[string]string{}, served: map[string]bool{}, said: map[string]string{}, meter: engine.Meter(registry)}
	deps := engine.Deps{Log: s.log.Logger, Mark: st.mark, Rand: rand.Float64, Event: crew.event, Explain: crew.explain}
	places := st.places()
	var workers []serve.Worker
	for _, id := range st.devices {
		one, err := s.workerSpec(st, o, file, dir, id, places[id])
		if err != nil {
			return nil, err
		}
		crew.dirs[one.Spec.Name] = filepath.Join(dir, one.Spec.Name)
		one.Spec.Probe = engine.ProbeWith(s.probeSpec(one.Spec), deps)
		workers = append(workers, one)
	}
	w, err := serve.OpenWorkers(ctx, serve.WorkersConfig{Model: o.name, Workers: workers, Deps: deps,
		Floor: time.Duration(o.watchdogFloor), Limit: time.Duration(o.watchdog)})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// workerSpec is the process of one device.
func (s *session) workerSpec(st *stand, o serveOptions, file, dir string, id int, cpus []int) (serve.Worker, error) {
	name := "npu" + strconv.Itoa(id)
	own := filepath.Join(dir, name)
	if err := os.Mkdir(own, 0o700); err != nil {
		return serve.Worker{}, err
	}
	args := []string{"serve", file, "--worker", own, "--device", strconv.Itoa(id), "--name", o.name,
		"--watchdog", time.Duration(o.watchdog).String(), "--log-level", "warn"}
	if o.aclLib != "" {
		args = append(args, "--acl-lib", o.aclLib)
	}
	if v := first(o.runtime, st.runtime); v != "" {
		args = append(args, "--runtime-version", v)
	}
	spec := engine.Worker(engine.WorkerOptions{Exe: s.app.Self, Args: args, Name: name, Devices: []int{id},
		Setup: st.setup, Base: environment(s.app.Environ), CPUs: cpus})
	spec.Milestones = []engine.Milestone{
		{ID: "ready", Ready: true, Pattern: "^" + workerReady + "(.*)", Title: report.T("the worker is ready", "worker 就绪")},
		// How Go begins to say what killed it, before hundreds of lines more.
		{ID: crashed, Pattern: "^((?:SIG[A-Z]+|panic|fatal error): .*)", Title: report.T("the worker crashed", "worker 崩溃")},
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(own, workerSocket))
	}
	return serve.Worker{Device: id, Spec: spec, Dial: dial}, nil
}

// probeSpec is a process that only asks the device.
func (s *session) probeSpec(w engine.Spec) engine.Spec {
	w.Name += "-probe"
	w.Argv = append(slices.Clone(w.Argv), "--probe")
	w.Milestones = nil
	return w
}

// crew knows why workers ended.
type crew struct {
	dirs  map[string]string // of each worker
	meter func(engine.Event)

	mu     sync.Mutex
	served map[string]bool   // was ready once
	said   map[string]string // its last words
}

const crashed = "crashed"

func (c *crew) event(e engine.Event) {
	c.meter(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.To == engine.Ready {
		c.served[e.Name] = true
	}
	if e.Milestone != nil && e.Milestone.ID == crashed {
		c.said[e.Name] = e.Detail
	}
}

// explain reads what the worker left. What hinders the first start is final; a
// device that has served comes back.
func (c *crew) explain(crash engine.Crash) engine.Explanation {
	c.mu.Lock()
	served, said := c.served[crash.Name], c.said[crash.Name]
	c.mu.Unlock()
	if n := len(crash.Tail); said == "" && n > 0 {
		said = crash.Tail[n-1]
	}
	f, told := takeFailure(c.dirs[crash.Name])
	x := engine.Explanation{Action: engine.RestartProcess}
	if told {
		x.Problem = f.problem()
		if f.Action != "" {
			x.Action = engine.Action(f.Action)
		}
	} else if !served {
		x.Problem = &report.Problem{
			What: report.T("the worker of device %d ended while it started", "设备 %d 的 worker 在启动过程中退出", crash.Devices[0]),
			Why:  report.T("%s; it said: %s", "%s；其输出：%s", crash.Exit, first(said, "-")),
			Do:   report.T("look at the host", "检查主机"), Run: Name + " preflight", Exit: report.ExitFailed,
		}
	}
	if !served {
		x.Action = engine.FixHost
	}
	return x
}

// runDir is a private folder for the sockets of the workers. Their addresses are
// short by law, so it lies in /tmp where the usual place is too deep.
func runDir() (string, error) {
	dir, err := os.MkdirTemp("", "ascendctl-")
	if err == nil && len(dir) > 80 {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", "ascendctl-")
	}
	return dir, err
}

// reborn starts this process anew where the environment that CANN needs is not
// the one it has: the loader reads it at the start only. It comes back only when
// nothing is to be done.
func (s *session) reborn(st *stand) error {
	base := environment(s.app.Environ)
	if want := st.setup.Over(base); !maps.Equal(want, base) {
		return execSelf(s.app.Self, append([]string{s.app.Self}, s.args...), engine.Environ(st.setup, base, nil))
	}
	return nil
}

// stand is survey with a folder for the workers.
func (s *session) stand(ctx context.Context, o serveOptions, what string) (*stand, string, error) {
	st, err := s.survey(ctx, o, what)
	if err != nil {
		return nil, "", err
	}
	dir, err := runDir()
	if err == nil && st.layout.Single {
		err = s.reborn(st)
	}
	if err != nil {
		return nil, "", errors.Join(err, st.close(dir))
	}
	return st, dir, nil
}

// close gives back what survey took.
func (st *stand) close(dir string) error {
	return errors.Join(st.locks.Close(), os.RemoveAll(dir))
}
