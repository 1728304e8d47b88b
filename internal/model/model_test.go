package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/report"
)

const digits = "../../testdata/models/digits/digits.onnx"

func TestDigitsModelIsReadWhole(t *testing.T) {
	m, err := Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	want := &Model{
		Kind: KindONNX, File: digits, Bytes: 153905,
		Container:    &ONNX{IR: 8, Opsets: map[string]int64{"ai.onnx": 13}},
		Producer:     &Producer{Name: "ascendctl-digits"},
		Graph:        "digits",
		Nodes:        9,
		Ops:          map[string]int{"Conv": 2, "Flatten": 1, "Gemm": 2, "MaxPool": 1, "Relu": 3},
		Initializers: Initializers{Count: 8, Bytes: 153128},
		GraphInputs:  1,
		Inputs:       []Port{{Name: "image", DType: ascend.Float, Word: "FLOAT", Dims: []Dim{{-1, "batch"}, {1, ""}, {8, ""}, {8, ""}}}},
		Outputs:      []Port{{Name: "logits", DType: ascend.Float, Word: "FLOAT", Dims: []Dim{{-1, "batch"}, {10, ""}}}},
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
}

// TestPortsByType has the JSON of a port for every way a type can be written.
func TestPortsByType(t *testing.T) {
	sequence := func(of msg) msg { return one(4, one(1, of)) }
	mapping := func(key int64, of msg) msg { return one(5, msg{}.num(1, key).sub(2, of)) }
	for _, c := range []struct {
		name string
		typ  msg
		want string
	}{
		{"fixed", tensorOf(1, 2, 3), `"dtype":"FLOAT","dims":[2,3],"bytes":24`},
		{"scalar", tensorOf(11), `"dtype":"DOUBLE","dims":[],"bytes":8`},
		{"empty", tensorOf(7, 0, 5), `"dtype":"INT64","dims":[0,5],"bytes":0`},
		{"half bytes round up", tensorOf(22, 3), `"dtype":"INT4","dims":[3],"bytes":2`},
		{"names and unknown", tensorOf(10, "batch", nil, 4), `"dtype":"FLOAT16","dims":["batch","?",4],"bytes":null`},
		{"negative is unknown", tensorOf(1, -1, -7, 4), `"dtype":"FLOAT","dims":["?","?",4],"bytes":null`},
		{"name that looks like a number", tensorOf(1, "8"), `"dtype":"FLOAT","dims":["8"],"bytes":null`},
		{"string", tensorOf(8, 2), `"dtype":"STRING","dims":[2],"bytes":null`},
		{"no shape", one(1, msg{}.num(1, 1)), `"dtype":"FLOAT","dims":null,"bytes":null`},
		{"newer type", tensorOf(23, 3), `"dtype":"FLOAT4E2M1","dims":[3],"bytes":2`},
		{"six bits", tensorOf(28, 4), `"dtype":"FLOAT6E3M2","dims":[4],"bytes":3`},
		{"type from the future", tensorOf(99, 3), `"dtype":"TYPE_99","dims":[3],"bytes":null`},
		{"negative type", tensorOf(-1, 3), `"dtype":"TYPE_-1","dims":[3],"bytes":null`},
		{"no type", msg{}, `"dtype":null,"dims":null,"bytes":null`},
		{"too large to count", tensorOf(1, 1<<62, 1<<62), `"dtype":"FLOAT","dims":[4611686018427387904,4611686018427387904],"bytes":null`},
		{"sequence", sequence(tensorOf(1, "n", 2)), `"dtype":"FLOAT","dims":["n",2],"bytes":null,"type":"sequence","full_type":"sequence(FLOAT)"`},
		{"map", mapping(7, tensorOf(1)), `"dtype":null,"dims":null,"bytes":null,"type":"map","full_type":"map(INT64,FLOAT)"`},
		{"sequence of maps", sequence(mapping(8, tensorOf(1))), `"dtype":null,"dims":null,"bytes":null,"type":"sequence","full_type":"sequence(map(STRING,FLOAT))"`},
		{"optional", one(9, one(1, tensorOf(3, 4))), `"dtype":"INT8","dims":[4],"bytes":null,"type":"optional","full_type":"optional(INT8)"`},
		{"optional of nothing", one(9, msg{}), `"dtype":null,"dims":null,"bytes":null,"type":"optional","full_type":"optional(?)"`},
		{"sparse", one(8, msg{}.num(1, 1).sub(2, shapeOf(4, 4))), `"dtype":"FLOAT","dims":[4,4],"bytes":null,"type":"sparse_tensor","full_type":"sparse_tensor(FLOAT)"`},
		{"opaque", one(7, msg{}.str(1, "d")), `"dtype":null,"dims":null,"bytes":null,"type":"opaque","full_type":"opaque"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mustParse(t, modelOf(one(11, valueOf("p", c.typ))))
			got, err := json.Marshal(m.Inputs[0])
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"name":"p",` + c.want + `}`; string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestWeightsAreNotInputs(t *testing.T) {
	sparse := one(15, msg{}.sub(1, floats("s", 2)).sub(2, msg{}.num(1, 2).num(2, 7).str(9, string(make([]byte, 16)))))
	m := mustParse(t, modelOf(graphOf(
		one(5, floats("w", 25)), sparse,
		one(11, valueOf("w", tensorOf(1, 25))), one(11, valueOf("s", tensorOf(1, 9))))))
	if m.GraphInputs != 3 || len(m.Inputs) != 1 || m.Inputs[0].Name != "x" {
		t.Errorf("graph_inputs %d, inputs %v; expected 3 and x alone", m.GraphInputs, m.Inputs)
	}
	if want := (Initializers{Count: 2, Bytes: 100 + 8 + 16}); m.Initializers != want {
		t.Errorf("initializers %+v, expected %+v", m.Initializers, want)
	}
}

func TestWeightBytesByStorage(t *testing.T) {
	packed := func(values ...uint64) string {
		return string(varints(values))
	}
	for _, c := range []struct {
		name  string
		w     msg
		bytes int64
	}{
		{"raw", floats("w", 3), 12},
		{"packed dims", msg{}.str(1, packed(2, 3)).num(2, 3).str(9, "abcdef"), 6},
		{"float_data", msg{}.num(1, 2).num(2, 1).str(4, "12345678"), 8},
		{"int32_data for FLOAT16", msg{}.num(1, 2).num(2, 10).str(5, packed(1, 70000)), 4},
		{"int32_data for INT4", msg{}.num(1, 4).num(2, 22).str(5, packed(1, 2)), 2},
		{"int64_data one by one", msg{}.num(1, 2).num(2, 7).num(7, 1).num(7, 2), 16},
		{"double_data", msg{}.num(1, 1).num(2, 11).str(10, "12345678"), 8},
		{"string_data", msg{}.num(1, 2).num(2, 8).str(6, "ab").str(6, "c"), 3},
		{"scalar", msg{}.num(2, 1).str(9, "1234"), 4},
		{"empty", msg{}.num(1, 0).num(2, 1), 0},
		{"type from the future", msg{}.num(1, 9).num(2, 99).str(9, "12345"), 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mustParse(t, modelOf(graphOf(one(5, c.w))))
			if want := (Initializers{1, c.bytes}); m.Initializers != want {
				t.Errorf("got %+v, expected %+v", m.Initializers, want)
			}
		})
	}
}

func TestNodesAreCountedInTheTopGraphOnly(t *testing.T) {
	branch := graphOf(one(1, nodeOf("Neg")), one(5, floats("inner", 3)))
	function := msg{}.str(1, "F").sub(7, nodeOf("Abs"))
	m := mustParse(t, modelOf(graphOf(
		one(1, nodeOf("If").sub(5, msg{}.str(1, "then_branch").sub(6, branch))),
		one(1, nodeOf("Add").str(7, "ai.onnx")), one(1, nodeOf("Add")),
		one(1, nodeOf("Add").str(7, "com.acme")))).sub(25, function))
	want := map[string]int{"If": 1, "Add": 2, "com.acme::Add": 1}
	if d := cmp.Diff(want, m.Ops); d != "" || m.Nodes != 4 || m.Initializers.Count != 0 {
		t.Errorf("%s nodes %d, initializers %+v", d, m.Nodes, m.Initializers)
	}
}

func TestExternalDataIsListedByFile(t *testing.T) {
	m := mustParse(t, modelOf(graphOf(
		one(5, external("a", "w.bin", "offset", "0", "length", "16")),
		one(5, external("b", "w.bin", "offset", "4096")),
		one(1, nodeOf("Constant").sub(5, msg{}.str(1, "value").sub(5, external("c", "sub/c.bin")))))))
	box := m.Container.(*ONNX)
	want := []File{{"sub/c.bin", 1, 16}, {"w.bin", 2, 4112}}
	if d := cmp.Diff(want, box.Beside); d != "" || !box.External {
		t.Error(d)
	}
	if want := (Initializers{2, 32}); m.Initializers != want {
		t.Errorf("initializers %+v, expected %+v", m.Initializers, want)
	}
}

// external is a FLOAT weight of four elements in another file.
func external(name, location string, more ...string) msg {
	m := msg{}.num(1, 4).num(2, 1).str(8, name).sub(13, msg{}.str(1, "location").str(2, location))
	for i := 0; i < len(more); i += 2 {
		m = m.sub(13, msg{}.str(1, more[i]).str(2, more[i+1]))
	}
	return m.num(14, 1)
}

func TestOldFilesMeanTheFirstOpset(t *testing.T) {
	m := mustParse(t, msg{}.num(1, 2).sub(7, graphOf()))
	if d := cmp.Diff(map[string]int64{"ai.onnx": 1}, m.Container.(*ONNX).Opsets); d != "" || m.Producer != nil {
		t.Error(d, m.Producer)
	}
}

// TestForeignFilesAreNamed has the first bytes of files that are no ONNX.
func TestForeignFilesAreNamed(t *testing.T) {
	tar := string(make([]byte, 257)) + "ustar"
	mindIR := msg{}.str(1, "0.1.1").str(2, "MindSpore").str(5, "2.10.0").claim(7, 5000)
	for _, c := range []struct{ data, en, zh string }{
		{"", "an empty file", "0 字节"},
		{"\xd8\x5e\x3a\x7f....", "encrypted MindIR model (AES-GCM)", "加密模型（AES-GCM）"},
		{"\xd9\x5e\x3a\x7f....", "encrypted MindIR model (AES-CBC)", "加密模型（AES-CBC）"},
		{"\xda\x5e\x3a\x7f....", "encrypted MindIR model (SM4-CBC)", "加密模型（SM4-CBC）"},
		{string(mindIR), "is a MindIR model", "MindIR 模型"},
		{string(msg{}.str(1, "net").num(2, 1).str(3, "").sub(7, msg{}.str(1, "g"))), "an AIR model", "AIR 模型"},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "a Git LFS pointer", "Git LFS 指针文件"},
		{"\n  <!DOCTYPE html><title>Sign in", "HTML", "网页"},
		{"\xef\xbb\xbf<HTML>", "HTML", "网页"},
		{"\x1f\x8b\x08", "a gzip archive", "gzip 压缩文件"},
		{"PK\x03\x04", "a zip archive", "zip 压缩文件"},
		{tar, "a tar archive", "tar 归档文件"},
		{"GGUF\x03\x00\x00\x00", "a GGUF file", "GGUF 文件"},
		{"\x40\x00\x00\x00\x00\x00\x00\x00{\"a\":{}}", "a safetensors file", "safetensors 文件"},
		{"\x80\x04\x95", "a Python pickle", "pickle"},
		{"hello, world", "not a model file of a known kind: it begins with \"hello, world\"; known kinds are ONNX, OM", "不是已知类型的模型文件"},
		{"\x00\x00\x00\x00", "not a model file of a known kind", "不是已知类型的模型文件"},
	} {
		t.Run(c.en, func(t *testing.T) {
			_, err := parse([]byte(c.data))
			p := asProblem(t, err)
			if !strings.Contains(p.Error(), c.en) || !strings.Contains(p.What.Zh, c.zh) || p.Do.IsZero() {
				t.Errorf("got %q / %q, expected %q / %q and advice", p.Error(), p.What.Zh, c.en, c.zh)
			}
			if strings.Contains(p.Error(), "damaged") || strings.Contains(p.Error(), "corrupt") {
				t.Errorf("%q calls a sound file damaged", p.Error())
			}
		})
	}
}

func TestEncryptedMindIRAsksForItsKey(t *testing.T) {
	_, err := parse([]byte("\xd8\x5e\x3a\x7f" + string(make([]byte, 500))))
	p := asProblem(t, err)
	for _, word := range []string{"encrypted", "AES-GCM", "key"} {
		if !strings.Contains(p.Error(), word) {
			t.Errorf("%q lacks the word %q", p.Error(), word)
		}
	}
}

func TestOpenSaysWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	weights := filepath.Join(dir, "llm")
	if err := os.Mkdir(weights, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(weights, "config.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{dir, "is a folder, not a model file"},
		{weights, "Hugging Face"},
		{filepath.Join(dir, "absent.onnx"), "no such file"},
		{os.DevNull, "not a regular file"},
	} {
		_, err := Open(c.path)
		if p := asProblem(t, err); !strings.Contains(p.Error(), c.want) || !strings.Contains(p.What.Zh, c.path) {
			t.Errorf("%s: got %q, expected %q", c.path, p.Error(), c.want)
		}
	}
}

// TestAFileThatShrinksWhileItIsRead must not look like a broken format.
func TestAFileThatShrinksWhileItIsRead(t *testing.T) {
	data := modelOf(graphOf())
	_, err := Read(strings.NewReader(string(data)), int64(len(data))+100, "m.onnx")
	if p := asProblem(t, err); !strings.Contains(p.Error(), "cannot read m.onnx") {
		t.Errorf("got %q", p.Error())
	}
}

func asProblem(t *testing.T, err error) *report.Problem {
	t.Helper()
	p, ok := err.(*report.Problem)
	if !ok {
		t.Fatalf("got %v (%T), expected a *report.Problem", err, err)
	}
	if p.Exit != report.ExitFailed || p.What.En == "" || p.What.Zh == "" || (p.Why.En == "") != (p.Why.Zh == "") {
		t.Errorf("incomplete problem %+v", p)
	}
	if strings.Contains(p.Error()+p.What.Zh+p.Why.Zh, "\n") || strings.Contains(p.Why.En, "(MISSING)") || strings.Contains(p.Why.En, "%!(EXTRA") {
		t.Errorf("not one clean line: %q", p.Error())
	}
	return p
}
