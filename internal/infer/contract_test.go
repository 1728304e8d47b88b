package infer

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
	"go.uber.org/goleak"
)

// subject is a backend under the contract. open gives one that has loaded the
// twins model, slow one whose Run of the batch ends by cancelling only.
type subject struct {
	open func(t *testing.T) Backend
	slow func(t *testing.T) (Backend, *Batch)
}

var subjects = map[string]subject{
	"ort": {
		open: func(t *testing.T) Backend { return openORT(t, twins()) },
		slow: func(t *testing.T) (Backend, *Batch) {
			return openORT(t, spinner()), spinnerBatch()
		},
	},
	"sim": {
		open: func(t *testing.T) Backend { return openSim(t, SimOptions{}) },
		slow: func(t *testing.T) (Backend, *Batch) {
			return openSim(t, SimOptions{Cost: func(int64) time.Duration { return 1 << 60 }}), twinsBatch(1, 1)
		},
	},
	"ort in a worker, by socket":        remoteSubject("twins", "spinner", 0),
	"ort in a worker, by shared memory": remoteSubject("twins", "spinner", 1<<20),
	"sim in a worker, by socket":        remoteSubject("sim", "stuck sim", 0),
	"sim in a worker, by shared memory": remoteSubject("sim", "stuck sim", 1<<20),
}

func spinnerBatch() *Batch {
	return &Batch{
		Inputs: []oip.Tensor{
			{Name: "trips", DType: ascend.Int64, Data: packInts(1 << 50)},
			{Name: "x", DType: ascend.Float, Shape: []int64{1, 4}, Data: packFloats(1, 2, 3, 4)}},
		Outputs: []oip.Tensor{{Name: "y", Data: make([]byte, 16)}},
	}
}

// contract is what every backend promises.
var contract = []struct {
	name string
	test func(t *testing.T, s subject)
}{
	{"gives the right numbers", givesRightNumbers},
	{"writes into the caller's buffers", writesIntoCallersBuffers},
	{"says how much room is missing", saysHowMuchRoomIsMissing},
	{"asks Alloc where room is missing", asksAlloc},
	{"gives outputs in the order asked for", givesOutputsInOrder},
	{"takes inputs in pieces or refuses them", takesPieces},
	{"rejects a wrong batch and goes on", rejectsWrongBatch},
	{"does not start under an ended context", doesNotStartUnderEndedContext},
	{"stops when the context ends", stopsWhenContextEnds},
	{"runs from many goroutines", runsFromManyGoroutines},
	{"answers a probe", answersProbe},
	{"is closed after Close", isClosedAfterClose},
	{"Close waits for a running batch", closeWaits},
}

func TestEveryBackendKeepsTheContract(t *testing.T) {
	ran := 0
	contractWorker = startWorker(t)
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			ran += testBackend(t, s)
		})
	}
	if want := len(subjects) * len(contract); ran != want && flag.Lookup("test.run").Value.String() == "" {
		t.Errorf("%d contract tests ran, expected %d", ran, want)
	}
}

func testBackend(t *testing.T, s subject) (ran int) {
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the backend was closed
			c.test(t, s)
			ran++
		})
	}
	return ran
}

func givesRightNumbers(t *testing.T, s subject) {
	b := s.open(t)
	for _, rows := range []int{1, 3, 0, 64} {
		batch := twinsBatch(rows, 7)
		mustRun(t, b, batch)
		for i := range batch.Inputs {
			if why := same(batch.Inputs[i], batch.Outputs[i]); why != "" {
				t.Errorf("%d rows: %s", rows, why)
			}
		}
	}
	if d := b.Describe(); !slices.EqualFunc(d.Signature.Inputs, twinsSignature().Inputs, equalPort) ||
		!slices.EqualFunc(d.Signature.Outputs, twinsSignature().Outputs, equalPort) {
		t.Errorf("signature %+v, want %+v", d.Signature, twinsSignature())
	} else if d.Device.Name == "" || d.Device.Simulated != strings.HasPrefix(d.Device.Name, "simulated") || d.Platform == "" {
		t.Errorf("device %+v, platform %q", d.Device, d.Platform)
	}
}

func equalPort(a, b oip.Port) bool {
	// Dims of an .om have no names.
	names := slices.Equal(a.DimNames, b.DimNames) || len(a.DimNames) == len(a.Dims) && strings.Join(a.DimNames, "") == ""
	return a.Name == b.Name && a.DType == b.DType && slices.Equal(a.Dims, b.Dims) && names
}

func writesIntoCallersBuffers(t *testing.T, s subject) {
	b := s.open(t)
	batch := twinsBatch(2, 1)
	large := bytes.Repeat([]byte{0xee}, 100)
	batch.Outputs[0].Data = large
	batch.Alloc = func(i int, size int64) ([]byte, error) {
		t.Errorf("Alloc(%d, %d) although there is room", i, size)
		return make([]byte, size), nil
	}
	mustRun(t, b, batch)
	out := batch.Outputs[0].Data
	if len(out) != 32 || &out[0] != &large[0] {
		t.Errorf("output of %d bytes is not the beginning of the caller's buffer", len(out))
	}
	if !bytes.Equal(large[32:], bytes.Repeat([]byte{0xee}, 68)) {
		t.Error("bytes behind the output were written")
	}
}

func saysHowMuchRoomIsMissing(t *testing.T, s subject) {
	b := s.open(t)
	batch := twinsBatch(3, 1)
	batch.Outputs[1].Data = batch.Outputs[1].Data[:47]
	if e := wantClass(t, b.Run(t.Context(), batch), Short); e.Need != 48 {
		t.Errorf("needs %d, want 48", e.Need)
	}
	mustRun(t, b, twinsBatch(3, 1))
}

func asksAlloc(t *testing.T, s subject) {
	b := s.open(t)
	batch := twinsBatch(3, 1)
	batch.Outputs[0].Data, batch.Outputs[1].Data = nil, make([]byte, 5)
	asked := map[int]int64{}
	batch.Alloc = func(i int, size int64) ([]byte, error) {
		asked[i] = size
		return make([]byte, size), nil
	}
	mustRun(t, b, batch)
	if len(asked) != 2 || asked[0] != 48 || asked[1] != 48 {
		t.Errorf("asked for %v, want 48 bytes of outputs 0 and 1", asked)
	}
	for i := range batch.Inputs {
		if why := same(batch.Inputs[i], batch.Outputs[i]); why != "" {
			t.Error(why)
		}
	}
	full := errors.New("no room left")
	for name, alloc := range map[string]func(int, int64) ([]byte, error){
		"an error":       func(int, int64) ([]byte, error) { return nil, full },
		"a wrong length": func(_ int, n int64) ([]byte, error) { return make([]byte, n-1), nil },
	} {
		batch := twinsBatch(3, 1)
		batch.Outputs[0].Data, batch.Alloc = nil, alloc
		err := b.Run(t.Context(), batch)
		wantClass(t, err, Failed)
		if name == "an error" && !errors.Is(err, full) {
			t.Errorf("%v does not wrap Alloc's error", err)
		}
	}
}

func givesOutputsInOrder(t *testing.T, s subject) {
	b := s.open(t)
	batch := twinsBatch(2, 3)
	slices.Reverse(batch.Outputs)
	mustRun(t, b, batch)
	if why := same(batch.Inputs[1], batch.Outputs[0]) + same(batch.Inputs[0], batch.Outputs[1]); why != "" {
		t.Error(why)
	}
	for i, name := range []string{"ya", "yb"} {
		batch := twinsBatch(2, 4)
		batch.Outputs = []oip.Tensor{{Name: name, Data: make([]byte, 32)}}
		mustRun(t, b, batch)
		if why := same(batch.Inputs[i], batch.Outputs[0]); why != "" {
			t.Errorf("%s alone: %s", name, why)
		}
	}
}

// inPieces cuts the inputs of a batch, and gives them back whole.
func inPieces(b *Batch) (whole []oip.Tensor) {
	whole = slices.Clone(b.Inputs)
	for i := range b.Inputs {
		data := b.Inputs[i].Data
		at := min(5*i+8, len(data))
		b.Pieces = append(b.Pieces, [][]byte{data[:at:at], {}, data[at:]})
		b.Inputs[i].Data = nil
	}
	return whole
}

func takesPieces(t *testing.T, s subject) {
	b := s.open(t)
	for _, rows := range []int{1, 3, 33} {
		batch := twinsBatch(rows, 8)
		whole := inPieces(batch)
		if !b.Describe().Pieces {
			wantClass(t, b.Run(t.Context(), batch), Reject)
			continue
		}
		mustRun(t, b, batch)
		if why := same(whole[0], batch.Outputs[0]) + same(whole[1], batch.Outputs[1]); why != "" {
			t.Errorf("%d rows: %s", rows, why)
		}
		short := twinsBatch(rows, 8)
		inPieces(short)
		short.Pieces[1] = short.Pieces[1][:2]
		wantClass(t, b.Run(t.Context(), short), Reject)
	}
}

func rejectsWrongBatch(t *testing.T, s subject) {
	b := s.open(t)
	for name, spoil := range map[string]func(*Batch){
		"an input too few":      func(b *Batch) { b.Inputs = b.Inputs[:1] },
		"an input too many":     func(b *Batch) { b.Inputs = append(b.Inputs, b.Inputs[0]) },
		"no inputs":             func(b *Batch) { b.Inputs = nil },
		"a wrong name":          func(b *Batch) { b.Inputs[0].Name = "z" },
		"inputs out of order":   func(b *Batch) { slices.Reverse(b.Inputs) },
		"a wrong type":          func(b *Batch) { b.Inputs[0].DType = ascend.Int32 },
		"a wrong dim":           func(b *Batch) { b.Inputs[0].Shape = []int64{4, 2} },
		"a wrong rank":          func(b *Batch) { b.Inputs[0].Shape = []int64{8} },
		"no shape":              func(b *Batch) { b.Inputs[0].Shape = nil },
		"a negative dim":        func(b *Batch) { b.Inputs[0].Shape = []int64{-2, 4} },
		"an overflowing shape":  func(b *Batch) { b.Inputs[0].Shape = []int64{1 << 62, 4} },
		"data too short":        func(b *Batch) { b.Inputs[0].Data = b.Inputs[0].Data[:31] },
		"data too long":         func(b *Batch) { b.Inputs[1].Data = append(b.Inputs[1].Data, 0) },
		"no data":               func(b *Batch) { b.Inputs[1].Data = nil },
		"an unknown output":     func(b *Batch) { b.Outputs[0].Name = "a" },
		"an output twice":       func(b *Batch) { b.Outputs[1].Name = "ya" },
		"no output":             func(b *Batch) { b.Outputs = nil },
		"a type outside ONNX's": func(b *Batch) { b.Inputs[0].DType = 200 },
	} {
		batch := twinsBatch(2, 5)
		spoil(batch)
		t.Run(name, func(t *testing.T) { wantClass(t, b.Run(t.Context(), batch), Reject) })
		after := twinsBatch(2, 6)
		mustRun(t, b, after)
		if why := same(after.Inputs[0], after.Outputs[0]); why != "" {
			t.Errorf("after %s: %s", name, why)
		}
	}
}

func doesNotStartUnderEndedContext(t *testing.T, s subject) {
	b := s.open(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, expired: context.DeadlineExceeded} {
		for op, err := range map[string]error{"Run": b.Run(ctx, twinsBatch(1, 1)), "Probe": b.Probe(ctx)} {
			wantClass(t, err, Canceled)
			if !errors.Is(err, want) {
				t.Errorf("%s: %v does not wrap %v", op, err, want)
			}
		}
	}
	mustRun(t, b, twinsBatch(1, 1))
}

func stopsWhenContextEnds(t *testing.T, s subject) {
	b, batch := s.slow(t)
	room := batch.Outputs[0].Data
	for range 3 {
		batch.Outputs[0].Data = room
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx, batch) }()
		select {
		case err := <-done:
			t.Fatalf("ended by itself: %v", err)
		case <-time.After(20 * time.Millisecond): // long enough to be inside, most of the time
		}
		cancel()
		select {
		case err := <-done:
			wantClass(t, err, Canceled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v does not wrap the context's error", err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("does not stop") // a hang, not a measure
		}
		for i := range room {
			room[i] = 0xa5
		}
		time.Sleep(5 * time.Millisecond)
		if !bytes.Equal(room, bytes.Repeat([]byte{0xa5}, len(room))) {
			t.Error("the output was written after Run came back")
		}
	}
	if err := b.Probe(t.Context()); err != nil {
		t.Errorf("probe afterwards: %v", err)
	}
}

func runsFromManyGoroutines(t *testing.T, s subject) {
	b := s.open(t)
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for i := range uint64(50) {
				batch := twinsBatch(1+int((g*7+i)%33), g*1000+i)
				if err := b.Run(t.Context(), batch); err != nil {
					t.Error(err)
					return
				}
				if why := same(batch.Inputs[0], batch.Outputs[0]) + same(batch.Inputs[1], batch.Outputs[1]); why != "" {
					t.Error(why)
					return
				}
			}
		})
	}
	wg.Wait()
}

func answersProbe(t *testing.T, s subject) {
	if err := s.open(t).Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

func isClosedAfterClose(t *testing.T, s subject) {
	b := s.open(t)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantClass(t, b.Run(t.Context(), twinsBatch(1, 1)), Closed)
	wantClass(t, b.Probe(t.Context()), Closed)
	wantClass(t, b.Close(), Closed)
	if b.Describe().Platform == "" {
		t.Error("the description is gone")
	}
}

// closeWaits holds a Run inside its Alloc.
func closeWaits(t *testing.T, s subject) {
	b := s.open(t)
	batch := twinsBatch(1, 1)
	batch.Outputs[1].Data = nil
	inside, release := make(chan struct{}), make(chan struct{})
	var left atomic.Bool
	batch.Alloc = func(_ int, size int64) ([]byte, error) {
		close(inside)
		<-release
		left.Store(true)
		return make([]byte, size), nil
	}
	ran, shut := make(chan error, 1), make(chan error, 1)
	go func() { ran <- b.Run(t.Context(), batch) }()
	<-inside
	go func() {
		err := b.Close()
		if !left.Load() {
			err = errors.New("Close did not wait for Run")
		}
		shut <- err
	}()
	// From some moment on Close has begun: newcomers are turned away, not queued.
	for {
		if err := b.Probe(t.Context()); err != nil {
			wantClass(t, err, Closed)
			break
		}
		time.Sleep(time.Millisecond)
	}
	wantClass(t, b.Run(t.Context(), twinsBatch(1, 2)), Closed)
	close(release)
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if err := <-shut; err != nil {
		t.Error(err)
	}
	if why := same(batch.Inputs[1], batch.Outputs[1]); why != "" {
		t.Error(why)
	}
}
