package check

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// turns change one thing on a simulated host. Without the change a check
// passes (or is what from says); with it the check is what to says. ready
// makes the check apply where the host or its target alone do not.
var turns = []struct {
	id    string
	base  string
	ready func(*world)
	do    func(*world)
	to    report.Status
	from  report.Status // "" = pass
}{
	{id: "os.arch", base: a2, do: func(w *world) { w.Facts.Arch = "riscv64"; w.says("uname -m", "riscv64\n") }, to: report.Fail},
	{id: "os.release", base: a2, do: func(w *world) { w.replace("/etc/os-release", `VERSION_ID="22.03"`, `VERSION_ID="19.09"`) }, to: report.Warn},
	{id: "os.release", base: a2, do: func(w *world) { w.file("/etc/os-release", "ID=arch\n") }, to: report.Fail},
	{id: "os.kernel", base: a2, do: func(w *world) { w.Facts.Kernel = "4.19.90"; w.says("uname -r", "4.19.90\n") }, to: report.Warn},
	{id: "os.kernel", base: a2, do: func(w *world) { w.Facts.Kernel = "2.6.32"; w.says("uname -r", "2.6.32\n") }, to: report.Fail},
	{id: "os.glibc", base: a2, do: func(w *world) { w.Facts.Glibc = "2.17"; w.says("getconf GNU_LIBC_VERSION", "glibc 2.17\n") }, to: report.Warn},
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
	{id: "os.hostname", base: a2, do: func(w *world) { w.Facts.Hostname.Resolves = nil }, to: report.Fail},
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
	{id: "driver.libs", base: a2, do: func(w *world) { w.lose("/etc/ld.so.conf.d/ascend_driver_so.conf") }, to: report.Warn},
	{id: "driver.libs", base: a2, do: func(w *world) { w.lose(hal) }, to: report.Fail},
	{id: "driver.firmware_compat", base: a2, do: func(w *world) {
		c := w.Commands["npu-smi info -t board -i 0"]
		c.Stdout = swap(c.Stdout, ": OK", ": NOK")
		w.Commands["npu-smi info -t board -i 0"] = c
	}, to: report.Fail},
	{id: "driver.firmware_installed", base: a2, do: func(w *world) { w.lose(fwInfo) }, to: report.Warn},
	{id: "driver.tool_match", base: a2, do: func(w *world) { w.table("npu-smi 24.1.rc3", "npu-smi 23.0.rc2") }, to: report.Warn},
	{id: "driver.not_open_build", base: a2, do: func(w *world) { w.replace(drvInfo, "Version=24.1.rc3", "Version=9.1.0") }, to: report.Warn},
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

	{id: "npu.health", base: a2, do: func(w *world) { w.table(row0, "| 0     910B3               | Warning       |") }, to: report.Warn},
	{id: "npu.health", base: a2, do: func(w *world) { w.table(row0, "| 0     910B3               | Critical      |") }, to: report.Fail},
	{id: "npu.fault", base: a2, do: func(w *world) { w.alarm("80C98000") }, to: report.Warn},
	{id: "npu.fault", base: a2, do: func(w *world) { w.alarm("40F84E00") }, to: report.Fail},
	{id: "npu.ecc", base: soc, do: func(w *world) {
		w.ecc("DDR Single Bit Error Count               : 0", "DDR Single Bit Error Count               : 3")
	}, to: report.Warn},
	{id: "npu.ecc", base: soc, do: func(w *world) {
		w.ecc("DDR Double Bit Isolated Pages Count      : 0", "DDR Double Bit Isolated Pages Count      : 80")
	}, to: report.Fail},
	{id: "npu.temp", base: a2, do: func(w *world) { w.table("90.1        36 ", "90.1        80 ") }, to: report.Warn},
	{id: "npu.temp", base: a2, do: func(w *world) { w.table("90.1        36 ", "90.1        99 ") }, to: report.Fail},
	{id: "npu.hbm_capacity", base: a2, do: func(w *world) { w.table("3372 / 65536", "3372 / 49152") }, to: report.Fail},
	{id: "npu.hbm_free", base: a2, ready: func(w *world) { w.s.JobGiB = 20 }, do: func(w *world) { w.s.JobGiB = 58 }, to: report.Warn},
	{id: "npu.hbm_free", base: a2, ready: func(w *world) { w.s.JobGiB = 20 }, do: func(w *world) { w.s.JobGiB = 64 }, to: report.Fail},
	{id: "npu.busy", base: a2, do: func(w *world) { w.table("3372 / 65536", "43372/ 65536") }, to: report.Fail},
	{id: "npu.busy", base: a2, do: func(w *world) {
		w.table("| No running processes found in NPU 0                                                            |",
			"| 0       0                 | 411203        | python3                  | 612                     |")
	}, to: report.Warn},
	{id: "npu.freq", base: a2, ready: func(w *world) { deep(w); w.common("800", 0) }, do: func(w *world) { w.common("800", 90) }, to: report.Fail},
	{id: "npu.latency", base: a2, do: func(w *world) {
		w.Commands["npu-smi info"] = host.Output{Stdout: w.Commands["npu-smi info"].Stdout, WallMS: 9000}
	}, to: report.Warn},
	{id: "npu.latency", base: a2, do: func(w *world) {
		w.Commands["npu-smi info"] = host.Output{Stdout: w.Commands["npu-smi info"].Stdout, WallMS: 20000}
	}, to: report.Fail},
	{id: "npu.mixed", base: a2, do: func(w *world) { w.table("910B3 ", "910B4 ") }, to: report.Warn},
	{id: "npu.topo", base: a2, do: func(w *world) {
		w.says("npu-smi info -t topo", "\t   NPU0       NPU1\nNPU0       X          HCCS\nNPU1       HCCS       X\n")
	}, to: report.Warn},
	{id: "npu.ids", base: a2, do: func(w *world) {
		c := w.Commands["npu-smi info -m"]
		c.Stdout = swap(c.Stdout, "\t0                              0                              0  ", "\t9                              0                              0  ")
		w.Commands["npu-smi info -m"] = c
	}, to: report.Warn},

	{id: "cann.installed", base: a2, do: func(w *world) { w.loseTree("/usr/local/Ascend/ascend-toolkit") }, to: report.Fail},
	{id: "cann.arch", base: a2, do: func(w *world) {
		w.replace(toolkit+"/aarch64-linux/ascend_toolkit_install.info", "arch=aarch64", "arch=x86_64")
	}, to: report.Fail},
	{id: "cann.ops", base: a2, do: func(w *world) {
		w.file(toolkit+"/opp/built-in/op_impl/ai_core/tbe/kernel/config/ascend310p/abs.json", "{}\n")
	}, to: report.Warn},
	{id: "cann.ops", base: a2, do: func(w *world) {
		w.lose(toolkit + "/opp/built-in/op_impl/ai_core/tbe/kernel/config/ascend910b/abs.json")
	}, to: report.Fail},
	{id: "cann.ops_version", base: a2, do: func(w *world) {
		w.replace("/usr/local/Ascend/ascend-toolkit/latest/version.cfg", "opp_kernel_running_version=[7.7.0.1.238:8.1.RC1]", "opp_kernel_running_version=[7.6.0.1.220:8.0.0]")
	}, to: report.Fail},
	{id: "cann.nnal", base: a2, do: func(w *world) { w.lose("/usr/local/Ascend/nnal/atb/set_env.sh") }, to: report.Fail},
	{id: "cann.nnal", base: a2, do: func(w *world) {
		w.replace("/usr/local/Ascend/nnal/atb/8.1.RC1/version.info", "Ascend-cann-atb : 8.1.RC1", "Ascend-cann-atb : 8.0.0")
	}, to: report.Warn},
	{id: "cann.abi", base: a2, do: func(w *world) { one := 1; w.Facts.TorchABI = &one }, to: report.Fail},
	{id: "cann.multi", base: a2, do: secondTree, to: report.Warn},
	{id: "cann.links", base: a2, do: func(w *world) { w.Links["/usr/local/Ascend/ascend-toolkit/latest/atc"] = "../8.0.RC2/atc" }, to: report.Warn},
	{id: "cann.perms", base: a2u, do: func(w *world) { w.rootOnly() }, to: report.Fail},
	{id: "cann.driver_needs", base: a2, do: func(w *world) { w.replace(drvInfo, "ascendhal_version=7.35.23", "ascendhal_version=3.9.0") }, to: report.Fail},
	{id: "cann.stub", base: a2, do: func(w *world) {
		w.setEnv("LD_LIBRARY_PATH", toolkit+"/devlib:"+w.Env["LD_LIBRARY_PATH"])
	}, to: report.Warn},
	{id: "cann.python_dirs", base: a2, do: func(w *world) { w.setEnv("PYTHONPATH", "") }, to: report.Fail},
	{id: "cann.python_dirs", base: a2, do: func(w *world) { w.setEnv("PYTHONPATH", ""); w.Facts.PythonPackages["te"] = "0.4.0" }, to: report.Warn},

	{id: "env.sourced", base: a2, do: func(w *world) { delete(w.Env, "ASCEND_OPP_PATH") }, to: report.Fail},
	{id: "env.mixed", base: a2, do: func(w *world) {
		w.setEnv("LD_LIBRARY_PATH", "/usr/local/Ascend/ascend-toolkit/7.0.0/lib64:"+w.Env["LD_LIBRARY_PATH"])
	}, to: report.Fail},
	{id: "env.mixed", base: a2, do: func(w *world) {
		w.setEnv("LD_LIBRARY_PATH", "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1/lib:"+w.Env["LD_LIBRARY_PATH"])
	}, to: report.Warn},
	{id: "env.empty_element", base: a2, do: func(w *world) { w.Env["LD_LIBRARY_PATH"] += ":" }, to: report.Warn},
	{id: "env.dups", base: a2, do: func(w *world) { w.Env["PATH"] += ":/bin:/bin" }, to: report.Warn},
	{id: "env.conda", base: a2, do: func(w *world) {
		w.file("/opt/conda/lib/libstdc++.so.6", "<elf>\n")
		w.setEnv("LD_LIBRARY_PATH", "/opt/conda/lib:"+w.Env["LD_LIBRARY_PATH"])
	}, to: report.Warn},
	{id: "env.visible", base: a2, do: func(w *world) { w.setEnv("ASCEND_RT_VISIBLE_DEVICES", "0,1,8") }, to: report.Warn},
	{id: "env.visible", base: a2, do: func(w *world) { w.setEnv("ASCEND_RT_VISIBLE_DEVICES", "1,0") }, to: report.Fail},
	{id: "env.fictional", base: a2, do: func(w *world) { w.setEnv("VLLM_USE_CANN", "1") }, to: report.Warn},
	{id: "env.deprecated", base: a2, do: func(w *world) { w.setEnv("TBE_IMPL_PATH", "/x") }, to: report.Warn},
	{id: "env.deprecated", base: a2, do: func(w *world) {
		w.setEnv("USE_OPTIMIZED_MODEL", "1")
		w.Facts.PythonPackages["vllm-ascend"] = "0.23.0"
	}, to: report.Warn},
	{id: "env.legacy", base: a2, do: func(w *world) { w.setEnv("ASCEND_HOME", "/usr/local/Ascend") }, to: report.Warn},
	{id: "env.debug_left", base: a2, do: func(w *world) { w.setEnv("ASCEND_LAUNCH_BLOCKING", "1") }, to: report.Warn},

	{id: "py.deps", base: a2, do: func(w *world) { delete(w.Facts.PythonPackages, "absl-py") }, to: report.Fail},
	{id: "py.deps", base: a2, do: func(w *world) { w.Facts.PythonPackages["scipy"] = "1.2.0" }, to: report.Warn},
	{id: "py.numpy2", base: a2, do: func(w *world) { w.Facts.PythonPackages["numpy"] = "2.1.0" }, to: report.Fail},
	{id: "py.numpy2", base: a3, do: func(w *world) { w.Facts.PythonPackages["numpy"] = "2.1.0" }, to: report.Warn},
	{id: "py.sqlite", base: a2, do: func(w *world) { w.Facts.PythonStdlib["sqlite3"] = false }, to: report.Fail},
	{id: "py.autoload", base: a2, ready: func(w *world) { deep(w); w.exits("python3 -c 'import torch'", 0) }, do: func(w *world) {
		w.Commands["python3 -c 'import torch'"] = host.Output{Stderr: "ImportError: torch_npu cannot be loaded\n", Exit: 1}
	}, to: report.Fail},

	{id: "tool.gcc", base: a2, do: func(w *world) { w.says("g++ --version", "g++ (GCC) 14.2.0\n") }, to: report.Warn},
	{id: "tool.gcc", base: a2, do: func(w *world) { w.s.Installs = []string{"operators"}; w.lose("g++ --version"); w.loseTool("g++") }, to: report.Fail},
	{id: "tool.cmake", base: a2, do: func(w *world) { w.says("cmake --version", "cmake version 3.4.0\n") }, to: report.Warn},
	{id: "tool.basic", base: a2, do: func(w *world) { w.loseTool("lspci") }, to: report.Warn},
	{id: "tool.basic", base: a2, do: func(w *world) { w.loseTool("timeout") }, to: report.Fail},

	{id: "net.npu_link", base: a2, do: func(w *world) { w.says("hccn_tool -i 3 -link -g", "link status: DOWN\n") }, to: report.Warn},
	{id: "net.npu_link", base: a2, ready: multi, do: func(w *world) { w.says("hccn_tool -i 3 -link -g", "link status: DOWN\n") }, to: report.Fail},
	{id: "net.npu_ip", base: a2, ready: multi, do: func(w *world) { w.says("hccn_tool -i 3 -ip -g", "ipaddr:192.0.2.10\nnetmask:255.255.255.0\n") }, to: report.Fail},
	{id: "net.npu_ip", base: a2, do: func(w *world) { w.says("hccn_tool -i 3 -ip -g", "ipaddr:192.0.2.10\nnetmask:255.255.255.0\n") }, to: report.Warn},
	{id: "net.npu_tls", base: a2, do: func(w *world) { w.says("hccn_tool -i 3 -tls -g", "dev_id:3, tls switch[1](0:disable, 1:enable)\n") }, to: report.Warn},
	{id: "net.npu_tls", base: a2, ready: multi, do: func(w *world) { w.says("hccn_tool -i 3 -tls -g", "dev_id:3, tls switch[1](0:disable, 1:enable)\n") }, to: report.Fail},
	{id: "net.npu_health", base: a2, ready: func(w *world) { multi(w); w.every("-net_health", "net health status: Success\n") }, do: func(w *world) {
		w.says("hccn_tool -i 3 -net_health -g", "net health status: Fault\n")
	}, to: report.Fail},
	{id: "net.lldp", base: a2, ready: func(w *world) { multi(w); w.every("-lldp", "System Name TLV\n\tswitch-1\n") }, do: func(w *world) {
		w.says("hccn_tool -i 3 -lldp -g", "System Name TLV\n\tAscendNPU\n")
	}, to: report.Warn},
	{id: "net.mtu", base: a2, ready: func(w *world) { multi(w); w.every("-mtu", "mtu:4096\n") }, do: func(w *world) {
		w.says("hccn_tool -i 3 -mtu -g", "mtu:8192\n")
	}, to: report.Warn},
	{id: "net.mtu", base: a2, ready: func(w *world) { multi(w); w.every("-mtu", "mtu:4096\n") }, do: func(w *world) {
		w.says("hccn_tool -i 3 -mtu -g", "mtu:1500\n")
	}, to: report.Fail},
	{id: "net.vnic", base: a3, do: func(w *world) { w.says("hccn_tool -i 3 -vnic -g", "vnic link status: DOWN\n") }, to: report.Fail},
	{id: "net.iface", base: a2, ready: func(w *world) {
		multi(w)
		w.says("ip -o addr", "2: eth0    inet 192.0.2.31/24 brd 192.0.2.255 scope global eth0\n")
	},
		do: func(w *world) { w.setEnv("HCCL_SOCKET_IFNAME", "=ib0") }, to: report.Fail},
	{id: "net.iface", base: a2, ready: func(w *world) {
		multi(w)
		w.says("ip -o addr", "2: eth0    inet 192.0.2.31/24 brd 192.0.2.255 scope global eth0\n")
	},
		do: func(w *world) { w.says("ip -o addr", "2: docker0    inet 172.17.0.1/16 scope global docker0\n") }, to: report.Warn},
	{id: "net.ports", base: a2, do: func(w *world) { w.s.Ports = []int{22} }, to: report.Fail},
	{id: "net.ports", base: a2, do: func(w *world) { w.Facts.Listening = append(w.Facts.Listening, host.Listener{Port: 60007}) }, to: report.Fail},
	{id: "net.mirror", base: bare, do: func(w *world) { w.Facts.Reachable["quay.io"] = "false" }, to: report.Warn},
	{id: "net.mirror", base: bare, do: func(w *world) {
		for h := range w.Facts.Reachable {
			w.Facts.Reachable[h] = "false"
		}
	}, to: report.Fail},

	{id: "ctr.runtime", base: a2, ready: recipe, do: func(w *world) {
		w.loseTool("docker")
		w.Facts.ToolsPresent = append(w.Facts.ToolsPresent, "podman")
	}, to: report.Warn},
	{id: "ctr.runtime", base: a2, ready: recipe, do: func(w *world) { w.loseTool("docker") }, to: report.Fail},
	{id: "ctr.ascend_runtime", base: duo, ready: func(w *world) {
		w.file("/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime", "<elf>\n")
	}, do: func(w *world) { w.lose("/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime") }, to: report.Fail},
	{id: "ctr.ascend_runtime", base: a2, do: recipe, from: report.Skip, to: report.Warn},
	{id: "ctr.mounts", base: podr, do: func(w *world) { w.lose("/usr/local/dcmi/libdcmi.so") }, to: report.Warn},
	{id: "ctr.mounts", base: podr, do: func(w *world) { w.loseTree("/usr/local/Ascend/driver/lib64") }, to: report.Fail},
	{id: "ctr.nodes", base: pod, do: func(w *world) { w.lose("/dev/hisi_hdc") }, to: report.Fail},
	{id: "ctr.nodes", base: pod, do: func(w *world) { w.s.Cards = 2 }, to: report.Warn},
	{id: "ctr.userns", base: pod, do: func(w *world) { w.Facts.Identity.Groups = w.Facts.Identity.Groups[:1] }, to: report.Fail},
	{id: "ctr.seccomp", base: pod, do: func(w *world) { w.Facts.Sandbox = "gvisor" }, to: report.Warn},
	{id: "ctr.seccomp", base: pod, do: func(w *world) {
		w.Facts.Sandbox = "gvisor"
		w.Commands["npu-smi info"] = host.Output{Stdout: noTable, Exit: 187}
	}, to: report.Fail},
}

// TestSmallChangesTurnChecks: one change of a host turns a check, and without
// it the check is as before.
func TestSmallChangesTurnChecks(t *testing.T) {
	c := catalogue(t)
	turned := map[string]bool{"os.locale": true, "env.set_u": true} // what we do ourselves always passes
	for _, turn := range turns {
		turned[turn.id] = true
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
			if len(f.Evidence) == 0 || f.Evidence[0].Seen == "" || f.Evidence[0].Source == "" || f.Fix.IsZero() {
				t.Errorf("says too little: %+v", f)
			}
		})
	}
	for _, row := range c.List() {
		if !turned[row.ID] {
			t.Errorf("no change turns %s", row.ID)
		}
	}
}

// turnedTo judges one check on a host after changes.
func turnedTo(t *testing.T, c *Catalogue, base, id string, change ...func(*world)) report.Finding {
	t.Helper()
	d := describe(t, filepath.Join("../../testdata/cases/hosts", base+".yaml"))
	w := &world{d, sceneOf(d.Target)}
	for _, do := range change {
		if do != nil {
			do(w)
		}
	}
	findings := Host(c, see(t, c, d, w.s), w.s)
	i := slices.IndexFunc(findings, func(f report.Finding) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("there is no check %s", id)
	}
	return findings[i]
}
