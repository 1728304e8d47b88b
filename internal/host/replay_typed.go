package host

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// pairs writes "key=value" lines; an empty value leaves its line out.
type pairs struct{ strings.Builder }

func (p *pairs) add(key, value string) {
	if value != "" {
		p.WriteString(key + "=" + value + "\n")
	}
}

// typed answers a typed question from the facts or from what they follow from;
// false when there is no value.
func (h *replay) typed(q Question) (Answer, bool) {
	f := &h.d.Facts
	switch q.Kind {
	case Disk:
		return h.disk(q)
	case Identity:
		return h.identity()
	case Limits:
		return limits(f.Ulimits)
	case Tools:
		return h.tools(q)
	case Env:
		return h.env(q)
	case Nodes:
		return h.nodes()
	case PCI:
		return h.pci()
	case Packages:
		return h.packages()
	case Python:
		return h.python(q)
	case Hostname:
		if f.Hostname == nil {
			return Answer{}, false
		}
		text := "name=" + f.Hostname.Name + "\n"
		if f.Hostname.Resolves != nil { // nil: nobody knows
			text += "resolves=" + strings.Join(f.Hostname.Resolves, ",") + "\n"
		}
		return known(text), true
	case Clock:
		return known("unix=" + f.Clock + "\n"), f.Clock != ""
	case Boot:
		if f.BootTime == nil {
			return Answer{}, false
		}
		return known(fmt.Sprintf("boot=%d\n", f.BootTime.Unix())), true
	case Ports:
		return ports(f.Listening)
	case Locks:
		if len(f.PkgLock) == 1 && f.PkgLock[0] == "free" {
			return known(""), true
		}
		return known(linesOf(f.PkgLock)), f.PkgLock != nil
	case Shells:
		return h.shells()
	case Procs:
		return h.procs(q)
	case Reach:
		return h.reach(q)
	case Sandbox:
		return h.sandbox()
	case TorchABI:
		return h.torchABI()
	}
	return Answer{}, false
}

// linesOf ends each of l with a line end.
func linesOf(l []string) string {
	if len(l) == 0 {
		return ""
	}
	return strings.Join(l, "\n") + "\n"
}

// disk finds the mount with the longest path above the asked one. An open
// world has not seen every mount, so there only what was asked counts.
func (h *replay) disk(q Question) (Answer, bool) {
	if len(q.Args) != 1 {
		return unknown(fmt.Errorf("disk: want one path, got %d", len(q.Args))), true
	}
	m, ok := h.d.Facts.Disks[q.Args[0]]
	if !ok && h.d.World == Closed {
		real := h.tree.nearest(path.Clean(q.Args[0]))
		// A folder that only a mount implies exists all the same.
		for _, c := range h.d.Facts.Mounts {
			if (under(real, c.Path) || under(path.Clean(q.Args[0]), c.Path)) && (!ok || len(c.Path) > len(m.Path)) {
				m, ok = c, true
			}
		}
	}
	if !ok {
		return Answer{}, false
	}
	var p pairs
	for _, n := range []struct {
		key   string
		value *int64
	}{{"total_kb", m.TotalKB}, {"used_kb", m.UsedKB}, {"avail_kb", m.AvailKB}, {"inodes", m.Inodes}, {"ifree", m.IFree}} {
		if n.value != nil {
			p.add(n.key, strconv.FormatInt(*n.value, 10))
		}
	}
	options := m.Options
	if options == "" {
		options = "rw"
		if m.RO {
			options = "ro"
		}
		if m.NoExec {
			options += ",noexec"
		}
	}
	p.add("mount", m.Path)
	p.add("fstype", m.FSType)
	p.add("options", options)
	return known(p.String()), true
}

// under tells whether p is dir or below it.
func under(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func (h *replay) identity() (Answer, bool) {
	id := h.d.Facts.Identity
	if id == nil {
		return Answer{}, false
	}
	groups := make([]string, len(id.Groups))
	for i, g := range id.Groups {
		groups[i] = fmt.Sprintf("%s:%d", g.Name, g.GID)
	}
	return known(fmt.Sprintf("uid=%d\ngid=%d\nuser=%s\nhome=%s\ngroups=%s\n", id.UID, id.GID, id.User, id.Home, strings.Join(groups, ","))), true
}

func limits(l *Ulimits) (Answer, bool) {
	if l == nil {
		return Answer{}, false
	}
	var p pairs
	p.add("nofile", l.Nofile)
	p.add("memlock_kb", l.MemlockKB)
	p.add("core", l.Core)
	return known(p.String()), true
}

// tools names what is there. A tool in neither list is absent in a closed
// world; in an open one nothing can be said of a list with such a tool.
func (h *replay) tools(q Question) (Answer, bool) {
	f := &h.d.Facts
	if f.ToolsPresent == nil && f.ToolPaths == nil && f.ToolsAbsent == nil {
		return Answer{}, false
	}
	var out strings.Builder
	var open []string
	for _, name := range q.Args {
		where, there := f.ToolPaths[name]
		switch {
		case there:
		case slices.Contains(f.ToolsPresent, name):
			where = h.toolPath(name)
		case h.d.World == Open && !slices.Contains(f.ToolsAbsent, name):
			open = append(open, name)
			continue
		default:
			continue
		}
		out.WriteString(name + " " + where + "\n")
	}
	if len(open) > 0 {
		return notRecorded(q, append([]string{"tools"}, open...)...), true
	}
	return known(out.String()), true
}

// toolPath is where a listed tool stands, /usr/bin when that is not told.
func (h *replay) toolPath(name string) string {
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if p := path.Join(dir, name); h.tree.kind[p] != 0 {
			return p
		}
	}
	for _, c := range h.commands {
		if len(c.argv) > 2 && c.argv[0] == "command" && c.argv[1] == "-v" {
			for p := range strings.Lines(c.Stdout) {
				if p = strings.TrimSpace(p); path.Base(p) == name {
					return p
				}
			}
		}
	}
	return path.Join("/usr/bin", name)
}

func (h *replay) env(q Question) (Answer, bool) {
	if len(q.Args) > 0 {
		if entries, ok := h.d.Facts.ProcEnv[q.Args[0]]; ok {
			return known(nulEnded(entries)), true
		}
		content, ok := h.d.Files["/proc/"+q.Args[0]+"/environ"]
		return known(content), ok
	}
	if h.d.Env == nil {
		return Answer{}, false
	}
	entries := make([]string, 0, len(h.d.Env))
	for _, k := range slices.Sorted(maps.Keys(h.d.Env)) {
		entries = append(entries, k+"="+h.d.Env[k])
	}
	return known(nulEnded(entries)), true
}

func nulEnded(entries []string) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e + "\x00")
	}
	return b.String()
}

func (h *replay) packages() (Answer, bool) {
	f := &h.d.Facts
	if f.PythonPackages == nil {
		return Answer{State: Absent}, h.noPython()
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.PythonPackages)) {
		out.WriteString(name + " " + f.PythonPackages[name] + "\n")
	}
	return known(out.String()), true
}

// noPython tells whether there is surely no python3.
func (h *replay) noPython() bool {
	f := &h.d.Facts
	return slices.Contains(f.ToolsAbsent, "python3") ||
		h.d.World == Closed && f.ToolsPresent != nil && !slices.Contains(f.ToolsPresent, "python3")
}

// python leaves out a module that nobody asked for.
func (h *replay) python(q Question) (Answer, bool) {
	f := &h.d.Facts
	if f.Python == "" {
		return Answer{State: Absent}, h.noPython()
	}
	var p pairs
	p.add("version", f.Python)
	where := f.PythonPath
	if where == "" && h.d.World == Closed {
		where = h.toolPath("python3")
	}
	p.add("path", where)
	for _, module := range q.Args {
		if there, ok := f.PythonStdlib[module]; ok {
			p.add(module, strconv.FormatBool(there))
		}
	}
	return known(p.String()), true
}

func ports(listening []Listener) (Answer, bool) {
	if listening == nil {
		return Answer{}, false
	}
	var out strings.Builder
	for _, l := range listening {
		pid := "-"
		if l.PID > 0 {
			pid = strconv.Itoa(l.PID)
		}
		fmt.Fprintf(&out, "%d %s %s\n", l.Port, pid, orDash(l.Command))
	}
	return known(out.String()), true
}

// shells takes sh from its link and the login shell from the environment or
// the accounts.
func (h *replay) shells() (Answer, bool) {
	sh, login := h.d.Facts.Shells["sh"], h.d.Facts.Shells["login"]
	if sh == "" {
		if a := h.command(Question{Kind: Exec, Args: []string{"readlink", "-f", "/bin/sh"}}); a.State == Known {
			sh = strings.TrimSpace(string(a.Stdout))
		} else if real, ok := h.tree.resolve("/bin/sh", true); ok {
			sh = real
		}
	}
	if login == "" && h.d.World == Closed {
		if login = h.d.Env["SHELL"]; login == "" && h.d.Facts.Identity != nil {
			for line := range strings.Lines(h.d.Files["/etc/passwd"]) {
				if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[0] == h.d.Facts.Identity.User {
					login = f[6]
				}
			}
		}
	}
	var p pairs
	p.add("sh", sh)
	p.add("login", login)
	return known(p.String()), p.Len() > 0
}

func (h *replay) procs(q Question) (Answer, bool) {
	var out strings.Builder
	for _, pid := range q.Args {
		if rest, ok := h.d.Facts.Procs[pid]; ok {
			out.WriteString(pid + "\t" + rest + "\n")
		}
	}
	return known(out.String()), out.Len() > 0
}

// reach leaves out a host that nobody tried.
func (h *replay) reach(q Question) (Answer, bool) {
	var out strings.Builder
	for _, name := range q.Args {
		switch r := h.d.Facts.Reachable[name]; r {
		case "":
		case "true":
			out.WriteString(name + " 200\n")
		case "false":
			out.WriteString(name + " -\n")
		default:
			out.WriteString(name + " " + string(r) + "\n")
		}
	}
	return known(out.String()), out.Len() > 0
}

// sandbox fills in what follows: what is virtualised and is no machine is a
// container, and outside of one there is no sandbox.
func (h *replay) sandbox() (Answer, bool) {
	f := &h.d.Facts
	kind, container := f.Sandbox, f.Container
	machine := slices.Contains(machines, f.Virt)
	if kind == "" && machine {
		kind = "none"
	}
	if container == "" && machine {
		container = "none"
	} else if container == "" {
		container = f.Virt
	}
	var p pairs
	p.add("kind", kind)
	p.add("virt", f.Virt)
	p.add("container", container)
	return known(p.String()), p.Len() > 0
}

// machines are answers of systemd-detect-virt(1) that name no container.
var machines = []string{"none", "qemu", "kvm", "amazon", "zvm", "vmware", "microsoft", "oracle", "powervm", "xen",
	"bochs", "uml", "parallels", "bhyve", "qnx", "acrn", "apple", "sre", "google"}

func (h *replay) torchABI() (Answer, bool) {
	f := &h.d.Facts
	if f.TorchABI == nil {
		_, torch := f.PythonPackages["torch"]
		return Answer{State: Absent}, f.PythonPackages != nil && !torch
	}
	return known(strconv.Itoa(*f.TorchABI) + "\n"), true
}
