package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Facts is what is known about hosts.
type Facts struct {
	report.Envelope
	Hosts []HostFacts `json:"hosts"` // in the order asked for
}

// HostFacts is one host: its facts, or why there are none.
type HostFacts struct {
	Host  string       `json:"host"`
	Facts *facts.Facts `json:"facts,omitempty"`
	Error *report.Text `json:"error,omitempty"` // no answer: what was in the way
}

// Show writes the document for people.
func (d Facts) Show(o *ui.Out) {
	for i, h := range d.Hosts {
		if i > 0 {
			o.Print("\n")
		}
		if h.Error != nil {
			o.Say(report.T("%s  no answer: %s", "%s  无应答：%s", o.Bold(h.Host), *h.Error))
			continue
		}
		o.Print("%s\n", o.Bold(h.Host))
		o.Pairs(2, factPairs(o, h.Facts))
		showChips(o, h.Facts)
	}
}

// factPairs are the facts a person asks for first; JSON has all.
func factPairs(o *ui.Out, f *facts.Facts) []ui.Pair {
	os := or(f.OS, o, func(v facts.OS) string { return first(v.Name, v.ID+" "+v.Version) })
	return []ui.Pair{
		head(report.T("system", "系统"), os+", "+or(f.Arch, o, asIs)+", "+or(f.Kernel, o, asIs)+", glibc "+or(f.Glibc, o, asIs)),
		head(report.T("machine", "机器"), join(", ", or(f.Product, nil, asIs), or(f.Virt, nil, asIs),
			or(f.CPU, o, func(c facts.CPU) string { return fmt.Sprintf("%d CPU", c.Count) }),
			or(f.Memory, o, func(m facts.Memory) string { return ui.Bytes(m.TotalKB << 10) }))),
		head(report.T("NPU on the bus", "总线上的 NPU"), or(f.PCI, o, func(p []facts.PCI) string { return buses(p) })),
		head(report.T("device nodes", "设备节点"), or(f.Nodes, o, func(n []facts.Node) string { return fmt.Sprint(len(n)) })),
		head(report.T("login", "登录用户"), or(f.Identity, o, login)),
		head(report.T("driver", "驱动"), or(f.Driver, o, func(d facts.Driver) string { return d.Version })),
		head(report.T("firmware", "固件"), or(f.Firmware, o, func(w facts.Firmware) string { return w.Version })),
		head(report.Same("CANN"), or(f.CANN, o, trees)),
		head(report.Same("Python"), join(", ", or(f.Python, o, func(p facts.Python) string { return p.Version }), or(f.Packages, nil, stack))),
		head(report.Same("npu-smi"), or(f.NPUInfo, o, smi)),
	}
}

// or writes the value of a fact; absent and unknown are told apart, and an
// unknown one says why. Without o only a known value is written.
func or[T any](f facts.Fact[T], o *ui.Out, write func(T) string) string {
	switch {
	case f.Known():
		return write(f.Value)
	case o == nil:
		return ""
	case f.Absent():
		return report.T("absent", "无").In(o.Lang())
	case f.State == "":
		return report.T("not asked", "未询问").In(o.Lang())
	}
	return report.T("unknown: %s", "未知：%s", f.Note).In(o.Lang())
}

func asIs(s string) string { return s }

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), sep)
}

// buses counts functions by generation: "8 x A2".
func buses(functions []facts.PCI) string {
	n := map[string]int{}
	for _, p := range functions {
		if p.Generation != "" {
			n[p.Generation]++
		}
	}
	var words []string
	for _, g := range slices.Sorted(maps.Keys(n)) {
		words = append(words, fmt.Sprintf("%d x %s", n[g], g))
	}
	return first(strings.Join(words, ", "), "0")
}

func login(i facts.Identity) string {
	groups := make([]string, len(i.Groups))
	for k, g := range i.Groups {
		groups[k] = g.Name
	}
	return join("  ", fmt.Sprintf("%s (uid %d)", i.User, i.UID), strings.Join(groups, ","))
}

// stack names the packages that versions are matched by.
func stack(packages map[string]string) string {
	var words []string
	for _, name := range []string{"torch", "torch-npu", "vllm", "vllm-ascend", "mindspore", "sglang", "mindie"} {
		if v := packages[name]; v != "" {
			words = append(words, name+" "+v)
		}
	}
	return strings.Join(words, ", ")
}

func smi(a facts.NPUSmi) string {
	if a.Failure != nil {
		return first(a.Failure.Line, string(a.Failure.Error))
	}
	return fmt.Sprintf("%s, %d x NPU", first(a.ToolVersion, "?"), len(a.Chips))
}

// trees names every CANN, the default one with its link, and nnal.
func trees(c cann.Installed) string {
	var words []string
	for _, t := range c.Trees {
		w := first(t.Version, "?") + " " + t.Path
		if t.Active != "" {
			w += " <- " + t.Active
		}
		words = append(words, w)
	}
	for _, n := range c.NNAL {
		words = append(words, "nnal "+first(n.Version, "?"))
	}
	return strings.Join(words, "; ")
}

// showChips is the table of what npu-smi lists.
func showChips(o *ui.Out, f *facts.Facts) {
	if !f.NPUInfo.Known() || len(f.NPUInfo.Value.Chips) == 0 {
		return
	}
	var rows [][]string
	for _, c := range f.NPUInfo.Value.Chips {
		memory := pair(c.HBMMB)
		if c.HBMMB == nil {
			memory = pair(c.MemMB)
		}
		rows = append(rows, []string{number(c.NPU) + "/" + number(c.Chip), c.Name, c.Health, memory, number(c.CorePct) + "%", number(c.TempC), first(c.BusID, "-")})
	}
	o.Print("\n")
	o.Table([]ui.Column{
		{Head: report.Same("NPU/CHIP")}, {Head: report.T("NAME", "名称")}, {Head: report.T("HEALTH", "健康状态")},
		{Head: report.T("MEMORY MB", "显存 MB"), Right: true}, {Head: report.Same("AICORE"), Right: true}, {Head: report.T("TEMP C", "温度 C"), Right: true}, {Head: report.T("BUS", "总线")},
	}, rows)
}

// number is "?" where nothing was printed: never 0.
func number(n *int) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

func pair(p *facts.Pair) string {
	if p == nil {
		return "?"
	}
	return number(p[0]) + "/" + number(p[1])
}
