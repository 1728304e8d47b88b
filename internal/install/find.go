package install

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Package is a file of the vendor, known by its digest where a list has one.
type Package struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"` // toolkit, kernels, ops, nnal, hdk, docker-runtime
	Version string   `json:"version"`
	Chip    string   `json:"chip,omitempty"` // as in file names: 910b
	Arch    string   `json:"arch,omitempty"` // aarch64, x86_64
	File    string   `json:"file"`
	Names   []string `json:"names,omitempty"`   // other names of the same content: the .run inside a zip
	URL     string   `json:"url,omitempty"`     // "" = no address that needs no login
	Page    string   `json:"page,omitempty"`    // of the support site, behind a login
	Referer string   `json:"referer,omitempty"` // header without which the host refuses
	Size    int64    `json:"size,omitempty"`    // bytes; 0 = the lists do not tell
	SHA256  string   `json:"sha256,omitempty"`  // of File; "" = no list has it
	Parts   []Part   `json:"parts"`
	Source  string   `json:"source"`
}

// Part is an installer in a package: the .run inside a zip, or the file itself.
type Part struct {
	Name    string `json:"name"`    // driver, firmware, toolkit, ...
	Pattern string `json:"pattern"` // path.Match of its base name
}

// Kinds lists the kinds of packages that Find knows.
func Kinds() []string {
	return []string{"docker-runtime", "hdk", "kernels", "nnal", "ops", "toolbox", "toolkit"}
}

// Find gives the package of a kind: kinds of Kinds, a version as the vendor
// writes it in any case, the chip as in file names or as the matrix writes its
// generation's package ("" for kinds without one), the arch of uname -m. What no
// list has is a *report.Problem (exit 64) with the nearest version there is.
func (d *Data) Find(kind, version, chip, arch string) (Package, error) {
	if !slices.Contains(Kinds(), kind) {
		return Package{}, usage(report.T("no package is called %s%s", "没有名为 %s 的软件包%s", kind, report.Meant(kind, Kinds())),
			report.T("the kinds are: %s", "可用的种类：%s", strings.Join(Kinds(), ", ")))
	}
	files := d.of(kind)
	var best *fileRow
	var versions []string
	for i, f := range files {
		if !f.fits(chip, arch) {
			continue
		}
		versions = append(versions, f.V)
		if strings.EqualFold(f.V, version) && (best == nil || best.Suspect || f.rank() > best.rank()) {
			best = &files[i]
		}
	}
	if best != nil {
		return d.packageOf(kind, *best), nil
	}
	what := strings.Join(strings.Fields(kind+" "+chip+" "+version+" "+arch), " ")
	return Package{}, usage(report.T("no list of packages has %s%s", "软件包列表中没有 %s%s", what, report.Meant(version, slices.Clone(versions))),
		report.T("known versions for this chip and architecture: %s", "该芯片和架构的已知版本：%s", cmp.Or(strings.Join(slices.Compact(versions), ", "), "-")))
}

// of gives the files of a kind.
func (d *Data) of(kind string) []fileRow {
	section, part := "cann", kind
	switch kind {
	case "hdk":
		section, part = "hdk", "npu"
	case "docker-runtime":
		section = "docker_runtime"
	case "toolbox":
		section = "toolbox"
	}
	var out []fileRow
	for _, f := range d.files[section] {
		if f.Part == part && f.OS == "" {
			out = append(out, f)
		}
	}
	return out
}

// fits: a file without chip or arch in its name is for all of them.
func (r fileRow) fits(chip, arch string) bool {
	return (r.Chip == "" || strings.EqualFold(r.Chip, chip)) && (r.Arch == "" || r.Arch == arch)
}

// rank prefers what can be fetched, and names of a chip family over those of a
// product (Ascend-hdk-310p over Atlas-300i-pro).
func (r fileRow) rank() (n int) {
	if len(r.At) > 0 && !strings.HasPrefix(r.At[0], "O") {
		n += 2
	}
	if strings.HasPrefix(r.ID, "Ascend-") {
		n++
	}
	return n
}

func (d *Data) packageOf(kind string, r fileRow) Package {
	p := Package{ID: r.ID, Kind: kind, Version: r.V, Chip: r.Chip, Arch: r.Arch, File: r.name(), SHA256: r.SHA256, Page: r.Page, URL: r.URL, Source: r.Source}
	if r.Suspect {
		p.SHA256 = ""
	}
	for _, at := range r.At {
		if p.URL == "" {
			p.URL, p.Referer = d.address(at, p.File)
		}
	}
	d.inside(&p)
	return p
}

// address is empty for hosts that are not offered to anybody.
func (d *Data) address(at, file string) (addr, referer string) {
	id, folder, _ := strings.Cut(at, "/")
	h := d.host(id)
	if h == nil || h.Offer == "no" {
		return "", ""
	}
	escaped := strings.ReplaceAll(url.PathEscape(file), "+", "%2B")
	return h.URL + "/" + folder + "/" + escaped, h.Referer
}

// inside names the parts of a package and the bare .run beside a zip.
func (d *Data) inside(p *Package) {
	for _, r := range d.installers {
		if r.Kind != p.Kind {
			continue
		}
		for _, pattern := range r.Inside {
			p.Parts = append(p.Parts, Part{r.ID, strings.NewReplacer("{arch}", strings.ReplaceAll(p.Arch, "_", "?")).Replace(pattern)}) // drivers say x86-64
		}
	}
	if stem, zip := strings.CutSuffix(p.File, ".zip"); zip && p.Kind != "hdk" {
		p.Names = []string{stem + ".run"}
	}
}

// named makes the package of a CANN release that no list has from how such
// files are called. folder is its folder at the download site.
func (d *Data) named(kind, version, folder, generation, chip, arch string) (Package, bool) {
	v, _ := matrix.Parse(matrix.CANN, version)
	for _, r := range d.ordered(generation) {
		if cmp.Or(r.Kind, r.ID) != kind || kind != "hdk" && !r.covers(v) {
			continue
		}
		in := strings.NewReplacer("{v}", version, "{lower}", strings.ToLower(version), "{chip}", chip, "{arch}", arch, "{dasharch}", strings.ReplaceAll(arch, "_", "-"), "{folder}", folder)
		p := Package{Kind: kind, Version: version, Chip: chip, Arch: arch, File: in.Replace(r.File), Source: r.Source}
		p.ID = p.File
		if r.At != "" && folder != "" {
			p.URL, p.Referer = d.address(in.Replace(r.At), p.File)
		}
		d.inside(&p)
		if kind != "hdk" {
			p.Names = append(p.Names, strings.TrimSuffix(p.File, path.Ext(p.File))+".zip")
		}
		return p, true
	}
	return Package{}, false
}

// ordered gives the rows for a generation, its own before those for all.
func (d *Data) ordered(generation string) []nameRow {
	out := slices.DeleteFunc(slices.Clone(d.names), func(r nameRow) bool { return r.Only != "" && r.Only != generation })
	slices.SortStableFunc(out, func(a, b nameRow) int { return cmp.Compare(b.Only, a.Only) })
	return out
}

func (r nameRow) covers(v matrix.Version) bool {
	after := func(bound string) bool {
		b, _ := matrix.Parse(matrix.CANN, bound)
		c, ok := v.Compare(b)
		return ok && c >= 0
	}
	return after(r.From) && (r.Before == "" || !after(r.Before))
}

// Wheel gives the wheel of a distribution (torch_npu, torch, mindspore, ...) for
// a Python tag such as cp311; ok is false when no list has it.
func (d *Data) Wheel(name, version, py, arch string) (p Package, ok bool) {
	for _, section := range []string{"torch_npu", "mindspore", "tensorflow"} {
		for _, f := range d.files[section] {
			if f.Part == strings.ReplaceAll(name, "-", "_") && f.V == version && f.Py == py && f.Arch == arch && !f.Suspect && !f.Conflict {
				return d.packageOf("wheel", f), true
			}
		}
	}
	return Package{}, false
}

func usage(what, do report.Text) *report.Problem {
	return &report.Problem{What: what, Do: do, Exit: report.ExitUsage}
}
