package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Command is a program run on the host. One that was killed is run again from its
// start, so it must bear what it has done so far. Its arguments are shown and kept in the
// journal, so a secret among them is refused: hand it in as Secret.
type Command struct {
	Argv   []string // empty: something only undo does
	Env    []string // KEY=VALUE
	Stdin  string   // "y\n" for an installer; no secret
	Secret []Var    // environment that comes by stdin and is shown as names only
	Check  Check    // says that it has been done; nil only if the step has one, or with Always
	Always bool     // cheap and harmless to repeat (daemon-reload): runs whenever its step does
	OK     []int    // exits besides 0 that are no failure
	Touch  []Touch
	Undo   []string // taken back by this, then by putting back what was watched
	Long   bool     // runs detached: a lost connection does not end it, and it is found again
	Limit  time.Duration
}

// Var is a named value.
type Var struct{ Name, Value string }

func (c Command) key() string {
	if len(c.Argv) == 0 {
		return "undo " + report.Line(c.Undo...)
	}
	return "run " + report.Line(c.Argv...)
}

func (c Command) touches() []Touch { return c.Touch }

func (c Command) valid(s Step, mask *report.Redactor) string {
	for _, v := range c.Secret {
		mask.Add(v.Value)
	}
	words := slices.Concat(c.Argv, c.Env, c.Undo, []string{c.Stdin})
	for _, w := range words {
		if mask.String(w) != w {
			return "an argument, a setting or the input holds a secret: hand it in as Secret"
		}
		if strings.ContainsRune(w, 0) {
			return "an argument holds a NUL byte"
		}
	}
	for _, kv := range c.Env {
		if i := strings.IndexByte(kv, '='); i <= 0 {
			return "want KEY=VALUE, got " + kv
		}
	}
	for _, v := range c.Secret {
		if v.Name == "" || strings.ContainsAny(v.Name, "= \n\x00") || strings.ContainsAny(v.Value, "\n\x00") {
			return "a secret is a name and a value of one line"
		}
	}
	switch {
	case len(c.Argv) == 0 && len(c.Undo) == 0:
		return "a command needs arguments"
	case len(c.Argv) > 0 && c.Check == nil && s.Check == nil && !c.Always:
		return "a command needs a check, or nobody knows whether it was done"
	case len(c.Argv) > 0 && !c.Always && len(c.Undo) == 0 && len(c.Touch) == 0 && s.Keeps.IsZero():
		return "a command needs an undo, a watched path, or a word on what undo keeps"
	}
	return ""
}

// done: a command without a check of its own follows its step, in steps.go.
func (c Command) done(ctx context.Context, _ *site, h host.Host) (bool, error) {
	if c.Check == nil {
		return false, nil
	}
	return c.Check(ctx, h)
}

// follows is true for what has no state of its own to look at.
func follows(a Act) bool {
	c, ok := a.(Command)
	return ok && c.Check == nil
}

func (c Command) do(ctx context.Context, x *run, h host.Host) error {
	if len(c.Argv) == 0 {
		return nil
	}
	if c.Limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Limit, host.ErrTimeout)
		defer stop()
	}
	run := c.short
	if c.Long {
		run = c.long
	}
	r, err := run(ctx, x, h)
	if err == nil && r.Exit != 0 && !slices.Contains(c.OK, r.Exit) {
		err = fmt.Errorf("exit %d: %s", r.Exit, x.o.Redact.String(said(r)))
	}
	return err
}

// feeder puts the secrets of the first lines of stdin into the environment.
const feeder = `n=$1; shift
while [ $n -gt 0 ]; do IFS= read -r kv || exit; export "$kv"; n=$((n-1)); done
exec "$@"`

func (c Command) short(ctx context.Context, _ *run, h host.Host) (host.Result, error) {
	argv, in := c.Argv, strings.NewReader(c.secrets()+c.Stdin)
	if len(c.Secret) > 0 {
		argv = append([]string{"/bin/sh", "-c", feeder, "sh", strconv.Itoa(len(c.Secret))}, argv...)
	}
	var out tail
	r, err := h.Run(ctx, host.Command{Argv: argv, Env: c.Env, Stdin: in, Stdout: &out})
	r.Stdout = out.Bytes()
	return r, err
}

func (c Command) secrets() string {
	var b strings.Builder
	for _, v := range c.Secret {
		fmt.Fprintf(&b, "%s=%s\n", v.Name, v.Value)
	}
	return b.String()
}

// jobFeeder is feeder for a job: its input is in files, and the one with
// secrets goes before the program starts.
const jobFeeder = `while IFS= read -r kv; do export "$kv"; done <secret; rm -f secret
exec "$@" <in`

// long starts the command as a job, or finds the one a broken run has left.
func (c Command) long(ctx context.Context, x *run, h host.Host) (host.Result, error) {
	tag := x.id + " " + c.key()
	j, err := liveJob(ctx, h, tag)
	if err != nil {
		return host.Result{}, err
	}
	if j == nil {
		file := func(name, text string) host.JobFile {
			return host.JobFile{Name: name, Src: strings.NewReader(text), Size: int64(len(text))}
		}
		j, err = host.Start(ctx, h, host.JobSpec{
			Argv:  append([]string{"/bin/sh", "-c", jobFeeder, "sh"}, c.Argv...),
			Env:   c.Env,
			Files: []host.JobFile{file("of", tag), file("in", c.Stdin), file("secret", c.secrets())},
		})
		if err != nil {
			return host.Result{}, err
		}
	}
	return x.await(ctx, j, c)
}

// await looks at the job until it ends. When the run is cancelled, the job is
// stopped, for what it does is taken back next; a lost connection leaves it.
func (x *run) await(ctx context.Context, j *host.Job, c Command) (host.Result, error) {
	began := x.o.Now()
	for {
		s, err := j.Status(ctx)
		switch {
		case ctx.Err() != nil:
			stop := context.WithoutCancel(ctx)
			return host.Result{}, errors.Join(context.Cause(ctx), j.Stop(stop), j.Remove(stop))
		case err != nil:
			return host.Result{}, err
		case s.State == host.JobExited:
			return host.Result{Stdout: s.Log, Exit: s.Exit}, j.Remove(ctx)
		case s.State != host.JobRunning:
			return host.Result{}, errors.Join(fmt.Errorf("it ended without an exit code: %s", x.o.Redact.String(said(host.Result{Stdout: s.Log}))), j.Remove(ctx))
		}
		x.tell(Event{Is: Waiting, Act: x.o.Redact.String(report.Line(c.Argv...)), Took: x.o.Now().Sub(began)})
		select {
		case <-ctx.Done():
		case <-time.After(x.o.Poll):
		}
	}
}

// jobOf finds the job of an act, which carries its tag in a file.
func jobOf(ctx context.Context, h host.Host, tag string) (*host.Job, error) {
	jobs, err := host.Jobs(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		of, err := h.ReadFile(ctx, j.Path("of"))
		switch {
		case err == nil && string(of) == tag:
			return j, nil
		case errors.Is(err, host.ErrUnreachable):
			return nil, err
		}
	}
	return nil, nil
}

// liveJob is a job of an act that runs or has ended by itself. What is left of
// one that was never started, or that a restart or a kill has ended, is removed.
func liveJob(ctx context.Context, h host.Host, tag string) (*host.Job, error) {
	j, err := jobOf(ctx, h, tag)
	if err != nil || j == nil {
		return nil, err
	}
	s, err := j.Status(ctx)
	if err != nil || s.State == host.JobRunning || s.State == host.JobExited {
		return j, err
	}
	return nil, j.Remove(ctx)
}

// tail keeps the end of what a command says, however long it talks.
type tail struct{ bytes.Buffer }

const tailMax = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if t.Len() > 2*tailMax {
		t.Next(t.Len() - tailMax)
	}
	return len(p), nil
}

func (t *tail) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{t}, r) }
