package infer

import (
	"errors"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
)

// NPUOptions says what NPU.Open loads; zero values are the defaults named here.
type NPUOptions struct {
	Path string
	// Limit is how long a batch may take, after which the device counts as
	// hung; 30 s. It is the last resort: who feeds the backend watches closer.
	Limit time.Duration
	// Lend is how many bytes of pinned memory are lent; 0: enough for four
	// batches of the largest gear. None on a board that is the device itself.
	Lend int64
}

// Room is the memory of a device and what a model takes of it, in bytes. IO is
// the inputs and outputs of the largest gear.
type Room struct {
	Free, Total  int64
	Work, Weight int64
	IO           int64
}

// aclError gives a failure of ACL its class. What a device cannot get over
// without a new process is Lost.
func aclError(op string, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, acl.ErrClosed) {
		return closed(op)
	}
	e := &Error{Class: Failed, Op: op, Detail: err.Error(), Cause: err}
	var lib *acl.Error
	if !errors.As(err, &lib) {
		return e
	}
	e.Code, e.Name, e.Action = lib.Code, lib.Name, string(lib.Action)
	if e.Name == "" {
		e.Name = lib.Call
	}
	if e.Detail = lib.Call + ": " + lib.Detail; lib.Detail == "" {
		e.Detail = lib.Call + ": " + lib.Text.En
	}
	switch lib.Action {
	case acl.Reject:
		e.Class = Reject
	case acl.ResetDevice, acl.RestartProcess, acl.Quarantine, acl.Watchdog:
		e.Class = Lost
	}
	return e
}
