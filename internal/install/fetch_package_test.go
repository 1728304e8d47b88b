package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestInstallersOfPackages(t *testing.T) {
	hdk, run := zipOf(t, "a-npu-firmware_7.run", "firmware", "a-npu-driver_25.run", "driver"), noise(2000)
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "hdk.zip"), hdk)
	plant(t, filepath.Join(dir, "toolkit.run"), run)
	packages := []Package{
		{ID: "hdk", File: "hdk.zip", SHA256: digest(hdk), Parts: []Part{{"driver", "*driver*.run"}, {"firmware", "*firmware*.run"}}},
		{ID: "toolkit", File: "toolkit.zip", SHA256: digest(hdk), Names: []string{"toolkit.run"}, Parts: []Part{{"toolkit", "*toolkit*.run"}}},
	}
	f, _ := fetcher(t, dir)
	files, err := f.Files(t.Context(), packages)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p          int
		part, want string
	}{{0, "driver", "driver"}, {0, "firmware", "firmware"}, {1, "toolkit", string(run)}} {
		file, ok := files(packages[c.p], Part{Name: c.part})
		got := make([]byte, file.Size)
		if !ok {
			t.Fatalf("no %s", c.part)
		}
		if _, err := file.Src.ReadAt(got, 0); err != nil || string(got) != c.want || file.SHA256 != digest(got) || file.From == "" {
			t.Errorf("%s: %+v %v", c.part, file, err)
		}
	}
	if _, ok := files(packages[0], Part{Name: "ops"}); ok {
		t.Error("a part that nobody has is there")
	}
}

// TestTruncatedInstallerIsRefused: a real makeself archive tells its own size,
// which is all there is to go by where no list has a digest.
func TestTruncatedInstallerIsRefused(t *testing.T) {
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "tree", "payload"), noise(400000))
	run := filepath.Join(dir, "from", "a.run")
	plant(t, run, nil)
	if out, err := exec.Command("makeself", "--nocomp", "--quiet", filepath.Join(dir, "tree"), run, "label", "true").CombinedOutput(); err != nil {
		t.Fatalf("makeself (make deps installs it): %v %s", err, out)
	}
	data, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	for cut, want := range map[int]string{0: "", 1: "bytes, got", 300000: "bytes, got"} {
		plant(t, run, data[:len(data)-cut])
		f, _ := fetcher(t, filepath.Dir(run))
		got, err := f.Get(t.Context(), []Item{{Name: "a.run"}})
		switch {
		case want != "":
			refusal(t, err, want)
		case err != nil || readRun(got[0], got[0].Size).size() != int64(len(data)):
			t.Errorf("%v: makeself says %d, it has %d", err, readRun(got[0], got[0].Size).size(), len(data))
		}
	}
	data[len(data)-1000] ^= 1
	plant(t, run, data)
	f, _ := fetcher(t, filepath.Dir(run))
	_, err = f.Get(t.Context(), []Item{{Name: "a.run"}})
	refusal(t, err, "md5")
}

func FuzzRunSize(f *testing.F) {
	f.Add([]byte("#!/bin/sh\nskip=\"3\"\nfilesizes=\"12\"\nabc"))
	f.Add([]byte("#!/bin/sh\nhead -n 999999999\nfilesizes=\"1 2\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := readRun(gotOf(data), int64(len(data))).size(); n < 0 || n > 2*maxFile {
			t.Errorf("%d", n)
		}
	})
}
