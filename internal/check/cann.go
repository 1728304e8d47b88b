package check

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var cannJudges = map[string]judge{
	"cann.version_ok":   {"", cannVersionOK},
	"cann.installed":    {"places:list runtime_only:list", cannInstalled},
	"cann.arch":         {"", cannArch},
	"cann.ops":          {"folders:dict places:list", cannOps},
	"cann.ops_version":  {"old:word new:word", cannOpsVersion},
	"cann.nnal":         {"", cannNNAL},
	"cann.abi":          {"", cannABI},
	"cann.multi":        {"", cannMulti},
	"cann.links":        {"", cannLinks},
	"cann.perms":        {"files:list", cannPerms},
	"cann.driver_needs": {"asked:word has:word", cannDriverNeeds},
	"cann.stub":         {"stub:word", cannStub},
	"cann.python_dirs":  {"folders:list wheels:list", cannPythonDirs},
}

// toolkit gives the active tree, or the verdict that stands in for a judge
// without one.
func (l *look) toolkit() (*cann.Tree, verdict, bool) {
	if v, stop := blank(l.CANN); stop {
		return nil, v, true
	}
	t := l.active()
	if t == nil {
		return nil, unknown(l.CANN.Source, report.T("no CANN", "未安装 CANN")), true
	}
	return t, verdict{}, false
}

func cannInstalled(l *look) verdict {
	if v, stop := blank(l.CANN); stop {
		return v
	}
	t := l.active()
	switch {
	case t == nil:
		return fail(l.CANN.Source, report.T("no tree", "没有目录树"), either(l.list("places")))
	case t.Kind == "toolkit" && t.Version != "":
		return pass(t.Info, raw("version="+t.Version))
	case slices.Contains(l.list("runtime_only"), t.Kind):
		return warn(t.Path, report.T("only %s", "只有 %s", t.Kind), raw("toolkit"))
	}
	return fail(t.Path, noSuch("version="), either(l.list("places")))
}

func cannArch(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	if v, stop := blank(l.Arch); stop {
		return v
	}
	if t.Arch == "" {
		return unknown(t.Info, noSuch("arch="))
	}
	return ifElse(t.Arch == l.spelled(), report.Fail, t.Info, raw("arch="+t.Arch), raw(l.spelled()))
}

func cannOps(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	if l.chip() == "" {
		return unknown(l.Generation.Source, report.T("generation of the chip not known", "芯片代际未知"))
	}
	folders := l.dict("folders")
	want := folders[l.chip()]
	var ours, others []string
	for _, k := range t.Kernels {
		switch {
		case k == want:
			ours = append(ours, k)
		case slices.ContainsFunc(keys(folders), func(g string) bool { return folders[g] == k }):
			others = append(others, k)
		}
	}
	where := path.Join(t.Path, l.list("places")[0])
	switch {
	case len(ours) == 0:
		return fail(where, orNone(strings.Join(others, " ")), raw(want))
	case len(others) > 0:
		return warn(where, both(append([]string{want}, others...)), report.T("%s only", "仅 %s", want))
	}
	return pass(where, raw(want))
}

// opsVersions gives the versions to compare: up to 8.3 those of the running
// components, later those of the two packages.
func opsVersions(t *cann.Tree) (ops, runtime, source string) {
	if ops, runtime = t.Running["opp_kernel"], t.Running["runtime"]; ops != "" && runtime != "" {
		return release(ops), release(runtime), path.Join(t.Path, "version.cfg")
	}
	if t.OpsVersion != "" {
		return t.OpsVersion, t.Version, t.OpsInfo
	}
	return t.Components["opp_kernel"].VersionDir, t.Components["runtime"].VersionDir, t.Path
}

// release is the second half of "7.7.0.1.238:8.1.RC1".
func release(running string) string {
	if _, r, ok := strings.Cut(running, ":"); ok {
		return r
	}
	return running
}

func cannOpsVersion(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	ops, runtime, source := opsVersions(t)
	seen := report.T("ops %s, toolkit %s", "算子包 %s，toolkit %s", orNone(ops), orNone(runtime))
	switch {
	case ops == "" || runtime == "":
		return unknown(source, seen)
	case ops == runtime:
		return pass(source, seen)
	case firstTwo(ops) == firstTwo(runtime):
		return warn(source, seen, equal())
	}
	return fail(source, seen, equal())
}

func cannNNAL(l *look) verdict {
	if v, stop := blank(l.CANN); stop {
		return v
	}
	want := l.cannVersion()
	var seen []string
	for _, n := range l.CANN.Value.NNAL {
		if n.SetEnv != "" && n.Version == want {
			return pass(n.Info, raw(n.Version))
		}
		if n.SetEnv != "" {
			seen = append(seen, n.Version)
		}
	}
	if len(seen) > 0 {
		return warn(l.CANN.Value.NNAL[0].Path, raw(seen...), raw(want))
	}
	return fail(l.CANN.Source, report.T("no nnal with a set_env.sh", "没有带 set_env.sh 的 nnal"), raw(strings.TrimSpace("nnal "+want)))
}

func cannABI(l *look) verdict {
	if v, stop := blank(l.TorchABI); stop {
		return v
	}
	_, abi, ok := strings.Cut(l.env("ATB_HOME_PATH"), "cxx_abi_")
	abi, _, _ = strings.Cut(abi, "/")
	if !ok || !l.TorchABI.Known() {
		return unknown(l.Env.Source, report.T("ATB_HOME_PATH %s, ABI of torch %s", "ATB_HOME_PATH 为 %s，torch 的 ABI：%s", orNone(l.env("ATB_HOME_PATH")), abiOf(l.TorchABI)))
	}
	torch := strconv.Itoa(l.TorchABI.Value)
	return ifElse(abi == torch, report.Fail, l.Env.Source, raw("ATB cxx_abi_"+abi), report.T("cxx_abi_%s of torch", "torch 的 cxx_abi_%s", torch))
}

func abiOf(f facts.Fact[int]) report.Text {
	if f.Absent() {
		return absent()
	}
	return raw(strconv.Itoa(f.Value))
}

func cannMulti(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	var seen []report.Text
	for _, o := range l.CANN.Value.Trees {
		seen = append(seen, report.T("%s in %s", "%s 位于 %s", orNone(o.Version), o.Path))
	}
	all := joined(seen, "; ", "；")
	switch {
	case len(seen) == 1:
		return pass(t.Path, all)
	case t.Active != "" && t.Info != "":
		return warn(t.Active, all, report.T("one, or a clear switch", "只有一套，或能明确切换"))
	}
	return fail(t.Path, all, report.T("an active link that leads to one of them", "有生效的链接指向其中一套"))
}

func cannLinks(l *look) verdict {
	if v, stop := blank(l.CANN); stop {
		return v
	}
	for _, link := range l.CANN.Value.Links {
		if link.Real == "" { // a folder of links counts by what it holds
			return fail(link.Path, report.T("leads nowhere: %s", "指向不存在的位置：%s", orNone(link.Target)), report.T("a tree", "目录树"))
		}
	}
	var loose []string
	for _, t := range l.CANN.Value.Trees {
		loose = append(loose, t.Dangling...)
	}
	resolve := report.T("all resolve", "链接均有效")
	if len(loose) == 0 {
		return pass(l.CANN.Source, resolve)
	}
	return warn(l.CANN.Source, report.T("dangling: %s", "链接失效：%s", strings.Join(unique(loose), " ")), resolve)
}

const readOnly, readRun = 4, 5 // of the three permission bits

func cannPerms(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	if v, stop := blank(l.Identity); stop {
		return v
	}
	w, ok := l.jobUser()
	if !ok {
		return unknown(l.Accounts.Source, noUser(l.job.User))
	}
	var all []verdict
	for _, name := range l.list("files") {
		at := slices.IndexFunc(t.Files, func(f cann.File) bool { return strings.HasSuffix(f.Path, "/"+name) })
		if at < 0 {
			all = append(all, fail(path.Join(t.Path, name), absent(), report.T("readable", "可读")))
			continue
		}
		need := uint64(readOnly)
		if strings.Contains(name, "/") {
			need = readRun
		}
		all = append(all, readable(t.Files[at], w, need))
	}
	return worst(all...)
}

// readable asks the mode of a file; one that only its owner may read is a
// warning for the owner, because no service runs as that person.
func readable(f cann.File, w who, need uint64) verdict {
	mode, err := strconv.ParseUint(f.Mode, 8, 32)
	if err != nil {
		return unknown(f.Path, report.T("mode not known", "权限位未知"))
	}
	seen := report.T("mode %s, owner %d:%d, user %s", "权限 %s，属主 %d:%d，用户 %s", f.Mode, f.UID, f.GID, w.name)
	everybody := mode&need == need
	group := slices.Contains(w.groups, f.GID) && mode>>3&need == need
	switch {
	case everybody || group:
		return pass(f.Path, seen)
	case w.uid == f.UID && mode>>6&need == need, w.uid == 0:
		return warn(f.Path, seen, report.T("readable for others too", "其他用户也可读"))
	}
	return fail(f.Path, seen, report.T("readable for %s", "%s 可读", w.name))
}

func cannDriverNeeds(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	asked := t.Components["runtime"].Requires[strings.TrimPrefix(l.word("asked"), "required_")]
	got := l.Driver.Value.HAL
	switch {
	case asked == "":
		return skip(t.Path, noSuch(l.word("asked")))
	case got == "":
		return unknown(l.Driver.Source, noSuch(l.word("has")))
	}
	return ifElse(compareVersions(got, asked) >= 0, report.Fail, l.Driver.Source, raw(l.word("has")+"="+got), raw(">=", asked))
}

func cannStub(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	for _, e := range l.elements("LD_LIBRARY_PATH") {
		e = strings.TrimRight(e, "/")
		if strings.HasSuffix(e, l.word("stub")) {
			return warn(l.Env.Source, raw("LD_LIBRARY_PATH:", e), report.T("after the driver", "排在驱动之后"))
		}
		if l.isDriverLib(e) {
			break
		}
	}
	return pass(l.Env.Source, report.T("no stub before the driver", "驱动之前没有桩库"))
}

// isDriverLib is true for a folder that holds the driver's libraries.
func (l *look) isDriverLib(e string) bool {
	return slices.ContainsFunc(l.of("driver.libs").list("folders"), func(f string) bool { return strings.HasSuffix(e, "/"+f) })
}

func cannPythonDirs(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	var lost []string
	for _, f := range l.list("folders") {
		if !slices.ContainsFunc(l.elements("PYTHONPATH"), func(e string) bool { return strings.HasSuffix(strings.TrimRight(e, "/"), "/"+f) }) {
			lost = append(lost, f)
		}
	}
	if len(lost) == 0 {
		return pass(l.Env.Source, report.T("PYTHONPATH has both", "PYTHONPATH 中两者齐全"))
	}
	seen, wanted := report.T("PYTHONPATH lacks %s", "PYTHONPATH 缺少 %s", strings.Join(lost, " ")), raw(l.list("folders")...)
	if v, stop := blank(l.Packages); stop {
		return v
	}
	for _, w := range l.list("wheels") {
		if _, ok := l.Packages.Value[w]; ok {
			return warn(l.Env.Source, report.T("%s, wheel %s", "%s，已安装 wheel %s", seen, w), wanted)
		}
	}
	return fail(l.Env.Source, seen, wanted)
}
