package front

import (
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/ascendctl/ascendctl/internal/report"
)

// whoHolds says which process holds a port: its socket from the kernel's
// table of sockets (proc_net(5)), the process from the open files of all. The
// files of another user's process are open to root only, and those outside a
// container to nobody in it.
func whoHolds(root fs.FS, host string, port uint16) report.Text {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		ip = netip.IPv6Unspecified() // a name, or all addresses: any socket may be in the way
	}
	s, ok := findSocket(root, ip.Unmap(), port)
	if !ok {
		return report.T("port %d is held by a process that this system does not show", "端口 %d 已被占用，本系统不显示占用进程", port)
	}
	if pid, command := findOwner(root, s.inode); pid != "" {
		return report.T("port %d is held by %s (pid %s)", "端口 %d 已被 %s（pid %s）占用", port, command, pid)
	}
	return report.T("port %d is held by a process of user %s that cannot be seen from here; root may see it", "端口 %d 已被用户 %s 的进程占用，当前用户无法查看该进程，root 可能可以查看", port, userName(root, s.uid))
}

type socket struct {
	uid, inode string
	listens    bool
}

// findSocket looks for a socket in the way of ip:port; one that listens is
// preferred to a connection that happens to have the port.
func findSocket(root fs.FS, ip netip.Addr, port uint16) (best socket, ok bool) {
	for _, table := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		text, _ := fs.ReadFile(root, table)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 10 {
				continue
			}
			at, err := kernelAddr(f[1])
			if err != nil || at.Port() != port || !collide(at.Addr(), ip) || f[9] == "0" {
				continue
			}
			s := socket{uid: f[7], inode: f[9], listens: f[3] == "0A"}
			if !ok || s.listens && !best.listens {
				best, ok = s, true
			}
		}
	}
	return best, ok
}

func collide(a, b netip.Addr) bool {
	return a == b || a.IsUnspecified() || b.IsUnspecified()
}

// kernelAddr reads "0100007F:1F40": each 32-bit word of the address is printed
// as the number it is on this machine, the port as the number it means.
func kernelAddr(s string) (netip.AddrPort, error) {
	words, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(words)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for i := 0; i+4 <= len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	ip, _ := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), err
}

// findOwner gives the process that has the socket open, "" when none can be
// seen.
func findOwner(root fs.FS, inode string) (pid, command string) {
	procs, _ := fs.ReadDir(root, "proc")
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		dir := path.Join("proc", p.Name())
		files, _ := fs.ReadDir(root, path.Join(dir, "fd"))
		for _, f := range files {
			if to, _ := fs.ReadLink(root, path.Join(dir, "fd", f.Name())); to == "socket:["+inode+"]" {
				return p.Name(), commandOf(root, dir)
			}
		}
	}
	return "", ""
}

// commandOf gives the command line, short, printable and without secrets.
func commandOf(root fs.FS, dir string) string {
	b, _ := fs.ReadFile(root, path.Join(dir, "cmdline"))
	if len(b) == 0 {
		b, _ = fs.ReadFile(root, path.Join(dir, "comm"))
	}
	args := strings.Split(strings.TrimRight(string(b), "\x00\n"), "\x00")
	args[0] = path.Base(args[0])
	line := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, new(report.Redactor).String(strings.Join(args, " ")))
	return clip(line, 60)
}

func userName(root fs.FS, uid string) string {
	b, _ := fs.ReadFile(root, "etc/passwd")
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == uid {
			return f[0]
		}
	}
	return uid
}
