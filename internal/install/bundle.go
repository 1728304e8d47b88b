package install

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

// bundleSchema is the version of the manifest that is written and read.
const bundleSchema = 1

// bundleManifest is the name of the first entry of a bundle.
const bundleManifest = "manifest.json"

// Manifest tells what is in a bundle and for what it was made.
type Manifest struct {
	Schema int          `json:"schema"`
	By     string       `json:"by"`   // ascendctl and its version
	Made   time.Time    `json:"made"` // UTC
	Chip   string       `json:"chip"`
	Arch   string       `json:"arch"`
	Row    string       `json:"row"` // of the matrix: vllm-ascend/0.23.0
	Python string       `json:"python,omitempty"`
	Files  []BundleFile `json:"files"`
}

// BundleFile is one file of a bundle.
type BundleFile struct {
	Path     string `json:"path"` // in the archive: packages/NAME or wheels/NAME
	Kind     string `json:"kind"`
	Item     string `json:"item"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
	Verified bool   `json:"verified"` // against a digest of the data, when the bundle was made
	From     string `json:"from,omitempty"`
}

var bundleFolder = map[string]string{KindPackage: "packages", KindWheel: "wheels"}

// Bundle makes the archive out: everything that items and wheels name, brought
// here first, behind a manifest. It is a plain tar, so that any tar reads it
// and no copy of it is needed to install from it. out is there whole or not at
// all. m says for what it is; its files are filled in.
func (f *Fetcher) Bundle(ctx context.Context, out string, m Manifest, items []Item, wheels []Wheels) (Manifest, error) {
	// A zip stays one: it has the known digest.
	got, err := f.get(ctx, items, func(_ context.Context, _ Item, zip *Got) ([]*Got, error) { return []*Got{zip}, nil })
	for _, w := range wheels {
		if err != nil {
			return m, err
		}
		var more []*Got
		more, err = f.Wheels(ctx, w)
		got = append(got, more...)
	}
	if err != nil {
		return m, err
	}
	m, files, err := bundled(m, got)
	if err == nil {
		err = f.writeBundle(ctx, out, m, files)
	}
	if err != nil {
		return m, f.problem(ctx, err)
	}
	return m, nil
}

// bundled lists the files, each once, in an order that does not depend on how
// they came.
func bundled(m Manifest, got []*Got) (Manifest, map[string]*Got, error) {
	m.Schema, m.Files, m.Made = bundleSchema, nil, m.Made.UTC().Truncate(time.Second)
	files := map[string]*Got{}
	for _, g := range got {
		at := bundleFolder[g.Kind] + "/" + g.Name
		if old := files[at]; old != nil {
			if old.SHA256 != g.SHA256 {
				return m, nil, &report.Problem{What: report.T("two different files are called %s", "有两个不同的文件都叫 %s", g.Name),
					Why: report.T("%s and %s", "%s 与 %s", old.From, g.From), Exit: report.ExitFailed}
			}
			continue
		}
		files[at] = g
		m.Files = append(m.Files, BundleFile{at, g.Kind, g.Item, g.Size, g.SHA256, g.Verified, g.From})
	}
	slices.SortFunc(m.Files, func(a, b BundleFile) int { return cmp.Compare(a.Path, b.Path) })
	return m, files, nil
}

func (f *Fetcher) writeBundle(ctx context.Context, out string, m Manifest, files map[string]*Got) error {
	head, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	total := int64(len(head))
	for _, b := range m.Files {
		total += b.Size + 1024
	}
	if free, err := f.Free(filepath.Dir(cleanFrom(out))); err == nil && free >= 0 && free < total {
		return &report.Problem{What: report.T("not enough space for %s", "空间不足，无法写入 %s", out), Why: report.T("%s needed, %s free", "需要 %s，可用 %s", sizeText(total), sizeText(free)),
			Do: report.T("free space there, or choose another folder", "清理磁盘，或换一个目录"), Exit: report.ExitFailed, Err: errNoRoom}
	}
	tmp, err := os.CreateTemp(filepath.Dir(out), ".bundle-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	w := tar.NewWriter(tmp)
	if err := bundleEntry(ctx, w, m, bundleManifest, int64(len(head)), bytes.NewReader(head), "", func(int64) {}); err != nil {
		return err
	}
	note, done := report.T("writing %s", "正在写入 %s", filepath.Base(out)), int64(0)
	for _, b := range m.Files {
		g := files[b.Path]
		tell := func(n int64) { f.Progress("bundle", note, done+n, total) }
		if err := bundleEntry(ctx, w, m, b.Path, b.Size, g, b.SHA256, tell); err != nil {
			return err
		}
		done += b.Size
	}
	if err := errors.Join(w.Close(), tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), out)
}

// bundleEntry writes one file; a file that has changed since it was measured is
// refused.
func bundleEntry(ctx context.Context, w *tar.Writer, m Manifest, name string, size int64, src io.ReaderAt, sum string, tell func(int64)) error {
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: m.Made})
	if err != nil {
		return err
	}
	now := newSum()
	if _, err := copyTelling(ctx, io.MultiWriter(w, now), io.NewSectionReader(src, 0, size), tell); err != nil {
		return err
	}
	if sum != "" && now.text() != sum {
		return &report.Problem{What: report.T("%s has changed while it was read", "%s 在读取过程中发生变化", name),
			Do: report.T("run the command again", "重新运行该命令"), Exit: report.ExitFailed, Err: errMismatch}
	}
	return nil
}
