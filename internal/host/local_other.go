//go:build !unix

package host

import "os/exec"

// Where there are no sessions the process alone is ended.
func ownSession(*exec.Cmd) {}

func exitCode(e *exec.ExitError) int { return e.ExitCode() }
