package facts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/host"
)

// row makes the entries of one kind. one gives a single entry under the kind's
// own name, many one for each key of a list ("env PATH").
type row struct {
	kind, check string
	one         func(*Facts) Fact[string]
	many        func(*Facts) Fact[map[string]string]
	// whole: many tells all there is, so that a name it does not have is absent.
	whole bool
}

// rows stand in the order of what most likely matters when one host works and
// another does not: versions that must fit each other, the environment, then
// the system.
var rows = []row{
	{"driver", "driver.cann_compat", func(f *Facts) Fact[string] { return text(f.Driver, func(d Driver) string { return d.Version }) }, nil, false},
	{"firmware", "driver.firmware_compat", func(f *Facts) Fact[string] { return text(f.Firmware, func(w Firmware) string { return w.Version }) }, nil, false},
	{"cann", "cann.installed", (*Facts).cannVersion, nil, false},
	{"ops", "cann.ops", (*Facts).opsVersion, nil, false},
	{"nnal", "cann.nnal", (*Facts).nnalVersion, nil, false},
	{"npu", "hw.count", nil, (*Facts).npuEntries, false},
	{"nodes", "dev.perms", nil, (*Facts).nodeEntries, true},
	{"modules", "driver.modules", (*Facts).npuModules, nil, false},
	{"env", "env.mixed", nil, (*Facts).envEntries, true},
	{"python", "py.torch_npu", nil, (*Facts).pythonEntries, true},
	{"trees", "cann.multi", (*Facts).treeList, nil, false},
	{"hccn", "net.npu_link", nil, (*Facts).hccnEntries, false},
	{"kernel", "os.kernel", func(f *Facts) Fact[string] { return f.Kernel }, nil, false},
	{"os", "os.release", func(f *Facts) Fact[string] {
		return text(f.OS, func(o OS) string { return strings.TrimSpace(o.Name + " " + o.Minor) })
	}, nil, false},
	{"system", "", nil, (*Facts).systemEntries, false},
	{"limits", "os.nofile", nil, (*Facts).limitEntries, false},
	{"memory", "os.mem_total", func(f *Facts) Fact[string] {
		return text(f.Memory, func(m Memory) string { return fmt.Sprintf("%d GiB", (m.TotalKB+1<<19)>>20) })
	}, nil, false},
	{"disk", "", nil, (*Facts).diskEntries, false},
	{"tool", "tool.basic", nil, (*Facts).toolEntries, true},
}

// Entries are the comparable things of a host, kind by kind.
func (f *Facts) Entries() (out []Entry) {
	for _, r := range rows {
		if r.one != nil {
			v := r.one(f)
			out = append(out, Entry{Key: r.kind, Check: r.check, State: v.State, Text: v.Value})
			continue
		}
		all := r.many(f)
		if !all.Known() {
			out = append(out, Entry{Key: r.kind, Check: r.check, State: all.State})
			continue
		}
		for _, name := range sortedKeys(all.Value) {
			e := Entry{Key: r.kind + " " + name, Check: r.check, State: host.Known, Text: all.Value[name]}
			if r.kind == "env" && strings.Contains(e.Text, "/") && strings.Contains(e.Text, ":") {
				e.Short = f.shortPath(e.Text)
			}
			out = append(out, e)
		}
	}
	return out
}

// text turns a fact into words.
func text[T any](f Fact[T], say func(T) string) Fact[string] {
	out := Fact[string]{State: f.State, Source: f.Source, Note: f.Note}
	if f.Known() {
		out.Value = say(f.Value)
	}
	return out
}

func (f *Facts) cannVersion() Fact[string] {
	out := text(f.CANN, func(cann.Installed) string { return "" })
	if t, ok := f.ActiveTree(); ok {
		out.Value = t.Version
	} else if out.Known() {
		out.Value = "none active"
	}
	return out
}

// opsVersion is the release the kernels belong to and the chips they are for.
func (f *Facts) opsVersion() Fact[string] {
	out := text(f.CANN, func(cann.Installed) string { return "" })
	t, ok := f.ActiveTree()
	if !ok {
		return out
	}
	version := t.OpsVersion
	if version == "" {
		version = t.Components["opp_kernel"].VersionDir
	}
	if out.Value = strings.TrimSpace(version + " " + strings.Join(t.Kernels, " ")); out.Value == "" {
		out.State = host.Absent
	}
	return out
}

func (f *Facts) nnalVersion() Fact[string] {
	out := text(f.CANN, func(cann.Installed) string { return "" })
	if n, ok := f.ActiveNNAL(); ok {
		out.Value = n.Version
	} else if out.Known() {
		out.State = host.Absent
	}
	return out
}

func (f *Facts) treeList() Fact[string] {
	return text(f.CANN, func(in cann.Installed) string {
		var all []string
		for _, t := range in.Trees {
			all = append(all, t.Path)
		}
		return strings.Join(all, " ")
	})
}

// npuEntries count by what is compared, never by name of a single card.
func (f *Facts) npuEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: f.PCI.State}
	if f.PCI.Known() {
		out.Value["on the bus"] = fmt.Sprintf("%d x %s", len(f.NPUs()), f.Generation.Value)
	}
	if d := f.Devices(); d.Known() {
		out.State = host.Known
		names, health := []string{}, map[string]int{}
		for _, dev := range d.Value {
			if !slices.Contains(names, dev.Name) {
				names = append(names, dev.Name)
			}
			health[dev.Health]++
		}
		out.Value["devices"] = fmt.Sprintf("%d x %s", len(d.Value), strings.Join(names, ", "))
		var ill []string
		for _, h := range sortedKeys(health) {
			ill = append(ill, fmt.Sprintf("%d %s", health[h], h))
		}
		out.Value["health"] = strings.Join(ill, ", ")
	}
	return out
}

func (f *Facts) nodeEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: f.Nodes.State}
	count := map[string]int{}
	for _, n := range f.Nodes.Value {
		name := strings.TrimRight(path.Base(n.Path), "0123456789")
		access := strings.TrimSpace(n.Mode + " " + n.Group)
		if name == "davinci" || name == "vdavinci" {
			count[name]++
			out.Value[name] = fmt.Sprintf("%d, %s", count[name], access)
		} else {
			out.Value[name] = access
		}
	}
	return out
}

func (f *Facts) npuModules() Fact[string] {
	return text(f.Modules, func(all []string) string {
		var ours []string
		for _, m := range all {
			if strings.HasPrefix(m, "drv_") || strings.HasPrefix(m, "asdrv_") || strings.HasPrefix(m, "ascend_") {
				ours = append(ours, m)
			}
		}
		slices.Sort(ours)
		return strings.Join(ours, " ")
	})
}

// personal are variables that say who logs in and not what the machine is.
var personal = []string{"HOME", "USER", "LOGNAME", "MAIL", "PWD", "OLDPWD", "SHLVL", "_", "TERM", "LS_COLORS", "HOSTNAME", "DISPLAY", "COLORTERM",
	"HISTSIZE", "HISTCONTROL", "LESSOPEN", "LESSCLOSE", "PS1", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_AUTH_SOCK", "INVOCATION_ID"}

func (f *Facts) envEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: f.Env.State}
	for k, v := range f.Env.Value {
		if !slices.Contains(personal, k) && !strings.HasPrefix(k, "XDG_") && !strings.HasPrefix(k, "DBUS_") && v != hidden {
			out.Value[k] = v
		}
	}
	return out
}

// shortPath says what a search path leads to: how many CANN, how many folders.
func (f *Facts) shortPath(s string) string {
	trees, parts := map[string]bool{}, strings.Split(s, ":")
	for _, p := range parts {
		if t, ok := f.CANN.Value.Holds(p); ok {
			trees[t.Path] = true
		}
	}
	if len(trees) == 0 {
		return ""
	}
	return fmt.Sprintf("%d CANN, %d folders", len(trees), len(parts))
}

func (f *Facts) pythonEntries() Fact[map[string]string] { return f.Packages }

func (f *Facts) hccnEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: f.HCCN.State}
	for _, h := range f.HCCN.Value {
		for what, v := range map[string]Fact[string]{"link": h.Link, "tls": h.TLS, "vnic": h.VNIC, "mtu": h.MTU} {
			if v.Known() {
				out.Value[fmt.Sprintf("%d %s", h.ID, what)] = v.Value
			}
		}
	}
	return out
}

// systemEntries are single words about the system.
func (f *Facts) systemEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: host.Known}
	add := func(name string, v Fact[string]) {
		switch v.State {
		case host.Known:
			out.Value[name] = v.Value
		case host.Absent:
			out.Value[name] = "absent"
		}
	}
	for name, v := range map[string]Fact[string]{"arch": f.Arch, "glibc": f.Glibc, "THP": f.THP, "CPU governor": f.Governor,
		"NUMA balancing": f.NUMABalancing, "SELinux": f.Selinux, "virtualisation": f.Virt, "reserved ports": f.ReservedPorts,
		"secure boot": f.SecureBoot, "product": f.Product, "g++": f.GCC, "cmake": f.CMake} {
		add(name, v)
	}
	add("page size", text(f.PageSize, func(n int) string { return fmt.Sprint(n) }))
	add("python3", text(f.Python, func(p Python) string { return p.Version }))
	add("torch C++ ABI", text(f.TorchABI, func(n int) string { return fmt.Sprint(n) }))
	add("swappiness", text(f.Swappiness, func(n int) string { return fmt.Sprint(n) }))
	add("time synchronised", text(f.TimeSync, func(b bool) string { return fmt.Sprint(b) }))
	add("CPUs", text(f.CPU, func(c CPU) string { return strings.TrimSpace(fmt.Sprintf("%d %s", c.Count, c.Model)) }))
	add("driver install", text(f.Install, func(i Install) string { return strings.TrimSpace(i.Mode + " " + i.Status) }))
	add("loader folders", text(f.LoaderConf, func(l []string) string { return strings.Join(l, " ") }))
	add("boot options", text(f.Cmdline, bootOptions))
	return out
}

// bootOptions leaves out what names the disk and the kernel of one machine.
func bootOptions(words []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return strings.HasPrefix(w, "BOOT_IMAGE=") || strings.HasPrefix(w, "root=") || strings.HasPrefix(w, "initrd=") ||
			strings.HasPrefix(w, "resume=") || strings.HasPrefix(w, "rd.lvm") || strings.HasPrefix(w, "crashkernel=")
	}), " ")
}

func (f *Facts) limitEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: f.Limits.State}
	l := f.Limits.Value
	for name, v := range map[string]Limit{"nofile": l.NoFile, "memlock": l.MemlockKB, "core": l.Core} {
		if f.Limits.Known() && v.Known() {
			out.Value[name] = v.String()
		}
	}
	return out
}

// diskEntries compare what a file system is, not how full it is.
func (f *Facts) diskEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: host.Known}
	for p, d := range f.Disks {
		if !d.Known() || !slices.Contains(usual, p) {
			continue
		}
		said := []string{d.Value.Mount, d.Value.FSType}
		if d.Value.ReadOnly {
			said = append(said, "ro")
		}
		if d.Value.NoExec {
			said = append(said, "noexec")
		}
		out.Value[p] = strings.Join(said, " ")
	}
	return out
}

func (f *Facts) toolEntries() Fact[map[string]string] {
	out := Fact[map[string]string]{Value: map[string]string{}, State: f.Tools.State}
	for name, where := range f.Tools.Value {
		out.Value[name] = "there"
		if where == "" {
			out.Value[name] = "absent"
		}
	}
	return out
}
