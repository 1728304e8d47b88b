package oip

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

func FuzzDecodeRequest(f *testing.F) {
	texts := Signature{[]Port{port("s", ascend.String, -1), port("b", ascend.Bool, -1, -1)}, []Port{port("y", ascend.Float16, 1)}}
	sigs := []Signature{pair, only(ascend.Float, -1, 2), only(ascend.String, -1), texts, {}}
	f.Add([]byte(infer(goodX+","+goodK, `"id":"a"`, `"outputs":[{"name":"n"}]`)), "", uint8(0))
	f.Add([]byte(x("FP32", "[2,2]", "[[1,2],[3,-4e-7]]")), "", uint8(1))
	f.Add(make([]byte, 16), "0", uint8(1))
	f.Add([]byte("text"), "0", uint8(2))
	f.Add([]byte(x("BYTES", "[2]", `["a","\ud83d\ude00"]`)), "", uint8(2))
	head := infer(`{"name":"s","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":6}},`+
		`{"name":"b","datatype":"BOOL","shape":[1,2],"data":[true,0]}`, `"parameters":{"binary_data_output":true,"p":1e3}`)
	body, header := frame(head, append(le(uint32(2)), "ab"...))
	f.Add(body, header, uint8(3))
	f.Fuzz(func(t *testing.T, body []byte, header string, pick uint8) {
		sig := sigs[int(pick)%len(sigs)]
		sent := bytes.Clone(body)
		r, err := DecodeRequest(body, header, sig)
		if !bytes.Equal(sent, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 400 || e.Code == "" || r != nil {
				t.Fatalf("got %v, %v", r, err)
			}
			return
		}
		if header == "" && !json.Valid(body) {
			t.Fatalf("accepted what is not JSON: %q", body)
		}
		checkRequest(t, r, sig)
		again, n, err := AppendRequest(nil, r, true)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRequest(again, headerOf(n), sig)
		if err != nil {
			t.Fatal(err)
		}
		// Written out, the wishes stand for each output and need no parameter.
		if diff := cmp.Diff(r.Inputs, back.Inputs); diff != "" || !cmp.Equal(r.Outputs, back.Outputs) {
			t.Fatalf("the second reading differs: %s %v %v", diff, r.Outputs, back.Outputs)
		}
	})
}

func checkRequest(t *testing.T, r *Request, sig Signature) {
	if len(r.Inputs) != len(sig.Inputs) {
		t.Fatalf("got %d inputs, want %d", len(r.Inputs), len(sig.Inputs))
	}
	for i, in := range r.Inputs {
		p := sig.Inputs[i]
		if in.Name != p.Name || in.DType != p.DType || len(in.Shape) != len(p.Dims) {
			t.Fatalf("input %d: got %v, want %v", i, in, p)
		}
		for axis, dim := range in.Shape {
			if dim < 0 || p.Dims[axis] >= 0 && dim != p.Dims[axis] {
				t.Fatalf("input %d: shape %v for %v", i, in.Shape, p.Dims)
			}
		}
		n, ok := ascend.Elements(in.Shape)
		if size, fixed := in.DType.Size(n); !ok || fixed && int64(len(in.Data)) != size {
			t.Fatalf("input %d: %d bytes for %v", i, len(in.Data), in.Shape)
		}
		if in.DType == ascend.String && countStrings(in.Data) != n {
			t.Fatalf("input %d: % x is not %d strings", i, in.Data, n)
		}
	}
	if len(sig.Outputs) > 0 && len(r.Outputs) == 0 {
		t.Fatal("no outputs")
	}
	seen := map[string]bool{}
	for _, w := range r.Outputs {
		if seen[w.Name] || find(sig.Outputs, []byte(w.Name)) < 0 {
			t.Fatalf("outputs %v", r.Outputs)
		}
		seen[w.Name] = true
	}
}

func countStrings(data []byte) (n int64) {
	for ; len(data) >= 4; n++ {
		data = data[4:][little.Uint32(data):]
	}
	if len(data) > 0 {
		return -1
	}
	return n
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(`{"model_name":"m","outputs":[{"name":"y","datatype":"FP64","shape":[2,1],"data":[[1],[2e5]]}]}`), "")
	f.Add([]byte(`{"error":"no"}`), "")
	body, header := frame(`{"outputs":[{"name":"y","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}`, append(le(uint32(1)), 'a'))
	f.Add(body, header)
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		r, err := DecodeResponse(body, header)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 502 || r != nil {
				t.Fatalf("got %v, %v", r, err)
			}
			return
		}
		if len(r.Binary) != len(r.Outputs) {
			t.Fatalf("%d outputs, %d binary", len(r.Outputs), len(r.Binary))
		}
		again, n, err := r.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeResponse(again, headerOf(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Fatalf("the second reading differs: %s", diff)
		}
	})
}

// FuzzScanner holds our reading of JSON against encoding/json: what we accept
// it accepts, with the same strings, and what it accepts we do, but for text
// that is not UTF-8, half surrogate pairs and depth.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+7,true,null],"b":{}}`, `"\u00e9\ud83d\ude00\/\b"`, "[1,]", `{"a":1,}`, "-", "1e", "01", "[]x", ` "\ud800" `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := scanner{b: in, what: "fuzz", status: badRequest}
		s.skip()
		s.end()
		switch ok := json.Valid(in); {
		case s.err == nil && !ok:
			t.Fatalf("accepted %q", in)
		case s.err != nil && ok && utf8.Valid(in) && !strings.Contains(s.err.Msg, "surrogate") && !strings.Contains(s.err.Msg, "deeper"):
			t.Fatalf("refused %q: %v", in, s.err)
		}
		if trimmed := bytes.TrimLeft(in, " \t\r\n"); s.err != nil || trimmed[0] != '"' {
			return
		}
		s = scanner{b: in}
		var want string
		if err := json.Unmarshal(in, &want); err != nil || string(s.text("")) != want {
			t.Fatalf("read %q otherwise than %q (%v)", in, want, err)
		}
	})
}
