package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/report"
)

// gearInput is how the name of the input that takes the gear begins (source:
// ACL_DYNAMIC_TENSOR_NAME).
const gearInput = "ascend_mbatch_shape_data"

// omGraph is what the first GraphDef says.
type omGraph struct {
	nodes, constants int
	ops              map[string]int
	inputs, outputs  []Port
	order            []int64  // index attribute of each input
	outNames         []string // of the model, with or without ":slot"
	shapeOrder       []string // inputs as --input_shape named them
}

// opDef is what the ops at the ends of the graph say.
type opDef struct {
	name, kind string
	attrs      map[string]attr
	in, out    []tensorDesc
	from       []string // producers of the inputs
	slots      []int64  // and their slots
}

// tensorDesc is a TensorDescriptor.
type tensorDesc struct {
	elem   element
	dims   []int64
	layout string
	size   int64
	attrs  map[string]attr
}

func (o *om) readGraph(f field) error {
	err := o.walk(f, "GraphDef", func(f field) error {
		if f.num != 6 {
			return nil
		}
		return o.op(f)
	})
	if err != nil {
		return err
	}
	// Files of 2020 lack the attribute: their order is the one of appearance.
	at := make([]int, len(o.graph.inputs))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(o.graph.order[a], o.graph.order[b]) })
	inputs := make([]Port, len(at))
	for i, from := range at {
		inputs[i] = o.graph.inputs[from]
	}
	o.graph.inputs = inputs
	if o.graph.outputs == nil {
		o.graph.outputs = []Port{}
	}
	return nil
}

// op counts an OpDef and looks into those that say what goes in and out.
func (o *om) op(f field) error {
	var kind string
	err := o.walk(f, "OpDef", func(f field) (err error) {
		if f.num == 2 {
			kind, err = o.text(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if kind == "" {
		return f.damage(report.T("the op has no type (field 2)", "算子缺少 type（字段 2）"))
	}
	o.graph.nodes++
	o.graph.ops[kind]++
	switch kind {
	case "Const", "Constant":
		o.graph.constants++
		return nil
	case "FileConstant":
		o.graph.constants++
		o.box.External = true
		return nil
	case "Data", "AippData", "AnnData", "NetOutput", "Case":
	default:
		return nil
	}
	d := opDef{kind: kind, attrs: map[string]attr{}}
	if err := o.walk(f, "OpDef", func(f field) error { return o.opField(f, &d) }); err != nil {
		return err
	}
	switch kind {
	case "NetOutput":
		return o.outputs(f, &d)
	case "Case":
		return o.gears(f, d.attrs)
	}
	return o.input(f, &d)
}

func (o *om) opField(f field, d *opDef) (err error) {
	switch f.num {
	case 1:
		d.name, err = o.text(f)
	case 10:
		err = o.keep(f, d.attrs)
	case 24:
		var s string
		if s, err = o.text(f); err == nil && len(d.from) < maxPorts {
			d.from = append(d.from, s)
		}
	case 25:
		d.slots, err = o.numbers(d.slots, f, maxPorts)
	case 33:
		d.in, err = o.tensorDesc(f, d.in)
	case 34:
		d.out, err = o.tensorDesc(f, d.out)
	}
	return err
}

// opAttrs are the attributes of ops and tensors that are looked at; those of
// the gears beside _batch_num are _pred_value_0 and on.
var opAttrs = map[string]bool{
	"index": true, "_dynamic_aipp_input_dims": true, "_mbatch_origin_input_dims": true, "_batch_num": true, "mbatch_dynamic_type": true, "user_designate_shape_order": true,
	"_special_input_size": true, "_special_output_size": true, "shape_range": true,
}

const gearAttr = "_pred_value_"

// keep notes an attribute that is looked at.
func (o *om) keep(f field, in map[string]attr) error {
	name, a, err := o.attribute(f, func(s string) bool { return opAttrs[s] || strings.HasPrefix(s, gearAttr) })
	if name != "" {
		in[name] = a
	}
	return err
}

func (o *om) tensorDesc(f field, to []tensorDesc) ([]tensorDesc, error) {
	if len(to) == maxPorts {
		return nil, f.damage(report.T("the graph has more than %d inputs or outputs", "图的输入或输出超过 %d 个", maxPorts))
	}
	d := tensorDesc{dims: []int64{}, attrs: map[string]attr{}}
	err := o.walk(f, "TensorDescriptor", func(f field) (err error) {
		switch f.num {
		case 2:
			var n int64
			n, err = f.number()
			d.elem = geElement(n)
		case 3:
			return o.walk(f, "ShapeDef", func(f field) (err error) {
				if f.num == 1 {
					d.dims, err = o.numbers(d.dims, f, maxRank)
				}
				return err
			})
		case 4:
			d.layout, err = o.text(f)
		case 5:
			err = o.keep(f, d.attrs)
		case 10:
			d.size, err = f.number()
		}
		return err
	})
	return append(to, d), err
}

// port is a tensor as clients see it. bytes <= 0 is not known.
func (d *tensorDesc) port(name string, dims []int64, bytes int64) Port {
	p := Port{Name: name, DType: d.elem.dtype, Word: d.elem.word, Layout: d.layout, Dims: openDims(dims)}
	for _, r := range d.attrs["shape_range"].rows {
		if len(r) == 2 {
			p.Range = append(p.Range, [2]int64{r[0], r[1]})
		}
	}
	if bytes > 0 {
		p.Bytes = &bytes
	}
	return p
}

// openDims turns stored dims into those of a port: -1 is an open dimension,
// and a single -2 an unknown rank (source: hicann/metadef UNKNOWN_DIM_NUM).
func openDims(dims []int64) []Dim {
	if len(dims) == 1 && dims[0] == -2 {
		return nil
	}
	out := make([]Dim, len(dims))
	for i, n := range dims {
		out[i].Value = max(n, -1)
	}
	return out
}

// plainBytes is the size of the tensor as its dims say it, 0 where they do not.
func (d *tensorDesc) plainBytes() int64 {
	if n, ok := ascend.Elements(d.dims); ok {
		if bytes, ok := d.elem.size(n); ok {
			return bytes
		}
	}
	return 0
}

// input adds the port of a Data op. Its input descriptor has the exact size;
// that of its output is padded, which would make every request too short.
func (o *om) input(f field, d *opDef) error {
	if len(d.in) == 0 {
		return f.damage(report.T("the op %.80q has no input_desc (field 33)", "算子 %.80q 缺少 input_desc（字段 33）", d.name))
	}
	in := &d.in[0]
	dims, bytes := in.dims, in.size
	for _, name := range []string{"_dynamic_aipp_input_dims", "_mbatch_origin_input_dims"} {
		if a, ok := d.attrs[name]; ok && len(a.nums) <= maxRank {
			dims = a.nums
			break
		}
	}
	var padded int64
	if len(d.out) > 0 {
		padded = d.out[0].size
		if n := d.out[0].attrs["_special_input_size"].num; n > 0 {
			bytes = n
		}
	}
	if bytes <= 0 {
		bytes = in.plainBytes()
	}
	p := in.port(d.name, dims, bytes)
	p.pad(padded)
	p.Gear = strings.HasPrefix(d.name, gearInput)
	index := int64(len(o.graph.inputs))
	if a, ok := d.attrs["index"]; ok {
		index = a.num
	}
	if len(o.graph.inputs) == maxPorts {
		return f.damage(report.T("the graph has more than %d inputs or outputs", "图的输入或输出超过 %d 个", maxPorts))
	}
	o.graph.inputs, o.graph.order = append(o.graph.inputs, p), append(o.graph.order, index)
	return nil
}

func (p *Port) pad(padded int64) {
	if p.Bytes != nil && padded > *p.Bytes {
		p.Padded = &padded
	}
}

// outputs adds the ports of a NetOutput op, one for each of its inputs.
func (o *om) outputs(f field, d *opDef) error {
	if len(o.graph.outputs)+len(d.in) > maxPorts {
		return f.damage(report.T("the graph has more than %d inputs or outputs", "图的输入或输出超过 %d 个", maxPorts))
	}
	for i := range d.in {
		t := &d.in[i]
		bytes := t.plainBytes()
		if n := t.attrs["_special_output_size"].num; n > 0 {
			bytes = n
		}
		p := t.port(o.outputName(d, i), t.dims, bytes)
		p.pad(t.size)
		o.graph.outputs = append(o.graph.outputs, p)
	}
	return nil
}

// outputName is the recorded name with its slot, or the one that the runtime
// makes up where none is recorded.
func (o *om) outputName(d *opDef, i int) string {
	var from string
	var slot int64
	if i < len(d.from) {
		from = d.from[i]
	}
	if i < len(d.slots) {
		slot = d.slots[i]
	}
	if names := o.graph.outNames; len(names) == len(d.in) {
		if strings.Contains(names[i], ":") {
			return names[i]
		}
		return fmt.Sprintf("%s:%d", names[i], slot)
	}
	return fmt.Sprintf("output_%d_%s_%d", i, from, slot)
}

// gears reads the op that picks a branch by the gear.
func (o *om) gears(f field, attrs map[string]attr) error {
	n := attrs["_batch_num"].num
	if n <= 0 {
		return nil
	}
	if n > maxGears {
		return f.damage(report.T("the model has %d gears, expected at most %d", "模型有 %d 个档位，应不超过 %d 个", n, maxGears))
	}
	g := Gears{Kind: gearKinds[attrs["mbatch_dynamic_type"].num]}
	for i := range n {
		row := attrs[gearAttr+strconv.FormatInt(i, 10)].nums
		if len(row) == 0 || len(row) > maxRank*maxRank {
			return f.damage(report.T("gear %d of %d has no values (%s%[1]d)", "第 %d 个档位（共 %d 个）没有取值（%s%[1]d）", i, n, gearAttr))
		}
		g.Values = append(g.Values, slices.Clone(row))
	}
	if g.Kind == "" {
		g.Kind = kindByWidth(len(g.Values[0]))
	}
	o.out.Gears, o.graph.shapeOrder = g, attrs["user_designate_shape_order"].texts
	return nil
}

// inOrder are the dims of the inputs as --input_shape named them, one behind
// the other.
func (o *om) inOrder() (dims []Dim) {
	names := o.graph.shapeOrder
	if len(names) == 0 {
		for _, p := range o.graph.inputs {
			names = append(names, p.Name)
		}
	}
	byName := map[string]*Port{}
	for i := range o.graph.inputs {
		byName[o.graph.inputs[i].Name] = &o.graph.inputs[i]
	}
	for _, name := range names {
		if p := byName[name]; p != nil && !p.Gear && len(dims) <= maxGearDims {
			dims = append(dims, p.Dims...)
		}
	}
	return dims
}
