package oip

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Request is one infer request.
type Request struct {
	ID string // "" when the client gave none
	// Params are those of the request as a whole; nil when there are none. A
	// value is a bool, a string, an int64, or a float64 where a number is not
	// whole or does not fit 64 bits. `timeout` is in microseconds.
	Params  map[string]any
	Inputs  []Tensor
	Outputs []Wanted
}

// Wanted is an output the client asks for.
type Wanted struct {
	Name   string
	Binary bool // as binary data, not JSON
}

// binaryOutput is the parameter that asks for all outputs as binary data.
const binaryOutput = "binary_data_output"

// maxParams bounds what a request can make us keep.
const maxParams = 256

// DecodeRequest reads one infer request for a model of that signature.
// headerLength is the value of the HTTP header HeaderLength, "" when absent.
//
// On success Inputs are in the order of the signature, all there, each with
// the datatype, rank and fixed dims of its port and data of the right length.
// Outputs are in the order the request names them, or all in the order of the
// signature where it names none. Every failure is an *Error with status 400.
//
// Binary inputs are not copied: their Data lies in body, at any alignment, so
// body must be left alone while Inputs are in use. Nothing else points there.
//
// What the protocol leaves open is decided so: unknown fields and parameters
// are ignored, null is the same as absent, a known key that stands twice is
// an error, and so is an output asked for as JSON that has no JSON form. With
// the header "0" the body is the data of the only input (raw request), whose
// one variable dim follows from the length; BYTES are one element without
// its length; all outputs come back binary.
func DecodeRequest(body []byte, headerLength string, sig Signature) (*Request, error) {
	d := newDecoder(body, headerLength, "request", badRequest)
	if d.err != nil {
		return nil, d.err
	}
	if d.framed && len(d.b) == 0 {
		return rawRequest(body, sig)
	}
	r := &Request{Inputs: make([]Tensor, len(sig.Inputs))}
	wanted := d.request(r, sig)
	d.finish()
	for i := range sig.Inputs {
		if d.err == nil && r.Inputs[i].Shape == nil {
			d.refuse(tensorError(badRequest, codeName, "input", sig.Inputs[i].Name, "expected in inputs, got none"))
		}
	}
	if d.err == nil {
		d.outputs(r, wanted, sig)
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// request reads the object and gives the offset of its outputs, which cannot
// be read before the parameters are known; 0 when it names none.
func (d *decoder) request(r *Request, sig Signature) (wanted int) {
	var seen uint16
	for key := range d.fields {
		switch string(key) {
		case "id":
			d.once(&seen, keyID, key)
			if !d.null() {
				r.ID = string(d.text("an id in quotes"))
			}
		case "parameters":
			d.once(&seen, keyParameters, key)
			if !d.null() {
				r.Params = d.params()
			}
		case "inputs":
			d.once(&seen, keyInputs, key)
			for range d.items {
				d.input(r, sig)
			}
		case "outputs":
			d.once(&seen, keyOutputs, key)
			if !d.null() {
				wanted = d.later()
			}
		default:
			d.skip()
		}
	}
	return wanted
}

func (d *decoder) input(r *Request, sig Signature) {
	e := d.entry("input")
	if d.err != nil {
		return
	}
	i := find(sig.Inputs, e.name)
	switch {
	case i < 0:
		d.refuse(tensorError(badRequest, codeName, "input", e.name, "the model has no such input"))
	case r.Inputs[i].Shape != nil:
		d.refuse(tensorError(badRequest, codeName, "input", e.name, "stands twice in inputs"))
	default:
		r.Inputs[i] = d.tensor(&e, "input", sig.Inputs[i].Name, &sig.Inputs[i])
	}
}

// find is the index of a port. Models have few, so a map would cost more.
func find(ports []Port, name []byte) int {
	for i := range ports {
		if ports[i].Name == string(name) {
			return i
		}
	}
	return -1
}

// outputs resolves which outputs are wanted and how.
func (d *decoder) outputs(r *Request, at int, sig Signature) {
	binary, _ := r.Params[binaryOutput].(bool)
	r.Outputs = make([]Wanted, 0, len(sig.Outputs))
	if at > 0 {
		d.i, d.depth = at, 0
		for range d.items {
			d.wanted(r, binary, sig)
		}
	}
	if len(r.Outputs) > 0 {
		return
	}
	for i := range sig.Outputs {
		d.refuse(r.want(&sig.Outputs[i], binary))
	}
}

func (d *decoder) wanted(r *Request, binary bool, sig Signature) {
	e := d.entry("output")
	if d.err != nil {
		return
	}
	i := find(sig.Outputs, e.name)
	if i < 0 {
		d.refuse(tensorError(badRequest, codeName, "output", e.name, "the model has no such output"))
		return
	}
	name := sig.Outputs[i].Name
	if slices.ContainsFunc(r.Outputs, func(w Wanted) bool { return w.Name == name }) {
		d.refuse(tensorError(badRequest, codeName, "output", name, "stands twice in outputs"))
		return
	}
	if e.binary != unsaid {
		binary = e.binary == yes
	}
	d.refuse(r.want(&sig.Outputs[i], binary))
}

// want refuses now what could not be written after the model has run.
func (r *Request) want(p *Port, binary bool) *Error {
	word, ok := Datatype(p.DType)
	switch {
	case !ok:
		return tensorError(badRequest, codeDatatype, "output", p.Name, noWord(p.DType))
	case !binary && !inJSON(p.DType):
		return tensorError(badRequest, codeDatatype, "output", p.Name, noJSON(word))
	}
	r.Outputs = append(r.Outputs, Wanted{p.Name, binary})
	return nil
}

// params reads the parameters of a request.
func (d *decoder) params() map[string]any {
	params := map[string]any{}
	for key := range d.fields {
		if _, twice := params[string(key)]; twice {
			d.fail(codeJSON, "key %s stands twice", quoted(key))
		}
		if len(params) == maxParams {
			d.fail(codeParameter, "expected at most %d parameters", maxParams)
		}
		if string(key) == binaryOutput && d.peek() != 'n' {
			params[binaryOutput] = d.boolean("true or false for " + binaryOutput)
		} else if v := d.param(); v != nil {
			params[string(key)] = v
		}
	}
	return params
}

// param reads one value; nil for null, lists and objects, which no parameter
// of the protocol has.
func (d *decoder) param() any {
	switch d.peek() {
	case 't', 'f':
		return d.boolean("a value")
	case '"':
		return string(d.text("a string"))
	case 'n', '[', '{':
		d.skip()
		return nil
	}
	text, _ := d.number()
	if d.err != nil {
		return nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		d.fail(codeParameter, "%s is out of range", brief(text))
	}
	return f
}

// AppendRequest writes a request the way a client does, all inputs as binary
// data or all as JSON. No Outputs means all of them, in the form of the
// inputs. headerLength is the value for HeaderLength; -1 means that there is
// no binary data and that the header must not be sent.
func AppendRequest(dst []byte, r *Request, binary bool) (out []byte, headerLength int, err error) {
	start := len(dst)
	dst = append(dst, '{')
	if r.ID != "" {
		dst = append(appendText(append(dst, `"id":`...), r.ID), ',')
	}
	if dst, err = appendParams(dst, r, binary); err != nil {
		return nil, 0, err
	}
	dst = append(dst, `"inputs":[`...)
	for i := range r.Inputs {
		var e *Error
		if dst, e = appendTensor(dst, &r.Inputs[i], "input", i, binary, badRequest); e != nil {
			return nil, 0, e
		}
	}
	dst = append(dst, ']')
	for i, w := range r.Outputs {
		dst = append(dst, separator(i, `,"outputs":[`)...)
		dst = appendText(append(dst, `{"name":`...), w.Name)
		dst = append(strconv.AppendBool(append(dst, `,"parameters":{"binary_data":`...), w.Binary), "}}"...)
	}
	if len(r.Outputs) > 0 {
		dst = append(dst, ']')
	}
	dst = append(dst, '}')
	if !binary || len(r.Inputs) == 0 {
		return dst, -1, nil
	}
	headerLength = len(dst) - start
	for i := range r.Inputs {
		dst = append(dst, r.Inputs[i].Data...)
	}
	return dst, headerLength, nil
}

func appendParams(dst []byte, r *Request, binary bool) ([]byte, error) {
	params := r.Params
	if _, given := params[binaryOutput]; binary && len(r.Outputs) == 0 && !given {
		params = maps.Clone(params)
		if params == nil {
			params = map[string]any{}
		}
		params[binaryOutput] = true
	}
	if len(params) == 0 {
		return dst, nil
	}
	for i, key := range slices.Sorted(maps.Keys(params)) {
		dst = append(dst, separator(i, `"parameters":{`)...)
		dst = append(appendText(dst, key), ':')
		finite := true
		switch v := params[key].(type) {
		case bool:
			dst = strconv.AppendBool(dst, v)
		case string:
			dst = appendText(dst, v)
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case float64:
			dst, finite = appendFloat(dst, v, 64)
		default:
			finite = false
		}
		if !finite {
			return nil, &Error{badRequest, codeParameter, fmt.Sprintf(
				"parameter %s: expected a bool, string, int64 or finite float64, got %.80v", quoted(key), params[key])}
		}
	}
	return append(dst, "},"...), nil
}

// separator is what stands before element i of a list.
func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}
