package front

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const short = 200 * time.Millisecond

func TestSlowClientsAreCutAndBlockNobody(t *testing.T) {
	const limit = time.Second // a busy machine must not make the quick ones slow
	s := start(t, Options{HeaderTimeout: limit, BodyTimeout: limit, IdleTimeout: limit, MaxRequests: 8}, echo)
	idle := s.dial()
	idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.answer()
	header, body, unread := s.dial(), s.dial(), s.dial()
	header.send("POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nfirst")
	unread.send("POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
	for range 20 {
		if status, got, _ := s.do("POST", "/", strings.NewReader("hello")); status != 200 || got != "hello" {
			t.Fatalf("beside slow clients: %d %q", status, got)
		}
	}
	header.closed()
	status, text, resp := body.answer()
	if status != 400 || resp.Header.Get("X-Ascendctl-Error") != "body_timeout" || !strings.Contains(errorOf(t, text), "too slowly: 5 bytes") {
		t.Errorf("slow body: %d %q", status, text)
	}
	body.closed()
	if status, _, _ := unread.answer(); status != 405 {
		t.Errorf("body that nobody reads: %d", status)
	}
	unread.closed()
	idle.closed()
}

func TestASteadyBodyMayTakeLongerThanTheTimeout(t *testing.T) {
	const chunks = 8
	s := start(t, Options{BodyTimeout: 2 * short, BodyRate: 2_000}, echo) // 1000 bytes earn 500 ms
	c := s.dial()
	c.send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", chunks*1000))
	for range chunks {
		c.send(strings.Repeat("x", 1000))
		time.Sleep(short / 2)
	}
	if status, body, _ := c.answer(); status != 200 || len(body) != chunks*1000 {
		t.Errorf("%d, %d bytes", status, len(body))
	}
}

// Neither the deadline of a body that was read nor that of an answer that was
// sent may hit what comes later on the same connection.
func TestDeadlinesOfOnePhaseDoNotHitTheNext(t *testing.T) {
	s := start(t, Options{BodyTimeout: short}, func(w http.ResponseWriter, r *http.Request) {
		body, release, err := ReadBody(w, r)
		defer release()
		if err != nil {
			FailErr(w, err)
			return
		}
		select {
		case <-r.Context().Done():
			Fail(w, 500, "cut", "the read deadline ended the request")
		case <-time.After(3 * short):
			_, _ = w.Write(body)
		}
	})
	c := s.dial()
	for range 2 {
		c.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
		if status, _, _ := c.answer(); status != 100 {
			t.Fatalf("no 100 Continue: %d", status)
		}
		c.send("hello")
		if status, body, _ := c.answer(); status != 200 || body != "hello" {
			t.Fatalf("%d %q", status, body)
		}
	}
}

func TestAClientThatDoesNotTakeItsAnswerIsCut(t *testing.T) {
	failed := make(chan error, 1)
	s := start(t, Options{BodyTimeout: short, BodyRate: 1 << 30}, func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<20)
		for range 1000 { // more than the kernel takes in
			if _, err := w.Write(block); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	})
	s.dial().send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-failed:
		if !isTimeout(errors.Unwrap(err)) && !isTimeout(err) {
			t.Errorf("write: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the handler hangs in Write")
	}
	if l := s.line(`"path":"/big"`); l["status"] != 499. {
		t.Errorf("log: %v", l)
	}
}

func TestBodiesOverTheLimitAre413AndTheServerServesOn(t *testing.T) {
	const limit = 100_000
	s := start(t, Options{MaxBody: limit}, echo)
	for _, c := range []struct {
		name   string
		size   int
		chunks bool
		status int
		stays  bool // the connection is used again
	}{
		{"exactly the limit", limit, false, 200, true},
		{"exactly the limit in chunks", limit, true, 200, true},
		{"one more", limit + 1, false, 413, true},
		{"one more in chunks", limit + 1, true, 413, true},
		{"twice", 2 * limit, false, 413, true},
		{"twice in chunks", 2 * limit, true, 413, true},
		{"ten times", 10 * limit, false, 413, false},
		{"ten times in chunks", 10 * limit, true, 413, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.dial()
			var sending sync.WaitGroup
			sending.Go(func() {
				text := strings.Repeat("x", c.size)
				if c.chunks {
					fmt.Fprintf(w, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", c.size, text)
				} else {
					fmt.Fprintf(w, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", c.size, text)
				}
			})
			status, body, resp := w.answer()
			if status != c.status || status == 413 && (errorOf(t, body) != "the request body is larger than 100000 bytes" || resp.Header.Get("X-Ascendctl-Error") != "body_too_large") {
				t.Errorf("%d %.80q", status, body)
			}
			if resp.Close == c.stays {
				t.Errorf("close=%v, want stays=%v", resp.Close, c.stays)
			}
			sending.Wait() // a client that is cut off is told so by its write
			if c.stays {
				w.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok")
				if status, body, _ := w.answer(); status != 200 || body != "ok" {
					t.Errorf("the connection afterwards: %d %q", status, body)
				}
			}
		})
	}
	if status, body, _ := s.do("POST", "/", strings.NewReader("ok")); status != 200 || body != "ok" {
		t.Errorf("the server afterwards: %d %q", status, body)
	}
}

func TestAnnouncedGiantsAreRefusedWithoutWaitingForThem(t *testing.T) {
	s := start(t, Options{}, echo)
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		c := s.dial()
		c.send("POST / HTTP/1.1\r\nHost: x\r\n" + expect + "Content-Length: 1099511627776\r\n\r\n")
		status, body, resp := c.answer()
		if status != 413 || !resp.Close {
			t.Errorf("%q: %d close=%v", expect, status, resp.Close)
		}
		errorOf(t, body)
	}
	// Below the limit an announcement is not believed either: it is the bytes that come that take memory.
	c := s.dial()
	c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n")
	c.Close()
	if l := s.line(`"status":499`); l["error"] != "body_truncated" {
		t.Errorf("log: %v", l)
	}
}

func TestAnnouncedBodiesAreReadIntoPlace(t *testing.T) {
	s := New(Options{})
	for _, n := range []int64{1, 4095, 4096, 4097, 1 << 18, 1<<20 - 1} {
		moved := int64(0)
		if _, got, err := s.fill(io.LimitReader(zeros{}, n), n, &moved); err != nil || int64(got) != n || moved != 0 {
			t.Errorf("%d bytes: %d, %v, %d moved", n, got, err, moved)
		}
	}
}

func TestFillBelievesAnAnnouncedSizeOnlyAsFarAsBytesCame(t *testing.T) {
	s := New(Options{})
	for _, n := range []int{0, 1, 4 << 10, 1 << 20, 1<<20 + 1, 5 << 20} {
		moved := int64(0)
		buf, got, err := s.fill(io.LimitReader(zeros{}, int64(n)), 64<<20, &moved)
		if err != nil || got != n {
			t.Errorf("%d bytes: %d, %v", n, got, err)
		}
		if n < 1<<20 && moved > 0 || moved > int64(n) {
			t.Errorf("%d bytes: %d moved", n, moved)
		}
		if most := max(1<<20, 32*n); len(buf) > most {
			t.Errorf("%d bytes took a buffer of %d, more than %d", n, len(buf), most)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func pack(t *testing.T, coding string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, 9)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContentEncodings(t *testing.T) {
	const limit = 64 << 10
	s := start(t, Options{MaxBody: limit}, echo)
	hello := []byte("hello, hello, hello")
	bomb := make([]byte, 100*limit)
	gz, zl, raw := pack(t, "gzip", hello), pack(t, "zlib", hello), pack(t, "raw", hello)
	for _, c := range []struct {
		name, coding string
		body         []byte
		status       int
		code         string
	}{
		{"none", "", hello, 200, ""},
		{"identity", "identity", hello, 200, ""},
		{"gzip", "gzip", gz, 200, ""},
		{"gzip by its old name", "X-GZIP", gz, 200, ""},
		{"deflate", "deflate", zl, 200, ""},
		{"deflate without header", "deflate", raw, 200, ""},
		{"gzip again", "gzip", gz, 200, ""},
		{"deflate again", "deflate", zl, 200, ""},
		{"deflate without header again", "deflate", raw, 200, ""},
		{"gzip up to the limit", "gzip", pack(t, "gzip", bomb[:limit]), 200, ""},
		{"gzip over the limit", "gzip", pack(t, "gzip", bomb[:limit+1]), 413, "body_too_large"},
		{"gzip bomb", "gzip", pack(t, "gzip", bomb), 413, "body_too_large"},
		{"deflate bomb", "deflate", pack(t, "zlib", bomb), 413, "body_too_large"},
		{"brotli", "br", hello, 415, "unsupported_encoding"},
		{"twice", "gzip, gzip", pack(t, "gzip", gz), 415, "unsupported_encoding"},
		{"not gzip", "gzip", hello, 400, "bad_body"},
		{"empty gzip", "gzip", []byte{}, 200, ""},
		{"half a gzip", "gzip", gz[:len(gz)-9], 400, "bad_body"},
		{"gzip and more", "gzip", append(bytes.Clone(gz), "more"...), 400, "bad_body"},
		{"deflate and more", "deflate", append(bytes.Clone(zl), "more"...), 400, "bad_body"},
		{"not deflate", "deflate", []byte("\xff\xff\xff\xff"), 400, "bad_body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, header := s.do("POST", "/", bytes.NewReader(c.body), "Content-Encoding", c.coding)
			if status != c.status || header.Get("X-Ascendctl-Error") != c.code {
				t.Fatalf("%d %s: %.80q", status, header.Get("X-Ascendctl-Error"), body)
			}
			switch {
			case status != 200:
				errorOf(t, body)
			case strings.HasSuffix(c.name, "limit"):
				if len(body) != limit {
					t.Errorf("%d bytes", len(body))
				}
			case len(c.body) > 0 && body != string(hello):
				t.Errorf("%q", body)
			}
			if want := "gzip, deflate"; status == 415 && header.Get("Accept-Encoding") != want {
				t.Errorf("Accept-Encoding %q", header.Get("Accept-Encoding"))
			}
		})
	}
}

func TestAHandlerThatReadsTheBodyItselfIsBoundedToo(t *testing.T) {
	s := start(t, Options{MaxBody: 10}, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			FailErr(w, err)
			return
		}
		_, _ = w.Write(b)
	})
	if status, body, _ := s.do("POST", "/", strings.NewReader("0123456789")); status != 200 || body != "0123456789" {
		t.Errorf("%d %q", status, body)
	}
	if status, _, _ := s.do("POST", "/", strings.NewReader("0123456789a")); status != 413 {
		t.Errorf("%d", status)
	}
}

func TestProtocolCorners(t *testing.T) {
	const head = "Host: x\r\nContent-Length: 5\r\n"
	s := start(t, Options{MaxHeader: 4 << 10}, echo)
	t.Run("pipelined", func(t *testing.T) {
		c := s.dial()
		c.send("POST / HTTP/1.1\r\n" + head + "\r\nfirstPOST / HTTP/1.1\r\n" + head + "\r\nagain")
		for _, want := range []string{"first", "again"} {
			if status, body, _ := c.answer(); status != 200 || body != want {
				t.Errorf("%d %q, want %q", status, body, want)
			}
		}
	})
	t.Run("HTTP/1.0", func(t *testing.T) {
		c := s.dial()
		c.send("POST / HTTP/1.0\r\n" + head + "\r\nhello")
		if status, body, resp := c.answer(); status != 200 || body != "hello" || !resp.Close {
			t.Errorf("%d %q close=%v", status, body, resp.Close)
		}
		c.closed()
	})
	t.Run("HTTP/1.0 keep-alive", func(t *testing.T) {
		c := s.dial()
		for range 2 {
			c.send("POST / HTTP/1.0\r\nConnection: keep-alive\r\n" + head + "\r\nhello")
			if status, body, _ := c.answer(); status != 200 || body != "hello" {
				t.Errorf("%d %q", status, body)
			}
		}
	})
	t.Run("Connection: close", func(t *testing.T) {
		c := s.dial()
		c.send("POST / HTTP/1.1\r\nConnection: close\r\n" + head + "\r\nhello")
		c.answer()
		c.closed()
	})
	t.Run("an Expect that nobody knows", func(t *testing.T) {
		c := s.dial()
		c.send("POST / HTTP/1.1\r\nExpect: miracles\r\n" + head + "\r\n")
		if status, _, _ := c.answer(); status != 417 {
			t.Errorf("%d", status)
		}
	})
	t.Run("broken chunks", func(t *testing.T) {
		c := s.dial()
		c.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		if status, body, resp := c.answer(); status != 400 || !resp.Close || errorOf(t, body) == "" {
			t.Errorf("%d %q close=%v", status, body, resp.Close)
		}
	})
	t.Run("half a body", func(t *testing.T) {
		c := s.dial()
		c.send("POST / HTTP/1.1\r\n" + head + "\r\nhel")
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if status, body, _ := c.answer(); status != 400 || !strings.Contains(errorOf(t, body), "ended early, after 3 bytes") {
			t.Errorf("%d %q", status, body)
		}
	})
	t.Run("giant header", func(t *testing.T) {
		c := s.dial()
		c.send("GET / HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("x", 9000) + "\r\n\r\n")
		if status, _, _ := c.answer(); status != 431 {
			t.Errorf("%d", status)
		}
	})
}

// Buffers are used again, but never by two at once.
func TestPooledBodiesStayApart(t *testing.T) {
	s := start(t, Options{}, echo)
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for n := range 50 {
				want := strings.Repeat(string(rune('a'+i)), 1+n*i*200)
				resp, err := s.client.Post(s.url("/"), "", strings.NewReader(want))
				if err != nil {
					t.Error(err)
					return
				}
				got, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(got) != want {
					t.Errorf("client %d got %.20q", i, got)
					return
				}
			}
		})
	}
	clients.Wait()
}
