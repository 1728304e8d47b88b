package infer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

const (
	nodeCases    = 932 // in Debian's libonnx-testdata 1.12.0-2
	nodeMustPass = 850
)

// mayPass are the kinds of known misses that a lucky run, another machine or another
// library turns into passes; all others must go on missing, or leave the list.
var mayPass = []string{"random", "locale", "tolerance", "release"}

// TestNodeCases runs ONNX's own test of every operator through the backend. A
// case misses only if testdata/onnx-node-misses.txt says so and why.
func TestNodeCases(t *testing.T) {
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	misses := knownMisses(t)
	dirs := nodeDirs(t)
	passed := 0
	for _, dir := range dirs {
		name := filepath.Base(dir)
		open := func(model []byte) (Backend, error) {
			return OpenORT(t.Context(), lib, Options{Data: model, Threads: 1})
		}
		why := nodeCase(t.Context(), dir, open)
		kind, known := misses[name]
		delete(misses, name)
		switch {
		case why == "":
			passed++
			if known && !slices.Contains(mayPass, kind) {
				t.Errorf("%s passes: take it off the list of misses", name)
			}
		case !known:
			t.Errorf("%s: %s", name, why)
		default:
			t.Logf("known miss %s (%s): %.300s", name, kind, why)
		}
	}
	for name := range misses {
		t.Errorf("%s is on the list of misses, but there is no such case", name)
	}
	if len(dirs) != nodeCases || passed < nodeMustPass {
		t.Errorf("%d cases, %d passed; expected %d and at least %d", len(dirs), passed, nodeCases, nodeMustPass)
	}
	fmt.Printf("passed %d of %d\n", passed, len(dirs))
}

// nodeDirs finds the folders of the cases: those with a model.onnx below a
// folder named node.
func nodeDirs(t *testing.T) (dirs []string) {
	t.Helper()
	root := os.Getenv("ASCENDCTL_ONNX_TESTDATA")
	if root == "" {
		root = repo + "/.cache/onnx-testdata"
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "model.onnx" && filepath.Base(filepath.Dir(filepath.Dir(path))) == "node" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no ONNX node cases under %s (%v): run make deps, or set ASCENDCTL_ONNX_TESTDATA", root, err)
	}
	return dirs
}

// knownMisses reads name, kind and reason, separated by tabs.
func knownMisses(t *testing.T) map[string]string {
	t.Helper()
	const file = repo + "/testdata/onnx-node-misses.txt"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	misses := map[string]string{}
	s := bufio.NewScanner(bytes.NewReader(b))
	for line := 1; s.Scan(); line++ {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		f := strings.Split(s.Text(), "\t")
		if len(f) != 3 || misses[f[0]] != "" || f[1] == "" || f[2] == "" {
			t.Fatalf("%s:%d: expected a new name, a kind and a reason, got %q", file, line, s.Text())
		}
		misses[f[0]] = f[1]
	}
	return misses
}

// nodeCase runs one case and says why it misses, or "".
func nodeCase(ctx context.Context, dir string, open func([]byte) (Backend, error)) string {
	model, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err.Error()
	}
	b, err := open(model)
	if err != nil {
		return err.Error()
	}
	defer b.Close()
	sig := b.Describe().Signature
	batch := &Batch{Alloc: func(_ int, size int64) ([]byte, error) { return make([]byte, size), nil }}
	for i, p := range sig.Inputs {
		in, err := tensorFile(dir, "input", i)
		if err != nil {
			return err.Error()
		}
		in.Name = p.Name
		batch.Inputs = append(batch.Inputs, in)
	}
	for _, p := range sig.Outputs {
		batch.Outputs = append(batch.Outputs, oip.Tensor{Name: p.Name})
	}
	if err := b.Run(ctx, batch); err != nil {
		return err.Error()
	}
	for i, got := range batch.Outputs {
		want, err := tensorFile(dir, "output", i)
		if err != nil {
			return err.Error()
		}
		if why := differs(got, want); why != "" {
			return fmt.Sprintf("output %d: %s", i, why)
		}
	}
	return ""
}

func tensorFile(dir, side string, i int) (oip.Tensor, error) {
	path := filepath.Join(dir, "test_data_set_0", fmt.Sprintf("%s_%d.pb", side, i))
	b, err := os.ReadFile(path)
	if err != nil {
		return oip.Tensor{}, err
	}
	t, err := readTensor(b)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// differs compares within rtol 1e-3 and atol 1e-5 where there are fractions,
// else exactly.
func differs(got, want oip.Tensor) string {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Sprintf("got %v %d, want %v %d", got.DType, got.Shape, want.DType, want.Shape)
	}
	if !slices.Contains([]ascend.DType{ascend.Float, ascend.Double, ascend.Float16, ascend.BFloat16}, got.DType) {
		if !bytes.Equal(got.Data, want.Data) {
			return fmt.Sprintf("got %.40x, want %.40x", got.Data, want.Data)
		}
		return ""
	}
	size, _ := got.DType.Size(1)
	if len(got.Data) != len(want.Data) {
		return fmt.Sprintf("got %d bytes, want %d", len(got.Data), len(want.Data))
	}
	for at := 0; at < len(got.Data); at += int(size) {
		g, w := number(got.DType, got.Data[at:]), number(want.DType, want.Data[at:])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		// Written so that NaN and infinity on one side only do not pass.
		if d := math.Abs(g - w); !(d <= 1e-5+1e-3*math.Abs(w)) || math.IsInf(w, 0) {
			return fmt.Sprintf("element %d: got %g, want %g", at/int(size), g, w)
		}
	}
	return ""
}

func number(t ascend.DType, b []byte) float64 {
	switch t {
	case ascend.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case ascend.Float:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case ascend.BFloat16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}
	h := binary.LittleEndian.Uint16(b)
	exp, frac, sign := int(h>>10&31), float64(h&1023), 1-2*float64(h>>15)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}
