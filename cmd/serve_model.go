package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/metrics"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/ort"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/serve"
)

// served is a model file and the name it is served under.
type served struct {
	*model.Model
	name, file string
}

// servables says before anything is started why a file cannot be served.
func (s *session) servables(o serveOptions, files []string) (all []served, err error) {
	if n := len(o.names); n > 0 && n != len(files) {
		return nil, usage(report.T("%d names for %d models", "%[2]d 个模型，%[1]d 个名称", n, len(files)), report.Text{},
			report.T("give --name once for each model, in their order, or leave it out", "按模型的顺序为每个模型给出一次 --name，或不使用该选项"), "")
	}
	for i, file := range files {
		m, err := model.Open(file)
		if err == nil {
			err = unservable(o, m)
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if len(o.names) > 0 {
			name = o.names[i]
		}
		all = append(all, served{m, name, file})
	}
	return all, nil
}

// unservable is what a model itself has against being served; nil for nothing.
func unservable(o serveOptions, m *model.Model) error {
	if m.Kind == model.KindOM {
		return unservableOM(o, m)
	}
	if o.backend != "npu" {
		return nil
	}
	return &report.Problem{
		What: report.T("%s cannot be served on an NPU as it is", "无法直接在 NPU 上提供 %s", m.File),
		Why:  report.T("it is an ONNX model; an NPU runs what ATC compiled for its chip", "该文件是 ONNX 模型；NPU 只运行由 ATC 为其芯片编译的模型"),
		Do:   report.T("compile it with atc, or serve it on the CPU", "使用 atc 编译，或改为在 CPU 上运行"),
		Run:  report.Line(Name, "serve", m.File, "--backend", "cpu"), Exit: report.ExitFailed,
	}
}

// loaders gives what loads each model. For an .om it takes devices, which end
// gives back.
func (s *session) loaders(ctx context.Context, o serveOptions, models []served, addr string, registry *metrics.Registry) (all []serve.Model, end func() error, err error) {
	var compiled []served
	var names []string
	for _, m := range models {
		if m.Kind == model.KindOM {
			compiled, names = append(compiled, m), append(names, m.name)
		}
	}
	end, onDevice := func() error { return nil }, opener(nil)
	if len(compiled) > 0 {
		st, dir, err := s.stand(ctx, o, strings.Join(names, ", ")+" on "+addr)
		if err != nil {
			return nil, nil, err
		}
		var stop func()
		onDevice, stop = s.devices(st, o, compiled, dir, registry)
		end = func() error { stop(); return st.close(dir) }
	}
	for _, m := range models {
		open := func(ctx context.Context) (infer.Backend, error) { return s.openBackend(ctx, o, m.file) }
		if m.Kind == model.KindOM {
			open = func(ctx context.Context) (infer.Backend, error) { return onDevice(ctx, m.name) }
		}
		all = append(all, serve.Model{Name: m.name, Open: open})
	}
	return all, end, nil
}

// opener gives a model by its name; they are opened one after the other.
type opener func(ctx context.Context, name string) (infer.Backend, error)

// unservableOM is unservable for an .om.
func unservableOM(o serveOptions, m *model.Model) error {
	p := &report.Problem{What: report.T("%s cannot be served", "无法提供 %s", m.File), Run: report.Line(Name, "inspect", m.File), Exit: report.ExitFailed}
	box, _ := m.Container.(*model.OM)
	switch {
	case o.backend == "cpu":
		p.Why = report.T("an .om runs on an NPU only, never on the CPU", ".om 只能在 NPU 上运行，不能在 CPU 上运行")
		p.Do = report.T("serve the ONNX model it was made from", "改用其来源 ONNX 模型")
	case box != nil && box.Dynamic:
		p.Why = report.T("it was compiled for unknown shapes, which this release does not run", "该文件按未知 shape 编译，当前版本不支持运行")
		p.Do = report.T("compile it with gears: --dynamic_batch_size=1,2,4,8", "使用档位编译：--dynamic_batch_size=1,2,4,8")
	case !acl.Supported:
		p.Why = report.T("this build has no ACL: it was made without cgo", "此版本不含 ACL：编译时未启用 cgo")
		p.Do = report.T("use a build with cgo for Linux", "使用启用 cgo 的 Linux 版本")
	default:
		return nil
	}
	return p
}

func (s *session) openBackend(ctx context.Context, o serveOptions, file string) (infer.Backend, error) {
	found, tried := ort.Search(s.searcher(o.ortLib))
	lib, err := ort.Open(found.File)
	if err != nil {
		return nil, noRuntime(err, found, tried)
	}
	b, err := infer.OpenORT(ctx, lib, infer.Options{Path: file, Threads: o.threads})
	var e *infer.Error
	if errors.As(err, &e) {
		return nil, &report.Problem{
			What: report.T("ONNX Runtime does not load %s", "ONNX Runtime 无法加载 %s", file),
			Why:  report.Same(e.Error()),
			Do:   report.T("look at the operators and the opset of the model", "检查模型的算子与 opset"),
			Run:  report.Line(Name, "inspect", file), Exit: report.ExitFailed, Err: err,
		}
	}
	return b, err
}

// noRuntime is the one error for every way of having no ONNX Runtime.
func noRuntime(err error, found ort.Candidate, tried []string) error {
	p := &report.Problem{
		What: report.T("ONNX Runtime not found", "未找到 ONNX Runtime"),
		Why:  report.T("looked in %d places, the first: %s", "已查找 %d 处，首处：%s", len(tried), tried[0]),
		Do:   report.T("get the pinned library; no package is installed", "获取固定版本的动态库，不会安装任何软件包"),
		Run:  Name + " data fetch onnxruntime", Exit: report.ExitFailed, Err: err,
	}
	if found.How != ort.Loader {
		p.What = report.T("ONNX Runtime cannot be used: %s", "无法使用 ONNX Runtime：%s", found.File)
		p.Why = report.Same(err.Error())
	}
	return p
}

func (s *session) searcher(flag string) ort.Searcher {
	return ort.Searcher{
		Explicit: first(flag, s.app.Getenv("ASCENDCTL_ORT_LIB"), s.config.ORTLib),
		Beside:   filepath.Dir(s.app.Self), Cache: s.app.cacheDir(), Arch: goArch,
		Getenv: s.app.Getenv, Glob: filepath.Glob,
	}
}
