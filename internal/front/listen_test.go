package front

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ascendctl/ascendctl/internal/report"
)

func command(addr string) string { return "ascendctl serve --listen " + addr }

func problemOf(t *testing.T, err error) *report.Problem {
	t.Helper()
	var p *report.Problem
	if !errors.As(err, &p) {
		t.Fatalf("not a problem: %v", err)
	}
	for _, text := range []report.Text{p.What, p.Why, p.Do} {
		if text.En == "" || text.Zh == "" || strings.Contains(text.En+text.Zh, "%!") {
			t.Errorf("text: %+v", text)
		}
	}
	return p
}

func TestWrongAddressesAreUsageErrors(t *testing.T) {
	for _, c := range []struct{ addr, why, run string }{
		{"8000", "the host is missing", "127.0.0.1:8000"},
		{"", "missing port", "127.0.0.1:8000"},
		{"localhost", "missing port", "127.0.0.1:8000"},
		{"::1:8000", "too many colons", "127.0.0.1:8000"},
		{"127.0.0.1:", `not ""`, "127.0.0.1:8000"},
		{"127.0.0.1:http", `not "http"`, "127.0.0.1:8000"},
		{"[::1]:65536", `not "65536"`, "[::1]:8000"},
		{"127.0.0.1:-1", `not "-1"`, "127.0.0.1:8000"},
		{"203.0.113.7:8000", "is not an address of this machine, which has 127.0.0.1", "127.0.0.1:8000"},
	} {
		_, err := Listen(c.addr, command)
		p := problemOf(t, err)
		if p.Exit != report.ExitUsage || !strings.Contains(p.Why.En, c.why) || p.Run != command(c.run) {
			t.Errorf("%q: exit %d, why %q, run %q", c.addr, p.Exit, p.Why.En, p.Run)
		}
	}
}

func TestABusyPortNamesItsHolder(t *testing.T) {
	for held, wanted := range map[string]string{"127.0.0.1:0": "127.0.0.1", "0.0.0.0:0": "127.0.0.1", "[::]:0": "127.0.0.1", "[::1]:0": "::1"} {
		ln, err := net.Listen("tcp", held)
		if err != nil {
			t.Fatal(err)
		}
		port := ln.Addr().(*net.TCPAddr).Port
		_, err = Listen(net.JoinHostPort(wanted, fmt.Sprint(port)), command)
		p := problemOf(t, err)
		me := fmt.Sprintf("port %d is held by %s", port, filepath.Base(os.Args[0]))
		if !strings.HasPrefix(p.Why.En, me) || !strings.HasSuffix(p.Why.En, fmt.Sprintf("(pid %d)", os.Getpid())) {
			t.Errorf("held %s: why %q, want %q and this process", held, p.Why.En, me)
		}
		if p.Exit != report.ExitFailed || !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("held %s: exit %d, %v", held, p.Exit, err)
		}
		free, ok := strings.CutPrefix(p.Run, command(""))
		if host, _, err := net.SplitHostPort(free); !ok || err != nil || host != wanted {
			t.Errorf("held %s: run %q", held, p.Run)
		}
		ln.Close()
	}
}

// procOf lays out a simulated proc and etc: what another machine would show.
func procOf(t *testing.T, files map[string]string, links map[string]string) string {
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWhoHoldsAPort(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(addr, state, uid, inode string) string {
		return "   0: " + addr + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000  " + uid + "        0 " + inode + " 1 0 100 0 0 10 0\n"
	}
	root := os.DirFS(procOf(t, map[string]string{
		"proc/net/tcp": head +
			line(inKernel("127.0.0.1:8000"), "0A", "0", "501") +
			line(inKernel("0.0.0.0:8001"), "0A", "998", "502") +
			line(inKernel("10.0.0.10:8002"), "01", "0", "503") + // a connection from that port
			line(inKernel("127.0.0.1:8002"), "0A", "0", "504") +
			line(inKernel("127.0.0.1:8003"), "06", "0", "0") + // TIME_WAIT
			"garbage\n" + line("zz:1F45", "0A", "0", "505"),
		"proc/net/tcp6":     head + line(inKernel("[::1]:8004"), "0A", "1234", "601"),
		"etc/passwd":        "root:x:0:0::/root:/bin/sh\nHwHiAiUser:x:998:998::/home:/bin/sh\n",
		"proc/77/cmdline":   "/usr/bin/vllm\x00serve\x00--api-key=abcdef\x00\x1b[31m" + strings.Repeat("x", 100) + "\x00",
		"proc/88/cmdline":   "",
		"proc/88/comm":      "kworker\n",
		"proc/self/cmdline": "not a number\x00",
	}, map[string]string{"proc/77/fd/3": "socket:[501]", "proc/88/fd/0": "/dev/null", "proc/88/fd/9": "socket:[504]"}))
	for _, c := range []struct {
		host string
		port uint16
		want string
	}{
		{"127.0.0.1", 8000, "port 8000 is held by vllm serve --api-key=*** ?[31mxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... (pid 77)"},
		{"", 8000, "(pid 77)"},
		{"localhost", 8000, "(pid 77)"},
		{"::", 8000, "(pid 77)"},
		{"10.0.0.10", 8000, "a process that this system does not show"},
		{"127.0.0.1", 8001, "port 8001 is held by a process of user HwHiAiUser that cannot be seen"},
		{"0.0.0.0", 8002, "kworker (pid 88)"},
		{"127.0.0.1", 8003, "a process that this system does not show"},
		{"::1", 8004, "of user 1234 that"},
	} {
		got := whoHolds(root, c.host, c.port)
		if !strings.Contains(got.En, c.want) || got.Zh == "" {
			t.Errorf("%s:%d: %q, want %q", c.host, c.port, got.En, c.want)
		}
	}
	if got := whoHolds(os.DirFS(t.TempDir()), "", 8000); !strings.Contains(got.En, "does not show") {
		t.Errorf("without proc: %q", got.En)
	}
}

// inKernel writes an address as proc_net(5) says the kernel of this machine does.
func inKernel(addr string) string {
	at := netip.MustParseAddrPort(addr)
	b, text := at.Addr().AsSlice(), ""
	for ; len(b) > 0; b = b[4:] {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(b))
	}
	return fmt.Sprintf("%s:%04X", text, at.Port())
}

func TestOtherReasonsNotToListen(t *testing.T) {
	root := os.DirFS(procOf(t, map[string]string{"proc/sys/net/ipv4/ip_unprivileged_port_start": "512\n"}, nil))
	for _, c := range []struct {
		name           string
		err            error
		exit           report.Exit
		port           uint16
		why, run, what string
	}{
		{"no rights", os.NewSyscallError("bind", syscall.EACCES), 1, 80, "ports below 512 need root", "127.0.0.1:80", "cannot listen on 127.0.0.1:80"},
		{"no such name", &net.DNSError{Err: "no such host", Name: "nowhere"}, 64, 8000, `the name "127.0.0.1" has no address (no such host)`, "127.0.0.1:8000", "cannot listen on"},
		{"anything else", syscall.ENOBUFS, 1, 8000, "no buffer space", "", "cannot listen on"},
	} {
		p := explain("127.0.0.1", c.port, &net.OpError{Op: "listen", Err: c.err}, root)
		problemOf(t, p)
		if p.Exit != c.exit || !strings.Contains(p.Why.En, c.why) || !strings.HasPrefix(p.Run, c.run) || !strings.Contains(p.What.En, c.what) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:8000": true, "127.1.2.3:1": true, "[::1]:8000": true, "localhost:8000": true, "[::ffff:127.0.0.1]:1": true,
		":8000": false, "0.0.0.0:8000": false, "[::]:8000": false, "192.168.1.2:8000": false, "npu01:8000": false, "127.0.0.1": false, "": false,
	} {
		if Loopback(addr) != want {
			t.Errorf("%q: %v", addr, !want)
		}
	}
}
