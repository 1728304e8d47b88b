package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/report"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func testSpec() Spec {
	return Spec{Name: "npu0", Argv: []string{"x"}, Drain: func(context.Context) error { return nil },
		Probe: func(context.Context) error { return nil }}.withDefaults()
}

// bench drives a machine by hand.
type bench struct {
	t   *testing.T
	m   *machine
	now time.Time
}

func newBench(t *testing.T, s Spec) *bench {
	return &bench{t, newMachine(s, func() float64 { return 0 }), t0}
}

func (b *bench) in(in input, state State, want ...order) {
	b.t.Helper()
	got := b.m.on(b.now, in)
	if !slices.Equal(got, want) || b.m.state != state {
		b.t.Fatalf("after input %d: orders %v in state %s, want %v in %s", in.kind, got, b.m.state, want, state)
	}
}

// wake moves the clock to what the machine waits for.
func (b *bench) wake(after time.Duration, state State, want ...order) {
	b.t.Helper()
	if got := b.m.wakeAt.Sub(b.now); got != after {
		b.t.Fatalf("in %s it waits %v, want %v", b.m.state, got, after)
	}
	b.now = b.m.wakeAt
	b.in(input{kind: wake}, state, want...)
}

func (b *bench) up() {
	b.t.Helper()
	b.in(input{kind: goOn}, Starting, doStart)
	b.in(input{kind: isReady}, Ready)
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	s := testSpec()
	s.Restart.Limit = 100
	b := newBench(t, s)
	b.in(input{kind: goOn}, Starting, doStart)
	for _, pause := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		b.in(input{kind: exited}, Waiting)
		b.wake(time.Duration(pause)*time.Second, Starting, doStart)
	}
	b.in(input{kind: isReady}, Ready)
	b.wake(2*time.Minute, Ready) // settled
	b.in(input{kind: exited}, Waiting)
	b.wake(time.Second, Starting, doStart)
}

func TestChanceTakesUpToHalfOfAPause(t *testing.T) {
	m := newMachine(testSpec(), func() float64 { return 0.999999 })
	if p := m.pause(); p < 500*time.Millisecond || p > 501*time.Millisecond {
		t.Errorf("first pause %v, want just over half a second", p)
	}
	for range 100 {
		if p := m.pause(); p <= 0 || p > time.Minute {
			t.Fatalf("pause %v", p)
		}
	}
}

func TestTooManyEndsPutTheDeviceAsideAndTheProbeBringsItBack(t *testing.T) {
	b := newBench(t, testSpec())
	b.in(input{kind: goOn}, Starting, doStart)
	for range 5 {
		b.in(input{kind: exited}, Waiting)
		b.now = b.m.wakeAt
		b.in(input{kind: wake}, Starting, doStart)
	}
	b.in(input{kind: exited}, Quarantined)
	b.wake(32*time.Second, Probing, doProbe)
	b.in(input{kind: probedBad}, Quarantined)
	b.wake(time.Minute, Probing, doProbe)
	b.in(input{kind: probedGood}, Starting, doStart)
	b.in(input{kind: isReady}, Ready)
}

func TestWhatEachActionCallsFor(t *testing.T) {
	for _, c := range []struct {
		action   Action
		starting State // after the fault in this state
		ready    State
		orders   []order // in ready
	}{
		{Ignore, Starting, Ready, nil},
		{"", Starting, Ready, nil},
		{"word-of-a-later-release", Starting, Ready, nil},
		{Reject, Stopping, Ready, nil},
		{FixCode, Stopping, Ready, nil},
		{FixHost, Stopping, Stopping, []order{doSignal}},
		{Retry, Starting, Ready, nil},
		{UnloadSomething, Starting, Ready, nil},
		{ReloadContext, Starting, Ready, nil},
		{CollectLog, Starting, Ready, nil},
		{RestartProcess, Stopping, Stopping, []order{doSignal}},
		{ResetDevice, Stopping, Stopping, []order{doSignal}},
		{Quarantine, Quarantined, Quarantined, []order{doKill}},
		{Watchdog, Starting, Suspect, nil},
	} {
		b := newBench(t, testSpec())
		b.in(input{kind: goOn}, Starting, doStart)
		if b.m.on(b.now, input{kind: faulty, action: c.action}); b.m.state != c.starting {
			t.Errorf("%q while starting: %s, want %s", c.action, b.m.state, c.starting)
		}
		b = newBench(t, testSpec())
		b.up()
		b.in(input{kind: faulty, action: c.action}, c.ready, c.orders...)
	}
}

func TestAFaultOfTheHostWhileStartingIsFinal(t *testing.T) {
	p := &report.Problem{What: report.Same("wrong chip")}
	b := newBench(t, testSpec())
	b.in(input{kind: goOn}, Starting, doStart)
	b.in(input{kind: exited, action: FixHost, final: p}, Failed)
	if b.m.problem != p {
		t.Error("the problem is lost")
	}
	b = newBench(t, testSpec())
	b.up() // it worked once: worth another try
	b.in(input{kind: exited, action: FixHost, final: p}, Waiting)
}

func TestRetriesRunOut(t *testing.T) {
	b := newBench(t, testSpec())
	b.up()
	for range 5 {
		b.in(input{kind: faulty, action: Retry}, Ready)
	}
	b.in(input{kind: faulty, action: Retry}, Stopping, doSignal)
	b.in(input{kind: exited}, Waiting)

	b = newBench(t, testSpec())
	b.up()
	for range 50 { // one in three minutes is no pattern
		b.now = b.now.Add(3 * time.Minute)
		b.in(input{kind: faulty, action: Retry}, Ready)
	}
}

func TestAHangIsSuspectThenPutAside(t *testing.T) {
	b := newBench(t, testSpec())
	b.up()
	b.in(input{kind: overdue}, Suspect)
	b.in(input{kind: cleared}, Ready)
	b.in(input{kind: overdue}, Suspect)
	b.in(input{kind: hung}, Quarantined, doKill)
	b.in(input{kind: isReady}, Quarantined)
	b.in(input{kind: exited}, Quarantined)
	b.wake(time.Second, Probing, doProbe)

	b = newBench(t, testSpec()) // told by the client; nobody speaks for it again
	b.up()
	b.in(input{kind: faulty, action: Watchdog}, Suspect)
	b.wake(10*time.Second, Quarantined, doKill)
}

func TestStopDrainsThenSignalsThenKills(t *testing.T) {
	b := newBench(t, testSpec())
	b.up()
	b.in(input{kind: stop}, Draining, doDrain)
	b.in(input{kind: stop}, Draining)
	b.wake(30*time.Second, Stopping, doSignal)
	b.wake(10*time.Second, Stopping, doKill)
	b.in(input{kind: exited}, Stopped)
	b.in(input{kind: goOn}, Stopped)

	b = newBench(t, testSpec())
	b.up()
	b.in(input{kind: stop}, Draining, doDrain)
	b.in(input{kind: hung}, Stopping, doKill) // a hang is not drained
}

func TestAProcessThatTheDriverHolds(t *testing.T) {
	b := newBench(t, testSpec())
	b.up()
	b.in(input{kind: stop}, Draining, doDrain)
	b.in(input{kind: drained}, Stopping, doSignal)
	b.wake(10*time.Second, Stopping, doKill)
	b.wake(10*time.Second, Failed)
	if b.m.problem == nil {
		t.Error("no problem")
	}
	b = newBench(t, testSpec())
	b.up()
	b.in(input{kind: hung}, Quarantined, doKill)
	b.now = b.now.Add(time.Hour)
	b.in(input{kind: wake}, Quarantined) // it lives: no probe beside it
	b.in(input{kind: exited}, Quarantined)
	b.wake(time.Second, Probing, doProbe)
}

func TestSilenceWhileStarting(t *testing.T) {
	b := newBench(t, testSpec())
	b.in(input{kind: goOn}, Starting, doStart)
	b.now = b.now.Add(5 * time.Minute)
	b.in(input{kind: wake, sign: b.now.Add(-time.Minute)}, Starting)
	b.now = b.now.Add(4 * time.Minute)
	b.in(input{kind: wake, sign: b.now.Add(-5 * time.Minute)}, Stopping, doKill)
	b.in(input{kind: exited}, Waiting)
}

func TestWithoutAProbeTheStartIsTheProbe(t *testing.T) {
	s := testSpec()
	s.Probe = nil
	b := newBench(t, s)
	b.up()
	b.in(input{kind: faulty, action: ResetDevice}, Stopping, doSignal)
	b.in(input{kind: exited}, Waiting)
	b.wake(time.Second, Starting, doStart)
	b.in(input{kind: hung}, Quarantined, doKill)
	b.in(input{kind: exited}, Quarantined)
	b.wake(2*time.Second, Starting, doStart)
}

// TestAnyOrderOfEvents feeds the machine whatever a world can say and holds
// what must be true in every order.
func TestAnyOrderOfEvents(t *testing.T) {
	actions := []Action{"", Ignore, Reject, FixCode, FixHost, Retry, UnloadSomething, ReloadContext, ResetDevice, RestartProcess, Quarantine, Watchdog, CollectLog}
	rapid.Check(t, func(t *rapid.T) {
		s := testSpec()
		if rapid.Bool().Draw(t, "no probe") {
			s.Probe = nil
		}
		if rapid.Bool().Draw(t, "no drain") {
			s.Drain = nil
		}
		w := &world{t: t, m: newMachine(s, func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "chance") }), now: t0}
		w.say(input{kind: goOn})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(actions)
		}
		w.settle()
	})
}

type world struct {
	t       *rapid.T
	m       *machine
	now     time.Time
	alive   bool
	serves  bool // the process said so
	probing bool
	stopped bool
	hangs   bool
	starts  []time.Time
}

func (w *world) step(actions []Action) {
	can := []kind{wake, stop}
	if w.alive {
		can = append(can, isReady, overdue, cleared, hung, faulty, exited, exited)
		if w.m.state == Draining {
			can = append(can, drained)
		}
	}
	if w.probing {
		can = append(can, probedGood, probedBad)
	}
	in := input{kind: rapid.SampledFrom(can).Draw(w.t, "kind"), sign: w.now.Add(-rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(w.t, "silence"))}
	switch in.kind {
	case stop: // rarely
		if rapid.IntRange(0, 9).Draw(w.t, "stop") > 0 {
			return
		}
	case wake:
		if w.m.wakeAt.After(w.now) {
			w.now = w.m.wakeAt
		}
	case exited, faulty:
		in.action = rapid.SampledFrom(actions).Draw(w.t, "action")
	}
	w.say(in)
}

func (w *world) say(in input) {
	switch in.kind {
	case exited:
		w.alive, w.serves, w.hangs = false, false, false
	case probedGood, probedBad:
		w.probing = false
	case isReady:
		w.serves = true
	case hung:
		w.hangs = true
	case stop:
		w.stopped = true
	}
	before := w.m.state
	for _, o := range w.m.on(w.now, in) {
		w.obey(o, before)
	}
	w.hold(before)
}

func (w *world) obey(o order, before State) {
	switch o {
	case doStart:
		if w.alive || w.probing || w.stopped {
			w.t.Fatalf("start in %s with a process %v, a probe %v, stopped %v", before, w.alive, w.probing, w.stopped)
		}
		w.alive = true
		w.starts = append(w.starts, w.now)
	case doProbe:
		if w.alive || w.probing || w.stopped {
			w.t.Fatalf("probe in %s with a process %v, a probe %v, stopped %v", before, w.alive, w.probing, w.stopped)
		}
		w.probing = true
	case doSignal, doKill, doDrain:
		if !w.alive {
			w.t.Fatalf("order %d in %s without a process", o, before)
		}
	}
}

func (w *world) hold(before State) {
	m := w.m
	if m.alive != w.alive && m.state != Failed {
		w.t.Fatalf("the machine thinks alive %v, the world %v, in %s", m.alive, w.alive, m.state)
	}
	if m.state == Ready && !(w.alive && w.serves) {
		w.t.Fatalf("ready with a process %v that said so %v", w.alive, w.serves)
	}
	if (m.state == Ready || m.state == Suspect) && w.hangs {
		w.t.Fatalf("%s with a hang", m.state)
	}
	if w.stopped && !slices.Contains([]State{Draining, Stopping, Stopped, Failed}, m.state) {
		w.t.Fatalf("%s after stop (from %s)", m.state, before)
	}
	if !m.over() && !w.alive && !w.probing && m.wakeAt.IsZero() {
		w.t.Fatalf("dead end in %s (from %s)", m.state, before)
	}
	if m.state == Stopped && (w.alive || w.probing) {
		w.t.Fatal("stopped with something left")
	}
	// Pauses keep a crash loop slow: half of 1, 2, 4, 8, 16, 32 s, then 30 s or
	// more; only a time in service or a probe that went well begins anew.
	if n := len(w.starts); n > 1 && w.m.spec.Probe == nil && w.starts[n-1].Sub(w.starts[n-2]) < 500*time.Millisecond {
		w.t.Fatalf("two starts within %v", w.starts[n-1].Sub(w.starts[n-2]))
	}
}

// settle stops it and lets the world answer: it must come to an end.
func (w *world) settle() {
	w.say(input{kind: stop})
	for range 10 {
		switch {
		case w.m.over():
			return
		case w.probing:
			w.say(input{kind: probedBad})
		case w.m.state == Draining:
			w.say(input{kind: drained})
		default:
			w.say(input{kind: exited})
		}
	}
	w.t.Fatalf("does not end: %s", w.m.state)
}
