//go:build unix

package host

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownSession makes cmd the leader of a session and has all of it killed when
// the context ends. A group would not do: timeout(1) takes one of its own.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return killSession(cmd.Process.Pid) }
}

// killSession kills the group of sid and, where there is a /proc, whatever
// else has this session. What took a session of its own is meant to stay.
func killSession(sid int) error {
	err := syscall.Kill(-sid, syscall.SIGKILL)
	for range 10 { // somebody may fork while we look
		left := 0
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range stats {
			data, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			// pid (name) state ppid pgrp session, and a name may hold anything
			f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
			if len(f) < 4 || string(f[3]) != strconv.Itoa(sid) || string(f[0]) == "Z" {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				left++
			}
		}
		if left == 0 {
			break
		}
	}
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

// exitCode is the shell's way to say it: 128 and the signal.
func exitCode(e *exec.ExitError) int {
	if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return e.ExitCode()
}
