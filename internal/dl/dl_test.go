//go:build cgo && linux

package dl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenTellsTheFileReallyLoaded(t *testing.T) {
	for name, sym := range map[string]string{"libc.so.6": "strlen", "libm.so.6": "cos"} {
		for _, global := range []bool{false, true} {
			lib, err := Open(name, global)
			if err != nil {
				t.Fatal(err)
			}
			if !filepath.IsAbs(lib.File) || !strings.HasPrefix(filepath.Base(lib.File), name[:4]) {
				t.Errorf("%s: loaded file %q is not an absolute path of it", name, lib.File)
			}
			if _, err := os.Stat(lib.File); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if p, err := lib.Sym(sym); err != nil || p == nil {
				t.Errorf("%s: symbol %s: %v, %v", name, sym, p, err)
			}
		}
	}
}

func TestRelativePathBecomesAbsolute(t *testing.T) {
	// Not libm: the loader knows that one already and would give the name it
	// had first. A copy is another file to it.
	libm, err := Open("libm.so.6", false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(libm.File)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("copy of m.so", b, 0o755); err != nil {
		t.Fatal(err)
	}
	lib, err := Open("./copy of m.so", false)
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.Abs("copy of m.so")
	if err != nil {
		t.Fatal(err)
	}
	if lib.File != want {
		t.Errorf("got %q, want %q", lib.File, want)
	}
}

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library at all, but long enough for a header: "+strings.Repeat("x", 4096)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, says string }{
		{"a missing file", "/nowhere/libnothing.so", "/nowhere/libnothing.so: cannot open shared object file"},
		{"a missing bare name", "libnothing-of-ascendctl.so", "libnothing-of-ascendctl.so: cannot open"},
		{"a file that is no ELF", text, "invalid ELF header"},
		{"a folder", t.TempDir(), "cannot read file data"},
		{"the empty name", "", `"" is no library name`},
		{"a name with a zero byte", "libc.so.6\x00.so", "is no library name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib, err := Open(c.path, false)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v; want an *Error", lib, err)
			}
			if e.Path != c.path || !strings.Contains(e.Detail, c.says) {
				t.Errorf("got path %q, %q; want it to say %q", e.Path, e.Detail, c.says)
			}
		})
	}
}

func TestMissingSymbolIsNamed(t *testing.T) {
	lib, err := Open("libm.so.6", false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := lib.Sym("not_a_symbol_of_m")
	var e *Error
	if !errors.As(err, &e) || p != nil || !strings.Contains(e.Detail, "not_a_symbol_of_m") {
		t.Errorf("got %v, %v", p, err)
	}
}
