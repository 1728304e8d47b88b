package cmd

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/ascendctl/ascendctl/internal/acl"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/ort"
	"github.com/ascendctl/ascendctl/internal/report"
)

// servable says before anything is started why this file cannot be served.
func (s *session) servable(o serveOptions, file string) (*model.Model, error) {
	m, err := model.Open(file)
	if err != nil {
		return nil, err
	}
	if m.Kind != model.KindOM {
		if o.backend == "npu" {
			return nil, &report.Problem{
				What: report.T("%s cannot be served on an NPU as it is", "无法直接在 NPU 上提供 %s", file),
				Why:  report.T("it is an ONNX model; an NPU runs what ATC compiled for its chip", "该文件是 ONNX 模型；NPU 只运行由 ATC 为其芯片编译的模型"),
				Do:   report.T("compile it with atc, or serve it on the CPU", "使用 atc 编译，或改为在 CPU 上运行"),
				Run:  report.Line(Name, "serve", file, "--backend", "cpu"), Exit: report.ExitFailed,
			}
		}
		return m, nil
	}
	return m, unservable(o, m)
}

// unservable is what an .om itself has against being served; nil for nothing.
func unservable(o serveOptions, m *model.Model) error {
	p := &report.Problem{What: report.T("%s cannot be served", "无法提供 %s", m.File), Run: report.Line(Name, "inspect", m.File), Exit: report.ExitFailed}
	box, _ := m.Container.(*model.OM)
	switch {
	case o.backend == "cpu":
		p.Why = report.T("an .om runs on an NPU only, never on the CPU", ".om 只能在 NPU 上运行，不能在 CPU 上运行")
		p.Do = report.T("serve the ONNX model it was made from", "改用其来源 ONNX 模型")
	case box != nil && box.Encrypted:
		p.Why = report.T("it is encrypted, and the runtime loads such files with the key of their maker only", "文件已加密，runtime 只有持有制作者的密钥才能加载")
		p.Do = report.T("get the file without encryption", "获取未加密的文件")
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
