package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that normally end at once.
const patience = 20 * time.Second

// site is a running server and what it logged and counted.
type site struct {
	t      *testing.T
	addr   string
	server *Server
	reg    *metrics.Registry
	log    *logBuffer
	client *http.Client
	stop   func()     // ends the context of Run
	ended  chan error // what Run gave
}

func start(t *testing.T, o Options, h http.HandlerFunc) *site {
	t.Helper()
	s := &site{t: t, log: &logBuffer{}, reg: metrics.NewRegistry(), ended: make(chan error, 1)}
	o.Metrics = s.reg
	o.Log = slog.New(slog.NewJSONHandler(s.log, nil))
	if o.Drain == 0 {
		o.Drain = patience
	}
	ln, err := Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	transport := &http.Transport{}
	s.client = &http.Client{Transport: transport, Timeout: patience}
	s.server = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	finished := make(chan struct{})
	go func() { defer close(finished); s.ended <- s.server.Run(ctx, ln, h) }()
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		select {
		case <-finished:
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	return s
}

func (s *site) url(path string) string { return "http://" + s.addr + path }

// do gives status, body and header of one request of the client.
func (s *site) do(method, path string, body io.Reader, header ...string) (int, string, http.Header) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url(path), body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// dial opens a bare connection.
func (s *site) dial() *wire {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &wire{s.t, c, bufio.NewReader(c)}
}

// wire is a client that says what it likes, at its own pace.
type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.Conn, text); err != nil {
		w.t.Fatalf("send: %v", err)
	}
}

func (w *wire) answer() (int, string, *http.Response) {
	w.t.Helper()
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("answer: %v", err)
	}
	resp.Body.Close()
	return resp.StatusCode, string(b), resp
}

// closed waits for the server to close the connection.
func (w *wire) closed() {
	w.t.Helper()
	if n, err := io.Copy(io.Discard, w.in); n > 0 || isTimeout(err) {
		w.t.Errorf("not closed: %d more bytes, %v", n, err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// line waits for a log line that has all the words, and gives its fields.
func (s *site) line(words ...string) map[string]any {
	s.t.Helper()
	var found map[string]any
	eventually(s.t, fmt.Sprintf("a log line with %q", words), func() bool {
	next:
		for l := range strings.Lines(s.log.String()) {
			for _, w := range words {
				if !strings.Contains(l, w) {
					continue next
				}
			}
			return json.Unmarshal([]byte(l), &found) == nil
		}
		return false
	})
	return found
}

// count gives a sum of the metrics.
func (s *site) count(sample string, pairs ...string) float64 {
	sum, _ := s.reg.Families().Sum(sample, pairs...)
	return sum
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("never saw %s", what)
		}
	}
}

// echo answers with the body, read within the limits.
func echo(w http.ResponseWriter, r *http.Request) {
	body, release, err := ReadBody(w, r)
	defer release()
	if err != nil {
		FailErr(w, err)
		return
	}
	_, _ = w.Write(body)
}

// errorOf reads {"error": ...}; the answer must be nothing else.
func errorOf(t *testing.T, body string) string {
	t.Helper()
	var m map[string]string
	if err := json.Unmarshal([]byte(body), &m); err != nil || len(m) != 1 || m["error"] == "" {
		t.Errorf("not an error body: %q", body)
	}
	return m["error"]
}
