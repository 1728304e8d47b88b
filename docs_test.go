package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmesHaveOneOutline: both READMEs have the same headings by level, the
// same tables, the same code blocks and the same links.
func TestReadmesHaveOneOutline(t *testing.T) {
	en, zh := outline(t, "README.md"), outline(t, "docs/README.zh.md")
	if !slices.Equal(en, zh) {
		t.Errorf("the outlines differ:\n%s\n\n%s", strings.Join(en, "\n"), strings.Join(zh, "\n"))
	}
	if len(en) < 10 {
		t.Errorf("only %d parts: the walk is broken", len(en))
	}
}

var comment = regexp.MustCompile(` +#.*`)

func outline(t *testing.T, name string) (parts []string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fenced := false
	for _, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			parts = append(parts, "fence")
		case fenced && strings.HasPrefix(line, "$ "):
			parts = append(parts, comment.ReplaceAllString(line, ""))
		case fenced:
		case strings.HasPrefix(line, "#"):
			parts = append(parts, strings.SplitN(line, " ", 2)[0])
		case strings.HasPrefix(line, "|"):
			parts = append(parts, "row of "+string(rune('0'+strings.Count(line, " | ")+1)))
		}
	}
	return parts
}
