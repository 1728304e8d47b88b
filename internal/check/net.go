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
		return unknown(l.HCCN.Source, report.T("hccn_tool said nothing", "hccn_tool 没有输出"))
	}
	return worst(all...)
}

func netLink(l *look) verdict {
	return l.eachPort(func(h facts.HCCN) verdict {
		if !h.Link.Known() {
			return unknown(h.Link.Source, notePort(h, h.Link))
		}
		return ifElse(h.Link.Value == l.word("up"), l.badly(), h.Link.Source, ofNPU(h.ID, h.Link.Value), raw(l.word("up")))
	})
}

func notePort(h facts.HCCN, f facts.Fact[string]) report.Text { return ofNPU(h.ID, reason(f)) }

func ofNPU(id int, what any) report.Text { return says(fmt.Sprintf("NPU %d", id), what) }

func tlsSwitch() report.Text { return report.T("tls switch", "TLS 开关") }

func differ() report.Text { return report.T("different addresses", "互不相同的地址") }

func oneValue() report.Text { return report.T("one value", "同一个值") }

// netIP takes the address of the tool, else the one that is kept for the next
// boot.
func netIP(l *look) verdict {
	key := strings.TrimSuffix(l.word("conf_key"), "N")
	if !l.HCCN.Known() && !l.HCCNConf.Known() {
		return unknown(l.HCCN.Source, reason(l.HCCN))
	}
	at := map[string]int{}
	all := []verdict{}
	take := func(id int, addr, source string) {
		first, twice := at[addr]
		switch {
		case addr == "":
			all = append(all, say(l.badly(), source, ofNPU(id, report.T("no address", "没有地址")), report.T("an address", "有地址")))
		case twice:
			all = append(all, say(l.badly(), source, report.T("NPU %d and %d: %s", "NPU %d 与 %d：%s", first, id, addr), differ()))
		default:
			all = append(all, pass(source, ofNPU(id, addr)))
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
		return unknown(l.HCCN.Source, report.T("no NPU answered", "没有 NPU 应答"))
	}
	return worst(all...)
}

// uniform judges values that must be the same on all NPUs.
func (l *look) uniform(of func(facts.HCCN) facts.Fact[string], what report.Text, mixed func(values []string) verdict) verdict {
	var values []string
	v := l.eachPort(func(h facts.HCCN) verdict {
		f := of(h)
		if !f.Known() {
			return unknown(f.Source, notePort(h, f))
		}
		values = append(values, f.Value)
		return pass(f.Source, ofNPU(h.ID, report.T("%s %s", "%s %s", what, f.Value)))
	})
	if different := unique(values); len(different) > 1 {
		return mixed(different)
	}
	return v
}

func netTLS(l *look) verdict {
	return l.uniform(func(h facts.HCCN) facts.Fact[string] { return h.TLS }, tlsSwitch(), func(values []string) verdict {
		return say(l.badly(), l.HCCN.Source, report.T("%s %s", "%s %s", tlsSwitch(), both(values)), oneValue())
	})
}

func netMTU(l *look) verdict {
	return l.uniform(func(h facts.HCCN) facts.Fact[string] { return h.MTU }, raw("mtu"), func(values []string) verdict {
		small := strconv.Itoa(int(l.number("small")))
		bad := report.Warn
		if slices.ContainsFunc(values, func(v string) bool { return strings.HasSuffix(strings.TrimSpace(v), small) }) {
			bad = report.Fail
		}
		return say(bad, l.HCCN.Source, both(values), oneValue())
	})
}

func netHealth(l *look) verdict {
	words := l.dict("words")
	return l.eachPort(func(h facts.HCCN) verdict {
		for _, w := range keys(words) {
			if h.NetHealth.Known() && strings.Contains(h.NetHealth.Value, w) {
				status := report.Status(words[w])
				return ifElse(status == report.Pass, status, h.NetHealth.Source, ofNPU(h.ID, w), raw("Success"))
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
			ofNPU(h.ID, h.VNIC.Value), raw(l.word("up")))
	})
}

func netLLDP(l *look) verdict {
	return l.eachPort(func(h facts.HCCN) verdict {
		if !h.LLDP.Known() {
			return unknown(h.LLDP.Source, notePort(h, h.LLDP))
		}
		peer := strings.TrimSpace(h.LLDP.Value)
		return ifElse(peer != "" && !strings.Contains(peer, l.word("direct")), report.Warn, h.LLDP.Source,
			ofNPU(h.ID, orNone(peer)), report.T("a switch", "交换机"))
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
		all = append(all, ifElse(l.carries(value), report.Fail, l.Addresses.Source, raw(name+"="+value), report.T("an interface or address of this host", "本机的网口或地址")))
	}
	if first := l.firstInterface(); !set && first == l.word("bridge") {
		all = append(all, warn(l.Addresses.Source, report.T("%s comes first", "%s 排在首位", first), either(l.list("variables"))))
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
			return fail(l.Listening.Source, taken(strconv.Itoa(p.Port), p.Command, p.PID), report.T("free", "空闲"))
		}
	}
	return pass(l.Listening.Source, report.T("%d ports free", "%d 个端口空闲", len(want)))
}

// taken says who holds a port or a lock; a login that is not root sees neither
// name nor pid of the processes of others.
func taken(what, command string, pid int) report.Text {
	switch {
	case command != "" && pid > 0:
		return report.T("%s is taken by %s (pid %d)", "%s 已被 %s（pid %d）占用", what, command, pid)
	case command != "":
		return report.T("%s is taken by %s", "%s 已被 %s 占用", what, command)
	case pid > 0:
		return report.T("%s is taken by pid %d", "%s 已被 pid %d 占用", what, pid)
	}
	return report.T("%s is taken by a process we cannot see", "%s 已被占用，占用进程不可见", what)
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
	silent := report.T("no answer from %s", "%s 无应答", strings.Join(lost, " "))
	switch {
	case len(lost) > 0 && len(there) == 0:
		return fail(l.Reachable.Source, silent, report.T("an answer, or an offline bundle", "有应答，或使用离线包"))
	case len(lost) > 0:
		return warn(l.Reachable.Source, silent, report.T("an answer", "有应答"))
	case len(unasked) > 0:
		return unknown(l.Reachable.Source, notAsked(unasked))
	}
	return pass(l.Reachable.Source, report.T("%d places answer", "%d 处有应答", len(there)))
}
