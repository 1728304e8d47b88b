package hub_test

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/hub"
)

func rows(t *testing.T) []hub.Package {
	t.Helper()
	rows, err := book.Rows[hub.Package](book.New(book.Layer{Name: "compat", FS: compat.FS}), "packages.yaml", "onnxruntime")
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestShippedRowsCoverBothArchitecturesByBothCarriers(t *testing.T) {
	have := map[string]bool{}
	for _, p := range rows(t) {
		have[p.Carrier+" "+p.Arch] = true
		if p.Licence != "MIT" || !strings.HasPrefix(p.Libc, "GLIBC_2.") || !strings.HasPrefix(p.Libstdcxx, "GLIBCXX_3.4.") {
			t.Errorf("%s: licence %q, libc %q, libstdcxx %q", p.ID, p.Licence, p.Libc, p.Libstdcxx)
		}
	}
	for _, want := range []string{"pypi amd64", "pypi arm64", "npm amd64", "npm arm64"} {
		if !have[want] {
			t.Errorf("no row for %s", want)
		}
	}
}

// The real tools with the caller's own configuration, every shipped row.
func TestFetchWithRealPip(t *testing.T) { fetchAll(t, "pypi", "pip ") }
func TestFetchWithRealNpm(t *testing.T) { fetchAll(t, "npm", "npm ") }

func fetchAll(t *testing.T, carrier, tool string) {
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	ran := 0
	for _, p := range rows(t) {
		if p.Carrier != carrier {
			continue
		}
		ran++
		t.Run(p.ID, func(t *testing.T) {
			o := hub.Options{Rows: []hub.Package{p}, Cache: t.TempDir(), OS: "linux", Arch: p.Arch, Exec: run, LookPath: exec.LookPath}
			r, err := hub.Fetch(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Already || !strings.HasPrefix(r.Carrier, tool) {
				t.Errorf("%+v", r)
			}
			f, err := elf.Open(r.File)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			symbols, err := f.DynamicSymbols()
			if err != nil || f.Machine != machines[p.Arch] {
				t.Errorf("machine %v, %v", f.Machine, err)
			}
			exported := false
			for _, s := range symbols {
				exported = exported || s.Name == "OrtGetApiBase" && s.Section != elf.SHN_UNDEF
			}
			if !exported {
				t.Error("OrtGetApiBase is not exported")
			}
			needs(t, f, p)
			again, err := hub.Fetch(t.Context(), o)
			if err != nil || !again.Already {
				t.Errorf("the second time: %+v %v", again, err)
			}
		})
	}
	if ran == 0 {
		t.Fatalf("no row of %s", carrier)
	}
}

// needs holds libc and libstdcxx of the row against the library.
func needs(t *testing.T, f *elf.File, p hub.Package) {
	t.Helper()
	libraries, err := f.DynamicVersionNeeds()
	if err != nil {
		t.Fatal(err)
	}
	newest := map[string][]int{}
	for _, l := range libraries {
		for _, need := range l.Needs {
			kind, version, _ := strings.Cut(need.Dep, "_")
			var v []int
			for part := range strings.SplitSeq(version, ".") {
				n, _ := strconv.Atoi(part)
				v = append(v, n)
			}
			if slices.Compare(v, newest[kind]) > 0 {
				newest[kind] = v
			}
		}
	}
	for kind, want := range map[string]string{"GLIBC": p.Libc, "GLIBCXX": p.Libstdcxx} {
		got := kind + "_" + strings.ReplaceAll(strings.Trim(fmt.Sprint(newest[kind]), "[]"), " ", ".")
		if got != want {
			t.Errorf("the library asks for %s, the row says %s", got, want)
		}
	}
}

func run(ctx context.Context, c hub.Command) ([]byte, int, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return out, status.ExitCode(), nil
	}
	return out, 0, err
}
