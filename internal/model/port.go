package model

import (
	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/report"
)

// valueType is what a TypeProto says. Kind is empty for a tensor, else the
// word of Port.Type.
type valueType struct {
	kind string
	elem element // of a tensor; of a map the type of its keys
	dims []Dim
	of   *valueType // what a sequence, optional or map holds
}

// String spells the type as Port.Full has it.
func (t *valueType) String() string {
	word := string(t.elem.word)
	if word == "" {
		word = "?"
	}
	inner := "?"
	if t.of != nil {
		inner = t.of.String()
	}
	switch t.kind {
	case "":
		return word
	case "opaque":
		return t.kind
	case "sparse_tensor":
		return t.kind + "(" + word + ")"
	case "map":
		return t.kind + "(" + word + "," + inner + ")"
	}
	return t.kind + "(" + inner + ")"
}

// port reads a ValueInfoProto behind those there are.
func (o *onnx) port(f field, to []Port) ([]Port, error) {
	if len(to) == maxPorts {
		return nil, f.damage(report.T("the graph has more than %d inputs or outputs", "图的输入或输出超过 %d 个", maxPorts))
	}
	var p Port
	var t valueType
	err := o.walk(f, "ValueInfoProto", func(f field) (err error) {
		switch f.num {
		case 1:
			p.Name, err = o.text(f)
		case 2:
			t, err = o.valueType(f)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if p.Name == "" {
		return nil, f.damage(report.T("an input or output has no name", "输入或输出缺少名称"))
	}
	p.describe(&t)
	return append(to, p), nil
}

func (p *Port) describe(t *valueType) {
	if p.Type = t.kind; p.Type != "" {
		p.Full = t.String()
	}
	inner := t
	for inner.of != nil && inner.kind != "map" {
		inner = inner.of
	}
	if inner.kind != "" && inner.kind != "sparse_tensor" {
		return // no tensor inside
	}
	p.DType, p.Word, p.Dims = inner.elem.dtype, inner.elem.word, inner.dims
	if t.kind == "" {
		p.Bytes = fixedBytes(t)
	}
}

// fixedBytes is the size of a tensor whose type and dims all are fixed.
func fixedBytes(t *valueType) *int64 {
	if t.dims == nil {
		return nil
	}
	dims := make([]int64, len(t.dims))
	for i, d := range t.dims {
		dims[i] = d.Value
	}
	n, ok := ascend.Elements(dims)
	if !ok {
		return nil
	}
	if bytes, ok := t.elem.size(n); ok {
		return &bytes
	}
	return nil
}

func (o *onnx) valueType(f field) (t valueType, err error) {
	err = o.walk(f, "TypeProto", func(f field) error {
		switch f.num {
		case 1:
			t = valueType{}
			return o.tensorType(f, &t)
		case 4:
			t = valueType{kind: "sequence"}
			return o.holder(f, 1, &t)
		case 5:
			t = valueType{kind: "map"}
			return o.holder(f, 2, &t)
		case 7:
			t = valueType{kind: "opaque"}
		case 8:
			t = valueType{kind: "sparse_tensor"}
			return o.tensorType(f, &t)
		case 9:
			t = valueType{kind: "optional"}
			return o.holder(f, 1, &t)
		}
		return nil
	})
	return t, err
}

// holder reads a type that holds another in the field numbered of; a map has
// its key type in field 1.
func (o *onnx) holder(f field, of int, t *valueType) error {
	return o.walk(f, "TypeProto."+t.kind, func(f field) error {
		switch {
		case int(f.num) == of:
			inner, err := o.valueType(f)
			t.of = &inner
			return err
		case f.num == 1:
			n, err := f.number()
			t.elem = elementOf(n)
			return err
		}
		return nil
	})
}

func (o *onnx) tensorType(f field, t *valueType) error {
	return o.walk(f, "TypeProto.Tensor", func(f field) error {
		switch f.num {
		case 1:
			n, err := f.number()
			t.elem = elementOf(n)
			return err
		case 2:
			t.dims = []Dim{} // a shape without dims is a scalar's
			return o.walk(f, "TensorShapeProto", func(f field) error {
				if f.num != 1 {
					return nil
				}
				return o.dim(f, t)
			})
		}
		return nil
	})
}

// dim reads a dimension. A negative number is what some exporters write for
// "not known" (source: ONNX Runtime graph.cc, which clears it).
func (o *onnx) dim(f field, t *valueType) error {
	if len(t.dims) == maxRank {
		return f.damage(report.T("a shape has more than %d dimensions", "shape 超过 %d 维", maxRank))
	}
	d := Dim{Value: -1}
	err := o.walk(f, "TensorShapeProto.Dimension", func(f field) (err error) {
		switch f.num {
		case 1:
			d.Value, err = f.number()
			d.Value, d.Name = max(d.Value, -1), ""
		case 2:
			d.Name, err = o.text(f)
			d.Value = -1
		}
		return err
	})
	t.dims = append(t.dims, d)
	return err
}
