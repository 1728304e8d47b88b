package cmd

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/serve"
)

// devices gives what opens the models on the devices of a stand: in worker
// processes, or here where one process is to do it all. The first that is opened
// loads all. stop ends the workers.
func (s *session) devices(st *stand, o serveOptions, models []served, dir string, registry *metrics.Registry) (open opener, stop func()) {
	if st.layout.Single {
		var here *onDevice
		return func(ctx context.Context, name string) (_ infer.Backend, err error) {
			if here == nil {
				o.device = strconv.Itoa(st.devices[0])
				if here, err = s.openDevice(ctx, o, models); err != nil {
					return nil, err
				}
			}
			return here.model(name), nil
		}, func() {}
	}
	var crew *serve.Crew
	open = func(ctx context.Context, name string) (_ infer.Backend, err error) {
		if crew == nil {
			if crew, err = s.openCrew(ctx, st, o, models, dir, registry); err != nil {
				return nil, err
			}
		}
		return crew.Model(name), nil
	}
	return open, func() {
		if crew != nil {
			crew.Close()
		}
	}
}

// openCrew starts a worker for each device.
func (s *session) openCrew(ctx context.Context, st *stand, o serveOptions, models []served, dir string, registry *metrics.Registry) (*serve.Crew, error) {
	cfg := serve.CrewConfig{Floor: time.Duration(o.watchdogFloor), Limit: time.Duration(o.watchdog)}
	for _, m := range models {
		cfg.Models = append(cfg.Models, serve.Hosting{Name: m.name, Instances: o.instances})
	}
	ends := &obituaries{dirs: map[string]string{}, served: map[string]bool{}, said: map[string]string{}, meter: engine.Meter(registry)}
	cfg.Deps = engine.Deps{Log: s.log.Logger, Mark: st.mark, Rand: rand.Float64, Event: ends.event, Explain: ends.explain}
	places := st.places(engine.Allowed())
	for _, id := range st.devices {
		one, err := s.workerSpec(st, o, models, dir, id, places[id])
		if err != nil {
			return nil, err
		}
		ends.dirs[one.Spec.Name] = filepath.Join(dir, one.Spec.Name)
		one.Spec.Probe = engine.ProbeWith(s.probeSpec(one.Spec), cfg.Deps)
		cfg.Workers = append(cfg.Workers, one)
	}
	return serve.OpenCrew(ctx, cfg)
}

// workerSpec is the process of one device.
func (s *session) workerSpec(st *stand, o serveOptions, models []served, dir string, id int, cpus []int) (serve.Worker, error) {
	name := "npu" + strconv.Itoa(id)
	own := filepath.Join(dir, name)
	if err := os.Mkdir(own, 0o700); err != nil {
		return serve.Worker{}, err
	}
	args := []string{"serve", "--worker", own, "--device", strconv.Itoa(id), "--instances", strconv.Itoa(o.instances),
		"--watchdog", time.Duration(o.watchdog).String(), "--log-level", "warn"}
	for _, m := range models {
		file, err := filepath.Abs(m.file)
		if err != nil {
			return serve.Worker{}, err
		}
		args = append(args, file, "--name", m.name)
	}
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

// obituaries know why workers ended.
type obituaries struct {
	dirs  map[string]string // of each worker
	meter func(engine.Event)

	mu     sync.Mutex
	served map[string]bool   // was ready once
	said   map[string]string // its last words
}

const crashed = "crashed"

func (c *obituaries) event(e engine.Event) {
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
func (c *obituaries) explain(crash engine.Crash) engine.Explanation {
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
