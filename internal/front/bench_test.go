package front

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/metrics"
)

// BenchmarkServer compares an echo through front, with everything on, to a
// bare one of net/http: 1 KiB over loopback, in turns of the same run. ratio
// is front's share of the bare throughput.
func BenchmarkServer(b *testing.B) {
	bare := serveForBench(b, func(ctx context.Context, ln net.Listener) error {
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				_, _ = w.Write(body)
			}
		})}
		go func() { <-ctx.Done(); srv.Close() }()
		return srv.Serve(ln)
	})
	full := serveForBench(b, func(ctx context.Context, ln net.Listener) error {
		s := New(Options{Metrics: metrics.NewRegistry(), Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
		mux := http.NewServeMux()
		mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
			Note(r, slog.String("model", "none"))
			echo(w, r)
		})
		return s.Run(ctx, ln, mux)
	})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	defer client.CloseIdleConnections()
	payload := bytes.Repeat([]byte("x"), 1<<10)
	round := func(addr string, n int) time.Duration {
		begin := time.Now()
		for range n {
			resp, err := client.Post("http://"+addr+"/echo", "application/octet-stream", bytes.NewReader(payload))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return time.Since(begin)
	}
	round(bare, 200)
	round(full, 200)
	const turn = 50
	var without, with []time.Duration
	for b.Loop() {
		without = append(without, round(bare, turn))
		with = append(with, round(full, turn))
	}
	// Medians: a neighbour on the machine that takes a turn's time away counts for neither.
	base, ours := median(without), median(with)
	b.ReportMetric(base/turn/1e3, "bare-µs/req")
	b.ReportMetric(ours/turn/1e3, "front-µs/req")
	b.ReportMetric(base/ours, "ratio")
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

func serveForBench(b *testing.B, run func(context.Context, net.Listener) error) string {
	ln, err := Listen("127.0.0.1:0", nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = run(ctx, ln) }()
	b.Cleanup(func() { cancel(); <-ended })
	return ln.Addr().String()
}

// BenchmarkHandler is what the kit itself costs a request, without a network.
func BenchmarkHandler(b *testing.B) {
	s := New(Options{Metrics: metrics.NewRegistry(), Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	h := s.Handler(http.HandlerFunc(echo))
	payload := bytes.Repeat([]byte("x"), 1<<10)
	r, err := http.NewRequest("POST", "/echo", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.ContentLength = int64(len(payload))
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(bytes.NewReader(payload))
		h.ServeHTTP(nowhere{}, r)
	}
}

type nowhere struct{}

func (nowhere) Header() http.Header              { return http.Header{} }
func (nowhere) Write(p []byte) (int, error)      { return len(p), nil }
func (nowhere) WriteHeader(int)                  {}
func (nowhere) SetReadDeadline(time.Time) error  { return nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
