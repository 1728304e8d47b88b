package install

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBundleIsEnoughToInstallFrom goes the whole way: files from a mirror and
// wheels from an index into an archive, and out of it where there is no network.
func TestBundleIsEnoughToInstallFrom(t *testing.T) {
	dir := t.TempDir()
	wheel(t, dir, "torch-npu", "2.9.0", "cp311-cp311-manylinux_2_28_aarch64", "plain")
	wheel(t, dir, "plain", "1.0", "py3-none-any")
	hdk, run := zipOf(t, "a-npu-driver.run", "driver", "a-npu-firmware.run", "firmware"), noise(300000)
	serve := func(data []byte) string { m := &mirror{data: data}; return m.start(t) }
	items := []Item{
		{ID: "hdk", Name: "hdk.zip", URL: serve(hdk) + "/a?token=0123456789abcdef", SHA256: digest(hdk), Parts: []string{"*driver.run", "*firmware.run"}},
		{ID: "toolkit", Name: "toolkit.run", URL: serve(run)},
	}
	wheels := []Wheels{{Requirements: []string{"torch-npu==2.9.0"}, Python: "3.11", Arch: "aarch64", Glibc: "2.34"}}
	maker, _ := withPip(t, "", "")
	maker.Index = index(t, dir)
	out := filepath.Join(t.TempDir(), "bundle.tar")
	m := Manifest{By: "ascendctl test", Made: time.Unix(1796000000, 5), Chip: "910b", Arch: "aarch64", Row: "vllm-ascend/0.23.0", Python: "3.11"}
	made, err := maker.Bundle(t.Context(), out, m, items, wheels)
	if err != nil || len(made.Files) != 4 {
		t.Fatalf("%+v %v", made, err)
	}
	if list, err := exec.Command("tar", "-tf", out).Output(); err != nil || strings.Fields(string(list))[0] != bundleManifest {
		t.Errorf("tar reads %q %v", list, err)
	}
	first, _ := os.ReadFile(out)
	if bytes.Contains(first, []byte("0123456789abcdef")) || bytes.Contains(first, []byte("1ndex-secret")) {
		t.Error("a secret is in the bundle")
	}
	if _, err := maker.Bundle(t.Context(), out, m, items, wheels); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.ReadFile(out); !bytes.Equal(first, second) {
		t.Error("the same files make two different bundles")
	}
	f, _ := fetcher(t, out)
	got, err := f.Get(t.Context(), items)
	if err != nil || len(got) != 3 || string(content(t, got[0])) != "driver" || string(content(t, got[1])) != "firmware" || !bytes.Equal(content(t, got[2]), run) || !got[1].Verified || got[2].Verified {
		t.Fatalf("%+v %v", got, err)
	}
	if more, err := f.Wheels(t.Context(), wheels[0]); err != nil || len(more) != 2 {
		t.Errorf("%q %v", names(more), err)
	}
	items[1].SHA256 = digest(hdk)
	_, err = f.Get(t.Context(), items)
	refusal(t, err, "expected sha256") // the data has learnt a digest since
}

func TestBundleWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "x.run"), noise(5000))
	f, _ := fetcher(t, dir)
	f.Free = func(string) (int64, error) { return 4000, nil }
	_, err := f.Bundle(t.Context(), filepath.Join(t.TempDir(), "b.tar"), Manifest{}, []Item{{Name: "x.run"}}, nil)
	refusal(t, err, "4000 bytes free")
}

// entry is one entry of a hand-made archive.
type entry struct {
	tar.Header
	data string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(e.data))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, e.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plain(name, data string) entry { return entry{tar.Header{Name: name}, data} }

func manifest(t testing.TB, change func(*Manifest), files ...BundleFile) entry {
	t.Helper()
	m := Manifest{Schema: bundleSchema, Files: files}
	if change != nil {
		change(&m)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return plain(bundleManifest, string(data))
}

func listed(path, data string) BundleFile {
	return BundleFile{Path: path, Kind: map[bool]string{true: KindWheel, false: KindPackage}[strings.HasPrefix(path, "wheels")], Size: int64(len(data)), SHA256: digest([]byte(data))}
}

type hostileBundle struct {
	name string
	data []byte
	want string // empty: it is fine
}

func hostileBundles(t *testing.T) []hostileBundle {
	t.Helper()
	x := listed("packages/x.run", "data")
	good := tarOf(t, manifest(t, nil, x), plain(x.Path, "data"))
	with := func(change func(*BundleFile)) []byte {
		f := x
		change(&f)
		return tarOf(t, manifest(t, nil, f), plain(f.Path, "data"))
	}
	link := func(kind byte, to string) []byte {
		return tarOf(t, manifest(t, nil, BundleFile{Path: x.Path, Kind: KindPackage, SHA256: digest(nil)}), entry{tar.Header{Name: x.Path, Typeflag: kind, Linkname: to}, ""})
	}
	return []hostileBundle{
		{"a good one", good, ""},
		{"empty", nil, "it is empty"},
		{"no tar", []byte(strings.Repeat("rubbish ", 200)), "no tar archive"},
		{"cut in the data", good[:len(good)-1600], "unexpected EOF"},
		{"cut behind the manifest", tarOf(t, manifest(t, nil, x)), "listed and not there"},
		{"the manifest is not first", tarOf(t, plain(x.Path, "data"), manifest(t, nil, x)), "its first entry is"},
		{"a manifest of another kind", tarOf(t, plain(bundleManifest, "[1]")), "manifest.json: json"},
		{"an unknown key", tarOf(t, plain(bundleManifest, `{"schema":1,"evil":1}`)), "evil"},
		{"another schema", tarOf(t, manifest(t, func(m *Manifest) { m.Schema = 2 })), "schema 2, this ascendctl reads 1"},
		{"a huge manifest", tarOf(t, plain(bundleManifest, strings.Repeat(" ", bundleHead+1))), "its first entry is"},
		{"a digest that differs", with(func(f *BundleFile) { f.SHA256 = digest(nil) }), "not the known file"},
		{"no digest", with(func(f *BundleFile) { f.SHA256 = "" }), "64 hex digits"},
		{"another size", with(func(f *BundleFile) { f.Size = 5 }), "5 bytes by the manifest, got 4"},
		{"a negative size", with(func(f *BundleFile) { f.Size = -1 }), "size: expected 0"},
		{"a huge size", with(func(f *BundleFile) { f.Size = 1 << 60 }), "size: expected 0"},
		{"a path that climbs", with(func(f *BundleFile) { f.Path = "packages/../../etc/passwd" }), "expected packages/NAME"},
		{"an absolute path", with(func(f *BundleFile) { f.Path = "/etc/passwd" }), "expected packages/NAME"},
		{"a path of two dots", with(func(f *BundleFile) { f.Path = "packages/.." }), "expected packages/NAME"},
		{"a path with a backslash", with(func(f *BundleFile) { f.Path = `packages/..\x` }), "expected packages/NAME"},
		{"a path with a control character", with(func(f *BundleFile) { f.Path = "packages/a\x1b[2J" }), "expected packages/NAME"},
		{"a kind that does not exist", with(func(f *BundleFile) { f.Kind = "script" }), "expected packages/NAME"},
		{"listed twice", tarOf(t, manifest(t, nil, x, x), plain(x.Path, "data")), "listed twice"},
		{"there twice", tarOf(t, manifest(t, nil, x), plain(x.Path, "data"), plain(x.Path, "data")), "is in it twice"},
		{"not listed", tarOf(t, manifest(t, nil, x), plain(x.Path, "data"), plain("packages/evil.run", "x")), "is not in its manifest"},
		{"a symbolic link", link(tar.TypeSymlink, "/etc/passwd"), "no plain file"},
		{"a hard link", link(tar.TypeLink, "/etc/passwd"), "no plain file"},
		{"a device", link(tar.TypeBlock, ""), "no plain file"},
		{"a pipe", link(tar.TypeFifo, ""), "no plain file"},
		{"a folder", tarOf(t, manifest(t, nil, x), entry{tar.Header{Name: "packages/", Typeflag: tar.TypeDir}, ""}), "is not in its manifest"},
		{"too many files", tarOf(t, manifest(t, func(m *Manifest) { m.Files = slices.Repeat([]BundleFile{x}, bundleFiles+1) })), "at most 10000"},
	}
}

func TestHostileBundlesAreRefused(t *testing.T) {
	for _, c := range hostileBundles(t) {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "b.tar")
			plant(t, name, c.data)
			b, err := OpenBundle(t.Context(), name, nil)
			if c.want != "" {
				refusal(t, err, c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if g, err := b.find("x.run"); err != nil || string(content(t, g)) != "data" {
				t.Errorf("%+v %v", g, err)
			}
		})
	}
	if _, err := OpenBundle(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("a folder is a bundle")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	name := filepath.Join(t.TempDir(), "b.tar")
	plant(t, name, hostileBundles(t)[0].data)
	_, err := OpenBundle(ctx, name, nil)
	refusal(t, err, "was interrupted")
}

func FuzzBundle(f *testing.F) {
	x := listed("packages/x.run", "data")
	f.Add(tarOf(f, manifest(f, nil, x), plain(x.Path, "data")))
	f.Add(tarOf(f, plain(bundleManifest, "{}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "b.tar")
		plant(t, name, data)
		b, err := OpenBundle(t.Context(), name, nil)
		if err != nil {
			return
		}
		defer b.Close()
		for _, file := range b.Files {
			g, err := b.find(filepath.Base(file.Path))
			if err != nil || digest(content(t, g)) != g.SHA256 {
				t.Errorf("%+v %v", g, err)
			}
		}
	})
}
