package check

import (
	"path"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// stackTurns are those of the chips and of all that runs on them.
var stackTurns = []turn{
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
	{id: "npu.hbm_capacity", base: a2, ready: func(w *world) { w.Facts.Virt = "kvm"; w.says("systemd-detect-virt", "kvm\n") },
		do: func(w *world) { w.table("3372 / 65536", "3372 / 49152") }, to: report.Warn},
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
	{id: "cann.installed", base: a2, do: func(w *world) {
		w.loseTree("/usr/local/Ascend/ascend-toolkit")
		w.file("/usr/local/Ascend/nnrt/8.1.RC1/aarch64-linux/ascend_nnrt_install.info", "version=8.1.RC1\narch=aarch64\n")
	}, to: report.Warn},
	{id: "cann.version_ok", base: a2, do: func(w *world) { w.s.CANN = "8.1.0" }, to: report.Warn},
	{id: "cann.version_ok", base: a2, do: func(w *world) { w.s.CANN = "8.2.RC1" }, to: report.Fail},
	{id: "cann.version_ok", base: a2, do: func(w *world) { w.s.CANN = ""; w.s.Version = "0.23.0" }, to: report.Fail},
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
	{id: "cann.ops_version", base: a2, do: func(w *world) {
		w.replace("/usr/local/Ascend/ascend-toolkit/latest/version.cfg", "opp_kernel_running_version=[7.7.0.1.238:8.1.RC1]", "opp_kernel_running_version=[7.7.0.1.238:8.1.0]")
	}, to: report.Warn},
	{id: "cann.nnal", base: a2, do: func(w *world) { w.lose("/usr/local/Ascend/nnal/atb/set_env.sh") }, to: report.Fail},
	{id: "cann.nnal", base: a2, do: func(w *world) {
		w.replace("/usr/local/Ascend/nnal/atb/8.1.RC1/version.info", "Ascend-cann-atb : 8.1.RC1", "Ascend-cann-atb : 8.0.0")
	}, to: report.Warn},
	{id: "cann.abi", base: a2, do: func(w *world) { one := 1; w.Facts.TorchABI = &one }, to: report.Fail},
	{id: "cann.multi", base: a2, do: secondTree, to: report.Warn},
	{id: "cann.multi", base: a2u, do: func(w *world) {
		w.file("/usr/local/Ascend/cann-8.5.0/aarch64-linux/ascend_toolkit_install.info", "version=8.5.0\narch=aarch64\n")
		w.file("/usr/local/Ascend/cann-8.5.0/set_env.sh", "#\n")
		w.lose("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
	}, to: report.Fail},
	{id: "cann.links", base: a2u, do: func(w *world) { w.Links["/usr/local/Ascend/cann"] = "/usr/local/Ascend/cann-0.0.0" }, to: report.Fail},
	{id: "cann.links", base: a2, do: func(w *world) {
		for name := range w.Links {
			if strings.Contains(name, "/ascend-toolkit/latest/") {
				w.Links[name] = "../0.0.0/" + path.Base(name)
			}
		}
	}, to: report.Fail},
	{id: "cann.links", base: a2, do: func(w *world) { w.Links["/usr/local/Ascend/ascend-toolkit/latest/atc"] = "../8.0.RC2/atc" }, to: report.Warn},
	{id: "cann.perms", base: a2u, do: func(w *world) { w.rootOnly() }, to: report.Fail},
	{id: "cann.perms", base: a2, do: func(w *world) { w.rootOnly() }, to: report.Warn},
	{id: "cann.driver_needs", base: a2, do: func(w *world) { w.replace(drvInfo, "ascendhal_version=7.35.23", "ascendhal_version=3.9.0") }, to: report.Fail},
	{id: "cann.stub", base: a2, do: func(w *world) {
		w.setEnv("LD_LIBRARY_PATH", toolkit+"/devlib:"+w.Env["LD_LIBRARY_PATH"])
	}, to: report.Warn},
	{id: "cann.python_dirs", base: a2, do: func(w *world) { w.setEnv("PYTHONPATH", "") }, to: report.Fail},
	{id: "cann.python_dirs", base: a2, do: func(w *world) { w.setEnv("PYTHONPATH", ""); w.Facts.PythonPackages["te"] = "0.4.0" }, to: report.Warn},

	{id: "env.sourced", base: a2, do: func(w *world) { delete(w.Env, "ASCEND_OPP_PATH") }, to: report.Fail},
	{id: "env.sourced", base: a2, do: func(w *world) {
		w.seen = func(f *facts.Facts) {
			f.EnvProcess = facts.Fact[map[string]string]{State: host.Known, Source: "/proc/42/environ"}
		}
	}, to: report.Warn},
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
	{id: "env.conda", base: a2, ready: func(w *world) { deep(w); w.exits("python3 -c 'import torch'", 0) }, do: func(w *world) {
		w.Commands["python3 -c 'import torch'"] = host.Output{Stderr: "ImportError: libstdc++.so.6: version GLIBCXX_3.4.30 not found\n", Exit: 1}
	}, to: report.Fail},
	{id: "env.visible", base: a2, do: func(w *world) { w.setEnv("ASCEND_RT_VISIBLE_DEVICES", "0,1,8") }, to: report.Warn},
	{id: "env.visible", base: a2, do: func(w *world) { w.setEnv("ASCEND_RT_VISIBLE_DEVICES", "1,0") }, to: report.Fail},
	{id: "env.fictional", base: a2, do: func(w *world) { w.setEnv("VLLM_USE_CANN", "1") }, to: report.Warn},
	{id: "env.deprecated", base: a2, do: func(w *world) { w.setEnv("TBE_IMPL_PATH", "/x") }, to: report.Warn},
	{id: "env.deprecated", base: a2, do: func(w *world) {
		w.setEnv("USE_OPTIMIZED_MODEL", "1")
		w.Facts.PythonPackages["vllm-ascend"] = "0.23.0"
	}, to: report.Warn},
	{id: "env.legacy", base: a2, do: func(w *world) { w.setEnv("ASCEND_HOME", "/usr/local/Ascend") }, to: report.Warn},
	{id: "env.legacy", base: a2, do: func(w *world) { w.Env["LD_LIBRARY_PATH"] += ":/usr/local/Ascend/fwkacllib/lib64" }, to: report.Fail},
	{id: "env.debug_left", base: a2, do: func(w *world) { w.setEnv("ASCEND_LAUNCH_BLOCKING", "1") }, to: report.Warn},

	{id: "py.version", base: a2, do: func(w *world) { w.Facts.Python = "3.8.10"; w.says("python3 --version", "Python 3.8.10\n") }, to: report.Warn},
	{id: "py.version", base: a2, do: func(w *world) { w.Facts.Python = "3.12.4"; w.says("python3 --version", "Python 3.12.4\n") }, to: report.Fail},
	{id: "py.version", base: a2, do: func(w *world) { w.Facts.Python = "3.9.9"; w.s.Version = "0.23.0" }, to: report.Fail},
	{id: "py.torch_npu", base: a2, do: func(w *world) { w.Facts.PythonPackages["torch-npu"] = "2.5.1.post3" }, to: report.Warn},
	{id: "py.torch_npu", base: a2, do: func(w *world) { w.Facts.PythonPackages["torch-npu"] = "2.7.1" }, to: report.Fail},
	{id: "py.engine", base: a2, ready: func(w *world) { w.s.Version = "0.9.0rc2" }, do: func(w *world) { w.s.Version = "0.23.0" }, to: report.Fail},
	{id: "py.deps", base: a2, do: func(w *world) { delete(w.Facts.PythonPackages, "absl-py") }, to: report.Fail},
	{id: "py.deps", base: a2, do: func(w *world) { w.Facts.PythonPackages["scipy"] = "1.2.0" }, to: report.Warn},
	{id: "py.numpy2", base: a2, do: func(w *world) { w.Facts.PythonPackages["numpy"] = "2.1.0" }, to: report.Fail},
	{id: "py.numpy2", base: a3, do: func(w *world) { w.Facts.PythonPackages["numpy"] = "2.1.0" }, to: report.Warn},
	{id: "py.sqlite", base: a2, do: func(w *world) { w.Facts.PythonStdlib["sqlite3"] = false }, to: report.Fail},
	{id: "py.autoload", base: a2, ready: func(w *world) { deep(w); w.exits("python3 -c 'import torch'", 0) }, do: func(w *world) {
		w.Commands["python3 -c 'import torch'"] = host.Output{Stderr: "ImportError: torch_npu cannot be loaded\n", Exit: 1}
	}, to: report.Fail},

	{id: "py.autoload", base: a2, ready: func(w *world) { deep(w); w.exits("python3 -c 'import torch'", 0) }, do: func(w *world) {
		w.Commands["python3 -c 'import torch'"] = host.Output{WallMS: 45000}
	}, to: report.Warn},
	{id: "tool.gcc", base: a2, do: func(w *world) { w.says("g++ --version", "g++ (GCC) 14.2.0\n") }, to: report.Warn},
	{id: "tool.gcc", base: a2, do: func(w *world) { w.s.Installs = []string{"operators"}; w.lose("g++ --version"); w.loseTool("g++") }, to: report.Fail},
	{id: "tool.cmake", base: a2, do: func(w *world) { w.says("cmake --version", "cmake version 3.4.0\n") }, to: report.Warn},
	{id: "tool.cmake", base: a2, do: func(w *world) {
		w.s.Installs = []string{"operators"}
		w.lose("cmake --version")
		w.loseTool("cmake")
	}, to: report.Fail},
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
	{id: "net.npu_health", base: a2, ready: func(w *world) { multi(w); w.every("-net_health", "net health status: Success\n") }, do: func(w *world) {
		w.says("hccn_tool -i 3 -net_health -g", "net health status: Init\n")
	}, to: report.Warn},
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
	{id: "net.npu_ping", base: a2, ready: reached, do: func(w *world) {
		w.says("hccn_tool -i 0 -ping -g address 192.0.2.90", "recv time out seq=0\n3 packets transmitted, 2 received, 33.33% packet loss\n")
	}, to: report.Warn},
	{id: "net.npu_ping", base: a2, ready: reached, do: func(w *world) {
		w.Commands["hccn_tool -i 0 -ping -g address 192.0.2.90"] = host.Output{Stdout: "3 packets transmitted, 0 received, 100.00% packet loss\n", Exit: 1}
	}, to: report.Fail},
	{id: "net.optical", base: a2, ready: optical, do: func(w *world) {
		w.says("hccn_tool -i 3 -optical -g", "optical info:\npresent              : not present\n")
	}, to: report.Warn},
	{id: "net.optical", base: a2, ready: optical, do: func(w *world) {
		w.says("hccn_tool -i 3 -optical -g", swap(module, "Rx Power             : 1.0189", "Rx Power             : 0.0100"))
	}, to: report.Fail},
	{id: "net.optical", base: a2, ready: optical, do: func(w *world) {
		w.says("hccn_tool -i 3 -optical -g", swap(module, "Rx Los Flag          : 0x0", "Rx Los Flag          : 0xff"))
	}, to: report.Fail},
	{id: "net.ranktable", base: a2, ready: ranked, do: func(w *world) { w.replace(table, `"status"`, `"colour"`) }, to: report.Warn},
	{id: "net.ranktable", base: a2, ready: ranked, do: func(w *world) { w.replace(table, `"rank_id": "7"`, `"rank_id": "9"`) }, to: report.Fail},
	{id: "net.ranktable", base: a2, ready: ranked, do: func(w *world) { w.replace(table, `"rank_id": "7"`, `"rank_id": "6"`) }, to: report.Fail},
	{id: "net.ranktable", base: a2, ready: ranked, do: func(w *world) { w.replace(table, `"192.0.2.17"`, `"198.51.100.9"`) }, to: report.Fail},
	{id: "net.ranktable", base: a2, ready: ranked, do: func(w *world) { w.replace(table, `"server_count": "1"`, `"server_count": "2"`) }, to: report.Fail},
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
	{id: "ctr.image", base: a2, ready: recipe, do: func(w *world) { w.s.Chip = "310p" }, to: report.Fail},
	{id: "ctr.image", base: a2, ready: func(w *world) { recipe(w); w.s.Image = "quay.io/ascend/cann:8.1.rc1-910b-ubuntu22.04-py3.10" }, do: func(w *world) {
		w.s.Image = "quay.io/ascend/cann:8.1.rc1-a3-ubuntu22.04-py3.10"
	}, to: report.Fail},
	{id: "ctr.image", base: a2, ready: func(w *world) { recipe(w); w.s.Image = "8.1.rc1-910b-aarch64" }, do: func(w *world) { w.s.Image = "8.1.rc1-910b-amd64" }, to: report.Fail},
	{id: "ctr.mounts", base: podr, do: func(w *world) { w.lose("/usr/local/dcmi/libdcmi.so") }, to: report.Warn},
	{id: "ctr.mounts", base: podr, do: func(w *world) { w.loseTree("/usr/local/Ascend/driver/lib64") }, to: report.Fail},
	{id: "ctr.nodes", base: pod, do: func(w *world) { w.lose("/dev/hisi_hdc") }, to: report.Fail},
	{id: "ctr.nodes", base: pod, do: func(w *world) { w.s.Cards = 2 }, to: report.Warn},
	{id: "ctr.userns", base: pod, do: func(w *world) { w.Facts.Identity.Groups = w.Facts.Identity.Groups[:1] }, to: report.Fail},
	{id: "ctr.userns", base: pod, ready: func(w *world) {
		w.seen = func(f *facts.Facts) { f.NPUInfo = facts.Fact[facts.NPUSmi]{State: host.Unknown} }
	}, do: func(w *world) {
		w.Facts.Identity.Groups = w.Facts.Identity.Groups[:1]
		w.file("/etc/group", "root:x:0:\nma-group:x:100:\n")
	}, to: report.Warn},
	{id: "ctr.seccomp", base: pod, do: func(w *world) { w.Facts.Sandbox = "gvisor" }, to: report.Warn},
	{id: "ctr.seccomp", base: pod, do: func(w *world) {
		w.Facts.Sandbox = "gvisor"
		w.Commands["npu-smi info"] = host.Output{Stdout: noTable, Exit: 187}
	}, to: report.Fail},
}
