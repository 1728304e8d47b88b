package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// RemoteOptions says how Connect reaches a worker; zero values are the
// defaults named here.
type RemoteOptions struct {
	// Dial connects to the worker. Shared memory needs *net.UnixConn.
	Dial  func(context.Context) (net.Conn, error)
	Model string // the name of the Hosted
	Lanes int    // batches at the worker at once; 4
	Arena int64  // bytes of shared memory for tensors; 0: all go through the socket
	// Grace is how long a call whose context ended still waits for the worker,
	// which then counts as hung. It has to be longer than any batch: most
	// devices cannot stop one. 30 s
	Grace time.Duration
}

// Remote is a backend in another process. Every batch has a connection of its
// own while it runs, so that none can be taken for another and none waits for
// another's bytes. When the worker dies, hangs or talks nonsense, every call
// that it held fails with class Lost and so does every later one: connect anew.
//
// Tensors travel over the socket, or lie in shared memory: in place when the
// caller has lent it, else they are moved there and back.
type Remote struct {
	o        RemoteOptions
	welcome  welcome
	arena    *arena // nil: none
	lanes    chan *lane
	all      []*lane
	watch    *watch
	ids      atomic.Uint64
	open     sync.RWMutex // read-held by every call, for ever held after Close
	isClosed atomic.Bool
	lost     atomic.Pointer[Error]
	gone     chan struct{}
}

// handshake is how long a worker may take to say what it has.
const handshake = 10 * time.Second

// Connect opens a backend on a worker, which has the time that ctx leaves, or
// 10 s, to answer. The error is an *Error: Lost when the worker cannot be
// reached, Reject when it does not have the model.
func Connect(ctx context.Context, o RemoteOptions) (*Remote, error) {
	if o.Lanes <= 0 {
		o.Lanes = 4
	}
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	r := &Remote{o: o, lanes: make(chan *lane, o.Lanes), gone: make(chan struct{})}
	if err := r.connect(ctx); err != nil {
		for _, l := range r.all {
			_ = l.conn.Close()
		}
		r.arena.close()
		if ctx.Err() != nil {
			return nil, canceled(opOpen, ctx.Err())
		}
		var own *Error
		if errors.As(err, &own) {
			return nil, own
		}
		return nil, &Error{Class: Lost, Op: opOpen, Detail: "the worker: " + err.Error(), Cause: err}
	}
	return r, nil
}

func (r *Remote) connect(ctx context.Context) error {
	var file *os.File
	if r.o.Arena > 0 {
		size := (r.o.Arena + 4095) &^ 4095
		mem, f, err := makeShared(size)
		if err != nil {
			return fmt.Errorf("shared memory: %w", err)
		}
		defer f.Close() // the worker has its own by then
		file, r.arena = f, newArena(mem, func() { unmapShared(mem) })
	}
	for range r.o.Lanes {
		l, err := r.dial(ctx, file)
		if err != nil {
			return err
		}
		r.lanes <- l
	}
	l, err := r.dial(ctx, nil) // of its own: a probe goes past any queue
	if err != nil {
		return err
	}
	r.watch = newWatch(r, l)
	return nil
}

// dial opens a connection and shakes hands on it.
func (r *Remote) dial(ctx context.Context, file *os.File) (*lane, error) {
	conn, err := r.o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	l := &lane{link: newLink(conn), home: r}
	r.all = append(r.all, l)
	if _, limited := ctx.Deadline(); !limited {
		if err := conn.SetDeadline(time.Now().Add(handshake)); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := l.hello(file); err != nil {
		return nil, err
	}
	w, err := l.welcome()
	if err != nil {
		return nil, err
	}
	if len(r.all) == 1 {
		r.welcome = *w
		r.welcome.Description.Pieces = r.arena == nil // a socket takes them one by one
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return l, conn.SetDeadline(time.Time{})
}

// welcome is the worker's answer to the hello.
func (l *lane) welcome() (*welcome, error) {
	h, body, err := l.receive()
	if err != nil {
		return nil, err
	}
	switch h.kind {
	case welcomeKind:
		w := new(welcome)
		return w, fromJSON(body, w)
	case failureKind:
		return nil, l.failure(opOpen, body)
	}
	return nil, badFrame("kind %d instead of a welcome", h.kind)
}

// hello asks for the model, and sends the shared memory when there is some.
func (l *lane) hello(file *os.File) error {
	hi := hello{Model: l.home.o.Model}
	if file == nil {
		return l.sendJSON(head{kind: helloKind}, hi)
	}
	hi.Arena = int64(len(l.home.arena.mem))
	conn, ok := l.conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("shared memory needs a unix socket, this is a %T", l.conn)
	}
	text, err := json.Marshal(hi)
	if err != nil {
		return err
	}
	return sendFile(conn, seal(head{kind: helloKind}, append(l.begin(), text...)), file)
}

// Describe tells what the worker has loaded.
func (r *Remote) Describe() Description { return r.welcome.Description }

// Costs is s(g) as the worker measured it.
func (r *Remote) Costs() []Cost { return r.welcome.Costs }

// PID is the worker's process.
func (r *Remote) PID() int { return r.welcome.PID }

// Shared tells whether there is shared memory for tensors.
func (r *Remote) Shared() bool { return r.arena != nil }

// Gone is closed when the worker is lost, also while no call is out; not by
// Close.
func (r *Remote) Gone() <-chan struct{} { return r.gone }

// Lend gives shared memory; see Lender.
func (r *Remote) Lend(size int) []byte {
	if r.lost.Load() != nil {
		return nil // a hung worker may still write to it
	}
	at, ok := r.arena.take(int64(size))
	if !ok {
		return nil
	}
	piece, _ := r.arena.at(at, int64(size))
	return piece
}

// TakeBack ends a loan; see Lender.
func (r *Remote) TakeBack(buf []byte) { r.arena.give(r.arena.place(buf[:1])) }

// enter lets a call in, unless the backend is closed or lost.
func (r *Remote) enter(op string) *Error {
	// Not a plain RLock: it would wait for ever behind Close.
	if r.isClosed.Load() || !r.open.TryRLock() {
		return closed(op)
	}
	if e := r.lost.Load(); e != nil {
		r.open.RUnlock()
		return e.of(op)
	}
	return nil
}

// of is a copy of e for another call.
func (e *Error) of(op string) *Error {
	c := *e
	c.Op = op
	return &c
}

// lose ends the backend for good; the first reason stays. Calls that are out
// see the end of a dead worker for themselves, and get their answers from one
// that leaves; only one that hangs or talks nonsense is cut off.
func (r *Remote) lose(why error) *Error {
	e := &Error{Class: Lost, Detail: "the worker: " + why.Error(), Cause: why}
	if r.lost.CompareAndSwap(nil, e) {
		close(r.gone)
	}
	if errors.Is(why, errFrame) || errors.Is(why, errHung) {
		for _, l := range r.all {
			_ = l.conn.Close()
		}
	}
	return r.lost.Load()
}

var errHung = errors.New("no answer to a call that ended")

// Run executes a batch in the worker; see Backend.
func (r *Remote) Run(ctx context.Context, b *Batch) error {
	b.Times = Times{}
	if err := r.enter(opRun); err != nil {
		return err
	}
	defer r.open.RUnlock()
	wanted, bad := checkBatch(&r.welcome.Description, b)
	if bad != nil {
		return bad
	}
	if err := ctx.Err(); err != nil {
		return canceled(opRun, err)
	}
	var l *lane
	select {
	case l = <-r.lanes:
	case <-ctx.Done():
		return canceled(opRun, ctx.Err())
	case <-r.gone:
		return r.lost.Load().of(opRun)
	}
	defer func() { r.lanes <- l }()
	if err := l.run(ctx, b, wanted); err != nil {
		return err
	}
	return nil
}

// Probe asks the device through the worker; see Backend.
func (r *Remote) Probe(ctx context.Context) error {
	if err := r.enter(opProbe); err != nil {
		return err
	}
	defer r.open.RUnlock()
	if err := ctx.Err(); err != nil {
		return canceled(opProbe, err)
	}
	return r.watch.probe(ctx)
}

// Close waits for the calls that are out and leaves the worker, which goes on.
func (r *Remote) Close() error {
	if r.isClosed.Swap(true) {
		return closed(opClose)
	}
	r.open.Lock() // and never unlocked: from here on no call gets in
	for _, l := range r.all {
		_ = l.conn.Close()
	}
	<-r.watch.done
	r.arena.close()
	return nil
}
