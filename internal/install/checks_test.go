package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// holds asks a check of this machine.
func holds(t *testing.T, c plan.Check) bool {
	t.Helper()
	ok, err := c(t.Context(), host.NewLocal())
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestVersionFilesAreReadBack(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	driver := write("driver", "Version=25.2.0\r\nascendhal_version=7.35.23\n")
	atb := write("atb", "    Ascend-cann-atb : 8.1.RC1\n    Platform : aarch64\n")
	absent := filepath.Join(dir, "no/such")
	for _, c := range []struct {
		name string
		got  plan.Check
		want bool
	}{
		{"the version", says(driver, "Version", "25.2.0"), true},
		{"in another case", says(atb, "Ascend-cann-atb", "8.1.rc1"), true},
		{"another version", says(driver, "Version", "25.2.1"), false},
		{"the beginning of a key", says(driver, "Ver", "25.2.0"), false},
		{"no file", says(absent, "Version", "25.2.0"), false},
		{"unless, no file", unless(absent, "Status", "complete"), true},
		{"unless, no key", unless(driver, "Status", "complete"), true},
		{"unless, another value", unless(driver, "Version", "1"), false},
		{"either", either(says(absent, "a", "b"), says(driver, "Version", "25.2.0")), true},
		{"not", not(says(driver, "Version", "25.2.0")), false},
	} {
		if got := holds(t, c.got); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestAnInstallerThatStillRunsHasNotEnded: version files alone do not tell.
func TestAnInstallerThatStillRunsHasNotEnded(t *testing.T) {
	run := filepath.Join(t.TempDir(), "Ascend simulated.run")
	if err := os.WriteFile(run, []byte("read never\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !holds(t, ended(run)) {
		t.Fatal("nobody has started it")
	}
	cmd := exec.CommandContext(t.Context(), "bash", run, "--install")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for holds(t, ended(run)) { // until the new process shows its own command line
		if t.Context().Err() != nil {
			t.Fatal("it is never seen")
		}
		time.Sleep(time.Millisecond)
	}
	in.Close()
	_ = cmd.Wait()
	if !holds(t, ended(run)) {
		t.Error("it has ended")
	}
}

// TestPackagesOfTheSystemAreAskedFor uses the real dpkg of a Debian, where
// there is one.
func TestPackagesOfTheSystemAreAskedFor(t *testing.T) {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		t.Log("no dpkg here")
		return
	}
	_, d := knowledge(t)
	apt := d.manager("apt")
	for _, c := range []struct {
		names string
		want  bool
	}{{"dpkg coreutils", true}, {"dpkg no-such-package-fictional", false}, {"no-such-package-fictional", false}} {
		if got := holds(t, hasPackages(apt, strings.Fields(c.names))); got != c.want {
			t.Errorf("%s: %v", c.names, got)
		}
	}
	if b := d.manager("dnf").bare("kernel-devel-5.10.0-216"); b != "kernel-devel" || apt.bare("linux-headers-5.15.0") != "" {
		t.Errorf("bare name %q", b)
	}
}

func TestPinsAreReadFromMetadata(t *testing.T) {
	dir := t.TempDir()
	info := filepath.Join(dir, "torch-2.9.0+cpu.dist-info")
	if err := os.Mkdir(info, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(info, "METADATA"), []byte("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0+cpu\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(dir, "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\nPYTHONPATH='"+dir+"' exec python3 \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pins string
		want bool
	}{{"torch==2.9.0", true}, {"torch==2.9.0+cpu", true}, {"torch==2.9.1", false}, {"torch<3", true}, {"torch-npu==2.9.0", false}, {"torch==2.9.0 numpy-fictional<2.0.0", false}} {
		if got := holds(t, installedPins(python, strings.Fields(c.pins))); got != c.want {
			t.Errorf("%s: %v", c.pins, got)
		}
	}
	if holds(t, installedPins(filepath.Join(dir, "gone/python"), []string{"torch==1"})) {
		t.Error("an environment that is not there has nothing")
	}
}

// TestPreconditionsRefuseBeforeAnythingChanges breaks one thing at a time on a
// host that is otherwise ready.
func TestPreconditionsRefuseBeforeAnythingChanges(t *testing.T) {
	m, d := knowledge(t)
	disk := func(avail int64, more func(*facts.Disk)) func(*facts.Facts, *Want) {
		return func(f *facts.Facts, _ *Want) {
			v := facts.Disk{Mount: "/", TotalKB: 1 << 30, AvailKB: avail}
			if more != nil {
				more(&v)
			}
			for p := range f.Disks {
				f.Disks[p] = facts.Fact[facts.Disk]{State: host.Known, Value: v}
			}
		}
	}
	for _, c := range []struct {
		name, id string
		change   func(*facts.Facts, *Want)
		status   report.Status
	}{
		{"all is well", "install.disk", func(*facts.Facts, *Want) {}, report.Pass},
		{"no root and no sudo", "install.root", func(_ *facts.Facts, w *Want) { w.Elevate = host.Absent }, report.Fail},
		{"little room", "install.disk", disk(20<<20, nil), report.Warn},
		{"no room", "install.disk", disk(5<<20, nil), report.Fail},
		{"read-only", "install.readonly", disk(1<<30, func(v *facts.Disk) { v.ReadOnly = true }), report.Fail},
		{"noexec where installers unpack", "install.tmp", disk(1<<30, func(v *facts.Disk) { v.NoExec = true }), report.Fail},
		{"room not known", "install.disk", func(f *facts.Facts, _ *Want) { f.Disks = nil }, report.Unknown},
		{"an unknown distribution", "install.system", func(f *facts.Facts, _ *Want) { f.OS.Value = facts.OS{ID: "plan9", Name: "Plan 9"} }, report.Fail},
		{"tools missing and no packages of the system", "install.tools", func(_ *facts.Facts, w *Want) { w.SkipOS = true }, report.Fail},
		{"headers missing and no packages of the system", "install.headers", func(_ *facts.Facts, w *Want) { w.SkipOS = true }, report.Fail},
		{"busy", "install.busy", func(f *facts.Facts, _ *Want) {
			f.Processes = facts.Fact[[]facts.Process]{State: host.Known, Value: []facts.Process{{PID: 7, Name: "python3"}}}
		}, report.Fail},
		{"the package manager is held", "install.lock", func(f *facts.Facts, _ *Want) {
			f.Locks = facts.Fact[[]facts.Lock]{State: host.Known, Value: []facts.Lock{{Path: "/var/lib/dpkg/lock-frontend", PID: 9}}}
		}, report.Fail},
		{"the number is taken", "install.user", func(_ *facts.Facts, w *Want) { w.UID = "1000" }, report.Fail},
		{"the driver could not be asked for", "install.driver", func(f *facts.Facts, _ *Want) {
			f.Driver = facts.Fact[facts.Driver]{State: host.Unknown, Note: "permission denied"}
		}, report.Fail},
		{"the driver is a provider's", "install.driver", func(_ *facts.Facts, w *Want) { w.Managed = []string{"driver"} }, report.Fail},
		{"a container without a driver", "install.driver", func(f *facts.Facts, _ *Want) {
			f.Marks = facts.Fact[[]string]{State: host.Known, Value: []string{"/.dockerenv"}}
		}, report.Fail},
		{"an installation that lost its driver", "install.leftover", func(f *facts.Facts, _ *Want) {
			f.Install = facts.Fact[facts.Install]{State: host.Known, Value: facts.Install{Path: "/usr/local/Ascend"}}
		}, report.Warn},
	} {
		f, root := seen(t, "ubuntu2204-a2-no-driver")
		w := Want{CANN: "8.5.0", Elevate: root}
		c.change(f, &w)
		s, err := Steps(w, f, m, d)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := find(s.Findings, func(x report.Finding) bool { return x.ID == c.id })
		if found == nil || found.Status != c.status || (c.status == report.Fail) != (s.Refused() != nil) {
			t.Errorf("%s: %+v, refused: %v", c.name, found, s.Refused())
		}
	}
}

func TestAPackageForAnotherArchitectureIsRefused(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "ubuntu2204-a2-no-driver") // x86_64
	for name, exit := range map[string]report.Exit{"Ascend-cann-toolkit_8.5.0_linux-aarch64.run": report.ExitNo, "../x_x86_64.run": report.ExitUsage, "-x.run": report.ExitUsage} {
		_, err := Steps(Want{CANN: "8.5.0", Files: func(Package, Part) (File, bool) {
			return File{Name: name, Src: strings.NewReader("x"), Size: 1, SHA256: strings.Repeat("0", 64)}, true
		}}, f, m, d)
		if p, ok := err.(*report.Problem); !ok || p.Exit != exit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFirmwareVersionComesFromItsName(t *testing.T) {
	for name, want := range map[string]string{
		"Ascend-hdk-910b-npu-driver_25.2.0_linux-aarch64.run": "25.2.0",
		"Ascend-hdk-910b-npu-firmware_7.7.0.6.236.run":        "7.7.0.6.236",
		"other.run": "",
	} {
		if got := versionIn(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRemovalNamesWhatIsThere(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "openeuler2203-910b3-healthy")
	s, err := Remove(Removal{CANN: "8.1.RC1", Driver: true}, f, m, d)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, st := range s.Plan.Steps {
		ids = append(ids, st.ID)
	}
	if got := strings.Join(ids, " "); got != "nnal.gone cann.gone hdk.firmware-gone hdk.driver-gone" {
		t.Error(got)
	}
	if _, err := plan.Make(t.Context(), host.NewLocal(), s.Plan, plan.Options{Dir: t.TempDir()}); err != nil {
		t.Error(err)
	}
	for _, r := range []Removal{{CANN: "8.1.RC2"}, {CANN: "8.1.RC1", Managed: []string{"cann"}}, {Driver: true, Managed: []string{"driver"}}} {
		if _, err := Remove(r, f, m, d); err == nil {
			t.Errorf("%+v is planned", r)
		}
	}
}

// TestSystemsAreToldApart: service packs and words of a version count, and a
// neighbour is a neighbour.
func TestSystemsAreToldApart(t *testing.T) {
	_, d := knowledge(t)
	for _, c := range []struct {
		os       facts.OS
		arch     string
		row, how string
		exact    bool
	}{
		{facts.OS{ID: "openeuler", Version: "22.03", Name: "openEuler 22.03 (LTS-SP4)"}, "aarch64", "OpenEuler_22.03LTS-SP4_aarch64", "dnf", true},
		{facts.OS{ID: "openeuler", Version: "22.03", Name: "openEuler 22.03 LTS"}, "aarch64", "OpenEuler_22.03LTS_aarch64", "dnf", true},
		{facts.OS{ID: "ubuntu", Version: "22.04", Name: "Ubuntu 22.04.4 LTS"}, "aarch64", "Ubuntu_22.04.4_aarch64", "apt", true},
		{facts.OS{ID: "ubuntu", Version: "22.04", Name: "Ubuntu 22.04.5 LTS"}, "aarch64", "Ubuntu_22.04_aarch64", "apt", false},
		{facts.OS{ID: "centos", Version: "7", Minor: "7.6.1810"}, "x86_64", "CentOS_7.6_x86_64", "yum", true},
		{facts.OS{ID: "rocky", Version: "9.3", Like: []string{"rhel", "centos", "fedora"}}, "x86_64", "", "dnf", false},
		{facts.OS{ID: "linuxmint", Version: "21", Like: []string{"ubuntu", "debian"}}, "x86_64", "", "apt", false},
		{facts.OS{ID: "opensuse-leap", Version: "15.5", Like: []string{"suse", "opensuse"}}, "x86_64", "", "zypper", false},
		{facts.OS{ID: "plan9"}, "x86_64", "", "", false},
	} {
		var f facts.Facts
		f.OS.Value, f.Arch.Value = c.os, c.arch
		s := d.systemOf(&f)
		row, how := "", ""
		if s.row != nil {
			row = s.row.ID
		}
		if s.manager != nil {
			how = s.manager.ID
		}
		if row != c.row || how != c.how || s.exact != c.exact {
			t.Errorf("%+v: %q %q %v", c.os, row, how, s.exact)
		}
	}
}

// TestTheHostIsNotBelievedWhatItCallsThings: what its files say becomes words of
// commands that run as root.
func TestTheHostIsNotBelievedWhatItCallsThings(t *testing.T) {
	m, d := knowledge(t)
	f, root := seen(t, "ubuntu2204-a2-no-driver")
	f.Install = facts.Fact[facts.Install]{State: host.Known, Value: facts.Install{User: "-rf", Group: "a b", Path: "/tmp/../etc\n"}}
	s, err := Steps(Want{CANN: "8.5.0", Elevate: root}, f, m, d)
	if err != nil {
		t.Fatal(err)
	}
	steps := spelt(&Set{Plan: s.Plan}, nil) // evidence may quote it
	for _, bad := range []string{"-rf ", "a b", "/tmp/.."} {
		if strings.Contains(steps, bad) {
			t.Errorf("%q is in the plan:\n%s", bad, steps)
		}
	}
	if _, err := plan.Make(t.Context(), host.NewLocal(), s.Plan, plan.Options{Dir: t.TempDir()}); err != nil {
		t.Error(err)
	}
	if _, err := Steps(Want{UID: "-o 0"}, f, m, d); err == nil {
		t.Error("a user number that is none is taken")
	}
}

// TestTorchForX86IsNamedBeforeAnythingRuns: wheels of torch_npu for x86_64 ask
// for torch==X+cpu, which the usual index lacks.
func TestTorchForX86IsNamedBeforeAnythingRuns(t *testing.T) {
	m, d := knowledge(t)
	for _, c := range []struct {
		name    string
		want    Want
		reach   bool
		says    string
		refused bool
	}{
		{"the CPU index is in reach", Want{CANN: "9.0.0", With: []string{"torch_npu"}}, true, "install torch==2.9.0+cpu torch-npu==", false},
		{"it is not: without requirements", Want{CANN: "9.0.0", With: []string{"torch_npu"}}, false, "install --no-deps torch-npu==", false},
		{"another index was named", Want{CANN: "9.0.0", With: []string{"torch_npu"}, Pip: Pip{Extra: []string{"https://mirror.example.com/cpu"}}}, false, "PIP_EXTRA_INDEX_URL=https://mirror.example.com/cpu ", false},
		{"a folder of wheels", Want{CANN: "9.0.0", With: []string{"torch_npu"}, Pip: Pip{Wheels: "/data/wheels"}}, false, "--no-index --find-links /data/wheels torch==2.9.0+cpu", false},
		{"wheels at hand with that build", Want{CANN: "9.0.0", With: []string{"torch_npu"}, WheelFiles: []File{{Name: "torch-2.9.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"}}}, false, "wheels torch==2.9.0+cpu torch-npu==", false},
		{"wheels at hand without it", Want{CANN: "9.0.0", With: []string{"torch_npu"}, WheelFiles: []File{{Name: "torch-2.9.0-cp311-cp311-manylinux_2_28_x86_64.whl"}}}, true, "install --no-deps --no-index --find-links /var/lib/ascendctl/stage/wheels torch-npu==", false},
		{"one index is named: no other is asked", Want{CANN: "9.0.0", With: []string{"torch_npu"}, Pip: Pip{IndexURL: "https://mirror.example.com/simple"}}, true, "PIP_INDEX_URL=https://mirror.example.com/simple /opt/ascend/venv-torch_npu-9.0.0/bin/python -m pip install pyyaml numpy torch==2.9.0\n", false},
		{"a set that cannot do without", Want{For: "vllm-ascend@0.23.0", With: []string{"vllm-ascend"}}, false, "torch==2.10.0+cpu", true},
	} {
		f, root := seen(t, "ubuntu2204-a2-no-driver")
		reach := map[string]bool{}
		for _, h := range d.Reach() {
			reach[h] = c.reach
		}
		f.Reachable = facts.Fact[map[string]bool]{State: host.Known, Value: reach}
		c.want.Elevate = root
		s, err := Steps(c.want, f, m, d)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text := spelt(s, nil); !strings.Contains(text, c.says) || (s.Refused() != nil) != c.refused {
			t.Errorf("%s: want %q, refused %v:\n%s", c.name, c.says, s.Refused(), text)
		}
	}
}

// TestANamedIndexIsTheOnlyOne: the vendor's has what PyPI lacks, but who names
// an index may not reach another.
func TestANamedIndexIsTheOnlyOne(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "a3-16die-cann85")
	for index, also := range map[string]bool{"": true, "https://mirror.example.com/simple": false} {
		s, err := Steps(Want{For: "vllm-ascend@0.23.0", With: []string{"vllm-ascend"}, Pip: Pip{IndexURL: index}}, f, m, d)
		if err != nil {
			t.Fatal(err)
		}
		if text := spelt(s, nil); strings.Contains(text, "PIP_EXTRA_INDEX_URL") != also {
			t.Errorf("index %q: want another %v:\n%s", index, also, text)
		}
	}
}

// TestWhatNoListKnowsIsNamed: the plan says which files are taken as they come.
func TestWhatNoListKnowsIsNamed(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "ubuntu2204-a2-no-driver")
	w := Want{CANN: "8.5.0", User: true, With: []string{"torch_npu"}, WheelFiles: []File{{Name: "torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl"}}}
	for verified, want := range map[bool]string{true: "the sha256: 1 x .whl\n", false: "the sha256: a.run, 1 x .whl\n"} {
		w.Files = func(Package, Part) (File, bool) { return File{Name: "a.run", Src: notHere{}, Verified: verified}, true }
		s, err := Steps(w, f, m, d)
		if text := spelt(s, err); !strings.Contains(text, "not verified") || !strings.Contains(text, want) {
			t.Errorf("verified %v: want %q:\n%s", verified, want, text)
		}
	}
}
