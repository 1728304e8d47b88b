package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
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

// WorkersConfig says how OpenWorkers runs a model; zero values are the defaults
// named here.
type WorkersConfig struct {
	Model   string // as the workers call it
	Workers []Worker
	Deps    engine.Deps // Event is called for all of them
	// A batch may take ten times its 99th percentile, at least Floor (1 s) and at
	// most Limit (30 s); then its device is put aside.
	Floor, Limit time.Duration
}

// DeviceInfo is what is known of a device that runs a model.
type DeviceInfo struct {
	Device    int            `json:"device"`
	Name      string         `json:"name"`
	Simulated bool           `json:"simulated"`
	State     engine.State   `json:"state"`
	Why       report.Text    `json:"why,omitzero"`
	PID       int            `json:"pid,omitempty"`
	Starts    int            `json:"starts"`
	LoadedMS  int64          `json:"loaded_ms"` // from the start of the process to its first answer
	Costs     []infer.Cost   `json:"costs,omitempty"`
	Faults    []engine.Fault `json:"faults,omitempty"`
}

// Workers is a model on several devices, each run by a process of its own. A
// batch goes to one that is free; a device that fails is left out until its
// process, or the next one, is ready again. Nothing is tried a second time here:
// that is for the queue, which can take a batch apart.
type Workers struct {
	cfg   WorkersConfig
	seats []*seat
	stop  context.CancelFunc
	runs  sync.WaitGroup

	mu     sync.Mutex
	desc   infer.Description
	next   int           // where the search for a free device begins
	change chan struct{} // closed and made anew whenever one may be free
	closed bool
}

var _ infer.Backend = (*Workers)(nil)

// OpenWorkers starts all workers and waits until each is ready. When one cannot
// start, which is final, all are stopped and the error is its own.
func OpenWorkers(ctx context.Context, cfg WorkersConfig) (*Workers, error) {
	cfg.Floor, cfg.Limit = cmp.Or(cfg.Floor, time.Second), cmp.Or(cfg.Limit, 30*time.Second)
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &Workers{cfg: cfg, stop: stop, change: make(chan struct{})}
	for _, one := range cfg.Workers {
		s := &seat{Worker: one, home: w, info: DeviceInfo{Device: one.Device, Name: one.Spec.Name, State: engine.Idle}}
		deps := cfg.Deps
		deps.Event = s.event
		var err error
		if s.sup, err = engine.New(one.Spec, deps); err != nil {
			stop()
			return nil, err
		}
		w.seats = append(w.seats, s)
	}
	for _, s := range w.seats {
		w.runs.Go(func() { s.failed(s.sup.Run(life)) })
	}
	if err := w.allReady(ctx); err != nil {
		_ = w.Close()
		return nil, err
	}
	w.describe()
	return w, nil
}

// allReady waits until every worker was ready once, or one has failed.
func (w *Workers) allReady(ctx context.Context) error {
	for {
		w.mu.Lock()
		ready, change := 0, w.change
		for _, s := range w.seats {
			if s.err != nil {
				w.mu.Unlock()
				return s.err
			}
			if s.remote != nil {
				ready++
			}
		}
		w.mu.Unlock()
		if ready == len(w.seats) {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// describe sums the devices up as one.
func (w *Workers) describe() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.desc = w.seats[0].remote.Describe()
	var names []string
	for _, s := range w.seats {
		names = append(names, s.info.Name)
	}
	w.desc.Device.Name = strings.Join(names, "; ")
}

// changed wakes all who wait. Called with the lock held.
func (w *Workers) changed() {
	close(w.change)
	w.change = make(chan struct{})
}

// free waits for a device and takes it. It does not wait where there is none to
// wait for.
func (w *Workers) free(ctx context.Context) (*seat, *infer.Remote, error) {
	for {
		w.mu.Lock()
		if w.closed {
			w.mu.Unlock()
			return nil, nil, &infer.Error{Class: infer.Closed, Op: "Run", Detail: "the model is closed"}
		}
		alive, change := false, w.change
		for i := range w.seats {
			s := w.seats[(w.next+i)%len(w.seats)]
			if !s.serving() {
				continue
			}
			alive = true
			if !s.busy {
				s.busy, w.next = true, (w.next+i+1)%len(w.seats)
				w.mu.Unlock()
				return s, s.remote, nil
			}
		}
		w.mu.Unlock()
		if !alive {
			return nil, nil, w.away()
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, nil, &infer.Error{Class: infer.Canceled, Op: "Run", Detail: ctx.Err().Error(), Cause: ctx.Err()}
		}
	}
}

// away is the answer while no device can be fed.
func (w *Workers) away() error {
	return &infer.Error{Class: infer.Away, Op: "Run", Detail: "no device is in service: " + w.states()}
}

func (w *Workers) states() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, s := range w.seats {
		all = append(all, fmt.Sprintf("%s is %s", s.Spec.Name, s.info.State))
	}
	return strings.Join(all, ", ")
}

// Run executes a batch on a device that is free; see infer.Backend. A failure of
// class Away says that the device went; the batch may be given to another.
func (w *Workers) Run(ctx context.Context, b *infer.Batch) error {
	if len(w.seats) == 0 {
		return w.away()
	}
	s, r, err := w.free(ctx)
	if err != nil {
		return err
	}
	end := s.sup.Begin(w.bound(r, b.Gear))
	err = r.Run(ctx, b)
	end()
	w.mu.Lock()
	s.busy = false
	w.changed()
	w.mu.Unlock()
	if err != nil {
		return s.judge(r, err)
	}
	return nil
}

// bound is how long a batch may take.
func (w *Workers) bound(r *infer.Remote, gear int) time.Duration {
	for _, c := range r.Costs() {
		if c.Gear == gear {
			return engine.Bound(c.P99+c.CopyIn+c.CopyOut, w.cfg.Floor, w.cfg.Limit)
		}
	}
	return w.cfg.Limit
}

// Describe tells what was loaded; see infer.Backend.
func (w *Workers) Describe() infer.Description { return w.desc }

// Width is the batches that run at once.
func (w *Workers) Width() int { return len(w.seats) }

// Ready is nil while at least one device may be fed.
func (w *Workers) Ready() error {
	w.mu.Lock()
	for _, s := range w.seats {
		if s.serving() {
			w.mu.Unlock()
			return nil
		}
	}
	w.mu.Unlock()
	return w.away()
}

// Devices tells of each device.
func (w *Workers) Devices() (all []DeviceInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seats {
		st, info := s.sup.Status(), s.info
		info.State, info.Why, info.PID, info.Starts, info.Faults = st.State, st.Why, st.PID, st.Starts, st.Faults
		all = append(all, info)
	}
	return all
}

// Probe is nil when a device in service answers; see infer.Backend.
func (w *Workers) Probe(ctx context.Context) error {
	var errs []error
	for _, s := range w.seats {
		w.mu.Lock()
		r := s.remote
		if !s.serving() {
			r = nil
		}
		w.mu.Unlock()
		if r == nil {
			continue
		}
		err := r.Probe(ctx)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return w.away()
	}
	return errors.Join(errs...)
}

// Close stops the workers, which let what runs come to its end.
func (w *Workers) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return &infer.Error{Class: infer.Closed, Op: "Close", Detail: "the model is closed"}
	}
	w.closed = true
	w.changed()
	w.mu.Unlock()
	w.stop()
	w.runs.Wait()
	return nil
}
