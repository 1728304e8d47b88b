package cmd

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/settings"
)

// container is what env -o docker is asked for.
type container struct {
	device, workload, image, cdi string
}

func (o *container) flags(f *flagSet) {
	f.text(&o.device, "device", "", report.T("`LIST` of logic ids for -o docker: 0, 0-3, 0,2, free (default all healthy)", "用于 -o docker 的逻辑 ID 列表 `LIST`：0、0-3、0,2、free（默认全部健康设备）"))
	f.text(&o.workload, "for", "", report.T("`WORKLOAD@VERSION` whose image -o docker runs: vllm-ascend@0.23.0", "-o docker 所运行镜像对应的负载 `WORKLOAD@VERSION`，如 vllm-ascend@0.23.0"))
	f.text(&o.image, "image", "", report.T("container `IMAGE` instead of that of --for", "容器镜像 `IMAGE`，代替 --for 对应的镜像"))
	f.text(&o.cdi, "cdi", "", report.T("write a CDI file to `FILE` of this machine instead; for a file on the host: --write", "改为在本机写出 CDI 文件 `FILE`；写到主机上则用 --write"))
}

// containerPaths are all paths that a container of any chip could be given.
func (s *session) containerPaths() (paths []string, err error) {
	b, err := s.book()
	if err != nil {
		return nil, err
	}
	for _, chip := range []string{"310", "310P", "310B", "A1", "A2", "A3", "950"} {
		if _, err = settings.Container(b, chip, "", driverRoot, func(p string) bool {
			paths = append(paths, p)
			return false
		}); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

const driverRoot = "/usr/local/Ascend/driver"

// docker prints the line that runs a container with NPUs of that host, or what
// is missing where we are inside one already.
func (s *session) docker(ctx context.Context, t host.Target, k setup, o envOptions) error {
	if inContainer(k.facts) && o.cdi == "" {
		s.format = "table"
		s.err.Say(report.T("%s is a container: a docker line is for its host. What this container was given:", "%s 是容器：docker 命令须在其宿主机上使用。该容器的现状：", t.Name))
		return s.preflight(ctx, preflightOptions{targetFlags: o.targetFlags, workload: o.workload, task: "serve", only: []string{"ctr.", "os.shm"}, failOn: "error", nodes: 1})
	}
	c, given, said, err := s.containerOf(t, k, o.container)
	if err != nil {
		return err
	}
	if o.cdi != "" {
		return s.writeCDI(o.cdi, c)
	}
	engine, version, _ := strings.Cut(o.workload, "@")
	if c.Image == "" {
		if c.Image, err = s.imageOf(k.facts, engine, version); err != nil {
			return err
		}
	}
	for _, m := range given.Missing {
		said = append(said, report.T("missing on the host: %s", "宿主机上缺少：%s", m))
	}
	return s.paste(c, said)
}

func inContainer(f *facts.Facts) bool {
	return len(f.Marks.Value) > 0 || slices.Contains([]string{"docker", "kubepods", "containerd"}, f.Virt.Value)
}

// containerOf is a container with NPUs of that host; said names them, and those
// that were left out.
func (s *session) containerOf(t host.Target, k setup, o container) (c cann.Container, given settings.Given, said []report.Text, err error) {
	if inContainer(k.facts) {
		return c, given, nil, &report.Problem{What: report.T("%s is a container: a docker line is for its host", "%s 是容器：docker 命令须在其宿主机上使用", t.Name),
			Do: report.T("run this on the host", "在宿主机上运行"), Run: "ascendctl env -o docker", Exit: report.ExitFailed}
	}
	b, err := s.book()
	if err != nil {
		return c, given, nil, err
	}
	engine, _, _ := strings.Cut(o.workload, "@")
	given, err = settings.Container(b, k.facts.Generation.Value, engine, driverRoot, func(p string) bool { return k.facts.Paths.Value[p] })
	if err != nil {
		return c, given, nil, err
	}
	devices, said, err := s.nodesOf(k.facts, t.Name, o.device)
	return cann.Container{Name: "ascend", Image: o.image, Devices: devices, Nodes: given.Nodes, Mounts: given.Mounts, Shm: given.Shm}, given, said, err
}

// nodesOf turns a device list into the nodes of those NPUs; without a list it
// takes all that are healthy, and says which it leaves out.
func (s *session) nodesOf(f *facts.Facts, name, list string) (devices []cann.Device, said []report.Text, err error) {
	all := f.Devices()
	if !all.Known() {
		return nil, nil, &report.Problem{What: report.T("npu-smi does not tell which NPUs there are", "npu-smi 未给出 NPU 列表"), Why: report.Same(all.Note),
			Do: report.T("look at the driver first", "先检查驱动"), Run: report.Line("ascendctl", "preflight", "--host", name), Exit: report.ExitFailed}
	}
	var ids []int
	if list != "" {
		set, err := facts.ParseDevices(list)
		if err != nil {
			return nil, nil, err
		}
		if ids, err = set.Pick(all, 0); err != nil {
			return nil, nil, err
		}
	}
	var physical []int
	var sick []string
	for i, d := range all.Value {
		logic, phy := i, i
		if d.Logic != nil {
			logic = *d.Logic
		}
		if d.Phy != nil {
			phy = *d.Phy
		}
		switch {
		case list != "" && !slices.Contains(ids, logic):
			continue
		case list == "" && d.Health != "OK":
			sick = append(sick, strconv.Itoa(logic))
			said = append(said, report.T("left out: logic %d = NPU %d, chip %d: npu-smi says %s", "未加入：逻辑 %d = NPU %d，chip %d：npu-smi 显示 %s", logic, d.NPU, d.Chip, first(d.Health, "?")))
			continue
		}
		physical = append(physical, phy)
		said = append(said, report.T("logic %d = NPU %d, chip %d = /dev/davinci%d", "逻辑 %d = NPU %d，chip %d = /dev/davinci%d", logic, d.NPU, d.Chip, phy))
	}
	if len(physical) == 0 { // a container without any would start, and find nothing
		p := &report.Problem{What: report.T("no NPU is healthy", "没有健康的 NPU"), Do: report.T("see why, or name those it should have all the same", "查明原因，或明确指定要使用的 NPU"), Exit: report.ExitNo}
		if len(sick) > 0 {
			p.Why, p.Run = said[0], s.again()+" --device "+strings.Join(sick, ",")
		}
		return nil, nil, p
	}
	virtual := f.NPUVirtual.Known() && f.NPUVirtual.Value.VNPU != nil && len(f.NPUVirtual.Value.VNPU.VNPUs) > 0
	return cann.Devices(physical, virtual), said, nil
}

// imageOf asks the matrix for the image of an engine on this chip and system.
func (s *session) imageOf(f *facts.Facts, engine, version string) (string, error) {
	none := usage(report.T("which image should the container run", "容器应运行哪个镜像"), report.Text{},
		report.T("name it with --image, or an engine with a version", "用 --image 指定，或给出推理引擎及版本"), s.again()+" --for vllm-ascend@0.23.0")
	if engine == "" || version == "" {
		return "", none
	}
	m, err := s.matrix()
	if err != nil {
		return "", err
	}
	part := strings.ReplaceAll(engine, "-", "_")
	a, err := m.Suggest(matrix.Ask{Have: stackOf(f), Want: matrix.Parts{part: version}})
	if err != nil {
		return "", err
	}
	for _, k := range a.Suggestions {
		if k.Kind == "least_change" && len(k.Images) > 0 {
			return k.Images[0], nil
		}
	}
	return "", none
}

// paste prints what can be pasted to stdout, and the rest as comments there, so
// that it can be pasted too.
func (s *session) paste(c cann.Container, said []report.Text) error {
	say := func(t report.Text) { s.out.Print("# %s\n", t.In(s.lang)) }
	for _, t := range said {
		say(t)
	}
	s.out.Print("%s\n", c.Paste())
	say(report.T("the entry point of the image sets the CANN environment; docker exec and --entrypoint do not pass through it", "镜像的入口脚本会设置 CANN 环境变量；docker exec 与 --entrypoint 不经过该脚本"))
	return nil
}

func (s *session) writeCDI(file string, c cann.Container) error {
	if err := os.WriteFile(file, []byte(c.CDI()), 0o644); err != nil {
		return usage(report.T("cannot write %s", "无法写入 %s", file), report.Same(err.Error()), report.T("name a file that can be written", "指定可写的文件"), "")
	}
	s.err.Say(report.T("wrote %s", "已写入 %s", file))
	return nil
}

func (s *session) envCheckCommand() command {
	o := preflightOptions{only: []string{"env."}, failOn: "error", nodes: 1}
	return command{
		use:   "check",
		short: report.T("Judge the environment of a login or of a process", "检查登录环境或某个进程的环境变量"),
		examples: []example{
			{report.T("this shell", "当前 shell"), "ascendctl env check"},
			{report.T("a running service", "运行中的服务"), "ascendctl env check --pid 41233"},
		},
		exits: report.T("0 fine, 3 not fine, 5 unreachable, 64 usage", "0 正常，3 有问题，5 不可达，64 用法错误"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.number(&o.pid, "pid", 0, report.T("the environment of process `PID`", "进程 `PID` 的环境变量"))
		},
		run: func(ctx context.Context, _ []string) error { return s.preflight(ctx, o) },
	}
}
