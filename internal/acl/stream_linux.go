//go:build cgo && linux

package acl

/*
#include "acl_abi.h"
*/
import "C"

import (
	"math"
	"time"
)

// Stream runs what is queued on it in order. Its counters tell which objects
// queued work still uses, so that none is freed or changed too early.
type Stream struct {
	lane         *Lane
	ptr          C.aclrtStream
	queued, done uint64
	waits        []wait
}

// wait is work of another stream that this one waits for before its own.
type wait struct {
	at uint64 // done up to here means that the wait is over
	on mark
}

// mark is a place in a stream's work: the last that uses an object.
type mark struct {
	s  *Stream
	at uint64
}

func (m mark) busy() bool { return m.s != nil && m.s.done < m.at }

func (s *Stream) busy() bool { return s.done < s.queued }

// next counts one more piece of work.
func (s *Stream) next() mark {
	s.queued++
	return mark{s, s.queued}
}

// reached notes that the work up to a mark is done, and with it what it waited
// for in other streams.
func (m mark) reached() {
	if m.s == nil || m.at <= m.s.done {
		return
	}
	m.s.done = m.at
	var over []wait
	for len(m.s.waits) > 0 && m.s.waits[0].at <= m.at {
		over, m.s.waits = append(over, m.s.waits[0]), m.s.waits[1:]
	}
	for _, w := range over {
		w.on.reached()
	}
}

// Main is the stream that the lane was opened with.
func (t *Thread) Main() *Stream { return t.main }

// NewStream opens one more stream in the lane's context. Devices have 512 to
// 2048 of them, and models take some for themselves.
func (t *Thread) NewStream() (*Stream, error) {
	s := &Stream{lane: t.lane}
	var p C.aclrtStream
	if err := t.check("aclrtCreateStream", C.c_aclrtCreateStream(t.self, &p)); err != nil {
		return nil, err
	}
	s.ptr = p
	t.own(s)
	return s, nil
}

// DestroyStream closes a stream whose work is done.
func (t *Thread) DestroyStream(s *Stream) error { return t.free("aclrtDestroyStream", s) }

func (s *Stream) release(t *Thread) error {
	return t.check("aclrtDestroyStream", C.c_aclrtDestroyStream(t.self, s.ptr))
}

// Sync waits until everything queued on the stream is done, and is the moment
// at which failures of that work appear. After a time-out (Error.TimedOut) the
// work goes on and its memory stays in use; any other failure ends it. Where
// the release has no limited wait, it waits without limit.
func (t *Thread) Sync(s *Stream, limit time.Duration) error {
	const call = "aclrtSynchronizeStreamWithTimeout"
	if err := t.mine(call, s.lane); err != nil {
		return err
	}
	end := mark{s, s.queued}
	err := t.check(call, C.c_aclrtSynchronizeStreamWithTimeout(t.self, s.ptr, millis(limit)))
	if missing(err) {
		err = t.check("aclrtSynchronizeStream", C.c_aclrtSynchronizeStream(t.self, s.ptr))
	}
	if e, ok := err.(*Error); !ok || e.Code > 0 && !e.TimedOut() {
		end.reached()
	}
	return err
}

func missing(err error) bool {
	e, ok := err.(*Error)
	return ok && e.Err == ErrMissing
}

// millis is a time limit as ACL takes it: 1 at least, because it refuses 0.
func millis(d time.Duration) C.int32_t {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	return C.int32_t(min(max(ms, 1), math.MaxInt32))
}

// Abort drops what is queued on the stream and stops what runs. ErrMissing
// before CANN 8.1.
func (t *Thread) Abort(s *Stream) error {
	if err := t.mine("aclrtStreamAbort", s.lane); err != nil {
		return err
	}
	err := t.check("aclrtStreamAbort", C.c_aclrtStreamAbort(t.self, s.ptr))
	if err == nil {
		mark{s, s.queued}.reached()
	}
	return err
}

// Event is a place in a stream that others can wait for. It can be recorded
// again and again.
type Event struct {
	lane *Lane
	ptr  C.aclrtEvent
	at   mark // where it was recorded last
}

// NewEvent makes an event. They are few on some products: 1023 on a 310P.
func (t *Thread) NewEvent() (*Event, error) {
	var p C.aclrtEvent
	if err := t.check("aclrtCreateEvent", C.c_aclrtCreateEvent(t.self, &p)); err != nil {
		return nil, err
	}
	e := &Event{lane: t.lane, ptr: p}
	t.own(e)
	return e, nil
}

// DestroyEvent frees an event that was reached.
func (t *Thread) DestroyEvent(e *Event) error { return t.free("aclrtDestroyEvent", e) }

func (e *Event) busy() bool { return e.at.busy() }
func (e *Event) release(t *Thread) error {
	return t.check("aclrtDestroyEvent", C.c_aclrtDestroyEvent(t.self, e.ptr))
}

// Record puts the event behind what is queued on the stream.
func (t *Thread) Record(e *Event, s *Stream) error {
	if err := t.both("aclrtRecordEvent", e, s); err != nil {
		return err
	}
	if e.busy() {
		return refuse("aclrtRecordEvent", FixCode, ErrBusy, "recorded before and not reached yet")
	}
	err := t.check("aclrtRecordEvent", C.c_aclrtRecordEvent(t.self, e.ptr, s.ptr))
	if err == nil {
		e.at = s.next()
	}
	return err
}

// Wait makes the stream wait for the event before its next work.
func (t *Thread) Wait(s *Stream, e *Event) error {
	if err := t.both("aclrtStreamWaitEvent", e, s); err != nil {
		return err
	}
	err := t.check("aclrtStreamWaitEvent", C.c_aclrtStreamWaitEvent(t.self, s.ptr, e.ptr))
	if err == nil {
		s.waits = append(s.waits, wait{s.next().at, e.at})
	}
	return err
}

func (t *Thread) both(call string, e *Event, s *Stream) error {
	if err := t.mine(call, e.lane); err != nil {
		return err
	}
	return t.mine(call, s.lane)
}

// SyncEvent waits until the event is reached. Failures of the work before it
// appear at Sync of its stream.
func (t *Thread) SyncEvent(e *Event, limit time.Duration) error {
	const call = "aclrtSynchronizeEventWithTimeout"
	if err := t.mine(call, e.lane); err != nil {
		return err
	}
	err := t.check(call, C.c_aclrtSynchronizeEventWithTimeout(t.self, e.ptr, millis(limit)))
	if missing(err) {
		err = t.check("aclrtSynchronizeEvent", C.c_aclrtSynchronizeEvent(t.self, e.ptr))
	}
	if err == nil {
		e.at.reached()
	}
	return err
}

// Reached asks, without waiting, whether the event is behind. ErrMissing before
// CANN 5.1. An event that was never recorded is not reached.
func (t *Thread) Reached(e *Event) (bool, error) {
	if err := t.mine("aclrtQueryEventStatus", e.lane); err != nil {
		return false, err
	}
	var s C.aclrtEventRecordedStatus
	err := t.check("aclrtQueryEventStatus", C.c_aclrtQueryEventStatus(t.self, e.ptr, &s))
	yes := err == nil && s == C.ACL_EVENT_RECORDED_STATUS_COMPLETE
	if yes {
		e.at.reached()
	}
	return yes, err
}

// Elapsed is the device's time between two events of one stream, both reached.
func (t *Thread) Elapsed(from, to *Event) (time.Duration, error) {
	var ms C.float
	err := t.check("aclrtEventElapsedTime", C.c_aclrtEventElapsedTime(t.self, &ms, from.ptr, to.ptr))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
