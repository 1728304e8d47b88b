package install

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// zipEntries bounds a list that is read from a file: the packages hold three
// files, a driver zip a handful.
const zipEntries = 10000

// partRecord is what the cache knows of the parts of one zip.
type partRecord struct {
	Pattern string `json:"pattern"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
}

// parts gives the wanted files from inside a zip. They are unpacked into the
// cache beside a list of their digests, so that a second run need not unpack.
func (f *Fetcher) parts(ctx context.Context, it Item, whole *Got) ([]*Got, error) {
	dir := filepath.Join(f.Cache, "packages", whole.SHA256[:16], "parts")
	if got := f.unpacked(ctx, it, whole, dir); got != nil {
		return got, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	z, err := openZip(it, whole, whole.Size)
	if err != nil {
		return nil, err
	}
	var records []partRecord
	for _, pattern := range it.Parts {
		entry, err := f.entry(ctx, it, z, pattern, dir)
		if err != nil {
			return nil, err
		}
		r, err := f.extract(ctx, it, entry, filepath.Join(dir, path.Base(entry.Name)))
		if err != nil {
			return nil, err
		}
		r.Pattern = pattern
		records = append(records, r)
	}
	data, err := json.Marshal(records)
	if err != nil {
		return nil, err
	}
	if err := replaceFile(filepath.Join(dir, "parts.json"), data); err != nil {
		return nil, err
	}
	return f.partFiles(ctx, it, whole, dir, records)
}

// unpacked gives the parts that the cache has, nil unless all are there and right.
func (f *Fetcher) unpacked(ctx context.Context, it Item, whole *Got, dir string) []*Got {
	data, err := os.ReadFile(filepath.Join(dir, "parts.json"))
	var all, wanted []partRecord
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	for _, p := range it.Parts {
		for _, r := range all {
			if r.Pattern == p && plainFile(r.Name) {
				wanted = append(wanted, r)
				break
			}
		}
	}
	if len(wanted) != len(it.Parts) {
		return nil
	}
	got, err := f.partFiles(ctx, it, whole, dir, wanted)
	if err != nil {
		return nil
	}
	return got
}

func (f *Fetcher) partFiles(ctx context.Context, it Item, whole *Got, dir string, records []partRecord) (out []*Got, err error) {
	for _, r := range records {
		g, err := f.file(filepath.Join(dir, r.Name), whole.From)
		if err != nil {
			return nil, err
		}
		if err := f.measure(ctx, Item{ID: it.ID, Name: r.Name, Size: r.Size, SHA256: r.SHA256}, g); err != nil {
			return nil, err
		}
		g.Verified = whole.Verified // its digest is ours, not the data's
		out = append(out, g)
	}
	return out, nil
}

func openZip(it Item, r io.ReaderAt, size int64) (*zip.Reader, error) {
	z, err := zip.NewReader(r, size)
	if err == nil && len(z.File) > zipEntries {
		err = errors.New("too many entries")
	}
	if err != nil {
		return nil, &report.Problem{What: report.T("%s is not a whole zip", "%s 不是完整的 zip 文件", it.Name), Why: report.Same(err.Error()),
			Do: report.T("get it again", "重新获取该文件"), Exit: report.ExitFailed, Err: err}
	}
	return z, nil
}

// entry finds a part in a zip, or in the zips inside: the packages of the
// download site are a zip around a zip and its signature.
func (f *Fetcher) entry(ctx context.Context, it Item, z *zip.Reader, pattern, dir string) (*zip.File, error) {
	found, err := pick(it, z, pattern)
	if found != nil || err != nil {
		return found, err
	}
	for _, inner := range z.File {
		if !strings.HasSuffix(inner.Name, ".zip") || !plainFile(path.Base(inner.Name)) {
			continue
		}
		name := filepath.Join(dir, path.Base(inner.Name))
		if _, err := f.extract(ctx, it, inner, name); err != nil {
			return nil, err
		}
		g, err := f.file(name, name)
		if err != nil {
			return nil, err
		}
		defer os.Remove(name) // stays readable while it is open
		zz, err := openZip(it, g, g.Size)
		if err != nil {
			return nil, err
		}
		if found, err = pick(it, zz, pattern); found != nil || err != nil {
			return found, err
		}
	}
	return nil, &report.Problem{What: report.T("%s holds no file %s", "%s 中没有匹配 %s 的文件", it.Name, pattern),
		Why: report.Same(strings.Join(zipNames(z), ", ")), Do: report.T("get the package of this chip and architecture", "获取与该芯片和架构对应的软件包"), Exit: report.ExitFailed, Err: errMissing}
}

func zipNames(z *zip.Reader) (out []string) {
	for _, e := range z.File[:min(len(z.File), 12)] {
		out = append(out, strings.ToValidUTF8(path.Base(e.Name), "?"))
	}
	return out
}

func pick(it Item, z *zip.Reader, pattern string) (*zip.File, error) {
	by := map[string]*zip.File{}
	var names []string
	for _, e := range z.File {
		if e.Mode().IsRegular() && plainFile(path.Base(e.Name)) {
			by[e.Name] = e
			names = append(names, e.Name)
		}
	}
	name, err := onlyOne(it, pattern, names)
	return by[name], err
}

// extract writes one entry to name, whole or not at all. Its size is what the
// zip announces; more than that is refused.
func (f *Fetcher) extract(ctx context.Context, it Item, e *zip.File, name string) (r partRecord, err error) {
	if e.UncompressedSize64 > maxFile {
		return r, f.mismatch(it, e.Name, sizeText(maxFile), report.T("more", "更多"))
	}
	size := int64(e.UncompressedSize64)
	free, err := f.claim(size)
	if err != nil {
		return r, err
	}
	defer free()
	in, err := e.Open()
	if err != nil {
		return r, zipBroken(it, e, err)
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(name), ".part-")
	if err != nil {
		return r, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	sum := newSum()
	note := report.T("unpacking %s", "正在解压 %s", path.Base(e.Name))
	tell := func(n int64) { f.Progress(it.ID, note, n, size) }
	n, err := copyTelling(ctx, io.MultiWriter(out, sum), io.LimitReader(in, size+1), tell)
	var pe *os.PathError
	switch {
	case errors.As(err, &pe) || err != nil && ctx.Err() != nil:
		return r, err
	case err != nil:
		return r, zipBroken(it, e, err)
	case n != size:
		return r, zipBroken(it, e, errors.New("its size is not the announced one"))
	}
	if err := errors.Join(out.Chmod(0o644), out.Close(), os.Rename(out.Name(), name)); err != nil {
		return r, err
	}
	return partRecord{Name: filepath.Base(name), Size: size, SHA256: sum.text()}, nil
}

func zipBroken(it Item, e *zip.File, err error) *report.Problem {
	return &report.Problem{What: report.T("%s in %s is damaged", "%[2]s 中的 %[1]s 已损坏", path.Base(e.Name), it.Name), Why: report.Same(err.Error()),
		Do: report.T("get it again", "重新获取该文件"), Exit: report.ExitFailed, Err: err}
}
