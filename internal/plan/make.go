package plan

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Made is a plan that has been held against a host: it knows what is done
// already. Nothing was changed to learn it.
type Made struct {
	plan   Plan
	steps  []Step // in the order they run
	kept   []bool
	o      Options
	site   *site
	undoes string // id, of a plan that takes back

	agreed   bool
	accepted []string // risks
}

// Make holds a plan against a host. It only looks. A journal of the same name
// that was not brought to an end is gone on with; one of another name is a
// problem, because two half changes cannot be taken back in order.
func Make(ctx context.Context, h host.Host, p Plan, o Options) (*Made, error) {
	o = o.filled()
	steps, err := p.order(o.Redact)
	if err != nil {
		return nil, err
	}
	root := slices.ContainsFunc(steps, func(s Step) bool { return s.Root })
	m := &Made{plan: p, steps: steps, o: o}
	if m.site, err = visit(ctx, h, root, o); err != nil {
		return nil, err
	}
	if err := m.site.goOn(p.Name); err != nil {
		return nil, err
	}
	m.kept, err = m.look(ctx)
	return m, err
}

// goOn finds the journal the plan of that name continues.
func (s *site) goOn(name string) error {
	s.open = nil
	for _, e := range s.all {
		switch {
		case !e.broken() || e.Acts == 0:
		case e.Name == name:
			s.open = e
		default:
			return &report.Problem{
				What: report.T("an earlier change of %s was not brought to an end", "%s 上有一次变更尚未结束", s.h.String()),
				Why:  report.T("%s began %s and is neither done nor undone", "%s 于 %s 开始，既未完成也未撤销", e.Name, e.Began.UTC().Format("2006-01-02 15:04:05Z")),
				Do:   report.T("finish it with the command it began with, or take it back: %s", "用当初的命令将其完成，或将其撤销：%s", cmp.Or(e.Again, e.Name)),
				Run:  report.Line("ascendctl", "undo", "--host", s.h.String(), e.ID), Exit: report.ExitFailed,
			}
		}
	}
	return nil
}

// look asks of every step whether it is done.
func (m *Made) look(ctx context.Context) ([]bool, error) {
	forget, err := m.site.glance(ctx, m.steps...)
	defer forget()
	if err != nil {
		return nil, err
	}
	kept := make([]bool, len(m.steps))
	for i, s := range m.steps {
		ok, err := m.done(ctx, s)
		if err != nil {
			return nil, m.unseen(s, err)
		}
		kept[i] = ok
	}
	return kept, nil
}

func (m *Made) unseen(s Step, err error) error {
	if p, ok := err.(*report.Problem); ok {
		return p
	}
	return &report.Problem{
		What: report.T("cannot tell whether step %s is done on %s", "无法判断步骤 %s 在 %s 上是否已完成", s.ID, m.site.h.String()),
		Why:  report.Same(m.o.Redact.String(err.Error())), Exit: exitOf(err), Err: err,
		Do: report.T("make it readable, or run with --sudo; nothing was changed by this look", "使其可读取，或使用 --sudo 运行；此次查看未做任何变更"),
	}
}

// done looks whether a step is done. One that the journal began is not done
// before each of its acts is entered as done, or undo would not know how it
// left things.
func (m *Made) done(ctx context.Context, s Step) (bool, error) {
	begun := false
	for _, a := range s.Do {
		d := m.site.open.of(s.ID, a.key())
		begun = begun || d != nil
	}
	if begun {
		for _, a := range s.Do {
			d := m.site.open.of(s.ID, a.key())
			if follows(a) && d == nil || d != nil && !d.done {
				return false, nil
			}
		}
	}
	if s.Check != nil {
		return s.Check(ctx, m.host(s))
	}
	for _, a := range s.Do {
		if follows(a) {
			continue
		}
		m.site.now = s.ID
		if ok, err := a.done(ctx, m.site, m.host(s)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (m *Made) host(s Step) host.Host {
	if s.Root {
		return rooted{m.site.h}
	}
	return m.site.h
}

// sources reads every file that is to be brought, so that a corrupt one is
// refused before anything is changed.
func (m *Made) sources(ctx context.Context) error {
	for i, s := range m.steps {
		for _, a := range s.Do {
			u, ok := a.(Upload)
			if !ok || m.kept[i] {
				continue
			}
			got, err := digest(ctx, u.Src, u.Size)
			if err == nil && got == u.SHA256 {
				continue
			}
			why := report.T("its sha256 is %s, wanted %s", "其 sha256 为 %s，应为 %s", got, u.SHA256)
			if err != nil {
				why = report.Same(err.Error())
			}
			return &report.Problem{
				What: report.T("%s is not the file the plan names", "%s 与变更计划中的文件不符", m.o.Redact.String(u.From)),
				Why:  why, Do: report.T("get it again; nothing was changed", "重新获取该文件；未做任何变更"),
				Exit: report.ExitFailed, Err: err,
			}
		}
	}
	return nil
}

func digest(ctx context.Context, src io.ReaderAt, size int64) (string, error) {
	h := newSum()
	n, err := io.Copy(h, &stoppable{ctx, io.NewSectionReader(src, 0, size)})
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes, wanted %d", n, size)
	}
	return h.hex(), err
}
