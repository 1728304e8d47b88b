package check

import (
	"testing"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// fleetTurns change one thing on the second of two equal simulated hosts. both
// prepares the two; odd is the change. Without it the check passes.
var fleetTurns = []struct {
	id   string
	both func(*world)
	odd  func(*world, *facts.Facts)
	to   report.Status
}{
	{"fleet.driver", nil, func(w *world, _ *facts.Facts) { w.replace(drvInfo, "Version=24.1.rc3", "Version=25.0.rc1") }, report.Warn},
	{"fleet.driver", multi, func(w *world, _ *facts.Facts) { w.replace(drvInfo, "Version=24.1.rc3", "Version=25.0.rc1") }, report.Fail},
	{"fleet.cann", nil, otherCANN, report.Warn},
	{"fleet.cann", multi, otherCANN, report.Fail},
	{"fleet.engine", nil, func(w *world, _ *facts.Facts) { w.Facts.PythonPackages["vllm-ascend"] = "0.9.1" }, report.Warn},
	{"fleet.engine", multi, func(w *world, _ *facts.Facts) { w.Facts.PythonPackages["vllm-ascend"] = "0.9.1" }, report.Fail},
	{"os.time_sync", nil, func(_ *world, f *facts.Facts) {
		if f != nil {
			f.ClockOffset.Value = 2.5
		}
	}, report.Fail},
	{"net.npu_ip", nil, nil, report.Warn}, // two hosts that are copies of each other
	{"net.npu_ip", multi, nil, report.Fail},
	{"net.npu_tls", nil, tlsOn, report.Warn},
	{"net.npu_tls", multi, tlsOn, report.Fail},
	{"net.mtu", mtu, func(w *world, _ *facts.Facts) { w.every("-mtu", "mtu:8192\n") }, report.Warn},
	{"net.mtu", mtu, func(w *world, _ *facts.Facts) { w.every("-mtu", "mtu:1500\n") }, report.Fail},
}

func otherCANN(w *world, _ *facts.Facts) {
	w.replace(toolkit+"/aarch64-linux/ascend_toolkit_install.info", "version=8.1.RC1", "version=8.0.0")
}

func tlsOn(w *world, _ *facts.Facts) {
	w.every("-tls", "dev_id:0, tls switch[1](0:disable, 1:enable)\n")
}

func mtu(w *world) { multi(w); w.every("-mtu", "mtu:4096\n") }

// member looks at one simulated host of the fleet. Its NPUs have addresses of
// their own unless the host is a copy, and its clock is ours.
func member(t *testing.T, c *Catalogue, name string, copied bool, both func(*world), odd func(*world, *facts.Facts)) (Member, Scene) {
	t.Helper()
	d := describe(t, "../../testdata/cases/hosts/"+a2+".yaml")
	w := &world{d, sceneOf(d.Target), nil}
	if both != nil {
		both(w)
	}
	for i := range 8 {
		if n := string(rune('0' + i)); !copied {
			w.says("hccn_tool -i "+n+" -ip -g", "ipaddr:198.51.100.1"+n+"\nnetmask:255.255.255.0\n")
			w.Files["/etc/hccn.conf"] = ""
		}
	}
	if odd != nil {
		odd(w, nil)
	}
	f := see(t, c, d, w.s)
	f.ClockOffset = facts.Fact[float64]{State: host.Known, Source: "clock", Value: 0.1}
	if odd != nil {
		odd(&world{describe(t, "../../testdata/cases/hosts/"+a2+".yaml"), w.s, nil}, f)
	}
	return Member{name, f, Host(c, f, w.s)}, w.s
}

func TestTwoHostsAreCompared(t *testing.T) {
	c := catalogue(t)
	for _, turn := range fleetTurns {
		t.Run(turn.id+" "+string(turn.to), func(t *testing.T) {
			a, s := member(t, c, "npu01", true, turn.both, nil)
			same, _ := member(t, c, "npu02", false, turn.both, nil)
			if f := find(Fleet(c, []Member{a, same}, s), turn.id); f.Status != report.Pass {
				t.Errorf("two hosts alike: want pass, got %s: %+v", f.Status, f.Evidence)
			}
			other, _ := member(t, c, "npu02", turn.odd == nil, turn.both, turn.odd)
			f := find(Fleet(c, []Member{a, other}, s), turn.id)
			if f.Status != turn.to || len(f.Evidence) == 0 || f.Evidence[0].Source == "" || f.Fix.IsZero() {
				t.Errorf("after the change: want %s, got %+v", turn.to, f)
			}
		})
	}
}

func TestAFleetOfOneIsNotCompared(t *testing.T) {
	c := catalogue(t)
	a, s := member(t, c, "npu01", true, nil, nil)
	if got := Fleet(c, []Member{a}, s); got != nil {
		t.Errorf("got %+v", got)
	}
	for _, f := range a.Findings {
		if groupOf(f.ID) == "fleet" && f.Status != report.Skip {
			t.Errorf("%s on one host is %s", f.ID, f.Status)
		}
	}
}

// TestHostsThatTellNothingAreNotCompared: facts that nobody has are unknown,
// and never a difference.
func TestHostsThatTellNothingAreNotCompared(t *testing.T) {
	c := catalogue(t)
	blank := func(name string) Member {
		f := &facts.Facts{}
		return Member{name, f, Host(c, f, Scene{Nodes: 2})}
	}
	known, s := member(t, c, "npu01", true, multi, nil)
	for _, hosts := range [][]Member{{blank("a"), blank("b")}, {known, blank("b")}} {
		for _, f := range Fleet(c, hosts, s) {
			if f.Status != report.Unknown && f.Status != report.Skip && f.ID != "net.npu_ip" {
				t.Errorf("%s is %s: %+v", f.ID, f.Status, f.Evidence)
			}
		}
	}
}
