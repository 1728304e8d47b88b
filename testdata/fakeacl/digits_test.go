package fakeacl

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"encoding/binary"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/internal/ort"
)

const digits = "../models/digits/digits.onnx"

// TestNumbersEqualThoseOfTheCPU runs the digits model at every gear through
// the double, and the same bytes through ONNX Runtime itself.
func TestNumbersEqualThoseOfTheCPU(t *testing.T) {
	onnx, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	om, err := omtest.FromONNX(onnx, omtest.File{Generation: omtest.Wide, SoC: "Ascend310P3", Work: 4096}, 0, 1, 2, 4, 8)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	image := make([]byte, 8*256)
	r := rand.New(rand.NewPCG(7, 7))
	for i := 0; i < len(image); i += 4 {
		binary.LittleEndian.PutUint32(image[i:], uint32(0x3f000000|r.Uint32N(1<<23)))
	}
	for name, data := range map[string][]byte{"digits.om": om.Encode(), "image": image} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &script{face: "F"}
	s.adds("!up", "aclmdlLoadFromFile 'digits.om' &id", "load 'image' h", "in = aclmdlCreateDataset", "out = aclmdlCreateDataset",
		"aclrtMalloc &p 2048 0", "aclrtMalloc &g 64 0", "aclrtMalloc &q 320 0", "b = aclCreateDataBuffer $p 2048", "gb = aclCreateDataBuffer $g 4",
		"ob = aclCreateDataBuffer $q 320", "aclmdlAddDatasetBuffer $in $b", "aclmdlAddDatasetBuffer $in $gb", "aclmdlAddDatasetBuffer $out $ob",
		"aclrtMemcpy $p 2048 $h 2048 1", "host r 320 0")
	for _, g := range []int{1, 2, 4, 8} {
		s.adds(fmt.Sprintf("aclmdlSetDynamicBatchSize $id $in 1 %d", g), "aclmdlExecuteAsync $id $in $out NULL", "aclrtSynchronizeStreamWithTimeout NULL 60000",
			"aclrtMemcpy $r 320 $q 320 2", fmt.Sprintf("save 'out%d' $r %d", g, 40*g))
	}
	p := s.play(t, Build(t, Options{Profile: Split}), dir)
	if err := s.judge(p); err != nil || len(p.violations) > 0 {
		t.Fatal(err, p.violations)
	}
	for _, g := range []int64{1, 2, 4, 8} {
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out%d", g)))
		if err != nil {
			t.Fatal(err)
		}
		if want := onCPU(t, image[:256*g], g); !bytes.Equal(got, want) {
			t.Errorf("gear %d: %x, on the CPU %x", g, got, want)
		}
	}
}

func onCPU(t *testing.T, image []byte, rows int64) (out []byte) {
	t.Helper()
	lib, err := ort.Open(onnxruntime(t))
	if err != nil {
		t.Fatal(err)
	}
	session, err := lib.Load(ort.Options{Path: digits, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	place := func(_ int, _ ascend.DType, _ []int64, size int64) ([]byte, error) {
		out = make([]byte, size)
		return out, nil
	}
	in := []ort.Tensor{{DType: ascend.Float, Shape: []int64{rows, 1, 8, 8}, Data: image}}
	if err := session.Run(context.Background(), in, []int{0}, place); err != nil {
		t.Fatal(err)
	}
	return out
}
