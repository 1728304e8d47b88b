package install

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// installing is one .run that is brought, run and taken away again.
type installing struct {
	step, part string
	title      report.Text
	pack       Package
	options    []string
	source     string // set_env.sh that is read before; "" = none
	check      plan.Check
	touch      []plan.Touch
	undo       []string
	needs      []string
	root       bool
}

// notHere is a package that was not fetched. A plan looks at its files before it
// changes anything, so it ends there.
type notHere struct{}

func (notHere) ReadAt([]byte, int64) (int, error) {
	return 0, errors.New("this package is not at hand: download it, or name its folder with --from")
}

// fileOf asks for the file; one for another architecture is refused. Without a
// file the digest of the list is shown, and the plan cannot be run.
func (j *job) fileOf(in *installing) (File, error) {
	for _, part := range in.pack.Parts {
		if part.Name != in.part || j.Files == nil {
			continue
		}
		f, ok := j.Files(in.pack, part)
		if !ok {
			continue
		}
		if path.Base(f.Name) != f.Name || !strings.HasSuffix(f.Name, ".run") || strings.HasPrefix(f.Name, "-") || strings.ContainsAny(f.Name, "\n\x00") {
			return f, usage(report.T("%q is not the name of an installer", "%q 不是安装包的名称", f.Name), report.T("give the .run file of %s", "提供 %s 的 .run 文件", in.pack.File))
		}
		for _, arch := range []string{"aarch64", "x86_64", "x86-64"} {
			if strings.Contains(f.Name, arch) && strings.ReplaceAll(arch, "-", "_") != j.arch {
				return f, &report.Problem{
					What: report.T("%s is for %s, %s is %s", "%s 适用于 %s，而 %s 为 %s", f.Name, arch, j.f.Target, j.arch),
					Do:   report.T("take the package for this architecture: %s", "改用此架构的软件包：%s", in.pack.File), Exit: report.ExitNo,
				}
			}
		}
		if !f.Verified {
			j.unverified = append(j.unverified, f.Name)
		}
		return f, nil
	}
	if !j.have(in.part) || j.Unfinished {
		j.set.Missing = append(j.set.Missing, in.part)
		if in.pack.SHA256 == "" {
			j.unverified = append(j.unverified, in.pack.File)
		}
	}
	return File{Src: notHere{}, Size: max(1, in.pack.Size), SHA256: cmp.Or(in.pack.SHA256, strings.Repeat("0", 64)), From: cmp.Or(in.pack.URL, in.pack.File)}, nil
}

// installerStep brings the .run into a folder that only its user can write,
// runs it as a job that outlives the connection, and takes it away again. It
// unpacks there too, so that what a killed installer leaves goes with the folder.
func (j *job) installerStep(in installing, f File) plan.Step {
	dir := path.Join(j.stage, in.step)
	run := path.Join(dir, cmp.Or(f.Name, in.pack.likely(in.part)))
	done := plan.All(in.check, ended(run))
	argv := append([]string{"bash", run}, in.options...)
	if in.source != "" {
		argv = append([]string{"bash", "-c", `. "$1"; shift; exec "$@"`, "bash", in.source}, argv...)
	}
	row := j.d.installer(in.part)
	c := plan.Command{Argv: argv, Env: installerEnv(dir), Check: done, OK: row.Accept, Touch: in.touch, Undo: in.undo, Long: true}
	if row.Answer != "" {
		c.Stdin = row.Answer + "\n"
	}
	owner := ""
	if in.root {
		owner = "root:root"
	}
	clear := []string{"rm", "-rf", "--", dir}
	acts := []plan.Act{
		plan.Dir{Path: dir, Mode: 0o700, Owner: owner},
		plan.Upload{Path: run, Src: f.Src, Size: f.Size, SHA256: f.SHA256, From: f.From, Mode: 0o500, Owner: owner},
		plan.Command{Undo: clear}, c, plan.Command{Argv: clear, Always: true},
	}
	return plan.Step{ID: in.step, Title: in.title, Needs: append([]string{stageStep}, in.needs...), Do: acts, Check: done, Root: in.root}
}

// likely is the name of a .run that was not unpacked yet: only shown.
func (p Package) likely(part string) string {
	name := strings.TrimSuffix(p.File, path.Ext(p.File)) + ".run"
	if p.Kind == "hdk" {
		name = strings.Replace(name, "-npu_", "-npu-"+part+"_", 1)
	}
	return name
}

// stageStep makes the folder for packages.
const stageStep = "packages.folder"

// folderStep is the step before the packages: the folders above them that may be
// missing. A shared place such as /tmp is not ours, only what lies in it.
func (j *job) folderStep() plan.Step {
	stop, owner := "/var/lib", "root:root"
	switch {
	case j.Tmpdir != "":
		stop = j.Tmpdir
	case j.User:
		stop = strings.TrimSuffix(j.stage, "/"+userStage)
	}
	if j.User {
		owner = ""
	}
	s := plan.Step{ID: stageStep, Root: !j.User, Title: report.T("folder for packages: %s", "软件包目录：%s", j.stage)}
	for at := j.stage; at != stop && at != "/"; at = path.Dir(at) {
		d := plan.Dir{Path: at}
		if at == j.stage {
			d.Mode, d.Owner = 0o700, owner
		}
		s.Do = append([]plan.Act{d}, s.Do...)
	}
	return s
}

// installerEnv: an installer unpacks in TMPDIR, and the driver's must not meet
// libraries of an old CANN (source: ascend-deployer clears it too).
func installerEnv(dir string) []string { return []string{"LD_LIBRARY_PATH=", "TMPDIR=" + dir} }
