package oip

import (
	"slices"
	"strconv"
)

// Response is the answer to an infer request. Binary tells for each of
// Outputs whether it goes as binary data; what it is too short for is JSON.
type Response struct {
	Model   string
	Version string // "" where the server has no versions
	ID      string // that of the request, "" when it had none
	Outputs []Tensor
	Binary  []bool
}

// Append writes the body of a response. headerLength is the value for
// HeaderLength; -1 means that all is JSON and that the header must not be
// sent. JSON has no NaN or Inf, and writing null or 0 for them would lie, so
// such an output is an error (400 "nonfinite") that says to use binary
// data; the same holds for the 16-bit floats ("datatype") and for BYTES that
// are not UTF-8 ("value"). A tensor whose data does not fit it is status 500.
func (r *Response) Append(dst []byte) (out []byte, headerLength int, err error) {
	dst, headerLength, err = r.AppendHead(dst)
	if err != nil {
		return nil, 0, err
	}
	for i := range r.Outputs {
		dst = append(dst, r.Blob(i)...)
	}
	return dst, headerLength, nil
}

// Blob is what output i adds behind the head: nothing when it is JSON.
func (r *Response) Blob(i int) []byte {
	if !r.binary(i) {
		return nil
	}
	return r.Outputs[i].Data
}

// AppendHead is Append without the binary data; who writes a body piece by
// piece lets the Blobs follow, in order, and copies none of them.
func (r *Response) AppendHead(dst []byte) (out []byte, headerLength int, err error) {
	start := len(dst)
	dst = appendText(append(dst, `{"model_name":`...), r.Model)
	if r.Version != "" {
		dst = appendText(append(dst, `,"model_version":`...), r.Version)
	}
	if r.ID != "" {
		dst = appendText(append(dst, `,"id":`...), r.ID)
	}
	dst = append(dst, `,"outputs":[`...)
	some := false
	for i := range r.Outputs {
		t, binary := &r.Outputs[i], r.binary(i)
		var e *Error
		if dst, e = appendTensor(dst, t, "output", i, binary, serverFault); e != nil {
			return nil, 0, e
		}
		some = some || binary
	}
	dst = append(dst, "]}"...)
	if !some {
		return dst, -1, nil
	}
	return dst, len(dst) - start, nil
}

func (r *Response) binary(i int) bool { return i < len(r.Binary) && r.Binary[i] }

// appendTensor writes the object of tensor i of a list, with its data or the
// length of it. status is that of a tensor that contradicts itself.
func appendTensor(dst []byte, t *Tensor, role string, i int, binary bool, status int) ([]byte, *Error) {
	word, ok := Datatype(t.DType)
	if !ok {
		return nil, tensorError(status, codeDatatype, role, t.Name, noWord(t.DType))
	}
	n, ok := count(t.DType, t.Shape)
	if !ok {
		return nil, tensorError(status, codeShape, role, t.Name, uncountable(t.Shape))
	}
	if code, why := misfit(t.DType, n, t.Shape, t.Data); code != "" {
		return nil, tensorError(status, code, role, t.Name, why)
	}
	if i > 0 {
		dst = append(dst, ',')
	}
	dst = appendText(append(dst, `{"name":`...), t.Name)
	dst = append(append(append(dst, `,"datatype":"`...), word...), `","shape":`...)
	dst = appendDims(dst, t.Shape)
	if binary {
		dst = strconv.AppendInt(append(dst, `,"parameters":{"binary_data_size":`...), int64(len(t.Data)), 10)
		return append(dst, "}}"...), nil
	}
	if !inJSON(t.DType) {
		return nil, tensorError(badRequest, codeDatatype, role, t.Name, noJSON(word))
	}
	dst, code, why := appendElements(append(dst, `,"data":`...), t)
	if code != "" {
		return nil, tensorError(badRequest, code, role, t.Name, why)
	}
	return append(dst, '}'), nil
}

// maxOutputs bounds the search for names that stand twice.
const maxOutputs = 4096

// DecodeResponse reads the body of a response, for clients; headerLength is
// as in DecodeRequest. Outputs are in the order of the server, Binary is as
// long. Binary outputs are not copied: their Data lies in body. A body that
// holds the protocol's {"error": text} is an *Error with code "server" and
// that text; every failure is an *Error with status 502.
func DecodeResponse(body []byte, headerLength string) (*Response, error) {
	d := newDecoder(body, headerLength, "response", badGateway)
	r := &Response{}
	if d.err == nil {
		d.response(r)
		d.finish()
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

func (d *decoder) response(r *Response) {
	var seen uint16
	for key := range d.fields {
		switch string(key) {
		case "model_name":
			d.once(&seen, keyName, key)
			r.Model = d.optional("a model name in quotes")
		case "model_version":
			d.once(&seen, keyVersion, key)
			r.Version = d.optional("a version in quotes")
		case "id":
			d.once(&seen, keyID, key)
			r.ID = d.optional("an id in quotes")
		case "outputs":
			d.once(&seen, keyOutputs, key)
			for range d.items {
				d.output(r)
			}
		case "error":
			if d.peek() == '"' {
				d.refuse(&Error{d.status, codeServer, string(d.text("an error"))})
			} else {
				d.skip()
			}
		default:
			d.skip()
		}
	}
	if seen&keyOutputs == 0 {
		d.fail(codeName, "expected outputs, got none")
	}
}

// optional reads a string that may be null.
func (d *decoder) optional(what string) string {
	if d.null() {
		return ""
	}
	return string(d.text(what))
}

func (d *decoder) output(r *Response) {
	e := d.entry("output")
	if d.err != nil {
		return
	}
	if len(r.Outputs) == maxOutputs {
		d.fail(codeName, "expected at most %d outputs", maxOutputs)
		return
	}
	name := string(e.name)
	if slices.ContainsFunc(r.Outputs, func(t Tensor) bool { return t.Name == name }) {
		d.refuse(tensorError(d.status, codeName, "output", name, "stands twice in outputs"))
		return
	}
	r.Outputs = append(r.Outputs, d.tensor(&e, "output", name, nil))
	r.Binary = append(r.Binary, e.size >= 0)
}
