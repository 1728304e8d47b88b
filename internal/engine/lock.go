package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// maxRecord bounds what is read of a lock file.
const maxRecord = 16 << 10

// Holder is who holds a device: a line of its lock file.
type Holder struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // of the process, in clock ticks since boot
	What  string    `json:"what"`  // "resnet50 on 127.0.0.1:8080"
	Since time.Time `json:"since"`
	Mark  string    `json:"mark,omitempty"` // Deps.Mark, to Sweep what it may have left
}

// LockOptions say what to lock.
type LockOptions struct {
	Dirs    []string // as LockDirs gives them
	Devices []int    // physical ids, each once
	Share   bool     // beside others who share, too
	Holder  Holder   // us; Start is filled in
}

// Locks are held until Close, or until this process ends.
type Locks struct {
	files []*os.File
	alone bool // nobody else has a line in them
	// Stale are those who held one of the devices and died without giving it
	// back.
	Stale []Holder
}

// LockDirs are the folders for lock files: /run for root; the runtime folder
// of a user, and that of root besides, in which a user can lock what is there
// already. Two users without root, and containers, do not see each other.
func LockDirs(root bool, runtimeDir string) []string {
	const run = "/run/ascendctl"
	if root || runtimeDir == "" {
		return []string{run}
	}
	return []string{filepath.Join(runtimeDir, "ascendctl"), run}
}

// Close gives the devices back. The files stay: removing them would let two
// processes lock two files of one name. A line that is left in a shared one is
// taken for that of a dead holder, which does no harm.
func (l *Locks) Close() error {
	for _, f := range l.files {
		if l.alone {
			_ = f.Truncate(0) // fails where we may only read: then nothing of ours is in it
		}
		_ = f.Close()
	}
	l.files = nil
	return nil
}

// parseHolders reads the lines of a lock file; those it cannot read, perhaps
// of a later release, are left out.
func parseHolders(data []byte) (out []Holder) {
	for line := range strings.Lines(string(data)) {
		var h Holder
		if json.Unmarshal([]byte(line), &h) == nil && h.PID > 0 {
			out = append(out, h)
		}
	}
	return out
}

// taken is the failure to lock a device that somebody else holds.
func taken(device int, file string, living, dead []Holder, owner int, share bool) *report.Problem {
	p := &report.Problem{
		What: report.T("device %d is in use by another ascendctl", "设备 %d 已被另一个 ascendctl 占用", device),
		Do:   report.T("stop that process, or choose another device", "停止该进程，或改用其他设备"),
		Exit: report.ExitFailed,
	}
	switch {
	case len(living) > 0:
		h := living[0]
		p.Why = report.T("process %d serves %s since %s", "进程 %d 自 %[3]s 起提供 %[2]s", h.PID, h.What, h.Since.UTC().Format(time.RFC3339))
		if share {
			p.Do = report.T("start both with sharing asked for, or choose another device", "两个进程都需启用共享，或改用其他设备")
		}
	case owner > 0: // a user who may only read the file of root, or a child of the writer
		p.Why = report.T("process %d holds %s", "进程 %d 持有 %s", owner, file)
	case len(dead) > 0:
		p.Why = report.T("%s is locked; process %d wrote it and is gone from here: a child of it, or another container", "%s 已加锁；写入者进程 %d 已不可见：可能是其子进程或其他容器", file, dead[0].PID)
	default:
		p.Why = report.T("%s is locked by a process that did not write its name", "%s 已被未登记的进程加锁", file)
	}
	return p
}

// noLock is the failure to have a lock file at all.
func noLock(file string, err error) *report.Problem {
	return &report.Problem{
		What: report.T("cannot lock the device: %s", "无法为设备加锁：%s", file), Why: report.Same(err.Error()), Err: err,
		Do:   report.T("make the folder writable, or name another with --lock-dir", "使该目录可写，或用 --lock-dir 指定其他目录"),
		Exit: report.ExitFailed,
	}
}
