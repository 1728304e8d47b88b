package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// replay answers from a description. It is read only and safe for concurrent
// use: nothing in it changes after it was made.
type replay struct {
	name     string
	d        *Description
	tree     *tree
	commands []storedCommand
	absent   map[string]bool
}

// Replay is a host that answers from a description; name is what it is called
// in messages. In a closed world what is not listed is absent, in an open one
// it is unknown (ErrNotRecorded), and a typed question without a value is
// unknown in both.
func Replay(name string, d *Description) Host {
	h := &replay{name: name, d: d, tree: newTree(d), absent: map[string]bool{}}
	for _, line := range d.Absent {
		h.absent[line] = true
	}
	lines := make([]string, 0, len(d.Commands))
	for line := range d.Commands {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range lines {
		if words, ok := shellWords(line); ok {
			if c, ok := newStoredCommand(words, d.Commands[line]); ok {
				h.commands = append(h.commands, c)
			}
		}
	}
	return h
}

// OpenReplay reads a description from a file of this machine.
func OpenReplay(file string) (Host, error) {
	f, err := os.Open(file)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, maxDescription+1)); err == nil {
			d, err := LoadDescription(file, data)
			if err != nil {
				return nil, err
			}
			return Replay(file, d), nil
		}
	}
	return nil, &report.Problem{
		What: report.T("cannot read the recording %s", "无法读取录制文件 %s", file),
		Why:  report.Same(err.Error()),
		Do:   report.T("name a recording that was made with --record", "指定用 --record 生成的录制文件"),
		Exit: report.ExitUsage,
		Err:  err,
	}
}

func (h *replay) String() string { return "replay:" + h.name }
func (h *replay) Close() error   { return nil }

func (h *replay) WriteFile(context.Context, string, []byte, fs.FileMode) error {
	return fmt.Errorf("%s: %w", h, ErrReadOnly)
}

func (h *replay) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch a := h.answer(Question{Kind: File, Args: []string{name}}); a.State {
	case Known:
		return a.Stdout, nil
	case Absent:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	default:
		return nil, &fs.PathError{Op: "open", Path: name, Err: a.Err}
	}
}

func (h *replay) Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if len(c.Argv) == 0 {
		return Result{}, errors.New("no command")
	}
	// A command that runs long is not cut here: its caller sets the limit.
	a := h.answer(Question{Kind: Exec, Args: c.Argv, Env: c.Env, Root: c.Root, Timeout: 24 * time.Hour})
	switch a.State {
	case Absent:
		return Result{}, fmt.Errorf("%s: %w", c.Argv[0], ErrNoCommand)
	case Unknown:
		return Result{}, fmt.Errorf("%s: %w", c.Argv[0], a.Err)
	}
	for _, out := range []struct {
		to   io.Writer
		data *[]byte
	}{{c.Stdout, &a.Stdout}, {c.Stderr, &a.Stderr}} {
		if out.to == nil {
			continue
		}
		if _, err := out.to.Write(*out.data); err != nil {
			return Result{}, err
		}
		*out.data = nil
	}
	return a.Result, nil
}

func (h *replay) Ask(ctx context.Context, qs []Question) []Answer {
	answers := make([]Answer, len(qs))
	hung := false
	for i, q := range qs {
		npuSMI := q.Kind == Exec && len(q.Args) > 0 && path.Base(q.Args[0]) == "npu-smi"
		switch {
		case ctx.Err() != nil:
			answers[i] = unknown(ctx.Err())
		case npuSMI && hung: // as on a live host: it is not asked again
			answers[i] = unknown(errHung)
		default:
			answers[i] = h.answer(q)
			// A time limit of the host shows as these (verdict).
			if x := answers[i].Exit; q.Kind == Exec && answers[i].State == Known && (x == 124 || x == 137 || x == 143) {
				answers[i] = unknown(ErrTimeout)
			}
			hung = hung || npuSMI && errors.Is(answers[i].Err, ErrTimeout)
		}
	}
	return answers
}

var errHung = errors.New("not asked: npu-smi hung before")

func known(stdout string) Answer {
	return Answer{State: Known, Result: Result{Stdout: []byte(stdout)}}
}
func unknown(err error) Answer { return Answer{State: Unknown, Err: err} }

// notRecorded is the answer to what nobody asked then.
func notRecorded(q Question, what ...string) Answer {
	if len(what) == 0 {
		what = []string{questionLine(q)}
	}
	return unknown(fmt.Errorf("%s: %w", strings.Join(what, " "), ErrNotRecorded))
}

// answer looks first for exactly this question, then for the data it is about.
func (h *replay) answer(q Question) Answer {
	q.Env = plainEnv(q.Env)
	line := questionLine(q)
	if a, ok := h.d.Answers[line]; ok {
		r, err := a.result()
		if err != nil {
			return unknown(err)
		}
		return Answer{State: Known, Result: r, Took: time.Duration(a.WallMS) * time.Millisecond}
	}
	if why, ok := h.d.Unknown[line]; ok {
		return unknown(recalled(why))
	}
	if h.absent[line] && q.Kind != Stat { // stat leaves out what is not there
		return Answer{State: Absent}
	}
	if q.Root && !h.elevates() {
		return unknown(fmt.Errorf("%w: sudo asks %s for a password", ErrNoRoot, cmp.Or(h.d.Login.User, "the login")))
	}
	switch q.Kind {
	case File:
		return h.file(q)
	case Glob:
		return h.glob(q)
	case Stat:
		return h.stat(q)
	case Link:
		return h.link(q)
	case Exec:
		return h.command(q)
	}
	if a, ok := h.typed(q); ok {
		return a
	}
	return notRecorded(q)
}

// recalled gives a kept reason its meaning back.
func recalled(why string) error {
	for _, known := range []error{ErrTimeout, errHung, ErrTooLarge, ErrUnreachable, ErrNotRecorded, fs.ErrPermission} {
		if head, ok := strings.CutSuffix(why, known.Error()); ok {
			if head == "" {
				return known
			}
			return fmt.Errorf("%s%w", head, known)
		}
	}
	if rest, ok := strings.CutPrefix(why, ErrNoRoot.Error()); ok {
		return fmt.Errorf("%w%s", ErrNoRoot, rest)
	}
	return errors.New(why)
}

// elevates tells whether root questions can be put at all.
func (h *replay) elevates() bool { return h.isRoot() || h.d.Login.Sudo || h.d.World == Open }

func (h *replay) isRoot() bool {
	if id := h.d.Facts.Identity; id != nil {
		return id.UID == 0
	}
	return h.d.Login.User == "root"
}

// silence is the answer about something that is not listed.
func (h *replay) silence(q Question) Answer {
	if h.d.World == Closed {
		return Answer{State: Absent}
	}
	return notRecorded(q)
}
