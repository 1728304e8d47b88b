//go:build !cgo || !linux

package infer

import (
	"context"

	"github.com/ascendctl/ascendctl/internal/acl"
)

// NPU is one device; this build cannot reach any.
type NPU struct {
	Device int
	SoC    string
}

// TakeNPU fails in this build.
func TakeNPU(_ *acl.Library, _ int) (*NPU, error) {
	return nil, &Error{Class: Reject, Op: opOpen, Detail: "this build has no ACL"}
}

// Close does nothing in this build.
func (*NPU) Close() error { return nil }

// Direct is false in this build.
func (*NPU) Direct() bool { return false }

// Room fails in this build.
func (*NPU) Room(string) (Room, error) { return Room{}, closed(opOpen) }

// Probe fails in this build.
func (*NPU) Probe(context.Context) error { return closed(opProbe) }

// Open fails in this build.
func (*NPU) Open(context.Context, NPUOptions) (Backend, error) { return nil, closed(opOpen) }

// SelfTest fails in this build.
func SelfTest(context.Context, *acl.Library, *NPU, string, string) ([]Observation, error) {
	return nil, closed(opOpen)
}
