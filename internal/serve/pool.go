package serve

import (
	"math/bits"
	"sync"
	"unsafe"
)

// align is the width of a cache line and of the widest vector load; device
// copies want it too.
const align = 64

// The classes of pooled buffers: powers of two from 4 KiB to 64 MiB. What is
// larger is left to the garbage collector.
const (
	minClass = 12
	maxClass = 26
)

// pool keeps buffers between batches, by size.
type pool struct {
	classes [maxClass - minClass + 1]sync.Pool
}

// buffer is one borrowed piece of memory; data starts on a multiple of align.
type buffer struct {
	data  []byte // the whole class
	class int    // -1: not pooled
}

// get borrows a buffer with room for n bytes. Its contents are arbitrary.
func (p *pool) get(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return &buffer{aligned(n), -1}
	}
	if b, ok := p.classes[class-minClass].Get().(*buffer); ok {
		return b
	}
	return &buffer{aligned(1 << class), class}
}

func (p *pool) put(b *buffer) {
	if b.class >= 0 {
		p.classes[b.class-minClass].Put(b)
	}
}

func aligned(n int) []byte {
	b := make([]byte, n+align-1)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & (align - 1))
	return b[skip : skip+n : skip+n]
}
