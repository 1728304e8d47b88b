package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Judges of what NPUs of different hosts are to each other.

func netPing(l *look) verdict {
	if v, stop := blank(l.HCCN); stop {
		return v
	}
	var all []verdict
	for _, h := range l.HCCN.Value {
		for _, p := range h.Pings {
			all = append(all, l.ping(h, p))
		}
	}
	if len(all) == 0 {
		return noTarget("addresses of the other hosts (rank table)")
	}
	return worst(all...)
}

func (l *look) ping(h facts.HCCN, p facts.Ping) verdict {
	got := p.Answer.Value
	seen := fmt.Sprintf("NPU %d to %s: %d of %d", h.ID, p.Address, got.Received, got.Sent)
	switch {
	case !p.Answer.Known() || got.Sent == 0:
		return unknown(p.Answer.Source, fmt.Sprintf("NPU %d to %s: %s", h.ID, p.Address, orNone(p.Answer.Note)))
	case got.Received == 0:
		return fail(p.Answer.Source, seen, l.shown("packets"))
	case got.Received < got.Sent:
		return warn(p.Answer.Source, seen, l.shown("packets"))
	}
	return pass(p.Answer.Source, seen)
}

func netOptical(l *look) verdict {
	return l.eachPort(func(h facts.HCCN) verdict {
		if !h.Optical.Known() {
			return unknown(h.Optical.Source, notePort(h, h.Optical))
		}
		return l.module(h)
	})
}

// module reads the "key : value" lines of an optical module.
func (l *look) module(h facts.HCCN) verdict {
	keys := map[string]string{}
	for line := range strings.SplitSeq(h.Optical.Value, "\n") {
		k, v, _ := strings.Cut(line, ":")
		keys[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	who := fmt.Sprintf("NPU %d: ", h.ID)
	for _, f := range l.list("flags") {
		if n, err := strconv.ParseUint(keys[f], 0, 64); err == nil && n != 0 && keys["present"] == "present" {
			return fail(h.Optical.Source, who+f+" "+keys[f], "0x0")
		}
	}
	power, ok := milliwatt(keys[l.word("power")])
	high, okHigh := milliwatt(keys[l.word("high")])
	low, okLow := milliwatt(keys[l.word("low")])
	wanted := fmt.Sprintf("%g to %g mW", low, high)
	switch {
	case keys["media type"] == l.word("electrical"):
		return pass(h.Optical.Source, who+"media type "+keys["media type"])
	case keys["present"] != "" && keys["present"] != "present":
		return warn(h.Optical.Source, who+keys["present"], "present")
	case !ok || !okHigh || !okLow || keys["present"] == "":
		return unknown(h.Optical.Source, who+"no power in "+strconv.Quote(firstLine(h.Optical.Value)))
	}
	return ifElse(low <= power && power <= high, report.Fail, h.Optical.Source, fmt.Sprintf("%s%s %g mW", who, l.word("power"), power), wanted)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// milliwatt reads "1.0189 mW".
func milliwatt(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "mW")), 64)
	return n, err == nil
}

func netRankTable(l *look) verdict {
	if v, stop := blank(l.RankTable); stop {
		return v
	}
	t, source := l.RankTable.Value, l.RankTable.Source
	if l.RankTable.Absent() {
		return unknown(source, "no such file")
	}
	missing := lackOf(l.list("keys"), t.Keys)
	if len(missing) > 0 {
		return fail(source, "missing: "+strings.Join(missing, " "), strings.Join(l.list("keys"), " "))
	}
	if v := ranks(t, source); v.status != report.Pass {
		return v
	}
	extra := lackOf(t.Keys, append(l.list("keys"), l.list("others")...))
	return worst(l.ownRanks(t), ifElse(len(extra) == 0, report.Warn, source, listed(extra, "more keys", "no other key"), "none besides"))
}

// lackOf gives those of want that are not in have.
func lackOf(want, have []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(k string) bool { return slices.Contains(have, k) })
}

// ranks wants each rank from 0 once, each address once, and as many servers as
// are counted.
func ranks(t facts.RankTable, source string) verdict {
	total := 0
	for _, s := range t.Servers {
		total += len(s.Devices)
	}
	of, addresses := make([]bool, total), map[string]bool{}
	for _, s := range t.Servers {
		for _, d := range s.Devices {
			rank, err := strconv.Atoi(d.Rank)
			if err != nil || rank < 0 || rank >= total {
				return fail(source, fmt.Sprintf("rank_id %q of %d devices", d.Rank, total), fmt.Sprintf("0 to %d", total-1))
			}
			if of[rank] || d.IP != "" && addresses[d.IP] {
				return fail(source, fmt.Sprintf("rank_id %d or device_ip %s twice", rank, orNone(d.IP)), "each once")
			}
			of[rank], addresses[d.IP] = true, true
		}
	}
	if t.Count != strconv.Itoa(len(t.Servers)) {
		return fail(source, "server_count "+orNone(t.Count), fmt.Sprintf("%d, the length of server_list", len(t.Servers)))
	}
	return ifElse(total > 0, report.Fail, source, count(total, "ranks"), "at least one device")
}

// ownRanks compares the addresses of the table with those of the NPUs here.
// This host is the server that has one of them, or its own address as its id.
func (l *look) ownRanks(t facts.RankTable) verdict {
	have := l.npuAddresses()
	if len(have) == 0 {
		return unknown(l.HCCN.Source, "addresses of the NPUs not known")
	}
	is := func(s facts.RankServer) bool {
		return slices.ContainsFunc(l.Addresses.Value, func(a facts.Address) bool { return strings.HasPrefix(a.Address+"/", s.ID+"/") }) ||
			slices.ContainsFunc(s.Devices, func(d facts.RankDevice) bool { return slices.Contains(keys(have), d.IP) })
	}
	at := slices.IndexFunc(t.Servers, is)
	if at < 0 {
		return fail(l.RankTable.Source, "no server with an NPU of this host", strings.Join(keys(have), " "))
	}
	for _, d := range t.Servers[at].Devices {
		if id, there := have[d.IP]; !there || strconv.Itoa(id) != d.ID {
			return fail(l.RankTable.Source, fmt.Sprintf("device_id %s has %s", d.ID, orNone(d.IP)), "the address of NPU "+d.ID)
		}
	}
	return pass(l.RankTable.Source, "addresses as on the NPUs")
}

// npuAddresses gives the NPU of each address: what the tool says, else what is
// kept for the next boot.
func (l *look) npuAddresses() map[string]int {
	out := map[string]int{}
	prefix := strings.TrimSuffix(l.of("net.npu_ip").word("conf_key"), "N")
	for k, addr := range l.HCCNConf.Value {
		if id, err := strconv.Atoi(strings.TrimPrefix(k, prefix)); err == nil && strings.HasPrefix(k, prefix) {
			out[addr] = id
		}
	}
	for _, h := range l.HCCN.Value {
		if h.IP.Value != "" {
			out[h.IP.Value] = h.ID
		}
	}
	return out
}
