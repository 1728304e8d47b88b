package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The shapes bring what the tools of different hosts print into the one normal
// form of a kind. None of them trusts its input.

var errForm = errors.New("an answer nobody understands")

// statLines reads "hexmode uid gid size mtime owner group path", tab-separated,
// and gives the line of each path.
func statLines(paths []string, stdout, stderr string) (map[string]string, error) {
	at := map[string]string{}
	for _, l := range lines(stdout) {
		f := strings.SplitN(l, "\t", 8)
		if len(f) != 8 {
			continue
		}
		mode, err := strconv.ParseUint(f[0], 16, 32)
		if err != nil {
			continue
		}
		at[f[7]] = fmt.Sprintf("%s %c %04o %s %s %s %s %s %s\n", f[7], fileType(mode), mode&0o7777, word(f[5]), word(f[6]), f[1], f[2], f[3], f[4])
	}
	for _, l := range lines(stderr) {
		if strings.Contains(l, "No such file") || strings.Contains(l, "Not a directory") {
			continue
		}
		path := ""
		for _, p := range paths { // the longest: /dev/x stands in /dev/x2 too
			if at[p] == "" && len(p) > len(path) && strings.Contains(l, p) {
				path = p
			}
		}
		if path == "" {
			return nil, classify([]byte(l))
		}
		at[path] = path + " ? ? ? ? ? ? ? ?\n"
	}
	return at, nil
}

// fileType is the letter of the file type bits of a mode (inode(7)).
func fileType(mode uint64) byte {
	switch mode & 0o170000 {
	case 0o100000:
		return 'f'
	case 0o040000:
		return 'd'
	case 0o120000:
		return 'l'
	case 0o060000:
		return 'b'
	case 0o020000:
		return 'c'
	case 0o010000:
		return 'p'
	case 0o140000:
		return 's'
	}
	return '?'
}

// shapeNodes reads "hexmode uid gid hexmajor hexminor owner group path".
func shapeNodes(_ Question, stdout, _ string) (string, error) {
	var b strings.Builder
	for _, l := range lines(stdout) {
		f := strings.SplitN(l, "\t", 8)
		if len(f) != 8 {
			return "", fmt.Errorf("%w: %s", errForm, clip(l))
		}
		var n [3]uint64
		for i, at := range []int{0, 3, 4} {
			v, err := strconv.ParseUint(f[at], 16, 64)
			if err != nil {
				return "", fmt.Errorf("%w: %s", errForm, clip(l))
			}
			n[i] = v
		}
		fmt.Fprintf(&b, "%s %04o %s %s %s %s %d %d\n", f[7], n[0]&0o7777, word(f[5]), word(f[6]), f[1], f[2], n[1], n[2])
	}
	return b.String(), nil
}

// diskOf reads a line of df -Pk, one of df -Pi and /proc/mounts.
func diskOf(space, inodes, mounts string) (string, error) {
	kb, mount, ok := dfLine(space)
	if !ok {
		return "", fmt.Errorf("%w: %s", errForm, clip(space))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "total_kb=%s\nused_kb=%s\navail_kb=%s\n", kb[0], kb[1], kb[2])
	if n, _, ok := dfLine(inodes); ok && n[0] != "0" { // btrfs says 0 of 0
		fmt.Fprintf(&b, "inodes=%s\nifree=%s\n", n[0], n[2])
	}
	fmt.Fprintf(&b, "mount=%s\n", mount)
	var kind, options string
	for _, l := range lines(mounts) {
		f := strings.Fields(l)
		if len(f) >= 4 && unescape(f[1]) == mount {
			kind, options = f[2], f[3] // the last one lies on top
		}
	}
	if kind != "" {
		fmt.Fprintf(&b, "fstype=%s\noptions=%s\n", kind, options)
	}
	return b.String(), nil
}

// dfLine takes total, used, available and the mount point out of a line of
// POSIX df. Source and mount point may hold blanks, so the percentage is
// looked for: it has the three numbers before it.
func dfLine(l string) (n [3]string, mount string, ok bool) {
	f := strings.Fields(l)
	for i := 4; i < len(f)-1; i++ {
		if (strings.HasSuffix(f[i], "%") || f[i] == "-") && strings.HasPrefix(f[i+1], "/") && number(f[i-1]) && number(f[i-2]) && number(f[i-3]) {
			_, mount, _ = strings.Cut(l, " "+f[i]+" ")
			return [3]string{f[i-3], f[i-2], f[i-1]}, strings.TrimSpace(mount), true
		}
	}
	return n, "", false
}

func number(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// unescape undoes the octal escapes of /proc/mounts (getmntent(3)).
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// shapeIdentity reads id: "uid=0(root) gid=0(root) groups=0(root),4(adm)".
func shapeIdentity(_ Question, stdout, _ string) (string, error) {
	first, rest, _ := strings.Cut(stdout, "\n")
	at := map[string]string{}
	for _, key := range []string{"context", "groups", "egid", "euid", "gid", "uid"} { // names may hold blanks: from the right
		if i := strings.LastIndex(" "+first, " "+key+"="); i >= 0 {
			at[key], first = first[i+len(key)+1:], first[:max(i-1, 0)]
		}
	}
	uid, user := idName(at["uid"])
	gid, _ := idName(at["gid"])
	if !number(uid) || !number(gid) {
		return "", fmt.Errorf("%w: %s", errForm, clip(stdout))
	}
	var groups []string
	for g := range strings.SplitSeq(at["groups"], ",") {
		if id, name := idName(g); number(id) {
			groups = append(groups, word(name)+":"+id)
		}
	}
	home := strings.TrimSuffix(strings.TrimPrefix(rest, "home="), "\n")
	return fmt.Sprintf("uid=%s\ngid=%s\nuser=%s\nhome=%s\ngroups=%s\n", uid, gid, user, home, strings.Join(groups, ",")), nil
}

// idName splits "4(adm)"; an id without a name is its own.
func idName(s string) (id, name string) {
	id, name, ok := strings.Cut(strings.TrimSpace(s), "(")
	if !ok {
		return id, id
	}
	return id, strings.TrimSuffix(name, ")")
}

// shapeLimits reads the soft column of /proc/self/limits: bytes and counts.
func shapeLimits(_ Question, stdout, _ string) (string, error) {
	soft := func(name string) string {
		for _, l := range lines(stdout) {
			if f := strings.Fields(strings.TrimPrefix(l, name)); strings.HasPrefix(l, name+" ") && len(f) > 0 && (f[0] == "unlimited" || number(f[0])) {
				return f[0]
			}
		}
		return ""
	}
	var b strings.Builder
	for _, l := range [][2]string{{"nofile", "Max open files"}, {"memlock_kb", "Max locked memory"}, {"core", "Max core file size"}} {
		v := soft(l[1])
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && l[0] == "memlock_kb" {
			v = strconv.FormatInt(n/1024, 10)
		}
		if v != "" {
			fmt.Fprintf(&b, "%s=%s\n", l[0], v)
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%w: %s", errForm, clip(stdout))
	}
	return b.String(), nil
}

func shapeEnv(_ Question, stdout, _ string) (string, error) {
	var b strings.Builder
	for kv := range strings.SplitSeq(stdout, "\x00") {
		if strings.Contains(kv, "=") && kv != "LC_ALL=C" {
			b.WriteString(kv + "\x00")
		}
	}
	return b.String(), nil
}

// shapePCI reads tab-separated fields.
func shapePCI(_ Question, stdout, _ string) (string, error) {
	var b strings.Builder
	for _, l := range lines(stdout) {
		for i, f := range strings.Split(l, "\t") {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word(f))
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// shapeHostname reads name= and, after "getent", lines "address KIND name".
func shapeHostname(_ Question, stdout, _ string) (string, error) {
	own, answer, asked := strings.Cut(stdout, "getent\n")
	out := own
	if !asked {
		return out, nil // no getent: what the name resolves to is not known
	}
	var addrs []string
	for _, l := range lines(answer) {
		if f := strings.Fields(l); len(f) > 0 && !slices.Contains(addrs, f[0]) {
			addrs = append(addrs, f[0])
		}
	}
	return out + "resolves=" + strings.Join(addrs, ",") + "\n", nil
}

// shapeClock drops the fraction where date cannot print it (busybox).
func shapeClock(_ Question, stdout, _ string) (string, error) {
	whole, part, _ := strings.Cut(strings.TrimSpace(stdout), ".")
	if !number(whole) {
		return "", fmt.Errorf("%w: %s", errForm, clip(stdout))
	}
	if part != "" && strings.Trim(part, "0123456789") == "" {
		whole += "." + part
	}
	return "unix=" + whole + "\n", nil
}

func shapeBoot(_ Question, stdout, _ string) (string, error) {
	f := strings.Fields(stdout)
	if len(f) != 2 || !number(f[1]) {
		return "", fmt.Errorf("%w: %s", errForm, clip(stdout))
	}
	return "boot=" + f[1] + "\n", nil
}

// shapeReach keeps the order of the question.
func shapeReach(q Question, stdout, _ string) (string, error) {
	status := map[string]string{}
	for _, l := range lines(stdout) {
		if f := strings.Fields(l); len(f) == 2 {
			status[f[0]] = f[1]
		}
	}
	var b strings.Builder
	for _, h := range q.Args {
		s := status[h]
		if s == "000" || !number(s) {
			s = "-"
		}
		fmt.Fprintf(&b, "%s %s\n", word(h), s)
	}
	return b.String(), nil
}
