package install

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// searchLimit is the longest a search of one folder may take.
const searchLimit = 2 * time.Minute

// most bounds what is deleted from one spot in one go.
const most = 200

// q is a question put with the rights of whoever owns what it is about.
func (l *litter) q(uid int, argv ...string) host.Question {
	return host.Question{Kind: host.Exec, Args: argv, Root: uid == 0 && l.elevated && l.uid != 0, Timeout: searchLimit}
}

func (l *litter) keep(kind, p string, why report.Text) {
	l.kept = append(l.kept, Kept{Part: kind, Version: p, Why: why})
}

// places finds out whether the login may become root and where the folders
// really are: a search does not follow links, and processes are known by real
// paths.
func (l *litter) places(ctx context.Context) error {
	probe := l.h.Ask(ctx, []host.Question{{Kind: host.Exec, Args: []string{"id", "-u"}, Root: true}})[0]
	l.elevated = l.uid == 0 || probe.State == host.Known && strings.TrimSpace(string(probe.Stdout)) == "0"
	spots := l.wanted()
	var qs []host.Question
	for _, s := range spots {
		qs = append(qs, l.q(s.uid, "readlink", "-e", "--", s.dir))
	}
	for i, a := range l.h.Ask(ctx, qs) {
		real := strings.TrimSuffix(string(a.Stdout), "\n")
		switch s := spots[i]; {
		case a.State != host.Known:
			return unseen(l.f.Target, report.Same(fmt.Sprint(a.Err)))
		case a.Exit != 0 || !searchable(real): // it is not there
		default:
			for k, c := range s.find {
				s.find[k] = strings.Replace(c, literal(s.dir), literal(real), 1)
			}
			s.dir = real
			if !slices.ContainsFunc(l.spots, func(o spot) bool { return o.kind == s.kind && o.dir == s.dir }) {
				l.spots = append(l.spots, s)
			}
		}
	}
	return nil
}

// holding prints "PID PATH" for what processes have open, map, run, stand in or
// mount, as far as it holds one of the lines of $1.
const holding = `t=$(printf '\t')
{ find /proc/[0-9]*/fd /proc/[0-9]*/cwd /proc/[0-9]*/exe -maxdepth 1 -type l -printf '%p\t%l\n' | sed "s|^/proc/\([0-9]*\)/[^$t]*|\1|"
grep -F -- "$1" /proc/[0-9]*/maps /dev/null | sed "s|^/proc/\([0-9]*\)/maps:[^/]*|\1$t|"
grep -F -- "$1" /proc/[0-9]*/mountinfo /dev/null | sed "s|^/proc/\([0-9]*\)/mountinfo:[0-9]* [0-9]* [0-9:]* \([^ ]*\) .*|\1$t\2|"
} 2>/dev/null | grep -F -- "$1" | sort -u`

// busy finds out what is in use.
func (l *litter) busy(ctx context.Context) error {
	l.used = map[string]string{}
	var words []string
	for _, s := range l.spots {
		words = append(words, s.dir)
	}
	for _, t := range l.f.CANN.Value.Trees {
		words = append(words, t.Path)
	}
	if len(words) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeoutCause(ctx, searchLimit, host.ErrTimeout)
	defer stop()
	r, err := l.h.Run(ctx, host.Command{Argv: []string{"/bin/sh", "-c", holding, "sh", strings.Join(words, "\n")}, Root: l.elevated && l.uid != 0})
	if err != nil {
		return unseen(l.f.Target, report.Same(err.Error()))
	}
	for line := range bytes.Lines(r.Stdout) {
		pid, p, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\t")
		if ok {
			l.used[strings.TrimSuffix(p, " (deleted)")] = pid
		}
	}
	return nil
}

// user is the process that uses something at p or below it; "" = none.
func (l *litter) user(p string) string {
	for at, pid := range l.used {
		if within(at, p) {
			return pid
		}
	}
	return ""
}

// files are the arguments of find that meet the files of a spot that go.
func (l *litter) files(s spot, but []string) []string {
	argv := append([]string{s.dir, "-ignore_readdir_race", "-xdev"}, s.find...)
	argv = append(argv, "-type", "f", "-uid", strconv.Itoa(s.uid), "-mmin", "+"+strconv.Itoa(l.sweep.minutes()))
	for _, p := range but {
		argv = append(argv, "!", "-path", literal(p))
	}
	return argv
}

// list searches every spot.
func (l *litter) list(ctx context.Context) error {
	var qs []host.Question
	var buts [][]string
	for _, s := range l.spots {
		var but []string
		argv := append([]string{"find", s.dir, "-xdev"}, s.find...)
		if s.whole {
			argv = append(argv, "-uid", strconv.Itoa(s.uid), "-print0")
		} else {
			for at := range l.used {
				if within(at, s.dir) && at != s.dir {
					but = append(but, at)
				}
			}
			slices.Sort(but)
			argv = append(append([]string{"find"}, l.files(s, but)...), "-printf", "%b\n")
		}
		buts, qs = append(buts, but), append(qs, l.q(s.uid, argv...))
	}
	for i, a := range l.h.Ask(ctx, qs) {
		switch s := l.spots[i]; {
		case a.State != host.Known:
			l.keep(s.kind, s.dir, report.T("could not be searched: %v", "无法查找：%v", a.Err))
		case s.whole:
			l.candidates(s, string(a.Stdout))
		case len(buts[i]) > most:
			l.keep(s.kind, s.dir, report.T("%d files in it are in use", "其中 %d 个文件正在使用", len(buts[i])))
		default:
			for _, p := range buts[i] {
				l.keep(s.kind, p, report.T("in use by process %s", "正被进程 %s 使用", l.used[p]))
			}
			if n, sum := blocks(a.Stdout); n > 0 {
				l.found = append(l.found, trash{spot: s, bytes: sum, files: n, but: buts[i]})
			}
		}
	}
	return nil
}

// blocks counts and adds up lines of 512-byte blocks.
func blocks(out []byte) (n int, sum int64) {
	for line := range bytes.Lines(out) {
		if b, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64); err == nil {
			n, sum = n+1, sum+b*512
		}
	}
	return n, sum
}

// candidates takes the paths of an answer that lie where they should, each once,
// and none inside another, inside a CANN, or where files go by their age.
func (l *litter) candidates(s spot, out string) {
	paths := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	slices.Sort(paths)
	n := 0
	for _, p := range paths {
		inside := func(t trash) bool { return t.path != "" && within(p, t.path) }
		tree := func(t cann.Tree) bool { return within(p, t.Path) }
		sorted := func(o spot) bool { return !o.whole && within(p, o.dir) }
		switch {
		case !searchable(p) || p == s.dir || !within(p, s.dir):
		case slices.ContainsFunc(l.found, inside), slices.ContainsFunc(l.f.CANN.Value.Trees, tree), slices.ContainsFunc(l.spots, sorted):
		case n == most:
			l.notes = append(l.notes, report.T("%s holds more than %d: run it again afterwards", "%s 下超过 %d 项：完成后再次执行", s.dir, most))
			return
		default:
			n++
			l.found = append(l.found, trash{spot: s, path: p, files: 1})
		}
	}
}

// weight prints "UID KB" of a path: of something in it that belongs to another
// user or is too young ("-": nothing is), and what it takes on the disk.
const weight = `f=$(find "$1" -xdev \( ! -uid "$2" -o -mmin "-$3" \) -printf '%U' -quit) && k=$(du -skx -- "$1") && echo "${f:--} ${k%%[!0-9]*}"`

// weigh drops what is in use, belongs to others or is too young.
func (l *litter) weigh(ctx context.Context) error {
	var rest []trash
	var qs []host.Question
	var at []int
	for _, t := range l.found {
		if t.path != "" {
			if pid := l.user(t.path); pid != "" {
				l.keep(t.spot.kind, t.path, report.T("in use by process %s", "正被进程 %s 使用", pid))
				continue
			}
			at = append(at, len(rest))
			qs = append(qs, l.q(t.spot.uid, "sh", "-c", weight, "sh", t.path, strconv.Itoa(t.spot.uid), strconv.Itoa(l.sweep.minutes())))
		}
		rest = append(rest, t)
	}
	drop := map[int]bool{}
	for i, a := range l.h.Ask(ctx, qs) {
		t := &rest[at[i]]
		f := strings.Fields(string(a.Stdout))
		uid := strconv.Itoa(t.spot.uid)
		switch {
		case a.State != host.Known || a.Exit != 0 || len(f) != 2:
			l.keep(t.spot.kind, t.path, report.T("could not be looked at", "无法查看"))
		case f[0] == "-":
			kb, _ := strconv.ParseInt(f[1], 10, 64) // of du: a number
			t.bytes = kb << 10
			continue
		case f[0] != uid:
			l.keep(t.spot.kind, t.path, report.T("something in it belongs to user %s", "其中有内容属于用户 %s", f[0]))
		} // else it is young: that is no news
		drop[at[i]] = true
	}
	l.found = nil
	for i, t := range rest {
		if !drop[i] {
			l.found = append(l.found, t)
		}
	}
	return nil
}

// oldTree is a CANN that could go.
type oldTree struct {
	cann.Tree
	bytes int64
	uid   int
}

// kin prints "UID KB UNINSTALLER FILE" of a CANN: its owner, what it takes,
// whether it can be uninstalled, and a file for logins or services that names it.
const kin = `u=$(stat -c %u -- "$1") && k=$(du -skx -- "$1") || exit
x=-; [ ! -f "$1/cann_uninstall.sh" ] || x=+
named() { grep -lsF -- "$@"; }
m=$({ named "$1" /etc/profile /etc/profile.d/* /etc/environment /etc/bashrc /etc/bash.bashrc /etc/zsh*/* /etc/ld.so.conf.d/* /etc/systemd/system/*.service /etc/systemd/system/*/*.conf /etc/ascendctl/*
for d in /root /home/* "$2"; do named "$1" "$d/.bashrc" "$d/.bash_profile" "$d/.bash_login" "$d/.profile" "$d/.zshrc" "$d/.zshenv" "$d/.zprofile"; done; } | head -n 1)
echo "$u ${k%%[!0-9]*} $x ${m:--}"`

// trees looks for a CANN that is not the default, that no process uses, and
// that no login, service or variable names.
func (l *litter) trees(ctx context.Context) error {
	var trees []cann.Tree
	var qs []host.Question
	for _, t := range l.f.CANN.Value.Trees {
		if searchable(t.Path) {
			trees = append(trees, t)
			qs = append(qs, l.q(0, "sh", "-c", kin, "sh", t.Path, l.f.Identity.Value.Home))
		}
	}
	for i, a := range l.h.Ask(ctx, qs) {
		t, f := trees[i], strings.Fields(string(a.Stdout))
		if a.State != host.Known || a.Exit != 0 || len(f) < 4 {
			l.keepTree(t, report.T("could not be looked at", "无法查看"))
			continue
		}
		uid, _ := strconv.Atoi(f[0]) // of stat: a number
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		if why := l.needed(t, uid, f[2] == "+", f[3]); !why.IsZero() {
			l.keepTree(t, why)
			continue
		}
		l.old = append(l.old, oldTree{t, kb << 10, uid})
	}
	return nil
}

func (l *litter) keepTree(t cann.Tree, why report.Text) {
	if l.sweep.wants(litterCANN) {
		l.keep(litterCANN, t.Path, why)
	}
}

// needed says why a CANN stays; it is pure.
func (l *litter) needed(t cann.Tree, uid int, uninstaller bool, named string) report.Text {
	j := &job{f: l.f, Want: Want{Managed: l.sweep.Managed}}
	pid := l.user(t.Path)
	switch {
	case t.Active != "":
		return report.T("is the default: %s", "是默认版本：%s", t.Active)
	case j.managed("cann"), j.container():
		return report.T("belongs to the provider or to the image", "由云厂商或镜像管理")
	case uid != l.uid && !(uid == 0 && l.elevated):
		return report.T("belongs to user %d", "属于用户 %d", uid)
	case pid != "":
		return report.T("in use by process %s", "正被进程 %s 使用", pid)
	case named != "-":
		return report.T("is named in %s", "被 %s 引用", named)
	case !l.elevated && !t.User:
		return report.T("whether others use it can be seen by root only", "仅 root 能查看他人是否在使用")
	case !uninstaller:
		return report.T("has no cann_uninstall.sh", "没有 cann_uninstall.sh")
	}
	for name, value := range l.f.Env.Value {
		if strings.Contains(value+":", t.Path+"/") || strings.Contains(value+":", t.Path+":") {
			return report.T("is named in %s", "被 %s 引用", name)
		}
	}
	for _, n := range l.f.CANN.Value.NNAL {
		if n.Active && strings.EqualFold(n.Version, t.Version) {
			return report.T("nnal of this version is the default", "同版本的 nnal 是默认版本")
		}
	}
	return report.Text{}
}
