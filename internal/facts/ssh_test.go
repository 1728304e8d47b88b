//go:build unix

package facts_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// TestLookOverSSHCostsTwoChannels counts on the server's side: a full look,
// the decision about sudo included, opens at most two sessions, whether the
// server allows more at once or not.
func TestLookOverSSHCostsTwoChannels(t *testing.T) {
	for _, limit := range []string{"MaxSessions 10", "MaxSessions 1"} {
		t.Run("sshd "+limit, func(t *testing.T) {
			d := hosttest.StartSSHD(t, limit)
			f := look(t, d.Target(t), d.Options(t))
			if n := d.Sessions(); n > 2 {
				t.Errorf("%d sessions, want at most 2", n)
			}
			if !f.Kernel.Known() || !f.Identity.Known() || !f.OS.Known() {
				t.Errorf("little was seen: %+v %+v %+v", f.Kernel, f.Identity, f.OS)
			}
		})
	}
	t.Run("in process", func(t *testing.T) {
		s := hosttest.Serve(t, hosttest.Config{MaxSessions: 1})
		look(t, s.Target(t), s.Options(t))
		if n := s.Sessions(); n > 2 {
			t.Errorf("%d sessions, want at most 2", n)
		}
	})
}

func look(t testing.TB, to host.Target, o host.Options) facts.Facts {
	t.Helper()
	h, err := host.Connect(t.Context(), to, o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	return facts.Collect(t.Context(), h, facts.Options{Serving: true})
}

// BenchmarkLookAtFleet looks at many hosts at once through a proxy of 50 ms
// each way, beside one host in the same run. In process: no process per
// question, the answers of one real look are given again. Real: one sshd each.
func BenchmarkLookAtFleet(b *testing.B) {
	const delay = 50 * time.Millisecond
	b.Run("in process", func(b *testing.B) {
		s := hosttest.Serve(b, hosttest.Config{Exec: hosttest.Canned(hosttest.Shell("/bin/sh"))})
		p := hosttest.NewProxy(b, s.Addr, delay)
		to, err := host.ParseTarget("tester@" + p.Addr)
		if err != nil {
			b.Fatal(err)
		}
		o := host.Options{KnownHosts: []string{hosttest.KnownHosts(b, p.Addr, s.HostKeys...)}}
		fleet(b, 32, func(int) (host.Target, host.Options) { return to, o })
	})
	b.Run("sshd", func(b *testing.B) {
		const n = 8
		var to [n]host.Target
		var o [n]host.Options
		for i := range n {
			d := hosttest.StartSSHD(b)
			p := hosttest.NewProxy(b, d.Addr, delay)
			to[i], o[i] = d.Target(b), d.Options(b)
			at, err := host.ParseTarget(to[i].User + "@" + p.Addr)
			if err != nil {
				b.Fatal(err)
			}
			to[i].Address, to[i].Port = at.Address, at.Port
			o[i].KnownHosts = []string{hosttest.KnownHosts(b, p.Addr, d.HostKey)}
		}
		fleet(b, n, func(i int) (host.Target, host.Options) { return to[i], o[i] })
	})
}

// fleet reports how much longer n hosts take than one.
func fleet(b *testing.B, n int, at func(int) (host.Target, host.Options)) {
	b.Helper()
	one := func(ctx context.Context, i int) error {
		to, o := at(i)
		h, err := host.Connect(ctx, to, o)
		if err != nil {
			return fmt.Errorf("host %d: %w", i, err)
		}
		defer h.Close()
		if f := facts.Collect(ctx, h, facts.Options{Serving: true}); !f.Kernel.Known() {
			return fmt.Errorf("host %d: %s", i, f.Kernel.Note)
		}
		return nil
	}
	var single, all time.Duration
	for b.Loop() {
		start := time.Now()
		if err := one(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		single += time.Since(start)
		start = time.Now()
		g, ctx := errgroup.WithContext(b.Context())
		for i := range n {
			g.Go(func() error { return one(ctx, i) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		all += time.Since(start)
	}
	b.ReportMetric(single.Seconds()/float64(b.N), "s/one")
	b.ReportMetric(all.Seconds()/float64(b.N), fmt.Sprintf("s/%d", n))
	b.ReportMetric(float64(all)/float64(single), "ratio")
	b.ReportMetric(0, "ns/op")
}
