// Package omtest writes .om files of the real layout for tests and for the
// double of libascendcl. They are simulated: no NPU can run them. What stands
// in for the compiled kernels is an ONNX model, or the name of a function,
// that the double computes on the CPU.
package omtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ascendctl/ascendctl/internal/model"
)

// Generation is a form of the container.
type Generation int

// The generations, oldest first.
const (
	Layout1 Generation = iota // 2020: header 0x10000000, no soc_version
	Layout2                   // 2021 and on: header 0x20000000, 32-bit table
	Wide                      // CANN 7 and on: 64-bit table, MODEL_INOUT_INFO, compressed attributes
)

// File is what the file shall say. Unset sizes are worked out.
type File struct {
	Generation Generation
	Name       string // of the model
	SoC, ATC   string // soc_version, atc_version
	Framework  string // framework_type
	Command    string // the stored command line
	Inputs     []Tensor
	Outputs    []Tensor
	Gears      model.Gears // Inputs and Outputs then are of the largest
	GearInputs [][]int64   // dims of each input as people see them: -1 where a gear decides
	Work       int64       // bytes of work memory; 0 is what its inputs and outputs take
	Weights    []byte
	Streams    int64
	Events     int64
	Dynamic    bool // unknown shapes; Dims may be -1
	SubModels  int  // of a dynamic file: tables behind the first

	ONNX     []byte // what the double computes with
	Function string // or the name of one of its functions: identity, add, argmax, sleep

	Encrypted bool
	Type      byte   // model type of the header; 0 is written as 1, standard
	Version   uint32 // of the header; 0 is the one of the generation
}

// Tensor is an input or output.
type Tensor struct {
	Name   string
	DType  string // ONNX word
	Layout string // NCHW, NHWC or ND; "" is ND
	Dims   []int64
	Range  [][2]int64 // of a dynamic file
}

// GearName is the name of the input that takes the gear; Encode adds it,
// behind the others.
const GearName = "ascend_mbatch_shape_data"

// Magic begins the payload of the TBE_KERNELS partition:
//
//	offset  size
//	0       8     Magic
//	8       4     1: an ONNX model, 2: the name of a function
//	12      4     reserved, 0
//	16      8     a: bytes of the description
//	24      8     b: bytes of the model or name
//	32      a     the description: records as in MODEL_INOUT_INFO, in files of
//	              every generation, and those of type 100 and on below
//	32+a    b     the model or name
//
// So the double needs no protobuf. All numbers are little-endian.
const Magic = "ASCSIM01"

// Records of the description beside those of MODEL_INOUT_INFO.
const (
	RecordSoC     = 100 // text: soc_version, absent where the file records none
	RecordWork    = 101 // u64: work memory
	RecordWeights = 102 // u64: weight memory
	RecordGear    = 103 // u32: index of the gear input
	RecordDynamic = 104 // u32: 1 for unknown shapes
)

// kinds are the types a Tensor can have, with their numbers in graph files and
// in the ACL interface, and their size.
var kinds = map[string]struct{ ge, acl, size int64 }{
	"FLOAT": {1, 0, 4}, "FLOAT16": {2, 1, 2}, "INT8": {3, 2, 1}, "UINT8": {4, 4, 1}, "INT16": {5, 6, 2}, "UINT16": {6, 7, 2},
	"INT32": {7, 3, 4}, "INT64": {8, 9, 8}, "UINT32": {9, 8, 4}, "UINT64": {10, 10, 8}, "BOOL": {11, 12, 1}, "DOUBLE": {12, 11, 8},
	"BFLOAT16": {27, 27, 2},
}

var layouts = map[string]int32{"NCHW": 0, "NHWC": 1, "ND": 2}

// Bytes is the exact size of the tensor, 0 where a dimension is open.
func (t Tensor) Bytes() int64 {
	n := kinds[t.DType].size
	for _, d := range t.Dims {
		if d < 0 {
			return 0
		}
		n *= d
	}
	return n
}

// Padded is the size as the compiler pads buffers: 32 bytes more, rounded up
// to 32 (source: real files and the vendor's own check).
func Padded(bytes int64) int64 {
	if bytes == 0 {
		return 0
	}
	return (bytes + 32 + 31) / 32 * 32
}

// FromONNX describes an .om that computes what the ONNX model does. A named or
// open dimension becomes batch; with gears, one for each, largest last, and
// they replace batch. It fails on what the reader refuses, and on types or
// shapes an .om cannot have.
func FromONNX(onnx []byte, f File, batch int64, gears ...int64) (File, error) {
	m, err := model.Read(bytes.NewReader(onnx), int64(len(onnx)), "model.onnx")
	if err != nil {
		return f, err
	}
	f.ONNX = onnx
	if f.Name == "" {
		f.Name = string(m.Graph)
	}
	if len(gears) > 0 {
		batch = slices.Max(gears)
		f.Gears = model.Gears{Kind: model.GearBatch}
		for _, g := range gears {
			f.Gears.Values = append(f.Gears.Values, []int64{g})
		}
	}
	for _, p := range m.Inputs {
		t, open, err := tensor(p, batch)
		if err != nil {
			return f, err
		}
		f.Inputs, f.GearInputs = append(f.Inputs, t), append(f.GearInputs, open)
	}
	for _, p := range m.Outputs {
		t, _, err := tensor(p, batch)
		if err != nil {
			return f, err
		}
		f.Outputs = append(f.Outputs, t)
	}
	return f, nil
}

// tensor fixes a port; open has -1 where it was not fixed.
func tensor(p model.Port, batch int64) (t Tensor, open []int64, err error) {
	t = Tensor{Name: p.Name, DType: string(p.Word), Layout: "ND"}
	if kinds[t.DType].size == 0 || p.Type != "" || p.Dims == nil {
		return t, nil, fmt.Errorf("%s: %s with dims %v cannot stand in an .om", p.Name, t.DType, p.Dims)
	}
	for _, d := range p.Dims {
		n := d.Value
		open = append(open, n)
		if !d.Fixed() {
			n = batch
		}
		t.Dims = append(t.Dims, n)
	}
	if len(t.Dims) == 4 {
		t.Layout = "NCHW"
	}
	return t, open, nil
}

// part is a partition in the making.
type part struct {
	number uint32
	data   []byte
}

// Encode writes the file. It panics on a type it does not know: the caller is
// a test.
func (f File) Encode() []byte {
	body := f.table(f.parts(), f.Generation == Wide)
	for range f.SubModels {
		body = append(body, f.table([]part{{0, modelDef(f.Name+"_sub", nil, nil)}, {1, []byte("weights of it")}}, f.Generation == Wide)...)
	}
	return append(f.header(len(body)), body...)
}

// work is the work memory: what was asked for, else just the inputs and
// outputs. With less than these the true library refuses the file.
func (f File) work() int64 {
	if f.Work == 0 {
		_, _, total := f.places()
		return total
	}
	return f.Work
}

func (f File) parts() []part {
	kernels := part{3, f.payload()}
	tasks := part{2, f.tasks()}
	def := part{0, f.definition()}
	weights := part{1, f.Weights}
	if f.Generation == Wide {
		return []part{{8, f.description(false)}, def, weights, tasks, kernels}
	}
	return []part{def, weights, kernels, tasks}
}

// table is a partition table and its partitions.
func (f File) table(parts []part, wide bool) []byte {
	le := binary.LittleEndian
	out := le.AppendUint32(nil, uint32(len(parts)))
	if wide {
		out = le.AppendUint32(out, 0)
	}
	var data []byte
	for _, p := range parts {
		out = le.AppendUint32(out, p.number)
		if wide {
			out = le.AppendUint32(out, 0)
			out = le.AppendUint64(out, uint64(len(data)))
			out = le.AppendUint64(out, uint64(len(p.data)))
		} else {
			out = le.AppendUint32(out, uint32(len(data)))
			out = le.AppendUint32(out, uint32(len(p.data)))
		}
		data = append(data, p.data...)
	}
	return append(out, data...)
}

func (f File) header(body int) []byte {
	le, h := binary.LittleEndian, make([]byte, 256)
	copy(h, "IMOD")
	le.PutUint32(h[4:], 256)
	version := f.Version
	switch {
	case version != 0:
	case f.Generation == Layout1:
		version = 0x10000000
	default:
		version = 0x20000000
	}
	le.PutUint32(h[8:], version)
	if f.Generation == Wide {
		le.PutUint64(h[184:], uint64(body))
	} else {
		le.PutUint32(h[76:], uint32(body))
	}
	if f.Encrypted {
		h[80] = 1
	}
	h[82] = max(f.Type, 1)
	copy(h[84:115], f.Name) // the last byte stays 0
	le.PutUint32(h[152:], 2)
	platform := 160
	if f.Generation == Layout1 {
		platform = 156
	} else {
		le.PutUint32(h[156:], uint32(1+f.SubModels))
		h[180] = 1
		if f.Dynamic {
			h[193] = 1
		}
	}
	copy(h[platform:], "1.11.z.0")
	return h
}

// payload is what the double computes with.
func (f File) payload() []byte {
	le := binary.LittleEndian
	kind, body := uint32(1), f.ONNX
	if f.Function != "" {
		kind, body = 2, []byte(f.Function)
	}
	about := f.description(true)
	out := append([]byte(nil), Magic...)
	out = le.AppendUint32(out, kind)
	out = le.AppendUint32(out, 0)
	out = le.AppendUint64(out, uint64(len(about)))
	out = le.AppendUint64(out, uint64(len(body)))
	return append(append(out, about...), body...)
}
