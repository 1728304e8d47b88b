package check

import (
	"fmt"
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

func envSetU(*look) verdict { return pass("ascendctl", "set_env.sh is never sourced under set -u") }

// lacksCANN says what an environment lacks of what set_env.sh exports.
func (l *look) lacksCANN(env map[string]string) (missing []string) {
	for _, v := range l.list("variables") {
		if env[v] == "" {
			missing = append(missing, v)
		}
	}
	lib := strings.ReplaceAll(l.word("library"), "{ASCEND_HOME_PATH}", strings.TrimRight(env["ASCEND_HOME_PATH"], "/"))
	clean := func(e string) bool { return strings.TrimRight(e, "/") == lib }
	if len(missing) == 0 && !slices.ContainsFunc(strings.Split(env["LD_LIBRARY_PATH"], ":"), clean) {
		missing = append(missing, lib+" in LD_LIBRARY_PATH")
	}
	return missing
}

func envSourced(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	wanted := strings.Join(l.list("variables"), " ")
	if missing := l.lacksCANN(l.Env.Value); len(missing) > 0 {
		return fail(l.Env.Source, "missing: "+strings.Join(missing, ", "), wanted)
	}
	if l.EnvProcess.Known() {
		if missing := l.lacksCANN(l.EnvProcess.Value); len(missing) > 0 {
			return warn(l.EnvProcess.Source, "the process lacks "+strings.Join(missing, ", "), wanted)
		}
	}
	return pass(l.Env.Source, "ASCEND_HOME_PATH="+l.env("ASCEND_HOME_PATH"))
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
		var seen []string
		for _, r := range keys(where) {
			seen = append(seen, r+" in "+where[r])
		}
		return fail(l.Env.Source, strings.Join(seen, ", "), "one version")
	case len(abis) > 1:
		return warn(l.Env.Source, strings.Join(abis, " and "), "one")
	case len(twice) > 0:
		return warn(l.Env.Source, "twice: "+twice[0], "once")
	}
	return pass(l.Env.Source, orNone(strings.Join(keys(where), " ")))
}

func envEmpty(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	for _, v := range l.list("variables") {
		if slices.Contains(l.elements(v), "") {
			return warn(l.Env.Source, v+" has an empty element", "none")
		}
	}
	return pass(l.Env.Source, "none")
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
				return warn(l.Env.Source, v+": "+e+" more than "+l.shown("times"), "once")
			}
		}
	}
	return pass(l.Env.Source, "none")
}

func envConda(l *look) verdict {
	if l.TorchImport.Known() && !l.TorchImport.Value.OK && l.regex("text").MatchString(l.TorchImport.Value.Text) {
		return fail(l.TorchImport.Source, l.TorchImport.Value.Text, "a newer "+l.word("library"))
	}
	if v, stop := blank(l.LibStdCxx); stop {
		return v
	}
	lib, prefix := l.LibStdCxx.Value, l.env("CONDA_PREFIX")
	if l.LibStdCxx.Absent() || lib == "" {
		return pass(l.LibStdCxx.Source, "none along LD_LIBRARY_PATH")
	}
	ofConda := prefix != "" && under(lib, prefix) || strings.Contains(path.Dir(lib), "conda")
	return ifElse(!ofConda, report.Warn, l.LibStdCxx.Source, lib, "that of the system")
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
		return pass(l.Env.Source, name+" not set")
	}
	chips := rows(l.table())
	seen, wanted := name+"="+value, "rising logic ids"
	if chips > 0 {
		wanted = fmt.Sprintf("rising logic ids below %d", chips)
	}
	last, kept, cut := -1, 0, false
	for _, w := range strings.Split(value, ",") {
		id, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || id < 0 || chips > 0 && id >= chips {
			cut = true
			break
		}
		if id <= last {
			return fail(l.Env.Source, seen+": refused as a whole", wanted)
		}
		last = id
		kept++
	}
	switch {
	case kept == 0:
		return fail(l.Env.Source, seen+": nothing is left", wanted)
	case cut:
		return warn(l.Env.Source, fmt.Sprintf("%s: cut after %d", seen, kept), wanted)
	case chips == 0:
		return unknown(l.table().Source, seen+": number of chips not known")
	}
	return pass(l.Env.Source, seen)
}

func envFictional(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, "none")}
	for _, f := range l.c.settings.Judge(l.Env.Value, settings.Installed{}) {
		if f.Fault == settings.Invented {
			all = append(all, warn(l.Env.Source, f.Name+" (fictional)", f.Do.En))
		}
	}
	return worst(all...)
}

func envDeprecated(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, "none")}
	gone := func(names map[string]string, installed, what string, after func(c int) bool) {
		for _, n := range keys(names) {
			if _, set := l.Env.Value[n]; set && installed != "" && after(compareVersions(installed, names[n])) {
				all = append(all, warn(l.Env.Source, n, "not with "+what+" "+installed))
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
	all := []verdict{pass(l.Env.Source, "none")}
	for _, n := range l.list("variables") {
		if l.env(n) != "" {
			all = append(all, warn(l.Env.Source, n+"="+l.env(n), "not set"))
		}
	}
	parts := l.regex("parts")
	for _, v := range l.of("env.mixed").list("lists") {
		for _, e := range unique(l.elements(v)) {
			if !parts.MatchString(e) {
				continue
			}
			there, asked := l.Paths.Value[e]
			bad := report.Warn
			if asked && !there {
				bad = report.Fail
				e += ", which does not exist"
			}
			all = append(all, say(bad, l.Env.Source, v+": "+e, "the layout since 5.1"))
		}
	}
	return worst(all...)
}

func envDebug(l *look) verdict {
	if v, stop := blank(l.Env); stop {
		return v
	}
	all := []verdict{pass(l.Env.Source, "none")}
	switches := l.lists("switches")
	for _, n := range keys(switches) {
		if slices.Contains(switches[n], l.env(n)) {
			all = append(all, warn(l.Env.Source, n+"="+l.env(n), "not set"))
		}
	}
	return worst(all...)
}
