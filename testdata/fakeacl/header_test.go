package fakeacl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/dl"
)

// TestHeaderAgainstTheFacts compares every prototype of the double's header
// with the list of ABI facts, and looks that no core function is missing. The
// list lies outside the repository: where it is not, only CI=true insists.
func TestHeaderAgainstTheFacts(t *testing.T) {
	shared := os.Getenv("ASCENDCTL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	facts, err := os.ReadFile(filepath.Join(shared, "facts", "acl.md"))
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the facts must be there with CI=true: %v", err)
		}
		fmt.Printf("TestHeaderAgainstTheFacts is passed over: %v\n", err)
		return
	}
	header, err := os.ReadFile(filepath.Join("c", "acl.h"))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]*?(acl\\w+)\\([^`]*\\))` \\| ([^|]*)\\| (\\w*)").FindAllStringSubmatch(string(facts), -1) {
		said[m[2]] = m[1]
		if m[4] == "core" && !strings.Contains(string(header), m[2]+"(") {
			t.Errorf("the double lacks %s", m[2])
		}
	}
	compared := 0
	for line := range strings.Lines(string(header)) {
		line = strings.TrimSuffix(line, ";\n")
		before, _, ok := strings.Cut(line, "(")
		name := before[strings.LastIndexAny(before, " *")+1:]
		if !ok || said[name] == "" || !strings.HasPrefix(name, "acl") || strings.HasPrefix(line, "typedef") {
			continue
		}
		compared++
		if line != said[name] {
			t.Errorf("the header says %q, the facts %q", line, said[name])
		}
	}
	if compared < 140 {
		t.Errorf("%d prototypes compared", compared)
	}
}

// TestLabelledAsSimulated: the symbol the product looks for says what it is,
// and a library of an old release lacks what came later.
func TestLabelledAsSimulated(t *testing.T) {
	for _, profile := range []string{Old, Split} {
		lib := Build(t, Options{Profile: profile})
		text, err := os.ReadFile(lib.Files[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), Symbol) || !strings.Contains(string(text), "no NPU is used") {
			t.Errorf("%s: no label in %s", profile, lib.Files[0])
		}
		if got := len(lib.Missing); (profile == Old) != (got > 20) {
			t.Errorf("%s: %d functions left out", profile, got)
		}
	}
}

// TestGoSurvivesTheLoad opens the double as the product does, on a thread that
// ends: Go's own handling of a nil pointer must still work.
func TestGoSurvivesTheLoad(t *testing.T) {
	t.Setenv("ASCEND_COREDUMP_SIGNAL", "none")
	lib, err := dl.Open(Build(t, Options{Profile: Split}).Front, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Symbol, "aclInit", "aclmdlExecuteAsync", "aclrtMalloc"} {
		if _, err := lib.Sym(name); err != nil {
			t.Errorf("through the front library: %v", err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil pointer did not panic")
		}
	}()
	var nothing *Event
	t.Log(nothing.Name)
}
