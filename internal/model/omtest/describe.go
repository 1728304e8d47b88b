package omtest

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/model"
)

// inputs are the inputs with the one for the gear behind them: int32, one
// number for each value of a gear.
func (f File) inputs() []Tensor {
	if f.Gears.Kind == "" {
		return f.Inputs
	}
	width := int64(len(f.rows()[0]))
	return append(f.Inputs[:len(f.Inputs):len(f.Inputs)], Tensor{Name: GearName, DType: "INT32", Dims: []int64{width}})
}

// outputName is how the file records the name of output i: with the slot.
func outputName(t Tensor) string { return fmt.Sprintf("Node_%s:0:%s", t.Name, t.Name) }

// description is a MODEL_INOUT_INFO partition; with more, what the double
// wants to know besides.
func (f File) description(more bool) []byte {
	le := binary.LittleEndian
	record := func(out []byte, kind uint32, data []byte) []byte {
		out = le.AppendUint32(out, kind)
		out = le.AppendUint32(out, uint32(len(data)))
		return append(out, data...)
	}
	in := le.AppendUint32(nil, uint32(len(f.inputs())))
	for i, t := range f.inputs() {
		in = describe(in, t.Name, t, f.shown(i, t))
	}
	out := record(nil, 0, in)
	outs := le.AppendUint32(nil, uint32(len(f.Outputs)))
	for _, t := range f.Outputs {
		outs = describe(outs, outputName(t), t, t.Dims)
	}
	out = record(out, 1, outs)
	if f.Gears.Kind != "" {
		out = record(out, map[string]uint32{model.GearBatch: 2, model.GearImage: 3, model.GearDims: 4}[f.Gears.Kind], f.gearRecord())
		out = record(record(out, 5, texts(f.outputDims())), 6, texts(f.order()))
	}
	if !more {
		return out
	}
	if f.SoC != "" {
		out = record(out, RecordSoC, []byte(f.SoC))
	}
	out = record(out, RecordWork, le.AppendUint64(nil, uint64(f.work())))
	out = record(out, RecordWeights, le.AppendUint64(nil, uint64(len(f.Weights))))
	if f.Gears.Kind != "" {
		out = record(out, RecordGear, le.AppendUint32(nil, uint32(len(f.Inputs))))
	}
	if f.Dynamic {
		out = record(out, RecordDynamic, le.AppendUint32(nil, 1))
	}
	return out
}

func (f File) gearRecord() []byte {
	le := binary.LittleEndian
	out := le.AppendUint32(nil, uint32(len(f.Gears.Values)))
	if f.Gears.Kind != model.GearBatch {
		for _, row := range f.rows() {
			out = le.AppendUint32(out, uint32(len(row)))
		}
	}
	for _, row := range f.rows() {
		out = numbers(out, row)
	}
	return out
}

// texts is a record of texts: how many, their lengths, they.
func texts(row []string) []byte {
	le := binary.LittleEndian
	out := le.AppendUint32(nil, uint32(len(row)))
	for _, s := range row {
		out = le.AppendUint32(out, uint32(len(s)))
	}
	return append(out, strings.Join(row, "")...)
}

func describe(out []byte, name string, t Tensor, dims []int64) []byte {
	le := binary.LittleEndian
	kind, ok := kinds[t.DType]
	if !ok {
		panic("omtest: no type " + t.DType)
	}
	out = le.AppendUint64(out, uint64(t.Bytes()))
	out = le.AppendUint32(out, uint32(layouts[t.layout()]))
	out = le.AppendUint32(out, uint32(kind.acl))
	for _, n := range []int{len(name), 8 * len(dims), 8 * len(dims), 16 * len(t.Range)} {
		out = le.AppendUint32(out, uint32(n))
	}
	out = numbers(numbers(append(out, name...), dims), dims)
	for _, r := range t.Range {
		out = numbers(out, r[:])
	}
	return out
}

func (t Tensor) layout() string {
	if t.Layout == "" {
		return "ND"
	}
	return t.Layout
}

func numbers(out []byte, row []int64) []byte {
	for _, n := range row {
		out = binary.LittleEndian.AppendUint64(out, uint64(n))
	}
	return out
}
