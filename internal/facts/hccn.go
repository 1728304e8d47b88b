package facts

import (
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
)

func (l *look) hccnConf() []query { return []query{into(&l.HCCNConf, hccnFile, keyValues)} }

var hccnFile = file("/etc/hccn.conf")

func keyValues(s string) (map[string]string, error) { return pairs(s, "="), nil }

// hccn asks the network side of every device the host has a node for. The 950
// has another syntax, with ports, which is not asked here.
func (l *look) hccn() (qs []query) {
	const most = 64
	if l.HCCNConf.State == host.Unknown && !l.isRoot() {
		qs = append(qs, orInto(&l.HCCNConf, asRoot(hccnFile), keyValues))
	}
	ids := l.Davinci()
	l.HCCN = Fact[[]HCCN]{State: host.Absent, Source: "hccn_tool"}
	switch generation := l.generation(); {
	case l.Tools.Value["hccn_tool"] == "" && l.Tools.Known(), !l.Nodes.Known(), len(ids) == 0:
		return qs
	case generation == "950":
		l.HCCN.State, l.HCCN.Note = host.Unknown, "hccn_tool of the 950 has another syntax"
		return qs
	case generation == "310", generation == "310P", generation == "310B": // no network of their own
		return qs
	}
	l.HCCN.State = host.Known
	l.HCCN.Value = make([]HCCN, min(len(ids), most))
	for i := range l.HCCN.Value {
		h := &l.HCCN.Value[i]
		h.ID = ids[i]
		ask := func(f *Fact[string], parse func(string) (string, error), words ...string) {
			argv := append([]string{"hccn_tool", "-i", strconv.Itoa(h.ID)}, append(words, "-g")...)
			qs = append(qs, into(f, asRoot(within(hccnTime, run(argv...))), parse))
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
	}
	return qs
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
