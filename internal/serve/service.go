// Package serve puts loaded models behind the Open Inference Protocol v2 over
// HTTP: a queue with batching for each, honest health, metrics and statistics.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/report"
)

// version is the one version every model has.
const version = "1"

// Config of a service; zero values are the defaults named here.
type Config struct {
	Models   []Model
	Version  string            // of ascendctl, for GET v2
	MaxBatch int               // rows of a batch; 1 turns batching off; 32
	Lanes    int               // batches on a model at once; 1 with batching, else as many as CPUs up to 4
	Queue    int               // requests that may wait for a model; 1024
	Watchdog time.Duration     // a run longer than this makes its model not ready; 30 s
	Probe    time.Duration     // a model idle for longer is asked whether its device answers; 10 s
	Seed     uint64            // of the random data of the warm-up
	Metrics  *metrics.Registry // one service per registry; nil = none kept
	Log      *slog.Logger      // failures of a backend; nil = off
	Now      func() time.Time  // nil = time.Now
}

// Model is one model to serve.
type Model struct {
	Name string // in the address; may hold slashes
	// Open loads it. The service owns what comes back.
	Open func(context.Context) (infer.Backend, error)
}

// Info is what is known of a loaded model.
type Info struct {
	Name, Version string
	infer.Description
	Batching     Batching
	Lanes        int
	Opened, Warm time.Duration // how long Open and the warm-up took
	Devices      []DeviceInfo  // of a model that runs in workers
}

// devices is a backend that consists of several.
type devices interface {
	Ready() error // nil while one may be fed
	Width() int   // batches that run at once
	Devices() []DeviceInfo
}

// Service answers for its models. It is an http.Handler by Handler.
type Service struct {
	cfg      Config
	now      func() time.Time
	log      *slog.Logger
	families *families
	models   []*model // in the order of Config
	pool     pool
	draining atomic.Bool
}

// model is one name of the service; live is nil until it is loaded and warm.
type model struct {
	Model
	seen *stats
	live atomic.Pointer[live]
}

// live is a loaded model. Its fields never change.
type live struct {
	info    Info
	backend infer.Backend
	queue   *batcher
	probe   prober
}

// New makes a service whose models are not loaded yet: it can already be
// served, and is live but not ready. Errors are *report.Problem.
func New(cfg Config) (*Service, error) {
	cfg.defaults()
	s := &Service{cfg: cfg, now: cfg.Now, log: cfg.Log, families: newFamilies(cfg.Metrics)}
	seen := map[string]bool{}
	for _, m := range cfg.Models {
		if why := badName(m.Name); !why.IsZero() || seen[m.Name] {
			if seen[m.Name] {
				why = report.T("two models have this name", "有 2 个模型同名")
			}
			return nil, &report.Problem{
				What: report.T("cannot serve a model as %q", "无法以名称 %q 提供模型服务", m.Name),
				Why:  why,
				Do:   report.T("give the model another name", "为模型换一个名称"),
				Exit: report.ExitUsage,
			}
		}
		seen[m.Name] = true
		s.models = append(s.models, s.newModel(m))
	}
	if len(s.models) == 0 {
		return nil, &report.Problem{What: report.T("no model to serve", "没有可提供服务的模型"), Exit: report.ExitUsage}
	}
	return s, nil
}

func (cfg *Config) defaults() {
	if cfg.MaxBatch <= 0 {
		cfg.MaxBatch = 32
	}
	if cfg.Queue <= 0 {
		cfg.Queue = 1024
	}
	if cfg.Watchdog <= 0 {
		cfg.Watchdog = 30 * time.Second
	}
	if cfg.Probe <= 0 {
		cfg.Probe = 10 * time.Second
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.NewRegistry()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
}

// badName says why a name cannot stand in an address; zero when it can.
func badName(name string) report.Text {
	switch {
	case name == "":
		return report.T("a name cannot be empty", "名称不能为空")
	case len(name) > 256:
		return report.T("a name has at most 256 bytes", "名称最长 256 字节")
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return report.T("a name holds no control characters and is UTF-8", "名称须为 UTF-8 且不含控制字符")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return report.T("a part between slashes cannot be empty, . or ..", "斜杠之间的部分不能为空、. 或 ..")
		}
	}
	return report.Text{}
}

func (s *Service) newModel(m Model) *model {
	mod := &model{Model: m, seen: newStats(s.families, m.Name, s.now)}
	s.families.queued.Func(func() float64 {
		if l := mod.live.Load(); l != nil {
			n, _ := l.queue.state()
			return float64(n)
		}
		return 0
	}, m.Name)
	s.families.ready.Func(func() float64 {
		if s.ready(mod) != nil {
			return 0
		}
		return 1
	}, m.Name)
	return mod
}

// Start loads and warms the models, one after the other; each is ready as soon
// as it is warm. On error, that of Open or what the device said in the warm-up,
// the models loaded so far stay until Close.
func (s *Service) Start(ctx context.Context) error {
	for _, m := range s.models {
		if err := s.load(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) load(ctx context.Context, m *model) error {
	start := s.now()
	backend, err := m.Open(ctx)
	if err != nil {
		return err
	}
	opened := s.now()
	batching, err := warm(ctx, backend, s.cfg.MaxBatch, s.cfg.Seed)
	if err != nil {
		return errors.Join(fmt.Errorf("warm-up of model %s: %w", m.Name, err), backend.Close())
	}
	lanes := s.cfg.Lanes
	if lanes <= 0 {
		lanes = 1
		if d, ok := backend.(devices); ok {
			lanes = d.Width() // a device runs one batch at a time
		} else if !batching.On && backend.Describe().Device.Kind == "cpu" {
			lanes = min(runtime.GOMAXPROCS(0), 4)
		}
	}
	l := &live{backend: backend, queue: newBatcher(backend, s.now, m.seen, &s.pool, batching.MaxRows, lanes, s.cfg.Queue)}
	l.info = Info{Name: m.Name, Version: version, Description: backend.Describe(), Batching: batching, Lanes: lanes,
		Opened: opened.Sub(start), Warm: s.now().Sub(opened)}
	d := l.info.Device
	s.families.info.With(m.Name, l.info.Platform, d.Kind, d.Name, fmt.Sprint(d.Simulated)).Set(1)
	m.seen.begin(batching)
	m.live.Store(l)
	return nil
}

// Models tells of the models that are loaded, in the order of the Config.
func (s *Service) Models() []Info {
	var all []Info
	for _, m := range s.models {
		if l := m.live.Load(); l != nil {
			info := l.info
			info.Batching = m.seen.shares()
			if d, ok := l.backend.(devices); ok {
				info.Devices = d.Devices()
			}
			all = append(all, info)
		}
	}
	return all
}

// Drain refuses new requests with 503 and ends readiness; queued and running
// ones go on.
func (s *Service) Drain() {
	s.draining.Store(true)
	for _, m := range s.models {
		if l := m.live.Load(); l != nil {
			l.queue.drain()
		}
	}
}

// Close, to be called when Start has returned, drains, waits for queued and running requests until ctx ends, refuses
// what still waits then, and frees the models. A run is ended by its clients'
// leaving, as when the front cuts them; a model with a run that does not come
// back is not freed, because that would wait for it: the process is to end. The
// error says what was left.
func (s *Service) Close(ctx context.Context) error {
	s.Drain()
	errs := make([]error, len(s.models))
	var all sync.WaitGroup
	for i, m := range s.models {
		all.Go(func() {
			l := m.live.Load()
			if l == nil {
				return
			}
			cut, stuck := l.queue.close(ctx)
			if cut+stuck > 0 {
				errs[i] = fmt.Errorf("model %s: %d waiting requests were refused, %d runs did not come back", m.Name, cut, stuck)
			}
			if stuck == 0 {
				errs[i] = errors.Join(errs[i], l.backend.Close())
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
