package oip

import (
	"encoding/json"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// dtypes are all that the protocol has a word for.
func dtypes() []ascend.DType {
	var all []ascend.DType
	for d := range words {
		if _, ok := Datatype(ascend.DType(d)); ok {
			all = append(all, ascend.DType(d))
		}
	}
	return all
}

func TestDatatypesAreThoseOfTheProtocol(t *testing.T) {
	if n := len(dtypes()); n != 14 {
		t.Errorf("got %d datatypes, want 14", n)
	}
	for _, d := range dtypes() {
		word, _ := Datatype(d)
		if back, ok := ParseDatatype(word); !ok || back != d {
			t.Errorf("%s reads back as %s", d, back)
		}
	}
	for _, d := range []ascend.DType{ascend.Undefined, ascend.Complex64, ascend.Uint4, 200} {
		if word, ok := Datatype(d); ok {
			t.Errorf("%s has the word %s", d, word)
		}
	}
}

// drawTensor makes a tensor of any datatype and up to 3 dims; finite keeps
// NaN, Inf and text that is not UTF-8 out.
func drawTensor(t *rapid.T, name string, finite bool) Tensor {
	all := dtypes()
	if finite {
		all = append(all[:0:0], all...)
		for i := len(all) - 1; i >= 0; i-- {
			if !inJSON(all[i]) {
				all = append(all[:i], all[i+1:]...)
			}
		}
	}
	d := rapid.SampledFrom(all).Draw(t, "dtype")
	shape := append([]int64{}, rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, "shape")...)
	n, _ := ascend.Elements(shape)
	data := []byte{}
	for range n {
		data = append(data, drawElement(t, d, finite)...)
	}
	return Tensor{name, d, shape, data}
}

func drawElement(t *rapid.T, d ascend.DType, finite bool) []byte {
	switch {
	case d == ascend.Bool:
		return []byte{rapid.ByteRange(0, 1).Draw(t, "bool")}
	case d == ascend.String && finite:
		s := rapid.String().Draw(t, "text")
		return append(le(uint32(len(s))), s...)
	case d == ascend.String:
		s := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")
		return append(le(uint32(len(s))), s...)
	case d == ascend.Float && finite:
		return le(float32(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, "float")))
	case d == ascend.Double && finite:
		return le(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "double"))
	}
	size, _ := d.Size(1)
	return rapid.SliceOfN(rapid.Byte(), int(size), int(size)).Draw(t, "element")
}

// portsOf makes a signature that takes those tensors, with some dims variable.
func portsOf(t *rapid.T, tensors []Tensor) []Port {
	var all []Port
	for _, in := range tensors {
		p := port(in.Name, in.DType, in.Shape...)
		for i := range p.Dims {
			if rapid.Bool().Draw(t, "variable") {
				p.Dims[i] = -1
			}
		}
		all = append(all, p)
	}
	return all
}

func headerOf(n int) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func TestRequestsComeBackAsTheyWent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		binary := rapid.Bool().Draw(t, "binary")
		want := &Request{ID: rapid.String().Draw(t, "id"), Params: map[string]any{"binary_data_output": true, "timeout": int64(5)}}
		for _, name := range []string{"x", "é\"\\\n", "z"}[:rapid.IntRange(1, 3).Draw(t, "inputs")] {
			want.Inputs = append(want.Inputs, drawTensor(t, name, !binary))
		}
		sig := Signature{portsOf(t, want.Inputs), []Port{port("y", ascend.Float16, 1), port("n", ascend.Int8, 1)}}
		if rapid.Bool().Draw(t, "some") {
			want.Outputs = []Wanted{{"n", false}}
		}
		body, n, err := AppendRequest([]byte("before"), want, binary)
		if err != nil {
			t.Fatal(err)
		}
		body = body[len("before"):]
		if binary != (n >= 0) {
			t.Fatalf("header length %d for binary %v", n, binary)
		}
		if head := body[:max(n, 0)]; !binary {
			if !json.Valid(body) {
				t.Fatalf("not JSON: %s", body)
			}
		} else if !json.Valid(head) {
			t.Fatalf("not JSON: %s", head)
		}
		got, err := DecodeRequest(body, headerOf(n), sig)
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if want.Outputs == nil {
			want.Outputs = []Wanted{{"y", true}, {"n", true}}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("request (-want +got):\n%s", diff)
		}
	})
}

func TestResponsesComeBackAsTheyWent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &Response{Model: rapid.String().Draw(t, "model"), Version: "1", ID: rapid.String().Draw(t, "id")}
		some := false
		for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "outputs")] {
			binary := rapid.Bool().Draw(t, "binary")
			want.Binary = append(want.Binary, binary)
			want.Outputs = append(want.Outputs, drawTensor(t, name, !binary))
			some = some || binary
		}
		body, n, err := want.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if some != (n >= 0) {
			t.Fatalf("header length %d, binary %v", n, want.Binary)
		}
		got, err := DecodeResponse(body, headerOf(n))
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("response (-want +got):\n%s", diff)
		}
	})
}

// Whatever is cut off a good request, the rest is refused: no prefix of it
// may be taken for the whole.
func TestEveryCutRequestIsRefused(t *testing.T) {
	r := &Request{ID: "a", Inputs: []Tensor{
		{"x", ascend.Float, []int64{1, 2}, le(float32(1), float32(2))},
		{"k", ascend.Int64, []int64{3}, make([]byte, 24)}}}
	for _, binary := range []bool{false, true} {
		body, n, err := AppendRequest(nil, r, binary)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range body {
			_, err := DecodeRequest(body[:cut], headerOf(n), pair)
			if e, ok := err.(*Error); !ok || e.Status != 400 {
				t.Errorf("cut at %d: got %v", cut, err)
			}
		}
	}
}

func TestRequestsThatCannotBeWritten(t *testing.T) {
	one := func(in Tensor) *Request { return &Request{Inputs: []Tensor{in}} }
	for _, c := range []struct {
		name   string
		r      *Request
		binary bool
		code   string
		says   string
	}{
		{"NaN in JSON", one(Tensor{"x", ascend.Float, []int64{1}, le(float32(math.NaN()))}), false, "nonfinite", `input "x"`},
		{"FP16 in JSON", one(Tensor{"x", ascend.Float16, []int64{1}, []byte{0, 0}}), false, "datatype", "FP16"},
		{"data that does not fit", one(Tensor{"x", ascend.Float, []int64{2}, nil}), true, "length", "expected 8 bytes"},
		{"a parameter of another kind", &Request{Params: map[string]any{"p": []int{1}}}, false, "parameter", `"p"`},
		{"a parameter without end", &Request{Params: map[string]any{"p": math.Inf(1)}}, false, "parameter", `"p"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := AppendRequest(nil, c.r, c.binary)
			wantError(t, err, 400, c.code, c.says)
		})
	}
}

func TestBinaryDataIsNotCopied(t *testing.T) {
	body, n, err := AppendRequest(nil, &Request{Inputs: []Tensor{{"x", ascend.Float, []int64{1, 2}, make([]byte, 8)}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := DecodeRequest(body, headerOf(n), only(ascend.Float, -1, 2))
	if err != nil {
		t.Fatal(err)
	}
	data := r.Inputs[0].Data
	if unsafe.SliceData(data) != &body[n] {
		t.Error("the input does not lie in the body")
	}
	if cap(data) != len(data) {
		t.Error("an append to the input would write into the body")
	}
}

// A claim costs nothing: what is allocated is bounded by what was sent.
func TestMemoryIsBoundedByTheBody(t *testing.T) {
	wide := make([]Port, 0, 1)
	wide = append(wide, port("x", ascend.Double, -1))
	for name, body := range map[string]string{
		"shape of terabytes":   x("FP64", "[1000000000000]", "[1,2]"),
		"many elements":        x("FP64", "[1]", "["+strings.Repeat("1,", 5e5)+"1]"),
		"many unknown inputs":  `{"inputs":[` + strings.Repeat("{},", 3e5) + `{}]}`,
		"many parameters":      `{"parameters":{` + manyParameters(1e5) + `}}`,
		"many dims":            x("FP64", "[1"+strings.Repeat(",1", 5e5)+"]", "[1]"),
		"a long name":          infer(`{"name":"` + strings.Repeat("a", 1e6) + `"}`),
		"a long datatype":      x(strings.Repeat("A", 1e6), "[1]", "[1]"),
		"many brackets":        x("FP64", "[1]", strings.Repeat("[", 1e6)),
		"many unknown outputs": infer(`{"name":"x","datatype":"FP64","shape":[0],"data":[]}`, `"outputs":[`+strings.Repeat(`{"name":"q"},`, 1e5)+`{}]`),
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := DecodeRequest(in, "", Signature{Inputs: wide})
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatal("accepted")
			}
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8*len(in)+1<<16); got > most {
				t.Errorf("%d bytes allocated for a body of %d", got, len(in))
			}
		})
	}
}

func TestTextIsEscapedForJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		var got string
		if err := json.Unmarshal(appendText(nil, raw), &got); err != nil {
			t.Fatal(err)
		}
		if want := string([]rune(raw)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
