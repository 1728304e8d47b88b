//go:build cgo && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/testdata/fakeacl"
)

// TestServiceOnOneProcessAndOnABoard asks alone and together. On a board a byte
// is copied once each way, also of requests that share a batch; elsewhere the
// device fetches it, from where the socket or, in one process, the batch put it.
func TestServiceOnOneProcessAndOnABoard(t *testing.T) {
	const host, board = `{"latency_us":1000}`, `{"latency_us":1000,"run_mode":"device"}`
	for name, c := range map[string]struct {
		config  string
		args    []string
		in, out float64 // copies of each byte, at most
	}{
		"workers":         {host, nil, 0, 0},
		"single":          {host, []string{"--single-process"}, 1, 0},
		"board":           {board, []string{"--single-process"}, 1, 1},
		"board in worker": {board, nil, 1, 1},
		"old":             {host, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := fakeacl.Options{}
			if name == "old" {
				o.Profile = fakeacl.Old
			}
			s := newStage(t, o, c.config)
			t.Cleanup(func() { s.pinned(c.config == host) }) // after the service has ended
			r := s.serve(s.write("model.om", gears().Encode()), append(c.args, "--name", "model")...)
			if len(r.ready.Models) != 1 || !r.ready.Models[0].Device.Simulated || !strings.Contains(r.out.String(), "SIMULATED, not an NPU") {
				t.Errorf("not labelled as simulated: %+v\n%s", r.ready, r.out)
			}
			if workers := len(r.ready.Models[0].Devices); workers != 1 && c.args == nil || workers != 0 && c.args != nil {
				t.Errorf("%d workers", workers)
			}
			var all sync.WaitGroup
			var rows atomic.Int64
			for id := range uint64(8) {
				all.Go(func() {
					client := newClient(r.url, id)
					defer client.leave()
					for n := 1; n <= 8; n++ {
						if status, err := client.ask(0, n); status != 200 || err != nil {
							t.Errorf("%d rows: %d %v", n, status, err)
						}
						rows.Add(int64(n))
					}
				})
			}
			all.Wait()
			sent := float64(16 * rows.Load())
			filled := 16 * r.metric(`ascendctl_infer_padding_rows_total{model="model"}`) // with rows of the batch
			if in, out := r.copied(); in > c.in*(sent+filled) || out > c.out*sent || c.out == 1 && (in < sent || out < sent) {
				t.Errorf("copied %.0f bytes in and %.0f out of %.0f and %.0f of padding; at most %g and %g times", in, out, sent, filled, c.in, c.out)
			}
			if n := r.metric(`ascendctl_infer_batches_total{model="model"}`); n > 60 {
				t.Errorf("%.0f batches of 64 requests", n)
			}
		})
	}
}

// TestDeviceIsNotSharedUnasked: the second service names the first; with both
// asking for it they share.
func TestDeviceIsNotSharedUnasked(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{}`)
	file := s.write("model.om", gears().Encode())
	r := s.serve(file)
	second := s.command("serve", file, "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0")
	out, err := second.CombinedOutput()
	if want := fmt.Sprintf("process %d serves model on 127.0.0.1:", r.cmd.Process.Pid); err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, does not say %q:\n%s", err, want, out)
	}
	if got := r.devices(); len(got) != 1 || got[0].State != "ready" {
		t.Errorf("the first is %+v", got)
	}
	t.Run("shared", func(t *testing.T) {
		a := newStage(t, fakeacl.Options{}, `{}`)
		file := a.write("model.om", gears().Encode())
		a.serve(file, "--share-device")
		if err := os.Remove(a.readyFile()); err != nil {
			t.Fatal(err)
		}
		a.serve(file, "--share-device")
	})
}

// TestWorkersDieWithTheFront, however it ends.
func TestWorkersDieWithTheFront(t *testing.T) {
	s := newStage(t, fakeacl.Options{}, `{"devices":2}`)
	c := s.command("serve", s.write("model.om", gears().Encode()), "--device", "0-1", "--acl-lib", s.double.Dir, "--lock-dir", s.dir, "--listen", "127.0.0.1:0",
		"--ready-file", s.readyFile())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Models []struct{ Devices []struct{ PID int } }
	}
	for range 600 {
		if text, err := os.ReadFile(s.readyFile()); err == nil {
			if err := json.Unmarshal(text, &ready); err != nil {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if len(ready.Models) != 1 || len(ready.Models[0].Devices) != 2 {
		t.Fatalf("not ready: %+v", ready)
	}
	for _, d := range ready.Models[0].Devices {
		for n := 0; syscall.Kill(d.PID, 0) == nil; n++ {
			if n == 600 {
				t.Fatalf("worker %d lives on", d.PID)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
