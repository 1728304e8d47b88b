package infer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Hosted is a model that a worker gives to fronts. Costs is s(g) from its
// warm-up, nil when that was not measured.
type Hosted struct {
	Name    string
	Backend Backend
	Costs   []Cost
}

// WorkerOptions bound a worker; zero values are the defaults named here.
type WorkerOptions struct {
	MaxBytes int64 // of the tensors that one batch sends through the socket; 1 GiB
}

// ServeWorker answers fronts on l until ctx ends; then it takes no more
// batches, answers those that run and returns nil. Any other end is an error of
// the listener. The backends stay the caller's. A batch ends early when its
// front cancels it or goes away.
func ServeWorker(ctx context.Context, l net.Listener, models []Hosted, o WorkerOptions) error {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 30
	}
	o.MaxBytes = min(o.MaxBytes, frameBytes)
	w := &worker{models: models, o: o}
	var posts sync.WaitGroup
	defer posts.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		posts.Go(func() { w.attend(ctx, conn) })
	}
}

type worker struct {
	models []Hosted
	o      WorkerOptions
}

func (w *worker) find(name string) (*Hosted, *Error) {
	names := make([]string, len(w.models))
	for i := range w.models {
		if w.models[i].Name == name {
			return &w.models[i], nil
		}
		names[i] = w.models[i].Name
	}
	return nil, reject(opOpen, "the worker has no model %q, it has %q", name, names)
}

// attend serves one connection to its end.
func (w *worker) attend(ctx context.Context, conn net.Conn) {
	p := &post{link: newLink(conn), worker: w}
	defer p.leave()
	if err := p.greet(); err != nil {
		p.complain(err)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err := p.listen()
	if ctx.Err() == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		p.abandon()
		p.complain(err)
	}
}

// complain tells the front what it did wrong; nothing when it merely left.
func (p *post) complain(err error) {
	var own *Error
	if !errors.As(err, &own) {
		if !errors.Is(err, errFrame) {
			return
		}
		own = &Error{Class: Lost, Op: opRun, Detail: err.Error()}
	}
	_ = p.conn.SetWriteDeadline(time.Now().Add(time.Second))
	p.busy.Wait()
	_ = p.sendJSON(head{kind: failureKind}, own)
}

// greet takes the hello and answers it.
func (p *post) greet() error {
	if err := p.conn.SetDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	var file *os.File
	var err error
	if unix, ok := p.conn.(*net.UnixConn); ok {
		if file, err = receiveFile(unix, p.in[:frameBlock]); err != nil {
			return err
		}
		if file != nil {
			defer file.Close()
		}
	} else if _, err = io.ReadFull(p.conn, p.in[:frameBlock]); err != nil {
		return err
	}
	h, body, err := p.rest()
	if err != nil {
		return err
	}
	var hi hello
	if h.kind != helloKind {
		return badFrame("kind %d instead of a hello", h.kind)
	}
	if err := fromJSON(body, &hi); err != nil {
		return err
	}
	if err := p.settle(hi, file); err != nil {
		return err
	}
	return p.conn.SetDeadline(time.Time{})
}

// settle finds what the front wants and welcomes it.
func (p *post) settle(hi hello, file *os.File) error {
	hosted, unknown := p.worker.find(hi.Model)
	if unknown != nil {
		return unknown
	}
	p.hosted, p.desc = hosted, hosted.Backend.Describe()
	if file != nil {
		mem, err := openShared(file, hi.Arena)
		if err != nil {
			return reject(opOpen, "the shared memory: %v", err)
		}
		p.shared = &region{mem}
	}
	p.equip()
	_, lends := hosted.Backend.(Lender)
	return p.sendJSON(head{kind: welcomeKind}, welcome{
		Description: p.desc,
		Costs:       hosted.Costs,
		PID:         os.Getpid(),
		Lends:       lends,
		MaxBytes:    p.worker.o.MaxBytes,
	})
}

// listen takes frames until the connection ends.
func (p *post) listen() error {
	for {
		h, body, err := p.receive()
		if err != nil {
			return err
		}
		switch h.kind {
		case runKind:
			p.busy.Wait() // at an honest front it is free
			ctx, err := p.load(h, body)
			if err != nil {
				return err
			}
			p.busy.Go(func() { p.execute(ctx, h.id) })
		case cancelKind:
			p.cancelled(h.id)
		case probeKind:
			p.busy.Wait()
			ctx := p.running(h.id, 0)
			p.busy.Go(func() { p.probe(ctx, h.id) })
		default:
			return badFrame("kind %d from a front", h.kind)
		}
	}
}

func (p *post) probe(ctx context.Context, id uint64) {
	err := p.hosted.Backend.Probe(ctx)
	p.over()
	if err != nil {
		_ = p.sendJSON(head{kind: failureKind, id: id}, asError(opProbe, err))
		return
	}
	_ = p.send(head{kind: aliveKind, id: id}, p.begin())
}

// asError is what a backend said; they all say *Error.
func asError(op string, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return &Error{Class: Failed, Op: op, Detail: fmt.Sprint(err)}
}
