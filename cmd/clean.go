package cmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/report"
)

type cleanOptions struct {
	targetFlags
	changeFlags
	what string
	age  ageValue
	in   []string
}

func (s *session) cleanCommand() command {
	o := cleanOptions{age: ageValue(7 * 24 * time.Hour)}
	return command{
		use:   "clean",
		group: groupKeep,
		works: true,
		short: report.T("Delete old logs, kernel_meta, core dumps and leftovers", "清理旧日志、kernel_meta、core dump 与遗留文件"),
		long: report.T("Shows what would go and how large it is, and asks; with nobody to ask it only shows. What belongs to other users,\nis in use, or is young stays. An old CANN is named, and removed with --what cann. Nothing deleted comes back.",
			"列出将清理的内容与大小并询问；无人可询问时仅列出。属于其他用户、正在使用或较新的内容保留。\n旧版本 CANN 仅列出，用 --what cann 移除。已删除的内容不会恢复。"),
		examples: []example{
			{report.T("what would go here", "本机将清理的内容"), "ascendctl clean --dry-run"},
			{report.T("logs of a fleet, older than a day", "一批主机上 1 天前的日志"), "ascendctl clean --hosts hosts.yaml --what logs --older-than 1d --yes"},
			{report.T("also where a service runs", "同时查找服务的工作目录"), "ascendctl clean --in /srv/llm"},
			{report.T("CANN that nothing uses", "未被使用的 CANN"), "ascendctl clean --host root@npu01 --what cann"},
		},
		exits: report.T("0 done, nothing to do, or only shown, 5 connection lost, 6 not agreed, 7 failed, 64 usage", "0 已完成、无需变更或仅列出，5 连接中断，6 未同意，7 失败，64 用法错误"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.text(&o.what, "what", "", report.T("kinds in `LIST`: %s (default all but cann)", "种类 `LIST`：%s（默认除 cann 外全部）", strings.Join(install.Litters(), ", ")))
			f.value(&o.age, "older-than", report.T("keep what was written within `AGE`: 12h, 7d", "保留 `AGE` 内写入的内容：12h、7d"))
			f.texts(&o.in, "in", report.T("search `DIR` of the host too, for kernel_meta and core dumps; repeatable", "同时在主机的 `DIR` 中查找 kernel_meta 与 core dump；可重复给出"))
			o.changeFlags.flags(f)
		},
		run: func(ctx context.Context, _ []string) error { return s.clean(ctx, o) },
	}
}

func (s *session) clean(ctx context.Context, o cleanOptions) error {
	kinds := strings.FieldsFunc(o.what, func(r rune) bool { return r == ',' || r == ' ' })
	for _, k := range kinds {
		if err := oneOf("what", k, install.Litters()...); err != nil {
			return err
		}
	}
	if err := o.changeFlags.check(); err != nil {
		return err
	}
	ts, err := s.targets(o.targetFlags)
	if err != nil {
		return err
	}
	all, closeAll := s.sites(ctx, o.targetFlags, ts)
	defer closeAll()
	for _, k := range all {
		if k.err == nil && recorded(k.host) {
			return usage(report.T("a recording has nothing to clean", "主机记录没有可清理的内容"), report.Text{}, report.T("name the host itself", "指定主机本身"), "")
		}
	}
	again := s.again("--dry-run")
	if s.consent() == nil && !o.yes {
		o.dryRun = true
	}
	if o.dryRun && !o.yes {
		again += " --yes"
	}
	s.onSites(ctx, o.targetFlags, all, func(ctx context.Context, k *site) error {
		look, err := s.lookOptions(facts.Options{Roots: nonEmpty(k.target.InstallPath)})
		if err != nil {
			return err
		}
		f := facts.Collect(ctx, k.host, look)
		f.Target = k.target.Name
		set, err := install.Clean(ctx, k.host, install.Sweep{What: kinds, Age: time.Duration(o.age), In: o.in, Managed: k.target.Managed, Again: again}, &f)
		if err != nil {
			return err
		}
		return s.make(ctx, k, set)
	})
	return s.change(ctx, o.changeFlags, all, course{again: again, at: o.at, final: true})
}

// ageValue is a flag of a Go duration, or of days: 7d.
type ageValue time.Duration

func (a *ageValue) Type() string { return "AGE" }

func (a *ageValue) String() string {
	if day := 24 * time.Hour; time.Duration(*a)%day == 0 {
		return strconv.FormatInt(int64(time.Duration(*a)/day), 10) + "d"
	}
	return time.Duration(*a).String()
}

func (a *ageValue) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > 36500 {
			return wants(report.T("want an age such as 12h, 7d", "应为时长，例如 12h、7d"))
		}
		*a = ageValue(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return wants(report.T("want an age such as 12h, 7d", "应为时长，例如 12h、7d"))
	}
	*a = ageValue(v)
	return nil
}
