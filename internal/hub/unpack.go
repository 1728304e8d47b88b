package hub

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// archiveIn finds what the tool has left in dir: the file of the row, or the
// only archive there is, since a mirror may have named it otherwise.
func archiveIn(dir string, p Package) (string, error) {
	file := filepath.Join(dir, p.File)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	var others []string
	for _, ext := range []string{"*.whl", "*.tgz"} {
		found, _ := filepath.Glob(filepath.Join(dir, ext)) // the pattern is good
		others = append(others, found...)
	}
	if len(others) == 1 {
		return others[0], nil
	}
	return "", fmt.Errorf("the tool left no file %s", p.File)
}

// verify compares a file with what the row says of it: its size first, because
// that costs nothing. done is told the bytes read so far.
func verify(ctx context.Context, file, what string, size int64, sum string, done func(int64)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return &mismatch{what: what, want: fmt.Sprintf("%d bytes", size), got: fmt.Sprintf("%d bytes", info.Size())}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(&watched{ctx, f, 0, done}, size)); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return &mismatch{what: what, want: "sha256 " + sum, got: got}
	}
	return nil
}

// mismatch is a file that is not the one the row describes.
type mismatch struct{ what, want, got string }

func (m *mismatch) Error() string {
	return fmt.Sprintf("%s is not the known file: want %s, got %s", m.what, m.want, m.got)
}

func (m *mismatch) text() report.Text {
	return report.T("%s is not the known file: want %s, got %s", "%s 与已知文件不符：应为 %s，实为 %s", m.what, m.want, m.got)
}

// unpack copies the one member of the row from the archive to a new file.
func unpack(ctx context.Context, archive string, p Package, to string, done func(int64)) error {
	in, closeIn, err := member(archive, p.Member)
	if err != nil {
		return err
	}
	defer closeIn()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	// One byte more than announced shows a longer member without unpacking it.
	n, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(&watched{ctx, in, 0, done}, p.LibrarySize+1))
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	switch {
	case n > p.LibrarySize:
		return &mismatch{what: p.Member, want: fmt.Sprintf("%d bytes", p.LibrarySize), got: "more"}
	case n < p.LibrarySize:
		return &mismatch{what: p.Member, want: fmt.Sprintf("%d bytes", p.LibrarySize), got: fmt.Sprintf("%d bytes", n)}
	case sum != p.LibrarySHA256:
		return &mismatch{what: p.Member, want: "sha256 " + p.LibrarySHA256, got: sum}
	}
	return nil
}

// member opens one regular file of a zip (.whl) or tar.gz archive by its exact
// name.
func member(archive, name string) (io.Reader, func(), error) {
	if strings.HasSuffix(archive, ".whl") {
		return zipMember(archive, name)
	}
	f, err := os.Open(archive)
	if err != nil {
		return nil, nil, err
	}
	gz, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
	}
	// The npm archive unpacks to 288 MB; one that swells far beyond is not it.
	tr := tar.NewReader(io.LimitReader(gz, 4*maxSize))
	for {
		h, err := tr.Next()
		if err == nil && (h.Name != name || h.Typeflag != tar.TypeReg) {
			continue
		}
		if err != nil {
			f.Close()
			if err == io.EOF {
				err = fmt.Errorf("no member %s", name)
			}
			return nil, nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
		return tr, func() { f.Close() }, nil
	}
}

func zipMember(archive, name string) (io.Reader, func(), error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
	}
	for _, f := range z.File {
		if f.Name != name || !f.Mode().IsRegular() {
			continue
		}
		r, err := f.Open()
		if err != nil {
			z.Close()
			return nil, nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
		return r, func() { r.Close(); z.Close() }, nil
	}
	z.Close()
	return nil, nil, fmt.Errorf("%s: no member %s", filepath.Base(archive), name)
}

// watched is a reader that ends with its context and tells how far it is.
type watched struct {
	ctx  context.Context
	r    io.Reader
	n    int64
	done func(int64)
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.n += int64(n)
	w.done(w.n)
	return n, err
}
