package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Judges of the os group that ask for room: memory, disks, limits, CPUs.

const (
	kibPerGiB = 1 << 20
	kibPerMiB = 1 << 10
	percent   = 100
)

func gib(kib int64) float64 { return float64(kib) / kibPerGiB }

func shownGiB(kib int64) string { return fmt.Sprintf("%.1f GiB", gib(kib)) }

func freeGiB(kib int64) report.Text { return report.T("%s free", "可用 %s", shownGiB(kib)) }

func osNoFile(l *look) verdict {
	if v, stop := blank(l.Limits); stop {
		return v
	}
	n := l.Limits.Value.NoFile
	return atLeast(float64(n), l.number("good"), l.number("least"), l.Limits.Source, raw(n.String()), raw(">=", l.word("good")))
}

func osMemlock(l *look) verdict {
	if v, stop := blank(l.Limits); stop {
		return v
	}
	n, unlimited := l.Limits.Value.MemlockKB, report.T("unlimited", "无限制")
	switch {
	case n == facts.Unlimited:
		return pass(l.Limits.Source, unlimited)
	case l.job.multiNode() && float64(n) < l.number("least")*kibPerMiB:
		return fail(l.Limits.Source, raw(n.String(), "KiB"), atLeastOf(l.shown("least")))
	}
	return warn(l.Limits.Source, raw(n.String(), "KiB"), unlimited)
}

func osMemory(l *look) verdict {
	if v, stop := blank(l.Memory); stop {
		return v
	}
	total := l.Memory.Value.TotalKB
	seen, floor := raw(shownGiB(total)), atLeastOf(l.shown("floor"))
	enough := ifElse(gib(total) >= l.number("floor"), report.Warn, l.Memory.Source, seen, floor)
	if l.job.ModelGiB == 0 {
		return enough
	}
	return worst(enough, atLeast(gib(total)/l.job.ModelGiB, l.number("good"), l.number("least"), l.Memory.Source,
		report.T("%s for a model of %.1f GiB", "%s，模型为 %.1f GiB", seen, l.job.ModelGiB), atLeastOf(l.shown("good"))))
}

func osHugePages(l *look) verdict {
	if v, stop := blank(l.Memory); stop {
		return v
	}
	m := l.Memory.Value
	pool := m.HugePages * m.HugePageKB
	return ifElse(float64(pool)*percent <= l.number("pool")*float64(m.TotalKB), report.Warn, l.Memory.Source,
		report.T("%s of %s", "%s，共 %s", shownGiB(pool), shownGiB(m.TotalKB)), atMost(l.shown("pool")))
}

func osDiskInstall(l *look) verdict {
	where := l.job.InstallPath
	if where == "" {
		where = l.of("driver.installed").word("default_root")
	}
	d := l.disk(where)
	if v, stop := blank(d); stop {
		return v
	}
	good := l.number("good")
	v := atLeast(gib(d.Value.AvailKB), good, l.number("least"), d.Source, freeGiB(d.Value.AvailKB), atLeastOf(l.shown("good")))
	after := (float64(d.Value.UsedKB) + good*kibPerGiB) * percent / max(1, float64(d.Value.TotalKB))
	return worst(v, ifElse(after <= l.number("used_after"), report.Warn, d.Source,
		report.T("%.0f %% full with %s more", "再写入 %[2]s 后占用率 %[1].0f%%", after, l.shown("good")), atMost(l.shown("used_after"))))
}

func osDiskTmp(l *look) verdict {
	where := l.env("TMPDIR")
	if where == "" {
		where = "/tmp"
	}
	d := l.disk(where)
	if v, stop := blank(d); stop {
		return v
	}
	if d.Value.NoExec {
		return fail(d.Source, report.T("%s is mounted noexec", "%s 以 noexec 挂载", where), report.T("a place that allows execution", "允许执行程序的位置"))
	}
	size := l.number("package")
	return atLeast(gib(d.Value.AvailKB)/size, l.number("good"), l.number("least"), d.Source,
		freeGiB(d.Value.AvailKB), raw(fmt.Sprintf(">= %g GiB", l.number("good")*size)))
}

func osDiskLogs(l *look) verdict {
	return l.everyPlace(func(p string, d facts.Fact[facts.Disk]) verdict {
		return atLeast(gib(d.Value.AvailKB), l.number("good"), l.number("least"), d.Source,
			says(p, freeGiB(d.Value.AvailKB)), atLeastOf(l.shown("good")))
	})
}

func osInodes(l *look) verdict {
	return l.everyPlace(func(p string, d facts.Fact[facts.Disk]) verdict {
		if d.Value.Inodes == 0 {
			return pass(d.Source, report.T("%s: counts no inodes", "%s：不统计 inode", p))
		}
		free := float64(d.Value.IFree) * percent / float64(d.Value.Inodes)
		return atLeast(free, l.number("good"), l.number("least"), d.Source,
			report.T("%s: %.0f %% free", "%s：可用 %.0f%%", p, free), atLeastOf(l.shown("good")))
	})
}

// everyPlace judges the file systems of the row's places; one that could not be
// read does not hide a full one.
func (l *look) everyPlace(see func(p string, d facts.Fact[facts.Disk]) verdict) verdict {
	var all []verdict
	for _, p := range l.list("places") {
		p = l.expand(p)
		if p == "" {
			all = append(all, unknown(l.Identity.Source, report.T("no home folder", "没有主目录")))
			continue
		}
		d := l.disk(p)
		if v, stop := blank(d); stop {
			all = append(all, v)
			continue
		}
		all = append(all, see(p, d))
	}
	return worst(all...)
}

func osShm(l *look) verdict {
	d := l.disk("/dev/shm")
	if v, stop := blank(d); stop {
		return v
	}
	size, seen := gib(d.Value.TotalKB), raw(shownGiB(d.Value.TotalKB))
	ample := slices.Contains(l.list("ample_engines"), l.job.Engine) && l.inContainer()
	switch {
	case size < l.number("least") && l.cards() > 1:
		return fail(d.Source, report.T("%s for %d chips", "%s，共 %d 个芯片", seen, l.cards()), atLeastOf(l.shown("least")))
	case size < l.number("least"):
		return warn(d.Source, seen, atLeastOf(l.shown("least")))
	case ample && size < l.number("ample"):
		return warn(d.Source, seen, atLeastOf(l.shown("ample")))
	}
	return pass(d.Source, seen)
}

// osCPUSet compares the CPUs this process space may use with those next to the
// chips of the job.
func osCPUSet(l *look) verdict {
	if v, stop := blank(l.CPUsAllowed); stop {
		return v
	}
	if l.NPUTopo.Value.Topo == nil || len(l.NPUTopo.Value.Topo.Affinity) == 0 {
		return unknown(l.NPUTopo.Source, report.T("affinity: %s", "亲和性：%s", note(l.NPUTopo)))
	}
	allowed := parseRanges(l.CPUsAllowed.Value)
	in, out := 0, 0
	var near []string
	for _, id := range keys(l.NPUTopo.Value.Topo.Affinity) {
		if !l.inJob(id) {
			continue
		}
		cpus := l.NPUTopo.Value.Topo.Affinity[id]
		near = append(near, cpus)
		for _, r := range parseRanges(cpus) {
			for c := r[0]; c <= r[1]; c++ {
				if allowed.holds(c) {
					in++
				} else {
					out++
				}
			}
		}
	}
	seen := raw(l.word("allowed"), l.CPUsAllowed.Value)
	wanted := raw(strings.Join(unique(near), ","))
	switch {
	case in+out == 0:
		return unknown(l.NPUTopo.Source, report.T("no affinity for the chips of the job", "没有作业所用芯片的亲和性"))
	case out == 0:
		return pass(l.CPUsAllowed.Source, seen)
	case in > 0:
		return warn(l.CPUsAllowed.Source, seen, wanted)
	}
	return fail(l.CPUsAllowed.Source, seen, wanted)
}

// inJob is true for a chip of the job. A topology names chips by NPU id, on A3
// by physical id; --device counts logic ids.
func (l *look) inJob(id string) bool {
	n, err := strconv.Atoi(strings.TrimLeftFunc(id, func(r rune) bool { return r < '0' || r > '9' }))
	if err != nil || len(l.job.Devices) == 0 {
		return err == nil
	}
	for _, m := range l.mapped() {
		if m.Logic != nil && (same(m.Phy, &n) || m.Phy == nil && same(m.NPU, &n)) {
			return slices.Contains(l.job.Devices, *m.Logic)
		}
	}
	return slices.Contains(l.job.Devices, n)
}

// ranges is a list as the kernel writes it: 0-3,8.
type ranges [][2]int

func parseRanges(s string) (out ranges) {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		from, to, double := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if double {
			var bad error
			if b, bad = strconv.Atoi(to); bad != nil {
				continue
			}
		}
		// A CPU or port list longer than this is no such list.
		if err == nil && a >= 0 && b >= a && b-a < 1<<17 {
			out = append(out, [2]int{a, b})
		}
	}
	return out
}

func (r ranges) holds(n int) bool {
	return slices.ContainsFunc(r, func(e [2]int) bool { return e[0] <= n && n <= e[1] })
}
