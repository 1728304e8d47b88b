package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
)

// place finds out whether this is a machine, a guest or a container.
func (l *look) place() []query {
	sandbox := typed(host.Sandbox)
	marks := stat("/.dockerenv", "/run/.containerenv")
	return []query{
		{sandbox, func(a host.Answer) {
			l.Sandbox = fact(a, sandbox, func(s string) (string, error) { return token(pairs(s, "=")["kind"]) })
			l.Virt = fact(a, sandbox, func(s string) (string, error) { return token(pairs(s, "=")["virt"]) })
		}},
		orNothing(&l.Marks, marks, func(s string) ([]string, error) {
			entries, err := stats(s)
			return paths(entries), err
		}),
		into(&l.Product, file("/sys/class/dmi/id/product_name"), word),
		into(&l.DeviceTree, file("/proc/device-tree/compatible"), func(s string) (DeviceTree, error) {
			return DeviceTree{Compatible: strings.FieldsFunc(s, nulOrSpace)}, nil
		}),
		{file("/proc/device-tree/model"), func(a host.Answer) {
			if model := strings.Trim(clean(a.Stdout), "\x00\n "); a.State == host.Known && model != "" {
				l.DeviceTree.Value.Model = model
				l.DeviceTree.State, l.DeviceTree.Note = host.Known, ""
			}
		}},
	}
}

func nulOrSpace(r rune) bool { return r == 0 || r == '\n' || r == ' ' }

// concludeVirt falls back to what a hypervisor tells the CPU where nothing else
// gave an answer.
func (l *look) concludeVirt() {
	if l.Virt.Known() || l.Virt.State == "" {
		return
	}
	if l.CPU.Known() && l.CPU.Value.Hypervisor != "" {
		l.Virt = Fact[string]{Value: l.CPU.Value.Hypervisor, State: host.Known, Source: l.CPU.Source}
		return
	}
	if l.Virt.Absent() { // the tool is not there, the question stays open
		l.Virt.State, l.Virt.Note = host.Unknown, "no systemd-detect-virt, and no mark of a container or a hypervisor"
	}
}

// board asks a machine without NPUs on the bus what it is.
func (l *look) board() []query {
	if slices.ContainsFunc(l.PCI.Value, PCI.isNPU) {
		return nil
	}
	return []query{into(&l.Board, asRoot(run("dmidecode", "-t", "2")), func(s string) (string, error) {
		return word(pairs(s, ":")["Product Name"])
	})}
}

func (l *look) people() []query {
	var users Fact[[]User]
	groups := file("/etc/group")
	return []query{
		into(&l.Identity, typed(host.Identity), identity),
		into(&users, file("/etc/passwd"), passwd),
		{groups, func(a host.Answer) {
			g := fact(a, groups, groupFile)
			l.Accounts = Fact[Accounts]{Accounts{users.Value, g.Value}, users.State, "/etc/passwd, /etc/group", users.Note}
			if users.Known() && !g.Known() {
				l.Accounts.State, l.Accounts.Note = g.State, g.Note
			}
		}},
	}
}

func identity(s string) (Identity, error) {
	m, err := typedPairs(s, "uid")
	if err != nil {
		return Identity{}, err
	}
	uid, err := strconv.Atoi(m["uid"])
	if err != nil {
		return Identity{}, odd("uid=", s)
	}
	id := Identity{UID: uid, GID: atoi(m["gid"], -1), User: m["user"], Home: m["home"]}
	for g := range strings.SplitSeq(m["groups"], ",") {
		if at := strings.LastIndexByte(g, ':'); at >= 0 {
			id.Groups = append(id.Groups, Group{Name: g[:at], GID: atoi(g[at+1:], -1)})
		}
	}
	return id, nil
}

func passwd(s string) (out []User, err error) {
	for _, line := range lines(s) {
		if f := strings.Split(line, ":"); len(f) >= 7 {
			out = append(out, User{f[0], atoi(f[2], -1), atoi(f[3], -1), f[5], f[6]})
		}
	}
	if out == nil {
		return nil, odd("lines of passwd", s)
	}
	return out, nil
}

func groupFile(s string) (out []Group, err error) {
	for _, line := range lines(s) {
		if f := strings.Split(line, ":"); len(f) >= 4 {
			g := Group{Name: f[0], GID: atoi(f[2], -1)}
			if f[3] != "" {
				g.Members = strings.Split(f[3], ",")
			}
			out = append(out, g)
		}
	}
	if out == nil {
		return nil, odd("lines of group", s)
	}
	return out, nil
}

// entry is one line of a stat answer.
type entry struct {
	path, kind, mode, owner, group string
	uid, gid                       int
	mtime                          string
}

// stats reads "path type mode owner group uid gid size mtime"; the path comes
// first and may hold blanks.
func stats(s string) (out []entry, err error) {
	for _, line := range lines(s) {
		f := strings.Fields(line)
		if len(f) < 9 {
			return nil, odd("path type mode owner group uid gid size mtime", line)
		}
		n := len(f) - 8
		out = append(out, entry{strings.Join(f[:n], " "), f[n], f[n+1], f[n+2], f[n+3], atoi(f[n+4], -1), atoi(f[n+5], -1), f[n+7]})
	}
	return out, nil
}

func paths(es []entry) (out []string) {
	for _, e := range es {
		out = append(out, e.path)
	}
	return out
}
