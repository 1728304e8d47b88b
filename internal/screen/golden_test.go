package screen

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/bench"
	"github.com/ascendctl/ascendctl/internal/hub"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// examples are documents as a user might meet them, one of every kind and of
// every turn a screen can take.
func examples() map[string]Document {
	size, batch := int64(16384), 1.52
	port := func(name string, dims ...model.Dim) model.Port {
		return model.Port{Name: name, DType: ascend.Float, Word: "FLOAT", Dims: dims}
	}
	n, c := model.Dim{Value: -1, Name: "batch"}, model.Dim{Value: 64}
	cpu := ServeDevice{Kind: "cpu", Name: "ONNX Runtime 1.32.0", Library: "/lib/libonnxruntime.so.1.32.0"}
	served := ServeModel{Name: "digits", File: "digits.onnx", Inputs: []ServePort{{"image", "FLOAT", []model.Dim{n, c}}},
		Outputs: []ServePort{{"logits", "FLOAT", []model.Dim{n, {Value: 10}}}}, Device: cpu, MaxBatch: 32, Lanes: 1}
	alone, simulated := served, served
	alone.MaxBatch, alone.Alone = 1, report.T("axis 0 of input x is fixed", "输入 x 的第 0 轴是固定的")
	simulated.Device = ServeDevice{Kind: "sim", Name: "simulated, not an NPU", Simulated: true}
	level := bench.Level{Concurrency: 8, Requests: 7200, PerSecond: 2367.4, P50: 2.751, P90: 5.94, P99: 10.62, Max: 135.8,
		MeanBatch: &batch, Accuracy: &bench.Accuracy{Right: 7040, Total: 7200, Percent: 97.78}}
	failed := level
	failed.Errors, failed.ErrorKinds, failed.FirstError, failed.Accuracy, failed.MeanBatch = 3, map[string]int{"http_429": 2, "timeout": 1}, "429 Too Many Requests", nil, nil
	dev := bench.Device{Kind: "cpu", Name: "ONNX Runtime 1.32.0"}
	return map[string]Document{
		"version": Version{Envelope: report.Envelope{Tool: report.Tool{Name: "ascendctl", Version: "1.0.0", Commit: "abc1234"}}, Go: "go1.26", OS: "linux", Arch: "arm64", Cgo: true,
			ONNXRuntime: Library{true, "/lib/libonnxruntime.so.1.32.0", "cache", "1.32.0"}, Data: []Data{{"packages.yaml", "2026-11-30", "embedded"}}},
		"version-bare": Version{Envelope: report.Envelope{Tool: report.Tool{Name: "ascendctl", Version: "1.0.0"}}, Go: "go1.26", OS: "darwin", Arch: "arm64"},
		"inspect": Inspect{Model: model.Model{File: "m.onnx", Bytes: 5 << 20, Container: &model.ONNX{IR: 8, Opsets: map[string]int64{"com.example": 1, "ai.onnx": 17}, External: true},
			Producer: &model.Producer{Name: "pytorch", Version: "2.1.2"}, Graph: "main_graph", Nodes: 40,
			Ops:          map[string]int{"Conv": 12, "Relu": 11, "Add": 5, "A": 1, "B": 1, "C": 1, "D": 1, "E": 1, "F": 1, "G": 1, "H": 1, "I": 1},
			Initializers: model.Initializers{Count: 24, Bytes: 4 << 20}, Inputs: []model.Port{port("x", n, c), {Name: "s", Type: "sequence", Full: "sequence(INT64)"}},
			Outputs: []model.Port{{Name: "y", DType: ascend.Int64, Dims: []model.Dim{{Value: 2048}}, Bytes: &size}}}},
		"serve":            Serve{URL: "http://127.0.0.1:8000", Listen: "127.0.0.1:8000", ReadyMS: 778, Models: []ServeModel{served}, Drain: 30},
		"serve-open-alone": Serve{URL: "http://127.0.0.1:8000", Listen: "0.0.0.0:8000", Open: true, ReadyMS: 3900, Models: []ServeModel{alone}, Drain: 1.5},
		"serve-simulated":  Serve{URL: "http://127.0.0.1:8000", Listen: "127.0.0.1:8000", ReadyMS: 5, Models: []ServeModel{simulated}, Drain: 30},
		"bench":            Bench{Result: bench.Result{Model: "digits", Device: dev, RowsPerSend: 1, Levels: []bench.Level{level}}},
		"bench-failed":     Bench{Result: bench.Result{Model: "digits", Device: dev, RowsPerSend: 1, Levels: []bench.Level{failed}}},
		"fetch":            Fetch{Result: &hub.Result{File: "/c/libonnxruntime.so.1.32.0", Version: "1.32.0", Bytes: 34824680, Carrier: "pip 23.2.1", Tried: []report.Text{report.T("npm: no answer", "npm：无应答")}}},
		"fetch-again":      Fetch{Result: &hub.Result{File: "/c/libonnxruntime.so.1.32.0", Version: "1.32.0", Already: true}},
		"fetch-plan": Fetch{Plan: &hub.Planned{File: "/c/libonnxruntime.so.1.32.0", Steps: []hub.Step{
			{Version: "1.32.0", Carrier: "pip", Command: "pip download -r requirements.txt", Requirements: "onnxruntime==1.32.0 \\\n  --hash=sha256:00\n", Bytes: 27780211}}}},
		"fetch-plan-nothing": Fetch{Plan: &hub.Planned{File: "/c/libonnxruntime.so.1.32.0", Already: true}},
	}
}

// TestScreens pins what a person sees of every document, in both languages on
// a terminal; no line is wider than 100 columns, and nothing on it is of a
// width that Chinese terminals dispute.
func TestScreens(t *testing.T) {
	for name, doc := range examples() {
		for _, lang := range []report.Lang{report.En, report.Zh} {
			var b bytes.Buffer
			o := ui.New(ui.Options{W: &b, TTY: true, Columns: 100, Lang: lang, NoColor: true, Getenv: func(string) string { return "" }})
			if err := Write("table", &b, o, doc); err != nil {
				t.Fatal(err)
			}
			same(t, filepath.Join("..", "..", "testdata", "screens", name+"."+string(lang)+".txt"), b.Bytes())
			for _, line := range strings.Split(b.String(), "\n") {
				if w := (&runewidth.Condition{}).StringWidth(line); w > 100 {
					t.Errorf("%s.%s: %d columns: %s", name, lang, w, line)
				}
				for _, r := range line {
					if runewidth.IsAmbiguousWidth(r) {
						t.Errorf("%s.%s: %q is of ambiguous width: %s", name, lang, r, line)
					}
				}
			}
		}
	}
}

// TestFormats: JSON and YAML say the same.
func TestFormats(t *testing.T) {
	for name, doc := range examples() {
		for _, format := range []string{"json", "yaml"} {
			var b bytes.Buffer
			if err := Write(format, &b, nil, doc); err != nil || b.Len() == 0 {
				t.Errorf("%s as %s: %v", name, format, err)
			}
		}
	}
	var b bytes.Buffer
	d := Version{Envelope: report.Envelope{Schema: "s", Started: time.Unix(0, 0).UTC()}, Data: []Data{{"a: b", "2026-11-30", "x"}}}
	if err := Write("yaml", &b, nil, d); err != nil || !strings.Contains(b.String(), "  - file: 'a: b'\n    as_of: \"2026-11-30\"") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
