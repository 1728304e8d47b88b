package install

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// pickDriver decides whether the driver stays. One that nobody calls wrong is
// never replaced: unknown is no reason.
func (j *job) pickDriver() error {
	driver := j.f.Driver.Value.Version
	has := j.f.Driver.Known() && driver != ""
	switch {
	case j.generation == "" && j.Driver == "":
		j.note(report.T("no NPU is seen here: neither driver nor operator packages are installed", "未发现 NPU：不安装驱动和算子包"))
		return nil
	case j.container() || j.User:
		if has {
			j.keepDriver(driver, report.T("it is the host's", "由宿主机提供"))
		}
		return nil
	case j.f.Driver.State == host.Unknown || j.f.Driver.State == "":
		return nil // the precondition says so
	}
	if j.Driver != "" && !sameHDK(j.Driver, driver) {
		return j.pickHDK(j.Driver)
	}
	if has && j.Unfinished { // it may be half in: what would be put on a bare host is looked at again
		if err := j.pickHDK(""); err == nil && sameHDK(j.hdk.Version, driver) {
			j.replace = false
			return nil
		}
		j.hdk = nil
	}
	if !has {
		if j.managed("driver") || j.onBoard() {
			return nil
		}
		return j.pickHDK("")
	}
	v, err := j.m.Resolve(matrix.Parts{"driver": driver, "cann": j.cann.Text, "chip": cmp.Or(j.soc, j.generation)})
	if err != nil {
		return err
	}
	p := v.Pair("R04", "driver")
	refused := p != nil && p.Verdict == matrix.Unsupported || (p == nil || p.Verdict == matrix.Unknown) && j.tooOld()
	if !refused || j.Driver != "" {
		why := report.T("nothing is known against it with CANN %s", "没有资料表明它与 CANN %s 不配套", j.cann.Text)
		if p != nil && p.Verdict == matrix.Supported {
			why = report.T("compatible with CANN %s (row %s)", "与 CANN %s 配套（版本配套表 %s）", j.cann.Text, p.Row)
		}
		j.keepDriver(driver, why)
		return nil
	}
	if j.managed("driver") {
		return j.managedDriver(driver, p)
	}
	return j.pickHDK("")
}

// onBoard: the chips of a board without PCI come with their driver in the image.
func (j *job) onBoard() bool { return len(j.f.PCI.Value) == 0 && j.f.DeviceTree.Known() }

func (j *job) keepDriver(driver string, why report.Text) {
	j.keep("driver", driver, why)
	if fw := j.f.Firmware.Value.Version; fw != "" {
		j.keep("firmware", fw, report.T("it goes with the driver", "与驱动配套"))
	}
}

// tooOld judges as the check driver.cann_compat does: the branches the version
// files name do not know each other, and the driver is older than every one
// that rows pair with this CANN.
func (j *job) tooOld() bool {
	accepts, cann := j.branches()
	d := j.f.Driver.Value
	of := func(list []string, inner string) bool {
		return slices.ContainsFunc(list, func(b string) bool {
			rest, ok := strings.CutPrefix(inner, b)
			return ok && (rest == "" || rest[0] < '0' || rest[0] > '9')
		})
	}
	if len(accepts) == 0 || d.Inner == "" || of(accepts, d.Inner) || of(d.Compatible, cann) {
		return false
	}
	have, ok := matrix.Parse(matrix.HDK, d.Version)
	promised := j.m.DriversFor(j.cann.Text, j.soc)
	return ok && len(promised) > 0 && !slices.ContainsFunc(promised, func(p string) bool {
		v, _ := matrix.Parse(matrix.HDK, p)
		c, known := have.Compare(v)
		return !known || c >= 0
	})
}

// branches are the driver branches the release accepts and its own, from its
// files where it is installed, else from the files others have read.
func (j *job) branches() (accepts []string, inner string) {
	if t, ok := j.f.CANN.Value.At(j.tree()); ok && len(t.Compatible) > 0 {
		return t.Compatible, t.Inner
	}
	rows, _ := j.m.Rows("driver.inner_versions")
	for _, r := range rows {
		if r.Str("component") == "toolkit" && slices.Contains(r.Strs("version"), j.cann.Text) {
			return r.Strs("compatible_version"), ""
		}
	}
	return nil, ""
}

func (j *job) managedDriver(driver string, p *matrix.Pair) error {
	problem := &report.Problem{
		What: report.T("CANN %s does not run on driver %s, and the driver is looked after by the provider of %s", "CANN %s 不能在驱动 %s 上运行，而 %s 的驱动由云厂商管理", j.cann.Text, driver, j.f.Target),
		Exit: report.ExitNo,
		Do:   report.T("ask the provider for another driver", "由云厂商更换驱动"),
	}
	if p != nil {
		problem.Why = p.Text
	}
	if fits := j.m.CANNFor(driver, j.soc); len(fits) > 0 {
		problem.Do = report.T("take a CANN for that driver: %s", "选用与该驱动配套的 CANN：%s", strings.Join(fits[:min(3, len(fits))], ", "))
		problem.Run = report.Line("ascendctl", "install-cann", "--host", j.f.Target, "--cann", fits[0], "--dry-run")
	}
	return problem
}

// pickHDK takes the named release, or the newest matched one there is a package
// of, then any promised one.
func (j *job) pickHDK(named string) error {
	if j.managed("driver") {
		return &report.Problem{
			What: report.T("the driver of %s is looked after by its provider and is not replaced", "%s 的驱动由云厂商管理，不予替换", j.f.Target),
			Do:   report.T("leave out the driver, or ask the provider", "不指定驱动版本，或联系云厂商更换"), Exit: report.ExitNo,
		}
	}
	promised := []string{named}
	if named == "" {
		promised = j.m.DriversFor(j.cann.Text, j.soc)
		slices.SortStableFunc(promised, func(a, b string) int { return j.tier(a) - j.tier(b) })
	}
	for _, v := range promised {
		if p, err := j.d.Find("hdk", v, j.word, j.arch); err == nil {
			return j.useHDK(p)
		}
	}
	if len(promised) > 0 && j.word != "" {
		if p, ok := j.d.named("hdk", promised[0], "", j.generation, j.word, j.arch); ok {
			return j.useHDK(p)
		}
	}
	return &report.Problem{
		What: report.T("no driver package is known for CANN %s on this chip (%s)", "没有适用于 CANN %s 和该芯片（%s）的已知驱动包", j.cann.Text, cmp.Or(j.soc, "?")),
		Do:   report.T("install a driver by hand, or choose another CANN", "手动安装驱动，或选用其他 CANN 版本"),
		Run:  "ascendctl compat list driver.cann_hdk", Exit: report.ExitNo,
	}
}

func (j *job) useHDK(p Package) error {
	j.hdk, j.replace = &p, j.f.Driver.Known()
	if a := j.answer(matrix.Parts{"driver": p.Version, "cann": j.cann.Text, "chip": cmp.Or(j.soc, j.generation)}); a == matrix.Unsupported {
		return &report.Problem{
			What: report.T("CANN %s does not run on driver %s", "CANN %s 不能在驱动 %s 上运行", j.cann.Text, p.Version),
			Do:   report.T("leave the driver out: then a fitting one is chosen", "不指定驱动版本，由 ascendctl 选择配套版本"),
			Run:  report.Line("ascendctl", "compat", "check", "driver="+p.Version, "cann="+j.cann.Text), Exit: report.ExitNo,
		}
	}
	return nil
}

// tier puts matched drivers before the others.
func (j *job) tier(driver string) int {
	if v, err := j.m.Resolve(matrix.Parts{"driver": driver, "cann": j.cann.Text}); err == nil && v.Tier == matrix.Matched {
		return 0
	}
	return 1
}

func sameHDK(a, b string) bool {
	v, ok := matrix.Parse(matrix.HDK, a)
	w, also := matrix.Parse(matrix.HDK, b)
	return ok && also && v.Equal(w) || strings.EqualFold(a, b)
}
