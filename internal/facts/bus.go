package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
)

func (l *look) pci() []query {
	return []query{into(&l.PCI, typed(host.PCI), l.functions)}
}

// functions reads "address key=value ..."; a value is one word.
func (l *look) functions(s string) (out []PCI, err error) {
	for _, line := range lines(s) {
		f := strings.Fields(line)
		m := map[string]string{}
		for _, kv := range f[1:] {
			k, v, _ := strings.Cut(kv, "=")
			m[k] = v
		}
		if m["vendor"] == "" || m["device"] == "" {
			return nil, odd("address vendor= device= ...", line)
		}
		p := PCI{Address: f[0], Vendor: hex(m["vendor"]), Device: hex(m["device"]), Class: hex(m["class"]),
			SubVendor: hex(m["subsystem_vendor"]), SubDevice: hex(m["subsystem_device"]), NUMA: atoi(m["numa_node"], -1),
			Width: atoi(m["current_link_width"], 0), MaxWidth: atoi(m["max_link_width"], 0),
			Speed: spaced(m["current_link_speed"]), MaxSpeed: spaced(m["max_link_speed"]), Driver: m["driver"]}
		if i := slices.IndexFunc(l.Chips, func(c Chip) bool { return c.ID == p.Vendor+":"+p.Device }); i >= 0 {
			p.Generation = l.Chips[i].Generation
		}
		out = append(out, p)
	}
	return out, nil
}

// spaced gives the blanks back that a word cannot have: "16.0 GT/s PCIe".
func spaced(s string) string { return strings.ReplaceAll(s, "_", " ") }

func hex(s string) string { return strings.TrimPrefix(strings.ToLower(s), "0x") }

func (p PCI) isNPU() bool { return p.Generation != "" }

// NPUs are the functions that are Ascend chips.
func (f *Facts) NPUs() (out []PCI) {
	for _, p := range f.PCI.Value {
		if p.isNPU() {
			out = append(out, p)
		}
	}
	return out
}

// resources asks for the address ranges each NPU got from the firmware.
func (l *look) resources() (qs []query) {
	for i := range l.PCI.Value {
		if p := &l.PCI.Value[i]; p.isNPU() {
			qs = append(qs, into(&p.Resource, file("/sys/bus/pci/devices/"+p.Address+"/resource"), maybeEmpty))
		}
	}
	return qs
}

func (l *look) nodes() []query {
	return []query{into(&l.Nodes, typed(host.Nodes), func(s string) (out []Node, err error) {
		for _, line := range lines(s) {
			f := strings.Fields(line)
			if len(f) != 8 {
				return nil, odd("path mode owner group uid gid major minor", line)
			}
			out = append(out, Node{f[0], fmt.Sprintf("%04s", f[1]), f[2], f[3], atoi(f[4], -1), atoi(f[5], -1), atoi(f[6], -1), atoi(f[7], -1)})
		}
		return out, nil
	})}
}

// firstVirtual is where the numbers of vNPU nodes begin (source: the container
// runtime of Ascend/mind-cluster).
const firstVirtual = 100

// Davinci are the N of /dev/davinciN, ascending. They are physical ids; from
// 100 on they are slices (vNPU).
func (f *Facts) Davinci() (out []int) {
	for _, n := range f.Nodes.Value {
		if id, err := strconv.Atoi(strings.TrimPrefix(n.Path, "/dev/davinci")); err == nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// concludeGeneration takes the chip from the bus, or from the device tree where
// an SoC has no PCI function. Names that npu-smi prints are never used: 910B
// was the first generation.
func (l *look) concludeGeneration() {
	if l.PCI.State == "" && l.DeviceTree.State == "" {
		return
	}
	var seen []string
	for _, p := range l.NPUs() {
		if !slices.Contains(seen, p.Generation) {
			seen = append(seen, p.Generation)
		}
	}
	switch {
	case len(seen) == 1:
		l.Generation = Fact[string]{Value: seen[0], State: host.Known, Source: "PCI id of " + l.NPUs()[0].Address}
		return
	case len(seen) > 1:
		l.Generation = Fact[string]{State: host.Unknown, Source: "PCI ids", Note: fmt.Sprintf("more than one: %s", strings.Join(seen, ", "))}
		return
	}
	for _, b := range l.Boards {
		for _, word := range l.DeviceTree.Value.Compatible {
			if strings.HasPrefix(word, b.ID) {
				l.Generation = Fact[string]{Value: b.Generation, State: host.Known, Source: l.DeviceTree.Source}
				return
			}
		}
	}
	l.Generation = Fact[string]{State: l.PCI.State, Source: l.PCI.Source, Note: l.PCI.Note}
	if l.PCI.State != host.Unknown {
		l.Generation.State, l.Generation.Note = host.Absent, "" // looked: no chip on the bus, none in the device tree
	}
}
