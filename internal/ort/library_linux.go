//go:build cgo && linux

package ort

/*
#include <stdlib.h>
#include "ort_abi.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/dl"
)

// Library is an open ONNX Runtime with one environment. It lives as long as the
// process: threads of its own may run code of it at any time.
type Library struct {
	Version string // "1.32.0"
	File    string // the file really loaded

	api   C.ort_api
	env   *C.OrtEnv
	alloc *C.OrtAllocator
	mem   *C.OrtMemoryInfo
}

// Open loads a library and prepares it. Path is what Search found; the bare
// name it ends with is tried with and without its version. Every error wraps
// ErrNoLibrary.
func Open(path string) (*Library, error) {
	lib, err := dl.Open(path, false)
	if err != nil && path == BareName {
		if second, err2 := dl.Open(strings.TrimSuffix(path, ".1"), false); err2 == nil {
			lib, err = second, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	get, err := lib.Sym("OrtGetApiBase")
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not ONNX Runtime: %w", ErrNoLibrary, lib.File, err)
	}
	base := C.ort_base(get)
	l := &Library{Version: C.GoString(C.ort_version(base)), File: lib.File}
	// Asking for a table that is not there makes the library print to stderr.
	if !usable(l.Version) {
		return nil, fmt.Errorf("%w: %s is version %s, expected 1.%d or newer", ErrNoLibrary, lib.File, l.Version, minMinor)
	}
	if l.api = C.ort_table(base); l.api == nil {
		return nil, fmt.Errorf("%w: %s (version %s) does not offer API version %d", ErrNoLibrary, lib.File, l.Version, C.ORT_API)
	}
	if err := l.prepare(); err != nil {
		C.ort_ReleaseEnv(l.api, l.env) // NULL is allowed
		return nil, fmt.Errorf("%w: %s: %w", ErrNoLibrary, lib.File, err)
	}
	return l, nil
}

func (l *Library) prepare() error {
	if err := l.check(C.ort_env(l.api, &l.env)); err != nil {
		return err
	}
	if err := l.check(C.ort_GetAllocatorWithDefaultOptions(l.api, &l.alloc)); err != nil {
		return err
	}
	return l.check(C.ort_CreateCpuMemoryInfo(l.api, C.ORT_ALLOCATOR_ARENA, C.ORT_MEMTYPE_DEFAULT, &l.mem))
}

// check turns a status into an error and frees it.
func (l *Library) check(s *C.OrtStatus) error {
	if s == nil {
		return nil
	}
	defer C.ort_ReleaseStatus(l.api, s)
	return failure(int(C.ort_GetErrorCode(l.api, s)), C.GoString(C.ort_GetErrorMessage(l.api, s)))
}

// Session is one loaded model. Run may be called from many goroutines; Close
// waits for them.
type Session struct {
	Inputs, Outputs []Port

	lib      *Library
	ptr      *C.OrtSession
	in, out  []*C.char    // the ports' names, memory of the library
	open     sync.RWMutex // read-held by every Run, for ever held after Close
	isClosed atomic.Bool
}

// Load reads a model. The error is an *Error.
func (l *Library) Load(o Options) (*Session, error) {
	if (o.Path == "") == (len(o.Data) == 0) {
		return nil, invalid("one of path and data is needed")
	}
	if strings.ContainsRune(o.Path, 0) || o.Threads < 0 || o.Threads > 1<<16 {
		return nil, invalid("path %q or %d threads: not usable", o.Path, o.Threads)
	}
	var opts *C.OrtSessionOptions
	if err := l.check(C.ort_CreateSessionOptions(l.api, &opts)); err != nil {
		return nil, err
	}
	defer C.ort_ReleaseSessionOptions(l.api, opts)
	if err := l.check(C.ort_SetIntraOpNumThreads(l.api, opts, C.int(o.Threads))); err != nil {
		return nil, err
	}
	s := &Session{lib: l}
	if err := l.check(s.create(o, opts)); err != nil {
		return nil, err
	}
	if err := s.describe(); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

func (s *Session) create(o Options, opts *C.OrtSessionOptions) *C.OrtStatus {
	if o.Path == "" {
		return C.ort_CreateSessionFromArray(s.lib.api, s.lib.env, unsafe.Pointer(&o.Data[0]), C.size_t(len(o.Data)), opts, &s.ptr)
	}
	path := C.CString(o.Path)
	defer C.free(unsafe.Pointer(path))
	return C.ort_CreateSession(s.lib.api, s.lib.env, path, opts, &s.ptr)
}

func (s *Session) describe() error {
	l := s.lib
	var in, out C.size_t
	if err := l.check(C.ort_SessionGetInputCount(l.api, s.ptr, &in)); err != nil {
		return err
	}
	if err := l.check(C.ort_SessionGetOutputCount(l.api, s.ptr, &out)); err != nil {
		return err
	}
	var err error
	if s.Inputs, s.in, err = s.ports(0, in); err != nil {
		return err
	}
	s.Outputs, s.out, err = s.ports(1, out)
	return err
}

// ports reads the inputs (output 0) or the outputs (1) and their names in the
// library's memory, which are given back for free also when it fails.
func (s *Session) ports(output C.int, n C.size_t) (ports []Port, names []*C.char, err error) {
	l := s.lib
	for i := range n {
		var name *C.char
		if err := l.check(C.ort_port_name(l.api, s.ptr, output, i, l.alloc, &name)); err != nil {
			return nil, names, err
		}
		names = append(names, name)
		var info *C.OrtTypeInfo
		if err := l.check(C.ort_port_type(l.api, s.ptr, output, i, &info)); err != nil {
			return nil, names, err
		}
		p, err := l.port(name, info)
		if err != nil {
			return nil, names, err
		}
		ports = append(ports, p)
	}
	return ports, names, nil
}

// port reads a type info and frees it.
func (l *Library) port(name *C.char, info *C.OrtTypeInfo) (Port, error) {
	defer C.ort_ReleaseTypeInfo(l.api, info)
	p := Port{Name: C.GoString(name)}
	var kind C.int
	if err := l.check(C.ort_GetOnnxTypeFromTypeInfo(l.api, info, &kind)); err != nil {
		return p, err
	}
	if p.Kind = kindOf(int(kind)); p.Kind != TensorKind {
		return p, nil
	}
	var tensor *C.OrtTensorTypeAndShapeInfo // the type info's own
	if err := l.check(C.ort_CastTypeInfoToTensorInfo(l.api, info, &tensor)); err != nil {
		return p, err
	}
	var err error
	if p.DType, p.Dims, err = l.shape(tensor); err != nil {
		return p, err
	}
	p.DimNames = make([]string, len(p.Dims))
	if len(p.Dims) == 0 {
		return p, nil
	}
	words := make([]*C.char, len(p.Dims)) // the type info's own
	if err := l.check(C.ort_GetSymbolicDimensions(l.api, tensor, &words[0], C.size_t(len(words)))); err != nil {
		return p, err
	}
	for i, w := range words {
		p.DimNames[i] = C.GoString(w)
	}
	return p, nil
}

// shape reads element type and dims of a tensor or of its description. Dims is
// never nil.
func (l *Library) shape(t *C.OrtTensorTypeAndShapeInfo) (ascend.DType, []int64, error) {
	var dtype C.int
	if err := l.check(C.ort_GetTensorElementType(l.api, t, &dtype)); err != nil {
		return 0, nil, err
	}
	var rank C.size_t
	if err := l.check(C.ort_GetDimensionsCount(l.api, t, &rank)); err != nil {
		return 0, nil, err
	}
	dims := make([]int64, rank)
	if rank > 0 {
		if err := l.check(C.ort_GetDimensions(l.api, t, (*C.int64_t)(&dims[0]), rank)); err != nil {
			return 0, nil, err
		}
	}
	if dtype < 0 || dtype > C.int(ascend.Int4) { // the library's later numbers are not ONNX's
		return ascend.Undefined, dims, nil
	}
	return ascend.DType(dtype), dims, nil
}

// Close frees the model when no Run is under way. A second Close says ErrClosed.
func (s *Session) Close() error {
	if s.isClosed.Swap(true) {
		return ErrClosed
	}
	s.open.Lock() // and never unlocked: from here on no Run gets in
	s.free()
	return nil
}

func (s *Session) free() {
	l := s.lib
	for _, names := range [][]*C.char{s.in, s.out} {
		for _, name := range names {
			// It cannot fail; a status would leak.
			_ = l.check(C.ort_AllocatorFree(l.api, l.alloc, unsafe.Pointer(name)))
		}
	}
	C.ort_ReleaseSession(l.api, s.ptr)
	s.ptr, s.in, s.out = nil, nil, nil
}
