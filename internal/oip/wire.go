package oip

import (
	"fmt"
	"strconv"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// HeaderLength is the HTTP header that gives the bytes of JSON before the
// binary data; without it a body is all JSON.
const HeaderLength = "Inference-Header-Content-Length"

// maxRank bounds the dims of one shape; NumPy allows 64, real models need 8.
const maxRank = 32

// split takes a body apart at the length that the header gave.
func split(body []byte, headerLength string, status int) (head, blob []byte, err *Error) {
	if headerLength == "" {
		return body, nil, nil
	}
	n, bad := strconv.ParseUint(headerLength, 10, 64)
	switch {
	case bad != nil:
		return nil, nil, &Error{status, codeHeader,
			HeaderLength + ": expected a number of bytes, got " + quoted(headerLength)}
	case n > uint64(len(body)):
		return nil, nil, &Error{status, codeHeader,
			HeaderLength + ": expected at most " + strconv.Itoa(len(body)) + ", the bytes of the body, got " + strconv.FormatUint(n, 10)}
	}
	return body[:n:n], body[n:], nil
}

// decoder reads the tensors of a body.
type decoder struct {
	scanner
	framed bool   // the header was there, so binary data may be
	blob   []byte // binary data not yet given to a tensor
	shape  [maxRank]int64
}

func newDecoder(body []byte, headerLength, what string, status int) *decoder {
	d := &decoder{framed: headerLength != ""}
	d.what, d.status = what, status
	d.b, d.blob, d.err = split(body, headerLength, status)
	return d
}

// entry is one tensor as its JSON object tells it.
type entry struct {
	name     []byte
	datatype []byte
	shape    []int64 // in decoder.shape: gone with the next entry
	data     int     // where the data lies, later; 0 when there is none
	size     int64   // binary_data_size; -1 when there is none
	binary   choice  // binary_data
}

// choice is a yes or no that can be left out.
type choice uint8

const (
	unsaid choice = iota
	no
	yes
)

func chosen(b bool) choice {
	if b {
		return yes
	}
	return no
}

const (
	keyName = 1 << iota
	keyShape
	keyDatatype
	keyParameters
	keyData
	keyID
	keyInputs
	keyOutputs
	keyVersion
)

// entry reads the object of one tensor, be it data or a wish for an output.
func (d *decoder) entry(role string) entry {
	e := entry{size: -1}
	var seen uint16
	for key := range d.fields {
		switch string(key) {
		case "name":
			d.once(&seen, keyName, key)
			e.name = d.text("a name in quotes")
		case "shape":
			d.once(&seen, keyShape, key)
			e.shape = d.dims()
		case "datatype":
			d.once(&seen, keyDatatype, key)
			e.datatype = d.text("a datatype in quotes")
		case "parameters":
			d.once(&seen, keyParameters, key)
			d.tensorParameters(&e)
		case "data":
			d.once(&seen, keyData, key)
			if !d.null() {
				e.data = d.later()
			}
		default:
			d.skip()
		}
	}
	if seen&keyName == 0 {
		d.fail(codeName, "before this, an %s without a name", role)
	}
	return e
}

func (d *decoder) dims() []int64 {
	shape := d.shape[:0]
	for range d.items {
		text, _ := d.number()
		if d.err != nil {
			break
		}
		dim, err := strconv.ParseInt(string(text), 10, 64)
		switch {
		case err != nil:
			d.fail(codeShape, "expected a dim of 64 bits, got %s", brief(text))
		case len(shape) == maxRank:
			d.fail(codeShape, "expected at most %d dims", maxRank)
		default:
			shape = append(shape, dim)
		}
	}
	return shape
}

// tensorParameters takes the two of the binary extension and no others.
func (d *decoder) tensorParameters(e *entry) {
	if d.null() {
		return
	}
	var seen uint16
	for key := range d.fields {
		switch string(key) {
		case "binary_data_size":
			d.once(&seen, 1, key)
			if !d.null() {
				e.size = d.size()
			}
		case "binary_data":
			d.once(&seen, 2, key)
			if !d.null() {
				e.binary = chosen(d.boolean("true or false for binary_data"))
			}
		default:
			d.skip()
		}
	}
}

func (d *decoder) size() int64 {
	text, _ := d.number()
	if d.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		d.fail(codeParameter, "expected a number of bytes for binary_data_size, got %s", brief(text))
	}
	return n
}

// tensor reads the data of an entry; port is what the model wants there, nil
// where nobody knows. The name is the caller's string, so that none is made
// for each request.
func (d *decoder) tensor(e *entry, role, name string, port *Port) Tensor {
	t := Tensor{Name: name}
	if d.err != nil {
		return t
	}
	if code, why := d.fill(&t, e, role, port); code != "" {
		d.refuse(tensorError(d.status, code, role, name, why))
	}
	return t
}

// fill checks all that the entry says before it makes room for the data.
func (d *decoder) fill(t *Tensor, e *entry, role string, port *Port) (code, why string) {
	var ok bool
	if t.DType, ok = ParseDatatype(string(e.datatype)); !ok {
		return codeDatatype, "expected a datatype like FP32, got " + quoted(e.datatype)
	}
	if e.shape == nil {
		return codeShape, "expected a shape, got none"
	}
	t.Shape = append(make([]int64, 0, len(e.shape)), e.shape...)
	if port != nil {
		if code, why = port.refuses(t.DType, t.Shape); code != "" {
			return code, why
		}
	}
	n, ok := count(t.DType, t.Shape)
	switch {
	case !ok:
		return codeShape, uncountable(t.Shape)
	case e.data > 0 && e.size >= 0:
		return codeData, "expected data or binary_data_size, got both"
	case e.data > 0:
		at := d.scanner
		at.i, at.depth, at.of, at.name = e.data, 0, role, t.Name
		if t.Data = at.elements(t.DType, t.Shape, n); at.err != nil {
			d.refuse(at.err)
		}
		return "", ""
	case e.size < 0:
		return codeData, "expected data or binary_data_size, got neither"
	case !d.framed:
		return codeHeader, "binary_data_size needs the header " + HeaderLength
	case e.size > int64(len(d.blob)):
		return codeLength, fmt.Sprintf("expected %d bytes of binary data, got %d", e.size, len(d.blob))
	}
	t.Data, d.blob = d.blob[:e.size:e.size], d.blob[e.size:]
	return misfit(t.DType, n, t.Shape, t.Data)
}

// refuses says why a tensor cannot go into the port; negative dims are left
// to count.
func (p *Port) refuses(d ascend.DType, shape []int64) (code, why string) {
	if d != p.DType {
		want, ok := Datatype(p.DType)
		if !ok {
			want = p.DType.String()
		}
		got, _ := Datatype(d)
		return codeDatatype, "expected datatype " + want + ", got " + got
	}
	if len(shape) != len(p.Dims) {
		return codeShape, fmt.Sprintf("expected %d dims %s, got %d: %s", len(p.Dims), dims(p.Dims), len(shape), dims(shape))
	}
	for axis, want := range p.Dims {
		if want >= 0 && shape[axis] != want {
			return codeShape, fmt.Sprintf("expected shape %s, got %s: axis %d is %d", dims(p.Dims), dims(shape), axis, shape[axis])
		}
	}
	return "", ""
}

// finish makes sure that nothing is left of either part.
func (d *decoder) finish() {
	if d.end(); d.err == nil && len(d.blob) > 0 {
		d.refuse(&Error{d.status, codeLength, "expected the body to end with the last tensor, got " +
			strconv.Itoa(len(d.blob)) + " more bytes: their sum is not the sum of binary_data_size"})
	}
}
