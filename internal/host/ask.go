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
	"math"
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

// functions are the part of the program that is the same for every question.
//
//go:embed ask.sh
var functions string

// prologue makes a POSIX shell of zsh and finds out whether timeout(1) ends
// the children of its child too, as that of GNU does.
const prologue = `[ -z "${ZSH_VERSION-}" ] || emulate sh
LC_ALL=C; PATH=${PATH:-/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH
exec 4>&1
asc_P=$$; asc_K=; asc_h=0
eval "$asc_L"
asc_T=0; timeout -k 2 --preserve-status 9 true >/dev/null 2>&1 && asc_T=1
`

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

// program is the text for sh -s: the functions, then what to ask.
func program(nonce, password string, root bool, qs []Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "asc_N=%s\nasc_W=%s\nasc_L=%s\n%s", nonce, quote(password), quote(functions), prologue)
	if root {
		b.WriteString("asc_elevate\n")
	}
	for _, g := range plan(nonce, qs) {
		b.WriteString(g.text(qs))
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
	of := map[int]step{}
	for _, g := range plan(nonce, qs) {
		for _, s := range g.steps {
			of[s.n] = s
			for _, i := range s.of {
				if _, alone := of[i]; !alone {
					of[i] = step{n: i, of: []int{i}}
				}
			}
		}
	}
	for _, sec := range bytes.Split(out, []byte(nonce+" S "))[1:] {
		head, rest, _ := bytes.Cut(sec, []byte("\n"))
		stdout, rest, _ := bytes.Cut(rest, []byte("\n"+nonce+" X\n"))
		stderr, rest, _ := bytes.Cut(rest, []byte("\n"+nonce+" E "))
		word, _, whole := bytes.Cut(rest, []byte("\n"))
		n, err := strconv.Atoi(string(head))
		s, asked := of[n]
		if err != nil || !asked || !whole {
			continue
		}
		for k, a := range s.verdicts(qs, string(word), bytes.Clone(stdout), bytes.Clone(stderr)) {
			if i := s.of[k]; as[i].State == "" {
				as[i] = a
			}
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

// verdict judges one whole section. word is the exit code, with the uptime of
// the host before and after, or what the program says instead of one.
func verdict(q Question, word string, stdout, stderr []byte) Answer {
	f := forms[q.Kind]
	a := Answer{State: Unknown, Result: Result{Stdout: stdout, Stderr: stderr}}
	word, ups, _ := strings.Cut(word, " ")
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
		a.State, a.Took = Known, took(ups)
	default:
		return f.answer(q, a)
	}
	return a
}

// answer brings a typed answer into its normal form.
func (f form) answer(q Question, a Answer) Answer {
	switch {
	case f.shape != nil && a.Exit < 126 && (a.Exit == 0 || f.says):
		text, err := f.shape(q, string(a.Stdout), string(a.Stderr))
		return f.settle(q, a, part{text, err})
	case a.Exit == 0 && f.shape == nil:
		return Answer{State: Known, Result: Result{Stdout: a.Stdout}}
	}
	a.Err = classify(a.Stderr)
	if errors.Is(a.Err, fs.ErrNotExist) && f.gone {
		return Answer{State: Absent}
	}
	return a
}

// settle makes an answer of what was understood of a.
func (f form) settle(q Question, a Answer, p part) Answer {
	switch {
	case p.err == nil:
		return Answer{State: Known, Result: Result{Stdout: []byte(p.text)}}
	case errors.Is(p.err, fs.ErrNotExist) && f.gone:
		return Answer{State: Absent}
	}
	a.State, a.Err = Unknown, p.err
	if f.shape != nil {
		a.Err = fmt.Errorf("%s: %w", q.Kind, p.err)
	}
	return a
}

// took is the time between two uptimes "12.34 12.56"; they count in steps of
// 10 ms, and what took less than one took 1 ms. 0: the host has no uptime.
func took(ups string) time.Duration {
	from, to, _ := strings.Cut(ups, " ")
	a, err := strconv.ParseFloat(from, 64)
	b, err2 := strconv.ParseFloat(to, 64)
	if err != nil || err2 != nil || !(a <= b && b < 1e10) {
		return 0
	}
	return max(time.Millisecond, time.Duration(math.Round((b-a)*1e3))*time.Millisecond)
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
func quote(s string) string {
	if s != "" && strings.Trim(s, bare) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// bare means itself to a shell, wherever it stands in an argument.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,-+@"

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return out
}
