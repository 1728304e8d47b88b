package install

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

var update = flag.Bool("update", false, "write the plans under testdata anew")

const hosts = "../../testdata/cases/hosts"

func ours() book.Layer { return book.Layer{Name: "compat", FS: compat.FS} }

func knowledge(t testing.TB) (*matrix.Matrix, *Data) {
	t.Helper()
	m, err := matrix.Load(ours())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(book.New(ours()))
	if err != nil {
		t.Fatal(err)
	}
	return m, d
}

// seen looks at a described host as install-cann does.
func seen(t testing.TB, name string) (*facts.Facts, host.State) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(hosts, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	desc, err := host.LoadDescription(name, data)
	if err != nil {
		t.Fatal(err)
	}
	b := book.New(ours())
	o := facts.Options{Disks: Want{}.Disks("")}
	if o.Chips, err = book.Rows[facts.Chip](b, "soc.yaml", "pci"); err != nil {
		t.Fatal(err)
	}
	if o.Boards, err = book.Rows[facts.Board](b, "soc.yaml", "boards"); err != nil {
		t.Fatal(err)
	}
	f := facts.Collect(context.Background(), host.Replay(desc.ID, desc), o)
	root := host.Absent
	if desc.Login.Sudo || f.Identity.Value.UID == 0 {
		root = host.Known
	}
	return &f, root
}

func described(t testing.TB) (names []string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(hosts, "*.yaml"))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".yaml"))
	}
	if len(names) < 10 {
		t.Fatalf("%d host descriptions", len(names))
	}
	return names
}

// wants are what the plans under testdata were made for.
func wants() map[string]Want {
	return map[string]Want{
		"":                               {},
		"vllm-ascend 0.23.0":             {For: "vllm-ascend@0.23.0", With: []string{"vllm-ascend"}},
		"cann 8.3.RC1":                   {CANN: "8.3.RC1", With: []string{"torch_npu"}},
		"user, cann 8.5.0":               {CANN: "8.5.0", User: true},
		"provider, cann 8.1.RC1, docker": {CANN: "8.1.RC1", Managed: []string{"driver", "firmware"}, DockerRuntime: "latest"},
	}
}

// spelt writes a set as the screen would tell it: what stays, what runs, what
// is refused.
func spelt(s *Set, err error) string {
	var b bytes.Buffer
	if err != nil {
		fmt.Fprintf(&b, "  error: %v\n", err)
		return b.String()
	}
	fmt.Fprintf(&b, "  %s\n", s.Plan.Title.En)
	for _, k := range s.Keep {
		fmt.Fprintf(&b, "  keep %s %s: %s\n", k.Part, k.Version, k.Why.En)
	}
	for _, st := range s.Plan.Steps {
		fmt.Fprintf(&b, "  do %s [%s]\n", st.ID, st.Risk)
		for _, a := range st.Do {
			switch a := a.(type) {
			case plan.Command:
				if len(a.Argv) == 0 && a.Undo[0] != "rm" {
					fmt.Fprintf(&b, "     undo %s\n", report.Line(a.Undo...))
				} else if len(a.Argv) > 0 && !a.Always {
					fmt.Fprintf(&b, "     %s\n", report.Line(append(a.Env, a.Argv...)...))
				}
			case plan.Upload:
				fmt.Fprintf(&b, "     upload %s\n", a.From)
			case plan.Link:
				fmt.Fprintf(&b, "     link %s -> %s\n", a.Path, a.Target)
			}
		}
	}
	for _, f := range s.Findings {
		if f.Status != report.Pass {
			fmt.Fprintf(&b, "  %s %s: %s\n", f.Status, f.ID, f.Evidence[0].Seen.En)
		}
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "  note %s\n", n.En)
	}
	return b.String()
}

// TestPlansOfDescribedHosts holds ids and command lines of a few wants on every
// described host to what stands under testdata.
func TestPlansOfDescribedHosts(t *testing.T) {
	m, d := knowledge(t)
	plans := 0
	for _, name := range described(t) {
		var b bytes.Buffer
		f, root := seen(t, name)
		for _, want := range sorted(wants()) {
			w := wants()[want]
			w.Elevate = root
			fmt.Fprintf(&b, "want: %s\n", want)
			b.WriteString(spelt(Steps(w, f, m, d)))
			plans++
		}
		file := filepath.Join("testdata/plans", name+".txt")
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(golden), b.String()); diff != "" {
			t.Errorf("%s (run go test ./internal/install -run Described -update when it should be so):\n%s", name, diff)
		}
	}
	t.Logf("%d plans", plans)
}

func sorted[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
