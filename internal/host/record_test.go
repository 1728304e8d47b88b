package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// supersetOf asks everything a description has a value for, and much more.
func supersetOf(d *Description) []Question {
	var qs []Question
	add := func(k Kind, args ...string) { qs = append(qs, Question{Kind: k, Args: args}) }
	var paths []string
	for p := range d.Files {
		paths = append(paths, p)
		add(File, p)
	}
	for p := range d.Links {
		paths = append(paths, p)
		add(Link, p)
	}
	paths = slices.AppendSeq(paths, maps.Keys(d.Nodes))
	paths = slices.AppendSeq(paths, maps.Keys(d.Stat))
	add(Stat, append(paths, "/never/there")...)
	for _, p := range []string{"/", "/usr/local/Ascend", "/never/there", "/dev/shm/x"} {
		add(Stat, p)
		add(Disk, p)
		add(File, p)
	}
	for _, p := range []string{"/usr/local/Ascend/*", "/usr/local/Ascend/*/version.info", "/usr/local/Ascend/ascend-toolkit/latest/*", "/dev/davinci*", "/never/*"} {
		add(Glob, p)
	}
	for line := range d.Commands {
		words, _ := shellWords(line)
		if words[0] == "sudo" && words[2] != "true" {
			c, _ := newStoredCommand(words, Output{})
			qs = append(qs, Question{Kind: Exec, Args: c.argv, Env: c.env, Root: true})
			continue
		}
		add(Exec, words...)
		qs = append(qs, Question{Kind: Exec, Args: words, Root: true})
	}
	add(Exec, "never-heard-of", "-x")
	add(Exec, "npu-smi", "info", "-t", "never")
	add(Tools, append(slices.Concat(d.Facts.ToolsPresent, d.Facts.ToolsAbsent), "never-heard-of")...)
	add(Tools, "bash", "gcc")
	add(Python, "sqlite3")
	add(Reach, "quay.io", "mirrors.huaweicloud.com", "never.example")
	for _, k := range []Kind{Identity, Limits, Env, Nodes, PCI, Packages, Hostname, Clock, Boot, Ports, Locks, Shells, Sandbox, TorchABI} {
		add(k)
	}
	add(Env, "1")
	add(Procs, "1", "2")
	qs = append(qs, Question{Kind: File, Args: []string{"/etc/os-release"}, Root: true})
	return qs
}

func recordAll(t testing.TB, h Host, qs []Question, o RecordOptions) (*Recorder, []Answer, *Description) {
	t.Helper()
	r := Record(h)
	answers := r.Ask(context.Background(), qs)
	data, err := r.YAML(o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := LoadDescription("recording.yaml", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return r, answers, d
}

// samePlay replays the questions, in the given order and one by one.
func samePlay(t testing.TB, d *Description, qs []Question, want []Answer) {
	t.Helper()
	h := Replay("recording.yaml", d)
	for i, got := range h.Ask(context.Background(), qs) {
		if !sameAnswer(qs[i], want[i], got) {
			t.Errorf("%s:\n%s %v exit %d %q\nwant\n%s %v exit %d %q", questionLine(qs[i]), got.State, got.Err, got.Exit, got.Stdout, want[i].State, want[i].Err, want[i].Exit, want[i].Stdout)
		}
	}
}

func TestRecordingOfEveryFixtureReplaysToEqualAnswers(t *testing.T) {
	for _, name := range fixtureNames(t) {
		t.Run(name, func(t *testing.T) {
			d := fixture(t, name)
			qs := supersetOf(d)
			_, answers, back := recordAll(t, Replay(name, d), qs, RecordOptions{})
			samePlay(t, back, qs, answers)
			if back.World != Open || len(back.Answers) > 0 {
				t.Errorf("world %s, %d answers beside the sections: %v", back.World, len(back.Answers), slices.Sorted(maps.Keys(back.Answers)))
			}
			if a := askOne(t, Replay("r", back), Question{Kind: File, Args: []string{"/etc/asked-by-nobody"}}); !errors.Is(a.Err, ErrNotRecorded) {
				t.Errorf("not asked then: %s %v", a.State, a.Err)
			}
			// A recording of the recording is the same recording.
			again, _, twice := recordAll(t, Replay(name, back), qs, RecordOptions{})
			samePlay(t, twice, qs, answers)
			if again == nil || len(twice.Files) != len(back.Files) || len(twice.Commands) != len(back.Commands) {
				t.Error("a recording of a recording differs")
			}
		})
	}
}

func TestMaskedRecordingOfEveryFixtureHoldsTheSameFacts(t *testing.T) {
	for _, name := range fixtureNames(t) {
		t.Run(name, func(t *testing.T) {
			d := fixture(t, name)
			_, _, back := recordAll(t, Replay(name, d), supersetOf(d), RecordOptions{Masks: newMasks([]byte("a key of the test")), Tool: "ascendctl test", Now: time.Unix(1_800_000_000, 0)})
			if len(back.Files) != len(d.Files) || len(back.Links) != len(d.Links) {
				t.Errorf("%d files of %d, %d links of %d", len(back.Files), len(d.Files), len(back.Links), len(d.Links))
			}
			for p, content := range d.Files {
				if strings.Contains(p, "version") && back.Files[p] != content {
					t.Errorf("a version was masked in %s:\n%s\n%s", p, content, back.Files[p])
				}
			}
			if !maps.Equal(back.Facts.PythonPackages, d.Facts.PythonPackages) {
				t.Error("package versions were masked")
			}
			for i, a := range d.Facts.Hostname.Resolves {
				b := back.Facts.Hostname.Resolves[i]
				if kept := strings.HasPrefix(a, "127."); kept != (a == b) || !strings.HasPrefix(b, a[:4]) {
					t.Errorf("address %s became %s", a, b)
				}
			}
			if back.Facts.Hostname.Name == d.Facts.Hostname.Name && distinct(back.Facts.Hostname.Name) {
				t.Errorf("host name %s is left", d.Facts.Hostname.Name)
			}
		})
	}
}

// answering is a host that gives each question the answer it is handed.
type answering struct {
	Host
	answers map[string]Answer
}

func (h answering) String() string { return "answering" }

func (h answering) Ask(_ context.Context, qs []Question) []Answer {
	out := make([]Answer, len(qs))
	for i, q := range qs {
		out[i] = h.answers[questionLine(q)]
	}
	return out
}

func answers(list ...any) (answering, []Question) {
	h := answering{answers: map[string]Answer{}}
	var qs []Question
	for i := 0; i < len(list); i += 2 {
		q := list[i].(Question)
		qs = append(qs, q)
		switch a := list[i+1].(type) {
		case string:
			h.answers[questionLine(q)] = known(a)
		case error:
			h.answers[questionLine(q)] = unknown(a)
		case Answer:
			h.answers[questionLine(q)] = a
		}
	}
	return h, qs
}

func TestRecordingKeepsWhatNoSectionCanHold(t *testing.T) {
	file := func(p string) Question { return Question{Kind: File, Args: []string{p}} }
	h, qs := answers(
		file("/bin/x"), "\x7fELF\x00\xff\xfe\r\n",
		file("/proc/device-tree/compatible"), "hisilicon,a\x00hisilicon,b\x00",
		file("/odd"), "  leading\n\ttab\n\n# hash: 'quoted' \"twice\"\r\n \u00a0\u2028\u0085end",
		file("/empty"), "",
		file("/number"), "12",
		file("/closed"), errors.New("/closed: permission denied"),
		Question{Kind: File, Args: []string{"/closed"}, Root: true}, "as root\n",
		file("/twice"), "as the user\n",
		Question{Kind: File, Args: []string{"/twice"}, Root: true}, "as root\n",
		Question{Kind: Exec, Args: []string{"dmesg"}}, Answer{State: Known, Result: Result{Stderr: []byte("not permitted\n"), Exit: 1}},
		Question{Kind: Exec, Args: []string{"dmesg"}, Root: true}, Answer{State: Known, Result: Result{Stdout: []byte("[ 1.0] x\n")}},
		Question{Kind: Exec, Args: []string{"x", "a b", "$(c)", "it's"}, Env: []string{"K=v w"}}, Answer{State: Known, Result: Result{Stdout: []byte{0xff}, Exit: 3}},
		Question{Kind: Exec, Args: []string{"late"}}, ErrTimeout,
		Question{Kind: Exec, Args: []string{"gone", "a"}}, Answer{State: Absent},
		Question{Kind: Stat, Args: []string{"/a", "/hidden", "/b c"}}, "/a f 0644 root root 0 0 1 1700000000\n/hidden ? ? ? ? ? ? ? ?\n/b c d 2755 u g 5 6 7 8\n",
		Question{Kind: Stat, Args: []string{"/a"}}, "/a f 0644 root root 0 0 1 1700000000\n",
		Question{Kind: Nodes}, "",
		Question{Kind: PCI}, "",
		Question{Kind: Ports}, "22 811 sshd\n80 - -\n",
		Question{Kind: Locks}, "/var/lib/dpkg/lock 99 apt\n",
		Question{Kind: Limits}, "nofile=1024\nnew_limit=7\n",
		Question{Kind: Identity}, "uid=0\ngid=0\nuser=root\nhome=/root\ngroups=domain_users:5,root:0\n",
		Question{Kind: Packages}, "",
		Question{Kind: Procs, Args: []string{"7"}}, "7\t0\troot\t1700000000\t-\tpython3 -m x\n",
		Question{Kind: Env, Args: []string{"7"}}, "B=2\x00A=1\x00A=3\x00",
		Question{Kind: Env}, "B=2\x00A=1=1\x00",
		Question{Kind: Hostname}, "name=x\n",
		Question{Kind: Disk, Args: []string{"/x"}}, "total_kb=1\nused_kb=0\navail_kb=1\nmount=/with blank\n",
		Question{Kind: Clock}, "unix=1700000000.123456789\n",
		Question{Kind: Boot}, "boot=1700000000\n",
		Question{Kind: Sandbox}, "kind=none\ncontainer=none\n",
		Question{Kind: Python, Args: []string{"bz2"}}, "version=3.10.0\npath=/usr/bin/python3\nbz2=false\n",
		Question{Kind: Tools, Args: []string{"sh", "zsh"}}, "sh /bin/sh\n",
		Question{Kind: Reach, Args: []string{"a.example", "b.example"}}, "a.example 301\nb.example -\n",
		Question{Kind: TorchABI}, "1\n",
	)
	r, want, d := recordAll(t, h, qs, RecordOptions{})
	samePlay(t, d, qs, want)
	if d.Facts.Identity == nil || d.Login.User != "root" || d.Facts.Ulimits == nil || len(d.Commands) < 2 {
		t.Errorf("the sections are empty: %+v", d)
	}
	if len(r.order) != len(qs) {
		t.Errorf("%d kept of %d", len(r.order), len(qs))
	}
}

func TestRecordingKeepsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.OneOf(rapid.StringOf(rapid.RuneFrom([]rune(" \t\n\r:#-'\"|>&*![]{}%@`,?~=<01ay\u00e9\u4e2d\u2028\ufeff\x00\x07"))), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		})).Draw(t, "content")
		q := Question{Kind: File, Args: []string{"/f"}}
		x := Question{Kind: Exec, Args: []string{"c", content}}
		h := answering{answers: map[string]Answer{questionLine(q): known(content), questionLine(x): {State: Known, Result: Result{Stdout: []byte(content), Stderr: []byte("e"), Exit: 1}}}}
		qs := []Question{q, x}
		r := Record(h)
		want := r.Ask(context.Background(), qs)
		data, err := r.YAML(RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := LoadDescription("r", data)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range Replay("r", d).Ask(context.Background(), qs) {
			// What looks like a secret is masked, in this alphabet nothing does.
			if !sameAnswer(qs[i], want[i], got) {
				t.Fatalf("%q came back as %q (%v)\n%s", want[i].Stdout, got.Stdout, got.Err, data)
			}
		}
	})
}

// Without its NUL this would be a letter, with it it is no text.
func TestRecordingOfABrokenLetter(t *testing.T) {
	q := Question{Kind: File, Args: []string{"/f"}}
	r := Record(answering{answers: map[string]Answer{questionLine(q): known("\xc3\x00\x80")}})
	want := r.Ask(context.Background(), []Question{q})
	data, err := r.YAML(RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := LoadDescription("r", data)
	if err != nil {
		t.Fatal(err)
	}
	if got := Replay("r", d).Ask(context.Background(), []Question{q}); !sameAnswer(q, want[0], got[0]) {
		t.Errorf("came back as %q", got[0].Stdout)
	}
}

func TestRecorderKeepsRunsAndReads(t *testing.T) {
	r := Record(Replay("h", fixture(t, "openeuler2203-910b3-healthy")))
	ctx := context.Background()
	if out, err := r.Run(ctx, Command{Argv: []string{"uname", "-m"}}); err != nil || string(out.Stdout) != "aarch64\n" {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx, Command{Argv: []string{"never"}}); !errors.Is(err, ErrNoCommand) {
		t.Error(err)
	}
	if _, err := r.Run(ctx, Command{Argv: []string{"uname", "-r"}, Stdin: strings.NewReader("password")}); err != nil {
		t.Error(err)
	}
	if _, err := r.ReadFile(ctx, "/etc/passwd"); err != nil {
		t.Error(err)
	}
	if err := r.WriteFile(ctx, "/x", nil, 0); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	data, err := r.YAML(RecordOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := LoadDescription("r", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Commands) != 1 || len(d.Files) != 1 || !slices.Equal(d.Absent, []string{"command never"}) || bytes.Contains(data, []byte("password")) && !strings.Contains(d.Files["/etc/passwd"], "root") {
		t.Errorf("%s", data)
	}
	name := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := OpenReplay(name)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Run(ctx, Command{Argv: []string{"uname", "-m"}}); err != nil || string(out.Stdout) != "aarch64\n" {
		t.Error(err)
	}
	if _, err := OpenReplay(name + ".not"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
