package cmd

import "os/exec"

// ownGroup leaves the tool to os/exec, which ends the process alone.
func ownGroup(*exec.Cmd) {}
