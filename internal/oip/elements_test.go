package oip

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

func TestElementsInJSON(t *testing.T) {
	for _, c := range []struct {
		name  string
		dtype ascend.DType
		data  string // a list
		want  []byte // nil: refused as a value
	}{
		{"C37 BOOL", ascend.Bool, "[true,false,1,0]", []byte{1, 0, 1, 0}},
		{"C37 UINT8", ascend.Uint8, "[0,255,-0]", []byte{0, 255, 0}},
		{"C37 UINT16", ascend.Uint16, "[65535]", le(uint16(65535))},
		{"C37 UINT32", ascend.Uint32, "[4294967295]", le(uint32(math.MaxUint32))},
		{"C37 INT8", ascend.Int8, "[-128,127]", le(int8(-128), int8(127))},
		{"C37 INT16", ascend.Int16, "[-32768,32767]", le(int16(-32768), int16(32767))},
		{"C37 INT32", ascend.Int32, "[-2147483648,2147483647]", le(int32(math.MinInt32), int32(math.MaxInt32))},
		{"C37 FP32", ascend.Float, "[0.1,-0,1e-45,3.4028235e38,7]", le(float32(0.1), float32(math.Copysign(0, -1)), float32(1e-45), float32(math.MaxFloat32), float32(7))},
		{"C37 FP32 is rounded once, not by way of 64 bits", ascend.Float, "[1.00000005960464477540]", le(math.Nextafter32(1, 2))},
		{"C37 FP64", ascend.Double, "[0.1,5e-324,1.7976931348623157e308]", le(0.1, 5e-324, math.MaxFloat64)},
		{"C37 BYTES with every escape", ascend.String, `["\"\\\/\b\f\n\r\t\u00E9"]`, append(le(uint32(10)), "\"\\/\b\f\n\r\té"...)},
		{"C37 BYTES", ascend.String, `["","a\"\u0000é"]`, append(le(uint32(0), uint32(5)), "a\"\x00é"...)},
		{"C38 INT64 beyond 2^53", ascend.Int64, "[9007199254740993,-9223372036854775808,9223372036854775807]", le(int64(9007199254740993), int64(math.MinInt64), int64(math.MaxInt64))},
		{"C38 UINT64 beyond 2^63", ascend.Uint64, "[18446744073709551615]", le(uint64(math.MaxUint64))},
		{"C40 INT8 128", ascend.Int8, "[128]", nil},
		{"C40 INT8 -129", ascend.Int8, "[-129]", nil},
		{"C40 INT16 32768", ascend.Int16, "[32768]", nil},
		{"C40 INT32 2^31", ascend.Int32, "[2147483648]", nil},
		{"C40 INT64 2^63", ascend.Int64, "[9223372036854775808]", nil},
		{"C40 INT64 -2^63-1", ascend.Int64, "[-9223372036854775809]", nil},
		{"C40 INT64 of a hundred digits", ascend.Int64, "[" + strings.Repeat("9", 100) + "]", nil},
		{"C40 UINT8 256", ascend.Uint8, "[256]", nil},
		{"C40 UINT8 -1", ascend.Uint8, "[-1]", nil},
		{"C40 UINT64 2^64", ascend.Uint64, "[18446744073709551616]", nil},
		{"C40 UINT64 -1", ascend.Uint64, "[-1]", nil},
		{"C40 FP32 1e39", ascend.Float, "[1e39]", nil},
		{"C40 FP64 1e400", ascend.Double, "[1e400]", nil},
		{"C40 BOOL 1.0", ascend.Bool, "[1.0]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := strings.Count(c.data, ",") + 1
			word, _ := Datatype(c.dtype)
			got, err := DecodeRequest([]byte(x(word, "["+strconv.Itoa(n)+"]", c.data)), "", only(c.dtype, -1))
			if c.want == nil {
				wantError(t, err, 400, "value", `input "x"`, word)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Inputs[0].Data, c.want) {
				t.Errorf("got % x, want % x", got.Inputs[0].Data, c.want)
			}
		})
	}
}

func TestShapesInJSON(t *testing.T) {
	for _, c := range []struct {
		name, shape, data string
		dims              []int64
	}{
		{"C34 nested", "[2,1,2]", "[[[1,2]],[[3,4]]]", []int64{2, 1, 2}},
		{"C35 flat", "[2,1,2]", "[1,2,3,4]", []int64{2, 1, 2}},
		{"C35 scalar bare", "[]", "5", []int64{}},
		{"C35 scalar in a list", "[]", "[5]", []int64{}},
		{"C31 no rows, flat", "[0,3]", "[]", []int64{0, 3}},
		{"C31 empty rows, nested", "[2,0]", "[[],[]]", []int64{2, 0}},
		{"C31 empty rows, flat", "[2,0]", "[]", []int64{2, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			free := slices.Repeat([]int64{-1}, len(c.dims))
			got, err := DecodeRequest([]byte(x("UINT8", c.shape, c.data)), "", only(ascend.Uint8, free...))
			if err != nil {
				t.Fatal(err)
			}
			n, _ := ascend.Elements(c.dims)
			want := []byte{1, 2, 3, 4}[:n%5]
			if len(c.dims) == 0 {
				want = []byte{5}
			}
			if in := got.Inputs[0]; !slices.Equal(in.Shape, c.dims) || !bytes.Equal(in.Data, want) {
				t.Errorf("got %v % x, want %v % x", in.Shape, in.Data, c.dims, want)
			}
		})
	}
}

func TestRawRequests(t *testing.T) {
	half := only(ascend.Float16, -1, 2)
	for _, c := range []struct {
		name  string
		sig   Signature
		body  []byte
		shape []int64
		data  []byte // nil: body
		code  string
		says  string
	}{
		{"C72 fixed shape", only(ascend.Int16, 2), le(int16(1), int16(2)), []int64{2}, nil, "", ""},
		{"C72 the variable dim follows", half, make([]byte, 12), []int64{3, 2}, nil, "", ""},
		{"C72 BYTES are one element", only(ascend.String, 1), []byte("jpeg"), []int64{1}, append(le(uint32(4)), "jpeg"...), "", ""},
		{"C72 BYTES with a variable dim", only(ascend.String, -1, 1), nil, []int64{1, 1}, make([]byte, 4), "", ""},
		{"C72 BYTES of two elements", only(ascend.String, 2), []byte("jpeg"), nil, nil, "length", "expected 2 BYTES elements"},
		{"C72 length that fits no shape", half, make([]byte, 6), nil, nil, "shape", "multiple of 4 bytes for shape [-1,2], got 6"},
		{"C72 length that is no whole element", only(ascend.Float, -1), make([]byte, 10), nil, nil, "shape", "multiple of 4 bytes"},
		{"C72 wrong length for a fixed shape", only(ascend.Int16, 2), make([]byte, 6), nil, nil, "length", "expected 4 bytes for INT16 [2], got 6"},
		{"C72 empty body for a variable dim", half, nil, nil, nil, "shape", "got 0"},
		{"C72 a fixed dim of 0", only(ascend.Float, -1, 0), make([]byte, 8), nil, nil, "shape", "[-1,0]"},
		{"C72 a fixed dim of 0, empty body", only(ascend.Float, 3, 0), nil, []int64{3, 0}, nil, "", ""},
		{"C72 fixed dims that overflow", only(ascend.Double, math.MaxInt64, 4, -1), make([]byte, 8), nil, nil, "shape", "63 bits"},
		{"C72 a type without a word", only(ascend.Int4, 2), []byte{1}, nil, nil, "datatype", "int4"},
		{"C71 BOOL byte 2", only(ascend.Bool, -1), []byte{2}, nil, nil, "value", "got 2"},
		{"C73 two inputs", pair, make([]byte, 8), nil, nil, "header", "one input, this one has 2"},
		{"C74 two variable dims", only(ascend.Float, -1, -1), make([]byte, 8), nil, nil, "shape", "[-1,-1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := DecodeRequest(c.body, "0", c.sig)
			if c.code != "" {
				wantError(t, err, 400, c.code, c.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.data == nil {
				c.data = c.body
			}
			want := &Request{Inputs: []Tensor{{"x", c.sig.Inputs[0].DType, c.shape, c.data}}, Outputs: []Wanted{{"y", true}}}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}
