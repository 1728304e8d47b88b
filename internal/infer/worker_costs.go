package infer

import (
	"context"
	"slices"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// Cost is s(g) of one gear: how long a batch keeps the device, and the medians
// of the copies before and after.
type Cost struct {
	Gear    int           `json:"gear"`
	Rows    int           `json:"rows"`
	Median  time.Duration `json:"median"`
	P99     time.Duration `json:"p99"`
	CopyIn  time.Duration `json:"copy_in"`
	CopyOut time.Duration `json:"copy_out"`
}

// Measure runs every gear of a backend some times with zeros, by the same call
// as serving, and gives what Batch.Times said. A model without gears has no
// table: nil. The error is that of the backend.
func Measure(ctx context.Context, b Backend, times int) ([]Cost, error) {
	d := b.Describe()
	var costs []Cost
	for g := range d.Gears {
		batch := zeros(&d, g)
		back := asServed(b, batch)
		var in, run, out []time.Duration
		for range max(times, 1) {
			if err := b.Run(ctx, batch); err != nil {
				back()
				return nil, err
			}
			in, run, out = append(in, batch.Times.CopyIn), append(run, batch.Times.Execute), append(out, batch.Times.CopyOut)
		}
		back()
		costs = append(costs, Cost{Gear: g, Rows: d.Gears[g].Rows, Median: quantile(run, 50), P99: quantile(run, 99),
			CopyIn: quantile(in, 50), CopyOut: quantile(out, 50)})
	}
	return costs, nil
}

// asServed lays a batch where a worker would receive it: into memory of the
// backend, where it lends some. back ends the loans.
func asServed(b Backend, batch *Batch) (back func()) {
	lender, ok := b.(Lender)
	if !ok {
		return func() {}
	}
	var loans [][]byte
	lend := func(size int64) []byte {
		loan := lender.Lend(int(size))
		if loan == nil {
			return alignedBytes(size)
		}
		loans = append(loans, loan)
		clear(loan)
		return loan
	}
	for i := range batch.Inputs {
		batch.Inputs[i].Data = lend(int64(len(batch.Inputs[i].Data)))
	}
	batch.Alloc = func(_ int, size int64) ([]byte, error) { return lend(size), nil }
	return func() {
		for _, loan := range loans {
			lender.TakeBack(loan)
		}
	}
}

// zeros is a batch for a gear, whose outputs are kept from run to run.
func zeros(d *Description, gear int) *Batch {
	b := &Batch{Gear: gear, Alloc: func(_ int, size int64) ([]byte, error) { return alignedBytes(size), nil }}
	for i, p := range d.Signature.Inputs {
		shape := p.Dims
		if i < len(d.Gears[gear].Dims) {
			shape = d.Gears[gear].Dims[i]
		}
		n, _ := ascend.Elements(shape)
		size, ok := p.DType.Size(n)
		if !ok {
			size = 4 * n // strings, all empty
		}
		b.Inputs = append(b.Inputs, oip.Tensor{Name: p.Name, DType: p.DType, Shape: shape, Data: alignedBytes(size)})
	}
	for _, p := range d.Signature.Outputs {
		b.Outputs = append(b.Outputs, oip.Tensor{Name: p.Name})
	}
	return b
}

// quantile is the nearest rank of a percentage.
func quantile(d []time.Duration, percent int) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[(len(d)*percent+99)/100-1]
}
