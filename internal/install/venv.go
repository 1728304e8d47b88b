package install

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// wheels is what pip is to do, worked out before anything runs.
type wheels struct {
	pins    []string // name==version, and ranges of the row
	indexes []string // besides the usual one
	alone   []string // pins put in without their requirements
	builds  bool     // something is built with CANN at hand
}

// pythonSteps makes a venv and puts the exact pins of the row into it.
func (j *job) pythonSteps() ([]plan.Step, error) {
	if len(j.With) == 0 {
		return nil, nil
	}
	send := j.sendWheels()
	w := j.wheels()
	j.set.Pins = slices.Concat(w.pins, w.alone)
	for _, u := range append([]string{j.Pip.IndexURL}, w.indexes...) {
		if u != "" {
			j.set.Indexes = append(j.set.Indexes, bareURL(u))
		}
	}
	python := path.Join(j.venv, "bin/python")
	made := plan.Exists(path.Join(j.venv, "pyvenv.cfg"))
	root := !j.User
	steps := []plan.Step{{
		ID: "python.venv", Root: root, Title: report.T("Python environment %s", "Python 环境 %s", j.venv),
		Check: plan.All(made, plan.Exits(python, "-m", "pip", "--version")),
		Do: append(j.venvDirs(), plan.Command{Argv: []string{cmp.Or(j.Python, "python3"), "-m", "venv", j.venv},
			Check: plan.All(made, plan.Exits(python, "-m", "pip", "--version")), Touch: []plan.Touch{{Path: j.venv, Tree: true}}}),
	}}
	check := installedPins(python, j.set.Pins)
	env, secret := j.pipEnv(w.indexes)
	install := plan.Step{ID: "python.packages", Root: root, Needs: []string{"python.venv"}, Check: check,
		Title: report.T("Python packages: %s", "Python 软件包：%s", strings.Join(exact(j.set.Pins), ", "))}
	install.Do = append(install.Do, send...)
	for _, group := range []struct {
		pins    []string
		options []string
	}{{w.pins, nil}, {w.alone, []string{"--no-deps"}}} {
		if len(group.pins) == 0 {
			continue
		}
		argv := slices.Concat([]string{python, "-m", "pip", "install"}, group.options, j.wheelFolder(), group.pins)
		if w.builds && !j.managed("cann") {
			argv = append([]string{"bash", "-c", `. "$1"; shift; exec "$@"`, "bash", j.setEnv()}, argv...)
			install.Needs = append([]string{"python.venv"}, j.afterToolkit()...)
		}
		install.Do = append(install.Do, plan.Command{Argv: argv, Env: env, Secret: secret,
			Check: installedPins(python, group.pins), Touch: []plan.Touch{{Path: j.venv, Tree: true}}, Long: true})
	}
	if send != nil {
		install.Needs = append(install.Needs, stageStep)
		install.Do = append(install.Do, plan.Command{Argv: []string{"rm", "-rf", "--", j.Pip.Wheels}, Always: true})
	}
	return append(steps, install), nil
}

// sendWheels brings the wheels at hand into a folder that pip takes them from.
func (j *job) sendWheels() (acts []plan.Act) {
	if len(j.WheelFiles) == 0 {
		return nil
	}
	j.Pip.Wheels = path.Join(j.stage, "wheels")
	owner := "root:root"
	if j.User {
		owner = ""
	}
	acts = append(acts, plan.Dir{Path: j.Pip.Wheels, Mode: 0o700, Owner: owner})
	for _, f := range j.WheelFiles {
		acts = append(acts, plan.Upload{Path: path.Join(j.Pip.Wheels, path.Base(f.Name)), Src: f.Src, Size: f.Size, SHA256: f.SHA256, From: f.From, Mode: 0o600, Owner: owner})
	}
	return acts
}

// venvDirs is the folder above the venv, where it is one of ours.
func (j *job) venvDirs() []plan.Act {
	if j.Venv != "" || j.User {
		return nil
	}
	return []plan.Act{plan.Dir{Path: "/opt"}, plan.Dir{Path: path.Dir(j.venv)}}
}

// wheels fills the pins in. Wheels of torch_npu for x86_64 ask for a build of
// torch that the usual index lacks: an index that has it is named, or torch is
// the usual one and the adapter goes in without its requirements.
func (j *job) wheels() (w wheels) {
	why := j.plainTorch()
	plain := !why.IsZero()
	for _, set := range j.With {
		row := j.d.python(set)
		w.builds = w.builds || row.Builds
		local := ""
		if row.Local != "" && j.arch == "x86_64" {
			local = "+" + row.Local
		}
		if plain {
			local = ""
			w.pins = append(w.pins, row.Plain...)
		}
		for _, pin := range row.Pins {
			filled, ok := fill(pin, j.pins)
			switch {
			case !ok:
			case strings.HasPrefix(filled, "torch=="):
				w.pins = append(w.pins, filled+local)
			case plain && strings.HasPrefix(filled, "torch-npu=="):
				w.alone = append(w.alone, filled)
			default:
				w.pins = append(w.pins, filled)
			}
		}
	}
	if j.row != nil && slices.Contains(j.With, "vllm-ascend") {
		pins := j.row.Get("pins")
		for _, name := range []string{"numpy", "transformers"} {
			if p := strings.ReplaceAll(pins.Str(name), " ", ""); p != "" {
				w.pins = append(w.pins, p)
			}
		}
	}
	w.pins = unique(w.pins)
	w.indexes = slices.Clone(j.Pip.Extra)
	for _, r := range j.d.indexes {
		needed := slices.ContainsFunc(r.For, func(name string) bool {
			return slices.ContainsFunc(w.pins, func(p string) bool { return strings.HasPrefix(p, name+"==") })
		})
		if j.Pip.Wheels == "" && needed && !plain && (r.Arch == "" && j.Pip.IndexURL == "" || r.Arch == j.arch && len(j.Pip.Extra) == 0) {
			w.indexes = append(w.indexes, r.URL)
		}
	}
	if len(w.alone) > 0 {
		j.note(why)
	}
	return w
}

// plainTorch says why torch==X+cpu is not to be had, or may not be: then torch
// is the usual build. Zero: it is, nobody needs it, or a set cannot do without.
func (j *job) plainTorch() (why report.Text) {
	needs := slices.ContainsFunc(j.With, func(set string) bool {
		row := j.d.python(set)
		return row.Local != "" && len(row.Plain) == 0
	})
	build := "torch==" + j.pins["torch"] + "+cpu"
	switch {
	case needs || j.arch != "x86_64":
	case len(j.WheelFiles) > 0:
		if !slices.ContainsFunc(j.WheelFiles, func(f File) bool { return strings.HasPrefix(f.Name, "torch-"+j.pins["torch"]+"+cpu-") }) {
			why = report.T("%s is not among the wheels: torch is the build that is, and torch-npu goes in with --no-deps", "wheel 中没有 %s：torch 采用其中已有的构建，torch-npu 用 --no-deps 安装", build)
		}
	case j.Pip.Wheels != "" || len(j.Pip.Extra) > 0:
	case j.Pip.IndexURL != "":
		why = report.T("pip asks the named index alone, which may lack %s: torch is the build it has, and torch-npu goes in with --no-deps", "pip 只访问指定的索引，其中可能没有 %s：torch 采用该索引中的构建，torch-npu 用 --no-deps 安装", build)
	default:
		for _, r := range j.d.indexes {
			if reachable, asked := j.f.Reachable.Value[hostOf(r.URL)]; slices.Contains(r.For, "torch") && asked && !reachable {
				why = report.T("no index with %s is in reach: torch is the usual build (with CUDA libraries, 7 GB), and torch-npu goes in with --no-deps", "无法访问提供 %s 的索引：torch 采用常规构建（含 CUDA 库，7 GB），torch-npu 用 --no-deps 安装", build)
			}
		}
	}
	return why
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Reach are the hosts a look must try for a Python set to be planned well.
func (d *Data) Reach() (hosts []string) {
	for _, r := range d.indexes {
		hosts = append(hosts, hostOf(r.URL))
	}
	return hosts
}

// indexesReached: an index that is known to be out of reach would end the plan
// near its end.
func (j *job) indexesReached() report.Finding {
	if len(j.set.Indexes) == 0 {
		return report.Finding{}
	}
	var lost []string
	for _, address := range j.set.Indexes {
		if reachable, asked := j.f.Reachable.Value[hostOf(address)]; asked && !reachable {
			lost = append(lost, address)
		}
	}
	f := finding("install.indexes", report.T("the indexes that pip asks are in reach", "pip 所用的索引可以访问"), len(lost) == 0, cmp.Or(j.f.Reachable.Source, "curl"), said(strings.Join(lost, ", "), "-"))
	f.Fix = report.T("name an index that has these packages, or a folder with their wheels: %s", "指定提供这些软件包的索引，或存放其 wheel 的目录：%s", strings.Join(j.set.Pins, " "))
	return f
}

// fill puts versions into name=={part}; a part that the row does not tell drops
// the pin.
func fill(pin string, parts map[string]string) (string, bool) {
	before, rest, has := strings.Cut(pin, "{")
	if !has {
		return pin, true
	}
	part, after, _ := strings.Cut(rest, "}")
	return before + parts[part] + after, parts[part] != ""
}

func unique(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// exact are the pins that name one version.
func exact(pins []string) []string {
	return slices.DeleteFunc(slices.Clone(pins), func(p string) bool { return !strings.Contains(p, "==") })
}

// installedPins is a check: the metadata of the environment has these versions.
// Nothing is imported: that would need a driver.
func installedPins(python string, pins []string) plan.Check {
	const ask = `import sys
from importlib.metadata import version
for p in sys.argv[1:]:
    n, _, v = p.partition("==")
    if version(n).split("+")[0] != v.split("+")[0] and v: sys.exit(1)
`
	names := make([]string, len(pins))
	for i, p := range pins {
		names[i] = p
		if !strings.Contains(p, "==") {
			names[i] = p[:len(p)-len(strings.TrimLeft(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."))]
		}
	}
	return plan.Exits(append([]string{python, "-c", ask}, names...)...)
}

// pipEnv gives pip the settings of the machine that downloads. What carries a
// password goes as a secret, which no plan and no journal shows.
func (j *job) pipEnv(indexes []string) (env []string, secret []plan.Var) {
	env = []string{"PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1"}
	add := func(name, value string, hidden bool) {
		switch {
		case value == "":
		case hidden:
			secret = append(secret, plan.Var{Name: name, Value: value})
		default:
			env = append(env, name+"="+value)
		}
	}
	p := j.Pip
	if p.Wheels == "" {
		add("PIP_INDEX_URL", p.IndexURL, hides(p.IndexURL))
		add("PIP_EXTRA_INDEX_URL", strings.Join(indexes, " "), slices.ContainsFunc(indexes, hides))
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		add(name, p.Proxy, hides(p.Proxy))
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		add(name, p.NoProxy, false)
	}
	if soc := j.buildFor(); soc != "" && slices.Contains(j.With, "vllm-ascend") {
		env = append(env, "SOC_VERSION="+soc)
	}
	if j.Tmpdir != "" {
		env = append(env, "TMPDIR="+j.Tmpdir)
	}
	return env, secret
}

// hides is true for an address with anything that may be a secret: a user, a
// query, or what cannot be read as an address.
func hides(address string) bool {
	u, err := url.Parse(address)
	return address != "" && (err != nil || u.User != nil || u.RawQuery != "" || u.Host == "" && u.Scheme != "file")
}

func bareURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return report.Mask
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// buildFor is the chip a source build of the adapter is made for.
func (j *job) buildFor() string {
	if strings.HasPrefix(j.soc, "Ascend") {
		return strings.ToLower(j.soc)
	}
	rows, _ := j.m.Rows("vllm_ascend.soc_build")
	for _, r := range rows {
		if r.Str("generation") == j.generation {
			return r.Str("SOC_VERSION")
		}
	}
	return ""
}

func (j *job) wheelFolder() []string {
	if j.Pip.Wheels == "" {
		return nil
	}
	return []string{"--no-index", "--find-links", j.Pip.Wheels}
}
