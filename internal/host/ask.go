package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxAnswer = 1 << 20  // bytes of one answer
	maxStderr = 64 << 10 // bytes kept of what a command said on stderr

	defaultLimit = 15 * time.Second
	// grace is how long the stream may be silent beyond the longest time limit
	// of a question: the host kills after 2 s, the rest is the network's.
	grace = 12 * time.Second
)

// prelude is the part of the program that is the same for every question.
//
//go:embed ask.sh
var prelude string

// sudoer is a Host whose login needs a password to elevate: "" when it is not
// needed or not known. The program carries it on stdin, never in an argv.
type sudoer interface {
	sudoPassword(ctx context.Context) string
}

// ask compiles the questions to one POSIX sh program, runs it on h (as
// /bin/sh -s) and takes the answers out of the one stream that comes back.
func ask(ctx context.Context, h Host, qs []Question) []Answer {
	return askWithin(ctx, h, qs, grace)
}

func askWithin(ctx context.Context, h Host, qs []Question, grace time.Duration) []Answer {
	if len(qs) == 0 {
		return nil
	}
	limit, root := time.Duration(0), false
	for _, q := range qs {
		limit, root = max(limit, q.limit()), root || q.Root
	}
	var password string
	if s, ok := h.(sudoer); ok && root {
		password = s.sudoPassword(ctx)
	}
	nonce := rand.Text()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// A file of a dead NFS server cannot be given up even by timeout(1): the
	// client has to.
	silent := time.AfterFunc(limit+grace, func() { stop(ErrTimeout) })
	defer silent.Stop()
	out := &stream{room: len(qs)*(maxAnswer+maxStderr+1024) + maxAnswer, alive: func() { silent.Reset(limit + grace) }}
	r, err := h.Run(ctx, Command{
		Argv: []string{"/bin/sh", "-s"}, Stdout: out,
		Stdin: strings.NewReader(program(nonce, password, root, qs)),
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("the shell of the host ended with exit %d: %s", r.Exit, firstLine(r.Stderr))
	}
	return parse(nonce, qs, out.bytes(), err)
}

// stream keeps what comes back. It refuses more than all answers together may
// be, so that a host cannot fill our memory.
type stream struct {
	mu    sync.Mutex // a Run that was cancelled may still be copying
	buf   bytes.Buffer
	room  int
	alive func()
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buf.Len()+len(p) > s.room {
		return 0, ErrTooLarge
	}
	s.alive()
	return s.buf.Write(p)
}

func (s *stream) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Bytes()
}

func (q Question) limit() time.Duration { return cmp.Or(q.Timeout, defaultLimit) }

// program is the text for sh -s: the prelude, then one line for each question.
func program(nonce, password string, root bool, qs []Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "asc_N=%s\nasc_W=%s\n%s", nonce, quote(password), prelude)
	if root {
		b.WriteString("asc_elevate\n")
	}
	for i, q := range qs {
		c, err := phrase(q)
		if err != nil {
			continue // parse says so: the question has no section
		}
		who := "u"
		if q.Root {
			who = "r"
		}
		fmt.Fprintf(&b, "asc_q %d %s %d %s %s\n", i, quote(c.need), seconds(q.limit()), who, strings.Join(c.words, " "))
	}
	return b.String()
}

// seconds rounds up: busybox timeout knows whole seconds only.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// parse takes the answers out of the stream and never trusts it: a section
// without its end mark is Unknown, and marks carry a nonce no answer can know.
// cause is why the stream may have ended early.
func parse(nonce string, qs []Question, out []byte, cause error) []Answer {
	as := make([]Answer, len(qs))
	for _, sec := range bytes.Split(out, []byte(nonce+" S "))[1:] {
		head, rest, _ := bytes.Cut(sec, []byte("\n"))
		stdout, rest, _ := bytes.Cut(rest, []byte("\n"+nonce+" X\n"))
		stderr, rest, _ := bytes.Cut(rest, []byte("\n"+nonce+" E "))
		word, _, whole := bytes.Cut(rest, []byte("\n"))
		if i, err := strconv.Atoi(string(head)); err == nil && whole && i >= 0 && i < len(qs) && as[i].State == "" {
			as[i] = verdict(qs[i], string(word), bytes.Clone(stdout), bytes.Clone(stderr))
		}
	}
	missing := cmp.Or(cause, errors.New("no answer: the stream ended early"))
	for i := range as {
		if as[i].State != "" {
			continue
		}
		as[i] = Answer{State: Unknown, Err: missing}
		if _, err := phrase(qs[i]); err != nil {
			as[i].Err = err
		} else if errors.Is(missing, ErrTimeout) {
			missing = errors.New("not asked: an earlier question never came back")
		}
	}
	return as
}

// verdict judges one whole section. word is the exit code or what the prelude
// says instead of one.
func verdict(q Question, word string, stdout, stderr []byte) Answer {
	f := forms[q.Kind]
	a := Answer{State: Unknown, Result: Result{Stdout: stdout, Stderr: stderr}}
	exit, err := strconv.Atoi(word)
	a.Exit = exit
	switch {
	case word == "absent" && f.lack: // not exit 127: that is also a binary whose library is missing
		return Answer{State: Absent}
	case word == "absent":
		a.Err = fmt.Errorf("the host has no %s", f.need)
	case word == "noroot":
		a.Err = fmt.Errorf("%w: %s", ErrNoRoot, cmp.Or(firstLine(stderr), "sudo refused"))
	case word == "hung":
		a.Err = errors.New("not asked: npu-smi hung before")
	case err != nil:
		a.Err = fmt.Errorf("the host ended the answer with %q", clip(word))
	case exit == 124 || exit == 137 || exit == 143: // timeout(1), kill -9, busybox timeout
		a.Err = ErrTimeout
	case len(stdout) > maxAnswer:
		a.Stdout, a.Err = stdout[:maxAnswer], ErrTooLarge
	case q.Kind == Exec: // a command that says no has answered
		a.State = Known
	default:
		return f.answer(q, a)
	}
	return a
}

// answer brings a typed answer into its normal form.
func (f form) answer(q Question, a Answer) Answer {
	err := classify(a.Stderr)
	switch {
	case f.shape != nil && a.Exit < 126 && (a.Exit == 0 || f.says):
		text, err := f.shape(q, string(a.Stdout), string(a.Stderr))
		if err != nil {
			a.Err = fmt.Errorf("%s: %w", q.Kind, err)
			return a
		}
		return Answer{State: Known, Result: Result{Stdout: []byte(text)}}
	case a.Exit == 0 && f.shape == nil:
		return Answer{State: Known, Result: Result{Stdout: a.Stdout}}
	case errors.Is(err, fs.ErrNotExist) && f.gone:
		return Answer{State: Absent}
	default:
		a.Err = err
	}
	return a
}

// classify reads what tools of the C locale say when they fail.
func classify(stderr []byte) error {
	text := firstLine(stderr)
	switch {
	case bytes.Contains(stderr, []byte("Permission denied")), bytes.Contains(stderr, []byte("Operation not permitted")):
		return fmt.Errorf("%s: %w", text, fs.ErrPermission)
	case bytes.Contains(stderr, []byte("No such file")), bytes.Contains(stderr, []byte("Not a directory")), bytes.Contains(stderr, []byte("No such process")):
		return fmt.Errorf("%s: %w", text, fs.ErrNotExist)
	case text == "":
		return errors.New("it failed and said nothing")
	}
	return errors.New(text)
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return clip(string(line))
}

// clip keeps what a stranger's machine said short enough to print.
func clip(s string) string {
	if len(s) > 300 {
		s = s[:300] + "..."
	}
	return strings.ToValidUTF8(strings.TrimSpace(s), "?")
}

// quote makes one word of a POSIX shell of any bytes but NUL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return out
}
