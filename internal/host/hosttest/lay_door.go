//go:build linux

package hosttest

import (
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ascendctl/ascendctl/internal/host"
)

// door takes connections outside and hands each to an sshd inside, as inetd
// does: so the host needs no network of the machine and has its own.
type door struct {
	mu    sync.Mutex
	l     net.Listener // nil: nobody is let in
	conns map[*os.File]bool
	done  sync.WaitGroup
}

// open lets connections in, at the address of before if there was one.
func (l *Laid) open() {
	l.t.Helper()
	addr := l.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
		l.t.Cleanup(l.shut)
	}
	in, err := net.Listen("tcp", addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Addr = in.Addr().String()
	l.door.mu.Lock()
	l.door.l, l.door.conns = in, map[*os.File]bool{}
	l.door.mu.Unlock()
	l.door.done.Go(func() {
		for {
			c, err := in.Accept()
			if err != nil {
				return
			}
			f, err := c.(*net.TCPConn).File()
			c.Close()
			if err == nil {
				l.door.done.Go(func() { l.session(f) })
			}
		}
	})
}

func (l *Laid) session(f *os.File) {
	defer f.Close()
	l.door.mu.Lock()
	open := l.door.l != nil
	if open {
		l.door.conns[f] = true
	}
	l.door.mu.Unlock()
	if !open {
		return
	}
	argv := append([]string{"/usr/bin/prlimit"}, l.limits...)
	cmd := l.inside(append(argv, "--", "/usr/sbin/sshd", "-i", "-e", "-f", "/.laid/sshd_config")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, l.log
	_ = cmd.Run() // sshd says in the log what it did not like
	l.door.mu.Lock()
	delete(l.door.conns, f)
	l.door.mu.Unlock()
}

// shut refuses connections and cuts those there are.
func (l *Laid) shut() {
	l.door.mu.Lock()
	if l.door.l != nil {
		l.door.l.Close()
		l.door.l = nil
	}
	l.door.mu.Unlock()
	l.CutConnections()
	l.door.done.Wait()
}

// CutConnections ends every connection at once, in both directions; new ones
// are let in. What runs detached goes on.
func (l *Laid) CutConnections() {
	l.door.mu.Lock()
	defer l.door.mu.Unlock()
	for f := range l.door.conns {
		// Not Close: the sshd inside holds the same socket.
		_ = unix.Shutdown(int(f.Fd()), unix.SHUT_RDWR)
	}
}

// Connections counts those that are open.
func (l *Laid) Connections() int {
	l.door.mu.Lock()
	defer l.door.mu.Unlock()
	return len(l.door.conns)
}

// listenInside listens in the network of the host.
func (l *Laid) listenInside(t testing.TB, addr string) net.Listener {
	t.Helper()
	ns, err := os.Open("/proc/" + strconv.Itoa(l.pid) + "/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	type made struct {
		l   net.Listener
		err error
	}
	back := make(chan made)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its network
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			back <- made{nil, err}
			return
		}
		in, err := net.Listen("tcp", addr)
		back <- made{in, err}
	}()
	got := <-back
	if got.err != nil {
		t.Fatalf("listen in the laid host on %s: %v", addr, got.err)
	}
	return got.l
}

// listenTo opens the described ports; nobody answers there.
func (l *Laid) listenTo(ports []host.Listener) {
	l.t.Helper()
	for _, p := range ports {
		in := l.listenInside(l.t, ":"+strconv.Itoa(p.Port))
		l.t.Cleanup(func() { in.Close() })
	}
}

// Serve lets the host reach the address to of this machine, as 127.0.0.1:port
// of its own.
func (l *Laid) Serve(t testing.TB, port int, to string) {
	t.Helper()
	in := l.listenInside(t, "127.0.0.1:"+strconv.Itoa(port))
	var all sync.WaitGroup
	t.Cleanup(func() { in.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := in.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				s, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer s.Close()
				all.Go(func() { _, _ = io.Copy(s, c); _ = s.(*net.TCPConn).CloseWrite() })
				_, _ = io.Copy(c, s)
			})
		}
	})
}

// KillRemote kills with SIGKILL what runs in the host under a command line that
// has the text, and gives how many that were.
func (l *Laid) KillRemote(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(l.Sh(t, `n=0
for p in /proc/[0-9]*; do
  pid=${p#/proc/}
  case $(/usr/bin/tr '\0' ' ' <$p/cmdline 2>/dev/null) in *"$1"*) [ $pid = 1 ] || [ $pid = $$ ] || ! kill -9 $pid 2>/dev/null || n=$((n+1)) ;; esac
done
echo $n`, text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
