package engine

import (
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// State is where a supervised process stands.
type State string

const (
	Idle        State = "idle"
	Starting    State = "starting"
	Ready       State = "ready"       // the only state in which it is fed
	Suspect     State = "suspect"     // runs, but is overdue
	Draining    State = "draining"    // no new work; what is in flight may end
	Stopping    State = "stopping"    // told to end
	Waiting     State = "waiting"     // pause before the next start
	Quarantined State = "quarantined" // device put aside, whatever is left of the process is killed
	Probing     State = "probing"     // device is asked whether it works again
	Stopped     State = "stopped"     // for good, as asked
	Failed      State = "failed"      // for good
)

// Action is what a fault calls for; the words are those of the table of ACL
// codes.
type Action string

const (
	Ignore          Action = "ignore"
	Reject          Action = "reject"
	FixCode         Action = "fix_code"
	FixHost         Action = "fix_host"
	Retry           Action = "retry"
	UnloadSomething Action = "unload_something"
	ReloadContext   Action = "reload_context"
	ResetDevice     Action = "reset_device"
	RestartProcess  Action = "restart_process"
	Quarantine      Action = "quarantine"
	Watchdog        Action = "watchdog"
	CollectLog      Action = "collect_log"
)

// kind of an input to the machine.
type kind int

const (
	goOn       kind = iota // begin
	noStart                // the process could not be started
	isReady                // the process serves
	overdue                // a batch passed its bound
	cleared                // no batch is overdue any more
	hung                   // a batch stayed overdue
	faulty                 // a fault was told
	exited                 // nothing of the process is left
	drained                // nothing is in flight any more
	probedGood             // the device works
	probedBad              // it does not
	wake                   // the time the machine asked for has come
	stop                   // end for good
	learnt                 // a milestone was passed: changes nothing
)

type input struct {
	kind   kind
	of     int    // number of the process it is about; 0: whichever runs
	action Action // noStart, faulty, exited
	why    report.Text
	sign   time.Time // wake: when the process last said something
	final  *report.Problem

	fault *Fault // what an event tells of it
	exit  *Exit
	mile  *Milestone
	text  string // detail of the milestone
}

// order is what the driver must do, in this order.
type order int

const (
	doStart order = iota
	doSignal
	doKill
	doDrain
	doProbe
)

// goal is what follows the end of a process that was told to end.
type goal int

const (
	toStop goal = iota
	toRestart
	toProbe
	toFail
)

// machine decides. It holds no process, no clock and no goroutine; two
// machines that see the same inputs give the same orders.
type machine struct {
	spec Spec
	rand func() float64

	state   State
	why     report.Text
	since   time.Time
	wakeAt  time.Time // zero: nothing to wait for
	problem *report.Problem

	alive   bool // a process was started and has not ended
	probing bool // a probe runs
	killed  bool
	goal    goal
	tries   int         // pauses since the process last settled
	ends    []time.Time // that nobody asked for, in the window
	retries []time.Time // faults that may be retried, in the window
}

func newMachine(s Spec, rand func() float64) *machine {
	return &machine{spec: s, rand: rand, state: Idle}
}

func (m *machine) over() bool { return m.state == Stopped || m.state == Failed }

// on takes an input and gives the orders that follow from it.
func (m *machine) on(now time.Time, in input) []order {
	switch {
	case m.over():
		return nil
	case in.kind == wake && (m.wakeAt.IsZero() || now.Before(m.wakeAt)):
		return nil // an old timer
	case in.kind == exited:
		return m.ended(now, in)
	case in.kind == probedGood || in.kind == probedBad:
		return m.probed(now, in)
	case in.kind == stop:
		return m.stop(now, in)
	case in.kind == noStart:
		m.alive = false
		return m.crashed(now, in)
	}
	switch m.state {
	case Idle:
		if m.spec.Delay > 0 {
			m.enter(now, Waiting, in.why)
			m.wakeAt = now.Add(m.spec.Delay)
			return nil
		}
		return m.start(now, in.why)
	case Waiting:
		if in.kind == wake {
			return m.start(now, in.why)
		}
	case Starting, Ready, Suspect:
		return m.running(now, in)
	case Draining:
		if in.kind == drained || in.kind == wake || m.condemns(in) {
			return m.end(now, toStop, m.condemns(in), in.why)
		}
	case Stopping:
		if in.kind == wake {
			return m.late(now)
		}
	case Quarantined:
		if in.kind == wake {
			return m.readmit(now)
		}
	}
	return nil
}

// enter changes the state; what was waited for before is off.
func (m *machine) enter(now time.Time, s State, why report.Text) {
	m.state, m.why, m.since, m.wakeAt = s, why, now, time.Time{}
}

func (m *machine) start(now time.Time, why report.Text) []order {
	m.enter(now, Starting, why)
	m.alive, m.killed = true, false
	m.wakeAt = now.Add(m.spec.Stall)
	return []order{doStart}
}

// running is Starting, Ready and Suspect.
func (m *machine) running(now time.Time, in input) []order {
	switch in.kind {
	case isReady:
		if m.state == Starting {
			m.enter(now, Ready, in.why)
			m.wakeAt = now.Add(m.spec.Restart.Settle)
		}
	case overdue:
		if m.state == Ready {
			m.enter(now, Suspect, in.why)
		}
	case cleared:
		if m.state == Suspect {
			m.enter(now, Ready, in.why)
			m.wakeAt = now.Add(m.spec.Restart.Settle)
		}
	case hung:
		return m.quarantine(now, in.why)
	case faulty:
		return m.fault(now, in)
	case wake:
		return m.due(now, in)
	}
	return nil
}

// due is the end of a time that a running process had.
func (m *machine) due(now time.Time, in input) []order {
	m.wakeAt = time.Time{}
	switch m.state {
	case Ready:
		m.tries = 0
		return nil
	case Suspect:
		return m.quarantine(now, m.why)
	}
	if next := in.sign.Add(m.spec.Stall); next.After(now) {
		m.wakeAt = next
		return nil
	}
	m.count(&m.ends, now)
	return m.end(now, toRestart, true, report.T("silent for %s while starting", "启动过程中 %s 没有任何输出", m.spec.Stall))
}

// fault does what the action of a fault calls for. What only the caller can
// put right (a wrong request, memory that is short) stays with the caller.
func (m *machine) fault(now time.Time, in input) []order {
	switch in.action {
	case Reject, FixHost, FixCode:
		if m.state == Starting { // it would fail the same way again
			m.problem = in.final
			return m.end(now, toFail, false, in.why)
		}
		if in.action == FixHost {
			return m.restart(now, in)
		}
	case Retry, UnloadSomething, ReloadContext, CollectLog:
		if m.count(&m.retries, now) > m.spec.Restart.Retries {
			m.retries = nil
			return m.restart(now, in)
		}
	case RestartProcess:
		return m.restart(now, in)
	case ResetDevice: // the end of the process gives the device back; then it is asked
		m.count(&m.ends, now)
		return m.end(now, toProbe, false, in.why)
	case Quarantine:
		return m.quarantine(now, in.why)
	case Watchdog: // nobody else will say whether it came back
		if m.state == Ready {
			m.enter(now, Suspect, in.why)
			m.wakeAt = now.Add(m.spec.Grace)
		}
	}
	return nil
}

func (m *machine) restart(now time.Time, in input) []order {
	if m.count(&m.ends, now) > m.spec.Restart.Limit {
		return m.quarantine(now, m.tooOften(in.why))
	}
	return m.end(now, toRestart, false, in.why)
}

// condemns is true for inputs after which a process must not even be asked to
// end: its clean-up would hang on the device.
func (m *machine) condemns(in input) bool {
	return in.kind == hung || in.kind == faulty && in.action == Quarantine
}

// end tells the process to end, or ends it.
func (m *machine) end(now time.Time, g goal, hard bool, why report.Text) []order {
	m.enter(now, Stopping, why)
	m.goal, m.killed = g, hard
	m.wakeAt = now.Add(m.spec.Grace)
	if hard {
		m.wakeAt = now.Add(m.killWait())
		return []order{doKill}
	}
	return []order{doSignal}
}

// killWait is how long the end of a killed process may take. A grace may be
// short by choice; a kernel that gives back gigabytes has none.
func (m *machine) killWait() time.Duration { return max(m.spec.Grace, 5*time.Second) }

// late is a process that did not end in time.
func (m *machine) late(now time.Time) []order {
	if !m.killed {
		m.killed = true
		m.wakeAt = now.Add(m.killWait())
		return []order{doKill}
	}
	why := report.T("does not end on SIGKILL: the driver holds it", "SIGKILL 后仍未退出：进程被驱动阻塞")
	if m.goal == toStop || m.goal == toFail {
		m.problem = &report.Problem{
			What: report.T("process of %s did not end", "%s 的进程未能结束", m.spec.Name), Why: why,
			Do:   report.T("look at the device with npu-smi; a reboot may be needed", "通过 npu-smi 查看设备状态；可能需要重启主机"),
			Exit: report.ExitFailed,
		}
		m.enter(now, Failed, why)
		return nil
	}
	m.enter(now, Quarantined, why)
	return nil // its end, whenever it comes, sets the time of the next probe
}

// quarantine puts the device aside at once, before the process is gone.
func (m *machine) quarantine(now time.Time, why report.Text) []order {
	m.count(&m.ends, now)
	m.enter(now, Quarantined, why)
	if !m.alive {
		m.wakeAt = now.Add(m.pause())
		return nil
	}
	m.killed = true
	return []order{doKill}
}
