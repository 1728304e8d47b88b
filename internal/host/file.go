package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// Files over nothing but Run: what a Host without a file protocol stands on.

// sh runs a text of forms/ on h with arguments. An exit other than 0 is an
// error that tells what the tools said.
func sh(ctx context.Context, h Host, text string, stdin io.Reader, args ...string) (Result, error) {
	script, err := texts.ReadFile("forms/" + text)
	if err != nil {
		return Result{}, err
	}
	r, err := h.Run(ctx, Command{Argv: append([]string{"/bin/sh", "-c", string(script), "sh"}, args...), Stdin: stdin})
	if err == nil && r.Exit != 0 {
		err = classify(r.Stderr)
	}
	return r, err
}

// readFile reads a whole file through a command. The errors wrap
// fs.ErrNotExist, fs.ErrPermission or ErrTooLarge where they are that.
func readFile(ctx context.Context, h Host, name string) ([]byte, error) {
	r, err := h.Run(ctx, Command{Argv: []string{"cat", "--", name}})
	if err == nil && r.Exit != 0 {
		err = classify(r.Stderr)
	}
	if err != nil {
		return nil, err
	}
	return r.Stdout, nil
}

// writeFile writes to a temporary file beside name and renames it when all
// bytes have come: a lost connection leaves the old file.
func writeFile(ctx context.Context, h Host, name string, data []byte, perm fs.FileMode) error {
	_, err := sh(ctx, h, "write.sh", bytes.NewReader(data), name, strconv.Itoa(len(data)), mode(perm))
	return err
}

func mode(perm fs.FileMode) string { return strconv.FormatUint(uint64(perm.Perm()), 8) }

// ErrUpload: what lies on the host is not what was sent.
var ErrUpload = errors.New("the file on the host differs from the one sent")

// Summed is a source that knows its sha256 (hex), so that Upload need not read
// it once more for every host. A wrong one is found out there.
type Summed interface {
	io.ReaderAt
	Sum() string
}

// Upload brings size bytes of src to the file name on h, with sha256 on both
// sides and a rename at the end. What an earlier try has left beside name is
// kept as far as it is right, and a file that is there already is not sent
// again. progress, which may be nil, hears how many bytes are on the host.
func Upload(ctx context.Context, h Host, src io.ReaderAt, size int64, name string, perm fs.FileMode, progress func(int64)) error {
	if progress == nil {
		progress = func(int64) {}
	}
	want, err := sumOf(ctx, src, size)
	if err != nil {
		return err
	}
	part := name + "." + want[:16] + ".part"
	at, err := resume(ctx, h, src, size, name, part, want)
	if err != nil {
		return err
	}
	if at < 0 {
		part, at = name, size
	}
	progress(at)
	switch {
	case part == name:
	case at < size || size == 0:
		_, err = sh(ctx, h, "append.sh", &told{io.NewSectionReader(src, at, size-at), at, progress}, part, strconv.FormatInt(at, 10))
		if err != nil {
			return fmt.Errorf("upload %s: %w", name, err)
		}
	}
	r, err := sh(ctx, h, "settle.sh", nil, part, name, want, mode(perm))
	if got := strings.TrimSpace(string(r.Stdout)); err != nil && got != "" {
		return fmt.Errorf("upload %s: %w: sha256 %s here, %s there", name, ErrUpload, want, clip(got))
	}
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	progress(size)
	return nil
}

func sumOf(ctx context.Context, src io.ReaderAt, size int64) (string, error) {
	if s, ok := src.(Summed); ok && len(s.Sum()) == hex.EncodedLen(sha256.Size) {
		return s.Sum(), nil
	}
	return sum(ctx, src, size)
}

// resume asks what is on the host: -1 = the whole file under its own name, else
// how many bytes of part are the first bytes of src.
func resume(ctx context.Context, h Host, src io.ReaderAt, size int64, name, part, want string) (int64, error) {
	r, err := sh(ctx, h, "there.sh", nil, name, part, strconv.FormatInt(size, 10))
	if err != nil {
		return 0, fmt.Errorf("upload %s: %w", name, err)
	}
	for _, l := range lines(string(r.Stdout)) {
		f := strings.Fields(l)
		switch {
		case len(f) == 2 && f[0] == "whole" && f[1] == want:
			return -1, nil
		case len(f) == 3 && f[0] == "part":
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil || n < 0 || n > size {
				continue
			}
			have, err := sum(ctx, src, n)
			if err != nil {
				return 0, err
			}
			if have == f[2] {
				return n, nil
			}
		}
	}
	return 0, nil
}

// sum is the sha256 of the first n bytes of src.
func sum(ctx context.Context, src io.ReaderAt, n int64) (string, error) {
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for at := int64(0); at < n; {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		k, err := src.ReadAt(buf[:min(int64(len(buf)), n-at)], at)
		h.Write(buf[:k])
		at += int64(k)
		if err != nil && (err != io.EOF || at < n) {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// told reports how far the reading has come.
type told struct {
	r    io.Reader
	done int64
	tell func(int64)
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.done += int64(n)
	t.tell(t.done)
	return n, err
}
