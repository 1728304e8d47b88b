package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// generation makes a simulated A2 host one of another generation, as far as
// the bus, the nodes and the operator packages tell it.
func generation(of, ops string, lose ...string) func(*world) {
	return func(w *world) {
		multi(w)
		w.lose(lose...)
		old := toolkit + "/opp/built-in/op_impl/ai_core/tbe/kernel/config/ascend910b/abs.json"
		w.Files[strings.Replace(old, "ascend910b", ops, 1)] = w.Files[old]
		if ops != "ascend910b" {
			w.lose(old)
		}
		w.seen = func(f *facts.Facts) { f.Generation.Value = of }
	}
}

// TestEachGenerationHasItsOwnRules: what one chip needs another does not have.
// networked: A1, A2, A3 and 950 have NPU ports, the 310 family has none.
func TestEachGenerationHasItsOwnRules(t *testing.T) {
	c := catalogue(t)
	ports := []string{"net.npu_link", "net.npu_ip", "net.npu_tls", "net.npu_health", "net.lldp", "net.mtu", "net.optical", "net.npu_ping"}
	for _, g := range []struct {
		name, ops string
		lose      []string // nodes that this generation does not have
		networked bool
		hbm       bool
	}{
		{"310", "ascend310", nil, false, false},
		{"310P", "ascend310p", nil, false, false},
		{"310B", "ascend310b", []string{"/dev/hisi_hdc"}, false, false},
		{"A1", "ascend910", nil, true, true},
		{"A2", "ascend910b", nil, true, true},
		{"A3", "ascend910_93", nil, true, true},
		{"950", "ascend950", []string{"/dev/devmm_svm"}, true, true},
	} {
		t.Run(g.name, func(t *testing.T) {
			judged := func(id string) report.Status {
				return turnedTo(t, c, a2, id, generation(g.name, g.ops, g.lose...)).Status
			}
			for _, id := range ports {
				if got := judged(id); (got != report.Skip) != g.networked {
					t.Errorf("%s is %s", id, got)
				}
			}
			if got := judged("net.vnic"); (got != report.Skip) != (g.name == "A3") {
				t.Errorf("net.vnic is %s", got)
			}
			if got := judged("npu.hbm_capacity"); (got != report.Skip) != g.hbm {
				t.Errorf("npu.hbm_capacity is %s", got)
			}
			for _, id := range []string{"dev.manager", "cann.ops"} {
				if got := judged(id); got != report.Pass {
					t.Errorf("%s is %s", id, got)
				}
			}
			wrong := "ascend910b"
			if g.name == "A2" {
				wrong = "ascend910_93"
			}
			if f := turnedTo(t, c, a2, "cann.ops", generation(g.name, wrong)); f.Status != report.Fail || f.Evidence[0].Wanted.En != g.ops {
				t.Errorf("with %s: %s, %+v", wrong, f.Status, f.Evidence)
			}
			if f := turnedTo(t, c, a2, "dev.manager", generation(g.name, g.ops, "/dev/davinci_manager")); f.Status != report.Fail {
				t.Errorf("without davinci_manager: %s", f.Status)
			}
			image := map[string]string{"310": "", "310P": "310p", "310B": "310b", "A1": "910", "A2": "910b", "A3": "a3", "950": "950"}[g.name]
			fits := turnedTo(t, c, a2, "ctr.image", generation(g.name, g.ops), recipe, func(w *world) { w.s.Image = "ascend/engine:v1-" + image })
			if want := map[bool]report.Status{true: report.Pass, false: report.Unknown}[image != ""]; fits.Status != want {
				t.Errorf("ctr.image for %q is %s: %+v", image, fits.Status, fits.Evidence)
			}
		})
	}
	for _, lost := range []string{"/dev/devmm_svm", "/dev/hisi_hdc"} {
		for _, g := range []string{"310", "310P", "A1", "A2", "A3"} {
			if f := turnedTo(t, c, a2, "dev.manager", generation(g, "x", lost)); f.Status != report.Fail {
				t.Errorf("%s without %s: %s", g, lost, f.Status)
			}
		}
	}
}

// TestDiesCardsBoardsAndSlicesAreCountedAsWhatTheyAre holds the described hosts
// against what their hardware is.
func TestDiesCardsBoardsAndSlicesAreCountedAsWhatTheyAre(t *testing.T) {
	c := catalogue(t)
	for _, w := range []struct {
		base, id string
		want     report.Status
		seen     string
	}{
		{a3, "dev.nodes", report.Pass, "16 nodes"},                      // eight NPUs of two dies
		{a3, "hw.card_drop", report.Pass, "PCI 16, nodes 16"},           // each die is a function
		{duo, "hw.card_drop", report.Pass, "npu-smi"},                   // two chips behind one function
		{soc, "hw.pci_present", report.Skip, ""},                        // 310B: no bus at all
		{soc, "hw.soc_board", report.Pass, ""},                          //
		{soc, "hw.card_drop", report.Skip, ""},                          //
		{soc, "net.npu_link", report.Skip, ""},                          //
		{old, "npu.hbm_capacity", report.Pass, ""},                      // 910B of the first generation: 32 GB
		{"vm-310p-vnpu-guest", "dev.vnpu", report.Warn, ""},             //
		{"vm-310p-vnpu-guest", "npu.ecc", report.Skip, ""},              //
		{"vm-310p-vnpu-guest", "hw.card_drop", report.Skip, ""},         //
		{"ubuntu2004-300ipro-310p3", "net.npu_ip", report.Skip, "310P"}, //
	} {
		f := turnedTo(t, c, w.base, w.id)
		if f.Status != w.want || w.seen != "" && !slices.ContainsFunc(f.Evidence, func(e report.Evidence) bool { return strings.Contains(e.Seen.En, w.seen) }) {
			t.Errorf("%s on %s: want %s (%s), got %s: %+v", w.id, w.base, w.want, w.seen, f.Status, f.Evidence)
		}
	}
}

// TestA950IsJudgedByItsOwnTool: one table tells links and addresses, and what
// its hccn_tool has no question for stays unknown.
func TestA950IsJudgedByItsOwnTool(t *testing.T) {
	c := catalogue(t)
	table := func(link string) string {
		return "| UDie ID | Port ID | Link Status | Media Type |\n| 0 | 4 | " + link + " | Electrical |\n| Interface Name | IP Address |\n| ipourma0 | ::10:0:dfdf:5"
	}
	as950 := func(link string) func(*world) {
		return func(w *world) {
			multi(w)
			w.lose("/etc/hccn.conf")
			for name, text := range w.Files {
				if strings.HasPrefix(name, "/sys/bus/pci/devices/") && strings.HasSuffix(name, "/device") && text == "0xd802\n" {
					w.file(name, "0xd806\n")
				}
			}
			for i := range 8 {
				n := string(rune('0' + i))
				w.says("hccn_tool -g -dev_info -i "+n, table("UP")+n+" |\n")
				w.says("hccn_tool -g -tls -i "+n, "dev_id:"+n+", tls switch[0](0:disable, 1:enable)\n")
			}
			w.Commands["hccn_tool -g -dev_info -i 5"] = host.Output{Stdout: table(link) + "5 |\n"}
		}
	}
	for id, want := range map[string]report.Status{"net.npu_link": report.Pass, "net.npu_ip": report.Pass, "net.npu_tls": report.Pass,
		"net.optical": report.Pass, "net.mtu": report.Unknown, "net.lldp": report.Unknown, "net.npu_health": report.Unknown, "net.vnic": report.Skip} {
		if f := turnedTo(t, c, a2, id, as950("UP")); f.Status != want {
			t.Errorf("%s: want %s, got %s: %+v", id, want, f.Status, f.Evidence)
		}
	}
	if f := turnedTo(t, c, a2, "net.npu_link", as950("DOWN")); f.Status != report.Fail {
		t.Errorf("a port that is down: %s", f.Status)
	}
}

// TestAProvidersPartsAreRecognised: a vendor tree that is mounted read-only and
// the login of a cloud notebook mark what nobody here may replace.
func TestAProvidersPartsAreRecognised(t *testing.T) {
	c := catalogue(t)
	alone := func(w *world) { w.s.Managed = nil }
	old := func(w *world) { alone(w); w.lose(drvInfo) }
	if f := turnedTo(t, c, pod, "driver.installed", old); f.Status != report.Fail || f.Fix != leaveIt {
		t.Errorf("notebook with a read-only driver: %+v", f)
	}
	writable := func(w *world) {
		old(w)
		for i := range w.Facts.Mounts {
			w.Facts.Mounts[i].RO = false
		}
	}
	if f := turnedTo(t, c, pod, "driver.installed", writable); f.Fix != leaveIt {
		t.Errorf("the login of a notebook says enough: %+v", f)
	}
	other := func(w *world) { writable(w); w.Facts.Identity.User = "someone" }
	if f := turnedTo(t, c, pod, "driver.installed", other); f.Status != report.Fail || f.Fix == leaveIt {
		t.Errorf("a container of our own: %+v", f)
	}
}

// TestAWantedEngineSaysWhatItNeeds: --for NAME@VERSION stands for the row of
// the matrix.
func TestAWantedEngineSaysWhatItNeeds(t *testing.T) {
	c := catalogue(t)
	f := turnedTo(t, c, a2, "cann.version_ok", func(w *world) { w.s.CANN, w.s.Version = "", "0.23.0" })
	if f.Status != report.Fail || !strings.Contains(f.Evidence[0].Wanted.En, "row vllm_ascend/0.23.0") {
		t.Errorf("want the CANN of the row, got %+v", f)
	}
	f = turnedTo(t, c, a2, "py.engine", func(w *world) { w.s.Version = "0.99.0" })
	if f.Status != report.Unknown || len(f.Because) > 0 {
		t.Errorf("a version that no row has: %+v", f)
	}
	f = turnedTo(t, c, bare, "driver.installed", func(w *world) { w.s.Installs = nil })
	if !c.Cured(f, []string{"driver"}) {
		t.Error("an installation of the driver cures driver.installed")
	}
	if f := turnedTo(t, c, bare, "os.pkg_lock", func(w *world) { w.s.Installs = nil }); f.Status != report.Pass {
		t.Errorf("--task install puts packages on the host: os.pkg_lock is %s", f.Status)
	}
}
