//go:build cgo && linux

package acl

/*
#include <stdlib.h>
#include "acl_abi.h"
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// Model is a loaded model. It runs on one stream at a time, and a model whose
// shapes are known either always by Execute or always by ExecuteAsync: ACL
// refuses to mix them.
type Model struct {
	Desc Desc

	lane *Lane
	id   C.uint32_t
	desc *C.aclmdlDesc
	mem  *Buffer // the file on a Direct lane, while it is loaded
	used mark
	mode runMode
}

type runMode int

const (
	modeNone runMode = iota
	modeSync
	modeAsync
)

// LoadOptions says what Load loads: the file Path, or the bytes in Data. Work
// and Weight, when given, are the model's memory: Need tells their sizes. They
// may be of another lane of the device and must outlive the model. Weight may
// be shared by loads of the same file, Work by models that never run at once.
type LoadOptions struct {
	Path         string
	Data         []byte
	Work, Weight *Buffer
}

// Need is what a model takes of the device besides inputs and outputs, in bytes
// (work is 0 where shapes are dynamic). It needs no device.
func (t *Thread) Need(o LoadOptions) (work, weight int64, err error) {
	var w, g C.size_t
	if o.Path != "" {
		path := C.CString(o.Path)
		defer C.free(unsafe.Pointer(path))
		err = t.check("aclmdlQuerySize", C.c_aclmdlQuerySize(t.self, path, &w, &g))
	} else {
		data := unsafe.Pointer(unsafe.SliceData(o.Data))
		err = t.check("aclmdlQuerySizeFromMem", C.c_aclmdlQuerySizeFromMem(t.self, data, C.size_t(len(o.Data)), &w, &g))
	}
	return int64(w), int64(g), err
}

// Load puts a model on the device and reads its description.
func (t *Thread) Load(o LoadOptions) (*Model, error) {
	if (o.Path == "") == (len(o.Data) == 0) {
		return nil, refuse("aclmdlLoadFromFile", FixCode, nil, "one of path and data is needed")
	}
	m := &Model{lane: t.lane}
	if err := t.load(m, o); err != nil {
		if m.mem != nil {
			_ = t.Free(m.mem) // the failed load is what is told
		}
		return nil, err
	}
	t.own(m)
	err := t.describe(m)
	if err != nil {
		_ = t.Unload(m)
		return nil, err
	}
	return m, nil
}

func (t *Thread) load(m *Model, o LoadOptions) error {
	work, workSize := o.Work.raw()
	weight, weightSize := o.Weight.raw()
	own := work == nil && weight == nil
	if o.Path != "" {
		path := C.CString(o.Path)
		defer C.free(unsafe.Pointer(path))
		if own {
			return t.check("aclmdlLoadFromFile", C.c_aclmdlLoadFromFile(t.self, path, &m.id))
		}
		return t.check("aclmdlLoadFromFileWithMem",
			C.c_aclmdlLoadFromFileWithMem(t.self, path, &m.id, work, workSize, weight, weightSize))
	}
	data, size := unsafe.Pointer(unsafe.SliceData(o.Data)), C.size_t(len(o.Data))
	if t.lane.Direct { // there the library wants device memory
		mem, err := t.Malloc(int64(len(o.Data)))
		if err != nil {
			return err
		}
		copy(mem.Bytes(), o.Data)
		m.mem, data = mem, mem.ptr
	}
	if own {
		return t.check("aclmdlLoadFromMem", C.c_aclmdlLoadFromMem(t.self, data, size, &m.id))
	}
	return t.check("aclmdlLoadFromMemWithMem",
		C.c_aclmdlLoadFromMemWithMem(t.self, data, size, &m.id, work, workSize, weight, weightSize))
}

func (b *Buffer) raw() (unsafe.Pointer, C.size_t) {
	if b == nil {
		return nil, 0
	}
	return b.ptr, C.size_t(b.Size)
}

// Unload takes a model off the device. Its datasets are useless then, but still
// to be destroyed.
func (t *Thread) Unload(m *Model) error { return t.free("aclmdlUnload", m) }

func (m *Model) busy() bool { return m.used.busy() }

func (m *Model) release(t *Thread) error {
	if m.desc != nil {
		if err := t.check("aclmdlDestroyDesc", C.c_aclmdlDestroyDesc(t.self, m.desc)); err != nil {
			return err
		}
		m.desc = nil
	}
	err := t.check("aclmdlUnload", C.c_aclmdlUnload(t.self, m.id))
	if err == nil && m.mem != nil {
		err = t.Free(m.mem)
	}
	return err
}

// describe reads everything there is to know of a loaded model.
func (t *Thread) describe(m *Model) error {
	if m.desc = C.c_aclmdlCreateDesc(); m.desc == nil {
		return refuse("aclmdlCreateDesc", UnloadSomething, nil, "no memory")
	}
	if err := t.check("aclmdlGetDesc", C.c_aclmdlGetDesc(t.self, m.desc, m.id)); err != nil {
		return err
	}
	d := &m.Desc
	d.gearAt = t.gearInput(m)
	for i := range C.c_aclmdlGetNumInputs(m.desc) {
		if int(i) == d.gearAt {
			d.gearSize = int64(C.c_aclmdlGetInputSizeByIndex(m.desc, i))
			continue
		}
		p, err := t.port(m, i, true)
		if err != nil {
			return err
		}
		d.Inputs = append(d.Inputs, p)
	}
	for i := range C.c_aclmdlGetNumOutputs(m.desc) {
		p, err := t.port(m, i, false)
		if err != nil {
			return err
		}
		d.Outputs = append(d.Outputs, p)
		d.Dynamic = d.Dynamic || p.Size == 0
	}
	if d.gearAt >= 0 {
		return t.gears(m)
	}
	for _, p := range d.Inputs {
		for _, n := range p.Dims {
			d.Dynamic = d.Dynamic || n < 0
		}
	}
	return nil
}

// gearInput finds the gear input by its name, never by its place: a wrong index
// would overwrite another input without a word. The library answers an unknown
// name with a failure, which is no failure here.
func (t *Thread) gearInput(m *Model) int {
	for i := range C.c_aclmdlGetNumInputs(m.desc) {
		if C.GoString(C.c_aclmdlGetInputNameByIndex(m.desc, i)) == GearInput {
			return int(i)
		}
	}
	return -1
}

func (t *Thread) port(m *Model, i C.size_t, input bool) (p Port, err error) {
	var dims C.aclmdlIODims
	var name *C.char
	if input {
		name = C.c_aclmdlGetInputNameByIndex(m.desc, i)
		p.Type, p.Format = int(int32(C.c_aclmdlGetInputDataType(m.desc, i))), int(int32(C.c_aclmdlGetInputFormat(m.desc, i)))
		p.Size = int64(C.c_aclmdlGetInputSizeByIndex(m.desc, i))
		// V2 tells the dims of the raw image where preprocessing is built in.
		err = t.check("aclmdlGetInputDimsV2", C.c_aclmdlGetInputDimsV2(t.self, m.desc, i, &dims))
	} else {
		name = C.c_aclmdlGetOutputNameByIndex(m.desc, i)
		p.Type, p.Format = int(int32(C.c_aclmdlGetOutputDataType(m.desc, i))), int(int32(C.c_aclmdlGetOutputFormat(m.desc, i)))
		p.Size = int64(C.c_aclmdlGetOutputSizeByIndex(m.desc, i))
		err = t.check("aclmdlGetOutputDims", C.c_aclmdlGetOutputDims(t.self, m.desc, i, &dims))
	}
	if err != nil {
		return p, err
	}
	p.DType = dtypes[p.Type]
	p.Name = C.GoString(name)
	if real := C.c_aclmdlGetTensorRealName(m.desc, name); real != nil && *real != 0 { // long names are shortened
		p.Name = C.GoString(real)
	}
	p.Dims, err = numbers(&dims)
	if err == nil && input {
		p.Range, err = t.ranges(m, i)
	}
	return p, err
}

func numbers(d *C.aclmdlIODims) ([]int64, error) {
	if d.dimCount > maxDims {
		return nil, refuse("aclmdlGetInputDims", Reject, nil, "%d dims, at most %d are known", uint64(d.dimCount), maxDims)
	}
	out := make([]int64, d.dimCount)
	for i := range out {
		out[i] = int64(d.dims[i])
	}
	return out, nil
}

// ranges gives the limits of a dynamic shape where the release tells them.
func (t *Thread) ranges(m *Model, i C.size_t) ([][2]int64, error) {
	var r C.aclmdlIODimsRange
	err := t.check("aclmdlGetInputDimsRange", C.c_aclmdlGetInputDimsRange(t.self, m.desc, i, &r))
	if missing(err) || err == nil && r.rangeCount > maxDims {
		return nil, nil
	}
	var out [][2]int64
	for k := range min(int(r.rangeCount), maxDims) {
		out = append(out, [2]int64{int64(r._range[k][0]), int64(r._range[k][1])})
	}
	return out, err
}

// gears asks for the three kinds in turn; a model has one.
func (t *Thread) gears(m *Model) error {
	d, all := &m.Desc, C.size_t(math.MaxUint64)
	var batch C.aclmdlBatch
	if err := t.check("aclmdlGetDynamicBatch", C.c_aclmdlGetDynamicBatch(t.self, m.desc, &batch)); err != nil {
		return err
	}
	for i := range min(int(batch.batchCount), len(batch.batch)) {
		d.add(GearBatch, int64(batch.batch[i]))
	}
	if d.GearKind != "" {
		return nil
	}
	var hw C.aclmdlHW
	if err := t.check("aclmdlGetDynamicHW", C.c_aclmdlGetDynamicHW(t.self, m.desc, all, &hw)); err != nil {
		return err
	}
	for i := range min(int(hw.hwCount), len(hw.hw)) {
		d.add(GearImage, int64(hw.hw[i][0]), int64(hw.hw[i][1]))
	}
	if d.GearKind != "" {
		return nil
	}
	return t.dimsGears(m)
}

func (t *Thread) dimsGears(m *Model) error {
	d, all := &m.Desc, C.size_t(math.MaxUint64)
	var n C.size_t
	if err := t.check("aclmdlGetInputDynamicGearCount", C.c_aclmdlGetInputDynamicGearCount(t.self, m.desc, all, &n)); err != nil {
		return err
	}
	const most = 1024 // the vendor's limit is 256
	if n == 0 || n > most {
		return refuse("aclmdlGetInputDynamicGearCount", Reject, nil, "a gear input and %d gears, expected 1 to %d", uint64(n), most)
	}
	list := make([]C.aclmdlIODims, n)
	if err := t.check("aclmdlGetInputDynamicDims", C.c_aclmdlGetInputDynamicDims(t.self, m.desc, all, &list[0], n)); err != nil {
		return err
	}
	for i := range list {
		values, err := numbers(&list[i])
		if err != nil {
			return err
		}
		d.add(GearDims, values...)
	}
	return nil
}

// GearDims gives an output's dims in the gear set last. Models with dynamic
// shapes have none; see Dataset.
func (t *Thread) GearDims(m *Model, output int) ([]int64, error) {
	const call = "aclmdlGetCurOutputDims"
	if err := t.alive(call, m); err != nil {
		return nil, err
	}
	var dims C.aclmdlIODims
	if err := t.check(call, C.c_aclmdlGetCurOutputDims(t.self, m.desc, C.size_t(output), &dims)); err != nil {
		return nil, err
	}
	return numbers(&dims)
}

func (t *Thread) alive(call string, m *Model) error {
	if m.desc == nil {
		return refuse(call, FixCode, nil, "the model was unloaded")
	}
	return t.mine(call, m.lane)
}

// tensorDesc makes a description for f, which the library copies.
func (t *Thread) tensorDesc(p Port, dims []int64, f func(*C.aclTensorDesc) error) error {
	at := (*C.int64_t)(unsafe.SliceData(dims))
	desc := C.c_aclCreateTensorDesc(C.aclDataType(p.Type), C.int(len(dims)), at, C.aclFormat(p.Format))
	runtime.KeepAlive(dims)
	if desc == nil {
		return refuse("aclCreateTensorDesc", UnloadSomething, nil, "no memory")
	}
	defer C.c_aclDestroyTensorDesc(desc)
	return f(desc)
}

func elementSize(p Port, dims []int64) (int64, bool) {
	n, ok := ascend.Elements(dims)
	if !ok {
		return 0, false
	}
	return p.DType.Size(n)
}
