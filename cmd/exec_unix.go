//go:build unix

package cmd

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the tool into a process group of its own, so that its
// children can be ended with it: by the group we made, never by name.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// execSelf becomes another process image, with that environment.
func execSelf(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }
