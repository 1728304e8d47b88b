//go:build linux

package hosttest

import (
	"archive/tar"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
)

var (
	// layReal answer truthfully in a laid root: their recorded lines are left.
	layReal = strings.Fields("id df readlink sudo ulimit command uname arch")
	// layBoth answer recorded lines as recorded, and others for real.
	layBoth = strings.Fields("getconf python3 hostname")
	// layMachine would speak of the machine that runs the tests or of what the
	// base brings beyond an empty system. They are there when described.
	layMachine = strings.Fields("dmesg lscpu lsblk lsmem lsmod ip ss python3 openssl lsattr chattr update-rc.d")
	// layChanges are programs that change a host and that no description
	// records. They succeed, and the test reads their calls.
	layChanges = strings.Fields("systemctl reboot shutdown poweroff modprobe rmmod depmod update-initramfs dracut chkconfig")
)

var layPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"}

// stub is a program of a laid root that answers as described.
type stub struct {
	file    string // where it stands
	lines   []host.Recorded
	real    bool // unanswered lines go to the program it stands for
	changes bool
}

// stubs decides which programs a laid root replaces, and which it hides.
func (b *layout) stubs() {
	f := &b.d.Facts
	byName := map[string]*stub{}
	at := func(name string) *stub {
		if byName[name] == nil {
			byName[name] = &stub{file: b.place(name), real: slices.Contains(layBoth, name), changes: slices.Contains(layChanges, name)}
		}
		return byName[name]
	}
	for _, r := range b.d.Recorded() {
		if name := r.Argv[0]; !slices.Contains(layReal, name) {
			at(name).lines = append(at(name).lines, r)
		}
	}
	for _, name := range append(slices.Clone(f.ToolsPresent), sortedKeys(f.ToolPaths)...) {
		if b.inBase(name) == "" {
			at(name)
		}
	}
	if f.Python != "" && f.PythonPath != "" {
		b.elsewhere("python3", f.PythonPath)
	}
	for name, p := range f.ToolPaths {
		b.elsewhere(name, p)
	}
	b.derived(at)
	for _, name := range append(b.packageTools(), "reboot", "shutdown", "poweroff") {
		at(name).changes = true
	}
	for p, content := range b.d.Files { // a binary nobody recorded still starts
		if strings.HasPrefix(content, "<elf>") && strings.HasSuffix(path.Dir(p), "bin") && byName[path.Base(p)] == nil {
			byName[path.Base(p)] = &stub{file: p}
		}
	}
	for _, name := range append(slices.Clone(layMachine), f.ToolsAbsent...) {
		if byName[name] == nil && (!slices.Contains(f.ToolsPresent, name) || slices.Contains(f.ToolsAbsent, name)) {
			b.move(b.inBase(name))
		}
	}
	for _, name := range sortedKeys(byName) {
		b.stub(name, *byName[name])
	}
}

// derived adds what the plain facts say and no line records.
func (b *layout) derived(at func(string) *stub) {
	f := &b.d.Facts
	add := func(stdout string, exit int, argv ...string) {
		if stdout != "" {
			s := at(argv[0])
			s.lines = append(s.lines, host.Recorded{Argv: argv, Output: host.Output{Stdout: stdout + "\n", Exit: exit}})
		}
	}
	if _, ok := b.d.Commands["systemd-detect-virt"]; ok {
		container := f.Container
		if container == "" && slices.Contains([]string{"docker", "podman", "kubepods", "containerd", "lxc"}, f.Virt) {
			container = f.Virt
		}
		if container == "" {
			container = "none"
		}
		add(container, 0, "systemd-detect-virt", "-c")
	}
	for name, r := range f.Reachable {
		status := string(r)
		switch r {
		case "true":
			status = "200"
		case "false":
			status = "000"
		}
		add(status, 0, "curl", "-s", "-o", "/dev/null", "-I", "--max-time", "6", "-w", "%{http_code}", "https://"+name+"/")
	}
}

// packageTools are stubbed where the base, a Debian, is not the system that is
// described; what only a Debian has is hidden then.
func (b *layout) packageTools() []string {
	id := ""
	for line := range strings.Lines(b.d.Files["/etc/os-release"]) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "ID="); ok {
			id = strings.ToLower(strings.Trim(v, `"'`))
		}
	}
	switch id {
	case "", "debian":
		return nil
	case "ubuntu":
		return []string{"apt-get", "apt"}
	}
	for _, name := range []string{"apt-get", "apt", "dpkg", "dpkg-query"} {
		b.move(b.inBase(name))
	}
	return []string{"dnf", "yum", "rpm"}
}

// inBase is where a program stands in the base; "" when it has none.
func (b *layout) inBase(name string) string {
	for _, dir := range layPath {
		if _, err := os.Lstat(filepath.Join(b.base, dir, name)); err == nil {
			return path.Join(dir, name)
		}
	}
	return ""
}

// elsewhere puts a program of the base where the description has it.
func (b *layout) elsewhere(name, p string) {
	from := b.inBase(name)
	if _, err := os.Stat(filepath.Join(b.base, p)); err != nil && from != "" {
		b.put(p, layEntry{tar.Header{Typeflag: tar.TypeSymlink, Linkname: from, Mode: 0o777}, ""})
	}
}

// place is where a described program stands.
func (b *layout) place(name string) string {
	if p := b.d.Facts.ToolPaths[name]; p != "" {
		return p
	}
	for _, dir := range append(slices.Clone(layPath), "/sbin", "/bin") {
		if _, ok := b.d.Files[path.Join(dir, name)]; ok {
			return path.Join(dir, name)
		}
	}
	if p := b.inBase(name); p != "" {
		return p
	}
	return path.Join("/usr/bin", name)
}

// stub writes the script. Like a replay it prefers the line whose variables are
// set as recorded, and tells a question of root from one of the login.
func (b *layout) stub(name string, s stub) {
	var t strings.Builder
	fmt.Fprintf(&t, "#!/bin/sh\n# Simulated: %s as host %q is described.\n%s", name, b.d.ID, layText(b.t, "say.sh"))
	slices.SortStableFunc(s.lines, func(x, y host.Recorded) int { return len(y.Env) - len(x.Env) })
	for _, r := range s.lines {
		when := "[ \"$a\" = " + shQuote(strings.Join(r.Argv[1:], "\n")) + " ]"
		for _, kv := range r.Env {
			k, v, _ := strings.Cut(kv, "=")
			when += " && [ \"${" + k + "-}\" = " + shQuote(v) + " ]"
		}
		switch {
		case r.Root:
			when += " && [ -O / ]"
		case !s.real && !b.rootLogin():
			when += " && [ ! -O / ]"
		}
		fmt.Fprintf(&t, "%s && say %d %d %g\n", when, b.output(r.Output), r.Exit, float64(r.WallMS)/1000)
	}
	if s.real {
		fmt.Fprintf(&t, "exec /.laid/real/%s \"$@\"\n", name)
	}
	if s.changes {
		t.WriteString(layText(b.t, "change.sh"))
	}
	t.WriteString("IFS=' '; echo \"simulated host: not recorded: ${0##*/} $*\" >&2; exit 1\n")
	b.move(b.inBase(name))
	b.file(s.file, t.String(), 0o755)
}

// output keeps what a command says, for its stub to print.
func (b *layout) output(o host.Output) int {
	n := b.outputs
	b.outputs++
	for ext, text := range map[string]string{"out": o.Stdout, "err": o.Stderr} {
		if text != "" {
			b.file(fmt.Sprintf("/.laid/out/%d.%s", n, ext), text, 0o644)
		}
	}
	return n
}

func (b *layout) rootLogin() bool {
	if id := b.d.Facts.Identity; id != nil {
		return id.UID == 0
	}
	return b.d.Login.User == "" || b.d.Login.User == "root"
}

func shQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
