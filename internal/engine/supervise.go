package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// keptFaults is how many faults a status shows.
const keptFaults = 20

// Supervisor runs one Spec.
type Supervisor struct {
	spec     Spec
	deps     Deps
	patterns []*regexp.Regexp
	m        *machine
	work     sync.WaitGroup
	quit     chan struct{} // closed when Run is over
	timer    func() bool

	mu     sync.Mutex
	inbox  []input
	bell   chan struct{}
	status Status
	watch  *watch
	run    *attempt
}

// attempt is one process, or one probe.
type attempt struct {
	n       int
	process Process
	life    context.Context
	end     context.CancelFunc
	journal *journal
	mile    string      // last milestone
	serves  atomic.Bool // a milestone said so
}

// Supervise runs the process of a spec until ctx ends; then it drains and
// stops it and returns nil. A failure that no restart can heal is a
// *report.Problem.
func Supervise(ctx context.Context, s Spec, d Deps) error {
	sup, err := New(s, d)
	if err != nil {
		return err
	}
	return sup.Run(ctx)
}

// New checks a spec; nothing is started yet.
func New(s Spec, d Deps) (*Supervisor, error) {
	patterns, err := s.compiled()
	if err != nil {
		return nil, err
	}
	s = s.withDefaults()
	d.Clock = d.Clock.orReal()
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Rand == nil {
		d.Rand = func() float64 { return 0 }
	}
	if d.Mark == "" {
		d.Mark = rand.Text() // two fronts must never sweep each other's children
	}
	return &Supervisor{spec: s, deps: d, patterns: patterns, m: newMachine(s, d.Rand), quit: make(chan struct{}),
		bell: make(chan struct{}, 1), status: Status{Name: s.Name, Devices: s.Devices, State: Idle, Since: d.Clock.Now()}}, nil
}

// Run is Supervise for a supervisor; it can be called once.
func (s *Supervisor) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		s.post(input{kind: stop, why: report.T("asked to stop", "收到停止指令")})
	})()
	s.post(input{kind: goOn})
	for !s.m.over() {
		<-s.bell
		for _, in := range s.take() {
			s.handle(in)
		}
	}
	close(s.quit)
	if s.run != nil {
		s.run.end()
	}
	s.work.Wait()
	return s.verdict()
}

func (s *Supervisor) verdict() error {
	switch {
	case s.m.problem != nil:
		return s.m.problem
	case s.m.state == Failed:
		return &report.Problem{What: report.T("%s cannot run", "%s 无法运行", s.spec.Name), Why: s.m.why, Exit: report.ExitFailed,
			Do: report.T("correct what the reason names, then start again", "按上述原因处理后重新启动")}
	}
	return nil
}

// post hands an input to Run. It never blocks: timers and clients call it.
func (s *Supervisor) post(in input) {
	s.mu.Lock()
	s.inbox = append(s.inbox, in)
	s.mu.Unlock()
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *Supervisor) take() (all []input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.inbox = s.inbox, nil
	return all
}

// handle gives an input to the machine and does what it says.
func (s *Supervisor) handle(in input) {
	if in.of != 0 && (s.run == nil || in.of != s.run.n) {
		return // about a process that is gone
	}
	now := s.deps.Clock.Now()
	s.complete(&in)
	from := s.m.state
	orders := s.m.on(now, in)
	for _, o := range orders {
		s.do(o)
	}
	if in.kind == stop && s.m.probing {
		s.run.end()
	}
	s.arm(now)
	s.tell(now, from, in)
	if from == Starting && s.m.state == Ready && s.spec.Health != nil {
		r := s.run
		s.work.Go(func() { s.health(r) })
	}
}

// complete adds what the supervisor alone knows to an input.
func (s *Supervisor) complete(in *input) {
	if s.run == nil {
		return
	}
	if s.run.journal != nil {
		in.sign = s.run.journal.sign()
	}
	if in.kind == learnt {
		s.run.mile = in.mile.ID
	}
	if in.kind != exited {
		return
	}
	s.run.end()
	tail := s.run.journal.end()
	last := ""
	if len(tail) > 0 {
		last = tail[len(tail)-1]
	}
	in.why = report.T("the process ended: %s; last line: %s", "进程已结束：%s；最后一行：%s", in.exit, cmp.Or(last, "-"))
	if unasked := slices.Contains([]State{Starting, Ready, Suspect}, s.m.state); unasked && s.deps.Explain != nil {
		x := s.deps.Explain(Crash{Name: s.spec.Name, Devices: s.spec.Devices, State: s.m.state, Exit: *in.exit, Milestone: s.run.mile, Tail: tail})
		in.action, in.final = x.Action, x.Problem
		if x.Problem != nil {
			in.why = x.Problem.What
		}
	}
}

// arm sets the one timer of the machine.
func (s *Supervisor) arm(now time.Time) {
	if s.timer != nil {
		s.timer()
		s.timer = nil
	}
	if !s.m.wakeAt.IsZero() && !s.m.over() {
		s.timer = s.deps.Clock.AfterFunc(s.m.wakeAt.Sub(now), func() { s.post(input{kind: wake}) })
	}
}

// tell publishes the status, and what is worth an event.
func (s *Supervisor) tell(now time.Time, from State, in input) {
	e := Event{Time: now, Name: s.spec.Name, Devices: s.spec.Devices, From: from, To: s.m.state, Why: s.m.why,
		Milestone: in.mile, Detail: in.text, Fault: in.fault, Exit: in.exit}
	if e.From == e.To {
		e.Why = in.why
	}
	s.mu.Lock()
	st := &s.status
	st.State, st.Since, st.Why, st.Next, st.PID = s.m.state, s.m.since, s.m.why, time.Time{}, 0
	if s.m.state == Waiting || s.m.state == Quarantined {
		st.Next = s.m.wakeAt
	}
	if s.run != nil && s.m.alive {
		st.PID = s.run.process.PID
	}
	if in.exit != nil {
		st.LastExit = in.exit
	}
	if in.fault != nil {
		st.Faults = append(st.Faults, *in.fault)
		st.Faults = slices.Clone(st.Faults[max(0, len(st.Faults)-keptFaults):])
	}
	e.PID = st.PID
	if !st.Next.IsZero() {
		e.Wait = st.Next.Sub(now)
	}
	s.mu.Unlock()
	if e.From == e.To && e.Milestone == nil && e.Fault == nil && e.Exit == nil {
		return
	}
	s.log(e)
	if s.deps.Event != nil {
		s.deps.Event(e)
	}
}

func (s *Supervisor) log(e Event) {
	attrs := []any{"engine", e.Name, "devices", e.Devices, "pid", e.PID, "why", e.Why.En}
	if f := e.Fault; f != nil {
		attrs = append(attrs, "code", f.Code, "name", f.Name, "action", f.Action)
	}
	switch {
	case e.Milestone != nil:
		s.deps.Log.Info("milestone", append(attrs, "milestone", e.Milestone.ID, "detail", e.Detail)...)
	case e.To == Suspect || e.To == Waiting || e.To == Quarantined || e.To == Failed || e.Fault != nil:
		s.deps.Log.Warn("engine "+string(e.To), append(attrs, "from", e.From, "wait", e.Wait)...)
	default:
		s.deps.Log.Info("engine "+string(e.To), append(attrs, "from", e.From)...)
	}
}

// Begin tells that a batch was handed to the process and how long it may take.
// Past the bound the process is suspect and must not be fed; within twice the
// bound it is killed and its device put aside, unless end was called.
func (s *Supervisor) Begin(bound time.Duration) (end func()) {
	s.mu.Lock()
	w := s.watch
	s.mu.Unlock()
	if w == nil {
		return func() {}
	}
	return w.begin(bound)
}

// Report tells of a failure that the process survived. pid is the process that
// failed, so that a report that comes late does not hit the next one.
func (s *Supervisor) Report(pid int, f Fault) {
	s.mu.Lock()
	of := -1
	if s.run != nil && s.run.process.PID == pid {
		of = s.run.n
	}
	s.mu.Unlock()
	f.Time = s.deps.Clock.Now()
	s.post(input{kind: faulty, of: of, action: f.Action, why: f.Text, fault: &f, final: &report.Problem{
		What: report.T("%s cannot start", "%s 无法启动", s.spec.Name), Why: f.Text, Exit: report.ExitFailed,
		Do: report.T("correct what the reason names, then start again", "按上述原因处理后重新启动")}})
}

// Status is how things stand.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Faults = slices.Clone(st.Faults)
	return st
}

// Serving is true when the process may be fed.
func (s *Supervisor) Serving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status.State == Ready
}
