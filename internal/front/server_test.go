package front

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
)

// gate is a handler that tells when a request is inside and waits to be let
// go; it does not care for its context unless told to.
type gate struct {
	inside chan struct{}
	open   chan struct{}
}

func newGate() *gate { return &gate{make(chan struct{}, 100), make(chan struct{})} }

func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	g.inside <- struct{}{}
	select {
	case <-g.open:
		_, _ = io.WriteString(w, "done")
	case <-r.Context().Done():
		Fail(w, 503, "cancelled", "cancelled")
	}
}

func TestHealthPages(t *testing.T) {
	var fault atomic.Pointer[error]
	s := start(t, Options{Ready: func() error {
		if e := fault.Load(); e != nil {
			return *e
		}
		return nil
	}}, echo)
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/livez", 200, `{"live":true}` + "\n"},
		{"HEAD", "/livez", 200, ""},
		{"GET", "/readyz", 200, `{"ready":true}` + "\n"},
		{"HEAD", "/readyz", 200, ""},
		{"POST", "/livez", 405, `{"error":"this page is read with GET or HEAD, not POST"}` + "\n"},
		{"OPTIONS", "/readyz", 405, `{"error":"this page is read with GET or HEAD, not OPTIONS"}` + "\n"},
		{"DELETE", "/metrics", 405, `{"error":"this page is read with GET or HEAD, not DELETE"}` + "\n"},
	} {
		status, body, header := s.do(c.method, c.path, nil)
		if status != c.status || body != c.body {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, status, body, c.status, c.body)
		}
		if status == 405 && (header.Get("Allow") != "GET, HEAD" || header.Get("X-Ascendctl-Error") != "method_not_allowed") {
			t.Errorf("%s %s: header %v", c.method, c.path, header)
		}
	}
	err := errors.New("model digits is loading")
	fault.Store(&err)
	status, body, header := s.do("GET", "/readyz", nil)
	if status != 503 || errorOf(t, body) != "model digits is loading" || header.Get("X-Ascendctl-Error") != "not_ready" {
		t.Errorf("not ready: %d %q %v", status, body, header)
	}
	if status, _, _ := s.do("GET", "/livez", nil); status != 200 {
		t.Errorf("a server that is not ready is alive all the same, not %d", status)
	}
}

func TestDrainLetsRunningRequestsFinishAndRefusesNewOnes(t *testing.T) {
	g := newGate()
	s := start(t, Options{Exempt: []string{"/v2/health/ready"}}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			g.serve(w, r)
		case "/v2/health/ready":
			if Draining(r) {
				Fail(w, 503, "draining", "draining")
			}
		}
	})
	runs, idle, probe := s.dial(), s.dial(), s.dial()
	idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if status, _, _ := idle.answer(); status != 200 {
		t.Fatalf("before: %d", status)
	}
	probe.send("GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n")
	if status, _, _ := probe.answer(); status != 200 {
		t.Fatalf("ready before: %d", status)
	}
	runs.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-g.inside
	silent := s.dial() // never says a word, and does not hold up the end
	_ = silent

	s.stop()
	eventually(t, "a closed listener", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	idle.send("POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
	status, body, resp := idle.answer()
	if status != 503 || !resp.Close || resp.Header.Get("X-Ascendctl-Error") != "draining" {
		t.Errorf("new request: %d close=%v %v", status, resp.Close, resp.Header)
	}
	errorOf(t, body)
	idle.closed()
	probe.send("GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n")
	if status, _, resp := probe.answer(); status != 503 || !resp.Close {
		t.Errorf("exempt page in a drain: %d close=%v", status, resp.Close)
	}
	select {
	case err := <-s.ended:
		t.Fatalf("Run ended under a running request: %v", err)
	default:
	}
	close(g.open)
	if status, body, resp := runs.answer(); status != 200 || body != "done" || !resp.Close {
		t.Errorf("running request: %d %q close=%v", status, body, resp.Close)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestReadinessFallsInADrainWhileThePageIsStillServed(t *testing.T) {
	g := newGate()
	s := start(t, Options{}, g.serve)
	runs, probe := s.dial(), s.dial()
	probe.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
	if status, _, _ := probe.answer(); status != 200 {
		t.Fatalf("before: %d", status)
	}
	runs.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-g.inside
	s.stop()
	eventually(t, "the drain", s.server.draining.Load)
	probe.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
	if status, body, resp := probe.answer(); status != 503 || resp.Header.Get("X-Ascendctl-Error") != "draining" {
		t.Errorf("in the drain: %d %q", status, body)
	}
	close(g.open)
	runs.answer()
}

func TestRequestsThatOutlastTheDrainAreCutAndCounted(t *testing.T) {
	for name, cut := range map[string]func(*site){
		"by time":            func(*site) {},
		"by a second Ctrl-C": func(s *site) { s.server.Cut(); s.server.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			o := Options{Drain: 50 * time.Millisecond}
			if name != "by time" {
				o.Drain = time.Hour
			}
			s := start(t, o, g.serve)
			for range 2 {
				s.dial().send("GET /job HTTP/1.1\r\nHost: x\r\n\r\n")
				<-g.inside
			}
			s.stop()
			cut(s)
			err := <-s.ended
			var p *report.Problem
			if !errors.Is(err, ErrCut) || !errors.As(err, &p) || p.Exit != report.ExitFailed || p.What.En != "running requests cut: 2" {
				t.Errorf("Run: %v", err)
			}
			if l := s.line(`"path":"/job"`); l["status"] != 503. {
				t.Errorf("log: %v", l)
			}
		})
	}
}

func TestTooManyRequestsAreRefusedAndHealthIsNot(t *testing.T) {
	g := newGate()
	s := start(t, Options{MaxRequests: 1, Exempt: []string{"/v2/health/live"}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			g.serve(w, r)
		}
	})
	runs := s.dial()
	runs.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-g.inside
	status, body, header := s.do("POST", "/other", strings.NewReader(strings.Repeat("x", 1<<20)))
	if status != 429 || header.Get("Retry-After") != "1" || header.Get("X-Ascendctl-Error") != "busy" || header.Get("Connection") == "close" {
		t.Errorf("second request: %d %v", status, header)
	}
	errorOf(t, body)
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/v2/health/live"} {
		if status, _, _ := s.do("GET", path, nil); status != 200 {
			t.Errorf("%s while busy: %d", path, status)
		}
	}
	if n := s.count("ascendctl_http_requests_in_flight"); n != 1 {
		t.Errorf("in flight: %g", n)
	}
	close(g.open)
	runs.answer()
	eventually(t, "room again", func() bool { status, _, _ := s.do("GET", "/other", nil); return status == 200 })
}

func TestAClientThatLeavesIsLoggedAs499AndItsContextEnds(t *testing.T) {
	g := newGate()
	s := start(t, Options{}, g.serve)
	c := s.dial()
	c.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	<-g.inside
	c.Close()
	if l := s.line(`"path":"/wait"`); l["status"] != 499. {
		t.Errorf("log: %v", l)
	}
	if n := s.count("ascendctl_http_requests_total", "code", "499"); n != 1 {
		t.Errorf("counted %g", n)
	}
}

func TestAPanicIsA500AndTheServerGoesOn(t *testing.T) {
	s := start(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/early":
			panic("shape of\nnothing")
		case "/late":
			_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
			panic("half way")
		case "/abort":
			panic(http.ErrAbortHandler)
		}
	})
	status, body, header := s.do("GET", "/early", nil)
	if status != 500 || header.Get("X-Ascendctl-Error") != "internal" || strings.Contains(body, "shape") {
		t.Errorf("early: %d %q %v", status, body, header)
	}
	errorOf(t, body)
	for _, path := range []string{"/late", "/abort"} {
		resp, err := s.client.Get(s.url(path))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: half an answer looks whole", path)
		}
		if l := s.line(`"msg":"request"`, `"path":"`+path+`"`); l["status"] != 500. {
			t.Errorf("%s: log %v", path, l)
		}
	}
	if l := s.line("panic in a handler", "/early"); l["panic"] != "shape of\nnothing" || !strings.Contains(l["stack"].(string), "server_test.go") {
		t.Errorf("log: %v", l)
	}
	if strings.Contains(s.log.String(), `"panic":"net/http: abort Handler"`) {
		t.Error("an intended abort was logged as a fault")
	}
	if status, _, _ := s.do("GET", "/", nil); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

func TestAccessLogSaysWhatHappenedAndNoSecrets(t *testing.T) {
	now := time.Date(2026, 11, 30, 7, 45, 0, 0, time.UTC)
	var ticks atomic.Int64
	s := start(t, Options{Now: func() time.Time { return now.Add(time.Duration(ticks.Add(1)) * 1500 * time.Microsecond) }},
		func(w http.ResponseWriter, r *http.Request) {
			Note(r, slog.String("model", "digits"), slog.Int("rows", 3))
			echo(w, r)
		})
	s.do("POST", "/v2/models/digits/infer?token=hunter2", strings.NewReader("hello"), "Authorization", "Bearer s3cr3t", "User-Agent", strings.Repeat("u", 500))
	l := s.line(`"path":"/v2/models/digits/infer"`)
	for key, want := range map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "status": 200., "us": 1500., "in": 5., "out": 5.,
		"model": "digits", "rows": 3., "agent": strings.Repeat("u", 128) + "...", "time": "2026-11-30T07:45:00.003Z",
	} {
		if l[key] != want {
			t.Errorf("%s: %v, want %v", key, l[key], want)
		}
	}
	if host, _, err := net.SplitHostPort(l["remote"].(string)); err != nil || host != "127.0.0.1" {
		t.Errorf("remote %v", l["remote"])
	}
	for _, secret := range []string{"s3cr3t", "hunter2", "Authorization"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	s.do("POST", "/x", strings.NewReader("hello"), "Content-Encoding", "br")
	if l := s.line(`"path":"/x"`); l["status"] != 415. || l["error"] != "unsupported_encoding" {
		t.Errorf("a failure: %v", l)
	}
}

func TestMetricsCountByClassNeverByPath(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/models/{rest...}", echo)
	mux.HandleFunc("/named/", func(w http.ResponseWriter, r *http.Request) { Class(r, "named"); w.WriteHeader(204) })
	s := start(t, Options{}, mux.ServeHTTP)
	for _, path := range []string{"/v2/models/a/infer", "/v2/models/b/infer", "/named/1", "/named/2", "/nowhere/1", "/nowhere/2"} {
		s.do("POST", path, strings.NewReader("12345"))
	}
	s.do("GET", "/livez", nil)
	_, text, header := s.do("GET", "/metrics", nil)
	if header.Get("Content-Type") != metrics.ContentType {
		t.Errorf("Content-Type %q", header.Get("Content-Type"))
	}
	fs, err := metrics.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ class, code string }{{"POST /v2/models/{rest...}", "200"}, {"named", "204"}, {"other", "404"}} {
		if n, _ := fs.Sum("ascendctl_http_requests_total", "path_class", c.class, "code", c.code); n != 2 {
			t.Errorf("%v: %g, want 2", c, n)
		}
	}
	if n, _ := fs.Sum("ascendctl_http_request_duration_seconds_count"); n != 7 {
		t.Errorf("observed %g, want 7", n)
	}
	if n, _ := fs.Sum("ascendctl_http_request_bytes_total"); n != 30 {
		t.Errorf("%g bytes in, want 30: also those that no handler read", n)
	}
	for _, raw := range []string{"nowhere", "models/a"} {
		if strings.Contains(text, raw) {
			t.Errorf("the metrics have the raw path %q", raw)
		}
	}
}

func TestRunReportsAListenerThatFails(t *testing.T) {
	ln, err := Listen("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := New(Options{}).Run(context.Background(), ln, http.NotFoundHandler()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
}

func TestKitWorksOutsideAServer(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader("hello"))
	w := httptest.NewRecorder()
	Note(r, slog.Int("rows", 1))
	Class(r, "x")
	if Draining(r) {
		t.Error("draining without a server")
	}
	echo(w, r)
	if w.Code != 200 || w.Body.String() != "hello" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	FailErr(w, errors.New("inner secret"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
