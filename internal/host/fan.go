package host

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Outcome is what came of one host.
type Outcome[T any] struct {
	Value T
	Err   error
}

// Each calls f for every host, at most parallel at a time (32 when zero), and
// gives the outcomes in the order of the hosts. limit, if not zero, is the time
// each host gets from its own start: f of a host that hangs hears it through
// its context, and its slot goes to the next one even if it does not listen.
// What was not started when ctx ended has its cause as Err.
func Each[H, T any](ctx context.Context, hosts []H, parallel int, limit time.Duration, f func(context.Context, H) (T, error)) []Outcome[T] {
	if parallel <= 0 {
		parallel = 32
	}
	out := make([]Outcome[T], len(hosts))
	slots := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, h := range hosts {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			out[i].Err = context.Cause(ctx)
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			out[i] = one(ctx, h, limit, f)
		})
	}
	all.Wait()
	return out
}

// deaf is how long after its limit a host may take to notice it.
const deaf = 5 * time.Second

func one[H, T any](ctx context.Context, h H, limit time.Duration, f func(context.Context, H) (T, error)) Outcome[T] {
	if limit <= 0 {
		v, err := f(ctx, h)
		return Outcome[T]{v, err}
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer stop()
	done := make(chan Outcome[T], 1)
	go func() {
		v, err := f(ctx, h)
		done <- Outcome[T]{v, err}
	}()
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o
	case <-time.After(deaf):
		var o Outcome[T]
		o.Err = fmt.Errorf("%w, and it does not stop", context.Cause(ctx))
		return o
	}
}
