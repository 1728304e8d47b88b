package infer

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

var little = binary.LittleEndian

func (o *order) append(b []byte) []byte {
	b = little.AppendUint64(b, uint64(o.left))
	b = little.AppendUint32(b, uint32(o.gear))
	b = append(b, bit(o.alloc))
	b = little.AppendUint16(b, uint16(len(o.inputs)))
	for i := range o.inputs {
		b = o.inputs[i].append(b)
	}
	b = little.AppendUint16(b, uint16(len(o.outputs)))
	for i := range o.outputs {
		b = little.AppendUint16(b, uint16(o.outputs[i].port))
		b = o.outputs[i].append(b)
	}
	return b
}

// read takes an order from a body, into the memory that o has. The places are
// checked against nothing yet.
func (o *order) read(body []byte) error {
	r := reader{rest: body}
	o.left = time.Duration(r.int64())
	o.gear = int(r.uint32())
	o.alloc = r.byte() != 0
	o.inputs = o.inputs[:0]
	for range r.uint16() {
		if r.failed {
			break
		}
		o.inputs = r.span(o.inputs, 0)
	}
	o.outputs = o.outputs[:0]
	for range r.uint16() {
		if r.failed {
			break
		}
		o.outputs = r.span(o.outputs, int(r.uint16()))
	}
	return r.end("run")
}

func (a *answer) append(b []byte) []byte {
	for _, d := range [...]time.Duration{a.times.CopyIn, a.times.Execute, a.times.CopyOut} {
		b = little.AppendUint64(b, uint64(d))
	}
	b = little.AppendUint64(b, uint64(a.moved.In))
	b = little.AppendUint64(b, uint64(a.moved.Out))
	b = little.AppendUint16(b, uint16(len(a.outputs)))
	for i := range a.outputs {
		b = a.outputs[i].append(b)
	}
	return b
}

// read is like order's; shapes are made anew, because they are given away.
func (a *answer) read(body []byte) error {
	r := reader{rest: body}
	a.times = Times{time.Duration(r.int64()), time.Duration(r.int64()), time.Duration(r.int64())}
	a.moved = Moved{r.int64(), r.int64()}
	a.outputs = a.outputs[:0]
	for range r.uint16() {
		if r.failed {
			break
		}
		if n := len(a.outputs); n < cap(a.outputs) {
			a.outputs[:n+1][n].shape = nil
		}
		a.outputs = r.span(a.outputs, 0)
	}
	if a.moved.In < 0 || a.moved.Out < 0 {
		return badFrame("negative bytes moved")
	}
	return r.end("answer")
}

func (s *span) append(b []byte) []byte {
	b = append(b, byte(s.dtype), byte(len(s.shape)))
	for _, d := range s.shape {
		b = little.AppendUint64(b, uint64(d))
	}
	b = little.AppendUint64(b, uint64(s.at))
	return little.AppendUint64(b, uint64(s.size))
}

// reader takes numbers from a body. Past its end it gives zeros and has failed.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.failed, r.rest = true, nil
		var none [8]byte
		return none[:n]
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return little.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return little.Uint32(r.take(4)) }
func (r *reader) int64() int64   { return int64(little.Uint64(r.take(8))) }

// span appends the next span to list and uses the memory of the shape that
// stood there before.
func (r *reader) span(list []span, port int) []span {
	if n := len(list); n < cap(list) {
		list = list[:n+1]
	} else {
		list = append(list, span{})
	}
	s := &list[len(list)-1]
	s.port, s.dtype, s.shape = port, ascend.DType(r.byte()), s.shape[:0]
	rank := int(r.byte())
	if cap(s.shape) < rank {
		s.shape = make([]int64, 0, rank)
	}
	for range rank {
		s.shape = append(s.shape, r.int64())
	}
	s.at, s.size = r.int64(), r.int64()
	if s.size < 0 || s.at < inline || s.at > math.MaxInt64-s.size {
		r.failed = true
	}
	return list
}

func (r *reader) end(what string) error {
	if r.failed || len(r.rest) > 0 {
		return badFrame("the body of a %s has a wrong length or place", what)
	}
	return nil
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
