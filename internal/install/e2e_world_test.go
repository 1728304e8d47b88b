//go:build linux

package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// world is a simulated host that changes, and the simulated packages for it.
type world struct {
	*hosttest.Laid
	m     *matrix.Matrix
	d     *Data
	built map[string]File
	dir   string
}

// bareSystem tells one bare host from another: eight A2 cards, nothing installed.
type bareSystem struct{ release, arch, kernel, python, glibc string }

var (
	openEuler = bareSystem{"NAME=\"openEuler\"\nVERSION=\"24.03 (LTS-SP1)\"\nID=\"openEuler\"\nVERSION_ID=\"24.03\"\nPRETTY_NAME=\"openEuler 24.03 (LTS-SP1)\"\n",
		"aarch64", "6.6.0-72.0.0.76.oe2403sp1.aarch64", "3.11.6", "2.38"}
	debian = bareSystem{"NAME=\"Debian GNU/Linux\"\nVERSION=\"12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\n",
		"x86_64", "6.1.0-28-amd64", "3.11.2", "2.36"}
)

// layBare lays such a host; its system packages are where its manager looks.
func layBare(t testing.TB, s bareSystem) *world {
	t.Helper()
	return layBareOn(t, s, hosttest.Ground{})
}

func layBareOn(t testing.TB, s bareSystem, g hosttest.Ground) *world {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(hosts, "ubuntu2204-a2-no-driver.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := host.LoadDescription("bare", data)
	if err != nil {
		t.Fatal(err)
	}
	d.ID, d.Files["/etc/os-release"] = "bare-"+s.arch, s.release
	d.Facts.Arch, d.Facts.Kernel, d.Facts.Python, d.Facts.Glibc = s.arch, s.kernel, s.python, s.glibc
	d.Facts.PythonPackages = nil
	for line, said := range map[string]string{"uname -m": s.arch, "uname -r": s.kernel, "python3 -V": "Python " + s.python, "getconf GNU_LIBC_VERSION": "glibc " + s.glibc} {
		d.Commands[line] = host.Output{Stdout: said + "\n"}
	}
	boot := "update-rc.d"
	if s.arch == "aarch64" {
		boot = "chkconfig"
	}
	d.Facts.ToolsPresent = append(slices.DeleteFunc(d.Facts.ToolsPresent, func(n string) bool { return n == "update-rc.d" }), boot)
	w := &world{Laid: hosttest.LayOn(t, d, g), built: map[string]File{}, dir: t.TempDir()}
	w.m, w.d = knowledge(t)
	w.WriteFile(t, "/etc/pip.conf", "[global]\nretries = 0\ndisable-pip-version-check = true\n", 0o644)
	w.Sh(t, "mkdir -p -m 1777 /.laid/hold")
	if s.arch == "aarch64" {
		w.stubDNF(t)
	} else {
		w.serveDebs(t)
	}
	return w
}

// stubDNF puts a package manager there that knows every name and, of each
// package, what an installer looks for.
func (w *world) stubDNF(t testing.TB) {
	t.Helper()
	w.Stub(t, "/usr/bin/dnf", `[ "$1" = install ] || exit 0
shift
: >/.laid/hold/os.reached
while [ -e /.laid/hold/os ]; do sleep 0.02; done
for p; do
  case $p in
  -*) continue ;;
  net-tools) echo '#!/bin/sh' >/usr/bin/ifconfig; chmod 755 /usr/bin/ifconfig ;;
  kernel-devel-*) mkdir -p "/lib/modules/${p#kernel-devel-}/build" ;;
  esac
  mkdir -p /var/lib/rpm; echo "$p" >>/var/lib/rpm/simulated
done
`)
	w.Stub(t, "/usr/bin/rpm", `n=0
for p; do
  case $p in -* | installed*) continue ;; esac
  if grep -qsxF -e "$p" /var/lib/rpm/simulated; then
    case $p in kernel-devel-*) p=kernel-devel ;; esac
    echo "installed $p"
  else echo "package $p is not installed"; n=1; fi
done
exit $n
`)
}

// serveDebs makes a repository of small packages for the real apt of the host.
func (w *world) serveDebs(t testing.TB) {
	t.Helper()
	for _, dir := range []string{"/var/lib/apt/lists/*", "/etc/apt/sources.list.d/*"} {
		w.Sh(t, "rm -rf "+dir)
	}
	w.WriteFile(t, "/etc/apt/sources.list", "deb [trusted=yes] file:/srv/debs ./\n", 0o644)
	w.WriteFile(t, "/srv/make", `set -e
cd /srv; mkdir -p debs tree
for p; do
  rm -rf tree; mkdir -p tree/DEBIAN tree/usr/share/simulated; echo simulated >tree/usr/share/simulated/$p
  case $p in
  net-tools) mkdir -p tree/usr/sbin; printf '#!/bin/sh\n' >tree/usr/sbin/ifconfig; chmod 755 tree/usr/sbin/ifconfig ;;
  linux-headers-*) mkdir -p tree/usr/lib/modules/${p#linux-headers-}/build ;;
  esac
  printf 'Package: %s\nVersion: 99-simulated\nArchitecture: all\nMaintainer: nobody\nDescription: simulated\n' $p >tree/DEBIAN/control
  dpkg-deb -Zgzip -b tree debs/$p.deb >/dev/null
  { cat tree/DEBIAN/control; echo "Filename: ./$p.deb"; echo "Size: $(stat -c %s debs/$p.deb)"; echo "SHA256: $(sha256sum <debs/$p.deb | cut -c -64)"; echo; } >>debs/Packages
done
rm -r tree
`, 0o755)
	names := []string{}
	f := w.look(t, w.Dial(t, ""))
	if set, err := Steps(Want{Elevate: host.Known, With: []string{"vllm-ascend"}, For: "vllm-ascend@0.23.0"}, f, w.m, w.d); err == nil {
		names = systemNames(set)
	}
	w.Sh(t, `sh /srv/make "$@"`, names...)
}

// systemNames are the packages that a plan asks the system for.
func systemNames(set *Set) (names []string) {
	for _, s := range set.Plan.Steps {
		for _, a := range s.Do {
			if c, ok := a.(plan.Command); ok && slices.Contains(c.Argv, "install") && s.ID == "os.packages" {
				for _, word := range c.Argv[slices.Index(c.Argv, "install")+1:] {
					if !strings.HasPrefix(word, "-") {
						names = append(names, word)
					}
				}
			}
		}
	}
	return names
}

// look collects the facts of the host as install-cann does.
func (w *world) look(t testing.TB, h host.Host) *facts.Facts {
	t.Helper()
	b, err := book.New(ours()), error(nil)
	o := facts.Options{Disks: Want{}.Disks("")}
	if o.Chips, err = book.Rows[facts.Chip](b, "soc.yaml", "pci"); err != nil {
		t.Fatal(err)
	}
	if o.Boards, err = book.Rows[facts.Board](b, "soc.yaml", "boards"); err != nil {
		t.Fatal(err)
	}
	f := facts.Collect(t.Context(), h, o)
	return &f
}

// firmwareOf is the firmware in the package of a driver.
var firmwareOf = map[string]string{"26.0.rc1": "7.8.0.5.216", "25.3.rc1": "7.8.0.2.212", "25.2.0": "7.7.0.6.236", "24.1.rc3": "7.5.0.1.129"}

// files gives the simulated installer of a part.
func (w *world) files(t testing.TB) func(Package, Part) (File, bool) {
	return func(p Package, part Part) (File, bool) {
		version, release := p.Version, strings.ToLower(p.Version)
		switch part.Name {
		case "driver":
			version = release
		case "firmware":
			version = firmwareOf[release]
		}
		return w.build(t, part.Name, version, p.Arch, p.Chip, release, "0"), true
	}
}

// build makes an archive, once.
func (w *world) build(t testing.TB, args ...string) File {
	t.Helper()
	key := strings.Join(args, " ")
	if f, ok := w.built[key]; ok {
		return f
	}
	out, err := exec.Command("../../testdata/installers/build", append([]string{w.dir}, args...)...).Output()
	if err != nil {
		var e *exec.ExitError
		errors.As(err, &e)
		t.Fatalf("build %s: %v %s", key, err, e.Stderr)
	}
	f := fileAt(t, strings.TrimSpace(string(out)))
	w.built[key] = f
	return f
}

func fileAt(t testing.TB, name string) File {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return File{Name: filepath.Base(name), Src: bytes.NewReader(data), Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), From: name}
}

// quick looks often: nothing here takes long.
func quick() plan.Options { return plan.Options{Who: "ann@laptop", Poll: 50 * time.Millisecond} }

// steps makes the set for a want; one that is refused fails the test.
func (w *world) steps(t testing.TB, h host.Host, want Want) *Set {
	t.Helper()
	want.Elevate, want.Again = host.Known, "ascendctl install-cann --host "+w.Addr
	if want.Files == nil {
		want.Files = w.files(t)
	}
	set, err := Steps(want, w.look(t, h), w.m, w.d)
	if err == nil {
		err = set.Refused()
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return set
}

// run makes the plan, agrees to all and runs it.
func (w *world) run(t testing.TB, h host.Host, p plan.Plan, risks ...string) (plan.Outcome, error) {
	t.Helper()
	m, err := plan.Make(t.Context(), h, p, quick())
	if err != nil {
		return plan.Outcome{}, err
	}
	if err := plan.Agree(t.Context(), plan.Consent{Yes: true, Risks: risks}, m); err != nil {
		return plan.Outcome{}, err
	}
	return m.Run(t.Context())
}

func (w *world) undo(t testing.TB, h host.Host, id string) (plan.Outcome, error) {
	t.Helper()
	m, err := plan.Undo(t.Context(), h, id, quick())
	if err != nil {
		return plan.Outcome{}, err
	}
	if err := plan.Agree(t.Context(), plan.Consent{Yes: true}, m); err != nil {
		return plan.Outcome{}, err
	}
	return m.Run(t.Context())
}

// install repeats a want as a person does: again after each restart. It gives
// the last outcome and the host as it is then.
func (w *world) install(t testing.TB, user string, want Want) (plan.Outcome, host.Host) {
	t.Helper()
	for try := 0; ; try++ {
		h := w.Dial(t, user)
		boots := w.Boots()
		out, err := w.run(t, h, w.steps(t, h, want).Plan, plan.Risks()...)
		if err != nil || try > 2 {
			t.Fatalf("%+v: %+v\n%s", out, err, told(err))
		}
		if out.State != plan.Restart {
			return out, h
		}
		w.restarted(t, boots)
	}
}

// restarted waits for a reboot the host was told to make.
func (w *world) restarted(t testing.TB, before int) {
	t.Helper()
	for wait := 0; w.Boots() == before; wait++ {
		if wait > 1500 {
			t.Fatal("the host did not restart")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func told(err error) string {
	var p *report.Problem
	if !errors.As(err, &p) {
		return ""
	}
	return fmt.Sprintf("%s\n%s\n%s\n%s", p.What.En, p.Why.En, p.Do.En, p.Run)
}

// stays are the paths at or below which a host may differ after an undo, and why
// the plan does not take them back.
func stays(home string) map[string]string {
	return map[string]string{
		"/var/lib/ascendctl": "the journal of root and its folders",
		home + "/.local":     "the journal of the login, and its jobs",
		"/root/.local":       "jobs of root",
		"/var/lib/rpm":       "the package database",
		"/var/log":           "logs of installers",
		home + "/var":        "logs of installers of a user",
		home + "/log":        "logs of installers of a user",
		"/root/.cache":       "what pip keeps for the next time",
		home + "/.cache":     "what pip keeps for the next time",
		"/etc/passwd-":       "what the account tools kept before they changed it",
		"/etc/group-":        "as above",
		"/etc/shadow-":       "as above",
		"/etc/gshadow-":      "as above",
		"/etc/subuid-":       "as above",
		"/etc/subgid-":       "as above",
		"/etc/.pwd.lock":     "the lock of the account tools",
		"/run":               "gone with the next restart",
	}
}

func (w *world) snapshot(t testing.TB) map[string]hosttest.Entry {
	t.Helper()
	all := w.Snapshot(t, sorted(stays("/home/ubuntu"))...)
	for name, e := range all {
		if strings.HasSuffix(name, ".pyc") { // it has the time of its source in it
			e.SHA256 = ""
			all[name] = e
		}
	}
	return all
}

// same fails when the host differs from before.
func (w *world) same(t testing.TB, before map[string]hosttest.Entry, when string) {
	t.Helper()
	c := slices.DeleteFunc(hosttest.Changes(before, w.snapshot(t)), func(line string) bool {
		// A killed pip leaves its folders; nodes come and go with restarts.
		return slices.ContainsFunc([]string{"/tmp/pip-", "/dev/davinci", "/dev/devmm_svm", "/dev/hisi_hdc"},
			func(p string) bool { return strings.HasPrefix(line[2:], p) })
	})
	if len(c) > 0 {
		t.Errorf("%s the host differs:\n  %s", when, strings.Join(c[:min(len(c), 12)], "\n  "))
	}
}
