package infer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// wire is a connection that gives what was written to it, or what a test put in.
type wire struct {
	bytes.Buffer
	net.Conn
}

func (w *wire) Read(p []byte) (int, error)     { return w.Buffer.Read(p) }
func (w *wire) Write(p []byte) (int, error)    { return w.Buffer.Write(p) }
func (*wire) Close() error                     { return nil }
func (*wire) SetDeadline(time.Time) error      { return nil }
func (*wire) SetReadDeadline(time.Time) error  { return nil }
func (*wire) SetWriteDeadline(time.Time) error { return nil }
func (w *wire) put(h head, body []byte) *wire {
	w.Write(seal(h, append(make([]byte, frameHead), body...)))
	return w
}
func (w *wire) with(tensors ...byte) *wire { w.Write(tensors); return w }
func (w *wire) spoil(at int, b byte) *wire { w.Buffer.Bytes()[at] = b; return w }
func orderBody(o order) []byte             { return o.append(nil) }
func answerBody(a answer) []byte           { return a.append(nil) }
func floatsAt(at int64, rows int64) span {
	return span{dtype: ascend.Float, shape: []int64{rows, 4}, at: at, size: 16 * rows}
}
func intsAt(at int64, rows int64) span {
	return span{dtype: ascend.Int64, shape: []int64{rows, 2}, at: at, size: 16 * rows}
}
func outAt(port int, at, room int64) (s span)   { return span{port: port, at: at, size: room} }
func twinsOrder(ins []span, outs ...span) order { return order{inputs: ins, outputs: outs} }

func TestFramesCrossUnchanged(t *testing.T) {
	long := strings.Repeat("x", 3*frameBlock)
	for _, body := range []string{"", "a", long[:frameBlock-frameHead], long[:frameBlock-frameHead+1], long} {
		w := &wire{}
		l := newLink(w)
		sent := head{runKind, math.MaxUint64, 5}
		for range 2 { // the second in the memory of the first
			if err := l.send(sent, append(l.begin(), body...), []byte("ab"), nil, []byte("cde")); err != nil {
				t.Fatal(err)
			}
			h, got, err := l.receive()
			if err != nil || h != sent || string(got) != body {
				t.Fatalf("body of %d: got %+v, %d bytes, %v", len(body), h, len(got), err)
			}
			tensors := make([]byte, 5)
			if _, err := io.ReadFull(w, tensors); err != nil || string(tensors) != "abcde" || w.Len() != 0 {
				t.Fatalf("tensors %q, %d bytes left, %v", tensors, w.Len(), err)
			}
		}
	}
	l := newLink(&wire{})
	if err := l.send(head{kind: runKind}, append(l.begin(), make([]byte, frameBody+1)...)); !errors.Is(err, errFrame) {
		t.Errorf("a body too long: %v", err)
	}
}

func TestBodiesCrossUnchanged(t *testing.T) {
	o := order{left: 7, gear: 3, alloc: true,
		inputs:  []span{{dtype: ascend.Int8, shape: []int64{1, -2, math.MaxInt64}, at: 64, size: 9}, {dtype: ascend.String, at: inline}},
		outputs: []span{{port: 2, shape: []int64{}, at: inline, size: 1 << 40}}}
	var got order
	for range 2 {
		if err := got.read(orderBody(o)); err != nil {
			t.Fatal(err)
		}
		if string(orderBody(got)) != string(orderBody(o)) || got.outputs[0].port != 2 || got.left != 7 || got.gear != 3 || !got.alloc {
			t.Errorf("got %+v, want %+v", got, o)
		}
	}
	a := answer{times: Times{1, 2, 3}, moved: Moved{4, 5}, outputs: o.inputs}
	var back answer
	if err := back.read(answerBody(a)); err != nil || back.times != a.times || back.moved != a.moved {
		t.Fatalf("got %+v, %v", back, err)
	}
	first := back.outputs[0].shape
	if err := back.read(answerBody(answer{outputs: []span{{shape: []int64{8, 8, 8}}}})); err != nil || first[2] != math.MaxInt64 {
		t.Errorf("a shape given away was overwritten: %d, %v", first, err)
	}
}

// TestBadFramesAreNamed: what a worker says to a front that talks nonsense, and
// that it then goes on for others.
func TestBadFramesAreNamed(t *testing.T) {
	ins := []span{floatsAt(inline, 1), intsAt(inline, 1)}
	run := func(o order, bytes int64) *wire { return new(wire).put(head{runKind, 1, bytes}, orderBody(o)) }
	for name, c := range map[string]struct {
		wire *wire
		want string
	}{
		"other magic":          {run(twinsOrder(ins, outAt(0, inline, 16)), 32).spoil(0, 'X'), "it begins with"},
		"other version":        {run(twinsOrder(ins, outAt(0, inline, 16)), 32).spoil(2, 9), "version 9, this side speaks 1"},
		"unknown kind":         {run(twinsOrder(ins), 32).spoil(3, 77), "kind 77"},
		"a worker's kind":      {new(wire).put(head{kind: answerKind}, nil), "kind 4 from a front"},
		"a huge body":          {run(twinsOrder(ins), 32).spoil(7, 0xff), "the most is"},
		"bytes behind a probe": {new(wire).put(head{probeKind, 1, 1}, nil), "1 bytes of tensors behind kind 7"},
		"negative bytes":       {run(twinsOrder(ins), 32).spoil(23, 0x80), "bytes of tensors"},
		"a cut order":          {new(wire).put(head{runKind, 1, 0}, orderBody(twinsOrder(ins))[:20]), "wrong length"},
		"a long order":         {new(wire).put(head{runKind, 1, 0}, append(orderBody(twinsOrder(ins)), 0)), "wrong length"},
		"an input too few":     {run(twinsOrder(ins[:1], outAt(0, inline, 16)), 16), "1 inputs and 1 outputs, the model has 2 and 2"},
		"an output too many":   {run(twinsOrder(ins, outAt(0, inline, 0), outAt(1, inline, 0), outAt(1, inline, 0)), 32), "2 inputs and 3 outputs"},
		"an unknown output":    {run(twinsOrder(ins, outAt(2, inline, 16)), 32).with(make([]byte, 32)...), "output 2"},
		"other bytes":          {run(twinsOrder(ins, outAt(0, inline, 16)), 33), "33 bytes behind an order of 32"},
		"too many bytes":       {run(twinsOrder([]span{floatsAt(inline, 1<<20), ins[1]}, outAt(0, inline, 16)), 16<<20+16), "more than 4096"},
		"an input outside":     {run(twinsOrder([]span{floatsAt(4090, 1), ins[1]}, outAt(0, inline, 16)), 16).with(make([]byte, 16)...), "input 0 is not in the shared memory"},
		"an output outside":    {run(twinsOrder(ins, outAt(0, 4081, 16)), 32).with(make([]byte, 32)...), "output 0 is not in the shared memory"},
		"a place before":       {run(twinsOrder(ins, outAt(0, -2, 16)), 32), "wrong length or place"},
		"a place far behind":   {run(twinsOrder(ins, outAt(0, math.MaxInt64, 16)), 32), "wrong length or place"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t)
			p.conn = c.wire
			err := p.listen()
			p.busy.Wait()
			if !errors.Is(err, errFrame) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			c.wire.Reset()
			p.complain(err)
			h, body, err := newLink(c.wire).receive()
			if err != nil || h.kind != failureKind || !bytes.Contains(body, []byte(`"class":"lost"`)) {
				t.Errorf("the front is told %+v %s, %v", h, body, err)
			}
		})
	}
}

// newPost is the worker's end of a connection after the greeting, with 4096
// bytes of memory that stand for shared ones and a simulated model.
func newPost(t testing.TB) *post {
	b := openSim(t, SimOptions{})
	p := &post{link: newLink(nil), worker: &worker{o: WorkerOptions{MaxBytes: 4096}}, hosted: &Hosted{Name: "m", Backend: b}, desc: b.Describe()}
	p.shared = &region{alignedBytes(4096)}
	p.equip()
	return p
}

// newLane is the front's, whose order asks for two outputs: one of 16 bytes
// through the socket and one of 32 in shared memory.
func newLane() (*lane, *Batch) {
	r := &Remote{gone: make(chan struct{}), arena: newArena(alignedBytes(4096), func() {})}
	l := &lane{link: newLink(nil), home: r}
	l.order = order{outputs: []span{outAt(0, inline, 16), outAt(1, 64, 32)}}
	return l, &Batch{Outputs: twinsBatch(1, 1).Outputs}
}

// TestBadAnswersAreNoResult: what the front makes of a worker that errs.
func TestBadAnswersAreNoResult(t *testing.T) {
	good := []span{floatsAt(inline, 1), intsAt(64, 1)}
	other := func(s ...span) answer { return answer{outputs: s} }
	for name, c := range map[string]struct {
		answer answer
		bytes  int64
		want   string
	}{
		"right":             {other(good...), 16, ""},
		"an output missing": {other(good[0]), 16, "1 outputs, expected 2"},
		"another place":     {other(good[0], intsAt(128, 1)), 16, "output 1 has 16 bytes at 128"},
		"longer than room":  {other(floatsAt(inline, 2), good[1]), 32, "output 0 has 32 bytes"},
		"beyond the place":  {other(good[0], intsAt(64, 3)), 16, "output 1 has 48 bytes"},
		"bytes missing":     {other(good...), 15, "output 0"},
		"bytes left":        {other(good...), 17, "1 bytes too many"},
		"another length":    {other(span{dtype: ascend.Float, shape: []int64{3}, at: inline, size: 16}, good[1]), 16, "16 bytes for shape [3]"},
		"an unknown type":   {other(span{dtype: 99, shape: []int64{4}, at: inline, size: 16}, good[1]), 16, "16 bytes for shape [4]"},
		"a negative dim":    {other(span{dtype: ascend.Float, shape: []int64{-4, -1}, at: inline, size: 16}, good[1]), 16, "shape [-4 -1]"},
		"moved less than 0": {answer{moved: Moved{-1, 0}, outputs: good}, 16, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := newLane()
			l.conn = new(wire).with(make([]byte, 64)...)
			err, broken := l.take(b, head{answerKind, 1, c.bytes}, answerBody(c.answer))
			switch {
			case err != nil:
				t.Errorf("the caller's error %v", err)
			case c.want == "" && broken != nil:
				t.Error(broken)
			case c.want != "" && (!errors.Is(broken, errFrame) || !strings.Contains(broken.Error(), c.want)):
				t.Errorf("got %v, want %q", broken, c.want)
			}
		})
	}
}

// TestFrontTellsWhatTheWorkerDidNotUnderstand: the complaint of the worker
// reaches whoever runs a batch, and no later batch trusts the connection.
func TestFrontTellsWhatTheWorkerDidNotUnderstand(t *testing.T) {
	for want, reply := range map[string]*wire{
		"it says: kind 77":              new(wire).put(head{kind: failureKind}, []byte(`{"class":"lost","op":"Run","detail":"kind 77"}`)),
		"the answer of call 9":          new(wire).put(head{kind: answerKind, id: 9}, nil),
		"kind 8 as the answer of a run": new(wire).put(head{kind: aliveKind, id: 1}, nil),
		"a failure of 2 bytes":          new(wire).put(head{kind: failureKind, id: 1}, []byte("{}")),
		"EOF":                           new(wire),
	} {
		l, b := newLane()
		l.home.arena = nil
		l.conn = struct {
			io.Reader
			*answers
		}{reply, &answers{&wire{}}}
		e := wantClass(t, l.run(t.Context(), b, []int{0, 1}), Lost)
		if !strings.Contains(e.Detail, want) || l.home.lost.Load() == nil {
			t.Errorf("got %v, want %q", e, want)
		}
	}
}

func FuzzBody(f *testing.F) {
	o := order{left: 5, gear: 1, inputs: []span{floatsAt(inline, 2), intsAt(0, 2)}, outputs: []span{outAt(1, 64, 32)}}
	f.Add(orderBody(o))
	f.Add(answerBody(answer{outputs: o.inputs}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		var o, o2 order
		if err := o.read(body); err == nil {
			if err := o2.read(orderBody(o)); err != nil || !reflect.DeepEqual(o, o2) {
				t.Fatalf("%+v came back as %+v, %v", o, o2, err)
			}
		} else if !errors.Is(err, errFrame) {
			t.Fatal(err)
		}
		var a, a2 answer
		if err := a.read(body); err == nil {
			if err := a2.read(answerBody(a)); err != nil || !reflect.DeepEqual(a, a2) {
				t.Fatalf("%+v came back as %+v, %v", a, a2, err)
			}
		}
	})
}

// FuzzWorker feeds a worker whatever a front could send after the greeting; it
// ends with an error, and answers only with frames.
func FuzzWorker(f *testing.F) {
	o := twinsOrder([]span{floatsAt(inline, 1), intsAt(64, 1)}, outAt(1, 128, 16), outAt(0, inline, 16))
	good := new(wire).put(head{runKind, 1, 16}, orderBody(o)).with(make([]byte, 16)...)
	good.put(head{kind: cancelKind, id: 1}, nil).put(head{kind: probeKind, id: 2}, nil)
	f.Add(good.Bytes())
	f.Add(new(wire).put(head{runKind, 3, 0}, orderBody(order{})).Bytes())
	p := newPost(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		out := &wire{}
		p.conn = struct {
			io.Reader
			*answers
		}{bytes.NewReader(sent), &answers{out}}
		if err := p.listen(); err == nil {
			t.Fatal("no end")
		}
		p.busy.Wait()
		for l := newLink(out); out.Len() > 0; {
			h, _, err := l.receive()
			if err == nil {
				_, err = io.CopyN(io.Discard, out, h.bytes)
			}
			if err != nil {
				t.Fatalf("answered with no frame: %v", err)
			}
		}
	})
}

// answers is the half of a connection that is written to.
type answers struct{ *wire }

// FuzzAnswer feeds a front whatever a worker could answer.
func FuzzAnswer(f *testing.F) {
	f.Add(answerBody(answer{outputs: []span{floatsAt(inline, 1), intsAt(64, 1)}}), int64(16), false)
	f.Add(answerBody(answer{outputs: []span{floatsAt(inline, 4), intsAt(inline, 1)}}), int64(80), true)
	f.Fuzz(func(t *testing.T, body []byte, bytes int64, alloc bool) {
		l, b := newLane()
		l.conn = new(wire).with(make([]byte, 256)...)
		if l.order.alloc = alloc; alloc {
			b.Alloc = func(_ int, size int64) ([]byte, error) {
				if size > bytes {
					t.Fatalf("%d bytes asked for, %d came", size, bytes)
				}
				if size > 1<<20 {
					return nil, context.DeadlineExceeded
				}
				return make([]byte, size), nil
			}
		}
		if bytes < 0 || bytes > frameBytes {
			return // readHead refuses it
		}
		if err, broken := l.take(b, head{answerKind, 1, bytes}, body); err == nil && broken == nil {
			for k := range b.Outputs {
				if !honest(&b.Outputs[k]) {
					t.Errorf("gave %+v", b.Outputs[k])
				}
			}
		}
	})
}
