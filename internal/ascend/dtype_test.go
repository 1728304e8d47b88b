package ascend

import (
	"math"
	"testing"
)

func TestElements(t *testing.T) {
	for _, c := range []struct {
		dims []int64
		n    int64
		ok   bool
	}{
		{nil, 1, true}, // a scalar
		{[]int64{2, 3, 4}, 24, true},
		{[]int64{0}, 0, true},
		{[]int64{math.MaxInt64, 0}, 0, true},
		{[]int64{math.MaxInt64, 0, 2}, 0, false},
		{[]int64{-1, 3}, 0, false},
		{[]int64{0, -1}, 0, false},
		{[]int64{1 << 32, 1 << 31}, 0, false}, // 2^63 does not fit
		{[]int64{1 << 32, 1<<31 - 1}, (1 << 32) * (1<<31 - 1), true},
	} {
		if n, ok := Elements(c.dims); n != c.n || ok != c.ok {
			t.Errorf("%v: %d %v, want %d %v", c.dims, n, ok, c.n, c.ok)
		}
	}
}

func TestSizesAndWords(t *testing.T) {
	for _, c := range []struct {
		d           DType
		n, size     int64
		ok          bool
		onnx, shown string
	}{
		{Float, 3, 12, true, "FLOAT", "float32"},
		{Double, 1, 8, true, "DOUBLE", "float64"},
		{Bool, 5, 5, true, "BOOL", "bool"},
		{BFloat16, 2, 4, true, "BFLOAT16", "bfloat16"},
		{Int4, 3, 2, true, "INT4", "int4"}, // packed, the last byte half full
		{Complex128, 1, 16, true, "COMPLEX128", "complex128"},
		{String, 3, 0, false, "STRING", "string"},
		{Undefined, 1, 0, false, "UNDEFINED", "undefined"},
		{DType(200), 1, 0, false, "UNDEFINED", "undefined"},
		{Float, -1, 0, false, "FLOAT", "float32"},
		{Double, math.MaxInt64 / 8, 0, false, "DOUBLE", "float64"}, // its bits do not fit
	} {
		if size, ok := c.d.Size(c.n); size != c.size || ok != c.ok {
			t.Errorf("%d of %v: %d %v, want %d %v", c.n, c.d, size, ok, c.size, c.ok)
		}
		if c.d.ONNX() != c.onnx || c.d.String() != c.shown {
			t.Errorf("%d: %s %s", c.d, c.d.ONNX(), c.d)
		}
	}
}
