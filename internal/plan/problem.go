package plan

import (
	"context"
	"errors"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// exitOf is the status for an error of the door.
func exitOf(err error) report.Exit {
	var p *report.Problem
	switch {
	case errors.As(err, &p):
		return p.Exit
	case errors.Is(err, host.ErrUnreachable):
		return report.ExitUnreachable
	case errors.Is(err, context.Canceled):
		return report.ExitInterrupted
	}
	return report.ExitFailed
}

// why gives the evidence of an error without secrets.
func (x *run) why(err error) report.Text {
	var p *report.Problem
	if errors.As(err, &p) && !p.Why.IsZero() {
		return report.T("%s: %s", "%s：%s", p.What, p.Why)
	}
	return report.Same(x.o.Redact.String(err.Error()))
}

// problem words what went wrong before anything was changed.
func (x *run) problem(err error) error {
	var p *report.Problem
	if errors.As(err, &p) {
		return p
	}
	return &report.Problem{
		What: report.T("cannot begin to change %s", "无法开始变更 %s", x.site.h.String()),
		Why:  x.why(err), Do: report.T("nothing was changed; run it again", "未做任何变更；可重新运行"), Run: x.made.plan.Again,
		Exit: exitOf(err), Err: err,
	}
}

func (x *run) changed(step string) error {
	return &report.Problem{
		What: report.T("%s has changed since the plan was shown", "变更计划展示之后 %s 已发生变化", x.site.h.String()),
		Why:  report.T("%s is not as the plan said", "%s 与变更计划所述不符", step),
		Do:   report.T("run it again and read the new plan; nothing was changed", "重新运行并查看新的变更计划；未做任何变更"),
		Run:  x.made.plan.Again, Exit: report.ExitNotAgreed,
	}
}

func (x *run) lost(err error) error {
	return &report.Problem{
		What: report.T("%s was lost during step %d of %d", "%[1]s 在第 %[2]d 步（共 %[3]d 步）期间失去连接", x.site.h.String(), x.at, x.of),
		Why:  x.why(err),
		Do:   report.T("run the same command again: it looks at the host and goes on", "重新运行同一命令：会查看主机状态并继续"),
		Run:  x.made.plan.Again, Exit: report.ExitUnreachable, Err: err,
	}
}

func (x *run) undone(err error) error {
	exit := report.ExitUndone
	if errors.Is(err, context.Canceled) {
		exit = report.ExitInterrupted
	}
	return &report.Problem{
		What: report.T("%s failed at step %d of %d and was undone; %s is as it was", "%s 在第 %d 步（共 %d 步）失败，已撤销；%s 的状态与变更前一致",
			report.Same(x.made.plan.Name), x.at, x.of, x.site.h.String()),
		Why: x.why(err), Do: report.T("remove the cause and run it again", "排除原因后重新运行"), Run: x.made.plan.Again,
		Exit: exit, Err: err,
	}
}

func (x *run) stuck(err error, left []Left) error {
	why := report.T("not all could be taken back", "部分内容未能撤销")
	switch {
	case err != nil:
		why = x.why(err)
	case len(left) > 0:
		why = report.T("step %s: %s", "步骤 %s：%s", left[0].Step, report.Same(left[0].Path+" "+left[0].Why))
	}
	return &report.Problem{
		What: report.T("%s was not fully undone on %s", "%s 未能在 %s 上完全撤销", report.Same(x.made.plan.Name), x.site.h.String()),
		Why:  why,
		Do:   report.T("the journal %s names what is left; remove the cause, then undo again", "日志 %s 列出了遗留内容；排除原因后再次撤销", x.folder()+"/journal"),
		Run:  report.Line("ascendctl", "undo", "--host", x.site.h.String(), x.id),
		Exit: report.ExitStuck, Err: err,
	}
}
