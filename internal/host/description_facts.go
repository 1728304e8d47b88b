package host

import (
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// PlainFacts answer typed questions. A nil or empty value is no value: the
// question is then unknown, in either world.
type PlainFacts struct {
	Arch      string `yaml:"arch,omitempty"`   // uname -m
	Kernel    string `yaml:"kernel,omitempty"` // uname -r
	PageSize  int    `yaml:"page_size,omitempty"`
	Glibc     string `yaml:"glibc,omitempty"`
	Virt      string `yaml:"virt,omitempty"`
	Sandbox   string `yaml:"sandbox,omitempty"`
	Container string `yaml:"container,omitempty"`

	Identity *Person          `yaml:"identity,omitempty"`
	Ulimits  *Ulimits         `yaml:"ulimits,omitempty"`
	Mounts   []Mount          `yaml:"mounts,omitempty"`
	Disks    map[string]Mount `yaml:"disks,omitempty"` // recordings: path asked -> its file system

	ToolsPresent []string          `yaml:"tools_present,omitempty"`
	ToolsAbsent  []string          `yaml:"tools_absent,omitempty"`
	ToolPaths    map[string]string `yaml:"tool_paths,omitempty"`

	Python         string            `yaml:"python,omitempty"` // version of the python3 on PATH
	PythonPath     string            `yaml:"python_path,omitempty"`
	PythonStdlib   map[string]bool   `yaml:"python_stdlib,omitempty"`
	PythonPackages map[string]string `yaml:"python_packages,omitempty"` // PEP 503 name -> version
	TorchABI       *int              `yaml:"torch_cxx11_abi,omitempty"`

	Hostname  *HostNames          `yaml:"hostname,omitempty"`
	Listening []Listener          `yaml:"listening,omitempty"`
	Reachable map[string]Reached  `yaml:"reachable,omitempty"` // HTTPS host -> answers, or its HTTP status
	BootTime  *Time               `yaml:"boot_time,omitempty"`
	Clock     string              `yaml:"clock,omitempty"`    // Unix seconds with fraction
	PkgLock   Lines               `yaml:"pkg_lock,omitempty"` // free, or who holds it: "path pid command"
	Shells    map[string]string   `yaml:"shells,omitempty"`   // sh, login
	PCI       []map[string]string `yaml:"pci,omitempty"`      // address and the keys of the kind pci
	Procs     map[string]string   `yaml:"procs,omitempty"`    // pid -> the rest of its line
	ProcEnv   map[string][]string `yaml:"process_env,omitempty"`
}

// Person is the identity of the login.
type Person struct {
	UID    int         `yaml:"uid"`
	GID    int         `yaml:"gid"`
	User   string      `yaml:"user"`
	Home   string      `yaml:"home"`
	Groups []GroupName `yaml:"groups"`
}

// GroupName is a group of the running session.
type GroupName struct {
	Name string `yaml:"name"`
	GID  int    `yaml:"gid"`
}

// Ulimits are soft limits: a number or "unlimited".
type Ulimits struct {
	Nofile    string `yaml:"nofile,omitempty"`
	MemlockKB string `yaml:"memlock_kb,omitempty"`
	Core      string `yaml:"core,omitempty"`
}

// Mount is a file system, in KiB and inodes.
type Mount struct {
	Path    string `yaml:"path"` // mount point
	TotalKB *int64 `yaml:"total_kb,omitempty"`
	UsedKB  *int64 `yaml:"used_kb,omitempty"`
	AvailKB *int64 `yaml:"avail_kb,omitempty"`
	Inodes  *int64 `yaml:"inodes,omitempty"`
	IFree   *int64 `yaml:"ifree,omitempty"`
	FSType  string `yaml:"fstype,omitempty"`
	Options string `yaml:"options,omitempty"`
	RO      bool   `yaml:"ro,omitempty"`
	NoExec  bool   `yaml:"noexec,omitempty"`
}

// HostNames are the name of the host and the addresses it resolves to.
type HostNames struct {
	Name     string   `yaml:"name"`
	Resolves []string `yaml:"resolves,omitempty"`
}

// Listener is a TCP port somebody listens on: a number, or with who it is.
type Listener struct {
	Port    int    `yaml:"port"`
	PID     int    `yaml:"pid,omitempty"`
	Command string `yaml:"command,omitempty"`
}

// UnmarshalYAML takes 22 or {port: 22, pid: 811, command: sshd}.
func (l *Listener) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&l.Port)
	}
	type plain Listener
	return n.Decode((*plain)(l))
}

// MarshalYAML writes the number alone where no more is known.
func (l Listener) MarshalYAML() (any, error) {
	if l.PID == 0 && l.Command == "" {
		return l.Port, nil
	}
	type plain Listener
	return plain(l), nil
}

// Reached is true, false or the status that an HTTPS host answered with.
type Reached string

// UnmarshalYAML takes any single value.
func (r *Reached) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return refused("want true, false or an HTTP status", "应为 true、false 或 HTTP 状态码")
	}
	*r = Reached(n.Value)
	return nil
}

// Lines is one word or a list of lines.
type Lines []string

// UnmarshalYAML takes a word or a list of lines.
func (l *Lines) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = Lines{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*l = list
	return err
}

// Time is a second of the calendar, written as RFC 3339 or as Unix seconds.
type Time struct{ time.Time }

// UnmarshalYAML takes 2026-11-02T03:10:00Z or 1793589000.
func (t *Time) UnmarshalYAML(n *yaml.Node) error {
	if sec, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		t.Time = time.Unix(sec, 0).UTC()
		return nil
	}
	at, err := time.Parse(time.RFC3339, n.Value)
	if err != nil {
		return refused("want a time such as 2026-11-02T03:10:00Z, got %q", "应为时间，如 2026-11-02T03:10:00Z，实为 %q", brief(n.Value))
	}
	t.Time = at
	return nil
}

// MarshalYAML writes RFC 3339 in UTC.
func (t Time) MarshalYAML() (any, error) { return t.UTC().Format(time.RFC3339), nil }

// refused says in both languages why a value cannot be.
func refused(en, zh string, args ...any) error {
	return &report.Problem{What: report.T(en, zh, args...), Exit: report.ExitUsage}
}
