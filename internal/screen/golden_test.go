package screen

import (
	"bytes"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/bench"
	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/check"
	"github.com/ascendctl/ascendctl/internal/facts"
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
	all := map[string]Document{
		"version": Version{Envelope: report.Envelope{Tool: report.Tool{Name: "ascendctl", Version: "1.0.0", Commit: "abc1234"}}, Go: "go1.26", OS: "linux", Arch: "arm64", Cgo: true,
			ONNXRuntime: Library{true, "/lib/libonnxruntime.so.1.32.0", "cache", "1.32.0"}, Data: []Data{{"packages.yaml", "2026-11-30", "embedded"}}},
		"version-bare": Version{Envelope: report.Envelope{Tool: report.Tool{Name: "ascendctl", Version: "1.0.0"}}, Go: "go1.26", OS: "darwin", Arch: "arm64"},
		"inspect": Inspect{Model: model.Model{File: "m.onnx", Bytes: 5 << 20, Container: &model.ONNX{IR: 8, Opsets: map[string]int64{"com.example": 1, "ai.onnx": 17}, External: true},
			Producer: &model.Producer{Name: "pytorch", Version: "2.1.2"}, Graph: "main_graph", Nodes: 40,
			Ops:          map[string]int{"Conv": 12, "Relu": 11, "Add": 5, "A": 1, "B": 1, "C": 1, "D": 1, "E": 1, "F": 1, "G": 1, "H": 1, "I": 1},
			Initializers: model.Initializers{Count: 24, Bytes: 4 << 20}, Inputs: []model.Port{port("x", n, c), {Name: "s", Type: "sequence", Full: "sequence(INT64)"}},
			Outputs: []model.Port{{Name: "y", DType: ascend.Int64, Dims: []model.Dim{{Value: 2048}}, Bytes: &size}}}},
		"inspect-om":       Inspect{Model: inspectedOM(false)},
		"inspect-om-bare":  Inspect{Model: inspectedOM(true)},
		"serve":            Serve{URL: "http://127.0.0.1:8000", Listen: "127.0.0.1:8000", ReadyMS: 778, Models: []ServeModel{served}, Drain: 30},
		"serve-open-alone": Serve{URL: "http://127.0.0.1:8000", Listen: "0.0.0.0:8000", Open: true, ReadyMS: 3900, Models: []ServeModel{alone}, Drain: 1.5},
		"serve-npu":        servedNPU(),
		"self-test":        selfTested(),
		"serve-simulated":  Serve{URL: "http://127.0.0.1:8000", Listen: "127.0.0.1:8000", ReadyMS: 5, Models: []ServeModel{simulated}, Drain: 30},
		"bench":            Bench{Result: bench.Result{Model: "digits", Device: dev, RowsPerSend: 1, Levels: []bench.Level{level}}},
		"bench-failed":     Bench{Result: bench.Result{Model: "digits", Device: dev, RowsPerSend: 1, Levels: []bench.Level{failed}}},
		"fetch":            Fetch{Result: &hub.Result{File: "/c/libonnxruntime.so.1.32.0", Version: "1.32.0", Bytes: 34824680, Carrier: "pip 23.2.1", Tried: []report.Text{report.T("npm: no answer", "npm：无应答")}}},
		"fetch-again":      Fetch{Result: &hub.Result{File: "/c/libonnxruntime.so.1.32.0", Version: "1.32.0", Already: true}},
		"fetch-plan": Fetch{Plan: &hub.Planned{File: "/c/libonnxruntime.so.1.32.0", Steps: []hub.Step{
			{Version: "1.32.0", Carrier: "pip", Command: "pip download -r requirements.txt", Requirements: "onnxruntime==1.32.0 \\\n  --hash=sha256:00\n", Bytes: 27780211}}}},
		"preflight": Preflight{Hosts: []PreflightHost{{Host: "npu01", Overall: report.Fail, Exit: report.ExitNo, TookMS: 2300, Findings: findings(),
			Groups: map[string]report.Text{"os": report.T("System", "系统")}, Next: "ascendctl list checks",
			Facts: &facts.Facts{OS: facts.Fact[facts.OS]{Value: facts.OS{Name: "openEuler 22.03"}, State: "known"}, Arch: facts.Fact[string]{Value: "aarch64", State: "known"},
				PCI: facts.Fact[[]facts.PCI]{Value: []facts.PCI{{Generation: "A2"}, {Generation: "A2"}}, State: "known"}}}}},
		"preflight-fleet": Preflight{Hosts: []PreflightHost{
			{Host: "npu01", Overall: report.Fail, Exit: report.ExitNo, Findings: findings()}, {Host: "npu02", Overall: report.Pass},
			{Host: "npu03", Overall: report.Unknown, Exit: report.ExitUnreachable, Error: &refused}}},
		"checks": Checks{Checks: []check.Row{{ID: "os.arch", Severity: report.Blocker, Text: report.T("CPU architecture known to the vendor", "CPU 架构有对应的厂商软件包")}}},
		"facts": Facts{Hosts: []HostFacts{{Host: "npu01", Facts: &facts.Facts{
			OS: facts.Fact[facts.OS]{Value: facts.OS{ID: "openeuler", Version: "22.03"}, State: "known"}, Driver: facts.Fact[facts.Driver]{Value: facts.Driver{Version: "25.2.0"}, State: "known"},
			Firmware: facts.Fact[facts.Firmware]{State: "unknown", Note: "permission denied"}, CANN: facts.Fact[cann.Installed]{State: "absent"},
			NPUInfo: facts.Fact[facts.NPUSmi]{State: "known", Value: facts.NPUSmi{ToolVersion: "25.2.0", Chips: []facts.SmiChip{{NPU: ptr(0), Chip: ptr(0), Name: "910B3", Health: "OK", HBMMB: &facts.Pair{ptr(3400), ptr(65536)}, TempC: ptr(38)}}}}}},
			{Host: "npu03", Error: &refused}}},
		"facts-diff": Diff{A: "npu01", B: "npu02", Facts: []facts.Compared{
			{Key: "driver", Check: "driver.installed", Verdict: facts.Differs, A: facts.Entry{State: "known", Text: "25.2.0"}, B: facts.Entry{State: "absent"}},
			{Key: "nnal", Verdict: facts.Unsure, A: facts.Entry{State: "unknown"}, B: facts.Entry{State: "known", Text: "9.1.0"}}, {Key: "kernel", Verdict: facts.Same}}},
		"facts-drift": Drift{Hosts: []string{"npu01", "npu02", "npu04"}, Silent: []DriftSilent{{"npu03", refused}},
			Differs: []facts.Drift{{Key: "driver", Majority: facts.Entry{State: "known", Text: "25.2.0"}, Has: []string{"npu01", "npu02"}, Others: []facts.Other{{Entry: facts.Entry{State: "known", Text: "24.1.rc3"}, Hosts: []string{"npu04"}}}}}},
		"top": Top{Now: time.Unix(100000, 0), Hosts: []TopHost{
			{Host: "npu01", Sample: &facts.Sample{Devices: facts.Fact[[]facts.Device]{State: "known", Value: []facts.Device{
				{Logic: ptr(0), Name: "910B4", Health: "OK", UsedMB: ptr(59699), TotalMB: ptr(65536), CorePct: ptr(87), Processes: []facts.Process{{PID: 2395895, User: "ops", Started: time.Unix(82000, 0), Container: "vllm-qwen", Name: "VLLM::EngineCor"}}},
				{Logic: ptr(1), NPU: 1, Name: "910B4", Health: "OK", UsedMB: ptr(3480), TotalMB: ptr(65536), CorePct: ptr(0), Idle: true},
				{Logic: ptr(2), NPU: 2, Name: "910B4", Health: "Alarm"}}}}},
			{Host: "npu02", Sample: &facts.Sample{OwnOnly: true, Devices: facts.Fact[[]facts.Device]{State: "unknown", Note: "no answer in time"}}},
			{Host: "npu03", Error: &refused}}},
		"npu-smi-failed":     NPUSmi{NPUSmi: facts.NPUSmi{Kind: facts.SmiFailed, Failure: &facts.SmiFailure{Error: facts.SmiDCMIInit, Line: "dcmi module initialize failed. ret is -8005", Cause: report.T("the driver did not answer", "驱动没有应答")}}},
		"fetch-plan-nothing": Fetch{Plan: &hub.Planned{File: "/c/libonnxruntime.so.1.32.0", Already: true}},
	}
	maps.Copy(all, chosen())
	maps.Copy(all, changed())
	return all
}

// inspectedOM is an .om with gears as ATC of CANN 8 leaves it, or one of an
// unknown shape of which little is recorded.
func inspectedOM(bare bool) model.Model {
	n := func(n int64) *int64 { return &n }
	open := []model.Dim{{Value: -1}, {Value: 3}, {Value: 224}, {Value: 224}}
	m := model.Model{Kind: model.KindOM, File: "net.om", Bytes: 5 << 20, Graph: "net", Nodes: 3, Ops: map[string]int{"Data": 2, "NetOutput": 1},
		Container: &model.OM{Header: "0x20000000", Dynamic: bare, External: bare},
		Inputs:    []model.Port{{Name: "x", DType: ascend.Float, Word: "FLOAT", Dims: open, Layout: "NCHW"}},
		Outputs:   []model.Port{{Name: "y:0", Word: "HIFLOAT8", Dims: nil, Layout: "ND"}}, Compiled: &model.Compiled{}}
	if bare {
		return m
	}
	m.Inputs[0].Bytes, m.Inputs[0].Padded = n(4816896), n(4816928)
	m.Inputs = append(m.Inputs, model.Port{Name: "ascend_mbatch_shape_data", DType: ascend.Int32, Word: "INT32", Dims: []model.Dim{{Value: 1}}, Bytes: n(4), Layout: "ND", Gear: true})
	m.Compiled = &model.Compiled{Chip: "Ascend310P3", Compiler: model.Compiler{ATC: "7.6.0.1.220", CANN: "8.0.0", Framework: "Onnx", Host: "linux/aarch64", Streams: n(2), Events: n(1)},
		Memory: model.Memory{Work: n(6014464), Weight: 386560}, Gears: model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {8}}},
		Command: model.Command{Present: true, Line: "atc --framework=5 --soc_version=Ascend310P3", Hidden: []string{"model", "output"}}}
	return m
}

var refused = report.T("connection refused (port 22)", "连接被拒绝（端口 22）")

func ptr(n int) *int { return &n }

// findings are one of every status, and one that another explains.
func findings() []report.Finding {
	one := func(id string, s report.Status, because ...string) report.Finding {
		return report.Finding{ID: id, Status: s, Severity: report.Error, Because: because, Text: report.T("Sentence that is true when all is well", "一切正常时成立的陈述"),
			Evidence: []report.Evidence{{Source: "/proc/x", Seen: report.Same("1024"), Wanted: report.Same(">= 65535")}}}
	}
	root := one("driver.installed", report.Fail)
	root.Fix, root.Run = report.T("Install the driver.", "安装驱动。"), "ascendctl list checks"
	return []report.Finding{one("os.arch", report.Pass), one("os.nofile", report.Warn), root, one("driver.npu_smi", report.Fail, "driver.installed"),
		one("npu.health", report.Unknown), one("net.npu_link", report.Skip)}
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
