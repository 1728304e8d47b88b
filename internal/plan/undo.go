package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Undo makes the plan that takes back the change id, or the newest one that is
// not taken back when id is empty. It is shown, agreed to and run like any
// other; nothing is changed by making it. A login that is not root finds its
// own changes first, then root's.
func Undo(ctx context.Context, h host.Host, id string, o Options) (*Made, error) {
	o = o.filled()
	var known []string
	for _, root := range []bool{false, true} {
		s, err := visit(ctx, h, root, o)
		if root && errors.Is(err, host.ErrNoRoot) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(s.all) {
			if !slices.Contains(known, e.ID) { // root's own changes are met twice
				known = append(known, e.ID)
			}
			if e.ID == id || id == "" && e.gives() {
				return s.undo(e, o)
			}
		}
	}
	p := &report.Problem{
		What: report.T("%s has no change %s%s", "%s 上没有变更 %s%s", h.String(), report.Same(id), report.Meant(id, known)),
		Do:   report.T("its changes: %s", "其变更有：%s", report.Same(strings.Join(known, ", "))), Exit: report.ExitUsage,
	}
	if len(known) == 0 || id == "" {
		p.What = report.T("%s has no change to take back", "%s 上没有可撤销的变更", h.String())
		p.Do = report.T("nothing was changed", "未做任何变更")
	}
	return nil, p
}

// gives is true when taking the change back does something: what clean deleted
// is gone, and without an id nobody means that.
func (e *Entry) gives() bool {
	return slices.ContainsFunc(e.acts, func(d *did) bool { return !d.undone && (len(d.Touch) > 0 || len(d.Undo) > 0) }) || e.Acts > 0 && e.broken()
}

// undo refuses to pull a change out from under a later one.
func (s *site) undo(e *Entry, o Options) (*Made, error) {
	if e.Acts == 0 {
		return nil, &report.Problem{
			What: report.T("change %s of %s is taken back already", "变更 %s（%s）已被撤销", e.ID, s.h.String()),
			Do:   report.T("nothing was changed", "未做任何变更"), Exit: report.ExitUsage,
		}
	}
	for _, later := range s.all[slices.Index(s.all, e)+1:] {
		if p := later.shares(e); p != "" {
			return nil, &report.Problem{
				What: report.T("change %s cannot be taken back yet", "变更 %s 暂不能撤销", e.ID),
				Why:  report.T("the later change %s touched %s too", "更晚的变更 %s 也改动了 %s", later.ID, p),
				Do:   report.T("take back the later one first", "先撤销较晚的变更"),
				Run:  report.Line("ascendctl", "undo", "--host", s.h.String(), later.ID), Exit: report.ExitFailed,
			}
		}
	}
	s.open = e
	return &Made{plan: Plan{Name: e.Name, Title: e.Title, Again: report.Line("ascendctl", "undo", "--host", s.h.String(), e.ID)}, o: o, site: s, undoes: e.ID}, nil
}

// shares names a path both changes touched; shared files do not count.
func (e *Entry) shares(o *Entry) string {
	mine := map[string]bool{}
	for _, d := range o.acts {
		for _, t := range d.Touch {
			mine[t.Path] = !d.undone && t.How != "shared"
		}
	}
	for _, d := range e.acts {
		for _, t := range d.Touch {
			if mine[t.Path] && !d.undone && t.How != "shared" {
				return t.Path
			}
		}
	}
	return ""
}

// back is the entry as steps of a plan that takes it back.
func (e *Entry) back() (out []ShownStep) {
	for _, d := range slices.Backward(e.acts) {
		if d.undone {
			continue
		}
		s := ShownStep{ID: d.Step, Title: d.Title, Root: d.Root, Undo: report.T("not undone again", "不再撤销")}
		if !d.Keeps.IsZero() {
			s.Undo = report.T("stays: %s", "保留：%s", d.Keeps)
		}
		if len(d.Undo) > 0 {
			s.Acts = append(s.Acts, ShownAct{Kind: "run", Argv: d.Undo})
		}
		for _, t := range slices.Backward(d.Touch) {
			s.Acts = append(s.Acts, ShownAct{Kind: "restore", Path: t.Path, Watch: []Touch{{Path: t.Path, Tree: t.How == "tree", Shared: t.How == "shared"}}})
		}
		if n := len(out); n > 0 && out[n-1].ID == s.ID { // acts of one step are one line
			out[n-1].Acts = append(out[n-1].Acts, s.Acts...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// takeBackAll takes back in reverse all that was begun. What fails does not
// keep the rest from being taken back; a lost host does.
func (x *run) takeBackAll(ctx context.Context) error {
	var errs []error
	var open []*did
	for _, d := range slices.Backward(x.e.acts) {
		if !d.undone {
			open = append(open, d)
		}
	}
	began, stays := x.o.Now(), false
	for i, d := range open {
		if i == 0 || d.Step != open[i-1].Step { // acts of one step are one line
			began, stays = x.o.Now(), false
			x.step = Step{ID: d.Step, Title: d.Title, Root: d.Root}
			x.tell(Event{Is: Undoing})
		}
		err := x.takeBack(ctx, d)
		if err != nil {
			stays = true
			x.tell(Event{Is: Stays, Why: x.o.Redact.String(err.Error())})
			errs = append(errs, fmt.Errorf("undo of %s: %w", d.Step, err))
		} else if !stays && (i+1 == len(open) || open[i+1].Step != d.Step) {
			x.tell(Event{Is: Undid, Took: x.o.Now().Sub(began)})
		}
		if errors.Is(err, host.ErrUnreachable) || errors.Is(err, errLost) {
			break
		}
	}
	return errors.Join(errs...)
}

// close ends a run that took back: with what is left, and why it came to that.
func (x *run) close(ctx context.Context, failed string, undoErr, cause error) (Outcome, error) {
	out := Outcome{ID: x.id, State: Undone, Failed: failed, Left: x.e.Left}
	for _, d := range x.e.acts {
		if !d.Keeps.IsZero() && !slices.Contains(out.Keeps, d.Keeps) {
			out.Keeps = append(out.Keeps, d.Keeps)
		}
	}
	if undoErr != nil {
		out.State = Stuck
		if !errors.Is(undoErr, host.ErrUnreachable) {
			_ = x.end(ctx, Stuck) // an open journal says the same
			x.unlock(ctx)
		}
		return out, x.stuck(errors.Join(cause, undoErr), nil)
	}
	if err := x.end(ctx, Undone); err != nil {
		out.State = Stuck
		return out, x.stuck(errors.Join(cause, err), nil)
	}
	if len(out.Left) == 0 {
		_, _ = call(ctx, x.site.journal, nil, "forget", x.folder())
	}
	x.unlock(ctx)
	switch {
	case len(out.Left) > 0:
		return out, x.stuck(cause, out.Left)
	case cause != nil:
		return out, x.undone(cause)
	}
	return out, nil
}

// takeBack takes back one deed: what still runs is stopped, the undo command
// runs, then every path is put back as it was.
func (x *run) takeBack(ctx context.Context, d *did) error {
	h := x.site.h
	if d.Root {
		h = rooted{h}
	}
	x.n = d.n
	if err := x.hit("before undo", nil); err != nil {
		return err
	}
	if d.Long {
		if err := x.endJob(ctx, h, d); err != nil {
			return err
		}
	}
	if err := x.mine(ctx, d); err != nil {
		return err
	}
	undoErr := x.command(ctx, h, d)
	if errors.Is(undoErr, host.ErrUnreachable) || errors.Is(undoErr, host.ErrNoRoot) {
		return undoErr
	}
	left, err := x.putBack(ctx, d)
	if err != nil {
		return errors.Join(undoErr, err)
	}
	if undoErr != nil && (len(left) > 0 || len(d.Touch) == 0) {
		left = append(left, Left{d.Step, "", "its undo failed: " + x.o.Redact.String(undoErr.Error())})
	}
	for _, l := range left {
		x.tell(Event{Is: Stays, Why: l.Path + " " + l.Why})
		if err := x.write(ctx, "append", record{Event: "left", N: d.n, Path: l.Path, Why: l.Why}); err != nil {
			return err
		}
	}
	return x.write(ctx, "append", record{Event: "undone", N: d.n})
}

func (x *run) endJob(ctx context.Context, h host.Host, d *did) error {
	j, err := liveJob(ctx, h, x.id+" "+d.Key)
	if err != nil || j == nil {
		return err
	}
	if err := j.Stop(ctx); err != nil {
		return err
	}
	return j.Remove(ctx)
}

// mine marks what nobody has changed since, before the undo command does.
func (x *run) mine(ctx context.Context, d *did) error {
	var args []string
	for i, t := range d.Touch {
		if t.How == "path" || t.How == "shared" {
			args = append(args, slot(d.n, i), t.Path)
		}
	}
	if len(args) == 0 || len(d.Undo) == 0 && !slices.ContainsFunc(d.Touch, func(t touched) bool { return t.How == "tree" }) {
		return nil
	}
	_, err := call(ctx, x.site.journal, nil, "mine", append([]string{x.folder()}, args...)...)
	return err
}

// command runs the undo of a command. Where the program is not there (any
// more), there is nothing it could take off.
func (x *run) command(ctx context.Context, h host.Host, d *did) error {
	if len(d.Undo) == 0 {
		return nil
	}
	r, err := h.Run(ctx, host.Command{Argv: d.Undo, Stdin: strings.NewReader("")})
	switch {
	case errors.Is(err, host.ErrNoCommand):
		return nil
	case err == nil && r.Exit != 0:
		return fmt.Errorf("%s: exit %d: %s", report.Line(d.Undo...), r.Exit, said(r))
	}
	return err
}
