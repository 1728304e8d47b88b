package install

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

const (
	fetchTries = 5  // in a row that bring nothing
	fetchLimit = 50 // in all: a server that gives a byte at a time is no server
)

// soft is a failure that another try may cure; fresh: without what is there.
type soft struct {
	err   error
	fresh bool
}

func (s *soft) Error() string { return s.err.Error() }
func (s *soft) Unwrap() error { return s.err }

func again(format string, args ...any) error { return &soft{err: fmt.Errorf(format, args...)} }
func afresh(format string, args ...any) error {
	return &soft{err: fmt.Errorf(format, args...), fresh: true}
}

// download brings an item to file. The bytes stand in file.part until they are
// all there and right; a later try goes on behind them.
func (f *Fetcher) download(ctx context.Context, it Item, file string) error {
	part, err := f.partOf(ctx, it, file)
	if err != nil {
		return err
	}
	defer part.Close()
	if _, err := os.Stat(file); err == nil { // who had the lock has brought it
		return nil
	}
	for round := 0; ; round++ {
		resumed, err := f.pulls(ctx, it, part)
		if err != nil {
			return err
		}
		err = f.right(ctx, it, part)
		if err == nil {
			break
		}
		if !errors.Is(err, errMismatch) {
			return err
		}
		if cut := part.Truncate(0); cut != nil {
			return cut
		}
		if !resumed || round > 0 {
			return err
		}
		f.Log.Warn("what was resumed is not the file, once more from its beginning", "item", it.ID)
	}
	if err := part.Chmod(0o644); err != nil {
		return err
	}
	os.Remove(part.Name() + ".etag")
	return os.Rename(part.Name(), file)
}

// partOf opens file.part for this process alone.
func (f *Fetcher) partOf(ctx context.Context, it Item, file string) (*os.File, error) {
	for {
		part, err := os.OpenFile(file+".part", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		mine, err := fetchLock(part)
		if err == nil && mine {
			return part, nil
		}
		part.Close()
		if err != nil {
			return nil, err
		}
		f.Progress(it.ID, report.T("another ascendctl is downloading %s", "另一个 ascendctl 正在下载 %s", it.Name), 0, it.Size)
		if err := f.Wait(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// pulls asks until all bytes are there, and says whether older bytes were kept.
func (f *Fetcher) pulls(ctx context.Context, it Item, part *os.File) (resumed bool, err error) {
	client := f.client()
	defer client.CloseIdleConnections()
	for tries, all := 0, 1; ; all++ {
		before, err := part.Seek(0, io.SeekEnd)
		if err != nil {
			return false, err
		}
		resumed = resumed || before > 0
		err = f.pull(ctx, client, it, part)
		var s *soft
		if err == nil || ctx.Err() != nil || !errors.As(err, &s) {
			return resumed, err
		}
		after, _ := part.Seek(0, io.SeekEnd)
		if s.fresh {
			if err := part.Truncate(0); err != nil {
				return false, err
			}
			after = 0
		}
		if tries++; after > before {
			tries = 0
		}
		f.Log.Warn("download broke off", "item", it.ID, "at", after, "err", f.Redact.String(err.Error()))
		if tries >= fetchTries || all >= fetchLimit {
			return resumed, f.unreached(it, s.err)
		}
		if err := f.Wait(ctx, time.Second<<tries); err != nil {
			return resumed, err
		}
	}
}

// pull asks once, for what part lacks.
func (f *Fetcher) pull(ctx context.Context, client *http.Client, it Item, part *os.File) error {
	at, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	etag := readTag(part)
	if it.Size > 0 && at > it.Size || at > 0 && etag == "" && it.SHA256 == "" { // cannot be told whether it goes on
		if err := part.Truncate(0); err != nil {
			return err
		}
		at = 0
	}
	if it.Size > 0 && at == it.Size {
		return nil
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(f.Stall, func() { stop(errStall) })
	defer watch.Stop()
	r, err := f.ask(inner, client, it, at, etag)
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return f.unreached(it, plainCause(inner, err))
	}
	if err != nil {
		return again("%w", plainCause(inner, err))
	}
	defer r.Body.Close()
	at, total, err := f.answer(it, r, at, etag)
	if err != nil {
		return err
	}
	if err := part.Truncate(at); err != nil {
		return err
	}
	if err := writeTag(part, r.Header.Get("Etag")); err != nil {
		return err
	}
	if total > 0 {
		free, err := f.claim(total - at)
		if err != nil {
			return err
		}
		defer free()
	}
	body := &watched{r.Body, func() { watch.Reset(f.Stall) }}
	if err := f.copy(it, part, body, at, total); err != nil {
		return plainCause(inner, err)
	}
	return nil
}

var errStall = errors.New("the server has gone silent")

// plainCause takes the address out of an error of net/http, which may hold
// secrets, and puts the real cause in the place of "context canceled".
func plainCause(ctx context.Context, err error) error {
	var u *url.Error
	switch {
	case errors.Is(context.Cause(ctx), errStall):
		return again("%w", errStall)
	case errors.As(err, &u):
		return u.Err
	}
	return err
}

// ask sends the request. If-Range lets the server give all of it when it is
// no longer the same file.
func (f *Fetcher) ask(ctx context.Context, client *http.Client, it Item, at int64, etag string) (*http.Response, error) {
	address := f.address(it)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", "ascendctl")
	q.Header.Set("Accept-Encoding", "identity") // ranges count the bytes of the file
	if it.Referer != "" && address == it.URL {
		q.Header.Set("Referer", it.Referer)
	}
	if at > 0 {
		q.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
		if etag != "" {
			q.Header.Set("If-Range", etag)
		}
	}
	f.Log.Info("download", "item", it.ID, "from", f.shown(address), "at", at)
	return client.Do(q)
}

// copy writes the body behind at; total 0 = until it ends.
func (f *Fetcher) copy(it Item, part *os.File, body io.Reader, at, total int64) error {
	if _, err := part.Seek(at, io.SeekStart); err != nil {
		return err
	}
	limit := total
	if total == 0 {
		limit = maxFile
	}
	note := report.T("downloading %s", "正在下载 %s", it.Name)
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if at+int64(n) > limit {
			return f.mismatch(it, f.shown(f.address(it)), sizeText(limit), report.T("more", "更多"))
		}
		if _, bad := part.Write(buf[:n]); bad != nil {
			return bad
		}
		at += int64(n)
		f.Progress(it.ID, note, at, total)
		switch {
		case err == io.EOF && (total == 0 || at == total):
			return nil
		case err != nil:
			return again("%d of %d bytes came: %w", at, total, err)
		}
	}
}

// right holds the finished part against what is known of the item.
func (f *Fetcher) right(ctx context.Context, it Item, part *os.File) error {
	info, err := part.Stat()
	if err != nil {
		return err
	}
	return f.measure(ctx, it, &Got{ReaderAt: part, Name: it.Name, Size: info.Size(), From: f.shown(f.address(it))})
}

// watched tells of each read that brought something.
type watched struct {
	io.Reader
	alive func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive()
	}
	return n, err
}

func (f *Fetcher) client() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = f.via.pick
	t.ResponseHeaderTimeout = f.Stall
	return &http.Client{Transport: t, CheckRedirect: func(q *http.Request, via []*http.Request) error {
		f.secret(q.URL.String())
		switch {
		case len(via) > 10:
			return errors.New("too many redirections")
		case via[len(via)-1].URL.Scheme == "https" && q.URL.Scheme != "https":
			return errors.New("redirected from https to " + q.URL.Scheme)
		}
		return nil
	}}
}
