package install

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wheel makes a wheel with nothing but its metadata.
func wheel(t testing.TB, dir, name, version, tags string, needs ...string) string {
	t.Helper()
	stem := strings.ReplaceAll(name, "-", "_") + "-" + version
	meta := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	for _, n := range needs {
		meta += "Requires-Dist: " + n + "\n"
	}
	info := stem + ".dist-info/"
	file := stem + "-" + tags + ".whl"
	plant(t, filepath.Join(dir, file), zipOf(t, info+"METADATA", meta, info+"WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: "+tags+"\n", info+"RECORD", ""))
	return file
}

// index is a real package index of the simple kind, behind a password.
func index(t testing.TB, dir string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != "build" || p != "1ndex-secret" {
			w.Header().Set("Www-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		name, simple := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), "/simple/")
		if !simple {
			http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		files, _ := filepath.Glob(filepath.Join(dir, "*.whl"))
		for _, f := range files {
			if n, _, _ := wheelNamed(filepath.Base(f)); n == name {
				fmt.Fprintf(w, "<a href=\"/files/%[1]s\">%[1]s</a>\n", filepath.Base(f))
			}
		}
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "//", "//build:1ndex-secret@", 1) + "/simple"
}

// withPip gives a fetcher that runs the pip of this machine, without the
// configuration of whoever runs the test.
func withPip(t testing.TB, from string, config string) (*Fetcher, *[]Tool) {
	t.Helper()
	f, _ := fetcher(t, from)
	file := filepath.Join(t.TempDir(), "pip.conf")
	plant(t, file, []byte(config))
	var ran []Tool
	f.LookPath = exec.LookPath
	f.Exec = func(ctx context.Context, c Tool) ([]byte, int, error) {
		ran = append(ran, c)
		cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
		cmd.Dir = c.Dir
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "PIP_") || strings.Contains(strings.ToLower(v), "_proxy=")
		}),
			append([]string{"PIP_CONFIG_FILE=" + file, "PIP_NO_CACHE_DIR=1"}, c.Env...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
			return out, cmd.ProcessState.ExitCode(), nil
		}
		return out, 0, err
	}
	return f, &ran
}

func names(got []*Got) (out []string) {
	for _, g := range got {
		out = append(out, g.Name)
	}
	slices.Sort(out)
	return out
}

// TestRealPipDownloadsForAnotherMachine: tags and markers are the target's,
// whatever machine this is.
func TestRealPipDownloadsForAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	for _, arch := range []string{"aarch64", "x86_64"} {
		wheel(t, dir, "torch-npu", "2.9.0", "cp311-cp311-manylinux_2_28_"+arch, "torch==2.9.0")
		wheel(t, dir, "torch", "2.9.0", "cp311-cp311-manylinux_2_28_"+arch, `only-arm; platform_machine == "aarch64"`, `only-intel; platform_machine == "x86_64"`, `for-old; python_version < "3.11"`, "plain")
	}
	wheel(t, dir, "torch", "2.9.0", "cp312-cp312-manylinux_2_28_aarch64")
	for _, n := range []string{"only-arm", "only-intel", "for-old", "plain"} {
		wheel(t, dir, n, "1.0", "py3-none-any")
	}
	f, ran := withPip(t, "", "")
	f.Index = index(t, dir)
	for arch, only := range map[string]string{"aarch64": "only_arm", "x86_64": "only_intel"} {
		w := Wheels{Requirements: []string{"torch-npu==2.9.0"}, Python: "3.11", Arch: arch, Glibc: "2.34"}
		want := []string{only + "-1.0-py3-none-any.whl", "plain-1.0-py3-none-any.whl", "torch-2.9.0-cp311-cp311-manylinux_2_28_" + arch + ".whl", "torch_npu-2.9.0-cp311-cp311-manylinux_2_28_" + arch + ".whl"}
		for range 2 { // the second time out of the cache
			got, err := f.Wheels(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names(got), want) || got[0].Kind != KindWheel || got[0].SHA256 != digest(content(t, got[0])) || strings.Contains(got[0].From, "secret") {
				t.Errorf("%s: %q from %s", arch, names(got), got[0].From)
			}
		}
	}
	downloads := 0
	for _, c := range *ran {
		if strings.Contains(strings.Join(c.Argv, " "), "secret") {
			t.Errorf("a secret stands in argv: %q", c.Argv)
		}
		if slices.Contains(c.Argv, "download") {
			downloads++
		}
	}
	if downloads != 2 {
		t.Errorf("pip downloaded %d times, want once for each target", downloads)
	}
	got, err := f.Wheels(t.Context(), Wheels{Requirements: []string{"torch-npu==2.9.0"}, NoDeps: true, Python: "3.11", Arch: "aarch64", Glibc: "2.34"})
	if err != nil || len(got) != 1 {
		t.Errorf("without dependencies: %q %v", names(got), err)
	}
	for want, w := range map[string]Wheels{
		"No matching distribution": {Requirements: []string{"torch-npu==2.9.0"}, Python: "3.11", Arch: "aarch64", Glibc: "2.17"},
		"only in PyTorch's own":    {Requirements: []string{"torch==2.9.0+cpu"}, Python: "3.11", Arch: "x86_64", Glibc: "2.34"},
	} {
		_, err = f.Wheels(t.Context(), w)
		if p := refusal(t, err, want); strings.Contains(p.Error(), "secret") {
			t.Error(p)
		}
	}
}

func TestExtraIndexJoinsTheConfiguredOnes(t *testing.T) {
	one, two, three := t.TempDir(), t.TempDir(), t.TempDir()
	wheel(t, one, "a", "1", "py3-none-any", "b", "c")
	wheel(t, two, "b", "1", "py3-none-any")
	wheel(t, three, "c", "1", "py3-none-any")
	f, _ := withPip(t, "", "[global]\nindex-url = "+index(t, one)+"\nextra-index-url = "+index(t, two)+"\n")
	got, err := f.Wheels(t.Context(), Wheels{Requirements: []string{"a==1"}, Python: "3.11", Arch: "aarch64", Extra: []string{index(t, three)}})
	if err != nil || len(got) != 3 {
		t.Errorf("%q %v", names(got), err)
	}
	n, err := f.Network(t.Context())
	if err != nil || !strings.Contains(n.Index, "//***@127.0.0.1") || len(n.Extra) != 1 || strings.Contains(fmt.Sprint(n), "secret") {
		t.Errorf("%+v %v", n, err)
	}
}

func TestPipConfigurationIsRead(t *testing.T) {
	got := readPipConfig("global.index-url='https://a/simple'\n:env:.index-url='https://c/simple'\ndownload.index-url='https://b/simple'\n" +
		"global.extra-index-url='\\nhttps://x/simple\\nhttps://y/simple'\nglobal.timeout='60'\ninstall.proxy='http://no:1'\nglobal.trusted_host='h1 h2'\nrubbish\nglobal.cert=''\n")
	if fmt.Sprint(got) != "map[cert:[] extra-index-url:[https://x/simple https://y/simple] index-url:[https://c/simple] trusted-host:[h1 h2]]" {
		t.Error(got)
	}
}

func FuzzPipConfiguration(f *testing.F) {
	f.Add("global.index-url='https://u:p@a/simple'\n")
	f.Add(":env:.x='\\n\\\\'\n=.='")
	f.Fuzz(func(t *testing.T, text string) {
		for key, values := range readPipConfig(text) {
			if !slices.Contains(pipKeys, key) {
				t.Errorf("%q %q", key, values)
			}
		}
	})
}

func TestWheelsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	wheel(t, dir, "torch-npu", "2.9.0", "cp311-cp311-manylinux_2_28_aarch64")
	wheel(t, dir, "torch", "2.9.0", "cp311-cp311-manylinux2014_aarch64.manylinux_2_17_aarch64")
	wheel(t, dir, "torch", "2.9.0", "cp311-cp311-manylinux_2_28_x86_64")
	wheel(t, dir, "torch", "2.8.0+cpu", "cp311-cp311-manylinux_2_28_x86_64")
	wheel(t, dir, "torch", "2.9.0", "cp312-cp312-manylinux_2_28_aarch64")
	wheel(t, dir, "safetensors", "0.5", "cp38-abi3-manylinux_2_17_aarch64")
	wheel(t, dir, "attrs", "25.1", "py3-none-any")
	f, _ := fetcher(t, dir)
	got, err := f.Wheels(t.Context(), Wheels{Requirements: []string{"torch_npu==2.9.0", "torch==2.9.0", "attrs[a,b]>=20"}, Python: "3.11", Arch: "aarch64"})
	if err != nil || len(got) != 4 {
		t.Errorf("%q %v", names(got), err)
	}
	for _, ask := range []string{"torch==2.8.0", "torch==2.8.0+cpu"} { // X is any build of X
		if got, err := f.Wheels(t.Context(), Wheels{Requirements: []string{ask}, Python: "3.11", Arch: "x86_64"}); err != nil || !slices.Contains(names(got), "torch-2.8.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl") {
			t.Errorf("%s: %q %v", ask, names(got), err)
		}
	}
	_, err = f.Wheels(t.Context(), Wheels{Requirements: []string{"torch==2.8.0", "numpy"}, Python: "3.11", Arch: "aarch64"})
	refusal(t, err, "2 Python packages are missing")
}

func TestWheelsThatCannotBeRight(t *testing.T) {
	good := Wheels{Requirements: []string{"torch==2.9.0"}, Python: "3.11", Arch: "aarch64"}
	for want, spoil := range map[string]func(*Wheels){
		`python of`:       func(w *Wheels) { w.Python = "3.11; rm" },
		`arch of`:         func(w *Wheels) { w.Arch = "arm64" },
		`requirements of`: func(w *Wheels) { w.Requirements = []string{"--index-url=http://evil"} },
		`"==1", expected`: func(w *Wheels) { w.Requirements = []string{"==1"} },
		`"torch @ http`:   func(w *Wheels) { w.Requirements = []string{"torch @ http://u:p@x/y.whl"} },
		`extra index of`:  func(w *Wheels) { w.Extra = []string{"file:///x"} },
	} {
		w := good
		spoil(&w)
		f, _ := fetcher(t, "")
		_, err := f.Wheels(t.Context(), w)
		refusal(t, err, want)
	}
}
