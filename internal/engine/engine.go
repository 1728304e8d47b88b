// Package engine runs inference processes: our own ACL worker and foreign
// engines alike. What a process is stands in a Spec, plain data with a few
// functions; the supervision is the same for all. A process is started in its
// own group, watched, restarted with growing pauses, and its device is put
// aside when it, or the process on it, cannot be trusted any more.
//
// What to do next is decided by a machine without clock or process (machine.go),
// so that every order of events can be tested.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"syscall"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// markName is the variable by which a child of an engine is known, whatever
// group it went to.
const markName = "ASCENDCTL_ENGINE"

// Spec describes one process. One process has a device at a time. The functions
// must end with their context. Zero durations and counts mean the default that
// stands beside them.
type Spec struct {
	Name    string // in logs and metrics: "npu0"
	Devices []int  // physical ids the process uses, for messages
	Argv    []string
	Env     []string // all of it, as Environ makes it: nothing is inherited
	Dir     string
	// Files makes the files the process gets as 3, 4 and so on. It is called
	// for every start; the engine closes what it returns.
	Files func() ([]*os.File, error)
	CPUs  []int         // it may run on; nil: any
	Delay time.Duration // before the first start: first claims of a device slow each other down

	Milestones []Milestone
	Stall      time.Duration // longest silence while starting; 5 min
	// Ready is asked until it says nil. Without it, and without a milestone
	// that means ready, a process is ready once it runs.
	Ready func(context.Context) error

	Health      func(context.Context) error
	HealthEvery time.Duration // 5 s
	HealthWait  time.Duration // for one answer; 2 s
	HealthFails int           // in a row that end the process; 3

	Drain     func(context.Context) error // lets work in flight end
	DrainWait time.Duration               // 30 s
	Stop      syscall.Signal              // SIGTERM, to the whole group
	Grace     time.Duration               // from there to SIGKILL; 10 s

	// Probe is the way back for a device that was put aside: nil when it works
	// again. It must end with its context. Without it the process itself is
	// the probe.
	Probe     func(context.Context) error
	ProbeWait time.Duration // 60 s

	Restart Restart
}

// Milestone is a line of the log that tells how far a start is.
type Milestone struct {
	ID      string
	Title   report.Text
	Pattern string // regular expression; what its first group holds is the detail
	Ready   bool   // the process serves from here on
}

// Restart says how often and how fast a process that ended comes back.
type Restart struct {
	First   time.Duration // pause before the first restart; 1 s
	Max     time.Duration // pauses double up to this; 60 s
	Jitter  float64       // part of a pause that chance may take off; 0.5
	Window  time.Duration // in which ends are counted; 10 min
	Limit   int           // ends in the window after which the device is put aside; 5
	Retries int           // faults in the window that may be retried before the process must go; 5
	Settle  time.Duration // time in service after which pauses begin anew; 2 min
}

// Clock is the time an engine lives by; the zero value is the real one.
type Clock struct {
	Now       func() time.Time
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// Deps is what the supervision is given.
type Deps struct {
	Clock Clock
	Rand  func() float64 // in [0,1), for jitter; nil: none
	Log   *slog.Logger
	// Mark stands in the environment of every process and its children, so
	// that those that leave the group are found without their names. It must
	// be hard to guess; "": made up.
	Mark  string
	Event func(Event) // called one at a time, from Run
	// Explain tells why a process ended and what that calls for. Nil, or an
	// empty answer: restart.
	Explain func(Crash) Explanation
	// Start starts a process; nil: a real one.
	Start func(Spec, Sink) (Process, error)
}

// Sink takes the lines of a process as they come, from several goroutines.
type Sink func(stream, line string)

// Process is a running one.
type Process struct {
	PID    int
	Signal func(syscall.Signal) error // to its group
	Done   <-chan Exit                // gives one value, once nothing of it is left
}

// Exit is how a process ended.
type Exit struct {
	Code   int    `json:"code"`             // -1 when a signal ended it
	Signal string `json:"signal,omitempty"` // its name: SIGKILL
	Leaked int    `json:"leaked,omitempty"` // children that outlived it and were killed
}

func (e Exit) String() string {
	if e.Signal != "" {
		return e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Crash is an end nobody asked for.
type Crash struct {
	Name      string
	Devices   []int
	State     State // in which it ended
	Exit      Exit
	Milestone string   // last one seen
	Tail      []string // last lines of its log
}

// Explanation is what is known of a crash.
type Explanation struct {
	Action  Action
	Problem *report.Problem
}

// Fault is a failure that the process survived, told from outside: by the
// client that fed it.
type Fault struct {
	Action Action      `json:"action"`
	Code   int         `json:"code,omitempty"`
	Name   string      `json:"name,omitempty"`
	Text   report.Text `json:"text"`
	Time   time.Time   `json:"time"`
}

// Event is one change that the supervision saw or made.
type Event struct {
	Time      time.Time
	Name      string
	Devices   []int
	From, To  State // equal where only something was learnt
	Why       report.Text
	PID       int
	Milestone *Milestone
	Detail    string // of the milestone
	Fault     *Fault
	Exit      *Exit
	Wait      time.Duration // until the next try
}

// Status is a picture of the supervision.
type Status struct {
	Name     string      `json:"name"`
	Devices  []int       `json:"devices,omitempty"`
	State    State       `json:"state"`
	Since    time.Time   `json:"since"`
	Why      report.Text `json:"why,omitzero"`
	PID      int         `json:"pid,omitempty"`
	Starts   int         `json:"starts"`
	Next     time.Time   `json:"next,omitzero"` // next try while waiting or quarantined
	LastExit *Exit       `json:"last_exit,omitempty"`
	Faults   []Fault     `json:"faults,omitempty"` // last 20
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.AfterFunc == nil {
		c.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return c
}

func (s Spec) withDefaults() Spec {
	s.Stall = cmp.Or(s.Stall, 5*time.Minute)
	s.HealthEvery = cmp.Or(s.HealthEvery, 5*time.Second)
	s.HealthWait = cmp.Or(s.HealthWait, 2*time.Second)
	s.HealthFails = cmp.Or(s.HealthFails, 3)
	s.DrainWait = cmp.Or(s.DrainWait, 30*time.Second)
	s.Stop = cmp.Or(s.Stop, syscall.SIGTERM)
	s.Grace = cmp.Or(s.Grace, 10*time.Second)
	s.ProbeWait = cmp.Or(s.ProbeWait, time.Minute)
	r := &s.Restart
	r.First = cmp.Or(r.First, time.Second)
	r.Max = max(cmp.Or(r.Max, time.Minute), r.First)
	r.Jitter = cmp.Or(r.Jitter, 0.5)
	r.Window = cmp.Or(r.Window, 10*time.Minute)
	r.Limit = cmp.Or(r.Limit, 5)
	r.Retries = cmp.Or(r.Retries, 5)
	r.Settle = cmp.Or(r.Settle, 2*time.Minute)
	return s
}

// compiled are the patterns of the milestones, in their order.
func (s Spec) compiled() ([]*regexp.Regexp, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, fmt.Errorf("engine %q: no command", s.Name)
	}
	out := make([]*regexp.Regexp, len(s.Milestones))
	for i, m := range s.Milestones {
		re, err := regexp.Compile(m.Pattern)
		if err != nil {
			return nil, fmt.Errorf("engine %q, milestone %q: %w", s.Name, m.ID, err)
		}
		out[i] = re
	}
	return out, nil
}
