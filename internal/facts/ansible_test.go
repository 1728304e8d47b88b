//go:build linux

package facts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// BenchmarkLookBesideAnsible looks at 32 real sshd at once, and in the same run
// lets ansible gather its facts of them (setup, 32 forks, pipelining), the
// least it can and all. ASCENDCTL_ANSIBLE names the ansible to run.
func BenchmarkLookBesideAnsible(b *testing.B) {
	ansible := os.Getenv("ASCENDCTL_ANSIBLE")
	if ansible == "" {
		b.Fatal("ASCENDCTL_ANSIBLE must name an ansible: pip install ansible-core into a venv")
	}
	const n = 32
	dir := b.TempDir()
	var hosts []*hosttest.SSHD
	var inventory strings.Builder
	for i := range n {
		d := hosttest.StartSSHD(b)
		to := d.Target(b)
		fmt.Fprintf(&inventory, "h%d ansible_host=%s ansible_port=%d ansible_user=%s ansible_ssh_private_key_file=%s "+
			"ansible_ssh_common_args='-o UserKnownHostsFile=%s -o StrictHostKeyChecking=yes'\n",
			i, to.Address, to.Port, to.User, to.Identity, d.Options(b).KnownHosts[0])
		hosts = append(hosts, d)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		return file
	}
	inv := write("hosts.ini", inventory.String())
	write("ansible.cfg", "[ssh_connection]\npipelining = True\n")
	setup := func(subset string) time.Duration {
		c := exec.Command(ansible, "all", "-i", inv, "-m", "setup", "-a", "gather_subset="+subset, "-f", strconv.Itoa(n))
		c.Dir, c.Env = dir, append(os.Environ(), "ANSIBLE_CONFIG="+filepath.Join(dir, "ansible.cfg"), "ANSIBLE_LOCAL_TEMP="+dir)
		return timed(b, "ansible "+subset, func() error {
			out, err := c.CombinedOutput()
			if ok := strings.Count(string(out), "SUCCESS"); err != nil || ok != n {
				return fmt.Errorf("%d of %d, %w: %.2000s", ok, n, err, out)
			}
			return nil
		})
	}
	var ours, least, all time.Duration
	for b.Loop() {
		ours += timed(b, "ascendctl facts", func() error {
			g, ctx := errgroup.WithContext(b.Context())
			for _, d := range hosts {
				g.Go(func() error {
					h, err := host.Connect(ctx, d.Target(b), d.Options(b))
					if err != nil {
						return err
					}
					defer h.Close()
					if f := facts.Collect(ctx, h, facts.Options{Serving: true}); !f.Kernel.Known() {
						return fmt.Errorf("%s", f.Kernel.Note)
					}
					return nil
				})
			}
			return g.Wait()
		})
		least += setup("min")
		all += setup("all")
	}
	b.ReportMetric(float64(least)/float64(ours), "min/ours")
	b.ReportMetric(float64(all)/float64(ours), "all/ours")
	b.ReportMetric(0, "ns/op")
}

// timed runs f and logs its time and the CPU seconds of the whole machine.
func timed(b *testing.B, name string, f func() error) time.Duration {
	b.Helper()
	cpu, start := busy(b), time.Now()
	if err := f(); err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	took := time.Since(start)
	b.Logf("%s: %.1f s, %.1f CPU-s", name, took.Seconds(), busy(b)-cpu)
	return took
}

// busy is the CPU seconds that this machine has worked since it started.
func busy(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for i, word := range strings.Fields(strings.SplitN(string(data), "\n", 2)[0])[1:] {
		if n, err := strconv.ParseFloat(word, 64); err == nil && i != 3 && i != 4 { // idle, iowait
			sum += n / 100
		}
	}
	return sum
}
