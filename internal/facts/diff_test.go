package facts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
)

func factsOf(t *testing.T, file string) *Facts {
	t.Helper()
	h, _ := described(t, "../../testdata/cases/hosts/"+file+".yaml")
	f := Collect(t.Context(), h, knowledge(t))
	return &f
}

func TestAHostDoesNotDifferFromItself(t *testing.T) {
	for _, file := range caseFiles(t) {
		f := factsOf(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		compared := Diff(f, f)
		if len(compared) < 60 {
			t.Errorf("%s: only %d facts compared", file, len(compared))
		}
		for _, c := range compared {
			if c.Verdict == Differs {
				t.Errorf("%s: %s differs: %+v", file, c.Key, c)
			}
		}
	}
}

func TestDiffNamesWhatMattersFirst(t *testing.T) {
	good, bad := factsOf(t, "openeuler2203-910b3-healthy"), factsOf(t, "openeuler2203-910b3-healthy")
	bad.Firmware.Value.Version = "7.1.0.5.220"
	bad.CANN.Value.NNAL = nil
	bad.Swappiness.Value = 60
	bad.Packages.Value = map[string]string{"torch-npu": "2.1.0"}
	bad.Env.Value = map[string]string{"LD_LIBRARY_PATH": good.Env.Value["LD_LIBRARY_PATH"] + ":/home/ml/Ascend", "HOME": "/elsewhere"}
	bad.Driver = Fact[Driver]{State: host.Unknown, Note: "permission denied"}
	bad.Target, bad.Hostname.Value.Name = "other", "other"
	bad.NPUInfo.Value.Chips[0].PowerW = nil

	got := map[string]Verdict{}
	var differs []string
	for _, c := range Diff(good, bad) {
		got[c.Key] = c.Verdict
		if c.Verdict == Differs {
			differs = append(differs, c.Key)
		}
	}
	if len(differs) < 3 || differs[0] != "firmware" || differs[1] != "nnal" || differs[len(differs)-1] != "system swappiness" {
		t.Errorf("order %v; want firmware, nnal, ... , swappiness", differs)
	}
	for key, want := range map[string]Verdict{"driver": Unsure, "cann": Same, "python torch-npu": Differs, "python numpy": Differs,
		"env LD_LIBRARY_PATH": Differs, "env ASCEND_HOME_PATH": Differs, "kernel": Same, "env HOME": ""} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
}

func TestDiffAnswersBothWaysAlike(t *testing.T) {
	a, b := factsOf(t, "openeuler2203-910b3-healthy"), factsOf(t, "mixed-leftover-cann")
	there, back := Diff(a, b), Diff(b, a)
	if len(there) != len(back) {
		t.Fatalf("%d and %d facts", len(there), len(back))
	}
	for i := range there {
		if there[i].Key != back[i].Key || there[i].Verdict != back[i].Verdict || there[i].A != back[i].B {
			t.Errorf("%+v and %+v", there[i], back[i])
		}
	}
}

func TestShortPathsCountWhatTheyLeadTo(t *testing.T) {
	f := factsOf(t, "mixed-leftover-cann")
	for _, e := range f.Entries() {
		if e.Key == "env LD_LIBRARY_PATH" && !strings.HasPrefix(e.Short, "2 CANN") {
			t.Errorf("LD_LIBRARY_PATH of a host with leftovers: %q, want 2 CANN", e.Short)
		}
	}
}

func TestDriftFindsTheOddHost(t *testing.T) {
	a, b, c, d := factsOf(t, "openeuler2203-910b3-healthy"), factsOf(t, "openeuler2203-910b3-healthy"), factsOf(t, "openeuler2203-910b3-healthy"), factsOf(t, "openeuler2203-910b3-healthy")
	a.Target, b.Target, c.Target, d.Target = "npu01", "npu02", "npu03", "npu04"
	c.Driver.Value.Version = "23.0.rc2"
	d.Driver = Fact[Driver]{State: host.Unknown}
	drifts := Drifts([]*Facts{a, b, c, d})
	if len(drifts) != 1 {
		t.Fatalf("%+v, want the driver alone", drifts)
	}
	got := drifts[0]
	if got.Key != "driver" || got.Majority.Text != "24.1.rc3" || !slices.Equal(got.Has, []string{"npu01", "npu02"}) ||
		len(got.Others) != 1 || !slices.Equal(got.Others[0].Hosts, []string{"npu03"}) || !slices.Equal(got.Unsure, []string{"npu04"}) {
		t.Errorf("%+v", got)
	}
	if all := Drifts([]*Facts{a, b}); len(all) != 0 {
		t.Errorf("equal hosts drift: %+v", all)
	}
	if Drifts(nil) != nil {
		t.Error("an empty fleet drifts")
	}
}
