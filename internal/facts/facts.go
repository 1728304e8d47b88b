// Package facts looks at a host and says what is there, as plain data that
// survives JSON. It asks through the door in two rounds and judges nothing:
// "could not ask" is never "not there".
package facts

import (
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/host"
)

// Fact is a value that knows where it came from, or why there is none.
type Fact[T any] struct {
	Value  T          `json:"value,omitzero"`
	State  host.State `json:"state,omitempty"` // "" = not asked
	Source string     `json:"source,omitempty"`
	Note   string     `json:"note,omitempty"` // why it is unknown
}

// Known is true when Value can be relied on.
func (f Fact[T]) Known() bool { return f.State == host.Known }

// Absent is true when it was looked for and is not there.
func (f Fact[T]) Absent() bool { return f.State == host.Absent }

// Facts is all that is known about one host. Kept facts are judged exactly like
// fresh ones.
type Facts struct {
	Target string `json:"target"` // as the user named it

	// system
	Arch          Fact[string]            `json:"arch"`
	Kernel        Fact[string]            `json:"kernel"`
	PageSize      Fact[int]               `json:"page_size"` // bytes
	Glibc         Fact[string]            `json:"glibc"`     // absent on musl
	OS            Fact[OS]                `json:"os"`
	CPU           Fact[CPU]               `json:"cpu"`
	NUMA          Fact[[]NUMANode]        `json:"numa"`
	Memory        Fact[Memory]            `json:"memory"`
	Swaps         Fact[[]Swap]            `json:"swaps"`
	Swappiness    Fact[int]               `json:"swappiness"`
	THP           Fact[string]            `json:"thp"` // always, madvise, never
	Governor      Fact[string]            `json:"governor"`
	NUMABalancing Fact[string]            `json:"numa_balancing"`
	CPUsAllowed   Fact[string]            `json:"cpus_allowed"` // "0-191"
	ReservedPorts Fact[string]            `json:"reserved_ports"`
	CorePattern   Fact[string]            `json:"core_pattern"`
	Limits        Fact[Limits]            `json:"limits"`
	Disks         map[string]Fact[Disk]   `json:"disks,omitempty"` // by the path asked
	Selinux       Fact[string]            `json:"selinux"`         // "0", "1"; absent = no SELinux
	Firewall      Fact[Firewall]          `json:"firewall"`
	TimeSync      Fact[bool]              `json:"time_sync"`
	ClockOffset   Fact[float64]           `json:"clock_offset"` // seconds ahead of ours
	Shells        Fact[Shells]            `json:"shells"`
	Hostname      Fact[Hostname]          `json:"hostname"`
	Boot          Fact[time.Time]         `json:"boot"`
	Locks         Fact[[]Lock]            `json:"locks"` // of the package manager
	Tools         Fact[map[string]string] `json:"tools"` // path; "" = looked for, not there
	KernelBuild   Fact[string]            `json:"kernel_build"`
	Cmdline       Fact[[]string]          `json:"cmdline"`
	SecureBoot    Fact[string]            `json:"secure_boot"` // enabled, disabled, no EFI
	KernelLog     Fact[[]string]          `json:"kernel_log"`  // lines about buses, NPUs and modules
	IOMMU         Fact[[]string]          `json:"iommu"`

	// where this is
	Virt    Fact[string]   `json:"virt"`    // none, a word of systemd-detect-virt, or kubepods, containerd
	Marks   Fact[[]string] `json:"marks"`   // /.dockerenv, /run/.containerenv
	Sandbox Fact[string]   `json:"sandbox"` // runc, gvisor, kata
	Product Fact[string]   `json:"product"` // DMI product name
	Board   Fact[string]   `json:"board"`   // dmidecode -t 2

	// people
	Identity Fact[Identity] `json:"identity"`
	Accounts Fact[Accounts] `json:"accounts"`

	// bus and nodes
	PCI        Fact[[]PCI]      `json:"pci"`
	Generation Fact[string]     `json:"generation"` // 310 310P 310B A1 A2 A3 950
	DeviceTree Fact[DeviceTree] `json:"device_tree"`
	Nodes      Fact[[]Node]     `json:"nodes"`

	// driver and firmware
	Driver      Fact[Driver]            `json:"driver"`
	Firmware    Fact[Firmware]          `json:"firmware"`
	Install     Fact[Install]           `json:"install"`
	LoaderConf  Fact[[]string]          `json:"loader_conf"` // folders of ascend_driver_so.conf
	DriverLibs  Fact[[]string]          `json:"driver_libs"` // libascend_hal.so where it lies
	Modules     Fact[[]string]          `json:"modules"`
	ModuleFiles Fact[map[string]string] `json:"module_files"` // of the running kernel: name to file
	DriverTime  Fact[time.Time]         `json:"driver_time"`  // mtime of driver/version.info
	Service     Fact[Service]           `json:"service"`

	// CANN
	CANN Fact[cann.Installed] `json:"cann"`

	// Python and tools to build with
	Python      Fact[Python]            `json:"python"`
	Packages    Fact[map[string]string] `json:"python_packages"` // PEP 503 name to version
	TorchABI    Fact[int]               `json:"torch_abi"`
	TorchImport Fact[Import]            `json:"torch_import"` // deep only
	LibStdCxx   Fact[string]            `json:"libstdcxx"`    // the first along LD_LIBRARY_PATH
	GCC         Fact[string]            `json:"gcc"`          // version
	CMake       Fact[string]            `json:"cmake"`

	// environment
	Env        Fact[map[string]string] `json:"env"`
	EnvProcess Fact[map[string]string] `json:"env_process"` // of Options.PID

	// network
	Addresses Fact[[]Address]         `json:"addresses"`
	Listening Fact[[]Port]            `json:"listening"`
	Reachable Fact[map[string]bool]   `json:"reachable"`
	PipIndex  Fact[[]string]          `json:"pip_index"`
	HCCN      Fact[[]HCCN]            `json:"hccn"`
	HCCNConf  Fact[map[string]string] `json:"hccn_conf"`
	RankTable Fact[RankTable]         `json:"rank_table"` // of Options.RankTable

	// containers
	Docker Fact[Docker]          `json:"docker"`
	Paths  Fact[map[string]bool] `json:"paths"` // which paths exist: those a container needs, and the folders of the environment

	// npu-smi
	SMIWhere     Fact[string]    `json:"npu_smi_where"`
	NPUInfo      Fact[NPUSmi]    `json:"npu_info"`
	NPUInfoMS    Fact[int64]     `json:"npu_info_ms"`   // how long npu-smi info took, by the clock of the host
	NPUInfoRoot  Fact[NPUSmi]    `json:"npu_info_root"` // only when the login got no table
	NPUMap       Fact[NPUSmi]    `json:"npu_map"`
	NPUList      Fact[NPUSmi]    `json:"npu_list"`
	NPUBoard     Fact[NPUSmi]    `json:"npu_board"`
	NPUChip      Fact[NPUSmi]    `json:"npu_chip"`       // board of the first chip, which names its SoC
	NPUBoardRoot Fact[NPUSmi]    `json:"npu_board_root"` // the only one whose Compatibility counts
	NPUTopo      Fact[NPUSmi]    `json:"npu_topo"`
	NPUVirtual   Fact[NPUSmi]    `json:"npu_vnpu"`
	NPUHealth    []ChipAnswer    `json:"npu_health,omitempty"` // chips that are not OK
	NPUECC       []ChipAnswer    `json:"npu_ecc,omitempty"`
	NPUCommon    []ChipAnswer    `json:"npu_common,omitempty"` // deep only
	Processes    Fact[[]Process] `json:"processes"`            // what npu-smi lists, joined with /proc
}
