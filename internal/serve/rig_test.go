package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/oip"
)

// rig is a service behind the real front on a real port.
type rig struct {
	t   *testing.T
	svc *Service
	url string
	reg *metrics.Registry
}

// newRig serves what cfg says, started and ready, until the test ends.
func newRig(t *testing.T, cfg Config, o front.Options) *rig {
	t.Helper()
	r := lazyRig(t, cfg, o)
	if err := r.svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// lazyRig is newRig before Start.
func lazyRig(t *testing.T, cfg Config, o front.Options) *rig {
	t.Helper()
	reg := metrics.NewRegistry()
	cfg.Metrics, o.Metrics = reg, reg
	svc, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(front.New(o).Handler(svc.Handler()))
	t.Cleanup(func() {
		srv.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := svc.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &rig{t, svc, srv.URL, reg}
}

// loaded is a model whose backend is already there.
func loaded(name string, b infer.Backend) Model {
	return Model{name, func(context.Context) (infer.Backend, error) { return b, nil }}
}

// pair is the simulated model a FP32 [-1,2], n INT64 [-1] -> the same as ya, yn.
func pair(t testing.TB, o infer.SimOptions) infer.Backend {
	t.Helper()
	row, flat := []int64{-1, 2}, []int64{-1}
	o.Signature = oip.Signature{
		Inputs: []oip.Port{
			{Name: "a", DType: ascend.Float, Dims: row, DimNames: []string{"batch", ""}},
			{Name: "n", DType: ascend.Int64, Dims: flat, DimNames: []string{"batch"}},
		},
		Outputs: []oip.Port{
			{Name: "ya", DType: ascend.Float, Dims: row, DimNames: []string{"batch", ""}},
			{Name: "yn", DType: ascend.Int64, Dims: flat, DimNames: []string{"batch"}},
		},
	}
	b, err := infer.OpenSim(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// line is the simulated model x FP32 [-1,width] -> y.
func line(t testing.TB, width int64, o infer.SimOptions) infer.Backend {
	t.Helper()
	o.Signature = vectors(ascend.Float, width)
	b, err := infer.OpenSim(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// onePair is a right request for pair.
const onePair = `{"id":"7","inputs":[` +
	`{"name":"a","shape":[1,2],"datatype":"FP32","data":[1.5,-2]},` +
	`{"name":"n","shape":[1],"datatype":"INT64","data":[9007199254740993]}]}`

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// try sends a request; header pairs follow the body.
func (r *rig) try(method, path, body string, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text}, err
}

// ask is try on the goroutine of the test.
func (r *rig) ask(method, path, body string, header ...string) answer {
	r.t.Helper()
	a, err := r.try(method, path, body, header...)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// want asks and demands a status; of an error it demands the form of one too.
func (r *rig) want(status int, method, path, body string, header ...string) map[string]any {
	r.t.Helper()
	a := r.ask(method, path, body, header...)
	if a.status != status {
		r.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	if method == http.MethodHead {
		if len(a.body) != 0 {
			r.t.Errorf("HEAD %s has a body: %s", path, a.body)
		}
		return nil
	}
	return r.object(a)
}

// object reads the JSON of an answer; C107 holds for every one of them.
func (r *rig) object(a answer) map[string]any {
	r.t.Helper()
	head := a.body
	if n := a.header.Get(oip.HeaderLength); n != "" {
		head, _, _ = bytes.Cut(a.body, []byte("]}"))
		head = append(head[:len(head):len(head)], "]}"...)
	}
	var m map[string]any
	if err := json.Unmarshal(head, &m); err != nil {
		r.t.Fatalf("status %d: the body is not JSON: %v: %q", a.status, err, a.body)
	}
	if a.status >= 400 {
		if text, _ := m["error"].(string); text == "" || a.header.Get("X-Ascendctl-Error") == "" {
			r.t.Errorf("status %d: want a text in error and a word in X-Ascendctl-Error, got %s, %q", a.status, a.body, a.header.Get("X-Ascendctl-Error"))
		}
	}
	return m
}

// keys demands that m has these keys.
func (r *rig) keys(m map[string]any, keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			r.t.Errorf("no %q in %v", k, maps.Keys(m))
		}
	}
}

// sum reads one figure from the registry.
func (r *rig) sum(sample string, pairs ...string) float64 {
	r.t.Helper()
	v, n := r.reg.Families().Sum(sample, pairs...)
	if n == 0 {
		r.t.Fatalf("no sample %s %v", sample, pairs)
	}
	return v
}

// until waits for something that must come soon.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// wire is one connection that stays open.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, ln net.Listener) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	w := &wire{conn, bufio.NewReader(conn)}
	if got := w.post(t, "GET /v2/health/live", ""); got != 200 {
		t.Fatalf("live: %d", got)
	}
	return w
}

// post sends one request and gives the status of its answer.
func (w *wire) post(t *testing.T, line, body string) int {
	t.Helper()
	fmt.Fprintf(w.conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
