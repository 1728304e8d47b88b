//go:build !race

package serve

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// mostAllocs bounds what a request allocates in front and worker together, the
// request and its header included. Under the race detector pools forget, so this
// is not for it.
const mostAllocs = 50

// TestAllocationsOfARequestDoNotGrowWithIt sends binary requests through all of
// the service to a worker's socket and back; only net/http is left out, and front
// and worker are one process, so that both are counted.
func TestAllocationsOfARequestDoNotGrowWithIt(t *testing.T) {
	first := 0.0
	for _, size := range []int{1 << 10, 224 * 224 * 3 * 4, 4 << 20} {
		post := straight(t, size)
		for range 20 { // every pool has its memory
			post()
		}
		collects := debug.SetGCPercent(-1) // it empties the pools now and then
		got := testing.AllocsPerRun(20, post)
		debug.SetGCPercent(collects)
		t.Logf("%d bytes: %.0f allocations", size, got)
		if first == 0 {
			first = got
		}
		if got > mostAllocs || got > first+2 {
			t.Errorf("%d bytes: %.0f allocations, at most %d and as many as the first (%.0f)", size, got, mostAllocs, first)
		}
	}
}

// straight is a service with a worker, and gives a function that sends it one row
// of that many bytes.
func straight(t *testing.T, size int) (post func()) {
	width := int64(size / 4)
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- infer.ServeWorker(ctx, l, []infer.Hosted{{Name: "m", Backend: line(t, width, infer.SimOptions{})}}, infer.WorkerOptions{})
	}()
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", l.Addr().String())
	}
	remote, err := infer.Connect(t.Context(), infer.RemoteOptions{Dial: dial, Model: "m", Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := New(Config{Metrics: metrics.NewRegistry(), Models: []Model{loaded("m", remote)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(context.Background()); err != nil {
			t.Error(err)
		}
		leave()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	row := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, int(width))
	body, head, err := oip.AppendRequest(nil, &oip.Request{Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{1, width}, Data: row}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	h := front.New(front.Options{}).Handler(svc.Handler())
	w, from := &sink{header: http.Header{}}, bytes.NewReader(nil)
	return func() {
		from.Reset(body)
		w.status, w.end = http.StatusOK, w.end[:0]
		clear(w.header)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/v2/models/m/infer", io.NopCloser(from))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = int64(len(body))
		r.Header.Set(oip.HeaderLength, strconv.Itoa(head))
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK || !bytes.Equal(w.end, row[:min(len(row), cap(w.end))]) {
			t.Fatalf("status %d: %q", w.status, w.end)
		}
	}
}

// sink takes an answer and keeps the beginning of what was written last.
type sink struct {
	header http.Header
	status int
	end    []byte
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(n int)   { s.status = n }

func (*sink) SetReadDeadline(time.Time) error  { return nil }
func (*sink) SetWriteDeadline(time.Time) error { return nil }

func (s *sink) Write(p []byte) (int, error) {
	if s.end == nil {
		s.end = make([]byte, 0, 1024)
	}
	s.end = append(s.end[:0], p[:min(len(p), cap(s.end))]...)
	return len(p), nil
}
