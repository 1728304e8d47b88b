package infer

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/oip"
)

// post is one connection at the worker and the batch on it. Its memory serves
// one batch after the other.
type post struct {
	*link
	worker *worker
	hosted *Hosted
	desc   Description
	shared *region // nil: none

	order  order
	answer answer
	batch  Batch
	short  *Error  // the room for an output was too short
	input  scratch // inputs that came through the socket
	output []scratch
	tail   [][]byte // outputs that go through the socket

	busy sync.WaitGroup // the call that runs
	mu   sync.Mutex
	id   uint64
	stop context.CancelFunc // nil: none runs
}

func (p *post) equip() {
	lender, _ := p.hosted.Backend.(Lender)
	p.input.lender = lender
	p.output = make([]scratch, len(p.desc.Signature.Outputs))
	for k := range p.output {
		p.output[k].lender = lender
	}
	p.batch.Inputs = make([]oip.Tensor, len(p.desc.Signature.Inputs))
	p.batch.Alloc = p.alloc
}

// leave gives everything back once nothing runs.
func (p *post) leave() {
	p.busy.Wait()
	_ = p.conn.Close()
	p.input.free()
	for k := range p.output {
		p.output[k].free()
	}
	if p.shared != nil {
		unmapShared(p.shared.mem)
	}
}

// running is the context of a call, which a cancel may end and its deadline does.
func (p *post) running(id uint64, left time.Duration) (ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = id
	if left > 0 {
		ctx, p.stop = context.WithTimeout(context.Background(), left)
	} else {
		ctx, p.stop = context.WithCancel(context.Background())
	}
	return ctx
}

// cancelled ends the call of that id, unless it is over.
func (p *post) cancelled(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil && p.id == id {
		p.stop()
	}
}

// abandon ends whatever runs: nobody waits for it.
func (p *post) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
	}
}

// over ends the context of the call.
func (p *post) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.stop = nil
}

// load makes the batch of an order and takes the bytes that follow it. The
// context is that of the call.
func (p *post) load(h head, body []byte) (context.Context, error) {
	o, sig := &p.order, &p.desc.Signature
	if err := o.read(body); err != nil {
		return nil, err
	}
	if len(o.inputs) != len(sig.Inputs) || len(o.outputs) > len(sig.Outputs) {
		return nil, badFrame("%d inputs and %d outputs, the model has %d and %d", len(o.inputs), len(o.outputs), len(sig.Inputs), len(sig.Outputs))
	}
	b := &p.batch
	b.Gear, b.Times, b.Moved, b.Outputs, p.short = o.gear, Times{}, Moved{}, b.Outputs[:0], nil
	if err := p.takeInputs(h.bytes); err != nil {
		return nil, err
	}
	for _, s := range o.outputs {
		if s.port >= len(sig.Outputs) {
			return nil, badFrame("output %d, the model has %d", s.port, len(sig.Outputs))
		}
		t := oip.Tensor{Name: sig.Outputs[s.port].Name}
		if s.at != inline {
			piece, ok := p.shared.at(s.at, s.size)
			if !ok {
				return nil, badFrame("output %d is not in the shared memory", s.port)
			}
			t.Data = piece
		}
		b.Outputs = append(b.Outputs, t)
	}
	return p.running(h.id, o.left), nil
}

// takeInputs finds the inputs in shared memory and reads the others, of bytes in
// all, from the socket to where the backend likes them.
func (p *post) takeInputs(bytes int64) error {
	total, room := int64(0), int64(0)
	for _, s := range p.order.inputs {
		if s.at == inline {
			if s.size > p.worker.o.MaxBytes-total {
				return badFrame("inputs of more than %d bytes", p.worker.o.MaxBytes)
			}
			total, room = total+s.size, room+lines(s.size)
		}
	}
	if total != bytes {
		return badFrame("%d bytes behind an order of %d", bytes, total)
	}
	rest := p.input.get(room)
	for i, s := range p.order.inputs {
		port := &p.desc.Signature.Inputs[i]
		t := oip.Tensor{Name: port.Name, DType: s.dtype, Shape: s.shape}
		if s.at == inline {
			t.Data, rest = rest[:s.size:s.size], rest[lines(s.size):]
			if _, err := io.ReadFull(p.conn, t.Data); err != nil {
				return err
			}
		} else if piece, ok := p.shared.at(s.at, s.size); ok {
			t.Data = piece
		} else {
			return badFrame("input %d is not in the shared memory", i)
		}
		p.batch.Inputs[i] = t
	}
	return nil
}

// alloc is Batch.Alloc: room of the exact size where an output has no place in
// shared memory or one that is too short.
func (p *post) alloc(k int, size int64) ([]byte, error) {
	asked := &p.order.outputs[k]
	if size > asked.size && !p.order.alloc {
		p.short = &Error{Class: Short, Op: opRun, Need: size,
			Detail: fmt.Sprintf("output %q needs %d bytes, the buffer has %d", p.batch.Outputs[k].Name, size, asked.size)}
		return nil, p.short
	}
	if size > p.worker.o.MaxBytes {
		return nil, fmt.Errorf("an output of %d bytes, at most %d can be sent", size, p.worker.o.MaxBytes)
	}
	return p.output[asked.port].get(size), nil
}

// execute runs the batch and answers.
func (p *post) execute(ctx context.Context, id uint64) {
	err := p.hosted.Backend.Run(ctx, &p.batch)
	p.over()
	if err == nil {
		err = p.reply(id)
	}
	if err != nil {
		failure := asError(opRun, err)
		if p.short != nil && failure.Class == Failed {
			failure = p.short
		}
		_ = p.sendJSON(head{kind: failureKind, id: id}, failure)
	}
}

// reply sends the outputs. The error is one to send instead.
func (p *post) reply(id uint64) error {
	b, a := &p.batch, &p.answer
	a.times, a.moved, a.outputs, p.tail = b.Times, b.Moved, a.outputs[:0], p.tail[:0]
	h := head{kind: answerKind, id: id}
	for k := range b.Outputs {
		t := &b.Outputs[k]
		s := span{dtype: t.DType, shape: t.Shape, at: p.shared.place(t.Data), size: int64(len(t.Data))}
		if s.at != p.order.outputs[k].at {
			s.at = inline
		}
		if s.at == inline {
			p.tail = append(p.tail, t.Data)
			h.bytes += s.size
		}
		a.outputs = append(a.outputs, s)
	}
	for k := range a.outputs {
		if rank := len(a.outputs[k].shape); rank > maxRank {
			return &Error{Class: Failed, Op: opRun, Detail: fmt.Sprintf("output %d has %d dims, at most %d can be sent", k, rank, maxRank)}
		}
	}
	if h.bytes > frameBytes {
		return &Error{Class: Failed, Op: opRun, Detail: fmt.Sprintf("the outputs have %d bytes, at most %d can be sent", h.bytes, int64(frameBytes))}
	}
	_ = p.send(h, a.append(p.begin()), p.tail...) // a broken connection shows at the next frame
	clear(p.tail)
	return nil
}

// scratch is memory that grows to the largest need and stays: the backend's own
// kind, so that it need not copy again, else Go's.
type scratch struct {
	lender Lender
	data   []byte
	lent   bool
}

// get gives n bytes of any content.
func (s *scratch) get(n int64) []byte {
	if int64(len(s.data)) >= n {
		return s.data[:n:n]
	}
	s.free()
	if s.lender != nil {
		s.data = s.lender.Lend(int(n))
		s.lent = s.data != nil
	}
	if !s.lent {
		s.data = alignedBytes(n)
	}
	return s.data[:n:n]
}

func (s *scratch) free() {
	if s.lent {
		s.lender.TakeBack(s.data)
	}
	s.data, s.lent = nil, false
}
