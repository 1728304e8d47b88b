package install

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// answer judges status and headers: where the body begins, and how long the
// whole is (0: not told).
func (f *Fetcher) answer(it Item, r *http.Response, at int64, etag string) (from, total int64, err error) {
	switch {
	case r.StatusCode == http.StatusOK:
		total = max(r.ContentLength, 0)
	case r.StatusCode == http.StatusPartialContent && at > 0:
		from, total, err = contentRange(r.Header.Get("Content-Range"))
		if err != nil || from != at {
			return 0, 0, afresh("the server answers a request for byte %d with %q", at, clipped(r.Header.Get("Content-Range")))
		}
		if now := strongTag(r.Header.Get("Etag")); now != etag && now != "" && etag != "" {
			return 0, 0, afresh("the file has changed on the server")
		}
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable && at > 0:
		return 0, 0, afresh("the server has no byte %d", at)
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout, r.StatusCode >= 500:
		return 0, 0, again("the server answers %s", r.Status)
	default:
		return 0, 0, f.refused(it, r)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return 0, 0, f.foreign(it, report.T("the server packs it as %q", "服务器以 %q 编码传输", clipped(e)))
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") && it.SHA256 == "" {
		return 0, 0, f.foreign(it, report.T("the server answers with a web page", "服务器返回的是网页"))
	}
	if it.Size > 0 && total > 0 && total != it.Size {
		return 0, 0, f.mismatch(it, f.shown(f.address(it)), sizeText(it.Size), sizeText(total))
	}
	if total > maxFile {
		return 0, 0, f.mismatch(it, f.shown(f.address(it)), sizeText(maxFile), sizeText(total))
	}
	return from, max(total, it.Size), nil
}

// contentRange reads "bytes 5-9/10"; the total is 0 when it is "*".
func contentRange(s string) (from, total int64, err error) {
	span, of, ok := strings.Cut(strings.TrimPrefix(s, "bytes "), "/")
	first, last, both := strings.Cut(span, "-")
	if !ok || !both || !strings.HasPrefix(s, "bytes ") {
		return 0, 0, errors.New("no range")
	}
	from, err = strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	if of != "*" {
		var err3 error
		if total, err3 = strconv.ParseInt(of, 10, 64); err3 != nil || end != total-1 {
			return 0, 0, errors.New("not the rest of the file")
		}
	}
	return from, total, errors.Join(err, err2)
}

// strongTag gives an ETag that names bytes, not only a meaning (RFC 9110 8.8.3).
func strongTag(s string) string {
	if len(s) < 3 || len(s) > 200 || s[0] != '"' || s[len(s)-1] != '"' {
		return ""
	}
	return s
}

func readTag(part *os.File) string {
	data, err := os.ReadFile(part.Name() + ".etag")
	if err != nil {
		return ""
	}
	return strongTag(string(data))
}

func writeTag(part *os.File, tag string) error {
	name := part.Name() + ".etag"
	if strongTag(tag) == "" {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(name, []byte(tag), 0o600)
}
