package infer

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

const opRun, opProbe, opOpen, opClose = "Run", "Probe", "Open", "Close"

func reject(op, format string, args ...any) *Error {
	return &Error{Class: Reject, Op: op, Detail: fmt.Sprintf(format, args...)}
}

func canceled(op string, cause error) *Error {
	return &Error{Class: Canceled, Op: op, Detail: cause.Error(), Cause: cause}
}

func closed(op string) *Error {
	return &Error{Class: Closed, Op: op, Detail: "the model is closed"}
}

// checkBatch compares a batch with the signature before any of it reaches a
// device, and gives the index of each output asked for.
func checkBatch(d *Description, b *Batch) (wanted []int, err *Error) {
	sig := d.Signature
	if len(b.Inputs) != len(sig.Inputs) {
		return nil, reject(opRun, "%d inputs, expected %d", len(b.Inputs), len(sig.Inputs))
	}
	for i, p := range sig.Inputs {
		if why := mismatch(p, b.Inputs[i], b.size(i)); why != "" {
			return nil, reject(opRun, "input %d: %s", i, why)
		}
		if b.parts(i) > 1 && !d.Pieces {
			return nil, reject(opRun, "input %d comes in %d pieces, this backend takes one", i, b.parts(i))
		}
	}
	if err := checkGear(d.Gears, b); err != nil {
		return nil, err
	}
	if len(b.Outputs) == 0 {
		return nil, reject(opRun, "no output is asked for")
	}
	for _, o := range b.Outputs {
		i := slices.IndexFunc(sig.Outputs, func(p oip.Port) bool { return p.Name == o.Name })
		if i < 0 {
			return nil, reject(opRun, "output %q: the model has none of that name", o.Name)
		}
		if slices.Contains(wanted, i) {
			return nil, reject(opRun, "output %q is asked for twice", o.Name)
		}
		wanted = append(wanted, i)
	}
	return wanted, nil
}

// checkGear demands the shapes that the gear was compiled for, or fewer rows.
func checkGear(gears []Gear, b *Batch) *Error {
	if len(gears) == 0 {
		return nil
	}
	if b.Gear < 0 || b.Gear >= len(gears) {
		return reject(opRun, "gear %d, the model has %d", b.Gear, len(gears))
	}
	g := &gears[b.Gear]
	d := Description{Gears: gears}
	if g.Pads && len(b.Inputs[0].Shape) > 0 && b.Inputs[0].Shape[0] > int64(d.MaxRows()) {
		return reject(opRun, "%d rows, the largest gear holds %d", b.Inputs[0].Shape[0], d.MaxRows())
	}
	for i, dims := range g.Dims {
		if i >= len(b.Inputs) || !g.holds(i, b.Inputs) {
			return reject(opRun, "input %d does not have the shape %d of gear %d, of %d rows", i, dims, b.Gear, g.Rows)
		}
	}
	return nil
}

// holds tells whether input i has the shape of the gear, but perhaps fewer rows
// than it: as many as input 0.
func (g *Gear) holds(i int, inputs []oip.Tensor) bool {
	shape, dims := inputs[i].Shape, g.Dims[i]
	if !g.Pads || len(shape) == 0 || len(dims) == 0 {
		return slices.Equal(shape, dims)
	}
	first := inputs[0].Shape
	return shape[0] <= dims[0] && len(first) > 0 && shape[0] == first[0] && slices.Equal(shape[1:], dims[1:])
}

// Shift chooses the smallest gear that holds the inputs of a batch, and gives
// the rows it is made for. Where none does it chooses the first, and Run says
// what is wrong; rows is 0 then and where there are no gears.
func (d *Description) Shift(b *Batch) (rows int) {
	b.Gear = 0
	for at := range d.Gears {
		g := &d.Gears[at]
		if (rows == 0 || g.Rows < rows) && g.holdsAll(b.Inputs) {
			b.Gear, rows = at, g.Rows
		}
	}
	return rows
}

func (g *Gear) holdsAll(inputs []oip.Tensor) bool {
	for i := range g.Dims {
		if i >= len(inputs) || !g.holds(i, inputs) {
			return false
		}
	}
	return true
}

// MaxRows is the rows of the largest gear; 0 without gears.
func (d *Description) MaxRows() (rows int) {
	for _, g := range d.Gears {
		rows = max(rows, g.Rows)
	}
	return rows
}

// mismatch says why a tensor of so many bytes cannot be given to a port, or "".
func mismatch(p oip.Port, t oip.Tensor, bytes int64) string {
	if t.Name != p.Name {
		return fmt.Sprintf("got %q, expected %q", t.Name, p.Name)
	}
	if t.DType != p.DType {
		return fmt.Sprintf("%q is %v, expected %v", t.Name, t.DType, p.DType)
	}
	// No dims are a scalar or a shape the model leaves out: nothing to compare.
	if !fits(t.Shape, p.Dims) && len(p.Dims) > 0 {
		return fmt.Sprintf("%q has shape %d, expected %d", t.Name, t.Shape, p.Dims)
	}
	n, ok := ascend.Elements(t.Shape)
	if !ok {
		return fmt.Sprintf("%q has shape %d, which is no number of elements", t.Name, t.Shape)
	}
	if t.DType == ascend.String {
		return misframed(t, n)
	}
	if size, ok := t.DType.Size(n); !ok || bytes != size {
		return fmt.Sprintf("%q has %d bytes, expected %d for shape %d of %v", t.Name, bytes, size, t.Shape, t.DType)
	}
	return ""
}

func fits(shape, dims []int64) bool {
	return slices.EqualFunc(shape, dims, func(got, want int64) bool { return got == want || want < 0 && got >= 0 })
}

// misframed says why data is not n strings, or "".
func misframed(t oip.Tensor, n int64) string {
	rest := t.Data
	for i := range n {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return fmt.Sprintf("%q has %d bytes, which end within string element %d of %d", t.Name, len(t.Data), i, n)
		}
		rest = rest[4+binary.LittleEndian.Uint32(rest):]
	}
	if len(rest) > 0 {
		return fmt.Sprintf("%q has %d bytes after the last of %d string elements", t.Name, len(rest), n)
	}
	return ""
}

// room gives the caller's memory for output k: its own buffer where it is long
// enough, else a new one from Alloc. The output is set as well.
func (b *Batch) room(k int, dtype ascend.DType, shape []int64, size int64) ([]byte, error) {
	o := &b.Outputs[k]
	buf := o.Data
	if int64(len(buf)) < size {
		if b.Alloc == nil {
			return nil, &Error{Class: Short, Op: opRun, Need: size,
				Detail: fmt.Sprintf("output %q needs %d bytes, the buffer has %d", o.Name, size, len(buf))}
		}
		var err error
		if buf, err = b.Alloc(k, size); err != nil {
			return nil, &Error{Class: Failed, Op: opRun, Detail: "no buffer: " + err.Error(), Cause: err}
		}
		if int64(len(buf)) != size {
			return nil, &Error{Class: Failed, Op: opRun,
				Detail: fmt.Sprintf("output %q needs %d bytes, Alloc gave %d", o.Name, size, len(buf))}
		}
	}
	o.DType, o.Shape, o.Data = dtype, shape, buf[:size]
	return o.Data, nil
}
