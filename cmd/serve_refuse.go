package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/engine"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
)

// notStarted is ACL that was loaded and does not start. The code says nothing:
// mostly there is no driver here, or not in this container (facts/acl.md 1.3).
func (s *session) notStarted(err error) error {
	failed := aclProblem(report.T("ACL does not start", "ACL 初始化失败"), err)
	e, _ := errors.AsType[*acl.Error](err)
	p, ok := errors.AsType[*report.Problem](failed)
	if e == nil || !ok || e.Code != codeNoChip && e.Code != acl.CodeNoExecutor {
		return failed
	}
	p.Do, p.Run = report.T("load the driver; a container needs its nodes and libraries", "加载驱动；容器中须挂载其设备节点和动态库"), Name+" preflight"
	_, absent := os.Stat("/dev/davinci_manager")
	nodes, _ := filepath.Glob("/dev/davinci[0-9]*") // the pattern is good
	switch {
	case strings.Contains(e.Detail, "cannot open shared object file"): // what is opened for the chip
		p.Do = report.T("load the environment of CANN in the shell that starts ascendctl", "在启动 ascendctl 的 shell 中加载 CANN 环境变量")
	case absent != nil:
		p.Why = report.T("%s; there is no /dev/davinci_manager", "%s；/dev/davinci_manager 不存在", p.Why)
	case len(nodes) == 0:
		p.Why = report.T("%s; there is no /dev/davinci0 or other device", "%s；没有 /dev/davinci0 等设备节点", p.Why)
	}
	return p
}

// codeNoChip is what aclInit answers when it finds no chip, whatever the reason.
const codeNoChip = 500000

// notTaken is a device that cannot be used. Which there are the runtime counts
// within a list, where somebody set one.
func (s *session) notTaken(device int, err error) error {
	failed := aclProblem(report.T("device %d cannot be used", "无法使用设备 %d", device), err)
	e, _ := errors.AsType[*infer.Error](err)
	p, ok := errors.AsType[*report.Problem](failed)
	if list, set := environment(s.app.Environ)[visible]; set && ok && e != nil && e.Code == codeNoDevice {
		p.Why = report.T("%s; %s is %q, and devices count within it", "%s；%s 为 %q，设备号在该列表内计数", p.Why, visible, list)
		p.Do = report.T("choose a device of that list, or unset it", "选择该列表内的设备，或取消该环境变量")
	}
	return p
}

const codeNoDevice = 107001

// aclProblem tells a failure of ACL; what knows more than this stays as it is.
func aclProblem(what report.Text, err error) error {
	if _, told := errors.AsType[*report.Problem](err); told {
		return err
	}
	if e, ok := errors.AsType[*acl.Error](err); ok {
		return e.Problem(what)
	}
	return &report.Problem{What: what, Why: report.Same(err.Error()), Do: report.T("look at the host", "检查主机"), Run: Name + " preflight", Exit: report.ExitFailed, Err: err}
}

// fits refuses models that the device is not made for, or has no room for,
// before any is loaded: the library's own words would say less.
func (s *session) fits(o serveOptions, models []served, npu *infer.NPU) error {
	var needs []engine.Need
	var room infer.Room
	for _, m := range models {
		if m.Compiled == nil {
			return &report.Problem{What: report.T("%s is no compiled model", "%s 不是编译后的模型", m.File), Exit: report.ExitFailed}
		}
		if chip := string(m.Chip); chip != "" && npu.SoC != "" && !strings.EqualFold(chip, npu.SoC) {
			return &report.Problem{
				What: report.T("%s was compiled for another chip", "%s 是为其他芯片编译的", m.File),
				Why:  report.T("the file is for %s, device %d is %s", "文件面向 %s，设备 %d 为 %s", chip, npu.Device, npu.SoC),
				Do:   report.T("compile it again with --soc_version=%s", "使用 --soc_version=%s 重新编译", npu.SoC),
				Run:  report.Line(Name, "inspect", m.File), Exit: report.ExitFailed,
			}
		}
		var err error
		if room, err = npu.Room(m.file); err != nil {
			return notLoaded(o, m.Model, err)
		}
		needs = append(needs, engine.Need{Model: m.name, Instances: o.instances, Weights: room.Weight, Work: room.Work, IO: ioBytes(m.Model)})
	}
	if p := engine.Fit(engine.Room{Free: room.Free, Total: room.Total, Available: s.available(npu)}, needs).Problem(npu.Device); p != nil {
		p.Run = Name + " top" // who has the memory
		return p
	}
	return nil
}

// ioBytes is the memory of inputs and outputs in the largest gear.
func ioBytes(m *model.Model) (sum int64) {
	for _, ports := range [][]model.Port{m.Inputs, m.Outputs} {
		for _, p := range ports {
			if p.Padded != nil {
				sum += *p.Padded
			} else if p.Bytes != nil {
				sum += *p.Bytes
			}
		}
	}
	return sum
}

// available is MemAvailable where the device's memory is the system's; else 0.
func (s *session) available(npu *infer.NPU) int64 {
	if !npu.Direct() {
		return 0
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// notLoaded is a model that ACL refuses. A compiler that is newer than the
// runtime is the likeliest reason where both are known.
func notLoaded(o serveOptions, m *model.Model, err error) error {
	p := &report.Problem{
		What: report.T("the device does not load %s", "设备无法加载 %s", m.File), Why: report.Same(err.Error()),
		Do:  report.T("compile the model with the CANN of this host", "使用本机的 CANN 重新编译模型"),
		Run: report.Line(Name, "inspect", m.File), Exit: report.ExitFailed, Err: err,
	}
	var e *acl.Error
	if errors.As(err, &e) {
		p = e.Problem(p.What)
		if p.Do.IsZero() {
			p.Do = report.T("compile the model with the CANN of this host", "使用本机的 CANN 重新编译模型")
		}
	}
	if atc := string(m.Compiler.ATC); newerComponent(atc, o.runtime) {
		p.Why = report.T("it was compiled by ATC %s, the runtime here is %s, which is older; %s", "编译所用 ATC 为 %s，本机 runtime 为 %s，版本较低；%s", atc, o.runtime, p.Why)
		p.Do = report.T("compile it with the CANN of this host, or install the newer CANN", "使用本机的 CANN 重新编译，或安装较新的 CANN")
	}
	return p
}

// newerComponent compares the leading numbers of two component versions, as
// 7.7.0.1.238; false where one is not known.
func newerComponent(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y), 3) {
		m, errX := strconv.Atoi(strings.TrimLeft(x[i], "TB"))
		n, errY := strconv.Atoi(strings.TrimLeft(y[i], "TB"))
		if errX != nil || errY != nil || m != n {
			return errX == nil && errY == nil && m > n
		}
	}
	return false
}
