package host

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

func (h *replay) file(q Question) Answer {
	if len(q.Args) != 1 {
		return unknown(fmt.Errorf("file: want one path, got %d", len(q.Args)))
	}
	if content, ok := h.d.Files[q.Args[0]]; ok {
		return known(content)
	}
	real, ok := h.tree.resolve(q.Args[0], true)
	if !ok {
		return h.silence(q)
	}
	switch h.tree.kind[real] {
	case 'f':
		return known(h.d.Files[real])
	case 'd':
		return unknown(fmt.Errorf("%s: is a directory", q.Args[0]))
	}
	return notRecorded(q)
}

func (h *replay) glob(q Question) Answer {
	if len(q.Args) != 1 {
		return unknown(fmt.Errorf("glob: want one pattern, got %d", len(q.Args)))
	}
	found, ok := h.d.Globs[q.Args[0]]
	if !ok {
		if h.d.World == Open {
			return notRecorded(q)
		}
		found = h.tree.glob(q.Args[0])
	}
	return known(linesOf(found))
}

func (h *replay) link(q Question) Answer {
	if len(q.Args) != 1 {
		return unknown(fmt.Errorf("link: want one path, got %d", len(q.Args)))
	}
	target, ok := h.d.Links[q.Args[0]]
	if real, there := h.tree.resolve(q.Args[0], false); !ok && there {
		if target, ok = h.tree.links[real]; !ok && h.d.World == Closed {
			return Answer{State: Absent}
		}
	}
	if !ok {
		return h.silence(q)
	}
	return known(target + "\n")
}

func (h *replay) nodes() (Answer, bool) {
	if h.d.Nodes == nil && h.d.World == Open {
		return Answer{}, false
	}
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(h.d.Nodes)) {
		n := h.d.Nodes[p]
		fmt.Fprintf(&out, "%s %s %s %s %s %s %d %d\n", p, fullMode(n.Mode, "0600"), orDash(n.Owner), orDash(n.Group),
			h.account("/etc/passwd", n.Owner, n.UID), h.account("/etc/group", n.Group, n.GID), n.Major, n.Minor)
	}
	return known(out.String()), true
}

// account gives the number of a user or group: as told, as the name itself
// says, or from the accounts file; "-" when none of them tells it.
func (h *replay) account(file, name string, told *int) string {
	if told != nil {
		return strconv.Itoa(*told)
	}
	if _, err := strconv.Atoi(name); err == nil {
		return name
	}
	for line := range strings.Lines(h.d.Files[file]) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) > 2 && f[0] == name {
			return f[2]
		}
	}
	if id := h.d.Facts.Identity; id != nil {
		if file == "/etc/passwd" && id.User == name {
			return strconv.Itoa(id.UID)
		}
		for _, g := range id.Groups {
			if file == "/etc/group" && g.Name == name {
				return strconv.Itoa(g.GID)
			}
		}
	}
	if name == "root" {
		return "0"
	}
	return "-"
}

// fullMode is a mode in four octal digits.
func fullMode(mode, otherwise string) string {
	if mode == "" {
		mode = otherwise
	}
	n, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%04o", n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// stat says of each path what the description tells or implies.
func (h *replay) stat(q Question) Answer {
	var out strings.Builder
	var open []string
	for _, p := range q.Args {
		real, ok := h.tree.resolve(p, false)
		told, exact := h.d.Stat[p]
		if !exact {
			told, exact = h.d.Stat[real]
		}
		absent := h.absent[questionLine(Question{Kind: Stat, Args: []string{p}})]
		switch {
		case absent:
		case h.d.World == Open && !exact:
			open = append(open, p)
		case ok || exact:
			out.WriteString(h.statLine(p, real, told))
		}
	}
	if len(open) > 0 {
		return notRecorded(q, append([]string{"stat"}, open...)...)
	}
	return known(out.String())
}

func (h *replay) statLine(asked, real string, s FileStat) string {
	kind := h.tree.kind[real]
	mode, size := "0644", int64(4096)
	content := h.d.Files[real]
	switch {
	case kind == 'd', strings.HasPrefix(content, "<elf>"), strings.HasPrefix(content, "#!"):
		mode = "0755"
	case kind == 'l':
		mode, size = "0777", int64(len(h.tree.links[real]))
	}
	if kind == 'f' {
		size = int64(len(content))
	}
	owner, group := "root", "root"
	if n, ok := h.d.Nodes[real]; ok {
		mode, owner, group, size = n.Mode, n.Owner, n.Group, 0
		s.UID, s.GID = n.UID, n.GID
	}
	if s.Type != "" {
		kind = s.Type[0]
	}
	if s.Owner != "" {
		owner = s.Owner
	}
	if s.Group != "" {
		group = s.Group
	}
	if s.Size != nil {
		size = *s.Size
	}
	mtime := "-"
	if s.MTime != nil {
		mtime = strconv.FormatInt(s.MTime.Unix(), 10)
	}
	return fmt.Sprintf("%s %c %s %s %s %s %s %d %s\n", asked, kind, fullMode(s.Mode, mode), owner, group,
		h.account("/etc/passwd", owner, s.UID), h.account("/etc/group", group, s.GID), size, mtime)
}

// pciKeys are the keys of a PCI function, in the order of the normal form.
var pciKeys = []string{"vendor", "device", "class", "subsystem_vendor", "subsystem_device", "numa_node",
	"current_link_width", "max_link_width", "current_link_speed", "max_link_speed", "driver"}

const pciRoot = "/sys/bus/pci/devices"

// pci takes the functions of the facts, else those whose files are listed.
func (h *replay) pci() (Answer, bool) {
	found := h.d.Facts.PCI
	if found == nil && h.d.World == Closed {
		for _, address := range h.tree.children[pciRoot] {
			one := map[string]string{"address": address}
			for _, key := range pciKeys {
				p := path.Join(pciRoot, address, key)
				if v := strings.TrimSpace(h.d.Files[p]); v != "" {
					one[key] = v
				} else if target := h.d.Links[p]; target != "" {
					one[key] = path.Base(target)
				}
			}
			if one["vendor"] == "0x19e5" || strings.HasPrefix(one["class"], "0x12") {
				found = append(found, one)
			}
		}
	} else if found == nil {
		return Answer{}, false
	}
	var out strings.Builder
	for _, one := range found {
		out.WriteString(one["address"])
		for _, key := range pciKeys {
			if v := one[key]; v != "" {
				// A value is one word; only a link speed has blanks.
				out.WriteString(" " + key + "=" + strings.ReplaceAll(v, " ", "_"))
			}
		}
		out.WriteByte('\n')
	}
	return known(out.String()), true
}
