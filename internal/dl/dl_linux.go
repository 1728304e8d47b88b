//go:build cgo && linux

package dl

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dl_job {
	const char *path;
	int flags;
	void *lib;
	char *file, err[1024];
} dl_job;

static void *dl_run(void *p) {
	dl_job *j = p;
	struct link_map *m;
	if (!(j->lib = dlopen(j->path, j->flags)))
		snprintf(j->err, sizeof j->err, "%s", dlerror());
	else if (!dlinfo(j->lib, RTLD_DI_LINKMAP, &m))
		j->file = strdup(m->l_name);
	return NULL;
}

// Constructors of a library may change the signal handlers' alternate stack of
// the thread that opens it; on a thread of Go that would be the end. So it is
// a thread of its own, gone afterwards.
static int dl_open(dl_job *j) {
	pthread_t t;
	int rc = pthread_create(&t, NULL, dl_run, j);
	return rc ? rc : pthread_join(t, NULL);
}

// dlerror is kept per thread, so both calls must be one call from Go.
static void *dl_sym(void *lib, const char *name, char *err, size_t n) {
	dlerror();
	void *p = dlsym(lib, name);
	if (!p) {
		const char *e = dlerror();
		snprintf(err, n, "%s", e ? e : "the symbol is null");
	}
	return p;
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"
)

// Supported tells whether this build can open libraries at all.
const Supported = true

// Open loads a library: a path, or a bare name that the loader searches for.
// global makes its symbols visible to libraries opened later (plugins of CANN
// need that). The error is an *Error.
func Open(path string, global bool) (*Lib, error) {
	// To dlopen the empty name is the program itself, and a zero byte ends the name.
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, &Error{path, fmt.Sprintf("%q is no library name", path)}
	}
	j := (*C.dl_job)(C.calloc(1, C.sizeof_dl_job))
	defer C.free(unsafe.Pointer(j))
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	j.path, j.flags = name, C.RTLD_NOW|C.RTLD_LOCAL
	if global {
		j.flags = C.RTLD_NOW | C.RTLD_GLOBAL
	}
	if rc := C.dl_open(j); rc != 0 {
		return nil, &Error{path, fmt.Sprintf("%s: no thread to open it on: error %d", path, int(rc))}
	}
	defer C.free(unsafe.Pointer(j.file))
	if j.lib == nil {
		return nil, &Error{path, C.GoString(&j.err[0])}
	}
	file := C.GoString(j.file)
	if file == "" {
		file = path
	}
	// The loader keeps a relative path as it was given.
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return &Lib{Handle: j.lib, File: file}, nil
}

// Sym finds a symbol. The error is an *Error.
func (l *Lib) Sym(name string) (unsafe.Pointer, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var text [512]C.char
	p := C.dl_sym(l.Handle, c, &text[0], C.size_t(len(text)))
	if p == nil {
		return nil, &Error{l.File, C.GoString(&text[0])}
	}
	return p, nil
}
