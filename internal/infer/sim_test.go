package infer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// openSim gives a simulated twins model.
func openSim(t testing.TB, o SimOptions) Backend {
	t.Helper()
	o.Signature = twinsSignature()
	b, err := OpenSim(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestSimulatedDeviceSaysWhatItIs(t *testing.T) {
	if d := openSim(t, SimOptions{}).Describe().Device; d.Kind != "sim" || !d.Simulated || !strings.Contains(d.Name, "simulated") {
		t.Errorf("got %+v", d)
	}
}

func TestSimulatedCostIsThatOfTheRows(t *testing.T) {
	var mu sync.Mutex
	var slept []time.Duration
	b := openSim(t, SimOptions{
		Cost: func(rows int64) time.Duration { return 5 + 10*time.Duration(rows) },
		Sleep: func(_ context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			slept = append(slept, d)
			return nil
		},
	})
	for _, rows := range []int{1, 8, 0} {
		batch := twinsBatch(rows, 1)
		mustRun(t, b, batch)
		if batch.Times.Execute != 5+10*time.Duration(rows) {
			t.Errorf("%d rows: %+v", rows, batch.Times)
		}
	}
	if !slices.Equal(slept, []time.Duration{15, 85, 5}) {
		t.Errorf("slept %v", slept)
	}
}

func TestSimulatedDeviceRunsOneBatchAtATime(t *testing.T) {
	var mu sync.Mutex
	inside, most := 0, 0
	b := openSim(t, SimOptions{Cost: func(int64) time.Duration { return 1 }, Sleep: func(context.Context, time.Duration) error {
		mu.Lock()
		inside++
		most = max(most, inside)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		inside--
		mu.Unlock()
		return nil
	}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := b.Run(t.Context(), twinsBatch(1, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d batches at once", most)
	}
}

func TestSimulatedFaultsFollowTheScript(t *testing.T) {
	b := openSim(t, SimOptions{Fault: func(n int) *Error {
		switch n {
		case 1:
			return &Error{Class: Failed, Code: 507011, Detail: "a kernel timed out"}
		case 3:
			return &Error{Class: Lost, Code: 507018, Detail: "the device is gone"}
		}
		return nil
	}})
	mustRun(t, b, twinsBatch(1, 1))
	if e := wantClass(t, b.Run(t.Context(), twinsBatch(1, 1)), Failed); e.Code != 507011 || e.Op != "Run" || !strings.Contains(e.Detail, "simulated") {
		t.Errorf("got %+v", e)
	}
	mustRun(t, b, twinsBatch(1, 1))
	if err := b.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		wantClass(t, b.Run(t.Context(), twinsBatch(1, 1)), Lost)
	}
	wantClass(t, b.Probe(t.Context()), Lost)
}

func TestGearFixesTheShapes(t *testing.T) {
	b := openSim(t, SimOptions{Gears: []Gear{{Rows: 1, Dims: [][]int64{{1, 4}, {1, 2}}}, {Rows: 4, Dims: [][]int64{{4, 4}, {4, 2}}}}})
	for _, c := range []struct {
		gear, rows int
		ok         bool
	}{{0, 1, true}, {1, 4, true}, {0, 4, false}, {1, 1, false}, {2, 1, false}, {-1, 1, false}} {
		batch := twinsBatch(c.rows, 1)
		batch.Gear = c.gear
		err := b.Run(t.Context(), batch)
		if c.ok && err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if !c.ok {
			wantClass(t, err, Reject)
		}
	}
}

func TestSimulatedModelMustGiveBackItsInputs(t *testing.T) {
	sig := twinsSignature()
	for name, outputs := range map[string][]oip.Port{
		"an output missing": sig.Outputs[:1],
		"another type":      {sig.Outputs[0], {Name: "yb", DType: ascend.Float, Dims: []int64{-1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenSim(SimOptions{Signature: oip.Signature{Inputs: sig.Inputs, Outputs: outputs}})
			wantClass(t, err, Reject)
		})
	}
}

func BenchmarkSimRun(b *testing.B) {
	backend := openSim(b, SimOptions{})
	batch := twinsBatch(1, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := backend.Run(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}
