//go:build cgo && linux

package cmd_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// hangs is a service on three simulated devices under full load.
type hangs struct {
	b     *testing.B
	r     *running
	right atomic.Int64
}

// BenchmarkHungDevice hangs one of three devices, or stops its worker, again and
// again, and tells how long it stays in service, in bounds of the watchdog (200
// ms, more where a warm-up was slow: the largest is told), and what the two
// others serve meanwhile, as a part of two thirds of what all three did just
// before. Promised are 2, and 0.95 (proof-05).
func BenchmarkHungDevice(b *testing.B) {
	for _, what := range []string{"device", "worker"} {
		b.Run(what, func(b *testing.B) {
			s := newStage(b, fakeacl.Options{}, "")
			s.env = []string{"XDG_STATE_HOME=" + s.dir}
			s.write("once-hang", nil) // so that nobody hangs yet
			s.config = strings.ReplaceAll(`{"devices":3,"latency_us":10000,"faults":[{"call":"aclmdlExecuteAsync","every":1,"device_hang_ms":600000,"once":"FILE"}]}`, "FILE", s.once("hang"))
			h := &hangs{b: b, r: s.serve(s.write("model.om", gears().Encode()), "--device", "0-2", "--watchdog-floor", "200ms", "--name", "model")}
			hang := func() { _ = os.Remove(s.once("hang")) }
			if what == "worker" {
				hang = func() { _ = syscall.Kill(h.r.devices()[0].PID, syscall.SIGSTOP) }
			}
			h.run(hang)
		})
	}
}

func (h *hangs) run(hang func()) {
	ctx, stop := context.WithCancel(h.b.Context())
	var all sync.WaitGroup
	for id := range uint64(64) {
		all.Go(func() {
			c := newClient(h.r.url, id)
			defer c.leave()
			for ctx.Err() == nil {
				if status, err := c.ask(0, 1); err == nil && status == http.StatusOK {
					h.right.Add(1)
				}
			}
		})
	}
	var bounds, shares []float64
	var largest time.Duration
	for h.b.Loop() {
		for readyOf(h.r.devices()) < 3 {
			time.Sleep(10 * time.Millisecond)
		}
		whole := h.rate(3)
		bound := h.bound()
		largest = max(largest, bound)
		begin := time.Now()
		hang()
		bounds = append(bounds, float64(h.aside(begin).Sub(begin))/float64(bound))
		shares = append(shares, h.rate(2)/(whole*2/3))
	}
	stop()
	all.Wait()
	slices.Sort(shares)
	h.b.ReportMetric(slices.Max(bounds), "bounds/worst")
	h.b.ReportMetric(float64(largest.Milliseconds()), "ms/bound")
	h.b.ReportMetric(shares[len(shares)/2], "goodput/share")
}

// bound is how long a batch may take, by what the devices measured at their
// start.
func (h *hangs) bound() (most time.Duration) {
	for _, d := range h.r.devices() {
		for _, c := range d.Costs {
			most = max(most, engine.Bound(c.P99+c.CopyIn+c.CopyOut, 200*time.Millisecond, time.Minute))
		}
	}
	return most
}

// aside waits until a device is put aside and tells when that was, by the log of
// the service: who asks under full load hears of it later.
func (h *hangs) aside(after time.Time) (at time.Time) {
	for {
		files, _ := filepath.Glob(filepath.Join(h.r.dir, "ascendctl", "log", "*.log")) // the pattern is good
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				h.b.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				word, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
				if !strings.Contains(rest, `msg="engine quarantined"`) {
					continue
				}
				if at, err = time.Parse(time.RFC3339, word); err != nil {
					h.b.Fatal(err)
				}
				if at.After(after) {
					return at
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// rate is the right answers a second while so many devices serve, over two
// seconds or until that changes.
func (h *hangs) rate(devices int) float64 {
	begin, n := time.Now(), h.right.Load()
	for time.Since(begin) < 2*time.Second && readyOf(h.r.devices()) == devices {
		time.Sleep(20 * time.Millisecond)
	}
	return float64(h.right.Load()-n) / time.Since(begin).Seconds()
}
