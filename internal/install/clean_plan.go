package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// deleted is said of every step: a trash on the same disk would free nothing.
func deleted() report.Text {
	return report.T("what is deleted does not come back", "已删除的内容不会恢复")
}

// set is the plan; pure but for the checks in it.
func (l *litter) set() *Set {
	s := &Set{Keep: l.kept, Notes: l.notes}
	s.Plan.Name, s.Plan.Again = "clean", l.sweep.Again
	slices.SortFunc(s.Keep, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Version, b.Version)) })
	var sum int64
	for _, g := range l.groups() {
		step, size := l.step(g)
		sum += size
		s.Plan.Steps = append(s.Plan.Steps, step)
	}
	for _, t := range l.old {
		if !l.sweep.wants(litterCANN) {
			s.Notes = append(s.Notes, report.T("nothing uses CANN %s in %s now, %s: --what cann removes it", "CANN %s 位于 %s 目前未被使用（%s）：可用 --what cann 移除", t.Version, t.Path, roomText(t.bytes)))
			continue
		}
		sum += t.bytes
		s.Plan.Steps = append(s.Plan.Steps, gone("clean.cann:"+t.Path, report.T("CANN %s in %s, %s", "CANN %[1]s，%[3]s，位于 %[2]s", t.Version, t.Path, roomText(t.bytes)),
			t.uid == 0, []string{path.Join(t.Path, "cann_uninstall.sh")}, cmp.Or(t.Info, t.Path)))
	}
	s.Plan.Title = report.T("delete what is left behind, %s", "清理遗留内容，%s", roomText(sum))
	return s
}

// group is what goes in one step.
type group struct {
	dir   string
	trash []trash
}

// groups brings together what lies in one folder.
func (l *litter) groups() (out []group) {
	for _, t := range l.found {
		dir := t.spot.dir
		if t.path != "" {
			dir = path.Dir(t.path)
		}
		i := slices.IndexFunc(out, func(g group) bool {
			return g.dir == dir && g.trash[0].spot.kind == t.spot.kind && g.trash[0].spot.uid == t.spot.uid
		})
		if i < 0 || t.path == "" {
			out = append(out, group{dir, []trash{t}})
			continue
		}
		out[i].trash = append(out[i].trash, t)
	}
	return out
}

// step deletes a group, by conditions that hold again when it runs: owner, age,
// and one file system.
func (l *litter) step(g group) (plan.Step, int64) {
	var sum int64
	n := 0
	var paths []string
	for _, t := range g.trash {
		sum, n = sum+t.bytes, n+t.files
		paths = append(paths, t.path)
	}
	spot := g.trash[0].spot
	c := plan.Command{}
	if !spot.whole {
		conditions := l.files(spot, g.trash[0].but)
		c.Argv, c.Check = append(append([]string{"find"}, conditions...), "-delete"), nothing(spot.dir, conditions)
	} else {
		c.Argv = slices.Concat([]string{"find"}, paths, []string{"-ignore_readdir_race", "-xdev", "-uid", strconv.Itoa(spot.uid), "-delete"})
		c.Check = plan.Exits(append([]string{"/bin/sh", "-c", `for p; do [ ! -e "$p" ] && [ ! -L "$p" ] || exit 1; done`, "sh"}, paths...)...)
	}
	return plan.Step{
		ID: "clean." + spot.kind + ":" + g.dir, Title: report.T("%s in %s: %d, %s", "%[1]s %[3]d 项，%[4]s，位于 %[2]s", litterName(spot.kind), g.dir, n, roomText(sum)),
		Do: []plan.Act{c}, Root: spot.uid == 0, Keeps: deleted(),
	}, sum
}

// roomText is room on a disk: whole KiB where it is little.
func roomText(n int64) report.Text {
	if n < 10<<20 {
		return report.Same(strconv.FormatInt((n+1023)>>10, 10) + " KiB")
	}
	return sizeText(n)
}

func litterName(kind string) report.Text {
	switch kind {
	case litterLogs:
		return report.T("logs", "日志")
	case litterKernel:
		return report.T("kernel_meta folders", "kernel_meta 目录")
	case litterCores:
		return report.T("core dumps", "core dump 文件")
	case litterShm:
		return report.T("shared memory of workers that are gone", "已退出工作进程的共享内存")
	}
	return report.T("leftovers of ascendctl", "ascendctl 遗留文件")
}

// nothing is a check: find meets nothing under these conditions, or the folder
// is gone.
func nothing(dir string, conditions []string) plan.Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		there, err := plan.Exists(dir)(ctx, h)
		if err != nil || !there {
			return err == nil, err
		}
		r, err := h.Run(ctx, host.Command{Argv: append(append([]string{"find"}, conditions...), "-print", "-quit")})
		if err == nil && r.Exit != 0 {
			err = errors.New(string(bytes.TrimSpace(r.Stderr)))
		}
		return len(r.Stdout) == 0, err
	}
}
