package infer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/oip"
)

// lane is one connection to the worker and the batch on it.
type lane struct {
	*link
	home    *Remote
	order   order
	answer  answer
	tensors [][]byte   // inputs that go through the socket
	sending sync.Mutex // a cancel may come while a run is sent
	spare   []byte     // of the frames of cancels
}

// failure is the worker's error.
func (l *lane) failure(op string, body []byte) *Error {
	e := new(Error)
	if err := fromJSON(body, e); err != nil || e.Class == "" {
		return l.home.lose(badFrame("a failure of %d bytes without a class", len(body))).of(op)
	}
	e.Op = op
	return e
}

// run is Remote.Run for a batch that was checked.
func (l *lane) run(ctx context.Context, b *Batch, wanted []int) error {
	temp, err := l.prepare(ctx, b, wanted)
	if err != nil {
		return err
	}
	id := l.home.ids.Add(1)
	calm := l.cancelWith(ctx, id)
	h, body, broken := l.exchange(id)
	if broken == nil && h.kind == answerKind {
		err, broken = l.take(b, h, body)
	}
	if broken == nil && h.kind == failureKind {
		if e := l.failure(opRun, body); e.Class == Canceled {
			err = canceled(opRun, cause(ctx))
		} else {
			err = e
		}
	}
	calm()
	if broken != nil {
		if errors.Is(broken, os.ErrDeadlineExceeded) {
			broken = fmt.Errorf("%w %s ago: %w", errHung, l.home.o.Grace, cause(ctx))
		}
		err = l.home.lose(broken).of(opRun)
	}
	// A hung worker may still write there, but nothing is lent any more.
	if temp != inline {
		l.home.arena.give(temp)
	}
	return err
}

// cause is why ctx ended. The worker counts the same deadline, and its clock
// may be ahead by a little.
func cause(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// prepare fills in the order: where each tensor lies. What the caller did not
// lay into shared memory itself costs at most one copy: inputs are moved into a
// temporary piece of it, which beats the socket (BenchmarkTransport), unless the
// worker's backend has memory of its own that the socket can fill; outputs come
// through the socket, because the backend may have copied them once by then.
func (l *lane) prepare(ctx context.Context, b *Batch, wanted []int) (temp int64, err error) {
	o := &l.order
	o.gear, o.alloc, o.left = b.Gear, b.Alloc != nil, 0
	if end, ok := ctx.Deadline(); ok {
		o.left = max(time.Until(end), 1)
	}
	o.inputs, o.outputs = o.inputs[:0], o.outputs[:0]
	var lay int64
	for i := range b.Inputs {
		t := &b.Inputs[i]
		if len(t.Shape) > maxRank {
			return inline, reject(opRun, "input %d has %d dims, at most %d can be sent", i, len(t.Shape), maxRank)
		}
		s := span{dtype: t.DType, shape: t.Shape, at: l.place(t.Data), size: b.size(i)}
		if s.at == inline {
			lay += lines(s.size)
		}
		o.inputs = append(o.inputs, s)
	}
	for k, port := range wanted {
		data := b.Outputs[k].Data
		o.outputs = append(o.outputs, span{port: port, at: l.place(data), size: int64(len(data))})
	}
	temp = inline
	if !l.home.welcome.Lends {
		if at, ok := l.home.arena.take(lay); ok {
			temp = at
			l.lay(b, at)
		}
	}
	return temp, l.gather(b)
}

func (l *lane) place(data []byte) int64 {
	if l.home.arena == nil {
		return inline
	}
	return l.home.arena.place(data)
}

// lay moves the inputs that are not in shared memory to the piece at temp.
func (l *lane) lay(b *Batch, temp int64) {
	for i := range l.order.inputs {
		if s := &l.order.inputs[i]; s.at == inline {
			piece, _ := l.home.arena.at(temp, s.size)
			Move(&b.Moved.In, piece, b.Inputs[i].Data)
			s.at, temp = temp, temp+lines(s.size)
		}
	}
}

// gather collects the inputs that go through the socket.
func (l *lane) gather(b *Batch) error {
	l.tensors = l.tensors[:0]
	total := int64(0)
	for i, s := range l.order.inputs {
		if s.at == inline {
			for k := range b.parts(i) {
				l.tensors = append(l.tensors, b.part(i, k))
			}
			total += s.size
		}
	}
	if most := l.home.welcome.MaxBytes; total > most {
		return reject(opRun, "the inputs have %d bytes, the worker takes %d", total, most)
	}
	return nil
}

// exchange sends the order and waits for the answer; its body is valid until
// the next call.
func (l *lane) exchange(id uint64) (h head, body []byte, err error) {
	h = head{kind: runKind, id: id}
	for _, t := range l.tensors {
		h.bytes += int64(len(t))
	}
	l.sending.Lock()
	err = l.send(h, l.order.append(l.begin()), l.tensors...)
	l.sending.Unlock()
	clear(l.tensors)
	if err == nil {
		h, body, err = l.receive()
	}
	switch {
	case err != nil:
	case h.kind != answerKind && h.kind != failureKind:
		err = badFrame("kind %d as the answer of a run", h.kind)
	case h.id == 0 && h.kind == failureKind: // not of a call: it does not understand the front
		err = badFrame("it says: %s", l.failure(opRun, body).Detail)
	case h.id != id:
		err = badFrame("the answer of call %d, expected %d", h.id, id)
	}
	return h, body, err
}

// cancelWith tells the worker when ctx ends, and gives it the grace from then
// on. calm ends that.
func (l *lane) cancelWith(ctx context.Context, id uint64) (calm func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		_ = l.conn.SetDeadline(time.Now().Add(l.home.o.Grace))
		l.sending.Lock()
		defer l.sending.Unlock()
		l.spare = seal(head{kind: cancelKind, id: id}, slices.Grow(l.spare[:0], frameBlock)[:frameHead])
		_, _ = l.conn.Write(l.spare) // a broken connection shows at the answer
	})
	return func() {
		if !stop() {
			<-told
			_ = l.conn.SetDeadline(time.Time{})
		}
	}
}

// take gives the caller the outputs. broken is an answer that cannot be, or the
// connection's error; err is the caller's: no buffer.
func (l *lane) take(b *Batch, h head, body []byte) (err, broken error) {
	a := &l.answer
	if broken = a.read(body); broken != nil {
		return nil, broken
	}
	if broken = l.fits(h.bytes); broken != nil {
		return nil, broken
	}
	b.Times = a.times
	b.Moved.In += a.moved.In
	b.Moved.Out += a.moved.Out
	for k := range a.outputs {
		s := &a.outputs[k]
		var buf []byte
		if err == nil {
			buf, err = b.room(k, s.dtype, s.shape, s.size)
		}
		if s.at == inline && err == nil {
			_, broken = io.ReadFull(l.conn, buf)
		} else if s.at == inline {
			_, broken = io.CopyN(io.Discard, l.conn, s.size)
		}
		if broken == nil && err == nil && !honest(&b.Outputs[k]) {
			broken = badFrame("output %q has %d bytes for shape %d of %v", b.Outputs[k].Name, s.size, s.shape, s.dtype)
		}
		if broken != nil {
			return nil, broken
		}
	}
	return err, nil
}

// fits checks an answer against its order.
func (l *lane) fits(bytes int64) error {
	o, a := &l.order, &l.answer
	if len(a.outputs) != len(o.outputs) {
		return badFrame("%d outputs, expected %d", len(a.outputs), len(o.outputs))
	}
	for k, s := range a.outputs {
		asked := o.outputs[k]
		fit := s.size <= asked.size && s.at == asked.at
		if s.at == inline { // a place that was too short, or none
			fit = s.size <= bytes && (s.size <= asked.size || o.alloc)
			bytes -= s.size
		}
		if !fit {
			return badFrame("output %d has %d bytes at %d, there are %d at %d", k, s.size, s.at, asked.size, asked.at)
		}
	}
	if bytes != 0 {
		return badFrame("%d bytes too many behind an answer", bytes)
	}
	return nil
}

// honest tells whether an output has the bytes that its shape says. Only then
// is it given to who believes that.
func honest(t *oip.Tensor) bool {
	return mismatch(oip.Port{Name: t.Name, DType: t.DType}, *t, int64(len(t.Data))) == ""
}
