package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Judges that read the version matrix. What no row says is unknown, and no
// failed check is blamed for that.

// noRow is unknown for want of a row of the matrix.
func noRow(source string, seen report.Text) verdict {
	v := unknown(source, seen)
	v.ofTarget = true
	return v
}

func noMatrix() report.Text { return report.T("no matrix", "没有版本配套表") }

func unlisted(seen report.Text) report.Text {
	return report.T("%s: no row", "%s：没有对应条目", seen)
}

// rows gives the rows of a section of the matrix; none when it was not loaded.
func (l *look) rows(section string) []book.Row {
	if l.c.matrix == nil {
		return nil
	}
	rows, err := l.c.matrix.Rows(section)
	if err != nil {
		return nil
	}
	return rows
}

// ask resolves parts; false without a matrix or for parts it cannot judge.
func (l *look) ask(parts matrix.Parts) (matrix.Verdict, bool) {
	if l.c.matrix == nil {
		return matrix.Verdict{}, false
	}
	for k, v := range parts {
		if v == "" {
			delete(parts, k)
		}
	}
	v, err := l.c.matrix.Resolve(parts)
	return v, err == nil
}

// pairEvidence says where the matrix says so.
func pairEvidence(p *matrix.Pair, fallback string) string {
	if p == nil || p.Row == "" {
		return fallback
	}
	return "matrix " + p.Row
}

// chipName is the chip as the matrix knows it: the generation, of a 950 the
// variant that npu-smi prints.
func (l *look) chipName() string {
	for _, c := range l.table().Value.Chips {
		if l.chip() == "950" && strings.HasPrefix(strings.TrimPrefix(c.Name, "Ascend"), "950") {
			return strings.TrimPrefix(c.Name, "Ascend")
		}
	}
	return l.chip()
}

var listedKernel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[kernel ([^\]]+)\]`) })

// listedKernels are those that the vendor's tables of systems name: a driver
// package carries modules for them.
func (l *look) listedKernels() (out []string) {
	for _, r := range l.rows("os.kernels") {
		out = append(out, r.Strs("default_kernel")...)
	}
	for _, section := range []string{"os.products", "os.other_lists"} {
		for _, r := range l.rows(section) {
			for _, m := range listedKernel().FindAllStringSubmatch(strings.Join(r.Strs("os"), "\n"), -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

func osKernelHeaders(l *look) verdict {
	if v, stop := blank(l.KernelBuild); stop {
		return v
	}
	wanted := raw(strings.ReplaceAll(l.word("build"), "{kernel}", l.Kernel.Value))
	if l.KernelBuild.Known() {
		return pass(l.KernelBuild.Source, raw(l.KernelBuild.Value))
	}
	if !l.Kernel.Known() {
		return unknown(l.Kernel.Source, report.T("kernel not known", "内核未知"))
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(l.Kernel.Value, ".aarch64"), ".x86_64")
	if listed := l.listedKernels(); slices.Contains(listed, bare) || slices.Contains(listed, l.Kernel.Value) {
		return warn(l.KernelBuild.Source, report.T("absent; %s is a kernel the driver package knows", "不存在；%s 是驱动包已知的内核", bare), wanted)
	}
	return fail(l.KernelBuild.Source, report.T("absent, and %s is no kernel the driver package knows", "不存在，且 %s 不是驱动包已知的内核", bare), wanted)
}

// driverCANN follows the lists that both packages carry: the newer side names
// the older. Branch numbers have no order, they restart.
func driverCANN(l *look) verdict {
	if v, stop := blank(l.CANN); stop {
		return v
	}
	t := l.active()
	if t == nil {
		return l.driverRow(l.cannVersion(), "target")
	}
	branch := l.regex("branch")
	driver, cann := branch.FindString(l.Driver.Value.Inner), branch.FindString(t.Inner)
	seen := report.T("driver %s (%s), CANN %s (%s)", "驱动 %s（%s），CANN %s（%s）", l.Driver.Value.Version, orNone(driver), t.Version, orNone(cann))
	names := func(list []string, b string) bool {
		return b != "" && slices.ContainsFunc(list, func(e string) bool { return branch.FindString(e) == b })
	}
	switch {
	case names(t.Compatible, driver):
		return pass(t.Info, report.T("%s, in the list of CANN", "%s，在 CANN 的列表中", seen))
	case names(l.Driver.Value.Compatible, cann):
		return pass(l.Driver.Source, report.T("%s, in the list of the driver", "%s，在驱动的列表中", seen))
	case driver == "" || cann == "" || len(t.Compatible) == 0 || len(l.Driver.Value.Compatible) == 0:
		return unknown(l.Driver.Source, report.T("%s, a list or Innerversion is missing", "%s，缺少列表或 Innerversion", seen))
	}
	seen = report.T("%s, in neither list", "%s，两侧列表均不含", seen)
	if least := l.olderThanAll(t.Version); least != "" {
		return fail(l.Driver.Source, seen, raw(">=", least))
	}
	return warn(l.Driver.Source, seen, namesOther())
}

// driverRow asks the matrix alone, where no installed list can be read. A row
// that pairs a CANN with one newer driver is no lower end: only a refusal fails.
func (l *look) driverRow(cann, source string) verdict {
	seen := report.T("driver %s for CANN %s", "驱动 %s 用于 CANN %s", l.Driver.Value.Version, cann)
	v, ok := l.ask(matrix.Parts{"driver": l.Driver.Value.Version, "cann": cann, "chip": l.chipName()})
	p := v.Pair("R04", "driver")
	switch {
	case !ok || p == nil || p.Verdict == matrix.Unknown:
		return noRow(source, unlisted(seen))
	case p.Verdict == matrix.Unsupported:
		return fail(pairEvidence(p, source), seen, p.Text)
	}
	return pass(pairEvidence(p, source), seen)
}

// olderThanAll gives the oldest driver that rows pair with a CANN release when
// ours is older still; "" when it is not, or no row pairs any.
func (l *look) olderThanAll(cann string) string {
	driver, ok := matrix.Parse(matrix.HDK, l.Driver.Value.Version)
	if l.c.matrix == nil || !ok {
		return ""
	}
	promised := l.c.matrix.DriversFor(cann, l.chipName())
	for _, p := range promised {
		v, _ := matrix.Parse(matrix.HDK, p)
		if c, comparable := driver.Compare(v); !comparable || c >= 0 {
			return ""
		}
	}
	if len(promised) == 0 {
		return ""
	}
	return promised[len(promised)-1]
}

// floor gives the published minimum of a CANN release; a row may name a line,
// 9.0.X, whose finished releases it holds for.
func (l *look) floor(cann string) (hdk, row string) {
	v, ok := matrix.Parse(matrix.CANN, cann)
	if !ok {
		return "", ""
	}
	for _, r := range l.rows("driver.cann_hdk_floor") {
		for _, name := range r.Strs("cann") {
			line, isLine := strings.CutSuffix(name, ".X")
			one, _ := matrix.Parse(matrix.CANN, name)
			if isLine && v.Finished() && strings.HasPrefix(v.Text, line+".") || !isLine && one.Equal(v) {
				return r.Str("hdk"), r.ID
			}
		}
	}
	return "", ""
}

func driverMin(l *look) verdict {
	cann := l.cannVersion()
	if l.c.matrix == nil {
		return noRow("matrix", noMatrix())
	}
	hdk, row := l.floor(cann)
	if hdk == "" {
		return skip("matrix driver.cann_hdk_floor", report.T("no floor is published for CANN %s", "CANN %s 未公布最低版本", cann))
	}
	have, ok := matrix.Parse(matrix.HDK, l.Driver.Value.Version)
	least, _ := matrix.Parse(matrix.HDK, hdk)
	seen := report.T("%s for CANN %s (row %s)", "%s 用于 CANN %s（条目 %s）", l.Driver.Value.Version, cann, row)
	c, comparable := have.Compare(least)
	switch {
	case !ok || !comparable:
		return noRow(l.Driver.Source, report.T("%s: of another product line than %s", "%s：与 %s 不属于同一产品线", seen, hdk))
	case c >= 0:
		return pass(l.Driver.Source, seen)
	case strings.EqualFold(firstTwo(l.Driver.Value.Version), firstTwo(hdk)):
		return warn(l.Driver.Source, seen, raw(">=", hdk))
	}
	return fail(l.Driver.Source, seen, raw(">=", hdk))
}

func cannVersionOK(l *look) verdict {
	t, v, stop := l.toolkit()
	if stop {
		return v
	}
	have, _ := matrix.Parse(matrix.CANN, t.Version)
	want, ok := matrix.Parse(matrix.CANN, l.job.CANN)
	seen, wanted := raw("version="+t.Version), raw(l.job.CANN)
	if l.row != "" {
		wanted = report.T("%s (row %s)", "%s（条目 %s）", l.job.CANN, l.row)
	}
	switch {
	case have.Equal(want), !ok && t.Version == l.job.CANN:
		return pass(t.Info, seen)
	case strings.EqualFold(firstTwo(have.Text), firstTwo(want.Text)):
		return warn(t.Info, seen, wanted)
	}
	return fail(t.Info, seen, wanted)
}

// ctrImage reads the words of a tag, 8.2.rc1-910b-ubuntu22.04-py3.11 or
// v0.11.0-a3. Without an image the chip and the CANN of the target say which
// would be taken.
func ctrImage(l *look) verdict {
	chips := l.dict("chips")
	said, cann, source := strings.ToLower(l.job.Chip), l.job.CANN, "target"
	if l.job.Image != "" {
		source = l.job.Image
		said, cann = "", ""
		if v, foreign := l.foreignCPU(source); foreign {
			return v
		}
		for _, w := range tagWords(source) {
			if chips[w] != "" && said == "" {
				said = w
			}
			if v, ok := matrix.Parse(matrix.CANN, w); ok && strings.Contains(path.Base(imageName(source)), "cann") && cann == "" {
				cann = v.Text
			}
		}
	}
	switch {
	case chips[said] == "":
		return noRow(source, report.T("the tag does not say the chip", "标签未说明芯片"))
	case !l.Generation.Known():
		return unknown(l.Generation.Source, reason(l.Generation))
	case chips[said] != l.Generation.Value:
		return fail(source, report.T("%s, the host has %s", "%s，主机为 %s", said, l.Generation.Value), imageFor(l.Generation.Value))
	}
	if l.Driver.Value.Version == "" || cann == "" {
		return pass(source, raw(said))
	}
	switch v := l.driverRow(cann, l.Driver.Source); v.status {
	case report.Fail:
		return v
	case report.Pass:
		return pass(source, report.T("%s, CANN %s with driver %s", "%s，CANN %s 与驱动 %s", said, cann, l.Driver.Value.Version))
	default:
		if t := l.active(); t != nil && t.Version == cann && l.done["driver.cann_compat"].Status == report.Pass {
			return pass(source, report.T("%s, CANN %s accepts the driver", "%s，CANN %s 接受该驱动", said, cann))
		}
		return noRow(source, report.T("%s, no row has CANN %s with driver %s", "%s，没有 CANN %s 与驱动 %s 的条目", said, cann, l.Driver.Value.Version))
	}
}

func imageFor(what string) report.Text {
	return report.T("an image for %s", "适用于 %s 的镜像", what)
}

// foreignCPU is a fail for an image whose tag names another CPU.
func (l *look) foreignCPU(image string) (verdict, bool) {
	spelled := l.of("os.arch").dict("spelled")
	for _, w := range tagWords(image) {
		if s := spelled[w]; s != "" {
			w = s
		}
		if slices.Contains(l.of("os.arch").list("known"), w) && l.Arch.Known() && w != l.spelled() {
			return fail(image, report.T("%s, the host is %s", "%s，主机为 %s", w, l.spelled()), imageFor(l.spelled())), true
		}
	}
	return verdict{}, false
}

// imageName is an image without its tag; a word without a colon is a tag alone.
func imageName(image string) string {
	name, _, tagged := strings.Cut(path.Base(image), ":")
	if !tagged && !strings.Contains(image, "/") {
		return ""
	}
	return name
}

// tagWords are the words of the tag, in lower case.
func tagWords(image string) []string {
	tag := path.Base(image)
	if _, t, ok := strings.Cut(tag, ":"); ok {
		tag = t
	}
	return strings.Split(strings.ToLower(tag), "-")
}
