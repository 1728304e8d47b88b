package acl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// facts reads testdata/abi.txt, by kind.
func facts(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/abi.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "#" && kind != "" {
			out[kind] = append(out[kind], rest)
		}
	}
	return out
}

var signature = regexp.MustCompile(`^(core|opt) (.*?)(\w+)(\(.*\))$`)

// assertions turns the facts into C that compiles only where the header agrees.
func assertions(facts map[string][]string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`#include "acl_abi.h"`)
	for _, f := range facts["fn"] {
		m := signature.FindStringSubmatch(f)
		say(`_Static_assert(__builtin_types_compatible_p(__typeof__(&%s), %s (*)%s), "%s");`, m[3], m[2], m[4], m[3])
		say(`_Static_assert(__builtin_types_compatible_p(__typeof__(acl_t.%s), %s (*)%s), "%s");`, m[3], m[2], m[4], m[3])
	}
	for _, f := range facts["size"] {
		name, n, _ := strings.Cut(f, " ")
		say(`_Static_assert(sizeof(%s) == %s, "%s");`, name, n, name)
	}
	for _, f := range facts["at"] {
		field, n, _ := strings.Cut(f, " ")
		say(`_Static_assert(offsetof(%s) == %s, "%s");`, strings.Replace(field, ".", ", ", 1), n, field)
	}
	for _, f := range facts["value"] {
		name, n, _ := strings.Cut(f, " ")
		say(`_Static_assert(%s == %s, "%s");`, name, n, name)
	}
	return b.String()
}

// compile tells what a compiler says of C source; "" where it is content.
func compile(t *testing.T, cc, source string) string {
	t.Helper()
	cmd := exec.Command(cc, "-std=gnu11", "-ffreestanding", "-fsyntax-only", "-I.", "-xc", "-")
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

var compilers = []string{"gcc", "aarch64-linux-gnu-gcc"} // both are what .ci/deps installs

func TestHeaderIsTheVendorsABI(t *testing.T) {
	all := facts(t)
	for kind, least := range map[string]int{"fn": 100, "size": 15, "at": 14, "value": 36} {
		if len(all[kind]) < least {
			t.Fatalf("%d facts of kind %s, expected at least %d", len(all[kind]), kind, least)
		}
	}
	for _, cc := range compilers {
		if out := compile(t, cc, assertions(all)); out != "" {
			t.Errorf("%s: the header differs from the facts:\n%s", cc, out)
		}
	}
}

func TestABICheckSeesADifference(t *testing.T) {
	for _, c := range []struct{ name, kind, fact string }{
		{"another result", "fn", "core size_t aclrtFree(void *devPtr)"},
		{"another width", "fn", "core aclError aclrtSetDevice(int64_t deviceId)"},
		{"one parameter less", "fn", "core aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value)"},
		{"a function that is not there", "fn", "core aclError aclrtFreeAll(void)"},
		{"a size", "size", "aclmdlIODims 1152"},
		{"an offset", "at", "aclmdlIODims.dims 128"},
		{"a value", "value", "ACL_BF16 28"},
	} {
		for _, cc := range compilers {
			if out := compile(t, cc, assertions(map[string][]string{c.kind: {c.fact}})); !strings.Contains(out, "error") {
				t.Errorf("%s: %s: not noticed: %s", c.name, cc, out)
			}
		}
	}
}

// TestListHasEveryCoreFunction holds the list both ways: each required row is
// core in the facts and each core fact a required row.
func TestListHasEveryCoreFunction(t *testing.T) {
	header, err := os.ReadFile("acl_abi.h")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^  ([EZOVN])\((?:[\w *]+, )?(aclr?t?\w+)[,)]`)
	listed := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(header), -1) {
		tier := "core"
		if m[1] == "O" {
			tier = "opt"
		}
		listed[m[2]] = tier
	}
	for _, f := range facts(t)["fn"] {
		m := signature.FindStringSubmatch(f)
		if listed[m[3]] != m[1] {
			t.Errorf("%s: the list has it as %q, the facts as %q", m[3], listed[m[3]], m[1])
		}
		delete(listed, m[3])
	}
	for name := range listed {
		t.Errorf("%s has no row in the facts", name)
	}
	// Every constant of the header is checked too.
	body, _, _ := strings.Cut(string(header), "#define ACL_LIST")
	have := strings.Join(facts(t)["value"], "\n") + "\n"
	for _, name := range regexp.MustCompile(`\b(ACL_[A-Z0-9_]+) = `).FindAllStringSubmatch(body, -1) {
		if !strings.Contains(have, name[1]+" ") {
			t.Errorf("constant %s has no row in the facts", name[1])
		}
	}
}

// TestBindingCompilesForARM compiles the C half for the other architecture,
// where char is unsigned; the Go half is built for it by CI.
func TestBindingCompilesForARM(t *testing.T) {
	for _, cc := range compilers {
		cmd := exec.Command(cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-c", "-o", filepath.Join(t.TempDir(), "acl.o"), "acl.c")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cc, err, out)
		}
	}
}
