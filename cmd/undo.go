package cmd

import (
	"context"

	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

type undoOptions struct {
	targetFlags
	changeFlags
	list, user bool
}

func (s *session) undoCommand() command {
	var o undoOptions
	return command{
		use:   "undo [ID]",
		group: groupKeep,
		works: true,
		short: report.T("Take back a change", "撤销一次变更"),
		long: report.T("Puts back what the journal on the host remembers: path, type, mode, owner, content and link target. What\ncannot be put back (OS packages, a driver upgrade) was said in the plan and is said again.",
			"按主机上的变更日志恢复：路径、类型、权限、属主、内容与链接目标。无法恢复的内容（操作系统软件包、\n驱动升级）在变更计划中已说明，撤销时会再次说明。"),
		examples: []example{
			{report.T("what was changed here", "本机做过的变更"), "ascendctl undo --list"},
			{report.T("what taking back the newest would do", "撤销最近一次变更将执行的操作"), "ascendctl undo --host root@npu01 --dry-run"},
			{report.T("take back one change", "撤销某一次变更"), "ascendctl undo --host root@npu01 20261130T014500Z"},
		},
		exits: report.T("0 taken back, 5 connection lost, 6 not agreed, 8 not all taken back, 64 no such change", "0 已撤销，5 连接中断，6 未同意，8 未能全部撤销，64 没有该次变更"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.yes(&o.list, "list", "", report.T("only list the changes", "仅列出变更"))
			f.yes(&o.user, "user-install", "", report.T("changes of this login, made without root", "当前用户在不使用 root 时所做的变更"))
			o.changeFlags.flags(f)
		},
		run: func(ctx context.Context, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return s.undo(ctx, o, id)
		},
	}
}

func (s *session) undo(ctx context.Context, o undoOptions, id string) error {
	if err := o.changeFlags.check(); err != nil {
		return err
	}
	ts, err := s.targets(o.targetFlags)
	if err != nil {
		return err
	}
	all, closeAll := s.sites(ctx, o.targetFlags, ts)
	defer closeAll()
	if o.list {
		return s.journals(ctx, o, all)
	}
	s.onSites(ctx, o.targetFlags, all, func(ctx context.Context, k *site) (err error) {
		k.made, err = plan.Undo(ctx, k.host, id, s.planOptions())
		return err
	})
	line := "ascendctl undo" + o.at(ts[0].Name)
	if id != "" {
		line += " " + report.Line(id)
	}
	return s.change(ctx, o.changeFlags, all, course{again: line, at: o.at})
}

func (s *session) journals(ctx context.Context, o undoOptions, all []*site) error {
	d := screen.Journals{}
	for _, k := range all {
		h := screen.JournalHost{Host: k.target.Name}
		if k.err == nil {
			h.Changes, k.err = plan.List(ctx, k.host, !o.user, s.planOptions())
		}
		if k.err != nil {
			if len(all) == 1 {
				return k.err
			}
			h.Error = why(k.err)
		}
		d.Hosts = append(d.Hosts, h)
	}
	d.Envelope = s.envelope("journals/v1")
	return s.show(d)
}
