package engine

import (
	"sync"
	"time"
)

// Bound is how long a batch may take: ten times its 99th percentile, not less
// than floor and not more than limit. (runtime.md 3.5)
func Bound(p99, floor, limit time.Duration) time.Duration {
	return min(max(10*p99, floor), limit)
}

// watch is the watchdog over the batches of one process. A batch that passes
// its bound makes the process suspect; after half the bound more it is given up.
// The last half is left for the way from the timer to the pool, so that a device
// is out of use within twice the bound. What it tells goes with the number of its
// process, so it may outlive it.
type watch struct {
	clock Clock
	tell  func(kind)

	mu   sync.Mutex
	late int // batches over their bound
}

// begin starts the time of a batch. end may be called more than once.
func (w *watch) begin(bound time.Duration) (end func()) {
	b := &batch{watch: w, bound: bound}
	w.mu.Lock()
	defer w.mu.Unlock()
	b.stop = w.clock.AfterFunc(bound, b.overdue)
	return b.end
}

type batch struct {
	*watch
	bound time.Duration
	stop  func() bool
	over  bool // the bound has passed
	done  bool
}

func (b *batch) overdue() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.over = true
	if b.late++; b.late == 1 {
		b.tell(overdue)
	}
	b.stop = b.clock.AfterFunc(b.bound/2, b.hung)
}

func (b *batch) hung() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.tell(hung)
	}
}

func (b *batch) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.done = true
	b.stop()
	if b.over {
		if b.late--; b.late == 0 {
			b.tell(cleared)
		}
	}
}
