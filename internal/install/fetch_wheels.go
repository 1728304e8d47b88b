package install

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// wheelRecord is what the cache knows of one downloaded set.
type wheelRecord struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

const wheelList = "wheels.json"

// Wheels brings Python packages for a target, with all they depend on unless
// w says otherwise: from the folder or bundle of From, else by this machine's
// pip with its own configuration, proxies and credentials. Every error is a
// *report.Problem.
func (f *Fetcher) Wheels(ctx context.Context, w Wheels) ([]*Got, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if err := f.begin(ctx); err != nil {
		return nil, f.problem(ctx, err)
	}
	got, err := f.shelvedWheels(ctx, w)
	if f.shelf == nil {
		got, err = f.piped(ctx, w)
	}
	if err != nil {
		return nil, f.problem(ctx, err)
	}
	return got, nil
}

// shelvedWheels gives the wheels on the shelf that fit, and refuses when one
// that is asked for is not among them.
func (f *Fetcher) shelvedWheels(ctx context.Context, w Wheels) (out []*Got, err error) {
	if f.shelf == nil {
		return nil, nil
	}
	have := map[string]bool{}
	for _, n := range f.shelf.names() {
		name, version, ok := wheelNamed(n)
		if !ok || !w.wheelFits(n) || !w.pythonFits(n) {
			continue
		}
		g, err := f.shelf.find(n)
		if err != nil {
			return nil, err
		}
		if err := f.measure(ctx, Item{ID: name, Name: n}, g); err != nil {
			return nil, err
		}
		public, _, _ := strings.Cut(version, "+") // X asks for any build of X
		have[name], have[name+"=="+version], have[name+"=="+public] = true, true, true
		out = append(out, g)
	}
	var why []report.Text
	for _, r := range w.Requirements {
		_, version, pinned := strings.Cut(r, "==")
		name := pep503(r[:strings.IndexAny(r+"=", "<>=!~[,")])
		if pinned && !have[name+"=="+version] || !have[name] {
			why = append(why, report.T("%s has no wheel of %s for Python %s on %s", "%[1]s 中没有适用于 %[4]s、Python %[3]s 的 %[2]s wheel", f.shelf.String(), r, w.Python, w.Arch))
		}
	}
	if len(why) > 0 {
		return nil, &report.Problem{What: report.T("%d Python packages are missing", "缺少 %d 个 Python 软件包", len(why)), Why: lined(why),
			Do:  report.T("download them elsewhere with the shown pip line and put them there", "用显示的 pip 命令在其他机器下载后放入该位置"),
			Run: "ascendctl install-cann --print-urls", Exit: report.ExitFailed, Err: errMissing}
	}
	return out, nil
}

// pythonFits: cp311 and py3 are for Python 3.11, cp37-abi3 too.
func (w Wheels) pythonFits(file string) bool {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	python, abi := parts[len(parts)-3], parts[len(parts)-2]
	for tag := range strings.SplitSeq(python, ".") {
		if tag == "cp"+strings.ReplaceAll(w.Python, ".", "") || strings.HasPrefix(tag, "py3") || abi == "abi3" {
			return true
		}
	}
	return false
}

// piped downloads with pip into a folder of the cache that is named after all
// that decides what comes.
func (f *Fetcher) piped(ctx context.Context, w Wheels) ([]*Got, error) {
	key := newSum()
	if err := json.NewEncoder(key).Encode([]any{w, shownAddress(f.Index)}); err != nil {
		return nil, err
	}
	dir := filepath.Join(f.Cache, "wheels", key.text()[:16])
	if got := f.wheelsIn(ctx, w, dir); got != nil {
		return got, nil
	}
	python, err := f.python()
	if err != nil {
		return nil, f.noPip(w, err.Error())
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".pip-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := f.pipDownload(ctx, w, python, work); err != nil {
		return nil, err
	}
	if err := f.recordWheels(ctx, w, work); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil { // what was there was not whole
		return nil, err
	}
	if err := os.Chmod(work, 0o755); err != nil {
		return nil, err
	}
	if err := os.Rename(work, dir); err != nil {
		return nil, err
	}
	return f.wheelsIn(ctx, w, dir), nil
}

func (f *Fetcher) pipDownload(ctx context.Context, w Wheels, python, dir string) error {
	list, tmp := filepath.Join(dir, "requirements.txt"), filepath.Join(dir, "tmp")
	if err := os.WriteFile(list, []byte(strings.Join(w.Requirements, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	argv := append([]string{python, "-c", pipForOthers}, w.pipArgs()...)
	argv = append(argv, "--dest", dir, "-r", list)
	f.Log.Info("pip downloads", "requirements", w.Requirements, "python", w.Python, "arch", w.Arch)
	f.Progress("pip", report.T("pip downloads %s", "pip 正在下载 %s", strings.Join(w.Requirements, " ")), 0, 0)
	out, exit, err := f.Exec(ctx, Tool{Argv: argv, Dir: "/", Env: append(f.pipEnv(ctx, w), "TMPDIR="+tmp)})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || exit != 0 {
		return f.pipFailed(w, string(out), exit, err)
	}
	for _, name := range []string{list, tmp} {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return nil
}

// recordWheels measures what pip has brought; something for another machine is
// refused, as an old pip may bring it.
func (f *Fetcher) recordWheels(ctx context.Context, w Wheels, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all []wheelRecord
	for _, e := range entries {
		if _, _, ok := wheelNamed(e.Name()); !ok || !w.wheelFits(e.Name()) {
			return &report.Problem{What: report.T("pip brought %s, which is not for %s", "pip 下载了 %s，不适用于 %s", e.Name(), w.Arch), Exit: report.ExitFailed, Err: errMismatch}
		}
		g, err := f.file(filepath.Join(dir, e.Name()), "")
		if err != nil {
			return err
		}
		sum, err := f.sum(ctx, "pip", g.Name, g, g.Size)
		if err != nil {
			return err
		}
		all = append(all, wheelRecord{g.Name, g.Size, sum})
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, wheelList), data)
}

// wheelsIn gives a downloaded set, nil unless it is whole.
func (f *Fetcher) wheelsIn(ctx context.Context, w Wheels, dir string) (out []*Got) {
	data, err := os.ReadFile(filepath.Join(dir, wheelList))
	var all []wheelRecord
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	from := f.shown(f.Index)
	if from == "" {
		from = "pip"
	}
	for _, r := range all {
		name, _, ok := wheelNamed(r.Name)
		if !ok || !plainFile(r.Name) {
			return nil
		}
		g, err := f.file(filepath.Join(dir, r.Name), from)
		if err != nil || f.measure(ctx, Item{ID: name, Name: r.Name, Size: r.Size, SHA256: r.SHA256}, g) != nil {
			return nil
		}
		g.Verified = false // pip has held it against its index; the data knows no digest
		out = append(out, g)
	}
	return out
}

func (f *Fetcher) pipFailed(w Wheels, out string, exit int, err error) error {
	var lines []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "ERROR") || strings.Contains(line, "No module named pip") || strings.Contains(line, "markers be told") {
			lines = append(lines, clippedLine(f.Redact.String(line)))
		}
	}
	lines = slices.Compact(lines)
	if err != nil {
		lines = append(lines, f.Redact.String(err.Error()))
	}
	if len(lines) == 0 {
		return f.noPip(w, report.T("exit %d", "退出码 %d", exit).En)
	}
	return f.noPip(w, strings.Join(lines[max(0, len(lines)-4):], "\n"))
}

func (f *Fetcher) noPip(w Wheels, why string) error {
	do := report.T("check the index of this machine's pip, or name another with --index-url", "检查本机 pip 的索引配置，或用 --index-url 指定其他索引")
	if w.Arch == "x86_64" && slices.ContainsFunc(w.Requirements, func(r string) bool { return strings.Contains(r, "+cpu") }) {
		do = report.T("torch X+cpu is only in PyTorch's own index for CPUs: name one that has it with --index-url", "torch X+cpu 仅在 PyTorch 的 CPU 索引中提供：用 --index-url 指定包含它的索引")
	}
	return &report.Problem{What: report.T("pip cannot download the Python packages for %s", "pip 无法下载适用于 %s 的 Python 软件包", w.Arch), Why: report.Same(why), Do: do,
		Run: "ascendctl install-cann --print-urls", Exit: report.ExitFailed}
}

func clippedLine(s string) string {
	if r := []rune(s); len(r) > 400 {
		return string(r[:400]) + "..."
	}
	return s
}
