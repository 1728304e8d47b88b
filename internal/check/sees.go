package check

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// What several judges and conditions derive from the same facts.

// virt says whether this is inside a container and inside a virtual machine.
func (l *look) virt() (container, vm tri) {
	if !l.Virt.Known() {
		return open, open
	}
	s := l.of("os.virt")
	return truth(slices.Contains(s.list("container"), l.Virt.Value)), truth(slices.Contains(s.list("vm"), l.Virt.Value))
}

func (l *look) inContainer() bool { c, _ := l.virt(); return c == yes }

// managed gives what a provider looks after: what the hosts file says, and what
// shows on the host. A vendor tree that is mounted read-only can be replaced
// from outside only, and so can anything on a notebook of the cloud.
func (l *look) managed() []string {
	out := slices.Clone(l.job.Managed)
	s := l.of("driver.installed")
	root := s.word("default_root")
	readOnly := func(p string) bool {
		d, asked := l.Disks[p]
		return asked && d.Known() && d.Value.ReadOnly && under(d.Value.Mount, root)
	}
	marked := slices.Contains(s.list("provider_users"), l.Identity.Value.User) ||
		slices.ContainsFunc(s.list("provider_variables"), func(v string) bool { return l.env(v) != "" })
	if marked || readOnly(root+"/driver") || readOnly(root) {
		out = append(out, "driver", "firmware")
	}
	if readOnly(root) {
		out = append(out, "cann")
	}
	return unique(out)
}

// npus gives the PCI functions that are NPUs: compression engines of the same
// vendor and class are not.
func (l *look) npus() (out []facts.PCI) {
	s := l.of("hw.pci_present")
	for _, p := range l.PCI.Value {
		id := "0x" + p.Vendor
		if id == s.word("vendor") && slices.Contains(s.list("devices"), p.Device) ||
			slices.Contains(s.list("oem_vendors"), id) && slices.Contains(s.list("oem_devices"), p.Device) {
			out = append(out, p)
		}
	}
	return out
}

// promised is the number of chips behind the PCI functions; false where the
// table of hw.card_drop does not know one of them.
func (l *look) promised() (n int, ok bool) {
	per := l.of("hw.card_drop").dict("chips")
	for _, p := range l.npus() {
		v, found := per[fmt.Sprintf("%s %s:%s", p.Device, p.SubVendor, p.SubDevice)]
		if !found {
			v, found = per[p.Device]
		}
		k, err := strconv.Atoi(v)
		if !found || err != nil {
			return 0, false
		}
		n += k
	}
	return n, l.PCI.Known()
}

// soc is true for a board whose NPU is no PCI device.
func (l *look) soc() tri {
	if !l.PCI.Known() && !l.PCI.Absent() {
		return open
	}
	if len(l.npus()) > 0 {
		return no
	}
	if l.knownTree() {
		return yes
	}
	if l.Nodes.Known() && l.node("/dev/davinci0") && l.Install.Absent() {
		return yes
	}
	if unread(l.DeviceTree) || unread(l.Nodes) || l.node("/dev/davinci0") && unread(l.Install) {
		return open
	}
	return no
}

func unread[T any](f facts.Fact[T]) bool { return !f.Known() && !f.Absent() }

// knownTree is true when the device tree names one of our SoCs.
func (l *look) knownTree() bool {
	return slices.ContainsFunc(l.DeviceTree.Value.Compatible, func(c string) bool {
		return slices.ContainsFunc(l.of("hw.soc_board").list("compatible"), func(w string) bool { return strings.Contains(c, w) })
	})
}

// chip is the generation of the host: from the bus or the device tree, else
// what the person said; never the Name column, where 910B is two generations.
func (l *look) chip() string {
	if l.Generation.Known() && l.Generation.Value != "" {
		return l.Generation.Value
	}
	return l.job.generation()
}

// davincis gives the nodes of chips, vNPUs among them, by number.
func (l *look) davincis() []int {
	var out []int
	for _, n := range l.Nodes.Value {
		if k, err := strconv.Atoi(strings.TrimPrefix(n.Path, "/dev/davinci")); err == nil {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (l *look) node(p string) bool {
	return slices.ContainsFunc(l.Nodes.Value, func(n facts.Node) bool { return n.Path == p })
}

// table is what npu-smi info showed: to the login, else to root.
func (l *look) table() facts.Fact[facts.NPUSmi] {
	if rows(l.NPUInfo) == 0 && rows(l.NPUInfoRoot) > 0 {
		return l.NPUInfoRoot
	}
	return l.NPUInfo
}

func rows(f facts.Fact[facts.NPUSmi]) int {
	if !f.Known() {
		return 0
	}
	return len(f.Value.Chips)
}

// answered is true for an npu-smi question that got what it asked for.
func answered(f facts.Fact[facts.NPUSmi]) bool { return f.Known() && f.Value.Failure == nil }

// note says why npu-smi gave nothing.
func note(f facts.Fact[facts.NPUSmi]) report.Text {
	switch {
	case f.Known() && f.Value.Failure != nil && f.Value.Failure.Line == "":
		return f.Value.Failure.Cause
	case f.Known() && f.Value.Failure != nil:
		return raw(f.Value.Failure.Line)
	case f.Absent():
		return noted(host.ErrNoCommand.Error())
	case f.Known():
		return noRows()
	}
	return reason(f)
}

func noRows() report.Text { return report.T("no row", "没有数据行") }

// visible counts the chips this process space can use; 0 when nothing tells.
func (l *look) visible() int {
	if n := rows(l.table()); n > 0 {
		return n
	}
	if n := len(l.mapped()); n > 0 {
		return n
	}
	if n := len(l.davincis()); n > 0 {
		return n
	}
	n, _ := l.promised()
	return n
}

// mapped gives the chips of npu-smi info -m without board controllers.
func (l *look) mapped() []facts.SmiMap {
	var out []facts.SmiMap
	skip := l.of("dev.nodes").list("skip_rows")
	for _, m := range l.NPUMap.Value.Map {
		if !slices.Contains(skip, m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// cards is how many chips the job uses.
func (l *look) cards() int {
	if n := l.job.want(); n > 0 {
		return n
	}
	return l.visible()
}

// active is the CANN that this login gets: where ASCEND_HOME_PATH leads, else
// the default of the machine, else any.
func (l *look) active() *cann.Tree {
	trees := l.CANN.Value.Trees
	if home := l.env("ASCEND_HOME_PATH"); home != "" {
		if t := l.treeOf(home); t != nil {
			return t
		}
	}
	rank := func(t cann.Tree) int {
		switch {
		case t.Kind != "toolkit":
			return 3
		case t.Active == "":
			return 2
		case t.User:
			return 1
		}
		return 0
	}
	var best *cann.Tree
	for i := range trees {
		if best == nil || rank(trees[i]) < rank(*best) {
			best = &trees[i]
		}
	}
	return best
}

// treeOf finds the tree that a path lies in, through the links that make trees
// active; nil for a path outside of all trees.
func (l *look) treeOf(p string) *cann.Tree {
	for i := range l.CANN.Value.Trees {
		if t := &l.CANN.Value.Trees[i]; under(p, t.Path) || under(p, t.Active) {
			return t
		}
	}
	for _, link := range l.CANN.Value.Links {
		if link.Real == "" || !under(p, link.Path) {
			continue
		}
		for i := range l.CANN.Value.Trees {
			if t := &l.CANN.Value.Trees[i]; under(link.Real, t.Path) || link.Version != "" && link.Version == t.Version {
				return t
			}
		}
	}
	return nil
}

func under(p, folder string) bool {
	return folder != "" && (p == folder || strings.HasPrefix(p, strings.TrimRight(folder, "/")+"/"))
}

// cannVersion is that of the active tree, else the one wanted.
func (l *look) cannVersion() string {
	if t := l.active(); t != nil && t.Version != "" {
		return t.Version
	}
	return l.job.CANN
}

func (l *look) env(name string) string { return l.Env.Value[name] }

// elements gives the parts of a path variable, empty ones too; none when it is
// not set or empty.
func (l *look) elements(name string) []string {
	v := l.env(name)
	if v == "" {
		return nil
	}
	return strings.Split(v, ":")
}

// expand writes out $HOME and $NAME at the head of a path of the catalogue.
func (l *look) expand(p string) string {
	if !strings.HasPrefix(p, "$") {
		return p
	}
	name, rest, _ := strings.Cut(p[1:], "/")
	v := l.env(name)
	if name == "HOME" && l.Identity.Value.Home != "" {
		v = l.Identity.Value.Home
	}
	return path.Join(v, rest)
}

// disk gives the file system of a path, as asked, or as the nearest parent that
// was asked for has it.
func (l *look) disk(p string) facts.Fact[facts.Disk] {
	for q := p; ; q = path.Dir(q) {
		if d, ok := l.Disks[q]; ok {
			return d
		}
		if q == "/" || q == "." {
			return facts.Fact[facts.Disk]{Source: "df " + p}
		}
	}
}

// tool says whether a program is on PATH or in the sbin folders.
func (l *look) tool(name string) tri {
	where, asked := l.Tools.Value[name]
	if !l.Tools.Known() || !asked {
		return open
	}
	return truth(where != "")
}

// lacking gives those tools that are not there, and those nobody asked for.
func (l *look) lacking(names []string) (missing, unasked []string) {
	for _, n := range names {
		switch l.tool(n) {
		case no:
			missing = append(missing, n)
		case open:
			unasked = append(unasked, n)
		}
	}
	return missing, unasked
}

// loaded gives the NPU modules that run.
func (l *look) loaded() []string {
	names := l.of("driver.modules").regex("names")
	return slices.DeleteFunc(slices.Clone(l.Modules.Value), func(m string) bool { return !names.MatchString(m) })
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
