package oip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// The names C.. of the cases are the lines of the project's conformance list;
// those about HTTP are tested where HTTP is spoken.

func port(name string, d ascend.DType, shape ...int64) Port {
	return Port{Name: name, DType: d, Dims: append([]int64{}, shape...), DimNames: make([]string, len(shape))}
}

// pair takes a float [-1,2] and an int64 [3] and gives the same.
var pair = Signature{
	Inputs:  []Port{port("x", ascend.Float, -1, 2), port("k", ascend.Int64, 3)},
	Outputs: []Port{port("y", ascend.Float, -1, 2), port("n", ascend.Int64, 3)},
}

// only is a model with one input x and one output y of the same type.
func only(d ascend.DType, shape ...int64) Signature {
	return Signature{[]Port{port("x", d, shape...)}, []Port{port("y", ascend.Float, -1)}}
}

// le packs values little endian.
func le(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// frame puts JSON and binary data together as a client does.
func frame(head string, blobs ...[]byte) (body []byte, headerLength string) {
	return append([]byte(head), bytes.Join(blobs, nil)...), strconv.Itoa(len(head))
}

func wantError(t *testing.T, err error, status int, code string, parts ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if e.Status != status || e.Code != code {
		t.Errorf("got %d %s (%s), want %d %s", e.Status, e.Code, e.Msg, status, code)
	}
	for _, part := range parts {
		if !strings.Contains(e.Msg, part) {
			t.Errorf("message %q does not say %q", e.Msg, part)
		}
	}
	if strings.ContainsAny(e.Msg, "\n\r") || len(e.Msg) > 400 {
		t.Errorf("message is not one short line: %q", e.Msg)
	}
}

const (
	goodX = `{"name":"x","shape":[1,2],"datatype":"FP32","data":[1.5,-2]}`
	goodK = `{"name":"k","shape":[3],"datatype":"INT64","data":[7,8,9]}`
)

// infer wraps inputs (and more fields) in a request.
func infer(inputs string, more ...string) string {
	return `{"inputs":[` + inputs + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// x is a request for only() with that shape and data.
func x(word, shape, data string) string {
	return infer(`{"name":"x","datatype":"` + word + `","shape":` + shape + `,"data":` + data + `}`)
}

// refusal is a request that is answered with 400.
type refusal struct {
	name   string
	sig    Signature
	body   string
	header string
	code   string
	says   []string
}

func refused(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeRequest([]byte(c.body), c.header, c.sig)
			wantError(t, err, 400, c.code, c.says...)
		})
	}
}

func TestNamesAndTypesThatAreRefused(t *testing.T) {
	float := only(ascend.Float, -1, 2)
	refused(t, []refusal{
		{"C20 an id that is no string", pair, infer(goodX+","+goodK, `"id":7`), "", "json", []string{fmt.Sprint("byte ", strings.Index(infer(goodX+","+goodK, `"id":7`), `7}`)), "id in quotes", "'7'"}},
		{"C23 output named twice", pair, infer(goodX+","+goodK, `"outputs":[{"name":"y"},{"name":"n"},{"name":"y"}]`), "", "name", []string{`output "y"`, "twice"}},
		{"C24 unknown output", pair, infer(goodX+","+goodK, `"outputs":[{"name":"q"}]`), "", "name", []string{`output "q"`, "no such output"}},
		{"C24 output without a name", pair, infer(goodX+","+goodK, `"outputs":[{}]`), "", "name", []string{"without a name"}},
		{"C25 unknown input", pair, infer(goodX + `,{"name":"q","shape":[1],"datatype":"FP32","data":[1]}`), "", "name", []string{`input "q"`, "no such input"}},
		{"C26 missing input", pair, infer(goodX), "", "name", []string{`input "k"`, "got none"}},
		{"C26 no inputs at all", pair, `{"id":"a"}`, "", "name", []string{`input "x"`}},
		{"C27 input twice", pair, infer(goodX + "," + goodX), "", "name", []string{`input "x"`, "twice"}},
		{"C28 wrong datatype", float, x("FP64", "[1,2]", "[1,2]"), "", "datatype", []string{`input "x"`, "expected datatype FP32, got FP64"}},
		{"C28 float8 has no word", only(ascend.Float8E5M2, 1), x("FP32", "[1]", "[1]"), "", "datatype", []string{"expected datatype float8e5m2, got FP32"}},
		{"C29 unknown datatype", float, x("FLOAT", "[1,2]", "[1,2]"), "", "datatype", []string{`"FLOAT"`}},
		{"C29 lower case datatype", float, x("fp32", "[1,2]", "[1,2]"), "", "datatype", []string{`"fp32"`}},
		{"C29 empty datatype", float, x("", "[1,2]", "[1,2]"), "", "datatype", []string{`""`}},
		{"C29 no datatype", float, infer(`{"name":"x","shape":[1,2],"data":[1,2]}`), "", "datatype", []string{`input "x"`}},
	})
}

func TestShapesAndValuesThatAreRefused(t *testing.T) {
	float := only(ascend.Float, -1, 2)
	refused(t, []refusal{
		{"C30 wrong rank", float, x("FP32", "[2]", "[1,2]"), "", "shape", []string{"expected 2 dims [-1,2], got 1: [2]"}},
		{"C30 wrong dim", float, x("FP32", "[1,3]", "[1,2,3]"), "", "shape", []string{"expected shape [-1,2], got [1,3]", "axis 1 is 3"}},
		{"C30 no shape", float, infer(`{"name":"x","datatype":"FP32","data":[1,2]}`), "", "shape", []string{"expected a shape"}},
		{"C30 dim that is no whole number", float, x("FP32", "[1.0,2]", "[1,2]"), "", "shape", []string{"1.0"}},
		{"C30 dim beyond 64 bits", float, x("FP32", "[9223372036854775808,2]", "[]"), "", "shape", []string{"9223372036854775808"}},
		{"C30 dim in quotes", float, x("FP32", `["1",2]`, "[1,2]"), "", "json", []string{"number"}},
		{"C30 a million dims", float, x("FP32", "[1"+strings.Repeat(",1", 1e6)+"]", "[1]"), "", "shape", []string{"32 dims"}},
		{"C31 too few elements", float, x("FP32", "[2,2]", "[1,2,3]"), "", "length", []string{`input "x"`, "expected 4 elements", "[2,2]", "got 3"}},
		{"C31 too many elements", float, x("FP32", "[1,2]", "[1,2,3,4,5]"), "", "length", []string{"expected 2", "got 5"}},
		{"C31 a shape of gigabytes without data", float, x("FP32", "[1000000000,2]", "[]"), "", "length", []string{"expected 2000000000", "got 0"}},
		{"C31 no data", float, infer(`{"name":"x","datatype":"FP32","shape":[1,2]}`), "", "data", []string{"got neither"}},
		{"C32 negative dim", float, x("FP32", "[-1,2]", "[1,2]"), "", "shape", []string{"0 or more", "[-1,2]"}},
		{"C33 product overflow", float, x("FP32", "[9223372036854775807,2]", "[1,2]"), "", "shape", []string{"63 bits"}},
		{"C33 byte size overflow", float, x("FP32", "[1152921504606846976,2]", "[1,2]"), "", "shape", []string{"63 bits"}},
		{"C33 overflow behind a zero", only(ascend.Float, -1, -1, -1), x("FP32", "[4611686018427387904,4,0]", "[]"), "", "shape", []string{"63 bits"}},
		{"C36 ragged, short row", float, x("FP32", "[2,2]", "[[1,2],[3]]"), "", "length", []string{"list of 2, got 1"}},
		{"C36 ragged, long row", float, x("FP32", "[2,2]", "[[1,2],[3,4,5]]"), "", "length", []string{"list of 2, got more"}},
		{"C36 ragged, row missing", float, x("FP32", "[2,2]", "[[1,2]]"), "", "length", []string{"list of 2, got 1"}},
		{"C36 ragged, number among rows", float, x("FP32", "[2,2]", "[[1,2],3]"), "", "json", []string{"array", "'3'"}},
		{"C36 ragged, row among numbers", float, x("FP32", "[2,2]", "[1,2,[3,4]]"), "", "json", []string{"number", "'['"}},
		{"C36 nested too deep", float, x("FP32", "[1,2]", "[[[1],[2]]]"), "", "json", []string{"number", "'['"}},
		{"C36 nested otherwise than the shape", only(ascend.Float, 2, 2, 2), x("FP32", "[2,2,2]", "[[1,2,3,4],[5,6,7,8]]"), "", "json", []string{"array"}},
		{"C39 fraction for an integer", only(ascend.Int32, 1), x("INT32", "[1]", "[1.5]"), "", "value", []string{`input "x"`, "whole number for INT32", "1.5"}},
		{"C39 1.0 for an integer", only(ascend.Int32, 1), x("INT32", "[1]", "[1.0]"), "", "value", []string{"1.0"}},
		{"C39 exponent for an integer", only(ascend.Uint64, 1), x("UINT64", "[1]", "[1e3]"), "", "value", []string{"UINT64", "1e3"}},
		{"C41 NaN in JSON", float, x("FP32", "[1,2]", "[NaN,1]"), "", "nonfinite", []string{"binary"}},
		{"C41 minus infinity in JSON", float, x("FP32", "[1,2]", "[1,-Infinity]"), "", "nonfinite", []string{"binary"}},
		{"C41 null in JSON", float, x("FP32", "[1,2]", "[null,1]"), "", "json", []string{"number", "'n'"}},
		{"C41 number in quotes", float, x("FP32", "[1,2]", `["NaN",1]`), "", "json", []string{"number"}},
		{"C42 FP16 in JSON", only(ascend.Float16, 1), x("FP16", "[1]", "[1]"), "", "datatype", []string{"FP16 has no JSON form", "binary"}},
		{"C43 BF16 in JSON", only(ascend.BFloat16, 1), x("BF16", "[1]", "[1]"), "", "datatype", []string{"BF16 has no JSON form"}},
		{"C44 BYTES to a float input", float, x("BYTES", "[1,2]", `["a","b"]`), "", "datatype", []string{"expected datatype FP32, got BYTES"}},
		{"C44 number for BYTES", only(ascend.String, 1), x("BYTES", "[1]", "[1]"), "", "json", []string{"string"}},
	})
}

func TestJSONThatIsRefused(t *testing.T) {
	float := only(ascend.Float, -1, 2)
	deep := strings.Repeat("[", 1e5)
	refused(t, []refusal{
		{"C45 empty inputs", pair, `{"inputs":[]}`, "", "name", []string{`input "x"`, "got none"}},
		{"C45 null inputs", pair, `{"inputs":null}`, "", "json", []string{"array"}},
		{"C46 empty body", pair, "", "", "json", []string{"byte 0", "object", "the end"}},
		{"C46 a list", pair, "[]", "", "json", []string{"object"}},
		{"C46 cut short", pair, infer(goodX + "," + goodK)[:90], "", "json", []string{"the end"}},
		{"C46 two objects", pair, infer(goodX+","+goodK) + "{}", "", "json", []string{"end of the JSON"}},
		{"C46 comma before the close", pair, infer(goodX+","+goodK, `"id":"a",`), "", "json", []string{"key in quotes", "'}'"}},
		{"C46 comma at the end of data", float, x("FP32", "[1,2]", "[1,2,]"), "", "json", []string{"number", "']'"}},
		{"C46 leading zero", float, x("FP32", "[1,2]", "[01,2]"), "", "json", []string{"','", "'1'"}},
		{"C46 hexadecimal", float, x("FP32", "[1,2]", "[0x1,2]"), "", "json", []string{"'x'"}},
		{"C46 plus sign", float, x("FP32", "[1,2]", "[+1,2]"), "", "json", []string{"'+'"}},
		{"C46 no digit after the point", float, x("FP32", "[1,2]", "[1.,2]"), "", "json", []string{"digit"}},
		{"C46 brackets crossed", float, infer(`{"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2}]`), "", "json", nil},
		{"C46 not UTF-8", pair, infer(goodX+","+goodK, "\"id\":\"\xff\""), "", "json", []string{"UTF-8"}},
		{"C46 not UTF-8 beside an escape", pair, infer(goodX+","+goodK, "\"id\":\"\\n\xff\""), "", "json", []string{"UTF-8"}},
		{"C46 line break in a string", pair, infer(goodX+","+goodK, "\"id\":\"\n\""), "", "json", []string{"control character"}},
		{"C46 line break beside an escape", pair, infer(goodX+","+goodK, "\"id\":\"\\n\n\""), "", "json", []string{"control character"}},
		{"C46 unknown escape", pair, infer(goodX+","+goodK, `"id":"\x41"`), "", "json", []string{"an escape, got 'x'"}},
		{"C46 half a surrogate pair", pair, infer(goodX+","+goodK, `"id":"\ud83d"`), "", "json", []string{"surrogate"}},
		{"C46 surrogates in the wrong order", pair, infer(goodX+","+goodK, `"id":"\ude00\ud83d"`), "", "json", []string{"surrogate"}},
		{"C46 escape of three digits", pair, infer(goodX+","+goodK, `"id":"\u00e"`), "", "json", []string{"hexadecimal"}},
		{"C46 no colon", pair, `{"id" "a"}`, "", "json", []string{"':'"}},
		{"C46 a word that is none", pair, `{"id":nil}`, "", "json", []string{"a value, got 'n'"}},
		{"C46 a comment", pair, "/* hi */" + infer(goodX+","+goodK), "", "json", []string{"'/'"}},
		{"C47 brackets in data", float, x("FP32", "[1,2]", deep), "", "json", nil},
		{"C47 closed brackets in data", float, x("FP32", "[1,2]", deep+strings.Repeat("]", 1e5)), "", "json", nil},
		{"C47 brackets in an unknown field", pair, infer(goodX+","+goodK, `"q":`+deep), "", "json", []string{"deeper"}},
		{"C47 brackets instead of a request", pair, deep, "", "json", nil},
		{"C47 objects in parameters", pair, infer(goodX+","+goodK, `"parameters":{"a":`+strings.Repeat(`{"a":`, 1e5)), "", "json", []string{"deeper"}},
		{"C48 key twice in the request", pair, infer(goodX+","+goodK, `"id":"a","id":"b"`), "", "json", []string{`"id"`, "twice"}},
		{"C48 key twice in an input", float, infer(`{"name":"x","name":"x"}`), "", "json", []string{`"name"`, "twice"}},
		{"C48 parameter twice", pair, infer(goodX+","+goodK, `"parameters":{"a":1,"a":2}`), "", "json", []string{`"a"`, "twice"}},
		{"C50 more parameters than can be meant", pair, infer(goodX+","+goodK, `"parameters":{`+manyParameters(300)+`}`), "", "parameter", []string{"256"}},
	})
}

func TestFramesThatAreRefused(t *testing.T) {
	float := only(ascend.Float, -1, 2)
	size := func(n string) string {
		return infer(`{"name":"x","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":`+n+`}}`, `"y":0`)
	}
	refused(t, []refusal{
		{"C62 binary_data_output that is no bool", pair, infer(goodX+","+goodK, `"parameters":{"binary_data_output":1}`), "", "json", []string{"binary_data_output"}},
		{"C63 binary_data that is no bool", pair, infer(goodX+","+goodK, `"outputs":[{"name":"y","parameters":{"binary_data":"yes"}}]`), "", "json", []string{"binary_data"}},
		{"C65 header longer than the body", float, size("8"), "5000", "header", []string{HeaderLength, "got 5000"}},
		{"C65 header cuts the JSON", float, x("FP32", "[1,2]", "[1,2]"), "20", "json", []string{"the end"}},
		{"C65 binary data without the header", float, size("8"), "", "header", []string{HeaderLength}},
		{"C66 negative header", float, size("8"), "-1", "header", []string{`"-1"`}},
		{"C66 header that is no number", float, size("8"), "ten", "header", []string{`"ten"`}},
		{"C66 header beyond 64 bits", float, size("8"), "99999999999999999999", "header", nil},
		{"C67 negative size", float, size("-8"), "", "parameter", []string{"binary_data_size", "-8"}},
		{"C67 size that is no whole number", float, size("8.0"), "", "parameter", []string{"8.0"}},
		{"C67 size beyond 64 bits", float, size("9223372036854775808"), "", "parameter", nil},
		{"C67 size in quotes", float, size(`"8"`), "", "json", []string{"number"}},
	})
}

func manyParameters(n int) string {
	var p []string
	for i := range n {
		p = append(p, fmt.Sprintf(`"p%d":%d`, i, i))
	}
	return strings.Join(p, ",")
}

func TestBinaryRequestsThatAreRefused(t *testing.T) {
	entry := func(name, word, shape string, size int, more string) string {
		return fmt.Sprintf(`{"name":%q,"shape":%s,"datatype":%q,"parameters":{"binary_data_size":%d}%s}`, name, shape, word, size, more)
	}
	for _, c := range []struct {
		name  string
		sig   Signature
		input string
		blob  []byte
		code  string
		says  []string
	}{
		{"C67 size is not that of the shape", only(ascend.Float, -1, 2), entry("x", "FP32", "[2,2]", 8, ""), make([]byte, 8), "length", []string{"expected 16 bytes for FP32 [2,2], got 8"}},
		{"C67 BYTES with fewer elements", only(ascend.String, -1), entry("x", "BYTES", "[2]", 5, ""), le(uint32(1), 'a')[:5], "length", []string{"expected 2 BYTES elements", "got 1"}},
		{"C67 BYTES element longer than the data", only(ascend.String, -1), entry("x", "BYTES", "[1]", 6, ""), append(le(uint32(math.MaxUint32)), "ab"...), "length", []string{"expected 4294967295 bytes, got 2"}},
		{"C67 BYTES element one byte longer than the data", only(ascend.String, -1), entry("x", "BYTES", "[1]", 6, ""), append(le(uint32(3)), "ab"...), "length", []string{"expected 3 bytes, got 2"}},
		{"C67 BYTES with more elements", only(ascend.String, -1), entry("x", "BYTES", "[1]", 8, ""), make([]byte, 8), "length", []string{"expected 1 BYTES elements", "got 2"}},
		{"C67 BYTES cut in a length", only(ascend.String, -1), entry("x", "BYTES", "[1]", 3, ""), []byte{1, 0, 0}, "length", []string{"4 bytes of length, got 3"}},
		{"C67 gigabytes of BYTES claimed", only(ascend.String, -1), entry("x", "BYTES", "[1000000000]", 0, ""), nil, "length", []string{"1000000000"}},
		{"C68 more bytes than the sizes say", only(ascend.Float, -1, 2), entry("x", "FP32", "[1,2]", 8, ""), make([]byte, 11), "length", []string{"3 more bytes"}},
		{"C68 fewer bytes than the sizes say", only(ascend.Float, -1, 2), entry("x", "FP32", "[1,2]", 8, ""), make([]byte, 7), "length", []string{`input "x"`, "expected 8 bytes", "got 7"}},
		{"C69 data and binary_data_size", only(ascend.Float, -1, 2), entry("x", "FP32", "[1,2]", 8, `,"data":[1,2]`), make([]byte, 8), "data", []string{"both"}},
		{"C71 BOOL byte 2", only(ascend.Bool, 3), entry("x", "BOOL", "[3]", 3, ""), []byte{0, 1, 2}, "value", []string{"element 2", "got 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, header := frame(infer(c.input), c.blob)
			_, err := DecodeRequest(body, header, c.sig)
			wantError(t, err, 400, c.code, c.says...)
		})
	}
}

func TestRequestsThatAreRead(t *testing.T) {
	tx := Tensor{"x", ascend.Float, []int64{1, 2}, le(float32(1.5), float32(-2))}
	tk := Tensor{"k", ascend.Int64, []int64{3}, le(int64(7), int64(8), int64(9))}
	both := func(more ...string) string { return infer(goodX+","+goodK, more...) }
	all := func(binary bool) []Wanted { return []Wanted{{"y", binary}, {"n", binary}} }
	bin := func(name, word, shape string, size int) string {
		return fmt.Sprintf(`{"name":%q,"shape":%s,"datatype":%q,"parameters":{"binary_data_size":%d}}`, name, shape, word, size)
	}
	for _, c := range []struct {
		name  string
		head  string
		blobs [][]byte // nil: no header
		want  Request
	}{
		{"C19 minimal request", both(), nil, Request{Outputs: all(false)}},
		{"C19 inputs in another order", infer(goodK + "," + goodX), nil, Request{Outputs: all(false)}},
		{"C20 id", both(`"id":"a\u00e9\ud83d\ude00\n"`), nil, Request{ID: "aé😀\n", Outputs: all(false)}},
		{"C20 null id", both(`"id":null`), nil, Request{Outputs: all(false)}},
		{"C22 outputs subset", both(`"outputs":[{"name":"n"}]`), nil, Request{Outputs: []Wanted{{"n", false}}}},
		{"C22 outputs in the order of the request", both(`"outputs":[{"name":"n"},{"name":"y"}]`), nil, Request{Outputs: []Wanted{{"n", false}, {"y", false}}}},
		{"C22 empty outputs means all", both(`"outputs":[]`), nil, Request{Outputs: all(false)}},
		{"C22 null outputs means all", both(`"outputs":null`), nil, Request{Outputs: all(false)}},
		{"C34 nested data", infer(strings.Replace(goodX, "[1.5,-2]", " [ [ 1.5 , -2 ] ] ", 1) + "," + goodK), nil, Request{Outputs: all(false)}},
		{"C48 unknown key twice", both(`"q":1,"q":[{}]`), nil, Request{Outputs: all(false)}},
		{"C48 keys are case sensitive", both(`"ID":7,"Inputs":{}`), nil, Request{Outputs: all(false)}},
		{"C49 unknown fields", strings.Replace(both(`"model_name":"m","q":{"a":[1,{"b":null}],"c":true}`), `"name":"x"`, `"name":"x","why":[false]`, 1), nil, Request{Outputs: all(false)}},
		{"C50 unknown parameters are kept for the server", both(`"parameters":{"timeout":2500,"f":0.5,"s":"t","b":true,"big":18446744073709551615,"l":[1],"o":{},"z":null}`), nil,
			Request{Params: map[string]any{"timeout": int64(2500), "f": 0.5, "s": "t", "b": true, "big": float64(math.MaxUint64)}, Outputs: all(false)}},
		{"C50 unknown tensor parameters", strings.Replace(both(), `"name":"x"`, `"name":"x","parameters":{"shared_memory_offset":0,"q":[]}`, 1), nil, Request{Outputs: all(false)}},
		{"C50 null parameters", both(`"parameters":null`), nil, Request{Outputs: all(false)}},
		{"C60 one binary input", infer(bin("x", "FP32", "[1,2]", 8) + "," + goodK), [][]byte{tx.Data}, Request{Outputs: all(false)}},
		{"C61 binary inputs follow the order of the JSON", infer(bin("k", "INT64", "[3]", 24) + "," + bin("x", "FP32", "[1,2]", 8)), [][]byte{tk.Data, tx.Data}, Request{Outputs: all(false)}},
		{"C61 JSON before binary", infer(goodX + "," + bin("k", "INT64", "[3]", 24)), [][]byte{tk.Data}, Request{Outputs: all(false)}},
		{"C61 a header with JSON only", both(), [][]byte{nil}, Request{Outputs: all(false)}},
		{"C61 null data beside binary data", infer(strings.Replace(bin("x", "FP32", "[1,2]", 8), "{", `{"data":null,`, 1) + "," + goodK), [][]byte{tx.Data}, Request{Outputs: all(false)}},
		{"C62 binary_data_output", both(`"parameters":{"binary_data_output":true}`), nil,
			Request{Params: map[string]any{"binary_data_output": true}, Outputs: all(true)}},
		{"C63 binary_data overrides", `{"outputs":[{"name":"y","parameters":{"binary_data":false}},{"name":"n"}],` + both(`"parameters":{"binary_data_output":true}`)[1:], nil,
			Request{Params: map[string]any{"binary_data_output": true}, Outputs: []Wanted{{"y", false}, {"n", true}}}},
		{"C64 mixed outputs", both(`"outputs":[{"name":"y","parameters":{"binary_data":true}},{"name":"n","parameters":{"binary_data":null}}]`), nil,
			Request{Outputs: []Wanted{{"y", true}, {"n", false}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, header := frame(c.head, c.blobs...)
			if c.blobs == nil {
				header = ""
			}
			got, err := DecodeRequest(body, header, pair)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Inputs = []Tensor{tx, tk}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}
