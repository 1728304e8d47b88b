package install

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// open looks what From is. A bundle is read through and verified here, once.
func (f *Fetcher) open(ctx context.Context) (shelf, error) {
	if f.From == "" || isWeb(f.From) {
		return nil, nil
	}
	if scheme, _, ok := strings.Cut(f.From, "://"); ok {
		return nil, &report.Problem{What: report.T("--from cannot read %s addresses", "--from 不支持 %s 地址", f.Redact.String(scheme)),
			Do: report.T("give a folder, a bundle, or an http or https address", "指定目录、离线包，或 http、https 地址"), Exit: report.ExitUsage}
	}
	name := cleanFrom(f.From)
	info, err := os.Stat(name)
	if err != nil {
		return nil, &report.Problem{What: report.T("cannot open %s of --from", "无法打开 --from 指定的 %s", name), Why: report.Same(err.Error()),
			Do: report.T("give a folder, a bundle, or an http or https address", "指定目录、离线包，或 http、https 地址"), Exit: report.ExitUsage, Err: err}
	}
	if info.IsDir() {
		return openFolder(f, name)
	}
	note := report.T("verifying %s", "正在校验 %s", filepath.Base(name))
	b, err := OpenBundle(ctx, name, func(done, total int64) { f.Progress("bundle", note, done, total) })
	if err != nil {
		return nil, err
	}
	f.keep(b)
	return b, nil
}

// folder is a shelf: regular files below a folder, by their names.
type folder struct {
	dir   string
	paths map[string]string
	f     *Fetcher
}

const (
	folderDepth = 4
	folderFiles = 20000
)

// openFolder lists what is in dir, links to files too. Of two files of one name
// the one less deep counts.
func openFolder(f *Fetcher, dir string) (shelf, error) {
	s := &folder{dir: dir, paths: map[string]string{}, f: f}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		depth := strings.Count(strings.TrimPrefix(name, dir), string(filepath.Separator))
		switch {
		case err != nil && name == dir:
			return err
		case err != nil: // one folder inside that may not be read
			return fs.SkipDir
		case d.IsDir() && depth >= folderDepth:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return nil
		}
		if old, ok := s.paths[d.Name()]; !ok || strings.Count(old, string(filepath.Separator)) > strings.Count(name, string(filepath.Separator)) {
			s.paths[d.Name()] = name
		}
		if len(s.paths) > folderFiles {
			return &report.Problem{What: report.T("%s of --from holds more than %d files", "--from 指定的 %s 中文件超过 %d 个", dir, folderFiles),
				Do: report.T("name the folder of the packages itself", "直接指定软件包所在目录"), Exit: report.ExitUsage}
		}
		return nil
	})
	return s, err
}

func (s *folder) String() string { return s.dir }

func (s *folder) names() []string { return slices.Sorted(maps.Keys(s.paths)) }

func (s *folder) find(name string) (*Got, error) {
	p, ok := s.paths[name]
	if !ok {
		return nil, nil
	}
	return s.f.file(p, p)
}

// cleanFrom is a folder or file of --from as an absolute path.
func cleanFrom(from string) string {
	if abs, err := filepath.Abs(from); err == nil {
		return abs
	}
	return from
}
