package infer

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/ascendctl/ascendctl/internal/oip"
)

// lending is a backend with memory of its own, as a device's pinned memory is.
type lending struct {
	Backend
	lent, back atomic.Int32
}

func (l *lending) Lend(size int) []byte {
	l.lent.Add(1)
	return alignedBytes(int64(size))
}

func (l *lending) TakeBack([]byte) { l.back.Add(1) }

func bytesOf(tensors []oip.Tensor) (n int64) {
	for _, t := range tensors {
		n += int64(len(t.Data))
	}
	return n
}

// TestATensorIsCopiedAtMostOnceEachWay counts front and worker together. ONNX
// Runtime copies its outputs once, as the simulated device does, so nothing
// else may.
func TestATensorIsCopiedAtMostOnceEachWay(t *testing.T) {
	w := startWorker(t)
	for _, model := range []string{"twins", "sim"} {
		for name, c := range map[string]struct {
			arena   int64
			lend    bool
			alloc   bool
			pieces  bool
			in, out int64 // copies
		}{
			"socket":                             {0, false, false, false, 0, 1},
			"socket, unknown size":               {0, false, true, false, 0, 1},
			"socket, requests that share it":     {0, false, false, true, 0, 1},
			"shared memory, own buffers":         {1 << 20, false, false, false, 1, 1},
			"shared memory, unknown size":        {1 << 20, false, true, false, 1, 1},
			"shared memory, lent buffers":        {1 << 20, true, false, false, 0, 1},
			"shared memory too small for inputs": {4096, false, false, false, 0, 1},
		} {
			t.Run(model+" by "+name, func(t *testing.T) {
				r := connect(t, w, RemoteOptions{Model: model, Arena: c.arena})
				batch := twinsBatch(300, 1)
				if c.lend {
					for _, side := range [][]oip.Tensor{batch.Inputs, batch.Outputs} {
						for i := range side {
							buf := r.Lend(len(side[i].Data))
							defer r.TakeBack(buf)
							copy(buf, side[i].Data)
							side[i].Data = buf
						}
					}
				}
				if c.alloc {
					batch.Outputs[0].Data, batch.Outputs[1].Data = nil, nil
					batch.Alloc = func(_ int, size int64) ([]byte, error) { return make([]byte, size), nil }
				}
				sent := batch.Inputs
				if c.pieces {
					sent = inPieces(batch)
				}
				mustRun(t, r, batch)
				if why := same(sent[0], batch.Outputs[0]) + same(sent[1], batch.Outputs[1]); why != "" {
					t.Fatal(why)
				}
				if in, out := bytesOf(sent), bytesOf(batch.Outputs); batch.Moved != (Moved{c.in * in, c.out * out}) {
					t.Errorf("moved %+v, want %d times %d bytes in and %d times %d out", batch.Moved, c.in, in, c.out, out)
				}
			})
		}
	}
}

// TestBackendsOwnMemoryIsFilledBySocket: a device that needs pinned memory gets
// the bytes there without a copy, even where there is shared memory.
func TestBackendsOwnMemoryIsFilledBySocket(t *testing.T) {
	own := &lending{Backend: openSim(t, SimOptions{})}
	r, stop := inProcess(t, own, 1<<20)
	for range 3 {
		batch := twinsBatch(8, 1)
		mustRun(t, r, batch)
		if batch.Moved != (Moved{0, 256}) {
			t.Errorf("moved %+v", batch.Moved)
		}
	}
	r.Close()
	stop()
	if lent, back := own.lent.Load(), own.back.Load(); lent == 0 || lent != back {
		t.Errorf("lent %d times, taken back %d times", lent, back)
	}
}

// mostAllocs bounds the allocations of one run, front and worker together. What
// grows with the payload would exceed it by far: the payloads differ by 2^14.
const mostAllocs = 20

func TestAllocationsDoNotGrowWithThePayload(t *testing.T) {
	for name, arena := range map[string]int64{"socket": 0, "shared memory": 80 << 20} {
		b := must(t, OpenSim, SimOptions{Signature: bytesSignature()})
		r, stop := inProcess(t, b, arena)
		var first float64
		for _, size := range []int{1 << 10, 224 * 224 * 3 * 4, 16 << 20} {
			batch := bytesBatch(make([]byte, size), make([]byte, size))
			ctx, cancel := context.WithCancel(t.Context())
			run := func() {
				if err := r.Run(ctx, batch); err != nil {
					t.Fatal(err)
				}
			}
			for range 4 * cap(r.lanes) { // every connection has its memory
				run()
			}
			runtime.GC()
			got := testing.AllocsPerRun(20, run)
			cancel()
			t.Logf("%s, %d bytes: %.0f allocations", name, size, got)
			if first == 0 {
				first = got
			}
			if got > mostAllocs || got > first+2 {
				t.Errorf("%s, %d bytes: %.0f allocations, at most %d and as many as the first (%.0f)", name, size, got, mostAllocs, first)
			}
		}
		r.Close()
		stop()
	}
}
