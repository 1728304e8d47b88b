package omtest

import "fmt"

// The ops between inputs and outputs: the one that picks the gear, or one that
// stands for the whole net. No such operator exists, hence no kernel; the true
// library loads the graph all the same.
const (
	branch = "branch"
	body   = "Simulated"
)

// base is where the compiler thought the work memory to lie; the weights are
// behind it.
const base = 1 << 31

// tasks is the TASK_INFO partition: the sizes and what the device is to do. No
// kernel, so it can but copy inputs to outputs, which identity is; without any
// task the true library loads no model.
func (f File) tasks() []byte {
	const copying, endOfGraph = 13, 19
	var m []byte
	inAt, outAt, _ := f.places()
	for i := range f.Outputs {
		if f.Function != "identity" || i == len(f.Inputs) {
			break
		}
		n := uint64(f.Outputs[i].Bytes())
		task := field(field(nil, 1, base+uint64(outAt[i])), 2, n)
		task = field(field(task, 3, base+uint64(inAt[i])), 4, n)
		task = field(field(task, 5, 3), 6, uint64(f.netID())) // 3: within the device
		m = sub(m, 10, sub(field(nil, 2, copying), 31, task))
	}
	m = sub(m, 10, field(nil, 2, endOfGraph))
	m = field(m, 11, uint64(f.work()))
	return field(m, 14, uint64(len(f.Weights)))
}

// op is an OpDef. Its inputs and outputs lie at offsets of the work memory.
type op struct {
	name, kind  string
	attrs       map[string]any
	from        []edge
	constants   []bool   // which inputs are
	in, out     [][]byte // TensorDescriptors
	inAt, outAt []int64
}

type edge struct {
	name string
	slot int64
}

// definition is the MODEL_DEF partition.
func (f File) definition() []byte {
	w := &words{compress: f.Generation == Wide}
	g := sub(nil, 1, f.Name+"_0")
	for id, o := range f.ops(w) {
		g = sub(g, 6, o.encode(w, id))
	}
	names := make([]string, len(f.Outputs))
	for i, t := range f.Outputs {
		names[i] = outputName(t)
	}
	_, _, total := f.places()
	said := map[string]any{
		"atc_version": f.ATC, "opp_version": f.ATC, "soc_version": f.SoC, "framework_type": f.Framework, "atc_cmdline": f.Command,
		"memory_size": f.work(), "weight_size": int64(len(f.Weights)), "stream_num": max(f.Streams, 1), "event_num": f.Events,
		"zero_copy_memory_size": total, "attr_model_out_nodes_name": names,
		"task_gen_base_addr": int64(base), "task_gen_weight_addr": base + f.work(),
	}
	for name, v := range said {
		if v == "" {
			delete(said, name)
		}
	}
	if w.compress {
		said["om_compress_version"], said["attr_name_enum"] = int64(1), w.names
		said["attr_value_enum"], said["attrs_use_string_value"] = w.values, w.coded
	}
	return modelDef(f.Name, g, said)
}

// modelDef is a ModelDef; the attributes lie behind the graph, as in real files.
func modelDef(name string, graph []byte, said map[string]any) []byte {
	m := sub(sub(nil, 1, name), 3, "1.11.z.0")
	m = sub(m, 7, graph)
	return new(words).attrs(m, 11, said)
}

// ops are the graph: the inputs, the weights, what computes, the outputs.
func (f File) ops(w *words) []op {
	inAt, outAt, _ := f.places()
	net := op{name: branch, kind: body}
	if f.Gears.Kind != "" {
		net.kind, net.attrs = "Case", f.choice()
	}
	var all []op
	link := func(o op, t Tensor, at int64) {
		all = append(all, o)
		net.from = append(net.from, edge{o.name, 0})
		net.in, net.inAt = append(net.in, w.tensor(t, t.Dims, Padded(t.Bytes()), nil)), append(net.inAt, at)
		net.constants = append(net.constants, o.kind == "Const")
	}
	for i, t := range f.inputs() {
		link(f.data(w, i, t, inAt[i]), t, inAt[i])
	}
	if n := int64(len(f.Weights)); n > 0 {
		t := Tensor{Name: "weights", DType: "UINT8", Dims: []int64{n}}
		link(op{name: t.Name, kind: "Const", attrs: map[string]any{"value": constant(n)}, out: [][]byte{w.tensor(t, t.Dims, Padded(n), nil)}, outAt: []int64{0}}, t, 0)
	}
	end := op{name: "Node_Output", kind: "NetOutput", inAt: outAt}
	if f.Gears.Kind != "" {
		end.attrs = map[string]any{"_dynamic_output_dims": f.outputDims()}
	}
	for i, t := range f.Outputs {
		end.in = append(end.in, w.tensor(t, t.Dims, Padded(t.Bytes()), nil))
		end.from = append(end.from, edge{branch, int64(i)})
	}
	net.out, net.outAt = end.in, outAt
	return append(all, net, end)
}

// netID is the number of the op between inputs and outputs.
func (f File) netID() int { return len(f.inputs()) + min(len(f.Weights), 1) }

// encode writes the op as number id of the graph.
func (o op) encode(w *words, id int) []byte {
	m := sub(sub(nil, 1, o.name), 2, o.kind)
	for _, e := range o.from {
		m = sub(m, 5, fmt.Sprintf("%s:%d", e.name, e.slot))
	}
	m = field(field(w.attrs(m, 10, o.attrs), 20, 1), 21, uint64(id))
	var slots []int64
	for _, e := range o.from {
		m, slots = sub(m, 24, e.name), append(slots, e.slot)
	}
	m = packed(packed(packed(packed(m, 25, slots), 28, o.inAt), 29, o.outAt), 32, bits(o.constants))
	for _, t := range o.in {
		m = sub(m, 33, t)
	}
	for _, t := range o.out {
		m = sub(m, 34, t)
	}
	return m
}

// places are the offsets of the inputs and outputs in the work memory, whose
// end they take, and the bytes they take together.
func (f File) places() (in, out []int64, total int64) {
	for _, t := range f.inputs() {
		in, total = append(in, total), total+Padded(t.Bytes())
	}
	for _, t := range f.Outputs {
		out, total = append(out, total), total+Padded(t.Bytes())
	}
	before := max(f.Work-total, 0)
	for _, row := range [][]int64{in, out} {
		for i := range row {
			row[i] += before
		}
	}
	return in, out, total
}

// data is the Data op of input i. Only the newer generations number them.
func (f File) data(w *words, i int, t Tensor, at int64) op {
	o := op{name: t.Name, kind: "Data", attrs: map[string]any{}, outAt: []int64{at}}
	if f.Generation != Layout1 {
		o.attrs["index"] = int64(i)
	}
	if f.Gears.Kind != "" && i < len(f.GearInputs) {
		o.attrs["_mbatch_origin_input_dims"] = f.GearInputs[i]
	}
	var ranges map[string]any
	if len(t.Range) > 0 {
		ranges = map[string]any{"shape_range": t.Range}
	}
	o.in = [][]byte{w.tensor(t, t.Dims, t.Bytes(), ranges)}
	o.out = [][]byte{w.tensor(t, t.Dims, Padded(t.Bytes()), nil)}
	return o
}
