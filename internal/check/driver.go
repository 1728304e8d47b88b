package check

import (
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
	"driver.npu_smi":            {"timeout:number slow:number exits:phrases", driverNPUSmi},
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
		return fail(l.Driver.Source, absent(), raw("Version="))
	}
	return pass(l.Driver.Source, raw("Version="+l.Driver.Value.Version))
}

func driverComplete(l *look) verdict {
	if v, stop := blank(l.Install); stop {
		return v
	}
	key := l.word("key")
	got, there := l.Install.Value.Keys[key]
	if !there {
		return warn(l.Install.Source, noSuch(key), raw(l.word("good")))
	}
	return ifElse(got == l.word("good"), report.Fail, l.Install.Source, raw(key+"="+got), raw(l.word("good")))
}

func driverModules(l *look) verdict {
	if v, stop := blank(l.Modules); stop {
		return v
	}
	loaded, core := l.loaded(), l.list("core")
	all := !slices.ContainsFunc(core, func(m string) bool { return !slices.Contains(loaded, m) })
	switch {
	case len(loaded) == 0:
		return fail(l.Modules.Source, report.T("none loaded", "均未加载"), raw(core...))
	case all && len(loaded) > len(core):
		return pass(l.Modules.Source, report.T("%d modules", "%d 个模块", len(loaded)))
	}
	return warn(l.Modules.Source, raw(loaded...), raw(core...))
}

func driverKernelMatch(l *look) verdict {
	if v, stop := blank(l.ModuleFiles); stop {
		return v
	}
	for _, m := range l.list("order") {
		if f := l.ModuleFiles.Value[m]; f != "" {
			return ifElse(!strings.Contains(f, l.word("weak")), report.Warn, l.ModuleFiles.Source, raw(f), report.T("built for %s", "为 %s 编译", l.Kernel.Value))
		}
	}
	if v, stop := blank(l.Modules); stop {
		return v
	}
	wanted := report.T("modules built for %s", "为 %s 编译的模块", l.Kernel.Value)
	if n := len(l.loaded()); n > 0 {
		return warn(l.ModuleFiles.Source, report.T("no file, but %d modules loaded", "没有文件，但已加载 %d 个模块", n), wanted)
	}
	return fail(l.ModuleFiles.Source, report.T("no module of the driver for %s", "没有适用于 %s 的驱动模块", l.Kernel.Value), wanted)
}

func driverReboot(l *look) verdict {
	banner, disk := l.table().Value.DriverVersion, l.Driver.Value.Version
	newer := l.DriverTime.Known() && l.Boot.Known() && l.DriverTime.Value.After(l.Boot.Value)
	seen := report.T("%s on disk, %s runs", "磁盘上为 %s，运行中为 %s", disk, orNone(banner))
	switch {
	case banner != "" && banner != disk:
		return fail(l.Driver.Source, seen, equal())
	case newer:
		return warn(l.DriverTime.Source, report.T("written after the boot of %s", "写入晚于 %s 的启动", l.Boot.Value.UTC().Format("2006-01-02 15:04")),
			report.T("older than the boot", "早于启动时间"))
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
	wanted := report.T("a row within %g s", "%g s 内给出数据行", l.number("timeout"))
	switch {
	case hung(f):
		return fail(f.Source, noted(f.Note), wanted)
	case f.Absent():
		return fail(f.Source, note(f), wanted)
	case !f.Known():
		v, _ := blank(f)
		return v
	case rows(f) == 0 || f.Value.Failure != nil:
		v := fail(f.Source, l.exitWords(f.Value), wanted)
		if rows(l.NPUInfoRoot) > 0 {
			v.evidence = append(v.evidence, report.Evidence{Source: l.NPUInfoRoot.Source, Seen: report.T("%d rows as root", "以 root 查询得到 %d 行", rows(l.NPUInfoRoot))})
		}
		return v
	case l.NPUInfoMS.Known() && float64(l.NPUInfoMS.Value) > l.number("slow")*1000:
		return warn(f.Source, report.T("%d rows in %.1f s", "%d 行，用时 %.1f s", rows(f), float64(l.NPUInfoMS.Value)/1000), atMost(l.shown("slow")))
	}
	return pass(f.Source, report.T("%d rows", "%d 行", rows(f)))
}

// exitWords says what npu-smi printed and what its exit status stands for.
func (l *look) exitWords(s facts.NPUSmi) report.Text {
	said := noRows()
	if s.Failure != nil && s.Failure.Line != "" {
		said = raw(s.Failure.Line)
	}
	if s.Exit == nil {
		return said
	}
	if means, ok := l.phrases("exits")[strconv.Itoa(*s.Exit)]; ok {
		return report.T("%s (exit %d: %s)", "%s（返回码 %d：%s）", said, *s.Exit, means)
	}
	return report.T("%s (exit %d)", "%s（返回码 %d）", said, *s.Exit)
}

// driverLibs asks where the loader would look: ssh without a login, sudo and
// cron keep ld.so.conf.d and lose LD_LIBRARY_PATH.
func driverLibs(l *look) verdict {
	if v, stop := blank(l.DriverLibs); stop {
		return v
	}
	wanted := report.T("%s in a folder of %s", "%s 位于 %s 所列的目录", l.word("library"), l.word("conf"))
	if len(l.DriverLibs.Value) == 0 {
		return fail(l.DriverLibs.Source, absent(), wanted)
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
		return pass(l.LoaderConf.Source, raw(conf))
	case env != "" && l.inContainer():
		return pass(l.Env.Source, raw("LD_LIBRARY_PATH:", env))
	case unread(l.LoaderConf):
		v, _ := blank(l.LoaderConf)
		return v
	case env != "":
		return warn(l.LoaderConf.Source, report.T("absent; LD_LIBRARY_PATH: %s", "不存在；LD_LIBRARY_PATH：%s", env), wanted)
	case unread(l.Env):
		v, _ := blank(l.Env)
		return v
	}
	return fail(l.DriverLibs.Source, report.T("%s, where no loader looks", "%s，不在加载器的搜索目录中", strings.Join(l.DriverLibs.Value, " ")), wanted)
}

// driverFirmware follows the driver's own rule: a pair fits when either side's
// list names the other, so that one list alone never refuses. The word of the
// board counts only as root; everybody else is told NOT SUPPORT.
// src: hicann/driver dcmi_basic_info_intf.c, npu_info_print.c.
func driverFirmware(l *look) verdict {
	if b := l.NPUBoardRoot.Value.Board; l.NPUBoardRoot.Known() && b != nil && b.Compatibility != "" {
		seen := raw("Compatibility:", b.Compatibility)
		switch l.dict("words")[b.Compatibility] {
		case "pass":
			return pass(l.NPUBoardRoot.Source, seen)
		case "fail":
			return fail(l.NPUBoardRoot.Source, comma(seen, l.pair()), raw("OK"))
		}
		if !slices.Contains(l.list("no_answer"), b.Compatibility) {
			return unknown(l.NPUBoardRoot.Source, seen)
		}
	}
	d, f := l.Driver.Value, l.Firmware.Value
	switch {
	case !l.Firmware.Known() || f.Version == "" || d.Version == "":
		return unknown(l.Firmware.Source, report.T("no version of the firmware", "没有固件版本"))
	case names(d.Firmware, f.Version), names(f.Drivers, d.Version):
		return pass(l.Firmware.Source, l.pair())
	case len(d.Firmware) == 0 && len(f.Drivers) == 0:
		return warn(l.Firmware.Source, report.T("%s, no list on either side", "%s，两侧均无配套列表", l.pair()), namesOther())
	case len(d.Firmware) == 0 || len(f.Drivers) == 0:
		return unknown(l.Firmware.Source, report.T("%s, one list only", "%s，只有一侧有配套列表", l.pair()))
	}
	return fail(l.Firmware.Source, report.T("%s, both lists refuse", "%s，两侧列表均不含对方", l.pair()), namesOther())
}

func namesOther() report.Text {
	return report.T("a list that names the other", "一侧的列表含对方版本")
}

func (l *look) pair() report.Text {
	return report.T("driver %s, firmware %s", "驱动 %s，固件 %s", l.Driver.Value.Version, orNone(l.Firmware.Value.Version))
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
	return ifElse(l.Firmware.Known(), report.Warn, l.Firmware.Source, orNone(l.Firmware.Value.Version), raw("Version="))
}

func driverToolMatch(l *look) verdict {
	t := l.table()
	if t.Value.ToolVersion == "" || t.Value.DriverVersion == "" {
		return unknown(t.Source, report.T("no banner: %s", "没有版本标题：%s", note(t)))
	}
	return ifElse(t.Value.ToolVersion == t.Value.DriverVersion, report.Warn, t.Source,
		raw("npu-smi", t.Value.ToolVersion), raw(t.Value.DriverVersion))
}

func driverRelease(l *look) verdict {
	return ifElse(l.regex("vendor").MatchString(l.Driver.Value.Version), report.Warn, l.Driver.Source, raw(l.Driver.Value.Version), raw(l.word("vendor")))
}

func driverService(l *look) verdict {
	if v, stop := blank(l.Service); stop {
		return v
	}
	s, wanted := l.Service.Value, either([]string{l.word("unit"), l.word("script")})
	if s.Script != "" {
		return pass(l.Service.Source, raw(s.Script))
	}
	if s.State == "enabled" {
		return pass(l.Service.Source, raw(s.Unit, s.State))
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
	lost := raws(missing)
	none, rest := l.lacking(l.list("one_of"))
	if len(none) == len(l.list("one_of")) {
		lost = append(lost, either(none))
	}
	switch {
	case len(lost) > 0:
		return fail(l.Tools.Source, noSuch(commas(lost)), raw(l.list("all_of")...))
	case len(unasked) > 0 || len(none)+len(rest) == len(l.list("one_of")):
		return unknown(l.Tools.Source, notAsked(append(unasked, rest...)))
	}
	return pass(l.Tools.Source, allThere())
}
