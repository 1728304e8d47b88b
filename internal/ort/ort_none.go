//go:build !cgo || !linux

package ort

import (
	"context"
	"fmt"

	"github.com/ascendctl/ascendctl/internal/dl"
)

// Library is an open ONNX Runtime; this build has none.
type Library struct {
	Version string
	File    string
}

// Session is one loaded model; this build has none.
type Session struct {
	Inputs, Outputs []Port
}

// Open fails in this build. The error wraps ErrNoLibrary.
func Open(path string) (*Library, error) {
	_, err := dl.Open(path, false)
	return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
}

// Load fails in this build.
func (l *Library) Load(Options) (*Session, error) { return nil, ErrNoLibrary }

// Run fails in this build.
func (s *Session) Run(context.Context, []Tensor, []int, Place) error { return ErrClosed }

// Close has nothing to do in this build.
func (s *Session) Close() error { return ErrClosed }
