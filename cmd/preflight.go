package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/check"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

type preflightOptions struct {
	targetFlags
	recordFlags
	workload, task, cann, soc, device, failOn, user string
	nodes                                           int
	ignore, reach                                   []string
	deep, online                                    bool
}

func (s *session) preflightCommand() command {
	var o preflightOptions
	return command{
		use:   "preflight",
		group: groupDaily,
		short: report.T("Check whether a host can run a workload", "检查主机能否运行某项工作负载"),
		long: report.T("Looks and judges; changes nothing. This release judges what needs no version matrix: which versions belong\ntogether is not judged yet.",
			"只查看并判断，不做任何变更。当前版本判断不依赖版本配套表的检查项；各版本是否配套尚未判断。"),
		examples: []example{
			{report.T("this machine, everything", "本机，全部检查"), "ascendctl preflight"},
			{report.T("can npu01 run vllm-ascend", "npu01 能否运行 vllm-ascend"), "ascendctl preflight --host root@npu01 --for vllm-ascend"},
			{report.T("a fleet; warnings fail too", "一批主机，警告也视为失败"), "ascendctl preflight --hosts hosts.yaml --fail-on warn"},
			{report.T("a recording somebody sent", "他人发来的主机记录"), "ascendctl preflight --host replay:npu01.yaml"},
		},
		exits: report.T("0 ready, 3 not ready, 4 warnings (--fail-on warn), 5 unreachable, 64 usage",
			"0 已就绪，3 未就绪，4 有警告（--fail-on warn），5 不可达，64 用法错误"),
		flags: o.flags,
		run:   func(ctx context.Context, _ []string) error { return s.preflight(ctx, o) },
	}
}

func (o *preflightOptions) flags(f *flagSet) {
	o.targetFlags.flags(f)
	f.in = flagsWhat
	f.text(&o.workload, "for", "", report.T("`WORKLOAD` the host is to run: vllm-ascend, mindie, sglang, mindspore, torch, om", "主机要运行的负载 `WORKLOAD`：vllm-ascend、mindie、sglang、mindspore、torch、om"))
	f.text(&o.task, "task", "", report.T("`NAME` of what is judged: serve, convert, train, install (default from --for)", "判断的任务 `NAME`：serve、convert、train、install（默认取自 --for）"))
	f.text(&o.cann, "cann", "", report.T("CANN `VERSION` that is wanted", "要求的 CANN 版本 `VERSION`"))
	f.text(&o.soc, "soc", "", report.T("chip `NAME` as in package names: 310p, 910b, a3 (default asked from the host)", "芯片 `NAME`，同软件包名称：310p、910b、a3（默认询问主机）"))
	f.text(&o.device, "device", "", report.T("`LIST` of logic ids the job uses: 0, 0-3, 0,2, free", "作业使用的逻辑 ID 列表 `LIST`：0、0-3、0,2、free"))
	f.text(&o.user, "user", "", report.T("`USER` who runs the job, where it is not the login", "运行作业的用户 `USER`，若不是登录用户"))
	f.number(&o.nodes, "nodes", 1, report.T("`N` hosts the service spans", "服务跨越的主机数 `N`"))
	f.yes(&o.deep, "deep", "", report.T("slow probes too", "同时进行耗时的探测"))
	f.texts(&o.reach, "reach", report.T("try an HTTPS request to `HOST` from there too; repeatable", "同时从该主机尝试以 HTTPS 访问 `HOST`；可重复给出"))
	f.yes(&o.online, "online", "", report.T("the plan downloads: try the mirrors", "计划需要下载：检查镜像站可达性"))
	f.in = flagsSafety
	f.texts(&o.ignore, "ignore", report.T("demote check `ID` to a warning; repeatable", "将检查项 `ID` 降为警告；可重复给出"))
	f.text(&o.failOn, "fail-on", "error", report.T("`LEVEL` that makes the exit code 3 or 4: error, warn, never", "使退出码为 3 或 4 的级别 `LEVEL`：error、warn、never"))
	o.recordFlags.flags(f)
}

// scene turns the flags into what a person wants of one machine.
func (o preflightOptions) scene(t host.Target) (check.Scene, error) {
	engine, _, _ := strings.Cut(o.workload, "@")
	if engine == "om" {
		engine = "acl"
	}
	s := check.Scene{Task: o.task, CANN: o.cann, Chip: strings.ToLower(o.soc), Engine: engine, Managed: t.Managed, Product: t.Product,
		InstallPath: t.InstallPath, User: o.user, Nodes: o.nodes, Deep: o.deep, Online: o.online}
	if s.Task == "" && engine != "" {
		s.Task = "serve"
	}
	for _, err := range []error{
		oneOf("for", first(engine, "acl"), "vllm-ascend", "mindie", "sglang", "mindspore", "torch", "acl"),
		oneOf("task", first(s.Task, "serve"), "serve", "convert", "train", "install"),
		oneOf("fail-on", o.failOn, "error", "warn", "never"),
	} {
		if err != nil {
			return s, err
		}
	}
	if o.device == "" {
		return s, nil
	}
	set, err := facts.ParseDevices(o.device)
	s.Devices = set.IDs
	return s, err
}

// choose turns --device into logic ids of this host; free is known only now.
func (o preflightOptions) choose(f *facts.Facts) ([]int, error) {
	if o.device == "" {
		return nil, nil
	}
	set, err := facts.ParseDevices(o.device)
	if err != nil {
		return nil, err
	}
	return set.Pick(f.Devices(), 0)
}

func (s *session) preflight(ctx context.Context, o preflightOptions) error {
	ts, err := s.targets(o.targetFlags)
	if err != nil {
		return err
	}
	if err := o.recordFlags.one(ts); err != nil {
		return err
	}
	b, err := s.book()
	if err != nil {
		return err
	}
	catalogue, err := check.Load(b)
	if err != nil {
		return err
	}
	for _, id := range o.ignore {
		if _, ok := catalogue.Spec(id); !ok {
			return usage(report.T("--ignore %s: no check has this id", "--ignore %s：没有该检查项", id), report.Text{},
				report.T("see the list of checks", "查看检查项列表"), "ascendctl list checks")
		}
	}
	if _, err := o.scene(host.Target{}); err != nil {
		return err
	}
	if engine, version, named := strings.Cut(o.workload, "@"); named {
		s.err.Say(report.T("note: version %s of %s is not judged: this release has no version matrix", "提示：未判断 %[2]s 的版本 %[1]s：当前版本没有版本配套表", version, engine))
	}
	done := onEach(ctx, s, o.targetFlags, ts, func(ctx context.Context, t host.Target, h host.Host) (screen.PreflightHost, error) {
		return s.judge(ctx, o, catalogue, t, h)
	})
	if len(done) == 1 && done[0].err != nil {
		return done[0].err
	}
	d, codes := screen.Preflight{Verbose: s.flags.verbose}, []report.Exit{}
	for _, r := range done {
		if r.err != nil {
			r.value = screen.PreflightHost{Host: r.name, Overall: report.Unknown, Exit: exitCode(ctx, r.err), Error: why(r.err)}
		}
		codes = append(codes, r.value.Exit)
		d.Hosts = append(d.Hosts, r.value)
	}
	d.Envelope = s.envelope("preflight/v1")
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(codes...)
}

// judge looks at one machine and gives its verdict.
func (s *session) judge(ctx context.Context, o preflightOptions, c *check.Catalogue, t host.Target, h host.Host) (screen.PreflightHost, error) {
	began := s.app.Now()
	scene, err := o.scene(t)
	if err != nil {
		return screen.PreflightHost{}, err
	}
	// A recording is judged for what it was recorded for.
	if r, ok := h.(interface{ Wanted() host.Wanted }); ok && o.workload == "" && o.task == "" {
		scene = sceneOf(r.Wanted())
	}
	wants := c.Wants(scene)
	wants.Reach = append(wants.Reach, o.reach...)
	look, err := s.lookOptions(wants)
	if err != nil {
		return screen.PreflightHost{}, err
	}
	h, tape := tapeOf(h, o.recordFlags)
	f := facts.Collect(ctx, h, look)
	if picked, err := o.choose(&f); err != nil {
		return screen.PreflightHost{}, err
	} else if o.device != "" {
		scene.Devices = picked
	}
	if err := s.writeRecording(o.recordFlags, tape, wantedOf(scene)); err != nil {
		return screen.PreflightHost{}, err
	}
	found := check.Host(c, &f, scene)
	check.Demote(found, o.ignore)
	out := screen.PreflightHost{Host: t.Name, Findings: found, Facts: &f, Groups: headings(c)}
	out.Overall, out.Exit = check.Overall(found)
	switch {
	case o.failOn == "never":
		out.Exit = report.ExitOK
	case o.failOn == "warn" && out.Exit == report.ExitOK && slices.ContainsFunc(found, report.Finding.Cautions):
		out.Exit = report.ExitWarnings
	}
	for i := range found {
		found[i].Run = s.ours(found[i].Run)
		if out.Next == "" && found[i].Refuses() {
			out.Next = found[i].Run
		}
	}
	out.TookMS = s.app.Now().Sub(began).Round(time.Millisecond).Milliseconds()
	return out, nil
}

func headings(c *check.Catalogue) map[string]report.Text {
	out := map[string]report.Text{}
	for _, g := range c.Groups() {
		out[g.ID] = g.Title
	}
	return out
}

// sceneOf and wantedOf turn what a recording keeps of a target into a scene
// and back, so that a verdict from a recording equals the live one.
func sceneOf(w host.Wanted) check.Scene {
	return check.Scene{Task: w.Task, CANN: w.Cann, Chip: w.Chip, Engine: w.Engine, Installs: w.Installs, Managed: w.Managed,
		Product: w.Product, User: w.User, Cards: w.Cards, Devices: w.Devices, Nodes: w.Nodes, Ports: w.Ports, Uses: w.Uses,
		InstallPath: w.InstallPath, Online: w.Online, Deep: w.Deep}
}

func wantedOf(s check.Scene) host.Wanted {
	return host.Wanted{Task: s.Task, Cann: s.CANN, Chip: s.Chip, Engine: s.Engine, Installs: s.Installs, Managed: s.Managed,
		Product: s.Product, User: s.User, Cards: s.Cards, Devices: s.Devices, Nodes: s.Nodes, Ports: s.Ports, Uses: s.Uses,
		InstallPath: s.InstallPath, Online: s.Online, Deep: s.Deep}
}

func (s *session) listCommand() command {
	return command{
		use:   "list",
		group: groupLook,
		short: report.T("List what ascendctl knows", "列出 ascendctl 的内置内容"),
		sub: []command{{
			use:   "checks",
			short: report.T("List the checks of preflight", "列出 preflight 的检查项"),
			examples: []example{
				{report.T("ids and titles", "ID 与标题"), "ascendctl list checks"},
			},
			exits: report.T("0 always", "始终为 0"),
			run: func(context.Context, []string) error {
				b, err := s.book()
				if err != nil {
					return err
				}
				c, err := check.Load(b)
				if err != nil {
					return err
				}
				d := screen.Checks{Checks: c.List()}
				d.Envelope = s.envelope("checks/v1")
				return s.show(d)
			},
		}},
	}
}
