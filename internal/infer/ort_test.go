package infer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/ort"
)

const repo = "../.."

// library opens ONNX Runtime once: the one ASCENDCTL_ORT_LIB names, else what
// `make deps` fetched, else what the machine has.
var library = sync.OnceValues(func() (*ort.Library, error) {
	s := ort.Searcher{Explicit: os.Getenv("ASCENDCTL_ORT_LIB"), Arch: runtime.GOARCH, Getenv: os.Getenv, Glob: filepath.Glob}
	var err error
	if s.Cache, err = filepath.Abs(repo + "/.cache/ort"); err != nil {
		return nil, err
	}
	found, tried := ort.Search(s)
	if found.How == ort.Loader {
		if dir, err := os.UserCacheDir(); err == nil {
			s.Cache = filepath.Join(dir, "ascendctl")
			found, _ = ort.Search(s)
		}
	}
	lib, err := ort.Open(found.File)
	if err != nil {
		return nil, fmt.Errorf("%w\nlooked in %s\nrun: make deps", err, strings.Join(tried, ", "))
	}
	return lib, nil
})

func openORT(t testing.TB, model []byte) Backend {
	t.Helper()
	return openWith(t, Options{Data: model, Threads: 1})
}

func openWith(t testing.TB, o Options) Backend {
	t.Helper()
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenORT(t.Context(), lib, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

const digits = repo + "/testdata/models/digits/"

// npy reads the data of an array file of the wanted head (NumPy format 1.0).
func npy(t testing.TB, file, head string) []byte {
	t.Helper()
	b, err := os.ReadFile(digits + file)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 10 || string(b[:8]) != "\x93NUMPY\x01\x00" {
		t.Fatalf("%s: not an array file of format 1.0", file)
	}
	end := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	if end > len(b) || !strings.Contains(string(b[10:end]), head) {
		t.Fatalf("%s: head %q, expected %q in it", file, b[10:min(end, len(b))], head)
	}
	return b[end:]
}

func floats(b []byte) []float32 {
	f := make([]float32, len(b)/4)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return f
}

func TestDigitsAreRecognised(t *testing.T) {
	images := npy(t, "images.npy", "'descr': '<f4', 'fortran_order': False, 'shape': (360, 1, 8, 8)")
	logits := floats(npy(t, "logits.npy", "'descr': '<f4', 'fortran_order': False, 'shape': (360, 10)"))
	labels := npy(t, "labels.npy", "'descr': '<i8', 'fortran_order': False, 'shape': (360,)")
	model, err := os.ReadFile(digits + "digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"from its file": {Path: digits + "digits.onnx"}, "from bytes, two threads": {Data: model, Threads: 2}} {
		t.Run(name, func(t *testing.T) {
			b := openWith(t, o)
			for _, rows := range []int{360, 1, 7} {
				right := 0
				for at := 0; at < 360; at += rows {
					n := min(rows, 360-at)
					got := floats(recognise(t, b, images[at*256:][:n*256], n))
					for i, x := range got {
						if want := logits[at*10+i]; math.Abs(float64(x-want)) > 1e-4 {
							t.Fatalf("image %d, logit %d: got %g, want %g", at+i/10, i%10, x, want)
						}
					}
					for i := range n {
						digit := got[10*i : 10*i+10]
						if uint64(slices.Index(digit, slices.Max(digit))) == binary.LittleEndian.Uint64(labels[8*(at+i):]) {
							right++
						}
					}
				}
				if right != 352 {
					t.Errorf("batches of %d: %d of 360 recognised, expected 352", rows, right)
				}
			}
		})
	}
}

func recognise(t testing.TB, b Backend, images []byte, n int) []byte {
	t.Helper()
	batch := digitsBatch(images, n)
	if err := b.Run(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if o := batch.Outputs[0]; !slices.Equal(o.Shape, []int64{int64(n), 10}) || o.DType != ascend.Float {
		t.Fatalf("logits are %v %d", o.DType, o.Shape)
	}
	return batch.Outputs[0].Data
}

func digitsBatch(images []byte, n int) *Batch {
	return &Batch{
		Inputs:  []oip.Tensor{{Name: "image", DType: ascend.Float, Shape: []int64{int64(n), 1, 8, 8}, Data: images}},
		Outputs: []oip.Tensor{{Name: "logits", Data: make([]byte, 40*n)}},
	}
}

func TestDescriptionOfDigits(t *testing.T) {
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	d := openWith(t, Options{Path: digits + "digits.onnx"}).Describe()
	want := oip.Signature{
		Inputs:  []oip.Port{{Name: "image", DType: ascend.Float, Dims: []int64{-1, 1, 8, 8}, DimNames: []string{"batch", "", "", ""}}},
		Outputs: []oip.Port{{Name: "logits", DType: ascend.Float, Dims: []int64{-1, 10}, DimNames: []string{"batch", ""}}},
	}
	if !slices.EqualFunc(d.Signature.Inputs, want.Inputs, equalPort) || !slices.EqualFunc(d.Signature.Outputs, want.Outputs, equalPort) {
		t.Errorf("signature %+v, want %+v", d.Signature, want)
	}
	if d.Platform != "onnx_onnxv1" || d.Device != (Device{Kind: "cpu", Name: "ONNX Runtime " + lib.Version, Library: lib.File}) || d.Gears != nil {
		t.Errorf("got %+v", d)
	}
}

// served are the element types a model can take.
var served = []ascend.DType{ascend.Float, ascend.Uint8, ascend.Int8, ascend.Uint16, ascend.Int16, ascend.Int32,
	ascend.Int64, ascend.String, ascend.Bool, ascend.Float16, ascend.Double, ascend.Uint32, ascend.Uint64, ascend.BFloat16,
	ascend.Float8E4M3FN, ascend.Float8E4M3FNUZ, ascend.Float8E5M2, ascend.Float8E5M2FNUZ, ascend.Uint4, ascend.Int4}

func TestEveryTypeInEveryShape(t *testing.T) {
	for _, dtype := range served {
		t.Run(dtype.String(), func(t *testing.T) {
			op, ir, opset := node("Identity", []string{"x"}, []string{"y"}), int64(9), int64(19)
			if dtype == ascend.Int4 || dtype == ascend.Uint4 { // the library has no Identity for them
				op, ir, opset = node("Cast", []string{"x"}, []string{"y"}, intAttr("to", int64(dtype))), 10, 21
			}
			b := openORT(t, modelOf(graph([]fields{op}, []fields{value("x", dtype)}, []fields{value("y", dtype)}), ir, opset))
			for _, shape := range [][]int64{nil, {0}, {1}, {5}, {3, 0, 2}, {2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 3}} {
				in := oip.Tensor{Name: "x", DType: dtype, Shape: shape, Data: payload(dtype, shape)}
				for _, off := range []int{0, 1, 3, 4} {
					in.Data = shifted(in.Data, off)
					batch := &Batch{Inputs: []oip.Tensor{in}, Outputs: []oip.Tensor{{Name: "y", Data: make([]byte, len(in.Data))}}}
					mustRun(t, b, batch)
					if why := same(in, batch.Outputs[0]); why != "" {
						t.Errorf("shape %d at address %d: %s", shape, off, why)
					}
				}
			}
		})
	}
}

// payload is as many elements as shape holds, no two neighbours alike.
func payload(dtype ascend.DType, shape []int64) []byte {
	n, _ := ascend.Elements(shape)
	if dtype == ascend.String {
		words := [][]byte{[]byte("one"), {}, []byte("with\x00zero"), []byte("中文"), {0xff, 0xfe}, bytes.Repeat([]byte("long "), 1000)}
		var ss [][]byte
		for i := range n {
			ss = append(ss, words[int(i)%len(words)])
		}
		return packStrings(ss...)
	}
	size, _ := dtype.Size(n)
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7 + 1)
		if dtype == ascend.Bool {
			b[i] &= 1
		}
	}
	if (dtype == ascend.Int4 || dtype == ascend.Uint4) && n%2 == 1 {
		b[size-1] &= 0x0f // the half behind the last element belongs to nobody
	}
	return b
}

// shifted gives b at an address that leaves off modulo 8.
func shifted(b []byte, off int) []byte {
	room := make([]byte, len(b)+16)
	for uintptr(unsafe.Pointer(&room[0]))%8 != uintptr(off) {
		room = room[1:]
	}
	return room[:copy(room, b)]
}

func TestModelsThatCannotBeServedAreRefusedByPort(t *testing.T) {
	lib, err := library()
	if err != nil {
		t.Fatal(err)
	}
	sequence := fields(nil).str(1, "many").bytes(2, fields(nil).bytes(4, fields(nil).bytes(1,
		fields(nil).bytes(1, fields(nil).num(1, int64(ascend.Float))))))
	optional := fields(nil).str(1, "maybe").bytes(2, fields(nil).bytes(9, fields(nil).bytes(1,
		fields(nil).bytes(1, fields(nil).num(1, int64(ascend.Float))))))
	x := value("x", ascend.Float, 2)
	for name, c := range map[string]struct {
		o    Options
		says string
	}{
		"a sequence input":   {Options{Data: model(graph([]fields{node("SequenceLength", []string{"many"}, []string{"n"})}, []fields{sequence}, []fields{scalar("n", ascend.Int64)}))}, `input "many" is of kind sequence`},
		"a sequence output":  {Options{Data: model(graph([]fields{node("SequenceConstruct", []string{"x"}, []string{"many"})}, []fields{x}, []fields{sequence}))}, `output "many" is of kind sequence`},
		"an optional input":  {Options{Data: model(graph([]fields{node("OptionalHasElement", []string{"maybe"}, []string{"has"})}, []fields{optional}, []fields{scalar("has", ascend.Bool)}))}, `input "maybe" is of kind optional`},
		"an unknown op":      {Options{Data: model(graph([]fields{node("Nonsense", []string{"x"}, []string{"y"})}, []fields{x}, []fields{value("y", ascend.Float, 2)}))}, "Nonsense"},
		"seven bytes":        {Options{Data: []byte("rubbish")}, "INVALID_PROTOBUF (7)"},
		"a missing file":     {Options{Path: filepath.Join(t.TempDir(), "none.onnx")}, "none.onnx"},
		"nothing":            {Options{}, "one of path and data"},
		"a path and data":    {Options{Path: "x", Data: []byte("x")}, "one of path and data"},
		"a path with a zero": {Options{Path: digits + "digits.onnx\x00"}, "not usable"},
		"minus one thread":   {Options{Path: digits + "digits.onnx", Threads: -1}, "not usable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenORT(t.Context(), lib, c.o)
			if e := wantClass(t, err, Reject); e.Op != "Open" || !strings.Contains(e.Error(), c.says) {
				t.Errorf("got %q, want it to say %q", e, c.says)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = OpenORT(ctx, lib, Options{Path: digits + "digits.onnx"})
	wantClass(t, err, Canceled)
}

func TestFailuresOfTheModelHaveTheirClass(t *testing.T) {
	add := openORT(t, model(graph([]fields{node("Add", []string{"a", "b"}, []string{"y"})},
		[]fields{value("a", ascend.Float, "n"), value("b", ascend.Float, "m")}, []fields{value("y", ascend.Float, "k")})))
	gather := openORT(t, model(graph([]fields{node("Gather", []string{"a", "b"}, []string{"y"})},
		[]fields{value("a", ascend.Float, "n"), value("b", ascend.Int64, "m")}, []fields{value("y", ascend.Float, "m")})))
	not := openORT(t, model(graph([]fields{node("Not", []string{"a"}, []string{"y"})},
		[]fields{value("a", ascend.Bool, "n")}, []fields{value("y", ascend.Bool, "n")})))
	two := oip.Tensor{Name: "a", DType: ascend.Float, Shape: []int64{2}, Data: packFloats(1, 2)}
	for name, c := range map[string]struct {
		b  Backend
		in []oip.Tensor
	}{
		"shapes that do not fit each other": {add, []oip.Tensor{two, {Name: "b", DType: ascend.Float, Shape: []int64{3}, Data: packFloats(1, 2, 3)}}},
		"an index out of range":             {gather, []oip.Tensor{two, {Name: "b", DType: ascend.Int64, Shape: []int64{1}, Data: packInts(9)}}},
		"a bool that is neither":            {not, []oip.Tensor{{Name: "a", DType: ascend.Bool, Shape: []int64{2}, Data: []byte{1, 2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			batch := &Batch{Inputs: c.in, Outputs: []oip.Tensor{{Name: "y", Data: make([]byte, 64)}}}
			if e := wantClass(t, c.b.Run(t.Context(), batch), Reject); e.Code == 0 || e.Name == "" {
				t.Errorf("no code of the library: %+v", e)
			}
		})
	}
}

func TestMisframedStringsAreRejected(t *testing.T) {
	b := openORT(t, model(graph([]fields{node("Identity", []string{"x"}, []string{"y"})},
		[]fields{value("x", ascend.String, "n")}, []fields{value("y", ascend.String, "n")})))
	for name, in := range map[string]oip.Tensor{
		"one too few":       {Shape: []int64{2}, Data: packStrings([]byte("a"))},
		"one too many":      {Shape: []int64{1}, Data: packStrings([]byte("a"), nil)},
		"a length too long": {Shape: []int64{1}, Data: []byte{0xff, 0xff, 0xff, 0xff, 1}},
		"half a length":     {Shape: []int64{1}, Data: []byte{1, 0}},
		"a giant shape":     {Shape: []int64{1 << 60}, Data: packStrings([]byte("a"))},
	} {
		in.Name, in.DType = "x", ascend.String
		batch := &Batch{Inputs: []oip.Tensor{in}, Outputs: []oip.Tensor{{Name: "y"}}}
		t.Run(name, func(t *testing.T) { wantClass(t, b.Run(t.Context(), batch), Reject) })
	}
}

func TestTimesComeFromTheClock(t *testing.T) {
	now := time.Unix(0, 0)
	b := openWith(t, Options{Data: twins(), Now: func() time.Time { now = now.Add(time.Second); return now }})
	batch := twinsBatch(1, 1)
	mustRun(t, b, batch)
	if batch.Times != (Times{Execute: time.Second, CopyOut: time.Second}) {
		t.Errorf("got %+v", batch.Times)
	}
}

func BenchmarkORTRun(b *testing.B) {
	backend := openWith(b, Options{Path: digits + "digits.onnx", Threads: 1})
	images := npy(b, "images.npy", "(360, 1, 8, 8)")
	for _, n := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			batch := digitsBatch(images[:n*256], n)
			b.ReportAllocs()
			for b.Loop() {
				if err := backend.Run(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}
