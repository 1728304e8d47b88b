package infer

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/ort"
)

// Options says what OpenORT loads: the file Path, beside which external data is
// found, or the bytes in Data. Threads is how many threads one operator may
// use, 0 is the library's choice. Now is the clock of Batch.Times; nil is
// time.Now.
type Options struct {
	Path    string
	Data    []byte
	Threads int
	Now     func() time.Time
}

// ortBackend runs an ONNX model on the CPU. The library allocates the outputs,
// because their shapes are known only afterwards; they are copied once.
type ortBackend struct {
	session *ort.Session
	desc    Description
	now     func() time.Time
	closed  atomic.Bool
}

// OpenORT loads an ONNX model with ONNX Runtime. A model that takes or gives
// anything but tensors is refused by the name of its port. The error is an
// *Error. Loading cannot be stopped: ctx is looked at before it only.
func OpenORT(ctx context.Context, lib *ort.Library, o Options) (Backend, error) {
	if err := ctx.Err(); err != nil {
		return nil, canceled(opOpen, err)
	}
	session, err := lib.Load(ort.Options{Path: o.Path, Data: o.Data, Threads: o.Threads})
	if err != nil {
		return nil, ortError(opOpen, err)
	}
	b := &ortBackend{session: session, now: o.Now}
	if b.now == nil {
		b.now = time.Now
	}
	b.desc = Description{
		Platform: "onnx_onnxv1",
		Device:   Device{Kind: "cpu", Name: "ONNX Runtime " + lib.Version, Library: lib.File},
	}
	if b.desc.Signature, err = signature(session); err != nil {
		session.Close()
		return nil, err
	}
	return b, nil
}

func signature(s *ort.Session) (sig oip.Signature, err error) {
	if sig.Inputs, err = ports("input", s.Inputs); err == nil {
		sig.Outputs, err = ports("output", s.Outputs)
	}
	return sig, err
}

func ports(side string, from []ort.Port) ([]oip.Port, error) {
	to := make([]oip.Port, len(from))
	for i, p := range from {
		if p.Kind != ort.TensorKind {
			return nil, reject(opOpen, "%s %q is of kind %s; only tensors can be served", side, p.Name, p.Kind)
		}
		if p.DType == ascend.Undefined {
			return nil, reject(opOpen, "%s %q has an element type that ascendctl does not know", side, p.Name)
		}
		to[i] = oip.Port{Name: p.Name, DType: p.DType, Dims: p.Dims, DimNames: p.DimNames}
	}
	return to, nil
}

func (b *ortBackend) Describe() Description { return b.desc }

func (b *ortBackend) Run(ctx context.Context, batch *Batch) error {
	begin := b.now()
	batch.Times = Times{}
	if b.closed.Load() {
		return closed(opRun)
	}
	wanted, bad := checkBatch(&b.desc, batch)
	if bad != nil {
		return bad
	}
	inputs := make([]ort.Tensor, len(batch.Inputs))
	for i, t := range batch.Inputs {
		inputs[i] = ort.Tensor{DType: t.DType, Shape: t.Shape, Data: t.Data}
		if t.DType == ascend.String || !ort.Aligned(t.Data) {
			batch.Moved.In += int64(len(t.Data)) // the library copies it
		}
	}
	var ran time.Time
	err := b.session.Run(ctx, inputs, wanted, func(k int, dtype ascend.DType, shape []int64, size int64) ([]byte, error) {
		if k == 0 {
			ran = b.now()
		}
		room, err := batch.room(k, dtype, shape, size)
		if err == nil {
			batch.Moved.Out += size // the library copies its output there
		}
		return room, err
	})
	if err != nil {
		return ortError(opRun, err)
	}
	batch.Times = Times{Execute: ran.Sub(begin), CopyOut: b.now().Sub(ran)}
	return nil
}

// Probe has no device to ask: the CPU that runs it is there.
func (b *ortBackend) Probe(ctx context.Context) error {
	if b.closed.Load() {
		return closed(opProbe)
	}
	if err := ctx.Err(); err != nil {
		return canceled(opProbe, err)
	}
	return nil
}

func (b *ortBackend) Close() error {
	b.closed.Store(true)
	if err := b.session.Close(); err != nil {
		return ortError(opClose, err)
	}
	return nil
}

// ortError gives a failure of the library its class.
func ortError(op string, err error) *Error {
	var own *Error
	if errors.As(err, &own) { // out of room
		return own
	}
	if errors.Is(err, ort.ErrClosed) {
		return closed(op)
	}
	e := &Error{Class: Failed, Op: op, Detail: err.Error(), Cause: err}
	var lib *ort.Error
	if errors.As(err, &lib) {
		e.Code, e.Name, e.Detail = lib.Code, lib.Name, lib.Text
		switch {
		case lib.Cause != nil:
			e.Class = Canceled
		case op == opOpen || lib.Code == ort.CodeInvalidArgument || blamesInput(lib.Text):
			e.Class = Reject
		}
	}
	return e
}

// blamesInput recognises failures of an operator that say that the input does
// not fit. Their code alone does not tell: which one an operator uses differs
// between operators and releases.
func blamesInput(text string) bool {
	for _, s := range inputTexts {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

var inputTexts = [...]string{
	"Attempting to broadcast an axis",
	"dimension mismatch",
	"cannot be reshaped to the requested shape",
	"out of data bounds",
	"Non concat axis dimensions must match",
}
