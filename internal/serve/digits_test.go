package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/ort"
)

// library opens ONNX Runtime: the one ASCENDCTL_ORT_LIB names, else what
// `make deps` fetched, else what the machine has.
func library(t testing.TB) *ort.Library {
	t.Helper()
	cache, err := filepath.Abs("../../.cache/ort")
	if err != nil {
		t.Fatal(err)
	}
	found, tried := ort.Search(ort.Searcher{Explicit: os.Getenv("ASCENDCTL_ORT_LIB"), Cache: cache,
		Arch: runtime.GOARCH, Getenv: os.Getenv, Glob: filepath.Glob})
	lib, err := ort.Open(found.File)
	if err != nil {
		t.Fatalf("%v\nlooked in %s\nrun: make deps", err, strings.Join(tried, ", "))
	}
	return lib
}

// array reads the data of a digits array, which end the file.
func array(t testing.TB, name string, size int) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/models/digits/" + name)
	if err != nil || len(b) < size {
		t.Fatalf("%s: %d bytes, %v, want at least %d", name, len(b), err, size)
	}
	return b[len(b)-size:]
}

// The trained digits model on ONNX Runtime: eight clients ask for random runs
// of rows, and every row has the logits that MindSpore gave for it.
func TestDigitsAreRightUnderLoad(t *testing.T) {
	const images, pixels, classes, clients, each = 360, 64, 10, 8, 60
	x, want := array(t, "images.npy", images*pixels*4), array(t, "logits.npy", images*classes*4)
	lib := library(t)
	r := newRig(t, Config{Models: []Model{{"digits", func(ctx context.Context) (infer.Backend, error) {
		return infer.OpenORT(ctx, lib, infer.Options{Path: "../../testdata/models/digits/digits.onnx", Threads: 1})
	}}}}, front.Options{})
	if b := r.svc.Models()[0].Batching; !b.On || b.MaxRows != 32 {
		t.Fatalf("batching %+v, want on with 32 rows", b)
	}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				n := 1 + rand.IntN(8)
				from := rand.IntN(images - n)
				resp, err := r.call("digits", &oip.Request{Inputs: []oip.Tensor{{Name: "image", DType: ascend.Float,
					Shape: []int64{int64(n), 1, 8, 8}, Data: x[from*pixels*4 : (from+n)*pixels*4]}}})
				if err != nil {
					t.Error(err)
					return
				}
				if err := near(resp.Outputs[0].Data, want[from*classes*4:(from+n)*classes*4]); err != nil {
					t.Errorf("rows %d to %d: %v", from, from+n, err)
				}
			}
		})
	}
	all.Wait()
	batches, rows := r.sum("ascendctl_infer_batches_total", "model", "digits"), r.sum("ascendctl_infer_rows_total", "model", "digits")
	t.Logf("%v rows in %v batches", rows, batches)
	a := r.ask("GET", "/metrics", "")
	if !bytes.Contains(a.body, []byte(`device="ONNX Runtime `)) {
		t.Errorf("/metrics does not name the device:\n%s", a.body)
	}
	if a := r.ask("GET", "/v2/models/digits", ""); a.header.Get("X-Ascendctl-Simulated") != "" {
		t.Error("a real device is marked as simulated")
	}
}

// near compares float32 arrays within 1e-4.
func near(got, want []byte) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d bytes, want %d", len(got), len(want))
	}
	for i := 0; i < len(want); i += 4 {
		g := math.Float32frombits(binary.LittleEndian.Uint32(got[i:]))
		w := math.Float32frombits(binary.LittleEndian.Uint32(want[i:]))
		if !(math.Abs(float64(g-w)) <= 1e-4) {
			return fmt.Errorf("value %d is %v, want %v", i/4, g, w)
		}
	}
	return nil
}
