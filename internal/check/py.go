package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

var pyJudges = map[string]judge{
	"py.version":   {"by_cann:records ending:list oldest:word", pyVersion},
	"py.torch_npu": {"", pyTorchNPU},
	"py.engine":    {"", pyEngine},
	"py.deps":      {"distributions:dict minimum:dict", pyDeps},
	"py.numpy2":    {"major:number fine_from:word warn_from:word", pyNumpy},
	"py.autoload":  {"slow:number", pyAutoload},
	"py.sqlite":    {"module:word", pySQLite},
}

func pyDeps(l *look) verdict {
	if v, stop := blank(l.Packages); stop {
		return v
	}
	minimum := l.dict("minimum")
	var missing, old []string
	wanted := l.dict("distributions")
	for _, name := range keys(wanted) {
		dist := wanted[name]
		got, ok := l.Packages.Value[dist]
		switch {
		case !ok:
			missing = append(missing, dist)
		case minimum[dist] != "" && compareVersions(got, minimum[dist]) < 0:
			old = append(old, dist+" "+got+" < "+minimum[dist])
		}
	}
	slices.Sort(missing)
	switch {
	case len(missing) > 0:
		return fail(l.Packages.Source, without(missing...), report.T("all of them", "全部安装"))
	case len(old) > 0:
		return warn(l.Packages.Source, commas(raws(old)), report.T("newer", "更新的版本"))
	}
	return pass(l.Packages.Source, report.T("%d packages", "%d 个软件包", len(wanted)))
}

func pyNumpy(l *look) verdict {
	if v, stop := blank(l.Packages); stop {
		return v
	}
	numpy, release := l.Packages.Value["numpy"], firstTwo(l.cannVersion())
	if numpy == "" {
		return unknown(l.Packages.Source, report.T("numpy is not installed", "未安装 numpy"))
	}
	seen, major := report.T("numpy %s with CANN %s", "numpy %s 与 CANN %s", numpy, orNone(release)), l.word("major")
	switch {
	case compareVersions(numpy, major) < 0:
		return pass(l.Packages.Source, seen)
	case release == "":
		return unknown(l.Packages.Source, seen)
	case compareVersions(release, l.word("fine_from")) >= 0:
		return pass(l.Packages.Source, seen)
	case compareVersions(release, l.word("warn_from")) >= 0:
		return warn(l.Packages.Source, seen, raw("numpy <", major))
	}
	return fail(l.Packages.Source, seen, raw("numpy <", major))
}

func pyAutoload(l *look) verdict {
	if v, stop := blank(l.TorchImport); stop {
		return v
	}
	i := l.TorchImport.Value
	if took := float64(i.MS) / 1000; i.OK && took > l.number("slow") {
		return warn(l.TorchImport.Source, raw(fmt.Sprintf("%.0f s", took)), atMost(l.shown("slow")))
	}
	works := report.T("import torch works", "import torch 成功")
	switch {
	case i.OK:
		return pass(l.TorchImport.Source, works)
	case l.TorchImport.Absent():
		return fail(l.TorchImport.Source, absent(), works)
	}
	if strings.Contains(i.Text, "torch_npu") {
		return fail(l.TorchImport.Source, raw(i.Text), works)
	}
	return unknown(l.TorchImport.Source, raw(i.Text))
}

func pySQLite(l *look) verdict {
	if v, stop := blank(l.Python); stop {
		return v
	}
	there, asked := l.Python.Value.Modules[l.word("module")]
	if l.Python.Absent() || !asked {
		return unknown(l.Python.Source, report.T("no python3, or not asked", "没有 python3，或未查询"))
	}
	return ifElse(there, report.Fail, l.Python.Source, raw(l.Python.Value.Path, l.Python.Value.Version), report.T("a Python with %s", "带 %s 的 Python", l.word("module")))
}
