//go:build cgo && linux

package infer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
)

// probeBytes is what a probe sends to the device and takes back.
const probeBytes = 1 << 10

// probeLimit bounds a probe whose context has no end.
const probeLimit = 5 * time.Second

// NPU is one device, taken by this process. It has a lane of its own for
// questions, so that they go past whatever runs.
type NPU struct {
	Device int
	SoC    string // "Ascend310P3"

	lib    *acl.Library
	lane   *acl.Lane
	pinned *acl.Buffer
	device *acl.Buffer
	asked  byte
	broken atomic.Pointer[Error] // the device was lost
}

// TakeNPU takes a device, by ACL's number. It may take seconds. The error is an
// *Error.
func TakeNPU(lib *acl.Library, device int) (*NPU, error) {
	lane, err := lib.Lane(device)
	if err != nil {
		return nil, aclError(opOpen, err)
	}
	n := &NPU{Device: device, lib: lib, lane: lane}
	err = lane.Do(context.Background(), func(t *acl.Thread) error {
		n.SoC = t.Soc()
		var err error
		if n.pinned, err = t.MallocHost(2 * probeBytes); err == nil {
			n.device, err = t.Malloc(probeBytes + acl.Slack)
		}
		return err
	})
	if err != nil {
		_ = n.Close()
		return nil, aclError(opOpen, err)
	}
	return n, nil
}

// Close gives the device back; its backends must be closed. It fails where
// something hangs or the device was lost: then nothing is given back, because
// that could hang as well, and only the end of the process frees the device.
func (n *NPU) Close() error {
	if e := n.broken.Load(); e != nil {
		return e.of(opClose)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	return n.lane.Close(ctx)
}

// Direct is true on a board that is the device itself: one memory for both.
func (n *NPU) Direct() bool { return n.lane.Direct }

// Room asks what there is and what the model file needs, without loading it. IO
// is left to the caller, who can read it off the file.
func (n *NPU) Room(path string) (r Room, err error) {
	err = n.lane.Do(context.Background(), func(t *acl.Thread) error {
		if r.Free, r.Total, err = t.Memory(); err != nil {
			return err
		}
		r.Work, r.Weight, err = t.Need(acl.LoadOptions{Path: path})
		return err
	})
	if err != nil {
		return r, aclError(opOpen, err)
	}
	return r, nil
}

// Probe sends a few bytes to the device and takes them back.
func (n *NPU) Probe(ctx context.Context) error {
	limit := probeLimit
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	err := n.lane.Do(ctx, func(t *acl.Thread) error { return n.echo(t, limit) })
	switch {
	case ctx.Err() != nil:
		return canceled(opProbe, ctx.Err())
	case err != nil:
		e := aclError(opProbe, err)
		if e.Class == Lost {
			n.broken.CompareAndSwap(nil, e)
		}
		return e
	}
	return nil
}

func (n *NPU) echo(t *acl.Thread, limit time.Duration) error {
	n.asked++
	to, from := n.pinned.Span(0, probeBytes), n.pinned.Span(probeBytes, probeBytes)
	all := n.pinned.Bytes()
	for i := range all {
		all[i] = n.asked + byte(i/probeBytes)
	}
	device := n.device.Span(0, probeBytes)
	var err error
	if n.lane.Direct {
		err = errors.Join(t.Copy(device, to), t.Copy(from, device))
	} else if err = t.CopyAsync(t.Main(), device, to); err == nil {
		if err = t.CopyAsync(t.Main(), from, device); err == nil {
			err = t.Sync(t.Main(), limit)
		}
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(all[:probeBytes], all[probeBytes:]) {
		return &Error{Class: Lost, Op: opProbe, Action: string(acl.Quarantine),
			Detail: fmt.Sprintf("device %d gave back other bytes than it was sent", n.Device)}
	}
	return nil
}
