package install

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
)

// fileRow is a file of the lists of ascend-deployer.
type fileRow struct {
	ID       string   `yaml:"id"` // file name, and #digest where two files share it
	File     string   `yaml:"file"`
	V        string   `yaml:"v"`
	Part     string   `yaml:"part"`
	Chip     string   `yaml:"chip"`
	Arch     string   `yaml:"arch"`
	OS       string   `yaml:"os"`
	Py       string   `yaml:"py"`
	ABI      string   `yaml:"abi"`
	HDK      string   `yaml:"hdk"`
	At       []string `yaml:"at"` // HOST/folder
	URL      string   `yaml:"url"`
	Page     string   `yaml:"page"`
	SHA256   string   `yaml:"sha256"`
	Suspect  bool     `yaml:"suspect"`
	Conflict bool     `yaml:"conflict"`
	Source   string   `yaml:"source"`
}

// Check refuses what is no digest.
func (r fileRow) Check() error {
	if len(r.SHA256) != 64 || strings.Trim(r.SHA256, "0123456789abcdef") != "" {
		return fmt.Errorf("sha256: want 64 hexadecimal digits in lower case, got %q", r.SHA256)
	}
	if name := r.name(); name == "" || path.Base(name) != name || strings.HasPrefix(name, "-") {
		return fmt.Errorf("want the name of a file, got %q", name)
	}
	return nil
}

func (r fileRow) name() string {
	if r.File != "" {
		return r.File
	}
	return r.ID
}

type hostRow struct {
	ID      string `yaml:"id"`
	URL     string `yaml:"url"`
	Referer string `yaml:"referer"`
	Offer   string `yaml:"offer"` // "no": known, never named to anybody
	Source  string `yaml:"source"`
}

// nameRow is how files are called that no list has.
type nameRow struct {
	ID     string `yaml:"id"`
	Kind   string `yaml:"kind"` // "": the id
	Only   string `yaml:"only"` // generation
	From   string `yaml:"from"` // CANN release, inclusive
	Before string `yaml:"before"`
	File   string `yaml:"file"`
	At     string `yaml:"at"`
	Source string `yaml:"source"`
}

// installerRow is how the .run of a part is used.
type installerRow struct {
	ID     string   `yaml:"id"`
	Kind   string   `yaml:"kind"`
	Only   []string `yaml:"only"` // generations; empty: all
	Inside []string `yaml:"inside"`
	First  []string `yaml:"first"`
	Again  []string `yaml:"again"`
	Accept []int    `yaml:"accept"`
	Answer string   `yaml:"answer"`
	Undo   string   `yaml:"undo"`
	Source string   `yaml:"source"`
}

type roomRow struct {
	ID       string `yaml:"id"`
	At       string `yaml:"at"`
	GoodGiB  int64  `yaml:"good_gib"`
	LeastGiB int64  `yaml:"least_gib"`
	Status   string `yaml:"status"`
	Source   string `yaml:"source"`
}

type pythonRow struct {
	ID     string   `yaml:"id"`
	Pins   []string `yaml:"pins"`
	Local  string   `yaml:"local"`
	Plain  []string `yaml:"plain"`
	Builds bool     `yaml:"builds"`
	Source string   `yaml:"source"`
}

type folderRow struct {
	ID     string `yaml:"id"`
	Folder string `yaml:"folder"`
	Source string `yaml:"source"`
}

type indexRow struct {
	ID     string   `yaml:"id"`
	URL    string   `yaml:"url"`
	Arch   string   `yaml:"arch"`
	For    []string `yaml:"for"`
	Source string   `yaml:"source"`
}

type managerRow struct {
	ID      string   `yaml:"id"`
	Install []string `yaml:"install"`
	Refresh []string `yaml:"refresh"`
	Env     []string `yaml:"env"`
	Query   []string `yaml:"query"`
	Headers []string `yaml:"headers"`
	Driver  []string `yaml:"driver"`
	CANN    []string `yaml:"cann"`
	Venv    []string `yaml:"venv"`
	Source  string   `yaml:"source"`
}

type distributionRow struct {
	ID      string `yaml:"id"`
	Manager string `yaml:"manager"`
	Status  string `yaml:"status"`
	Source  string `yaml:"source"`
}

type toolRow struct {
	ID     string `yaml:"id"`
	OneOf  string `yaml:"one_of"`
	Deb    string `yaml:"deb"`
	RPM    string `yaml:"rpm"`
	Source string `yaml:"source"`
}

type systemRow struct {
	ID          string   `yaml:"id"`
	OS          string   `yaml:"os"`
	Version     string   `yaml:"version"`
	ServicePack string   `yaml:"service_pack"`
	Word        []string `yaml:"word"`
	Release     string   `yaml:"release"`
	Kernel      string   `yaml:"kernel"`
	MarkedBy    string   `yaml:"marked_by"`
	Status      string   `yaml:"status"`
	Arch        string   `yaml:"arch"`
	PM          string   `yaml:"pm"` // apt or yum
	Cards       []string `yaml:"cards"`
	Driver      []string `yaml:"driver"`
	CANN        []string `yaml:"cann"`
	Python      []string `yaml:"python"`
	Docker      []string `yaml:"docker"`
	Source      string   `yaml:"source"`
}

// minimumRow: oldest driver and firmware of a card on a system.
type minimumRow struct {
	ID       string   `yaml:"id"`
	Card     []string `yaml:"card"`
	Systems  []string `yaml:"systems"`
	Driver   string   `yaml:"driver"`
	Firmware string   `yaml:"firmware"`
	Source   string   `yaml:"source"`
}

// Data is what compat/packages.yaml and compat/os-packages.yaml know.
type Data struct {
	files         map[string][]fileRow // by section
	hosts         []hostRow
	names         []nameRow
	installers    []installerRow
	rooms         []roomRow
	pythons       []pythonRow
	folders       []folderRow
	indexes       []indexRow
	managers      []managerRow
	distributions []distributionRow
	tools         []toolRow
	systems       []systemRow
	minimum       []minimumRow
}

// fileSections are the sections of files.
var fileSections = []string{"cann", "hdk", "docker_runtime", "toolbox", "faultdiag", "torch_npu", "mindspore", "tensorflow", "mindie", "mindcluster"}

// Load reads the two files of the book.
func Load(b *book.Book) (*Data, error) {
	const packages, systems = "packages.yaml", "os-packages.yaml"
	d := &Data{files: map[string][]fileRow{}}
	var errs []error
	for _, s := range fileSections {
		rows, err := book.Rows[fileRow](b, packages, s)
		d.files[s] = rows
		errs = append(errs, err)
	}
	errs = append(errs,
		rows(b, packages, "download_hosts", &d.hosts), rows(b, packages, "names", &d.names), rows(b, packages, "installers", &d.installers),
		rows(b, packages, "room", &d.rooms), rows(b, packages, "python_sets", &d.pythons), rows(b, packages, "kernel_folders", &d.folders),
		rows(b, packages, "pip_indexes", &d.indexes), rows(b, systems, "managers", &d.managers), rows(b, systems, "distributions", &d.distributions),
		rows(b, systems, "driver_tools", &d.tools), rows(b, systems, "systems", &d.systems), rows(b, systems, "minimum", &d.minimum))
	for _, err := range errs { // the layers of a file fail alike for every section
		if err != nil {
			return nil, err
		}
	}
	return d, errors.Join(d.connected()...)
}

func rows[T any](b *book.Book, file, section string, into *[]T) (err error) {
	*into, err = book.Rows[T](b, file, section)
	return err
}

// connected finds rows that name others which are not there.
func (d *Data) connected() (errs []error) {
	for section, files := range d.files {
		for _, f := range files {
			for _, at := range f.At {
				if host, _, _ := strings.Cut(at, "/"); d.host(host) == nil {
					errs = append(errs, fmt.Errorf("compat/packages.yaml: %s/%s: no row of download_hosts is called %s", section, f.ID, host))
				}
			}
		}
	}
	for _, r := range d.distributions {
		if d.manager(r.Manager) == nil {
			errs = append(errs, fmt.Errorf("compat/os-packages.yaml: distributions/%s: no row of managers is called %s", r.ID, r.Manager))
		}
	}
	return errs
}

func (d *Data) host(id string) *hostRow {
	return find(d.hosts, func(r hostRow) bool { return r.ID == id })
}
func (d *Data) manager(id string) *managerRow {
	return find(d.managers, func(r managerRow) bool { return r.ID == id })
}
func (d *Data) installer(id string) *installerRow {
	return find(d.installers, func(r installerRow) bool { return r.ID == id })
}
func (d *Data) python(id string) *pythonRow {
	return find(d.pythons, func(r pythonRow) bool { return r.ID == id })
}

// find gives the first row that fits, nil for none.
func find[T any](rows []T, fits func(T) bool) *T {
	if i := slices.IndexFunc(rows, fits); i >= 0 {
		return &rows[i]
	}
	return nil
}
