package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var fleetJudges = map[string]judge{
	"fleet.driver": {"", oneHost},
	"fleet.cann":   {"", oneHost},
	"fleet.engine": {"distributions:dict", oneHost},
}

// oneHost: what compares hosts has nothing to say of one.
func oneHost(*look) verdict {
	return skip("hosts", report.T("one host at a time: compared when several are asked", "单台主机：查询多台时才比较"))
}

// Member is one host of a fleet, looked at and judged.
type Member struct {
	Name     string // as the person named it
	Facts    *facts.Facts
	Findings []report.Finding // of Host
}

// fleet is all a judge of several hosts may see.
type fleet struct {
	looks []look // of the hosts where the check applies
	names []string
	job   *Scene
	*Spec
}

// across has the judges of the rows of scope fleet. net.npu_ping is not among
// them: each host answers for the way to all others.
func across() map[string]func(*fleet) verdict {
	return map[string]func(*fleet) verdict{
		"fleet.driver": fleetDriver, "fleet.cann": fleetCANN, "fleet.engine": fleetEngine,
		"os.time_sync": fleetClock, "net.npu_ip": fleetAddresses, "net.npu_tls": fleetTLS, "net.mtu": fleetMTU,
	}
}

// Fleet judges what several hosts are to each other, in the order of the
// catalogue; nothing for less than two. A host where a check does not apply is
// not compared.
func Fleet(c *Catalogue, hosts []Member, s Scene) (out []report.Finding) {
	if len(hosts) < 2 {
		return nil
	}
	s, _ = c.complete(s, hosts[0].Facts)
	for i := range c.specs {
		spec := &c.specs[i]
		see, ok := across()[spec.ID]
		if !ok {
			continue
		}
		fl := fleet{job: &s, Spec: spec}
		for _, h := range hosts {
			l := look{Facts: h.Facts, job: &s, Spec: spec, c: c, done: map[string]*report.Finding{}}
			for k := range h.Findings {
				l.done[h.Findings[k].ID] = &h.Findings[k]
			}
			if f := l.done[spec.ID]; groupOf(spec.ID) == "fleet" || f != nil && f.Status != report.Skip {
				fl.looks, fl.names = append(fl.looks, l), append(fl.names, h.Name)
			}
		}
		out = append(out, fl.finding(see))
	}
	return out
}

func (fl *fleet) finding(see func(*fleet) verdict) report.Finding {
	v := skip("hosts", report.T("does not apply to two of them", "适用的主机不足 2 台"))
	if len(fl.looks) > 1 {
		v = see(fl)
	}
	f := report.Finding{ID: fl.ID, Severity: fl.Severity, Text: fl.Title, Status: v.status, Evidence: v.evidence}
	if f.Status == report.Warn || f.Status == report.Fail {
		f.Fix, f.Run = fl.Fix, fl.Run
		if slices.ContainsFunc(fl.looks, func(l look) bool { return overlap(fl.Touches, l.managed()) }) {
			f.Fix, f.Run = leaveIt, ""
		}
	}
	return f
}

// same compares one value of every host; "" is a host that does not tell it.
func (fl *fleet) same(what report.Text, bad report.Status, of func(l *look) string) verdict {
	hosts := map[string][]string{}
	for i := range fl.looks {
		if v := of(&fl.looks[i]); v != "" {
			hosts[v] = append(hosts[v], fl.names[i])
		}
	}
	told := 0
	var seen []report.Evidence
	for _, v := range keys(hosts) {
		told += len(hosts[v])
		seen = append(seen, report.Evidence{Source: strings.Join(hosts[v], " "), Seen: report.T("%s %s", "%s %s", what, v), Wanted: report.T("one", "同一个值")})
	}
	switch {
	case told < 2:
		return unknown("hosts", report.T("fewer than two tell their %s", "不足 2 台主机给出：%s", what))
	case len(hosts) == 1:
		return pass(strings.Join(fl.names, " "), seen[0].Seen)
	}
	return verdict{status: bad, evidence: seen}
}

// badly is the status of a difference, which hurts only a job on several nodes.
func (fl *fleet) badly() report.Status { return (&look{job: fl.job}).badly() }

func fleetDriver(fl *fleet) verdict {
	return fl.same(report.T("driver", "驱动"), fl.badly(), func(l *look) string { return l.Driver.Value.Version })
}

func fleetCANN(fl *fleet) verdict {
	return fl.same(raw("CANN"), fl.badly(), func(l *look) string {
		if t := l.active(); t != nil {
			return t.Version
		}
		return ""
	})
}

// fleetEngine compares the engine that is asked for, else every engine that
// more than one host has.
func fleetEngine(fl *fleet) verdict {
	distributions := fl.dict("distributions")
	engines := keys(distributions)
	if distributions[fl.job.Engine] != "" {
		engines = []string{fl.job.Engine}
	}
	var all []verdict
	for _, e := range engines {
		v := fl.same(raw(e), fl.badly(), func(l *look) string { return l.Packages.Value[distributions[e]] })
		if v.status != report.Unknown {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return unknown("hosts", report.T("fewer than two have an engine", "不足 2 台主机装有推理引擎"))
	}
	return worst(all...)
}

// fleetClock compares clocks through ours: how far each is ahead of it.
func fleetClock(fl *fleet) verdict {
	first, last, told := -1, -1, 0
	for i := range fl.looks {
		f := fl.looks[i].ClockOffset
		if !f.Known() {
			continue
		}
		if told++; told == 1 {
			first, last = i, i
		}
		if f.Value < fl.looks[first].ClockOffset.Value {
			first = i
		}
		if f.Value > fl.looks[last].ClockOffset.Value {
			last = i
		}
	}
	if told < 2 {
		return unknown("hosts", report.T("fewer than two clocks were compared", "不足 2 台主机的时钟可供比较"))
	}
	apart := fl.looks[last].ClockOffset.Value - fl.looks[first].ClockOffset.Value
	return ifElse(apart <= fl.number("offset"), report.Fail, fl.names[first]+" "+fl.names[last],
		report.T("%.1f s apart", "相差 %.1f s", apart), atMost(fl.shown("offset")))
}

// fleetAddresses wants every address on one NPU of all hosts.
func fleetAddresses(fl *fleet) verdict {
	at := map[string]string{}
	all := []verdict{}
	for i := range fl.looks {
		mine := fl.looks[i].npuAddresses()
		for _, addr := range keys(mine) {
			where := fmt.Sprintf("%s NPU %d", fl.names[i], mine[addr])
			if other, twice := at[addr]; twice {
				all = append(all, say(fl.badly(), fl.names[i], report.T("%s and %s: %s", "%s 与 %s：%s", other, where, addr), differ()))
			}
			at[addr] = where
		}
	}
	switch {
	case len(at) == 0:
		return unknown("hosts", report.T("no address of an NPU is known", "没有已知的 NPU 地址"))
	case len(all) > 0:
		return worst(all...)
	}
	return pass("hosts", report.T("%d different addresses", "%d 个不同的地址", len(at)))
}

// ports gives the values that all NPUs of a host share: "0", or "0, 1".
func ports(l *look, of func(facts.HCCN) facts.Fact[string]) string {
	var values []string
	for _, h := range l.HCCN.Value {
		if f := of(h); f.Known() {
			values = append(values, f.Value)
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ", ")
}

func fleetTLS(fl *fleet) verdict {
	return fl.same(tlsSwitch(), fl.badly(), func(l *look) string {
		return ports(l, func(h facts.HCCN) facts.Fact[string] { return h.TLS })
	})
}

func fleetMTU(fl *fleet) verdict {
	bad := report.Warn
	v := fl.same(raw("mtu"), bad, func(l *look) string {
		return ports(l, func(h facts.HCCN) facts.Fact[string] { return h.MTU })
	})
	small := fl.word("small")
	if v.status == bad && slices.ContainsFunc(v.evidence, func(e report.Evidence) bool { return slices.Contains(strings.FieldsFunc(e.Seen.En, notDigit), small) }) {
		v.status = report.Fail
	}
	return v
}

func notDigit(r rune) bool { return r < '0' || r > '9' }
