package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
)

// Simulated hosts that the changes below start from.
const (
	a2   = "openeuler2203-910b3-healthy"
	a2u  = "openeuler2403-910b4-cann9-healthy" // a login that is not root, with sudo
	a3   = "a3-16die-cann85"
	pod  = "cloud-notebook-910b" // a container
	podr = "container-a3-2of16"  // a container, as root
	duo  = "kylinv10-300iduo-310p"
	soc  = "orangepi-aipro-310b4"
	bare = "ubuntu2204-a2-no-driver"
	old  = "openeuler2003-910-firstgen"
)

// world is a host and what a person wants of it, ready to be changed.
type world struct {
	*host.Description
	s    Scene
	seen func(*facts.Facts) // changes what was learnt, where no host can say it
}

func (w *world) file(name, content string)     { w.Files[name] = content }
func (w *world) setEnv(name, value string)     { w.Env[name] = value }
func (w *world) says(command, stdout string)   { w.Commands[command] = host.Output{Stdout: stdout} }
func (w *world) exits(command string, n int)   { w.Commands[command] = host.Output{Exit: n} }
func (w *world) replace(name, old, new string) { w.Files[name] = swap(w.Files[name], old, new) }
func (w *world) lose(names ...string) {
	for _, n := range names {
		delete(w.Files, n)
		delete(w.Nodes, n)
		delete(w.Links, n)
		delete(w.Commands, n)
	}
}

func (w *world) loseTool(names ...string) {
	w.Facts.ToolsPresent = slices.DeleteFunc(w.Facts.ToolsPresent, func(t string) bool { return slices.Contains(names, t) })
	w.Facts.ToolsAbsent = append(w.Facts.ToolsAbsent, names...)
}

func (w *world) table(old, new string) {
	c := w.Commands["npu-smi info"]
	c.Stdout = swap(c.Stdout, old, new)
	w.Commands["npu-smi info"] = c
}

func (w *world) shm(kib int64) {
	for i := range w.Facts.Mounts {
		if w.Facts.Mounts[i].Path == "/dev/shm" {
			w.Facts.Mounts[i].TotalKB, w.Facts.Mounts[i].AvailKB = &kib, &kib
		}
	}
}

func (w *world) root(avail, ifree int64) {
	m := &w.Facts.Mounts[0]
	used := *m.TotalKB - avail
	m.AvailKB, m.UsedKB, m.IFree = &avail, &used, &ifree
}

// swap panics when there is nothing to change: a change that does nothing
// would prove nothing.
func swap(s, old, new string) string {
	if !strings.Contains(s, old) {
		panic("nothing to change: " + old)
	}
	return strings.Replace(s, old, new, 1)
}

func multi(w *world) { w.s.Nodes = 2 }

// deep asks for slow probes.
func deep(w *world) { w.s.Deep = true }

const (
	kernel   = "5.10.0-216.0.0.115.oe2203sp4.aarch64"
	toolkit  = "/usr/local/Ascend/ascend-toolkit/8.1.RC1"
	instInfo = "/etc/ascend_install.info"
	drvInfo  = "/usr/local/Ascend/driver/version.info"
	fwInfo   = "/usr/local/Ascend/firmware/version.info"
	hal      = "/usr/local/Ascend/driver/lib64/driver/libascend_hal.so"
	pci0     = "/sys/bus/pci/devices/0000:c1:00.0/"
	noTable  = "dcmi module initialize failed. ret is -8005\n"
	row0     = "| 0     910B3               | OK            |"
)

func recipe(w *world) { w.s.Uses = []string{"container_recipe"} }

func noService(w *world) {
	w.lose("/etc/init.d/host_sys_init.sh")
	w.says("systemctl list-unit-files 'host_sys_init*'", "0 unit files listed.\n")
}

func noNPU(w *world) {
	for name := range w.Files {
		if strings.HasPrefix(name, "/sys/bus/pci/devices/") {
			delete(w.Files, name)
		}
	}
}

func noNodes(w *world) {
	for name := range w.Nodes {
		if k := strings.TrimPrefix(name, "/dev/davinci"); k != "_manager" && k != name {
			delete(w.Nodes, name)
		}
	}
}

// noWindows takes the addresses away from the memory windows of every card.
func noWindows(w *world) {
	for name := range w.Files {
		if strings.HasSuffix(name, "/resource") {
			w.Files[name] = "0x0000000000000000 0x000000000fffffff 0x0000000000040200\n"
		}
	}
}

// otherKernel is a kernel upgrade after the driver was installed.
func otherKernel(w *world) {
	w.loseTree("/lib/modules/" + kernel)
	for line := range w.Commands {
		if strings.HasPrefix(line, "modinfo ") {
			w.Commands[line] = host.Output{Stderr: "modinfo: ERROR: Module not found.\n", Exit: 1}
		}
	}
}

// secondTree leaves another CANN below the same root.
func secondTree(w *world) {
	const other = "/usr/local/Ascend/ascend-toolkit/7.0.0"
	w.file(other+"/aarch64-linux/ascend_toolkit_install.info", "version=7.0.0\narch=aarch64\n")
	w.file(other+"/set_env.sh", "#\n")
}

func (w *world) loseTree(root string) {
	gone := func(p string) bool { return strings.HasPrefix(p, root+"/") || p == root }
	maps.DeleteFunc(w.Files, func(p, _ string) bool { return gone(p) })
	maps.DeleteFunc(w.Links, func(p, _ string) bool { return gone(p) })
}

func (w *world) rootOnly() {
	w.Stat = map[string]host.FileStat{}
	for name := range w.Files {
		if strings.HasSuffix(name, "/bin/atc") {
			w.Stat[name] = host.FileStat{Mode: "0700", Owner: "root", Group: "root"}
		}
	}
}

// alarm makes NPU 0 show a fault code.
func (w *world) alarm(code string) {
	w.table(row0, "| 0     910B3               | Alarm         |")
	w.says("npu-smi info -t health -i 0 -c 0", "\tHealth Status                  : Alarm\n\tError Code                     : "+code+"\n\tError Information              : x\n")
}

func (w *world) ecc(old, new string) {
	c := w.Commands["npu-smi info -t ecc -i 0 -c 0"]
	c.Stdout = swap(c.Stdout, old, new)
	w.Commands["npu-smi info -t ecc -i 0 -c 0"] = c
}

// common lets every chip run at a frequency, NPU 0 with some load.
func (w *world) common(now string, load int) {
	for i := range 8 {
		use := "0"
		if i == 0 && load > 0 {
			use = "90"
		}
		w.says("npu-smi info -t common -i "+string(rune('0'+i)),
			"\tNPU ID                         : "+string(rune('0'+i))+"\n\tChip Count                     : 1\n\n\tChip ID                        : 0\n"+
				"\tAicore Usage Rate(%)           : "+use+"\n\tAicore Freq(MHZ)               : 1850\n\tAicore curFreq(MHZ)            : "+now+"\n\tAicore Count                   : 20\n")
	}
}

// every makes hccn_tool say the same of all eight NPUs.
func (w *world) every(what, says string) {
	for i := range 8 {
		w.says("hccn_tool -i "+string(rune('0'+i))+" "+what+" -g", says)
	}
}

// later is a day after, so that a file is newer than the boot.
func later(t *host.Time) *host.Time { return &host.Time{Time: t.AddDate(0, 0, 1)} }

// reached lets every address of the other host answer.
func reached(w *world) {
	multi(w)
	w.s.Peers = []string{"192.0.2.90", "192.0.2.91"}
	for i, addr := range w.s.Peers {
		w.says("hccn_tool -i "+string(rune('0'+i))+" -ping -g address "+addr, "recv seq=0,time=0.049000ms\n3 packets transmitted, 3 received, 0.00% packet loss\n")
	}
}

const module = `optical info:
present              : present
Tx Power             : 1.1035 mW
Rx Power             : 1.0189 mW
RxPower High Thres   : 3.5481 mW
RxPower Low Thres    : 0.1445 mW
Tx Los Flag          : 0x0
Rx Los Flag          : 0x0
`

func optical(w *world) {
	multi(w)
	w.every("-optical", module)
}

const table = "/job/hccl.json"

// ranked gives the job a rank table with the addresses that the NPUs have.
func ranked(w *world) {
	w.s.Uses, w.s.RankTable = []string{"ranktable"}, table
	var devices []string
	for i := range 8 {
		n := string(rune('0' + i))
		addr := strings.TrimPrefix(strings.Fields(w.Commands["hccn_tool -i "+n+" -ip -g"].Stdout)[0], "ipaddr:")
		devices = append(devices, `{"device_id": "`+n+`", "device_ip": "`+addr+`", "rank_id": "`+n+`"}`)
	}
	w.file(table, `{"version": "1.0", "server_count": "1", "server_list": [{"server_id": "npu01", "device": [`+strings.Join(devices, ", ")+`]}], "status": "completed"}`)
}

// branch gives the driver a branch that no list names, and CANN one too.
func (w *world) branch(driver, cann string) {
	w.replace(drvInfo, "V100R001C19SPC001B124", driver)
	name := toolkit + "/aarch64-linux/ascend_toolkit_install.info"
	for _, line := range strings.Split(w.Files[name], "\n") {
		if strings.HasPrefix(line, "innerversion=") {
			w.replace(name, line, "innerversion="+cann)
		}
	}
}

// driver changes the version of the driver where it is written.
func (w *world) driver(version string) {
	for _, line := range strings.Split(w.Files[drvInfo], "\n") {
		if strings.HasPrefix(line, "Version=") {
			w.replace(drvInfo, line, "Version="+version)
		}
	}
}
