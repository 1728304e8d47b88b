package front

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/report"
)

// FuzzReadBody: whatever comes under whatever coding, the answer is a body
// within the limit or an *Error with a status of the client's.
func FuzzReadBody(f *testing.F) {
	const limit = 1 << 10
	s := New(Options{MaxBody: limit})
	f.Add("", []byte("hello"), true)
	f.Add("gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xcb\xc8\x04\x00\xac\x2a\x93\xd8\x02\x00\x00\x00"), true)
	f.Add("deflate", []byte("\x78\x9c\xcb\xc8\x04\x00\x01\x3b\x00\xd2"), false)
	f.Add("deflate", []byte("\xcb\xc8\x04\x00"), true)
	f.Add("br", []byte("x"), true)
	f.Add("", bytes.Repeat([]byte("x"), limit+1), false)
	f.Fuzz(func(t *testing.T, coding string, data []byte, announced bool) {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(data))
		r.Header["Content-Encoding"] = []string{coding}
		if !announced {
			r.ContentLength = -1
		}
		x, r := s.begin(httptest.NewRecorder(), r)
		body, release, err := ReadBody(x, r)
		defer release()
		if len(body) > limit {
			t.Fatalf("%d bytes, limit %d", len(body), limit)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Status < 400 || e.Status > 499 || e.Code == "" || e.Msg == "") {
			t.Fatalf("error %#v", err)
		}
		if err == nil && coding == "" && !bytes.Equal(body, data) {
			t.Fatalf("got %q of %q", body, data)
		}
	})
}

// FuzzSplitAddr: a text is an address, or a usage problem that quotes it.
func FuzzSplitAddr(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:8000", ":0", "[::1]:65536", "8000", "", "a:b:c", "%d:%s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		_, _, p := splitAddr(addr)
		if p == nil {
			return
		}
		if p.Exit != report.ExitUsage || p.Why.Zh == "" || !strings.HasPrefix(p.What.En, strconv.Quote(addr)) {
			t.Fatalf("%+v", p)
		}
	})
}
