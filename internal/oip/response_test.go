package oip

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

func TestOutputsWithoutAJSONForm(t *testing.T) {
	sig := only(ascend.Float, 1)
	sig.Outputs = []Port{port("y", ascend.Float16, 1), port("n", ascend.Int8, 1), port("c", ascend.Complex64, 1)}
	ask := func(outputs string) error {
		_, err := DecodeRequest([]byte(strings.Replace(x("FP32", "[1]", "[1]"), "{", `{"outputs":[`+outputs+`],`, 1)), "", sig)
		return err
	}
	wantError(t, ask(`{"name":"y"}`), 400, "datatype", `output "y"`, "FP16 has no JSON form", "binary")
	wantError(t, ask(``), 400, "datatype", `output "y"`)
	wantError(t, ask(`{"name":"c"}`), 400, "datatype", `output "c"`, "complex64")
	if err := ask(`{"name":"n"},{"name":"y","parameters":{"binary_data":true}}`); err != nil {
		t.Error(err)
	}
}

func TestResponses(t *testing.T) {
	y := Tensor{"y", ascend.Float, []int64{1, 2}, le(float32(0.1), float32(-1e-7))}
	h := Tensor{"h", ascend.Float16, []int64{1}, []byte{0, 0x3c}}
	s := Tensor{"s", ascend.String, []int64{1}, append(le(uint32(3)), "a\"\n"...)}
	jsonY := `{"name":"y","datatype":"FP32","shape":[1,2],"data":[0.1,-1e-07]}`
	jsonS := `{"name":"s","datatype":"BYTES","shape":[1],"data":["a\"\u000a"]}`
	binH := `{"name":"h","datatype":"FP16","shape":[1],"parameters":{"binary_data_size":2}}`
	binS := `{"name":"s","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":7}}`
	for _, c := range []struct {
		name  string
		r     Response
		head  string
		blobs []byte // nil: no header
	}{
		{"C20 C21 id, model name and version", Response{Model: "m/é", Version: "1", ID: "a\"\x01", Outputs: []Tensor{y}},
			`{"model_name":"m/é","model_version":"1","id":"a\"\u0001","outputs":[` + jsonY + `]}`, nil},
		{"C20 no id is invented", Response{Model: "m", Outputs: []Tensor{y, s}},
			`{"model_name":"m","outputs":[` + jsonY + `,` + jsonS + `]}`, nil},
		{"C64 C70 mixed", Response{Model: "m", Outputs: []Tensor{h, y, s}, Binary: []bool{true, false, true}},
			`{"model_name":"m","outputs":[` + binH + `,` + jsonY + `,` + binS + `]}`, append(slices.Clone(h.Data), s.Data...)},
		{"C75 no binary parts, no header", Response{Model: "m", Outputs: []Tensor{y}, Binary: []bool{false}},
			`{"model_name":"m","outputs":[` + jsonY + `]}`, nil},
		{"C81 real dims, none of them filled", Response{Model: "m", Outputs: []Tensor{{"y", ascend.Int8, []int64{0, 3}, nil}}},
			`{"model_name":"m","outputs":[{"name":"y","datatype":"INT8","shape":[0,3],"data":[]}]}`, nil},
		{"C75 empty binary part", Response{Model: "m", Outputs: []Tensor{{"y", ascend.Int8, []int64{0}, nil}}, Binary: []bool{true}},
			`{"model_name":"m","outputs":[{"name":"y","datatype":"INT8","shape":[0],"parameters":{"binary_data_size":0}}]}`, []byte{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, n, err := c.r.Append([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			wantN := len(c.head)
			if c.blobs == nil {
				wantN = -1
			}
			if want := "before" + c.head + string(c.blobs); string(out) != want || n != wantN {
				t.Errorf("got %d %q\nwant %d %q", n, out, wantN, want)
			}
			if !json.Valid([]byte(c.head)) {
				t.Errorf("not JSON: %s", c.head)
			}
		})
	}
}

func TestResponsesThatCannotBeWritten(t *testing.T) {
	nan := le(float32(1), float32(math.NaN()))
	for _, c := range []struct {
		name   string
		t      Tensor
		binary bool
		status int
		code   string
		says   string
	}{
		{"C41 NaN in JSON", Tensor{"y", ascend.Float, []int64{2}, nan}, false, 400, "nonfinite", "element 1 is NaN or Inf"},
		{"C41 Inf in JSON", Tensor{"y", ascend.Double, []int64{1}, le(math.Inf(-1))}, false, 400, "nonfinite", "binary"},
		{"C42 FP16 in JSON", Tensor{"y", ascend.Float16, []int64{1}, []byte{0, 0}}, false, 400, "datatype", "FP16"},
		{"C43 BF16 in JSON", Tensor{"y", ascend.BFloat16, []int64{1}, []byte{0, 0}}, false, 400, "datatype", "BF16"},
		{"BYTES that are not UTF-8 in JSON", Tensor{"y", ascend.String, []int64{1}, append(le(uint32(1)), 0xff)}, false, 400, "value", "UTF-8"},
		{"data that does not fit", Tensor{"y", ascend.Float, []int64{2}, nan[:7]}, true, 500, "length", "expected 8 bytes for FP32 [2], got 7"},
		{"BYTES that do not fit", Tensor{"y", ascend.String, []int64{1}, []byte{9, 0, 0, 0}}, false, 500, "length", "expected 9 bytes, got 0"},
		{"a shape that was never resolved", Tensor{"y", ascend.Float, []int64{-1}, nil}, true, 500, "shape", "[-1]"},
		{"a type without a word", Tensor{"y", ascend.Int4, []int64{2}, []byte{1}}, true, 500, "datatype", "int4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Response{Model: "m", Outputs: []Tensor{c.t}, Binary: []bool{c.binary}}
			_, _, err := r.Append(nil)
			wantError(t, err, c.status, c.code, `output "y"`, c.says)
		})
	}
	r := Response{Outputs: []Tensor{{"y", ascend.Float, []int64{2}, nan}}, Binary: []bool{true}}
	if _, _, err := r.Append(nil); err != nil {
		t.Errorf("C41 NaN as binary data: %v", err)
	}
}

func TestResponsesAreReadBack(t *testing.T) {
	h := Tensor{"h", ascend.Float16, []int64{1}, []byte{0, 0x3c}}
	y := Tensor{"y", ascend.Float, []int64{}, le(float32(0.1))}
	sent := &Response{Model: "m", Version: "3", ID: "é", Outputs: []Tensor{y, h}, Binary: []bool{false, true}}
	body, n, err := sent.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeResponse(body, fmt.Sprint(n))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestResponsesOfOtherServers(t *testing.T) {
	body := `{"id":null,"model_version":null,"parameters":{"a":1},"error":null,"outputs":[
		{"data":[[1],[2]],"shape":[2,1],"parameters":{"class":"q"},"datatype":"UINT8","name":"y"}]}`
	want := &Response{Outputs: []Tensor{{"y", ascend.Uint8, []int64{2, 1}, []byte{1, 2}}}, Binary: []bool{false}}
	got, err := DecodeResponse([]byte(body), "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestResponsesThatAreRefused(t *testing.T) {
	y := `{"name":"y","datatype":"UINT8","shape":[1],"data":[1]}`
	ones := strings.Repeat("1,", maxRank-1) + "1"
	for _, c := range []struct{ name, body, header, code, says string }{
		{"an error", `{"error":"no such model"}`, "", "server", "no such model"},
		{"no outputs", `{"model_name":"m"}`, "", "name", "got none"},
		{"output twice", `{"outputs":[` + y + `,` + y + `]}`, "", "name", "twice"},
		{"no data", `{"outputs":[{"name":"y","datatype":"UINT8","shape":[1]}]}`, "", "data", "got neither"},
		{"gigabytes claimed", `{"outputs":[{"name":"y","datatype":"FP64","shape":[1000000000],"data":[]}]}`, "", "length", "got 0"},
		{"NaN", `{"outputs":[{"name":"y","datatype":"FP64","shape":[1],"data":[NaN]}]}`, "", "nonfinite", "binary"},
		{"a rank beyond reason", `{"outputs":[{"name":"y","datatype":"UINT8","shape":[` + ones + `,1],"data":[1]}]}`, "", "shape", "32 dims"},
		{"not JSON", "<html>", "", "json", "'<'"},
		{"header 0", y, "0", "json", "the end"},
		{"header too long", y, "999", "header", "999"},
		{"binary data without a header", `{"outputs":[{"name":"y","datatype":"UINT8","shape":[1],"parameters":{"binary_data_size":1}}]}`, "", "header", HeaderLength},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeResponse([]byte(c.body), c.header)
			wantError(t, err, 502, c.code, c.says)
		})
	}
	many := make([]string, maxOutputs+1)
	for i := range many {
		many[i] = strings.Replace(y, `"y"`, fmt.Sprintf(`"y%d"`, i), 1)
	}
	_, err := DecodeResponse([]byte(`{"outputs":[`+strings.Join(many, ",")+`]}`), "")
	wantError(t, err, 502, "name", "at most 4096")
	deep := strings.Repeat("[", maxRank) + "1" + strings.Repeat("]", maxRank)
	if _, err := DecodeResponse([]byte(`{"outputs":[{"name":"y","datatype":"UINT8","shape":[`+ones+`],"data":`+deep+`}]}`), ""); err != nil {
		t.Errorf("the largest rank, nested: %v", err)
	}
}

func TestMetadata(t *testing.T) {
	sig := Signature{
		Inputs:  []Port{port("image", ascend.Float, -1, 1, 8, 8), port("scale", ascend.BFloat16)},
		Outputs: []Port{port("q", ascend.Float8E4M3FN, 2)},
	}
	got, err := json.Marshal(sig.Metadata("digits", "onnx_onnxv1", "1"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"digits","versions":["1"],"platform":"onnx_onnxv1",` +
		`"inputs":[{"name":"image","datatype":"FP32","shape":[-1,1,8,8]},{"name":"scale","datatype":"BF16","shape":[]}],` +
		`"outputs":[{"name":"q","datatype":"FLOAT8E4M3FN","shape":[2]}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	empty, _ := json.Marshal(Signature{}.Metadata("m", "p"))
	if want := `{"name":"m","platform":"p","inputs":[],"outputs":[]}`; string(empty) != want {
		t.Errorf("got  %s\nwant %s", empty, want)
	}
}

func TestMetadataIsReadBack(t *testing.T) {
	back, err := pair.Metadata("m", "p").Signature()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pair, back); diff != "" {
		t.Errorf("signature (-want +got):\n%s", diff)
	}
	twice := Metadata{Outputs: []PortMetadata{{"y", "FP32", nil}, {"y", "FP32", nil}}}
	_, err = twice.Signature()
	wantError(t, err, 502, "name", `output "y"`, "twice in outputs")
	_, err = Metadata{Inputs: []PortMetadata{{"x", "FP31", nil}}}.Signature()
	wantError(t, err, 502, "datatype", `input "x"`, `"FP31"`)
}
