// Package host is the door: one machine that can be asked things and changed.
// Nothing else in the project opens a file of a target or runs a command there.
package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// Host is one machine.
//
// Run returns an error only when the question could not be put (no session, no
// such command, cancelled); a command that ran and said no is a Result with a
// non-zero Exit. Ask puts many questions in one round trip and never fails as a
// whole: what could not be asked is an Unknown answer that says why. Commands
// are asked in their order, other questions at any time.
type Host interface {
	String() string // as the user named it: local, root@npu01, replay:FILE
	Ask(ctx context.Context, qs []Question) []Answer
	Run(ctx context.Context, c Command) (Result, error)
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// WriteFile writes to a temporary file beside name and renames it.
	WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error
	Close() error
}

// Command is argv, never a shell line: quoting is one implementation's
// business and not every caller's.
type Command struct {
	Argv   []string
	Stdin  io.Reader // nil: empty
	Stdout io.Writer // nil: kept in Result
	Stderr io.Writer
	Env    []string // KEY=VALUE, added to the host's own; LC_ALL=C is always set
	Root   bool     // run with elevated rights; the Host knows how
}

// Result is what a command that ran left behind.
type Result struct {
	Stdout, Stderr []byte
	Exit           int
}

var (
	// ErrNoCommand: the binary is not on the host. A fact, not a failure.
	ErrNoCommand = errors.New("command not found")
	// ErrUnreachable: the host could not be reached or was lost (exit 5).
	ErrUnreachable = errors.New("host unreachable")
	// ErrNotRecorded: a recording cannot answer what was not asked then.
	ErrNotRecorded = errors.New("not recorded")
	// ErrReadOnly: a recording cannot be changed.
	ErrReadOnly = errors.New("a recording cannot be changed")
	// ErrTimeout: the host took longer than the question allows.
	ErrTimeout = errors.New("no answer in time")
	// ErrNoRoot: the login may not elevate, or not without a password.
	ErrNoRoot = errors.New("no elevated rights")
	// ErrTooLarge: more came than anything we ask for can need.
	ErrTooLarge = errors.New("answer too large")
)

// Kind says what a question is about. The typed ones have one normal form of
// answer, so a recording can answer them from plain values. Lines end with \n;
// a list with nothing in it is Known and empty. Absent is said of a file, a
// link, a command, a process, and of what needs a python3 that is not there.
// KEY= is one line each, left out where the host cannot tell the value. A blank
// inside a field of a blank-separated line is written as "_".
type Kind string

const (
	File Kind = "file"    // content of Args[0], at most 1 MiB
	Glob Kind = "glob"    // paths that match Args[0] (links too that lead nowhere), one a line, sorted
	Stat Kind = "stat"    // of each of Args: "path type mode owner group uid gid size mtime" (type f d l b c p s; mode octal; mtime Unix seconds), absent paths left out; type and the rest "?" where looking is not allowed
	Link Kind = "link"    // target of the symlink Args[0]
	Exec Kind = "command" // Args as argv

	Disk     Kind = "disk"      // file system of Args[0] or of its nearest existing parent: total_kb= used_kb= avail_kb= inodes= ifree= mount= fstype= options=
	Identity Kind = "identity"  // uid= gid= user= home= groups=name:gid,name:gid
	Limits   Kind = "limits"    // soft limits: nofile= memlock_kb= core= (bytes; each a number or unlimited)
	Tools    Kind = "tools"     // of Args: "name path" for each that is on PATH or in the sbin folders
	Env      Kind = "env"       // environment of the login (no Args) or of process Args[0]: NUL-separated KEY=VALUE, without the LC_ALL the door sets
	Nodes    Kind = "nodes"     // device nodes that matter to NPUs: "path mode owner group uid gid major minor"
	PCI      Kind = "pci"       // PCI functions of vendor 0x19e5 or class 0x12: "address key=value ..." with vendor device class subsystem_vendor subsystem_device numa_node current_link_width max_link_width current_link_speed max_link_speed driver
	Packages Kind = "packages"  // "name version" for each Python distribution of python3 on PATH, PEP 503 names; metadata only, nothing imported
	Python   Kind = "python"    // version= path= and of Args: name=true|false for each standard module
	Hostname Kind = "hostname"  // name= resolves=addr,addr
	Clock    Kind = "clock"     // unix= (seconds with fraction)
	Boot     Kind = "boot"      // boot=Unix seconds
	Ports    Kind = "ports"     // TCP ports somebody listens on: "port pid command" (pid and command "-" when not to be seen)
	Locks    Kind = "locks"     // who holds the lock of the package manager (Args: other lock files): "path pid command"
	Shells   Kind = "shells"    // paths: sh= (where /bin/sh leads) login=
	Procs    Kind = "procs"     // of each pid in Args: "pid uid user start_unix cgroup_container command line" tab-separated, container "-" for none
	Reach    Kind = "reach"     // HTTPS HEAD of each host of Args through the proxy of the environment: "host status", the HTTP status or "-" when not reached
	Sandbox  Kind = "sandbox"   // kind=runc|gvisor|kata|none, virt= and container= in words of systemd-detect-virt, or none
	TorchABI Kind = "torch_abi" // 0 or 1, from the wheel's metadata; nothing imported
)

// Question is one thing to ask.
type Question struct {
	Kind    Kind
	Args    []string
	Env     []string      // of a command
	Root    bool          // ask with elevated rights where the host allows it without a password
	Timeout time.Duration // 15 s when zero
}

// State says how much an answer can be relied on.
type State string

const (
	Known   State = "known"
	Absent  State = "absent"  // looked for, not there: a check may fail on it
	Unknown State = "unknown" // could not be looked for: never "not there"
)

// Answer is what came back.
type Answer struct {
	State State
	Result
	Err  error         // why it is Unknown
	Took time.Duration // of a command, in steps of 10 ms and at least 1 ms on a live host; 0: it was not measured
}
