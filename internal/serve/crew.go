package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Worker is one device and the process beside it.
type Worker struct {
	Device int // as the runtime counts
	Spec   engine.Spec
	Dial   func(context.Context) (net.Conn, error)
}

// Hosting is a model that every worker has loaded.
type Hosting struct {
	Name      string
	Instances int // on each device, which run side by side; 1
}

// Instance is how a worker calls one of a model's instances, counted from 0. No
// model can have such a name: a part between slashes is never empty.
func Instance(model string, k int) string {
	if k == 0 {
		return model
	}
	return fmt.Sprintf("%s//%d", model, k)
}

// CrewConfig says how OpenCrew runs models; zero values are the defaults named
// here.
type CrewConfig struct {
	Models  []Hosting
	Workers []Worker
	Deps    engine.Deps // Event is called for all of them
	// A batch may take ten times its 99th percentile, at least Floor (1 s) and at
	// most Limit (30 s); then its device is put aside.
	Floor, Limit time.Duration
}

// Crew is the processes of a service, one for each device. Each has all models.
type Crew struct {
	cfg      CrewConfig
	stations []*station
	models   []*Workers
	stop     context.CancelFunc
	runs     sync.WaitGroup

	mu     sync.Mutex
	change chan struct{} // closed and made anew whenever a seat may be free
}

// OpenCrew starts all workers and waits until each is ready. When one cannot
// start, which is final, all are stopped and the error is its own.
func OpenCrew(ctx context.Context, cfg CrewConfig) (*Crew, error) {
	cfg.Floor, cfg.Limit = cmp.Or(cfg.Floor, time.Second), cmp.Or(cfg.Limit, 30*time.Second)
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Crew{cfg: cfg, stop: stop, change: make(chan struct{})}
	for _, m := range cfg.Models {
		c.models = append(c.models, &Workers{crew: c, name: m.Name})
	}
	for _, w := range cfg.Workers {
		if err := c.add(w); err != nil {
			stop()
			return nil, err
		}
	}
	for _, s := range c.stations {
		c.runs.Go(func() { s.failed(s.sup.Run(life)) })
	}
	if err := c.allReady(ctx); err != nil {
		c.Close()
		return nil, err
	}
	for _, m := range c.models {
		m.describe()
	}
	return c, nil
}

// add makes the station of a worker, and on it a seat for each instance.
func (c *Crew) add(w Worker) (err error) {
	s := &station{Worker: w, crew: c}
	deps := c.cfg.Deps
	deps.Event = s.event
	if s.sup, err = engine.New(w.Spec, deps); err != nil {
		return err
	}
	c.stations = append(c.stations, s)
	for i, m := range c.models {
		for k := range max(c.cfg.Models[i].Instances, 1) {
			one := &seat{station: s, model: m, hosted: Instance(m.name, k)}
			s.seats, m.seats = append(s.seats, one), append(m.seats, one)
		}
	}
	return nil
}

// Model gives a model by its name; nil for none.
func (c *Crew) Model(name string) *Workers {
	for _, m := range c.models {
		if m.name == name {
			return m
		}
	}
	return nil
}

// Close stops the workers, which let what runs come to its end, and waits for it.
func (c *Crew) Close() {
	c.stop()
	c.runs.Wait()
}

// allReady waits until every worker was ready once, or one has failed.
func (c *Crew) allReady(ctx context.Context) error {
	for {
		c.mu.Lock()
		ready, change := true, c.change
		for _, s := range c.stations {
			if s.err != nil {
				c.mu.Unlock()
				return s.err
			}
			for _, one := range s.seats {
				ready = ready && one.remote != nil
			}
		}
		c.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// changed wakes all who wait. Called with the lock held.
func (c *Crew) changed() {
	close(c.change)
	c.change = make(chan struct{})
}

// station is the process of one device. The lock is that of the crew.
type station struct {
	Worker
	crew     *Crew
	sup      *engine.Supervisor
	seats    []*seat
	began    time.Time
	loadedMS int64
	err      error // why it will never come back
}

// event is told by the supervisor of a station, one at a time.
func (s *station) event(e engine.Event) {
	c := s.crew
	c.mu.Lock()
	if e.From != e.To {
		if e.To == engine.Starting {
			s.began = e.Time
		}
		c.changed()
	}
	c.mu.Unlock()
	if e.From == engine.Starting && e.To == engine.Ready {
		c.runs.Go(func() { s.connect(e.PID) })
	}
	if c.cfg.Deps.Event != nil {
		c.cfg.Deps.Event(e)
	}
}

// failed is the end of the supervision: nil when it was asked for.
func (s *station) failed(err error) {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	if s.err = err; err == nil {
		s.err = errDraining
	}
	s.crew.changed()
}

// connect opens the models of a worker that has said it is ready, and stays
// until one of them is lost: then all are, with their process.
func (s *station) connect(pid int) {
	remotes, err := s.join()
	if err == nil {
		oneGone(remotes)
	}
	for i, r := range remotes {
		s.seats[i].drop(r)
	}
	for _, r := range remotes {
		_ = r.Close() // after the calls that are out
	}
	if err != nil {
		s.sup.Report(pid, engine.Fault{Action: engine.RestartProcess, Text: report.T("no connection to the worker: %v", "无法连接 worker：%v", err)})
		return
	}
	there := func() bool { st := s.sup.Status(); return st.PID == pid && st.State == engine.Ready }
	if there() {
		time.Sleep(time.Second) // a process that died is seen by the supervisor itself
	}
	if there() {
		s.sup.Report(pid, engine.Fault{Action: engine.RestartProcess, Text: report.T("the worker does not answer", "worker 无应答")})
	}
}

// join puts all models of the worker into service, in the order of the seats.
func (s *station) join() (remotes []*infer.Remote, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, one := range s.seats {
		r, err := infer.Connect(ctx, infer.RemoteOptions{Dial: s.Dial, Model: one.hosted, Lanes: 1, Grace: 2*s.crew.cfg.Limit + 5*time.Second})
		if err != nil {
			return remotes, err
		}
		remotes = append(remotes, r)
		if !one.take(r) {
			return remotes, errors.New("the model file is another one than it was")
		}
	}
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	s.loadedMS = time.Since(s.began).Milliseconds()
	return remotes, nil
}

// oneGone waits until one of them is lost.
func oneGone(remotes []*infer.Remote) {
	gone := make(chan struct{})
	var first sync.Once
	var all sync.WaitGroup
	for _, r := range remotes {
		all.Go(func() {
			select {
			case <-r.Gone():
				first.Do(func() { close(gone) })
			case <-gone:
			}
		})
	}
	all.Wait()
}
