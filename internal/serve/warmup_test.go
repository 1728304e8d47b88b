package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// overRows replaces every float by what f gives for the values of its column.
func overRows(width int, f func(column []float32, row int) float32) func([]oip.Tensor) []oip.Tensor {
	return func(in []oip.Tensor) []oip.Tensor {
		t := in[0]
		rows := len(t.Data) / 4 / width
		out := make([]byte, len(t.Data))
		for c := range width {
			column := make([]float32, rows)
			for r := range column {
				column[r] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*(r*width+c):]))
			}
			for r := range column {
				binary.LittleEndian.PutUint32(out[4*(r*width+c):], math.Float32bits(f(column, r)))
			}
		}
		t.Data = out
		return []oip.Tensor{t}
	}
}

func TestWarmUpFindsOutWhetherRowsAreIndependent(t *testing.T) {
	vec := func(d ascend.DType) oip.Signature { return vectors(d, 4) }
	fixed := func(side string) oip.Signature {
		s := vec(ascend.Float)
		p := []oip.Port{{Name: "p", DType: ascend.Float, Dims: []int64{1, 4}, DimNames: []string{"", ""}}}
		if side == "in" {
			s.Inputs = p
		} else {
			s.Outputs = p
		}
		return s
	}
	square := vec(ascend.Float)
	square.Inputs = []oip.Port{{Name: "x", DType: ascend.Float, Dims: []int64{-1, -1}, DimNames: []string{"n", "n"}}}
	huge := vec(ascend.Float)
	huge.Inputs = []oip.Port{{Name: "x", DType: ascend.Float, Dims: []int64{-1, 1 << 40}, DimNames: []string{"n", ""}}}
	for name, c := range map[string]struct {
		fake *fake
		max  int
		why  string // part of the reason; "": on
	}{
		"identity":           {&fake{sig: vec(ascend.Float)}, 32, ""},
		"half floats":        {&fake{sig: vec(ascend.Float16)}, 32, ""},
		"bfloat16":           {&fake{sig: vec(ascend.BFloat16)}, 32, ""},
		"doubles":            {&fake{sig: vec(ascend.Double)}, 32, ""},
		"integers":           {&fake{sig: vec(ascend.Int64)}, 32, ""},
		"strings":            {&fake{sig: vec(ascend.String)}, 32, ""},
		"a free second axis": {&fake{sig: vectors(ascend.Float, -1)}, 32, ""},
		"noise of sums": {&fake{sig: vec(ascend.Float), compute: overRows(4, func(col []float32, r int) float32 {
			return col[r] * (1 + 1e-5*float32(len(col)))
		})}, 32, ""},
		"mean over rows": {&fake{sig: vec(ascend.Float), compute: overRows(4, func(col []float32, r int) float32 {
			sum := float32(0)
			for _, v := range col {
				sum += v
			}
			return sum / float32(len(col))
		})}, 32, "depends on the other rows"},
		"softmax over rows": {&fake{sig: vec(ascend.Float), compute: overRows(4, func(col []float32, r int) float32 {
			sum := 0.0
			for _, v := range col {
				sum += math.Exp(float64(v))
			}
			return float32(math.Exp(float64(col[r])) / sum)
		})}, 32, "depends on the other rows"},
		"rows turned round": {&fake{sig: vec(ascend.Float), compute: overRows(4, func(col []float32, r int) float32 {
			return col[len(col)-1-r]
		})}, 32, "depends on the other rows"},
		"a NaN for many": {&fake{sig: vec(ascend.Float), compute: overRows(4, func(col []float32, r int) float32 {
			if len(col) > 1 {
				return float32(math.NaN())
			}
			return col[r]
		})}, 32, "depends on the other rows"},
		"output without rows": {&fake{sig: vec(ascend.Float), compute: func(in []oip.Tensor) []oip.Tensor {
			out := in[0]
			out.Shape, out.Data = []int64{1, 4}, out.Data[:16]
			return []oip.Tensor{out}
		}}, 32, "is not its rows"},
		"a run that fails for many": {&fake{sig: vec(ascend.Float), run: func(b *infer.Batch) error {
			if b.Inputs[0].Shape[0] > 1 {
				return &infer.Error{Class: infer.Failed, Op: "Run", Detail: "only one row"}
			}
			return nil
		}}, 32, "a trial run failed: Run: only one row"},
		"fixed input":  {&fake{sig: fixed("in")}, 32, "axis 0 of input p is fixed"},
		"fixed output": {&fake{sig: fixed("out")}, 32, "axis 0 of output p is fixed"},
		"square":       {&fake{sig: square}, 32, "also another axis"},
		"no inputs":    {&fake{sig: oip.Signature{}}, 32, "no inputs"},
		"too large":    {&fake{sig: huge}, 32, "too large to try"},
		"turned off":   {&fake{sig: vec(ascend.Float)}, 1, "maximum batch of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := warm(t.Context(), c.fake, c.max, 1)
			if err != nil {
				t.Fatal(err)
			}
			if on := c.why == ""; b.On != on || b.On && b.MaxRows != c.max || !b.On && b.MaxRows != 1 {
				t.Errorf("got %+v, want on %t", b, on)
			}
			if !strings.Contains(b.Why.En, c.why) || (b.Why.Zh == "") != (c.why == "") {
				t.Errorf("reason %q, %q, want %q", b.Why.En, b.Why.Zh, c.why)
			}
		})
	}
}

func TestWarmUpFailsWithTheDevice(t *testing.T) {
	lost := &infer.Error{Class: infer.Lost, Op: "Run", Detail: "gone"}
	f := &fake{sig: vectors(ascend.Float, 1), run: func(*infer.Batch) error { return lost }}
	if _, err := warm(t.Context(), f, 32, 1); !errors.Is(err, lost) {
		t.Errorf("got %v, want %v", err, lost)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.run = func(*infer.Batch) error {
		cancel()
		return &infer.Error{Class: infer.Canceled, Op: "Run", Cause: context.Canceled}
	}
	if _, err := warm(ctx, f, 32, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestATrialIsBoundedOverAllInputs(t *testing.T) {
	in := oip.Port{Name: "x", DType: ascend.Float, Dims: []int64{-1, 40 << 20}, DimNames: []string{"", ""}}
	if !small(oip.Signature{Inputs: []oip.Port{in}}, 8) || small(oip.Signature{Inputs: []oip.Port{in, in}}, 8) {
		t.Error("one input of 40 Mi elements is worth a trial, two are not")
	}
}

func TestHalfIsTheValueOfItsBits(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: math.Ldexp(1, -24), 0x0400: math.Ldexp(1, -14), 0x3555: 0.333251953125,
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := half(bits); got != want {
			t.Errorf("%#04x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(half(0x7e00)) {
		t.Error("0x7e00 is not NaN")
	}
}
