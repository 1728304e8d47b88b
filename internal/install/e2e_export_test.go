//go:build linux

package install

import (
	"path/filepath"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
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

// Restarted waits for the restart after the given one.
func (b Bare) Restarted(t testing.TB, before int) { b.restarted(t, before) }

// Door dials the host.
func (b Bare) Door(t testing.TB) host.Host { return b.Dial(t, "") }
