package omtest

import (
	"encoding/binary"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ascendctl/ascendctl/internal/model"
)

// message is a protobuf message, by field number.
type message map[protowire.Number][][]byte

func read(t *testing.T, b []byte) message {
	t.Helper()
	m := message{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		v := b[:n]
		if kind == protowire.BytesType {
			v, _ = protowire.ConsumeBytes(v)
		}
		m[number], b = append(m[number], v), b[n:]
	}
	return m
}

// numbers are those of a packed or a single field.
func (m message) numbers(number protowire.Number) (out []int64) {
	for _, v := range m[number] {
		for len(v) > 0 {
			n, size := protowire.ConsumeVarint(v)
			out, v = append(out, int64(n)), v[size:]
		}
	}
	return out
}

func (m message) text(number protowire.Number) string {
	if len(m[number]) == 0 {
		return ""
	}
	return string(m[number][0])
}

// partitions are those of a file, by number.
func partitions(f File) map[uint32][]byte {
	le, b, out := binary.LittleEndian, f.Encode()[256:], map[uint32][]byte{}
	head, row := 4, 12
	if f.Generation == Wide {
		head, row = 8, 24
	}
	n := int(le.Uint32(b))
	for i := range n {
		r, data := b[head+i*row:], b[head+n*row:]
		at, size := uint64(le.Uint32(r[4:])), uint64(le.Uint32(r[8:]))
		if row == 24 {
			at, size = le.Uint64(r[8:]), le.Uint64(r[16:])
		}
		out[le.Uint32(r)] = data[at : at+size]
	}
	return out
}

// TestTheTrueLibraryCouldLoadThem holds files against what the vendor's loader
// was seen to refuse (hicann/ge 2026-08, run).
func TestTheTrueLibraryCouldLoadThem(t *testing.T) {
	row := []Tensor{{Name: "x", DType: "FLOAT", Dims: []int64{4, 16}}}
	out := []Tensor{{Name: "y", DType: "FLOAT", Dims: []int64{4, 16}}}
	for _, g := range []Generation{Layout1, Layout2, Wide} {
		plain := File{Generation: g, Name: "m", SoC: "Ascend310P3", Function: "sleep", Inputs: row, Outputs: out}
		weights, batch, dims := plain, plain, plain
		weights.Weights, weights.Work, weights.Function = make([]byte, 64), 1<<20, "identity"
		batch.Gears, batch.GearInputs = model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {4}}}, [][]int64{{-1, 16}}
		dims.Gears, dims.GearInputs = model.Gears{Kind: model.GearDims, Values: [][]int64{{1, 16}, {4, 16}}}, [][]int64{{-1, 16}}
		for name, f := range map[string]File{"plain": plain, "weights": weights, "batch": batch, "dims": dims} {
			t.Run(fmt.Sprintf("%d %s", g, name), func(t *testing.T) { loadable(t, f) })
		}
	}
}

func loadable(t *testing.T, f File) {
	parts := partitions(f)
	tasks := read(t, parts[2])
	work := tasks.numbers(11)[0]
	if len(tasks[10]) == 0 {
		t.Error("no task: the runtime loads no model without a stream")
	}
	graph := read(t, read(t, parts[0])[7][0])
	slots, names := map[string]int{}, map[string]bool{}
	for _, b := range graph[6] {
		o := read(t, b)
		name := o.text(1)
		if names[name] {
			t.Errorf("two ops are called %s", name)
		}
		names[name] = true
		for _, from := range o[5] {
			if slots[string(from)] == 0 {
				t.Errorf("%s takes %s, which no op before it gives", name, from)
			}
		}
		for i := range o[34] {
			slots[fmt.Sprintf("%s:%d", name, i)]++
		}
		ends(t, name, o.numbers(28), o[33], work, o.text(2) != "Data")
		ends(t, name, o.numbers(29), o[34], work, o.text(2) != "Const")
		if o.text(2) == "Const" && len(o[10]) == 0 {
			t.Errorf("%s has no tensor", name)
		}
		for _, a := range o[10] {
			coded(t, f, read(t, a))
		}
	}
}

// ends holds that each tensor has a place, inside the work memory.
func ends(t *testing.T, name string, at []int64, tensors [][]byte, work int64, placed bool) {
	t.Helper()
	for i, b := range tensors {
		d := read(t, b)
		if len(d.numbers(9)) == 0 {
			t.Errorf("%s, tensor %d: its size is looked for among the attributes", name, i)
		}
		if size := d.numbers(10)[0]; placed && (i >= len(at) || at[i] < 0 || at[i]+size > work) {
			t.Errorf("%s, tensor %d: %d bytes at %v in a work memory of %d", name, i, size, at, work)
		}
	}
}

// coded holds that a compressed attribute has no text in a list.
func coded(t *testing.T, f File, a message) {
	t.Helper()
	if f.Generation != Wide {
		return
	}
	if a.text(1)[0] != 0 {
		t.Errorf("the attribute %q has no number", a.text(1))
	}
	for _, v := range read(t, a[2][0])[1] {
		if list := read(t, v); len(list[2]) > 0 || list.numbers(20)[0] == 1 {
			t.Errorf("the attribute %q is a list of texts, which the loader refuses", a.text(1))
		}
	}
}
