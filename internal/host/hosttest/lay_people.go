//go:build linux

package hosttest

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// accounts are the ids of a laid root, by name.
type accounts struct{ users, groups map[string]int }

func (a accounts) uid(name string, told *int) int { return idOf(a.users, name, told) }
func (a accounts) gid(name string, told *int) int { return idOf(a.groups, name, told) }

func idOf(ids map[string]int, name string, told *int) int {
	if id, ok := ids[name]; ok {
		return id
	}
	if id, err := strconv.Atoi(name); err == nil {
		return id
	}
	if told != nil {
		return *told
	}
	return 0
}

// accounts lays the described accounts and, behind them, the system's own: sshd
// will not start without its user. A login that is described by its identity
// alone gets a line, a home and its groups.
func (b *layout) accounts() {
	passwd := b.both("/etc/passwd")
	group := b.both("/etc/group")
	if id := b.d.Facts.Identity; id != nil {
		if !named(passwd, id.User) {
			passwd = append(passwd, fmt.Sprintf("%s:x:%d:%d::%s:/bin/bash", id.User, id.UID, id.GID, id.Home))
		}
		for _, g := range id.Groups {
			if !named(group, g.Name) {
				group = append(group, fmt.Sprintf("%s:x:%d:", g.Name, g.GID))
			}
			for i, l := range group {
				f := strings.Split(l, ":")
				if f[0] == g.Name && g.GID != id.GID && !slices.Contains(strings.Split(f[3], ","), id.User) {
					f[3] = strings.Trim(f[3]+","+id.User, ",")
					group[i] = strings.Join(f, ":")
				}
			}
		}
		b.put(id.Home, layEntry{tar.Header{Typeflag: tar.TypeDir, Mode: 0o755, Uid: id.UID, Gid: id.GID}, ""})
		if b.d.Login.Sudo && id.UID != 0 {
			b.file("/etc/sudoers.d/laid", id.User+" ALL=(ALL) NOPASSWD: ALL\n", 0o440)
		}
	}
	b.users = accounts{ids(passwd), ids(group)}
	var shadow []string
	for _, l := range passwd {
		b.shell(l[strings.LastIndex(l, ":")+1:])
		shadow = append(shadow, l[:strings.Index(l, ":")]+":*:19000:0:99999:7:::")
	}
	b.file("/etc/shadow", lines(shadow), 0o640)
	b.file("/etc/passwd", lines(passwd), 0o644)
	b.file("/etc/group", lines(group), 0o644)
}

// shell stands in for a login shell the base lacks: without one sshd lets nobody
// in.
func (b *layout) shell(file string) {
	if _, err := os.Stat(filepath.Join(b.base, file)); err != nil && file != "" {
		b.put(file, layEntry{tar.Header{Typeflag: tar.TypeSymlink, Linkname: "/usr/bin/bash", Mode: 0o777}, ""})
	}
}

// merged gives the content of a described file, which for the accounts is what
// accounts has laid.
func (b *layout) merged(p, content string) string {
	if p == "/etc/passwd" || p == "/etc/group" {
		return b.entries[p].content
	}
	return content
}

// both are the described lines of an accounts file, then those of the base
// whose names and ids are free.
func (b *layout) both(p string) []string {
	out := strings.FieldsFunc(b.d.Files[p], func(r rune) bool { return r == '\n' })
	base, err := os.ReadFile(filepath.Join(b.base, p))
	if err != nil {
		b.t.Fatal(err)
	}
	for l := range strings.Lines(string(base)) {
		f := strings.Split(strings.TrimSpace(l), ":")
		if len(f) > 3 && !named(out, f[0]) && !slices.ContainsFunc(out, func(o string) bool {
			g := strings.Split(o, ":")
			return len(g) > 2 && g[2] == f[2]
		}) {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return out
}

func named(lines []string, name string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+":") })
}

func ids(lines []string) map[string]int {
	m := map[string]int{}
	for _, l := range lines {
		if f := strings.Split(l, ":"); len(f) > 2 {
			if id, err := strconv.Atoi(f[2]); err == nil {
				m[f[0]] = id
			}
		}
	}
	return m
}
