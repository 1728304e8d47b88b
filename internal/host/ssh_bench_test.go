//go:build unix

package host_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

func BenchmarkSSH(b *testing.B) {
	for name, config := range map[string]string{"many sessions": "MaxSessions 10", "one session": "MaxSessions 1"} {
		d := hosttest.StartSSHD(b, config)
		h, err := host.Connect(b.Context(), d.Target(b), d.Options(b))
		if err != nil {
			b.Fatal(err)
		}
		defer h.Close()
		b.Run(name+"/true", func(b *testing.B) {
			for b.Loop() {
				if _, err := h.Run(b.Context(), host.Command{Argv: []string{"true"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/true, bare session", func(b *testing.B) { bare(b, d, "true", nil) })
		big := make([]byte, 64<<20)
		b.Run(name+"/64 MiB to stdin", func(b *testing.B) {
			b.SetBytes(int64(len(big)))
			for b.Loop() {
				if _, err := h.Run(b.Context(), host.Command{Argv: []string{"wc", "-c"}, Stdin: bytes.NewReader(big), Stdout: io.Discard}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/64 MiB to stdin, bare session", func(b *testing.B) {
			b.SetBytes(int64(len(big)))
			bare(b, d, "wc -c", big)
		})
	}
}

// bare is what x/crypto alone needs for the same, the floor under our figures.
func bare(b *testing.B, d *hosttest.SSHD, line string, stdin []byte) {
	tg := d.Target(b)
	key, err := os.ReadFile(tg.Identity)
	if err != nil {
		b.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		b.Fatal(err)
	}
	c, err := ssh.Dial("tcp", d.Addr, &ssh.ClientConfig{User: tg.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(d.HostKey)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		s, err := c.NewSession()
		for err != nil { // MaxSessions 1
			s, err = c.NewSession()
		}
		s.Stdin = bytes.NewReader(stdin)
		if _, err := s.Output(line); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// BenchmarkFleet looks once at many hosts over a line of 50 ms each way.
// Simulated: the hosts share one in-process server that answers from memory.
func BenchmarkFleet(b *testing.B) {
	s := hosttest.Serve(b, hosttest.Config{Exec: hosttest.Canned(hosttest.Shell("/bin/sh"))})
	p := hosttest.NewProxy(b, s.Addr, 50*time.Millisecond)
	tg, err := host.ParseTarget("tester@" + p.Addr)
	if err != nil {
		b.Fatal(err)
	}
	o := host.Options{KnownHosts: []string{hosttest.KnownHosts(b, p.Addr, s.HostKeys...)}}
	look := func(context.Context) error {
		h, err := host.Connect(b.Context(), tg, o)
		if err != nil {
			return err
		}
		defer h.Close()
		for _, a := range h.Ask(b.Context(), []host.Question{{Kind: host.Identity}, {Kind: host.File, Args: []string{"/etc/os-release"}}}) {
			if a.State != host.Known {
				return a.Err
			}
		}
		return nil
	}
	for _, n := range []int{1, 32} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				all, ctx := errgroup.WithContext(b.Context())
				for range n {
					all.Go(func() error { return look(ctx) })
				}
				if err := all.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
