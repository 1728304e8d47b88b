//go:build cgo && linux

package ort

/*
#include "ort_abi.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// Run executes the model once: one tensor for each of Inputs, in their order,
// and of Outputs the wanted ones, by index and in the order asked for, into the
// buffers that place gives. All memory is used between call and return only.
// When ctx ends, the library stops after the operator it is at and the error
// wraps ctx.Err(). An error is ErrClosed, wraps an *Error, or is what place said.
func (s *Session) Run(ctx context.Context, inputs []Tensor, wanted []int, place Place) error {
	// Not a plain RLock: it would wait for ever behind Close.
	if !s.open.TryRLock() {
		return ErrClosed
	}
	defer s.open.RUnlock()
	if err := ctx.Err(); err != nil {
		return stopped("stopped before it began", err)
	}
	if len(inputs) != len(s.Inputs) {
		return invalid("%d inputs, expected %d", len(inputs), len(s.Inputs))
	}
	r := run{lib: s.lib}
	defer r.free()
	names, err := r.outputs(s, wanted)
	if err != nil {
		return err
	}
	for i, t := range inputs {
		if err := r.input(t); err != nil {
			return fmt.Errorf("input %s: %w", s.Inputs[i].Name, err)
		}
	}
	if err := r.execute(ctx, s, names); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Cause = ctx.Err()
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return stopped("stopped after the model ran", err)
	}
	for k, v := range r.out {
		if err := r.take(k, v, place); err != nil {
			return err
		}
	}
	return nil
}

func stopped(text string, cause error) *Error {
	e := failure(CodeFail, text)
	e.Cause = cause
	return e
}

// run is what one execution owns.
type run struct {
	lib     *Library
	pins    runtime.Pinner // input memory, from its value's making to its release
	in, out []*C.OrtValue
}

func (r *run) free() {
	for _, vs := range [][]*C.OrtValue{r.in, r.out} {
		for _, v := range vs {
			C.ort_ReleaseValue(r.lib.api, v) // NULL is allowed
		}
	}
	r.pins.Unpin()
}

func (r *run) outputs(s *Session, wanted []int) ([]*C.char, error) {
	if len(wanted) == 0 {
		return nil, invalid("no output is asked for")
	}
	names := make([]*C.char, len(wanted))
	for k, i := range wanted {
		if i < 0 || i >= len(s.Outputs) {
			return nil, invalid("output %d is asked for, the model has %d", i, len(s.Outputs))
		}
		if p := s.Outputs[i]; p.Kind != TensorKind {
			return nil, invalid("output %s is of kind %s, not a tensor", p.Name, p.Kind)
		}
		names[k] = s.out[i]
	}
	r.out = make([]*C.OrtValue, len(wanted))
	return names, nil
}

// input makes a value of a tensor: over the caller's memory where it can be,
// over a copy where it begins at an address the library's kernels may not like.
func (r *run) input(t Tensor) error {
	n, err := t.check()
	if err != nil {
		return err
	}
	var dims *C.int64_t
	if len(t.Shape) > 0 {
		dims = (*C.int64_t)(&t.Shape[0])
	}
	l, rank, dtype := r.lib, C.size_t(len(t.Shape)), C.int(t.DType)
	var v *C.OrtValue
	defer func() { r.in = append(r.in, v) }()
	if t.DType == ascend.String {
		if err := l.check(C.ort_CreateTensorAsOrtValue(l.api, l.alloc, dims, rank, dtype, &v)); err != nil || n == 0 {
			return err
		}
		return l.check(C.ort_fill_strings(l.api, v, (*C.uint8_t)(&t.Data[0]), C.size_t(n)))
	}
	data := unsafe.Pointer(new(uint64)) // without elements the library wants an address all the same
	if len(t.Data) > 0 {
		data = unsafe.Pointer(unsafe.SliceData(aligned(t.Data)))
	}
	r.pins.Pin(data)
	return l.check(C.ort_CreateTensorWithDataAsOrtValue(l.api, l.mem, data, C.size_t(len(t.Data)), dims, rank, dtype, &v))
}

// aligned is b where it begins at a multiple of 8 bytes, which fits every
// element type, else a copy that does.
func aligned(b []byte) []byte {
	if Aligned(b) {
		return b
	}
	words := make([]uint64, (len(b)+7)/8) // make([]byte) promises no alignment
	c := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(b))
	copy(c, b)
	return c
}

// execute runs the model under ctx. Values the library has made by then stand
// in r.out, also when it fails.
func (r *run) execute(ctx context.Context, s *Session, names []*C.char) error {
	l := r.lib
	var opts *C.OrtRunOptions
	if ctx.Done() != nil {
		// One for each run: the flag that ends a run is sticky.
		if err := l.check(C.ort_CreateRunOptions(l.api, &opts)); err != nil {
			return err
		}
		defer C.ort_ReleaseRunOptions(l.api, opts)
		set := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(set)
			_ = l.check(C.ort_RunOptionsSetTerminate(l.api, opts))
		})
		defer func() {
			if !stop() {
				<-set // else the flag would be set in freed memory
			}
		}()
	}
	var in **C.char
	var values **C.OrtValue
	if len(r.in) > 0 {
		in, values = &s.in[0], &r.in[0]
	}
	return l.check(C.ort_Run(l.api, s.ptr, opts, in, values, C.size_t(len(r.in)), &names[0], C.size_t(len(names)), &r.out[0]))
}

// take copies an output into the caller's buffer.
func (r *run) take(k int, v *C.OrtValue, place Place) error {
	l := r.lib
	var info *C.OrtTensorTypeAndShapeInfo
	if err := l.check(C.ort_GetTensorTypeAndShape(l.api, v, &info)); err != nil {
		return err
	}
	defer C.ort_ReleaseTensorTypeAndShapeInfo(l.api, info)
	dtype, dims, err := l.shape(info)
	if err != nil {
		return err
	}
	n, ok := ascend.Elements(dims)
	if !ok {
		return failure(CodeFail, fmt.Sprintf("output has shape %d", dims))
	}
	size, ok := dtype.Size(n)
	if dtype == ascend.String {
		size, err = l.stringSize(v, n)
		ok = true
	}
	if err != nil {
		return err
	}
	if !ok {
		return failure(CodeNotImplemented, "output has an element type that ascendctl does not know")
	}
	buf, err := place(k, dtype, dims, size)
	if err != nil {
		return err
	}
	if int64(len(buf)) != size {
		return invalid("buffer of %d bytes for an output of %d", len(buf), size)
	}
	if size == 0 {
		return nil
	}
	if dtype == ascend.String {
		return l.takeStrings(v, n, buf)
	}
	var data unsafe.Pointer
	if err := l.check(C.ort_GetTensorMutableData(l.api, v, &data)); err != nil {
		return err
	}
	copy(buf, unsafe.Slice((*byte)(data), size))
	return nil
}

func (l *Library) stringSize(v *C.OrtValue, n int64) (int64, error) {
	var size C.size_t
	if err := l.check(C.ort_GetStringTensorDataLength(l.api, v, &size)); err != nil {
		return 0, err
	}
	if size > math.MaxInt64/2 || n > math.MaxInt64/8 {
		return 0, failure(CodeFail, "output is too large")
	}
	return int64(size) + 4*n, nil
}

func (l *Library) takeStrings(v *C.OrtValue, n int64, buf []byte) error {
	var used C.size_t
	if err := l.check(C.ort_take_strings(l.api, v, (*C.uint8_t)(&buf[0]), C.size_t(len(buf)), C.size_t(n), &used)); err != nil {
		return err
	}
	if int(used) != len(buf) {
		return failure(CodeFail, fmt.Sprintf("strings of %d bytes where %d were announced", used, len(buf)))
	}
	return nil
}
