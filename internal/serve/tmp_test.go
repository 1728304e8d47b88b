package serve

import (
	"fmt"
	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
func BenchmarkParts(b *testing.B) {
	size := 1024
	row := make([]byte, size)
	body, head, _ := oip.AppendRequest(nil, &oip.Request{Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{1, 256}, Data: row}}}, true)
	post := func(path string) []byte {
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\n%s: %d\r\nContent-Length: %d\r\n\r\n%s", path, oip.HeaderLength, head, len(body), body)
	}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	fe := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, rel, err := front.ReadBody(w, r)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
		rel()
	})
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		io.ReadFull(r.Body, body)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	svc := func(reg *metrics.Registry) *Service {
		s, _ := New(Config{Metrics: reg, Models: []Model{loaded("noop", line(b, 256, infer.SimOptions{}))}})
		s.Start(b.Context())
		return s
	}
	reg := metrics.NewRegistry()
	reg2 := metrics.NewRegistry()
	sides := map[string][]*caller{
		"0echo":      callers(b, listen(b, echo), post("/"), row, 1),
		"1front":     callers(b, listen(b, front.New(front.Options{Metrics: metrics.NewRegistry()}).Handler(fe)), post("/"), row, 1),
		"2front+log": callers(b, listen(b, front.New(front.Options{Metrics: metrics.NewRegistry(), Log: log}).Handler(fe)), post("/"), row, 1),
		"3svc":       callers(b, listen(b, front.New(front.Options{Metrics: reg}).Handler(svc(reg).Handler())), post("/v2/models/noop/infer"), row, 1),
		"4svc+log":   callers(b, listen(b, front.New(front.Options{Metrics: reg2, Log: log}).Handler(svc(reg2).Handler())), post("/v2/models/noop/infer"), row, 1),
	}
	names := []string{"0echo", "1front", "2front+log", "3svc", "4svc+log"}
	all := map[string][]float64{}
	cp := map[string]time.Duration{}
	n := 0
	for b.Loop() {
		n++
		var echoT time.Duration
		for _, k := range names {
			c := cpu()
			d := sides[k][0].all(sides[k], 400)
			cp[k] += cpu() - c
			if k == "0echo" {
				echoT = d
			}
			all[k] = append(all[k], float64(echoT)/float64(d))
		}
	}
	for _, k := range names {
		slices.Sort(all[k])
		fmt.Printf("%s wall ratio %.3f cpu %.1fus ratio %.3f\n", k, all[k][len(all[k])/2], float64(cp[k].Microseconds())/float64(n*400), float64(cp["0echo"])/float64(cp[k]))
	}
}
