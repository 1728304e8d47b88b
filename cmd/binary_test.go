package cmd_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// binary builds the product as a release is built, in a folder that every
// user can reach.
func binary(t *testing.T, env ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ascendctl-bin-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "ascendctl")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "..")
	build.Env = append(os.Environ(), env...)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// TestBinary holds the size and what the release binary needs of a system.
func TestBinary(t *testing.T) {
	path := binary(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(25 << 20); info.Size() > limit {
		t.Errorf("stripped binary %d bytes, want at most %d", info.Size(), limit)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, lib := range libs {
		switch lib {
		case "libc.so.6", "libdl.so.2", "libpthread.so.0", "libresolv.so.2":
		case "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1": // of the C library, for what acl keeps per thread
		default:
			t.Errorf("the binary needs %s: only the C library may be linked", lib)
		}
	}
	t.Logf("%.1f MiB, needs %v", float64(info.Size())/(1<<20), libs)
}

// TestStaticBinary: without cgo everything works but running a model, and that
// says so.
func TestStaticBinary(t *testing.T) {
	path := binary(t, "CGO_ENABLED=0")
	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "without cgo") {
		t.Errorf("%v\n%s", err, out)
	}
	digits, _ := filepath.Abs("../testdata/models/digits/digits.onnx")
	c := exec.Command(path, "serve", digits, "--listen", "127.0.0.1:0")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err == nil || c.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "cgo") {
		t.Errorf("%v\n%s", err, stderr.String())
	}
}

// TestAsAnotherUser: nothing is unreadable to root, and CI is root, so what
// permissions refuse is tried as a user who owns nothing.
func TestAsAnotherUser(t *testing.T) {
	path := binary(t)
	dir := filepath.Dir(path)
	secret := filepath.Join(dir, "secret.onnx")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home") // not writable for nobody
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"unreadable model", []string{"inspect", secret}, []string{"cannot read " + secret, "permission denied"}},
		{"unwritable access log", []string{"serve", "../testdata/models/digits/digits.onnx", "--access-log", home + "/a.log"}, []string{"cannot write the access log"}},
		{"unwritable cache", []string{"data", "fetch", "onnxruntime"}, []string{"permission denied"}},
		{"port below 1024", []string{"serve", "../testdata/models/digits/digits.onnx", "--listen", "127.0.0.1:81"}, []string{"127.0.0.1:81"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "port below 1024" && lowPortsOpen() {
				c.args[len(c.args)-1], c.want = "192.0.2.1:8000", []string{"192.0.2.1:8000"}
			}
			digits, _ := filepath.Abs("../testdata/models/digits/digits.onnx")
			for i, a := range c.args {
				if strings.HasSuffix(a, "digits.onnx") {
					c.args[i] = copyFor(t, dir, digits)
				}
			}
			cmd := exec.Command(path, c.args...)
			cmd.Dir = "/"
			cmd.Env = []string{"HOME=" + home, "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")}
			if os.Getuid() == 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("worked:\n%s", out)
			}
			for _, w := range c.want {
				if !strings.Contains(string(out), w) {
					t.Errorf("no %q in:\n%s", w, out)
				}
			}
			if strings.Contains(string(out), "panic") {
				t.Errorf("%s", out)
			}
		})
	}
}

func copyFor(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, filepath.Base(name))
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// lowPortsOpen is true where the system lets everybody take port 81, as in
// many containers.
func lowPortsOpen() bool {
	data, _ := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
	return runtime.GOOS != "linux" || strings.TrimSpace(string(data)) == "0"
}
