package infer

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// The twins model gives back both of its inputs; it is what every backend is
// held to the contract with.

func twinsSignature() oip.Signature {
	port := func(name string, t ascend.DType, w int64) oip.Port {
		return oip.Port{Name: name, DType: t, Dims: []int64{-1, w}, DimNames: []string{"n", ""}}
	}
	return oip.Signature{
		Inputs:  []oip.Port{port("a", ascend.Float, 4), port("b", ascend.Int64, 2)},
		Outputs: []oip.Port{port("ya", ascend.Float, 4), port("yb", ascend.Int64, 2)},
	}
}

// twinsBatch is n rows of random payload, made from the seed.
func twinsBatch(n int, seed uint64) *Batch {
	r := rand.New(rand.NewPCG(seed, 1))
	fs, is := make([]float32, 4*n), make([]int64, 2*n)
	for i := range fs {
		fs[i] = r.Float32()
	}
	for i := range is {
		is[i] = int64(r.Uint64())
	}
	rows := int64(n)
	return &Batch{
		Inputs: []oip.Tensor{
			{Name: "a", DType: ascend.Float, Shape: []int64{rows, 4}, Data: packFloats(fs...)},
			{Name: "b", DType: ascend.Int64, Shape: []int64{rows, 2}, Data: packInts(is...)}},
		Outputs: []oip.Tensor{{Name: "ya", Data: make([]byte, 16*n)}, {Name: "yb", Data: make([]byte, 16*n)}},
	}
}

// same says how an output differs from the input it should be, or "".
func same(in, out oip.Tensor) string {
	if out.DType != in.DType || !slices.Equal(out.Shape, in.Shape) || !bytes.Equal(out.Data, in.Data) {
		return fmt.Sprintf("output %s: got %v %d %x, want %v %d %x", out.Name, out.DType, out.Shape, out.Data, in.DType, in.Shape, in.Data)
	}
	return ""
}

func mustRun(t *testing.T, b Backend, batch *Batch) {
	t.Helper()
	if err := b.Run(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// wantClass demands an *Error of the class.
func wantClass(t *testing.T, err error, c Class) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Class != c || e.Op == "" || e.Detail == "" {
		t.Fatalf("got %#v (%v), want an *Error of class %s", err, err, c)
	}
	return e
}
