package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/report"
)

func noise(n int) []byte {
	out := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func digest(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// fetcher waits for nothing and logs into the buffer.
func fetcher(t testing.TB, from string) (*Fetcher, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	f := &Fetcher{Cache: t.TempDir(), From: from, Stall: 5 * time.Second,
		Wait: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) },
		Log:  slog.New(slog.NewTextHandler(&log, nil)), Redact: &report.Redactor{}}
	t.Cleanup(func() { f.Close() })
	return f, &log
}

func gotOf(data []byte) *Got {
	return &Got{ReaderAt: bytes.NewReader(data), Name: "a.run", Kind: KindPackage, Size: int64(len(data)), SHA256: digest(data)}
}

func content(t testing.TB, g *Got) []byte {
	t.Helper()
	data, err := io.ReadAll(io.NewSectionReader(g, 0, g.Size))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mirror serves one file as http.ServeContent would, unless told otherwise.
type mirror struct {
	mu       sync.Mutex
	data     []byte
	etag     string
	cuts     []int // of each answer: bytes after which the line is cut; 0 none
	lie      bool  // a 206 that begins elsewhere
	requests []*http.Request
	sent     int
	instead  func(w http.ResponseWriter, r *http.Request) bool
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r.Clone(context.Background()))
	if m.instead != nil && m.instead(w, r) {
		return
	}
	from := 0
	if s, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		if tag := r.Header.Get("If-Range"); tag == "" || tag == m.etag {
			from, _ = strconv.Atoi(strings.TrimSuffix(s, "-"))
		}
	}
	if m.etag != "" {
		w.Header().Set("Etag", m.etag)
	}
	if from > len(m.data) {
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	body := m.data[from:]
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if from > 0 {
		told := from
		if m.lie {
			told = from + 1
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", told, len(m.data)-1, len(m.data)))
		w.WriteHeader(http.StatusPartialContent)
	}
	n := len(body)
	if len(m.cuts) > 0 {
		if m.cuts[0] > 0 {
			n = min(n, m.cuts[0])
		}
		m.cuts = m.cuts[1:]
	}
	k, _ := w.Write(body[:n])
	m.sent += k
	if n < len(body) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// bytes is how much was sent: the last write may still be under way when its reader has all.
func (m *mirror) bytes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent
}

func (m *mirror) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func (m *mirror) start(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL
}

// downloadCase is a server, what an earlier run left, and what comes of it.
type downloadCase struct {
	name     string
	m        *mirror
	it       Item
	part     []byte // what an earlier run left
	tag      string
	want     string // in the error; empty: it comes
	requests int
	sent     int // at most; 0: not looked at
}

func downloadCases(data []byte) []downloadCase {
	other := noise(1<<20 + 7)
	full := Item{ID: "toolkit", Name: "toolkit+1.run", Size: int64(len(data)), SHA256: digest(data), Referer: "https://vendor.example/"}
	bare := Item{ID: "toolkit", Name: "toolkit+1.run"}
	return []downloadCase{
		{"whole", &mirror{data: data}, full, nil, "", "", 1, len(data)},
		{"cut twice, resumed each time", &mirror{data: data, etag: `"a"`, cuts: []int{300000, 200000}}, full, nil, "", "", 3, len(data)},
		{"cut, no ETag, but a known digest", &mirror{data: data, cuts: []int{300000}}, full, nil, "", "", 2, len(data)},
		{"cut, no ETag and no digest: from the beginning", &mirror{data: data, cuts: []int{300000}}, bare, nil, "", "", 2, len(data) + 300000},
		{"ETag and no digest: resumed", &mirror{data: data, etag: `"a"`, cuts: []int{300000}}, bare, nil, "", "", 2, len(data)},
		{"resumes what an earlier run left", &mirror{data: data, etag: `"a"`}, full, data[:700000], `"a"`, "", 1, len(data) - 700000},
		{"another ETag: from the beginning", &mirror{data: data, etag: `"b"`}, full, other[:700000], `"a"`, "", 1, len(data)},
		{"what was left is another file and nothing tells", &mirror{data: data}, full, other[:700000], "", "", 2, 2 * len(data)},
		{"the server ignores ranges", &mirror{data: data, instead: func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Range"); return false }}, full, data[:700000], "", "", 1, len(data)},
		{"the server lies about ranges", &mirror{data: data, lie: true}, full, data[:700000], "", "", 2, 0},
		{"what was left is too long", &mirror{data: data}, full, other, "", "", 1, len(data)},
		{"all was there but the name", &mirror{data: data}, full, data, "", "", 0, 0},
		{"416 for a file without known size", &mirror{data: data, etag: `"a"`}, bare, other, `"a"`, "", 2, 0},
		{"another file of the same size", &mirror{data: noise(1 << 19)}, Item{ID: "x", Name: "x.run", Size: 1 << 19, SHA256: digest(data)}, nil, "", "expected sha256 " + digest(data), 1, 0},
		{"another size", &mirror{data: other}, full, nil, "", "expected 1048576 bytes, got 1048583 bytes", 1, 0},
		{"never ends", &mirror{data: data, cuts: slices.Repeat([]int{1}, 60)}, full, nil, "", "cannot download", fetchLimit, 0},
		{"a login page", &mirror{instead: answer(200, "text/html", "<html>sign in</html>")}, bare, nil, "", "web page", 1, 0},
		{"packed", &mirror{instead: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Encoding", "gzip")
			return false
		}, data: data}, full, nil, "", `packs it as "gzip"`, 1, 0},
		{"forbidden", &mirror{instead: answer(403, "text/plain", "no")}, full, nil, "", "403 Forbidden", 1, 0},
		{"not there", &mirror{instead: answer(404, "text/plain", "no")}, full, nil, "", "404 Not Found", 1, 0},
		{"busy", &mirror{instead: answer(503, "text/plain", "no")}, full, nil, "", "503 Service Unavailable", fetchTries, 0},
	}
}

func TestDownload(t *testing.T) {
	data := noise(1 << 20)
	for _, c := range downloadCases(data) {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			srv := httptest.NewServer(c.m)
			defer srv.Close()
			c.it.URL = srv.URL + "/CANN%208/toolkit%2B1.run"
			f, _ := fetcher(t, "")
			file := filepath.Join(f.folder(c.it), c.it.Name)
			if c.part != nil {
				plant(t, file+".part", c.part)
				plant(t, file+".part.etag", []byte(c.tag))
			}
			got, err := f.Get(t.Context(), []Item{c.it})
			if c.want != "" {
				refusal(t, err, c.want)
				if _, err := os.Stat(file); err == nil {
					t.Error("the refused file has the name of the good one")
				}
			} else if err != nil {
				t.Fatal(err)
			} else if g := got[0]; !bytes.Equal(content(t, g), data) || g.SHA256 != digest(data) || g.Verified != (c.it.SHA256 != "") {
				t.Errorf("%+v", g)
			}
			if c.m.asked() != c.requests || c.sent > 0 && c.m.bytes() > c.sent {
				t.Errorf("%d requests, %d bytes; want %d, at most %d", c.m.asked(), c.m.bytes(), c.requests, c.sent)
			}
			for _, r := range c.m.requests {
				if r.Header.Get("Referer") != c.it.Referer || r.URL.EscapedPath() != "/CANN%208/toolkit%2B1.run" {
					t.Errorf("asked %s with Referer %q", r.URL.EscapedPath(), r.Header.Get("Referer"))
				}
			}
			if left, _ := filepath.Glob(file + ".part*"); c.want == "" && left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func answer(status int, kind, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

func plant(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSilentServerIsAskedAgain(t *testing.T) {
	data := noise(400000)
	m := &mirror{data: data, etag: `"a"`}
	silent := true
	m.instead = func(w http.ResponseWriter, r *http.Request) bool {
		if !silent {
			return false
		}
		silent = false
		w.Header().Set("Etag", m.etag)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:100000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	f, _ := fetcher(t, "")
	f.Stall = 200 * time.Millisecond
	got, err := f.Get(t.Context(), []Item{{ID: "x", Name: "x.run", URL: m.start(t) + "/x.run", SHA256: digest(data)}})
	if err != nil || !bytes.Equal(content(t, got[0]), data) || len(m.requests) != 2 || m.requests[1].Header.Get("Range") != "bytes=100000-" {
		t.Errorf("%v after %d requests", err, len(m.requests))
	}
}

func TestCacheServesASecondRunAndHealsItself(t *testing.T) {
	data := noise(100000)
	m := &mirror{data: data}
	it := Item{ID: "x", Name: "x.run", URL: m.start(t) + "/x.run", SHA256: digest(data)}
	f, _ := fetcher(t, "")
	for i, damage := range []bool{false, false, true} {
		if damage {
			plant(t, filepath.Join(f.folder(it), it.Name), noise(100001)[1:])
		}
		got, err := f.Get(t.Context(), []Item{it})
		if err != nil || !bytes.Equal(content(t, got[0]), data) {
			t.Fatalf("run %d: %v", i, err)
		}
	}
	if len(m.requests) != 2 {
		t.Errorf("%d requests, want one for the empty cache and one for the damaged one", len(m.requests))
	}
}

func TestTwoFetchersBringAFileOnce(t *testing.T) {
	data := noise(1 << 20)
	m := &mirror{data: data}
	url := m.start(t) + "/x.run"
	cache := t.TempDir()
	var all sync.WaitGroup
	for range 2 {
		f, _ := fetcher(t, "")
		f.Cache = cache
		f.Wait = func(ctx context.Context, _ time.Duration) error { return pause(ctx, time.Millisecond) }
		all.Go(func() {
			got, err := f.Get(context.Background(), []Item{{ID: "x", Name: "x.run", URL: url, SHA256: digest(data), Size: int64(len(data))}})
			if err != nil || got[0].SHA256 != digest(data) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if m.bytes() != len(data) {
		t.Errorf("%d bytes were sent for a file of %d", m.bytes(), len(data))
	}
}

func TestSpaceIsLookedAtFirst(t *testing.T) {
	data := noise(4096)
	for name, it := range map[string]Item{
		"the data knows the size":   {ID: "x", Name: "x.run", Size: 4096},
		"the server tells the size": {ID: "x", Name: "x.run"},
	} {
		m := &mirror{data: data}
		it.URL = m.start(t)
		f, _ := fetcher(t, "")
		f.Free = func(string) (int64, error) { return 4000, nil }
		_, err := f.Get(t.Context(), []Item{it})
		refusal(t, err, "4096 bytes needed, 4000 bytes free")
		if it.Size > 0 && len(m.requests) > 0 {
			t.Errorf("%s: the server was asked", name)
		}
	}
}

func TestRowsThatCannotBeRight(t *testing.T) {
	for want, it := range map[string]Item{
		"name":    {Name: "../x.run"},
		"size":    {Name: "x", Size: -1},
		"sha256":  {Name: "x", SHA256: "ABC"},
		"url":     {Name: "x", URL: "file:///etc/passwd"},
		"referer": {Name: "x", Referer: "a\r\nX: y"},
		"pattern": {Name: "x", Parts: []string{"[a"}},
	} {
		f, _ := fetcher(t, "")
		_, err := f.Get(t.Context(), []Item{it})
		refusal(t, err, want)
	}
}

func TestInterruptedDownloadKeepsWhatCame(t *testing.T) {
	data := noise(500000)
	m := &mirror{data: data, etag: `"a"`, cuts: []int{200000}}
	it := Item{ID: "x", Name: "x.run", URL: m.start(t) + "/x.run", SHA256: digest(data)}
	f, _ := fetcher(t, "")
	ctx, stop := context.WithCancel(t.Context())
	f.Wait = func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() }
	_, err := f.Get(ctx, []Item{it})
	if p := refusal(t, err, "interrupted"); p.Exit != report.ExitInterrupted {
		t.Errorf("exit %d", p.Exit)
	}
	again, _ := fetcher(t, "")
	again.Cache = f.Cache
	if _, err := again.Get(t.Context(), []Item{it}); err != nil || m.bytes() != len(data) {
		t.Errorf("%v, %d bytes sent of %d", err, m.bytes(), len(data))
	}
}

func TestMirrorIsAskedByName(t *testing.T) {
	data := noise(1000)
	m := &mirror{data: data}
	f, _ := fetcher(t, strings.Replace(m.start(t), "http://", "http://u:pa%20ss@", 1)+"/cann/?sv=1")
	_, err := f.Get(t.Context(), []Item{{ID: "x", Name: "a+b 1.run", URL: "https://vendor.example/x", Referer: "https://vendor.example/", SHA256: digest(data)}})
	if err != nil {
		t.Fatal(err)
	}
	r := m.requests[0]
	user, pass, _ := r.BasicAuth()
	if r.URL.String() != "/cann/a%2Bb%201.run?sv=1" || user != "u" || pass != "pa ss" || r.Header.Get("Referer") != "" {
		t.Errorf("%s %s %s %v", r.URL, user, pass, r.Header)
	}
}

func TestHTTPSIsNotLeftByARedirection(t *testing.T) {
	plain := &mirror{data: noise(10)}
	to := plain.start(t)
	s := httptest.NewTLSServer(http.RedirectHandler(to+"/x.run?token=abcdefghijkl", http.StatusFound))
	defer s.Close()
	f, log := fetcher(t, "")
	c := f.client()
	f.begun = true
	c.Transport = s.Client().Transport
	_, err := c.Get(s.URL)
	if err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Error(err)
	}
	if got := f.Redact.String("abcdefghijkl"); got != report.Mask || strings.Contains(log.String(), "abcdefghijkl") {
		t.Error("the secret of the redirection is not known")
	}
}
