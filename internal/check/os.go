package check

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var osJudges = map[string]judge{
	"os.arch":           {"known:list spelled:dict", osArch},
	"os.release":        {"listed:lists", osRelease},
	"os.kernel":         {"advised:word oldest:word", osKernel},
	"os.glibc":          {"full:word oldest:word", osGlibc},
	"os.page_size":      {"sizes:list large:number variable:dict", osPageSize},
	"os.kernel_headers": {"build:word", osKernelHeaders},
	"os.virt":           {"vm:list container:list", osVirt},
	"os.time_sync":      {"offset:number", osTimeSync},
	"os.locale":         {"", osLocale},
	"os.shell":          {"needed:word other_shells:list", osShell},
	"os.selinux":        {"enforcing:word", osSelinux},
	"os.firewall":       {"hccl_base:number hccl_count:number npu_port:number", osFirewall},
	"os.swap":           {"swappiness:number", osSwap},
	"os.thp":            {"good:word", osTHP},
	"os.cpu_governor":   {"good:word", osGovernor},
	"os.numa_balancing": {"good:word", osNUMABalancing},
	"os.cpuset":         {"allowed:word", osCPUSet},
	"os.reserved_ports": {"base:number base_variable:word count:number", osReservedPorts},
	"os.proxy":          {"variables:list local:list", osProxy},
	"os.hostname":       {"stand_in:word", osHostname},
	"os.pkg_lock":       {"locks:list processes:list", osPkgLock},
	"os.coredump":       {"unlimited:word", osCoreDump},
	"os.nofile":         {"good:number least:number", osNoFile},
	"os.memlock":        {"least:number", osMemlock},
	"os.mem_total":      {"good:number least:number floor:number", osMemory},
	"os.hugepages":      {"pool:number", osHugePages},
	"os.disk_install":   {"good:number least:number used_after:number", osDiskInstall},
	"os.disk_tmp":       {"good:number least:number package:number", osDiskTmp},
	"os.disk_logs":      {"good:number least:number places:list", osDiskLogs},
	"os.inodes":         {"good:number least:number places:list", osInodes},
	"os.shm":            {"least:number ample:number ample_engines:list", osShm},
}

// spelled is the vendor's word for the CPU of the host.
func (l *look) spelled() string {
	if v, ok := l.of("os.arch").dict("spelled")[l.Arch.Value]; ok {
		return v
	}
	return l.Arch.Value
}

func osArch(l *look) verdict {
	if v, stop := blank(l.Arch); stop {
		return v
	}
	known := l.list("known")
	return ifElse(slices.Contains(known, l.spelled()), report.Fail, l.Arch.Source, l.Arch.Value, strings.Join(known, " "))
}

func osRelease(l *look) verdict {
	if v, stop := blank(l.OS); stop {
		return v
	}
	os, listed := l.OS.Value, l.lists("listed")
	seen := strings.TrimSpace(os.ID + " " + os.Version)
	for _, p := range listed[os.ID] {
		if ok, err := path.Match(p, os.Version); ok && err == nil {
			return pass(l.OS.Source, seen)
		}
	}
	if versions, ok := listed[os.ID]; ok {
		return warn(l.OS.Source, seen, os.ID, strings.Join(versions, " "))
	}
	if overlap(os.Like, keys(listed)) {
		return warn(l.OS.Source, seen+", like "+strings.Join(os.Like, " "), strings.Join(keys(listed), " "))
	}
	return fail(l.OS.Source, orNone(seen), strings.Join(keys(listed), " "))
}

func osKernel(l *look) verdict {
	return atLeastVersion(l, l.Kernel, l.word("advised"), l.word("oldest"))
}

func osGlibc(l *look) verdict {
	if l.Glibc.Absent() {
		return fail(l.Glibc.Source, "no glibc", ">=", l.word("full"))
	}
	return atLeastVersion(l, l.Glibc, l.word("full"), l.word("oldest"))
}

func atLeastVersion(l *look, f facts.Fact[string], good, least string) verdict {
	if v, stop := blank(f); stop {
		return v
	}
	if !isVersion(f.Value) {
		return unknown(f.Source, f.Value)
	}
	switch {
	case compareVersions(f.Value, good) >= 0:
		return pass(f.Source, f.Value)
	case compareVersions(f.Value, least) >= 0:
		return warn(f.Source, f.Value, ">=", good)
	}
	return fail(f.Source, f.Value, ">=", least)
}

func osPageSize(l *look) verdict {
	if v, stop := blank(l.PageSize); stop {
		return v
	}
	seen := strconv.Itoa(l.PageSize.Value)
	if !slices.Contains(l.list("sizes"), seen) {
		return warn(l.PageSize.Source, seen, strings.Join(l.list("sizes"), " or "))
	}
	if l.PageSize.Value == int(l.number("large")) {
		for name, value := range l.dict("variable") {
			if strings.EqualFold(l.env(name), value) {
				return warn(l.PageSize.Source, fmt.Sprintf("%s with %s=%s", seen, name, l.env(name)), name, "not", value)
			}
		}
	}
	return pass(l.PageSize.Source, seen)
}

func osVirt(l *look) verdict {
	if v, stop := blank(l.Virt); stop {
		return v
	}
	container, vm := l.virt()
	switch {
	case vm == yes:
		return warn(l.Virt.Source, l.Virt.Value, "a physical machine")
	case container == yes, l.Virt.Value == "none":
		return pass(l.Virt.Source, l.Virt.Value)
	}
	return unknown(l.Virt.Source, l.Virt.Value)
}

func osTimeSync(l *look) verdict {
	if v, stop := blank(l.TimeSync); stop {
		return v
	}
	bad := report.Warn
	if l.job.multiNode() {
		bad = report.Fail
	}
	if l.TimeSync.Value {
		return pass(l.TimeSync.Source, "synchronised")
	}
	return say(bad, l.TimeSync.Source, "not synchronised", "synchronised")
}

func osLocale(*look) verdict { return pass("ascendctl", "every question is asked with LC_ALL=C") }

func osShell(l *look) verdict {
	shells := func() verdict {
		if v, stop := blank(l.Shells); stop {
			return v
		}
		s := l.Shells.Value
		seen := fmt.Sprintf("/bin/sh is %s, login shell %s", path.Base(s.Sh), orNone(s.Login))
		odd := func(p string) bool { return slices.Contains(l.list("other_shells"), path.Base(p)) }
		return ifElse(!odd(s.Sh) && !odd(s.Login), report.Warn, l.Shells.Source, seen, l.word("needed"))
	}()
	switch l.tool(l.word("needed")) {
	case no:
		return fail(l.Tools.Source, "no "+l.word("needed"), l.word("needed"))
	case open:
		return worst(unknown(l.Tools.Source, "not asked for "+l.word("needed")), shells)
	}
	return shells
}

func osSelinux(l *look) verdict {
	if v, stop := blank(l.Selinux); stop {
		return v
	}
	if l.Selinux.Absent() {
		return pass(l.Selinux.Source, "no SELinux")
	}
	return ifElse(l.Selinux.Value != l.word("enforcing"), report.Warn, l.Selinux.Source, l.Selinux.Value, "not "+l.word("enforcing"))
}

// osFirewall cannot read every rule set, so an active one is a warning that
// names the ports to look for.
func osFirewall(l *look) verdict {
	if v, stop := blank(l.Firewall); stop {
		return v
	}
	fw := l.Firewall.Value
	if l.Firewall.Absent() || !fw.Active {
		return pass(l.Firewall.Source, "not active")
	}
	base := int(l.number("hccl_base"))
	wanted := fmt.Sprintf("open: %d-%d %d", base, base+int(l.number("hccl_count"))-1, int(l.number("npu_port")))
	for _, p := range l.enginePorts() {
		wanted += fmt.Sprintf(" %d", p)
	}
	return warn(l.Firewall.Source, fw.Tool+" is active", wanted)
}

func osSwap(l *look) verdict {
	if v, stop := blank(l.Swaps); stop {
		return v
	}
	if len(l.Swaps.Value) == 0 {
		return pass(l.Swaps.Source, "no swap")
	}
	if v, stop := blank(l.Swappiness); stop {
		return v
	}
	seen := fmt.Sprintf("swap on, vm.swappiness %d", l.Swappiness.Value)
	return ifElse(float64(l.Swappiness.Value) <= l.number("swappiness"), report.Warn, l.Swappiness.Source, seen, "<= "+l.word("swappiness"))
}

// wish judges a word that may be absent.
func wish(l *look, f facts.Fact[string]) verdict {
	if v, stop := blank(f); stop {
		return v
	}
	if f.Absent() {
		return pass(f.Source, "absent")
	}
	return ifElse(f.Value == l.word("good"), report.Warn, f.Source, f.Value, l.word("good"))
}

func osTHP(l *look) verdict           { return wish(l, l.THP) }
func osGovernor(l *look) verdict      { return wish(l, l.Governor) }
func osNUMABalancing(l *look) verdict { return wish(l, l.NUMABalancing) }

func osReservedPorts(l *look) verdict {
	if v, stop := blank(l.ReservedPorts); stop {
		return v
	}
	first := int(l.number("base"))
	if n, err := strconv.Atoi(l.env(l.word("base_variable"))); err == nil {
		first = n
	}
	last := first + int(l.number("count")) - 1
	reserved := parseRanges(l.ReservedPorts.Value)
	free := 0
	for p := first; p <= last; p++ {
		if !reserved.holds(p) {
			free++
		}
	}
	return ifElse(free == 0, report.Warn, l.ReservedPorts.Source, orNone(l.ReservedPorts.Value), fmt.Sprintf("%d-%d", first, last))
}

func osProxy(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	var set []string
	for _, name := range l.list("variables") {
		if l.env(name) != "" {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return pass(l.Env.Source, "no proxy")
	}
	around := strings.Split(l.env("no_proxy")+","+l.env("NO_PROXY"), ",")
	var missing []string
	for _, host := range l.list("local") {
		if !slices.ContainsFunc(around, func(e string) bool { return spares(strings.TrimSpace(e), host) }) {
			missing = append(missing, host)
		}
	}
	return ifElse(len(missing) == 0, report.Warn, l.Env.Source,
		fmt.Sprintf("%s set, no_proxy=%s", strings.Join(set, " "), l.env("no_proxy")), "no_proxy with "+strings.Join(l.list("local"), " "))
}

// spares is true when an entry of no_proxy covers the host.
func spares(entry, host string) bool {
	if entry == "*" || entry == host {
		return true
	}
	net, err := netip.ParsePrefix(entry)
	addr, bad := netip.ParseAddr(host)
	return err == nil && bad == nil && net.Contains(addr)
}

func osHostname(l *look) verdict {
	if v, stop := blank(l.Hostname); stop {
		return v
	}
	h := l.Hostname.Value
	seen := fmt.Sprintf("%s resolves to %s", h.Name, orNone(strings.Join(h.Resolves, " ")))
	switch {
	case len(h.Resolves) == 0:
		return fail(l.Hostname.Source, h.Name+" does not resolve", "an address of this host")
	case l.job.multiNode() && slices.Contains(h.Resolves, l.word("stand_in")):
		return warn(l.Hostname.Source, seen, "an address other hosts can reach")
	}
	return pass(l.Hostname.Source, seen)
}

func osPkgLock(l *look) verdict {
	if v, stop := blank(l.Locks); stop {
		return v
	}
	for _, k := range l.Locks.Value {
		if slices.Contains(l.list("locks"), k.Path) || slices.Contains(l.list("processes"), path.Base(k.Command)) {
			return fail(l.Locks.Source, fmt.Sprintf("%s held by %s (pid %d)", k.Path, orNone(k.Command), k.PID), "free")
		}
	}
	return pass(l.Locks.Source, "free")
}

func osCoreDump(l *look) verdict {
	if v, stop := blank(l.Limits); stop {
		return v
	}
	core := l.Limits.Value.Core.String()
	if core != l.word("unlimited") {
		return pass(l.Limits.Source, "core "+core)
	}
	if v, stop := blank(l.CorePattern); stop {
		return v
	}
	pattern := strings.TrimSpace(l.CorePattern.Value)
	return ifElse(strings.ContainsAny(pattern, "|/"), report.Warn, l.CorePattern.Source,
		fmt.Sprintf("core %s, kernel.core_pattern %s", core, orNone(pattern)), "a limit, a program or a folder")
}
