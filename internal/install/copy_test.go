//go:build unix

package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// rooted lets hosts that share one disk have the same paths: /ROOT is a folder
// of its own on each.
type rooted struct {
	host.Host
	dir string
}

func (r rooted) under(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if rest, ok := strings.CutPrefix(a, "/ROOT"); ok {
			out[i] = r.dir + rest
		}
	}
	return out
}

func (r rooted) Run(ctx context.Context, c host.Command) (host.Result, error) {
	c.Argv = r.under(c.Argv)
	return r.Host.Run(ctx, c)
}

func (r rooted) Ask(ctx context.Context, qs []host.Question) []host.Answer {
	qs = slices.Clone(qs)
	for i := range qs {
		qs[i].Args = r.under(qs[i].Args)
	}
	return r.Host.Ask(ctx, qs)
}

func dial(t testing.TB, d *hosttest.SSHD, addr string) host.Host {
	t.Helper()
	tg, o := d.Target(t), d.Options(t)
	if addr != d.Addr {
		var err error
		if tg, err = host.ParseTarget(tg.User + "@" + addr); err != nil {
			t.Fatal(err)
		}
		tg.Identity = d.Key
		o.KnownHosts = []string{hosttest.KnownHosts(t, addr, d.HostKey)}
	}
	h, err := host.Connect(t.Context(), tg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestCopyToManyHosts(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) { // so that cleanups come before the look for leaks
		d := hosttest.StartSSHD(t)
		a, b := noise(3<<20), noise(70000)
		files := []Copying{{gotOf(a), "/ROOT/scratch/packages/a.run", 0o755}, {gotOf(b), "/ROOT/scratch/b.whl", 0}}
		var hosts []host.Host
		var dirs []string
		for range 4 {
			dirs = append(dirs, t.TempDir())
			hosts = append(hosts, rooted{dial(t, d, d.Addr), dirs[len(dirs)-1]})
		}
		plant(t, dirs[3]+"/scratch/b.whl", b)
		var mu sync.Mutex
		last := map[string]int64{}
		tell := func(h, file string, done, size int64) {
			mu.Lock()
			defer mu.Unlock()
			last[file] = done
			if done > size {
				t.Errorf("%s %s: %d of %d", h, file, done, size)
			}
		}
		for i, o := range Copy(t.Context(), hosts, files, CopyOptions{Progress: tell}) {
			kept := int64(0)
			if i == 3 {
				kept = int64(len(b))
			}
			if o.Err != nil || o.Value != (Copied{2, int64(len(a) + len(b)), kept}) {
				t.Errorf("host %d: %+v", i, o)
			}
			got, _ := os.ReadFile(dirs[i] + "/scratch/packages/a.run")
			info, err := os.Stat(dirs[i] + "/scratch/packages/a.run")
			if !bytes.Equal(got, a) || err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("host %d: %d bytes, %v", i, len(got), err)
			}
		}
		if len(last) != 1 || last["a.run"] == 0 { // both are called a.run here
			t.Errorf("progress: %v", last)
		}
	})
}

// TestCopyGoesOnAtTheBrokenOffset counts what passes the line after the cut.
func TestCopyGoesOnAtTheBrokenOffset(t *testing.T) {
	data := noise(24 << 20)
	d := hosttest.StartSSHD(t)
	p := hosttest.NewProxy(t, d.Addr, 0)
	dir := t.TempDir()
	files := []Copying{{gotOf(data), dir + "/a.run", 0}}
	p.CutAfter(16 << 20)
	out := Copy(t.Context(), []host.Host{dial(t, d, p.Addr)}, files, CopyOptions{})
	if !errors.Is(out[0].Err, host.ErrUnreachable) {
		t.Fatalf("a cut line: %+v", out[0])
	}
	var info os.FileInfo
	for range 200 { // the host may still be writing what had come
		parts, _ := filepath.Glob(dir + "/a.run.*.part")
		if len(parts) == 1 {
			now, err := os.Stat(parts[0])
			if err == nil && info != nil && now.Size() == info.Size() && now.Size() > 0 {
				break
			}
			info = now
		}
		time.Sleep(20 * time.Millisecond)
	}
	if info == nil || info.Size() < 8<<20 {
		t.Fatalf("left behind: %v", info)
	}
	p.CutAfter(1 << 40)
	before := p.Sent()
	out = Copy(t.Context(), []host.Host{dial(t, d, p.Addr)}, files, CopyOptions{})
	if out[0].Err != nil || out[0].Value.Kept != info.Size() {
		t.Fatalf("%+v, %d were there", out[0], info.Size())
	}
	rest, sent := int64(len(data))-info.Size(), p.Sent()-before
	if over := sent - rest; over < 0 || over > rest/50+64<<10 {
		t.Errorf("%d bytes crossed the line for %d that were missing", sent, rest)
	}
	if got, _ := os.ReadFile(dir + "/a.run"); !bytes.Equal(got, data) {
		t.Error("the file is not what was sent")
	}
	t.Logf("of %d bytes %d were there after the cut, and %d crossed the line then", len(data), info.Size(), sent)
}

func TestCopyRefusals(t *testing.T) {
	h := host.NewLocal()
	huge := &Got{ReaderAt: bytes.NewReader(nil), Name: "a.run", Size: maxFile * 1000, SHA256: strings.Repeat("a", 64)}
	wrong := gotOf([]byte("data"))
	wrong.SHA256 = strings.Repeat("a", 64)
	file := filepath.Join(t.TempDir(), "file")
	plant(t, file, nil)
	for want, c := range map[string]Copying{
		"not enough space":        {huge, t.TempDir() + "/a.run", 0},
		"differs from the one":    {wrong, t.TempDir() + "/a.run", 0},
		"cannot copy a.run to lo": {gotOf([]byte("data")), file + "/a.run", 0},
	} {
		out := Copy(t.Context(), []host.Host{h}, []Copying{c}, CopyOptions{})
		refusal(t, out[0].Err, want)
		if _, err := os.Stat(c.Path); err == nil {
			t.Errorf("%s: it is there", want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if out := Copy(ctx, []host.Host{h}, nil, CopyOptions{}); !errors.Is(out[0].Err, context.Canceled) {
		t.Errorf("%+v", out[0])
	}
}

// BenchmarkCopy sends a file to four sshd and, in the same run, lets scp and
// then sha256sum on each host do the same: both in parallel, in turns, the best
// of each counts. It fails below 0.8 of scp. ASCENDCTL_PROOF=1 takes 3 GiB.
func BenchmarkCopy(b *testing.B) {
	size := int64(512 << 20)
	if os.Getenv("ASCENDCTL_PROOF") == "1" {
		size = 3 << 30
	}
	src := filepath.Join(b.TempDir(), "a.run")
	g := bigFile(b, src, size)
	var hosts []host.Host
	var servers []*hosttest.SSHD
	var dirs []string
	for range 4 {
		d, dir := hosttest.StartSSHD(b), b.TempDir()
		servers, dirs = append(servers, d), append(dirs, dir)
		hosts = append(hosts, rooted{dial(b, d, d.Addr), dir})
	}
	ours := func() {
		for _, o := range Copy(b.Context(), hosts, []Copying{{g, "/ROOT/a.run", 0}}, CopyOptions{}) {
			if o.Err != nil || o.Value.Kept != 0 {
				b.Fatalf("%+v", o)
			}
		}
	}
	theirs := func() {
		var all sync.WaitGroup
		for i, d := range servers {
			all.Go(func() { scp(b, d, src, dirs[i]+"/a.run", g.SHA256) })
		}
		all.Wait()
	}
	best := map[string]time.Duration{}
	b.ResetTimer()
	for b.Loop() {
		for _, turn := range []string{"ours", "scp", "scp", "ours"} {
			began := time.Now()
			map[string]func(){"ours": ours, "scp": theirs}[turn]()
			took := time.Since(began)
			if old, ok := best[turn]; !ok || took < old {
				best[turn] = took
			}
			for _, dir := range dirs {
				if err := os.Remove(dir + "/a.run"); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	ratio := best["scp"].Seconds() / best["ours"].Seconds()
	b.ReportMetric(ratio, "x_of_scp")
	b.ReportMetric(float64(4*size)/(1<<20)/best["ours"].Seconds(), "MiB/s")
	if ratio < 0.8 {
		b.Errorf("%.2f of scp and sha256sum, want 0.8: %v against %v", ratio, best["ours"], best["scp"])
	}
}

func bigFile(b *testing.B, name string, size int64) *Got {
	b.Helper()
	block := noise(1 << 20)
	out, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	for i := int64(0); i < size; i += int64(len(block)) {
		copy(block, fmt.Sprintf("block %d", i))
		if _, err := out.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	out.Close()
	f, _ := fetcher(b, filepath.Dir(name))
	got, err := f.Get(b.Context(), []Item{{Name: filepath.Base(name)}})
	if err != nil {
		b.Fatal(err)
	}
	return got[0]
}

func scp(b *testing.B, d *hosttest.SSHD, src, dst, sum string) {
	host, port, _ := net.SplitHostPort(d.Addr)
	user := cmp.Or(d.Target(b).User, "root")
	with := []string{"-q", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-i", d.Key}
	if out, err := exec.Command("scp", slices.Concat(with, []string{"-P", port, src, user + "@" + host + ":" + dst})...).CombinedOutput(); err != nil {
		b.Errorf("scp: %v %s", err, out)
	}
	out, err := exec.Command("ssh", slices.Concat(with, []string{"-p", port, user + "@" + host, "sha256sum", dst})...).Output()
	if err != nil || !strings.HasPrefix(string(out), sum) {
		b.Errorf("sha256sum: %v %s", err, out)
	}
}
