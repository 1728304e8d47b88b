package engine

import (
	"math"
	"slices"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// ended is the end of a process, asked for or not.
func (m *machine) ended(now time.Time, in input) []order {
	m.alive = false
	switch m.state {
	case Starting, Ready, Suspect:
		return m.crashed(now, in)
	case Quarantined:
		m.wakeAt = now.Add(m.pause())
	case Draining:
		m.enter(now, Stopped, in.why)
	case Stopping:
		switch m.goal {
		case toStop:
			m.enter(now, Stopped, m.why)
		case toFail:
			m.enter(now, Failed, m.why)
		case toProbe:
			return m.ask(now, m.why)
		case toRestart:
			m.wait(now, m.why)
		}
	}
	return nil
}

// crashed is an end nobody asked for, whatever status it came with.
func (m *machine) crashed(now time.Time, in input) []order {
	first := m.state == Starting
	switch in.action {
	case Reject, FixHost, FixCode:
		if first {
			m.problem = in.final
			m.enter(now, Failed, in.why)
			return nil
		}
	case Quarantine:
		return m.quarantine(now, in.why)
	}
	if m.count(&m.ends, now) > m.spec.Restart.Limit {
		return m.quarantine(now, m.tooOften(in.why))
	}
	if in.action == ResetDevice {
		return m.ask(now, in.why)
	}
	m.wait(now, in.why)
	return nil
}

func (m *machine) tooOften(why report.Text) report.Text {
	return report.T("ended %d times within %s, last: %s", "在 %[2]s 内结束 %[1]d 次，最近一次：%[3]s", len(m.ends), m.spec.Restart.Window, why)
}

func (m *machine) wait(now time.Time, why report.Text) {
	m.enter(now, Waiting, why)
	m.wakeAt = now.Add(m.pause())
}

// ask asks the device; without a probe the next start is the question.
func (m *machine) ask(now time.Time, why report.Text) []order {
	if m.spec.Probe == nil {
		m.wait(now, why)
		return nil
	}
	m.enter(now, Probing, why)
	m.probing = true
	return []order{doProbe}
}

func (m *machine) readmit(now time.Time) []order {
	if m.spec.Probe == nil {
		return m.start(now, m.why)
	}
	return m.ask(now, m.why)
}

func (m *machine) probed(now time.Time, in input) []order {
	m.probing = false
	switch {
	case m.state == Stopping:
		m.enter(now, Stopped, m.why)
	case m.state != Probing:
	case in.kind == probedGood:
		m.ends, m.retries = nil, nil
		return m.start(now, in.why)
	default:
		m.enter(now, Quarantined, in.why)
		m.wakeAt = now.Add(m.pause())
	}
	return nil
}

// stop ends for good: with a drain where there is something to drain.
func (m *machine) stop(now time.Time, in input) []order {
	switch m.state {
	case Draining:
	case Stopping:
		if m.goal != toFail {
			m.goal = toStop
		}
	case Ready, Suspect:
		if m.spec.Drain == nil {
			return m.end(now, toStop, false, in.why)
		}
		m.enter(now, Draining, in.why)
		m.wakeAt = now.Add(m.spec.DrainWait)
		return []order{doDrain}
	case Starting:
		return m.end(now, toStop, false, in.why)
	default:
		if m.alive || m.probing { // killed already, or told by its context
			m.enter(now, Stopping, in.why)
			m.goal, m.killed = toStop, true
			if m.alive {
				m.wakeAt = now.Add(m.killWait())
			}
			return nil
		}
		m.enter(now, Stopped, in.why)
	}
	return nil
}

// count adds now to a list that reaches back one window, and gives its length.
func (m *machine) count(list *[]time.Time, now time.Time) int {
	old := now.Add(-m.spec.Restart.Window)
	*list = append(slices.DeleteFunc(*list, func(t time.Time) bool { return !t.After(old) }), now)
	return len(*list)
}

// pause is the time before the next try: twice the one before, up to the
// longest, less what chance takes off so that devices that failed together do
// not come back together.
func (m *machine) pause() time.Duration {
	r := m.spec.Restart
	d := math.Min(float64(r.First)*math.Pow(2, float64(min(m.tries, 62))), float64(r.Max))
	m.tries++
	return time.Duration(d * (1 - r.Jitter*m.rand()))
}
