// Package hub brings what a host lacks and checks it against digests of ours:
// today the ONNX Runtime library, carried by the pip or npm of the host.
package hub

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Command is one run of somebody else's tool.
type Command struct {
	Argv []string // Argv[0] is a path
	Dir  string
	Env  []string // on top of the caller's own environment
}

// Options is what a fetch needs. Rows, Cache, OS, Arch, Exec and LookPath must
// be given.
type Options struct {
	Rows   []Package // in the order to try; rows of other architectures are passed over
	Cache  string    // our cache folder, $XDG_CACHE_HOME/ascendctl
	OS     string    // as Go names it
	Arch   string
	Distro string // ID of /etc/os-release, to name the package that is missing

	// Exec runs a command without input and gives stdout and stderr as one,
	// and its exit status; err is for one that could not be run. When ctx ends
	// it must end the command and all its children.
	Exec     func(ctx context.Context, c Command) (out []byte, exit int, err error)
	LookPath func(name string) (string, error)

	Progress func(note report.Text, done, total int64) // bytes; done 0 while a tool works unseen
	Log      *slog.Logger
	Redact   *report.Redactor
}

// Result is a library that is in the cache and is the known one.
type Result struct {
	File    string `json:"file"`
	Version string `json:"version"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Already bool   `json:"already"`           // it was there; nothing was run
	Carrier string `json:"carrier,omitempty"` // pip, npm and its version
	Command string `json:"command,omitempty"`
	// Tried tells what failed before something worked.
	Tried []report.Text `json:"tried,omitempty"`
}

// Planned is what Fetch would do.
type Planned struct {
	File    string `json:"file"` // where the library of the first step would be, or is
	Already bool   `json:"already"`
	Steps   []Step `json:"steps,omitempty"` // alternatives: the first that works ends it
}

// Step is one command and the file it reads.
type Step struct {
	Version      string `json:"version"`
	Carrier      string `json:"carrier"`
	Command      string `json:"command"`
	Requirements string `json:"requirements,omitempty"` // content of requirements.txt
	Bytes        int64  `json:"bytes"`                  // to download
}

// Plan tells what Fetch would run on this machine, and changes nothing.
func Plan(ctx context.Context, o Options) (Planned, error) {
	rows, err := o.begin()
	if err != nil {
		return Planned{}, err
	}
	if r := o.present(ctx, rows); r != nil {
		return Planned{File: r.File, Already: true}, nil
	}
	steps, _, err := o.steps(ctx, rows)
	if err != nil {
		return Planned{}, err
	}
	plan := Planned{File: steps[0].row.target(o.Cache)}
	for _, s := range steps {
		step := Step{Version: s.row.Version, Carrier: s.tool.name(), Command: s.tool.command(s.row), Bytes: s.row.Size}
		if s.tool.input != nil {
			step.Requirements = s.tool.input(s.row)
		}
		plan.Steps = append(plan.Steps, step)
	}
	return plan, nil
}

// Fetch puts a known ONNX Runtime library into the cache, as
// onnxruntime/<version>/<arch>/libonnxruntime.so.<version> with mode 0755. It
// is there whole or not at all, also when two fetches meet or one is
// interrupted. Every error is a *report.Problem.
func Fetch(ctx context.Context, o Options) (Result, error) {
	rows, err := o.begin()
	if err != nil {
		return Result{}, err
	}
	if r := o.present(ctx, rows); r != nil {
		return *r, nil
	}
	steps, lacking, err := o.steps(ctx, rows)
	if err != nil {
		return Result{}, err
	}
	var tried []report.Text
	unreached := map[*carrier]bool{}
	for _, s := range steps {
		if unreached[s.tool.carrier] {
			continue
		}
		err := o.fetch(ctx, s)
		if err == nil {
			return Result{File: s.row.target(o.Cache), Version: s.row.Version, Bytes: s.row.LibrarySize, SHA256: s.row.LibrarySHA256,
				Carrier: s.tool.name(), Command: s.tool.command(s.row), Tried: tried}, nil
		}
		if p := o.final(ctx, s.row, err); p != nil {
			return Result{}, p
		}
		reason := report.T("%s, %s %s: %s", "%s，%s %s：%s", s.tool.name(), s.row.Package, s.row.Version, reasonOf(err))
		o.Log.Warn("fetch failed", "row", s.row.ID, "reason", reason.En)
		tried = append(tried, reason)
		var f *failure
		if errors.As(err, &f) && f.offline {
			unreached[s.tool.carrier] = true
		}
	}
	return Result{}, o.allFailed(append(tried, lacking...), len(unreached) > 0)
}

// begin completes the options and gives the rows for this machine.
func (o *Options) begin() ([]Package, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = &report.Redactor{}
	}
	if o.Progress == nil {
		o.Progress = func(report.Text, int64, int64) {}
	}
	cache, err := filepath.Abs(o.Cache)
	if err != nil || o.Cache == "" {
		return nil, &report.Problem{What: report.T("no cache folder to fetch into", "没有可用于下载的缓存目录"),
			Do: report.T("name one in XDG_CACHE_HOME", "用 XDG_CACHE_HOME 指定目录"), Exit: report.ExitUsage, Err: err}
	}
	o.Cache = cache
	var rows []Package
	for _, p := range o.Rows {
		if err := p.Check(); err != nil {
			return nil, &report.Problem{What: report.T("package row %s is wrong", "软件包行 %s 有误", p.ID), Why: report.Same(err.Error()),
				Do: report.T("correct the row", "修正该行"), Exit: report.ExitUsage, Err: err}
		}
		if p.Arch == o.Arch {
			rows = append(rows, p)
		}
	}
	if o.OS != "linux" || len(rows) == 0 {
		return nil, o.unsupported()
	}
	return rows, nil
}

// present gives the first row's library that is in the cache and right.
func (o *Options) present(ctx context.Context, rows []Package) *Result {
	for _, p := range rows {
		file := p.target(o.Cache)
		note := report.T("verifying %s", "正在校验 %s", filepath.Base(file))
		err := verify(ctx, file, file, p.LibrarySize, p.LibrarySHA256, func(n int64) { o.Progress(note, n, p.LibrarySize) })
		if err == nil {
			return &Result{File: file, Version: p.Version, Bytes: p.LibrarySize, SHA256: p.LibrarySHA256, Already: true}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			o.Log.Warn("library in the cache is not used", "file", file, "err", err)
		}
	}
	return nil
}

// step is a row and the tool that can bring it.
type step struct {
	row  Package
	tool *tool
}

// steps asks which carriers this machine has, and tells what is wrong with the
// others.
func (o *Options) steps(ctx context.Context, rows []Package) (steps []step, lacking []report.Text, err error) {
	asked := map[string]*tool{}
	for _, p := range rows {
		t, done := asked[p.Carrier]
		if !done {
			var why []report.Text
			t, why = o.find(ctx, carriers[p.Carrier])
			asked[p.Carrier] = t
			lacking = append(lacking, why...)
		}
		if t != nil {
			steps = append(steps, step{p, t})
		}
	}
	if ctx.Err() != nil {
		return nil, nil, interrupted(ctx)
	}
	if len(steps) == 0 {
		return nil, nil, o.noCarrier(lacking)
	}
	return steps, lacking, nil
}

// workPrefix names folders of a fetch under way.
const workPrefix = ".fetch-"

// fetch brings one row into the cache. All of its work stands in one folder
// beside the target, so that the last act is a rename within a file system and
// an end at any moment leaves nothing behind.
func (o *Options) fetch(ctx context.Context, s step) error {
	target := s.row.target(o.Cache)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	root := filepath.Join(o.Cache, "onnxruntime")
	dir, err := os.MkdirTemp(root, workPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sweep(root, dir)
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return err
	}
	if s.tool.input != nil {
		if err := os.WriteFile(filepath.Join(dir, requirements), []byte(s.tool.input(s.row)), 0o600); err != nil {
			return err
		}
	}
	o.Progress(report.T("%s downloads %s %s", "%s 正在下载 %s %s", s.tool.tool, s.row.Package, s.row.Version), 0, s.row.Size)
	if f := o.run(ctx, s.tool, s.row, dir); f != nil {
		return f
	}
	library := filepath.Join(dir, "tmp", "library")
	if err := o.take(ctx, dir, s.row, library); err != nil {
		return err
	}
	if err := os.Chmod(library, 0o755); err != nil { // whatever the umask
		return err
	}
	return os.Rename(library, target)
}

// take verifies the archive in dir and unpacks the library from it.
func (o *Options) take(ctx context.Context, dir string, p Package, library string) error {
	archive, err := archiveIn(dir, p)
	if err != nil {
		return err
	}
	note := report.T("verifying %s", "正在校验 %s", p.File)
	err = verify(ctx, archive, p.File, p.Size, p.SHA256, func(n int64) { o.Progress(note, n, p.Size) })
	if err != nil {
		return err
	}
	note = report.T("unpacking %s", "正在解压 %s", p.Member)
	return unpack(ctx, archive, p, library, func(n int64) { o.Progress(note, n, p.LibrarySize) })
}

// sweep removes work folders that a killed fetch left. Age is told by the file
// system's own clock, against the folder just made: a day is longer than any
// fetch lives.
func sweep(root, own string) {
	now, err := os.Stat(own)
	if err != nil {
		return
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), workPrefix) && now.ModTime().Sub(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
}

// noSpace is true for a full disk or a used-up quota.
func noSpace(err error) bool {
	return errors.Is(err, errNoSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
