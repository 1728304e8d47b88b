package serve

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
)

// maxSizes bounds batch_stats: a client chooses the rows of a request that
// runs alone, and must not be able to grow the table with them.
const maxSizes = 256

// families are the metrics of the service, one child a model.
type families struct {
	requests                            *metrics.CounterVec
	batches, rows, padding              *metrics.CounterVec
	batchRows, queueSeconds, runSeconds *metrics.HistogramVec
	copied                              *metrics.CounterVec
	queued, ready, info                 *metrics.GaugeVec
}

func newFamilies(r *metrics.Registry) *families {
	seconds := metrics.SecondsBuckets()
	return &families{
		requests:     r.Counter("ascendctl_infer_requests_total", "Inference requests answered, by outcome.", "model", "outcome"),
		batches:      r.Counter("ascendctl_infer_batches_total", "Batches the backend executed.", "model"),
		rows:         r.Counter("ascendctl_infer_rows_total", "Rows in those batches; divided by the batches it is the mean batch.", "model"),
		padding:      r.Counter("ascendctl_infer_padding_rows_total", "Rows that a gear had and a batch did not.", "model"),
		copied:       r.Counter("ascendctl_infer_copied_bytes_total", "Bytes of tensors copied in user space, on the way to the device and back, in all processes.", "model", "direction"),
		batchRows:    r.Histogram("ascendctl_infer_batch_rows", "Rows of a batch.", metrics.ExpBuckets(1, 2, 10), "model"),
		queueSeconds: r.Histogram("ascendctl_infer_queue_seconds", "Time from arrival to the start of the batch.", seconds, "model"),
		runSeconds:   r.Histogram("ascendctl_infer_execute_seconds", "Time of a batch in the backend.", seconds, "model"),
		queued:       r.Gauge("ascendctl_infer_queue_requests", "Requests that wait for a lane.", "model"),
		ready:        r.Gauge("ascendctl_model_ready", "1 when the model is ready.", "model"),
		info:         r.Gauge("ascendctl_model_info", "What a model runs on; always 1.", "model", "platform", "device_kind", "device", "simulated"),
	}
}

// outcome is how a request ended.
type outcome string

const (
	outcomeOK       outcome = "ok"
	outcomeInvalid  outcome = "invalid"
	outcomeFull     outcome = "queue_full"
	outcomeTimeout  outcome = "timeout"
	outcomeCanceled outcome = "canceled"
	outcomeFailed   outcome = "failed"
	outcomeAway     outcome = "unavailable"
)

var outcomes = []outcome{outcomeOK, outcomeInvalid, outcomeFull, outcomeTimeout, outcomeCanceled, outcomeFailed, outcomeAway}

// span is a count of durations and their sum: {"count", "ns"} of the
// statistics extension.
type span struct {
	Count int64 `json:"count"`
	NS    int64 `json:"ns"`
}

func (s *span) add(d time.Duration) {
	s.Count++
	s.NS += int64(d)
}

// sizeStats is one row of batch_stats.
type sizeStats struct {
	BatchSize     int  `json:"batch_size"`
	ComputeInput  span `json:"compute_input"`
	ComputeInfer  span `json:"compute_infer"`
	ComputeOutput span `json:"compute_output"`
}

// totals is inference_stats. Cancelled and refused requests count as fail, as
// the extension has it.
type totals struct {
	Success       span `json:"success"`
	Fail          span `json:"fail"`
	Queue         span `json:"queue"`
	ComputeInput  span `json:"compute_input"`
	ComputeInfer  span `json:"compute_infer"`
	ComputeOutput span `json:"compute_output"`
	CacheHit      span `json:"cache_hit"`
	CacheMiss     span `json:"cache_miss"`
}

// stats counts what a model did, for /metrics and for the statistics
// extension (source: triton extension_statistics.md).
type stats struct {
	now                    func() time.Time
	joins                  atomic.Bool // batching was on when the model went live: requests have rows
	byOutcome              map[outcome]*metrics.Counter
	batches, rows, padding *metrics.Counter
	copiedIn, copiedOut    *metrics.Counter
	batchRows, queue, exec *metrics.Histogram

	mu       sync.Mutex
	lastOK   time.Time // the backend last answered
	lastReq  time.Time
	lost     error // the backend cannot go on
	batching Batching
	total    totals
	served   int64 // rows of executed batches
	runs     int64
	sizes    map[int]*sizeStats
}

func newStats(f *families, model string, now func() time.Time) *stats {
	s := &stats{
		now: now, byOutcome: map[outcome]*metrics.Counter{}, sizes: map[int]*sizeStats{},
		batches: f.batches.With(model), rows: f.rows.With(model), padding: f.padding.With(model),
		copiedIn: f.copied.With(model, "in"), copiedOut: f.copied.With(model, "out"),
		batchRows: f.batchRows.With(model), queue: f.queueSeconds.With(model), exec: f.runSeconds.With(model),
	}
	for _, o := range outcomes { // all from the start, so that a rate has its zero
		s.byOutcome[o] = f.requests.With(model, string(o))
	}
	return s
}

// ran notes one call of the backend that came back at end.
func (s *stats) ran(rows int, end time.Time, took time.Duration, t infer.Times, err error) {
	if err != nil {
		if failure, ok := errors.AsType[*infer.Error](err); ok && failure.Class == infer.Lost {
			s.mu.Lock()
			s.lost = err
			s.mu.Unlock()
		}
		return
	}
	s.batches.Inc()
	s.rows.Add(float64(rows))
	s.batchRows.Observe(float64(rows))
	s.exec.Observe(took.Seconds())
	compute := t.Execute
	if compute == 0 {
		compute = took
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastOK = end
	s.served += int64(rows)
	s.runs++
	size := s.sizes[rows]
	if size == nil {
		if len(s.sizes) >= maxSizes {
			return
		}
		size = &sizeStats{BatchSize: rows}
		s.sizes[rows] = size
	}
	size.ComputeInput.add(t.CopyIn)
	size.ComputeInfer.add(compute)
	size.ComputeOutput.add(t.CopyOut)
}

// answered notes the end of a request that came at start. j is nil when it
// never reached the queue.
func (s *stats) answered(o outcome, start time.Time, j *job) {
	s.byOutcome[o].Inc()
	now := s.now()
	if o == outcomeOK {
		s.queue.Observe(j.waited.Seconds())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastReq = now
	if o != outcomeOK {
		s.total.Fail.add(now.Sub(start))
		return
	}
	s.total.Success.add(now.Sub(start))
	s.total.Queue.add(j.waited)
	s.total.ComputeInput.add(j.times.CopyIn)
	s.total.ComputeInfer.add(j.took)
	s.total.ComputeOutput.add(j.times.CopyOut)
}

// begin is the moment the warm model goes live.
func (s *stats) begin(b Batching) {
	s.mu.Lock()
	s.batching, s.lastOK = b, s.now()
	s.mu.Unlock()
	s.joins.Store(b.On)
}

// unjoinable notes that batches turned out wrong, and why.
func (s *stats) unjoinable(why report.Text) {
	s.mu.Lock()
	s.batching = Batching{MaxRows: 1, Why: why}
	s.mu.Unlock()
}

// shares tells whether requests share batches.
func (s *stats) shares() Batching {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batching
}

// progress tells when the backend last answered, and the error that ended it.
func (s *stats) progress() (last time.Time, lost error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastOK, s.lost
}

// moved notes that the device answered a probe.
func (s *stats) moved() {
	s.mu.Lock()
	s.lastOK = s.now()
	s.mu.Unlock()
}

// modelStats is one entry of model_stats.
type modelStats struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	LastInference  int64       `json:"last_inference"` // ms since the epoch; 0: never
	InferenceCount int64       `json:"inference_count"`
	ExecutionCount int64       `json:"execution_count"`
	InferenceStats totals      `json:"inference_stats"`
	BatchStats     []sizeStats `json:"batch_stats"`
	Parameters     any         `json:"parameters,omitempty"`
}

func (s *stats) snapshot() modelStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := modelStats{InferenceCount: s.served, ExecutionCount: s.runs, InferenceStats: s.total, BatchStats: []sizeStats{}}
	if !s.lastReq.IsZero() {
		m.LastInference = s.lastReq.UnixMilli()
	}
	for _, rows := range slices.Sorted(maps.Keys(s.sizes)) {
		m.BatchStats = append(m.BatchStats, *s.sizes[rows])
	}
	return m
}
