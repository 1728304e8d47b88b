package install

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// system is what the data knows of a distribution.
type system struct {
	row     *systemRow // nil: none of its version is listed
	exact   bool       // the row is of this very system
	manager *managerRow
}

// systemOf finds the row of a host's system, or the one nearest to it: of the
// same version and architecture, told apart by what else a row says.
func (d *Data) systemOf(f *facts.Facts) (s system) {
	o := f.OS.Value
	for i := range d.systems {
		r := &d.systems[i]
		if r.OS != strings.ToLower(o.ID) || !(r.Version == o.Version || r.Release != "" && strings.HasPrefix(r.Version, o.Version)) || r.Arch != f.Arch.Value {
			continue
		}
		exact := r.tells(o, f.Kernel.Value)
		if s.row == nil || exact && !s.exact {
			s.row, s.exact = r, exact
		}
	}
	for _, id := range append([]string{o.ID}, o.Like...) {
		if r := find(d.distributions, func(r distributionRow) bool { return strings.EqualFold(r.ID, id) }); r != nil {
			s.manager = d.manager(r.Manager)
			break
		}
	}
	if s.row != nil && s.row.PM == "yum" && s.manager != nil && s.manager.ID == "apt" {
		s.manager = d.manager("yum") // builds of one ID with either manager
	}
	return s
}

// tells is true when everything a row says beyond ID and version holds.
func (r *systemRow) tells(o facts.OS, kernel string) bool {
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(o.Name))
	match := func(pattern, s string) bool { ok, err := path.Match(pattern, s); return ok && err == nil }
	return (r.ServicePack == "" || slices.Contains(words, r.ServicePack)) &&
		(len(r.Word) == 0 || slices.ContainsFunc(r.Word, func(w string) bool { return slices.Contains(words, w) })) &&
		(r.Release == "" || match(r.Release, o.Minor)) &&
		(r.Kernel == "" || strings.Contains(kernel, r.Kernel)) && r.MarkedBy == ""
}

// osPackages are the names to ask the manager for.
func (j *job) osPackages() (names []string) {
	m := j.system.manager
	add := func(listed, family []string) {
		if len(listed) == 0 {
			listed = family
		}
		names = append(names, listed...)
	}
	row := cmp.Or(j.system.row, &systemRow{})
	if j.hdk != nil {
		add(row.Driver, m.Driver)
		if !j.hasHeaders() {
			for _, h := range m.Headers {
				names = append(names, strings.ReplaceAll(h, "{kernel}", j.f.Kernel.Value))
			}
		}
		for _, t := range j.missingTools() {
			names = append(names, pickName(m.ID, t))
		}
	}
	add(row.CANN, m.CANN)
	if len(j.With) > 0 {
		names = append(names, m.Venv...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(n string) bool {
		twice := seen[n] || n == "" || m.anyHeaders(n) // those of whatever kernel is newest are no use
		seen[n] = true
		return twice
	})
}

func pickName(manager string, t toolRow) string {
	if manager == "apt" {
		return t.Deb
	}
	return t.RPM
}

// missingTools are those that the driver's installer would miss.
func (j *job) missingTools() (out []toolRow) {
	if !j.f.Tools.Known() {
		return nil
	}
	met := map[string]bool{}
	for _, t := range j.d.tools {
		if t.OneOf != "" && j.f.Tools.Value[t.ID] != "" {
			met[t.OneOf] = true
		}
	}
	for _, t := range j.d.tools {
		if j.f.Tools.Value[t.ID] == "" && !met[t.OneOf] {
			out = append(out, t)
			met[t.OneOf] = t.OneOf != ""
		}
	}
	return out
}

func (j *job) osSteps() ([]plan.Step, error) {
	m := j.system.manager
	if j.SkipOS || j.User || m == nil || j.container() && j.hdk == nil && j.f.Identity.Value.UID != 0 {
		return nil, nil
	}
	names := j.osPackages()
	if len(names) == 0 {
		return nil, nil
	}
	if !j.system.exact {
		j.note(report.T("the vendor does not list %s; its packages are those of %s", "厂商未列出 %s；软件包采用 %s 的列表", cmp.Or(j.f.OS.Value.Name, j.f.OS.Value.ID), j.listOf()))
	}
	check := hasPackages(m, names)
	var acts []plan.Act
	if len(m.Refresh) > 0 { // mirrors that are down in part must not end it: the install says what is missing
		acts = append(acts, plan.Command{Argv: m.Refresh, Env: m.Env, Always: true, OK: []int{100}})
	}
	acts = append(acts, plan.Command{Argv: slices.Concat(m.Install, names), Env: m.Env, Check: check, Long: true})
	return []plan.Step{{
		ID: "os.packages", Root: true, Do: acts, Check: check,
		Title: report.T("packages of the system (%s)", "系统软件包（%s）", m.ID),
		Keeps: report.T("packages of the system stay installed", "系统软件包保持已安装状态"),
	}}, nil
}

func (j *job) listOf() string {
	if j.system.row != nil {
		return j.system.row.ID
	}
	return j.system.manager.ID
}

// hasPackages is true when the manager says that all of them are installed. It
// ends with 1 when it knows one of the names not at all, so its words count.
func hasPackages(m *managerRow, names []string) plan.Check {
	return func(ctx context.Context, h host.Host) (bool, error) {
		r, err := h.Run(ctx, host.Command{Argv: slices.Concat(m.Query, names)})
		if err != nil {
			return false, err
		}
		there := map[string]bool{}
		for line := range bytes.Lines(r.Stdout) {
			if state, name, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok && state == "installed" {
				there[name] = true
			}
		}
		for _, n := range names { // a package of headers carries the kernel's version in what was asked, not in its name
			if !there[n] && !there[m.bare(n)] {
				return false, nil
			}
		}
		return true, nil
	}
}

// anyHeaders is true for a package of headers without the version of a kernel.
func (m *managerRow) anyHeaders(name string) bool {
	return slices.Contains(m.Headers, name+"-{kernel}")
}

// bare is the name of a package asked for with a version behind it: rpm prints
// kernel-devel for kernel-devel-5.10.0.
func (m *managerRow) bare(name string) string {
	for _, h := range m.Headers {
		if stem, ok := strings.CutSuffix(h, "-{kernel}"); ok && m.ID != "apt" && strings.HasPrefix(name, stem+"-") {
			return stem
		}
	}
	return ""
}
