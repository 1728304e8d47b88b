// Package ascend holds the words of the trade that every room uses. It imports
// nothing of the project.
package ascend

// DType is the element type of a tensor, by its ONNX word.
type DType uint8

// The element types. Their numbers up to INT4 are those of ONNX TensorProto
// and of ONNX Runtime (source: onnx.proto; the two differ from 24 on, so newer
// types would need a table of their own).
const (
	Undefined DType = iota
	Float
	Uint8
	Int8
	Uint16
	Int16
	Int32
	Int64
	String
	Bool
	Float16
	Double
	Uint32
	Uint64
	Complex64
	Complex128
	BFloat16
	Float8E4M3FN
	Float8E4M3FNUZ
	Float8E5M2
	Float8E5M2FNUZ
	Uint4
	Int4
)

// words gives each type its ONNX word, the name people see on screens and its
// size. Bits 0 means the size is not fixed.
var words = [...]struct {
	onnx, screen string
	bits         int
}{
	Undefined:      {"UNDEFINED", "undefined", 0},
	Float:          {"FLOAT", "float32", 32},
	Uint8:          {"UINT8", "uint8", 8},
	Int8:           {"INT8", "int8", 8},
	Uint16:         {"UINT16", "uint16", 16},
	Int16:          {"INT16", "int16", 16},
	Int32:          {"INT32", "int32", 32},
	Int64:          {"INT64", "int64", 64},
	String:         {"STRING", "string", 0},
	Bool:           {"BOOL", "bool", 8},
	Float16:        {"FLOAT16", "float16", 16},
	Double:         {"DOUBLE", "float64", 64},
	Uint32:         {"UINT32", "uint32", 32},
	Uint64:         {"UINT64", "uint64", 64},
	Complex64:      {"COMPLEX64", "complex64", 64},
	Complex128:     {"COMPLEX128", "complex128", 128},
	BFloat16:       {"BFLOAT16", "bfloat16", 16},
	Float8E4M3FN:   {"FLOAT8E4M3FN", "float8e4m3fn", 8},
	Float8E4M3FNUZ: {"FLOAT8E4M3FNUZ", "float8e4m3fnuz", 8},
	Float8E5M2:     {"FLOAT8E5M2", "float8e5m2", 8},
	Float8E5M2FNUZ: {"FLOAT8E5M2FNUZ", "float8e5m2fnuz", 8},
	Uint4:          {"UINT4", "uint4", 4},
	Int4:           {"INT4", "int4", 4},
}

// String is the name people see: float32, int64.
func (d DType) String() string { return words[d.known()].screen }

// ONNX is the word of the ONNX specification: FLOAT, INT64.
func (d DType) ONNX() string { return words[d.known()].onnx }

// Size is the number of bytes n elements take, packed; ok is false where it
// is not fixed (strings, undefined) or does not fit an int64.
func (d DType) Size(n int64) (bytes int64, ok bool) {
	bits := int64(words[d.known()].bits)
	if bits == 0 || n < 0 || n > (1<<63-1-7)/bits {
		return 0, false
	}
	return (n*bits + 7) / 8, true
}

func (d DType) known() DType {
	if int(d) >= len(words) {
		return Undefined
	}
	return d
}

// Elements multiplies dims; ok is false when a dim is negative (variable) or
// the product of those that are not 0 does not fit an int64: such a shape is
// never honest. No dims are a scalar: one element.
func Elements(dims []int64) (n int64, ok bool) {
	n, zero := 1, false
	for _, d := range dims {
		switch {
		case d < 0:
			return 0, false
		case d == 0:
			zero = true
		case n > (1<<63-1)/d:
			return 0, false
		default:
			n *= d
		}
	}
	if zero {
		return 0, true
	}
	return n, true
}
