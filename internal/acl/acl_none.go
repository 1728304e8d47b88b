//go:build !cgo || !linux

package acl

import (
	"fmt"

	"github.com/ascendctl/ascendctl/internal/dl"
)

// Supported tells whether this build can load ACL at all.
const Supported = false

// Library is the loaded ACL; this build has none. What runs on it is built
// with cgo for Linux only.
type Library struct {
	Files            []string
	Layout, Version  string
	Lacks            []string
	Simulated, Owned bool
}

// Open fails in this build. The error wraps ErrNoLibrary.
func Open(o Options) (*Library, error) {
	_, err := dl.Open(wholeName, true)
	return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
}

// Close has nothing to end in this build.
func (l *Library) Close() error { return nil }
