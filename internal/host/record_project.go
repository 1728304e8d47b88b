package host

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

func lineOfWords(words []string) string { return report.Line(words...) }

// keyValues reads "key=value" lines.
func keyValues(text string) map[string]string {
	kv := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			kv[k] = v
		}
	}
	return kv
}

// fieldsOfLines gives the words of each line that has at least least.
func fieldsOfLines(text string, least int) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		if w := strings.Fields(line); len(w) >= least {
			all = append(all, w)
		}
	}
	return all
}

func splitList(s string) []string {
	if s == "" {
		return []string{}
	}
	return strings.Split(s, ",")
}

func intOf(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}

func int64Of(s string) *int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// projectStat keeps lines "path type mode owner group uid gid size mtime";
// paths that were asked and are not among them are absent.
func (d *Description) projectStat(q Question, text string) {
	for _, p := range q.Args {
		found := false
		for line := range strings.Lines(text) {
			rest, ok := strings.CutPrefix(line, p+" ")
			w := strings.Fields(rest)
			if !ok || len(w) != 8 {
				continue
			}
			found = true
			if w[0] == "?" { // could not be looked at: kept as it came
				break
			}
			s := FileStat{Type: w[0], Mode: w[1], Owner: w[2], Group: w[3], UID: intOf(w[4]), GID: intOf(w[5]), Size: int64Of(w[6])}
			if sec := int64Of(w[7]); sec != nil {
				s.MTime = &Time{time.Unix(*sec, 0).UTC()}
			}
			put(&d.Stat, p, s)
			break
		}
		if !found {
			d.addAbsent(questionLine(Question{Kind: Stat, Args: []string{p}}))
		}
	}
}

// projectNodes keeps lines "path mode owner group uid gid major minor".
func (d *Description) projectNodes(text string) {
	d.Nodes = map[string]Node{}
	for _, w := range fieldsOfLines(text, 8) {
		n := Node{Type: "c", Mode: w[1], Owner: w[2], Group: w[3], UID: intOf(w[4]), GID: intOf(w[5])}
		major, minor := intOf(w[6]), intOf(w[7])
		if major != nil && minor != nil {
			n.Major, n.Minor = *major, *minor
		}
		put(&d.Nodes, w[0], n)
	}
}

// projectEnv keeps an environment; one with an entry that a shell could not
// have is kept as it came.
func (d *Description) projectEnv(pid, text string) {
	if text == "" {
		return
	}
	entries := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	if pid != "" {
		put(&d.Facts.ProcEnv, pid, entries)
		return
	}
	env := map[string]string{}
	for _, e := range entries {
		k, v, ok := strings.Cut(e, "=")
		if !ok || k == "" {
			return
		}
		env[k] = v
	}
	d.Env = env
}

func (f *PlainFacts) projectDisk(asked, text string) {
	kv := keyValues(text)
	put(&f.Disks, asked, Mount{
		Path: kv["mount"], FSType: kv["fstype"], Options: kv["options"],
		TotalKB: int64Of(kv["total_kb"]), UsedKB: int64Of(kv["used_kb"]), AvailKB: int64Of(kv["avail_kb"]),
		Inodes: int64Of(kv["inodes"]), IFree: int64Of(kv["ifree"]),
	})
}

func (f *PlainFacts) projectIdentity(text string) {
	kv := keyValues(text)
	uid, gid := intOf(kv["uid"]), intOf(kv["gid"])
	if uid == nil || gid == nil {
		return
	}
	f.Identity = &Person{UID: *uid, GID: *gid, User: kv["user"], Home: kv["home"], Groups: []GroupName{}}
	for _, g := range splitList(kv["groups"]) {
		if at := strings.LastIndexByte(g, ':'); at > 0 {
			if n := intOf(g[at+1:]); n != nil {
				f.Identity.Groups = append(f.Identity.Groups, GroupName{Name: g[:at], GID: *n})
			}
		}
	}
}

func (f *PlainFacts) projectTools(asked []string, text string) {
	for _, name := range asked {
		found := false
		for line := range strings.Lines(text) {
			if where, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+" "); ok {
				put(&f.ToolPaths, name, where)
				found = true
			}
		}
		if !found && !slices.Contains(f.ToolsAbsent, name) {
			f.ToolsAbsent = append(f.ToolsAbsent, name)
		}
	}
}

func (f *PlainFacts) projectPCI(text string) {
	f.PCI = []map[string]string{}
	for _, w := range fieldsOfLines(text, 1) {
		one := map[string]string{"address": w[0]}
		for _, kv := range w[1:] {
			if k, v, ok := strings.Cut(kv, "="); ok {
				one[k] = v
			}
		}
		f.PCI = append(f.PCI, one)
	}
}

func (f *PlainFacts) projectPorts(text string) {
	f.Listening = []Listener{}
	for _, w := range fieldsOfLines(text, 3) {
		port := intOf(w[0])
		if port == nil {
			continue
		}
		l := Listener{Port: *port}
		if pid := intOf(w[1]); pid != nil {
			l.PID = *pid
		}
		if name := strings.Join(w[2:], " "); name != "-" {
			l.Command = name
		}
		f.Listening = append(f.Listening, l)
	}
}
