package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/cmd"
)

// TestShownLinesParse: every command of ours that the source, the README or
// the docs show must exist, with its flags.
func TestShownLinesParse(t *testing.T) {
	n := 0
	check := func(where, line string) {
		n++
		if err := cmd.ParseLine(line); err != nil {
			t.Errorf("%s: %s: %v", where, line, err)
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, name := range append(pages, "../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md") {
		for _, line := range pageLines(t, name) {
			check(name, line)
		}
	}
	for _, line := range sourceLines(t) {
		check("source", line)
	}
	if n < 20 {
		t.Fatalf("found %d lines: the walk is broken", n)
	}
	if cmd.ParseLine("ascendctl serve --frob") == nil || cmd.ParseLine("ascendctl fly") == nil {
		t.Error("a line that does not exist parses")
	}
}

// pageLines are the commands of ours that a page shows: whole lines, and spans
// of code in a sentence or a cell.
func pageLines(t *testing.T, name string) (out []string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		parts := []string{strings.TrimPrefix(strings.TrimSpace(line), "$ ")}
		for _, m := range span.FindAllStringSubmatch(line, -1) {
			parts = append(parts, strings.TrimPrefix(m[1], `eval "$(`))
		}
		for _, p := range parts {
			if m := shown.FindString(strings.TrimPrefix(p, "./")); m != "" {
				out = append(out, m)
			}
		}
	}
	return out
}

// span is code within a line.
var span = regexp.MustCompile("`([^`]+)`")

// shown is a line of ours up to where the shell takes over.
var shown = regexp.MustCompile(`^ascendctl [a-z-][^|>&;#()]*`)

// sourceLines are the literals that are whole command lines: examples and Run.
func sourceLines(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../internal/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := filepath.Glob("*.go")
	for _, name := range append(files, own...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, _ := strconv.Unquote(lit.Value); strings.HasPrefix(s, "ascendctl ") && !strings.ContainsAny(s, "%<") {
					if line := shown.FindString(s); line != "" {
						out = append(out, line)
					}
				}
			}
			return true
		})
	}
	return out
}
