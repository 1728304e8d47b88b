//go:build cgo && linux

package infer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// Open loads an .om. The error is an *Error. Loading cannot be stopped: ctx is
// looked at before it only.
func (n *NPU) Open(ctx context.Context, o NPUOptions) (Backend, error) {
	if o.Limit <= 0 {
		o.Limit = 30 * time.Second
	}
	if err := ctx.Err(); err != nil {
		return nil, canceled(opOpen, err)
	}
	lane, err := n.lib.Lane(n.Device)
	if err != nil {
		return nil, aclError(opOpen, err)
	}
	b := &npuBackend{npu: n, lane: lane, limit: o.Limit}
	if err = lane.Do(ctx, func(t *acl.Thread) error { return b.load(t, o) }); err != nil {
		_ = b.end()
		return nil, aclError(opOpen, err)
	}
	return b, nil
}

// load does everything that is done once, on the lane's thread.
func (b *npuBackend) load(t *acl.Thread, o NPUOptions) (err error) {
	if b.model, err = t.Load(acl.LoadOptions{Path: o.Path}); err != nil {
		return err
	}
	d := &b.model.Desc
	if d.Dynamic {
		return reject(opOpen, "the model was compiled for unknown shapes, which this release cannot run; compile it with gears")
	}
	if b.desc.Signature.Inputs, err = aclPorts("input", d.Inputs); err != nil {
		return err
	}
	if b.desc.Signature.Outputs, err = aclPorts("output", d.Outputs); err != nil {
		return err
	}
	rename(b.desc.Signature.Outputs)
	if err = b.layOut(t); err != nil {
		return err
	}
	if err = b.gears(t); err != nil {
		return err
	}
	for i := range b.marks {
		if b.marks[i], err = t.NewEvent(); err != nil {
			return err
		}
	}
	b.desc.Platform, b.desc.Device = "ascend_om", b.npu.place()
	b.desc.Pieces = b.lane.Direct // there each is moved to its place; else the device would have to be asked for each
	return b.lend(t, o.Lend)
}

// place is the device as the world sees it.
func (n *NPU) place() Device {
	d := Device{Kind: "npu", Name: fmt.Sprintf("%s, device %d", n.SoC, n.Device), Simulated: n.lib.Simulated}
	if d.Simulated {
		d.Name = "simulated " + d.Name + ", not an NPU"
	}
	if len(n.lib.Files) > 0 {
		d.Library = n.lib.Files[0]
	}
	return d
}

func aclPorts(side string, from []acl.Port) ([]oip.Port, error) {
	to := make([]oip.Port, len(from))
	for i, p := range from {
		if p.DType == ascend.Undefined || p.DType == ascend.String {
			return nil, reject(opOpen, "%s %q has the element type %d of ACL, which cannot be served", side, p.Name, p.Type)
		}
		to[i] = oip.Port{Name: p.Name, DType: p.DType, Dims: slices.Clone(p.Dims), DimNames: make([]string, len(p.Dims))}
	}
	return to, nil
}

// rename gives outputs back the names they had before they were compiled: ATC
// writes NODE:SLOT:NAME. So who asked the ONNX model can ask this one. All are
// renamed or none.
func rename(outputs []oip.Port) {
	var short []string
	for _, p := range outputs {
		part := strings.Split(p.Name, ":")
		if len(part) != 3 || part[2] == "" || slices.Contains(short, part[2]) {
			return
		}
		short = append(short, part[2])
	}
	for i := range short {
		outputs[i].Name = short[i]
	}
}

// layOut takes the memory of the inputs and outputs at the largest gear and
// makes the two datasets, once for all runs.
func (b *npuBackend) layOut(t *acl.Thread) error {
	spans := func(ports []acl.Port) (bufs []*acl.Buffer, all []acl.Span, err error) {
		for _, p := range ports {
			buf, err := t.Malloc(lines(p.Size) + lineSize) // acl.Slack behind, and a size above 0
			if err != nil {
				return nil, nil, err
			}
			bufs, all = append(bufs, buf), append(all, buf.All())
		}
		return bufs, all, nil
	}
	var in, out []acl.Span
	var err error
	if b.inputs, in, err = spans(b.model.Desc.Inputs); err != nil {
		return err
	}
	if b.outputs, out, err = spans(b.model.Desc.Outputs); err != nil {
		return err
	}
	if b.in, err = t.Inputs(b.model, in...); err == nil {
		b.out, err = t.Outputs(b.model, out...)
	}
	return err
}

// gears asks what comes out of each gear: a model tells only the largest
// before. A model without gears has one, itself.
func (b *npuBackend) gears(t *acl.Thread) error {
	d, sig := &b.model.Desc, &b.desc.Signature
	if d.GearKind == "" {
		g := Gear{Rows: 1}
		for _, p := range sig.Inputs {
			g.Dims = append(g.Dims, p.Dims)
		}
		if len(g.Dims) > 0 && len(g.Dims[0]) > 0 {
			g.Rows = max(int(g.Dims[0][0]), 1)
		}
		b.desc.Gears, b.results = []Gear{g}, [][][]int64{dimsOf(sig.Outputs)}
		return nil
	}
	for at, gear := range d.Gears {
		if err := t.SetGear(b.in, at); err != nil {
			return err
		}
		if gear.Dims == nil {
			return reject(opOpen, "gear %d does not tell the shapes of the inputs", at)
		}
		var results [][]int64
		for o := range d.Outputs {
			dims, err := t.GearDims(b.model, o)
			if err != nil {
				return err
			}
			results = append(results, dims)
		}
		b.results = append(b.results, results)
		b.desc.Gears = append(b.desc.Gears, Gear{Rows: max(gear.Rows(), 1), Dims: gear.Dims})
	}
	for o := range sig.Outputs {
		vary(sig.Outputs[o].Dims, b.results, o)
	}
	if d.GearKind == acl.GearBatch {
		for at := range b.desc.Gears {
			b.desc.Gears[at].Pads = b.pads(at)
		}
	}
	return nil
}

func dimsOf(ports []oip.Port) (out [][]int64) {
	for _, p := range ports {
		out = append(out, p.Dims)
	}
	return out
}

// vary puts -1 where the dims of output o differ between gears.
func vary(dims []int64, results [][][]int64, o int) {
	for k := range dims {
		for _, r := range results {
			if k < len(r[o]) && r[o][k] != results[0][o][k] {
				dims[k] = -1
			}
		}
	}
}

// pads tells whether axis 0 of all inputs and outputs of a gear is its rows.
func (b *npuBackend) pads(gear int) bool {
	rows := int64(b.desc.Gears[gear].Rows)
	inputs := b.desc.Gears[gear].Dims
	for i, dims := range slices.Concat(inputs, b.results[gear]) {
		if len(dims) == 0 || dims[0] != rows || i < len(inputs) && b.desc.Signature.Inputs[i].Dims[0] >= 0 {
			return false
		}
	}
	return true
}

// lend takes the pinned memory for loans. A board reads all of the host's
// memory by itself and needs none.
func (b *npuBackend) lend(t *acl.Thread, size int64) (err error) {
	if b.lane.Direct {
		return nil
	}
	if size == 0 {
		for _, p := range slices.Concat(b.model.Desc.Inputs, b.model.Desc.Outputs) {
			size += lines(p.Size)
		}
		size = max(4*size, 1<<16)
	}
	if b.pinned, err = t.MallocHost(size); err != nil {
		return err
	}
	b.arena = newArena(b.pinned.Bytes(), func() { b.ended = b.end() })
	return nil
}
