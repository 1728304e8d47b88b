package front

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Listen opens a TCP listener on "HOST:PORT"; port 0 takes any free one.
// Errors are *report.Problem: exit 64 for an address that is wrong or not of
// this machine, exit 1 for one that is taken or needs rights. run makes the
// command to show from an address that would do; nil means none.
func Listen(addr string, run func(addr string) string) (net.Listener, error) {
	host, port, problem := splitAddr(addr)
	if problem == nil {
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			return ln, nil
		}
		problem = explain(host, port, err, os.DirFS("/"))
	}
	// Run holds an address until the caller's command is made of it.
	if problem.Run != "" && run != nil {
		problem.Run = run(problem.Run)
	} else {
		problem.Run = ""
	}
	return nil, problem
}

// Loopback is true when only this machine can reach addr ("HOST:PORT").
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func splitAddr(addr string) (host string, port uint16, p *report.Problem) {
	wrong := func(why report.Text, instead string) *report.Problem {
		return &report.Problem{
			What: report.T("%q is not an address to listen on", "%q 不是可监听的地址", addr), Why: why, Run: instead,
			Do:   report.T("write HOST:PORT, for example 127.0.0.1:8000", "写成 HOST:PORT，例如 127.0.0.1:8000"),
			Exit: report.ExitUsage,
		}
	}
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
			return "", 0, wrong(report.T("the host is missing before the port", "端口前缺少主机"), "127.0.0.1:"+addr)
		}
		var bad *net.AddrError
		reason := err.Error()
		if errors.As(err, &bad) {
			reason = bad.Err
		}
		return "", 0, wrong(report.Same(reason), "127.0.0.1:8000")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, wrong(report.T("the port must be a number from 0 to 65535, not %q", "端口必须是 0-65535 的数字，而不是 %q", text), net.JoinHostPort(host, "8000"))
	}
	return host, uint16(n), nil
}

// explain makes the problem of a listen that failed. root is the file system
// that has proc and etc.
func explain(host string, port uint16, err error, root fs.FS) *report.Problem {
	p := &report.Problem{
		What: report.T("cannot listen on %s", "无法监听 %s", net.JoinHostPort(host, strconv.Itoa(int(port)))),
		Why:  report.Same(err.Error()),
		Do:   report.T("listen on another address", "改用其他监听地址"),
		Exit: report.ExitFailed, Err: err,
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		p.Why = whoHolds(root, host, port)
		p.Do = report.T("stop that process or listen on another port", "停止该进程，或改用其他端口")
		p.Run = nextFree(host, port)
	case errors.Is(err, syscall.EACCES):
		p.Why = report.T("permission denied; ports below %d need root or the capability net_bind_service", "权限不足；低于 %d 的端口需要 root 或 net_bind_service 权能", unprivileged(root))
		p.Do = report.T("listen on a higher port", "改用更大的端口号")
		p.Run = nextFree(host, 8000+port%1000-1)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		p.Exit = report.ExitUsage
		p.Why = report.T("%s is not an address of this machine, which has %s", "%s 不是本机地址，本机地址为 %s", host, ownAddrs())
		p.Do = report.T("listen on an address of this machine", "改用本机地址")
		p.Run = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	case errors.As(err, &dns):
		p.Exit = report.ExitUsage
		p.Why = report.T("the name %q has no address (%s)", "名称 %q 没有对应的地址（%s）", host, dns.Err)
		p.Run = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	}
	return p
}

// unprivileged is the first port that anyone may listen on.
func unprivileged(root fs.FS) int {
	b, _ := fs.ReadFile(root, "proc/sys/net/ipv4/ip_unprivileged_port_start")
	if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
		return n
	}
	return 1024
}

// nextFree gives the first address after host:port that is free now, "" when
// none of the next few is.
func nextFree(host string, port uint16) string {
	for range 20 {
		port++ // from 65535 on to 0, which is always free but no address to type
		addr := net.JoinHostPort(host, strconv.Itoa(int(port)))
		if port == 0 {
			continue
		}
		if ln, err := net.Listen("tcp", addr); err == nil {
			_ = ln.Close()
			return addr
		}
	}
	return ""
}

// ownAddrs lists the addresses of this machine, a few at most.
func ownAddrs() string {
	var own []netip.Addr
	nets, _ := net.InterfaceAddrs()
	for _, a := range nets {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			own = append(own, p.Addr())
		}
	}
	slices.SortFunc(own, netip.Addr.Compare) // IPv4 first
	list := make([]string, len(own))
	for i, a := range own {
		list[i] = a.String()
	}
	if len(list) > 6 {
		return fmt.Sprintf("%s, +%d", strings.Join(list[:6], ", "), len(list)-6)
	}
	return strings.Join(list, ", ")
}
