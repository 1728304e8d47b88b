package facts

import (
	"context"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/host"
)

// hccnConf asks what is written down: the addresses that the next boot gets,
// and the rank table of the job.
func (l *look) hccnConf() []query {
	qs := []query{into(&l.HCCNConf, hccnFile, keyValues)}
	if l.Options.RankTable != "" {
		qs = append(qs, into(&l.Facts.RankTable, file(l.Options.RankTable), rankTable))
	}
	return qs
}

var hccnFile = file("/etc/hccn.conf")

func keyValues(s string) (map[string]string, error) { return pairs(s, "="), nil }

// hccn asks the network side of every device the host has a node for.
func (l *look) hccn() (qs []query) {
	const most = 64
	if l.HCCNConf.State == host.Unknown && !l.isRoot() {
		qs = append(qs, orInto(&l.HCCNConf, asRoot(hccnFile), keyValues))
	}
	ids := l.Davinci()
	l.HCCN = Fact[[]HCCN]{State: host.Absent, Source: "hccn_tool"}
	ask := l.hccnClassic
	switch generation := l.generation(); {
	case l.Tools.Value["hccn_tool"] == "" && l.Tools.Known(), !l.Nodes.Known(), len(ids) == 0:
		return qs
	case generation == "950":
		ask = l.hccn950
	case generation == "310", generation == "310P", generation == "310B": // no network of their own
		return qs
	}
	l.HCCN.State = host.Known
	l.HCCN.Value = make([]HCCN, min(len(ids), most))
	for i := range l.HCCN.Value {
		l.HCCN.Value[i].ID = ids[i]
		qs = append(qs, ask(&l.HCCN.Value[i], i)...)
	}
	return qs
}

func hccnTool(argv ...string) host.Question {
	return asRoot(within(hccnTime, run(append([]string{"hccn_tool"}, argv...)...)))
}

// hccnClassic is the syntax of A1, A2 and A3. at is the place of h among the
// NPUs of the host: each address of another host is tried from one NPU, the one
// at the same place, as the job would.
func (l *look) hccnClassic(h *HCCN, at int) (qs []query) {
	ask := func(f *Fact[string], parse func(string) (string, error), what string) {
		qs = append(qs, into(f, hccnTool("-i", strconv.Itoa(h.ID), what, "-g"), parse))
	}
	ask(&h.Link, afterColon("link status"), "-link")
	ask(&h.IP, afterColon("ipaddr"), "-ip")
	ask(&h.TLS, tls, "-tls")
	if l.generation() == "A3" {
		ask(&h.VNIC, afterColon("vnic link status"), "-vnic")
	}
	if l.MultiNode {
		ask(&h.NetHealth, word, "-net_health")
		ask(&h.Optical, maybeEmpty, "-optical")
		ask(&h.LLDP, maybeEmpty, "-lldp")
		ask(&h.MTU, word, "-mtu")
	}
	return append(qs, h.pings(at, len(l.HCCN.Value), l.peers())...)
}

// pings tries the addresses that fall to the NPU at that place of so many.
func (h *HCCN) pings(at, of int, peers []string) (qs []query) {
	for j, addr := range peers {
		if j%of == at {
			h.Pings = append(h.Pings, Ping{Address: addr})
		}
	}
	for j := range h.Pings {
		q := within(pingTime, hccnTool("-i", strconv.Itoa(h.ID), "-ping", "-g", "address", h.Pings[j].Address))
		f := &h.Pings[j].Answer
		qs = append(qs, query{q, func(a host.Answer) {
			a.Exit = 0 // that nothing came back is an answer, whatever the status
			*f = fact(a, q, packets)
		}})
	}
	return qs
}

// AskPeers tries addresses of NPUs of other hosts from the NPUs of a host that
// was looked at before, in one round trip more. A 950 has no such question.
func AskPeers(ctx context.Context, h host.Host, f *Facts, peers []string) {
	if len(peers) == 0 || len(f.HCCN.Value) == 0 {
		return
	}
	var qs []query
	for i := range f.HCCN.Value {
		one := &f.HCCN.Value[i]
		one.Pings = nil
		if f.Generation.Value == "950" {
			one.noPings(peers)
			continue
		}
		qs = append(qs, one.pings(i, len(f.HCCN.Value), peers[:min(len(peers), mostPeers)])...)
	}
	put(ctx, h, qs)
}

const mostPeers = 64 // about as many as answer in a minute

// peers are the NPU addresses of other hosts: those handed in, and those of the
// rank table but for the server that has an address of ours.
func (l *look) peers() []string {
	out := slices.Clone(l.Peers)
	ours := func(addr string) bool {
		return slices.ContainsFunc(sortedKeys(l.HCCNConf.Value), func(k string) bool { return l.HCCNConf.Value[k] == addr }) ||
			slices.ContainsFunc(l.Addresses.Value, func(a Address) bool { return strings.HasPrefix(a.Address+"/", addr+"/") })
	}
	for _, s := range l.Facts.RankTable.Value.Servers {
		if ours(s.ID) || slices.ContainsFunc(s.Devices, func(d RankDevice) bool { return ours(d.IP) }) {
			continue
		}
		for _, d := range s.Devices {
			if _, err := netip.ParseAddr(d.IP); err == nil && !slices.Contains(out, d.IP) {
				out = append(out, d.IP)
			}
		}
	}
	return out[:min(len(out), mostPeers)]
}

// hccn950 is the syntax of the 950: the verb first, and one table that tells
// ports, links and addresses (hicann/driver docs, Ascend_950_HCCN_Tool). What
// the others are asked between hosts it has no question for.
func (l *look) hccn950(h *HCCN, _ int) []query {
	id := strconv.Itoa(h.ID)
	table := hccnTool("-g", "-dev_info", "-i", id)
	none := noQuestion[string]()
	h.NetHealth, h.LLDP, h.MTU = none, none, none
	h.noPings(l.peers())
	return []query{
		{table, func(a host.Answer) {
			h.Link = fact(a, table, portLinks)
			h.IP = fact(a, table, portAddress)
			h.Optical = fact(a, table, portMedia)
		}},
		into(&h.TLS, hccnTool("-g", "-tls", "-i", id), tls),
		into(&h.VNIC, hccnTool("-g", "-vnic", "-i", id), afterColon("vnic link status")),
	}
}

func noQuestion[T any]() Fact[T] {
	return Fact[T]{State: host.Unknown, Source: "hccn_tool", Note: "hccn_tool of the 950 has no such question"}
}

func (h *HCCN) noPings(peers []string) {
	for _, addr := range peers {
		h.Pings = append(h.Pings, Ping{addr, noQuestion[Pinged]()})
	}
}

// generation is known after the first round already, from the bus alone.
func (l *look) generation() string {
	if npus := l.NPUs(); len(npus) > 0 {
		return npus[0].Generation
	}
	return ""
}

func afterColon(key string) func(string) (string, error) {
	return func(s string) (string, error) {
		v, err := word(pairs(s, ":")[key])
		if err != nil {
			return "", odd(key, s)
		}
		return v, nil
	}
}

// tls reads "dev_id:0, tls switch[0](0:disable, 1:enable), ...".
func tls(s string) (string, error) {
	_, rest, ok := strings.Cut(s, "tls switch[")
	v, _, shut := strings.Cut(rest, "]")
	if !ok || !shut || v == "" {
		return "", odd("tls switch[N]", s)
	}
	return v, nil
}

var packetLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([0-9]{1,6}) packets transmitted, ([0-9]{1,6}) received`)
})

// packets reads the last line of a ping.
func packets(s string) (Pinged, error) {
	m := packetLine().FindStringSubmatch(s)
	if m == nil {
		return Pinged{}, odd("N packets transmitted, N received", s)
	}
	return Pinged{Sent: atoi(m[1], 0), Received: atoi(m[2], 0)}, nil
}

// column gives the cells of a boxed table below a heading, "" for none, and the
// cells beside them below another. A text may hold several tables.
func column(s, heading, beside string) (cells, others []string) {
	at, other := -1, -1
	for _, line := range lines(s) {
		row, boxed := strings.CutPrefix(line, "|")
		if !boxed {
			continue
		}
		row = strings.TrimSuffix(row, "|")
		f := strings.Split(row, "|")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		if i, j := slices.Index(f, heading), slices.Index(f, beside); i >= 0 && j >= 0 {
			at, other = i, j
			continue
		}
		if at < 0 || max(at, other) >= len(f) || strings.Contains(row, "ID ") || strings.Contains(row, "Name ") {
			at = -1 // the heading of another table
			continue
		}
		cells, others = append(cells, f[at]), append(others, f[other])
	}
	return cells, others
}

// portLinks is UP when every port is, else it names those that are not.
func portLinks(s string) (string, error) {
	links, ports := column(s, "Link Status", "Port ID")
	if len(links) == 0 {
		return "", odd("a table of ports", s)
	}
	var down []string
	for i, l := range links {
		if l != "UP" {
			down = append(down, "port "+ports[i]+" "+l)
		}
	}
	if len(down) > 0 {
		return strings.Join(down, ", "), nil
	}
	return "UP", nil
}

// portAddress is the first address of an interface that is not the vNIC.
func portAddress(s string) (string, error) {
	addresses, names := column(s, "IP Address", "Interface Name")
	for i, a := range addresses {
		if names[i] != "" && !strings.HasPrefix(names[i], "end") && a != "" && a != "NA" {
			return a, nil
		}
	}
	return "", odd("an interface with an address", s)
}

func portMedia(s string) (string, error) {
	media, _ := column(s, "Media Type", "Port ID")
	if len(media) == 0 {
		return "", odd("a table of ports", s)
	}
	return "media type: " + strings.Join(slices.Compact(slices.Sorted(slices.Values(media))), ", "), nil
}
