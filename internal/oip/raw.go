package oip

import (
	"fmt"
	"math"
)

// rawRequest takes the whole body as the only input (source:
// extension_binary_data.md, "Raw Binary Request"; that BYTES come without
// their length is how Triton reads it).
func rawRequest(body []byte, sig Signature) (*Request, error) {
	if len(sig.Inputs) != 1 {
		return nil, &Error{badRequest, codeHeader, fmt.Sprintf(
			"%s 0: a raw request needs a model with one input, this one has %d", HeaderLength, len(sig.Inputs))}
	}
	p := &sig.Inputs[0]
	t := Tensor{Name: p.Name, DType: p.DType, Data: body}
	refuse := func(code, why string) (*Request, error) {
		return nil, tensorError(badRequest, code, "input", p.Name, why)
	}
	if _, ok := Datatype(p.DType); !ok {
		return refuse(codeDatatype, noWord(p.DType))
	}
	one, ok := p.DType.Size(1)
	size := int64(len(body))
	if !ok { // BYTES
		if size > math.MaxUint32 {
			return refuse(codeLength, "a BYTES element takes less than 4 GiB")
		}
		t.Data = append(little.AppendUint32(make([]byte, 0, 4+size), uint32(size)), body...)
		one, size = 1, 1
	}
	var why string
	if t.Shape, why = rawShape(p.Dims, one, size); why != "" {
		return refuse(codeShape, why)
	}
	n, ok := count(t.DType, t.Shape)
	if !ok {
		return refuse(codeShape, uncountable(t.Shape))
	}
	if code, why := misfit(t.DType, n, t.Shape, t.Data); code != "" {
		return refuse(code, why)
	}
	r := &Request{Inputs: []Tensor{t}}
	for i := range sig.Outputs {
		if e := r.want(&sig.Outputs[i], true); e != nil {
			return nil, e
		}
	}
	return r, nil
}

// rawShape puts in for the variable dim what size bytes leave for it, each
// element taking one.
func rawShape(want []int64, one, size int64) (shape []int64, why string) {
	free, unit := -1, one
	for axis, dim := range want {
		switch {
		case dim < 0 && free >= 0:
			return nil, "a raw request needs a model with at most one variable dim, this one has " + dims(want)
		case dim < 0:
			free = axis
		case dim > 0 && unit > math.MaxInt64/dim:
			return nil, uncountable(want)
		default:
			unit *= dim
		}
	}
	shape = append(make([]int64, 0, len(want)), want...)
	if free < 0 {
		return shape, ""
	}
	if size == 0 || unit == 0 || size%unit != 0 {
		return nil, fmt.Sprintf("expected a multiple of %d bytes for shape %s, got %d", unit, dims(want), size)
	}
	shape[free] = size / unit
	return shape, ""
}
