package model

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// msg is a protobuf message in the making; its methods append one field.
type msg []byte

func (m msg) num(n protowire.Number, v int64) msg {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), uint64(v))
}

func (m msg) str(n protowire.Number, s string) msg {
	return protowire.AppendString(protowire.AppendTag(m, n, protowire.BytesType), s)
}

func (m msg) sub(n protowire.Number, s msg) msg { return m.str(n, string(s)) }

// claim is the head of a field whose payload does not follow.
func (m msg) claim(n protowire.Number, length uint64) msg {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.BytesType), length)
}

func (m msg) then(more ...msg) msg { return append(m, bytes.Join(toBytes(more), nil)...) }

func toBytes(ms []msg) [][]byte {
	out := make([][]byte, len(ms))
	for i, m := range ms {
		out[i] = m
	}
	return out
}

// shapeOf takes numbers, names and nil (neither).
func shapeOf(dims ...any) msg {
	var m msg
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			m = m.sub(1, msg{}.num(1, int64(d)))
		case string:
			m = m.sub(1, msg{}.str(2, d))
		default:
			m = m.sub(1, msg{})
		}
	}
	return m
}

func tensorOf(elem int64, dims ...any) msg {
	return msg{}.sub(1, msg{}.num(1, elem).sub(2, shapeOf(dims...)))
}

func valueOf(name string, typ msg) msg { return msg{}.str(1, name).sub(2, typ) }

func nodeOf(op string) msg { return msg{}.str(1, "x").str(2, "y").str(4, op) }

// floats is a FLOAT weight of n zeros.
func floats(name string, n int64) msg {
	return msg{}.num(1, n).num(2, 1).str(8, name).str(9, string(make([]byte, 4*n)))
}

// graphOf has one input x, one output y, and what is given.
func graphOf(more ...msg) msg {
	return msg{}.str(2, "g").then(more...).sub(11, valueOf("x", tensorOf(1, "n", 4))).sub(12, valueOf("y", tensorOf(1, 2, 3)))
}

func modelOf(graph msg) msg {
	return msg{}.num(1, 8).str(2, "maker").sub(7, graph).sub(8, msg{}.str(1, "").num(2, 17))
}

func one(n protowire.Number, m msg) msg { return msg{}.sub(n, m) }

func parse(data []byte) (*Model, error) {
	return Read(bytes.NewReader(data), int64(len(data)), "m.onnx")
}

func mustParse(t *testing.T, data []byte) *Model {
	t.Helper()
	m, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
