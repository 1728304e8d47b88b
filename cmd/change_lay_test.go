//go:build linux

package cmd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/cmd"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
)

// TestASimulatedHostIsChangedShownAndTakenBack drives env --write, clean and
// undo as a person does, on a simulated host behind a real sshd.
func TestASimulatedHostIsChangedShownAndTakenBack(t *testing.T) {
	data, err := os.ReadFile("../testdata/cases/hosts/openeuler2203-910b3-healthy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := host.LoadDescription("healthy", data)
	if err != nil {
		t.Fatal(err)
	}
	l := hosttest.Lay(t, d)
	home := t.TempDir()
	answer := ""
	run := func(want int, line string, says ...string) string {
		t.Helper()
		var out bytes.Buffer
		app := cmd.App{Out: &out, Err: &out, Now: time.Now, Getenv: func(k string) string {
			return map[string]string{"HOME": home, "LANG": "C.UTF-8", "USER": "ann"}[k]
		}}
		if answer != "" {
			app.Ask = func(_ context.Context, q string, _ bool) (string, error) {
				out.WriteString(q + "\n")
				return answer, nil
			}
		}
		words := append(strings.Fields(line), "--host", "root@"+l.Addr, "-i", l.Key)
		if got := cmd.Main(t.Context(), app, words); got != want {
			t.Errorf("%s: exit %d, want %d\n%s", line, got, want, out.String())
		}
		for _, s := range says {
			if !strings.Contains(out.String(), s) {
				t.Errorf("%s: it does not say %q\n%s", line, s, out.String())
			}
		}
		return out.String()
	}
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(hosttest.KnownHosts(t, l.Addr, l.HostKey))
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".ssh/known_hosts"), known, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	const file = "/etc/ascend/sh/cann.sh"
	run(6, "env -v --write "+file, "dir /etc/ascend/sh", "file "+file+" 644")
	answer = "n"
	run(6, "env --write "+file, "Apply? [y/N]")
	if there := l.Sh(t, "ls -d /etc/ascend || true"); there != "" {
		t.Error("it was written without consent")
	}
	answer = ""
	run(0, "env --write "+file+" --yes", "done in", "Undo: ascendctl undo --host root@"+l.Addr)
	run(0, "env --write "+file+" --yes", "Nothing to do")
	if text := l.ReadFile(t, file); !strings.Contains(text, "export ASCEND_HOME_PATH=") || strings.Contains(text, "20"+time.Now().Format("06-01-02")) {
		t.Errorf("%s", text)
	}
	l.Sh(t, ". "+file+" && . "+file+` && [ "$ASCEND_HOME_PATH" ]`)

	l.Sh(t, "mkdir -p /root/w/kernel_meta && touch -d '9 days ago' /root/w/kernel_meta")
	run(0, "clean", "kernel_meta folders in /root/w: 1", "Nothing was changed. To do it:")
	answer = "y"
	run(0, "clean", "Apply? [y/N]", "undo keeps: what is deleted does not come back", "done")
	if there := l.Sh(t, "ls -d /root/w/kernel_meta 2>/dev/null || true"); there != "" {
		t.Error("it is still there")
	}
	answer = ""
	list := strings.Fields(run(0, "undo --list", "delete what is left behind", "environment of CANN in "+file, "ann@?"))
	for i, w := range list {
		if strings.HasPrefix(w, "20") && strings.HasSuffix(w, "Z") && strings.Contains(strings.Join(list[i:min(i+6, len(list))], " "), "environment") {
			run(0, "undo "+w+" --yes", "taken back")
		}
	}
	if there := l.Sh(t, "ls -d /etc/ascend 2>/dev/null || true"); there != "" {
		t.Error("undo left it")
	}
}
