// Package bench puts load on a running inference service and measures it.
package bench

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Options of a run; zero values are the defaults named here.
type Options struct {
	URL   string // base address: http://127.0.0.1:8000
	Model string
	// Data are arrays by input name whose axis 0 counts the rows. Each request
	// takes the next Rows of them, what is left at the end, and then from the
	// top again. nil: random rows, floats in [0, 1), integers 0 or 1, variable
	// dims 1.
	Data   map[string]oip.Tensor
	Rows   int     // of a request; 1
	Labels []int64 // the right class of each row of Data; nil: answers are not judged
	Output string  // whose largest element is the class, or that is the class where a row is one integer; the only output
	Seed   uint64  // of random rows

	Concurrency []int         // clients, one level each; {1}
	Requests    int           // of a level; 0: the rows of Data once, 1000 without Data
	Duration    time.Duration // of a level, in place of Requests
	WarmUp      int           // requests before a level, not counted; 2 per client; negative: none
	Binary      bool          // binary tensors instead of JSON
	Timeout     time.Duration // of one request; 30 s

	Client   *http.Client          // nil: one of its own
	Now      func() time.Time      // monotonic; nil: time.Now
	Progress func(done, total int) // requests of all levels; total 0 with Duration; called by many goroutines
}

// Result is what a run measured. Times are milliseconds.
type Result struct {
	URL         string  `json:"url"`
	Model       string  `json:"model"`
	Device      Device  `json:"device"`
	Load        string  `json:"load"` // "closed": each client sends when it has its answer
	Binary      bool    `json:"binary"`
	RowsPerSend int     `json:"rows_per_request"`
	Levels      []Level `json:"levels"`
}

// Device is what the service says its model runs on; empty fields were not told.
type Device struct {
	Kind      string `json:"kind"` // cpu, npu, sim
	Name      string `json:"name"`
	Simulated bool   `json:"simulated"` // true must be said beside every figure
	MaxBatch  int    `json:"max_batch"` // rows the service puts into one batch; 0: not told
	Why       string `json:"no_batching_because,omitempty"`
}

// Level is one number of clients. The time of a request is from just before it
// is sent until its body is read, before it is decoded; percentiles are by
// nearest rank over answered requests (HTTP 200) and 0 without any.
type Level struct {
	Concurrency int            `json:"concurrency"`
	Requests    int            `json:"requests"` // sent and ended, with errors
	Errors      int            `json:"errors"`
	ErrorKinds  map[string]int `json:"error_kinds"` // connect, timeout, http_429, answer, ...
	FirstError  string         `json:"first_error,omitempty"`
	Seconds     float64        `json:"seconds"`        // from the first send to the last answer
	PerSecond   float64        `json:"requests_per_s"` // answered ones
	P50         float64        `json:"p50_ms"`
	P90         float64        `json:"p90_ms"`
	P99         float64        `json:"p99_ms"`
	Max         float64        `json:"max_ms"`
	// MeanBatch is rows per batch by the counters of the service, over all of
	// its clients; nil where it has none.
	MeanBatch *float64  `json:"mean_batch"`
	Accuracy  *Accuracy `json:"accuracy"` // nil without labels
}

// Accuracy counts rows whose largest output element is the label.
type Accuracy struct {
	Right   int     `json:"right"`
	Total   int     `json:"total"`   // rows answered
	Percent float64 `json:"percent"` // two decimals
}

// Run measures every level of o in turn. An error is a *report.Problem and
// means that there is nothing to show: the service cannot be reached (exit 5),
// or what is asked does not fit its model (64). Requests that fail are counted,
// and do not end the run. When ctx ends, the levels measured so far are
// returned with the error of ctx.
func Run(ctx context.Context, o Options) (Result, error) {
	o.defaults()
	if err := o.check(); err != nil {
		return Result{}, err
	}
	if o.Client == nil {
		transport := &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: maxClients, DisableCompression: true}
		defer transport.CloseIdleConnections()
		o.Client = &http.Client{Transport: transport}
	}
	c := newClient(&o)
	meta, err := c.metadata(ctx)
	if err != nil {
		return Result{}, err
	}
	f, err := newFeed(&o, meta)
	if err != nil {
		return Result{}, err
	}
	res := Result{URL: o.URL, Model: o.Model, Device: deviceOf(meta), Load: "closed", Binary: o.Binary, RowsPerSend: o.Rows}
	if o.Requests == 0 && o.Duration <= 0 {
		o.Requests = f.once()
	}
	done := new(atomic.Int64)
	for _, n := range o.Concurrency {
		l := &level{o: &o, c: c, f: f, clients: n, done: done}
		measured, err := l.run(ctx)
		if err != nil {
			return res, err
		}
		res.Levels = append(res.Levels, measured)
	}
	return res, nil
}

// maxClients bounds a level: each has a goroutine and a connection.
const maxClients = 4096

func (o *Options) defaults() {
	if o.Rows == 0 {
		o.Rows = 1
	}
	if len(o.Concurrency) == 0 {
		o.Concurrency = []int{1}
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
}

// check refuses what no service could do.
func (o *Options) check() error {
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage(report.T("address %q: expected one like http://127.0.0.1:8000", "地址 %q：应形如 http://127.0.0.1:8000", o.URL))
	}
	switch {
	case o.Model == "":
		return usage(report.T("no model named", "未指定模型"))
	case o.Rows < 0:
		return usage(report.T("rows of a request: expected 1 or more, got %d", "每个请求的行数：应至少为 1，实际为 %d", o.Rows))
	case o.Requests < 0:
		return usage(report.T("requests: expected 1 or more, got %d", "请求数：应至少为 1，实际为 %d", o.Requests))
	case o.Requests > 0 && o.Duration > 0:
		return usage(report.T("a level ends after a number of requests or after a time, not both", "每一档按请求数或按时间结束，不能同时指定"))
	case o.Labels != nil && o.Data == nil:
		return usage(report.T("labels need the data they belong to", "指定标签时必须同时指定对应的数据"))
	}
	for _, n := range o.Concurrency {
		if n < 1 || n > maxClients {
			return usage(report.T("concurrency: expected 1 to %d, got %d", "并发数：应为 1 到 %d，实际为 %d", maxClients, n))
		}
	}
	return nil
}

func usage(what report.Text) error { return &report.Problem{What: what, Exit: report.ExitUsage} }

func deviceOf(m oip.Metadata) Device {
	d := Device{}
	d.Kind, _ = m.Parameters["device_kind"].(string)
	d.Name, _ = m.Parameters["device"].(string)
	d.Simulated, _ = m.Parameters["simulated"].(bool)
	d.Why, _ = m.Parameters["no_batching_because"].(string)
	if rows, ok := m.Parameters["max_batch"].(float64); ok {
		d.MaxBatch = int(rows)
	}
	return d
}
