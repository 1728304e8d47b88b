//go:build !cgo || !linux

package dl

import "unsafe"

// Supported tells whether this build can open libraries at all.
const Supported = false

const none = "this build of ascendctl cannot open shared libraries: it was made without cgo or not for Linux"

// Open fails in this build. The error is an *Error.
func Open(path string, _ bool) (*Lib, error) { return nil, &Error{path, none} }

// Sym fails in this build. The error is an *Error.
func (l *Lib) Sym(string) (unsafe.Pointer, error) { return nil, &Error{l.File, none} }
