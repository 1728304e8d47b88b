package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
)

var generations = map[omtest.Generation]string{omtest.Layout1: "layout 1", omtest.Layout2: "layout 2", omtest.Wide: "64 bits"}

const cmdline = "/opt/Ascend/ascend-toolkit/8.0.RC3/bin/atc.bin --model=/home/mallory/secret project/net.onnx --framework=5 " +
	"--output=net --soc_version Ascend310P3 --input_shape=img/x:1,3,8,8 --dynamic_batch_size=1,2,4,8 --new_option=/x --log=error"

func sample() omtest.File {
	return omtest.File{
		Name: "a_net_with_a_name_longer_than_the_header_takes", SoC: "Ascend310P3", ATC: "7.6.0.1.220", Framework: "Onnx", Command: cmdline,
		Inputs: []omtest.Tensor{
			{Name: "img/x", DType: "FLOAT", Layout: "NCHW", Dims: []int64{8, 3, 8, 8}},
			{Name: "ids", DType: "INT64", Dims: []int64{8, 4}},
		},
		Outputs: []omtest.Tensor{{Name: "y", DType: "FLOAT16", Dims: []int64{8, 10}}},
		Work:    90624, Weights: bytes.Repeat([]byte{7}, 1000), Streams: 2, Events: 1, ONNX: []byte("stands in for a model"),
	}
}

func batched() omtest.File {
	f := sample()
	f.Gears = model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {2}, {4}, {8}}}
	f.GearInputs = [][]int64{{-1, 3, 8, 8}, {-1, 4}}
	return f
}

func readOM(t *testing.T, f omtest.File) *model.Model {
	t.Helper()
	data := f.Encode()
	m, err := model.Read(bytes.NewReader(data), int64(len(data)), "m.om")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func number(n int64) *int64 { return &n }

func TestEveryGenerationReadsTheSame(t *testing.T) {
	for g, name := range generations {
		t.Run(name, func(t *testing.T) {
			f := sample()
			f.Generation = g
			m := readOM(t, f)
			box := m.Container.(*model.OM)
			if m.Kind != model.KindOM || m.Graph != "a_net_with_a_name_longer_than_the_header_takes" || m.Nodes != 5 || m.Initializers != (model.Initializers{Count: 1, Bytes: 1000}) {
				t.Errorf("kind %s, graph %s, %d nodes, %+v", m.Kind, m.Graph, m.Nodes, m.Initializers)
			}
			want := model.Compiler{ATC: "7.6.0.1.220", OPP: "7.6.0.1.220", CANN: "8.0.RC3", Framework: "Onnx", Platform: "1.11.z.0", Streams: number(2), Events: number(1)}
			if d := cmp.Diff(want, m.Compiler); d != "" || m.Chip != "Ascend310P3" {
				t.Error(m.Chip, d)
			}
			if d := cmp.Diff(model.Memory{Work: number(90624), Weight: 1000, ZeroCopy: number(6176 + 288 + 192)}, m.Memory); d != "" {
				t.Error(d)
			}
			checkPorts(t, m.Inputs, `[{"name":"img/x","dtype":"FLOAT","dims":[8,3,8,8],"bytes":6144,"layout":"NCHW","padded_bytes":6176},{"name":"ids","dtype":"INT64","dims":[8,4],"bytes":256,"layout":"ND","padded_bytes":288}]`)
			checkPorts(t, m.Outputs, `[{"name":"Node_y:0:y","dtype":"FLOAT16","dims":[8,10],"bytes":160,"layout":"ND","padded_bytes":192}]`)
			wide := g == omtest.Wide
			if box.InOut != wide || (box.TableBits == 64) != wide || (box.ModelNum == nil) != (g == omtest.Layout1) || box.Tables != 1 || box.Dynamic || box.Encrypted || m.Bytes != box.Body+256 {
				t.Errorf("container %+v", box)
			}
		})
	}
}

func checkPorts(t *testing.T, got []model.Port, want string) {
	t.Helper()
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(data)); d != "" {
		t.Error(d)
	}
}

func TestGears(t *testing.T) {
	image, dims := batched(), batched()
	image.Gears = model.Gears{Kind: model.GearImage, Values: [][]int64{{224, 224}, {8, 8}}}
	dims.Gears = model.Gears{Kind: model.GearDims, Values: [][]int64{{1, 3, 8, 8, 1, 4}, {8, 3, 8, 8, 8, 4}}}
	for _, c := range []struct {
		f          omtest.File
		json, text string
		width      int64
	}{
		{batched(), `{"batch":[1,2,4,8]}`, "batch 1,2,4,8", 1},
		{image, `{"image":[[224,224],[8,8]]}`, "image 224x224, 8x8", 2},
		{dims, `{"dims":[[1,3,8,8,1,4],[8,3,8,8,8,4]]}`, "dims 1x3x8x8x1x4, 8x3x8x8x8x4", 2},
		{sample(), `"none"`, "", 0},
	} {
		for g, name := range generations {
			f := c.f
			f.Generation = g
			m := readOM(t, f)
			data, err := json.Marshal(m.Gears)
			if err != nil || string(data) != c.json || m.Gears.String() != c.text {
				t.Errorf("%s: %s, %q, expected %s", name, data, m.Gears, c.json)
			}
			last := m.Inputs[len(m.Inputs)-1]
			if c.width > 0 && (!last.Gear || last.Name != omtest.GearName || *last.Bytes != 4*c.width || m.Inputs[0].Gear) {
				t.Errorf("%s: the last input is %+v", name, last)
			}
			if c.width > 0 && (m.Inputs[0].Dims[0].Fixed() || *m.Inputs[0].Bytes != 6144) {
				t.Errorf("%s: a geared input has dims %v and %d bytes, expected an open one and those of the largest gear", name, m.Inputs[0].Dims, *m.Inputs[0].Bytes)
			}
		}
	}
}

func TestUnknownShapes(t *testing.T) {
	for _, g := range []omtest.Generation{omtest.Layout2, omtest.Wide} {
		f := sample()
		f.Generation, f.Dynamic, f.SubModels = g, true, 2
		f.Inputs = []omtest.Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{-1, 4}, Range: [][2]int64{{1, 16}, {4, 4}}}}
		m := readOM(t, f)
		box := m.Container.(*model.OM)
		if !box.Dynamic || box.Tables != 3 || *box.ModelNum != 3 || box.Partitions[len(box.Partitions)-1].Table != 2 {
			t.Errorf("container %+v", box)
		}
		if *m.Memory.Work != 0 || m.Memory.Weight != 1000+2*int64(len("weights of it")) {
			t.Errorf("work %d, weight %d: all tables count for weights, and work is 0", *m.Memory.Work, m.Memory.Weight)
		}
		checkPorts(t, m.Inputs, `[{"name":"x","dtype":"FLOAT","dims":["?",4],"bytes":null,"layout":"ND","range":[[1,16],[4,4]]}]`)
	}
}

// TestAnyFileReadsBack writes files as they come and reads them in all
// generations, through large and small windows.
func TestAnyFileReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := rapid.Custom(func(t *rapid.T) omtest.Tensor {
			return omtest.Tensor{
				Name:   rapid.StringMatching(`[a-z/:.]{1,40}`).Draw(t, "name"),
				DType:  rapid.SampledFrom([]string{"FLOAT", "FLOAT16", "INT8", "UINT8", "INT64", "BOOL", "DOUBLE", "BFLOAT16", "UINT32"}).Draw(t, "type"),
				Layout: rapid.SampledFrom([]string{"NCHW", "NHWC", "ND"}).Draw(t, "layout"),
				Dims:   rapid.SliceOfN(rapid.Int64Range(1, 300), 0, 5).Draw(t, "dims"),
			}
		})
		f := omtest.File{
			Name: rapid.StringMatching(`[a-z0-9_]{1,50}`).Draw(t, "model"), SoC: "Ascend910B3",
			Inputs: rapid.SliceOfN(tensor, 0, 5).Draw(t, "inputs"), Outputs: rapid.SliceOfN(tensor, 1, 5).Draw(t, "outputs"),
			Work: rapid.Int64Range(1, 1<<40).Draw(t, "work"), Weights: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "weights"),
			ONNX: []byte("x"),
		}
		for g := range generations {
			f.Generation = g
			data := f.Encode()
			m, err := model.ReadIn(data, 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			small, err := model.ReadIn(data, 24)
			if err != nil || cmp.Diff(m, small, unexported) != "" {
				t.Fatalf("in windows it reads differently: %v %s", err, cmp.Diff(m, small, unexported))
			}
			if string(m.Graph) != f.Name || *m.Memory.Work != f.Work || m.Memory.Weight != int64(len(f.Weights)) {
				t.Fatalf("%s, %+v", m.Graph, m.Memory)
			}
			samePorts(t, m.Inputs, f.Inputs, "")
			samePorts(t, m.Outputs, f.Outputs, "Node_%s:0:%[1]s")
		}
	})
}

var unexported = cmp.AllowUnexported(model.Partition{})

func samePorts(t *rapid.T, got []model.Port, want []omtest.Tensor, name string) {
	if len(got) != len(want) {
		t.Fatalf("%d ports, expected %d", len(got), len(want))
	}
	for i, p := range got {
		w := want[i]
		dims := []int64{}
		for _, d := range p.Dims {
			dims = append(dims, d.Value)
		}
		expected := w.Name
		if name != "" {
			expected = fmt.Sprintf(name, w.Name)
		}
		if p.Name != expected || string(p.Word) != w.DType || p.Layout != w.Layout || !slices.Equal(dims, w.Dims) || *p.Bytes != w.Bytes() || *p.Padded != omtest.Padded(w.Bytes()) {
			t.Fatalf("got %+v, expected %+v", p, w)
		}
	}
}

// TestAnONNXModelInAnOM follows the digits model from ONNX into an .om.
func TestAnONNXModelInAnOM(t *testing.T) {
	onnx, err := os.ReadFile("../../testdata/models/digits/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for g, name := range generations {
		f, err := omtest.FromONNX(onnx, omtest.File{Generation: g, SoC: "Ascend310P3"}, 0, 1, 2, 4, 8)
		if err != nil {
			t.Fatal(err)
		}
		m := readOM(t, f)
		if m.Graph != "digits" || m.Gears.String() != "batch 1,2,4,8" {
			t.Errorf("%s: graph %s, gears %s", name, m.Graph, m.Gears)
		}
		checkPorts(t, m.Inputs[:1], `[{"name":"image","dtype":"FLOAT","dims":["?",1,8,8],"bytes":2048,"layout":"NCHW","padded_bytes":2080}]`)
		checkPorts(t, m.Outputs, `[{"name":"Node_logits:0:logits","dtype":"FLOAT","dims":[8,10],"bytes":320,"layout":"ND","padded_bytes":352}]`)
		if !bytes.Contains(f.Encode(), append([]byte(omtest.Magic), 1, 0, 0, 0)) {
			t.Errorf("%s: no payload for the double", name)
		}
	}
}

func TestCommandHidesPaths(t *testing.T) {
	m := readOM(t, sample())
	c := m.Command
	want := map[string]string{"framework": "5", "soc_version": "Ascend310P3", "input_shape": "img/x:1,3,8,8", "dynamic_batch_size": "1,2,4,8", "log": "error"}
	if d := cmp.Diff(want, c.Options); d != "" || !c.Present {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"model", "output", "new_option"}, c.Hidden); d != "" {
		t.Error(d)
	}
	data, err := json.Marshal(m)
	if err != nil || strings.Contains(string(data), "mallory") || strings.Contains(string(data), "/opt") || strings.Contains(string(data), `output=`) {
		t.Errorf("a path is told: %s", data)
	}
	if m.Command.Reveal(); m.Command.Line != cmdline {
		t.Errorf("shown when asked for: %s", m.Command.Line)
	}
	for _, line := range []string{"/x/atc --framework=5 /root/a", "atc --log=error /root/a --mode=0", "atc --model=/my -root/b --mode=0", "atc -x=/root --MODEL=/root", "/root/with blank/atc --mode=0", "/root/with -dash/atc"} {
		f := sample()
		f.Command = line
		m := readOM(t, f)
		if data, err := json.Marshal(m.Command); err != nil || strings.Contains(string(data), "root") || strings.Contains(string(data), "dash") {
			t.Errorf("%q is told as %s", line, data)
		}
	}
	f := sample()
	f.Command = ""
	if c := readOM(t, f).Command; c.Present || c.Line != "" {
		t.Errorf("no command: %+v", c)
	}
}
