package install

import (
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestEveryWorkloadOfPreflightHasAPlan: what preflight takes after --for and
// suggests to install must be known here too.
func TestEveryWorkloadOfPreflightHasAPlan(t *testing.T) {
	m, d := knowledge(t)
	for workload, cann := range map[string]string{
		"vllm-ascend@0.23.0": "9.1.0", "mindie@2.2.RC1": "8.3.RC2", "mindspore@2.7.0": "8.2.RC1", "om": "",
		"sglang@0.5.9": "8.5.0", "sglang@0.5.8.post1": "8.5.0", "sglang": "", "torch@2.8.0": "", "torch": "", "mindie": "", "mindspore": "",
	} {
		f, root := seen(t, "ubuntu2204-a2-no-driver")
		s, err := Steps(Want{For: workload, Elevate: root}, f, m, d)
		if err != nil || cann != "" && s.Parts["cann"] != cann {
			t.Errorf("%s: %v", workload, err)
			continue
		}
		if name, version, ok := strings.Cut(workload, "@"); ok && name == "torch" && s.Parts["torch"] != version {
			t.Errorf("%s: torch %s", workload, s.Parts["torch"])
		}
	}
	f, _ := seen(t, "ubuntu2204-a2-no-driver")
	if _, err := Steps(Want{For: "sglang@9.9.9"}, f, m, d); err == nil {
		t.Error("a release of sglang that no row has was taken")
	}
}

// TestRefusalsNameTheLineThatGetsPastThem, and what could not be asked is not
// taken for none.
func TestRefusalsNameTheLineThatGetsPastThem(t *testing.T) {
	m, d := knowledge(t)
	const again = "ascendctl install-cann --host npu01"
	for _, c := range []struct {
		name, host, id, run string
		status              report.Status
		change              func(*facts.Facts, *Want)
	}{
		{"no root, the driver is there", "a3-16die-cann85", "install.root", again + " --user-install --dry-run", report.Fail, func(f *facts.Facts, w *Want) {
			f.Identity.Value.UID, w.Elevate = 1000, host.Absent
		}},
		{"no root and no driver", "ubuntu2204-a2-no-driver", "install.root", "", report.Fail, func(_ *facts.Facts, w *Want) { w.Elevate = host.Absent }},
		{"an unknown distribution", "ubuntu2204-a2-no-driver", "install.system", again + " --skip-os-packages --dry-run", report.Fail, func(f *facts.Facts, _ *Want) {
			f.OS.Value = facts.OS{ID: "plan9", Name: "Plan 9"}
		}},
		{"processes that nobody can see", "ubuntu2004-driver-too-old", "install.busy", "ascendctl top --host replay:x", report.Unknown, func(f *facts.Facts, w *Want) {
			f.Target, w.Elevate = "replay:x", host.Known
			f.Processes = facts.Fact[[]facts.Process]{State: host.Unknown, Note: "npu-smi gave no table"}
		}},
	} {
		f, root := seen(t, c.host)
		w := Want{Elevate: root, Again: again}
		c.change(f, &w)
		s, err := Steps(w, f, m, d)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := find(s.Findings, func(x report.Finding) bool { return x.ID == c.id })
		if found == nil || found.Status != c.status || found.Run != c.run {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}

// TestADriverThatIsInIsNotExchangedAgain: after the restart in the middle of a
// plan services may use the NPUs already.
func TestADriverThatIsInIsNotExchangedAgain(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "openeuler2203-910b3-healthy")
	f.Processes = facts.Fact[[]facts.Process]{State: host.Known, Value: []facts.Process{{PID: 7, Name: "python3"}}}
	for unfinished, refused := range map[bool]bool{false: true, true: false} {
		w := Want{CANN: "9.1.0", Elevate: host.Known, Unfinished: unfinished}
		g := *f
		if unfinished {
			g.Driver.Value.Version = "26.0.rc1"
		}
		s, err := Steps(w, &g, m, d)
		if err != nil {
			t.Fatal(err)
		}
		busy := find(s.Findings, func(x report.Finding) bool { return x.ID == "install.busy" })
		if (busy != nil && busy.Refuses()) != refused {
			t.Errorf("unfinished %v: %+v", unfinished, busy)
		}
	}
}

// TestThePlanIsFoundByItsWant: a journal is found again by what was asked for.
func TestThePlanIsFoundByItsWant(t *testing.T) {
	m, d := knowledge(t)
	f, root := seen(t, "ubuntu2204-a2-no-driver")
	for _, w := range []Want{{}, {CANN: "8.5.0", User: true}, {For: "vllm-ascend@0.23.0", With: []string{"vllm_ascend ", "", "torch-npu"}}} {
		w.Elevate = root
		s, err := Steps(w, f, m, d)
		if err != nil || s.Plan.Name != w.Name() {
			t.Errorf("%+v: %q, %v", w, w.Name(), err)
		}
	}
}

// TestSharedMemoryOfWorkersIsLookedFor, and nothing else of /dev/shm.
func TestSharedMemoryOfWorkersIsLookedFor(t *testing.T) {
	_, f := litterIn(t)
	l := &litter{sweep: Sweep{What: []string{litterShm}}, f: f, uid: 1000}
	spots := l.wanted()
	if len(spots) != 1 || spots[0].dir != "/dev/shm" || !spots[0].whole {
		t.Fatalf("%+v", spots)
	}
	home := t.TempDir()
	spots[0].dir, spots[0].uid = home, f.Identity.Value.UID
	for _, name := range []string{"psm_1a2b", "torch_12_34_0", "sem.mp-x", "sem.other", "torch_weights", "data"} {
		write(t, home, name, "x", 0)
	}
	l.spots, l.h = spots, host.NewLocal()
	if err := l.list(t.Context()); err != nil || len(l.found) != 3 {
		t.Errorf("%+v %v", l.found, err)
	}
}
