//go:build cgo && linux

package acl

/*
#include <stdlib.h>
#include "acl_abi.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ascendctl/ascendctl/internal/dl"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Supported tells whether this build can load ACL at all.
const Supported = true

// Library is the loaded and initialised ACL, one in a process.
type Library struct {
	Files   []string // really loaded
	Layout  string   // Whole or Split
	Version string   // of the ACL API: "1.16.0"; "" where it is not told
	Lacks   []string // optional functions that this release does not have
	// Simulated is true for the double of the tests; every output must say so.
	Simulated bool
	// Owned is false when somebody else in the process initialised ACL first.
	Owned bool

	explain Explain
	desk    *Lane // a thread without a device, for calls that need none
	copied  struct{ in, out, device, host, calls atomic.Int64 }

	mu     sync.Mutex
	lanes  int
	closed bool

	foreign sync.Mutex // held while code that may change signal handlers runs
	changed uint64
}

// Open loads the ACL libraries and initialises ACL. It gets every required
// function or nothing. Loading runs foreign code: constructors of CANN install
// signal handlers, so the environment is told not to, and what changed is put
// back. It belongs at the start of a process that has no other work yet.
// The error wraps ErrNoLibrary, mostly as a *report.Problem, or is an *Error.
func Open(o Options) (*Library, error) {
	if C.acl_claim() == 0 {
		return nil, fmt.Errorf("%w: this process has loaded one already", ErrNoLibrary)
	}
	l := &Library{explain: o.Explain}
	if err := l.open(o); err != nil {
		C.acl_release()
		return nil, err
	}
	return l, nil
}

func (l *Library) open(o Options) error {
	// Read by constructors through C getenv; os.Setenv with cgo sets that too.
	if err := os.Setenv("ASCEND_COREDUMP_SIGNAL", "none"); err != nil {
		return fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	if err := l.load(o.Search); err != nil {
		return err
	}
	l.lacking()
	nothing := func(*Thread) error { return nil }
	desk, err := l.start(nothing, nothing)
	if err != nil {
		return err
	}
	l.desk = desk
	err = l.keepSignals(func() error { return l.initialise(o.Config) })
	if err != nil {
		desk.stop()
	}
	return err
}

// load tries the layouts. The first failure is told: it is about the files that
// should have been used.
func (l *Library) load(found Found) (first error) {
	for _, paths := range found.Layouts {
		err := l.keepSignals(func() error { return l.bind(paths) })
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("%w: no file named", ErrNoLibrary)
	}
	return first
}

func (l *Library) bind(paths []string) error {
	var handles []unsafe.Pointer
	var files []string
	simulated := false
	for _, p := range paths {
		lib, err := dl.Open(p, true)
		var d *dl.Error
		if errors.As(err, &d) {
			return unusable(p, d)
		}
		if err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(lib.File)
		if err != nil {
			real = lib.File
		}
		if isStub(lib.File) || isStub(real) {
			return refused(real,
				report.T("it is a stub for building, not a runtime", "该文件是编译用的桩库，不是运行时库"),
				report.T("put lib64 of CANN before devlib and stub in LD_LIBRARY_PATH", "在 LD_LIBRARY_PATH 中将 CANN 的 lib64 置于 devlib 和 stub 之前"))
		}
		if _, err := lib.Sym("fakeacl_is_simulated"); err == nil {
			simulated = true
		}
		files, handles = append(files, lib.File), append(handles, lib.Handle)
	}
	if missing := C.acl_bind(&handles[0], C.size_t(len(handles))); missing != nil {
		return refused(strings.Join(files, ", "),
			report.T("it lacks the function %s", "缺少函数 %s", C.GoString(missing)),
			report.T("name the lib64 folder of a complete CANN from 5.0 on", "指定 5.0 及以上完整 CANN 的 lib64 目录"))
	}
	l.Files, l.Simulated, l.Layout = files, simulated, Whole
	if len(files) > 1 {
		l.Layout = Split
	}
	return nil
}

func refused(file string, why, do report.Text) *report.Problem {
	return &report.Problem{
		What: report.T("%s cannot be used as ACL library", "%s 不能用作 ACL 库", file),
		Why:  why, Do: do, Run: "ascendctl preflight", Exit: report.ExitFailed, Err: ErrNoLibrary,
	}
}

// keepSignals runs foreign code and puts back the signal handlers it changed.
// One at a time: another look in between would take foreign handlers for ours.
func (l *Library) keepSignals(f func() error) error {
	l.foreign.Lock()
	defer l.foreign.Unlock()
	was := C.acl_signals_save()
	if was == nil {
		return f() // no memory for a look: the code that follows will say so
	}
	err := f()
	l.changed |= uint64(C.acl_signals_restore(was))
	return err
}

// Signals are those whose handlers the library changed. They were put back.
func (l *Library) Signals() (out []int) {
	l.foreign.Lock()
	defer l.foreign.Unlock()
	for n := 1; n <= 64; n++ {
		if l.changed>>(n%64)&1 == 1 {
			out = append(out, n)
		}
	}
	return out
}

func (l *Library) lacking() {
	var required, found C.int
	for row := C.size_t(0); ; row++ {
		name := C.acl_name(row, &required, &found)
		if name == nil {
			return
		}
		if found == 0 {
			l.Lacks = append(l.Lacks, C.GoString(name))
		}
	}
}

func (l *Library) initialise(config string) error {
	return l.desk.Do(context.Background(), func(t *Thread) error {
		var path *C.char
		if config != "" {
			path = C.CString(config)
			defer C.free(unsafe.Pointer(path))
		}
		err := t.check("aclInit", C.c_aclInit(t.self, path))
		l.Owned = err == nil
		// Somebody was first, which does no harm; it is counted all the same.
		if e := new(Error); errors.As(err, &e) && e.Code == CodeRepeatInit {
			err = nil
		}
		var v [3]C.int32_t
		if r := C.c_aclrtGetVersion(t.self, &v[0], &v[1], &v[2]); t.check("", r) == nil {
			l.Version = fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		}
		return err
	})
}

// count keeps the number of open lanes.
func (l *Library) count(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && n > 0 {
		return ErrClosed
	}
	l.lanes += n
	return nil
}

// Copied tells how many bytes the library's copy calls moved so far.
func (l *Library) Copied() Copied {
	c := &l.copied
	return Copied{In: c.in.Load(), Out: c.out.Load(), Device: c.device.Load(), Host: c.host.Load(), Calls: c.calls.Load()}
}

// Do runs f on a thread without a device, for what needs none: Devices, Soc,
// Need.
func (l *Library) Do(f func(*Thread) error) error { return l.desk.Do(context.Background(), f) }

// Close ends ACL. All lanes must be closed. Where another part of the process
// uses ACL too, only our own count is taken back.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.lanes > 0 {
		return fmt.Errorf("%w: %d lanes are open", ErrBusy, l.lanes)
	}
	l.closed = true
	err := l.desk.Do(context.Background(), func(t *Thread) error {
		var left C.uint64_t
		err := t.check("aclFinalizeReference", C.c_aclFinalizeReference(t.self, &left))
		if errors.Is(err, ErrMissing) {
			err = nil
			if l.Owned { // it would end ACL for everybody
				err = t.check("aclFinalize", C.c_aclFinalize(t.self))
			}
		}
		return err
	})
	l.desk.stop()
	C.acl_release()
	return err
}
