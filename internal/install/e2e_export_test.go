//go:build linux

package install

import (
	"cmp"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// Bare is a simulated bare host for tests that go through the command line.
type Bare struct{ *world }

// LayBare lays a bare openEuler host with eight A2 cards, aarch64 by its
// description.
func LayBare(t testing.TB) Bare { return Bare{layBare(t, openEuler)} }

// Packages builds the simulated installers that a workload needs into a folder,
// serves its Python set to the host, and gives folder and index.
func (b Bare) Packages(t testing.TB, workload string, with ...string) (folder, index string) {
	t.Helper()
	set := b.steps(t, b.Dial(t, ""), Want{For: workload, With: with})
	for _, f := range b.built {
		folder = filepath.Dir(f.From)
	}
	return folder, b.index(t, set.Pins...)
}

// LayOnline lays a bare Debian, x86_64, on a disk of this machine; its pip
// reaches through a proxy what this machine reaches, and nothing else does.
func LayOnline(t testing.TB, dir string) Bare {
	t.Helper()
	w := layBareOn(t, debian, hosttest.Ground{Dir: dir})
	proxy := httptest.NewServer(&forward{})
	t.Cleanup(proxy.Close)
	w.Serve(t, 3128, proxy.Listener.Addr().String())
	trusted, err := os.ReadFile(cmp.Or(os.Getenv("PIP_CERT"), "/etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		t.Fatal(err)
	}
	w.WriteFile(t, "/etc/pip.crt", string(trusted), 0o644)
	w.WriteFile(t, "/etc/pip.conf", "[global]\nproxy = http://127.0.0.1:3128\ncert = /etc/pip.crt\ntimeout = 180\nno-cache-dir = true\n", 0o644)
	return Bare{w}
}

// Installers builds the simulated installers of a user install into a folder,
// and gives the pins of its Python set.
func (b Bare) Installers(t testing.TB, cann, with string) (folder string, pins []string) {
	t.Helper()
	set := b.steps(t, b.Dial(t, ""), Want{CANN: cann, User: true, With: []string{with}})
	return b.dir, set.Pins
}

// Restarted waits for the restart after the given one.
func (b Bare) Restarted(t testing.TB, before int) { b.restarted(t, before) }

// Door dials the host.
func (b Bare) Door(t testing.TB) host.Host { return b.Dial(t, "") }
