package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// preconditions look, in facts alone, for what would break the plan in its
// middle. Each is a finding; one that fails refuses the plan before anything is
// changed.
func (j *job) preconditions() {
	for _, check := range []func() report.Finding{j.knownArch, j.knownSystem, j.rights, j.driverKnown, j.tools, j.headers, j.idle,
		j.lockFree, j.accountFree, j.leftovers, j.oldForCard, j.pythonFits, j.indexesReached} {
		j.report(check())
	}
	j.rooms()
}

// report keeps a finding that applies.
func (j *job) report(f report.Finding) {
	if f.ID != "" && !slices.ContainsFunc(j.set.Findings, func(o report.Finding) bool { return o.ID == f.ID && o.Status == report.Fail }) {
		j.set.Findings = append(j.set.Findings, f)
	}
}

// finding is one with the status and the evidence it has so far.
func finding(id string, text report.Text, ok bool, source string, seen report.Text) report.Finding {
	f := report.Finding{ID: id, Status: report.Pass, Severity: report.Error, Text: text}
	if source != "" {
		f.Evidence = []report.Evidence{{Source: source, Seen: seen}}
	}
	if !ok {
		f.Status = report.Fail
	}
	return f
}

// said is the first word that is not empty, as it came; zero for none.
func said(words ...string) report.Text { return report.Same(cmp.Or(words...)) }

func noneSeen() report.Text { return report.T("none", "无") }

// stateWord is the word for a fact without a value.
func stateWord(s host.State) report.Text {
	if s == host.Absent {
		return report.T("absent", "不存在")
	}
	return report.T("unknown", "未知")
}

func (j *job) knownArch() report.Finding {
	f := finding("install.arch", report.T("the architecture is aarch64 or x86_64", "架构为 aarch64 或 x86_64"),
		j.arch == "aarch64" || j.arch == "x86_64", cmp.Or(j.f.Arch.Source, "uname -m"), said(j.arch, j.f.Arch.Note, "?"))
	f.Fix = report.T("packages exist for these two only", "只有这两种架构的软件包")
	return f
}

func (j *job) knownSystem() report.Finding {
	if j.SkipOS || j.User {
		return report.Finding{}
	}
	f := finding("install.system", report.T("the package manager of this distribution is known", "已知该发行版的包管理器"), j.system.manager != nil,
		cmp.Or(j.f.OS.Source, "/etc/os-release"), said(j.f.OS.Value.Name, j.f.OS.Value.ID, j.f.OS.Note, "?"))
	f.Fix = report.T("install its packages by hand: gcc, make, dkms, kernel headers of the running kernel, pciutils, net-tools; then leave them out of the plan", "手动安装所需软件包：gcc、make、dkms、当前内核的头文件、pciutils、net-tools；然后在变更计划中略去此步")
	f.Run = j.with("--skip-os-packages")
	return f
}

// rights: everything but a user install needs root.
func (j *job) rights() report.Finding {
	needs := slices.ContainsFunc(j.set.Plan.Steps, func(s plan.Step) bool { return s.Root })
	if !needs {
		return report.Finding{}
	}
	uid, sudo := j.f.Identity.Value.UID, j.f.Tools.Value["sudo"]
	root := j.f.Identity.Known() && uid == 0
	f := finding("install.root", report.T("the login is root, or may become it", "登录用户为 root，或可以提权"), root || j.Elevate == host.Known || j.Elevate == "" && sudo != "",
		cmp.Or(j.f.Identity.Source, "id"), said(fmt.Sprintf("uid=%d, sudo: %s", uid, cmp.Or(sudo, "-"))))
	f.Fix = report.T("log in as root, or allow sudo", "以 root 登录，或允许 sudo")
	if j.hdk == nil { // else there would be no driver
		f.Fix = report.T("log in as root, allow sudo, or install CANN for this user alone", "以 root 登录、允许 sudo，或仅为该用户安装 CANN")
		f.Run = j.with("--user-install")
	}
	return f
}

// with is the command line with another flag, to look at what it makes of it.
func (j *job) with(flag string) string {
	if j.Again == "" {
		return ""
	}
	return j.Again + " " + flag + " --dry-run"
}

// driverKnown: a driver that could not be asked about might be there, and one
// of a container or a board is not ours to install.
func (j *job) driverKnown() report.Finding {
	has, absent := j.f.Driver.Known(), j.f.Driver.Absent()
	f := finding("install.driver", report.T("whether a driver is there is known, and it may be installed here", "驱动是否存在已知，且可在此安装"), true,
		cmp.Or(j.f.Driver.Source, vendorRoot+"/driver/version.info"), cmp.Or(said(j.f.Driver.Value.Version), stateWord(j.f.Driver.State)))
	switch {
	case j.generation == "" && j.Driver == "":
		return report.Finding{}
	case !has && !absent:
		f.Status, f.Fix = report.Fail, report.T("make the file readable, or run with --sudo", "使该文件可读取，或使用 --sudo 运行")
	case absent && j.managed("driver"):
		f.Status, f.Fix = report.Fail, report.T("ask the provider: the driver is its business", "联系云厂商：驱动由其管理")
	case absent && j.container():
		f.Status, f.Fix = report.Fail, report.T("install the driver on the machine that runs the container, and mount it", "在运行容器的主机上安装驱动，并挂载到容器")
	case absent && j.onBoard():
		f.Status, f.Fix = report.Fail, report.T("write the vendor's image of this board: it has the driver", "烧录该开发板的厂商镜像：其中包含驱动")
	case absent && j.User:
		f.Status = report.Warn
		f.Fix = report.T("the driver needs root: install it first", "驱动需要 root 权限：先行安装")
	}
	return f
}

// tools and headers can be brought by the packages of the system, when those
// are part of the plan.
func (j *job) tools() report.Finding {
	if j.hdk == nil {
		return report.Finding{}
	}
	var missing []string
	for _, t := range j.missingTools() {
		missing = append(missing, t.ID)
	}
	f := finding("install.tools", report.T("the tools of the driver's installer are there, or come with the packages of the system", "驱动安装程序所需工具已存在，或随系统软件包安装"),
		len(missing) == 0 || j.brings(), cmp.Or(j.f.Tools.Source, "command -v"), report.T("missing: %s", "缺少：%s", cmp.Or(strings.Join(missing, " "), "-")))
	f.Fix = report.T("install %s", "安装 %s", strings.Join(missing, " "))
	return f
}

func (j *job) headers() report.Finding {
	if j.hdk == nil {
		return report.Finding{}
	}
	f := finding("install.headers", report.T("headers of the running kernel are there, or come with the packages of the system", "当前内核的头文件已存在，或随系统软件包安装"),
		j.hasHeaders() || j.brings(), "/lib/modules/"+j.f.Kernel.Value+"/build", cmp.Or(said(j.f.KernelBuild.Value), stateWord(host.Absent)))
	f.Fix = report.T("install the headers of kernel %s: a module built against others does not load", "安装内核 %s 的头文件：针对其他内核编译的模块无法加载", j.f.Kernel.Value)
	return f
}

func (j *job) hasHeaders() bool { return j.f.KernelBuild.Known() && j.f.KernelBuild.Value != "" }

// brings is true when packages of the system are part of the plan.
func (j *job) brings() bool {
	return slices.ContainsFunc(j.set.Plan.Steps, func(s plan.Step) bool { return s.ID == "os.packages" })
}

// idle: a driver is not exchanged under running work. One that an unfinished run
// of this plan has brought already is not exchanged.
func (j *job) idle() report.Finding {
	if j.hdk == nil || j.Unfinished && sameHDK(j.hdk.Version, j.f.Driver.Value.Version) {
		return report.Finding{}
	}
	return j.quiet()
}

func (j *job) quiet() report.Finding {
	var who []string
	for _, p := range j.f.Processes.Value {
		who = append(who, fmt.Sprintf("%d %s", p.PID, cmp.Or(p.Command, p.Name)))
	}
	f := finding("install.busy", report.T("no process uses an NPU", "没有进程占用 NPU"), len(who) == 0, cmp.Or(j.f.Processes.Source, "npu-smi info"), cmp.Or(said(strings.Join(who[:min(5, len(who))], "; ")), noneSeen()))
	if !j.f.Processes.Known() && j.f.Driver.Known() { // could not ask is not none
		f.Status, f.Evidence[0].Seen = report.Unknown, cmp.Or(said(j.f.Processes.Note), stateWord(j.f.Processes.State))
	}
	f.Fix = report.T("end these processes first", "先结束这些进程")
	f.Run = report.Line("ascendctl", "top", "--host", j.f.Target)
	return f
}

func (j *job) lockFree() report.Finding {
	if !j.brings() {
		return report.Finding{}
	}
	var who []string
	for _, l := range j.f.Locks.Value {
		who = append(who, strings.TrimSpace(fmt.Sprintf("%s %d %s", l.Path, l.PID, l.Command)))
	}
	f := finding("install.lock", report.T("nobody holds the lock of the package manager", "没有程序占用包管理器的锁"), len(who) == 0, cmp.Or(j.f.Locks.Source, "/proc/locks"), cmp.Or(said(strings.Join(who, "; ")), noneSeen()))
	f.Fix = report.T("wait until it is through", "等待其完成")
	return f
}

// accountFree tells of a number that is taken, and of an account in a group
// that is not its own. Neither is forced.
func (j *job) accountFree() report.Finding {
	if j.hdk == nil || !j.f.Accounts.Known() {
		return report.Finding{}
	}
	user, group := j.owner()
	var taken []string
	gid := -1
	for _, g := range j.f.Accounts.Value.Groups {
		if g.Name == group {
			gid = g.GID
		} else if fmt.Sprint(g.GID) == j.UID {
			taken = append(taken, fmt.Sprintf("gid %d: %s", g.GID, g.Name))
		}
	}
	for _, u := range j.f.Accounts.Value.Users {
		switch {
		case u.Name == user && (j.UID != "" && fmt.Sprint(u.UID) != j.UID || gid >= 0 && u.GID != gid):
			taken = append(taken, fmt.Sprintf("%s: uid %d gid %d", u.Name, u.UID, u.GID))
		case u.Name != user && fmt.Sprint(u.UID) == j.UID:
			taken = append(taken, fmt.Sprintf("uid %d: %s", u.UID, u.Name))
		}
	}
	f := finding("install.user", report.T("the account %s is free, or as it should be", "账号 %s 可用或已正确配置", user), len(taken) == 0, "/etc/passwd, /etc/group", cmp.Or(said(strings.Join(taken, "; ")), report.T("free", "空闲")))
	f.Fix = report.T("choose another number, or leave it to the host: containers only need the same number on both sides", "更换编号，或由主机自行分配：容器只要求两侧编号一致")
	return f
}

// leftovers are remains that would mix with what is installed.
func (j *job) leftovers() report.Finding {
	var bad, odd []report.Text
	if p := j.f.Install.Value.Path; j.hdk != nil && p != "" && !j.f.Driver.Known() {
		odd = append(odd, report.T("/etc/ascend_install.info names %q without driver/version.info", "/etc/ascend_install.info 指向 %q，但没有 driver/version.info", p))
	}
	for _, t := range j.f.CANN.Value.Trees {
		switch {
		case t.Path == j.tree() && t.Arch != "" && t.Arch != j.arch:
			bad = append(bad, report.T("%s is for %s", "%s 的架构为 %s", t.Path, t.Arch))
		case t.Path == j.tree() && t.Version != "" && !strings.EqualFold(t.Version, j.cann.Text):
			bad = append(bad, report.T("%s holds %s", "%s 的版本为 %s", t.Path, t.Version))
		case len(t.Dangling) > 0:
			odd = append(odd, report.T("%s leads nowhere", "%s 指向不存在的位置", t.Dangling[0]))
		}
	}
	for _, key := range []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} {
		if v := j.f.Env.Value[key]; v != "" && !strings.HasPrefix(v, j.root+"/") {
			odd = append(odd, report.T("%s=%s of another CANN is in the environment", "环境变量 %s=%s 属于另一套 CANN", key, v))
		}
	}
	f := finding("install.leftover", report.T("nothing left over mixes with what is installed", "没有会与安装内容混杂的残留"), len(bad) == 0, "CANN trees", cmp.Or(inARow(append(bad, odd...)), noneSeen()))
	if len(bad) == 0 && len(odd) > 0 {
		f.Status = report.Warn
	}
	f.Fix = report.T("remove what is left over, or choose another install path", "清除残留，或更换安装路径")
	return f
}

// inARow puts texts in a row.
func inARow(texts []report.Text) (out report.Text) {
	for i, t := range texts {
		if i > 0 {
			out.En, out.Zh = out.En+"; ", out.Zh+"；"
		}
		out.En, out.Zh = out.En+t.En, out.Zh+t.Zh
	}
	return out
}

// oldForCard: some cards on some systems need a driver of at least a release.
func (j *job) oldForCard() report.Finding {
	driver := j.f.Driver.Value.Version
	if j.hdk != nil {
		driver = j.hdk.Version
	}
	if j.system.row == nil || driver == "" {
		return report.Finding{}
	}
	for _, r := range j.d.minimum {
		if !slices.Contains(r.Card, j.f.Product.Value) || !slices.Contains(r.Systems, j.system.row.ID) {
			continue
		}
		have, _ := matrix.Parse(matrix.HDK, driver)
		least, _ := matrix.Parse(matrix.HDK, r.Driver)
		c, ok := have.Compare(least)
		f := finding("install.minimum", report.T("the driver is not older than this card needs on this system", "驱动不低于该卡在此系统上的最低版本"), !ok || c >= 0, "os-packages.yaml minimum/"+r.ID, said(driver))
		f.Evidence[0].Wanted = said(">= " + r.Driver)
		if f.Status == report.Fail && j.hdk == nil {
			f.Status = report.Warn // it is here already and nobody asked to change it
		}
		f.Fix = report.T("take driver %s or newer", "使用驱动 %s 或更新版本", r.Driver)
		return f
	}
	return report.Finding{}
}

// pythonRefused keeps the word of the matrix: another interpreter mends it, so
// it is a precondition and no contradiction of versions.
func (j *job) pythonRefused(p *matrix.Pair) { j.pythonWhy = p.Text }

func (j *job) pythonFits() report.Finding {
	if len(j.With) == 0 {
		return report.Finding{}
	}
	py := j.f.Python
	f := finding("install.python", report.T("a Python that the set is made for is there", "存在与所选集合匹配的 Python"), (py.Known() || j.Python != "" || j.brings()) && j.pythonWhy.IsZero(), cmp.Or(py.Source, "python3"), cmp.Or(said(py.Value.Version), stateWord(py.State)))
	if len(j.f.Python.Value.Modules) > 0 && j.Python == "" && !j.f.Python.Value.Modules["venv"] && !j.brings() {
		if _, asked := j.f.Python.Value.Modules["venv"]; asked {
			f.Status = report.Fail
			f.Evidence[0].Seen = report.T("%s, no module venv", "%s，没有 venv 模块", f.Evidence[0].Seen)
		}
	}
	f.Fix = report.T("install a fitting Python, and name it: --set python=FILE", "安装匹配的 Python 并指定该解释器：--set python=FILE")
	if !j.pythonWhy.IsZero() {
		f.Text = j.pythonWhy
	}
	return f
}
