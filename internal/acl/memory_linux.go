//go:build cgo && linux

package acl

/*
#include "acl_abi.h"
*/
import "C"

import (
	"unsafe"
)

// Align is where a tensor may begin in device memory, and Slack what must
// follow it: kernels may read past its end (source: ACL's own allocator).
const (
	Align = 64
	Slack = 32
)

// Buffer is a block of device memory, or of pinned host memory.
type Buffer struct {
	Size   int64
	Pinned bool

	lane *Lane
	ptr  unsafe.Pointer
	used mark
}

// Malloc takes device memory; its content is whatever was there.
func (t *Thread) Malloc(size int64) (*Buffer, error) {
	return t.take("aclrtMalloc", size, false, func(p *unsafe.Pointer) C.acl_ret {
		return C.c_aclrtMalloc(t.self, p, C.size_t(size), C.ACL_MEM_MALLOC_HUGE_FIRST)
	})
}

// MallocHost takes host memory that the device copies from and to by itself.
func (t *Thread) MallocHost(size int64) (*Buffer, error) {
	return t.take("aclrtMallocHost", size, true, func(p *unsafe.Pointer) C.acl_ret {
		return C.c_aclrtMallocHost(t.self, p, C.size_t(size))
	})
}

func (t *Thread) take(call string, size int64, pinned bool, f func(*unsafe.Pointer) C.acl_ret) (*Buffer, error) {
	if size <= 0 {
		return nil, refuse(call, Reject, nil, "%d bytes asked for", size)
	}
	var p unsafe.Pointer
	if err := t.check(call, f(&p)); err != nil {
		return nil, err
	}
	b := &Buffer{Size: size, Pinned: pinned, lane: t.lane, ptr: p}
	t.own(b)
	return b, nil
}

// Free gives memory back. Work that uses it must be done.
func (t *Thread) Free(b *Buffer) error { return t.free("aclrtFree", b) }

func (b *Buffer) busy() bool { return b.used.busy() }

func (b *Buffer) release(t *Thread) error {
	p := b.ptr
	b.ptr, b.Size = nil, 0
	if b.Pinned {
		return t.check("aclrtFreeHost", C.c_aclrtFreeHost(t.self, p))
	}
	return t.check("aclrtFree", C.c_aclrtFree(t.self, p))
}

// Bytes is the memory itself where the host can reach it: pinned memory, and
// all memory of a Direct lane; else nil. It must not be touched after Free, nor
// while queued work uses it.
func (b *Buffer) Bytes() []byte {
	if b.ptr == nil || !b.Pinned && !b.lane.Direct {
		return nil
	}
	return unsafe.Slice((*byte)(b.ptr), b.Size)
}

// Span is a part of a buffer, or memory of Go.
type Span struct {
	buf *Buffer
	off int64
	n   int64
	mem []byte
}

// Span is n bytes from off on; n -1 is the rest. Parts that the buffer does not
// have come as the empty span, which every call refuses.
func (b *Buffer) Span(off, n int64) Span {
	if n == -1 {
		n = b.Size - off
	}
	if off < 0 || n <= 0 || off > b.Size || n > b.Size-off {
		return Span{}
	}
	return Span{buf: b, off: off, n: n}
}

// All is the whole buffer.
func (b *Buffer) All() Span { return b.Span(0, -1) }

// Memory is memory of Go as one end of a Copy.
func Memory(p []byte) Span { return Span{mem: p, n: int64(len(p))} }

func (s Span) none() bool { return s.buf == nil && s.n == 0 }

// Len is the number of bytes.
func (s Span) Len() int64 { return s.n }

func (s Span) ptr() unsafe.Pointer {
	if s.buf != nil {
		return unsafe.Add(s.buf.ptr, s.off)
	}
	return unsafe.Pointer(unsafe.SliceData(s.mem))
}

func (s Span) onDevice() bool { return s.buf != nil && !s.buf.Pinned }

// bytes is the span where the host can reach it, else nil.
func (s Span) bytes() []byte {
	if s.buf == nil {
		return s.mem
	}
	if all := s.buf.Bytes(); all != nil {
		return all[s.off : s.off+s.n]
	}
	return nil
}

// usable refuses spans that are empty, freed or of another lane.
func (t *Thread) usable(call string, s Span) error {
	switch {
	case s.n == 0 || s.buf != nil && s.buf.ptr == nil:
		return refuse(call, FixCode, nil, "the span is empty, beyond its buffer, or freed")
	case s.buf != nil:
		return t.mine(call, s.buf.lane)
	}
	return nil
}

// Copy moves len(src) bytes to the beginning of dst and returns when they are
// there. It and CopyAsync are the only ways by which tensors move.
func (t *Thread) Copy(dst, src Span) error {
	const call = "aclrtMemcpy"
	kind, err := t.way(call, dst, src)
	if err != nil {
		return err
	}
	for _, s := range []Span{dst, src} {
		if s.buf != nil && s.buf.busy() {
			return refuse(call, FixCode, ErrBusy, "synchronise before copying")
		}
	}
	to, from := dst.bytes(), src.bytes()
	if to != nil && from != nil { // both within the host's reach, as all is on an RC board
		kind = C.ACL_MEMCPY_HOST_TO_HOST
		copy(to, from)
	} else if err := t.check(call, C.c_aclrtMemcpy(t.self, dst.ptr(), C.size_t(dst.n), src.ptr(), C.size_t(src.n), kind)); err != nil {
		return err
	}
	t.lib.moved(kind, src.n)
	return nil
}

// CopyAsync queues a copy between device and pinned memory, or on the device.
// Memory of Go is refused: it may move before the copy is made. So is a Direct
// lane, which has nothing to copy and whose engine fails at it.
func (t *Thread) CopyAsync(s *Stream, dst, src Span) error {
	const call = "aclrtMemcpyAsync"
	kind, err := t.way(call, dst, src)
	if err != nil {
		return err
	}
	if err := t.mine(call, s.lane); err != nil {
		return err
	}
	if t.lane.Direct || dst.buf == nil || src.buf == nil || kind == C.ACL_MEMCPY_HOST_TO_HOST {
		return refuse(call, FixCode, nil, "needs device memory on one side and pinned or device memory on the other")
	}
	err = t.check(call, C.c_aclrtMemcpyAsync(t.self, dst.ptr(), C.size_t(dst.n), src.ptr(), C.size_t(src.n), kind, s.ptr))
	if err != nil {
		return err
	}
	at := s.next()
	dst.buf.used, src.buf.used = at, at
	t.lib.moved(kind, src.n)
	return nil
}

// way checks both ends of a copy and gives its direction.
func (t *Thread) way(call string, dst, src Span) (C.aclrtMemcpyKind, error) {
	for _, s := range []Span{dst, src} {
		if err := t.usable(call, s); err != nil {
			return 0, err
		}
	}
	if dst.n < src.n {
		return 0, refuse(call, FixCode, nil, "%d bytes do not fit into %d", src.n, dst.n)
	}
	switch {
	case dst.onDevice() && src.onDevice():
		return C.ACL_MEMCPY_DEVICE_TO_DEVICE, nil
	case dst.onDevice():
		return C.ACL_MEMCPY_HOST_TO_DEVICE, nil
	case src.onDevice():
		return C.ACL_MEMCPY_DEVICE_TO_HOST, nil
	}
	return C.ACL_MEMCPY_HOST_TO_HOST, nil
}

func (l *Library) moved(kind C.aclrtMemcpyKind, n int64) {
	c := &l.copied
	c.calls.Add(1)
	switch kind {
	case C.ACL_MEMCPY_HOST_TO_DEVICE:
		c.in.Add(n)
	case C.ACL_MEMCPY_DEVICE_TO_HOST:
		c.out.Add(n)
	case C.ACL_MEMCPY_DEVICE_TO_DEVICE:
		c.device.Add(n)
	default:
		c.host.Add(n)
	}
}

// Clear sets device memory to zero; on a Direct lane or pinned memory the host
// does it.
func (t *Thread) Clear(s Span) error {
	const call = "aclrtMemset"
	if err := t.usable(call, s); err != nil {
		return err
	}
	if s.buf != nil && s.buf.busy() {
		return refuse(call, FixCode, ErrBusy, "synchronise before clearing")
	}
	if p := s.bytes(); p != nil {
		clear(p)
		return nil
	}
	return t.check(call, C.c_aclrtMemset(t.self, s.ptr(), C.size_t(s.n), 0, C.size_t(s.n)))
}
