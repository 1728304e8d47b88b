package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
	"github.com/ascendctl/ascendctl/internal/settings"
)

// envForms are what env can print besides an answer.
var envForms = []string{"bash", "fish", "dotenv", "systemd", "docker"}

type envOptions struct {
	targetFlags
	changeFlags
	cann, write string
	explain     bool
	container
}

func (s *session) envCommand() command {
	var o envOptions
	return command{
		use:     "env",
		group:   groupDaily,
		formats: envForms,
		short:   report.T("Print the environment that CANN on this host needs", "打印主机上的 CANN 所需的环境变量"),
		long: report.T("Made from what is on the disk, not from a script: loading it twice gives what loading it once gives, and\nfolders of another CANN leave the search paths.",
			"根据磁盘上的安装内容生成，不执行脚本：重复加载与加载一次结果相同，其他版本 CANN 的目录会从搜索路径中移除。"),
		examples: []example{
			{report.T("what would change here", "对当前环境的改动"), "ascendctl env"},
			{report.T("load it into this shell", "加载到当前 shell"), `eval "$(ascendctl env -o bash)"`},
			{report.T("for a unit file", "供 systemd 单元使用"), "ascendctl env -o systemd"},
			{report.T("a container with two NPUs", "使用 2 个 NPU 的容器"), "ascendctl env -o docker --device 0-1 --for vllm-ascend@0.23.0"},
			{report.T("where each variable comes from", "每个变量的来源"), "ascendctl env --explain"},
			{report.T("a file for every login of a host", "写入主机上供所有登录使用的文件"), "ascendctl env --host root@npu01 --write /etc/profile.d/cann.sh"},
		},
		exits: report.T("0 printed or written, 1 no CANN found, 5 unreachable, 6 not agreed, 64 usage", "0 已打印或已写入，1 未找到 CANN，5 不可达，6 未同意，64 用法错误"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.text(&o.cann, "cann", "", report.T("CANN `VERSION`, where several are installed", "CANN 版本 `VERSION`，用于安装了多个版本的主机"))
			f.yes(&o.explain, "explain", "", report.T("why each variable is set, and by which file", "每个变量的用途与来源文件"))
			o.container.flags(f)
			o.writeFlags(f)
		},
		sub: []command{s.envCheckCommand(), s.envRunCommand()},
		run: func(ctx context.Context, _ []string) error { return s.env(ctx, o) },
	}
}

// setup is the environment one host needs, and what it was made of.
type setup struct {
	cann.Setup
	tree  cann.Tree
	needs cann.Needs
	facts *facts.Facts
}

func (s *session) env(ctx context.Context, o envOptions) error {
	if o.write != "" {
		return s.envWrite(ctx, o)
	}
	if o.yes || o.dryRun {
		return usage(report.T("--yes and --dry-run are about --write", "--yes 与 --dry-run 用于 --write"), report.Text{}, report.T("name a file with --write, or leave them out", "用 --write 指定文件，或不使用这些选项"), "")
	}
	t, k, err := s.setupOf(ctx, o.targetFlags, o.cann, s.format == "docker")
	if err != nil {
		return err
	}
	if s.format == "docker" {
		return placed(s.docker(ctx, t, k, o), o.at, t.Name)
	}
	head := fmt.Sprintf("CANN %s (%s) on %s, by %s %s on %s", k.tree.Version, k.tree.Path, t.Name, Name, s.app.Build.Version, s.started.UTC().Format("2006-01-02"))
	text, ok, err := k.text(s.format, head)
	if !ok {
		return s.show(screen.Env{Envelope: s.envelope("env/v1"), Host: t.Name, Tree: k.tree, NNAL: k.needs.NNAL, ABI: k.needs.ABI,
			Setup: k.Setup, Moves: k.Moves(k.facts.Env.Value), Explain: o.explain, Load: o.load(t)})
	}
	if err == nil {
		_, err = s.app.Out.Write([]byte(text))
	}
	return err
}

// load is the line that brings the setup to where it is wanted: into this shell,
// or on another host to all its logins.
func (o envOptions) load(t host.Target) string {
	version := ""
	if o.cann != "" {
		version = " --cann " + report.Line(o.cann)
	}
	if at := o.at(t.Name); at != "" {
		return "ascendctl env" + at + version + " --write /etc/profile.d/ascend.sh --dry-run"
	}
	return `eval "$(ascendctl env` + version + ` -o bash)"`
}

// text is the environment in one of the forms; ok is false for any other.
func (k setup) text(form, head string) (text string, ok bool, err error) {
	switch form {
	case "bash":
		text, err = k.Sh(head)
	case "fish":
		text, err = k.Fish(head)
	case "dotenv", "systemd":
		text, err = k.File(k.facts.Env.Value, head)
	default:
		return "", false, nil
	}
	return text, true, err
}

// setupOf looks at the one host named and works out what its CANN needs.
func (s *session) setupOf(ctx context.Context, f targetFlags, version string, container bool) (host.Target, setup, error) {
	ts, err := s.targets(f)
	if err != nil {
		return host.Target{}, setup{}, err
	}
	if len(ts) != 1 {
		return ts[0], setup{}, usage(report.T("env is for one host, %d were named", "env 只针对 1 台主机，实际指定了 %d 台", len(ts)), report.Text{},
			report.T("name one with --host", "用 --host 指定 1 台"), "")
	}
	look, err := s.lookOptions(facts.Options{})
	if err != nil {
		return ts[0], setup{}, err
	}
	if ts[0].InstallPath != "" {
		look.Roots = append(look.Roots, ts[0].InstallPath)
	}
	if container {
		if look.Paths, err = s.containerPaths(); err != nil {
			return ts[0], setup{}, err
		}
	}
	done := onEach(ctx, s, f, ts, func(ctx context.Context, _ host.Target, h host.Host) (*facts.Facts, error) {
		got := facts.Collect(ctx, h, look)
		return &got, nil
	})
	if done[0].err != nil {
		return ts[0], setup{}, done[0].err
	}
	k := setup{facts: done[0].value}
	if container {
		return ts[0], k, nil
	}
	if k.tree, err = s.treeOf(k.facts, ts[0].Name, version); err != nil {
		return ts[0], k, err
	}
	if k.needs, err = s.needsOf(k.facts, k.tree); err != nil {
		return ts[0], k, err
	}
	k.Setup = cann.Setup{Vars: cann.Env(k.tree, k.needs), Foreign: k.facts.CANN.Value.Foreign(k.tree, k.needs)}
	return ts[0], k, nil
}

// treeOf chooses among the CANN of a host: the version asked for, else the one
// in use, else the newest.
func (s *session) treeOf(f *facts.Facts, name, version string) (cann.Tree, error) {
	trees := f.CANN.Value.Trees
	if !f.CANN.Known() && !f.CANN.Absent() {
		return cann.Tree{}, &report.Problem{What: report.T("cannot see which CANN %s has", "无法查看 %s 上的 CANN", name), Why: report.Same(f.CANN.Note),
			Do: report.T("look as a user who may read it", "使用有读取权限的用户"), Exit: report.ExitFailed}
	}
	var all []string
	for _, t := range trees {
		all = append(all, t.Version)
	}
	if version != "" {
		want, _ := matrix.Parse(matrix.CANN, version)
		for _, t := range trees {
			if got, _ := matrix.Parse(matrix.CANN, t.Version); got.Equal(want) {
				return t, nil
			}
		}
		return cann.Tree{}, usage(report.T("%s has no CANN %s%s", "%s 上没有 CANN %s%s", name, version, report.Meant(version, all)), report.Text{},
			report.T("installed: %s", "已安装：%s", first(strings.Join(all, ", "), "-")), "")
	}
	if t, ok := f.ActiveTree(); ok {
		return t, nil
	}
	if len(trees) == 0 {
		return cann.Tree{}, &report.Problem{What: report.T("%s has no CANN", "%s 上没有 CANN", name),
			Why: report.T("nothing under %s, and no variable names a tree", "%s 下没有，也没有变量指明目录", strings.Join(cann.Roots, ", ")),
			Do:  report.T("install it, or name its folder as install_path in the hosts file", "安装 CANN，或在主机清单中用 install_path 指明其目录"), Exit: report.ExitFailed}
	}
	return slices.MaxFunc(trees, func(a, b cann.Tree) int {
		x, _ := matrix.Parse(matrix.CANN, a.Version)
		y, _ := matrix.Parse(matrix.CANN, b.Version)
		c, _ := x.Compare(y)
		return c
	}), nil
}

// needsOf says what beside the tree a process looks for.
func (s *session) needsOf(f *facts.Facts, t cann.Tree) (cann.Needs, error) {
	n := cann.Needs{Arch: f.Arch.Value, Home: f.Identity.Value.Home}
	if f.Driver.Known() {
		n.Driver = strings.TrimSuffix(f.Driver.Value.Path, "/version.info")
	}
	nnal, ok := f.ActiveNNAL()
	if !ok {
		return n, nil
	}
	n.NNAL, n.ABI = &nnal, f.TorchABI.Value
	if !f.TorchABI.Known() && len(nnal.ABIs) > 0 {
		n.ABI = slices.Max(nnal.ABIs)
	}
	b, err := s.book()
	if err != nil {
		return n, err
	}
	known, err := settings.Load(b)
	if err != nil {
		return n, err
	}
	for _, d := range known.Exported("nnal", nnal.Version, compareCANN) {
		n.Defaults = append(n.Defaults, cann.Var{Name: d.Name, Value: d.Value})
	}
	return n, nil
}

// compareCANN orders two releases; those without an order are equal.
func compareCANN(a, b string) int {
	x, _ := matrix.Parse(matrix.CANN, a)
	y, _ := matrix.Parse(matrix.CANN, b)
	c, _ := x.Compare(y)
	return c
}

func (s *session) envRunCommand() command {
	var version string
	return command{
		use:   "run <COMMAND>...",
		short: report.T("Run a command in that environment, on this machine", "在该环境中运行命令（仅限本机）"),
		examples: []example{
			{report.T("anything that needs CANN", "任何需要 CANN 的命令"), "ascendctl env run -- python3 -c 'import acl'"},
		},
		exits: report.T("that of the command; 1 no CANN found or no such command", "与该命令一致；1 未找到 CANN 或该命令不存在"),
		flags: func(f *flagSet) {
			f.text(&version, "cann", "", report.T("CANN `VERSION`, where several are installed", "CANN 版本 `VERSION`，用于安装了多个版本的主机"))
		},
		run: func(ctx context.Context, args []string) error {
			_, k, err := s.setupOf(ctx, targetFlags{hosts: []string{"local"}, parallel: 1, sudo: "never"}, version, false)
			if err != nil {
				return err
			}
			return s.runIn(ctx, k.Over(environment(s.app.Environ)), args)
		},
	}
}

// runIn gives a command our streams and hands its exit status on.
func (s *session) runIn(ctx context.Context, env map[string]string, argv []string) error {
	cc := exec.CommandContext(ctx, argv[0], argv[1:]...)
	for _, k := range slices.Sorted(maps.Keys(env)) {
		cc.Env = append(cc.Env, k+"="+env[k])
	}
	if path, err := s.app.LookPath(argv[0]); err == nil {
		cc.Path, cc.Err = path, nil
		if s.app.Self != "" { // a process of its own becomes the command: signals, terminal and exit status are the command's
			if err := execSelf(path, argv, cc.Env); !errors.Is(err, errors.ErrUnsupported) {
				return unrunnable(argv[0], err)
			}
		}
	}
	cc.Stdin, cc.Stdout, cc.Stderr = s.app.In, s.app.Out, s.app.Err
	err := cc.Run()
	if cc.ProcessState != nil && cc.ProcessState.ExitCode() > 0 {
		return verdict(cc.ProcessState.ExitCode())
	}
	if err != nil {
		return unrunnable(argv[0], err)
	}
	return nil
}

func unrunnable(name string, err error) error {
	return &report.Problem{What: report.T("cannot run %s", "无法运行 %s", name), Why: report.Same(err.Error()),
		Do: report.T("name a program that is there", "指定存在的程序"), Exit: report.ExitFailed}
}

func environment(environ []string) map[string]string {
	out := map[string]string{}
	for _, e := range environ {
		if k, v, ok := strings.Cut(e, "="); ok {
			out[k] = v
		}
	}
	return out
}
