package install

import (
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// kernelsBelow is where operator binaries lie in a tree.
const kernelsBelow = "opp/built-in/op_impl/ai_core/tbe/kernel"

// cannSteps: toolkit, then the operators of the chip, then the link by which
// this release is the one in use.
func (j *job) cannSteps() ([]plan.Step, error) {
	tree := j.tree()
	if j.managed("cann") {
		return nil, nil
	}
	info := func(kind string) string { return path.Join(tree, j.arch+"-linux", "ascend_"+kind+"_install.info") }
	toolkit := installing{
		step: "cann.toolkit", part: "toolkit", pack: j.toolkit, title: report.T("toolkit %s", "toolkit %s", j.cann.Text),
		check: says(info("toolkit"), "version", j.cann.Text),
		touch: j.cannTouches(), undo: []string{path.Join(tree, "cann_uninstall.sh")},
	}
	steps, err := j.cannStep(nil, toolkit)
	if err != nil {
		return nil, err
	}
	if j.kernels != nil {
		kind := j.kernelKind()
		ops := installing{
			step: "cann." + kind, part: kind, pack: *j.kernels, needs: before(steps),
			title: report.T("%s %s for %s", "%s %s（%s）", kind, j.cann.Text, j.word),
			check: says(info("ops"), "version", j.cann.Text), touch: []plan.Touch{{Path: tree, Tree: true}},
		}
		if folder := find(j.d.folders, func(r folderRow) bool { return r.ID == j.generation }); kind == "kernels" && folder != nil {
			ops.check = either(plan.Exists(path.Join(tree, kernelsBelow, folder.Folder)), plan.Exists(path.Join(tree, kernelsBelow, "config", folder.Folder)))
		}
		if steps, err = j.cannStep(steps, ops); err != nil {
			return nil, err
		}
	}
	if j.newLayout() {
		steps = append(steps, plan.Step{
			ID: "cann.links", Root: !j.User, Needs: before(steps),
			Title: report.Same("cann -> " + path.Base(tree)),
			Do:    []plan.Act{plan.Link{Path: path.Join(j.root, "cann"), Target: path.Base(tree)}},
		})
	}
	return steps, nil
}

// before is the last of the steps so far.
func before(steps []plan.Step) []string {
	if len(steps) == 0 {
		return nil
	}
	return []string{steps[len(steps)-1].ID}
}

// afterToolkit: what reads set_env.sh comes after the toolkit, if that is in the
// plan.
func (j *job) afterToolkit() []string {
	if j.toolkit.Kind == "" || j.managed("cann") {
		return nil
	}
	return []string{"cann.toolkit"}
}

// cannTouches are the paths that a toolkit writes: its tree and links below the
// install path, and its records.
func (j *job) cannTouches() []plan.Touch {
	// The first is a tree too large to keep. The other two are shared by all
	// releases side by side, and small; those from 8.5 on write them for old recipes.
	ts := []plan.Touch{{Path: j.root, Tree: true}, {Path: path.Join(j.root, "ascend-toolkit/latest")}, {Path: path.Join(j.root, "ascend-toolkit/set_env.sh")}}
	if !j.User {
		ts = append(ts, plan.Touch{Path: "/etc/Ascend", Tree: true}, plan.Touch{Path: "/etc/Ascend/ascend_cann_install.info"})
	}
	return ts
}

// cannStep adds a package of CANN; the last step must be through before it.
func (j *job) cannStep(steps []plan.Step, in installing) ([]plan.Step, error) {
	if in.pack.Kind == "" {
		j.keep(in.part, j.cann.Text, report.T("installed at %s", "已安装于 %s", j.tree()))
		return steps, nil
	}
	file, err := j.fileOf(&in)
	if err != nil {
		return nil, err
	}
	in.root = !j.User
	in.options = slices.Clone(j.d.installer(in.part).First)
	if !j.User {
		in.options = append(in.options, "--install-for-all")
	}
	if j.root != vendorRoot {
		in.options = append(in.options, "--install-path="+j.root)
	}
	if j.have(in.part) && !j.Unfinished {
		j.keep(in.part, j.cann.Text, report.T("installed at %s", "已安装于 %s", j.tree()))
	} else {
		j.set.Packages = append(j.set.Packages, in.pack)
	}
	return append(steps, j.installerStep(in, file)), nil
}

func (j *job) nnalSteps() ([]plan.Step, error) {
	if j.nnal == nil || j.managed("cann") {
		return nil, nil
	}
	at := path.Join(j.root, "nnal")
	version := path.Join(at, "atb", j.cann.Text, "version.info")
	return j.cannStep(nil, installing{
		step: "cann.nnal", part: "nnal", pack: *j.nnal, needs: j.afterToolkit(), title: report.T("nnal %s", "nnal %s", j.cann.Text),
		source: j.setEnv(), check: either(says(version, "Ascend-cann-atb", j.cann.Text), says(version, "Version", j.cann.Text)),
		touch: []plan.Touch{{Path: at, Tree: true}, {Path: path.Join(at, "atb/latest")}, {Path: path.Join(at, "atb/set_env.sh")}},
	})
}

// setEnv is the script that makes this release usable in a shell.
func (j *job) setEnv() string {
	if j.newLayout() {
		return path.Join(j.tree(), "set_env.sh")
	}
	return path.Join(j.root, "ascend-toolkit/set_env.sh")
}

// have is true for a part of the release that facts have seen in its place. Its
// step stays in the plan and looks for itself; only its package is not fetched.
func (j *job) have(part string) bool {
	in := j.f.CANN.Value
	if part == "nnal" {
		return slices.ContainsFunc(in.NNAL, func(n cann.NNAL) bool {
			return n.Path == path.Join(j.root, "nnal/atb", j.cann.Text) && strings.EqualFold(n.Version, j.cann.Text)
		})
	}
	t, ok := in.At(j.tree())
	folder := find(j.d.folders, func(r folderRow) bool { return r.ID == j.generation })
	switch part {
	case "toolkit":
		return ok && strings.EqualFold(t.Version, j.cann.Text)
	case "ops":
		return ok && strings.EqualFold(t.OpsVersion, j.cann.Text)
	case "kernels":
		return ok && folder != nil && slices.Contains(t.Kernels, folder.Folder)
	}
	return false
}
