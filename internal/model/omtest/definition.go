package omtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/model"
)

// field appends a varint field of a protobuf message. protowire is left to the
// reader, so that the two do not share a mistake.
func field(m []byte, number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(number)<<3), v)
}

// sub appends a field of bytes: a text or a message.
func sub[T []byte | string](m []byte, number int, v T) []byte {
	m = binary.AppendUvarint(m, uint64(number)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(v))), v...)
}

// packed appends a repeated integer field.
func packed(m []byte, number int, row []int64) []byte {
	var data []byte
	for _, n := range row {
		data = binary.AppendUvarint(data, uint64(n))
	}
	return sub(m, number, data)
}

// words of a file with compressed attributes: each attribute name and text has
// a number.
type words struct {
	compress      bool
	names, values []string
	coded         []bool
}

// key is the name of an attribute as it is stored.
func (w *words) key(name string, text bool) (key string, coded bool) {
	if !w.compress {
		return name, false
	}
	at := slices.Index(w.names, name)
	if at < 0 {
		at = len(w.names)
		w.names, w.coded = append(w.names, name), append(w.coded, text)
	}
	key = "\x00"
	for n := at; ; n /= 127 {
		key += string([]byte{byte(n%127) + 1})
		if n < 127 {
			return key, w.coded[at]
		}
	}
}

func (w *words) text(s string) int64 {
	at := slices.Index(w.values, s)
	if at < 0 {
		at = len(w.values)
		w.values = append(w.values, s)
	}
	return int64(at)
}

// attrs appends an attribute map in field number. Values are int64, bool,
// string, []int64, []string, []bool, [][2]int64.
func (w *words) attrs(m []byte, number int, values map[string]any) []byte {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		_, text := value.(string)
		_, texts := value.([]string)
		key, coded := w.key(name, text || texts)
		m = sub(m, number, sub(sub(nil, 1, key), 2, w.value(value, coded)))
	}
	return m
}

func (w *words) value(value any, coded bool) []byte {
	switch v := value.(type) {
	case int64:
		return field(nil, 3, uint64(v))
	case string:
		if coded {
			return field(nil, 3, uint64(w.text(v)))
		}
		return sub(nil, 2, v)
	case []int64:
		return sub(nil, 1, field(packed(nil, 3, v), 20, 2))
	case []bool:
		row := make([]int64, len(v))
		for i, b := range v {
			if b {
				row[i] = 1
			}
		}
		return sub(nil, 1, field(packed(nil, 5, row), 20, 4))
	case []string:
		var list []byte
		for _, s := range v {
			if coded {
				list = field(list, 3, uint64(w.text(s)))
			} else {
				list = sub(list, 2, s)
			}
		}
		return sub(nil, 1, field(list, 20, 1))
	case [][2]int64:
		var rows []byte
		for _, r := range v {
			rows = sub(rows, 1, packed(nil, 1, r[:]))
		}
		return sub(nil, 14, rows)
	}
	panic(fmt.Sprintf("omtest: no attribute of type %T", value))
}

// tensor is a TensorDescriptor.
func (w *words) tensor(t Tensor, dims []int64, size int64, values map[string]any) []byte {
	m := field(nil, 2, uint64(kinds[t.DType].ge))
	m = sub(m, 3, packed(nil, 1, dims))
	m = sub(m, 4, t.layout())
	m = w.attrs(m, 5, values)
	return field(m, 10, uint64(size))
}

// definition is the MODEL_DEF partition.
func (f File) definition() []byte {
	w := &words{compress: f.Generation == Wide}
	g := sub(nil, 1, f.Name+"_0")
	for i, t := range f.inputs() {
		g = sub(g, 6, f.data(w, i, t))
	}
	if f.Gears.Kind != "" {
		g = sub(g, 6, f.branch(w))
	}
	g = sub(g, 6, sub(sub(nil, 1, "weights"), 2, "Const"))
	g = sub(g, 6, f.netOutput(w))
	names := make([]string, len(f.Outputs))
	for i, t := range f.Outputs {
		names[i] = outputName(t)
	}
	said := map[string]any{
		"atc_version": f.ATC, "opp_version": f.ATC, "soc_version": f.SoC, "framework_type": f.Framework, "atc_cmdline": f.Command,
		"memory_size": f.Work, "weight_size": int64(len(f.Weights)), "stream_num": max(f.Streams, 1), "event_num": f.Events,
		"zero_copy_memory_size": int64(0), "attr_model_out_nodes_name": names,
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

// data is the Data op of input i. Only the newer generations number them.
func (f File) data(w *words, i int, t Tensor) []byte {
	m := sub(sub(nil, 1, t.Name), 2, "Data")
	values := map[string]any{}
	if f.Generation != Layout1 {
		values["index"] = int64(i)
	}
	if f.Gears.Kind != "" && i < len(f.GearInputs) {
		values["_mbatch_origin_input_dims"] = f.GearInputs[i]
	}
	m = w.attrs(m, 10, values)
	var ranges map[string]any
	if len(t.Range) > 0 {
		ranges = map[string]any{"shape_range": t.Range}
	}
	m = sub(m, 33, w.tensor(t, t.Dims, t.Bytes(), ranges))
	return sub(m, 34, w.tensor(t, t.Dims, Padded(t.Bytes()), nil))
}

// branch is the Case op that picks the gear.
func (f File) branch(w *words) []byte {
	values := map[string]any{
		"_batch_num":          int64(len(f.Gears.Values)),
		"mbatch_dynamic_type": map[string]int64{model.GearBatch: 1, model.GearImage: 2, model.GearDims: 3}[f.Gears.Kind],
	}
	order := make([]string, len(f.Inputs))
	for i, t := range f.Inputs {
		order[i] = t.Name
	}
	values["user_designate_shape_order"] = order
	for i, row := range f.Gears.Values {
		values[fmt.Sprintf("_pred_value_%d", i)] = row
	}
	return w.attrs(sub(sub(nil, 1, "branch"), 2, "Case"), 10, values)
}

func (f File) netOutput(w *words) []byte {
	m := sub(sub(nil, 1, "Node_Output"), 2, "NetOutput")
	values := map[string]any{}
	if f.Gears.Kind == model.GearBatch {
		values["_dynamic_output_dims"] = f.outputDims()
	}
	m = w.attrs(m, 10, values)
	for range f.Outputs {
		m = sub(m, 24, "branch")
	}
	slots := make([]int64, len(f.Outputs))
	for i := range slots {
		slots[i] = int64(i)
	}
	m = packed(m, 25, slots)
	for _, t := range f.Outputs {
		m = sub(m, 33, w.tensor(t, t.Dims, Padded(t.Bytes()), nil))
	}
	return m
}

// outputDims are the output shapes of each gear: "gear,output,dims...".
func (f File) outputDims() (out []string) {
	largest := f.Gears.Values[0][0]
	for _, g := range f.Gears.Values {
		largest = max(largest, g[0])
	}
	for gear, g := range f.Gears.Values {
		for i, t := range f.Outputs {
			dims := slices.Clone(t.Dims)
			if len(dims) > 0 && dims[0] == largest {
				dims[0] = g[0]
			}
			row := strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", ",")
			out = append(out, fmt.Sprintf("%d,%d,%s", gear, i, row))
		}
	}
	return out
}
