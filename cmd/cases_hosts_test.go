package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/check"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestCasesHosts holds preflight against the verdict of every host description:
// the status and the roots of each check, overall and exit; and facts against
// every value of its facts block.
func TestCasesHosts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(casesFolder("hosts"), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no host descriptions in %s: %v", casesFolder("hosts"), err)
	}
	passed, judged := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := host.LoadDescription(filepath.Base(file), data)
		if err != nil {
			t.Fatal(err)
		}
		misses := append(verdictMisses(d.Verdict, preflight(t, file, d), &judged), factMisses(d.Facts, look(t, file, d))...)
		for _, m := range misses {
			t.Errorf("%s: %s", d.ID, m)
		}
		if len(misses) == 0 {
			passed++
		}
	}
	fmt.Printf("%d verdicts judged\n", judged)
	fmt.Printf("passed %d of %d\n", passed, len(files))
}

// preflight is preflight --host replay:FILE -o json: a description is judged
// for the target it names.
func preflight(t *testing.T, file string, d *host.Description) []report.Finding {
	t.Helper()
	got := answer(t, -1, append([]string{"preflight", "--host", "replay:" + file, "-o", "json"}, reach(d)...)...)
	var doc struct {
		Hosts []struct {
			Overall  string
			Exit     int
			Findings []report.Finding
		}
	}
	decode(t, got, &doc)
	overall, exit := check.Overall(doc.Hosts[0].Findings)
	if string(overall) != doc.Hosts[0].Overall || int(exit) != doc.Hosts[0].Exit || got["exit status"] != int(exit) {
		t.Errorf("%s: says overall %s exit %d and ends with %v, its findings say %s %d", d.ID, doc.Hosts[0].Overall, doc.Hosts[0].Exit, got["exit status"], overall, exit)
	}
	return doc.Hosts[0].Findings
}

// look is facts --host replay:FILE -o json.
func look(t *testing.T, file string, d *host.Description) *facts.Facts {
	t.Helper()
	var doc struct {
		Hosts []struct{ Facts *facts.Facts }
	}
	decode(t, answer(t, 0, append([]string{"facts", "--host", "replay:" + file, "-o", "json"}, reach(d)...)...), &doc)
	return doc.Hosts[0].Facts
}

// reach names the hosts that the description can answer for, as a person does.
func reach(d *host.Description) (args []string) {
	for name := range d.Facts.Reachable {
		args = append(args, "--reach", name)
	}
	return args
}

func decode(t *testing.T, from map[string]any, into any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func verdictMisses(want host.Verdict, got []report.Finding, judged *int) (misses []string) {
	by := map[string]report.Finding{}
	for _, f := range got {
		by[f.ID] = f
	}
	for _, w := range want.Checks {
		*judged++
		if f := by[w.ID]; !slices.Contains(w.Status, string(f.Status)) || !slices.Equal(w.Because, f.Because) {
			misses = append(misses, fmt.Sprintf("%s: want %s because %v (%s), got %s because %v: %+v",
				w.ID, strings.Join(w.Status, "|"), w.Because, w.Why, f.Status, f.Because, f.Evidence))
		}
	}
	if overall, exit := check.Overall(got); string(overall) != want.Overall || int(exit) != want.Exit {
		misses = append(misses, fmt.Sprintf("want overall %s exit %d, got %s %d", want.Overall, want.Exit, overall, exit))
	}
	return misses
}

// factMisses compares every value of a facts block with what was found.
func factMisses(want host.PlainFacts, f *facts.Facts) (misses []string) {
	is := func(want any, at ...string) {
		if got, _ := f.Lookup(at...); fmt.Sprint(got) != fmt.Sprint(want) {
			misses = append(misses, fmt.Sprintf("facts.%s: want %v, got %v", strings.Join(at, "."), want, got))
		}
	}
	for key, w := range map[string]string{"arch": want.Arch, "kernel": want.Kernel, "glibc": want.Glibc, "virt": want.Virt,
		"sandbox": want.Sandbox, "python": want.Python} {
		if w != "" {
			is(w, key)
		}
	}
	if want.PageSize > 0 {
		is(want.PageSize, "page_size")
	}
	if want.TorchABI != nil {
		is(*want.TorchABI, "torch_cxx11_abi")
	}
	for m, there := range want.PythonStdlib {
		is(there, "python_stdlib", m)
	}
	for p, v := range want.PythonPackages {
		is(v, "python_packages", p)
	}
	for h, r := range want.Reachable {
		is(r == "true", "reachable", h)
	}
	if want.BootTime != nil {
		is(want.BootTime.UTC().Format(time.RFC3339), "boot_time")
	}
	return append(misses, typedMisses(want, f)...)
}

// typedMisses compares the values whose shape differs.
func typedMisses(want host.PlainFacts, f *facts.Facts) (misses []string) {
	miss := func(name string, want, got any) {
		misses = append(misses, fmt.Sprintf("facts.%s: want %v, got %v", name, want, got))
	}
	if p := want.Identity; p != nil {
		id := facts.Identity{UID: p.UID, GID: p.GID, User: p.User, Home: p.Home}
		for _, g := range p.Groups {
			id.Groups = append(id.Groups, facts.Group{Name: g.Name, GID: g.GID})
		}
		if d := cmp.Diff(id, f.Identity.Value); d != "" {
			miss("identity", "", d)
		}
	}
	if u := want.Ulimits; u != nil {
		for name, pair := range map[string][2]string{"nofile": {u.Nofile, f.Limits.Value.NoFile.String()},
			"memlock_kb": {u.MemlockKB, f.Limits.Value.MemlockKB.String()}, "core": {u.Core, f.Limits.Value.Core.String()}} {
			if pair[0] != "" && pair[0] != pair[1] {
				miss("ulimits."+name, pair[0], pair[1])
			}
		}
	}
	for _, m := range want.Mounts {
		if got, ok := mounted(f, m.Path); !ok || !sameMount(m, got) {
			miss("mounts "+m.Path, m, got)
		}
	}
	for _, n := range want.ToolsPresent {
		if f.Tools.Value[n] == "" {
			miss("tools_present", n, f.Tools.Value[n])
		}
	}
	for _, n := range want.ToolsAbsent {
		if where, asked := f.Tools.Value[n]; !asked || where != "" {
			miss("tools_absent", n, where)
		}
	}
	if h := want.Hostname; h != nil && !cmp.Equal(facts.Hostname{Name: h.Name, Resolves: h.Resolves}, f.Hostname.Value) {
		miss("hostname", *h, f.Hostname.Value)
	}
	var ports []int
	for _, p := range f.Listening.Value {
		ports = append(ports, p.Port)
	}
	for _, p := range want.Listening {
		if !slices.Contains(ports, p.Port) {
			miss("listening", p.Port, ports)
		}
	}
	if slices.Equal(want.PkgLock, host.Lines{"free"}) && (!f.Locks.Known() || len(f.Locks.Value) > 0) {
		miss("pkg_lock", "free", f.Locks)
	}
	return misses
}

func mounted(f *facts.Facts, at string) (facts.Disk, bool) {
	for _, d := range f.Disks {
		if d.Value.Mount == at {
			return d.Value, true
		}
	}
	return facts.Disk{}, false
}

func sameMount(want host.Mount, got facts.Disk) bool {
	is := func(w *int64, g int64) bool { return w == nil || *w == g }
	return is(want.TotalKB, got.TotalKB) && is(want.UsedKB, got.UsedKB) && is(want.AvailKB, got.AvailKB) &&
		is(want.Inodes, got.Inodes) && is(want.IFree, got.IFree) && want.RO == got.ReadOnly && want.NoExec == got.NoExec
}
