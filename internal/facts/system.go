package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
)

// clock is asked first, so that what passes between our reading and the host's
// is one round trip and not the whole look.
func (l *look) clock() []query {
	if l.Now == nil {
		return nil
	}
	started := l.Now()
	return []query{into(&l.ClockOffset, typed(host.Clock), func(s string) (float64, error) {
		t, err := unix(pairs(s, "=")["unix"])
		return t.Sub(started).Seconds(), err
	})}
}

func (l *look) system() []query {
	cpu := run("lscpu")
	return []query{
		into(&l.Arch, run("uname", "-m"), token),
		into(&l.Kernel, run("uname", "-r"), token),
		into(&l.PageSize, run("getconf", "PAGESIZE"), wholeNumber),
		into(&l.Glibc, run("getconf", "GNU_LIBC_VERSION"), glibc),
		into(&l.OS, file("/etc/os-release"), osRelease),
		{file("/etc/centos-release"), func(a host.Answer) {
			if a.State == host.Known && l.OS.Known() {
				l.OS.Value.Minor, _ = firstVersion(clean(a.Stdout))
			}
		}},
		{cpu, func(a host.Answer) {
			l.CPU, l.NUMA = fact(a, cpu, lscpu), fact(a, cpu, numa)
		}},
		into(&l.Memory, file("/proc/meminfo"), meminfo),
		into(&l.Swaps, file("/proc/swaps"), swaps),
		into(&l.Swappiness, file("/proc/sys/vm/swappiness"), wholeNumber),
		into(&l.THP, file("/sys/kernel/mm/transparent_hugepage/enabled"), chosen),
		into(&l.Governor, file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), token),
		into(&l.NUMABalancing, file("/proc/sys/kernel/numa_balancing"), token),
		into(&l.CPUsAllowed, file("/proc/self/status"), cpusAllowed),
		into(&l.ReservedPorts, file("/proc/sys/net/ipv4/ip_local_reserved_ports"), maybeEmpty),
		into(&l.CorePattern, file("/proc/sys/kernel/core_pattern"), maybeEmpty),
		into(&l.Cmdline, file("/proc/cmdline"), func(s string) ([]string, error) { return strings.Fields(s), nil }),
		into(&l.Selinux, file("/sys/fs/selinux/enforce"), token),
		into(&l.TimeSync, run("timedatectl", "show", "-p", "NTPSynchronized", "--value"), yesNo),
		into(&l.Shells, typed(host.Shells), func(s string) (Shells, error) {
			m, err := typedPairs(s, "sh")
			return Shells{m["sh"], m["login"]}, err
		}),
		into(&l.Hostname, typed(host.Hostname), hostname),
		into(&l.Boot, typed(host.Boot), func(s string) (time.Time, error) { return unix(pairs(s, "=")["boot"]) }),
		into(&l.Locks, typed(host.Locks), locks),
		into(&l.SecureBoot, run("mokutil", "--sb-state"), secureBoot),
		l.ifNoEFI(),
		into(&l.IOMMU, glob("/sys/class/iommu/*"), list),
	}
}

// systemMore asks what lies under the name of the running kernel, and once more
// in another way what the first one did not tell.
func (l *look) systemMore() (qs []query) {
	if !l.Glibc.Known() {
		qs = append(qs, orInto(&l.Glibc, run("ldd", "--version"), glibc))
	}
	if !l.TimeSync.Known() {
		qs = append(qs, orInto(&l.TimeSync, run("chronyc", "-n", "tracking"), chrony))
	}
	if !l.Kernel.Known() {
		l.KernelBuild = Fact[string]{State: host.Unknown, Source: l.Kernel.Source, Note: "the running kernel is not known"}
		return qs
	}
	return append(qs, into(&l.KernelBuild, glob("/lib/modules/"+l.Kernel.Value+"/build"), word))
}

// ifNoEFI: without EFI there is no secure boot, whatever mokutil says.
func (l *look) ifNoEFI() query {
	q := stat("/sys/firmware/efi")
	return query{q, func(a host.Answer) {
		none := a.State == host.Absent || a.State == host.Known && strings.TrimSpace(string(a.Stdout)) == ""
		if none && !l.SecureBoot.Known() {
			l.SecureBoot = Fact[string]{Value: "no EFI", State: host.Known, Source: source(q)}
		}
	}}
}

func (l *look) limits() []query { return []query{into(&l.Limits, typed(host.Limits), limits)} }

func limits(s string) (Limits, error) {
	m, err := typedPairs(s, "nofile")
	if err != nil {
		return Limits{}, err
	}
	out := Limits{notTold, notTold, notTold}
	for key, to := range map[string]*Limit{"nofile": &out.NoFile, "memlock_kb": &out.MemlockKB, "core": &out.Core} {
		v, ok := parseLimit(m[key])
		switch {
		case ok:
			*to = v
		case m[key] != "":
			return Limits{}, odd("a number or unlimited for "+key, m[key])
		}
	}
	return out, nil
}

// usual are the places whose file systems checks look at; /cache is the scratch
// disk of cloud notebooks (seen).
var usual = []string{"/", "/tmp", "/home", vendorRoot, driverRoot, "/var/log", "/dev/shm", "/cache"}

func (l *look) disks() []query {
	l.Facts.Disks = map[string]Fact[Disk]{}
	var qs []query
	for _, p := range append(slices.Clone(usual), l.Options.Disks...) {
		qs = append(qs, l.disk(p))
	}
	return append(qs, query{file("/proc/mounts"), func(a host.Answer) {
		if a.State == host.Known {
			l.mounts = localMounts(clean(a.Stdout))
		}
	}})
}

func (l *look) disk(p string) query {
	var f Fact[Disk]
	q := into(&f, typed(host.Disk, p), disk)
	take := q.take
	q.take = func(a host.Answer) { take(a); l.Facts.Disks[p] = f }
	return q
}

// moreDisks asks for the homes and for every local file system.
func (l *look) moreDisks() []query {
	places := append([]string{l.Identity.Value.Home, l.Facts.Env.Value["HOME"], l.Facts.Env.Value["TMPDIR"]}, l.mounts...)
	var qs []query
	for _, p := range places {
		if _, asked := l.Facts.Disks[p]; !asked && strings.HasPrefix(p, "/") {
			l.Facts.Disks[p] = Fact[Disk]{}
			qs = append(qs, l.disk(p))
		}
	}
	return qs
}

// localMounts are mount points of disks. Network file systems are left alone: a
// dead server would hang the look.
func localMounts(s string) (out []string) {
	const most = 32
	for _, line := range lines(s) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[0], "/dev/") || len(out) == most {
			continue
		}
		if skip := slices.ContainsFunc([]string{"/etc/", "/boot", "/snap", "/run", "/var/lib/", "/proc", "/sys", "/dev"}, func(p string) bool {
			return strings.HasPrefix(f[1], p)
		}); !skip && !slices.Contains(out, f[1]) && !strings.Contains(f[1], `\`) {
			out = append(out, f[1])
		}
	}
	return out
}

func disk(s string) (Disk, error) {
	m, err := typedPairs(s, "total_kb")
	if err != nil {
		return Disk{}, err
	}
	total, err := strconv.ParseInt(m["total_kb"], 10, 64)
	if err != nil || m["avail_kb"] == "" {
		return Disk{}, odd("a file system", s)
	}
	d := Disk{Mount: m["mount"], TotalKB: total, UsedKB: atol(m["used_kb"]), AvailKB: atol(m["avail_kb"]),
		Inodes: atol(m["inodes"]), IFree: atol(m["ifree"]), FSType: m["fstype"]}
	if m["options"] != "" {
		d.Options = strings.Split(m["options"], ",")
	}
	d.ReadOnly, d.NoExec = slices.Contains(d.Options, "ro"), slices.Contains(d.Options, "noexec")
	return d, nil
}

func glibc(s string) (string, error) {
	if strings.Contains(s, "musl") {
		return "", fmt.Errorf("musl, not glibc")
	}
	return firstVersion(s)
}

// osRelease reads the shell assignments of os-release(5).
func osRelease(s string) (OS, error) {
	m := pairs(s, "=")
	for k, v := range m {
		m[k] = strings.Trim(v, `"'`)
	}
	if m["ID"] == "" {
		return OS{}, odd("ID= of os-release", s)
	}
	return OS{ID: strings.ToLower(m["ID"]), Version: m["VERSION_ID"], Name: m["PRETTY_NAME"],
		Like: strings.Fields(strings.ToLower(m["ID_LIKE"]))}, nil
}

func lscpu(s string) (CPU, error) {
	m := pairs(s, ":")
	c := CPU{Model: m["Model name"], Count: atoi(m["CPU(s)"], 0), Sockets: atoi(m["Socket(s)"], 0),
		Online: m["On-line CPU(s) list"], Hypervisor: strings.ToLower(m["Hypervisor vendor"])}
	if c.Count == 0 {
		return CPU{}, odd("CPU(s) of lscpu", s)
	}
	return c, nil
}

func numa(s string) (out []NUMANode, err error) {
	for _, line := range lines(s) {
		k, v, _ := strings.Cut(line, ":")
		node, ok := strings.CutSuffix(strings.TrimPrefix(k, "NUMA node"), " CPU(s)")
		if n, err := strconv.Atoi(node); ok && err == nil {
			out = append(out, NUMANode{n, strings.TrimSpace(v)})
		}
	}
	return out, nil
}

func meminfo(s string) (Memory, error) {
	kb := func(key string) int64 {
		return atol(strings.TrimSuffix(pairs(s, ":")[key], " kB"))
	}
	m := Memory{kb("MemTotal"), kb("MemAvailable"), kb("HugePages_Total"), kb("Hugepagesize")}
	if m.TotalKB == 0 {
		return m, odd("MemTotal", s)
	}
	return m, nil
}

func swaps(s string) (out []Swap, err error) {
	all := lines(s)
	if len(all) == 0 || !strings.HasPrefix(all[0], "Filename") {
		return nil, odd("/proc/swaps", s)
	}
	for _, line := range all[1:] {
		if f := strings.Fields(line); len(f) >= 3 {
			out = append(out, Swap{f[0], atol(f[2])})
		}
	}
	return out, nil
}

// chosen is the word in brackets: "[always] madvise never".
func chosen(s string) (string, error) {
	if b := bracketed(s); len(b) == 1 && len(b[0]) == 1 && b[0][0] != "" {
		return b[0][0], nil
	}
	return "", odd("one word in brackets", s)
}

func cpusAllowed(s string) (string, error) {
	return token(pairs(s, ":")["Cpus_allowed_list"])
}

func maybeEmpty(s string) (string, error) { return strings.TrimSpace(s), nil }

func yesNo(s string) (bool, error) {
	switch strings.TrimSpace(s) {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, odd("yes or no", s)
}

func chrony(s string) (bool, error) {
	switch leap := pairs(s, ":")["Leap status"]; {
	case leap == "":
		return false, odd("Leap status", s)
	default:
		return leap != "Not synchronised", nil
	}
}

func hostname(s string) (Hostname, error) {
	m, err := typedPairs(s, "name")
	h := Hostname{Name: m["name"]}
	addresses, asked := m["resolves"]
	if asked {
		h.Resolves = []string{}
	}
	for a := range strings.SplitSeq(addresses, ",") {
		if a = strings.TrimSpace(a); a != "" {
			h.Resolves = append(h.Resolves, a)
		}
	}
	return h, err
}

func locks(s string) (out []Lock, err error) {
	for _, line := range lines(s) {
		f := strings.Fields(line)
		if len(f) < 2 {
			return nil, odd("path pid command", line)
		}
		out = append(out, Lock{f[0], atoi(f[1], 0), strings.Join(f[2:], " ")})
	}
	return out, nil
}

func secureBoot(s string) (string, error) {
	switch s = strings.ToLower(s); {
	case strings.Contains(s, "secureboot enabled"):
		return "enabled", nil
	case strings.Contains(s, "secureboot disabled"):
		return "disabled", nil
	}
	return "", odd("SecureBoot enabled or disabled", s)
}
