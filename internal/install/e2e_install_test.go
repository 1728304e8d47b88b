//go:build linux

package install

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/plan"
)

// versions is what facts tell of a host, in a line each.
func versions(f *facts.Facts) (out []string) {
	out = append(out, "driver "+strings.ToLower(f.Driver.Value.Version), "firmware "+f.Firmware.Value.Version)
	for _, t := range f.CANN.Value.Trees {
		line := "cann " + t.Version
		if t.OpsVersion != "" || len(t.Kernels) > 0 {
			line += " " + strings.Join(t.Kernels, " ")
		}
		if t.Active != "" {
			line += " active"
		}
		out = append(out, line)
	}
	for _, n := range f.CANN.Value.NNAL {
		out = append(out, "nnal "+n.Version)
	}
	return out
}

func (w *world) has(t testing.TB, h host.Host, want ...string) {
	t.Helper()
	got := versions(w.look(t, h))
	slices.Sort(got[2:])
	slices.Sort(want[2:])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what facts see of the host:\n%s", diff)
	}
}

// installed is the record the installers leave: action, package.
func (w *world) installed(t testing.TB) (out []string) {
	t.Helper()
	line := regexp.MustCompile(`^(\S+) SUGGESTION .* 127\.0\.0\.1 Ascend-(?:hdk-|cann-)?(\S+?)(?:_linux-\S+)?\.run (\S+)`)
	for l := range strings.Lines(w.ReadFile(t, "/var/log/ascend_seclog/operation.log")) {
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("record %q", l)
		}
		out = append(out, strings.Join(m[1:], " "))
	}
	return out
}

// TestABareHostIsMadeReady installs what a workload needs on a simulated bare
// host of another architecture, from the packages of its system to its Python,
// through a restart; then takes all of it back.
func TestABareHostIsMadeReady(t *testing.T) {
	t.Parallel()
	w := layBare(t, openEuler)
	want := Want{For: "vllm-ascend@0.23.0", With: []string{"vllm-ascend"}}
	h := w.Dial(t, "")
	set := w.steps(t, h, want)
	want.Pip.IndexURL = w.index(t, set.Pins...)
	w.Sh(t, `dnf install "$@"`, systemNames(set)...) // they stay; the plan finds them
	before := w.snapshot(t)
	out, h := w.install(t, "", want)
	if out.State != plan.Done || w.Boots() != 1 {
		t.Fatalf("%+v after %d restarts", out, w.Boots())
	}
	w.has(t, h, "driver 26.0.rc1", "firmware 7.8.0.5.216", "cann 9.1.0 ascend910b active", "nnal 9.1.0")
	if diff := cmp.Diff([]string{"full 910b-npu-driver_26.0.rc1 success", "full 910b-npu-firmware_7.8.0.5.216 success", "install toolkit_9.1.0 success",
		"install 910b-ops_9.1.0 success", "install nnal_9.1.0 success"}, w.installed(t)); diff != "" {
		t.Error(diff)
	}
	f := w.look(t, h)
	if n := f.NPUInfo.Value; len(n.Chips) != 8 || len(n.IdleNPUs) != 8 || n.DriverVersion != "26.0.rc1" || n.Layout != "G" || n.Skipped > 0 || n.Truncated {
		t.Errorf("npu-smi: %+v", f.NPUInfo)
	}
	list := w.Sh(t, "/opt/ascend/venv-vllm-ascend-0.23.0/bin/python -m pip list --format=freeze")
	for _, pin := range exact(set.Pins) {
		if !strings.Contains(list, pin+"\n") {
			t.Errorf("%s is not in the environment:\n%s", pin, list)
		}
	}
	if out, err := w.run(t, h, w.steps(t, h, want).Plan); err != nil || out.State != plan.Nothing {
		t.Errorf("the same command again: %+v %+v", out, err)
	}
	if out, err := w.undo(t, h, ""); err != nil {
		t.Errorf("%+v %v\n%s", out, err, told(err))
	}
	w.same(t, before, "after undo")
}

// TestReleasesSideBySide installs an older release with the real apt of a
// Debian, a newer one beside it with an upgrade of the driver, and removes one.
func TestReleasesSideBySide(t *testing.T) {
	t.Parallel()
	w := layBare(t, debian)
	_, h := w.install(t, "", Want{CANN: "8.1.RC1", Driver: "24.1.RC3"})
	w.has(t, h, "driver 24.1.rc3", "firmware 7.5.0.1.129", "cann 8.1.RC1 ascend910b active", "nnal 8.1.RC1")
	if said := w.Sh(t, "dpkg-query -W -f '${Version}' net-tools"); said != "99-simulated" {
		t.Errorf("apt has not installed net-tools: %q", said)
	}
	_, h = w.install(t, "", Want{CANN: "8.5.0", Driver: "25.3.RC1"})
	// The older one stays where its own links lead.
	w.has(t, h, "driver 25.3.rc1", "firmware 7.8.0.2.212", "cann 8.1.RC1 ascend910b active", "cann 8.5.0 ascend910b active", "nnal 8.1.RC1", "nnal 8.5.0")
	log := w.installed(t)
	up := []string{"upgrade 910b-npu-firmware_7.8.0.2.212 success", "upgrade 910b-npu-driver_25.3.rc1 success"}
	if i := slices.Index(log, up[0]); i < 0 || log[i+1] != up[1] {
		t.Errorf("an upgrade is firmware, then driver: %q", log)
	}
	w.removed(t, h, Removal{CANN: "8.1.RC1"})
	w.has(t, h, "driver 25.3.rc1", "firmware 7.8.0.2.212", "cann 8.5.0 ascend910b active", "nnal 8.5.0")
}

// removed runs a removal.
func (w *world) removed(t testing.TB, h host.Host, r Removal) {
	t.Helper()
	set, err := Remove(r, w.look(t, h), w.m, w.d)
	if err == nil {
		err = set.Refused()
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if out, err := w.run(t, h, set.Plan, plan.Risks()...); err != nil {
		t.Fatalf("%+v %v\n%s", out, err, told(err))
	}
}

// TestOnePersonInstallsWithoutRoot: nothing outside of the home changes.
func TestOnePersonInstallsWithoutRoot(t *testing.T) {
	t.Parallel()
	w := layBare(t, debian)
	w.Sh(t, "rm /etc/sudoers.d/laid")
	h := w.Dial(t, "")
	want := Want{CANN: "8.1.RC1", User: true, With: []string{"torch_npu"}}
	want.Pip.IndexURL = w.index(t, w.steps(t, h, want).Pins...)
	before := w.snapshot(t)
	_, h = w.install(t, "", want)
	w.has(t, h, "driver ", "firmware ", "cann 8.1.RC1 ascend910b active", "nnal 8.1.RC1")
	for name := range w.snapshot(t) {
		if _, was := before[name]; !was && !strings.HasPrefix(name, "/home/ubuntu/") && !strings.HasPrefix(name, "/tmp/") {
			t.Errorf("%s is new", name)
		}
	}
	first := w.snapshot(t)
	_, h = w.install(t, "", Want{CANN: "8.5.0", User: true})
	w.has(t, h, "driver ", "firmware ", "cann 8.1.RC1 ascend910b active", "cann 8.5.0 ascend910b active", "nnal 8.1.RC1", "nnal 8.5.0")
	for _, back := range []map[string]hosttest.Entry{first, before} {
		if out, err := w.undo(t, h, ""); err != nil {
			t.Errorf("%+v %v\n%s", out, err, told(err))
		}
		w.same(t, back, "after undo")
	}
}
