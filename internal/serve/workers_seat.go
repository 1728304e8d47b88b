package serve

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/report"
)

// seat is a device among the Workers. The lock is that of Workers.
type seat struct {
	Worker
	home   *Workers
	sup    *engine.Supervisor
	remote *infer.Remote // nil: not connected
	info   DeviceInfo
	busy   bool
	began  time.Time
	err    error // why it will never come back
}

// event is told by the supervisor of a seat, one at a time.
func (s *seat) event(e engine.Event) {
	w := s.home
	w.mu.Lock()
	if e.From != e.To {
		s.info.State, s.info.Why = e.To, e.Why
		if e.To == engine.Starting {
			s.began = e.Time
		}
		w.changed()
	}
	w.mu.Unlock()
	if e.From == engine.Starting && e.To == engine.Ready {
		w.runs.Go(func() { s.connect(e.PID) })
	}
	if w.cfg.Deps.Event != nil {
		w.cfg.Deps.Event(e)
	}
}

// failed is the end of the supervision: nil when it was asked for.
func (s *seat) failed(err error) {
	s.home.mu.Lock()
	defer s.home.mu.Unlock()
	if s.err = err; err == nil {
		s.err = errDraining
	}
	s.home.changed()
}

// connect opens a worker that has said it is ready, and stays until it is lost.
func (s *seat) connect(pid int) {
	w := s.home
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	r, err := infer.Connect(ctx, infer.RemoteOptions{Dial: s.Dial, Model: w.cfg.Model, Lanes: 1, Grace: 2*w.cfg.Limit + 5*time.Second})
	cancel()
	if err == nil && !s.take(r) {
		err = errors.New("the model file is another one than it was")
		_ = r.Close()
	}
	if err != nil {
		s.sup.Report(pid, engine.Fault{Action: engine.RestartProcess, Text: report.T("no connection to the worker: %v", "无法连接 worker：%v", err)})
		return
	}
	<-r.Gone()
	s.drop(r)
	_ = r.Close() // after the calls that are out
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	<-patience.C // a process that died is seen by the supervisor itself
	if st := s.sup.Status(); st.PID == pid && st.State == engine.Ready {
		s.sup.Report(pid, engine.Fault{Action: engine.RestartProcess, Text: report.T("the worker does not answer", "worker 无应答")})
	}
}

// take puts a worker into service, unless it has another model than before.
func (s *seat) take(r *infer.Remote) bool {
	w, d := s.home, r.Describe()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.desc.Signature.Inputs) > 0 && !(reflect.DeepEqual(w.desc.Signature, d.Signature) && reflect.DeepEqual(w.desc.Gears, d.Gears)) {
		return false
	}
	if w.closed {
		return false
	}
	s.remote = r
	s.info.Name, s.info.Simulated, s.info.Costs = d.Device.Name, d.Device.Simulated, r.Costs()
	s.info.LoadedMS = time.Since(s.began).Milliseconds()
	w.changed()
	return true
}

// drop takes a worker out of service.
func (s *seat) drop(r *infer.Remote) {
	s.home.mu.Lock()
	defer s.home.mu.Unlock()
	if s.remote == r {
		s.remote = nil
		s.home.changed()
	}
}

// serving is true for a worker that may be fed.
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
