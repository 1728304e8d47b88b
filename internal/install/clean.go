package install

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Sweep is what a person wants to be rid of.
type Sweep struct {
	What    []string      // of Litters(); empty: all but cann
	Age     time.Duration // what was written since then stays
	In      []string      // folders to search besides the home, for kernel_meta and core dumps
	Managed []string      // looked after by a provider
	Again   string        // the command line, for people
}

// The kinds of what is left behind.
const (
	litterCANN   = "cann"        // trees that are not the default and that nothing uses
	litterCores  = "cores"       // core dumps, and the stacks the runtime writes
	litterKernel = "kernel_meta" // what the operator compiler leaves in working folders
	litterLogs   = "logs"        // plogs, device logs, atrace
	litterOurs   = "ours"        // scratch, packages and logs of ascendctl
	litterShm    = "shm"         // shared memory of worker processes that are gone
)

// Litters lists the kinds, sorted.
func Litters() []string {
	return []string{litterCANN, litterCores, litterKernel, litterLogs, litterOurs, litterShm}
}

func (w Sweep) wants(kind string) bool {
	return slices.Contains(w.What, kind) || len(w.What) == 0 && kind != litterCANN
}

// minutes is the age in the unit of find.
func (w Sweep) minutes() int { return int((w.Age + time.Minute - 1) / time.Minute) }

// Clean looks at the host and makes the plan that deletes what is left behind.
// What goes belongs to the login, or to root where the login may become it; what
// a process has open, maps or stands in stays and is named. Nothing is changed.
// Errors are problems: exit 64 for a folder that cannot be searched, 1 where
// processes cannot be looked at.
func Clean(ctx context.Context, h host.Host, w Sweep, f *facts.Facts) (*Set, error) {
	for _, dir := range w.In {
		if !searchable(dir) {
			return nil, usage(report.T("cannot search %q", "无法查找 %q", dir), report.T("give an absolute path without .., and not /", "给出不含 .. 的绝对路径，且不能是 /"))
		}
	}
	if !f.Identity.Known() {
		return nil, unseen(f.Target, report.Same(cmp.Or(f.Identity.Note, "id")))
	}
	l := &litter{sweep: w, f: f, h: h, uid: f.Identity.Value.UID}
	for _, look := range []func(context.Context) error{l.places, l.busy, l.list, l.weigh, l.trees} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	return l.set(), nil
}

func unseen(target string, why report.Text) error {
	return &report.Problem{
		What: report.T("cannot see what is in use on %s", "无法查看 %s 上正在使用的内容", target), Why: why, Exit: report.ExitFailed,
		Do: report.T("nothing is deleted unseen: mend that first", "在无法查看时不删除任何内容：先排除该问题"),
	}
}

// searchable: a path from a flag or an environment ends up in find -delete.
func searchable(dir string) bool {
	return path.IsAbs(dir) && path.Clean(dir) == dir && dir != "/" && !strings.ContainsAny(dir, "\n\x00")
}

// litter is a look at what is left behind on a host.
type litter struct {
	sweep    Sweep
	f        *facts.Facts
	h        host.Host
	uid      int
	elevated bool // root rights without being asked for a password

	spots []spot
	used  map[string]string // path to process id
	found []trash
	kept  []Kept
	notes []report.Text
	old   []oldTree
}

// spot is a folder that is searched.
type spot struct {
	kind, dir string
	uid       int      // only what belongs to this user goes
	whole     bool     // what matches goes as a whole, folders with what is in them; else only files, all together
	find      []string // conditions of find(1) on what may go
}

// trash is a path that may go, or the files of a spot that do.
type trash struct {
	spot  spot
	path  string // "" = the files of the spot
	bytes int64
	files int
	but   []string // files of the spot that are in use
}

// wanted are the folders to look into. It is pure.
func (l *litter) wanted() (out []spot) {
	id, env := l.f.Identity.Value, l.f.Env.Value
	add := func(s spot) { out = append(out, s) }
	work := env["ASCEND_WORK_PATH"]
	logs, traces := path.Join(id.Home, "ascend/log"), path.Join(id.Home, "ascend/atrace")
	if work != "" {
		logs, traces = path.Join(work, "log"), path.Join(work, "atrace")
	}
	logs = cmp.Or(env["ASCEND_PROCESS_LOG_PATH"], logs)
	for _, sub := range []string{"debug", "run", "security"} {
		dir := path.Join(logs, sub)
		add(spot{litterLogs, dir, id.UID, false, []string{"-mindepth", "2", "-maxdepth", "2", "-name", "*.log*",
			"(", "-path", literal(dir) + "/plog/*", "-o", "-path", literal(dir) + "/device-*/*", ")"}})
	}
	add(spot{litterLogs, traces, id.UID, false, nil})
	for _, dir := range append([]string{id.Home, work}, l.sweep.In...) {
		add(spot{litterKernel, dir, id.UID, true, []string{"-maxdepth", "4", "-type", "d",
			"(", "-name", "kernel_meta", "-o", "-name", "kernel_meta_[0-9]*", "-o", "-name", "kernel_meta_temp_*", ")", "-prune"}})
		add(spot{litterCores, dir, id.UID, true, append([]string{"-maxdepth", "4", "-type", "f", "(", "-name", "stackcore_tracer_*.txt", "-o", "-name", "core*"}, append(isCore, ")")...)})
	}
	if p := l.f.CorePattern.Value; strings.HasPrefix(p, "/") {
		add(spot{litterCores, path.Dir(p), id.UID, true, append([]string{"-maxdepth", "1", "-type", "f"}, isCore...)})
	}
	// The names are those of Python's shared memory and semaphores and of torch,
	// which vLLM and SGLang pass tensors and messages through (sources: CPython
	// Lib/multiprocessing, PyTorch torch/csrc). A worker that is killed leaves them.
	add(spot{litterShm, "/dev/shm", id.UID, true, []string{"-maxdepth", "1", "-type", "f",
		"(", "-name", "psm_*", "-o", "-name", "sem.mp-*", "-o", "-name", "torch_[0-9]*_[0-9]*", ")"}})
	out = append(out, l.own()...)
	return slices.DeleteFunc(out, func(s spot) bool { return !l.sweep.wants(s.kind) || !searchable(s.dir) })
}

// own are the folders of ascendctl itself.
func (l *litter) own() (all []spot) {
	id := l.f.Identity.Value
	state := path.Join(id.Home, ".local/state/ascendctl")
	if x := l.f.Env.Value["XDG_STATE_HOME"]; path.IsAbs(x) {
		state = path.Join(x, "ascendctl")
	}
	each := []string{"-mindepth", "1", "-maxdepth", "1"}
	all = []spot{
		{litterOurs, path.Join(id.Home, userStage), id.UID, true, each},
		{litterOurs, path.Join(state, "scratch"), id.UID, true, each},
		{litterOurs, path.Join(state, "log"), id.UID, false, []string{"-maxdepth", "1", "-name", "*.log"}},
	}
	if l.elevated {
		all = append(all, spot{litterOurs, rootStage, 0, true, each}, spot{litterOurs, "/var/lib/ascendctl/scratch", 0, true, each})
	}
	return all
}

// isCore: many a file is called core. A dump is an ELF file of type 4.
var isCore = []string{"-size", "+0", "-exec", "sh", "-c", `case $(od -An -v -tx1 -w18 -N18 "$1") in *' 7f 45 4c 46 '*' 04 00') ;; *) exit 1 ;; esac`, "sh", "{}", ";"}

// literal is a path that find takes as it is where it expects a pattern.
func literal(p string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(p)
}

// within is true for a path and what lies below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
