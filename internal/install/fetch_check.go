package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// maxFile bounds what is ever downloaded or unpacked: the largest package of
// the data has some 6 GB, an image archive three times that.
const maxFile = 64 << 30

// plainFile is true for a name that is a single path element everywhere.
func plainFile(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 && filepath.IsLocal(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) })
}

func hexDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// check tells the first field of an item that cannot be right: its words become
// paths and requests.
func (it Item) check() error {
	u, err := url.Parse(it.URL)
	for _, c := range []struct {
		key, value string
		ok         bool
		want       report.Text
	}{
		{"name", it.Name, plainFile(it.Name), report.T("a file name", "文件名")},
		{"size", fmt.Sprint(it.Size), it.Size >= 0 && it.Size <= maxFile, report.T("0 to 64 GiB in bytes", "0 到 64 GiB，以字节计")},
		{"sha256", it.SHA256, it.SHA256 == "" || hexDigest(it.SHA256), report.T("64 hex digits", "64 位十六进制数")},
		{"url", "***", it.URL == "" || err == nil && webAddress(u), report.T("an http or https address", "http 或 https 地址")},
		{"referer", it.Referer, !strings.ContainsAny(it.Referer, "\r\n\x00"), report.T("one line", "单行文本")},
	} {
		if !c.ok {
			return &report.Problem{What: report.T("row %s cannot be used: %s is %q, expected %s", "数据行 %s 无法使用：%s 为 %q，应为：%s", it.ID, c.key, c.value, c.want), Exit: report.ExitUsage}
		}
	}
	for _, p := range it.Parts {
		if _, err := path.Match(p, ""); err != nil {
			return &report.Problem{What: report.T("row %s cannot be used: %q is no pattern", "数据行 %s 无法使用：%q 不是有效的匹配模式", it.ID, p), Exit: report.ExitUsage, Err: err}
		}
	}
	return nil
}

func webAddress(u *url.URL) bool {
	return u != nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// onlyOne gives the one name whose last element matches, "" for none.
func onlyOne(it Item, pattern string, names []string) (string, error) {
	found := ""
	for _, n := range names {
		if ok, _ := path.Match(pattern, path.Base(n)); !ok {
			continue
		}
		if found != "" {
			return "", &report.Problem{What: report.T("two files could be the %s of %s: %s and %s", "有两个文件都可能是 %[2]s 的 %[1]s：%[3]s 与 %[4]s", pattern, it.Name, found, n),
				Do: report.T("leave only the right one", "只保留正确的一个"), Exit: report.ExitFailed}
		}
		found = n
	}
	return found, nil
}

// ready refuses before anything is brought: what cannot be had, and what has
// no room.
func (f *Fetcher) ready(items []Item) error {
	var lacking []Item
	var need int64
	for _, it := range items {
		switch {
		case f.shelf != nil:
			g, it, err := f.shelved(it)
			if err != nil {
				return err
			}
			if g == nil && !f.holds(it) {
				lacking = append(lacking, it)
			}
			if g != nil && len(it.Parts) > 0 && strings.HasSuffix(it.Name, ".zip") {
				need += g.Size
			}
		case f.address(it) == "":
			lacking = append(lacking, it)
		default:
			need += f.absent(it)
		}
	}
	if len(lacking) > 0 {
		return f.missing(lacking)
	}
	return f.room(need)
}

// holds says whether each part of an item is on the shelf.
func (f *Fetcher) holds(it Item) bool {
	for _, p := range it.Parts {
		if n, err := onlyOne(it, p, f.shelf.names()); err == nil && n == "" {
			return false
		}
	}
	return len(it.Parts) > 0
}

// absent counts the bytes of an item that are not in the cache, its parts
// included; they are stored in the zip, hardly packed.
func (f *Fetcher) absent(it Item) int64 {
	name := filepath.Join(f.folder(it), it.Name)
	need := it.Size
	if len(it.Parts) > 0 && strings.HasSuffix(it.Name, ".zip") {
		need += it.Size
	}
	for _, n := range []string{name, name + ".part"} {
		if info, err := os.Stat(n); err == nil {
			return max(0, need-info.Size())
		}
	}
	return need
}

// room refuses when the cache's disk has less than need bytes besides what
// others have reserved.
func (f *Fetcher) room(need int64) error {
	dir := f.Cache
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := f.Free(dir)
	if err != nil || free < 0 { // cannot be told: the disk itself will say no
		return nil
	}
	f.mu.Lock()
	left := free - f.reserved
	f.mu.Unlock()
	if need <= left {
		return nil
	}
	return &report.Problem{
		What: report.T("not enough space in %s", "%s 空间不足", f.Cache),
		Why:  report.T("%s needed, %s free", "需要 %s，可用 %s", sizeText(need), sizeText(left)),
		Do:   report.T("free space there, or name another folder in XDG_CACHE_HOME", "清理该目录所在磁盘，或用 XDG_CACHE_HOME 指定其他目录"),
		Run:  report.Line("df", "-h", dir), Exit: report.ExitFailed, Err: errNoRoom,
	}
}

var errNoRoom = errors.New("not enough space")

// claim reserves room for a file whose size is known only now; the result gives
// it back.
func (f *Fetcher) claim(n int64) (func(), error) {
	if err := f.room(n); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved += n
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reserved -= n
	}, nil
}

// sum is the sha256 of the first n bytes of r.
func (f *Fetcher) sum(ctx context.Context, id, name string, r io.ReaderAt, n int64) (string, error) {
	note := report.T("verifying %s", "正在校验 %s", name)
	s := newSum()
	done, err := copyTelling(ctx, s, io.NewSectionReader(r, 0, n), func(at int64) { f.Progress(id, note, at, n) })
	if err == nil && done < n {
		err = io.ErrUnexpectedEOF
	}
	return s.text(), err
}

// sizeText is bytes as people read them, exact where few.
func sizeText(n int64) report.Text {
	switch {
	case n >= 10<<30:
		return report.Same(fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)))
	case n >= 10<<20:
		return report.Same(fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)))
	}
	return report.T("%d bytes", "%d 字节", n)
}

// summing is a sha256 under way.
type summing struct{ hash.Hash }

func newSum() summing { return summing{sha256.New()} }

func (s summing) text() string { return hex.EncodeToString(s.Sum(nil)) }

// copyTelling copies until src ends or ctx does, and tells how far it is.
func copyTelling(ctx context.Context, dst io.Writer, src io.Reader, tell func(int64)) (done int64, err error) {
	buf := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		n, err := src.Read(buf)
		if _, bad := dst.Write(buf[:n]); bad != nil {
			return done, bad
		}
		done += int64(n)
		tell(done)
		if err == io.EOF {
			return done, nil
		}
		if err != nil {
			return done, err
		}
	}
}

// replaceFile writes a small file beside its place and renames it.
func replaceFile(name string, data []byte) error {
	out, err := os.CreateTemp(filepath.Dir(name), ".part-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = out.Write(data)
	if err := errors.Join(err, out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}
