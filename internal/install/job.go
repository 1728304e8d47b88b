package install

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Steps makes the plan that gives the host what is wanted. It is pure: the same
// arguments give the same plan. Errors are problems: exit 64 for a want that
// names nothing known, 3 for versions that do not belong together. What the
// host lacks is no error but a finding; see Set.Refused.
func Steps(w Want, f *facts.Facts, m *matrix.Matrix, d *Data) (*Set, error) {
	w.With = w.sets()
	j := &job{Want: w, f: f, m: m, d: d, set: &Set{}}
	for _, do := range []func() error{j.place, j.follow, j.pickCANN, j.pickDriver, j.pickPackages, j.judge, j.assemble} {
		if err := do(); err != nil {
			return nil, err
		}
	}
	j.preconditions()
	return j.set, nil
}

// job is the making of one Set.
type job struct {
	Want
	f   *facts.Facts
	m   *matrix.Matrix
	d   *Data
	set *Set

	arch, generation, soc string
	word                  string // of the chip in file names: 910b
	root                  string // of CANN: /usr/local/Ascend
	stage                 string // where packages lie while they are installed

	engine, version string // of For
	rowName         string // FILE/ID of the row that is followed
	row             *book.Row
	cann            matrix.Version

	hdk     *Package // that brings driver and firmware; nil: none is installed
	replace bool     // there is another driver already
	toolkit Package
	kernels *Package
	nnal    *Package
	docker  *Package
	pins    matrix.Parts // versions of the Python set
	venv    string
	system  system

	unverified []string    // files whose digest no list has
	pythonWhy  report.Text // why the Python of the host does not do
}

// Where things of a plan lie besides the install path.
const (
	vendorRoot = "/usr/local/Ascend"
	rootStage  = "/var/lib/ascendctl/stage"
	userStage  = ".local/state/ascendctl/stage"
)

// place finds out what the host is and where things go.
func (j *job) place() error {
	j.arch = j.f.Arch.Value
	j.generation, j.soc = j.f.Generation.Value, j.f.Generation.Value
	for _, b := range []facts.Fact[facts.NPUSmi]{j.f.NPUChip, j.f.NPUBoardRoot, j.f.NPUBoard} {
		if b.Known() && b.Value.Board != nil && b.Value.Board.SoC != "" {
			j.soc = b.Value.Board.SoC
			break
		}
	}
	if c, ok := j.m.Chip(j.soc); ok {
		j.generation, j.word = cmp.Or(j.generation, c.Generation), c.Package
	}
	home := cmp.Or(j.f.Identity.Value.Home, "/root")
	j.root, j.stage = cmp.Or(j.Path, vendorRoot), rootStage
	if j.User {
		j.root, j.stage = cmp.Or(j.Path, path.Join(home, "Ascend")), path.Join(home, userStage)
	}
	if j.Tmpdir != "" {
		j.stage = path.Join(j.Tmpdir, "ascendctl-stage")
	}
	for _, p := range []struct{ flag, path string }{{"--install-path", j.root}, {"tmpdir", j.stage}, {"venv", cmp.Or(j.Venv, "/x")}} {
		if !path.IsAbs(p.path) || path.Clean(p.path) != p.path || p.path == "/" || strings.ContainsAny(p.path, "\n\x00") {
			return usage(report.T("%s wants a clean absolute path, got %q", "%s 应为规范的绝对路径，实为 %q", p.flag, p.path),
				report.T("write it without .., and not as /", "去掉其中的 ..，且不能是 /"))
		}
	}
	if strings.Trim(j.UID, "0123456789") != "" || len(j.UID) > 9 {
		return usage(report.T("a user number is digits, got %q", "用户编号应为数字，实为 %q", j.UID), report.T("leave it out, and the host picks one", "不指定，由主机自行分配"))
	}
	j.system = j.d.systemOf(j.f)
	return nil
}

func (j *job) container() bool {
	return len(j.f.Marks.Value) > 0 || slices.Contains([]string{"docker", "podman", "lxc", "lxc-libvirt", "systemd-nspawn", "rkt", "container-other", "containerd", "kubepods"}, j.f.Virt.Value)
}

func (j *job) managed(part string) bool { return slices.Contains(j.Managed, part) }

func (j *job) note(t report.Text) { j.set.Notes = append(j.set.Notes, t) }

func (j *job) keep(part, version string, why report.Text) {
	j.set.Keep = append(j.set.Keep, Kept{part, version, why})
}

// newLayout: from 8.5 on a release is one tree, its kernels are called ops.
func (j *job) newLayout() bool {
	border, _ := matrix.Parse(matrix.CANN, "8.5.0-beta.1")
	c, ok := j.cann.Compare(border)
	return ok && c >= 0
}

// tree is where the release lies.
func (j *job) tree() string {
	if j.newLayout() {
		return path.Join(j.root, "cann-"+j.cann.Text)
	}
	return path.Join(j.root, "ascend-toolkit", j.cann.Text)
}

// assemble puts the steps together.
func (j *job) assemble() error {
	what := report.T("CANN %s", "CANN %s", j.cann.Text)
	if j.rowName != "" {
		what = report.T("CANN %s (row %s)", "CANN %s（版本配套表 %s）", j.cann.Text, j.rowName)
	}
	j.set.Row = j.rowName
	j.set.Plan = plan.Plan{Name: j.Name(), Title: what, Again: j.Again}
	for _, steps := range []func() ([]plan.Step, error){j.osSteps, j.driverSteps, j.cannSteps, j.nnalSteps, j.pythonSteps, j.dockerSteps} {
		more, err := steps()
		if err != nil {
			return err
		}
		if j.wantsFolder(more) {
			j.set.Plan.Steps = append(j.set.Plan.Steps, j.folderStep())
		}
		j.set.Plan.Steps = append(j.set.Plan.Steps, more...)
	}
	if n := len(j.WheelFiles); n > 0 {
		j.unverified = append(j.unverified, fmt.Sprintf("%d x .whl", n))
	}
	if len(j.unverified) > 0 {
		j.note(report.T("not verified, for no list of the vendor has the sha256: %s", "未验证，厂商列表中没有其 sha256：%s", strings.Join(unique(j.unverified), ", ")))
	}
	return nil
}

// wantsFolder: the first packages come with the folder they are put into.
func (j *job) wantsFolder(more []plan.Step) bool {
	needs := func(s plan.Step) bool { return slices.Contains(s.Needs, stageStep) }
	return slices.ContainsFunc(more, needs) && !slices.ContainsFunc(j.set.Plan.Steps, needs)
}

// Name of the plan in journals is made of what was wanted, not of what it came
// to: after the driver is in, the same command must find its own journal.
func (w Want) Name() string {
	words := []string{"install-cann"}
	for _, o := range []struct{ key, value string }{{"for", w.For}, {"cann", w.CANN}, {"driver", w.Driver}, {"with", strings.Join(w.sets(), ",")}, {"docker-runtime", w.DockerRuntime}, {"path", w.Path}} {
		if o.value != "" {
			words = append(words, o.key+"="+o.value)
		}
	}
	if w.User {
		words = append(words, "user")
	}
	return report.Line(words...)
}

// sets are the Python sets as the data calls them.
func (w Want) sets() (out []string) {
	for _, s := range w.With {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, strings.NewReplacer("vllm_ascend", "vllm-ascend", "torch-npu", "torch_npu").Replace(s))
		}
	}
	return out
}
