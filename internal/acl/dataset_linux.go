//go:build cgo && linux

package acl

/*
#include "acl_abi.h"
*/
import "C"

import (
	"slices"
	"unsafe"
)

// Dataset is the inputs or the outputs of a model, each with its memory. It is
// made once and used for many runs; Set points it elsewhere.
type Dataset struct {
	lane  *Lane
	model *Model
	input bool
	ptr   *C.aclmdlDataset
	bufs  []*C.aclDataBuffer // as the library counts them, the gear input among them
	spans []Span
	gear  *Buffer
	isSet bool // the gear, since the memory was changed last
	used  mark
}

// Inputs makes a dataset of the model's inputs, one span each in the order of
// Desc.Inputs, all in device memory.
func (t *Thread) Inputs(m *Model, spans ...Span) (*Dataset, error) { return t.dataset(m, true, spans) }

// Outputs makes a dataset of the model's outputs. A zero Span leaves the memory
// to the library, which gives it at Execute and for dynamic shapes only; Taken
// fetches it.
func (t *Thread) Outputs(m *Model, spans ...Span) (*Dataset, error) {
	return t.dataset(m, false, spans)
}

func (t *Thread) dataset(m *Model, input bool, spans []Span) (*Dataset, error) {
	const call = "aclmdlCreateDataset"
	if err := t.alive(call, m); err != nil {
		return nil, err
	}
	d := &Dataset{lane: t.lane, model: m, input: input, spans: make([]Span, len(spans))}
	if n := len(d.ports()); n != len(spans) {
		return nil, refuse(call, FixCode, nil, "%d spans, the model has %d", len(spans), n)
	}
	if err := t.gearMemory(d); err != nil {
		return nil, err
	}
	if d.ptr = C.c_aclmdlCreateDataset(); d.ptr == nil {
		return nil, refuse(call, UnloadSomething, nil, "no memory")
	}
	t.own(d)
	if err := t.fill(d, spans); err != nil {
		_ = t.DestroyDataset(d)
		return nil, err
	}
	return d, nil
}

// gearMemory is taken before the dataset, so that it is freed after it.
func (t *Thread) gearMemory(d *Dataset) (err error) {
	if desc := &d.model.Desc; d.input && desc.gearAt >= 0 {
		d.gear, err = t.Malloc(desc.gearSize)
	}
	return err
}

func (t *Thread) fill(d *Dataset, spans []Span) error {
	for i, s := range spans {
		if err := t.suits(d, i, s); err != nil {
			return err
		}
	}
	copy(d.spans, spans)
	all := slices.Clone(spans)
	if d.gear != nil {
		all = slices.Insert(all, min(d.model.Desc.gearAt, len(all)), d.gear.All())
	}
	for _, s := range all {
		if err := t.add(d, s); err != nil {
			return err
		}
	}
	return nil
}

func (t *Thread) add(d *Dataset, s Span) error {
	var at unsafe.Pointer
	if s.buf != nil {
		at = s.ptr()
	}
	b := C.c_aclCreateDataBuffer(at, C.size_t(s.n))
	if b == nil {
		return refuse("aclCreateDataBuffer", UnloadSomething, nil, "no memory")
	}
	d.bufs = append(d.bufs, b)
	return t.check("aclmdlAddDatasetBuffer", C.c_aclmdlAddDatasetBuffer(t.self, d.ptr, b))
}

func (d *Dataset) ports() []Port {
	if d.input {
		return d.model.Desc.Inputs
	}
	return d.model.Desc.Outputs
}

// index is where the library counts the i-th port.
func (d *Dataset) index(i int) int {
	if at := d.model.Desc.gearAt; d.input && at >= 0 && i >= at {
		return i + 1
	}
	return i
}

// suits refuses memory that the device would read or write past: with gears the
// library does not check lengths at all.
func (t *Thread) suits(d *Dataset, i int, s Span) error {
	const call = "aclCreateDataBuffer"
	p, dynamic := d.ports()[i], d.model.Desc.Dynamic
	if s.none() && !d.input && dynamic {
		return nil
	}
	if err := t.usable(call, s); err != nil {
		return err
	}
	switch {
	case s.buf == nil || s.buf.Pinned && !t.lane.Direct:
		return refuse(call, FixCode, nil, "%s: needs device memory", p.Name)
	case uintptr(s.ptr())%Align != 0:
		return refuse(call, FixCode, nil, "%s: begins at offset %d, which is no multiple of %d", p.Name, s.off, Align)
	case s.n < p.Size:
		return refuse(call, FixCode, nil, "%s: %d bytes, needs %d", p.Name, s.n, p.Size)
	}
	return nil
}

// Set gives a port other memory. With gears, SetGear must follow.
func (t *Thread) Set(d *Dataset, i int, s Span) error {
	const call = "aclUpdateDataBuffer"
	if err := t.idle(call, d, i); err != nil {
		return err
	}
	if err := t.suits(d, i, s); err != nil {
		return err
	}
	var at unsafe.Pointer
	if s.buf != nil {
		at = s.ptr()
	}
	err := t.check(call, C.c_aclUpdateDataBuffer(t.self, d.bufs[d.index(i)], at, C.size_t(s.n)))
	if err == nil {
		d.spans[i], d.isSet = s, false
	}
	return err
}

// idle refuses datasets that are freed, of another lane, in use, or do not have
// the port.
func (t *Thread) idle(call string, d *Dataset, i int) error {
	if d.ptr == nil {
		return refuse(call, FixCode, nil, "the dataset was destroyed")
	}
	if err := t.mine(call, d.lane); err != nil {
		return err
	}
	if d.busy() {
		return refuse(call, FixCode, ErrBusy, "synchronise before changing the dataset")
	}
	if i < 0 || i >= len(d.spans) {
		return refuse(call, FixCode, nil, "port %d of %d", i, len(d.spans))
	}
	return nil
}

// DestroyDataset frees a dataset, not the memory of its ports.
func (t *Thread) DestroyDataset(d *Dataset) error { return t.free("aclmdlDestroyDataset", d) }

func (d *Dataset) busy() bool { return d.used.busy() }

func (d *Dataset) release(t *Thread) error {
	err := t.check("aclmdlDestroyDataset", C.c_aclmdlDestroyDataset(t.self, d.ptr))
	d.ptr = nil
	for _, b := range d.bufs {
		if e := t.check("aclDestroyDataBuffer", C.c_aclDestroyDataBuffer(t.self, b)); err == nil {
			err = e
		}
	}
	d.bufs = nil
	if d.gear != nil {
		if e := t.free("aclrtFree", d.gear); err == nil {
			err = e
		}
	}
	return err
}

// SetGear chooses the gear of the next run, by its index in Desc.Gears. It
// copies into the device, so nothing that uses the dataset may be queued.
func (t *Thread) SetGear(d *Dataset, gear int) error {
	m := d.model
	if err := t.idle("aclmdlSetDynamicBatchSize", d, 0); err != nil {
		return err
	}
	if d.gear == nil || gear < 0 || gear >= len(m.Desc.Gears) {
		return refuse("aclmdlSetDynamicBatchSize", FixCode, nil, "gear %d of %d", gear, len(m.Desc.Gears))
	}
	v, at := m.Desc.Gears[gear].Values, C.size_t(m.Desc.gearAt)
	var err error
	switch m.Desc.GearKind {
	case GearBatch:
		err = t.check("aclmdlSetDynamicBatchSize", C.c_aclmdlSetDynamicBatchSize(t.self, m.id, d.ptr, at, C.uint64_t(v[0])))
	case GearImage:
		err = t.check("aclmdlSetDynamicHWSize", C.c_aclmdlSetDynamicHWSize(t.self, m.id, d.ptr, at, C.uint64_t(v[0]), C.uint64_t(v[1])))
	default:
		var dims C.aclmdlIODims
		dims.dimCount = C.size_t(len(v))
		for i, n := range v {
			dims.dims[i] = C.int64_t(n)
		}
		err = t.check("aclmdlSetInputDynamicDims", C.c_aclmdlSetInputDynamicDims(t.self, m.id, d.ptr, at, &dims))
	}
	d.isSet = err == nil
	return err
}

// SetShape tells the shape of an input of a model with dynamic shapes.
func (t *Thread) SetShape(d *Dataset, i int, dims []int64) error {
	const call = "aclmdlSetDatasetTensorDesc"
	if err := t.idle(call, d, i); err != nil {
		return err
	}
	p := d.ports()[i]
	if !d.input || !d.model.Desc.Dynamic {
		return refuse(call, FixCode, nil, "%s: its shape is not dynamic", p.Name)
	}
	if err := p.fits(dims); err != nil {
		return refuse(call, Reject, nil, "%s: %v", p.Name, err)
	}
	if n, ok := elementSize(p, dims); ok && n > d.spans[i].n {
		return refuse(call, FixCode, nil, "%s: shape %d takes %d bytes, the memory has %d", p.Name, dims, n, d.spans[i].n)
	}
	return t.tensorDesc(p, dims, func(desc *C.aclTensorDesc) error {
		return t.check(call, C.c_aclmdlSetDatasetTensorDesc(t.self, d.ptr, desc, C.size_t(d.index(i))))
	})
}

// Shape is the shape that an output of a model with dynamic shapes had in the
// last run; nil where the library does not tell.
func (t *Thread) Shape(d *Dataset, i int) ([]int64, error) {
	if err := t.idle("aclmdlGetDatasetTensorDesc", d, i); err != nil {
		return nil, err
	}
	desc := C.c_aclmdlGetDatasetTensorDesc(d.ptr, C.size_t(d.index(i)))
	if desc == nil {
		return nil, nil
	}
	n := C.c_aclGetTensorDescNumDims(desc)
	if n > maxDims {
		return nil, nil // the mark of an unknown rank is a huge number
	}
	dims := make([]int64, n)
	for k := range dims {
		if err := t.check("aclGetTensorDescDimV2", C.c_aclGetTensorDescDimV2(t.self, desc, C.size_t(k), (*C.int64_t)(&dims[k]))); err != nil {
			return nil, err
		}
	}
	return dims, nil
}

// Taken is the memory that the library gave an output without any. It is the
// lane's from here on; the output is without memory again.
func (t *Thread) Taken(d *Dataset, i int) (*Buffer, error) {
	const call = "aclUpdateDataBuffer"
	if err := t.idle(call, d, i); err != nil {
		return nil, err
	}
	b := d.bufs[d.index(i)]
	at, size := C.c_aclGetDataBufferAddr(b), int64(C.c_aclGetDataBufferSizeV2(b))
	if !d.spans[i].none() || at == nil || size <= 0 {
		return nil, refuse(call, FixCode, nil, "%s: the library gave no memory", d.ports()[i].Name)
	}
	if err := t.check(call, C.c_aclUpdateDataBuffer(t.self, b, nil, 0)); err != nil {
		return nil, err
	}
	taken := &Buffer{Size: size, lane: t.lane, ptr: at}
	t.own(taken)
	return taken, nil
}
