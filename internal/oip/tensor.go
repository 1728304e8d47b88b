// Package oip is the Open Inference Protocol v2: its tensors and its JSON and
// binary codec (source: open-inference-protocol specification, inference_rest.md;
// triton extension_binary_data.md). It knows nothing of HTTP servers or models.
package oip

import "github.com/ascendctl/ascendctl/internal/ascend"

// Tensor is one named array. Data is little endian, row major, packed; BOOL is
// one byte an element; STRING (BYTES in the protocol) is, for each element, a
// uint32 length and its bytes. len(Data) always fits Shape and DType.
type Tensor struct {
	Name  string
	DType ascend.DType
	Shape []int64
	Data  []byte
}

// Port is one input or output of a model as its metadata tells it.
type Port struct {
	Name     string
	DType    ascend.DType
	Dims     []int64  // -1 where variable
	DimNames []string // as long as Dims: the symbolic name, or ""
}

// Signature is what a model takes and gives.
type Signature struct {
	Inputs, Outputs []Port
}
