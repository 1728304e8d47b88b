package check

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/settings"
)

var envJudges = map[string]judge{
	"env.sourced":       {"variables:list library:word", envSourced},
	"env.mixed":         {"lists:list single:list abi:regex", envMixed},
	"env.empty_element": {"variables:list", envEmpty},
	"env.dups":          {"variables:list times:number", envDups},
	"env.conda":         {"library:word text:regex", envConda},
	"env.visible":       {"variable:word", envVisible},
	"env.fictional":     {"", envFictional},
	"env.deprecated":    {"cann:dict vllm_ascend:dict", envDeprecated},
	"env.legacy":        {"variables:list parts:regex", envLegacy},
	"env.debug_left":    {"switches:lists", envDebug},
	"env.set_u":         {"", envSetU},
}

func envSetU(*look) verdict {
	return pass("ascendctl", report.T("set_env.sh is never sourced under set -u", "从不在 set -u 下加载 set_env.sh"))
}

// lacksCANN says what an environment lacks of what set_env.sh exports.
func (l *look) lacksCANN(env map[string]string) (missing []report.Text) {
	for _, v := range l.list("variables") {
		if env[v] == "" {
			missing = append(missing, raw(v))
		}
	}
	lib := strings.ReplaceAll(l.word("library"), "{ASCEND_HOME_PATH}", strings.TrimRight(env["ASCEND_HOME_PATH"], "/"))
	clean := func(e string) bool { return strings.TrimRight(e, "/") == lib }
	if len(missing) == 0 && !slices.ContainsFunc(strings.Split(env["LD_LIBRARY_PATH"], ":"), clean) {
		missing = append(missing, report.T("%s in LD_LIBRARY_PATH", "LD_LIBRARY_PATH 中的 %s", lib))
	}
	return missing
}

func envSourced(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	wanted := raw(l.list("variables")...)
	if missing := l.lacksCANN(l.Env.Value); len(missing) > 0 {
		return fail(l.Env.Source, report.T("missing: %s", "缺少：%s", commas(missing)), wanted)
	}
	if l.EnvProcess.Known() {
		if missing := l.lacksCANN(l.EnvProcess.Value); len(missing) > 0 {
			return warn(l.EnvProcess.Source, report.T("the process lacks %s", "进程缺少 %s", commas(missing)), wanted)
		}
	}
	return pass(l.Env.Source, raw("ASCEND_HOME_PATH="+l.env("ASCEND_HOME_PATH")))
}

var treeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/(?:ascend-toolkit/|cann-)(\d[^/:]*)`) })

// release of a path: of the tree it lies in, else as its own words say; a tree
// that is gone still stands in the path.
func (l *look) releaseOf(p string) string {
	if t := l.treeOf(p); t != nil {
		return t.Version
	}
	if m := treeName().FindStringSubmatch(p); m != nil {
		return m[1]
	}
	return ""
}

func envMixed(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	abi := l.regex("abi")
	where := map[string]string{} // release -> first variable
	var abis, twice []string
	add := func(variable, p string) {
		if r := l.releaseOf(p); r != "" && where[r] == "" {
			where[r] = variable
		}
	}
	for _, v := range l.list("single") {
		add(v, l.env(v))
	}
	for _, v := range l.list("lists") {
		seen := map[string]bool{}
		for _, e := range l.elements(v) {
			add(v, e)
			if a := abi.FindString(e); a != "" {
				abis = append(abis, a)
			}
			if e != "" && seen[e] && strings.Contains(strings.ToLower(e), "ascend") {
				twice = append(twice, e)
			}
			seen[e] = true
		}
	}
	switch abis = unique(abis); {
	case len(where) > 1:
		var seen []report.Text
		for _, r := range keys(where) {
			seen = append(seen, report.T("%s in %s", "%s 出现于 %s", r, where[r]))
		}
		return fail(l.Env.Source, joined(seen, ", ", "，"), report.T("one version", "同一版本"))
	case len(abis) > 1:
		return warn(l.Env.Source, both(abis), report.T("one", "只有一种"))
	case len(twice) > 0:
		return warn(l.Env.Source, report.T("twice: %s", "重复：%s", twice[0]), once())
	}
	return pass(l.Env.Source, orNone(strings.Join(keys(where), " ")))
}

func once() report.Text { return report.T("once", "一次") }

func envEmpty(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	for _, v := range l.list("variables") {
		if slices.Contains(l.elements(v), "") {
			return warn(l.Env.Source, report.T("%s has an empty element", "%s 含空元素", v), orNone(""))
		}
	}
	return pass(l.Env.Source, orNone(""))
}

func envDups(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	for _, v := range l.list("variables") {
		times := map[string]int{}
		for _, e := range l.elements(v) {
			times[e]++
			if e != "" && float64(times[e]) > l.number("times") {
				return warn(l.Env.Source, report.T("%s: %s more than %s", "%s：%s 超过 %s", v, e, l.shown("times")), once())
			}
		}
	}
	return pass(l.Env.Source, orNone(""))
}

func envConda(l *look) verdict {
	if l.TorchImport.Known() && !l.TorchImport.Value.OK && l.regex("text").MatchString(l.TorchImport.Value.Text) {
		return fail(l.TorchImport.Source, raw(l.TorchImport.Value.Text), report.T("a newer %s", "更新的 %s", l.word("library")))
	}
	if v, stop := blank(l.LibStdCxx); stop {
		return v
	}
	lib, prefix := l.LibStdCxx.Value, l.env("CONDA_PREFIX")
	if l.LibStdCxx.Absent() || lib == "" {
		return pass(l.LibStdCxx.Source, report.T("none along LD_LIBRARY_PATH", "LD_LIBRARY_PATH 各目录中均无"))
	}
	ofConda := prefix != "" && under(lib, prefix) || strings.Contains(path.Dir(lib), "conda")
	return ifElse(!ofConda, report.Warn, l.LibStdCxx.Source, raw(lib), report.T("that of the system", "系统自带的库"))
}

// envVisible follows the runtime: a list that is not strictly rising is refused
// whole, a word that is no id of a chip cuts the list there.
// src: hicann/runtime runtime.cc, api_impl.cc.
func envVisible(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	name := l.word("variable")
	value, set := l.Env.Value[name]
	if !set {
		return pass(l.Env.Source, report.T("%s not set", "未设置 %s", name))
	}
	chips := rows(l.table())
	seen, wanted := raw(name+"="+value), report.T("rising logic ids", "递增的逻辑 ID")
	if chips > 0 {
		wanted = report.T("rising logic ids below %d", "小于 %d 且递增的逻辑 ID", chips)
	}
	last, kept, cut := -1, 0, false
	for _, w := range strings.Split(value, ",") {
		id, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || id < 0 || chips > 0 && id >= chips {
			cut = true
			break
		}
		if id <= last {
			return fail(l.Env.Source, report.T("%s: refused as a whole", "%s：整体不被接受", seen), wanted)
		}
		last = id
		kept++
	}
	switch {
	case kept == 0:
		return fail(l.Env.Source, report.T("%s: nothing is left", "%s：没有剩余设备", seen), wanted)
	case cut:
		return warn(l.Env.Source, report.T("%s: cut after %d", "%s：第 %d 个之后被截断", seen, kept), wanted)
	case chips == 0:
		return unknown(l.table().Source, report.T("%s: number of chips not known", "%s：芯片数量未知", seen))
	}
	return pass(l.Env.Source, seen)
}

func envFictional(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, orNone(""))}
	for _, f := range l.c.settings.Judge(l.Env.Value, settings.Installed{}) {
		if f.Fault == settings.Invented {
			all = append(all, warn(l.Env.Source, report.T("%s (fictional)", "%s（不存在）", f.Name), f.Do))
		}
	}
	return worst(all...)
}

func envDeprecated(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, orNone(""))}
	gone := func(names map[string]string, installed, what string, after func(c int) bool) {
		for _, n := range keys(names) {
			if _, set := l.Env.Value[n]; set && installed != "" && after(compareVersions(installed, names[n])) {
				all = append(all, warn(l.Env.Source, raw(n), report.T("not with %s %s", "%s %s 中不再使用", what, installed)))
			}
		}
	}
	// 8.2.RC1 is of the train that dropped it, though it comes before 8.2.
	gone(l.dict("cann"), firstTwo(l.cannVersion()), "CANN", func(c int) bool { return c >= 0 })
	gone(l.dict("vllm_ascend"), l.Packages.Value["vllm-ascend"], "vllm-ascend", func(c int) bool { return c > 0 })
	return worst(all...)
}

func envLegacy(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, orNone(""))}
	for _, n := range l.list("variables") {
		if l.env(n) != "" {
			all = append(all, warn(l.Env.Source, raw(n+"="+l.env(n)), report.T("not set", "未设置")))
		}
	}
	parts := l.regex("parts")
	for _, v := range l.of("env.mixed").list("lists") {
		for _, e := range unique(l.elements(v)) {
			if !parts.MatchString(e) {
				continue
			}
			there, asked := l.Paths.Value[e]
			bad, seen := report.Warn, raw(v+":", e)
			if asked && !there {
				bad = report.Fail
				seen = report.T("%s, which does not exist", "%s（不存在）", seen)
			}
			all = append(all, say(bad, l.Env.Source, seen, report.T("the layout since 5.1", "5.1 起的目录布局")))
		}
	}
	return worst(all...)
}

func envDebug(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, orNone(""))}
	switches := l.lists("switches")
	for _, n := range keys(switches) {
		if slices.Contains(switches[n], l.env(n)) {
			all = append(all, warn(l.Env.Source, raw(n+"="+l.env(n)), report.T("not set", "未设置")))
		}
	}
	return worst(all...)
}
