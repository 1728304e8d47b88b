package serve
import ("testing";"net/http";"io";"log/slog";"bytes"
"fmt"
"github.com/ascendctl/ascendctl/internal/front"
"github.com/ascendctl/ascendctl/internal/infer"
"github.com/ascendctl/ascendctl/internal/oip"
"github.com/ascendctl/ascendctl/internal/ascend"
"github.com/ascendctl/ascendctl/internal/metrics")
type null struct{ h http.Header }
func (n *null) Header() http.Header { return n.h }
func (n *null) Write(b []byte) (int, error) { return len(b), nil }
func (n *null) WriteHeader(int) {}
type rc struct{ *bytes.Reader }
func (rc) Close() error { return nil }
func BenchmarkHandler(b *testing.B) {
	row := make([]byte, 1024)
	body, head, _ := oip.AppendRequest(nil, &oip.Request{Inputs: []oip.Tensor{{Name: "x", DType: ascend.Float, Shape: []int64{1, 256}, Data: row}}}, true)
	fe := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, rel, err := front.ReadBody(w, r); if err != nil { panic(err) }
		w.Write(body); rel()
	})
	for _, lg := range []bool{false,true} { for _, kind := range []string{"front","svc"} {
		b.Run(fmt.Sprint(kind, lg), func(b *testing.B) {
			reg := metrics.NewRegistry()
			o := front.Options{Metrics: reg}
			if lg { o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) }
			var h http.Handler = fe
			if kind == "svc" { s, _ := New(Config{Metrics: reg, Models: []Model{loaded("noop", line(b, 256, infer.SimOptions{}))}}); s.Start(b.Context()); h = s.Handler() }
			h = front.New(o).Handler(h)
			rd := bytes.NewReader(body)
			req, _ := http.NewRequest("POST", "/v2/models/noop/infer", nil)
			req.Header[oip.HeaderLength] = []string{fmt.Sprint(head)}
			req.ContentLength = int64(len(body))
			w := &null{http.Header{}}
			b.ReportAllocs()
			for b.Loop() { rd.Reset(body); req.Body = rc{rd}; clear(w.h); h.ServeHTTP(w, req) }
		})
	}}
}
