package infer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ascendctl/ascendctl/internal/oip"
)

// road is one way of a tensor to the worker and back.
type road struct {
	name   string
	remote *Remote
	memory func(n int) []byte
	p50    []time.Duration
	runs   float64 // of the callers side by side
	wall   time.Duration
	cpu    time.Duration // front and worker
}

// BenchmarkTransport compares the transports in one run, turn by turn, so that
// a noisy machine is noisy for all of them: median of one caller, runs a second
// of four callers, processor time of both processes for one run. The model is
// simulated and takes no time; it gives back what it got, so the bytes go there
// and back.
func BenchmarkTransport(b *testing.B) {
	for _, size := range []int{1 << 10, 224 * 224 * 3 * 4, 16 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := startWorker(b)
			heap := alignedHeap
			socket := connect(b, w, RemoteOptions{Model: "bytes"})
			shared := connect(b, w, RemoteOptions{Model: "bytes", Arena: int64(12*size + 1<<20)})
			roads := []*road{
				{name: "socket", remote: socket, memory: heap},
				{name: "shared, own buffers", remote: shared, memory: heap},
				{name: "shared, lent buffers", remote: shared, memory: shared.Lend},
			}
			for b.Loop() {
				for range 5 {
					for _, r := range roads {
						r.drive(b, w.cmd.Process.Pid, size)
					}
				}
			}
			b.Log(table(size, roads))
			for _, r := range roads[1:] {
				b.ReportMetric(float64(median(r.p50))/float64(median(roads[0].p50)), strings.NewReplacer(", ", "-", " ", "-").Replace(r.name)+"/socket-p50")
			}
		})
	}
}

func alignedHeap(n int) []byte { return alignedBytes(int64(n)) }

// drive adds some runs of one caller and some of four.
func (r *road) drive(b *testing.B, pid, size int) {
	batches := make([]*Batch, 4)
	for i := range batches {
		batches[i] = bytesBatch(r.memory(size), r.memory(size))
	}
	run := func(batch *Batch) {
		if err := r.remote.Run(b.Context(), batch); err != nil {
			b.Error(err)
		}
	}
	many := max(4, min(200, 40<<20/size))
	for i := range many + 2 {
		start := time.Now()
		run(batches[0])
		if i >= 2 {
			r.p50 = append(r.p50, time.Since(start))
		}
	}
	cpu, start := cpuOf(b, os.Getpid())+cpuOf(b, pid), time.Now()
	var all sync.WaitGroup
	for _, batch := range batches {
		all.Go(func() {
			for range many {
				run(batch)
			}
		})
	}
	all.Wait()
	r.wall += time.Since(start)
	r.cpu += cpuOf(b, os.Getpid()) + cpuOf(b, pid) - cpu
	r.runs += float64(4 * many)
	for _, batch := range batches {
		for _, t := range []oip.Tensor{batch.Inputs[0], batch.Outputs[0]} {
			if r.remote.Shared() && r.remote.arena.place(t.Data) != inline {
				r.remote.TakeBack(t.Data)
			}
		}
	}
}

// cpuOf is the processor time of a process so far (source: clock_getcpuclockid(3)).
func cpuOf(b *testing.B, pid int) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func table(size int, roads []*road) string {
	out := fmt.Sprintf("\n%-20s %10s %12s %10s %12s   simulated model, %d bytes there and back\n", "transport", "p50", "runs/s", "MiB/s", "CPU/run", size)
	for _, r := range roads {
		rate := r.runs / r.wall.Seconds()
		out += fmt.Sprintf("%-20s %10s %12.0f %10.0f %12s\n", r.name, median(r.p50).Round(100), rate,
			rate*float64(2*size)/(1<<20), (r.cpu / time.Duration(r.runs)).Round(100))
	}
	return out
}
