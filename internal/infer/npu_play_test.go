//go:build cgo && linux

package infer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// playContract holds the backend against the contract, in its own process and
// behind a worker's socket.
func playContract(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	slow := &Batch{Inputs: []oip.Tensor{{Name: "x", DType: ascend.Int32, Shape: []int64{1, 1}, Data: []byte{150, 0, 0, 0}}},
		Outputs: []oip.Tensor{{Name: "y", Data: make([]byte, 4)}}}
	open := func(t *testing.T, name string) Backend { return shifting{openNPU(t, n, name, NPUOptions{})} }
	remote := func(t *testing.T, name string) Backend {
		return shifting{hosted(t, openNPU(t, n, name, NPUOptions{}), name)}
	}
	for name, make := range map[string]func(*testing.T, string) Backend{"here": open, "in a worker": remote} {
		t.Run(name, func(t *testing.T) {
			ran := testBackend(t, subject{
				open: func(t *testing.T) Backend { return make(t, "twins.om") },
				slow: func(t *testing.T) (Backend, *Batch) { return make(t, "slow.om"), slow },
			})
			if ran != len(contract) {
				t.Errorf("%d contract tests ran, expected %d", ran, len(contract))
			}
		})
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// hosted is the backend behind the socket of a worker.
func hosted(t *testing.T, b Backend, name string) *Remote {
	t.Helper()
	l := listen(t)
	ctx, leave := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- ServeWorker(ctx, l, []Hosted{{Name: name, Backend: b}}, WorkerOptions{}) }()
	r, err := Connect(t.Context(), RemoteOptions{Dial: dialer(l.Addr().String()), Model: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		leave()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r
}

// playAllocations: what front and worker allocate for a batch, together, has a
// bound and does not grow with its tensors; nor is a byte of them copied.
func playAllocations(t *testing.T, lib *acl.Library) {
	const most = 32
	n := takeNPU(t, lib)
	counts := map[string]float64{}
	for _, name := range []string{"static.om", "large.om"} {
		t.Run(name, func(t *testing.T) {
			r := hosted(t, openNPU(t, n, name, NPUOptions{}), name)
			d := r.Describe()
			batch := zeros(&d, 0)
			mustRun(t, r, batch) // the memory of the connection grows once
			counts[name] = testing.AllocsPerRun(200, func() { mustRun(t, r, batch) })
			if batch.Moved != (Moved{}) {
				t.Errorf("moved %+v", batch.Moved)
			}
		})
	}
	t.Logf("%v allocations a batch", counts)
	small, large := counts["static.om"], counts["large.om"]
	if small > most || large > most || large > small+2 {
		t.Errorf("24 bytes: %.0f allocations, 1 MiB: %.0f; at most %d, and as many", small, large, most)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

func playStatic(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "static.om", NPUOptions{})
	d := b.Describe()
	if d.Platform != "ascend_om" || !d.Device.Simulated || !strings.Contains(d.Device.Name, "Ascend310P3, device 0, not an NPU") || d.Device.Library == "" {
		t.Errorf("got %+v", d)
	}
	if len(d.Gears) != 1 || d.Gears[0].Rows != 2 || d.Gears[0].Pads || d.MaxRows() != 2 {
		t.Errorf("gears %+v", d.Gears)
	}
	batch := &Batch{Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{2, 3}, Data: packFloats(1, 2, 3, 4, 5, 6)}},
		Outputs: []oip.Tensor{{Name: "y", Data: make([]byte, 24)}}}
	mustRun(t, b, batch)
	if why := same(batch.Inputs[0], batch.Outputs[0]); why != "" {
		t.Error(why)
	}
	batch.Inputs[0].Shape, batch.Inputs[0].Data = []int64{1, 3}, packFloats(1, 2, 3)
	wantClass(t, b.Run(t.Context(), batch), Reject)
	costs, err := Measure(t.Context(), b, 3)
	if err != nil || len(costs) != 1 || costs[0].Rows != 2 {
		t.Errorf("costs %+v, %v", costs, err)
	}
	shut(t, b, n)
	wantClass(t, b.Close(), Closed)
}

func shut(t *testing.T, b Backend, n *NPU) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// playPadding runs every number of rows in every gear that holds it, from
// pinned memory and from any: what fills the gear up is never seen.
func playPadding(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "twins.om", NPUOptions{})
	d := b.Describe()
	for rows := 1; rows <= 64; rows++ {
		batch := twinsBatch(rows, uint64(rows))
		if got := d.Shift(batch); got < rows || got >= 2*rows && rows > 1 {
			t.Errorf("%d rows: gear of %d", rows, got)
		}
		for g := batch.Gear; g < len(d.Gears); g++ {
			batch := twinsBatch(rows, uint64(100*g+rows))
			batch.Gear = g
			mustRun(t, b, batch)
			for i := range batch.Inputs {
				if why := same(batch.Inputs[i], batch.Outputs[i]); why != "" {
					t.Fatalf("%d rows in gear %d: %s", rows, g, why)
				}
			}
		}
	}
	over := twinsBatch(65, 1)
	if d.Shift(over) != 0 {
		t.Error("a gear holds 65 rows")
	}
	wantClass(t, b.Run(t.Context(), over), Reject)
	uneven := twinsBatch(3, 1)
	uneven.Inputs[1] = twinsBatch(2, 1).Inputs[1]
	uneven.Gear = 3
	wantClass(t, b.Run(t.Context(), uneven), Reject)
	shut(t, b, n)
}

func playRoom(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	r, err := n.Room(filepath.Join(os.Getenv("INFER_TEST_DIR"), "static.om"))
	if err != nil || r.Work != 1<<20 || r.Weight != 4096 || r.Total == 0 || r.Free == 0 || r.Free > r.Total {
		t.Errorf("room %+v, %v", r, err)
	}
	if _, err := n.Room("none.om"); wantClass(t, err, Reject).Code == 0 {
		t.Error(err)
	}
	_, err = n.Open(t.Context(), NPUOptions{Path: "none.om"})
	wantClass(t, err, Reject)
	for range 3 {
		if err := n.Probe(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if _, err := TakeNPU(lib, 99); wantClass(t, err, Reject).Code != 107001 {
		t.Error(err)
	}
}

// playMoved: lent memory is the device's own, so nothing is copied in user
// space; other memory is read by the device's driver.
func playMoved(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "twins.om", NPUOptions{})
	lender := b.(Lender)
	lent := twinsBatch(8, 3)
	var loans [][]byte
	for _, tensors := range [][]oip.Tensor{lent.Inputs, lent.Outputs} {
		for i := range tensors {
			loan := lender.Lend(len(tensors[i].Data))
			if loan == nil {
				t.Fatal("nothing is lent")
			}
			copy(loan, tensors[i].Data)
			tensors[i].Data, loans = loan, append(loans, loan)
		}
	}
	for _, batch := range []*Batch{lent, twinsBatch(8, 3)} {
		batch.Gear = 3
		mustRun(t, b, batch)
		if why := same(batch.Inputs[0], batch.Outputs[0]) + same(batch.Inputs[1], batch.Outputs[1]); why != "" {
			t.Error(why)
		}
		if batch.Moved != (Moved{}) {
			t.Errorf("moved %+v", batch.Moved)
		}
	}
	if lender.Lend(1<<30) != nil {
		t.Error("more is lent than there is")
	}
	if err := b.Close(); err != nil { // the lane goes on until the loans are back
		t.Error(err)
	}
	for _, l := range loans {
		l[0]++
		lender.TakeBack(l)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// playBoardMoved: on a board the device's memory is ours, and one copy leads
// there.
func playBoardMoved(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "twins.om", NPUOptions{})
	batch := twinsBatch(8, 3)
	batch.Gear = 3
	mustRun(t, b, batch)
	if why := same(batch.Inputs[0], batch.Outputs[0]); why != "" || batch.Moved != (Moved{256, 256}) {
		t.Errorf("%s, moved %+v", why, batch.Moved)
	}
	apart := twinsBatch(8, 3)
	apart.Gear = 3
	whole := inPieces(apart) // as requests that share a batch
	mustRun(t, b, apart)
	if why := same(whole[0], apart.Outputs[0]) + same(whole[1], apart.Outputs[1]); why != "" || apart.Moved != (Moved{256, 256}) {
		t.Errorf("in pieces: %s, moved %+v", why, apart.Moved)
	}
	if b.(Lender).Lend(64) != nil {
		t.Error("a board lends")
	}
	shut(t, b, n)
}

// playFailed: a run fails at the device with a code that lets it go on.
func playFailed(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "static.om", NPUOptions{})
	d := b.Describe()
	batch := zeros(&d, 0)
	mustRun(t, b, batch)
	if e := wantClass(t, b.Run(t.Context(), batch), Failed); e.Code != 507011 || e.Action != "retry" || e.Name != "ACL_ERROR_RT_MODEL_EXECUTE" {
		t.Errorf("got %#v", e)
	}
	mustRun(t, b, batch)
	shut(t, b, n)
}

func playLost(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "static.om", NPUOptions{})
	d := b.Describe()
	batch := zeros(&d, 0)
	mustRun(t, b, batch)
	if e := wantClass(t, b.Run(t.Context(), batch), Lost); e.Code != 507899 || e.Action == "" {
		t.Errorf("got %#v", e)
	}
	wantClass(t, b.Run(t.Context(), batch), Lost)
	wantClass(t, b.Probe(t.Context()), Lost)
	wantClass(t, b.Close(), Lost)
	wantClass(t, n.Close(), Lost)
}

func playHang(t *testing.T, lib *acl.Library) {
	n := takeNPU(t, lib)
	b := openNPU(t, n, "static.om", NPUOptions{Limit: 30 * time.Millisecond})
	d := b.Describe()
	batch := zeros(&d, 0)
	mustRun(t, b, batch)
	if e := wantClass(t, b.Run(t.Context(), batch), Lost); e.Code != acl.CodeStreamTimeout || e.Action != string(acl.RestartProcess) {
		t.Errorf("got %#v", e)
	}
	wantClass(t, b.Run(t.Context(), batch), Lost)
	os.Exit(0) // as the worker does: its buffers are the device's for ever
}
