//go:build cgo && linux

package acl

/*
#include <stdlib.h>
#include "acl_abi.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// closeWait is how long a closing lane waits for queued work. What is not done
// by then hangs; its memory must not be freed while the device may write to it.
const closeWait = 5 * time.Second

// Lane is one OS thread with a context and a stream of its own on one device.
// Whatever is made on it belongs to it and ends with it.
type Lane struct {
	Device int
	// Direct is true where the process runs on the SoC itself: device memory is
	// host memory then, and nothing needs to be copied.
	Direct bool

	jobs       chan job
	quit, done chan struct{}
	once       sync.Once
	err        error // how it ended, once done is closed
}

type job struct {
	run func(*Thread) error
	res chan error
}

// Thread is the right to call the library, lent by Do. It is good until the
// function it was given to returns, on that goroutine only; the library's calls
// refuse it elsewhere. Its methods return *Error.
type Thread struct {
	lib   *Library
	lane  *Lane
	self  C.uint64_t
	ctx   C.aclrtContext
	main  *Stream
	owned []owner // in the order of their making
}

// owner is something that is freed on its lane, when nothing uses it any more.
type owner interface {
	release(*Thread) error
	busy() bool
}

// Lane claims a device for the process and opens a thread, a context and a
// stream on it. The first lane of a device takes seconds.
func (l *Library) Lane(device int) (*Lane, error) {
	if err := l.count(1); err != nil {
		return nil, err
	}
	return l.start(func(t *Thread) error { return t.open(device) }, func(t *Thread) error {
		defer l.count(-1)
		return t.close()
	})
}

// start runs a thread: setup on it first, teardown last, also after a setup
// that failed half way.
func (l *Library) start(setup, teardown func(*Thread) error) (*Lane, error) {
	lane := &Lane{jobs: make(chan job), quit: make(chan struct{}), done: make(chan struct{})}
	ready := make(chan error, 1)
	go lane.loop(&Thread{lib: l, lane: lane}, setup, teardown, ready)
	if err := <-ready; err != nil {
		<-lane.done
		return nil, err
	}
	return lane, nil
}

func (l *Lane) loop(t *Thread, setup, teardown func(*Thread) error, ready chan<- error) {
	runtime.LockOSThread() // never unlocked: what ACL keeps on the thread dies with it
	defer close(l.done)
	t.self = C.acl_thread()
	defer func() { l.err = teardown(t) }()
	err := setup(t)
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case j := <-l.jobs:
			j.res <- j.run(t)
		case <-l.quit:
			return
		}
	}
}

// Do runs f on the lane's thread and gives its error. ctx bounds the wait for
// the thread, not f: what a device runs cannot be called back. f must not call
// Do of the same lane.
func (l *Lane) Do(ctx context.Context, f func(*Thread) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := job{f, make(chan error, 1)}
	select {
	case l.jobs <- j:
		return <-j.res
	case <-l.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close frees what the lane owns, in reverse order, and gives the device back.
// Where the thread hangs in a call, or queued work does not end, the error says
// so: then only the end of the process frees the device.
func (l *Lane) Close(ctx context.Context) error {
	l.stop()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return fmt.Errorf("the lane of device %d does not end: %w", l.Device, ctx.Err())
	}
}

func (l *Lane) stop() { l.once.Do(func() { close(l.quit) }) }

func (t *Thread) open(device int) error {
	t.lane.Device = device
	if device < 0 || device > 1<<20 {
		return refuse("aclrtSetDevice", Reject, nil, "device %d is out of range", device)
	}
	id := C.int32_t(device)
	err := t.lib.keepSignals(func() error { return t.check("aclrtSetDevice", C.c_aclrtSetDevice(t.self, id)) })
	if err != nil {
		return err
	}
	t.own(claim(device))
	var mode C.aclrtRunMode
	if err := t.check("aclrtGetRunMode", C.c_aclrtGetRunMode(t.self, &mode)); err != nil {
		return err
	}
	t.lane.Direct = mode == C.ACL_DEVICE
	var ctx C.aclrtContext
	if err := t.check("aclrtCreateContext", C.c_aclrtCreateContext(t.self, &ctx, id)); err != nil {
		return err
	}
	t.ctx = ctx
	t.own(boundContext{ctx})
	t.main, err = t.NewStream()
	return err
}

// close frees everything unless something hangs.
func (t *Thread) close() error {
	for _, o := range t.owned {
		if s, ok := o.(*Stream); ok && s.busy() {
			if err := t.Sync(s, closeWait); s.busy() {
				return fmt.Errorf("%w: nothing of device %d is freed: %w", ErrBusy, t.lane.Device, err)
			}
		}
	}
	var errs []error
	for len(t.owned) > 0 { // a release may free others, made before
		last := len(t.owned) - 1
		o := t.owned[last]
		t.owned = t.owned[:last]
		errs = append(errs, o.release(t))
	}
	return errors.Join(errs...)
}

// claim is the device as the process holds it, counted by the library.
type claim int

func (c claim) busy() bool { return false }
func (c claim) release(t *Thread) error {
	return t.check("aclrtResetDevice", C.c_aclrtResetDevice(t.self, C.int32_t(c)))
}

type boundContext struct{ ptr C.aclrtContext }

func (c boundContext) busy() bool { return false }
func (c boundContext) release(t *Thread) error {
	return t.check("aclrtDestroyContext", C.c_aclrtDestroyContext(t.self, c.ptr))
}

func (t *Thread) own(o owner) { t.owned = append(t.owned, o) }

// free releases one object before its time.
func (t *Thread) free(call string, o owner) error {
	i := slices.Index(t.owned, o)
	if i < 0 {
		return refuse(call, FixCode, ErrThread, "freed already, or of another lane")
	}
	if o.busy() {
		return refuse(call, FixCode, ErrBusy, "synchronise first")
	}
	t.owned = slices.Delete(t.owned, i, i+1)
	return o.release(t)
}

// mine refuses objects of other lanes.
func (t *Thread) mine(call string, l *Lane) error {
	if l != t.lane {
		return refuse(call, FixCode, ErrThread, "made on another lane")
	}
	return nil
}

// check turns a status into an *Error. The text was fetched by the call itself.
func (t *Thread) check(call string, r C.acl_ret) error {
	switch r.code {
	case 0:
		return nil
	case C.ACL_WRONG_THREAD:
		return refuse(call, FixCode, ErrThread, "called outside Do")
	case C.ACL_MISSING:
		return refuse(call, Reject, ErrMissing, "this release of CANN does not have it")
	}
	var text string
	if r.text != nil {
		text = C.GoString(r.text)
		C.free(unsafe.Pointer(r.text))
	}
	return failure(call, int(r.code), text, t.lib.explain)
}

// Devices counts the devices that this process may see.
func (t *Thread) Devices() (int, error) {
	var n C.uint32_t
	err := t.check("aclrtGetDeviceCount", C.c_aclrtGetDeviceCount(t.self, &n))
	return int(n), err
}

// Soc is the chip's name as models are compiled for it: "Ascend310P3". It is ""
// where no device answers.
func (t *Thread) Soc() string {
	if s := C.c_aclrtGetSocName(); s != nil {
		return C.GoString(s)
	}
	return ""
}

// Memory gives the bytes free and in all of the lane's device. On an RC board
// that is system memory, part of it in the page cache.
func (t *Thread) Memory() (free, total int64, err error) {
	// A product without HBM answers for its DDR.
	for _, attr := range []C.aclrtMemAttr{C.ACL_HBM_MEM, C.ACL_DDR_MEM} {
		var f, n C.size_t
		if err = t.check("aclrtGetMemInfo", C.c_aclrtGetMemInfo(t.self, attr, &f, &n)); err == nil && n > 0 {
			return int64(f), int64(n), nil
		}
	}
	return 0, 0, err
}

// Use asks how busy a device is. It answers without a driver too, so it proves
// nothing.
func (t *Thread) Use(device int) (Use, error) {
	var u C.aclrtUtilizationInfo
	err := t.check("aclrtGetDeviceUtilizationRate", C.c_aclrtGetDeviceUtilizationRate(t.self, C.int32_t(device), &u))
	return Use{int(u.cubeUtilization), int(u.vectorUtilization), int(u.aicpuUtilization)}, err
}

// Normal asks the device's own verdict. Not every product has one: ErrMissing,
// or code 207000.
func (t *Thread) Normal(device int) (bool, error) {
	var s C.aclrtDeviceStatus
	err := t.check("aclrtQueryDeviceStatus", C.c_aclrtQueryDeviceStatus(t.self, C.int32_t(device), &s))
	return s == C.ACL_RT_DEVICE_STATUS_NORMAL, err
}

// LimitOperators sets how long one operator may run, for the whole process; the
// chip rounds it up. Without it a hung kernel is reported after minutes.
func (t *Thread) LimitOperators(d time.Duration) error {
	s := max(1, int64((d+time.Second-1)/time.Second))
	return t.check("aclrtSetOpExecuteTimeOut", C.c_aclrtSetOpExecuteTimeOut(t.self, C.uint32_t(min(s, 1<<31))))
}
