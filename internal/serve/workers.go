package serve

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/report"
)

// DeviceInfo is what is known of a device that runs a model.
type DeviceInfo struct {
	Device    int            `json:"device"`
	Name      string         `json:"name"`
	Simulated bool           `json:"simulated"`
	Instances int            `json:"instances"` // of the model, on this device
	State     engine.State   `json:"state"`
	Why       report.Text    `json:"why,omitzero"`
	PID       int            `json:"pid,omitempty"`
	Starts    int            `json:"starts"`
	LoadedMS  int64          `json:"loaded_ms"` // from the start of the process to its first answer
	Costs     []infer.Cost   `json:"costs,omitempty"`
	Faults    []engine.Fault `json:"faults,omitempty"`
}

// Workers is one model of a crew. A batch goes to an instance that is free; a
// device that fails is left out until its process, or the next one, is ready
// again. Nothing is tried a second time here: that is for the queue, which can
// take a batch apart. The lock is that of the crew.
type Workers struct {
	crew   *Crew
	name   string
	seats  []*seat // of one device after the other
	desc   infer.Description
	next   int // where the search for a free seat begins
	closed bool
}

var _ infer.Backend = (*Workers)(nil)

// seat is one instance of a model on one device.
type seat struct {
	*station
	model  *Workers
	hosted string        // what the worker calls it
	remote *infer.Remote // nil: not connected
	last   infer.Description
	costs  []infer.Cost
	busy   bool
}

// describe sums the devices up as one.
func (w *Workers) describe() {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	w.desc = w.seats[0].last
	var names []string
	for i, s := range w.seats {
		if i == 0 || s.station != w.seats[i-1].station {
			names = append(names, s.last.Device.Name)
		}
	}
	w.desc.Device.Name = strings.Join(names, "; ")
}

// free waits for a seat and takes it. It does not wait where there is none to
// wait for.
func (w *Workers) free(ctx context.Context) (*seat, *infer.Remote, error) {
	for {
		w.crew.mu.Lock()
		if w.closed {
			w.crew.mu.Unlock()
			return nil, nil, closedFor("Run")
		}
		alive, change := false, w.crew.change
		for i := range w.seats {
			s := w.seats[(w.next+i)%len(w.seats)]
			if !s.serving() {
				continue
			}
			alive = true
			if !s.busy {
				r := s.remote
				s.busy, w.next = true, (w.next+i+1)%len(w.seats)
				w.crew.mu.Unlock()
				return s, r, nil
			}
		}
		w.crew.mu.Unlock()
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

func closedFor(op string) error {
	return &infer.Error{Class: infer.Closed, Op: op, Detail: "the model is closed"}
}

// away is the answer while no device can be fed.
func (w *Workers) away() error {
	var all []string
	for _, s := range w.crew.stations {
		all = append(all, fmt.Sprintf("%s is %s", s.Spec.Name, s.sup.Status().State))
	}
	return &infer.Error{Class: infer.Away, Op: "Run", Detail: "no device is in service: " + strings.Join(all, ", ")}
}

// Run executes a batch on a device that is free; see infer.Backend. A failure of
// class Away says that the device went; the batch may be given to another.
func (w *Workers) Run(ctx context.Context, b *infer.Batch) error {
	s, r, err := w.free(ctx)
	if err != nil {
		return err
	}
	end := s.sup.Begin(w.bound(r, b.Gear))
	err = r.Run(ctx, b)
	end()
	w.crew.mu.Lock()
	s.busy = false
	w.crew.changed()
	w.crew.mu.Unlock()
	if err != nil {
		return s.judge(r, err)
	}
	return nil
}

// bound is how long a batch may take. Those of other instances and models may
// run on the device meanwhile.
func (w *Workers) bound(r *infer.Remote, gear int) time.Duration {
	cfg := &w.crew.cfg
	for _, c := range r.Costs() {
		if c.Gear == gear {
			beside := len(w.seats[0].station.seats)
			return engine.Bound(time.Duration(beside)*(c.P99+c.CopyIn+c.CopyOut), cfg.Floor, cfg.Limit)
		}
	}
	return cfg.Limit
}

// Describe tells what was loaded; see infer.Backend.
func (w *Workers) Describe() infer.Description { return w.desc }

// Width is the batches that run at once.
func (w *Workers) Width() int { return len(w.seats) }

// Ready is nil while at least one device may be fed.
func (w *Workers) Ready() error {
	if len(w.serving()) == 0 {
		return w.away()
	}
	return nil
}

// serving are the connections that may be fed.
func (w *Workers) serving() (all []*infer.Remote) {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	for _, s := range w.seats {
		if s.serving() {
			all = append(all, s.remote)
		}
	}
	return all
}

// Devices tells of each device.
func (w *Workers) Devices() (all []DeviceInfo) {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	for i, s := range w.seats {
		if i > 0 && s.station == w.seats[i-1].station {
			all[len(all)-1].Instances++
			continue
		}
		st, d := s.sup.Status(), s.last.Device
		all = append(all, DeviceInfo{Device: s.Device, Name: d.Name, Simulated: d.Simulated, Instances: 1,
			State: st.State, Why: st.Why, PID: st.PID, Starts: st.Starts, LoadedMS: s.loadedMS, Costs: s.costs, Faults: st.Faults})
	}
	return all
}

// Probe is nil when a device in service answers; see infer.Backend.
func (w *Workers) Probe(ctx context.Context) error {
	var errs []error
	for _, r := range w.serving() {
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

// Close ends the model; its workers go on, until those of the crew are stopped.
func (w *Workers) Close() error {
	w.crew.mu.Lock()
	defer w.crew.mu.Unlock()
	if w.closed {
		return closedFor("Close")
	}
	w.closed = true
	w.crew.changed()
	return nil
}

// take puts an instance into service, unless it is of another model than before.
func (s *seat) take(r *infer.Remote) bool {
	d := r.Describe()
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	known := s.model.desc
	if len(known.Signature.Inputs) > 0 && !(reflect.DeepEqual(known.Signature, d.Signature) && reflect.DeepEqual(known.Gears, d.Gears)) {
		return false
	}
	s.remote, s.last, s.costs = r, d, r.Costs()
	s.crew.changed()
	return true
}

// drop takes an instance out of service.
func (s *seat) drop(r *infer.Remote) {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	if s.remote == r {
		s.remote = nil
		s.crew.changed()
	}
}

// serving is true for an instance that may be fed.
func (s *seat) serving() bool { return s.err == nil && s.remote != nil && s.sup.Serving() }

// judge tells the supervisor what its process went through, and the caller what
// it means to him.
func (s *seat) judge(r *infer.Remote, err error) error {
	e, ok := errors.AsType[*infer.Error](err)
	if !ok || e.Class == infer.Reject || e.Class == infer.Short || e.Class == infer.Canceled {
		return err
	}
	gone := e.Class == infer.Lost || e.Class == infer.Closed
	if gone {
		s.drop(r)
	}
	if e.Action != "" {
		s.sup.Report(r.PID(), engine.Fault{Action: engine.Action(e.Action), Code: e.Code, Name: e.Name, Text: report.Same(e.Error())})
	}
	if !gone {
		return err
	}
	away := *e
	away.Class, away.Detail, away.Cause = infer.Away, fmt.Sprintf("%s went away: %s", s.Spec.Name, e.Detail), err
	return &away
}
