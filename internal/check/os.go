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
	return ifElse(slices.Contains(known, l.spelled()), report.Fail, l.Arch.Source, raw(l.Arch.Value), raw(known...))
}

func osRelease(l *look) verdict {
	if v, stop := blank(l.OS); stop {
		return v
	}
	os, listed := l.OS.Value, l.lists("listed")
	seen := strings.TrimSpace(os.ID + " " + os.Release())
	for _, p := range listed[os.ID] {
		if ok, err := path.Match(p, os.Release()); ok && err == nil {
			return pass(l.OS.Source, raw(seen))
		}
	}
	if versions, ok := listed[os.ID]; ok {
		return warn(l.OS.Source, raw(seen), raw(append([]string{os.ID}, versions...)...))
	}
	if overlap(os.Like, keys(listed)) {
		return warn(l.OS.Source, report.T("%s, like %s", "%s，类似 %s", seen, strings.Join(os.Like, " ")), raw(keys(listed)...))
	}
	return fail(l.OS.Source, orNone(seen), raw(keys(listed)...))
}

func osKernel(l *look) verdict {
	return atLeastVersion(l, l.Kernel, l.word("advised"), l.word("oldest"))
}

func osGlibc(l *look) verdict {
	if l.Glibc.Absent() {
		return fail(l.Glibc.Source, report.T("no glibc", "没有 glibc"), raw(">=", l.word("full")))
	}
	return atLeastVersion(l, l.Glibc, l.word("full"), l.word("oldest"))
}

func atLeastVersion(l *look, f facts.Fact[string], good, least string) verdict {
	if v, stop := blank(f); stop {
		return v
	}
	if !isVersion(f.Value) {
		return unknown(f.Source, raw(f.Value))
	}
	switch {
	case compareVersions(f.Value, good) >= 0:
		return pass(f.Source, raw(f.Value))
	case compareVersions(f.Value, least) >= 0:
		return warn(f.Source, raw(f.Value), raw(">=", good))
	}
	return fail(f.Source, raw(f.Value), raw(">=", least))
}

func osPageSize(l *look) verdict {
	if v, stop := blank(l.PageSize); stop {
		return v
	}
	seen := strconv.Itoa(l.PageSize.Value)
	if !slices.Contains(l.list("sizes"), seen) {
		return warn(l.PageSize.Source, raw(seen), either(l.list("sizes")))
	}
	if l.PageSize.Value == int(l.number("large")) {
		for name, value := range l.dict("variable") {
			if strings.EqualFold(l.env(name), value) {
				return warn(l.PageSize.Source, report.T("%s with %s=%s", "%s，且 %s=%s", seen, name, l.env(name)), report.T("%s not %s", "%s 不为 %s", name, value))
			}
		}
	}
	return pass(l.PageSize.Source, raw(seen))
}

func osVirt(l *look) verdict {
	if v, stop := blank(l.Virt); stop {
		return v
	}
	container, vm := l.virt()
	switch {
	case vm == yes:
		return warn(l.Virt.Source, raw(l.Virt.Value), report.T("a physical machine", "物理机"))
	case container == yes, l.Virt.Value == "none":
		return pass(l.Virt.Source, virtWord(l.Virt.Value))
	}
	return unknown(l.Virt.Source, raw(l.Virt.Value))
}

// virtWord is the word of systemd-detect-virt, which says none for a machine.
func virtWord(word string) report.Text {
	if word == "none" {
		return orNone("")
	}
	return raw(word)
}

func osTimeSync(l *look) verdict {
	if v, stop := blank(l.TimeSync); stop {
		return v
	}
	bad := report.Warn
	if l.job.multiNode() {
		bad = report.Fail
	}
	wanted := report.T("synchronised", "已同步")
	if l.TimeSync.Value {
		return pass(l.TimeSync.Source, wanted)
	}
	return say(bad, l.TimeSync.Source, report.T("not synchronised", "未同步"), wanted)
}

func osLocale(*look) verdict {
	return pass("ascendctl", report.T("every question is asked with LC_ALL=C", "所有查询均使用 LC_ALL=C"))
}

func osShell(l *look) verdict {
	shells := func() verdict {
		if v, stop := blank(l.Shells); stop {
			return v
		}
		s := l.Shells.Value
		seen := report.T("/bin/sh is %s, login shell %s", "/bin/sh 为 %s，登录 shell 为 %s", path.Base(s.Sh), orNone(s.Login))
		odd := func(p string) bool { return slices.Contains(l.list("other_shells"), path.Base(p)) }
		return ifElse(!odd(s.Sh) && !odd(s.Login), report.Warn, l.Shells.Source, seen, raw(l.word("needed")))
	}()
	switch l.tool(l.word("needed")) {
	case no:
		return fail(l.Tools.Source, noSuch(l.word("needed")), raw(l.word("needed")))
	case open:
		return worst(unknown(l.Tools.Source, notAsked([]string{l.word("needed")})), shells)
	}
	return shells
}

func osSelinux(l *look) verdict {
	if v, stop := blank(l.Selinux); stop {
		return v
	}
	if l.Selinux.Absent() {
		return pass(l.Selinux.Source, report.T("no SELinux", "没有 SELinux"))
	}
	return ifElse(l.Selinux.Value != l.word("enforcing"), report.Warn, l.Selinux.Source, raw(l.Selinux.Value), report.T("not %s", "不为 %s", l.word("enforcing")))
}

// osFirewall cannot read every rule set, so an active one is a warning that
// names the ports to look for.
func osFirewall(l *look) verdict {
	if v, stop := blank(l.Firewall); stop {
		return v
	}
	fw := l.Firewall.Value
	if l.Firewall.Absent() || !fw.Active {
		return pass(l.Firewall.Source, report.T("not active", "未启用"))
	}
	base := int(l.number("hccl_base"))
	ports := fmt.Sprintf("%d-%d %d", base, base+int(l.number("hccl_count"))-1, int(l.number("npu_port")))
	for _, p := range l.enginePorts() {
		ports += fmt.Sprintf(" %d", p)
	}
	return warn(l.Firewall.Source, report.T("%s is active", "%s 已启用", fw.Tool), report.T("open: %s", "放行：%s", ports))
}

func osSwap(l *look) verdict {
	if v, stop := blank(l.Swaps); stop {
		return v
	}
	if len(l.Swaps.Value) == 0 {
		return pass(l.Swaps.Source, report.T("no swap", "没有交换空间"))
	}
	if v, stop := blank(l.Swappiness); stop {
		return v
	}
	seen := report.T("swap on, vm.swappiness %d", "已启用交换空间，vm.swappiness 为 %d", l.Swappiness.Value)
	return ifElse(float64(l.Swappiness.Value) <= l.number("swappiness"), report.Warn, l.Swappiness.Source, seen, raw("<=", l.word("swappiness")))
}

// wish judges a word that may be absent.
func wish(l *look, f facts.Fact[string]) verdict {
	if v, stop := blank(f); stop {
		return v
	}
	if f.Absent() {
		return pass(f.Source, absent())
	}
	return ifElse(f.Value == l.word("good"), report.Warn, f.Source, raw(f.Value), raw(l.word("good")))
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
	return ifElse(free == 0, report.Warn, l.ReservedPorts.Source, orNone(l.ReservedPorts.Value), raw(fmt.Sprintf("%d-%d", first, last)))
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
		return pass(l.Env.Source, report.T("no proxy", "未设置代理"))
	}
	around := strings.Split(l.env("no_proxy")+","+l.env("NO_PROXY"), ",")
	var missing []string
	for _, host := range l.list("local") {
		if !slices.ContainsFunc(around, func(e string) bool { return spares(strings.TrimSpace(e), host) }) {
			missing = append(missing, host)
		}
	}
	return ifElse(len(missing) == 0, report.Warn, l.Env.Source,
		report.T("%s set, no_proxy=%s", "已设置 %s，no_proxy=%s", strings.Join(set, " "), l.env("no_proxy")),
		report.T("no_proxy with %s", "no_proxy 含 %s", strings.Join(l.list("local"), " ")))
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
	seen := report.T("%s resolves to %s", "%s 解析为 %s", h.Name, orNone(strings.Join(h.Resolves, " ")))
	switch {
	case h.Resolves == nil:
		return unknown(l.Hostname.Source, report.T("%s, its address was not asked", "%s，未查询其地址", h.Name))
	case len(h.Resolves) == 0:
		return fail(l.Hostname.Source, report.T("%s does not resolve", "%s 无法解析", h.Name), report.T("an address of this host", "本机地址"))
	case l.job.multiNode() && slices.Contains(h.Resolves, l.word("stand_in")):
		return warn(l.Hostname.Source, seen, report.T("an address other hosts can reach", "其他主机可达的地址"))
	}
	return pass(l.Hostname.Source, seen)
}

func osPkgLock(l *look) verdict {
	if v, stop := blank(l.Locks); stop {
		return v
	}
	free := report.T("free", "空闲")
	for _, k := range l.Locks.Value {
		if slices.Contains(l.list("locks"), k.Path) || slices.Contains(l.list("processes"), path.Base(k.Command)) {
			return fail(l.Locks.Source, taken(k.Path, k.Command, k.PID), free)
		}
	}
	return pass(l.Locks.Source, free)
}

func osCoreDump(l *look) verdict {
	if v, stop := blank(l.Limits); stop {
		return v
	}
	core := l.Limits.Value.Core.String()
	if core != l.word("unlimited") {
		return pass(l.Limits.Source, raw("core", core))
	}
	if v, stop := blank(l.CorePattern); stop {
		return v
	}
	pattern := strings.TrimSpace(l.CorePattern.Value)
	return ifElse(strings.ContainsAny(pattern, "|/"), report.Warn, l.CorePattern.Source,
		report.T("core %s, kernel.core_pattern %s", "core 为 %s，kernel.core_pattern 为 %s", core, orNone(pattern)),
		report.T("a limit, a program or a folder", "设有限额，或写入程序或目录"))
}
