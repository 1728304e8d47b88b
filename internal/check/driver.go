package check

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

var driverJudges = map[string]judge{
	"driver.installed":          {"path:word default_root:word provider_users:list provider_variables:list", driverInstalled},
	"driver.install_complete":   {"key:word good:word", driverComplete},
	"driver.modules":            {"names:regex core:list", driverModules},
	"driver.kernel_match":       {"order:list weak:word", driverKernelMatch},
	"driver.reboot_pending":     {"", driverReboot},
	"driver.npu_smi":            {"timeout:number slow:number exits:dict", driverNPUSmi},
	"driver.libs":               {"library:word folders:list conf:word", driverLibs},
	"driver.firmware_compat":    {"words:dict no_answer:list", driverFirmware},
	"driver.firmware_installed": {"", driverFirmwareInstalled},
	"driver.tool_match":         {"", driverToolMatch},
	"driver.not_open_build":     {"vendor:regex", driverRelease},
	"driver.cann_compat":        {"branch:regex", driverCANN},
	"driver.min_version":        {"", driverMin},
	"driver.service":            {"unit:word script:word", driverService},
	"driver.required_tools":     {"all_of:list one_of:list", driverTools},
}

func driverInstalled(l *look) verdict {
	if v, stop := blank(l.Driver); stop {
		return v
	}
	if l.Driver.Absent() || l.Driver.Value.Version == "" {
		return fail(l.Driver.Source, "absent", "Version=")
	}
	return pass(l.Driver.Source, "Version="+l.Driver.Value.Version)
}

func driverComplete(l *look) verdict {
	if v, stop := blank(l.Install); stop {
		return v
	}
	key := l.word("key")
	got, there := l.Install.Value.Keys[key]
	if !there {
		return warn(l.Install.Source, key+" absent", l.word("good"))
	}
	return ifElse(got == l.word("good"), report.Fail, l.Install.Source, key+"="+got, l.word("good"))
}

func driverModules(l *look) verdict {
	if v, stop := blank(l.Modules); stop {
		return v
	}
	loaded, core := l.loaded(), l.list("core")
	all := !slices.ContainsFunc(core, func(m string) bool { return !slices.Contains(loaded, m) })
	switch {
	case len(loaded) == 0:
		return fail(l.Modules.Source, "none loaded", strings.Join(core, " "))
	case all && len(loaded) > len(core):
		return pass(l.Modules.Source, count(len(loaded), "modules"))
	}
	return warn(l.Modules.Source, strings.Join(loaded, " "), strings.Join(core, " "))
}

func driverKernelMatch(l *look) verdict {
	if v, stop := blank(l.ModuleFiles); stop {
		return v
	}
	for _, m := range l.list("order") {
		if f := l.ModuleFiles.Value[m]; f != "" {
			return ifElse(!strings.Contains(f, l.word("weak")), report.Warn, l.ModuleFiles.Source, f, "built for "+l.Kernel.Value)
		}
	}
	if v, stop := blank(l.Modules); stop {
		return v
	}
	wanted := "modules built for " + l.Kernel.Value
	if n := len(l.loaded()); n > 0 {
		return warn(l.ModuleFiles.Source, "no file, but "+count(n, "modules loaded"), wanted)
	}
	return fail(l.ModuleFiles.Source, "no module of the driver for "+l.Kernel.Value, wanted)
}

func driverReboot(l *look) verdict {
	banner, disk := l.table().Value.DriverVersion, l.Driver.Value.Version
	newer := l.DriverTime.Known() && l.Boot.Known() && l.DriverTime.Value.After(l.Boot.Value)
	seen := fmt.Sprintf("%s on disk, %s runs", disk, orNone(banner))
	switch {
	case banner != "" && banner != disk:
		return fail(l.Driver.Source, seen, "equal")
	case newer:
		return warn(l.DriverTime.Source, "written after the boot of "+l.Boot.Value.UTC().Format("2006-01-02 15:04"), "older than the boot")
	case banner == "":
		return unknown(l.table().Source, note(l.table()))
	}
	return pass(l.Driver.Source, seen)
}

// hung is true for a question that got no answer in its time: that is an answer
// about the driver, unlike one that could not be put.
func hung[T any](f facts.Fact[T]) bool {
	return !f.Known() && !f.Absent() && strings.Contains(f.Note, host.ErrTimeout.Error())
}

func driverNPUSmi(l *look) verdict {
	f := l.NPUInfo
	wanted := fmt.Sprintf("a row within %g s", l.number("timeout"))
	switch {
	case hung(f):
		return fail(f.Source, f.Note, wanted)
	case f.Absent():
		return fail(f.Source, "command not found", wanted)
	case !f.Known():
		v, _ := blank(f)
		return v
	case rows(f) == 0 || f.Value.Failure != nil:
		v := fail(f.Source, l.exitWords(f.Value), wanted)
		if rows(l.NPUInfoRoot) > 0 {
			v.evidence = append(v.evidence, report.Evidence{Source: l.NPUInfoRoot.Source, Seen: count(rows(l.NPUInfoRoot), "rows as root")})
		}
		return v
	case l.NPUInfoMS.Known() && float64(l.NPUInfoMS.Value) > l.number("slow")*1000:
		return warn(f.Source, fmt.Sprintf("%s in %.1f s", count(rows(f), "rows"), float64(l.NPUInfoMS.Value)/1000), "<=", l.shown("slow"))
	}
	return pass(f.Source, count(rows(f), "rows"))
}

// exitWords says what npu-smi printed and what its exit status stands for.
func (l *look) exitWords(s facts.NPUSmi) string {
	said := "no row"
	if s.Failure != nil && s.Failure.Line != "" {
		said = s.Failure.Line
	}
	if s.Exit == nil {
		return said
	}
	if means, ok := l.dict("exits")[strconv.Itoa(*s.Exit)]; ok {
		return fmt.Sprintf("%s (exit %d: %s)", said, *s.Exit, means)
	}
	return fmt.Sprintf("%s (exit %d)", said, *s.Exit)
}

// driverLibs asks where the loader would look: ssh without a login, sudo and
// cron keep ld.so.conf.d and lose LD_LIBRARY_PATH.
func driverLibs(l *look) verdict {
	if v, stop := blank(l.DriverLibs); stop {
		return v
	}
	wanted := l.word("library") + " in a folder of " + l.word("conf")
	if len(l.DriverLibs.Value) == 0 {
		return fail(l.DriverLibs.Source, "absent", wanted)
	}
	through := func(folders []string) string {
		for _, lib := range l.DriverLibs.Value {
			for _, f := range folders {
				if path.Clean(f) == path.Dir(lib) {
					return lib
				}
			}
		}
		return ""
	}
	conf, env := through(l.LoaderConf.Value), through(l.elements("LD_LIBRARY_PATH"))
	switch {
	case conf != "":
		return pass(l.LoaderConf.Source, conf)
	case env != "" && l.inContainer():
		return pass(l.Env.Source, "LD_LIBRARY_PATH: "+env)
	case unread(l.LoaderConf):
		v, _ := blank(l.LoaderConf)
		return v
	case env != "":
		return warn(l.LoaderConf.Source, "absent; LD_LIBRARY_PATH: "+env, wanted)
	case unread(l.Env):
		v, _ := blank(l.Env)
		return v
	}
	return fail(l.DriverLibs.Source, strings.Join(l.DriverLibs.Value, " ")+", where no loader looks", wanted)
}

// driverFirmware follows the driver's own rule: a pair fits when either side's
// list names the other, so that one list alone never refuses. The word of the
// board counts only as root; everybody else is told NOT SUPPORT.
// src: hicann/driver dcmi_basic_info_intf.c, npu_info_print.c.
func driverFirmware(l *look) verdict {
	if b := l.NPUBoardRoot.Value.Board; l.NPUBoardRoot.Known() && b != nil && b.Compatibility != "" {
		seen := "Compatibility: " + b.Compatibility
		switch l.dict("words")[b.Compatibility] {
		case "pass":
			return pass(l.NPUBoardRoot.Source, seen)
		case "fail":
			return fail(l.NPUBoardRoot.Source, seen+", "+l.pair(), "OK")
		}
		if !slices.Contains(l.list("no_answer"), b.Compatibility) {
			return unknown(l.NPUBoardRoot.Source, seen)
		}
	}
	d, f := l.Driver.Value, l.Firmware.Value
	switch {
	case !l.Firmware.Known() || f.Version == "" || d.Version == "":
		return unknown(l.Firmware.Source, "no version of the firmware")
	case names(d.Firmware, f.Version), names(f.Drivers, d.Version):
		return pass(l.Firmware.Source, l.pair())
	case len(d.Firmware) == 0 && len(f.Drivers) == 0:
		return warn(l.Firmware.Source, l.pair()+", no list on either side", "a list that names the other")
	case len(d.Firmware) == 0 || len(f.Drivers) == 0:
		return unknown(l.Firmware.Source, l.pair()+", one list only")
	}
	return fail(l.Firmware.Source, l.pair()+", both lists refuse", "a list that names the other")
}

func (l *look) pair() string {
	return fmt.Sprintf("driver %s, firmware %s", l.Driver.Value.Version, orNone(l.Firmware.Value.Version))
}

// names compares as the driver does: as text, over as many characters as the
// longer bound has, so that [24.1,24.1.] holds every 24.1.*.
func names(list []facts.Range, version string) bool {
	return slices.ContainsFunc(list, func(r facts.Range) bool {
		v := version[:min(len(version), max(len(r.From), len(r.To)))]
		return v >= r.From && v <= r.To
	})
}

func driverFirmwareInstalled(l *look) verdict {
	if v, stop := blank(l.Firmware); stop {
		return v
	}
	return ifElse(l.Firmware.Known(), report.Warn, l.Firmware.Source, orNone(l.Firmware.Value.Version), "Version=")
}

func driverToolMatch(l *look) verdict {
	t := l.table()
	if t.Value.ToolVersion == "" || t.Value.DriverVersion == "" {
		return unknown(t.Source, "no banner: "+note(t))
	}
	return ifElse(t.Value.ToolVersion == t.Value.DriverVersion, report.Warn, t.Source,
		"npu-smi "+t.Value.ToolVersion, t.Value.DriverVersion)
}

func driverRelease(l *look) verdict {
	return ifElse(l.regex("vendor").MatchString(l.Driver.Value.Version), report.Warn, l.Driver.Source, l.Driver.Value.Version, l.word("vendor"))
}

func driverService(l *look) verdict {
	if v, stop := blank(l.Service); stop {
		return v
	}
	s, wanted := l.Service.Value, l.word("unit")+" or "+l.word("script")
	if s.Script != "" {
		return pass(l.Service.Source, s.Script)
	}
	if s.State == "enabled" {
		return pass(l.Service.Source, s.Unit+" "+s.State)
	}
	if v, stop := blank(l.Modules); stop {
		return v
	}
	bad := report.Fail
	if len(l.loaded()) > 0 {
		bad = report.Warn
	}
	return say(bad, l.Service.Source, orNone(strings.TrimSpace(s.Unit+" "+s.State)), wanted)
}

func driverTools(l *look) verdict {
	if v, stop := blank(l.Tools); stop {
		return v
	}
	missing, unasked := l.lacking(l.list("all_of"))
	none, rest := l.lacking(l.list("one_of"))
	if len(none) == len(l.list("one_of")) {
		missing = append(missing, strings.Join(none, " or "))
	}
	switch {
	case len(missing) > 0:
		return fail(l.Tools.Source, "no "+strings.Join(missing, ", "), strings.Join(l.list("all_of"), " "))
	case len(unasked) > 0 || len(none)+len(rest) == len(l.list("one_of")):
		return unknown(l.Tools.Source, "not asked for "+strings.Join(append(unasked, rest...), " "))
	}
	return pass(l.Tools.Source, "all there")
}
