package infer

import (
	"context"
	"sync/atomic"
)

// watch is the connection for probes. It always listens, so that the end of the
// worker is seen while nothing else is going on.
type watch struct {
	home  *Remote
	link  *lane
	turn  chan struct{} // full while a question is out
	asked atomic.Pointer[chan error]
	done  chan struct{}
}

func newWatch(home *Remote, l *lane) *watch {
	w := &watch{home: home, link: l, turn: make(chan struct{}, 1), done: make(chan struct{})}
	go w.listen()
	return w
}

func (w *watch) listen() {
	defer close(w.done)
	for {
		h, body, err := w.link.receive()
		if err == nil {
			err = w.answered(h, body)
		}
		if err != nil {
			if !w.home.isClosed.Load() {
				w.home.lose(err)
			}
			return
		}
	}
}

func (w *watch) answered(h head, body []byte) error {
	var result error
	switch h.kind {
	case aliveKind:
	case failureKind:
		result = w.link.failure(opProbe, body)
	default:
		return badFrame("kind %d as the answer of a probe", h.kind)
	}
	asked := w.asked.Swap(nil)
	if asked == nil {
		return badFrame("an answer to no question")
	}
	*asked <- result
	<-w.turn
	return nil
}

// probe asks and waits. A question whose asker left stays out: until it is
// answered the next ones wait behind it, however many come.
func (w *watch) probe(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return canceled(opProbe, ctx.Err())
	case <-w.home.gone:
		return w.home.lost.Load().of(opProbe)
	}
	back := make(chan error, 1)
	w.asked.Store(&back)
	if err := w.link.send(head{kind: probeKind, id: w.home.ids.Add(1)}, w.link.begin()); err != nil {
		return w.home.lose(err).of(opProbe)
	}
	select {
	case err := <-back:
		return err
	case <-ctx.Done():
		return canceled(opProbe, ctx.Err())
	case <-w.home.gone:
		return w.home.lost.Load().of(opProbe)
	}
}
