package serve

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// BenchmarkNoop compares a no-op model behind everything a user gets (access
// log, metrics, limits, queue) with a bare net/http echo of the same payload,
// in turns over loopback TCP in this process; "ratio" is requests per second
// of the service over those of the echo. The client is the same few lines for
// both: it writes a prepared request and reads the answer.
func BenchmarkNoop(b *testing.B) {
	for _, size := range []int{1 << 10, 48 << 10} {
		for _, clients := range []int{1, 8} {
			b.Run(fmt.Sprintf("%dKiB/clients=%d", size>>10, clients), func(b *testing.B) { noop(b, size, clients) })
		}
	}
}

func noop(b *testing.B, size, clients int) {
	width := int64(size / 4)
	reg := metrics.NewRegistry()
	svc, err := New(Config{Metrics: reg, Models: []Model{loaded("noop", line(b, width, infer.SimOptions{}))}})
	if err != nil {
		b.Fatal(err)
	}
	if err := svc.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	ours := listen(b, front.New(front.Options{Metrics: reg, Log: log}).Handler(svc.Handler()))
	echo := listen(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			panic(err)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
	row := make([]byte, size)
	for i := range row {
		row[i] = byte(rand.UintN(256))
	}
	body, head, err := oip.AppendRequest(nil, &oip.Request{Inputs: []oip.Tensor{
		{Name: "x", DType: ascend.Float, Shape: []int64{1, width}, Data: row}}}, true)
	if err != nil {
		b.Fatal(err)
	}
	post := func(path string) []byte {
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\n%s: %d\r\nContent-Length: %d\r\n\r\n%s", path, oip.HeaderLength, head, len(body), body)
	}
	mine, bare := callers(b, ours, post("/v2/models/noop/infer"), row, clients), callers(b, echo, post("/"), row, clients)
	var took [2]time.Duration
	var ratios []float64
	for b.Loop() { // one turn of both, in alternating order
		const turn = 400
		var d [2]time.Duration
		first := len(ratios) % 2
		for _, side := range []int{first, 1 - first} {
			d[side] = [][]*caller{mine, bare}[side][0].all([][]*caller{mine, bare}[side], turn)
		}
		took[0], took[1] = took[0]+d[0], took[1]+d[1]
		ratios = append(ratios, float64(d[1])/float64(d[0]))
	}
	slices.Sort(ratios)
	n := float64(len(ratios) * 400)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(n/took[0].Seconds(), "req/s")
	b.ReportMetric(n/took[1].Seconds(), "echo-req/s")
	b.ReportMetric(0, "ns/op")
}

// listen serves h on loopback until the benchmark ends.
func listen(b *testing.B, h http.Handler) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(ln) }()
	b.Cleanup(func() { srv.Close() })
	return ln.Addr().String()
}

// caller is one keep-alive connection.
type caller struct {
	b       *testing.B
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	row     []byte
	buf     []byte
}

func callers(b *testing.B, addr string, request, row []byte, n int) (all []*caller) {
	for range n {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		all = append(all, &caller{b, conn, bufio.NewReaderSize(conn, 64<<10), request, row, nil})
	}
	return all
}

// all has the callers send so many requests together.
func (*caller) all(cs []*caller, requests int) time.Duration {
	start, done := time.Now(), make(chan struct{})
	for _, c := range cs {
		go func() {
			for range requests / len(cs) {
				c.call()
			}
			done <- struct{}{}
		}()
	}
	for range cs {
		<-done
	}
	return time.Since(start)
}

// call sends the request and reads the answer, which must end with the row.
func (c *caller) call() {
	if _, err := c.conn.Write(c.request); err != nil {
		panic(err)
	}
	status, err := c.in.ReadString('\n')
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 200") {
		panic(fmt.Sprint(status, err))
	}
	size := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			panic(err)
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			size, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	if cap(c.buf) < size {
		c.buf = make([]byte, size)
	}
	if _, err := io.ReadFull(c.in, c.buf[:size]); err != nil || !bytes.HasSuffix(c.buf[:size], c.row) {
		panic(fmt.Sprint("a wrong answer ", err))
	}
}
