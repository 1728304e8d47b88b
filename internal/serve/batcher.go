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

// grace is how long a cancelled run may take to come back before Close gives
// it up.
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

	members [1]*job // saves an allocation where it runs alone
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
	since  time.Time // zero: idle
	cancel context.CancelFunc
}

// batcher is the queue of one model. It has no goroutine and no timer: the
// goroutine of a request runs its own batch. Whoever finds a lane free runs at
// once; whoever does not, queues; and a lane that becomes free is given to the
// head of the queue, which takes along what may share its batch by then. So a
// busy backend collects batches and an idle one never waits for them.
type batcher struct {
	backend infer.Backend
	sig     oip.Signature
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
		backend: backend, sig: backend.Describe().Signature, now: now, seen: seen, pool: p,
		maxRows: maxRows, limit: limit, idle: make(chan struct{}),
	}
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
		b.mu.Unlock()
		b.lead(l, j)
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
		b.lead(l, j)
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

// lead runs the batch of j on lane l, passes the lane on and wakes the others.
func (b *batcher) lead(l *lane, j *job) {
	members, ctx := b.take(l, j)
	defer func() { // also when the backend panics: a lane must never get lost
		b.leave(l)
		for i := 1; i < len(members); i++ {
			members[i].turn <- nil
		}
	}()
	if members != nil {
		b.execute(ctx, l, members)
	}
}

// take is the policy: j and, in order of arrival, whoever waits and may share
// its batch. A job that does not fit is passed over; as the head is always
// taken, nobody starves. Nothing is taken when j ended between being chosen and
// waking up.
func (b *batcher) take(l *lane, j *job) ([]*job, context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case j.wait.Err() != nil:
		j.err = context.Cause(j.wait)
		return nil, nil
	case b.dead:
		j.err = errDraining
		return nil, nil
	}
	members, rows := append(j.members[:0], j), j.rows
	if rows > 0 && rows < b.maxRows && len(b.queue) > 0 {
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
	}
	parent := j.ctx
	if len(members) > 1 {
		parent = context.Background() // no member may end the run of the others
	}
	return members, b.enter(l, parent)
}

// enter notes the start of a run, for the watchdog and for abort. Called with
// the lock held.
func (b *batcher) enter(l *lane, parent context.Context) context.Context {
	if l.cancel != nil {
		l.cancel()
	}
	ctx, cancel := context.WithCancel(parent)
	l.since, l.cancel = b.now(), cancel
	if b.dead {
		cancel()
	}
	return ctx
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
	if l.cancel != nil {
		l.cancel()
	}
	l.since, l.cancel = time.Time{}, nil
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
// are refused and the running cancelled: cut counts both, stuck those runs that
// did not come back even then.
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

// abort refuses the queued, cancels the running and counts them.
func (b *batcher) abort() (cut int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.queue {
		j.err = errDraining
		j.turn <- nil
		cut++
	}
	b.queue, b.dead = nil, true
	for _, l := range b.lanes {
		if l.cancel != nil {
			l.cancel()
			cut++
		}
	}
	return cut
}
