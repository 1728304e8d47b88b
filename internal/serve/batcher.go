package serve

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// What the queue answers instead of a result.
var (
	errQueueFull = errors.New("the queue of the model is full")
	errTimeout   = errors.New("the timeout of the request passed while it was queued")
	errDraining  = errors.New("the service is draining")
)

// grace is how much longer close waits for runs after its context has ended.
const grace = 2 * time.Second

// job is one request on its way through the queue. Its inputs may alias the
// request body: nobody touches them once do has returned.
type job struct {
	ctx    context.Context // the client's: ends the run when all of a batch are gone
	wait   context.Context // ctx and the timeout: ends the queueing only
	inputs []oip.Tensor
	want   []int // outputs as indices of the signature, in the order of the answer
	rows   int   // axis 0 of every input; 0 when the job cannot share a batch
	queued time.Time
	turn   chan *lane // the lane to lead, or nil: the answer is there

	outputs []oip.Tensor // valid until release
	run     *run         // owns the memory behind outputs
	err     error
	waited  time.Duration // in the queue
	took    time.Duration // in the backend
	times   infer.Times
	shared  int // rows of the batch it ran in

	// Room for what nearly every request has, in the one allocation of the job.
	members  [1]*job
	wantRoom [4]int
	outRoom  [4]oip.Tensor
	binary   [4]bool
}

// release gives the memory of the outputs back.
func (j *job) release() {
	if j.run != nil {
		j.run.done()
		j.run, j.outputs = nil, nil
	}
}

// lane is the right to have one batch on the backend.
type lane struct {
	since time.Time // the start of its run; zero: idle
}

// batcher is the queue of one model. It has no goroutine and no timer: the
// goroutine of a request runs its own batch. Whoever finds a lane free runs at
// once; whoever does not, queues; and a lane that becomes free is given to the
// head of the queue, which takes along what may share its batch by then. So a
// busy backend collects batches and an idle one never waits for them.
type batcher struct {
	backend infer.Backend
	lender  infer.Lender // nil: the backend has no memory to lend
	sig     oip.Signature
	desc    infer.Description
	now     func() time.Time
	seen    *stats
	pool    *pool
	runs    sync.Pool

	mu      sync.Mutex
	maxRows int // rows of a batch; 1: requests run alone
	limit   int // queued requests
	queue   []*job
	free    []*lane
	lanes   []*lane
	closed  bool          // drained: no new jobs
	dead    bool          // aborted: no new runs
	idle    chan struct{} // closed when closed and nothing is left
}

func newBatcher(backend infer.Backend, now func() time.Time, seen *stats, p *pool, maxRows, lanes, limit int) *batcher {
	b := &batcher{
		backend: backend, sig: backend.Describe().Signature, desc: backend.Describe(), now: now, seen: seen, pool: p,
		maxRows: maxRows, limit: limit, idle: make(chan struct{}),
	}
	b.lender, _ = backend.(infer.Lender)
	for range lanes {
		b.lanes = append(b.lanes, &lane{})
	}
	b.free = slices.Clone(b.lanes)
	return b
}

// do runs a job and returns its error; after nil the caller releases the job.
func (b *batcher) do(j *job) error {
	j.queued = b.now()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return errDraining
	}
	if n := len(b.free); n > 0 { // then nobody waits, see leave
		l := b.free[n-1]
		b.free = b.free[:n-1]
		l.since = j.queued
		b.mu.Unlock()
		b.lead(l, append(j.members[:0], j))
		return j.err
	}
	if len(b.queue) >= b.limit {
		b.mu.Unlock()
		return errQueueFull
	}
	j.turn = make(chan *lane, 1)
	b.queue = append(b.queue, j)
	b.mu.Unlock()

	var l *lane
	select {
	case l = <-j.turn:
	case <-j.wait.Done():
		if b.withdraw(j) {
			return context.Cause(j.wait)
		}
		l = <-j.turn // already chosen: its inputs are in use until this comes
	}
	if l != nil {
		b.lead(l, b.take(l, j))
	}
	return j.err
}

// withdraw takes a job out of the queue; false when it is no longer there.
func (b *batcher) withdraw(j *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.queue, j)
	if i < 0 {
		return false
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	return true
}

// lead runs a batch on lane l, passes the lane on and wakes the members but the
// first, which is the caller.
func (b *batcher) lead(l *lane, members []*job) {
	defer func() { // also when the backend panics: a lane must never get lost
		b.leave(l)
		for i := 1; i < len(members); i++ {
			members[i].turn <- nil
		}
	}()
	if len(members) > 0 {
		b.execute(l, members)
	}
}

// take is the policy: j and, in order of arrival, whoever waits and may share
// its batch. A job that does not fit is passed over; as the head is always
// taken, nobody starves. Nothing is taken when j ended between being chosen and
// waking up.
func (b *batcher) take(l *lane, j *job) []*job {
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case j.wait.Err() != nil:
		j.err = context.Cause(j.wait)
		return nil
	case b.dead:
		j.err = errDraining
		return nil
	}
	l.since = now
	members, rows := append(j.members[:0], j), j.rows
	if rows == 0 || rows >= b.maxRows || len(b.queue) == 0 {
		return members
	}
	rest := b.queue[:0]
	for _, q := range b.queue {
		if rows+q.rows <= b.maxRows && q.wait.Err() == nil && joinable(j, q) {
			members, rows = append(members, q), rows+q.rows
		} else {
			rest = append(rest, q)
		}
	}
	clear(b.queue[len(rest):])
	b.queue = rest
	return members
}

// joinable tells whether the rows of two jobs can stand in one batch: their
// shapes agree but for axis 0.
func joinable(a, b *job) bool {
	if b.rows == 0 {
		return false
	}
	for i := range a.inputs {
		if !slices.Equal(a.inputs[i].Shape[1:], b.inputs[i].Shape[1:]) {
			return false
		}
	}
	return true
}

// leave ends a batch: the lane goes to the head of the queue. Only when nobody
// waits it becomes free, and only when none is free anybody waits.
func (b *batcher) leave(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.since = time.Time{}
	if len(b.queue) > 0 {
		head := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		head.turn <- l
		return
	}
	b.free = append(b.free, l)
	b.settle()
}

// settle announces that nothing is left. Called with the lock held.
func (b *batcher) settle() {
	if b.closed && len(b.free) == len(b.lanes) {
		select {
		case <-b.idle:
		default:
			close(b.idle)
		}
	}
}

// alone ends the sharing of batches, for good.
func (b *batcher) alone() {
	b.mu.Lock()
	b.maxRows = 1
	b.mu.Unlock()
}

// state tells how many requests wait and since when the oldest run is out.
func (b *batcher) state() (queued int, oldest time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes {
		if !l.since.IsZero() && (oldest.IsZero() || l.since.Before(oldest)) {
			oldest = l.since
		}
	}
	return len(b.queue), oldest
}

// drain refuses new jobs; those that are in go on.
func (b *batcher) drain() {
	b.mu.Lock()
	b.closed = true
	b.settle()
	b.mu.Unlock()
}

// close drains and waits until nothing is left. When ctx ends first, the queued
// are refused, which cut counts, and the running get a little longer; stuck
// counts those that are out even then. A run ends with the contexts of its
// clients: whoever wants it to end cuts them before.
func (b *batcher) close(ctx context.Context) (cut, stuck int) {
	b.drain()
	select {
	case <-b.idle:
		return 0, 0
	case <-ctx.Done():
	}
	cut = b.abort()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-b.idle:
		return cut, 0
	case <-patience.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return cut, len(b.lanes) - len(b.free)
}

// abort refuses the queued and counts them.
func (b *batcher) abort() (cut int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.queue {
		j.err = errDraining
		j.turn <- nil
		cut++
	}
	b.queue, b.dead = nil, true
	return cut
}
