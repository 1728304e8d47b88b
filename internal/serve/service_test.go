package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestNewRefusesBadModels(t *testing.T) {
	for _, names := range [][]string{nil, {""}, {"a", "a"}, {"/a"}, {"a/"}, {"a//b"}, {".."}, {"a/./b"}, {"a\nb"}, {"\xff"}, {strings.Repeat("a", 257)}} {
		var cfg Config
		for _, n := range names {
			cfg.Models = append(cfg.Models, loaded(n, nil))
		}
		_, err := New(cfg)
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != report.ExitUsage || p.What.Zh == "" {
			t.Errorf("%q: got %v, want a problem with exit 64", names, err)
		}
	}
}

// started is a service over f, under the clock of a synctest bubble.
func started(t *testing.T, f *fake, cfg Config) *Service {
	t.Helper()
	cfg.Models = []Model{loaded("m", f)}
	svc, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return svc
}

func TestHealthIsRealWithAStuckRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{sig: vectors(ascend.Float, 1)}
		svc := started(t, f, Config{Watchdog: 5 * time.Second})
		f.gate = make(chan struct{})
		c := &crowd{q: svc.models[0].live.Load().queue}
		c.add(rowsOf(t.Context(), 1, 0))
		time.Sleep(4 * time.Second)
		if err := svc.Ready(); err != nil {
			t.Errorf("a run of 4 s: %v, want ready", err)
		}
		time.Sleep(2 * time.Second)
		if err := svc.Ready(); err == nil || !strings.Contains(err.Error(), "has not come back for 6s") {
			t.Errorf("a run of 6 s: %v, want it named", err)
		}
		close(f.gate)
		c.wait.Wait()
		if err := svc.Ready(); err != nil {
			t.Errorf("after the run came back: %v, want ready", err)
		}
		if err := svc.Close(t.Context()); err != nil || !f.closed {
			t.Errorf("close: %v, backend closed %t", err, f.closed)
		}
	})
}

func TestHealthIsRealWithAnIdleDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		hang := make(chan struct{})
		f := &fake{sig: vectors(ascend.Float, 1)}
		f.probe = func(ctx context.Context) error { asked.Add(1); return nil }
		svc := started(t, f, Config{Probe: 10 * time.Second})
		for i, step := range []struct {
			sleep time.Duration
			asked int32
		}{{0, 0}, {9 * time.Second, 0}, {2 * time.Second, 1}, {9 * time.Second, 1}, {2 * time.Second, 2}} {
			time.Sleep(step.sleep)
			if err := svc.Ready(); err != nil || asked.Load() != step.asked {
				t.Errorf("step %d: %v after %d probes, want ready and %d", i, err, asked.Load(), step.asked)
			}
		}
		f.probe = func(context.Context) error { asked.Add(1); return errors.New("no such device") }
		time.Sleep(11 * time.Second)
		if err := svc.Ready(); err == nil || !strings.Contains(err.Error(), "no such device") {
			t.Errorf("a device that is gone: %v", err)
		}
		// A probe that hangs is asked once, however often somebody looks.
		asked.Store(0)
		f.probe = func(context.Context) error { asked.Add(1); <-hang; return nil }
		for range 3 {
			if err := svc.Ready(); err == nil || !strings.Contains(err.Error(), "no answer within 2s") {
				t.Errorf("a device that hangs: %v", err)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("%d probes hang, want 1", asked.Load())
		}
		close(hang)
		synctest.Wait()
		if err := svc.Ready(); err != nil {
			t.Errorf("after it answered: %v", err)
		}
	})
}

func TestALostDeviceEndsReadiness(t *testing.T) {
	f := &fake{sig: vectors(ascend.Float, 1)}
	r := newRig(t, Config{Models: []Model{loaded("m", f)}}, front.Options{})
	f.run = func(*infer.Batch) error { return &infer.Error{Class: infer.Lost, Op: "Run", Detail: "the worker died"} }
	r.want(503, "POST", "/v2/models/m/infer", vector("1", 0, 1))
	if got := r.want(503, "GET", "/v2/health/ready", ""); !strings.Contains(got["error"].(string), "the worker died") {
		t.Errorf("got %v", got)
	}
	if v := r.sum("ascendctl_model_ready", "model", "m"); v != 0 {
		t.Errorf("ascendctl_model_ready is %v, want 0", v)
	}
}

func TestFailuresOfTheBackendHaveTheirStatusAndAreLogged(t *testing.T) {
	var log bytes.Buffer
	f := &fake{sig: vectors(ascend.Float, 1)}
	r := newRig(t, Config{Models: []Model{loaded("m", f)}, Log: slog.New(slog.NewJSONHandler(&log, nil))}, front.Options{})
	for class, want := range map[infer.Class]int{
		infer.Reject: 400, infer.Failed: 500, infer.Short: 500, infer.Closed: 503, infer.Canceled: 503,
	} {
		f.run = func(*infer.Batch) error {
			return &infer.Error{Class: class, Op: "Run", Code: 207001, Name: "STORAGE", Detail: "scripted", Action: "unload_something"}
		}
		r.want(want, "POST", "/v2/models/m/infer", vector("my-id", 0, 1))
	}
	if n := strings.Count(log.String(), `"my-id","err":"Run: STORAGE (207001): scripted","code":207001,"name":"STORAGE","action":"unload_something"`); n != 2 {
		t.Errorf("%d lines in the log, want one for each 500:\n%s", n, log.String())
	}
}

func TestAModelThatCannotBeOpenedOrWarmedFailsTheStart(t *testing.T) {
	broken := errors.New("broken file")
	svc, err := New(Config{Models: []Model{{"m", func(context.Context) (infer.Backend, error) { return nil, broken }}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	f := &fake{sig: vectors(ascend.Float, 1), run: func(*infer.Batch) error { return &infer.Error{Class: infer.Lost, Op: "Run", Detail: "gone"} }}
	svc, err = New(Config{Models: []Model{loaded("m", f)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "warm-up of model m") || !f.closed {
		t.Errorf("got %v, backend closed %t", err, f.closed)
	}
	if err := svc.Ready(); err == nil {
		t.Error("ready without a model")
	}
	if err := svc.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAModelWithoutBatchingSaysWhyAndRunsInSeveralLanes(t *testing.T) {
	f := &fake{sig: vectors(ascend.Float, 1)}
	r := newRig(t, Config{MaxBatch: 1, Lanes: 3, Models: []Model{loaded("m", f)}}, front.Options{})
	info := r.svc.Models()[0]
	if info.Lanes != 3 || info.Batching.On || info.Batching.Why.IsZero() {
		t.Errorf("got %+v", info)
	}
	p := r.want(200, "GET", "/v2/models/m", "")["parameters"].(map[string]any)
	if p["no_batching_because"] == "" || p["max_batch"] != 1.0 || p["lanes"] != 3.0 {
		t.Errorf("parameters %v", p)
	}
	f.mu.Lock()
	f.gate, f.batches = make(chan struct{}), nil
	f.mu.Unlock()
	var waiting []<-chan answer
	for i := range 4 {
		waiting = append(waiting, r.pending(vector("x", 0, float32(i))))
	}
	f.began(t, 3)
	r.queued(1)
	close(f.gate)
	for _, w := range waiting {
		if a := <-w; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// A body that is not what the model takes is the client's fault, whatever it is.
func FuzzInferBodies(f *testing.F) {
	for _, seed := range []string{onePair, "", "{}", `{"inputs":[]}`, `{"inputs":[{"name":"a","shape":[9999999999,2],"datatype":"FP32","data":[]}]}`,
		`{"parameters":{"timeout":1e99},"inputs":[]}`, strings.Repeat("[", 1000)} {
		f.Add([]byte(seed), "")
		f.Add([]byte(seed), "4")
	}
	head := `{"inputs":[{"name":"a","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}},{"name":"n","shape":[1],"datatype":"INT64","parameters":{"binary_data_size":8}}]}`
	f.Add([]byte(head+"0123456789abcdef"), "181")
	svc, err := New(Config{Models: []Model{loaded("pair", pair(f, infer.SimOptions{}))}})
	if err != nil {
		f.Fatal(err)
	}
	if err := svc.Start(f.Context()); err != nil {
		f.Fatal(err)
	}
	h := front.New(front.Options{MaxBody: 1 << 20}).Handler(svc.Handler())
	f.Fuzz(func(t *testing.T, body []byte, headerLength string) {
		req := httptest.NewRequest("POST", "/v2/models/pair/infer", bytes.NewReader(body))
		if headerLength != "" {
			req.Header.Set(oip.HeaderLength, headerLength)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code >= 500 || w.Code != 200 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
