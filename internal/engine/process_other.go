//go:build !linux

package engine

import (
	"errors"
)

var errLinux = errors.New("inference processes are supervised on Linux only")

func startProcess(Spec, string, Sink) (Process, error) { return Process{}, errLinux }

func isFinal(error) bool { return true }

// Allowed is not known here.
func Allowed() []int { return nil }

// Sweep finds nothing here: nothing was started.
func Sweep(string) []int { return nil }
