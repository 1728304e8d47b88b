package matrix_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
)

var update = flag.Bool("update", false, "write compat/matrix/matrix.bin anew from the YAML")

// yamlOnly is the embedded layer without its compact form.
func yamlOnly(t testing.TB) book.Layer {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(compat.FS, "matrix/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, n := range names {
		data, err := fs.ReadFile(compat.FS, n)
		if err != nil {
			t.Fatal(err)
		}
		files[n] = &fstest.MapFile{Data: data}
	}
	return book.Layer{Name: "compat", FS: files}
}

// TestCompactFormEqualsTheYAML: the file that loads fast says what the files
// that people edit say. With -update it is written anew.
func TestCompactFormEqualsTheYAML(t *testing.T) {
	slow, err := matrix.Load(yamlOnly(t))
	if err != nil {
		t.Fatal(err)
	}
	data, err := slow.Compact()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../compat/matrix/matrix.bin"
	if *update {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(kept, data) {
		t.Fatalf("%s is not of this YAML (%v): run go test ./internal/matrix -run TestCompact -update", file, err)
	}
	quick, err := matrix.Load(book.Layer{Name: "compat", FS: fstest.MapFS{"matrix/matrix.bin": &fstest.MapFile{Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range matrix.Sections() {
		a, errA := slow.Rows(section)
		b, errB := quick.Rows(section)
		if errA != nil || errB != nil || len(a) == 0 {
			t.Errorf("%s: %d rows, %v, %v", section, len(a), errA, errB)
		}
		for i := range a {
			if a[i].At == "" || i >= len(b) || b[i].At == "" {
				t.Fatalf("%s row %d has no place", section, i)
			}
			a[i].At, b[i].At = "", ""
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s: %s", section, d)
		}
	}
	if slow.DataDay != quick.DataDay || len(slow.DataDay) != 10 {
		t.Errorf("days %q and %q", slow.DataDay, quick.DataDay)
	}
}

// TestDamagedCompactFormsAreRefused: no cut, no changed byte makes it panic or
// take memory without bound.
func TestDamagedCompactFormsAreRefused(t *testing.T) {
	whole, err := os.ReadFile("../../compat/matrix/matrix.bin")
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 977 {
		readAll(whole[:n])
		changed := bytes.Clone(whole)
		changed[n] ^= 0xff
		readAll(changed)
	}
	if readAll(whole) != nil {
		t.Error("the whole file is refused")
	}
	if readAll(whole[:len(whole)-1]) == nil || readAll([]byte("acm0")) == nil || readAll(nil) == nil {
		t.Error("a damaged file is taken")
	}
}

func readAll(data []byte) error {
	m, err := matrix.Load(book.Layer{Name: "x", FS: fstest.MapFS{"matrix/matrix.bin": &fstest.MapFile{Data: data}}})
	if err != nil {
		return err
	}
	for _, section := range matrix.Sections() {
		if _, err := m.Rows(section); err != nil {
			return err
		}
	}
	return nil
}

func FuzzCompact(f *testing.F) {
	f.Add([]byte("acm12026-11-30\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("acm12026-11-30\x01\x00\x00\x00\x00\x01\x00\x00\x00x\x01\x00\x03\x01\x04\x00"))
	f.Fuzz(func(t *testing.T, data []byte) { _ = readAll(data) })
}
