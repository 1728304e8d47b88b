package install

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// bundleHead bounds the manifest, bundleFiles what it may list.
const (
	bundleHead  = 4 << 20
	bundleFiles = 10000
)

// Bundle is a bundle that has been read through and found whole. Its files are
// read where they stand in the archive; nothing is unpacked.
type Bundle struct {
	Manifest
	file *os.File
	name string
	at   map[string]int64 // path -> where its bytes begin
}

// OpenBundle reads a bundle and verifies every digest of its manifest. What a
// bundle of ours does not have is refused: links, devices, paths that leave it,
// files that are not listed, twice, missing or of another size. progress, which
// may be nil, hears bytes. Errors are *report.Problem.
func OpenBundle(ctx context.Context, name string, progress func(done, total int64)) (*Bundle, error) {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, bundleBad(name, err)
	}
	b := &Bundle{file: file, name: name, at: map[string]int64{}}
	if err := b.read(ctx, progress); err != nil {
		file.Close()
		if ctx.Err() != nil {
			return nil, &report.Problem{What: report.T("reading %s was interrupted", "读取 %s 被中断", name), Exit: report.ExitInterrupted, Err: context.Cause(ctx)}
		}
		return nil, bundleBad(name, err)
	}
	return b, nil
}

func bundleBad(name string, err error) *report.Problem {
	return &report.Problem{What: report.T("%s is not a usable bundle", "%s 不是可用的离线包", name), Why: report.Same(err.Error()),
		Do: report.T("copy it again and compare its sha256 with the original, or make a new one", "重新复制并与原文件比对 sha256，或重新制作"), Run: "ascendctl bundle --help", Exit: report.ExitFailed, Err: err}
}

// Close gives the archive back; the files of the bundle can no longer be read.
func (b *Bundle) Close() error { return b.file.Close() }

func (b *Bundle) String() string { return b.name }

// counted knows where in the archive it stands.
type counted struct {
	r    io.Reader
	at   int64
	tell func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.at += int64(n)
	c.tell(c.at)
	return n, err
}

func (b *Bundle) read(ctx context.Context, progress func(done, total int64)) error {
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a file")
	}
	src := &counted{r: b.file, tell: func(n int64) { progress(n, info.Size()) }}
	t := tar.NewReader(src)
	if err := b.readHead(t); err != nil {
		return err
	}
	listed := map[string]BundleFile{}
	for _, f := range b.Files {
		listed[f.Path] = f
	}
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		f, known := listed[h.Name]
		if err := bundleAllowed(h, f, known); err != nil {
			return err
		}
		if _, twice := b.at[h.Name]; twice {
			return fmt.Errorf("%q is in it twice", clipped(h.Name))
		}
		b.at[h.Name] = src.at
		sum := newSum()
		if _, err := copyTelling(ctx, sum, t, func(int64) {}); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		if sum.text() != f.SHA256 {
			return fmt.Errorf("%s: %w: sha256 %s by the manifest, got %s", h.Name, errMismatch, f.SHA256, sum.text())
		}
	}
	for _, f := range b.Files {
		if _, ok := b.at[f.Path]; !ok {
			return fmt.Errorf("%s is listed and not there", f.Path)
		}
	}
	return nil
}

func (b *Bundle) readHead(t *tar.Reader) error {
	h, err := t.Next()
	if err == io.EOF {
		return errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("it is no tar archive: %w", err)
	}
	if h.Name != bundleManifest || h.Typeflag != tar.TypeReg || h.Size > bundleHead {
		return fmt.Errorf("its first entry is %q, expected %s of at most %d bytes", clipped(h.Name), bundleManifest, bundleHead)
	}
	data, err := io.ReadAll(io.LimitReader(t, bundleHead))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return fmt.Errorf("%s: %w", bundleManifest, err)
	}
	if version.Schema != bundleSchema {
		return fmt.Errorf("%s: schema %d, this ascendctl reads %d", bundleManifest, version.Schema, bundleSchema)
	}
	if err := d.Decode(&b.Manifest); err != nil {
		return fmt.Errorf("%s: %w", bundleManifest, err)
	}
	return b.checkHead()
}

func (b *Bundle) checkHead() error {
	if len(b.Files) > bundleFiles {
		return fmt.Errorf("%s: %d files, at most %d", bundleManifest, len(b.Files), bundleFiles)
	}
	seen := map[string]bool{}
	for i, f := range b.Files {
		dir, name := path.Split(f.Path)
		switch {
		case bundleFolder[f.Kind] == "" || dir != bundleFolder[f.Kind]+"/" || !plainFile(name):
			return fmt.Errorf("%s: files[%d]: path %q of kind %q, expected packages/NAME or wheels/NAME", bundleManifest, i, clipped(f.Path), clipped(f.Kind))
		case !hexDigest(f.SHA256):
			return fmt.Errorf("%s: files[%d]: sha256: expected 64 hex digits, got %q", bundleManifest, i, clipped(f.SHA256))
		case f.Size < 0 || f.Size > maxFile:
			return fmt.Errorf("%s: files[%d]: size: expected 0 to %d, got %d", bundleManifest, i, int64(maxFile), f.Size)
		case seen[f.Path]:
			return fmt.Errorf("%s: files[%d]: %s is listed twice", bundleManifest, i, f.Path)
		}
		seen[f.Path] = true
	}
	return nil
}

// bundleAllowed refuses entries that a bundle never has. Sparse files would
// not stand in the archive as they are.
func bundleAllowed(h *tar.Header, f BundleFile, known bool) error {
	sparse := false
	for k := range h.PAXRecords {
		sparse = sparse || strings.HasPrefix(k, "GNU.sparse")
	}
	switch {
	case !known:
		return fmt.Errorf("%q is not in its manifest", clipped(h.Name))
	case h.Typeflag != tar.TypeReg || sparse:
		return fmt.Errorf("%q is no plain file", clipped(h.Name))
	case h.Size != f.Size:
		return fmt.Errorf("%s: %d bytes by the manifest, got %d", h.Name, f.Size, h.Size)
	}
	return nil
}

func (b *Bundle) names() (out []string) {
	for _, f := range b.Files {
		out = append(out, path.Base(f.Path))
	}
	return out
}

func (b *Bundle) find(name string) (*Got, error) {
	for _, f := range b.Files {
		if path.Base(f.Path) == name {
			return &Got{ReaderAt: io.NewSectionReader(b.file, b.at[f.Path], f.Size), Item: f.Item, Name: name, Kind: f.Kind,
				Size: f.Size, SHA256: f.SHA256, Verified: f.Verified, From: b.name + ": " + f.Path}, nil
		}
	}
	return nil, nil
}
