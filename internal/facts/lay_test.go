//go:build linux

package facts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// laidApart are the facts in which a laid host may differ from its description,
// and why. Each function brings both sides to what must be the same.
var laidApart = []struct {
	why  string
	trim func(want, got *Facts)
}{
	{"it is reached in another way", func(want, got *Facts) { got.Target = want.Target }},
	{"a description leaves open how a mount is made; whether it can be written and run from must be the same", func(want, got *Facts) {
		for _, f := range []*Facts{want, got} {
			for p, d := range f.Disks {
				d.Value.Options, d.Value.FSType = nil, ""
				f.Disks[p] = d
			}
		}
	}},
	{"sshd and the shell add variables of their own", func(want, got *Facts) {
		for _, k := range strings.Fields("USER LOGNAME HOME SHELL MAIL PWD OLDPWD SHLVL _ SSH_CLIENT SSH_CONNECTION") {
			if _, told := want.Env.Value[k]; !told {
				delete(got.Env.Value, k)
			}
		}
	}},
	{"the system's own accounts come with the base", func(want, got *Facts) {
		a, b := want.Accounts.Value, &got.Accounts.Value
		b.Users = b.Users[:min(len(a.Users), len(b.Users))]
		b.Groups = b.Groups[:min(len(a.Groups), len(b.Groups))]
	}},
	{"where a tool stands that a description only names", func(want, got *Facts) {
		for name, p := range want.Tools.Value {
			if q := got.Tools.Value[name]; p != "" && q != "" && name != "npu-smi" {
				got.Tools.Value[name] = p
			}
		}
	}},
	{"the door needs these where a fixture names none; the recorded lines of others make them tools", func(want, got *Facts) {
		for _, name := range strings.Fields("getent sudo curl openssl systemd-detect-virt timedatectl mokutil") {
			if want.Tools.Value[name] == "" {
				got.Tools.Value[name] = ""
			}
		}
	}},
	{"folders that every Unix has", func(want, got *Facts) {
		for _, p := range strings.Fields("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /usr/local/lib /usr/lib /lib") {
			if _, asked := want.Paths.Value[p]; asked {
				want.Paths.Value[p] = got.Paths.Value[p]
			}
		}
	}},
	{"a real python3 knows of modules that a description leaves out", func(want, got *Facts) {
		for name := range got.Python.Value.Modules {
			if _, told := want.Python.Value.Modules[name]; !told {
				delete(got.Python.Value.Modules, name)
			}
		}
	}},
	{"names follow the numbers of the description, and nobody promises the order of nodes", func(want, got *Facts) {
		for _, f := range []*Facts{want, got} {
			slices.SortFunc(f.Nodes.Value, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
		}
		for i, n := range want.Nodes.Value {
			if i < len(got.Nodes.Value) && strconv.Itoa(n.UID)+strconv.Itoa(n.GID) == n.Owner+n.Group {
				got.Nodes.Value[i].Owner, got.Nodes.Value[i].Group = n.Owner, n.Group
			}
		}
	}},
	{"it takes as long as it takes, at least what is described", func(want, got *Facts) {
		if got.NPUInfoMS.Value >= want.NPUInfoMS.Value {
			got.NPUInfoMS = want.NPUInfoMS
		}
	}},
}

// TestALaidHostGivesTheFactsOfItsDescription looks at every description twice:
// replayed, and laid behind a real sshd. What the description leaves open a
// host may know; everything else is the same but for laidApart.
func TestALaidHostGivesTheFactsOfItsDescription(t *testing.T) {
	for _, file := range caseFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := host.LoadDescription(file, data)
			if err != nil {
				t.Fatal(err)
			}
			o := knowledge(t)
			o.Serving, o.Reach = true, sortedKeys(d.Facts.Reachable)
			want := Collect(t.Context(), host.Replay(name, d), o)
			got := Collect(t.Context(), hosttest.Lay(t, d).Dial(t, ""), o)
			for _, a := range laidApart {
				a.trim(&want, &got)
			}
			same, open := sameFacts(t, want, got)
			t.Logf("%d facts the same, %d left open by the description: %s", same, len(open), strings.Join(open, " "))
			if same < 40 {
				t.Error("that is too few to have looked at the same host")
			}
		})
	}
}

// sameFacts compares what the description tells, and names what it leaves open.
func sameFacts(t *testing.T, want, got Facts) (same int, open []string) {
	t.Helper()
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		name := w.Type().Field(i).Name
		a, b := told(t, w.Field(i).Interface()), told(t, g.Field(i).Interface())
		if m, ok := a.(map[string]any); ok && leftOpen(m) {
			open = append(open, name)
			continue
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s (- described, + laid):\n%s", name, diff)
			continue
		}
		same++
	}
	return same, open
}

// leftOpen: not recorded, so nobody can say what the host would have answered.
func leftOpen(fact map[string]any) bool {
	note, _ := fact["note"].(string)
	return fact["state"] == string(host.Unknown) && slices.ContainsFunc([]string{host.ErrNotRecorded.Error(), "does not tell"},
		func(s string) bool { return strings.Contains(note, s) })
}

// told is a fact without the words about how it was learnt.
func told(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if m, ok := out.(map[string]any); ok && !leftOpen(m) {
		delete(m, "note")
		delete(m, "source")
	}
	return out
}
