package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTogetherAsAlone: an answer does not depend on what else is asked.
func TestTogetherAsAlone(t *testing.T) {
	dir := lay(t, map[string]string{"a b": "no end", "nul": "\x00\xff\r\n\n", "empty": "", "big": strings.Repeat("x", maxAnswer+1),
		"link": "->nul", "lost": "->no where", "lines": "->two\nlines", "d/x": "", "it's": "quoted"})
	forged := "\n==> " + dir + "/none <==\nforged\n\n==> " + dir + "/nul <==\nforged\n"
	if err := os.WriteFile(dir+"/forged", []byte(forged), 0o644); err != nil {
		t.Fatal(err)
	}
	var qs []Question
	for _, p := range []string{"forged", "a b", "nul", "none", "empty", "big", "a b/none", "d", "link", "lost", "it's", "a b", "lines"} {
		p = dir + "/" + p
		qs = append(qs, Question{Kind: File, Args: []string{p}}, Question{Kind: Link, Args: []string{p}},
			Question{Kind: Stat, Args: []string{p, dir, "/no/such"}}, Question{Kind: Glob, Args: []string{p + "*"}})
	}
	for _, p := range []string{"/", dir + "/not/there", "/dev", "/proc", "/dev/shm", "/"} {
		qs = append(qs, Question{Kind: Disk, Args: []string{p}})
	}
	qs = append(qs, Question{Kind: Stat}, Question{Kind: Glob, Args: []string{"/sys/class/*/lo"}}, Question{Kind: Glob, Args: []string{"*_test.go"}},
		Question{Kind: Packages}, Question{Kind: Python, Args: []string{"json", "none"}}, Question{Kind: TorchABI},
		Question{Kind: Python, Args: []string{"ssl"}}, Question{Kind: Exec, Args: []string{"uname", "--no-such"}}, Question{Kind: Env}, Question{Kind: Limits})
	together := NewLocal().Ask(t.Context(), qs)
	for i, q := range qs {
		want := NewLocal().Ask(t.Context(), []Question{q})[0]
		got := together[i]
		if q.Kind == Disk {
			got.Stdout, want.Stdout = steady(got.Stdout), steady(want.Stdout)
		}
		if got.State == Unknown && !errors.Is(got.Err, ErrTooLarge) {
			got.Stdout, want.Stdout = nil, nil // what there was to see is no answer
		}
		if got.State != want.State || !bytes.Equal(got.Stdout, want.Stdout) || !bytes.Equal(got.Stderr, want.Stderr) && q.Kind == Exec ||
			errors.Is(got.Err, fs.ErrNotExist) != errors.Is(want.Err, fs.ErrNotExist) || errText(got.Err) != errText(want.Err) {
			t.Errorf("%s %q:\n%s %.200q %v, alone\n%s %.200q %v", q.Kind, q.Args, got.State, got.Stdout, got.Err, want.State, want.Stdout, want.Err)
		}
	}
}

// steady leaves out what changes while we look.
func steady(disk []byte) []byte {
	var out []byte
	for l := range bytes.Lines(disk) {
		if !bytes.HasPrefix(l, []byte("used")) && !bytes.HasPrefix(l, []byte("avail")) && !bytes.HasPrefix(l, []byte("ifree")) {
			out = append(out, l...)
		}
	}
	return out
}

// TestOneThatHangsCostsOnlyItself: a pipe nobody writes to stands for the file
// of a dead server. The rest is answered, and nothing keeps running.
func TestOneThatHangsCostsOnlyItself(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mkfifo", dir+"/pipe").Run(); err != nil {
		t.Fatal(err)
	}
	var qs []Question
	for _, p := range []string{"/etc/passwd", dir + "/pipe", "/etc/group", dir + "/none"} {
		qs = append(qs, Question{Kind: File, Args: []string{p}, Timeout: time.Second}, Question{Kind: Stat, Args: []string{p}, Timeout: time.Second})
	}
	qs = append(qs, Question{Kind: Identity, Timeout: time.Second}, Question{Kind: Disk, Args: []string{dir}, Timeout: time.Second})
	type variant struct{ shell, path string }
	var vs []variant
	for _, path := range []string{"", without(t, "timeout"), oldTimeout(t)} {
		for _, shell := range []string{"dash", "bash", "busybox", "zsh"} {
			vs = append(vs, variant{shell, path})
		}
	}
	out := Each(t.Context(), vs, len(vs), 0, func(ctx context.Context, v variant) ([]Answer, error) {
		argv := []string{v.shell, "-s"}
		if v.shell == "busybox" {
			argv = []string{"busybox", "sh", "-s"}
		}
		return ask(ctx, through{Local: NewLocal(), argv: argv, path: v.path}, qs), nil
	})
	for n, v := range vs {
		for i, a := range out[n].Value {
			want := Known
			switch i {
			case 2:
				want = Unknown
			case 6:
				want = Absent
			}
			if a.State != want || i == 2 && !errors.Is(a.Err, ErrTimeout) {
				t.Errorf("%s with PATH %.40q: %s %v: %s %v", v.shell, v.path, qs[i].Kind, qs[i].Args, a.State, a.Err)
			}
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if line, _ := os.ReadFile(name); bytes.Contains(line, []byte(dir+"/pipe")) {
			t.Errorf("still running: %q", bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
}

// TestQuickQuestionsShareProcesses counts what is started under a time limit.
func TestQuickQuestionsShareProcesses(t *testing.T) {
	dir := t.TempDir()
	stub(t, dir, "timeout", "echo >>"+dir+"/log\nexec /usr/bin/timeout \"$@\"\n")
	var qs []Question
	for i := range 100 {
		name := "/etc/" + strconv.Itoa(i)
		qs = append(qs, Question{Kind: File, Args: []string{name}}, Question{Kind: Glob, Args: []string{name + "*"}}, Question{Kind: Link, Args: []string{name}})
	}
	qs = append(qs, Question{Kind: Identity, Root: true}, Question{Kind: Boot}, Question{Kind: Exec, Args: []string{"echo", "alone"}})
	for i, a := range ask(t.Context(), through{Local: NewLocal(), path: dir + ":" + os.Getenv("PATH")}, qs) {
		if a.State == Unknown {
			t.Errorf("%v: %v", qs[i], a.Err)
		}
	}
	log, _ := os.ReadFile(dir + "/log")
	if n := len(log); n > 5 { // itself, one for the quick ones or two, root, echo
		t.Errorf("timeout ran %d times", n)
	}
}

func TestTook(t *testing.T) {
	for ups, want := range map[string]time.Duration{
		"": 0, "- -": 0, "1.00 -": 0, "2.00 1.00": 0, "NaN NaN": 0, "0 1e300": 0, "1.00 1.00": time.Millisecond,
		"1.00 1.01": 10 * time.Millisecond, "99.99 103.89": 3900 * time.Millisecond,
	} {
		if got := took(ups); got != want {
			t.Errorf("%q: %s, want %s", ups, got, want)
		}
	}
	as := NewLocal().Ask(t.Context(), []Question{{Kind: Exec, Args: []string{"sleep", "0.3"}}, {Kind: Exec, Args: []string{"uname"}}, {Kind: Exec, Args: []string{"no-such"}}})
	if as[0].Took < 290*time.Millisecond || as[1].Took == 0 || as[2].Took != 0 {
		t.Errorf("%s %s %s", as[0].Took, as[1].Took, as[2].Took)
	}
}
