// Package hosttest is the contract every host.Host fulfils, as tests, and the
// simulated machines to run it on. Only tests import it.
package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Names are the hosts the contract has to be run on.
var Names = []string{"local", "inproc", "sshd", "jump", "replay", "record"}

var ran struct {
	sync.Mutex
	n map[string]int
}

// Ran counts one run of the contract on the host of that name. Contract and
// Look call it themselves.
func Ran(name string) {
	ran.Lock()
	defer ran.Unlock()
	if ran.n == nil {
		ran.n = map[string]int{}
	}
	ran.n[name]++
}

// Missing gives the names of Names the contract has not been run on.
func Missing() (names []string) {
	ran.Lock()
	defer ran.Unlock()
	for _, n := range Names {
		if ran.n[n] == 0 {
			names = append(names, n)
		}
	}
	return names
}

// Contract runs the contract on hosts that share the file system of the test,
// so that what the host did can be seen from outside. open gives an open host
// of its own to each part, and closes it by t.Cleanup.
func Contract(t *testing.T, name string, open func(t *testing.T) host.Host) {
	t.Helper()
	Ran(name)
	for _, part := range []struct {
		name string
		run  func(t *testing.T, h host.Host)
	}{
		{"argv arrives byte for byte", argv},
		{"a missing command is ErrNoCommand, exit 127 is not", missing},
		{"exit codes are results", exits},
		{"stdout and stderr are apart", streams},
		{"stdin arrives and ends", stdin},
		{"env is added, LC_ALL is C", environment},
		{"write then read", writeRead},
		{"a write that fails leaves the old file", writeFails},
		{"cancelling ends the command and its children", cancelling},
		{"cancelled before it starts", cancelled},
		{"ask", asking},
		{"ask every kind", everyKind},
		{"ask: what may not be seen is unknown", denied},
		{"ask: at most 1 MiB", large},
		{"ask: npu-smi that hangs is not asked again", hanging},
		{"root", root},
		{"upload", upload},
		{"job", job},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, open(t)) })
	}
}

// bytesOf gives every byte but NUL: newlines, quotes, UTF-8 cut in two.
func bytesOf() string {
	var b []byte
	for c := 1; c < 256; c++ {
		b = append(b, byte(c))
	}
	return string(b)
}

func argv(t *testing.T, h host.Host) {
	words := []string{"", " ", "a b", "'", `"`, "$HOME", "`id`", "\\", "-n", "*", "~", "\n", "\r\n", "!", "中文", "\xff\xfe", bytesOf()}
	r := run(t, h, host.Command{Argv: append([]string{"printf", `%s\0`}, words...)})
	if want := strings.Join(words, "\x00") + "\x00"; string(r.Stdout) != want {
		t.Errorf("got  %q\nwant %q", r.Stdout, want)
	}
}

func missing(t *testing.T, h host.Host) {
	for _, name := range []string{"no-such-binary", "/no/such/binary"} {
		if _, err := h.Run(t.Context(), host.Command{Argv: []string{name, "x"}}); !errors.Is(err, host.ErrNoCommand) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := run(t, h, host.Command{Argv: []string{"sh", "-c", "exit 127"}}); r.Exit != 127 {
		t.Errorf("exit %d, want 127", r.Exit)
	}
}

func exits(t *testing.T, h host.Host) {
	for _, n := range []int{0, 1, 3, 124, 126, 187, 255} {
		if r := run(t, h, host.Command{Argv: []string{"sh", "-c", fmt.Sprintf("echo no >&2; exit %d", n)}}); r.Exit != n || string(r.Stderr) != "no\n" {
			t.Errorf("exit %d %q, want %d", r.Exit, r.Stderr, n)
		}
	}
}

func streams(t *testing.T, h host.Host) {
	odd := "\x00\xff\r\nno newline at the end"
	argv := []string{"sh", "-c", `printf '\000\377\r\nno newline at the end'; printf 'err\r\n' >&2`}
	if r := run(t, h, host.Command{Argv: argv}); string(r.Stdout) != odd || string(r.Stderr) != "err\r\n" {
		t.Errorf("%q %q", r.Stdout, r.Stderr)
	}
	var out, said bytes.Buffer
	r := run(t, h, host.Command{Argv: argv, Stdout: &out, Stderr: &said})
	if out.String() != odd || said.String() != "err\r\n" || len(r.Stdout)+len(r.Stderr) > 0 {
		t.Errorf("%q %q, kept %q %q", out.String(), said.String(), r.Stdout, r.Stderr)
	}
}

func stdin(t *testing.T, h host.Host) {
	data := bytes.Repeat([]byte("\x00line\r\n\xff"), 100_000)
	if r := run(t, h, host.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(data)}); !bytes.Equal(r.Stdout, data) {
		t.Errorf("%d bytes came back of %d", len(r.Stdout), len(data))
	}
	if r := run(t, h, host.Command{Argv: []string{"cat"}}); len(r.Stdout) > 0 { // does not wait for a terminal
		t.Errorf("%q", r.Stdout)
	}
	if r := run(t, h, host.Command{Argv: []string{"true"}, Stdin: bytes.NewReader(data)}); r.Exit != 0 { // who does not read is not blamed
		t.Errorf("%+v", r)
	}
}

func environment(t *testing.T, h host.Host) {
	r := run(t, h, host.Command{Argv: []string{"sh", "-c", `printf '%s|%s|%s' "$LC_ALL" "$A" "${HOME:+home}"`}, Env: []string{"A=it's $x\n"}})
	if string(r.Stdout) != "C|it's $x\n|home" {
		t.Errorf("%q", r.Stdout)
	}
}

func writeRead(t *testing.T, h host.Host) {
	name := t.TempDir() + "/a b'c"
	for i, data := range [][]byte{[]byte(bytesOf() + "\x00"), nil, bytes.Repeat([]byte("x"), 300_000)} {
		perm := []fs.FileMode{0o600, 0o755, 0o640}[i]
		if err := h.WriteFile(t.Context(), name, data, perm); err != nil {
			t.Fatal(err)
		}
		got, err := h.ReadFile(t.Context(), name)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d: %d bytes, %v", i, len(got), err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%d: %v %v, want %v", i, info.Mode(), err, perm)
		}
	}
	alone(t, name)
	if _, err := h.ReadFile(t.Context(), name+".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func writeFails(t *testing.T, h host.Host) {
	name := t.TempDir() + "/folder"
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.WriteFile(t.Context(), name, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if err := h.WriteFile(t.Context(), name+"/no/x", []byte("x"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
	alone(t, name)
}

// alone fails when something beside name is left in its folder.
func alone(t *testing.T, name string) {
	t.Helper()
	left, err := os.ReadDir(name[:strings.LastIndexByte(name, '/')])
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func cancelling(t *testing.T, h host.Host) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() {
		// The child of a timeout has a process group of its own.
		_, err := h.Run(ctx, host.Command{Argv: []string{"sh", "-c", `sleep 987 & echo $! >"$1/a"; timeout 988 sleep 987 & echo $! >"$1/b"; echo $$ >"$1/c"; wait`, "sh", dir}})
		done <- err
	}()
	pids := map[string]string{}
	eventually(t, func() bool {
		for _, n := range []string{"a", "b", "c"} {
			data, _ := os.ReadFile(dir + "/" + n)
			pids[n] = strings.TrimSpace(string(data))
		}
		return pids["a"] != "" && pids["b"] != "" && pids["c"] != ""
	}, "the command did not start")
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run gave %v", err)
	}
	eventually(t, func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(pids)), alive)
	}, fmt.Sprintf("still there: %v", pids))
}

// alive is true for a process that is not a zombie.
func alive(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(data), ") Z ")
}

func eventually(t *testing.T, ok func() bool, why string) {
	t.Helper()
	for range 400 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error(why)
}

func cancelled(t *testing.T, h host.Host) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := h.Run(ctx, host.Command{Argv: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if as := h.Ask(ctx, []host.Question{{Kind: host.Clock}}); len(as) != 1 || as[0].State != host.Unknown || !errors.Is(as[0].Err, context.Canceled) {
		t.Errorf("Ask: %+v", as)
	}
}

func run(t *testing.T, h host.Host, c host.Command) host.Result {
	t.Helper()
	r, err := h.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%q: %v", c.Argv, err)
	}
	return r
}
