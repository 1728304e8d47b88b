//go:build linux

package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/plan"
)

// littered leaves things of root, of another user and of ascendctl, and a
// second CANN, all three weeks old. $1 is the home of the other user.
const littered = `umask 022
mkdir -p /root/ascend/log/debug/plog /root/w/kernel_meta /root/v/kernel_meta "$1"/ascend/log/debug/plog "$1"/kernel_meta
mkdir -p /var/lib/ascendctl/scratch/abcdefgh/work /var/lib/ascendctl/stage/cann.toolkit
for f in /root/ascend/log/debug/plog/plog-1_2.log /root/w/kernel_meta/a.o /root/v/kernel_meta/b.o "$1"/ascend/log/debug/plog/plog-1_2.log "$1"/kernel_meta/a.o \
  /var/lib/ascendctl/scratch/abcdefgh/work/log /var/lib/ascendctl/stage/cann.toolkit/x.run; do echo x >"$f"; done
chown -R ann: "$1" /root/v/kernel_meta/b.o
cd /usr/local/Ascend/ascend-toolkit
mkdir -p 8.0.0/aarch64-linux
sed 's/8\.1\.RC1/8.0.0/g' 8.1.RC1/aarch64-linux/ascend_toolkit_install.info >8.0.0/aarch64-linux/ascend_toolkit_install.info
printf '#!/bin/sh\nrm -rf /usr/local/Ascend/ascend-toolkit/8.0.0\n' >8.0.0/cann_uninstall.sh
chmod 755 8.0.0/cann_uninstall.sh
find /root /var/lib/ascendctl "$1" -exec touch -h -d '3 weeks ago' {} +`

// TestASimulatedHostIsCleanedOfItsOwnAlone cleans over a real sshd as root, and
// as a user who may not become root.
func TestASimulatedHostIsCleanedOfItsOwnAlone(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(hosts, "openeuler2203-910b3-healthy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := host.LoadDescription("healthy", data)
	if err != nil {
		t.Fatal(err)
	}
	l := hosttest.Lay(t, d)
	l.AddUser(t, "ann", hosttest.Person{})
	l.Sh(t, littered, "/home/ann")
	do := func(user string, what ...string) []string {
		h := l.Dial(t, user)
		f := facts.Collect(t.Context(), h, facts.Options{})
		before := l.Snapshot(t, "/var/lib/ascendctl/journal", "/home/ann/.local", "/tmp", "/run", "/dev", "/var/log")
		set, err := Clean(t.Context(), h, Sweep{What: what, Age: 7 * 24 * time.Hour}, &f)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range set.Keep {
			t.Logf("%s keeps %s %s: %s", user, k.Part, k.Version, k.Why.En)
		}
		made, err := plan.Make(t.Context(), h, set.Plan, plan.Options{Poll: 1e7})
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Agree(t.Context(), plan.Consent{Yes: true}, made); err != nil {
			t.Fatal(err)
		}
		if out, err := made.Run(t.Context()); err != nil {
			t.Fatalf("%+v %v %s", out, err, told(err))
		}
		var gone []string
		for _, c := range hosttest.Changes(before, l.Snapshot(t, "/var/lib/ascendctl/journal", "/home/ann/.local", "/tmp", "/run", "/dev", "/var/log")) {
			if p, ok := strings.CutPrefix(c, "- "); ok {
				gone = append(gone, p)
			} else if strings.HasPrefix(c, "+ ") {
				t.Errorf("%s: %s", user, c)
			}
		}
		return gone
	}
	want := func(got []string, want ...string) {
		t.Helper()
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("gone\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	want(do("ann", Litters()...), "/home/ann/ascend/log/debug/plog/plog-1_2.log", "/home/ann/kernel_meta", "/home/ann/kernel_meta/a.o")
	old := "/usr/local/Ascend/ascend-toolkit/8.0.0"
	want(do("root", Litters()...), "/root/ascend/log/debug/plog/plog-1_2.log", "/root/w/kernel_meta", "/root/w/kernel_meta/a.o",
		"/var/lib/ascendctl/scratch/abcdefgh", "/var/lib/ascendctl/scratch/abcdefgh/work", "/var/lib/ascendctl/scratch/abcdefgh/work/log",
		"/var/lib/ascendctl/stage/cann.toolkit", "/var/lib/ascendctl/stage/cann.toolkit/x.run",
		old, old+"/aarch64-linux", old+"/aarch64-linux/ascend_toolkit_install.info", old+"/cann_uninstall.sh")
}
