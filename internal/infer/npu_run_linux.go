//go:build cgo && linux

package infer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/ascend"
)

// npuBackend is an .om on a device. All its calls are made by one lane, one
// batch after the other; what overlaps with a run is the work of the callers,
// who lay the next batch into pinned memory meanwhile.
type npuBackend struct {
	npu     *NPU
	lane    *acl.Lane
	limit   time.Duration
	desc    Description
	results [][][]int64 // dims of each output in each gear

	model           *acl.Model
	in, out         *acl.Dataset
	inputs, outputs []*acl.Buffer
	marks           [4]*acl.Event // before and after the copies, for the times
	pinned          *acl.Buffer
	arena           *arena // nil: nothing is lent

	open     sync.RWMutex // read-held by every call, for ever held after Close
	isClosed atomic.Bool
	ended    error
}

func (b *npuBackend) Describe() Description { return b.desc }

// Lend gives pinned memory; see Lender.
func (b *npuBackend) Lend(size int) []byte {
	at, ok := b.arena.take(int64(size))
	if !ok {
		return nil
	}
	piece, _ := b.arena.at(at, int64(size))
	return piece
}

// TakeBack ends a loan; see Lender.
func (b *npuBackend) TakeBack(buf []byte) { b.arena.give(b.arena.place(buf[:1])) }

// enter lets a call in, unless the backend is closed or lost.
func (b *npuBackend) enter(op string) *Error {
	// Not a plain RLock: it would wait for ever behind Close.
	if b.isClosed.Load() || !b.open.TryRLock() {
		return closed(op)
	}
	if e := b.npu.broken.Load(); e != nil {
		b.open.RUnlock()
		return e.of(op)
	}
	return nil
}

// Run executes a batch; see Backend. A device cannot stop what it runs: when
// ctx ends meanwhile, Run comes back at the end of the run and says so.
func (b *npuBackend) Run(ctx context.Context, batch *Batch) error {
	batch.Times = Times{}
	if err := b.enter(opRun); err != nil {
		return err
	}
	defer b.open.RUnlock()
	wanted, bad := checkBatch(&b.desc, batch)
	if bad != nil {
		return bad
	}
	if err := ctx.Err(); err != nil {
		return canceled(opRun, err)
	}
	rows := int64(-1) // as many as the gear has
	if b.desc.Gears[batch.Gear].Pads {
		rows = batch.Inputs[0].Shape[0]
	}
	if err := b.makeRoom(batch, wanted, rows); err != nil {
		return err
	}
	if rows == 0 {
		return nil
	}
	err := b.lane.Do(ctx, func(t *acl.Thread) error { return b.run(t, batch, wanted) })
	switch {
	case ctx.Err() != nil:
		return canceled(opRun, ctx.Err())
	case err == nil:
		return nil
	}
	e := aclError(opRun, err)
	if e.Class == Lost {
		b.npu.broken.CompareAndSwap(nil, e)
	}
	return e
}

// makeRoom gives every output its shape and the caller's memory, before the
// run: what lies in pinned memory is then filled by the device itself.
func (b *npuBackend) makeRoom(batch *Batch, wanted []int, rows int64) error {
	for k, o := range wanted {
		dtype := b.desc.Signature.Outputs[o].DType
		shape := append([]int64(nil), b.results[batch.Gear][o]...)
		if rows >= 0 {
			shape[0] = rows
		}
		size, _ := sizeOf(dtype, shape)
		if _, err := batch.room(k, dtype, shape, size); err != nil {
			return err
		}
	}
	return nil
}

func sizeOf(d ascend.DType, shape []int64) (int64, bool) {
	n, ok := ascend.Elements(shape)
	if !ok {
		return 0, false
	}
	return d.Size(n)
}

// run is on the lane's thread. Whatever fails after something was queued is
// waited for: memory must not be given back while the device may touch it.
func (b *npuBackend) run(t *acl.Thread, batch *Batch, wanted []int) error {
	if e := b.npu.broken.Load(); e != nil {
		return e.of(opRun)
	}
	err := b.queue(t, batch, wanted)
	if synced := b.await(t); synced != nil {
		return synced
	}
	if err != nil {
		return err
	}
	if b.lane.Direct {
		for k, o := range wanted {
			Move(&batch.Moved.Out, batch.Outputs[k].Data, b.outputs[o].Bytes())
		}
	} else if err = b.fetch(t, batch, wanted, false); err != nil {
		return err
	}
	for i, d := range []*time.Duration{&batch.Times.CopyIn, &batch.Times.Execute, &batch.Times.CopyOut} {
		if *d, err = t.Elapsed(b.marks[i], b.marks[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// queue hands the device its work: copies in, run, copies out to pinned memory.
func (b *npuBackend) queue(t *acl.Thread, batch *Batch, wanted []int) error {
	s := t.Main()
	if b.model.Desc.GearKind != "" {
		if err := t.SetGear(b.in, batch.Gear); err != nil {
			return err
		}
	}
	if err := t.Record(b.marks[0], s); err != nil {
		return err
	}
	for i := range batch.Inputs {
		if err := b.feed(t, batch, i); err != nil {
			return err
		}
	}
	if err := t.Record(b.marks[1], s); err != nil {
		return err
	}
	if err := t.ExecuteAsync(s, b.model, b.in, b.out); err != nil {
		return err
	}
	if err := t.Record(b.marks[2], s); err != nil {
		return err
	}
	if !b.lane.Direct {
		if err := b.fetch(t, batch, wanted, true); err != nil {
			return err
		}
	}
	return t.Record(b.marks[3], s)
}

// await ends when nothing is queued any more. A device that does not come back
// gets as much time once more; then its memory stays in use until the process
// ends.
func (b *npuBackend) await(t *acl.Thread) error {
	err := t.Sync(t.Main(), b.limit)
	var e *acl.Error
	if errors.As(err, &e) && e.TimedOut() {
		if again := t.Sync(t.Main(), b.limit); again == nil {
			return nil
		}
		lost := aclError(opRun, e)
		lost.Class, lost.Action = Lost, string(acl.RestartProcess)
		return lost
	}
	return err
}

// feed copies an input to the device, and its first rows again behind it where
// the gear has more: any valid row will do, and none of what comes of it leaves
// the backend.
func (b *npuBackend) feed(t *acl.Thread, batch *Batch, i int) error {
	in := &batch.Inputs[i]
	total, _ := sizeOf(in.DType, b.desc.Gears[batch.Gear].Dims[i])
	for at, k := int64(0), 0; at < total; k++ {
		data := batch.part(i, k%batch.parts(i))
		n := min(int64(len(data)), total-at)
		if err := b.send(t, batch, b.inputs[i], at, data[:n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

func (b *npuBackend) send(t *acl.Thread, batch *Batch, to *acl.Buffer, at int64, data []byte) error {
	n := int64(len(data))
	if b.lane.Direct {
		Move(&batch.Moved.In, to.Bytes()[at:at+n], data)
		return nil
	}
	if place := b.placed(data); place != inline {
		return t.CopyAsync(t.Main(), to.Span(at, n), b.pinned.Span(place, n))
	}
	return t.Copy(to.Span(at, n), acl.Memory(data))
}

func (b *npuBackend) placed(data []byte) int64 {
	if b.arena == nil {
		return inline
	}
	return b.arena.place(data)
}

// fetch copies outputs back: those that lie in pinned memory are queued, the
// others need the run to be over.
func (b *npuBackend) fetch(t *acl.Thread, batch *Batch, wanted []int, pinned bool) error {
	for k, o := range wanted {
		data := batch.Outputs[k].Data
		n, place := int64(len(data)), b.placed(data)
		if n == 0 || (place != inline) != pinned {
			continue
		}
		from := b.outputs[o].Span(0, n)
		var err error
		if pinned {
			err = t.CopyAsync(t.Main(), b.pinned.Span(place, n), from)
		} else {
			err = t.Copy(acl.Memory(data), from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Probe asks the device past the model's queue; see Backend.
func (b *npuBackend) Probe(ctx context.Context) error {
	if err := b.enter(opProbe); err != nil {
		return err
	}
	defer b.open.RUnlock()
	if err := ctx.Err(); err != nil {
		return canceled(opProbe, err)
	}
	return b.npu.Probe(ctx)
}

// Close waits for the calls that are out. Where memory is still lent, its return
// ends the lane.
func (b *npuBackend) Close() error {
	if b.isClosed.Swap(true) {
		return closed(opClose)
	}
	b.open.Lock() // and never unlocked: from here on no call gets in
	if b.arena == nil {
		return b.end()
	}
	b.arena.close()
	return b.ended
}

// end frees everything on the device, unless something hangs there.
func (b *npuBackend) end() error {
	if e := b.npu.broken.Load(); e != nil {
		return e.of(opClose)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*probeLimit)
	defer cancel()
	if err := b.lane.Close(ctx); err != nil {
		return aclError(opClose, err)
	}
	return nil
}
