package check

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var netJudges = map[string]judge{
	"net.npu_link":   {"up:word", netLink},
	"net.npu_ip":     {"conf_key:word", netIP},
	"net.npu_tls":    {"", netTLS},
	"net.npu_ping":   {"packets:number", netPing},
	"net.optical":    {"power:word high:word low:word flags:list electrical:word", netOptical},
	"net.ranktable":  {"keys:list others:list", netRankTable},
	"net.npu_health": {"words:dict", netHealth},
	"net.vnic":       {"up:word", netVNIC},
	"net.lldp":       {"direct:word", netLLDP},
	"net.mtu":        {"small:number", netMTU},
	"net.iface":      {"variables:list bridge:word", netIface},
	"net.ports":      {"engines:lists hccl:list torch:number", netPorts},
	"net.mirror":     {"hosts:list", netMirror},
}

// badly is the status of a fault that hurts only a job on several nodes.
func (l *look) badly() report.Status {
	if l.job.multiNode() {
		return report.Fail
	}
	return report.Warn
}

// eachPort judges what hccn_tool says of every NPU.
func (l *look) eachPort(see func(h facts.HCCN) verdict) verdict {
	if v, stop := blank(l.HCCN); stop {
		return v
	}
	var all []verdict
	for _, h := range l.HCCN.Value {
		all = append(all, see(h))
	}
	if len(all) == 0 {
		return unknown(l.HCCN.Source, "hccn_tool said nothing")
	}
	return worst(all...)
}

func netLink(l *look) verdict {
	return l.eachPort(func(h facts.HCCN) verdict {
		if !h.Link.Known() {
			return unknown(h.Link.Source, notePort(h, h.Link))
		}
		return ifElse(h.Link.Value == l.word("up"), l.badly(), h.Link.Source, fmt.Sprintf("NPU %d: %s", h.ID, h.Link.Value), l.word("up"))
	})
}

func notePort(h facts.HCCN, f facts.Fact[string]) string {
	return fmt.Sprintf("NPU %d: %s", h.ID, orNone(f.Note))
}

// netIP takes the address of the tool, else the one that is kept for the next
// boot.
func netIP(l *look) verdict {
	key := strings.TrimSuffix(l.word("conf_key"), "N")
	if !l.HCCN.Known() && !l.HCCNConf.Known() {
		return unknown(l.HCCN.Source, orNone(l.HCCN.Note))
	}
	at := map[string]int{}
	all := []verdict{}
	take := func(id int, addr, source string) {
		first, twice := at[addr]
		switch {
		case addr == "":
			all = append(all, say(l.badly(), source, fmt.Sprintf("NPU %d: no address", id), "an address"))
		case twice:
			all = append(all, say(l.badly(), source, fmt.Sprintf("NPU %d and %d: %s", first, id, addr), "different addresses"))
		default:
			all = append(all, pass(source, fmt.Sprintf("NPU %d: %s", id, addr)))
		}
		at[addr] = id
	}
	for _, h := range l.HCCN.Value {
		addr := h.IP.Value
		if addr == "" {
			addr = l.HCCNConf.Value[key+strconv.Itoa(h.ID)]
		}
		if addr == "" && unread(h.IP) && unread(l.HCCNConf) {
			all = append(all, unknown(h.IP.Source, notePort(h, h.IP)))
			continue
		}
		take(h.ID, addr, l.HCCN.Source)
	}
	if !l.HCCN.Known() {
		for _, k := range keys(l.HCCNConf.Value) {
			if id, err := strconv.Atoi(strings.TrimPrefix(k, key)); err == nil {
				take(id, l.HCCNConf.Value[k], l.HCCNConf.Source)
			}
		}
	}
	if len(all) == 0 {
		return unknown(l.HCCN.Source, "no NPU answered")
	}
	return worst(all...)
}

// uniform judges values that must be the same on all NPUs.
func (l *look) uniform(of func(facts.HCCN) facts.Fact[string], what string, mixed func(values []string) verdict) verdict {
	var values []string
	v := l.eachPort(func(h facts.HCCN) verdict {
		f := of(h)
		if !f.Known() {
			return unknown(f.Source, notePort(h, f))
		}
		values = append(values, f.Value)
		return pass(f.Source, fmt.Sprintf("NPU %d: %s %s", h.ID, what, f.Value))
	})
	if different := unique(values); len(different) > 1 {
		return mixed(different)
	}
	return v
}

func netTLS(l *look) verdict {
	return l.uniform(func(h facts.HCCN) facts.Fact[string] { return h.TLS }, "tls switch", func(values []string) verdict {
		return say(l.badly(), l.HCCN.Source, "tls switch "+strings.Join(values, " and "), "one value")
	})
}

func netMTU(l *look) verdict {
	return l.uniform(func(h facts.HCCN) facts.Fact[string] { return h.MTU }, "mtu", func(values []string) verdict {
		small := strconv.Itoa(int(l.number("small")))
		bad := report.Warn
		if slices.ContainsFunc(values, func(v string) bool { return strings.HasSuffix(strings.TrimSpace(v), small) }) {
			bad = report.Fail
		}
		return say(bad, l.HCCN.Source, strings.Join(values, " and "), "one value")
	})
}

func netHealth(l *look) verdict {
	words := l.dict("words")
	return l.eachPort(func(h facts.HCCN) verdict {
		for _, w := range keys(words) {
			if h.NetHealth.Known() && strings.Contains(h.NetHealth.Value, w) {
				status := report.Status(words[w])
				return ifElse(status == report.Pass, status, h.NetHealth.Source, fmt.Sprintf("NPU %d: %s", h.ID, w), "Success")
			}
		}
		return unknown(h.NetHealth.Source, notePort(h, h.NetHealth))
	})
}

func netVNIC(l *look) verdict {
	return l.eachPort(func(h facts.HCCN) verdict {
		if !h.VNIC.Known() {
			return unknown(h.VNIC.Source, notePort(h, h.VNIC))
		}
		return ifElse(strings.Contains(h.VNIC.Value, l.word("up")), report.Fail, h.VNIC.Source,
			fmt.Sprintf("NPU %d: %s", h.ID, h.VNIC.Value), l.word("up"))
	})
}

func netLLDP(l *look) verdict {
	return l.eachPort(func(h facts.HCCN) verdict {
		if !h.LLDP.Known() {
			return unknown(h.LLDP.Source, notePort(h, h.LLDP))
		}
		peer := strings.TrimSpace(h.LLDP.Value)
		return ifElse(peer != "" && !strings.Contains(peer, l.word("direct")), report.Warn, h.LLDP.Source,
			fmt.Sprintf("NPU %d: %s", h.ID, orNone(peer)), "a switch")
	})
}

// netIface reads the forms of HCCL_SOCKET_IFNAME: names and prefixes, =exact,
// ^not these. src: hicann/hccl docs.
func netIface(l *look) verdict {
	if v, stop := blank(l.Addresses); stop {
		return v
	}
	if v, stop := blank(l.Env); stop {
		return v
	}
	set := false
	all := []verdict{}
	for _, name := range l.list("variables") {
		value := l.env(name)
		if value == "" {
			continue
		}
		set = true
		all = append(all, ifElse(l.carries(value), report.Fail, l.Addresses.Source, name+"="+value, "an interface or address of this host"))
	}
	if first := l.firstInterface(); !set && first == l.word("bridge") {
		all = append(all, warn(l.Addresses.Source, first+" comes first", strings.Join(l.list("variables"), " or ")))
	}
	return worst(append(all, pass(l.Addresses.Source, orNone(l.firstInterface())))...)
}

// carries is true when an address or an interface of this host meets the value.
func (l *look) carries(value string) bool {
	if strings.HasPrefix(value, "^") {
		return true
	}
	addr, err := netip.ParseAddr(value)
	return slices.ContainsFunc(l.Addresses.Value, func(a facts.Address) bool {
		if err == nil {
			got, _, _ := strings.Cut(a.Address, "/")
			return got == addr.String()
		}
		return slices.ContainsFunc(strings.Split(value, ","), func(w string) bool {
			w = strings.TrimSpace(w)
			exact, is := strings.CutPrefix(w, "=")
			return is && a.Interface == exact || !is && w != "" && strings.HasPrefix(a.Interface, w)
		})
	})
}

func (l *look) firstInterface() string {
	for _, a := range l.Addresses.Value {
		if a.Interface != "lo" {
			return a.Interface
		}
	}
	return ""
}

// enginePorts are those of the target, else the engine's own.
func (l *look) enginePorts() []int {
	if len(l.job.Ports) > 0 {
		return l.job.Ports
	}
	var out []int
	for _, p := range l.of("net.ports").lists("engines")[l.job.Engine] {
		if n, err := strconv.Atoi(p); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func netPorts(l *look) verdict {
	if v, stop := blank(l.Listening); stop {
		return v
	}
	want := l.enginePorts()
	hccl := l.list("hccl")
	if first, err := strconv.Atoi(hccl[0]); err == nil && l.cards() > 1 && l.job.Engine != "acl" {
		n, _ := strconv.Atoi(hccl[len(hccl)-1])
		for p := first; p < first+n; p++ {
			want = append(want, p)
		}
	}
	if l.job.task() == "train" {
		want = append(want, int(l.number("torch")))
	}
	for _, p := range l.Listening.Value {
		if slices.Contains(want, p.Port) {
			return fail(l.Listening.Source, fmt.Sprintf("%d is taken by %s", p.Port, orNone(p.Command)), "free")
		}
	}
	return pass(l.Listening.Source, count(len(want), "ports free"))
}

// netMirror asks for the places of the plan: those of the row, and what pip and
// docker are configured for.
func netMirror(l *look) verdict {
	if v, stop := blank(l.Reachable); stop {
		return v
	}
	want := l.list("hosts")
	for _, u := range append(slices.Clone(l.PipIndex.Value), l.Docker.Value.Mirrors...) {
		h := u
		if parsed, err := url.Parse(u); err == nil && parsed.Hostname() != "" {
			h = parsed.Hostname()
		}
		want = append(want, h)
	}
	var there, lost, unasked []string
	for _, h := range unique(want) {
		switch answers, asked := l.Reachable.Value[h]; {
		case !asked:
			unasked = append(unasked, h)
		case answers:
			there = append(there, h)
		default:
			lost = append(lost, h)
		}
	}
	switch {
	case len(lost) > 0 && len(there) == 0:
		return fail(l.Reachable.Source, "no answer from "+strings.Join(lost, " "), "an answer, or an offline bundle")
	case len(lost) > 0:
		return warn(l.Reachable.Source, "no answer from "+strings.Join(lost, " "), "an answer")
	case len(unasked) > 0:
		return unknown(l.Reachable.Source, "not asked: "+strings.Join(unasked, " "))
	}
	return pass(l.Reachable.Source, count(len(there), "places answer"))
}
