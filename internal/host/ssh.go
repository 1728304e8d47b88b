package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/melbahja/goph"

	"github.com/ascendctl/ascendctl/internal/report"
)

// SSH is a machine behind one SSH connection. Every Run is a session of its
// own and one at a time, closed before the next, so a server with MaxSessions 1
// is enough. We dial (time limits, jump hosts, known_hosts, keepalive) and wrap
// the connection in goph's client; of goph itself only what embeds x/crypto is
// used, for its commands neither quote nor end with their context.
type SSH struct {
	name  string
	login hop
	o     *Options
	conn  *goph.Client
	chain chain

	turn chan struct{} // held by whoever has a session open

	sudo    string // auto, always, never
	sudoEnv string // variable with the password, as the hosts file names it

	mu     sync.Mutex
	how    string // how to become root, once that is decided
	why    string // what sudo said when it refused
	secret string // password a person typed

	once       sync.Once
	done, gone chan struct{} // done: Close was called; gone: the connection has ended
}

var _ Host = (*SSH)(nil)

func (s *SSH) String() string { return s.name }

// Close ends the connection and those to the jump hosts.
func (s *SSH) Close() error {
	s.once.Do(func() { close(s.done) })
	<-s.gone
	return nil
}

// Ask puts the questions through one session.
func (s *SSH) Ask(ctx context.Context, qs []Question) []Answer {
	if !s.forbidden() {
		return ask(ctx, s, qs)
	}
	as := make([]Answer, len(qs))
	var plain []Question
	var at []int
	for i, q := range qs {
		if q.Root {
			as[i] = Answer{State: Unknown, Err: fmt.Errorf("%w: sudo is switched off for this host", ErrNoRoot)}
			continue
		}
		plain, at = append(plain, q), append(at, i)
	}
	for i, a := range ask(ctx, s, plain) {
		as[at[i]] = a
	}
	return as
}

// ReadFile reads a whole file, as the login user.
func (s *SSH) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return readFile(ctx, s, name)
}

// WriteFile writes beside name and renames, as the login user.
func (s *SSH) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return writeFile(ctx, s, name, data, perm)
}

// Run runs c in a session. Stdin is read until it ends or the command does; a
// reader that blocks after that keeps one goroutine until it returns. When ctx
// ends, all processes of the session get SIGTERM and a second later SIGKILL,
// also when the connection is cut instead.
func (s *SSH) Run(ctx context.Context, c Command) (Result, error) {
	if err := s.take(ctx); err != nil {
		return Result{}, err
	}
	defer s.give()
	if c.Root {
		return s.runRoot(ctx, c)
	}
	r, _, err := s.run(ctx, c, "", "")
	return r, err
}

// take waits for the turn: an upload and a command, or two commands, never
// have a session open at once.
func (s *SSH) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.gone:
		return s.lost(errors.New("the connection was closed"))
	}
}

func (s *SSH) give() { <-s.turn }

// run puts one command through one session. words are those of the mark; how
// and password are for prepare.
func (s *SSH) run(ctx context.Context, c Command, how, password string) (r Result, words string, err error) {
	nonce := rand.Text()
	p, err := prepare(nonce, c, how, password)
	if err != nil {
		return r, "", err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var kept, said keep
	out := newAfter(nonce, orKeep(c.Stdout, &kept), stop)
	errs := newAfter(nonce, orKeep(c.Stderr, &said), stop)
	x, err := s.open(ctx, p.line, out, errs)
	if err != nil {
		return r, "", err
	}
	defer x.ch.Close()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		if err := feed(x, p.first, c.Stdin); err != nil {
			stop(fmt.Errorf("stdin of %s: %w", c.Argv[0], err))
		}
	}()
	over := x.await(ctx)
	select {
	case <-fed:
	case <-time.After(time.Second): // c.Stdin blocks; its reader is the caller's
	}
	if ctx.Err() != nil || !over {
		return r, "", context.Cause(ctx)
	}
	out.flush()
	errs.flush()
	r.Stdout, r.Stderr = kept.Bytes(), said.Bytes()
	r.Exit = x.exit
	if x.err != nil {
		return r, "", s.lost(x.err)
	}
	return r, errs.words, s.verdict(x.exit, c, out, errs)
}

func orKeep(w io.Writer, k *keep) io.Writer {
	if w != nil {
		return w
	}
	return k
}

// verdict tells a command that ended from one that never ran.
func (s *SSH) verdict(exit int, c Command, out, errs *after) error {
	if errs.seen && out.seen {
		if errs.words == markAbsent {
			return fmt.Errorf("%s: %w", c.Argv[0], ErrNoCommand)
		}
		return nil
	}
	said := report.Same(cmp.Or(firstLine(errs.head), firstLine(out.head)))
	if said.En == "" {
		said = report.T("it said nothing", "没有任何输出")
	}
	return &report.Problem{
		What: report.T("%s runs no commands for %s", "%s 不为 %s 执行命令", s.name, s.login.user),
		Why:  report.T("the login shell ended with exit %d: %s", "登录 shell 以状态 %d 结束：%s", exit, said),
		Do:   report.T("give the user a login shell and the programs sh and dd", "为该用户设置登录 shell，并提供 sh 和 dd"),
		Exit: report.ExitFailed,
	}
}

// lost words the end of a connection that nobody asked for.
func (s *SSH) lost(err error) error {
	why := strings.TrimPrefix(err.Error(), "ssh: ")
	if errors.Is(err, io.EOF) {
		why = "the connection ended" // what x/crypto says of a channel it cannot open
	}
	return &report.Problem{
		What: report.T("the connection to %s was lost", "与 %s 的连接中断", s.name),
		Why:  report.Same(why),
		Do:   report.T("run it again once the host answers", "待主机恢复响应后重新运行"),
		Exit: report.ExitUnreachable, Err: errors.Join(ErrUnreachable, err),
	}
}
