// Package dl opens shared libraries at run time. The foreign code a library
// runs while it is opened is kept off the threads of Go, and the file that was
// really loaded is told, because a bare name can end at any of several.
package dl

import "unsafe"

// Lib is an open library. It stays open for the life of the process: code of
// it may be running on threads of its own.
type Lib struct {
	Handle unsafe.Pointer // of dlopen
	File   string         // the file really loaded, absolute
}

// Error is a library or a symbol that could not be had.
type Error struct {
	Path   string
	Detail string // the loader's words, unchanged
}

func (e *Error) Error() string { return e.Detail }
