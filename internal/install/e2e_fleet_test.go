//go:build linux

package install_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/install"
)

// knows adds a simulated host to the hosts file of a person.
func (p *person) knows(name string, b install.Bare) {
	p.t.Helper()
	known, err := os.ReadFile(hosttest.KnownHosts(p.t, b.Addr, b.HostKey))
	if err != nil {
		p.t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(b.Addr)
	if err != nil {
		p.t.Fatal(err)
	}
	for file, text := range map[string]string{
		".ssh/known_hosts": string(known),
		"hosts.yaml":       fmt.Sprintf("  %s: {address: 127.0.0.1, port: %s, user: %s, identity: %s}\n", name, port, b.User(), b.Key),
	} {
		f, err := os.OpenFile(filepath.Join(p.home, file), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestTwoHostsOneAfterTheOther changes two simulated hosts through the command
// line: the first failure stops the rest, the line that is told goes on with
// both, and a run that broke off in an installer is brought to its end.
func TestTwoHostsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	first, second := install.LayBare(t), install.LayBare(t)
	folder, _ := first.Packages(t, workload)
	p := newcomer(t, first, "en", folder)
	p.knows("npu02", second)
	run := func(line string, want int, says ...string) string {
		t.Helper()
		said, code := p.types(line)
		if code != want {
			t.Fatalf("%s: exit %d, want %d\n%s", line, code, want, said)
		}
		for _, s := range says {
			if !strings.Contains(said, s) {
				t.Errorf("%s: it does not say %q\n%s", line, s, said)
			}
		}
		return said
	}
	const stage = "/home/ubuntu/.local/state/ascendctl/stage"
	first.WriteFile(t, "/home/ubuntu/Ascend", "in the way\n", 0o644)
	hosts := filepath.Join(p.home, "hosts.yaml")
	said := run("ascendctl install-cann --hosts "+hosts+" --cann 9.1.0 --user-install --serial 1 --yes --from "+folder, 7, "npu01: failed and undone", "npu02: not begun")
	if there := second.Sh(t, "ls /home/ubuntu/Ascend 2>/dev/null || true"); there != "" {
		t.Error("the second host was changed")
	}
	first.Sh(t, "rm /home/ubuntu/Ascend")
	again := next(t, said)
	run(again, 0, "npu01: done", "npu02: done", "Undo: ascendctl undo --host npu01 --hosts "+hosts, "Undo: ascendctl undo --host npu02 --hosts "+hosts)

	// As if this machine had lost power while the installer ran: the journal ends
	// with its beginning, and what the version files say is all there.
	const cut = `j=$(ls /home/ubuntu/.local/state/ascendctl/journal/*/journal | tail -n 1)
n=$(grep -n '"event":"begin".*"step":"cann.toolkit".*"key":"run ' "$j" | head -n 1 | cut -d: -f1)
head -n "$n" "$j" >/tmp/cut && cat /tmp/cut >"$j" && rm /tmp/cut && cat "$j"`
	if journal := first.Sh(t, cut); strings.Contains(journal, `"end"`) {
		t.Fatalf("the journal was not cut:\n%s", journal)
	}
	run(again, 0, "goes on with ", "toolkit 9.1.0  done in", "npu01: done", "npu02: nothing to do")
	journal := first.Sh(t, "cat $(ls /home/ubuntu/.local/state/ascendctl/journal/*/journal | tail -n 1)")
	for _, d := range begun(journal) {
		if !strings.Contains(journal, `"event":"done","n":`+d+"}") {
			t.Errorf("act %s was begun and never done:\n%s", d, journal)
		}
	}
	if left := first.Sh(t, "ls "+stage); left != "" {
		t.Errorf("packages were left: %s", left)
	}
}

// begun are the numbers of the acts a journal begins.
func begun(journal string) (out []string) {
	for line := range strings.Lines(journal) {
		if _, rest, ok := strings.Cut(line, `"event":"begin","n":`); ok {
			n, _, _ := strings.Cut(rest, ",")
			out = append(out, n)
		}
	}
	return out
}
