package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/infer"
)

// patience is how long a readiness request waits for the device to answer.
const patience = 2 * time.Second

// Ready is nil when every model is loaded, moving, and answered in the last
// interval; otherwise the error says in English which is not and why.
func (s *Service) Ready() error {
	for _, m := range s.models {
		if err := s.ready(m); err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
	}
	return nil
}

// ready is Ready for one model. It never asks through the queue: under load
// that would say "dead" of a device that is merely busy.
func (s *Service) ready(m *model) error {
	l := m.live.Load()
	if s.draining.Load() {
		return errDraining
	}
	if l == nil {
		return errLoading
	}
	last, lost := m.seen.progress()
	if lost != nil {
		return fmt.Errorf("its device is lost: %w", lost)
	}
	if d, ok := l.backend.(devices); ok {
		if err := d.Ready(); err != nil {
			return err
		}
	}
	now := s.now()
	if _, since := l.queue.state(); !since.IsZero() && now.Sub(since) > s.cfg.Watchdog {
		return fmt.Errorf("a run has not come back for %s", now.Sub(since).Round(time.Second))
	}
	if now.Sub(last) <= s.cfg.Probe {
		return nil
	}
	if err := l.probe.ask(l.backend); err != nil {
		return fmt.Errorf("its device does not answer: %w", err)
	}
	m.seen.moved()
	return nil
}

// errLoading is the state before Start is through.
var errLoading = errors.New("still loading")

// prober asks a backend whether it answers, never twice at a time: a device
// that hangs must not collect a goroutine from every readiness request.
type prober struct {
	mu   sync.Mutex
	done chan struct{} // nil: no question is out
	err  error
}

func (p *prober) ask(b infer.Backend) error {
	p.mu.Lock()
	done := p.done
	if done == nil {
		done = make(chan struct{})
		p.done = done
		go p.probe(b, done)
	}
	p.mu.Unlock()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		return fmt.Errorf("no answer within %s", patience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *prober) probe(b infer.Backend, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := b.Probe(ctx)
	p.mu.Lock()
	p.err, p.done = err, nil
	p.mu.Unlock()
	close(done)
}
