package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkVersionStart measures `version` against a program that imports the
// same packages and does nothing, interleaved in one run: medians in ms and
// their ratio.
func BenchmarkVersionStart(b *testing.B) {
	dir := b.TempDir()
	product, control := filepath.Join(dir, "ascendctl"), filepath.Join(dir, "control")
	buildFor(b, "..", product)
	buildFor(b, controlProgram(b), control)
	pairUp(b, "version", []string{product, "version"}, "control", []string{control})
}

// BenchmarkCompatStart measures `compat check` of a stack with every part that
// people pin against `version`: what reading the matrix costs. Bound: 2.
func BenchmarkCompatStart(b *testing.B) {
	product := filepath.Join(b.TempDir(), "ascendctl")
	buildFor(b, "..", product)
	pairUp(b, "compat", []string{product, "compat", "check", "chip=910B3", "driver=25.5.2", "cann=9.0.0", "torch=2.10.0",
		"torch_npu=2.10.0", "vllm_ascend=0.20.2rc1", "python=3.11"}, "version", []string{product, "version"})
}

// pairUp runs two commands in turn, at least 40 times, and reports the median
// of each in ms and the ratio of the first to the second.
func pairUp(b *testing.B, name string, argv []string, otherName string, other []string) {
	b.Helper()
	var ours, theirs []time.Duration
	b.ResetTimer()
	for range max(b.N, 40) {
		ours = append(ours, startUp(b, argv...))
		theirs = append(theirs, startUp(b, other...))
	}
	a, c := median(ours), median(theirs)
	b.ReportMetric(float64(a.Microseconds())/1000, name+"-ms")
	b.ReportMetric(float64(c.Microseconds())/1000, otherName+"-ms")
	b.ReportMetric(float64(a)/float64(c), "ratio")
	b.ReportMetric(0, "ns/op")
}

func buildFor(b *testing.B, pkg, out string) {
	b.Helper()
	if text, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
}

// controlProgram is a main that imports every public package the product
// links, and nothing of the project.
func controlProgram(b *testing.B) string {
	b.Helper()
	list, err := exec.Command("go", "list", "-deps", "..").Output()
	if err != nil {
		b.Fatal(err)
	}
	var src strings.Builder
	src.WriteString("package main\n\nimport (\n")
	for _, p := range strings.Fields(string(list)) {
		private := strings.Contains("/"+p+"/", "/internal/") || strings.HasPrefix(p, "vendor/") || strings.HasPrefix(p, "github.com/ascendctl/")
		if !private && p != "C" && p != "unsafe" {
			fmt.Fprintf(&src, "\t_ %q\n", p)
		}
	}
	src.WriteString(")\n\nfunc main() {}\n")
	// Below the module, so that its go.mod answers for the imports; a folder
	// that begins with _ is no package of it.
	dir, err := os.MkdirTemp(".", "_control")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(src.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	return file
}

func startUp(b *testing.B, argv ...string) time.Duration {
	b.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	start := time.Now()
	if err := c.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
