//go:build cgo && linux

package acl

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func lane(t *testing.T, l *Library) *Lane {
	t.Helper()
	n, err := l.Lane(0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// do runs f on a lane of a fresh simulated library, closes both, and gives the
// log. Whatever f leaves behind must be freed by then.
func do(t *testing.T, f func(*Thread) error, defines ...string) string {
	t.Helper()
	l, log := opened(t, Options{}, defines...)
	n := lane(t, l)
	if err := n.Do(t.Context(), f); err != nil {
		t.Error(err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log(), " left 0") {
		t.Errorf("something is left over: %s", log())
	}
	return log()
}

// wantRefused wants a call that was not made, or one that failed with a code.
func wantRefused(t *testing.T, what string, err error, code int, cause error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Action == "" || e.Call == "" || cause != nil && !errors.Is(err, cause) {
		t.Errorf("%s: got %v; want code %d and %v", what, err, code, cause)
	}
}

// each gives the first failure of calls whose results do not matter.
func each(errs ...error) error { return errors.Join(errs...) }

func TestLaneOwnsOneThreadAndGivesItBack(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	log := do(t, func(t *Thread) error {
		b, err := t.Malloc(100)
		s, err2 := t.NewStream()
		e, err3 := t.NewEvent()
		_, err4 := t.MallocHost(64)
		if err := each(err, err2, err3, err4); err != nil {
			return err
		}
		return each(t.Record(e, s), t.Wait(t.Main(), e), t.Sync(t.Main(), time.Second), t.DestroyEvent(e), t.DestroyStream(s), t.Free(b))
	})
	want := []string{"set 0", "new context", "new stream", "malloc 100", "new stream", "new event", "malloc 64",
		"drop event", "drop stream", "drop memory", "drop pinned", "drop stream", "drop context", "reset 0"}
	var got []string
	threads := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(.*) @(\d+)$`).FindAllStringSubmatch(log, -1) {
		if i := slices.Index(want, m[1]); i >= 0 {
			got = append(got, m[1])
			threads[m[2]] = true
		}
	}
	if !slices.Equal(got, want) || len(threads) != 1 {
		t.Errorf("on threads %v:\n%q\nwant\n%q", threads, got, want)
	}
}

func TestThreadIsGoodOnItsThreadOnly(t *testing.T) {
	var leaked *Thread
	do(t, func(th *Thread) error {
		leaked = th
		done := make(chan error)
		go func() { _, err := th.Malloc(64); done <- err }()
		wantRefused(t, "another goroutine", <-done, 0, ErrThread)
		return nil
	})
	_, err := leaked.Malloc(64)
	wantRefused(t, "after the lane", err, 0, ErrThread)
}

func TestObjectsStayOnTheirLane(t *testing.T) {
	l, _ := opened(t, Options{})
	one, two := lane(t, l), lane(t, l)
	var b *Buffer
	var s *Stream
	var m *Model
	err := one.Do(t.Context(), func(t *Thread) (err error) {
		s = t.Main()
		b, err = t.Malloc(128)
		if err == nil {
			m, err = t.Load(LoadOptions{Path: "static"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("close with open lanes: %v", err)
	}
	err = two.Do(t.Context(), func(th *Thread) error {
		own, err := th.Malloc(128)
		wantRefused(t, "free", th.Free(b), 0, ErrThread)
		wantRefused(t, "copy", th.Copy(own.All(), b.All()), 0, ErrThread)
		wantRefused(t, "sync", th.Sync(s, time.Second), 0, ErrThread)
		_, bad := th.Inputs(m, own.All())
		wantRefused(t, "dataset", bad, 0, ErrThread)
		wantRefused(t, "unload", th.Unload(m), 0, ErrThread)
		shared, err2 := th.Load(LoadOptions{Path: "static", Weight: b}) // weights may be another lane's
		return each(err, err2, th.Unload(shared))
	})
	if err := each(err, two.Close(t.Context()), one.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if err := one.Do(t.Context(), func(*Thread) error { return nil }); err != ErrClosed {
		t.Errorf("after close: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.desk.Do(ended, func(*Thread) error { return errors.New("ran") }); err != context.Canceled {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestLaneThatCannotOpenLeavesNothing(t *testing.T) {
	for _, fail := range []string{"aclrtSetDevice:507033", "aclrtCreateContext:107001", "aclrtCreateStream:207008"} {
		l, log := opened(t, Options{})
		t.Setenv("TINY_FAIL", fail)
		_, err := l.Lane(0)
		call, _, _ := strings.Cut(fail, ":")
		var e *Error
		if !errors.As(err, &e) || e.Call != call {
			t.Errorf("%s: got %v", fail, err)
		}
		if err := l.Close(); err != nil || !strings.Contains(log(), " left 0") {
			t.Errorf("%s: %v\n%s", fail, err, log())
		}
	}
	l, _ := opened(t, Options{})
	if _, err := l.Lane(-1); err == nil {
		t.Error("device -1 was taken")
	}
}
