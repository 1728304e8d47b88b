package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
)

// rig runs a supervisor and collects what it says.
type rig struct {
	t      *testing.T
	sup    *Supervisor
	stop   context.CancelFunc
	events chan Event
	result chan error
	log    *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func run(t *testing.T, s Spec, d Deps) *rig {
	t.Helper()
	r := &rig{t: t, events: make(chan Event, 10000), result: make(chan error, 1), log: &safeBuffer{}}
	d.Log = slog.New(slog.NewTextHandler(r.log, nil))
	also := d.Event
	d.Event = func(e Event) {
		if also != nil {
			also(e)
		}
		r.events <- e
	}
	sup, err := New(s, d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.sup, r.stop = sup, cancel
	go func() { r.result <- sup.Run(ctx) }()
	t.Cleanup(cancel)
	return r
}

// until gives the first event that enters the state.
func (r *rig) until(to State) Event {
	r.t.Helper()
	return r.find("state "+string(to), func(e Event) bool { return e.To == to && e.From != to })
}

func (r *rig) find(what string, ok func(Event) bool) Event {
	r.t.Helper()
	late := time.After(60 * time.Second)
	for {
		select {
		case e := <-r.events:
			if ok(e) {
				return e
			}
		case <-late:
			r.t.Fatalf("no %s; now %+v\n%s", what, r.sup.Status(), r.log)
		}
	}
}

func (r *rig) end() error {
	r.t.Helper()
	select {
	case err := <-r.result:
		return err
	case <-time.After(60 * time.Second):
		r.t.Fatalf("does not end: %+v\n%s", r.sup.Status(), r.log)
		return nil
	}
}

var quick = Restart{First: time.Millisecond, Max: 2 * time.Millisecond}

func TestFromStartToStop(t *testing.T) {
	s := child("serve")
	s.Milestones = []Milestone{
		{ID: "load", Title: report.T("loaded", "已加载"), Pattern: `loaded (\d+) shards`},
		{ID: "up", Title: report.T("up", "已启动"), Pattern: `ready to roll`, Ready: true},
	}
	drained := false
	s.Drain = func(context.Context) error { drained = true; return nil }
	reg := metrics.NewRegistry()
	r := run(t, s, Deps{Event: Meter(reg)})
	if e := r.find("milestone", func(e Event) bool { return e.Milestone != nil }); e.Milestone.ID != "load" || e.Detail != "7" {
		t.Errorf("milestone %s, detail %q", e.Milestone.ID, e.Detail)
	}
	e := r.until(Ready)
	if e.PID == 0 || !r.sup.Serving() {
		t.Errorf("ready as process %d, serving %v", e.PID, r.sup.Serving())
	}
	r.stop()
	r.until(Stopped)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	gone(t, e.PID)
	if !drained || !strings.Contains(r.log.String(), "line=bye") {
		t.Errorf("drained %v; its last words are not in the log:\n%s", drained, r.log)
	}
	if st := r.sup.Status(); st.State != Stopped || st.Starts != 1 || st.LastExit == nil || st.LastExit.Code != 0 {
		t.Errorf("status %+v", st)
	}
	var text bytes.Buffer
	_, _ = reg.WriteTo(&text)
	for _, want := range []string{`ascendctl_engine_starts_total{engine="npu0"} 1`, `ascendctl_engine_state{engine="npu0",state="stopped"} 1`, `ascendctl_engine_state{engine="npu0",state="ready"} 0`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
}

func TestKillNineIsSeenAndHealed(t *testing.T) {
	s := child("serve")
	s.Restart = quick
	r := run(t, s, Deps{})
	first := r.until(Ready)
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := r.until(Waiting); e.Exit == nil || e.Exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", e.Exit)
	}
	if again := r.until(Ready); again.PID == first.PID || again.PID == 0 {
		t.Errorf("ready again as %d", again.PID)
	}
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestAnEndWithStatusZeroIsACrash(t *testing.T) {
	s := child("exit", "0")
	s.Restart = Restart{First: time.Millisecond, Max: time.Millisecond, Limit: 3}
	var crashes []Crash
	r := run(t, s, Deps{Explain: func(c Crash) Explanation { crashes = append(crashes, c); return Explanation{} }})
	e := r.until(Quarantined)
	if !strings.Contains(e.Why.En, "4 times") || !strings.Contains(e.Why.En, "something broke") {
		t.Errorf("why: %s", e.Why.En)
	}
	r.stop()
	_ = r.end()
	if len(crashes) < 4 || crashes[0].Exit.Code != 0 || crashes[0].Tail[len(crashes[0].Tail)-1] != "something broke" {
		t.Errorf("crashes told: %+v", crashes)
	}
}

func TestWhatExplainSaysIsFinal(t *testing.T) {
	p := &report.Problem{What: report.T("wrong chip", "芯片不匹配"), Exit: report.ExitFailed}
	s := child("exit", "7")
	s.Ready = func(context.Context) error { return errors.New("not yet") }
	r := run(t, s, Deps{Explain: func(c Crash) Explanation {
		if c.Exit.Code != 7 || c.State != Starting {
			t.Errorf("crash %+v", c)
		}
		return Explanation{Action: FixHost, Problem: p}
	}})
	if err := r.end(); !errors.Is(err, p) {
		t.Errorf("got %v", err)
	}
}

func TestACommandThatIsNotThere(t *testing.T) {
	for _, argv := range []string{"/does/not/exist", "ascendctl-no-such-engine", "/etc/passwd"} {
		err := Supervise(context.Background(), Spec{Name: "x", Argv: []string{argv}, Env: []string{"PATH=/usr/bin:/bin"}}, Deps{})
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != report.ExitFailed {
			t.Errorf("%s: %v", argv, err)
		}
	}
	for _, bad := range []Spec{{}, {Argv: []string{"x"}, Milestones: []Milestone{{ID: "m", Pattern: "("}}}} {
		if err := Supervise(context.Background(), bad, Deps{}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestADeafProcessIsKilled(t *testing.T) {
	s := child("deaf")
	s.Grace = 50 * time.Millisecond
	s.Milestones = []Milestone{{ID: "up", Pattern: "ready", Ready: true}}
	r := run(t, s, Deps{})
	e := r.until(Ready)
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	gone(t, e.PID)
	if st := r.sup.Status(); st.LastExit.Signal != "SIGKILL" {
		t.Errorf("exit %s", st.LastExit)
	}
}

// TestAHangingBatch holds the promise of the watchdog by a clock that the test
// moves: suspect at the bound, out of use within twice the bound, process dead.
func TestAHangingBatch(t *testing.T) {
	const bound = 200 * time.Millisecond
	c := newHandClock()
	s := child("deaf")
	s.Probe = func(context.Context) error { return nil }
	s.Milestones = []Milestone{{ID: "up", Pattern: "ready", Ready: true}}
	r := run(t, s, Deps{Clock: c.clock()})
	first := r.until(Ready)

	end := r.sup.Begin(bound)
	c.move(bound - 1)
	end()
	end = r.sup.Begin(bound)
	c.move(bound)
	r.until(Suspect)
	end() // late, but there
	r.until(Ready)

	begun := c.Now()
	end = r.sup.Begin(bound)
	short := r.sup.Begin(10 * bound)
	c.move(bound)
	r.until(Suspect)
	c.move(bound * 3 / 4)
	e := r.until(Quarantined)
	if took := e.Time.Sub(begun); took > 2*bound {
		t.Errorf("put aside after %v, bound %v", took, bound)
	}
	r.find("exit", func(e Event) bool { return e.Exit != nil })
	gone(t, first.PID)
	end() // of a process that is gone: harmless
	short()
	c.move(time.Second)
	if again := r.until(Ready); again.PID == first.PID {
		t.Error("the same process again")
	}
	c.move(time.Hour) // timers of the dead process say nothing about the new one
	r.sup.Report(first.PID, Fault{Action: Quarantine, Text: report.Same("late")})
	if st := r.sup.Status(); st.State != Ready {
		t.Errorf("state %s", st.State)
	}
	r.stop()
	r.until(Stopping)
	c.move(10 * time.Second) // the grace of a deaf process
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestADeviceThatIsLostComesBackThroughItsProbe(t *testing.T) {
	s := child("serve")
	s.Restart = quick
	asked := 0
	s.Probe = func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("no answer")
		}
		return nil
	}
	r := run(t, s, Deps{})
	e := r.until(Ready)
	r.sup.Report(e.PID, Fault{Action: Quarantine, Code: 507899, Name: "ACL_ERROR_RT_DRV_INTERNAL_ERROR", Text: report.Same("device lost")})
	r.until(Quarantined)
	r.until(Ready)
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	if st := r.sup.Status(); len(st.Faults) != 1 || st.Faults[0].Code != 507899 {
		t.Errorf("faults %+v", st.Faults)
	}
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if want := `why="device lost" code=507899 name=ACL_ERROR_RT_DRV_INTERNAL_ERROR action=quarantine`; !strings.Contains(r.log.String(), want) {
		t.Errorf("the log does not say %s:\n%s", want, r.log)
	}
}

func TestStopDoesNotWaitForAProbe(t *testing.T) {
	s := child("exit", "1")
	s.Ready = func(context.Context) error { return errors.New("not yet") }
	s.Probe = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	s.ProbeWait = time.Hour
	r := run(t, s, Deps{Explain: func(Crash) Explanation { return Explanation{Action: ResetDevice} }})
	r.until(Probing)
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func TestAProbeMayBeAProcess(t *testing.T) {
	if err := ProbeWith(child("serve"), Deps{})(ended()); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("a probe that does not end: %v", err)
	}
	if err := ProbeWith(child("tell"), Deps{})(context.Background()); err != nil {
		t.Error(err)
	}
	if err := ProbeWith(child("exit", "5"), Deps{})(context.Background()); err == nil || err.Error() != "exit status 5: something broke" {
		t.Errorf("got %v", err)
	}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestIllHealthEndsTheProcess(t *testing.T) {
	s := child("serve")
	s.Restart = quick
	s.HealthEvery = time.Millisecond
	var mu sync.Mutex
	ill := true
	s.Health = func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if ill {
			return errors.New("503")
		}
		return nil
	}
	r := run(t, s, Deps{})
	r.until(Ready)
	e := r.find("fault", func(e Event) bool { return e.Fault != nil })
	if e.Fault.Action != RestartProcess || !strings.Contains(e.Why.En, "3 times: 503") {
		t.Errorf("fault %+v, why %s", e.Fault, e.Why.En)
	}
	mu.Lock()
	ill = false
	mu.Unlock()
	r.until(Ready)
	r.stop()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}
