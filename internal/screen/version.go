package screen

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Version names the binary, its data and the runtime it would load.
type Version struct {
	report.Envelope
	Go          string  `json:"go"`
	OS          string  `json:"os"`
	Arch        string  `json:"arch"`
	Cgo         bool    `json:"cgo"`            // false: this build cannot run models
	Date        string  `json:"date,omitempty"` // of the commit
	ONNXRuntime Library `json:"onnxruntime"`
	Data        []Data  `json:"data"`
}

// Library is a shared library that was found but not loaded.
type Library struct {
	Found   bool   `json:"found"`
	File    string `json:"file,omitempty"`
	How     string `json:"how,omitempty"`     // given, beside, cache, pip, system
	Version string `json:"version,omitempty"` // as its file name says
}

// Data is one file of the built-in knowledge.
type Data struct {
	File  string `json:"file"`
	AsOf  string `json:"as_of"`
	Layer string `json:"layer"` // embedded, or the folder of --compat
}

// Show writes the document for people.
func (d Version) Show(o *ui.Out) {
	o.Print("%s %s  %s %s/%s\n", d.Tool.Name, strings.TrimSpace(d.Tool.Version+" "+d.Tool.Commit), d.Go, d.OS, d.Arch)
	runtime := report.T("not found; get it: ascendctl data fetch onnxruntime", "未找到；获取：ascendctl data fetch onnxruntime").In(o.Lang())
	if d.ONNXRuntime.Found {
		runtime = strings.TrimSpace(d.ONNXRuntime.Version+"  "+d.ONNXRuntime.File) + "  " + o.Faint("("+d.ONNXRuntime.How+")")
	}
	pairs := []ui.Pair{head(report.Same("ONNX Runtime"), runtime)}
	if !d.Cgo {
		pairs = append(pairs, head(report.T("build", "构建"), report.T("without cgo: cannot run models", "未启用 cgo：无法运行模型").In(o.Lang())))
	}
	for _, f := range d.Data {
		pairs = append(pairs, head(report.T("data", "数据"), f.File+"  "+f.AsOf+"  "+o.Faint("("+f.Layer+")")))
	}
	o.Pairs(2, pairs)
}
