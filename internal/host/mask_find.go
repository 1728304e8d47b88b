package host

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// finders are the shapes of identifiers. A dotted number of four parts is an
// address only where it is no version: drivers are called 22.0.0.3.
var finders = sync.OnceValue(func() (f struct{ ipv4, ipv6, mac, uuid, serial, die, home, version, strong *regexp.Regexp }) {
	f.ipv4 = regexp.MustCompile(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)
	f.ipv6 = regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`)
	f.mac = regexp.MustCompile(`[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}|[0-9a-fA-F]{2}(?:-[0-9a-fA-F]{2}){5}`)
	f.uuid = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	f.serial = regexp.MustCompile(`(?im)\b(?:serial(?:[ _]?(?:number|no\.?))?|sn|asset[ _]tag|barcode)"?[ \t]*[:=][ \t]*"?([a-z0-9][\w.-]{5,})"?[ \t|,]*\r?$`)
	f.die = regexp.MustCompile(`(?im)\b[vn]?die[ _]?id[ \t]*[:=][ \t]*([0-9a-f]{4,}(?:[ -][0-9a-f]{4,})*)`)
	f.home = regexp.MustCompile(`/home/([A-Za-z][\w.-]*)`)
	f.version = regexp.MustCompile(`(?i)(?:version\w*|ver|driver\w*|firmware\w*|npu-smi|package\w*|release\w*|software|==|>=|<=)["' \t]*[:= \t]*[\[("]*(?:[\d.]+[\])" \t]*,[\[(" \t]*)*$`)
	f.strong = regexp.MustCompile(`(?i)(?:inet6?|ipaddr|address(?:_\d+)?|addr|netmask(?:_\d+)?|via|nameserver|gateway|://(?:[^/@\s]*@)?)["' \t]*[:=]?[ \t]*$`)
	return f
})

// findIdentifiers gives the identifiers in what was taken and the kind of
// pseudonym each gets: address, mac, code, or the stem of a name.
func findIdentifiers(taken []exchange) map[string]string {
	found := map[string]string{}
	q := quads{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, x := range taken {
		for _, text := range textsOf(x) {
			findCodes(text, found)
			findIPv6(text, found)
			if x.q.Kind != Packages && x.q.Kind != Python {
				q.find(text, x.q.Kind == Hostname)
			}
		}
	}
	for v := range q.either {
		if !q.version[v] {
			found[v] = "address"
		}
	}
	for v := range q.address {
		found[v] = "address"
	}
	users := map[string]bool{}
	for _, x := range taken {
		findNames(x, found, users)
		for _, text := range textsOf(x) {
			for _, m := range finders().home.FindAllStringSubmatch(text, -1) {
				users[m[1]] = users[m[1]] || personal(m[1])
			}
		}
	}
	for u, is := range users {
		if is {
			found[u] = "user"
		}
	}
	findDomains(taken, found)
	return found
}

func textsOf(x exchange) []string {
	return slices.Concat(x.q.Args, x.q.Env, []string{string(x.a.Stdout), string(x.a.Stderr), errText(x.a.Err)})
}

func findCodes(text string, found map[string]string) {
	f := finders()
	for _, m := range f.mac.FindAllString(text, -1) {
		if strings.Trim(m, "0:-") != "" && strings.Trim(strings.ToLower(m), "f:-") != "" {
			found[m] = "mac"
		}
	}
	for _, u := range f.uuid.FindAllString(text, -1) {
		if strings.Trim(u, "0-") != "" {
			found[u] = "code"
		}
	}
	for _, m := range f.serial.FindAllStringSubmatch(text, -1) {
		if serialLike(m[1]) {
			found[m[1]] = "code"
		}
	}
	for _, m := range f.die.FindAllStringSubmatch(text, -1) {
		if serialLike(strings.ReplaceAll(m[1], " ", "")) {
			found[m[1]] = "code"
		}
	}
}

// serialLike tells a serial number from a word that stands in its place, and
// from a number so short that it may mean something else elsewhere.
func serialLike(s string) bool {
	digits := 0
	for i := range len(s) {
		if digit(s[i]) {
			digits++
		}
	}
	return digits > 0 && (digits < len(s) || len(s) >= 8) && strings.Trim(s, "0.-") != ""
}

// quads are dotted numbers of four parts, by what they are.
type quads struct{ address, version, either map[string]bool }

// find takes dotted numbers as addresses unless they are versions here; a
// number that is a version in one place is one everywhere, unless a word in
// front of it says that it is an address.
func (q *quads) find(text string, certain bool) {
	f := finders()
	for _, at := range f.ipv4.FindAllStringIndex(text, -1) {
		v := text[at[0]:at[1]]
		a, err := netip.ParseAddr(v)
		if err != nil || inRange(a, kept) || !standsAlone(text, at[0], at[1]) || partOfName(text, at[0], at[1]) {
			continue
		}
		head := text[strings.LastIndexByte(text[:at[0]], '\n')+1 : at[0]]
		head = head[max(0, len(head)-200):]
		switch {
		case certain || f.strong.MatchString(head):
			q.address[v] = true
		case f.version.MatchString(head):
			q.version[v] = true
		default:
			q.either[v] = true
		}
	}
}

// partOfName is true in 5.10.0-216.0.0.115.oe2203 (a kernel) and 1.2.3.4-rc1.
func partOfName(s string, from, to int) bool {
	before := from > 1 && s[from-1] == '-' && digit(s[from-2])
	after := to+1 < len(s) && (s[to] == '-' || s[to] == '.') && wordByte(s[to+1]) && !digit(s[to+1])
	return before || after
}

func findIPv6(text string, found map[string]string) {
	for _, at := range finders().ipv6.FindAllStringIndex(text, -1) {
		v := text[at[0]:at[1]]
		a, err := netip.ParseAddr(v)
		if err == nil && len(v) > 4 && strings.Count(v, ":") > 2 && !inRange(a, kept) && standsAlone(text, at[0], at[1]) {
			found[v] = "address"
		}
	}
}

// spokenNames are names of hosts and users that identify nobody and may be
// ordinary words elsewhere.
var spokenNames = []string{
	"root", "nobody", "HwHiAiUser", "HwBaseUser", "HwDmUser", "HwSysUser", "ubuntu", "ma-user", "ma-group", "admin", "user", "users", "docker", "sudo", "wheel",
	"localhost", "host", "node", "server", "debian", "openeuler", "euleros", "kylin", "centos", "ascend", "npu", "python", "python3", "infer", "vllm", "data", "home", "work", "test", "build", "ops", "ml",
	"none", "-", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
}

func personal(name string) bool {
	return len(name) > 2 && !slices.Contains(spokenNames, strings.TrimSpace(name)) && !strings.ContainsAny(name, " \t/:=")
}

// distinct tells a host name that can be looked for everywhere.
func distinct(name string) bool {
	return len(name) > 3 && strings.ContainsAny(name, "0123456789-.") && strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}

// idFiles hold nothing but an identifier.
var idFiles = []string{"machine-id", "boot_id", "product_uuid", "product_serial", "board_serial", "chassis_serial", "chassis_asset_tag", "board_asset_tag", "serial-number"}

// findNames looks where names of hosts and people stand.
func findNames(x exchange, found map[string]string, users map[string]bool) {
	out := string(x.a.Stdout)
	host := func(name string) {
		if name = strings.Trim(name, "\n\r\x00 "); personal(name) && distinct(name) && found[name] == "" {
			found[name] = "host-"
		}
	}
	one := ""
	if len(x.q.Args) > 0 {
		one = x.q.Args[0]
	}
	switch {
	case x.q.Kind == Hostname:
		host(keyValues(out)["name"])
	case x.q.Kind == Exec && (one == "hostname" || one == "uname" && slices.Contains(x.q.Args, "-n")):
		host(out)
	case x.q.Kind == File && (one == "/etc/hostname" || one == "/proc/sys/kernel/hostname"):
		host(out)
	case x.q.Kind == File && one == "/etc/hosts":
		for _, w := range fieldsOfLines(out, 2) {
			if a, err := netip.ParseAddr(w[0]); err == nil && !inRange(a, kept) {
				for _, name := range w[1:] {
					host(name)
				}
			}
		}
	case x.q.Kind == File && slices.Contains(idFiles, path.Base(one)):
		if v := strings.Trim(out, "\n\r\x00 "); serialLike(v) && len(v) > 5 && found[v] == "" {
			found[v] = "code"
		}
	case x.q.Kind == Identity:
		if u := keyValues(out)["user"]; personal(u) {
			users[u] = true
		}
	case x.q.Kind == File && one == "/etc/passwd":
		for line := range strings.Lines(out) {
			f := strings.Split(line, ":")
			if uid, err := strconv.Atoi(append(f, "", "", "")[2]); err == nil && uid >= 1000 && uid < 60000 && personal(f[0]) {
				users[f[0]] = true
			}
		}
	case x.q.Kind == Env:
		for entry := range strings.SplitSeq(out, "\x00") {
			switch k, v, _ := strings.Cut(entry, "="); {
			case k == "HOSTNAME":
				host(v)
			case (k == "USER" || k == "LOGNAME") && personal(v):
				users[v] = true
			}
		}
	}
}

// findDomains adds the full names of hosts whose short names were found.
func findDomains(taken []exchange, found map[string]string) {
	var names []string
	for v, kind := range found {
		if kind == "host-" && !strings.Contains(v, ".") {
			names = append(names, regexp.QuoteMeta(v))
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	full := regexp.MustCompile(`(?:` + strings.Join(names, "|") + `)(?:\.[a-zA-Z][a-zA-Z0-9-]*)+`)
	for _, x := range taken {
		for _, text := range textsOf(x) {
			for _, at := range full.FindAllStringIndex(text, -1) {
				if standsAlone(text, at[0], at[1]) {
					found[text[at[0]:at[1]]] = "host-"
				}
			}
		}
	}
}
