package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Options of a server; zero values are the defaults named here.
type Options struct {
	Drain         time.Duration     // running requests get this long once the context ends; 30 s
	HeaderTimeout time.Duration     // from the first byte of a request to the end of its header; 10 s
	IdleTimeout   time.Duration     // of a connection between requests; 120 s
	BodyTimeout   time.Duration     // a body, in or out, may take this long plus its size / BodyRate; 30 s
	BodyRate      int64             // bytes per second; 64 KiB
	MaxHeader     int               // bytes; 64 KiB
	MaxBody       int64             // bytes, compressed and decompressed alike; 64 MiB
	MaxRequests   int               // running at once; more get 429; 1024
	Exempt        []string          // further paths (a readiness page of a protocol) that are neither counted nor refused in a drain
	Ready         func() error      // nil means always ready; /readyz shows the text of the error
	Log           *slog.Logger      // access log and faults; nil means none
	Metrics       *metrics.Registry // also served at /metrics; nil means none
	Now           func() time.Time  // of the log and the metrics; nil means time.Now
}

func (o *Options) fill() {
	or(&o.Drain, 30*time.Second)
	or(&o.HeaderTimeout, 10*time.Second)
	or(&o.IdleTimeout, 120*time.Second)
	or(&o.BodyTimeout, 30*time.Second)
	or(&o.BodyRate, 64<<10)
	or(&o.MaxHeader, 64<<10)
	or(&o.MaxBody, 64<<20)
	or(&o.MaxRequests, 1024)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func or[T comparable](v *T, standard T) {
	var zero T
	if *v == zero {
		*v = standard
	}
}

// Server serves one listener.
type Server struct {
	o        Options
	exempt   map[string]bool
	meters   meters
	buffers  buffers
	decoders sync.Pool

	running  atomic.Int64 // requests in handlers, without health and metrics
	draining atomic.Bool
	idle     chan struct{} // tells a drain that running fell to zero
	cut      chan struct{}
	cutOnce  sync.Once
	cutting  atomic.Bool // connections are being closed under their requests
}

// meters are the metrics that the server keeps itself.
type meters struct {
	requests *metrics.CounterVec
	seconds  *metrics.HistogramVec
	in, out  *metrics.Counter
}

// New makes a server. It registers its metrics in o.Metrics, so one registry
// serves one server.
func New(o Options) *Server {
	reg := o.Metrics
	if reg == nil {
		reg = metrics.NewRegistry() // keeps the request path free of ifs
	}
	o.fill()
	s := &Server{o: o, exempt: map[string]bool{}, idle: make(chan struct{}, 1), cut: make(chan struct{})}
	for _, path := range o.Exempt {
		s.exempt[path] = true
	}
	s.meters = meters{
		requests: reg.Counter("ascendctl_http_requests_total", "HTTP requests by class of path and status code; 499 is a client that left.", "path_class", "code"),
		seconds:  reg.Histogram("ascendctl_http_request_duration_seconds", "Seconds from the header of a request to the end of its handler.", metrics.SecondsBuckets(), "path_class"),
		in:       reg.Counter("ascendctl_http_request_bytes_total", "Bytes of request bodies as they came over the wire.").With(),
		out:      reg.Counter("ascendctl_http_response_bytes_total", "Bytes of response bodies.").With(),
	}
	reg.GaugeFunc("ascendctl_http_requests_in_flight", "HTTP requests in handlers, without health and metrics.", func() float64 { return float64(s.running.Load()) })
	return s
}

// ErrCut is in the error of a Run that had to cut requests.
var ErrCut = errors.New("requests were cut")

const (
	flushTime  = time.Second     // for answers that were written but not yet sent
	unwindTime = 2 * time.Second // for handlers whose context was cancelled
)

// Run serves h beside /livez, /readyz and /metrics until ctx ends, and then
// drains: it is not ready, takes no more connections, answers new requests on
// open ones 503 with Connection: close, and lets running requests finish
// within Options.Drain. Those that do not are cut (their contexts end) and Run
// returns a *report.Problem that counts them and wraps ErrCut. Run is called
// once.
func (s *Server) Run(ctx context.Context, ln net.Listener, h http.Handler) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           s.Handler(h),
		ReadHeaderTimeout: s.o.HeaderTimeout,
		IdleTimeout:       s.o.IdleTimeout,
		MaxHeaderBytes:    s.o.MaxHeader,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	defer srv.Close()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	// Shutdown of net/http would close idle connections at once, and a client
	// that is just sending on one could not tell whether its request was
	// executed. They stay open, and answer 503, until the last request is done.
	s.draining.Store(true)
	_ = ln.Close()
	<-served
	left := s.await(s.o.Drain, s.cut)
	if left == 0 {
		flush, done := context.WithTimeout(base, flushTime)
		defer done()
		_ = srv.Shutdown(flush) // what is left then never sent a request
		return nil
	}
	s.cutting.Store(true)
	_ = srv.Close()
	cancel()
	s.await(unwindTime, nil)
	return &report.Problem{
		What: report.T("running requests cut: %d", "被中断的运行中请求：%d 个", left),
		Why:  report.T("they had not finished when the server had to stop (drain time %s)", "服务必须停止时，这些请求仍未完成（排空时限 %s）", s.o.Drain),
		Do:   report.T("allow a longer drain time, or send shorter requests", "延长排空时限，或缩短单个请求的耗时"),
		Exit: report.ExitFailed, Err: ErrCut,
	}
}

// await waits until no request runs, limit has passed or stop is closed, and
// gives the number that still run.
func (s *Server) await(limit time.Duration, stop <-chan struct{}) int64 {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		left := s.running.Load()
		if left == 0 {
			return 0
		}
		select {
		case <-s.idle:
		case <-late.C:
			return s.running.Load()
		case <-stop:
			return s.running.Load()
		}
	}
}

// Cut ends a drain, the running or the coming one, at once: what the second
// Ctrl-C asks for.
func (s *Server) Cut() { s.cutOnce.Do(func() { close(s.cut) }) }

// enter counts a request in; an *Error says why it must not run.
func (s *Server) enter() error {
	n := s.running.Add(1)
	// Counted first, looked second: a drain that saw zero refuses this one.
	switch {
	case s.draining.Load():
		s.leave()
		return &Error{Status: http.StatusServiceUnavailable, Code: "draining", Msg: "the server is stopping and takes no new requests"}
	case n > int64(s.o.MaxRequests):
		s.leave()
		return &Error{Status: http.StatusTooManyRequests, Code: "busy", Msg: fmt.Sprintf("%d requests are running, the limit of this server", s.o.MaxRequests)}
	}
	return nil
}

func (s *Server) leave() {
	if s.running.Add(-1) == 0 && s.draining.Load() {
		select {
		case s.idle <- struct{}{}:
		default:
		}
	}
}
