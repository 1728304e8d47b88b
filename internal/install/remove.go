package install

import (
	"cmp"
	"path"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Removal is what a person wants gone.
type Removal struct {
	CANN    string // a release that is installed; its nnal goes with it
	Driver  bool   // driver and firmware
	Managed []string
	Again   string
}

// Remove makes the plan that uninstalls by the vendor's own scripts. Undo does
// not bring it back, and each step says so. Errors are problems: exit 64 for a
// release that is not there, 3 for what a provider looks after.
func Remove(r Removal, f *facts.Facts, m *matrix.Matrix, d *Data) (*Set, error) {
	j := &job{Want: Want{Managed: r.Managed, Again: r.Again}, f: f, m: m, d: d, set: &Set{}}
	if err := j.place(); err != nil {
		return nil, err
	}
	words := []string{"uninstall"}
	if r.CANN != "" {
		words = append(words, "cann="+r.CANN)
		if err := j.removeCANN(r.CANN); err != nil {
			return nil, err
		}
	}
	if r.Driver {
		words = append(words, "driver")
		if err := j.removeDriver(); err != nil {
			return nil, err
		}
	}
	j.set.Plan.Name, j.set.Plan.Again = report.Line(words...), r.Again
	j.set.Plan.Title = report.T("remove %s", "卸载 %s", strings.Join(words[1:], " "))
	for _, check := range []func() report.Finding{j.rights, j.quiet} { // nothing is removed under running work
		j.report(check())
	}
	return j.set, nil
}

// gone is a step that removes something for good.
func gone(id string, title report.Text, root bool, argv []string, there string) plan.Step {
	check := not(plan.Exists(there))
	return plan.Step{
		ID: id, Title: title, Root: root, Check: check, Do: []plan.Act{plan.Command{Argv: argv, Check: check, Long: true}},
		Keeps: report.T("what was removed does not come back: install it again", "已卸载的内容不会恢复：需重新安装"),
	}
}

func (j *job) removeCANN(version string) error {
	want, _ := matrix.Parse(matrix.CANN, version)
	var known []string
	for _, t := range j.f.CANN.Value.Trees {
		known = append(known, t.Version)
		v, ok := matrix.Parse(matrix.CANN, t.Version)
		if !strings.EqualFold(t.Version, version) && !(ok && v.Equal(want)) {
			continue
		}
		if j.managed("cann") {
			return managed("CANN", j.f.Target)
		}
		root := !t.User || j.f.Identity.Value.UID == 0
		steps := j.removeNNAL(t.Version, root)
		s := gone("cann.gone", report.T("remove CANN %s from %s", "从 %[2]s 卸载 CANN %[1]s", t.Version, t.Path), root,
			[]string{path.Join(t.Path, "cann_uninstall.sh")}, cmp.Or(t.Info, t.Path))
		j.set.Plan.Steps = append(append(j.set.Plan.Steps, steps...), s)
		return nil
	}
	return usage(report.T("%s has no CANN %s%s", "%s 上没有 CANN %s%s", j.f.Target, version, report.Meant(version, append([]string(nil), known...))),
		report.T("installed: %s", "已安装：%s", cmp.Or(strings.Join(known, ", "), "-")))
}

// removeNNAL: nnal has no uninstaller; what lies in its folder moves into the
// journal, and comes back with undo.
func (j *job) removeNNAL(version string, root bool) (steps []plan.Step) {
	for _, n := range j.f.CANN.Value.NNAL {
		if !strings.EqualFold(n.Version, version) {
			continue
		}
		s := plan.Step{ID: "nnal.gone", Root: root, Title: report.T("remove nnal %s from %s", "从 %[2]s 移除 nnal %[1]s", n.Version, n.Path), Do: []plan.Act{plan.Gone{Path: n.Path}}}
		if n.Active {
			s.Do = append(s.Do, plan.Gone{Path: path.Join(path.Dir(n.Path), "latest")})
		}
		return []plan.Step{s}
	}
	return nil
}

func (j *job) removeDriver() error {
	if !j.f.Driver.Known() {
		return usage(report.T("%s has no driver to remove", "%s 上没有可卸载的驱动", j.f.Target), report.T("nothing was changed", "未做任何变更"))
	}
	if j.managed("driver") || j.container() || j.onBoard() {
		return managed("driver", j.f.Target)
	}
	root := j.driverRoot()
	for _, part := range []string{"firmware", "driver"} {
		s := gone("hdk."+part+"-gone", report.T("remove the %s", "卸载%s", partName(part)), true,
			[]string{path.Join(root, j.d.installer(part).Undo)}, path.Join(root, part, "version.info"))
		s.Risk = plan.RiskDriver
		j.set.Plan.Steps = append(j.set.Plan.Steps, s)
	}
	return nil
}

func managed(what, target string) error {
	return &report.Problem{
		What: report.T("the %s of %s is not ours to remove", "%[2]s 的 %[1]s 不由本工具管理，不能卸载", what, target),
		Do:   report.T("leave it, or ask whoever looks after it", "保持不变，或联系其管理者"), Exit: report.ExitNo,
	}
}
