//go:build linux

package hosttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// procs lays the described processes: something sleeps under each pid, as its
// user, and what /proc tells of it is as described. boot is the boot time.
func (b *layout) procs(boot time.Time) {
	f, uids := &b.d.Facts, map[string]int{}
	for pid, entries := range f.ProcEnv {
		uids[pid] = 0
		b.file("/.laid/proc/"+pid+"/environ", strings.Join(entries, "\x00")+"\x00", 0o644)
	}
	for p := range b.d.Files { // the content is laid with the other files
		if pid, _, ok := strings.Cut(strings.TrimPrefix(p, "/proc/"), "/"); ok && strings.HasPrefix(p, "/proc/") && pid != "1" && pid != "self" && number(pid) {
			uids[pid] = 0
		}
	}
	for pid, line := range f.Procs { // uid user start container command
		v := append(strings.SplitN(line, "\t", 5), make([]string, 5)...)
		uids[pid], _ = strconv.Atoi(v[0])
		start, _ := strconv.ParseInt(v[2], 10, 64)
		words := strings.Fields(v[4] + " -")
		b.file("/.laid/proc/"+pid+"/stat", fmt.Sprintf("%s (%s) S 0 %s %s%s %d%s\n", pid, words[0], pid, pid,
			strings.Repeat(" 0", 15), max(0, start-boot.Unix())*100, strings.Repeat(" 0", 30)), 0o644)
		b.file("/.laid/proc/"+pid+"/cmdline", strings.ReplaceAll(v[4], " ", "\x00")+"\x00", 0o644)
		if v[3] != "-" && v[3] != "" {
			b.file("/.laid/proc/"+pid+"/cgroup", "0::/docker/"+v[3]+"\n", 0o644)
		}
	}
	var all []string
	for pid, uid := range uids {
		n, err := strconv.Atoi(pid)
		if err != nil || n < 2 {
			b.t.Fatalf("process %q cannot be laid: want a pid from 2", pid)
		}
		all = append(all, fmt.Sprintf("%d %d", n-1, uid))
	}
	slices.Sort(all)
	b.file("/.laid/procs", lines(all), 0o644)
}

func number(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
