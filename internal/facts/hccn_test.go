package facts

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
)

// devInfo has the three tables that hccn_tool of the 950 prints for one device
// (simulated; form: hicann/driver docs, Ascend_950_HCCN_Tool).
const devInfo = `+---------+---------+---------------------+-----------+-------------+------------+
| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |
+---------+---------+---------------------+-----------+-------------+------------+
| 0       | 4       | 400                 | UB        | UP          | Electrical |
| 0       | 5       | 400                 | UB        | UP          | Electrical |
+---------+---------+---------------------+-----------+-------------+------------+
+-----------------+----------------+---------------+-----------+--------+
| Interface Name  | IP Address     | Netmask       | Bond Mode | Slaves |
+-----------------+----------------+---------------+-----------+--------+
| end0v0          | 192.0.2.199    | 255.255.255.0 | NA        | NA     |
+-----------------+----------------+---------------+-----------+--------+
| ipourma0        | ::10:0:dfdf:51 | ffff:ffff::   | NA        | NA     |
|                 | ::10:0:dfdf:30 | ffff:ffff::   |           |        |
+-----------------+----------------+---------------+-----------+--------+
| Name            | EID Index      | EID           |
+-----------------+----------------+---------------+
| udma1           | 0              | 0000:0020     |
+-----------------+----------------+---------------+
`

func Test950TellsPortsInOneTable(t *testing.T) {
	for name, c := range map[string]struct {
		parse    func(string) (string, error)
		in, want string
		odd      bool
	}{
		"links":           {portLinks, devInfo, "UP", false},
		"a port is down":  {portLinks, strings.Replace(devInfo, "| UP ", "| DOWN ", 1), "port 4 DOWN", false},
		"no port":         {portLinks, "+--+\n", "", true},
		"address":         {portAddress, devInfo, "::10:0:dfdf:51", false},
		"only the vNIC":   {portAddress, strings.ReplaceAll(devInfo, "ipourma0", "end0v1  "), "", true},
		"media":           {portMedia, devInfo, "media type: Electrical", false},
		"a cut line":      {portMedia, devInfo[:250], "", true},
		"another heading": {portLinks, strings.ReplaceAll(devInfo, "Link Status", "Link State "), "", true},
	} {
		if got, err := c.parse(c.in); got != c.want || (err != nil) != c.odd {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// TestEachChipIsAskedInItsOwnSyntax looks at simulated hosts with two NPUs.
func TestEachChipIsAskedInItsOwnSyntax(t *testing.T) {
	look := func(device string) (*fakeHost, Facts) {
		h := &fakeHost{answer: func(q host.Question) host.Answer {
			line := strings.Join(q.Args, " ")
			switch {
			case q.Kind == host.PCI:
				return says("0000:c1:00.0 vendor=0x19e5 device=" + device + " class=0x120000\n")
			case q.Kind == host.Nodes:
				return says("/dev/davinci0 0660 root HwHiAiUser 0 1000 236 0\n/dev/davinci1 0660 root HwHiAiUser 0 1000 236 1\n")
			case strings.Contains(line, "-dev_info"):
				return says(devInfo)
			case strings.Contains(line, "-ping"):
				return host.Answer{State: host.Known, Result: host.Result{Stdout: []byte("recv time out seq=0\n3 packets transmitted, 2 received, 33.33% packet loss\n"), Exit: 1}}
			}
			return host.Answer{State: host.Unknown}
		}}
		o := knowledge(t)
		o.MultiNode, o.Peers = true, []string{"192.0.2.90", "192.0.2.91", "192.0.2.92"}
		return h, Collect(context.Background(), h, o)
	}
	h, f := look("0xd802")
	if n := len(f.HCCN.Value); n != 2 {
		t.Fatalf("%d NPUs: %+v %+v", n, f.PCI, f.Nodes)
	}
	lost := Pinged{Sent: 3, Received: 2}
	pings := f.HCCN.Value[0].Pings
	if len(pings) != 2 || pings[0].Address != "192.0.2.90" || pings[1].Address != "192.0.2.92" || pings[0].Answer.Value != lost {
		t.Errorf("NPU 0 tries every second address: %+v", pings)
	}
	if p := f.HCCN.Value[1].Pings; len(p) != 1 || p[0].Address != "192.0.2.91" {
		t.Errorf("NPU 1: %+v", p)
	}
	AskPeers(context.Background(), h, &f, []string{"192.0.2.99"})
	if p := f.HCCN.Value[0].Pings; len(p) != 1 || p[0].Address != "192.0.2.99" || p[0].Answer.Value != lost {
		t.Errorf("asked later: %+v", p)
	}
	for _, q := range h.asked {
		if line := strings.Join(q.Args, " "); strings.HasPrefix(line, "hccn_tool -g") {
			t.Errorf("an A2 is asked %q", line)
		}
	}
	h, f = look("0xd806")
	one := f.HCCN.Value[0]
	if one.Link.Value != "UP" || one.IP.Value != "::10:0:dfdf:51" || one.MTU.State != host.Unknown || one.Pings[0].Answer.State != host.Unknown {
		t.Errorf("%+v", one)
	}
	for _, q := range h.asked {
		if line := strings.Join(q.Args, " "); strings.HasPrefix(line, "hccn_tool -i") {
			t.Errorf("a 950 is asked %q", line)
		}
	}
}

func TestRankTables(t *testing.T) {
	got, err := rankTable(`{"version": "1.0", "server_count": 1, "server_list": [{"server_id": "192.0.2.31", "host_nic_ip": "x",
		"device": [{"device_id": "0", "device_ip": "192.0.2.90", "rank_id": 0}]}], "status": "completed"}`)
	want := RankTable{Version: "1.0", Count: "1", Servers: []RankServer{{"192.0.2.31", []RankDevice{{"0", "192.0.2.90", "0"}}}},
		Keys: []string{"device", "device_id", "device_ip", "host_nic_ip", "rank_id", "server_count", "server_id", "server_list", "status", "version"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for _, odd := range []string{"", "[]", "{", `{"server_list": "x"}`, `{"server_list": [{"device": {}}]}`, `{"version": {}}`, `{"server_count": [1]}`} {
		if got, err := rankTable(odd); err == nil {
			t.Errorf("%q gave %+v", odd, got)
		}
	}
}

func FuzzRankTable(f *testing.F) {
	f.Add(`{"version": "1.0", "server_list": [{"device": [{"device_id": 0}]}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := rankTable(s); err != nil && len(got.Servers)+len(got.Keys) > 0 {
			t.Errorf("an error and %+v", got)
		}
	})
}
