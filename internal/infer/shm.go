package infer

import (
	"math"
	"slices"
	"sync"
	"unsafe"
)

// lineSize is the width of a cache line and of the widest vector load; device
// copies want it too.
const lineSize = 64

func lines(n int64) int64 { return (n + lineSize - 1) &^ (lineSize - 1) }

// alignedBytes makes n bytes that begin at a multiple of lineSize.
func alignedBytes(n int64) []byte {
	b := make([]byte, n+lineSize-1)
	skip := int64(-uintptr(unsafe.Pointer(&b[0])) & (lineSize - 1))
	return b[skip : skip+n : skip+n]
}

// region is memory that two processes see. Places in it are bytes from its
// start.
type region struct {
	mem []byte
}

// at is the piece of size bytes at a place; ok is false when it is not all
// inside.
func (r *region) at(place, size int64) (piece []byte, ok bool) {
	if r == nil || place < 0 || size < 0 || place > int64(len(r.mem))-size {
		return nil, false
	}
	return r.mem[place : place+size : place+size], true
}

// place is where b lies; inline when that is not in the region.
func (r *region) place(b []byte) int64 {
	if r == nil || len(b) == 0 || len(r.mem) == 0 {
		return inline
	}
	off := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(r.mem)))
	if off >= uintptr(len(r.mem)) || uintptr(len(b)) > uintptr(len(r.mem))-off {
		return inline
	}
	return int64(off)
}

// extent is free memory of an arena.
type extent struct{ at, size int64 }

// arena hands out pieces of a region, the lowest that is large enough first, so
// that the memory in use stays warm. After close nothing is handed out, and
// the region is unmapped with the return of the last piece.
type arena struct {
	region
	mu     sync.Mutex
	free   []extent // by place, never adjacent
	taken  map[int64]int64
	closed bool
	unmap  func()
}

func newArena(mem []byte, unmap func()) *arena {
	return &arena{region: region{mem}, free: []extent{{0, int64(len(mem))}}, taken: map[int64]int64{}, unmap: unmap}
}

// take gives the place of size bytes; ok is false when there is no room.
func (a *arena) take(size int64) (at int64, ok bool) {
	if a == nil || size <= 0 || size > math.MaxInt64-lineSize {
		return 0, false
	}
	size = lines(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, false
	}
	for i := range a.free {
		e := &a.free[i]
		if e.size < size {
			continue
		}
		at = e.at
		e.at, e.size = e.at+size, e.size-size
		if e.size == 0 {
			a.free = slices.Delete(a.free, i, i+1)
		}
		a.taken[at] = size
		return at, true
	}
	return 0, false
}

// give takes a piece back. One that is not out, or out no more, panics: two
// users of one piece would mix their tensors.
func (a *arena) give(at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size, out := a.taken[at]
	if !out {
		panic("infer: memory given back that was not taken")
	}
	delete(a.taken, at)
	if a.closed {
		a.settle()
		return
	}
	i, _ := slices.BinarySearchFunc(a.free, at, func(e extent, at int64) int { return int(min(max(e.at-at, -1), 1)) })
	a.free = slices.Insert(a.free, i, extent{at, size})
	if i+1 < len(a.free) && at+size == a.free[i+1].at {
		a.free[i].size += a.free[i+1].size
		a.free = slices.Delete(a.free, i+1, i+2)
	}
	if i > 0 && a.free[i-1].at+a.free[i-1].size == at {
		a.free[i-1].size += a.free[i].size
		a.free = slices.Delete(a.free, i, i+1)
	}
}

// close ends the arena; pieces that are out stay until they are given back.
func (a *arena) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		a.settle()
	}
}

// settle unmaps once nothing is out. Called with the lock held.
func (a *arena) settle() {
	if len(a.taken) == 0 {
		a.unmap()
		a.mem = nil
	}
}
