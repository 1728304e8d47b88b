//go:build unix

package host_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

func TestContractSSHInProcess(t *testing.T) {
	noLeak(t)
	s := hosttest.Serve(t, hosttest.Config{MaxSessions: 1})
	hosttest.Contract(t, "inproc", func(t *testing.T) host.Host { return connect(t, s.Target(t), s.Options(t)) })
}

func TestContractSSHRealServer(t *testing.T) {
	noLeak(t)
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	hosttest.Contract(t, "sshd", func(t *testing.T) host.Host { return connect(t, d.Target(t), d.Options(t)) })
}

// Two jumps, of which the second is a real sshd, then a real sshd.
func TestContractSSHOverJumpHosts(t *testing.T) {
	noLeak(t)
	tg, o := overJumps(t)
	hosttest.Contract(t, "jump", func(t *testing.T) host.Host { return connect(t, tg, o) })
}

func overJumps(t *testing.T) (host.Target, host.Options) {
	first := hosttest.Serve(t, hosttest.Config{})
	second, last := hosttest.StartSSHD(t), hosttest.StartSSHD(t, "MaxSessions 1")
	tg := last.Target(t)
	tg.Jump = []host.Jump{
		jump(t, "first", first.Addr, tg.User, ""),
		jump(t, "second", second.Addr, tg.User, second.Key),
	}
	o := last.Options(t)
	o.KnownHosts = append(o.KnownHosts,
		hosttest.KnownHosts(t, first.Addr, first.HostKeys...), hosttest.KnownHosts(t, second.Addr, second.HostKey))
	return tg, o
}

func jump(t *testing.T, name, addr, user, key string) host.Jump {
	t.Helper()
	h, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return host.Jump{Name: name, Address: h, Port: n, User: user, Identity: key}
}
