package ort

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is a made-up machine: the files that are there and the environment.
func world(files []string, env map[string]string) Searcher {
	return Searcher{Beside: "/opt/ascendctl/bin", Cache: "/root/.cache/ascendctl", Arch: "amd64",
		Getenv: func(k string) string { return env[k] },
		Glob: func(pattern string) (found []string, err error) {
			for _, f := range files {
				ok, err := filepath.Match(pattern, f)
				if err != nil {
					return nil, err
				}
				if ok {
					found = append(found, f)
				}
			}
			return found, nil
		}}
}

func TestSearchTakesTheFirstPlaceThatHasOne(t *testing.T) {
	env := map[string]string{"HOME": "/root", "VIRTUAL_ENV": "/venv", "CONDA_PREFIX": "/conda", "PYENV_ROOT": "/root/.pyenv", "LD_LIBRARY_PATH": ":/a:rel:/b"}
	// In the order of preference: each file is found when those before it are gone.
	order := []Candidate{
		{"/opt/ascendctl/bin/libonnxruntime.so.1.20.1", Beside, "1.20.1"},
		{"/root/.cache/ascendctl/onnxruntime/1.32.0/amd64/libonnxruntime.so.1.32.0", Cached, "1.32.0"},
		{"/venv/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.0", Pip, "1.31.0"},
		{"/conda/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.30.0", Pip, "1.30.0"},
		{"/root/.pyenv/versions/3.10.4/lib/python3.10/site-packages/onnxruntime/capi/libonnxruntime.so.1.29.0", Pip, "1.29.0"},
		{"/root/.local/lib/python3.9/site-packages/onnxruntime/capi/libonnxruntime.so.1.19.2", Pip, "1.19.2"},
		{"/usr/local/lib/python3.12/dist-packages/onnxruntime/capi/libonnxruntime.so.1.23.2", Pip, "1.23.2"},
		{"/usr/lib64/python3.9/site-packages/onnxruntime/capi/libonnxruntime.so.1.18.0", Pip, "1.18.0"},
		{"/usr/lib/python3/dist-packages/onnxruntime/capi/libonnxruntime.so.1.22.0", Pip, "1.22.0"},
		{"/a/libonnxruntime.so.1", System, ""},
		{"/b/libonnxruntime.so", System, ""},
		{"/usr/lib/x86_64-linux-gnu/libonnxruntime.so.1.21.0", System, "1.21.0"},
		{"/usr/lib64/libonnxruntime.so.1.17.3", System, "1.17.3"},
		{BareName, Loader, ""},
	}
	var files []string
	for _, c := range order {
		files = append(files, c.File)
	}
	for i, want := range order {
		got, tried := Search(world(files[i:], env))
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if i == len(order)-1 && (tried[len(tried)-1] != BareName || len(tried) < 15) {
			t.Errorf("tried %q", tried)
		}
		if slices.ContainsFunc(tried, func(p string) bool { return strings.HasPrefix(p, "rel") }) {
			t.Errorf("looked in a relative folder: %q", tried)
		}
	}
}

func TestExplicitPathIsTheOnlyOneTried(t *testing.T) {
	s := world([]string{"/opt/ascendctl/bin/libonnxruntime.so.1.20.1"}, nil)
	s.Explicit = "/my/libonnxruntime.so.1.25.0"
	got, tried := Search(s)
	if got != (Candidate{"/my/libonnxruntime.so.1.25.0", Given, "1.25.0"}) || !slices.Equal(tried, []string{s.Explicit}) {
		t.Errorf("got %+v, tried %q", got, tried)
	}
}

func TestNewestUsableVersionOfAPlaceWins(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"numbers, not letters", []string{"libonnxruntime.so.1.9.0", "libonnxruntime.so.1.32.0", "libonnxruntime.so.1.4.0"}, "libonnxruntime.so.1.32.0"},
		{"patch level", []string{"libonnxruntime.so.1.23.10", "libonnxruntime.so.1.23.2"}, "libonnxruntime.so.1.23.10"},
		{"a version before none", []string{"libonnxruntime.so", "libonnxruntime.so.1", "libonnxruntime.so.1.20.0"}, "libonnxruntime.so.1.20.0"},
		{"other libraries", []string{"libonnxruntime_providers_shared.so", "libonnxruntime.so.1.20.0.bak", "libonnxruntime.so.dbg", "libonnxruntime.so-x", "libonnxruntime.so.1"}, "libonnxruntime.so.1"},
		{"too old is none", []string{"libonnxruntime.so.1.16.3"}, ""},
		{"a major we do not know is none", []string{"libonnxruntime.so.2.1.0"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files []string
			want := BareName
			for _, f := range c.files {
				files = append(files, "/opt/ascendctl/bin/"+f)
			}
			if c.want != "" {
				want = "/opt/ascendctl/bin/" + c.want
			}
			if got, _ := Search(world(files, nil)); got.File != want {
				t.Errorf("got %s, want %s", got.File, want)
			}
		})
	}
}

func TestFoldersAreTakenLiterally(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [x] *?")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "libonnxruntime.so.1.30.0")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ := Search(Searcher{Beside: dir, Arch: "amd64", Getenv: func(string) string { return "" }, Glob: filepath.Glob})
	if got.File != file || got.Version != "1.30.0" {
		t.Errorf("got %+v, want %s", got, file)
	}
}
