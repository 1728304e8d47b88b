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
		return noTarget(report.T("addresses of the other hosts (rank table)", "其他主机的地址（rank table）"))
	}
	return worst(all...)
}

func (l *look) ping(h facts.HCCN, p facts.Ping) verdict {
	got := p.Answer.Value
	way := report.T("NPU %d to %s", "NPU %d 到 %s", h.ID, p.Address)
	seen := says(way, report.T("%d of %d", "收到 %d 个，发出 %d 个", got.Received, got.Sent))
	switch {
	case !p.Answer.Known() || got.Sent == 0:
		return unknown(p.Answer.Source, says(way, reason(p.Answer)))
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
	for _, f := range l.list("flags") {
		if n, err := strconv.ParseUint(keys[f], 0, 64); err == nil && n != 0 && keys["present"] == "present" {
			return fail(h.Optical.Source, ofNPU(h.ID, raw(f, keys[f])), raw("0x0"))
		}
	}
	power, ok := milliwatt(keys[l.word("power")])
	high, okHigh := milliwatt(keys[l.word("high")])
	low, okLow := milliwatt(keys[l.word("low")])
	wanted := report.T("%g to %g mW", "%g 至 %g mW", low, high)
	switch {
	case keys["media type"] == l.word("electrical"):
		return pass(h.Optical.Source, ofNPU(h.ID, raw("media type", keys["media type"])))
	case keys["present"] != "" && keys["present"] != "present":
		return warn(h.Optical.Source, ofNPU(h.ID, keys["present"]), raw("present"))
	case !ok || !okHigh || !okLow || keys["present"] == "":
		return unknown(h.Optical.Source, ofNPU(h.ID, report.T("no power in %q", "%q 中没有光功率", firstLine(h.Optical.Value))))
	}
	return ifElse(low <= power && power <= high, report.Fail, h.Optical.Source, ofNPU(h.ID, fmt.Sprintf("%s %g mW", l.word("power"), power)), wanted)
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
		return unknown(source, report.T("no such file", "文件不存在"))
	}
	if missing := lackOf(l.list("keys"), t.Keys); len(missing) > 0 {
		return fail(source, without(missing...), raw(l.list("keys")...))
	}
	if v := ranks(t, source); v.status != report.Pass {
		return v
	}
	extra := lackOf(t.Keys, append(l.list("keys"), l.list("others")...))
	besides := pass(source, report.T("no other key", "没有其他键"))
	if len(extra) > 0 {
		besides = warn(source, report.T("more keys: %s", "多余的键：%s", strings.Join(extra, " ")), report.T("none besides", "没有其他键"))
	}
	return worst(l.ownRanks(t), besides)
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
				return fail(source, report.T("rank_id %q of %d devices", "rank_id %q，共 %d 个设备", d.Rank, total), report.T("0 to %d", "0 至 %d", total-1))
			}
			if of[rank] || d.IP != "" && addresses[d.IP] {
				return fail(source, report.T("rank_id %d or device_ip %s twice", "rank_id %d 或 device_ip %s 重复", rank, orNone(d.IP)), report.T("each once", "各出现一次"))
			}
			of[rank], addresses[d.IP] = true, true
		}
	}
	if t.Count != strconv.Itoa(len(t.Servers)) {
		return fail(source, report.T("server_count %s", "server_count 为 %s", orNone(t.Count)), report.T("%d, the length of server_list", "%d，即 server_list 的长度", len(t.Servers)))
	}
	return ifElse(total > 0, report.Fail, source, report.T("%d ranks", "%d 个 rank", total), report.T("at least one device", "至少一个设备"))
}

// ownRanks compares the addresses of the table with those of the NPUs here.
// This host is the server that has one of them, or its own address as its id.
func (l *look) ownRanks(t facts.RankTable) verdict {
	have := l.npuAddresses()
	if len(have) == 0 {
		return unknown(l.HCCN.Source, report.T("addresses of the NPUs not known", "NPU 的地址未知"))
	}
	is := func(s facts.RankServer) bool {
		return slices.ContainsFunc(l.Addresses.Value, func(a facts.Address) bool { return strings.HasPrefix(a.Address+"/", s.ID+"/") }) ||
			slices.ContainsFunc(s.Devices, func(d facts.RankDevice) bool { return slices.Contains(keys(have), d.IP) })
	}
	at := slices.IndexFunc(t.Servers, is)
	if at < 0 {
		return fail(l.RankTable.Source, report.T("no server with an NPU of this host", "没有含本机 NPU 的 server"), raw(keys(have)...))
	}
	for _, d := range t.Servers[at].Devices {
		if id, there := have[d.IP]; !there || strconv.Itoa(id) != d.ID {
			return fail(l.RankTable.Source, report.T("device_id %s has %s", "device_id %s 的地址为 %s", d.ID, orNone(d.IP)), report.T("the address of NPU %s", "NPU %s 的地址", d.ID))
		}
	}
	return pass(l.RankTable.Source, report.T("addresses as on the NPUs", "地址与 NPU 上一致"))
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
