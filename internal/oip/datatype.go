package oip

import (
	"encoding/binary"
	"fmt"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// words are the datatypes of the protocol (source: inference_rest.md, "Tensor
// Data Types"; BF16 is Triton's). The types of fewer than 8 bits, the float8
// family and complex numbers have none.
var words = [...]string{
	ascend.Float:    "FP32",
	ascend.Uint8:    "UINT8",
	ascend.Int8:     "INT8",
	ascend.Uint16:   "UINT16",
	ascend.Int16:    "INT16",
	ascend.Int32:    "INT32",
	ascend.Int64:    "INT64",
	ascend.String:   "BYTES",
	ascend.Bool:     "BOOL",
	ascend.Float16:  "FP16",
	ascend.Double:   "FP64",
	ascend.Uint32:   "UINT32",
	ascend.Uint64:   "UINT64",
	ascend.BFloat16: "BF16",
}

// Datatype is the protocol's word for a type; ok is false where it has none.
func Datatype(d ascend.DType) (word string, ok bool) {
	if int(d) >= len(words) || words[d] == "" {
		return "", false
	}
	return words[d], true
}

// ParseDatatype is the inverse of Datatype. Words are upper case.
func ParseDatatype(word string) (ascend.DType, bool) {
	for d, w := range words {
		if w == word && w != "" {
			return ascend.DType(d), true
		}
	}
	return ascend.Undefined, false
}

// inJSON tells whether elements of the type can be written as JSON. The 16-bit
// floats cannot (source: inference_rest.md calls it problematic; Triton and
// KServe refuse).
func inJSON(d ascend.DType) bool {
	_, ok := Datatype(d)
	return ok && d != ascend.Float16 && d != ascend.BFloat16
}

func noWord(d ascend.DType) string { return "the protocol has no datatype for " + d.String() }

func noJSON(word string) string { return word + " has no JSON form: use binary data" }

// count gives the number of elements; ok is false where a dim is negative or
// where their bytes do not fit 63 bits.
func count(d ascend.DType, shape []int64) (n int64, ok bool) {
	if n, ok = ascend.Elements(shape); !ok {
		return 0, false
	}
	if d == ascend.String {
		return n, true
	}
	_, ok = d.Size(n)
	return n, ok
}

func uncountable(shape []int64) string {
	return "expected dims of 0 or more and a byte size that fits 63 bits, got shape " + dims(shape)
}

// misfit says why data is not n elements in binary form; "" when it is.
func misfit(d ascend.DType, n int64, shape []int64, data []byte) (code, why string) {
	if d == ascend.String {
		return misfitStrings(n, shape, data)
	}
	if size, ok := d.Size(n); !ok || int64(len(data)) != size {
		word, _ := Datatype(d)
		return codeLength, fmt.Sprintf("expected %d bytes for %s %s, got %d", size, word, dims(shape), len(data))
	}
	if d == ascend.Bool {
		for i, b := range data {
			if b > 1 {
				return codeValue, fmt.Sprintf("element %d: expected a BOOL byte 0 or 1, got %d", i, b)
			}
		}
	}
	return "", ""
}

func misfitStrings(n int64, shape []int64, data []byte) (code, why string) {
	got := int64(0)
	for rest := data; len(rest) > 0; got++ {
		if len(rest) < 4 {
			return codeLength, fmt.Sprintf("BYTES element %d: expected 4 bytes of length, got %d", got, len(rest))
		}
		size := uint64(binary.LittleEndian.Uint32(rest))
		if rest = rest[4:]; size > uint64(len(rest)) {
			return codeLength, fmt.Sprintf("BYTES element %d: expected %d bytes, got %d", got, size, len(rest))
		}
		rest = rest[size:]
	}
	if got != n {
		return codeLength, fmt.Sprintf("expected %d BYTES elements for shape %s, got %d", n, dims(shape), got)
	}
	return "", ""
}
