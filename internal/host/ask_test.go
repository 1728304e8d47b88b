package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// through is this machine with another shell, another PATH, or something in
// the way of the stream.
type through struct {
	*Local
	argv     []string
	path     string
	banner   string
	password string
}

func (h through) sudoPassword(context.Context) string { return h.password }

func (h through) Run(ctx context.Context, c Command) (Result, error) {
	if h.argv != nil {
		c.Argv = h.argv
	}
	if h.path != "" {
		c.Env = append(c.Env, "PATH="+h.path)
	}
	if h.banner != "" {
		io.WriteString(c.Stdout, h.banner)
	}
	return h.Local.Run(ctx, c)
}

// questions are a few of everything the prelude can meet.
func questions(dir string) []Question {
	return []Question{
		{Kind: File, Args: []string{dir + "/npu-smi"}},
		{Kind: File, Args: []string{dir + "/none"}},
		{Kind: Exec, Args: []string{"printf", "%s", "a'b\"$x`\\\n\xff\r\n "}},
		{Kind: Exec, Args: []string{"sh", "-c", "printf 'o\\000ut'; printf 'err\n\ncr\r\n' >&2; exit 127"}},
		{Kind: Exec, Args: []string{"no-such-binary"}},
		{Kind: Exec, Args: []string{"asc_t", "9"}},
		{Kind: Exec, Args: []string{"cat"}},
		{Kind: Exec, Args: []string{"sleep", "30"}, Timeout: time.Second},
		{Kind: Exec, Args: []string{"sh", "-c", `echo "$A"`}, Env: []string{"A=b c"}},
		{Kind: Exec, Args: []string{dir + "/npu-smi"}, Timeout: time.Second},
		{Kind: Exec, Args: []string{"npu-smi", "info"}},
		{Kind: Identity, Root: true},
		{Kind: Glob, Args: []string{dir + "/npu*"}},
		{Kind: Stat, Args: []string{dir + "/npu-smi", dir + "/none"}},
		{Kind: Exec, Args: []string{"yes"}},
		{Kind: Env},
		{Kind: Clock},
	}
}

func stub(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestProgramRunsUnderEveryShell: with and without timeout(1), and with the
// timeout of an old busybox, whose syntax is another.
func TestProgramRunsUnderEveryShell(t *testing.T) {
	dir := t.TempDir()
	stub(t, dir, "npu-smi", "exec sleep 30\n") // simulates a lost card
	qs := questions(dir)
	whole := NewLocal().Ask(t.Context(), qs)
	checkAnswers(t, whole)
	type variant struct {
		shell []string
		how   string
		path  string
	}
	var vs []variant
	paths := map[string]string{"timeout": "", "no timeout": without(t, "timeout"), "old timeout": oldTimeout(t)}
	for _, shell := range [][]string{{"dash", "-s"}, {"bash", "-s"}, {"bash", "--posix", "-s"}, {"busybox", "sh", "-s"}, {"zsh", "-s"}, {"zsh", "--emulate", "sh", "-s"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			t.Fatalf("no %s; run: make deps", shell[0])
		}
		for how, path := range paths {
			vs = append(vs, variant{shell, how, path})
		}
	}
	out := Each(t.Context(), vs, len(vs), 0, func(ctx context.Context, v variant) ([]Answer, error) {
		return ask(ctx, through{Local: NewLocal(), argv: v.shell, path: v.path}, qs), nil
	})
	for n, v := range vs {
		t.Run(strings.Join(v.shell, " ")+", "+v.how, func(t *testing.T) {
			as := out[n].Value
			checkAnswers(t, as)
			for i := range as[:14] { // later ones may differ
				if as[i].State != whole[i].State || !bytes.Equal(as[i].Stdout, whole[i].Stdout) || as[i].State == Known && as[i].Exit != whole[i].Exit {
					t.Errorf("%v:\n%+v\nwant\n%+v", qs[i], as[i], whole[i])
				}
			}
		})
	}
}

func checkAnswers(t *testing.T, as []Answer) {
	t.Helper()
	for i, want := range []struct {
		state  State
		out    string
		stderr string
		err    error
	}{
		1: {Absent, "", "", nil}, 2: {Known, "a'b\"$x`\\\n\xff\r\n ", "", nil}, 3: {Known, "o\x00ut", "err\n\ncr\r", nil}, 4: {Absent, "", "", nil},
		5: {Absent, "", "", nil}, 6: {Known, "", "", nil}, 7: {Unknown, "", "", ErrTimeout}, 8: {Known, "b c\n", "", nil}, 9: {Unknown, "", "", ErrTimeout},
	} {
		if a := as[i]; i > 0 && (a.State != want.state || string(a.Stdout) != want.out || !errors.Is(a.Err, want.err) || want.stderr != "" && string(a.Stderr) != want.stderr) {
			t.Errorf("%d: %s %q %q %v, want %+v", i, a.State, a.Stdout, a.Stderr, a.Err, want)
		}
	}
	if as[3].Exit != 127 || as[10].State != Unknown || !strings.Contains(as[10].Err.Error(), "hung before") {
		t.Errorf("%+v; %+v", as[3], as[10])
	}
	if !errors.Is(as[14].Err, ErrTooLarge) || as[16].State != Known || !bytes.Contains(as[15].Stdout, []byte("PATH=")) || bytes.Contains(as[15].Stdout, []byte("LC_ALL=C\x00")) {
		t.Errorf("yes: %v; clock: %v; env: %q", as[14].Err, as[16].Err, as[15].Stdout)
	}
}

// without gives a PATH with everything but one tool. The sbin folders, which
// the program adds, do not have it.
func without(t *testing.T, tool string) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range []string{"/bin", "/usr/bin"} {
		names, _ := os.ReadDir(from)
		for _, n := range names {
			if n.Name() != tool {
				os.Symlink(filepath.Join(from, n.Name()), filepath.Join(dir, n.Name()))
			}
		}
	}
	return dir
}

// oldTimeout simulates busybox before 1.30: timeout [-t SECS] PROG.
func oldTimeout(t *testing.T) string {
	dir := t.TempDir()
	stub(t, dir, "timeout", "echo 'timeout: invalid option -- k' >&2; exit 1\n")
	return dir + ":/usr/bin:/bin"
}

// TestStreamCutAtEveryByte: an answer is whole or unknown, wherever the
// connection is lost, and whatever a banner says before.
func TestStreamCutAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	stub(t, dir, "npu-smi", "echo simulated; exit 187\n")
	qs := questions(dir)
	qs = append(qs[1:7:7], qs[8], qs[9], qs[13])
	const nonce = "NONCE"
	r, err := NewLocal().Run(t.Context(), Command{Argv: []string{"/bin/sh", "-s"}, Stdin: strings.NewReader(program(nonce, "", true, qs))})
	if err != nil {
		t.Fatal(err)
	}
	banner := "Welcome!\r\n*** no newline, a mark X S 0 ***"
	stream := append([]byte(banner), r.Stdout...)
	whole := parse(nonce, qs, stream, nil)
	for _, a := range whole {
		if a.State == Unknown {
			t.Fatalf("%+v", whole)
		}
	}
	lost := errors.New("lost")
	for n := range len(stream) + 1 {
		for i, a := range parse(nonce, qs, stream[:n], lost) {
			same := a.State == whole[i].State && a.Exit == whole[i].Exit && bytes.Equal(a.Stdout, whole[i].Stdout) && bytes.Equal(a.Stderr, whole[i].Stderr)
			if !same && (a.State != Unknown || a.Err != lost || len(a.Stdout) > 0) {
				t.Fatalf("cut at %d: answer %d is %+v, want %+v", n, i, a, whole[i])
			}
		}
	}
	if h := (through{Local: NewLocal(), banner: banner}); string(ask(t.Context(), h, qs)[1].Stdout) != string(whole[1].Stdout) {
		t.Error("a banner got in the way")
	}
}

// TestQuestionThatNeverComesBack: where the host cannot end it, we do.
func TestQuestionThatNeverComesBack(t *testing.T) {
	dir := t.TempDir()
	stub(t, dir, "timeout", `[ "$5" = true ] && exit; shift 3; exec "$@"`) // simulates a kill that does nothing
	h := through{Local: NewLocal(), path: dir + ":" + os.Getenv("PATH")}
	as := askWithin(t.Context(), h, []Question{
		{Kind: Exec, Args: []string{"echo", "before"}, Timeout: time.Second},
		{Kind: Exec, Args: []string{"sleep", "60"}, Timeout: time.Second},
		{Kind: Exec, Args: []string{"echo", "after"}, Timeout: time.Second},
	}, time.Second/2)
	if string(as[0].Stdout) != "before\n" || as[0].State != Known {
		t.Errorf("%+v", as[0])
	}
	if !errors.Is(as[1].Err, ErrTimeout) || as[2].State != Unknown || errors.Is(as[2].Err, ErrTimeout) {
		t.Errorf("%v; %v", as[1].Err, as[2].Err)
	}
}

// TestElevationIsDecidedOnce uses a simulated sudo, so it needs no rights.
func TestElevationIsDecidedOnce(t *testing.T) {
	const id = `[ "$1" = -u ] && echo 1000 || echo "uid=1000(me) gid=1000(me) groups=1000(me)"` + "\n"
	const run = `while [ "$1" != -- ] && [ "$1" != true ]; do shift; done; [ "$1" = true ] || shift; PATH=%:$PATH; AS_ROOT=yes; export AS_ROOT; exec "$@"` + "\n"
	for _, c := range []struct {
		name, sudo, password string
		out                  string // "" = ErrNoRoot with why
		why                  string
		calls                int
	}{
		{"without password", run, "", "yes\n", "", 2},
		{"refused", "echo 'sudo: a password is required' >&2; exit 1\n", "", "", "a password is required", 1},
		{"with password", `[ "$1" = -S ] || { echo 'sudo: a password is required' >&2; exit 1; }
read -r p; [ "$p" = "it's \$ecret" ] || { echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }` + "\n" + run, "it's $ecret", "yes\n", "", 3},
		{"wrong password", `[ "$1" = -S ] && { echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }; exit 1` + "\n", "no", "", "incorrect password", 2},
		{"no sudo", "", "", "", "no sudo", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := dir + ":" + without(t, "sudo")
			stub(t, dir, "id", id)
			if c.sudo != "" {
				stub(t, dir, "sudo", "echo call \"$@\" >>"+dir+"/log\n"+strings.ReplaceAll(c.sudo, "%", dir))
			}
			h := through{Local: NewLocal(), path: path, password: c.password}
			as := ask(t.Context(), h, []Question{
				{Kind: Exec, Args: []string{"sh", "-c", `cat; echo "$AS_ROOT"`}, Root: true}, // cat: the password is not for it
				{Kind: Exec, Args: []string{"sh", "-c", `echo "${AS_ROOT-no}"`}},
			})
			if c.out != "" && (as[0].State != Known || string(as[0].Stdout) != c.out) {
				t.Errorf("%s %q %q %v", as[0].State, as[0].Stdout, as[0].Stderr, as[0].Err)
			}
			if c.out == "" && (as[0].State != Unknown || !errors.Is(as[0].Err, ErrNoRoot) || !strings.Contains(as[0].Err.Error(), c.why)) {
				t.Errorf("%+v", as[0])
			}
			if string(as[1].Stdout) != "no\n" {
				t.Errorf("a plain question ran as %q", as[1].Stdout)
			}
			log, _ := os.ReadFile(dir + "/log")
			if n := strings.Count("\n"+string(log), "\ncall "); n != c.calls {
				t.Errorf("sudo ran %d times, want %d:\n%s", n, c.calls, log)
			}
			if c.password != "" && strings.Contains(string(log), c.password) {
				t.Errorf("the password stands in an argv")
			}
		})
	}
}

// TestWhatMayNotBeSeenIsUnknown asks as nobody when the tests run as root.
func TestWhatMayNotBeSeenIsUnknown(t *testing.T) {
	dir := t.TempDir() + "/closed"
	if err := os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/in", 0o700); err != nil {
		t.Fatal(err)
	}
	h := through{Local: NewLocal()}
	if os.Geteuid() == 0 {
		h.argv = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-s"}
	} else if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	as := ask(t.Context(), h, []Question{
		{Kind: File, Args: []string{dir + "/in/x"}},
		{Kind: Glob, Args: []string{dir + "/*"}},
		{Kind: Glob, Args: []string{dir + "/in/*"}},
		{Kind: Link, Args: []string{dir + "/in"}},
		{Kind: Env, Args: []string{"1"}},
		{Kind: Stat, Args: []string{dir + "/in", dir, "/no/such"}},
		{Kind: Exec, Args: []string{dir + "/in/tool"}},
	})
	for i, a := range as[:5] {
		if os.Geteuid() != 0 && i == 4 {
			continue // pid 1 may be ours in a container
		}
		if a.State != Unknown || !errors.Is(a.Err, fs.ErrPermission) {
			t.Errorf("%d: %s %q %v", i, a.State, a.Stdout, a.Err)
		}
	}
	if out := string(as[5].Stdout); !strings.Contains(out, dir+"/in ? ? ? ? ? ? ? ?\n") || !strings.Contains(out, dir+" d 0") || strings.Contains(out, "such") {
		t.Errorf("stat: %q %v", out, as[5].Err)
	}
	if as[6].State != Known || as[6].Exit != 126 { // it may be there: whoever ran it was refused
		t.Errorf("%+v", as[6])
	}
}

func TestVerdict(t *testing.T) {
	file, run := Question{Kind: File, Args: []string{"/x"}}, Question{Kind: Exec, Args: []string{"x"}}
	for _, c := range []struct {
		q            Question
		word, stderr string
		state        State
		why          string
	}{
		{file, "0", "", Known, ""},
		{file, "1", "head: cannot open '/x' for reading: No such file or directory", Absent, ""},
		{file, "1", "head: /x: No such file or directory", Absent, ""}, // busybox
		{file, "1", "head: cannot open '/x' for reading: Permission denied", Unknown, "Permission denied"},
		{file, "1", "head: error reading '/x': Input/output error", Unknown, "Input/output"},
		{file, "1", "", Unknown, "said nothing"},
		{file, "absent", "", Unknown, "no head"},
		{file, "124", "", Unknown, "in time"},
		{run, "absent", "", Absent, ""},
		{run, "126", "sh: x: Permission denied", Known, ""},
		{run, "127", "x: error while loading shared libraries: libc_sec.so", Known, ""},
		{run, "124", "", Unknown, "in time"},
		{run, "137", "Killed", Unknown, "in time"},
		{run, "143", "Terminated", Unknown, "in time"},
		{run, "noroot", "sudo: a password is required", Unknown, "password is required"},
		{run, "hung", "", Unknown, "hung before"},
		{run, "", "", Unknown, "ended the answer"},
		{run, "rubbish\x00", "", Unknown, "ended the answer"},
		{Question{Kind: Packages}, "absent", "", Absent, ""},
		{Question{Kind: Disk, Args: []string{"/"}}, "1", "df: /: Permission denied", Unknown, "Permission denied"},
		{Question{Kind: Ports}, "1", "cat: /proc/net/tcp: No such file or directory", Unknown, "No such file"}, // nobody looked: not "nobody listens"
	} {
		a := verdict(c.q, c.word, nil, []byte(c.stderr))
		if a.State != c.state || (a.Err == nil) != (c.why == "") || a.Err != nil && !strings.Contains(a.Err.Error(), c.why) {
			t.Errorf("%s %s %q: %s %v, want %s %q", c.q.Kind, c.word, c.stderr, a.State, a.Err, c.state, c.why)
		}
	}
}

// FuzzParse: no stream makes it panic, and no answer is believed without its
// end mark.
func FuzzParse(f *testing.F) {
	const n = "NONCE"
	for _, s := range []string{
		"", n, n + " S 0\nout\n" + n + " X\nerr\n" + n + " E 0\n", n + " S 0\n\n" + n + " X\n\n" + n + " E absent\n",
		"banner" + n + " S 1\n\n" + n + " X\n\n" + n + " E 124\n", n + " S 99\n\n" + n + " X\n\n" + n + " E 0\n",
		n + " S -1\n\n" + n + " X\n\n" + n + " E 0\n", n + " S 0\n" + n + " S 0\n", n + " S 2\n81a4\t0\t0\t1\t2\troot\troot\t/x\n" + n + " X\n\n" + n + " E 1\n",
	} {
		f.Add([]byte(s), uint8(0))
	}
	for i := range uint8(len(kinds())) {
		f.Add([]byte(n+" S 3\na\tb\tc 1 2\n"+n+" X\nx: Permission denied\n"+n+" E 0\n"), i)
		f.Add([]byte(n+" S 6\n==> "+salted(n)+"x <==\na\n==> "+salted(n)+"y <==\nb\n"+n+" X\n\n"+n+" E 0 1.0 2.0\n"+
			n+" S 7\n=a\n\n-\n\n0 2 0\nab1 0 99\n"+n+" X\nls: cannot access '/x': Permission denied\n"+n+" E 0\n"), i)
	}
	f.Fuzz(func(t *testing.T, out []byte, kind uint8) {
		qs := []Question{{Kind: File, Args: []string{"/x"}}, {Kind: Exec, Args: []string{"x"}}, {Kind: Stat, Args: []string{"/x"}}, {Kind: kinds()[int(kind)%len(kinds())], Args: []string{"/x"}}}
		qs = append(qs, Question{Kind: File, Args: []string{"/y"}}, Question{Kind: qs[3].Kind, Args: []string{"/y"}})
		as := parse(n, qs, out, nil)
		ends := 2 * bytes.Count(out, []byte("\n"+n+" E ")) // a joint section answers two here
		for i, a := range as {
			if a.State == "" || (a.State == Unknown) != (a.Err != nil) {
				t.Fatalf("answer %d: %+v", i, a)
			}
			if a.State != Unknown {
				ends--
			}
			if len(a.Stdout) > maxAnswer {
				t.Fatalf("answer %d: %d bytes", i, len(a.Stdout))
			}
		}
		if ends < 0 {
			t.Fatalf("more answers than end marks: %+v", as)
		}
	})
}

// kinds in an order that stays.
func kinds() []Kind {
	return []Kind{Disk, Identity, Limits, Tools, Env, Nodes, PCI, Packages, Python, Hostname, Clock, Boot, Ports, Locks, Shells, Procs, Reach, Sandbox, TorchABI, Glob, Link}
}

// BenchmarkAskLocal is one round trip of forty questions.
func BenchmarkAskLocal(b *testing.B) {
	var qs []Question
	for range 20 {
		qs = append(qs, Question{Kind: File, Args: []string{"/etc/passwd"}}, Question{Kind: Exec, Args: []string{"uname", "-r"}})
	}
	for b.Loop() {
		for _, a := range NewLocal().Ask(b.Context(), qs) {
			if a.State != Known {
				b.Fatal(cmp.Or(a.Err, errors.New("absent")))
			}
		}
	}
}
