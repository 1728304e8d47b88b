// Package model reads what a model file says about itself. It looks at the
// content, never at the name, and brings no weights into memory.
package model

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Kind is the format of a model file.
type Kind string

// The kinds this release can read; see foreign for those it can only name.
const (
	KindONNX Kind = "onnx"
	KindOM   Kind = "om" // compiled for one chip
)

// Model is what a file tells. Its JSON is the model part of inspect -o json.
type Model struct {
	Kind      Kind      `json:"kind"`
	File      string    `json:"file"`
	Bytes     int64     `json:"bytes"`     // size of the file
	Container Container `json:"container"` // what its envelope says, by kind
	Producer  *Producer `json:"producer"`  // nil: not recorded
	Graph     Recorded  `json:"graph"`     // name of the top graph

	Nodes        int            `json:"nodes"` // of the top graph, as stored
	Ops          map[string]int `json:"ops"`   // nodes by op; domain::op outside the default domain
	Initializers Initializers   `json:"initializers"`
	// GraphInputs counts the inputs as stored. Files of ONNX IR 3 list every
	// weight among them; Inputs does not.
	GraphInputs int    `json:"graph_inputs"`
	Inputs      []Port `json:"inputs"` // in file order
	Outputs     []Port `json:"outputs"`

	*Compiled // nil but for KindOM
}

// Container is *ONNX for KindONNX and *OM for KindOM.
type Container interface{ kind() Kind }

// Producer is the program that wrote the file.
type Producer struct {
	Name    Recorded `json:"name"`
	Version Recorded `json:"version"`
}

// Initializers sums up the weights of the top graph. Bytes is elements x
// element size, wherever the data lie; STRING weights count their texts. Of an
// .om it is its constants and the size of its weights as stored.
type Initializers struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Port is an input or output of the model.
type Port struct {
	Name string `json:"name"`
	// DType is ascend.Undefined for types newer than its table; Word has the
	// ONNX word of those too. Of a sequence or an optional both tell of the
	// tensors inside, as Dims does.
	DType ascend.DType `json:"-"`
	Word  Recorded     `json:"dtype"`
	Dims  []Dim        `json:"dims"`  // nil: the rank is unknown; empty: a scalar
	Bytes *int64       `json:"bytes"` // nil: not fixed; with gears of the largest
	// Type is empty for a tensor, else sequence, map, optional, sparse_tensor
	// or opaque; Full then spells it out: "sequence(map(INT64,FLOAT))".
	Type string `json:"type,omitempty"`
	Full string `json:"full_type,omitempty"`

	// Of an .om only. Padded is the size the runtime rounds the buffer up to,
	// Range has the least and the most of each dimension (most -1: no bound),
	// and Gear marks the input that takes the gear and no data.
	Layout string     `json:"layout,omitempty"` // NCHW, ND
	Padded *int64     `json:"padded_bytes,omitempty"`
	Range  [][2]int64 `json:"range,omitempty"`
	Gear   bool       `json:"gear,omitempty"`
}

// Dim is one dimension: a number, a symbolic name, or neither.
type Dim struct {
	Value int64  // -1 where it is not fixed
	Name  string // of a dimension that is not fixed; "" when it has none
}

// Fixed is true for a dimension that is a number.
func (d Dim) Fixed() bool { return d.Value >= 0 }

// String is the number, the name, or "?".
func (d Dim) String() string {
	switch {
	case d.Fixed():
		return strconv.FormatInt(d.Value, 10)
	case d.Name != "":
		return d.Name
	}
	return "?"
}

// MarshalJSON writes a number, or the name or "?" as text.
func (d Dim) MarshalJSON() ([]byte, error) {
	if d.Fixed() {
		return json.Marshal(d.Value)
	}
	return json.Marshal(d.String())
}

// Recorded is a text the file may or may not hold. The empty one is "not
// recorded" and null in JSON: nobody should take it for an empty name.
type Recorded string

// MarshalJSON writes null for what is not recorded.
func (r Recorded) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(r))
}

// Open reads the model file at path. Every error is a *report.Problem with
// exit 1 that says what the file is and where reading stopped.
func Open(path string) (*Model, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case info.IsDir():
		return nil, folder(path)
	case !info.Mode().IsRegular():
		// Not opened at all: a pipe would block.
		return nil, &report.Problem{
			What: report.T("%s is not a regular file", "%s 不是普通文件", path),
			Do:   report.T("give the path of an ONNX or .om model file", "给出 ONNX 或 .om 模型文件的路径"),
			Exit: report.ExitFailed,
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	return Read(f, info.Size(), path)
}

// Read reads a model of size bytes from r, in one pass and without the
// weights; name stands for it in messages and in Model.File.
func Read(r io.ReaderAt, size int64, name string) (*Model, error) {
	return read(newWire(r, size, window), name)
}

func read(w *wire, name string) (*Model, error) {
	kind, err := recognise(w)
	switch {
	case err != nil:
		return nil, w.broken(name, err)
	case kind != nil && kind.reader == nil:
		return nil, kind.problem(name)
	}
	m := &Model{Kind: KindONNX, File: name, Bytes: w.size}
	fill := readONNX
	if kind != nil {
		m.Kind, fill = KindOM, kind.reader
		w.format = "OM"
	}
	if err := fill(w, m); err != nil {
		return nil, w.broken(name, err)
	}
	return m, nil
}

// broken turns a failure while reading into what a person is told.
func (w *wire) broken(name string, err error) *report.Problem {
	var p *report.Problem
	if errors.As(err, &p) {
		return p
	}
	var d *damage
	if !errors.As(err, &d) {
		return unreadable(name, err)
	}
	p = &report.Problem{
		What: report.T("%s file %s is damaged", "%s 文件 %s 已损坏", w.format, name),
		Why:  d.text(),
		Do: report.T("copy or download the file again and compare its size and checksum with the original",
			"重新复制或下载该文件，并与原文件比对大小和校验值"),
		Exit: report.ExitFailed,
		Err:  err,
	}
	switch {
	case d.cut:
		p.What = report.T("%s file %s is cut short", "%s 文件 %s 不完整", w.format, name)
	case d.refused:
		p.What = report.T("ONNX file %s is refused", "拒绝读取 ONNX 文件 %s", name)
		p.Do = report.T("export the model again with its external data in the same folder",
			"重新导出模型，并将外部数据放在同一目录下")
	}
	return p
}

func unreadable(name string, err error) *report.Problem {
	do := report.T("check the path and its permissions", "检查路径及其权限")
	if errors.Is(err, fs.ErrNotExist) {
		do = report.T("check the path", "检查路径")
	}
	// The path stands in What already.
	why := err
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		why = p.Err
	}
	return &report.Problem{
		What: report.T("cannot read %s", "无法读取 %s", name),
		Why:  report.Same(why.Error()),
		Do:   do,
		Exit: report.ExitFailed,
		Err:  err,
	}
}

// folder says what kind of folder stands where a file was wanted.
func folder(path string) *report.Problem {
	p := &report.Problem{
		What: report.T("%s is a folder, not a model file", "%s 是目录，不是模型文件", path),
		Do:   report.T("give the path of the model file in it", "给出其中模型文件的路径"),
		Exit: report.ExitFailed,
	}
	if _, err := os.Stat(filepath.Join(path, "config.json")); err == nil {
		p.Why = report.T("it holds a config.json, as folders of Hugging Face weights do",
			"其中有 config.json，与 Hugging Face 权重目录相同")
		p.Do = report.T("weights like these are served by an inference engine such as vLLM",
			"此类权重由 vLLM 等推理引擎提供服务")
	}
	return p
}
