package engine

import (
	"sync"
	"time"
)

// handClock is a clock that a test moves.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*handTimer
}

type handTimer struct {
	at time.Time
	f  func()
}

func newHandClock() *handClock { return &handClock{now: t0} }

func (c *handClock) clock() Clock { return Clock{Now: c.Now, AfterFunc: c.after} }

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) after(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return func() bool { return c.drop(t) }
}

func (c *handClock) drop(t *handTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.timers {
		if o == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return true
		}
	}
	return false
}

// move lets d pass, timer by timer.
func (c *handClock) move(d time.Duration) {
	end := c.Now().Add(d)
	for {
		c.mu.Lock()
		var next *handTimer
		for _, t := range c.timers {
			if !t.at.After(end) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			c.now = end
			c.mu.Unlock()
			return
		}
		if next.at.After(c.now) {
			c.now = next.at
		}
		c.mu.Unlock()
		if c.drop(next) {
			next.f()
		}
	}
}
