package front

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// exchange is one request as the server sees it: the response writer and the
// context of its handler, and what the log will say.
type exchange struct {
	http.ResponseWriter
	context.Context

	server *Server
	body   body
	start  time.Time
	status int  // 0 until a header is written
	head   bool // the answer has no body whatever is written
	gone   bool // the client left before the answer
	out    int64
	moved  int64     // see Moved
	armed  time.Time // when the write deadline was set
	code   string    // machine code of an error

	mu    sync.Mutex // a handler may have helpers that note something
	class string
	notes []slog.Attr
}

type exchangeKey struct{}

// Value makes the exchange findable from the request's context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// Handler is what Run serves, for tests that bring their own server.
func (s *Server) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, r := s.begin(w, r)
		defer x.end(r)
		s.route(x, r, h)
	})
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	x := &exchange{ResponseWriter: w, Context: r.Context(), server: s, start: s.o.Now(), head: r.Method == http.MethodHead}
	r = r.WithContext(x)
	if r.ContentLength != 0 && r.Body != nil {
		x.body.open(x, r)
		r.Body = &x.body
	}
	return x, r
}

func (s *Server) route(x *exchange, r *http.Request, h http.Handler) {
	switch path := r.URL.Path; {
	case path == "/livez":
		x.class = "livez"
		health(x, r, "live", nil)
	case path == "/readyz":
		x.class = "readyz"
		health(x, r, "ready", s.ready())
	case path == "/metrics" && s.o.Metrics != nil:
		x.class = "metrics"
		if readOnly(x, r) {
			s.o.Metrics.ServeHTTP(x, r)
		}
	case s.exempt[path]:
		h.ServeHTTP(x, r)
	default:
		if err := s.enter(); err != nil {
			if err.(*Error).Status == http.StatusTooManyRequests {
				x.Header().Set("Retry-After", "1")
			}
			FailErr(x, err)
			return
		}
		defer s.leave()
		h.ServeHTTP(x, r)
	}
}

// ready is nil when the server wants traffic.
func (s *Server) ready() error {
	if s.draining.Load() {
		return &Error{Status: http.StatusServiceUnavailable, Code: "draining", Msg: "the server is stopping"}
	}
	if err := s.o.Ready(); err != nil {
		return &Error{Status: http.StatusServiceUnavailable, Code: "not_ready", Msg: err.Error(), Err: err}
	}
	return nil
}

func health(w http.ResponseWriter, r *http.Request, word string, err error) {
	switch {
	case !readOnly(w, r):
	case err != nil:
		FailErr(w, err)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "{%q:true}\n", word)
	}
}

func readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	Fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "this page is read with GET or HEAD, not "+r.Method)
	return false
}

// Draining is true when the server that carries r is draining.
func Draining(r *http.Request) bool {
	x := exchangeOf(r)
	return x != nil && x.server.draining.Load()
}

// Note adds attributes to the log line of this request.
func Note(r *http.Request, attrs ...slog.Attr) {
	if x := exchangeOf(r); x != nil {
		x.mu.Lock()
		x.notes = append(x.notes, attrs...)
		x.mu.Unlock()
	}
}

// Class names the class of path this request counts under in the metrics. It
// must come from a fixed set, never from the request. The default is the
// pattern of a ServeMux, or "other".
func Class(r *http.Request, class string) {
	if x := exchangeOf(r); x != nil {
		x.mu.Lock()
		x.class = class
		x.mu.Unlock()
	}
}

// Unwrap lets http.ResponseController find the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader ends the reading of the body, as in net/http, and notes the
// status on its way.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.body.finish()
		x.status = status
		x.gone = x.gone || x.Err() != nil
		if x.server.draining.Load() {
			x.Header().Set("Connection", "close")
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	x.arm(len(p))
	n, err := x.ResponseWriter.Write(p)
	if !x.head {
		x.out += int64(n)
	}
	x.gone = x.gone || err != nil && x.Err() != nil
	return n, err
}

// Flush sends what was written so far.
func (x *exchange) Flush() {
	x.arm(0)
	_ = http.NewResponseController(x.ResponseWriter).Flush()
}

// arm gives the client time to take n bytes. Deadlines of connections are in
// real time, whatever clock the log has.
func (x *exchange) arm(n int) {
	o := &x.server.o
	x.armed = time.Now()
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(x.armed.Add(o.BodyTimeout + o.span(int64(n))))
}

// span is how long n bytes take at the least rate.
func (o *Options) span(n int64) time.Duration {
	return time.Duration(float64(n) / float64(o.BodyRate) * float64(time.Second))
}

// end is deferred around a handler: it catches a panic, completes the answer,
// counts and logs.
func (x *exchange) end(r *http.Request) {
	fault := recover()
	abort := fault == http.ErrAbortHandler
	if fault != nil && !abort {
		x.server.o.Log.LogAttrs(x, slog.LevelError, "panic in a handler", slog.String("method", r.Method), slog.String("path", clip(r.URL.Path, 256)),
			slog.String("panic", fmt.Sprint(fault)), slog.String("stack", string(debug.Stack())))
		// Half an answer must not look whole: the connection is closed under it.
		abort = x.status != 0
		Fail(x, http.StatusInternalServerError, "internal", "the server made an error; its log says more")
		x.status, x.code = http.StatusInternalServerError, "internal"
	}
	switch {
	case x.status != 0:
	case abort:
		x.status, x.gone = http.StatusInternalServerError, x.gone || x.Err() != nil
	default:
		x.WriteHeader(http.StatusOK)
	}
	if time.Since(x.armed) > x.server.o.BodyTimeout/2 {
		x.arm(0) // net/http sends the rest after us
	}
	x.record(r)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// record counts and logs the request.
func (x *exchange) record(r *http.Request) {
	s, status := x.server, x.status
	switch {
	case s.cutting.Load():
		status = http.StatusServiceUnavailable
	case x.gone:
		status = 499 // nginx's number for a client that left
	}
	now := s.o.Now()
	took := now.Sub(x.start)
	x.mu.Lock()
	defer x.mu.Unlock()
	class := x.class
	if class == "" {
		class = r.Pattern
	}
	if class == "" {
		class = "other"
	}
	s.meters.requests.With(class, codeText(status)).Inc()
	s.meters.seconds.With(class).Observe(took.Seconds())
	s.meters.in.Add(float64(x.body.n))
	s.meters.out.Add(float64(x.out))

	logger := s.o.Log.Handler()
	if !logger.Enabled(x, slog.LevelInfo) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 16),
		slog.String("method", clip(r.Method, 32)),
		slog.String("path", clip(r.URL.Path, 256)), // never the query: it may hold secrets
		slog.Int("status", status),
		slog.Int64("us", took.Microseconds()),
		slog.Int64("in", x.body.n),
		slog.Int64("out", x.out),
		slog.String("remote", r.RemoteAddr))
	if agent := r.UserAgent(); agent != "" {
		attrs = append(attrs, slog.String("agent", clip(agent, 128)))
	}
	if x.code != "" {
		attrs = append(attrs, slog.String("error", x.code))
	}
	line := slog.NewRecord(now, slog.LevelInfo, "request", 0)
	line.AddAttrs(append(attrs, x.notes...)...)
	_ = logger.Handle(x, line) // a full disk must not stop the service
}

// codeText avoids an allocation for nearly all answers.
func codeText(status int) string {
	if status == http.StatusOK {
		return "200"
	}
	return strconv.Itoa(status)
}

// clip keeps what a client chose from filling the log.
func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}
