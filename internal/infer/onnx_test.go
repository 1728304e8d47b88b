package infer

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
	"google.golang.org/protobuf/encoding/protowire"
)

// This file writes the ONNX models of the tests and reads tensor files. Field
// numbers are those of onnx.proto.

type fields []byte

func (f fields) num(field protowire.Number, v int64) fields {
	f = protowire.AppendTag(f, field, protowire.VarintType)
	return protowire.AppendVarint(f, uint64(v))
}

func (f fields) bytes(field protowire.Number, b ...[]byte) fields {
	for _, b := range b {
		f = protowire.AppendTag(f, field, protowire.BytesType)
		f = protowire.AppendBytes(f, b)
	}
	return f
}

func (f fields) str(field protowire.Number, ss ...string) fields {
	for _, s := range ss {
		f = f.bytes(field, []byte(s))
	}
	return f
}

// model wraps a graph for IR 8 and opset 17.
func model(graph fields) []byte { return modelOf(graph, 8, 17) }

func modelOf(graph fields, ir, opset int64) []byte {
	return fields(nil).num(1, ir).str(2, "ascendctl tests").bytes(7, graph).bytes(8, fields(nil).str(1, "").num(2, opset))
}

func graph(nodes, inputs, outputs []fields) fields {
	f := fields(nil).str(2, "g")
	for _, n := range nodes {
		f = f.bytes(1, n)
	}
	for _, p := range inputs {
		f = f.bytes(11, p)
	}
	for _, p := range outputs {
		f = f.bytes(12, p)
	}
	return f
}

func node(op string, in, out []string, attrs ...fields) fields {
	f := fields(nil).str(1, in...).str(2, out...).str(4, op)
	for _, a := range attrs {
		f = f.bytes(5, a)
	}
	return f
}

func intAttr(name string, v int64) fields { return fields(nil).str(1, name).num(3, v).num(20, 2) }

func graphAttr(name string, g fields) fields { return fields(nil).str(1, name).bytes(6, g).num(20, 5) }

// value is a tensor port; a dim is an int, or a string for a name. nil dims
// leave the shape out.
func value(name string, t ascend.DType, dims ...any) fields {
	tensor := fields(nil).num(1, int64(t))
	if dims != nil {
		var shape fields
		for _, d := range dims {
			switch d := d.(type) {
			case int:
				shape = shape.bytes(1, fields(nil).num(1, int64(d)))
			case string:
				shape = shape.bytes(1, fields(nil).str(2, d))
			}
		}
		tensor = tensor.bytes(2, shape)
	}
	return fields(nil).str(1, name).bytes(2, fields(nil).bytes(1, tensor))
}

// scalar is a port of rank 0, which is not the same as one without a shape.
func scalar(name string, t ascend.DType) fields {
	return fields(nil).str(1, name).bytes(2, fields(nil).bytes(1, fields(nil).num(1, int64(t)).bytes(2, nil)))
}

// twins gives back both of its inputs: a float [n,4] as ya, b int64 [n,2] as yb.
func twins() []byte {
	return model(graph(
		[]fields{node("Identity", []string{"a"}, []string{"ya"}), node("Identity", []string{"b"}, []string{"yb"})},
		[]fields{value("a", ascend.Float, "n", 4), value("b", ascend.Int64, "n", 2)},
		[]fields{value("ya", ascend.Float, "n", 4), value("yb", ascend.Int64, "n", 2)}))
}

// spinner negates x as often as trips says: as slow as one likes.
func spinner() []byte {
	body := graph(
		[]fields{node("Identity", []string{"go"}, []string{"go_on"}), node("Neg", []string{"v"}, []string{"w"})},
		[]fields{scalar("i", ascend.Int64), scalar("go", ascend.Bool), value("v", ascend.Float, "n", 4)},
		[]fields{scalar("go_on", ascend.Bool), value("w", ascend.Float, "n", 4)})
	return model(graph(
		[]fields{node("Loop", []string{"trips", "", "x"}, []string{"y"}, graphAttr("body", body))},
		[]fields{scalar("trips", ascend.Int64), value("x", ascend.Float, "n", 4)},
		[]fields{value("y", ascend.Float, "n", 4)}))
}

// readTensor reads a TensorProto into our packed form.
func readTensor(b []byte) (t oip.Tensor, err error) {
	var dtype ascend.DType
	var typed []byte // what stands in the fields for a type, packed
	var strings [][]byte
	put := func(v uint64) {
		size, _ := dtype.Size(1)
		typed = append(typed, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
	}
	var later []func() error // the type may stand behind the data
	err = walk(b, func(n protowire.Number, w protowire.Type, v uint64, s []byte) error {
		switch {
		case n == 1 && w == protowire.VarintType:
			t.Shape = append(t.Shape, int64(v))
		case n == 1:
			return varints(s, func(v uint64) { t.Shape = append(t.Shape, int64(v)) })
		case n == 2:
			dtype = ascend.DType(v)
		case n == 6:
			strings = append(strings, s)
		case n == 8:
			t.Name = string(s)
		case n == 9 || (n == 4 || n == 10) && w == protowire.BytesType: // floats and doubles are packed as they are
			t.Data = append(t.Data, s...)
		case (n == 5 || n == 7 || n == 11) && w == protowire.BytesType:
			later = append(later, func() error { return varints(s, put) })
		case n == 4 || n == 5 || n == 7 || n == 10 || n == 11:
			later = append(later, func() error { put(v); return nil })
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	t.DType = dtype
	for _, f := range later {
		if err := f(); err != nil {
			return t, err
		}
	}
	t.Data = append(t.Data, typed...)
	if dtype == ascend.String {
		t.Data = packStrings(strings...)
	}
	return t, checkTensor(t)
}

func checkTensor(t oip.Tensor) error {
	n, ok := ascend.Elements(t.Shape)
	size, fixed := t.DType.Size(n)
	if !ok || t.DType != ascend.String && (!fixed || size != int64(len(t.Data))) {
		return fmt.Errorf("tensor %q: %d bytes for %v %d", t.Name, len(t.Data), t.DType, t.Shape)
	}
	return nil
}

// walk calls f for every field: v for numbers, s for bytes.
func walk(b []byte, f func(n protowire.Number, w protowire.Type, v uint64, s []byte) error) error {
	for len(b) > 0 {
		n, w, l := protowire.ConsumeTag(b)
		if l < 0 {
			return protowire.ParseError(l)
		}
		b = b[l:]
		var v uint64
		var s []byte
		switch w {
		case protowire.VarintType:
			v, l = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var x uint32
			x, l = protowire.ConsumeFixed32(b)
			v = uint64(x)
		case protowire.Fixed64Type:
			v, l = protowire.ConsumeFixed64(b)
		default:
			s, l = protowire.ConsumeBytes(b)
		}
		if l < 0 {
			return protowire.ParseError(l)
		}
		b = b[l:]
		if err := f(n, w, v, s); err != nil {
			return err
		}
	}
	return nil
}

func varints(b []byte, f func(uint64)) error {
	for len(b) > 0 {
		v, l := protowire.ConsumeVarint(b)
		if l < 0 {
			return protowire.ParseError(l)
		}
		f(v)
		b = b[l:]
	}
	return nil
}

func packStrings(ss ...[]byte) (b []byte) {
	for _, s := range ss {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return b
}

func packFloats(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func packInts(v ...int64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}
