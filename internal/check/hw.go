package check

import (
	"fmt"
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
		return fail(l.PCI.Source, "no NPU among "+count(len(l.PCI.Value), "functions"), l.word("vendor"), strings.Join(l.list("devices"), " "))
	}
	return pass(l.PCI.Source, count(len(seen), strings.Join(unique(seen), " ")))
}

func hwBoard(l *look) verdict {
	switch {
	case l.knownTree():
		return pass(l.DeviceTree.Source, l.DeviceTree.Value.Model+" "+strings.Join(l.DeviceTree.Value.Compatible, " "))
	case slices.ContainsFunc(l.list("boards"), func(b string) bool { return strings.Contains(l.Board.Value, b) }):
		return pass(l.Board.Source, l.Board.Value)
	}
	return warn(l.Nodes.Source, "/dev/davinci0 on a board that is not known", strings.Join(l.list("compatible"), " "))
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
	seen, wanted := count(got, "functions"), fmt.Sprintf("%d on a %s", want, name)
	multiple := slices.Contains(l.list("cards"), name) && want > 0 && got%want == 0
	switch {
	case got == 0:
		return fail(l.PCI.Source, seen, wanted)
	case got == want, multiple:
		return pass(l.PCI.Source, seen)
	case got < want, slices.Contains(l.list("cards"), name):
		return warn(l.PCI.Source, seen, wanted)
	}
	return unknown(l.PCI.Source, seen+", expected "+wanted)
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
		return unknown(l.PCI.Source, "no NPU on the bus")
	}
	return worst(all...)
}

func hwLink(l *look) verdict {
	return l.eachNPU(func(p facts.PCI) verdict {
		seen := fmt.Sprintf("%s: x%d at %s", p.Address, p.Width, p.Speed)
		best := fmt.Sprintf("x%d at %s", p.MaxWidth, p.MaxSpeed)
		switch {
		case p.Width == 0 || p.MaxWidth == 0:
			return unknown(l.PCI.Source, p.Address+": no link files")
		case float64(p.Width) == l.number("dead_width") && p.MaxWidth > p.Width:
			return fail(l.PCI.Source, seen, best)
		case p.Width < p.MaxWidth || p.Speed != p.MaxSpeed:
			return warn(l.PCI.Source, seen, best)
		}
		return pass(l.PCI.Source, seen)
	})
}

// hwAER counts lines that name one of our devices. A port that lost its link
// names itself only, and which port is above which card is not asked: such a
// line warns.
func hwAER(l *look) verdict {
	if v, stop := blank(l.KernelLog); stop {
		return v
	}
	if !l.PCI.Known() {
		return unknown(l.PCI.Source, "no list of devices to look for")
	}
	ours := func(line string) bool {
		return slices.ContainsFunc(l.npus(), func(p facts.PCI) bool { return strings.Contains(line, p.Address) })
	}
	corrected, fatal, down := l.regex("corrected"), l.regex("fatal"), l.regex("link_down")
	all := []verdict{pass(l.KernelLog.Source, "no line about the NPUs")}
	for _, line := range l.KernelLog.Value {
		switch {
		case ours(line) && (fatal.MatchString(line) || down.MatchString(line)):
			all = append(all, fail(l.KernelLog.Source, line))
		case ours(line) && corrected.MatchString(line), down.MatchString(line):
			all = append(all, warn(l.KernelLog.Source, line))
		}
	}
	return worst(all...)
}

func hwIOMMU(l *look) verdict {
	if v, stop := blank(l.IOMMU); stop {
		return v
	}
	if len(l.IOMMU.Value) == 0 {
		return pass(l.IOMMU.Source, "no IOMMU")
	}
	if v, stop := blank(l.Cmdline); stop {
		return v
	}
	for _, w := range l.Cmdline.Value {
		if slices.Contains(l.list("passthrough"), w) {
			return pass(l.Cmdline.Source, w)
		}
	}
	return warn(l.IOMMU.Source, strings.Join(l.IOMMU.Value, " "), strings.Join(l.list("passthrough"), " or "))
}

func hwBAR(l *look) verdict {
	flag, err := strconv.ParseUint(l.word("memory_flag"), 0, 64)
	if err != nil {
		return unknown("memory_flag", err.Error())
	}
	refused := l.regex("kernel_text")
	return l.eachNPU(func(p facts.PCI) verdict {
		for _, line := range l.KernelLog.Value {
			if strings.Contains(line, p.Address) && refused.MatchString(line) {
				return fail(l.KernelLog.Source, line)
			}
		}
		if !p.Resource.Known() {
			return unknown(p.Resource.Source, p.Address+": no resource file")
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
				return unknown(p.Resource.Source, p.Address+": "+line)
			}
			v[i] = n
		}
		switch start, flags := v[0], v[2]; {
		case flags != 0 && start == 0:
			return fail(p.Resource.Source, p.Address+": a window without an address: "+line)
		case flags&memory != 0:
			assigned++
		}
	}
	return ifElse(assigned > 0, report.Fail, p.Resource.Source, p.Address+": "+count(assigned, "memory windows"), "at least one")
}

func hwCardDrop(l *look) verdict {
	if v, stop := blank(l.PCI); stop {
		return v
	}
	table := l.table()
	want, known := l.promised()
	nodes, shown := len(l.davincis()), rows(table)
	seen := fmt.Sprintf("PCI %d, nodes %d, npu-smi %d", want, nodes, shown)
	switch {
	case known && l.Nodes.Known() && nodes < want:
		return fail(l.Nodes.Source, seen, "equal")
	case !known || !l.Nodes.Known() || !table.Known():
		return warn(table.Source, seen+" (not all could be counted)", "equal")
	case shown < nodes:
		return warn(table.Source, seen, "equal")
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
			return fail(l.KernelLog.Source, line, "signed modules")
		}
	}
	return warn(l.SecureBoot.Source, "enabled", "disabled, or signed modules")
}
