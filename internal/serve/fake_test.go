package serve

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// fake is a backend under the control of a test: it gives its inputs back,
// after a gate where there is one.
type fake struct {
	sig      oip.Signature
	gate     chan struct{}            // nil: open; every run takes one
	run      func(*infer.Batch) error // after the gate; nil: nothing
	probe    func(context.Context) error
	compute  func([]oip.Tensor) []oip.Tensor // nil: identity
	mu       sync.Mutex
	batches  []int // rows of each run, in the order they began
	canceled int
	closed   bool
}

// vectors is the signature x [-1,width] -> y [-1,width].
func vectors(d ascend.DType, width int64) oip.Signature {
	dims, names := []int64{-1, width}, []string{"batch", ""}
	return oip.Signature{
		Inputs:  []oip.Port{{Name: "x", DType: d, Dims: dims, DimNames: names}},
		Outputs: []oip.Port{{Name: "y", DType: d, Dims: dims, DimNames: names}},
	}
}

func (f *fake) Describe() infer.Description {
	return infer.Description{Signature: f.sig, Platform: "fake_fake", Device: infer.Device{Kind: "sim", Name: "simulated, not an NPU", Simulated: true}}
}

func (f *fake) Run(ctx context.Context, b *infer.Batch) error {
	f.mu.Lock()
	rows := 1
	if len(b.Inputs) > 0 && len(b.Inputs[0].Shape) > 0 {
		rows = int(b.Inputs[0].Shape[0])
	}
	f.batches = append(f.batches, rows)
	f.mu.Unlock()
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			f.mu.Lock()
			f.canceled++
			f.mu.Unlock()
			return &infer.Error{Class: infer.Canceled, Op: "Run", Detail: "canceled", Cause: ctx.Err()}
		}
	}
	if f.run != nil {
		if err := f.run(b); err != nil {
			return err
		}
	}
	results := b.Inputs
	if f.compute != nil {
		results = f.compute(b.Inputs)
	}
	for i := range b.Outputs {
		at := slices.IndexFunc(f.sig.Outputs, func(p oip.Port) bool { return p.Name == b.Outputs[i].Name })
		data, err := b.Alloc(i, int64(len(results[at].Data)))
		if err != nil {
			return err
		}
		copy(data, results[at].Data)
		b.Outputs[i].DType, b.Outputs[i].Shape, b.Outputs[i].Data = results[at].DType, slices.Clone(results[at].Shape), data
	}
	return nil
}

func (f *fake) Probe(ctx context.Context) error {
	if f.probe != nil {
		return f.probe(ctx)
	}
	return nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fake) ran() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.batches)
}

func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// testQueue is a batcher over f with fresh statistics.
func testQueue(f *fake, maxRows, lanes, limit int) *batcher {
	seen := newStats(newFamilies(metrics.NewRegistry()), "m", time.Now)
	return newBatcher(f, time.Now, seen, new(pool), maxRows, lanes, limit)
}

// rowsOf is a job of n rows of one float each, all of them value.
func rowsOf(ctx context.Context, n int, value float32) *job {
	data := floats(slices.Repeat([]float32{value}, n)...)
	in := oip.Tensor{Name: "x", DType: ascend.Float, Shape: []int64{int64(n), 1}, Data: data}
	return &job{ctx: ctx, wait: ctx, inputs: []oip.Tensor{in}, want: []int{0}, rows: n}
}

// checkRows demands that a job got exactly its own rows back.
func checkRows(t *testing.T, j *job) {
	t.Helper()
	if j.err != nil {
		t.Errorf("job of %d rows: %v", j.rows, j.err)
		return
	}
	out := j.outputs[0]
	if out.Name != "y" || !slices.Equal(out.Shape, j.inputs[0].Shape) || !slices.Equal(out.Data, j.inputs[0].Data) {
		t.Errorf("job of %d rows got %v %v, wants its own %v %v", j.rows, out.Shape, out.Data, j.inputs[0].Shape, j.inputs[0].Data)
	}
}
