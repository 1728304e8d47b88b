//go:build cgo && linux

package acl

/*
#include "acl_abi.h"
*/
import "C"

// Execute runs a model and waits for it, without limit. For serving,
// ExecuteAsync is better: its Sync has a limit and gives the exact code of a
// device fault.
func (t *Thread) Execute(m *Model, in, out *Dataset) error {
	const call = "aclmdlExecute"
	if err := t.runnable(call, m, in, out, modeSync); err != nil {
		return err
	}
	err := t.check(call, C.c_aclmdlExecute(t.self, m.id, in.ptr, out.ptr))
	m.ran(modeSync, err)
	return err
}

// ExecuteAsync queues a run. Its outcome comes from Sync of the stream; until
// then model, datasets and their memory are in use.
func (t *Thread) ExecuteAsync(s *Stream, m *Model, in, out *Dataset) error {
	const call = "aclmdlExecuteAsync"
	if err := t.mine(call, s.lane); err != nil {
		return err
	}
	if err := t.runnable(call, m, in, out, modeAsync); err != nil {
		return err
	}
	if m.busy() && m.used.s != s {
		return refuse(call, FixCode, ErrBusy, "the model runs on another stream")
	}
	err := t.check(call, C.c_aclmdlExecuteAsync(t.self, m.id, in.ptr, out.ptr, s.ptr))
	m.ran(modeAsync, err)
	if err != nil {
		return err
	}
	at := s.next()
	m.used = at
	for _, d := range []*Dataset{in, out} {
		d.used = at
		for _, span := range d.spans {
			span.buf.used = at
		}
		if d.gear != nil {
			d.gear.used = at
		}
	}
	return nil
}

// ran remembers how a model was run first, for a run that the library took.
func (m *Model) ran(mode runMode, err error) {
	if err == nil {
		m.mode = mode
	}
}

// runnable refuses what the library would refuse without a useful word, or
// would not notice.
func (t *Thread) runnable(call string, m *Model, in, out *Dataset, mode runMode) error {
	if err := t.alive(call, m); err != nil {
		return err
	}
	if mode == modeSync && m.busy() {
		return refuse(call, FixCode, ErrBusy, "the model is running")
	}
	if !m.Desc.Dynamic && m.mode != modeNone && m.mode != mode {
		return refuse(call, FixCode, nil, "the model was run the other way before (synchronously or asynchronously)")
	}
	for _, d := range []*Dataset{in, out} {
		if d.ptr == nil || d.model != m || d.input != (d == in) {
			return refuse(call, FixCode, nil, "the dataset was destroyed, is of another model, or inputs and outputs are swapped")
		}
		for i, s := range d.spans {
			if s.none() && mode == modeSync {
				continue
			}
			if err := t.usable(call, s); err != nil {
				return refuse(call, FixCode, nil, "%s: its memory was freed or never given", d.ports()[i].Name)
			}
		}
	}
	if in.gear != nil && !in.isSet {
		return refuse(call, FixCode, nil, "the gear was not set since the memory changed")
	}
	return nil
}
