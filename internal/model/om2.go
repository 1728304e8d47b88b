package model

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// maxJSON bounds a description in an OM2 archive; real models need kilobytes.
const maxJSON = 4 << 20

// om2 is an OM2 file, the zip archive that ATC of CANN 9 can write in place of
// an .om (source: hicann/ge om2_package_helper and gert_model_data_serialize;
// no file was seen). Everything may lie below one folder.
type om2 struct {
	*zip.Reader
	root     string
	manifest struct {
		Version string `json:"om2_version"`
		Models  int64  `json:"model_num"`
		Command string `json:"atc_command"`
	}
}

// om2Meta is model_meta.json. Releases differ in where they keep the gears.
type om2Meta struct {
	Name    string      `json:"name"`
	Inputs  []om2Tensor `json:"inputs"`
	Outputs []om2Tensor `json:"outputs"`
	Work    *int64      `json:"work_size"`
	Kind    int64       `json:"dynamic_type"`
	Gears   [][]int64   `json:"dynamic_batch_info"`
	Dynamic struct {
		Kind  int64 `json:"dynamic_type"`
		Gears []struct {
			Inputs []int64 `json:"inputs"`
		} `json:"gears"`
	} `json:"dynamic_dims"`
}

type om2Tensor struct {
	Name   string     `json:"name"`
	Shape  []int64    `json:"shape"`
	Type   string     `json:"data_type"` // DT_FLOAT
	Format string     `json:"format"`
	Size   int64      `json:"size"`
	Range  [][2]int64 `json:"shape_range"`
}

// openOM2 is nil for any other zip archive.
func openOM2(w *wire) *om2 {
	z, err := zip.NewReader(w.src, w.size)
	if err != nil {
		return nil
	}
	for _, f := range z.File {
		if path.Base(f.Name) != "manifest.json" || strings.Count(f.Name, "/") > 1 {
			continue
		}
		o := &om2{Reader: z, root: strings.TrimSuffix(f.Name, "manifest.json")}
		if o.read("manifest.json", &o.manifest) != nil || o.manifest.Version == "" {
			return nil // only the first is looked at: each may be a bomb
		}
		return o
	}
	return nil
}

func (o *om2) read(name string, to any) error {
	name = o.root + name
	f, err := o.Open(name)
	if err != nil {
		return &damage{in: name, what: report.T("the archive lacks it", "压缩文件中缺少该文件")}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err == nil && len(data) > maxJSON {
		err = errors.New("over 4 MiB")
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return &damage{in: name, what: report.Same(err.Error())}
	}
	return nil
}

func readOM2(w *wire, m *Model) error {
	o := openOM2(w)
	var meta om2Meta
	if err := o.read("data/model_0/model_meta.json", &meta); err != nil {
		return err
	}
	if len(meta.Inputs)+len(meta.Outputs) > maxPorts || len(meta.Gears)+len(meta.Dynamic.Gears) > maxGears {
		return &damage{in: "model_meta.json", what: report.T("the graph has more than %d inputs or outputs", "图的输入或输出超过 %d 个", maxPorts)}
	}
	var weights struct {
		Size     int64 `json:"weight_size"`
		Internal int64 `json:"internal_weight_size"`
	}
	// Where it lies differs by release, and a model may have none.
	for _, at := range []string{"data/constants/model_0_constants_config.json", "data/model_0/constants/model_0_constants_config.json"} {
		_ = o.read(at, &weights)
	}
	c := &Compiled{Memory: Memory{Work: meta.Work, Weight: max(weights.Size, weights.Internal, 0)}, Gears: meta.gears()}
	c.Command, c.Compiler.CANN = command(o.manifest.Command)
	c.Chip = Recorded(c.Command.Options["soc_version"])
	m.Container = &OM{Header: "OM2 " + o.manifest.Version, ModelNum: &o.manifest.Models, Partitions: []Partition{}}
	m.Graph, m.Compiled, m.Ops = Recorded(meta.Name), c, map[string]int{}
	m.Initializers.Bytes = c.Memory.Weight
	m.Inputs, m.Outputs, m.GraphInputs = om2Ports(meta.Inputs), om2Ports(meta.Outputs), len(meta.Inputs)
	return nil
}

func (meta *om2Meta) gears() Gears {
	g := Gears{Kind: gearKinds[meta.Kind], Values: meta.Gears}
	for _, row := range meta.Dynamic.Gears {
		g.Kind, g.Values = gearKinds[meta.Dynamic.Kind], append(g.Values, row.Inputs)
	}
	if len(g.Values) == 0 {
		return Gears{}
	}
	if g.Kind == "" {
		g.Kind = kindByWidth(len(g.Values[0]))
	}
	return g
}

func om2Ports(tensors []om2Tensor) []Port {
	ports := make([]Port, len(tensors))
	for i, t := range tensors {
		d := tensorDesc{elem: wordElement(strings.TrimPrefix(t.Type, "DT_")), dims: t.Shape, layout: t.Format}
		size := t.Size
		if size <= 0 {
			size = d.plainBytes()
		}
		ports[i] = d.port(t.Name, t.Shape, size)
		ports[i].Range, ports[i].Gear = t.Range, strings.HasPrefix(t.Name, gearInput)
	}
	return ports
}

// wordElement is the type behind a vendor's word: FLOAT, BF16.
func wordElement(word string) element {
	if word == "BF16" {
		word = "BFLOAT16"
	}
	for _, t := range types {
		if string(t.elem.word) == word {
			return t.elem
		}
	}
	return element{word: Recorded(word)}
}
