//go:build linux

package hosttest

import (
	"archive/tar"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
)

// layout turns a description into an archive that is unpacked over the base.
// What the laid host itself needs stands in /.laid.
type layout struct {
	t       testing.TB
	d       *host.Description
	base    string
	entries map[string]layEntry
	moved   []string // programs whose places stubs take
	outputs int
	users   accounts
}

type layEntry struct {
	tar.Header
	content string
}

func newLayout(t testing.TB, d *host.Description, base string) *layout {
	t.Helper()
	b := &layout{t: t, d: d, base: base, entries: map[string]layEntry{}}
	b.dirs("/.laid/out", "/.laid/boot.d", "/.laid/proc/self", "/.laid/proc/sys/kernel/random", "/sys/bus/pci/devices", "/sys/class")
	b.file("/.laid/calls", "", 0o666)
	b.accounts()
	b.proc()
	b.described()
	b.mounts()
	b.network()
	b.python()
	b.stubs()
	b.file("/.laid/moved", lines(b.moved), 0o644)
	b.file("/.laid/init", layText(t, "init.sh"), 0o755)
	return b
}

func lines(l []string) string {
	if len(l) == 0 {
		return ""
	}
	return strings.Join(l, "\n") + "\n"
}

// put adds an entry; what is described wins over what was made up before.
func (b *layout) put(p string, e layEntry) {
	p = path.Clean(p)
	e.Name = "." + p
	if e.ModTime.IsZero() {
		e.ModTime = time.Unix(1_700_000_000, 0) // any time before the boot
	}
	e.Size = int64(len(e.content))
	b.entries[p] = e
}

func (b *layout) file(p, content string, mode int64) {
	b.put(p, layEntry{tar.Header{Typeflag: tar.TypeReg, Mode: mode}, content})
}

func (b *layout) dirs(names ...string) {
	for _, p := range names {
		b.put(p, layEntry{tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}, ""})
	}
}

func (b *layout) move(p string) {
	if p != "" && !slices.Contains(b.moved, p) {
		b.moved = append(b.moved, p)
	}
}

// described lays files, links and nodes with owner, mode and time.
func (b *layout) described() {
	for p, content := range b.d.Files {
		if strings.HasPrefix(p, "/proc/") {
			b.file("/.laid"+p, content, 0o644)
			continue
		}
		b.plain(p)
		mode := int64(0o644)
		if strings.HasPrefix(content, "<elf>") || strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		b.file(p, b.merged(p, content), mode)
	}
	for p, target := range b.d.Links {
		b.plain(p)
		b.put(p, layEntry{tar.Header{Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}, ""})
	}
	for p, n := range b.d.Nodes {
		kind := byte(tar.TypeChar)
		if n.Type == "b" {
			kind = tar.TypeBlock
		}
		b.put(p, layEntry{tar.Header{Typeflag: kind, Devmajor: int64(n.Major), Devminor: int64(n.Minor), Mode: octal(n.Mode, 0o600),
			Uid: b.users.uid(n.Owner, n.UID), Gid: b.users.gid(n.Group, n.GID)}, ""})
	}
	for p, s := range b.d.Stat {
		b.stat(p, s)
	}
}

func (b *layout) stat(p string, s host.FileStat) {
	e, ok := b.entries[p]
	if !ok {
		switch s.Type {
		case "", "d":
			e = layEntry{tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}, ""}
		case "f":
			e = layEntry{tar.Header{Typeflag: tar.TypeReg, Mode: 0o644}, ""}
		default:
			b.t.Fatalf("%s: a description that gives no more than type %s cannot be laid", p, s.Type)
		}
	}
	e.Mode = octal(s.Mode, e.Mode)
	e.Uid, e.Gid = b.users.uid(s.Owner, cmp.Or(s.UID, &e.Uid)), b.users.gid(s.Group, cmp.Or(s.GID, &e.Gid))
	if s.MTime != nil {
		e.ModTime = s.MTime.Time
	}
	b.put(p, e)
}

// plain refuses what a tree cannot hold: a path that runs through a link or a
// file of the same description.
func (b *layout) plain(p string) {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		_, file := b.d.Files[dir]
		if _, link := b.d.Links[dir]; link || file {
			b.t.Fatalf("%s runs through %s, which is no folder: describe the target", p, dir)
		}
	}
}

func octal(mode string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(mode, 8, 64); err == nil {
		return n
	}
	return otherwise
}

// proc lays what the kernel says of the machine: /proc/sys as a whole, other
// files of /proc by themselves, and the rest by the library kernel.c.
func (b *layout) proc() {
	f := &b.d.Facts
	if b.d.Files["/proc/1/cgroup"] == "" {
		b.file("/.laid/proc/1/cgroup", "0::/init.scope\n", 0o644)
	}
	said := func(option string) string { return strings.TrimSpace(b.d.Commands["uname "+option].Stdout) }
	release := cmp.Or(f.Kernel, said("-r"), "simulated")
	b.file("/.laid/uname", release+"\n"+cmp.Or(f.Arch, said("-m"), "unknown")+"\n", 0o644)
	b.file("/etc/ld.so.preload", "/.laid/kernel.so\n", 0o644)
	b.file("/.laid/proc/version", "Linux version "+release+" (simulated)\n", 0o644)
	boot := time.Now()
	if f.BootTime != nil {
		boot = f.BootTime.Time
	}
	b.procs(boot)
	b.file("/.laid/btime", strconv.FormatInt(boot.Unix(), 10)+"\n", 0o644)
	kernel := map[string]string{"hostname": b.name(), "ostype": "Linux", "osrelease": release, "ngroups_max": "65536", "pid_max": "4194304",
		"cap_last_cap": "40", "random/boot_id": bootID()}
	for name, v := range kernel {
		b.file("/.laid/proc/sys/kernel/"+name, v+"\n", 0o644)
	}
}

func (b *layout) name() string {
	if h := b.d.Facts.Hostname; h != nil && h.Name != "" {
		return h.Name
	}
	return "laid"
}

// mounts are bind mounts with the described flags; kernel.c tells the sizes.
func (b *layout) mounts() {
	var flags, sizes []string
	for _, m := range slices.SortedFunc(slices.Values(b.d.Facts.Mounts), func(x, y host.Mount) int { return cmp.Compare(x.Path, y.Path) }) {
		var o []string
		if m.RO {
			o = append(o, "ro")
		}
		if m.NoExec {
			o = append(o, "noexec")
		}
		if m.Path != "/" || len(o) > 0 {
			flags = append(flags, m.Path+" "+strings.Join(o, ","))
		}
		n := func(v *int64) int64 {
			if v == nil {
				return 0
			}
			return *v
		}
		sizes = append(sizes, fmt.Sprintf("%s %d %d %d %d %d", m.Path, n(m.TotalKB), n(m.UsedKB), n(m.AvailKB), n(m.Inodes), n(m.IFree)))
	}
	b.file("/.laid/mounts", lines(flags), 0o644)
	b.file("/.laid/df", lines(sizes), 0o644)
}

func (b *layout) network() {
	if _, ok := b.d.Files["/etc/hosts"]; !ok {
		text := "127.0.0.1 localhost\n"
		if h := b.d.Facts.Hostname; h != nil {
			for _, a := range h.Resolves {
				text += a + " " + h.Name + "\n"
			}
		}
		b.file("/etc/hosts", text, 0o644)
	}
	b.file("/etc/hostname", b.name()+"\n", 0o644)
	sh := b.d.Facts.Shells["sh"]
	if sh == "" {
		sh = strings.TrimSpace(b.d.Commands["readlink -f /bin/sh"].Stdout)
	}
	if name := path.Base(sh); name == "bash" || name == "dash" {
		b.put("/usr/bin/sh", layEntry{tar.Header{Typeflag: tar.TypeSymlink, Linkname: name, Mode: 0o777}, ""})
	}
}

// python lays the metadata of the described packages and, of torch, the file
// that tells its ABI.
func (b *layout) python() {
	f := &b.d.Facts
	found, _ := filepath.Glob(filepath.Join(b.base, "usr/bin/python3.[0-9]*"))
	if len(found) == 0 {
		b.t.Fatal("the base has no python3")
	}
	site := "/usr/local/lib/" + filepath.Base(found[0]) + "/dist-packages"
	for name, version := range f.PythonPackages {
		dir := fmt.Sprintf("%s/%s-%s.dist-info", site, strings.ReplaceAll(name, "-", "_"), version)
		b.file(dir+"/METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version), 0o644)
	}
	if f.TorchABI != nil {
		b.file(site+"/torch/__init__.py", "# simulated\n", 0o644)
		b.file(site+"/torch/share/cmake/Torch/TorchConfig.cmake", fmt.Sprintf("set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=%d\")\n", *f.TorchABI), 0o644)
	}
	lie := struct {
		Version []int    `json:"version"`
		Path    string   `json:"path"`
		Missing []string `json:"missing"`
	}{[]int{}, cmp.Or(f.PythonPath, b.place("python3")), []string{}}
	for part := range strings.SplitSeq(f.Python, ".") {
		if n, err := strconv.Atoi(part); err == nil {
			lie.Version = append(lie.Version, n)
		}
	}
	for name, there := range f.PythonStdlib {
		if !there {
			lie.Missing = append(lie.Missing, name)
		}
	}
	data, err := json.Marshal(lie)
	if err != nil {
		b.t.Fatal(err)
	}
	b.file("/.laid/python.py", fmt.Sprintf(layText(b.t, "python.py"), data), 0o644)
	b.file(site+"/laid.pth", layText(b.t, "python.pth"), 0o644)
}

// write makes the archive. Folders that nobody described come of themselves.
func (b *layout) write(file string) {
	b.t.Helper()
	f, err := os.Create(file)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, p := range slices.Sorted(maps.Keys(b.entries)) {
		e := b.entries[p]
		if err := w.WriteHeader(&e.Header); err != nil {
			b.t.Fatalf("%s: %v", p, err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			b.t.Fatalf("%s: %v", p, err)
		}
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
