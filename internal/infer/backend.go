// Package infer runs batches of a model on a backend. What a backend is stands
// in this file; it is made so that one can live in another process: plain data
// in, plain data out, typed errors, no callback that must run over there.
package infer

import (
	"context"
	"fmt"
	"time"

	"github.com/ascendctl/ascendctl/internal/oip"
)

// Backend is one loaded model on one device. Run and Probe may be called from
// many goroutines; Close waits for them.
type Backend interface {
	// Describe tells what was loaded and where. It never changes.
	Describe() Description
	// Run executes one batch. All memory is the caller's: the backend reads
	// Inputs and writes Outputs only between call and return, also when ctx is
	// cancelled: then it stops as soon as the library allows and returns an
	// *Error of class Canceled that wraps ctx.Err(). Every other failure is an
	// *Error too.
	Run(ctx context.Context, b *Batch) error
	// Probe is a question to the device itself, past any queue: nil when it
	// answers.
	Probe(ctx context.Context) error
	// Close frees the model. Later calls fail with class Closed.
	Close() error
}

// Description is what is known of a loaded model and its place.
type Description struct {
	Signature oip.Signature
	Platform  string // OIP platform word: onnx_onnxv1
	Gears     []Gear // nil: any shape that fits the signature
	Device    Device
	Pieces    bool // inputs may come in pieces, see Batch
}

// Device is where a model runs.
type Device struct {
	Kind      string // cpu, npu, sim
	Name      string // "ONNX Runtime 1.32.0"
	Library   string // the file really loaded; "" when there is none
	Simulated bool   // must be said in every output
}

// Gear is one shape set that a model was compiled for. Rows is its batch size,
// Dims the inputs' dims in input order.
type Gear struct {
	Rows int
	Dims [][]int64
	// Pads is true where axis 0 of everything is the rows, so that a batch may
	// have fewer: the backend fills up, and gives back only what was asked.
	Pads bool
}

// Batch is one execution.
type Batch struct {
	// Gear is the index into Description.Gears; it means nothing when there
	// are none. Shift chooses one.
	Gear int
	// Inputs in the order of the signature, every one of them.
	Inputs []oip.Tensor
	// Pieces[i], where there are some, are the data of Inputs[i] one after the
	// other, in place of its Data: requests that share a batch need not be copied
	// to lie side by side.
	Pieces [][][]byte
	// Outputs: Name selects an output (each at most once). Data is the
	// caller's buffer, its length the room there is; Run sets DType and Shape
	// and cuts Data to what was written. Where the buffer is too short Run
	// asks Alloc; without Alloc it fails with class Short and Error.Need.
	Outputs []oip.Tensor
	// Alloc gives a buffer of exactly size bytes for Outputs[i]. It is called
	// on the goroutine that called Run.
	Alloc func(i int, size int64) ([]byte, error)
	// Times is filled by Run.
	Times Times
	// Moved grows by what Run copied in user space, here and in the process
	// of the device.
	Moved Moved
}

// parts is how many pieces input i comes in; part is one of them.
func (b *Batch) parts(i int) int {
	if i < len(b.Pieces) && len(b.Pieces[i]) > 0 {
		return len(b.Pieces[i])
	}
	return 1
}

func (b *Batch) part(i, k int) []byte {
	if i < len(b.Pieces) && len(b.Pieces[i]) > 0 {
		return b.Pieces[i][k]
	}
	return b.Inputs[i].Data
}

// size is the bytes of input i.
func (b *Batch) size(i int) (n int64) {
	for k := range b.parts(i) {
		n += int64(len(b.part(i, k)))
	}
	return n
}

// Moved counts bytes of tensors that were copied in user space, on the way to
// the device and back. What the kernel or the device itself copies is not in it.
type Moved struct{ In, Out int64 }

// Move is copy for the bytes of tensors, and the only way to copy them: it adds
// them to count, one side of a Moved.
func Move(count *int64, dst, src []byte) int {
	n := copy(dst, src)
	*count += int64(n)
	return n
}

// Lender is a backend with memory that its Run reaches without copying. Who
// lays inputs or outputs there, or in any part of it, saves a copy.
type Lender interface {
	// Lend gives size bytes of any content, from a multiple of 64, or nil when
	// there is no room.
	Lend(size int) []byte
	// TakeBack ends a loan. It takes what Lend gave, whole or cut short.
	TakeBack(buf []byte)
}

// Times says where a batch spent its time. Copy is zero where nothing is
// copied to a device.
type Times struct {
	CopyIn, Execute, CopyOut time.Duration
}

// Class says what a failure calls for; the words for devices are those of the
// ACL error table and join this list with the backend that needs them.
type Class string

const (
	Reject   Class = "reject"   // this input is wrong and stays wrong; the device is fine
	Failed   Class = "failed"   // this run failed; the next may work
	Short    Class = "short"    // an output buffer is too short: Error.Need
	Canceled Class = "canceled" // the caller's context ended
	Closed   Class = "closed"   // Close was called
	Lost     Class = "lost"     // the backend cannot go on and must be opened anew
	Away     Class = "away"     // no answer this time; another device, or this one later, may give it
)

// Error is every failure of a backend. It is plain data, so that it survives
// a process boundary: only Cause is lost there.
type Error struct {
	Class  Class  `json:"class"`
	Op     string `json:"op"`             // the call that failed: "Run"
	Code   int    `json:"code,omitempty"` // the library's number
	Name   string `json:"name,omitempty"` // and its name
	Detail string `json:"detail"`         // the library's words, unchanged
	Need   int64  `json:"need,omitempty"` // Short: bytes needed
	// Action is what the failure of a device calls for, in the words of the
	// table of ACL codes: "restart_process"; "" for other failures.
	Action string `json:"action,omitempty"`
	Cause  error  `json:"-"`
}

func (e *Error) Error() string {
	if e.Name != "" {
		return fmt.Sprintf("%s: %s (%d): %s", e.Op, e.Name, e.Code, e.Detail)
	}
	return e.Op + ": " + e.Detail
}

func (e *Error) Unwrap() error { return e.Cause }
