package install

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// pickPackages names the packages of the release, and the versions of the
// Python set.
func (j *job) pickPackages() error {
	var err error
	if j.toolkit, err = j.packageFor("toolkit"); err != nil {
		return err
	}
	if j.word != "" {
		p, err := j.packageFor(j.kernelKind())
		if err != nil {
			return err
		}
		j.kernels = &p
	}
	if r := j.d.installer("nnal"); r != nil && slices.Contains(r.Only, j.generation) {
		if p, err := j.packageFor("nnal"); err == nil {
			j.nnal = &p
		} else {
			j.note(report.T("no nnal package is known for CANN %s", "没有 CANN %s 的已知 nnal 软件包", j.cann.Text))
		}
	}
	if j.DockerRuntime != "" {
		if err := j.pickDocker(); err != nil {
			return err
		}
	}
	return j.pickPython()
}

// kernelKind is what the operators of a chip are called.
func (j *job) kernelKind() string {
	if j.newLayout() {
		return "ops"
	}
	return "kernels"
}

// packageFor asks the lists first, then how files of the release are called.
func (j *job) packageFor(kind string) (Package, error) {
	chip := ""
	if kind == "kernels" || kind == "ops" {
		chip = j.word
	}
	p, err := j.d.Find(kind, j.cann.Text, chip, j.arch)
	if err == nil {
		return p, nil
	}
	if j.have(kind) && !j.Unfinished { // it is here, so nobody needs to know where it came from
		return Package{}, nil
	}
	r := j.release(j.cann)
	files := r.Get("files")
	spelt := r.Get("spellings")
	if files.Str(kind) != "" {
		for _, c := range files.Strs("ops_chips") { // the names are spelt A3, the matrix says a3
			if strings.EqualFold(c, chip) {
				chip = c
			}
		}
		if p, ok := j.d.named(kind, j.cann.Text, spelt.Str("folder"), j.generation, cmp.Or(chip, j.word), j.arch); ok {
			return p, nil
		}
	}
	return Package{}, err
}

func (j *job) pickDocker() error {
	version := j.DockerRuntime
	if version == "latest" {
		files := j.d.of("docker-runtime")
		if len(files) == 0 {
			return usage(report.T("no version of the Ascend Docker Runtime is known", "没有已知的 Ascend Docker Runtime 版本"), report.T("name one", "指定一个版本"))
		}
		version = files[len(files)-1].V
	}
	p, err := j.d.Find("docker-runtime", version, "", j.arch)
	if err != nil {
		return err
	}
	j.docker = &p
	return nil
}

// pickPython finds the versions of what --with names: in the row of the
// workload, else in the row of that framework for the chosen CANN.
func (j *job) pickPython() error {
	j.pins = matrix.Parts{}
	for _, set := range j.With {
		if j.d.python(set) == nil {
			var known []string
			for _, r := range j.d.pythons {
				known = append(known, r.ID)
			}
			return usage(report.T("--with knows no set called %s%s", "--with 没有名为 %s 的集合%s", set, report.Meant(set, slices.Clone(known))),
				report.T("the sets are: %s", "可用的集合：%s", strings.Join(known, ", ")))
		}
		if err := j.pinsOf(set); err != nil {
			return err
		}
	}
	if len(j.With) > 0 {
		home := cmp.Or(j.f.Identity.Value.Home, "/root")
		// It is named after what runs in it: the tools of CANN come with something.
		sets := slices.DeleteFunc(slices.Clone(j.With), func(set string) bool { return set == "cann" && len(j.With) > 1 })
		name := sets[len(sets)-1] + "-" + cmp.Or(j.version, j.cann.Text)
		j.venv = cmp.Or(j.Venv, "/opt/ascend/venv-"+name)
		if j.User && j.Venv == "" {
			j.venv = home + "/ascend-venv-" + name
		}
	}
	return nil
}

// pinsOf adds the versions a set needs. torch_npu is in the row of vllm-ascend
// too; a set without a row in the workload takes the newest that fits CANN.
func (j *job) pinsOf(set string) error {
	e, ok := engines[set]
	if !ok || e.section == "" {
		return nil // a plain list, such as what CANN itself needs
	}
	row := j.row
	if row == nil || row.Str(e.part) == "" {
		var err error
		if row, err = j.rowForCANN(set, e.section, e.part); err != nil {
			return err
		}
		if j.rowName == "" {
			file, _, _ := strings.Cut(e.section, ".")
			j.rowName = file + "/" + row.ID
		}
	}
	for _, part := range []string{e.part, "torch", "torch_npu", "vllm", "triton_ascend"} {
		vs := row.Strs(part)
		if len(vs) == 0 || vs[0] == "" {
			continue
		}
		if was := j.pins[part]; was != "" && was != vs[0] {
			return usage(report.T("--with asks for %s %s and %s at once", "--with 同时要求 %s %s 和 %s", part, was, vs[0]),
				report.T("name one of the sets, or another workload version", "只选其中一个集合，或更换工作负载版本"))
		}
		if part == "triton_ascend" && j.answer(matrix.Parts{part: vs[0], "chip": cmp.Or(j.soc, j.generation)}) == matrix.Unsupported {
			j.note(report.T("%s does not run on %s and is left out", "%s 不能在 %s 上运行，不予安装", part, j.soc))
			continue
		}
		j.pins[part] = vs[0]
	}
	return nil
}

// rowForCANN is the newest release of a framework that belongs to the CANN, and
// if there is one, to the Python of the host.
func (j *job) rowForCANN(set, section, part string) (*book.Row, error) {
	rows, err := j.m.Rows(section)
	if err != nil {
		return nil, err
	}
	for _, python := range []string{j.f.Python.Value.Version, ""} {
		if best := j.newestFor(rows, part, python); best != nil {
			return best, nil
		}
	}
	return nil, &report.Problem{
		What: report.T("no release of %s is known for CANN %s", "没有 %s 的版本与 CANN %s 配套", set, j.cann.Text),
		Do:   report.T("choose another CANN, or leave the set out", "选用其他 CANN 版本，或不安装该集合"),
		Run:  report.Line("ascendctl", "compat", "list", section), Exit: report.ExitNo,
	}
}

func (j *job) newestFor(rows []book.Row, part, python string) (best *book.Row) {
	var top matrix.Version
	for i := range rows {
		v, ok := matrix.Parse(matrix.PEP440, rows[i].Str(part))
		cann := rows[i].Str("cann")
		if !ok || !v.Finished() || !(strings.EqualFold(cann, j.cann.Text) || lineOf(cann, j.cann)) {
			continue
		}
		ask := matrix.Parts{part: v.Text, "cann": j.cann.Text}
		j.given(ask, "python", python)
		if j.answer(ask) == matrix.Unsupported {
			continue
		}
		if c, known := v.Compare(top); !top.Known() || known && c > 0 {
			best, top = &rows[i], v
		}
	}
	return best
}

// lineOf is true for 9.1.X and a release of that line.
func lineOf(pattern string, v matrix.Version) bool {
	line, ok := strings.CutSuffix(pattern, ".X")
	return ok && v.Finished() && strings.HasPrefix(v.Text, line+".")
}

// judge asks the matrix about the stack as it will be. A refusal ends it; what
// nobody has said anything about is a note.
func (j *job) judge() error {
	p := matrix.Parts{"cann": j.cann.Text}
	for name, value := range map[string]string{"chip": j.soc, "arch": j.arch, "glibc": j.f.Glibc.Value, "driver": j.f.Driver.Value.Version, "firmware": j.f.Firmware.Value.Version} {
		j.given(p, name, value)
	}
	if j.hdk != nil {
		p["driver"] = j.hdk.Version
		delete(p, "firmware") // its number is in the package
	}
	if j.nnal != nil {
		p["nnal"] = j.cann.Text
	}
	if j.newLayout() && j.kernels != nil {
		p["ops_package"] = j.cann.Text
	}
	if e := engines[j.engine]; e.part != "" {
		p[e.part] = j.version
	}
	maps.Copy(p, j.pins)
	if len(j.With) > 0 && j.Python == "" {
		j.given(p, "python", j.f.Python.Value.Version)
	}
	v, err := j.m.Resolve(p)
	if err != nil {
		return err
	}
	j.set.Parts, j.set.Verdict = v.Parts, v
	for i, pair := range v.Pairs {
		switch {
		case pair.Verdict == matrix.Unsupported && slices.Contains(pair.Parts, "python"):
			j.pythonRefused(&v.Pairs[i])
		case pair.Verdict == matrix.Unsupported && j.touches(pair.Parts):
			return j.refused(v.Parts, &v.Pairs[i])
		case pair.Verdict == matrix.Unsupported:
			j.note(report.T("what is here already does not belong together: %s", "主机上已有的部件不配套：%s", pair.Text))
		case pair.Verdict == matrix.Unknown:
			j.note(report.T("not known to belong together (%s): %s", "是否配套未知（%s）：%s", strings.Join(pair.Parts, ", "), pair.Text))
		}
	}
	return nil
}

// touches is true when the plan brings one of the parts.
func (j *job) touches(parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool {
		switch p {
		case "driver", "firmware":
			return j.hdk != nil
		case "chip", "arch", "glibc", "python":
			return false
		}
		return true
	})
}

func (j *job) refused(parts matrix.Parts, p *matrix.Pair) error {
	ask := []string{"ascendctl", "compat", "check"}
	for _, name := range p.Parts {
		if v := parts[name]; v != "" {
			ask = append(ask, name+"="+v)
		}
	}
	do := report.T("choose other versions", "选用其他版本")
	if len(p.Nearest) > 0 {
		do = report.T("the nearest that is known to work: %s %s", "已知可用的最近版本：%s %s", p.Nearest[0].Part, p.Nearest[0].Value)
	}
	return &report.Problem{
		What: report.T("these versions do not belong together: %s", "这些版本不配套：%s", strings.Join(ask[3:], " ")),
		Why:  p.Text, Do: do, Run: report.Line(ask...), Exit: report.ExitNo,
	}
}
