package cmd

import (
	"context"
	"os"
	"runtime"

	"github.com/ascendctl/ascendctl/internal/dl"
	"github.com/ascendctl/ascendctl/internal/ort"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) versionCommand() command {
	return command{
		use:   "version",
		group: groupKeep,
		short: report.T("Show versions of the binary, its data and ONNX Runtime", "显示程序、内置数据与 ONNX Runtime 的版本"),
		examples: []example{
			{report.T("which ONNX Runtime would be loaded (it is not)", "将加载哪个 ONNX Runtime（并不加载）"), "ascendctl version"},
		},
		exits: report.T("0 always", "始终为 0"),
		run:   func(context.Context, []string) error { return s.version() },
	}
}

func (s *session) version() error {
	b, err := s.book()
	if err != nil {
		return err
	}
	origins, err := b.AsOf("*.yaml")
	if err != nil {
		return err
	}
	d := screen.Version{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cgo: dl.Supported, Date: s.app.Build.Date, ONNXRuntime: s.foundLibrary(),
	}
	for _, o := range origins {
		layer := o.Layer
		if layer == embedded {
			layer = "embedded"
		}
		d.Data = append(d.Data, screen.Data{File: o.File, AsOf: o.AsOf.Format("2006-01-02"), Layer: layer})
	}
	d.Envelope = s.envelope("version/v1")
	return s.show(d)
}

// foundLibrary tells which file serve would open, by looking at names only.
func (s *session) foundLibrary() screen.Library {
	c, _ := ort.Search(s.searcher(""))
	l := screen.Library{File: c.File, How: c.How, Version: c.Version}
	switch c.How {
	case ort.Loader: // nothing was seen; only the loader could tell
		return screen.Library{}
	case ort.Given:
		info, err := os.Stat(c.File)
		l.Found = err == nil && info.Mode().IsRegular()
	default:
		l.Found = true
	}
	return l
}
