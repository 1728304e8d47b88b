// Package acl is AscendCL at run time: it finds the ACL libraries of CANN, opens
// them and calls them. Nothing of CANN is linked; the part of the ABI that is
// called stands in acl_abi.h and has been the same since CANN 5.0, so one
// binary works with every release.
//
// ACL keeps the current context and the text of the last failure per thread.
// So there is a Lane for each context: one OS thread that makes all calls of
// it. What a Lane lends out, the Thread, is the only way to call the library,
// and each call is compared with the thread it runs on.
package acl

import (
	"errors"
	"strings"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

var (
	// ErrNoLibrary is wrapped by every failure of Open: there is no such file,
	// it cannot be loaded, it is no ACL library, or this build cannot open any.
	ErrNoLibrary = errors.New("no usable ACL library")
	// ErrClosed is what a lane or a library answers after Close.
	ErrClosed = errors.New("the lane is closed")
	// ErrBusy is wrapped where work that was queued still uses the object.
	ErrBusy = errors.New("queued work still uses it")
	// ErrThread is wrapped where a Thread was used outside Do, or an object on
	// another lane than its own.
	ErrThread = errors.New("not the thread it belongs to")
	// ErrMissing is wrapped where this release of CANN lacks a function.
	ErrMissing = errors.New("this release of CANN lacks the function")
)

// The layouts of the libraries.
const (
	Whole = "whole" // libascendcl.so: up to 8.3, and as a compatibility package later
	Split = "split" // libacl_rt.so and libacl_mdl.so: from 8.5 on
)

// Options says what Open loads. Config is the file that aclInit reads, "" for
// none. Explain tells what a code means; nil leaves codes to their numbers.
type Options struct {
	Search  Found
	Config  string
	Explain Explain
}

// Copied counts tensor bytes that Copy and CopyAsync moved, by direction.
type Copied struct {
	In, Out, Device, Host int64 // host to device, device to host, on the device, on the host
	Calls                 int64
}

// Use is how busy a device is, in percent; -1 where the product does not tell.
type Use struct{ Cube, Vector, AICPU int }

// dtypes gives ACL's element types our words (source: aclDataType of the
// vendor's headers). Types that are missing here come as Undefined.
var dtypes = map[int]ascend.DType{
	0: ascend.Float, 1: ascend.Float16, 2: ascend.Int8, 3: ascend.Int32, 4: ascend.Uint8, 6: ascend.Int16, 7: ascend.Uint16,
	8: ascend.Uint32, 9: ascend.Int64, 10: ascend.Uint64, 11: ascend.Double, 12: ascend.Bool, 13: ascend.String,
	16: ascend.Complex64, 17: ascend.Complex128, 27: ascend.BFloat16, 29: ascend.Int4, 35: ascend.Float8E5M2, 36: ascend.Float8E4M3FN,
}

// isStub is true for the libraries that CANN brings for building only: they
// load and answer, but run nothing.
func isStub(file string) bool {
	return strings.Contains(file, "/devlib/") || strings.Contains(file, "/stub/")
}
