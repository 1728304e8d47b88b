package install

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// engines are what a host can be made ready for: the table of its releases and
// the part that names them. om needs CANN alone.
var engines = map[string]struct{ section, part string }{
	"vllm-ascend": {"vllm_ascend.releases", "vllm_ascend"},
	"mindie":      {"mindie.rows", "mindie"},
	"mindspore":   {"mindspore.rows", "mindspore"},
	"sglang":      {"sglang.images", "sglang"},
	"torch_npu":   {"torch_npu.releases", "torch_npu"},
	"torch":       {"torch_npu.releases", "torch"},
	"om":          {},
}

// follow finds the row of the workload.
func (j *job) follow() error {
	name, version, _ := strings.Cut(j.For, "@")
	if name == "" {
		return nil
	}
	name = strings.ReplaceAll(strings.ToLower(name), "vllm_ascend", "vllm-ascend")
	e, ok := engines[name]
	if !ok {
		known := make([]string, 0, len(engines))
		for k := range engines {
			known = append(known, k)
		}
		slices.Sort(known)
		return usage(report.T("no workload is called %s%s", "没有名为 %s 的工作负载%s", name, report.Meant(name, slices.Clone(known))),
			report.T("the workloads are: %s", "可用的工作负载：%s", strings.Join(known, ", ")))
	}
	if name == "torch" && version == "" { // the newest is that of the adapter
		name, e = "torch_npu", engines["torch_npu"]
	}
	j.engine = name
	if e.section == "" {
		return nil
	}
	rows, err := j.m.Rows(e.section)
	if err != nil {
		return err
	}
	row, has, err := j.rowOf(name, e.part, version, rows)
	if err != nil {
		return err
	}
	file, _, _ := strings.Cut(e.section, ".")
	j.row, j.version, j.rowName = row, has, file+"/"+row.ID
	if n := row.Prose("note"); !n.IsZero() {
		j.note(report.T("row %s says: %s", "版本配套表 %s 注明：%s", j.rowName, n))
	}
	return nil
}

// rowOf is the row of a version, or without one that of the newest final
// release that this chip and driver can run; and the version as the row has it.
func (j *job) rowOf(name, part, version string, rows []book.Row) (*book.Row, string, error) {
	scheme := matrix.PEP440
	if part == "mindie" {
		scheme = matrix.CANN
	}
	wanted, _ := matrix.Parse(scheme, version)
	type pick struct {
		row *book.Row
		has matrix.Version
	}
	var known []string
	var best, fallback pick
	for i := range rows {
		for _, text := range rows[i].Strs(part) { // a row may be that of several
			r := &rows[i]
			v, ok := matrix.Parse(scheme, text)
			if !ok || r.Str("cann") == "" {
				continue
			}
			known = append(known, v.Text)
			if version != "" {
				if v.Equal(wanted) && (best.row == nil || j.CANN != "" && j.supported(matrix.Parts{part: v.Text, "cann": j.CANN}) && strings.EqualFold(r.Str("cann"), j.CANN)) {
					best = pick{r, v}
				}
				continue
			}
			if c, ok := v.Compare(best.has); !v.Finished() || best.has.Known() && ok && c <= 0 {
				continue
			}
			switch answer := j.runs(part, v.Text, r.Str("cann")); {
			case answer == matrix.Supported:
				best = pick{r, v}
			case answer == matrix.Unknown && fallback.row == nil:
				fallback = pick{r, v}
			}
		}
	}
	if best.row == nil {
		best = fallback
	}
	if best.row != nil {
		return best.row, best.has.Text, nil
	}
	return nil, "", noRow(name, part, version, known)
}

// runs is what the matrix says of a release on this chip and driver.
func (j *job) runs(part, version, cann string) matrix.Answer {
	ask := matrix.Parts{part: version}
	j.given(ask, "chip", j.soc)
	if !strings.HasSuffix(cann, ".X") {
		ask["cann"] = cann
		j.given(ask, "driver", j.f.Driver.Value.Version)
	}
	return j.answer(ask)
}

func noRow(name, part, version string, known []string) error {
	if version == "" {
		return usage(report.T("no release of %s is known to run on this host", "没有已知可在此主机上运行的 %s 版本", name),
			report.T("name a version, such as --for %s@%s", "指定一个版本，例如 --for %s@%s", name, last(known)))
	}
	p := usage(report.T("no row of the compatibility data has %s %s%s", "版本配套表中没有 %s %s%s", name, version, report.Meant(version, slices.Clone(known))),
		report.T("the newest known are: %s", "已知的最新版本：%s", strings.Join(known[max(0, len(known)-6):], ", ")))
	p.Run = report.Line("ascendctl", "compat", "check", part+"="+version)
	return p
}

func last(words []string) string {
	if len(words) == 0 {
		return "VERSION"
	}
	return words[len(words)-1]
}

// given adds a part that is known.
func (j *job) given(p matrix.Parts, name, value string) {
	if value != "" {
		p[name] = value
	}
}

func (j *job) answer(p matrix.Parts) matrix.Answer {
	v, err := j.m.Resolve(p)
	if err != nil {
		return matrix.Unknown
	}
	return v.Verdict
}

func (j *job) supported(p matrix.Parts) bool { return j.answer(p) == matrix.Supported }

// pickCANN takes the release that is named, that of the row, or the newest one
// the driver was made for.
func (j *job) pickCANN() error {
	want := j.CANN
	if want == "" && j.row != nil {
		want = j.row.Str("cann")
	}
	if line, ok := strings.CutSuffix(want, ".X"); ok {
		want = j.newestOf(line)
	}
	if want == "" {
		want = j.newestCANN()
	}
	v, ok := matrix.Parse(matrix.CANN, want)
	if !ok || j.release(v) == nil {
		known := j.releases()
		p := usage(report.T("CANN %s is not in the compatibility data%s", "版本配套表中没有 CANN %s%s", cmp.Or(want, "?"), report.Meant(want, slices.Clone(known))),
			report.T("the newest known are: %s", "已知的最新版本：%s", strings.Join(known[max(0, len(known)-6):], ", ")))
		if want != "" {
			p.Run = report.Line("ascendctl", "compat", "check", "cann="+want)
		}
		return p
	}
	if r := j.release(v).Str("version"); r != "" {
		v, _ = matrix.Parse(matrix.CANN, r)
	}
	j.cann = v
	return nil
}

// newestOf is the newest final release, of a line such as 9.1 when it is given.
func (j *job) newestOf(line string) (best string) {
	var top matrix.Version
	for _, r := range j.releases() {
		v, _ := matrix.Parse(matrix.CANN, r)
		c, ok := v.Compare(top)
		if (line == "" || strings.HasPrefix(r, line+".")) && v.Finished() && (!top.Known() || ok && c > 0) {
			best, top = r, v
		}
	}
	return best
}

// newestCANN is the release in use where it fits the driver, else the newest one
// whose matched driver is there, else the newest that runs on it; without a
// driver, that of the newest driver there is a package of. So the answer stays
// the same once that driver is in.
func (j *job) newestCANN() string {
	driver := j.f.Driver.Value.Version
	if t, ok := j.f.ActiveTree(); ok && j.Path == "" && j.User == t.User {
		v, known := matrix.Parse(matrix.CANN, t.Version)
		ask := matrix.Parts{"cann": t.Version}
		j.given(ask, "driver", driver)
		if known && j.release(v) != nil && j.answer(ask) != matrix.Unsupported {
			return t.Version
		}
	}
	if driver == "" || j.Driver != "" {
		driver = cmp.Or(j.Driver, j.newestHDK())
	}
	fits := j.m.CANNFor(driver, j.soc)
	for _, c := range fits {
		if v, err := j.m.Resolve(matrix.Parts{"driver": driver, "cann": c}); err == nil && v.Tier == matrix.Matched {
			return c
		}
	}
	if len(fits) > 0 {
		return fits[0]
	}
	return j.newestOf("")
}

// newestHDK is the newest driver of this chip that a list has.
func (j *job) newestHDK() (best string) {
	var top matrix.Version
	for _, f := range j.d.of("hdk") {
		v, ok := matrix.Parse(matrix.HDK, f.V)
		if !ok || !f.fits(j.word, j.arch) || len(j.m.CANNFor(f.V, j.soc)) == 0 {
			continue
		}
		if c, known := v.Compare(top); !top.Known() || known && c > 0 {
			best, top = f.V, v
		}
	}
	return best
}

func (j *job) releases() (out []string) {
	rows, _ := j.m.Rows("cann.releases")
	for _, r := range rows {
		out = append(out, r.Str("version"))
	}
	return out
}

func (j *job) release(v matrix.Version) *book.Row {
	rows, _ := j.m.Rows("cann.releases")
	for i := range rows {
		if o, ok := matrix.Parse(matrix.CANN, rows[i].Str("version")); ok && o.Equal(v) {
			return &rows[i]
		}
	}
	return nil
}
