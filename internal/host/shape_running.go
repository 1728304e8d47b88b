package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// shapePorts reads ss -ltnp or /proc/net/tcp. One line for a port and process.
func shapePorts(_ Question, stdout, _ string) (string, error) {
	found := map[string]int{}
	for _, l := range lines(stdout) {
		f := strings.Fields(l)
		if len(f) < 4 {
			continue
		}
		if f[0] == "LISTEN" { // State Recv-Q Send-Q Local:Port Peer:Port users:(("sshd",pid=1,fd=3))
			if i := strings.LastIndexByte(f[3], ':'); i >= 0 && number(f[3][i+1:]) {
				pid, command := firstUser(l)
				n, _ := strconv.Atoi(f[3][i+1:])
				found[fmt.Sprintf("%d %s %s", n, pid, command)] = n
			}
		} else if f[3] == "0A" { // sl local_address rem_address st: 0A is LISTEN (proc(5))
			if i := strings.LastIndexByte(f[1], ':'); i >= 0 {
				if n, err := strconv.ParseUint(f[1][i+1:], 16, 16); err == nil {
					found[fmt.Sprintf("%d - -", n)] = int(n)
				}
			}
		}
	}
	var b strings.Builder
	for _, l := range slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return 2*(found[a]-found[b]) + strings.Compare(a, b)
	}) {
		b.WriteString(l + "\n")
	}
	return b.String(), nil
}

// firstUser reads the first process of ss: users:(("NAME",pid=7,fd=3)) or, up
// to iproute2 3.x, users:(("NAME",7,3)).
func firstUser(l string) (pid, command string) {
	_, rest, ok := strings.Cut(l, `users:(("`)
	name, rest, ok2 := strings.Cut(rest, `",`)
	pid, _, _ = strings.Cut(strings.TrimPrefix(rest, "pid="), ",")
	if !ok || !ok2 || !number(pid) {
		return "-", "-"
	}
	return pid, word(name)
}

// shapeProcs reads "p pid uid user stat cgroup cmdline", tab-separated, and at
// the end "boot btime N" and "hz N".
func shapeProcs(_ Question, stdout, _ string) (string, error) {
	boot, hz := int64(-1), int64(100) // CLK_TCK has been 100 on Linux for long
	for _, l := range lines(stdout) {
		key, v, _ := strings.Cut(l, "\t")
		f := strings.Fields(v)
		if len(f) == 0 {
			continue
		}
		n, err := strconv.ParseInt(f[len(f)-1], 10, 64)
		switch {
		case err != nil:
		case key == "boot":
			boot = n
		case key == "hz" && n > 0:
			hz = n
		}
	}
	var b strings.Builder
	for _, l := range lines(stdout) {
		f := strings.SplitN(l, "\t", 7)
		if f[0] != "p" || len(f) != 7 || !number(f[1]) {
			continue
		}
		start, comm := "-", "-"
		if open, end := strings.IndexByte(f[4], '('), strings.LastIndexByte(f[4], ')'); 0 <= open && open < end {
			comm = "[" + f[4][open+1:end] + "]"
			// Field 22 of stat is the start in ticks after boot; 3 comes after the name.
			if after := strings.Fields(f[4][end+1:]); len(after) > 19 && boot >= 0 {
				if t, err := strconv.ParseInt(after[19], 10, 64); err == nil {
					start = strconv.FormatInt(boot+t/hz, 10)
				}
			}
		}
		command := strings.TrimSpace(f[6])
		if command == "" { // a zombie or a kernel thread
			command = comm
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", f[1], f[2], word(f[3]), start, containerOf(f[5]), command)
	}
	return b.String(), nil
}

// containerOf finds the id of a container in a cgroup path: 64 hex digits.
func containerOf(cgroup string) string {
	id := "-"
	for _, part := range strings.FieldsFunc(cgroup, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		if len(part) == 64 {
			id = part
		}
	}
	return id
}

// shapeSandbox tells the kind of isolation from marks. gVisor has one fixed
// kernel version text; the guest agent of kata leaves its name on the kernel
// command line.
func shapeSandbox(_ Question, stdout, _ string) (string, error) {
	at := map[string]string{}
	for _, l := range lines(stdout) {
		k, v, _ := strings.Cut(l, "=")
		at[k] = strings.TrimSpace(v)
	}
	container := at["container"]
	if container == "" || container == "none" {
		container = at["mark"]
	}
	for _, w := range []string{"kubepods", "containerd", "docker", "lxc"} {
		if container == "" && strings.Contains(at["cgroup"], w) {
			container = w
		}
	}
	kind := "none"
	switch {
	case strings.Contains(at["version"], "gVisor"), strings.Contains(at["version"], "Sun Jan 10 15:06:54 PST 2016"):
		kind = "gvisor"
	case strings.Contains(at["cmdline"], "agent.log_vport"), strings.Contains(at["cmdline"], "kata"):
		kind = "kata"
	case container != "":
		kind = "runc"
	}
	virt := at["virt"]
	if virt == "" || virt == "none" && container != "" {
		virt = container
	}
	out := "kind=" + kind + "\n"
	if virt != "" { // without systemd-detect-virt, outside a container, nobody knows
		out += "virt=" + virt + "\n"
	}
	if container == "" {
		container = "none"
	}
	return out + "container=" + container + "\n", nil
}
