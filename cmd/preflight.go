package cmd

import (
	"context"
	"net/netip"
	"strconv"
	"strings"

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
	installs, image, rankTable                      string
	nodes                                           int
	ignore, reach, listen, peers                    []string
	deep, online                                    bool
	only                                            []string // ids that start so; none = all
	pid                                             int      // whose environment is judged; 0: that of the login
}

func (s *session) preflightCommand() command {
	var o preflightOptions
	return command{
		use:     "preflight",
		group:   groupDaily,
		formats: []string{"junit"},
		short:   report.T("Check whether a host can run a workload", "检查主机能否运行某项工作负载"),
		long: report.T("Looks and judges; changes nothing. Several hosts are also compared with each other.",
			"只查看并判断，不做任何变更。多台主机还会相互比较。"),
		examples: []example{
			{report.T("this machine, everything", "本机，全部检查"), "ascendctl preflight"},
			{report.T("can npu01 run vllm-ascend 0.23.0", "npu01 能否运行 vllm-ascend 0.23.0"), "ascendctl preflight --host root@npu01 --for vllm-ascend@0.23.0"},
			{report.T("in CI: warnings fail too, result as JUnit", "用于 CI：警告也视为失败，结果为 JUnit"), "ascendctl preflight --hosts hosts.yaml --fail-on warn -o junit > preflight.xml"},
			{report.T("two hosts for one service: also compared with each other", "同一服务的两台主机：同时相互比较"), "ascendctl preflight --host root@npu01 --host root@npu02 --nodes 2"},
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
	f.text(&o.workload, "for", "", report.T("`WORKLOAD[@VERSION]` the host is to run: vllm-ascend, mindie, sglang, mindspore, torch, om", "主机要运行的负载 `WORKLOAD[@VERSION]`：vllm-ascend、mindie、sglang、mindspore、torch、om"))
	f.text(&o.task, "task", "", report.T("`NAME` of what is judged: serve, convert, train, install (default from --for)", "判断的任务 `NAME`：serve、convert、train、install（默认取自 --for）"))
	f.text(&o.installs, "installs", "", report.T("`LIST` of what the plan installs: driver, firmware, cann, ops, nnal, engine, operators, os_packages", "计划安装的内容 `LIST`：driver、firmware、cann、ops、nnal、engine、operators、os_packages"))
	f.text(&o.cann, "cann", "", report.T("CANN `VERSION` that is wanted", "要求的 CANN 版本 `VERSION`"))
	f.text(&o.soc, "soc", "", report.T("chip `NAME` as in package names: 310p, 910b, a3 (default asked from the host)", "芯片 `NAME`，同软件包名称：310p、910b、a3（默认询问主机）"))
	f.text(&o.device, "device", "", report.T("`LIST` of logic ids the job uses: 0, 0-3, 0,2, free", "作业使用的逻辑 ID 列表 `LIST`：0、0-3、0,2、free"))
	f.text(&o.user, "user", "", report.T("`USER` who runs the job, where it is not the login", "运行作业的用户 `USER`，若不是登录用户"))
	f.number(&o.nodes, "nodes", 1, report.T("`N` hosts the service spans", "服务跨越的主机数 `N`"))
	f.texts(&o.listen, "listen", report.T("`ADDR` with the port the job will open: 8000, 0.0.0.0:8000; repeatable", "作业将监听的地址 `ADDR`（含端口）：8000、0.0.0.0:8000；可重复给出"))
	f.text(&o.image, "image", "", report.T("container `IMAGE` the job runs in, or its tag", "作业使用的容器镜像 `IMAGE` 或其标签"))
	f.text(&o.rankTable, "ranktable", "", report.T("`FILE` on the host: the rank table of the job", "主机上的 `FILE`：作业的 ranktable"))
	f.texts(&o.peers, "peer", report.T("NPU `ADDRESS` of another host to try from here; repeatable", "从该主机尝试访问的其他主机 NPU 地址 `ADDRESS`；可重复给出"))
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
	engine, version, _ := strings.Cut(o.workload, "@")
	if engine == "om" {
		engine = "acl"
	}
	s := check.Scene{Task: o.task, CANN: o.cann, Chip: strings.ToLower(o.soc), Engine: engine, Version: version, Managed: t.Managed,
		Product: t.Product, InstallPath: t.InstallPath, User: o.user, Nodes: o.nodes, Deep: o.deep, Online: o.online,
		Image: o.image, RankTable: o.rankTable, Peers: o.peers}
	if s.Task == "" && engine != "" {
		s.Task = "serve"
	}
	if o.image != "" {
		s.Uses = append(s.Uses, "container_recipe")
	}
	if o.rankTable != "" {
		s.Uses = append(s.Uses, "ranktable")
	}
	checks := []error{
		oneOf("for", first(engine, "acl"), "vllm-ascend", "mindie", "sglang", "mindspore", "torch", "acl"),
		oneOf("task", first(s.Task, "serve"), "serve", "convert", "train", "install"),
		oneOf("fail-on", o.failOn, "error", "warn", "never"),
	}
	for _, w := range strings.FieldsFunc(o.installs, func(r rune) bool { return r == ',' || r == ' ' }) {
		checks = append(checks, oneOf("installs", w, "driver", "firmware", "cann", "ops", "nnal", "engine", "operators", "os_packages"))
		s.Installs = append(s.Installs, w)
	}
	for _, a := range o.peers {
		if _, err := netip.ParseAddr(a); err != nil {
			checks = append(checks, usage(report.T("--peer %s: not an IP address", "--peer %s：不是 IP 地址", a), report.Same(err.Error()),
				report.T("give the address of an NPU", "给出 NPU 的地址"), "ascendctl preflight --help"))
		}
	}
	for _, a := range o.listen {
		port, err := portOf(a)
		checks = append(checks, err)
		s.Ports = append(s.Ports, port)
	}
	for _, err := range checks {
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

// portOf reads the port of "8000", ":8000" or "0.0.0.0:8000".
func portOf(addr string) (int, error) {
	n, err := strconv.ParseUint(addr[strings.LastIndexByte(addr, ':')+1:], 10, 16)
	if err != nil || n == 0 {
		return 0, usage(report.T("--listen %s: no port in it", "--listen %s：其中没有端口", addr), report.Text{},
			report.T("write 8000 or 0.0.0.0:8000", "写成 8000 或 0.0.0.0:8000"), "ascendctl preflight --help")
	}
	return int(n), nil
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
				c, err := check.Load(b, nil)
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
