package hosttest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
)

func ask(t *testing.T, h host.Host, qs ...host.Question) []host.Answer {
	t.Helper()
	as := h.Ask(t.Context(), qs)
	if len(as) != len(qs) {
		t.Fatalf("%d answers to %d questions", len(as), len(qs))
	}
	for i, a := range as {
		if (a.State == host.Unknown) != (a.Err != nil) || a.State == "" {
			t.Errorf("%v: state %q with error %v", qs[i], a.State, a.Err)
		}
	}
	return as
}

type want struct {
	q     host.Question
	state host.State
	out   string
}

func expect(t *testing.T, h host.Host, ws ...want) []host.Answer {
	t.Helper()
	qs := make([]host.Question, len(ws))
	for i, w := range ws {
		qs[i] = w.q
	}
	as := ask(t, h, qs...)
	for i, w := range ws {
		if as[i].State != w.state || w.state == host.Known && string(as[i].Stdout) != w.out {
			t.Errorf("%v: %s %q %v, want %s %q", w.q, as[i].State, as[i].Stdout, as[i].Err, w.state, w.out)
		}
	}
	return as
}

func q(k host.Kind, args ...string) host.Question { return host.Question{Kind: k, Args: args} }

func asking(t *testing.T, h host.Host) {
	dir := t.TempDir()
	odd := "no newline at the end, a NUL \x00, \xff\r\n and a mark\n\nX S 0\nE 0\n"
	files(t, dir, map[string]string{"a b": odd, "a*c": "", "empty": ""})
	os.Symlink("no where", dir+"/link")
	as := expect(t, h,
		want{q(host.File, dir+"/a b"), host.Known, odd},
		want{q(host.File, dir+"/empty"), host.Known, ""},
		want{q(host.File, dir+"/none"), host.Absent, ""},
		want{q(host.File, dir+"/a b/none"), host.Absent, ""},
		want{q(host.File, dir), host.Unknown, ""},
		want{q(host.Glob, dir+"/a*"), host.Known, dir + "/a b\n" + dir + "/a*c\n"},
		want{q(host.Glob, dir+"/[l-l]in?"), host.Known, dir + "/link\n"},
		want{q(host.Glob, dir+"/$(id)*"), host.Known, ""},
		want{q(host.Glob, dir+"/none/*"), host.Known, ""},
		want{q(host.Link, dir+"/link"), host.Known, "no where\n"},
		want{q(host.Link, dir+"/empty"), host.Absent, ""},
		want{q(host.Link, dir+"/none"), host.Absent, ""},
		want{q(host.Exec, "sh", "-c", "echo out; echo err >&2; exit 127"), host.Known, "out\n"},
		want{q(host.Exec, "no-such-binary"), host.Absent, ""},
		want{q(host.Exec, "/no/such/binary"), host.Absent, ""},
		want{q(host.Exec, "asc_q", "0"), host.Absent, ""},
		want{host.Question{Kind: host.Exec, Args: []string{"sh", "-c", `printf %s "$A$LC_ALL"`}, Env: []string{"A=it's "}}, host.Known, "it's C"},
		want{q(host.Exec, "cat"), host.Known, ""}, // its stdin is not the program
		want{q(host.Exec, "printf", "%s", bytesOf()), host.Known, bytesOf()},
		want{host.Question{Kind: host.Exec, Args: []string{"sleep", "30"}, Timeout: time.Second}, host.Unknown, ""},
		want{q("no-such-kind"), host.Unknown, ""},
		want{q(host.File), host.Unknown, ""},
		want{q(host.File, "a\x00b"), host.Unknown, ""},
		want{q(host.Exec, "echo", "the last one"), host.Known, "the last one\n"},
	)
	if a := as[12]; a.Exit != 127 || string(bytes.TrimSpace(a.Stderr)) != "err" { // it ran: 127 is its own word
		t.Errorf("%+v", a)
	}
	if !errors.Is(as[19].Err, host.ErrTimeout) {
		t.Errorf("%v", as[19].Err)
	}
	if as := h.Ask(t.Context(), nil); len(as) != 0 {
		t.Errorf("nothing asked, %v answered", as)
	}
}

func files(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	for name, text := range content {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// everyKind asks each kind once and compares with what this machine says of
// itself, where it says it in another way too.
func everyKind(t *testing.T, h host.Host) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"f": "12345"})
	me := strconv.Itoa(os.Getpid())
	kernel, _ := os.ReadFile("/proc/sys/kernel/hostname")
	cases := []struct {
		q    host.Question
		want string // stands in the answer
	}{
		{q(host.Stat, dir, dir+"/f", dir+"/none"), "/f f 0644 "},
		{q(host.Disk, dir+"/not/there/yet"), "\navail_kb="},
		{q(host.Identity), "uid=" + strconv.Itoa(os.Getuid()) + "\ngid=" + strconv.Itoa(os.Getgid()) + "\nuser="},
		{q(host.Limits), "nofile="},
		{q(host.Tools, "sh", "no-such-tool"), "sh /"},
		{q(host.Env), "PATH="},
		{q(host.Env, me), "PATH="},
		{q(host.Nodes), ""},
		{q(host.PCI), ""},
		{q(host.Packages), "pip "},
		{q(host.Python, "json", "no_such_module"), "json=true\nno_such_module=false\n"},
		{q(host.Hostname), "name=" + string(kernel)},
		{q(host.Clock), "unix=" + strconv.FormatInt(time.Now().Unix()/10_000, 10)},
		{q(host.Boot), "boot="},
		{q(host.Ports), ""},
		{q(host.Locks), ""},
		{q(host.Shells), "sh=/"},
		{q(host.Procs, me, "no-pid", "99999999"), me + "\t" + strconv.Itoa(os.Getuid()) + "\t"},
		{q(host.Reach, "no-such-host.invalid"), "no-such-host.invalid -\n"},
		{q(host.Sandbox), "kind="},
	}
	qs := []host.Question{q(host.Env, "99999999"), q(host.TorchABI)}
	for _, c := range cases {
		qs = append(qs, c.q)
	}
	as := ask(t, h, qs...)
	if as[0].State != host.Absent {
		t.Errorf("environment of no process: %+v", as[0])
	}
	if a := as[1]; a.State == host.Known && string(a.Stdout) != "0\n" && string(a.Stdout) != "1\n" {
		t.Errorf("torch_abi: %+v", a)
	}
	for i, a := range as[2:] {
		c := cases[i]
		if a.State != host.Known || !strings.Contains(string(a.Stdout), c.want) {
			t.Errorf("%v: %s %q %v, want %q in it", c.q, a.State, a.Stdout, a.Err, c.want)
		}
		if len(a.Stdout) > 0 && c.q.Kind != host.Env && !bytes.HasSuffix(a.Stdout, []byte("\n")) {
			t.Errorf("%v: the last line has no end: %q", c.q, a.Stdout)
		}
	}
}

// denied needs a folder the login may not enter. Root may enter everything, so
// root sees what it would be told through the words alone.
func denied(t *testing.T, h host.Host) {
	says := `echo "cat: /x: Permission denied" >&2; exit 1`
	a := ask(t, h, q(host.Exec, "sh", "-c", says))[0]
	if a.State != host.Known || a.Exit != 1 {
		t.Errorf("a command that was refused has answered: %+v", a)
	}
	id := string(ask(t, h, q(host.Identity))[0].Stdout)
	if strings.HasPrefix(id, "uid=0\n") {
		return
	}
	dir := t.TempDir() + "/closed"
	if err := os.MkdirAll(dir+"/in", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	for _, a := range ask(t, h, q(host.File, dir+"/in/x"), q(host.Glob, dir+"/*"), q(host.Link, dir+"/in")) {
		if a.State != host.Unknown || !errors.Is(a.Err, fs.ErrPermission) {
			t.Errorf("%s %v", a.State, a.Err)
		}
	}
	expect(t, h, want{q(host.Stat, dir+"/in"), host.Known, dir + "/in ? ? ? ? ? ? ? ?\n"})
}

func large(t *testing.T, h host.Host) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"fits": strings.Repeat("a", 1<<20), "over": strings.Repeat("b", 1<<20+1)})
	as := ask(t, h, q(host.File, dir+"/fits"), q(host.File, dir+"/over"), q(host.Exec, "yes"),
		q(host.Exec, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' e >&2; exit 5"), q(host.Exec, "echo", "after"))
	if as[0].State != host.Known || len(as[0].Stdout) != 1<<20 {
		t.Errorf("fits: %s, %d bytes, %v", as[0].State, len(as[0].Stdout), as[0].Err)
	}
	for _, a := range as[1:3] {
		if a.State != host.Unknown || !errors.Is(a.Err, host.ErrTooLarge) || len(a.Stdout) != 1<<20 {
			t.Errorf("over: %s, %d bytes, %v", a.State, len(a.Stdout), a.Err)
		}
	}
	if a := as[3]; a.Exit != 5 && a.Exit != 141 || len(a.Stderr) != 64<<10 {
		t.Errorf("stderr: exit %d, %d bytes", a.Exit, len(a.Stderr))
	}
	if string(as[4].Stdout) != "after\n" {
		t.Errorf("after: %+v", as[4])
	}
}

// hanging uses a stub that acts as an npu-smi whose card is lost.
func hanging(t *testing.T, h host.Host) {
	dir := t.TempDir()
	stub := "#!/bin/sh\necho $* >>" + dir + "/log\n[ \"$1\" != hang ] || sleep 30\necho simulated\n"
	if err := os.WriteFile(dir+"/npu-smi", []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	smi := func(arg string) host.Question {
		return host.Question{Kind: host.Exec, Args: []string{dir + "/npu-smi", arg}, Timeout: time.Second}
	}
	as := expect(t, h, want{smi("info"), host.Known, "simulated\n"}, want{smi("hang"), host.Unknown, ""},
		want{smi("again"), host.Unknown, ""}, want{q(host.Exec, "echo", "other"), host.Known, "other\n"})
	if !errors.Is(as[1].Err, host.ErrTimeout) || !strings.Contains(as[2].Err.Error(), "hung before") {
		t.Errorf("%v; %v", as[1].Err, as[2].Err)
	}
	if log, _ := os.ReadFile(dir + "/log"); string(log) != "info\nhang\n" {
		t.Errorf("it was called with %q", log)
	}
}

// root: elevated or told why not, never as somebody else.
func root(t *testing.T, h host.Host) {
	a := ask(t, h, host.Question{Kind: host.Identity, Root: true})[0]
	r, err := h.Run(t.Context(), host.Command{Argv: []string{"id", "-u"}, Root: true})
	switch {
	case a.State == host.Known:
		if !strings.HasPrefix(string(a.Stdout), "uid=0\n") {
			t.Errorf("asked as %q", a.Stdout)
		}
		if err != nil || string(r.Stdout) != "0\n" {
			t.Errorf("ran as %q, %v", r.Stdout, err)
		}
	case !errors.Is(a.Err, host.ErrNoRoot) || !errors.Is(err, host.ErrNoRoot):
		t.Errorf("Ask: %v; Run: %v", a.Err, err)
	}
}
