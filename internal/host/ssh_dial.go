package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/melbahja/goph"
	"golang.org/x/crypto/ssh"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Times after which a silent host counts as lost.
const (
	dialTimeout    = 15 * time.Second // of a connection, and again of a handshake
	keepaliveEvery = 15 * time.Second
	keepaliveMiss  = 3
)

// chain is the connections to the jump hosts and, last, to the target.
type chain []*ssh.Client

// Close ends the last first, for it runs inside the others.
func (c chain) Close() error {
	var err error
	for i := len(c) - 1; i >= 0; i-- {
		if e := c[i].Close(); err == nil && e != nil && !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}
	return err
}

// dialSSH logs in to t over its jump hosts.
func dialSSH(ctx context.Context, t Target, o Options) (*SSH, error) {
	way, err := route(t, &o)
	if err != nil {
		return nil, err
	}
	var through chain
	for i, h := range way {
		c, err := o.enter(ctx, through, h)
		if err != nil {
			_ = through.Close()
			if i < len(way)-1 {
				err = viaJump(err, way[len(way)-1], h)
			}
			return nil, err
		}
		through = append(through, c)
	}
	last := way[len(way)-1]
	s := &SSH{
		name: t.Name, login: last, o: &o, sudo: cmp.Or(o.Sudo, t.Sudo, "auto"), sudoEnv: t.SudoPasswordEnv,
		conn:  &goph.Client{Client: through[len(through)-1], Config: &goph.Config{User: last.user, Addr: last.addr, Port: uint(last.port)}},
		chain: through, turn: make(chan struct{}, 1), done: make(chan struct{}), gone: make(chan struct{}),
	}
	go s.watch()
	return s, nil
}

// viaJump says which host could not be reached because of which.
func viaJump(err error, target, at hop) error {
	var p *report.Problem
	if !errors.As(err, &p) {
		return err
	}
	q := *p
	q.Why = report.T("its jump host: %s", "跳板机：%s", p.What)
	if !p.Why.IsZero() {
		q.Why = report.T("its jump host %s: %s", "跳板机 %s：%s", at.name, p.Why)
	}
	q.What = report.T("cannot reach %s", "无法到达 %s", target.name)
	q.Err = err
	return &q
}

// enter connects to h, directly or through the last of the chain, and logs in.
func (o *Options) enter(ctx context.Context, through chain, h hop) (*ssh.Client, error) {
	known, err := readKnown(h)
	if err != nil {
		return nil, err
	}
	raw, err := o.dial(ctx, through, h)
	if err != nil {
		return nil, unreachable(ctx, h, err)
	}
	door := newDoor(ctx, o.timeout())
	defer door.close()
	shut := context.AfterFunc(door.ctx, func() { raw.Close() })
	l := &login{o: o, h: h, prompt: func(s Secret) (string, error) {
		if o.Prompt == nil {
			return "", errNobody
		}
		defer door.wait()() // a person may take their time
		return o.Prompt(ctx, s)
	}}
	methods, err := l.methods(door.ctx)
	if err != nil {
		return nil, err // and the door closes the connection
	}
	var refused error
	conn, chans, reqs, err := ssh.NewClientConn(raw, h.dial(), &ssh.ClientConfig{
		User: h.user, Auth: methods, HostKeyAlgorithms: known.algorithms(), ClientVersion: "SSH-2.0-ascendctl",
		HostKeyCallback: func(addr string, remote net.Addr, key ssh.PublicKey) error {
			refused = o.judge(known.verify(addr, remote, key))
			return refused
		},
	})
	if shut() && err == nil {
		return ssh.NewClient(conn, chans, reqs), nil
	}
	raw.Close()
	if p := keyProblem(refused); p != nil {
		return nil, p
	}
	switch {
	case ctx.Err() != nil:
		return nil, unreachable(ctx, h, err)
	case context.Cause(door.ctx) == errLate:
		return nil, unreachable(ctx, h, fmt.Errorf("%s: no SSH login within %v", h.dial(), o.timeout()))
	case strings.Contains(err.Error(), "unable to authenticate"), strings.Contains(err.Error(), "Too many authentication failures"):
		return nil, notLetIn(h, l, err)
	}
	return nil, unreachable(ctx, h, err)
}

// judge lets an unknown key pass when the user said so, and writes it down.
func (o *Options) judge(err error) error {
	var unknown *UnknownKey
	if o.AcceptNew && errors.As(err, &unknown) {
		return unknown.Trust()
	}
	return err
}

func (o *Options) dial(ctx context.Context, through chain, h hop) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout())
	defer cancel()
	if len(through) > 0 {
		return through[len(through)-1].DialContext(ctx, "tcp", h.dial())
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", h.dial())
}

// door ends a handshake that takes too long or is cancelled: its context closes
// the connection, and that to the agent. A deadline would not do, for a channel
// through a jump host has none.
type door struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

var errLate = errors.New("no login in time")

func newDoor(ctx context.Context, limit time.Duration) *door {
	d := &door{limit: limit}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	d.timer = time.AfterFunc(limit, func() { d.cancel(errLate) })
	return d
}

// wait suspends the time limit until the function it gives is called.
func (d *door) wait() func() {
	d.timer.Stop()
	return func() { d.timer.Reset(d.limit) }
}

func (d *door) close() {
	d.timer.Stop()
	d.cancel(nil)
}

// watch asks now and then whether the other side still answers, and closes the
// connection when it does not; whatever waits on it then ends.
func (s *SSH) watch() {
	defer close(s.gone)
	every := cmp.Or(s.o.Keepalive, keepaliveEvery)
	lost := make(chan struct{})
	go func() { _ = s.conn.Wait(); close(lost) }()
	defer func() { _ = s.chain.Close(); <-lost }()
	for {
		select {
		case <-s.done:
			return
		case <-lost:
			return
		case <-time.After(every):
		}
		answered := make(chan error, 1)
		go func() {
			_, _, err := s.conn.SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		select {
		case <-s.done:
			return
		case err := <-answered:
			if err != nil {
				return
			}
		case <-time.After(keepaliveMiss * every):
			return
		}
	}
}

func unreachable(ctx context.Context, h hop, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", h.name, context.Cause(ctx))
	}
	why := strings.TrimPrefix(err.Error(), "ssh: ")
	if errors.Is(err, context.DeadlineExceeded) {
		why = h.dial() + ": no answer in time"
	}
	return &report.Problem{
		What: report.T("cannot reach %s", "无法到达 %s", h.name),
		Why:  report.Same(why),
		Do:   report.T("check the address and the port, and that sshd runs there", "检查地址和端口，并确认该主机上 sshd 正在运行"),
		Run:  report.Line("ssh", "-v", "-p", fmt.Sprint(h.port), h.user+"@"+h.addr, "true"),
		Exit: report.ExitUnreachable, Err: errors.Join(ErrUnreachable, err),
	}
}

func notLetIn(h hop, l *login, err error) error {
	why := report.T("tried: nothing; there is no key, no agent and no password", "未尝试任何方式：没有密钥、代理和密码")
	if len(l.tried) > 0 {
		why = report.T("tried: %s", "已尝试：%s", strings.Join(l.tried, ", "))
	}
	return &report.Problem{
		What: report.T("%s does not let %s in", "%s 拒绝 %s 登录", h.name, h.user),
		Why:  why,
		Do:   report.T("name a key with --identity, load it into the agent, or set ASCENDCTL_SSH_PASSWORD", "用 --identity 指定密钥、将密钥加入代理，或设置 ASCENDCTL_SSH_PASSWORD"),
		Run:  report.Line("ssh", "-v", "-p", fmt.Sprint(h.port), h.user+"@"+h.addr, "true"),
		Exit: report.ExitUnreachable, Err: errors.Join(ErrUnreachable, err),
	}
}
