// Package ort is ONNX Runtime at run time: it finds libonnxruntime, opens it and
// runs models with it. Nothing of it is linked; its C API is called by slot
// number, so one binary works with every library from 1.17 on.
package ort

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// minMinor is the oldest release taken, 1.17: its API is the one we ask for.
const minMinor = 17

// ErrNoLibrary is wrapped by every failure of Open: there is no such file, it
// is no ONNX Runtime, it is too old, or this build cannot open libraries.
var ErrNoLibrary = errors.New("no usable ONNX Runtime")

// ErrClosed is what a session answers after Close.
var ErrClosed = errors.New("the session is closed")

// Kind is what an input or output of a model is.
type Kind string

// Only tensors can go through Run; the other kinds are told by name.
const (
	TensorKind Kind = "tensor"
	Unknown    Kind = "unknown"
)

// kinds are the library's numbers for them.
var kinds = [...]Kind{Unknown, TensorKind, "sequence", "map", "opaque", "sparse tensor", "optional"}

func kindOf(n int) Kind {
	if n < 0 || n >= len(kinds) {
		return Unknown
	}
	return kinds[n]
}

// Port is one input or output. Dims is -1 where variable, DimNames as long as
// Dims with "" where there is no name. No dims are a scalar or a shape the model
// leaves out: the library does not tell them apart. DType, Dims and DimNames are
// set for tensors only.
type Port struct {
	Name     string
	Kind     Kind
	DType    ascend.DType
	Dims     []int64
	DimNames []string
}

// Tensor is one array: row major, little endian, packed; a STRING element is a
// uint32 length and its bytes.
type Tensor struct {
	DType ascend.DType
	Shape []int64
	Data  []byte
}

// Aligned tells whether Run takes the data of a tensor where it lies; else it
// copies it first. Texts it always copies.
func Aligned(data []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(data)))%8 == 0 }

// Options says what to load: the file Path (external data is found beside it),
// or the bytes in Data. Threads is the number of threads one operator may use;
// 0 leaves it to the library.
type Options struct {
	Path    string
	Data    []byte
	Threads int
}

// Place gives a buffer of exactly size bytes for the k-th of the outputs asked
// for. It is called on the goroutine of Run, after the model has run. Its error
// ends Run and comes back as it is.
type Place func(k int, dtype ascend.DType, shape []int64, size int64) ([]byte, error)

// The status codes that are told apart.
const (
	CodeFail            = 1
	CodeInvalidArgument = 2
	CodeNotImplemented  = 9
)

// codes are the words for the library's status codes (source: OrtErrorCode).
var codes = [...]string{
	"OK", "FAIL", "INVALID_ARGUMENT", "NO_SUCHFILE", "NO_MODEL", "ENGINE_ERROR", "RUNTIME_EXCEPTION",
	"INVALID_PROTOBUF", "MODEL_LOADED", "NOT_IMPLEMENTED", "INVALID_GRAPH", "EP_FAIL",
	"MODEL_LOAD_CANCELED", "MODEL_REQUIRES_COMPILATION", "NOT_FOUND", "DEVICE_RESET",
}

// Error is a call the library refused or failed at, or one that we refuse in
// its place because the library would read past a buffer.
type Error struct {
	Code int
	Name string // INVALID_ARGUMENT
	Text string // the library's words, unchanged
	// Cause is the context's error when Run was stopped.
	Cause error
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Name, e.Code, e.Text) }

func (e *Error) Unwrap() error { return e.Cause }

func failure(code int, text string) *Error {
	name := "UNKNOWN"
	if code >= 0 && code < len(codes) {
		name = codes[code]
	}
	return &Error{Code: code, Name: name, Text: text}
}

func invalid(format string, args ...any) *Error {
	return failure(CodeInvalidArgument, fmt.Sprintf(format, args...))
}

// usable tells whether a release offers the API that is asked for.
func usable(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return err == nil && major == "1" && n >= minMinor
}
