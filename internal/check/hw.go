package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var hwJudges = map[string]judge{
	"hw.pci_present": {"vendor:word devices:list oem_vendors:list oem_devices:list", hwPCI},
	"hw.soc_board":   {"compatible:list boards:list", hwBoard},
	"hw.count":       {"functions:dict cards:list", hwCount},
	"hw.link":        {"dead_width:number", hwLink},
	"hw.aer":         {"corrected:regex fatal:regex link_down:regex", hwAER},
	"hw.iommu":       {"passthrough:list", hwIOMMU},
	"hw.bar":         {"memory_flag:word kernel_text:regex", hwBAR},
	"hw.card_drop":   {"chips:dict", hwCardDrop},
	"hw.secure_boot": {"rejected:word", hwSecureBoot},
}

func hwPCI(l *look) verdict {
	if v, stop := blank(l.PCI); stop {
		return v
	}
	var seen []string
	for _, p := range l.npus() {
		seen = append(seen, p.Device)
	}
	if len(seen) == 0 {
		return fail(l.PCI.Source, report.T("no NPU among %d functions", "%d 个 PCI 功能中没有 NPU", len(l.PCI.Value)), raw(append([]string{l.word("vendor")}, l.list("devices")...)...))
	}
	return pass(l.PCI.Source, raw(append([]string{strconv.Itoa(len(seen))}, unique(seen)...)...))
}

func hwBoard(l *look) verdict {
	switch {
	case l.knownTree():
		return pass(l.DeviceTree.Source, raw(append([]string{l.DeviceTree.Value.Model}, l.DeviceTree.Value.Compatible...)...))
	case slices.ContainsFunc(l.list("boards"), func(b string) bool { return strings.Contains(l.Board.Value, b) }):
		return pass(l.Board.Source, raw(l.Board.Value))
	}
	return warn(l.Nodes.Source, report.T("/dev/davinci0 on a board that is not known", "未知的开发板上有 /dev/davinci0"), raw(l.list("compatible")...))
}

// product finds the row of hw.count for the host: the longest name that is part
// of what the person or the board says.
func (l *look) product() (name string, functions int, ok bool) {
	for _, said := range []string{l.job.Product, l.Product.Value} {
		for key, n := range l.of("hw.count").dict("functions") {
			if strings.Contains(said, key) && len(key) > len(name) {
				name = key
				functions, _ = strconv.Atoi(n)
			}
		}
		if name != "" {
			return name, functions, true
		}
	}
	return "", 0, false
}

func hwCount(l *look) verdict {
	if v, stop := blank(l.PCI); stop {
		return v
	}
	name, want, _ := l.product()
	got := len(l.npus())
	seen, wanted := report.T("%d functions", "%d 个 PCI 功能", got), report.T("%d on a %s", "%d 个（%s）", want, name)
	multiple := slices.Contains(l.list("cards"), name) && want > 0 && got%want == 0
	switch {
	case got == 0:
		return fail(l.PCI.Source, seen, wanted)
	case got == want, multiple:
		return pass(l.PCI.Source, seen)
	case got < want, slices.Contains(l.list("cards"), name):
		return warn(l.PCI.Source, seen, wanted)
	}
	return unknown(l.PCI.Source, report.T("%s, expected %s", "%s，应为 %s", seen, wanted))
}

// eachNPU judges every PCI function that is an NPU.
func (l *look) eachNPU(see func(p facts.PCI) verdict) verdict {
	if v, stop := blank(l.PCI); stop {
		return v
	}
	var all []verdict
	for _, p := range l.npus() {
		all = append(all, see(p))
	}
	if len(all) == 0 {
		return unknown(l.PCI.Source, report.T("no NPU on the bus", "总线上没有 NPU"))
	}
	return worst(all...)
}

func hwLink(l *look) verdict {
	return l.eachNPU(func(p facts.PCI) verdict {
		seen := says(p.Address, lanes(p.Width, p.Speed))
		best := lanes(p.MaxWidth, p.MaxSpeed)
		switch {
		case p.Width == 0 || p.MaxWidth == 0:
			return unknown(l.PCI.Source, report.T("%s: no link files", "%s：没有链路信息文件", p.Address))
		case float64(p.Width) == l.number("dead_width") && p.MaxWidth > p.Width:
			return fail(l.PCI.Source, seen, best)
		case p.Width < p.MaxWidth || p.Speed != p.MaxSpeed:
			return warn(l.PCI.Source, seen, best)
		}
		return pass(l.PCI.Source, seen)
	})
}

func lanes(width int, speed string) report.Text {
	return report.T("x%d at %s", "x%d，速率 %s", width, speed)
}

// hwAER counts lines that name one of our devices. A port that lost its link
// names itself only, and which port is above which card is not asked: such a
// line warns.
func hwAER(l *look) verdict {
	if v, stop := blank(l.KernelLog); stop {
		return v
	}
	if !l.PCI.Known() {
		return unknown(l.PCI.Source, report.T("no list of devices to look for", "没有可供查找的设备列表"))
	}
	ours := func(line string) bool {
		return slices.ContainsFunc(l.npus(), func(p facts.PCI) bool { return strings.Contains(line, p.Address) })
	}
	corrected, fatal, down := l.regex("corrected"), l.regex("fatal"), l.regex("link_down")
	all := []verdict{pass(l.KernelLog.Source, report.T("no line about the NPUs", "没有涉及 NPU 的日志"))}
	for _, line := range l.KernelLog.Value {
		switch {
		case ours(line) && (fatal.MatchString(line) || down.MatchString(line)):
			all = append(all, fail(l.KernelLog.Source, raw(line), report.Text{}))
		case ours(line) && corrected.MatchString(line), down.MatchString(line):
			all = append(all, warn(l.KernelLog.Source, raw(line), report.Text{}))
		}
	}
	return worst(all...)
}

func hwIOMMU(l *look) verdict {
	if v, stop := blank(l.IOMMU); stop {
		return v
	}
	if len(l.IOMMU.Value) == 0 {
		return pass(l.IOMMU.Source, report.T("no IOMMU", "没有 IOMMU"))
	}
	if v, stop := blank(l.Cmdline); stop {
		return v
	}
	for _, w := range l.Cmdline.Value {
		if slices.Contains(l.list("passthrough"), w) {
			return pass(l.Cmdline.Source, raw(w))
		}
	}
	return warn(l.IOMMU.Source, raw(l.IOMMU.Value...), either(l.list("passthrough")))
}

func hwBAR(l *look) verdict {
	flag, err := strconv.ParseUint(l.word("memory_flag"), 0, 64)
	if err != nil {
		return unknown("memory_flag", raw(err.Error()))
	}
	refused := l.regex("kernel_text")
	return l.eachNPU(func(p facts.PCI) verdict {
		for _, line := range l.KernelLog.Value {
			if strings.Contains(line, p.Address) && refused.MatchString(line) {
				return fail(l.KernelLog.Source, raw(line), report.Text{})
			}
		}
		if !p.Resource.Known() {
			return unknown(p.Resource.Source, report.T("%s: no resource file", "%s：没有 resource 文件", p.Address))
		}
		return windows(p, flag)
	})
}

// windows reads the resource file of a function: "start end flags" a line, all
// zero for a window that the device does not have.
func windows(p facts.PCI, memory uint64) verdict {
	assigned := 0
	for _, line := range strings.Split(p.Resource.Value, "\n") {
		var v [3]uint64
		f := strings.Fields(line)
		if len(f) != len(v) {
			continue
		}
		for i := range v {
			n, err := strconv.ParseUint(f[i], 0, 64)
			if err != nil {
				return unknown(p.Resource.Source, raw(p.Address+":", line))
			}
			v[i] = n
		}
		switch start, flags := v[0], v[2]; {
		case flags != 0 && start == 0:
			return fail(p.Resource.Source, report.T("%s: a window without an address: %s", "%s：窗口没有地址：%s", p.Address, line), report.Text{})
		case flags&memory != 0:
			assigned++
		}
	}
	return ifElse(assigned > 0, report.Fail, p.Resource.Source,
		report.T("%s: %d memory windows", "%s：%d 个内存窗口", p.Address, assigned), report.T("at least one", "至少一个"))
}

func hwCardDrop(l *look) verdict {
	if v, stop := blank(l.PCI); stop {
		return v
	}
	table := l.table()
	want, known := l.promised()
	nodes, shown := len(l.davincis()), rows(table)
	seen := report.T("PCI %d, nodes %d, npu-smi %d", "PCI %d，设备节点 %d，npu-smi %d", want, nodes, shown)
	switch {
	case known && l.Nodes.Known() && nodes < want:
		return fail(l.Nodes.Source, seen, equal())
	case !known || !l.Nodes.Known() || !table.Known():
		return warn(table.Source, report.T("%s (not all could be counted)", "%s（未能全部计数）", seen), equal())
	case shown < nodes:
		return warn(table.Source, seen, equal())
	case shown == nodes && nodes == want:
		return pass(table.Source, seen)
	}
	return unknown(table.Source, seen)
}

func hwSecureBoot(l *look) verdict {
	if v, stop := blank(l.SecureBoot); stop {
		return v
	}
	if l.SecureBoot.Absent() || l.SecureBoot.Value != "enabled" {
		return pass(l.SecureBoot.Source, orNone(l.SecureBoot.Value))
	}
	for _, line := range l.KernelLog.Value {
		if strings.Contains(line, l.word("rejected")) {
			return fail(l.KernelLog.Source, raw(line), report.T("signed modules", "已签名的模块"))
		}
	}
	return warn(l.SecureBoot.Source, report.T("enabled", "已启用"), report.T("disabled, or signed modules", "关闭，或使用已签名的模块"))
}
