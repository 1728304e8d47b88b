package model

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/report"
)

// FuzzONNX holds the reader to its word on any bytes: a problem or a sane
// model, and the same one whether the file passes through a small window or
// lies in memory whole.
func FuzzONNX(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parse(data)
		small, smallErr := read(newWire(bytes.NewReader(data), int64(len(data)), 24), "m.onnx")
		if (err == nil) != (smallErr == nil) {
			// The window decides how much of the head a kind is told by.
			if p, ok := err.(*report.Problem); !ok || p.Err != nil {
				t.Fatalf("whole: %v; in windows: %v", err, smallErr)
			}
			return
		}
		if err != nil {
			p, q := asProblem(t, err), asProblem(t, smallErr)
			if p.Err != nil && p.Error() != q.Error() {
				t.Fatalf("whole: %v; in windows: %v", p, q)
			}
			return
		}
		if d := cmp.Diff(m, small); d != "" {
			t.Fatalf("in windows it reads differently:\n%s", d)
		}
		sane(t, m, int64(len(data)))
	})
}

func seeds(f *testing.F) []msg {
	whole, err := os.ReadFile(digits)
	if err != nil {
		f.Fatal(err)
	}
	return []msg{
		whole[:4096],
		modelOf(graphOf()),
		modelOf(graphOf(one(1, nodeOf("Relu")), one(5, floats("w", 3)), one(11, valueOf("w", tensorOf(1, 3))))),
		modelOf(graphOf(one(5, external("w", "w.bin", "offset", "64")), one(5, msg{}.num(1, 2).num(2, 8).str(6, "a").str(6, "b")))),
		modelOf(graphOf(one(1, nodeOf("If").sub(5, msg{}.str(1, "then").sub(6, graphOf(one(1, nodeOf("Abs")))))))),
		modelOf(graphOf(one(15, msg{}.sub(1, floats("s", 2)).sub(2, msg{}.num(1, 2).num(2, 7).str(7, "\x01\x02"))))),
		modelOf(graphOf(one(11, valueOf("q", one(4, one(1, one(5, msg{}.num(1, 7).sub(2, tensorOf(1))))))))),
		modelOf(graphOf()).sub(25, msg{}.str(1, "F").sub(7, nodeOf("Neg"))),
		modelOf(nested(51, msg{}, 6, 5, 1)),
		msg{}.num(1, 8).claim(7, maxMessage),
		msg{}.str(1, "0.1.1").str(2, "MindSpore"),
		msg("IMOD"), msg("version https://git-lfs"),
	}
}

// sane checks what must hold of any model that was read from size bytes.
func sane(t *testing.T, m *Model, size int64) {
	t.Helper()
	nodes := 0
	for op, n := range m.Ops {
		if nodes += n; op == "" || n < 1 {
			t.Errorf("op %q occurs %d times", op, n)
		}
	}
	box, ok := m.Container.(*ONNX)
	if !ok {
		return // an .om: FuzzOM looks at those
	}
	switch {
	case nodes != m.Nodes || int64(nodes) > size:
		t.Errorf("%d nodes, %d in ops, %d bytes", m.Nodes, nodes, size)
	case m.GraphInputs < len(m.Inputs) || int64(m.GraphInputs) > size:
		t.Errorf("%d of %d inputs", len(m.Inputs), m.GraphInputs)
	case m.Initializers.Bytes < 0 || m.Initializers.Count == 0 && m.Initializers.Bytes > 0:
		t.Errorf("initializers %+v", m.Initializers)
	// Four elements of sixteen bytes for one byte of packed data is the most
	// a typed field can be believed to hold.
	case !box.External && m.Initializers.Bytes > 64*size:
		t.Errorf("%d bytes of weights in a file of %d", m.Initializers.Bytes, size)
	case box.External != (len(box.Beside) > 0), box.IR < 1, len(box.Opsets) == 0:
		t.Errorf("container %+v", box)
	}
	for _, p := range append(m.Inputs, m.Outputs...) {
		if p.Name == "" || p.Bytes != nil && *p.Bytes < 0 || (p.Type == "") != (p.Full == "") {
			t.Errorf("port %+v", p)
		}
	}
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
}
