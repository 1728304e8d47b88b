package model

import (
	"maps"
	"slices"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Bounds on what a file may make the reader keep, far above real models.
const (
	maxPorts = 1 << 18 // inputs or outputs of a graph; IR 3 lists weights too
	maxRank  = 64      // as NumPy has it
)

// defaultDomain is how the domain of the standard operators is written; files
// mostly leave it empty.
const defaultDomain = "ai.onnx"

// ONNX is what the outer message of an ONNX file says.
type ONNX struct {
	IR     int64            `json:"ir"`
	Opsets map[string]int64 `json:"opsets"` // version by domain
	// External is true where tensors lie in files beside the model.
	External bool   `json:"external"`
	Beside   []File `json:"external_data,omitempty"` // by location
}

func (*ONNX) kind() Kind { return KindONNX }

// File is a file that holds tensors of the model.
type File struct {
	Location string `json:"location"`  // relative to the model's folder, never outside it
	Tensors  int    `json:"tensors"`   // how many lie in it
	MinBytes int64  `json:"min_bytes"` // it is incomplete when it is smaller
}

// graph is what a GraphProto says.
type graph struct {
	name            Recorded
	nodes           int
	ops             map[string]int
	weights         Initializers
	weightNames     map[string]bool
	inputs, outputs []Port
}

// onnx reads one file. Field numbers are those of onnx.proto.
type onnx struct {
	*wire
	box      ONNX
	producer Producer
	hasGraph bool
	top      graph
	beside   map[string]File
}

// readONNX fills m from the file under w.
func readONNX(w *wire, m *Model) error {
	o := &onnx{wire: w, top: newGraph(), beside: map[string]File{}}
	o.box.Opsets = map[string]int64{}
	if err := o.walk(o.whole(), "ModelProto", o.model); err != nil {
		return err
	}
	if err := o.complete(); err != nil {
		return err
	}
	for _, location := range slices.Sorted(maps.Keys(o.beside)) {
		o.box.Beside = append(o.box.Beside, o.beside[location])
	}
	o.box.External = len(o.beside) > 0

	m.Container, m.Graph, m.Nodes, m.Ops = &o.box, o.top.name, o.top.nodes, o.top.ops
	if o.producer != (Producer{}) {
		m.Producer = &o.producer
	}
	m.Initializers, m.GraphInputs, m.Outputs = o.top.weights, len(o.top.inputs), o.top.outputs
	m.Inputs = slices.DeleteFunc(o.top.inputs, func(p Port) bool { return o.top.weightNames[p.Name] })
	return nil
}

func newGraph() graph {
	return graph{ops: map[string]int{}, weightNames: map[string]bool{}, inputs: []Port{}, outputs: []Port{}}
}

// complete refuses a file that lacks what every model has. Each of its fields
// is intact then: it lost its end at the border of one, or never was a model.
func (o *onnx) complete() error {
	lacks := func(what report.Text) error {
		return &damage{at: o.size, in: "ModelProto", what: what, cut: true}
	}
	switch {
	case o.box.IR < 1:
		return &damage{in: "ModelProto", what: report.T("ir_version (field 1) is %d, expected 1 or more", "ir_version（字段 1）为 %d，应不小于 1", o.box.IR)}
	case !o.hasGraph:
		return lacks(report.T("there is no graph (field 7)", "缺少 graph（字段 7）"))
	case len(o.box.Opsets) > 0:
		return nil
	case o.box.IR >= 3:
		return lacks(report.T("there is no opset_import (field 8)", "缺少 opset_import（字段 8）"))
	}
	// Older files cannot say it and mean the first (source: onnx/docs/IR.md).
	o.box.Opsets[defaultDomain] = 1
	return nil
}

func (o *onnx) model(f field) (err error) {
	switch f.num {
	case 1:
		o.box.IR, err = f.number()
	case 2:
		o.producer.Name, err = o.recorded(f)
	case 3:
		o.producer.Version, err = o.recorded(f)
	case 7:
		o.hasGraph = true
		err = o.graph(f, &o.top)
	case 8:
		err = o.opset(f)
	case 25: // functions: only their external data and their soundness matter here
		inside := newGraph()
		err = o.walk(f, "FunctionProto", func(f field) error {
			if f.num != 7 {
				return nil
			}
			return o.node(f, &inside)
		})
	}
	return err
}

func (o *onnx) recorded(f field) (Recorded, error) {
	s, err := o.text(f)
	return Recorded(s), err
}

func (o *onnx) opset(f field) error {
	var domain string
	var version int64
	err := o.walk(f, "OperatorSetIdProto", func(f field) (err error) {
		switch f.num {
		case 1:
			domain, err = o.text(f)
		case 2:
			version, err = f.number()
		}
		return err
	})
	if err != nil {
		return err
	}
	if version < 1 {
		return f.damage(report.T("the version of opset %.80q is %d, expected 1 or more", "opset %.80q 的版本为 %d，应不小于 1", domain, version))
	}
	if domain == "" {
		domain = defaultDomain
	}
	o.box.Opsets[domain] = version
	return nil
}

// graph reads a GraphProto into g. Graphs inside nodes are read as strictly
// as the top one, and then forgotten.
func (o *onnx) graph(f field, g *graph) error {
	return o.walk(f, "GraphProto", func(f field) (err error) {
		switch f.num {
		case 1:
			err = o.node(f, g)
		case 2:
			g.name, err = o.recorded(f)
		case 5:
			err = o.weight(f, g)
		case 11:
			g.inputs, err = o.port(f, g.inputs)
		case 12:
			g.outputs, err = o.port(f, g.outputs)
		case 15:
			err = o.sparseWeight(f, g)
		}
		return err
	})
}

func (o *onnx) node(f field, g *graph) error {
	var op, domain string
	err := o.walk(f, "NodeProto", func(f field) (err error) {
		switch f.num {
		case 4:
			op, err = o.text(f)
		case 5:
			err = o.walk(f, "AttributeProto", o.attribute)
		case 7:
			domain, err = o.text(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if op == "" {
		return f.damage(report.T("the node has no op_type (field 4)", "图节点缺少 op_type（字段 4）"))
	}
	if domain != "" && domain != defaultDomain {
		op = domain + "::" + op
	}
	g.nodes++
	g.ops[op]++
	return nil
}

// attribute looks into the attributes that can hold tensors or graphs.
func (o *onnx) attribute(f field) (err error) {
	switch f.num {
	case 5, 10:
		_, err = o.tensor(f)
	case 6, 11:
		inside := newGraph()
		err = o.graph(f, &inside)
	case 22, 23:
		inside := newGraph()
		err = o.sparseWeight(f, &inside)
	}
	return err
}

func (o *onnx) weight(f field, g *graph) error {
	t, err := o.tensor(f)
	if err != nil {
		return err
	}
	return g.addWeight(f, t.name, t.bytes)
}

// sparseWeight reads a SparseTensorProto; it counts as stored, indices and all.
func (o *onnx) sparseWeight(f field, g *graph) error {
	var values, indices tensor
	err := o.walk(f, "SparseTensorProto", func(f field) (err error) {
		switch f.num {
		case 1:
			values, err = o.tensor(f)
		case 2:
			indices, err = o.tensor(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := g.addWeight(f, values.name, values.bytes); err != nil {
		return err
	}
	g.weights.Count-- // one weight in two tensors
	return g.addWeight(f, values.name, indices.bytes)
}

func (g *graph) addWeight(f field, name string, bytes int64) error {
	if g.weights.Bytes += bytes; g.weights.Bytes < 0 {
		return f.damage(report.T("the weights are larger than 2^63 bytes", "权重总大小超过 2^63 字节"))
	}
	g.weights.Count++
	if name != "" {
		g.weightNames[name] = true
	}
	return nil
}
