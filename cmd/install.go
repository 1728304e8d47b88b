package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

type installOptions struct {
	targetFlags
	changeFlags
	cann, workload, with, driver, runtime, uninstall string
	from, index, path                                string
	user, skipOS, print                              bool
	set                                              []string
	vars                                             map[string]string // of set
}

func (s *session) installCommand() command {
	var o installOptions
	return command{
		use:   "install-cann",
		alias: "install",
		group: groupDaily,
		works: true,
		short: report.T("Install driver, firmware, CANN, ops, nnal and a Python set", "安装驱动、固件、CANN、算子包、nnal 与 Python 软件包"),
		long: report.T("Shows a plan made from what the host has and from the version matrix, asks, and runs exactly that. What is\nright stays. Each change is kept in a journal on the host and can be taken back. A run that broke off is gone\non with by the same command.",
			"根据主机现状与版本配套表给出变更计划，经同意后严格按计划执行。符合要求的部分保留。每项变更都记录在\n主机上的变更日志中，可以撤销。中断后再次执行同一命令即可继续。"),
		examples: []example{
			{report.T("what would be done for an engine", "为某推理引擎将执行的变更"), "ascendctl install-cann --host root@npu01 --for vllm-ascend@0.23.0 --dry-run"},
			{report.T("do it, with its Python set", "执行，并安装其 Python 软件包"), "ascendctl install-cann --host root@npu01 --for vllm-ascend@0.23.0 --with vllm-ascend"},
			{report.T("from packages that are here already", "使用已下载的软件包"), "ascendctl install-cann --host root@npu01 --cann 9.1.0 --from /data/cann-9.1.0"},
			{report.T("what to download on another machine", "需要在其他机器上下载的内容"), "ascendctl install-cann --host root@npu01 --cann 9.1.0 --print-urls"},
			{report.T("a fleet, two hosts at a time", "一批主机，每次 2 台"), "ascendctl install-cann --hosts hosts.yaml --cann 9.1.0 --serial 2 --yes"},
		},
		exits: report.T("0 done or nothing to do, 3 refused, 5 connection lost, 6 not agreed, 7 failed and undone, 8 failed and not undone, 64 usage",
			"0 已完成或无需变更，3 被拒绝，5 连接中断，6 未同意，7 失败并已撤销，8 失败且未能撤销，64 用法错误"),
		flags: o.flags,
		run:   func(ctx context.Context, _ []string) error { return s.install(ctx, o) },
	}
}

func (o *installOptions) flags(f *flagSet) {
	o.targetFlags.flags(f)
	f.in = flagsWhat
	f.text(&o.workload, "for", "", report.T("`WORKLOAD[@VERSION]` the host is to run: vllm-ascend, mindie, sglang, mindspore, torch, om", "主机要运行的负载 `WORKLOAD[@VERSION]`：vllm-ascend、mindie、sglang、mindspore、torch、om"))
	f.text(&o.cann, "cann", "", report.T("CANN `VERSION` (default the newest that fits)", "CANN 版本 `VERSION`（默认为适用的最新版本）"))
	f.text(&o.with, "with", "", report.T("Python sets in `LIST`: torch_npu, vllm-ascend, mindspore, cann (what atc needs)", "Python 软件包组 `LIST`：torch_npu、vllm-ascend、mindspore、cann（atc 所需）"))
	f.text(&o.driver, "driver", "", report.T("HDK `VERSION` of driver and firmware (default kept where it fits)", "驱动与固件的 HDK 版本 `VERSION`（默认在适用时保留）"))
	f.text(&o.runtime, "docker-runtime", "", report.T("Ascend Docker Runtime of `VERSION`, or latest", "Ascend Docker Runtime 版本 `VERSION`，或 latest"))
	f.text(&o.uninstall, "uninstall", "", report.T("take away `WHAT` instead: a CANN version that is installed, or driver", "改为卸载 `WHAT`：已安装的 CANN 版本，或 driver"))
	f.text(&o.from, "from", "", report.T("packages from `DIR|URL|BUNDLE` instead of the vendor's addresses", "软件包取自 `DIR|URL|BUNDLE`，代替厂商地址"))
	f.yes(&o.print, "print-urls", "", report.T("only say what to download elsewhere", "仅列出需要在其他机器上下载的内容"))
	f.text(&o.index, "index-url", "", report.T("pip index `URL` (default as pip is configured here)", "pip 索引 `URL`（默认采用本机 pip 配置）"))
	f.text(&o.path, "install-path", "", report.T("`DIR` of CANN on the host (default /usr/local/Ascend, ~/Ascend without root)", "主机上的 CANN 目录 `DIR`（默认 /usr/local/Ascend，非 root 为 ~/Ascend）"))
	f.texts(&o.set, "set", report.T("`KEY=VALUE` of the plan: tmpdir (where installers unpack), venv, python, uid; repeatable", "变更计划的 `KEY=VALUE`：tmpdir（安装包的解压目录）、venv、python、uid；可重复给出"))
	f.yes(&o.user, "user-install", "", report.T("for this login alone, without root: no driver, no OS packages", "仅为当前用户安装，不使用 root：不含驱动与操作系统软件包"))
	f.yes(&o.skipOS, "skip-os-packages", "", report.T("leave the packages of the system to somebody else", "不安装操作系统软件包"))
	o.changeFlags.flags(f)
}

func (o installOptions) want(s *session, k *site) install.Want {
	w := install.Want{For: o.workload, CANN: o.cann, Driver: o.driver, DockerRuntime: o.runtime, Path: first(o.path, k.target.InstallPath),
		Tmpdir: o.vars["tmpdir"], User: o.user, SkipOS: o.skipOS, Managed: k.target.Managed, Python: o.vars["python"], Venv: o.vars["venv"], UID: o.vars["uid"],
		Again: s.again("--dry-run", "--print-urls")}
	for name, to := range map[string]*string{"tmpdir": &w.Tmpdir, "venv": &w.Venv, "python": &w.Python, "uid": &w.UID} {
		*to = first(*to, k.target.Set[name])
	}
	w.With = strings.FieldsFunc(o.with, func(r rune) bool { return r == ',' || r == ' ' })
	return w
}

// packing is what a run of install-cann knows besides the hosts.
type packing struct {
	data   *install.Data
	matrix *matrix.Matrix
	fetch  *install.Fetcher
}

// settle reads --set.
func (o *installOptions) settle() error {
	o.vars = map[string]string{}
	for _, pair := range o.set {
		key, value, ok := strings.Cut(pair, "=")
		if err := oneOf("set", key, planVars...); err != nil {
			return err
		}
		if !ok || value == "" {
			return usage(report.T("--set %s gives no value", "--set %s 未给出值", key), report.Text{}, report.T("write KEY=VALUE", "写成 KEY=VALUE"), "")
		}
		o.vars[key] = value
	}
	return o.changeFlags.check()
}

// planVars are what --set can say of a plan.
var planVars = []string{"tmpdir", "venv", "python", "uid"}

func (s *session) install(ctx context.Context, o installOptions) error {
	if err := o.settle(); err != nil {
		return err
	}
	ts, err := s.targets(o.targetFlags)
	if err != nil {
		return err
	}
	r, err := s.packing(o)
	if err != nil {
		return err
	}
	defer r.fetch.Close()
	all, closeAll := s.sites(ctx, o.targetFlags, ts)
	defer closeAll()
	sets := map[*site]*install.Set{}
	seen := map[*site]*facts.Facts{}
	for _, k := range all {
		seen[k], sets[k] = &facts.Facts{}, &install.Set{}
	}
	s.onSites(ctx, o.targetFlags, all, func(ctx context.Context, k *site) error {
		f, set, err := s.draft(ctx, o, r, k)
		if err == nil {
			*seen[k], *sets[k] = *f, *set
		}
		return err
	})
	for _, k := range all {
		if k.err == nil && recorded(k.host) && !o.dryRun && !o.print {
			return onlyLook()
		}
	}
	if o.print {
		return s.printURLs(ctx, o, r, all, sets, seen)
	}
	if err := s.bring(ctx, o, r, all, sets, seen); err != nil {
		return err
	}
	ways, err := s.ways(ctx, o, r)
	if err != nil {
		return err
	}
	s.onSites(ctx, o.targetFlags, all, func(ctx context.Context, k *site) error {
		if len(sets[k].Packages) > 0 || len(sets[k].Pins) > 0 {
			sets[k].Notes = append(sets[k].Notes, ways...)
		}
		return s.make(ctx, k, sets[k])
	})
	return s.change(ctx, o.changeFlags, all, course{again: s.again("--dry-run", "--print-urls"), at: o.at, first: func(ctx context.Context) error { return s.spread(ctx, o, all, sets, seen) }, next: func(k *site) string {
		line := "ascendctl preflight" + o.at(k.target.Name)
		if o.workload != "" {
			line += " --for " + report.Line(o.workload)
		}
		return line
	}})
}

func (s *session) packing(o installOptions) (*packing, error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	r := &packing{}
	if r.data, err = install.Load(b); err != nil {
		return nil, err
	}
	if r.matrix, err = s.matrix(); err != nil {
		return nil, err
	}
	r.fetch = s.fetcher(o.from, o.index)
	return r, nil
}

// draft looks at a host and makes the plan for it, without the files yet.
func (s *session) draft(ctx context.Context, o installOptions, r *packing, k *site) (*facts.Facts, *install.Set, error) {
	w := o.want(s, k)
	look, err := s.lookOptions(facts.Options{Disks: w.Disks(""), Roots: nonEmpty(w.Path)})
	if err != nil {
		return nil, nil, err
	}
	if o.with != "" && !o.print { // what is printed runs on a machine with a network
		look.Reach = r.data.Reach()
	}
	f := facts.Collect(ctx, k.host, look)
	f.Target = k.target.Name
	set, err := s.steps(ctx, o, r, k, &f, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	k.refuse = set.Refused()
	return &f, set, nil
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// steps makes the plan of one host; files and wheels are nil until they are here.
func (s *session) steps(ctx context.Context, o installOptions, r *packing, k *site, f *facts.Facts, files func(install.Package, install.Part) (install.File, bool), wheels []install.File) (*install.Set, error) {
	if o.uninstall != "" {
		cut := install.Removal{Managed: k.target.Managed, Again: s.again("--dry-run", "--print-urls")}
		if cut.CANN = o.uninstall; o.uninstall == "driver" {
			cut.CANN, cut.Driver = "", true
		}
		return install.Remove(cut, f, r.matrix, r.data)
	}
	w := o.want(s, k)
	w.Files, w.WheelFiles = files, wheels
	w.Pip = s.pip(o, k)
	var open []*plan.Entry
	if !recorded(k.host) {
		var err error
		if open, err = plan.List(ctx, k.host, !w.User, s.planOptions()); err != nil {
			return nil, err
		}
	}
	w.Unfinished = slices.ContainsFunc(open, func(e *plan.Entry) bool { return e.Name == w.Name() && (e.State == plan.Open || e.State == plan.Stuck) })
	return install.Steps(w, f, r.matrix, r.data)
}

// pip says where the pip of the host asks: as it is configured there, unless an
// index is named. A variable of this shell reaches only the pip of this machine.
func (s *session) pip(o installOptions, k *site) install.Pip {
	p := install.Pip{IndexURL: o.index}
	if k.target.Name == "local" {
		p.Proxy = first(s.app.Getenv("HTTPS_PROXY"), s.app.Getenv("https_proxy"))
		p.NoProxy = first(s.app.Getenv("NO_PROXY"), s.app.Getenv("no_proxy"))
	}
	return p
}

// make turns a set of steps into a plan for the host that was looked at.
func (s *session) make(ctx context.Context, k *site, set *install.Set) (err error) {
	k.show.Row, k.show.Keep, k.show.Notes, k.show.Checks = set.Row, screen.KeptOf(set.Keep), set.Notes, set.Findings
	if recorded(k.host) || k.refuse != nil {
		k.show.Shown, err = plan.Draft(k.target.Name, set.Plan, s.planOptions(), func(step plan.Step) bool {
			return slices.ContainsFunc(set.Keep, func(kept install.Kept) bool { return strings.HasSuffix(step.ID, "."+kept.Part) })
		})
		return err
	}
	k.made, err = plan.Make(ctx, k.host, set.Plan, s.planOptions())
	return err
}
