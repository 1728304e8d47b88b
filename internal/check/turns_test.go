package check

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// turn changes one thing on a simulated host. Without the change a check passes
// (or is what from says); with it the check is what to says. ready makes the
// check apply where the host or its target alone do not.
type turn struct {
	id    string
	base  string
	ready func(*world)
	do    func(*world)
	to    report.Status
	from  report.Status // "" = pass
}

// machineTurns are those of the machine and its driver.
var machineTurns = []turn{
	{id: "os.arch", base: a2, do: func(w *world) { w.Facts.Arch = "riscv64"; w.says("uname -m", "riscv64\n") }, to: report.Fail},
	{id: "os.release", base: a2, do: func(w *world) { w.replace("/etc/os-release", `VERSION_ID="22.03"`, `VERSION_ID="19.09"`) }, to: report.Warn},
	{id: "os.release", base: a2, do: func(w *world) { w.file("/etc/os-release", "ID=arch\n") }, to: report.Fail},
	{id: "os.release", base: a2, ready: func(w *world) {
		w.file("/etc/os-release", "ID=centos\nVERSION_ID=7\n")
		w.file("/etc/centos-release", "CentOS Linux release 7.6.1810 (Core)\n")
	}, do: func(w *world) { w.lose("/etc/centos-release") }, to: report.Warn},
	{id: "os.kernel", base: a2, do: func(w *world) { w.Facts.Kernel = "4.19.90"; w.says("uname -r", "4.19.90\n") }, to: report.Warn},
	{id: "os.kernel", base: a2, do: func(w *world) { w.Facts.Kernel = "2.6.32"; w.says("uname -r", "2.6.32\n") }, to: report.Fail},
	{id: "os.glibc", base: a2, do: func(w *world) { w.Facts.Glibc = "2.17"; w.says("getconf GNU_LIBC_VERSION", "glibc 2.17\n") }, to: report.Warn},
	{id: "os.glibc", base: a2, do: func(w *world) { w.Facts.Glibc = "2.12"; w.says("getconf GNU_LIBC_VERSION", "glibc 2.12\n") }, to: report.Fail},
	{id: "os.kernel_headers", base: bare, ready: func(w *world) { w.file("/lib/modules/5.15.0-119-generic/build/Makefile", "#\n") }, do: func(w *world) {
		w.lose("/lib/modules/5.15.0-119-generic/build/Makefile")
	}, to: report.Warn},
	{id: "os.kernel_headers", base: bare, from: report.Warn, do: func(w *world) { w.Facts.Kernel = "5.15.0-120-generic"; w.says("uname -r", "5.15.0-120-generic\n") }, to: report.Fail},
	{id: "os.page_size", base: a2, do: func(w *world) {
		w.Facts.PageSize = 65536
		w.says("getconf PAGESIZE", "65536\n")
		w.setEnv("HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", "TRUE")
	}, to: report.Warn},
	{id: "os.virt", base: a2, do: func(w *world) { w.Facts.Virt = "kvm"; w.says("systemd-detect-virt", "kvm\n") }, to: report.Warn},
	{id: "os.time_sync", base: a2, do: func(w *world) { w.says("timedatectl show -p NTPSynchronized --value", "no\n") }, to: report.Warn},
	{id: "os.time_sync", base: a2, ready: multi, do: func(w *world) { w.says("timedatectl show -p NTPSynchronized --value", "no\n") }, to: report.Fail},
	{id: "os.shell", base: a2, do: func(w *world) { w.setEnv("SHELL", "/bin/zsh") }, to: report.Warn},
	{id: "os.shell", base: a2, do: func(w *world) { w.loseTool("bash") }, to: report.Fail},
	{id: "os.selinux", base: a2, do: func(w *world) { w.file("/sys/fs/selinux/enforce", "1\n") }, to: report.Warn},
	{id: "os.firewall", base: a2, ready: multi, do: func(w *world) { w.says("firewall-cmd --state", "running\n") }, to: report.Warn},
	{id: "os.swap", base: a2, do: func(w *world) {
		w.file("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 8388604 0 -2\n")
		w.file("/proc/sys/vm/swappiness", "60\n")
	}, to: report.Warn},
	{id: "os.mem_total", base: a2, do: func(w *world) { w.s.ModelGiB = 1900 }, to: report.Warn},
	{id: "os.mem_total", base: a2, do: func(w *world) { w.s.ModelGiB = 4000 }, to: report.Fail},
	{id: "os.disk_install", base: bare, do: func(w *world) { w.root(15<<20, 1<<20) }, to: report.Warn},
	{id: "os.disk_install", base: bare, do: func(w *world) { w.root(5<<20, 1<<20) }, to: report.Fail},
	{id: "os.disk_tmp", base: bare, do: func(w *world) { w.root(4<<20, 1<<20) }, to: report.Warn},
	{id: "os.disk_tmp", base: bare, do: func(w *world) { w.root(1<<19, 1<<20) }, to: report.Fail},
	{id: "os.disk_logs", base: a2, do: func(w *world) { w.root(2<<20, 1<<26) }, to: report.Warn},
	{id: "os.disk_logs", base: a2, do: func(w *world) { w.root(1<<19, 1<<26) }, to: report.Fail},
	{id: "os.inodes", base: a2, do: func(w *world) { w.root(1<<30, 8000000) }, to: report.Warn},
	{id: "os.inodes", base: a2, do: func(w *world) { w.root(1<<30, 100) }, to: report.Fail},
	{id: "os.nofile", base: a2, do: func(w *world) { w.Facts.Ulimits.Nofile = "1024" }, to: report.Warn},
	{id: "os.nofile", base: a2, do: func(w *world) { w.Facts.Ulimits.Nofile = "256" }, to: report.Fail},
	{id: "os.memlock", base: a2, do: func(w *world) { w.Facts.Ulimits.MemlockKB = "64" }, to: report.Warn},
	{id: "os.memlock", base: a2, ready: multi, do: func(w *world) { w.Facts.Ulimits.MemlockKB = "64" }, to: report.Fail},
	{id: "os.shm", base: a2, do: func(w *world) { w.shm(65536) }, to: report.Fail},
	{id: "os.shm", base: podr, do: func(w *world) { w.s.Engine = "mindie"; w.shm(2 << 20) }, to: report.Warn},
	{id: "os.thp", base: a2, do: func(w *world) {
		w.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
	}, to: report.Warn},
	{id: "os.hugepages", base: a2, do: func(w *world) {
		w.replace("/proc/meminfo", "HugePages_Total:       0", "HugePages_Total:  600000")
	}, to: report.Warn},
	{id: "os.cpu_governor", base: a2, do: func(w *world) {
		w.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
	}, to: report.Warn},
	{id: "os.numa_balancing", base: a2, do: func(w *world) { w.file("/proc/sys/kernel/numa_balancing", "1\n") }, to: report.Warn},
	{id: "os.cpuset", base: a2, do: func(w *world) { w.replace("/proc/self/status", "0-191", "0-50") }, to: report.Warn},
	{id: "os.cpuset", base: a2, do: func(w *world) { w.replace("/proc/self/status", "0-191", "180-191") }, to: report.Fail},
	{id: "os.reserved_ports", base: a2, do: func(w *world) { w.setEnv("HCCL_IF_BASE_PORT", "50000") }, to: report.Warn},
	{id: "os.proxy", base: a2, do: func(w *world) { w.setEnv("https_proxy", "http://192.0.2.9:3128") }, to: report.Warn},
	{id: "os.hostname", base: a2, do: func(w *world) { w.Facts.Hostname.Resolves = []string{} }, to: report.Fail},
	{id: "os.hostname", base: soc, do: multi, to: report.Warn},
	{id: "os.pkg_lock", base: bare, do: func(w *world) { w.Facts.PkgLock = host.Lines{"/var/lib/dpkg/lock-frontend 811 apt-get"} }, to: report.Fail},
	{id: "os.coredump", base: a2, do: func(w *world) {
		w.Facts.Ulimits.Core = "unlimited"
		w.file("/proc/sys/kernel/core_pattern", "core\n")
	}, to: report.Warn},

	{id: "hw.pci_present", base: a2, do: noNPU, to: report.Fail},
	{id: "hw.soc_board", base: soc, do: func(w *world) {
		w.file("/proc/device-tree/compatible", "vendor,board\n")
	}, to: report.Warn},
	{id: "hw.count", base: a2, do: func(w *world) { w.lose(pci0+"vendor", pci0+"device", pci0+"class") }, to: report.Warn},
	{id: "hw.count", base: a2, do: noNPU, to: report.Fail},
	{id: "hw.link", base: a2, do: func(w *world) { w.file(pci0+"current_link_width", "8\n") }, to: report.Warn},
	{id: "hw.link", base: a2, do: func(w *world) { w.file(pci0+"current_link_width", "1\n") }, to: report.Fail},
	{id: "hw.aer", base: a2, do: func(w *world) {
		w.says("dmesg", "[1.0] pcieport 0000:c0:00.0: AER: Corrected error received: 0000:c1:00.0\n")
	}, to: report.Warn},
	{id: "hw.aer", base: a2, do: func(w *world) {
		w.says("dmesg", "[1.0] pcieport 0000:c0:00.0: AER: Uncorrected (Fatal) error received: 0000:c1:00.0\n")
	}, to: report.Fail},
	{id: "hw.iommu", base: a2, do: func(w *world) { w.file("/sys/class/iommu/dmar0/devices/count", "2\n") }, to: report.Warn},
	{id: "hw.bar", base: duo, do: noWindows, to: report.Fail},
	{id: "hw.card_drop", base: a2, do: func(w *world) { w.lose("/dev/davinci7") }, to: report.Fail},
	{id: "hw.card_drop", base: a2, do: func(w *world) { w.exits("npu-smi info", 187) }, to: report.Warn},
	{id: "hw.secure_boot", base: bare, do: func(w *world) {
		w.Facts.ToolsPresent = append(w.Facts.ToolsPresent, "mokutil")
		w.says("mokutil --sb-state", "SecureBoot enabled\n")
	}, to: report.Warn},

	{id: "hw.secure_boot", base: bare, do: func(w *world) {
		w.Facts.ToolsPresent = append(w.Facts.ToolsPresent, "mokutil")
		w.says("mokutil --sb-state", "SecureBoot enabled\n")
		w.says("dmesg", "[1.0] Loading of module drv_pcie_host: Key was rejected by service\n")
	}, to: report.Fail},
	{id: "driver.installed", base: a2, do: func(w *world) { w.lose(drvInfo) }, to: report.Fail},
	{id: "driver.install_complete", base: a2, do: func(w *world) { w.replace(instInfo, "Status=complete", "Status=running") }, to: report.Fail},
	{id: "driver.install_complete", base: a2, do: func(w *world) { w.replace(instInfo, "Driver_Install_Status", "Other") }, to: report.Warn},
	{id: "driver.modules", base: a2, do: func(w *world) { w.file("/proc/modules", "") }, to: report.Fail},
	{id: "driver.modules", base: a2, do: func(w *world) { w.replace("/proc/modules", "drv_pcie_host", "pcie_host") }, to: report.Warn},
	{id: "driver.kernel_match", base: a2, do: otherKernel, to: report.Warn},
	{id: "driver.kernel_match", base: a2, do: func(w *world) { otherKernel(w); w.file("/proc/modules", "") }, to: report.Fail},
	{id: "driver.reboot_pending", base: a2, do: func(w *world) { w.replace(drvInfo, "Version=24.1.rc3", "Version=25.0.rc1") }, to: report.Fail},
	{id: "driver.reboot_pending", base: a2, do: func(w *world) {
		w.Stat = map[string]host.FileStat{drvInfo: {MTime: later(w.Facts.BootTime)}}
	}, to: report.Warn},
	{id: "driver.npu_smi", base: a2, do: func(w *world) { w.Commands["npu-smi info"] = host.Output{Stdout: noTable, Exit: 187} }, to: report.Fail},
	{id: "driver.npu_smi", base: a2, do: func(w *world) {
		w.Commands["npu-smi info"] = host.Output{Stdout: w.Commands["npu-smi info"].Stdout, WallMS: 20000}
	}, to: report.Fail},
	{id: "driver.npu_smi", base: a2, do: func(w *world) {
		w.Commands["npu-smi info"] = host.Output{Stdout: w.Commands["npu-smi info"].Stdout, WallMS: 6000}
	}, to: report.Warn},
	{id: "driver.libs", base: a2, do: func(w *world) { w.lose("/etc/ld.so.conf.d/ascend_driver_so.conf") }, to: report.Warn},
	{id: "driver.libs", base: a2, do: func(w *world) { w.lose(hal) }, to: report.Fail},
	{id: "driver.firmware_compat", base: a2, do: func(w *world) {
		c := w.Commands["npu-smi info -t board -i 0"]
		c.Stdout = swap(c.Stdout, ": OK", ": NOK")
		w.Commands["npu-smi info -t board -i 0"] = c
	}, to: report.Fail},
	{id: "driver.firmware_compat", base: a2, do: func(w *world) {
		c := w.Commands["npu-smi info -t board -i 0"]
		c.Stdout = swap(c.Stdout, ": OK", ": NOT SUPPORT")
		w.Commands["npu-smi info -t board -i 0"] = c
		w.replace(drvInfo, "compatible_version_fw", "other")
		w.replace(fwInfo, "compatible_version_drv", "other")
	}, to: report.Warn},
	{id: "driver.firmware_installed", base: a2, do: func(w *world) { w.lose(fwInfo) }, to: report.Warn},
	{id: "driver.tool_match", base: a2, do: func(w *world) { w.table("npu-smi 24.1.rc3", "npu-smi 23.0.rc2") }, to: report.Warn},
	{id: "driver.not_open_build", base: a2, do: func(w *world) { w.replace(drvInfo, "Version=24.1.rc3", "Version=9.1.0") }, to: report.Warn},
	{id: "driver.cann_compat", base: a2, do: func(w *world) {
		w.branch("V100R001C99SPC001B124", "V100R001C98")
		w.replace(drvInfo, "Version=24.1.rc3", "Version=25.2.0")
	}, to: report.Warn},
	{id: "driver.cann_compat", base: a2, do: func(w *world) {
		w.branch("V100R001C99SPC001B124", "V100R001C98")
		w.replace(drvInfo, "Version=24.1.rc3", "Version=22.0.0")
	}, to: report.Fail},
	{id: "driver.min_version", base: a2u, do: func(w *world) { w.driver("25.0.RC0") }, to: report.Warn},
	{id: "driver.min_version", base: a2u, do: func(w *world) { w.driver("24.1.0") }, to: report.Fail},
	{id: "driver.service", base: a2, do: noService, to: report.Warn},
	{id: "driver.service", base: a2, do: func(w *world) { noService(w); w.file("/proc/modules", "") }, to: report.Fail},
	{id: "driver.required_tools", base: bare, ready: func(w *world) {
		w.Facts.ToolsAbsent = nil
		w.Facts.ToolsPresent = append(w.Facts.ToolsPresent, "ifconfig", "modprobe", "chkconfig")
	}, do: func(w *world) { w.loseTool("udevadm") }, to: report.Fail},

	{id: "dev.manager", base: a2, do: func(w *world) { w.lose("/dev/hisi_hdc") }, to: report.Fail},
	{id: "dev.nodes", base: a2, do: func(w *world) { w.lose("/dev/davinci7") }, to: report.Warn},
	{id: "dev.nodes", base: a2, do: noNodes, to: report.Fail},
	{id: "dev.perms", base: a2u, do: func(w *world) { w.Facts.Identity.Groups = nil; w.Facts.Identity.GID = 4242 }, to: report.Fail},
	{id: "dev.perms", base: a2, do: func(w *world) { w.s.User = "nobody-here" }, to: report.Warn},
	{id: "dev.user", base: a2, do: func(w *world) { w.file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n") }, to: report.Warn},
	{id: "dev.user", base: bare, ready: func(w *world) {
		w.Files["/etc/passwd"] += "HwHiAiUser:x:1001:1001::/home/HwHiAiUser:/bin/bash\n"
	}, do: func(w *world) { w.file("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n") }, to: report.Fail},
	{id: "dev.uid1000", base: a2, do: func(w *world) { w.replace("/etc/passwd", "HwHiAiUser:x:1000", "ubuntu:x:1000") }, to: report.Warn},
	{id: "dev.group_effective", base: a2u, do: func(w *world) { w.Facts.Identity.Groups = nil; w.Facts.Identity.GID = 4242 }, to: report.Warn},
	{id: "dev.group_effective", base: a2u, do: func(w *world) {
		w.Facts.Identity.Groups = nil
		w.Facts.Identity.GID = 4242
		w.Facts.Identity.User = "stranger"
	}, to: report.Fail},
	{id: "dev.exclusive", base: a2, do: func(w *world) {
		w.Commands["npu-smi info"] = host.Output{Stdout: "dcmi model initialized failed, because the device is used. ret is -8020\n", Exit: 172}
	}, to: report.Fail},
	{id: "dev.vnpu", base: a2, do: func(w *world) { w.Nodes["/dev/vdavinci100"] = w.Nodes["/dev/davinci0"] }, to: report.Warn},
}

// TestSmallChangesTurnChecks: one change of a host turns a check, and without
// it the check is as before.
func TestSmallChangesTurnChecks(t *testing.T) {
	c := catalogue(t)
	turned := map[string]bool{}
	for _, turn := range append(machineTurns, stackTurns...) {
		turned[turn.id+" "+string(turn.to)] = true
		t.Run(turn.id+" "+string(turn.to), func(t *testing.T) {
			from := turn.from
			if from == "" {
				from = report.Pass
			}
			if f := turnedTo(t, c, turn.base, turn.id, turn.ready); f.Status != from {
				t.Errorf("before the change: want %s, got %s: %+v", from, f.Status, f.Evidence)
			}
			f := turnedTo(t, c, turn.base, turn.id, turn.ready, turn.do)
			if f.Status != turn.to {
				t.Errorf("after the change: want %s, got %s: %+v", turn.to, f.Status, f.Evidence)
			}
			if len(f.Evidence) == 0 || f.Evidence[0].Seen.IsZero() || f.Evidence[0].Source == "" || f.Fix.IsZero() {
				t.Errorf("says too little: %+v", f)
			}
		})
	}
	for _, turn := range fleetTurns {
		turned[turn.id+" "+string(turn.to)] = true
	}
	for _, s := range c.specs {
		for _, status := range []string{"warn", "fail"} {
			if _, says := s.Rule[status]; says && !turned[s.ID+" "+status] {
				t.Errorf("no change turns %s to %s, which its rule promises", s.ID, status)
			}
		}
		if own := s.ID == "os.locale" || s.ID == "env.set_u"; own != (len(s.Rule) == 1) {
			t.Errorf("%s: only what ascendctl does itself can never fail", s.ID)
		}
	}
}

// turnedTo judges one check on a host after changes.
func turnedTo(t *testing.T, c *Catalogue, base, id string, change ...func(*world)) report.Finding {
	t.Helper()
	d := describe(t, filepath.Join("../../testdata/cases/hosts", base+".yaml"))
	w := &world{d, sceneOf(d.Target), nil}
	for _, do := range change {
		if do != nil {
			do(w)
		}
	}
	f := see(t, c, d, w.s)
	if w.seen != nil {
		w.seen(f)
	}
	findings := Host(c, f, w.s)
	i := slices.IndexFunc(findings, func(f report.Finding) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("there is no check %s", id)
	}
	return findings[i]
}
