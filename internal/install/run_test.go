package install

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
)

// simulated stands for the vendor's installers of CANN 8.5.0: it leaves the
// files that are read back, and nothing else of them.
const simulated = `#!/bin/bash
# SIMULATED installer
for a; do case $a in --install-path=*) root=${a#*=} ;; esac; done
t=$root/cann-8.5.0 i=$root/cann-8.5.0/x86_64-linux
read -r answer; [ "$answer" = y ] || exit 3
case $0 in
*toolkit*) mkdir -p "$i" && echo version=8.5.0 >"$i/ascend_toolkit_install.info" && echo 'export SEEN=1' >"$t/set_env.sh"
  printf '#!/bin/sh\nrm -rf "%s"\n' "$t" >"$t/cann_uninstall.sh"; chmod +x "$t/cann_uninstall.sh" ;;
*ops*) [ -d "$t" ] && echo version=8.5.0 >"$i/ascend_ops_install.info" ;;
*nnal*) [ "$SEEN" ] && mkdir -p "$root/nnal/atb/8.5.0" && echo 'Ascend-cann-atb : 8.5.0' >"$root/nnal/atb/8.5.0/version.info" ;;
esac
`

// TestAUserInstallRunsIsFoundAgainAndUndone brings simulated packages to this
// machine, into a folder of the test.
func TestAUserInstallRunsIsFoundAgainAndUndone(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "ubuntu2204-a2-no-driver")
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	sum := sha256.Sum256([]byte(simulated))
	w := Want{CANN: "8.5.0", User: true, Path: filepath.Join(dir, "Ascend"), Tmpdir: filepath.Join(dir, "tmp"), Files: func(p Package, part Part) (File, bool) {
		return File{Name: strings.TrimSuffix(p.File, filepath.Ext(p.File)) + ".run", Src: strings.NewReader(simulated), Size: int64(len(simulated)), SHA256: hex.EncodeToString(sum[:]), From: "test"}, true
	}}
	if err := os.MkdirAll(w.Tmpdir, 0o755); err != nil {
		t.Fatal(err)
	}
	o := plan.Options{Dir: filepath.Join(dir, "journal"), Poll: 1e6}
	made := func() *plan.Made {
		s, err := Steps(w, f, m, d)
		if err != nil {
			t.Fatal(err)
		}
		made, err := plan.Make(t.Context(), host.NewLocal(), s.Plan, o)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := made()
	if err := plan.Agree(t.Context(), plan.Consent{Yes: true}, first); err != nil {
		t.Fatal(err)
	}
	out, err := first.Run(t.Context())
	if err != nil || out.State != plan.Done {
		t.Fatal(out, err)
	}
	if target, err := os.Readlink(filepath.Join(w.Path, "cann")); target != "cann-8.5.0" {
		t.Error(target, err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.Tmpdir, "ascendctl-stage/*")); len(left) > 0 {
		t.Errorf("packages are left behind: %v", left)
	}
	if shown := made().Show(); shown.Changes() != 0 {
		t.Errorf("it is not found again: %+v", shown)
	}
	back, err := plan.Undo(t.Context(), host.NewLocal(), out.ID, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Agree(t.Context(), plan.Consent{Yes: true}, back); err != nil {
		t.Fatal(err)
	}
	if out, err := back.Run(t.Context()); err != nil || len(out.Left) > 0 {
		t.Errorf("%+v %v", out, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "[A-Zt]*/*")); len(left) > 0 {
		t.Errorf("undo leaves %v", left)
	}
}
