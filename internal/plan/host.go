package plan

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// functions is the shell part: what must happen on the host in one go.
//
//go:embed forms/host.sh
var functions string

// Options are what a plan needs of its surroundings.
type Options struct {
	Dir    string           // folder of journals on the host; "": /var/lib/ascendctl/journal of root, the state folder of a user
	Redact *report.Redactor // knows secrets; nil: a new one
	Now    func() time.Time // nil: time.Now
	Who    string           // who changes, for the lock and the journal: "ann@laptop"
	Tell   func(Event)      // hears how it goes; nil: nobody
	Poll   time.Duration    // how often a detached command is looked at; 0: 2 s

	hook  func(point) error // tests break a run here
	owner string            // tests hold the lock by this pid
}

// Event is one thing that happened during a run.
type Event struct {
	Host, Step string
	Title      report.Text
	N, Of      int       // the step's number among those that do something
	Is         EventKind // what happened
	Why        string    // of failed, left and taken: the evidence
	Act        string    // of waiting: the command or upload it waits for
	Sent, Size int64     // of waiting for an upload: bytes
	Took       time.Duration
}

// EventKind says what happened.
type EventKind string

const (
	Started  EventKind = "started"
	Finished EventKind = "done"
	Found    EventKind = "found" // it was done already
	Failed   EventKind = "failed"
	Undoing  EventKind = "undoing"
	Undid    EventKind = "undone"
	Stays    EventKind = "left"    // undo could not, or must not, take it back
	Waiting  EventKind = "waiting" // for a detached command, attached again or not
	Taken    EventKind = "lock"    // the lock of a run that is gone was taken over
)

// point is a place where a run can break: before and after each line of the
// journal, and around each act.
type point struct {
	where string // "lock", "begin", "do", "finish", "end", each with "before " or "after "
	step  string
	act   string
}

func (o Options) filled() Options {
	if o.Redact == nil {
		o.Redact = &report.Redactor{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func(Event) {}
	}
	if o.hook == nil {
		o.hook = func(point) error { return nil }
	}
	o.Poll = cmp.Or(o.Poll, 2*time.Second)
	return o
}

var (
	errHeld = errors.New("the lock is held")
	errLost = errors.New("the lock is no longer ours")
)

// call runs a function of forms/host.sh and gives what it printed.
func call(ctx context.Context, h host.Host, stdin io.Reader, fn string, args ...string) (string, error) {
	argv := append([]string{"/bin/sh", "-c", functions + "\n" + `"$@"`, "sh", fn}, args...)
	r, err := h.Run(ctx, host.Command{Argv: argv, Stdin: stdin})
	switch {
	case err != nil:
		return "", err
	case r.Exit == 4:
		return string(r.Stdout), errHeld
	case r.Exit == 5:
		return "", errLost
	case r.Exit != 0:
		return string(r.Stdout), &refusal{fn, r.Exit, said(r)}
	}
	return string(r.Stdout), nil
}

// refusal is a function that ended with another exit than 0.
type refusal struct {
	fn   string
	exit int
	said string
}

func (r *refusal) Error() string {
	if r.said == "" {
		return fmt.Sprintf("%s ended with exit %d", r.fn, r.exit)
	}
	return r.said
}

// said is the end of what a command said: its last two lines.
func said(r host.Result) string {
	text := bytes.TrimSpace(r.Stderr)
	if len(text) == 0 {
		text = bytes.TrimSpace(r.Stdout)
	}
	text = text[max(0, len(text)-2000):]
	lines := strings.Split(strings.ToValidUTF8(string(text), "?"), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-2):], "; "))
}

// rooted is a host all of whose doors have elevated rights.
type rooted struct{ host.Host }

func (r rooted) Run(ctx context.Context, c host.Command) (host.Result, error) {
	c.Root = true
	return r.Host.Run(ctx, c)
}

func (r rooted) Ask(ctx context.Context, qs []host.Question) []host.Answer {
	qs = append([]host.Question(nil), qs...)
	for i := range qs {
		qs[i].Root = true
	}
	return r.Host.Ask(ctx, qs)
}

func (r rooted) ReadFile(ctx context.Context, name string) ([]byte, error) {
	out, err := r.Run(ctx, host.Command{Argv: []string{"cat", "--", name}})
	if err == nil && out.Exit != 0 {
		err = errors.New(said(out))
		if strings.Contains(err.Error(), "No such file") {
			err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		}
	}
	return out.Stdout, err
}

func (r rooted) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	_, err := call(ctx, r, bytes.NewReader(data), "place", name, octal(perm), "-", strconv.Itoa(len(data)))
	return err
}

// state is what look says of a path.
type state struct {
	kind, mode, uid, gid, size, sum, owner, group string
}

// look gives the state of a path; kind is empty when it is not there.
func look(ctx context.Context, h host.Host, fn, name string) (s state, err error) {
	out, err := call(ctx, h, nil, fn, name)
	if err != nil {
		return s, err
	}
	s, ok := stateOf(out)
	if !ok {
		return s, fmt.Errorf("look at %s: cannot read %q", name, out)
	}
	return s, nil
}

func stateOf(line string) (s state, ok bool) {
	f := strings.Fields(line)
	switch {
	case len(f) == 1 && f[0] == "absent":
		return s, true
	case len(f) == 8:
		return state{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]}, true
	}
	return s, false
}

// look answers from what glance has seen, or asks.
func (s *site) look(ctx context.Context, h host.Host, fn, name string) (state, error) {
	if is, ok := s.seen[fn+" "+name]; ok {
		return is, nil
	}
	return look(ctx, h, fn, name)
}

// glance looks at the paths of many acts in one trip; what it could not see is
// asked again one by one, so that the error names it. The returned func forgets.
func (s *site) glance(ctx context.Context, steps ...Step) (forget func(), err error) {
	var args []string
	for _, st := range steps {
		for _, a := range st.Do {
			switch a := a.(type) {
			case Copy:
				args = append(args, "whole", a.From, "whole", a.Path)
			case File, Link, Dir, Gone, Upload:
				args = append(args, "look", a.touches()[0].Path)
			}
		}
	}
	s.seen = map[string]state{}
	forget = func() { s.seen = nil }
	if len(args) == 0 {
		return forget, nil
	}
	out, err := call(ctx, s.journal, nil, "looks", args...)
	if err != nil {
		return forget, err
	}
	for i, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if is, ok := stateOf(l); ok && 2*i+1 < len(args) {
			s.seen[args[2*i]+" "+args[2*i+1]] = is
		}
	}
	return forget, nil
}

// wears is true when the path has that mode and owner; zero values ask nothing.
func (s state) wears(mode fs.FileMode, owner string) bool {
	if mode != 0 && s.mode != octal(mode) {
		return false
	}
	user, group, both := strings.Cut(owner, ":")
	return (user == "" || user == s.owner || user == s.uid) && (!both || group == s.group || group == s.gid)
}
