package cmd

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/front"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/recipe"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
	"github.com/ascendctl/ascendctl/internal/serve"
	"github.com/ascendctl/ascendctl/recipes"
)

type serveOptions struct {
	recipe                         string
	listen, backend, ortLib        string
	names                          []string
	device, aclLib, lockDir        string
	share, single                  bool
	access, readyFile              string
	threads, lanes, instances      int
	maxBatch, queue, requests      int
	maxBody                        sizeValue
	drain, watchdog, watchdogFloor durationValue

	// Of the processes that serve starts.
	worker, runtime string
	probe           bool
}

func (s *session) serveCommand() command {
	o := serveOptions{maxBody: 64 << 20, drain: durationValue(30 * time.Second), watchdog: durationValue(30 * time.Second), watchdogFloor: durationValue(time.Second)}
	return command{
		use:   "serve [MODEL]...",
		group: groupDaily,
		short: report.T("Serve models over HTTP", "通过 HTTP 提供模型推理服务"),
		long: report.T("Answers the Open Inference Protocol v2 with JSON and binary tensors. An .om runs on NPUs, one process\nfor each device; an ONNX model runs on the CPU by ONNX Runtime.",
			"以 Open Inference Protocol v2 应答，支持 JSON 与二进制 Tensor。.om 在 NPU 上运行，每个设备一个进程；\nONNX 模型由 ONNX Runtime 在 CPU 上运行。"),
		examples: []example{
			{report.T("on http://127.0.0.1:8000", "在 http://127.0.0.1:8000"), "ascendctl serve model.onnx"},
			{report.T("for other machines too, under another name", "供其他机器访问，并指定模型名称"), "ascendctl serve model.onnx --listen 0.0.0.0:8000 --name resnet50"},
			{report.T("a compiled model on two devices", "在 2 个设备上运行编译后的模型"), "ascendctl serve resnet50.om --device 0-1"},
			{report.T("two models on one device, two instances of each", "在 1 个设备上运行 2 个模型，每个 2 个实例"), "ascendctl serve detect.om classify.om --device 0 --instances 2"},
			{report.T("on a free port, for a script", "使用空闲端口，供脚本使用"), "ascendctl serve model.onnx --listen 127.0.0.1:0 --ready-file ready.json"},
		},
		exits: report.T("0 stopped cleanly, 1 the model or its runtime cannot be loaded or the port is busy, 64 usage",
			"0 正常停止，1 模型或运行库无法加载或端口被占用，64 用法错误"),
		files: []string{"onnx", "om"},
		works: true,
		flags: o.flags,
		sub:   []command{s.selfTestCommand()},
		run: func(ctx context.Context, args []string) error {
			files, err := applyRecipe(&o, args)
			if err != nil {
				return err
			}
			if o.worker != "" {
				return s.worker(ctx, o, files)
			}
			return s.serve(ctx, o, files)
		},
	}
}

// The defaults of flags that a recipe may set: "" and 0 mean "not said".
const (
	defaultListen   = "127.0.0.1:8000"
	defaultMaxBatch = 32
)

// applyRecipe fills what no flag said from the recipe, and then from the
// defaults, and gives the model files.
func applyRecipe(o *serveOptions, files []string) (_ []string, err error) {
	var r recipe.Recipe
	if o.recipe != "" {
		if r, err = findRecipe(o.recipe); err != nil {
			return nil, err
		}
	}
	if len(files) == 0 && r.Model != "" {
		files = []string{r.Model}
	}
	if len(files) == 0 {
		return nil, usage(report.T("serve needs a model or a recipe", "serve 需要模型文件或部署配方"), report.Text{},
			report.T("give an .om or ONNX file, or --recipe", "给出 .om 或 ONNX 文件，或使用 --recipe"), Name+" serve --recipe cpu-demo")
	}
	if len(o.names) == 0 && len(files) == 1 && r.Name != "" {
		o.names = []string{r.Name}
	}
	o.listen, o.backend = first(o.listen, r.Listen, defaultListen), first(o.backend, r.Backend, "auto")
	o.maxBatch = cmp.Or(o.maxBatch, r.MaxBatch, defaultMaxBatch)
	return files, nil
}

// findRecipe takes a path for a file and a word for a shipped recipe.
func findRecipe(name string) (recipe.Recipe, error) {
	if !strings.ContainsAny(name, "/.") {
		return recipe.Find(book.New(book.Layer{Name: "recipes", FS: recipes.FS}), "*.yaml", name)
	}
	if _, err := readFile("--recipe", name); err != nil { // names the path as it was typed
		return recipe.Recipe{}, err
	}
	dir, base := filepath.Split(name)
	return recipe.Find(book.New(book.Layer{Name: filepath.Clean(dir), FS: os.DirFS(filepath.Clean(dir)), User: true}), base, "")
}

func (o *serveOptions) flags(f *flagSet) {
	f.text(&o.recipe, "recipe", "", report.T("`NAME` of a shipped recipe, or a file; flags rule over it", "内置部署配方名称 `NAME` 或文件；选项优先于配方"))
	f.text(&o.listen, "listen", "", report.T("`ADDR` to answer on; any other than loopback is open without a token (default 127.0.0.1:8000)", "监听地址 `ADDR`；非回环地址对外开放且不需要令牌（默认 127.0.0.1:8000）"))
	f.texts(&o.names, "name", report.T("`NAME` of the model in addresses, once for each model (default the file's name)", "模型在 URL 中的名称 `NAME`，每个模型一次（默认取文件名）"))
	f.text(&o.backend, "backend", "", report.T("`KIND` that runs the model: auto, cpu, npu (default auto)", "运行模型的后端 `KIND`：auto、cpu、npu（默认 auto）"))
	f.text(&o.ortLib, "ort-lib", "", report.T("`FILE` of the ONNX Runtime library (default: searched, see version)", "ONNX Runtime 动态库 `FILE`（默认自动查找，见 version）"))
	f.text(&o.device, "device", "", report.T("NPUs to run an .om on, `LIST`: 0, 0-3, 0,2, free (default all that are healthy)", "运行 .om 的 NPU `LIST`：0、0-3、0,2、free（默认取全部健康设备）"))
	f.number(&o.instances, "instances", 1, report.T("`N` copies of each .om on a device, which run side by side", "每个 .om 在每个设备上的实例数 `N`，并行运行"))
	f.text(&o.aclLib, "acl-lib", "", report.T("libascendcl, its folder or the home of CANN, `PATH`; the environment stays as it is (default: searched)", "libascendcl、其目录或 CANN 根目录 `PATH`；不改动环境变量（默认自动查找）"))
	f.yes(&o.single, "single-process", "", report.T("no worker process: for boards with little memory", "不使用 worker 进程：适用于内存较小的板卡"))
	f.yes(&o.share, "share-device", "", report.T("use devices that other services share, too", "与同样启用共享的其他服务共用设备"))
	f.text(&o.lockDir, "lock-dir", "", report.T("folder `DIR` of the device locks, for containers that have one in common", "设备锁目录 `DIR`，供多个容器共用"))
	f.in = flagsLimits
	f.number(&o.maxBatch, "max-batch", 0, report.T("most `ROWS` of one run; 1 runs every request alone (default 32)", "单次运行的最多行数 `ROWS`；1 表示逐个请求运行（默认 32）"))
	f.number(&o.queue, "queue", 1024, report.T("most requests that may wait, `N`; more are answered 429", "最多排队的请求数 `N`；超出时返回 429"))
	f.number(&o.requests, "max-requests", 1024, report.T("most requests at once, `N`; more are answered 429", "最多同时处理的请求数 `N`；超出时返回 429"))
	f.value(&o.maxBody, "max-body", report.T("largest request body, `SIZE`", "请求体上限 `SIZE`"))
	f.number(&o.threads, "threads", 0, report.T("`N` threads of one operator (0: the library decides)", "单个算子使用的线程数 `N`（0：由运行库决定）"))
	f.number(&o.lanes, "lanes", 0, report.T("`N` runs at once (0: 1 with batching, else the CPUs, at most 4)", "同时运行的批次数 `N`（0：组 batch 时为 1，否则为 CPU 数，最多 4）"))
	f.value(&o.drain, "drain", report.T("how long a stop waits for running requests, `TIME`", "停止时等待在途请求的时间 `TIME`"))
	f.value(&o.watchdog, "watchdog", report.T("a run longer than `TIME` makes the model not ready", "单次运行超过 `TIME` 时模型变为未就绪"))
	f.value(&o.watchdogFloor, "watchdog-floor", report.T("the least `TIME` a batch on an NPU may take, however fast the model is, before its device is put aside", "NPU 上单个 batch 的最短超时 `TIME`，超时后隔离设备；与模型速度无关"))
	f.hidden(&o.worker, "worker")
	f.hidden(&o.runtime, "runtime-version")
	f.BoolVar(&o.probe, "probe", false, "")
	_ = f.MarkHidden("probe")
	f.in = flagsOutput
	f.text(&o.access, "access-log", "", report.T("JSON access log to `FILE`, - for stderr, none (default the log file)", "JSON 访问日志写入 `FILE`，- 为 stderr，none 为关闭（默认写入日志文件）"))
	f.text(&o.readyFile, "ready-file", "", report.T("write the ready document to `FILE` (JSON)", "就绪后将结果文档写入 `FILE`（JSON）"))
}

// serve takes the port first: a busy one is told before a large model loads.
func (s *session) serve(ctx context.Context, o serveOptions, files []string) error {
	if err := o.check(); err != nil {
		return err
	}
	models, err := s.servables(o, files)
	if err != nil {
		return err
	}
	ln, err := front.Listen(o.listen, func(addr string) string {
		return report.Line(slices.Concat([]string{Name, "serve"}, files, []string{"--listen", addr})...)
	})
	if err != nil {
		return err
	}
	defer ln.Close()
	access, accessName, err := s.accessLog(o.access)
	if err != nil {
		return err
	}
	registry := metrics.NewRegistry()
	load, end, err := s.loaders(ctx, o, models, ln.Addr().String(), registry)
	if err != nil {
		return err
	}
	service, err := serve.New(serve.Config{
		Models: load, Version: s.app.Build.Version, MaxBatch: o.maxBatch, Lanes: o.lanes, Queue: o.queue,
		Watchdog: time.Duration(o.watchdog), Seed: s.seed(), Metrics: registry, Log: s.log.Logger, Now: s.app.Now,
	})
	if err != nil {
		return errors.Join(err, end())
	}
	server := front.New(front.Options{
		Drain: time.Duration(o.drain), MaxBody: int64(o.maxBody), MaxRequests: o.requests,
		Exempt: serve.HealthPaths(), Ready: service.Ready, Log: access, Metrics: registry, Now: s.app.Now,
	})
	err = s.serveUntil(ctx, service, server, ln, func() error {
		d := screen.Serve{
			URL: "http://" + reachable(ln.Addr()), Listen: ln.Addr().String(), Open: !front.Loopback(ln.Addr().String()),
			ReadyMS: s.app.Now().Sub(s.started).Milliseconds(), Models: screen.FromServe(service.Models()),
			AccessLog: accessName, Drain: time.Duration(o.drain).Seconds(),
		}
		for i := range d.Models {
			d.Models[i].File, d.Models[i].Compiled = models[i].file, screen.CompiledFor(models[i].Model)
		}
		d.Envelope = s.envelope("serve/v1")
		if err := s.show(d); err != nil {
			return err
		}
		return writeReady(o.readyFile, d)
	})
	return errors.Join(err, end())
}

// serveUntil answers from the first moment (live, not ready), says so when the
// model is warm, and stops when ctx ends: readiness goes first, running
// requests finish, then the model is freed.
func (s *session) serveUntil(ctx context.Context, service *serve.Service, server *front.Server, ln net.Listener, ready func() error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, ln, service.Handler()) }()
	err := service.Start(ctx)
	if err == nil {
		err = ready()
	}
	if err != nil {
		stop()
	}
	served := <-ended
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	closed := service.Close(closing)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil // stopped while loading, as asked
	case err != nil:
		return err
	}
	if err := errors.Join(served, closed); err != nil {
		return err
	}
	if !s.flags.quiet {
		s.err.Say(report.T("stopped: running requests were finished", "已停止：在途请求均已完成"))
	}
	return nil
}

// check refuses numbers that make no sense, by flag.
func (o serveOptions) check() error {
	if err := oneOf("backend", o.backend, "auto", "cpu", "npu"); err != nil {
		return err
	}
	for _, n := range []struct {
		flag       string
		value, min int
	}{{"max-batch", o.maxBatch, 1}, {"queue", o.queue, 1}, {"max-requests", o.requests, 1}, {"threads", o.threads, 0}, {"lanes", o.lanes, 0}, {"instances", o.instances, 1}} {
		if n.value < n.min {
			return usage(report.T("--%s %d: not a value it takes", "--%s %d：取值无效", n.flag, n.value), report.Text{},
				report.T("give a number from %d", "给出不小于 %d 的数", n.min), "ascendctl serve --help")
		}
	}
	return nil
}

// accessLog is a JSON line per request; by default among the log lines.
func (s *session) accessLog(where string) (log *slog.Logger, name string, err error) {
	switch where {
	case "none":
		return nil, "", nil
	case "-":
		return slog.New(slog.NewJSONHandler(s.app.Err, nil)), "", nil
	case "":
		if s.log.quietInfo() {
			return nil, "", nil
		}
		s.log.Info("serve", "access_log", "follows as JSON")
		return slog.New(slog.NewJSONHandler(s.log.lazy, nil)), s.log.path(), nil
	}
	f, err := os.OpenFile(where, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, "", usage(report.T("cannot write the access log %s", "无法写入访问日志 %s", where), report.Same(err.Error()),
			report.T("give a file that can be written, or none", "指定可写的文件，或 none"), "")
	}
	return slog.New(slog.NewJSONHandler(f, nil)), where, nil
}

// seed is random, so that no model can be tuned to the warm-up.
func (s *session) seed() uint64 {
	var b [8]byte
	if _, err := io.ReadFull(s.app.Rand, b[:]); err != nil {
		return uint64(s.started.UnixNano())
	}
	return binary.LittleEndian.Uint64(b[:])
}

// reachable is the address as somebody here would type it.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return a.String()
}

// writeReady writes the document by rename, so whoever waits for the file
// never reads half of it.
func writeReady(name string, d screen.Serve) error {
	if name == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".ready-*")
	if err == nil {
		defer os.Remove(f.Name())
		err = screen.Write("json", f, nil, d)
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(f.Name(), name)
		}
	}
	if err != nil {
		return usage(report.T("cannot write --ready-file %s", "无法写入 --ready-file %s", name), report.Same(err.Error()),
			report.T("name a file in a folder that can be written", "指定可写目录中的文件"), "")
	}
	return nil
}
