package hub

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a simulated host: a folder of programs (shell scripts that act as
// pip and npm) that is its whole PATH, and a cache.
type machine struct {
	t     *testing.T
	bin   string
	log   string // what the programs were called with
	cache string
	env   []string // on top of the test's own
	path  string   // "" = bin
}

func newMachine(t *testing.T) *machine {
	dir := t.TempDir()
	m := &machine{t: t, bin: filepath.Join(dir, "bin"), log: filepath.Join(dir, "log"), cache: filepath.Join(dir, "cache")}
	if err := os.Mkdir(m.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}

// program adds a shell script. `said` keeps its arguments in the log.
func (m *machine) program(name, script string) {
	m.t.Helper()
	text := "#!/bin/sh\nsaid() { echo \"" + name + " $*\" >> '" + m.log + "'; }\n" + script
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// pip adds a python3 whose pip runs the script for everything but --version.
func (m *machine) pip(script string) {
	m.program("python3", `[ "$1 $2" = "-m pip" ] || exit 9
shift 2
if [ "$1" = --version ]; then echo "pip 23.2.1 from /usr/lib (python 3.11)"; exit 0; fi
said "$@"
`+script)
}

func (m *machine) npm(script string) {
	m.program("npm", `if [ "$1" = --version ]; then echo 6.14.18; exit 0; fi
said "$@"
`+script)
}

func (m *machine) called() string {
	data, _ := os.ReadFile(m.log)
	return string(data)
}

func (m *machine) lookPath(name string) (string, error) {
	if m.path != "" {
		return exec.LookPath(name)
	}
	file := filepath.Join(m.bin, name)
	if _, err := os.Stat(file); err != nil {
		return "", exec.ErrNotFound
	}
	return file, nil
}

// run is the Exec of the tests: a process group of its own, ended as one.
func (m *machine) run(ctx context.Context, c Command) ([]byte, int, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(append(os.Environ(), m.env...), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return out, status.ExitCode(), nil
	}
	return out, 0, err
}

func (m *machine) options(rows ...Package) Options {
	return Options{Rows: rows, Cache: m.cache, OS: "linux", Arch: "amd64", Exec: m.run, LookPath: m.lookPath}
}

// left gives everything in the cache, without the folders.
func (m *machine) left() []string {
	var files []string
	filepath.WalkDir(m.cache, func(file string, d os.DirEntry, err error) error {
		if err == nil && (!d.IsDir() || strings.HasPrefix(d.Name(), workPrefix)) {
			rel, _ := filepath.Rel(m.cache, file)
			files = append(files, rel)
		}
		return nil
	})
	return files
}

// archive writes an archive with these members and gives the row that fits it;
// the first member is the library.
func (m *machine) archive(carrier string, members ...[2]string) (Package, string) {
	m.t.Helper()
	p := Package{ID: carrier + "-row", Carrier: carrier, Package: "onnxruntime", Version: "1.32.0", Arch: "amd64",
		File: "onnxruntime-1.32.0-cp312-cp312-manylinux_2_28_x86_64.whl", Member: members[0][0],
		LibrarySize: int64(len(members[0][1])), LibrarySHA256: sum(members[0][1])}
	data := zipped(m.t, members)
	if carrier == "npm" {
		p.Package, p.Version, p.File = "onnxruntime-node", "1.30.0", "onnxruntime-node-1.30.0.tgz"
		data = tarred(m.t, members)
	}
	p.Size, p.SHA256 = int64(len(data)), sum(string(data))
	file := filepath.Join(m.t.TempDir(), p.File)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		m.t.Fatal(err)
	}
	return p, file
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func zipped(t *testing.T, members [][2]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range members {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(f[1]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, members [][2]string) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, f := range members {
		h := &tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Typeflag: tar.TypeReg}
		if strings.HasPrefix(f[1], "->") {
			h = &tar.Header{Name: f[0], Linkname: f[1][2:], Typeflag: tar.TypeSymlink}
			f[1] = ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(f[1]))
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
