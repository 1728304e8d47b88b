//go:build linux

package hosttest

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

//go:embed lay
var layTexts embed.FS

func layText(t testing.TB, name string) string {
	t.Helper()
	text, err := layTexts.ReadFile("lay/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	baseSuite = "bookworm"
	// basePackages are what a host needs to be reached, to become root and to
	// make a Python environment; ip and ss look at its own network.
	basePackages = "openssh-server,sudo,python3-venv,iproute2,procps"
	baseRecipe   = "1" // changes with base.sh and the two above
)

// Base is the folder of the Debian root that laid hosts are clones of. It is
// built once per machine, some two minutes with the network, and kept in the
// cache folder of the user; test processes that need it meanwhile wait.
func Base(t testing.TB) string {
	t.Helper()
	needRoot(t)
	need(t, "/usr/sbin/debootstrap", "debootstrap")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "ascendctl-test", "root-"+baseSuite+"-"+runtime.GOARCH+"-"+baseRecipe)
	defer locked(t, dir)()
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	out, err := exec.Command("/bin/sh", "-c", layText(t, "base.sh"), "sh", dir, baseSuite, basePackages).CombinedOutput()
	if err != nil {
		t.Fatalf("debootstrap, which needs the network: %v\n%s", err, tail(out))
	}
	return dir
}

// kernelLibrary compiles kernel.c once, beside the base.
func kernelLibrary(t testing.TB, base string) string {
	t.Helper()
	source := layText(t, "kernel.c")
	sum := sha256.Sum256([]byte(source))
	file := fmt.Sprintf("%s-%x.so", base, sum[:4])
	defer locked(t, file)()
	data, err := os.ReadFile(file)
	if err == nil {
		return string(data)
	}
	need(t, "/usr/bin/gcc", "gcc")
	cmd := exec.Command("/usr/bin/gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", file+".new")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, tail(out))
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// locked keeps other test processes from making the same file.
func locked(t testing.TB, file string) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { lock.Close() } // and with it the lock
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root for mounts and namespaces: run make test as root, as CI does")
	}
}

// tail keeps the end of what a long command said.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }
