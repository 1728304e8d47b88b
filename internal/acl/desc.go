package acl

import (
	"fmt"
	"slices"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// GearInput is the name of the extra input that tells a model its gear.
const GearInput = "ascend_mbatch_shape_data"

// The kinds of gears; a model has one kind.
const (
	GearBatch = "batch" // one number
	GearImage = "image" // height and width
	GearDims  = "dims"  // all dims of all inputs, in the order of --input_shape
)

// maxDims is the rank that the structures of ACL hold.
const maxDims = 128

// Port is one input or output of a loaded model. Size is the bytes of the
// largest gear, 0 where the model does not know it; Dims has -1 where variable.
type Port struct {
	Name   string
	DType  ascend.DType // Undefined for types that ascendctl does not know
	Type   int          // ACL's number of the type
	Format int          // ACL's number of the format
	Dims   []int64
	Range  [][2]int64 // of a dynamic shape: least and most of each dim, nil where not told
	Size   int64
}

// Gear is one shape set. Values are those that the setter takes; Dims are the
// dims of the model's own inputs in their order, nil where they cannot be told.
type Gear struct {
	Values []int64
	Dims   [][]int64
}

// Desc is what a loaded model says of itself. Inputs has only those that a
// caller fills: the gear input is left out and filled by SetGear.
type Desc struct {
	Inputs, Outputs []Port
	GearKind        string // "" for none
	Gears           []Gear
	// Dynamic is true for a model whose shapes are not known before it runs.
	Dynamic bool

	gearAt   int   // index of the gear input among the library's inputs, -1 for none
	gearSize int64 // bytes of its buffer
}

// Rows is the batch size of a gear: the first dim of the first input. It is 0
// where it cannot be told.
func (g Gear) Rows() int {
	if len(g.Dims) == 0 || len(g.Dims[0]) == 0 {
		return 0
	}
	return int(g.Dims[0][0])
}

func (d *Desc) add(kind string, values ...int64) {
	d.GearKind = kind
	g := Gear{Values: values}
	d.spread(&g)
	d.Gears = append(d.Gears, g)
}

// spread gives a gear the dims of the inputs.
func (d *Desc) spread(g *Gear) {
	switch d.GearKind {
	case GearBatch, GearImage:
		g.Dims = d.filled(g.Values)
	case GearDims:
		g.Dims = d.split(g.Values)
	}
}

// filled puts the values in the places of -1, for each input from the first
// value on: batch is one place, image two (height comes before width in every
// layout).
func (d *Desc) filled(values []int64) [][]int64 {
	out := make([][]int64, len(d.Inputs))
	for i, p := range d.Inputs {
		dims, next := slices.Clone(p.Dims), 0
		for k, n := range dims {
			if n >= 0 {
				continue
			}
			if next == len(values) {
				return nil
			}
			dims[k], next = values[next], next+1
		}
		out[i] = dims
	}
	return out
}

// split cuts the concatenated dims of all inputs. They come in the order of
// --input_shape, which ACL does not tell; only where it fits the model's own
// order they are believed.
func (d *Desc) split(values []int64) [][]int64 {
	out := make([][]int64, len(d.Inputs))
	for i, p := range d.Inputs {
		if len(values) < len(p.Dims) {
			return nil
		}
		out[i], values = values[:len(p.Dims)], values[len(p.Dims):]
		for k, n := range p.Dims {
			if n >= 0 && n != out[i][k] {
				return nil
			}
		}
	}
	if len(values) > 0 {
		return nil
	}
	return out
}

// fits refuses a shape that the model would read or write past.
func (p Port) fits(dims []int64) error {
	if len(dims) != len(p.Dims) {
		return fmt.Errorf("%d dims, expected %d", len(dims), len(p.Dims))
	}
	for i, n := range dims {
		least, most := p.Dims[i], p.Dims[i]
		if p.Dims[i] < 0 {
			least, most = 0, 1<<62
			if i < len(p.Range) {
				least, most = p.Range[i][0], p.Range[i][1]
				if most < 0 { // no limit
					most = 1 << 62
				}
			}
		}
		if n < least || n > most {
			return fmt.Errorf("dim %d is %d, expected %d to %d", i, n, least, most)
		}
	}
	return nil
}
