package oip

import "strconv"

// Error is every failure of the codec. Status is the HTTP status that fits:
// 400 where the request is wrong, 500 where our own tensors are, 502 where a
// server's response is. Msg is one English line that names the tensor, what
// was expected and what came.
type Error struct {
	Status int
	Code   string
	Msg    string
}

func (e *Error) Error() string { return e.Msg }

// The words of Error.Code.
const (
	codeHeader    = "header"    // the header length is no number or out of range
	codeJSON      = "json"      // not JSON, a key twice, or a value of the wrong kind
	codeName      = "name"      // an input or output that is unknown, missing or there twice
	codeDatatype  = "datatype"  // unknown, not the model's, or without a JSON form
	codeShape     = "shape"     // not the model's, negative or too large
	codeLength    = "length"    // data and shape do not agree
	codeData      = "data"      // no data, or both kinds of it
	codeValue     = "value"     // an element that its datatype cannot hold
	codeNonfinite = "nonfinite" // NaN or Inf, which JSON does not have
	codeParameter = "parameter" // a parameter of the protocol with the wrong kind of value
	codeServer    = "server"    // the other side answered with an error
)

const (
	badRequest  = 400
	serverFault = 500
	badGateway  = 502
)

// quoted is text from outside for a message: escaped and short, however long
// it was.
func quoted[T string | []byte](text T) string {
	const most = 80
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "..."
	}
	return strconv.Quote(string(text))
}

// dims writes a shape the way the protocol does: [-1,3,8].
func dims(shape []int64) string {
	return string(appendDims(nil, shape))
}

func appendDims(dst []byte, shape []int64) []byte {
	dst = append(dst, '[')
	for i, d := range shape {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, d, 10)
	}
	return append(dst, ']')
}

// tensorError starts with the tensor it is about: input "image": ...
func tensorError[T string | []byte](status int, code, role string, name T, why string) *Error {
	return &Error{status, code, role + " " + quoted(name) + ": " + why}
}
