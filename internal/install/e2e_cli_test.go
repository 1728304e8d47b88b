//go:build linux

package install_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/cmd"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/install"
)

var transcripts = flag.String("transcripts", "", "folder for the transcripts of a bare host")

// person sits at a machine with a key that the host knows, and types.
type person struct {
	t     testing.TB
	home  string
	lang  string
	typed strings.Builder // commands and what they printed
	hide  *strings.Replacer
}

// types runs one command line and gives what it printed and its exit status.
func (p *person) types(line string, more ...string) (string, int) {
	p.t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"HOME": p.home, "USER": "ann", "ASCENDCTL_LANG": p.lang, "PATH": os.Getenv("PATH")}
	code := cmd.Main(context.Background(), cmd.App{
		Out: &out, Err: &errs, Now: time.Now, Getenv: func(k string) string { return env[k] }, Exec: cmd.Exec, LookPath: lookPath, Columns: 100,
	}, append(words(line), more...))
	fmt.Fprintf(&p.typed, "$ %s\n%s", p.hide.Replace(line), p.hide.Replace(out.String()))
	if errs.Len() > 0 {
		fmt.Fprintf(&p.typed, "%s", p.hide.Replace(errs.String()))
	}
	fmt.Fprintf(&p.typed, "[exit %d]\n\n", code)
	return out.String() + errs.String(), code
}

func lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if s, err := os.Stat(filepath.Join(dir, name)); err == nil && !s.IsDir() {
			return filepath.Join(dir, name), nil
		}
	}
	return "", os.ErrNotExist
}

// words splits a line of ours; nothing in these tests needs quotes but what
// report.Line puts there.
func words(line string) []string {
	var out []string
	for _, w := range strings.Fields(line)[1:] {
		out = append(out, strings.Trim(w, "'"))
	}
	return out
}

// next is the command that the last line names.
func next(t testing.TB, said string) string {
	t.Helper()
	for _, label := range []string{"Next: ", "下一步："} {
		if i := strings.LastIndex(said, label); i >= 0 {
			line, _, _ := strings.Cut(said[i+len(label):], "\n")
			return line
		}
	}
	t.Fatalf("no next command in:\n%s", said)
	return ""
}

// TestFromBareToReady walks the way of a newcomer on a simulated bare host, in
// both languages: preflight, the command it suggests, a restart, the same
// command again, the environment, preflight once more.
func TestFromBareToReady(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			bare := install.LayBare(t)
			folder, index := bare.Packages(t, workload, "vllm-ascend", "cann")
			p := newcomer(t, bare, lang, folder)
			p.walk(bare, folder, index)
			if *transcripts != "" {
				if err := os.WriteFile(filepath.Join(*transcripts, "04-bare."+lang+".txt"), []byte(p.typed.String()), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

const workload = "vllm-ascend@0.23.0"

// newcomer has a hosts file with one simulated host in it, and its key.
func newcomer(t testing.TB, bare install.Bare, lang, folder string) *person {
	t.Helper()
	home := t.TempDir()
	_, port, err := net.SplitHostPort(bare.Addr)
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(hosttest.KnownHosts(t, bare.Addr, bare.HostKey))
	if err != nil {
		t.Fatal(err)
	}
	hosts := filepath.Join(home, "hosts.yaml")
	for name, text := range map[string]string{
		filepath.Join(home, ".ssh", "known_hosts"): string(known),
		hosts: fmt.Sprintf("version: 1\nhosts:\n  npu01: {address: 127.0.0.1, port: %s, user: %s, identity: %s}\n", port, bare.User(), bare.Key),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &person{t: t, home: home, lang: lang, hide: strings.NewReplacer(hosts, "hosts.yaml", folder, "/data/simulated-packages", home, "~")}
}

func (p *person) walk(bare install.Bare, folder, index string) {
	t := p.t
	said, code := p.types("ascendctl preflight --host npu01 --hosts " + filepath.Join(p.home, "hosts.yaml") + " --for " + workload)
	if code != 3 || !strings.Contains(said, "driver.installed") {
		t.Fatalf("a bare host: exit %d\n%s", code, said)
	}
	line := next(t, said)
	if !strings.Contains(line, "install-cann --dry-run") {
		t.Fatalf("preflight suggests %q", line)
	}
	with := " --from " + folder + " --index-url " + index
	if said, code = p.types(line + with); code != 0 {
		t.Fatalf("dry run: exit %d\n%s", code, said)
	}
	boots := bare.Boots()
	line = strings.Replace(line, " --dry-run", "", 1) + with + " --yes --accept-risk reboot"
	if said, code = p.types(line); code != 0 {
		t.Fatalf("install: exit %d\n%s", code, said)
	}
	bare.Restarted(t, boots)
	if line = next(t, said); !strings.Contains(line, "install-cann") {
		t.Fatalf("after the restart it suggests %q", line)
	}
	if said, code = p.types(line); code != 0 {
		t.Fatalf("install, after the restart: exit %d\n%s", code, said)
	}
	if line = next(t, said); !strings.Contains(line, "ascendctl preflight") {
		t.Fatalf("after the installation it suggests %q", line)
	}
	p.environment(bare)
	if said, code = p.types(line); code != 0 {
		t.Errorf("preflight at the end: exit %d\n%s", code, said)
	}
}

// environment writes what env says to a file of the host and lets every shell of
// the login load it, and the Python environment with it.
func (p *person) environment(bare install.Bare) {
	home := "/home/" + bare.User()
	at := " --host npu01 --hosts " + filepath.Join(p.home, "hosts.yaml")
	said, code := p.types("ascendctl env --write " + home + "/ascend.sh --yes" + at)
	if code != 0 {
		p.t.Fatalf("env --write: exit %d\n%s", code, said)
	}
	rc := "# the first lines of ~/.bashrc on the host\n. ~/ascend.sh\n. /opt/ascend/venv-vllm-ascend-0.23.0/bin/activate\n"
	fmt.Fprintf(&p.typed, "%s\n", rc)
	bare.WriteFile(p.t, home+"/.bashrc", rc, 0o644)
}
