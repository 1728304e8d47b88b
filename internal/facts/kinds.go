package facts

import (
	"strings"
	"time"
)

// What facts are made of. Every struct is JSON; keys are only ever added.

// OS is the distribution.
type OS struct {
	ID      string   `json:"id"` // lower case
	Version string   `json:"version_id"`
	Name    string   `json:"name"` // PRETTY_NAME
	Like    []string `json:"like,omitempty"`
	Minor   string   `json:"minor,omitempty"` // 7.6.1810, from centos-release
}

// Release is the version as vendor lists have it: CentOS 7 keeps its minor out
// of os-release.
func (o OS) Release() string {
	if p := strings.SplitN(o.Minor, ".", 3); len(p) > 1 && p[0] == o.Version {
		return p[0] + "." + p[1]
	}
	return o.Version
}

// CPU is what lscpu says.
type CPU struct {
	Model   string `json:"model,omitempty"`
	Count   int    `json:"count"` // logical CPUs
	Sockets int    `json:"sockets,omitempty"`
	Online  string `json:"online,omitempty"` // "0-191"
	// Hypervisor is the vendor in lower case; "" on bare metal, and on arm.
	Hypervisor string `json:"hypervisor,omitempty"`
}

// NUMANode is one node and its CPUs.
type NUMANode struct {
	Node int    `json:"node"`
	CPUs string `json:"cpus"`
}

// Memory is in KiB, as /proc/meminfo.
type Memory struct {
	TotalKB     int64 `json:"total_kb"`
	AvailableKB int64 `json:"available_kb"`
	HugePages   int64 `json:"huge_pages"`
	HugePageKB  int64 `json:"huge_page_kb"`
}

// Swap is one line of /proc/swaps.
type Swap struct {
	Path   string `json:"path"`
	SizeKB int64  `json:"size_kb"`
}

// Limits are the soft limits of the login.
type Limits struct {
	NoFile    Limit `json:"nofile"`
	MemlockKB Limit `json:"memlock_kb"`
	Core      Limit `json:"core"`
}

// Disk is the file system behind a path. Inodes 0: it counts none.
type Disk struct {
	Mount    string   `json:"mount,omitempty"`
	TotalKB  int64    `json:"total_kb"`
	UsedKB   int64    `json:"used_kb"`
	AvailKB  int64    `json:"avail_kb"`
	Inodes   int64    `json:"inodes,omitempty"`
	IFree    int64    `json:"ifree,omitempty"`
	FSType   string   `json:"fstype,omitempty"`
	Options  []string `json:"options,omitempty"`
	ReadOnly bool     `json:"ro,omitempty"`
	NoExec   bool     `json:"noexec,omitempty"`
}

// Firewall is the first of firewalld, ufw and nftables that answered.
type Firewall struct {
	Tool   string `json:"tool"`
	Active bool   `json:"active"`
	Rules  string `json:"rules,omitempty"`
}

// Shells are /bin/sh resolved and the login shell.
type Shells struct {
	Sh    string `json:"sh"`
	Login string `json:"login"`
}

// Hostname is the name and the addresses it resolves to; none = it does not.
type Hostname struct {
	Name     string   `json:"name"`
	Resolves []string `json:"resolves,omitzero"` // nil: not asked; empty: to nothing
}

// Lock is somebody who holds a lock.
type Lock struct {
	Path    string `json:"path"`
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
}

// Identity is the session: groups as effective now, not as in /etc/group.
type Identity struct {
	UID    int     `json:"uid"`
	GID    int     `json:"gid"`
	User   string  `json:"user"`
	Home   string  `json:"home,omitempty"`
	Groups []Group `json:"groups,omitempty"`
}

// Group is a name and a number; Members as in /etc/group.
type Group struct {
	Name    string   `json:"name"`
	GID     int      `json:"gid"`
	Members []string `json:"members,omitempty"`
}

// User is one line of /etc/passwd.
type User struct {
	Name  string `json:"name"`
	UID   int    `json:"uid"`
	GID   int    `json:"gid"`
	Home  string `json:"home,omitempty"`
	Shell string `json:"shell,omitempty"`
}

// Accounts are /etc/passwd and /etc/group.
type Accounts struct {
	Users  []User  `json:"users"`
	Groups []Group `json:"groups"`
}

// PCI is one function of vendor 0x19e5 or class 0x12. Generation and Chips are
// of the device table; Generation "" = not an NPU (a compression engine, say).
type PCI struct {
	Address    string       `json:"address"`
	Vendor     string       `json:"vendor"` // 19e5, without 0x
	Device     string       `json:"device"` // d802
	Class      string       `json:"class,omitempty"`
	SubVendor  string       `json:"subsystem_vendor,omitempty"`
	SubDevice  string       `json:"subsystem_device,omitempty"`
	NUMA       int          `json:"numa_node"`            // -1 = not told
	Width      int          `json:"link_width,omitempty"` // lanes; 0 = not told
	MaxWidth   int          `json:"max_link_width,omitempty"`
	Speed      string       `json:"link_speed,omitempty"` // "16.0 GT/s PCIe"
	MaxSpeed   string       `json:"max_link_speed,omitempty"`
	Driver     string       `json:"driver,omitempty"`
	Resource   Fact[string] `json:"resource"` // the resource file, as it is
	Generation string       `json:"generation,omitempty"`
}

// DeviceTree is what a board without PCI says of itself.
type DeviceTree struct {
	Model      string   `json:"model,omitempty"`
	Compatible []string `json:"compatible,omitempty"`
}

// Node is one device node.
type Node struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"` // octal, "0660"
	Owner string `json:"owner"`
	Group string `json:"group"`
	UID   int    `json:"uid"` // -1 = not told
	GID   int    `json:"gid"`
	Major int    `json:"major"`
	Minor int    `json:"minor"`
}

// Range is [From,To] of a version list, compared as the driver does.
type Range struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Driver is driver/version.info.
type Driver struct {
	Path       string   `json:"path"`
	Version    string   `json:"version"`             // 24.1.rc3
	Inner      string   `json:"inner,omitempty"`     // V100R001C19SPC001B124
	HAL        string   `json:"ascendhal,omitempty"` // 7.35.23
	Package    string   `json:"package,omitempty"`
	Compatible []string `json:"compatible,omitempty"`      // V100R001C13, ...
	Firmware   []Range  `json:"firmware_ranges,omitempty"` // compatible_version_fw
}

// Firmware is firmware/version.info.
type Firmware struct {
	Path    string  `json:"path"`
	Version string  `json:"version"` // 7.5.0.1.129
	Package string  `json:"package,omitempty"`
	Drivers []Range `json:"driver_ranges,omitempty"` // compatible_version_drv
}

// Install is /etc/ascend_install.info, which inside a container is the host's.
type Install struct {
	User   string            `json:"user,omitempty"`
	Group  string            `json:"group,omitempty"`
	Path   string            `json:"path,omitempty"` // Driver_Install_Path_Param
	Mode   string            `json:"mode,omitempty"`
	Status string            `json:"status,omitempty"` // "complete"; "" = no such key
	Keys   map[string]string `json:"keys,omitempty"`
}

// Service is what loads the modules at boot.
type Service struct {
	Unit   string `json:"unit,omitempty"`  // host_sys_init.service
	State  string `json:"state,omitempty"` // enabled, disabled, ...
	Script string `json:"script,omitempty"`
}

// Python is the python3 on PATH.
type Python struct {
	Version string          `json:"version"`
	Path    string          `json:"path,omitempty"`
	Modules map[string]bool `json:"modules,omitempty"`
}

// Import is how importing a module in a child went.
type Import struct {
	OK   bool   `json:"ok"`
	Text string `json:"text,omitempty"`    // its last line
	MS   int64  `json:"took_ms,omitempty"` // 0: not measured
}

// Address is one address of an interface.
type Address struct {
	Interface string `json:"interface"`
	Address   string `json:"address"` // with prefix length
}

// Port is a TCP port somebody listens on.
type Port struct {
	Port    int    `json:"port"`
	PID     int    `json:"pid,omitempty"` // 0 = not to be seen
	Command string `json:"command,omitempty"`
}

// HCCN is what hccn_tool says of one device; words as the tool prints them.
type HCCN struct {
	ID   int          `json:"id"`
	Link Fact[string] `json:"link"` // UP, DOWN
	IP   Fact[string] `json:"ip"`
	TLS  Fact[string] `json:"tls"`  // 0, 1
	VNIC Fact[string] `json:"vnic"` // A3 only
	// Multi-node only; the text of the answer.
	NetHealth Fact[string] `json:"net_health"`
	Optical   Fact[string] `json:"optical"`
	LLDP      Fact[string] `json:"lldp"`
	MTU       Fact[string] `json:"mtu"`
	// Only where the addresses of NPUs of other hosts are known.
	Pings []Ping `json:"pings,omitempty"`
}

// Ping is an address of another host and what came back from it.
type Ping struct {
	Address string       `json:"address"`
	Answer  Fact[Pinged] `json:"answer"`
}

// Pinged counts packets.
type Pinged struct {
	Sent     int `json:"sent"`
	Received int `json:"received"`
}

// Docker is /etc/docker/daemon.json.
type Docker struct {
	Runtimes map[string]string `json:"runtimes,omitempty"` // name to path
	Default  string            `json:"default,omitempty"`
	Mirrors  []string          `json:"mirrors,omitempty"`
	Missing  []string          `json:"missing,omitempty"` // runtimes whose path does not exist
}

// ChipAnswer is npu-smi's answer about one chip.
type ChipAnswer struct {
	NPU    int          `json:"npu"`
	Chip   int          `json:"chip"`
	Answer Fact[NPUSmi] `json:"answer"`
}

// Process holds an NPU.
type Process struct {
	NPU       int       `json:"npu"`
	Chip      int       `json:"chip"`
	PID       int       `json:"pid"`
	Name      string    `json:"name,omitempty"` // as npu-smi cuts it
	MemoryMB  int64     `json:"memory_mb"`
	User      string    `json:"user,omitempty"`
	UID       int       `json:"uid"` // -1 = not to be seen
	Started   time.Time `json:"started,omitzero"`
	Container string    `json:"container,omitempty"`
	Command   string    `json:"command,omitempty"`
}
