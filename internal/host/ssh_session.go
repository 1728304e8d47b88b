package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// session is one command on the server. x/crypto's own Session is not used:
// its Wait closes stdin while it may be written to, and it cannot keep stdin
// open until the command ends, which is how we know that a session is over.
type session struct {
	ch    ssh.Channel
	ended chan struct{} // the streams have ended and the status has come
	exit  int
	err   error // no status: the session was lost

	mu     sync.Mutex // of writing
	closed bool
}

// open starts line in a session of its own. An sshd with MaxSessions 1 refuses
// while it is still burying the last one, so a refusal is tried again for two
// seconds.
func (s *SSH) open(ctx context.Context, line string, stdout, stderr io.Writer) (*session, error) {
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		x, err := s.start(ctx, line, stdout, stderr)
		var refused *ssh.OpenChannelError
		switch {
		case err == nil:
			return x, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.As(err, &refused):
			return nil, s.lost(err)
		case wait > 2*time.Second:
			return nil, fmt.Errorf("%s opens no session: %w", s.name, err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// start tries once. A server that does not answer is left behind when ctx
// ends; what it opens later is closed.
func (s *SSH) start(ctx context.Context, line string, stdout, stderr io.Writer) (*session, error) {
	type result struct {
		x   *session
		err error
	}
	done := make(chan result, 1)
	go func() {
		x, err := s.exec(line, stdout, stderr)
		done <- result{x, err}
	}()
	select {
	case r := <-done:
		return r.x, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.x.ch.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (s *SSH) exec(line string, stdout, stderr io.Writer) (*session, error) {
	ch, reqs, err := s.conn.OpenChannel("session", nil)
	if err != nil {
		return nil, err
	}
	x := &session{ch: ch, ended: make(chan struct{})}
	var streams sync.WaitGroup
	streams.Go(func() { _, _ = io.Copy(stdout, ch) })
	streams.Go(func() { _, _ = io.Copy(stderr, ch.Stderr()) })
	go func() {
		x.status(reqs) // ends with the channel
		streams.Wait()
		close(x.ended)
	}()
	ok, err := ch.SendRequest("exec", true, ssh.Marshal(struct{ Line string }{line}))
	if err == nil && !ok {
		err = errors.New("the server runs no commands")
	}
	if err != nil {
		ch.Close()
		return nil, err
	}
	return x, nil
}

// signals are those that end commands (RFC 4254 section 6.10), with the number
// a shell adds to 128.
var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15}

func (x *session) status(reqs <-chan *ssh.Request) {
	x.err = errNoStatus
	for r := range reqs {
		var code struct{ Exit uint32 }
		var signal struct {
			Name   string
			Core   bool
			Reason string
			Lang   string
		}
		switch {
		case r.Type == "exit-status" && ssh.Unmarshal(r.Payload, &code) == nil:
			x.exit, x.err = int(code.Exit), nil
		case r.Type == "exit-signal" && ssh.Unmarshal(r.Payload, &signal) == nil:
			x.exit, x.err = 128+signals[signal.Name], nil
		case r.WantReply:
			_ = r.Reply(false, nil)
		}
	}
}

var errNoStatus = errors.New("the session ended without a status")

// Write sends stdin; it fails once the session is over.
func (x *session) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return 0, io.ErrClosedPipe
	}
	return x.ch.Write(p)
}

// killTime is how long a cancelled command may take to die; the host itself
// sends SIGKILL after one second.
const killTime = 2 * time.Second

// await waits for the end of a session. When ctx ends first it ends the
// session's input, which kills what runs there, and then the session itself,
// which kills what could not see that. It says whether the session is over.
func (x *session) await(ctx context.Context) bool {
	select {
	case <-x.ended:
		return true
	case <-ctx.Done():
	}
	if x.mu.TryLock() { // else a write hangs, and the end cannot be sent
		x.closed = true
		_ = x.ch.CloseWrite()
		x.mu.Unlock()
		select {
		case <-x.ended:
			return true
		case <-time.After(killTime):
		}
	}
	x.ch.Close()
	select {
	case <-x.ended: // the server has confirmed
		return true
	case <-time.After(killTime): // it does not answer: the keepalive will find out
		return false
	}
}
