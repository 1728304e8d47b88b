package fakeacl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ort"
)

// onnxruntime is the library that models compute with: the one
// ASCENDCTL_ORT_LIB names, else what `make deps` fetched.
func onnxruntime(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("ASCENDCTL_ORT_LIB"); named != "" {
		return named
	}
	s := ort.Searcher{Arch: runtime.GOARCH, Getenv: os.Getenv, Glob: filepath.Glob}
	var err error
	if s.Cache, err = filepath.Abs("../../.cache/ort"); err != nil {
		t.Fatal(err)
	}
	found, tried := ort.Search(s)
	if dir, err := os.UserCacheDir(); err == nil && found.How == ort.Loader {
		s.Cache = filepath.Join(dir, "ascendctl")
		found, _ = ort.Search(s)
	}
	if found.How == ort.Loader {
		t.Fatalf("no ONNX Runtime in %s; run: make deps", strings.Join(tried, ", "))
	}
	return found.File
}

// TestRowsOfTheRealLibrary plays every row of facts/acl.md section 9.
func TestRowsOfTheRealLibrary(t *testing.T) {
	lib, files := Build(t, Options{Profile: Split}), modelFiles(t)
	seen := map[string]bool{}
	for _, s := range scripts(t, "rows.txt") {
		seen[s.id] = true
		if s.id == "1" { // TestWithoutTheDriversLibrary plays it
			continue
		}
		t.Run(s.id+" "+s.name, func(t *testing.T) {
			t.Parallel()
			p := s.play(t, lib, files)
			if err := s.judge(p); err != nil {
				t.Errorf("rows.txt:%d: %v\n%s", s.line, err, strings.Join(p.violations, "\n"))
			}
		})
	}
	if len(seen) != 90 {
		t.Errorf("%d rows, the table has 80 and 6 below it, and 4 more were run", len(seen))
	}
}

// TestWithoutTheDriversLibrary is row 1: the loader's own words.
func TestWithoutTheDriversLibrary(t *testing.T) {
	lib := Build(t, Options{Profile: Split, NoDriver: true})
	out, err := exec.Command(lib.Play, lib.Files...).CombinedOutput()
	if want := "libascend_hal.so: cannot open shared object file: No such file or directory"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

// TestTextGrowsByTheSameEachTime is the rest of row 37: 420 to 490 bytes more.
func TestTextGrowsByTheSameEachTime(t *testing.T) {
	lib, files := Build(t, Options{Profile: Split}), modelFiles(t)
	s := &script{face: "F"}
	for range 3 {
		s.add("text => *")
	}
	p := s.play(t, lib, files)
	first, second, third := len(p.lines[0]), len(p.lines[1]), len(p.lines[2])
	if grow := second - first; third-second != grow || grow < 420 || grow > 490 {
		t.Errorf("lengths %d, %d, %d", first, second, third)
	}
}

// TestRealFiles asks for the sizes of two files of real compilers (row 53), and
// loads one that names a chip the library no longer knows (row 65). The files
// lie outside the repository: where they are not, only CI=true insists.
func TestRealFiles(t *testing.T) {
	shared := os.Getenv("ASCENDCTL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "fixtures", "models")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the model files must be there with CI=true: %v", err)
		}
		fmt.Printf("TestRealFiles is passed over: %v\n", err)
		return
	}
	s := &script{face: "F"}
	s.adds("!up", "aclmdlQuerySize 'a3c_pong.om' &w &v", "print $w => 90624", "print $v => 320000", "load 'vae_mnist_310.om' m",
		"aclmdlQuerySizeFromMem $m $m.n &w &v", "print $w => 6014464", "print $v => 386560", "aclmdlLoadFromMem $m $m.n &id => 500002", "text => ~(EE1011)",
		"d = aclmdlCreateDesc", "aclmdlGetDescFromFile $d 'a3c_pong.om'", "val aclmdlGetNumInputs $d => 0")
	if err := s.judge(s.play(t, Build(t, Options{Profile: Split}), dir)); err != nil {
		t.Error(err)
	}
}
