package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// errPanicked stands for the answer of a run that never returned.
var errPanicked = errors.New("the backend panicked")

// errRows is an output whose axis 0 is not the rows of the batch.
var errRows = errors.New("axis 0 of an output is not the rows of the batch")

// run is one execution: the batch and the memory behind it, which goes back to
// the pool with the last of its users.
type run struct {
	home  *batcher
	batch infer.Batch
	place []int // signature index of an output -> index in batch.Outputs, -1: not asked for
	rows  int
	bufs  []*buffer
	loans [][]byte // from the backend
	users atomic.Int32
}

func (b *batcher) newRun(members []*job) *run {
	r, ok := b.runs.Get().(*run)
	if !ok {
		r = &run{home: b, place: make([]int, len(b.sig.Outputs))}
		r.batch.Alloc = r.alloc
	}
	r.rows = 0
	for i := range r.place {
		r.place[i] = -1
	}
	rows := int64(0)
	for _, j := range members {
		r.rows += max(j.rows, 1)
		if in := j.inputs; len(in) > 0 && len(in[0].Shape) > 0 {
			rows += in[0].Shape[0]
		}
		for _, o := range j.want {
			r.place[o] = 0
		}
	}
	for o, p := range r.place { // the order of the signature
		if p == 0 {
			r.place[o] = len(r.batch.Outputs)
			r.batch.Outputs = append(r.batch.Outputs, oip.Tensor{Name: b.sig.Outputs[o].Name, Data: r.reserve(&b.sig.Outputs[o], rows)})
		}
	}
	r.users.Store(1)
	return r
}

// done gives a share up.
func (r *run) done() {
	if r.users.Add(-1) > 0 {
		return
	}
	for _, buf := range r.bufs {
		r.home.pool.put(buf)
	}
	for _, loan := range r.loans {
		r.home.lender.TakeBack(loan)
	}
	clear(r.bufs)
	clear(r.loans)
	clear(r.batch.Inputs)
	clear(r.batch.Pieces)
	clear(r.batch.Outputs)
	r.batch.Pieces = r.batch.Pieces[:0]
	r.bufs, r.loans, r.batch.Inputs, r.batch.Outputs = r.bufs[:0], r.loans[:0], r.batch.Inputs[:0], r.batch.Outputs[:0]
	r.batch.Times, r.batch.Moved = infer.Times{}, infer.Moved{}
	r.home.runs.Put(r)
}

// alloc is infer.Batch.Alloc.
func (r *run) alloc(_ int, size int64) ([]byte, error) {
	if int64(int(size)) != size || size < 0 {
		return nil, fmt.Errorf("an output of %d bytes", size)
	}
	return r.borrow(int(size)), nil
}

// borrow gives n bytes until done, of the backend's memory where it lends some:
// what lies there is not copied once more.
func (r *run) borrow(n int) []byte {
	if loan := r.loan(n); loan != nil {
		return loan
	}
	buf := r.home.pool.get(n)
	r.bufs = append(r.bufs, buf)
	return buf.data[:n:n]
}

// loan is memory of the backend, or nil.
func (r *run) loan(n int) []byte {
	if r.home.lender == nil {
		return nil
	}
	loan := r.home.lender.Lend(n)
	if loan != nil {
		r.loans = append(r.loans, loan)
	}
	return loan
}

// reserve is room for an output whose size the rows of the inputs tell, if the
// backend lends it; else nil, and alloc is asked once the size is known.
func (r *run) reserve(p *oip.Port, rows int64) []byte {
	if r.home.lender == nil || len(p.Dims) == 0 {
		return nil
	}
	if p.Dims[0] >= 0 {
		rows = p.Dims[0]
	}
	row, ok := ascend.Elements(p.Dims[1:])
	size, fixed := p.DType.Size(row)
	if !ok || !fixed || size == 0 || rows > math.MaxInt/size {
		return nil
	}
	return r.loan(int(size * rows))
}

// execute runs members as one batch and leaves each its own result. Where a
// joined run fails by its content, or its device goes, the members are run again
// one by one, so that a poisoned request fails alone.
func (b *batcher) execute(l *lane, members []*job) {
	if len(members) == 1 {
		b.one(l.since, members[0])
		return
	}
	err := b.joined(l.since, members)
	var failure *infer.Error
	switch {
	case err == nil:
		return
	case errors.Is(err, errRows):
		b.alone()
		b.seen.unjoinable(reasonRows)
	case errors.As(err, &failure) && (failure.Class == infer.Reject || failure.Class == infer.Failed || failure.Class == infer.Away):
	default:
		for _, j := range members {
			j.err = err
		}
		return
	}
	for _, j := range members {
		start := b.now()
		b.mu.Lock()
		l.since = start
		b.mu.Unlock()
		b.one(start, j)
	}
}

// together is a context that ends once all members are gone: none of them may
// end the run of the others.
func together(members []*job) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	left := new(atomic.Int32)
	left.Store(int32(len(members)))
	stops := make([]func() bool, len(members))
	for i, j := range members {
		stops[i] = context.AfterFunc(j.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// one runs a single job: its inputs go as they are.
func (b *batcher) one(start time.Time, j *job) {
	if j.err = j.ctx.Err(); j.err != nil {
		return
	}
	j.members[0] = j
	r := b.newRun(j.members[:])
	r.batch.Inputs = append(r.batch.Inputs, j.inputs...)
	if j.err = b.call(j.ctx, start, r, j.members[:]); j.err != nil {
		r.done()
		return
	}
	j.run, j.outputs = r, j.outputs[:0]
	for _, o := range j.want {
		j.outputs = append(j.outputs, r.batch.Outputs[r.place[o]])
	}
}

// joined runs several jobs as one batch and gives each its rows.
func (b *batcher) joined(start time.Time, members []*job) error {
	ctx, stop := together(members)
	defer stop()
	r := b.newRun(members)
	defer r.done()
	for i := range b.sig.Inputs {
		r.join(i, members)
	}
	if err := b.call(ctx, start, r, members); err != nil {
		return err
	}
	for o, p := range r.place {
		if p < 0 {
			continue
		}
		if t := &r.batch.Outputs[p]; len(t.Shape) == 0 || t.Shape[0] != int64(r.rows) {
			return fmt.Errorf("output %q: %w", b.sig.Outputs[o].Name, errRows)
		}
	}
	return r.split(members)
}

// call runs r and keeps the times for its members and the statistics.
func (b *batcher) call(ctx context.Context, start time.Time, r *run, members []*job) error {
	for _, j := range members {
		j.err = errPanicked
	}
	gear := b.desc.Shift(&r.batch)
	err := b.backend.Run(ctx, &r.batch)
	end := b.now()
	took := end.Sub(start)
	for _, j := range members {
		j.err, j.waited, j.took, j.times, j.shared = nil, start.Sub(j.queued), took, r.batch.Times, r.rows
	}
	b.seen.copiedIn.Add(float64(r.batch.Moved.In))
	b.seen.copiedOut.Add(float64(r.batch.Moved.Out))
	if err == nil && gear > r.rows {
		b.seen.padding.Add(float64(gear - r.rows))
	}
	b.seen.ran(r.rows, end, took, r.batch.Times, err)
	return err
}

// join adds input i of the members, one after the other: as it lies where the
// backend takes pieces, else copied.
func (r *run) join(i int, members []*job) {
	t := members[0].inputs[i]
	t.Shape = append([]int64{int64(r.rows)}, t.Shape[1:]...)
	t.Data = nil
	pieces, size := make([][]byte, len(members)), 0
	for k, j := range members {
		pieces[k] = j.inputs[i].Data
		size += len(pieces[k])
	}
	if r.home.desc.Pieces {
		r.batch.Pieces = append(r.batch.Pieces, pieces)
	} else {
		t.Data = r.borrow(size)
		for at, k := 0, 0; k < len(pieces); k++ {
			at += infer.Move(&r.batch.Moved.In, t.Data[at:], pieces[k])
		}
	}
	r.batch.Inputs = append(r.batch.Inputs, t)
}

// split gives each member its rows of the outputs it wants; nothing is copied.
func (r *run) split(members []*job) error {
	cuts := make([]int, len(r.batch.Outputs)) // where the next member begins
	for _, j := range members {
		part := make([]oip.Tensor, len(r.batch.Outputs))
		for k := range part {
			t := r.batch.Outputs[k]
			shape := append([]int64{int64(j.rows)}, t.Shape[1:]...)
			size, err := extent(t.DType, shape, t.Data[cuts[k]:])
			if err != nil {
				return &infer.Error{Class: infer.Failed, Op: "split", Detail: fmt.Sprintf("output %q: %v", t.Name, err)}
			}
			t.Shape, t.Data = shape, t.Data[cuts[k]:cuts[k]+size:cuts[k]+size]
			part[k], cuts[k] = t, cuts[k]+size
		}
		j.outputs = j.outputs[:0]
		for _, o := range j.want {
			j.outputs = append(j.outputs, part[r.place[o]])
		}
	}
	for _, j := range members {
		r.users.Add(1)
		j.run = r
	}
	return nil
}

// extent is the number of bytes that a tensor of that shape takes at the
// beginning of data.
func extent(d ascend.DType, shape []int64, data []byte) (int, error) {
	n, ok := ascend.Elements(shape)
	if !ok {
		return 0, fmt.Errorf("shape %v", shape)
	}
	if d == ascend.String {
		at := 0
		for range n {
			if len(data)-at < 4 {
				return 0, errors.New("a string is cut off")
			}
			size := int(binary.LittleEndian.Uint32(data[at:]))
			if size > len(data)-at-4 {
				return 0, errors.New("a string is cut off")
			}
			at += 4 + size
		}
		return at, nil
	}
	size, ok := d.Size(n)
	if !ok || size > int64(len(data)) {
		return 0, fmt.Errorf("%d elements of %s do not fit %d bytes", n, d, len(data))
	}
	return int(size), nil
}
