package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const fixtureDir = "../../testdata/cases/hosts"

func fixture(t testing.TB, name string) *Description {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixtureDir, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := LoadDescription(name+".yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fixtureNames(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtureDir, "*.yaml"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d fixtures, want 14 or more: %v", len(files), err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return files
}

func describe(t testing.TB, text string) Host {
	t.Helper()
	d, err := LoadDescription("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Replay("test.yaml", d)
}

func askOne(t testing.TB, h Host, q Question) Answer {
	t.Helper()
	answers := h.Ask(context.Background(), []Question{q})
	if len(answers) != 1 {
		t.Fatalf("%d answers to one question", len(answers))
	}
	return answers[0]
}

func TestEveryFixtureAnswersItsOwnData(t *testing.T) {
	for _, name := range fixtureNames(t) {
		t.Run(name, func(t *testing.T) {
			d := fixture(t, name)
			h := Replay(name, d)
			if d.World != Closed || d.ID != name || len(d.Verdict.Checks) < 50 {
				t.Errorf("world %s, id %s, %d checks", d.World, d.ID, len(d.Verdict.Checks))
			}
			for p, content := range d.Files {
				if a := askOne(t, h, Question{Kind: File, Args: []string{p}}); a.State != Known || string(a.Stdout) != content {
					t.Errorf("%s: %s %q", p, a.State, a.Stdout)
				}
			}
			for line, out := range d.Commands {
				words, _ := shellWords(line)
				q := Question{Kind: Exec, Args: words, Timeout: time.Hour}
				if words[0] == "sudo" && words[2] != "true" {
					q.Root, q.Args = true, words[2:]
					if q.Args[0] == "env" {
						q.Env, q.Args = q.Args[1:2], q.Args[2:]
					}
				}
				if a := askOne(t, h, q); a.State != Known || string(a.Stdout) != out.Stdout || a.Exit != out.Exit || string(a.Stderr) != out.Stderr {
					t.Errorf("%s: %s %v", line, a.State, a.Err)
				}
			}
			for _, kind := range []Kind{Identity, Limits, Env, Nodes, PCI, Packages, Python, Hostname, Ports, Shells} {
				if a := askOne(t, h, Question{Kind: kind}); a.State != Known {
					t.Errorf("%s: %s %v", kind, a.State, a.Err)
				}
			}
		})
	}
}

func TestReplayOfAFixture(t *testing.T) {
	healthy := Replay("h", fixture(t, "openeuler2203-910b3-healthy"))
	ipro := Replay("i", fixture(t, "ubuntu2004-300ipro-310p3"))
	cloud := Replay("c", fixture(t, "cloud-notebook-910b"))
	bare := Replay("b", fixture(t, "ubuntu2204-a2-no-driver"))
	lib := []string{"LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64/driver:/usr/local/Ascend/driver/lib64/common"}
	for _, c := range []struct {
		name  string
		h     Host
		q     Question
		state State
		holds string
		exit  int
	}{
		{"disk of a path below a mount", healthy, Question{Kind: Disk, Args: []string{"/home/user/models"}}, Known, "mount=/home\n", 0},
		{"disk of the root", healthy, Question{Kind: Disk, Args: []string{"/var/log"}}, Known, "avail_kb=1630208000\ninodes=115200000\nifree=107136000\nmount=/\noptions=rw\n", 0},
		{"read-only mount", cloud, Question{Kind: Disk, Args: []string{"/usr/local/Ascend/driver/lib64"}}, Known, "options=ro\n", 0},
		{"pci from files", healthy, Question{Kind: PCI}, Known, "0000:01:00.0 vendor=0x19e5 device=0xd802 class=0x120000 subsystem_vendor=0x19e5 subsystem_device=0x3003 numa_node=4 current_link_width=16 max_link_width=16 current_link_speed=16.0_GT/s_PCIe max_link_speed=16.0_GT/s_PCIe\n", 0},
		{"nodes with ids of the accounts", healthy, Question{Kind: Nodes}, Known, "/dev/davinci0 0660 HwHiAiUser HwHiAiUser 1000 1000 0 0\n", 0},
		{"nodes with bare ids", cloud, Question{Kind: Nodes}, Known, "/dev/davinci6 0660 1000 1000 1000 1000 0 0\n", 0},
		{"no nodes", bare, Question{Kind: Nodes}, Known, "", 0},
		{"tools that are there", bare, Question{Kind: Tools, Args: []string{"bash", "gcc", "never-heard-of"}}, Known, "bash /usr/bin/bash\n", 0},
		{"a tool where its file is", healthy, Question{Kind: Tools, Args: []string{"npu-smi", "lspci"}}, Known, "npu-smi /usr/local/bin/npu-smi\nlspci /usr/sbin/lspci\n", 0},
		{"link", healthy, Question{Kind: Link, Args: []string{"/usr/local/Ascend/ascend-toolkit/latest/opp"}}, Known, "../8.1.RC1/opp\n", 0},
		{"file is no link", healthy, Question{Kind: Link, Args: []string{"/etc/passwd"}}, Absent, "", 0},
		{"glob through links", healthy, Question{Kind: Glob, Args: []string{"/usr/local/Ascend/ascend-toolkit/latest/*/version.info"}}, Known, "latest/compiler/version.info\n", 0},
		{"glob without a match", healthy, Question{Kind: Glob, Args: []string{"/dev/vdavinci*"}}, Known, "", 0},
		{"file through a link", healthy, Question{Kind: File, Args: []string{"/usr/local/Ascend/ascend-toolkit/latest/runtime/version.info"}}, Known, "Version=7.7.0.1.238\n", 0},
		{"file that is not listed", healthy, Question{Kind: File, Args: []string{"/etc/shadow"}}, Absent, "", 0},
		{"folder is no file", healthy, Question{Kind: File, Args: []string{"/usr/local/Ascend"}}, Unknown, "", 0},
		{"stat of a folder with its own mode", cloud, Question{Kind: Stat, Args: []string{"/usr/local/Ascend", "/never"}}, Known, "/usr/local/Ascend d 0555 root root 0 0 4096 -\n", 0},
		{"stat of a program and a node", healthy, Question{Kind: Stat, Args: []string{"/usr/local/bin/npu-smi", "/dev/hisi_hdc"}}, Known, "/usr/local/bin/npu-smi f 0755 root root 0 0 6 -\n/dev/hisi_hdc c 0660 HwHiAiUser HwHiAiUser 1000 1000 0 -\n", 0},
		{"boot time", healthy, Question{Kind: Boot}, Known, "boot=1793589000\n", 0},
		{"boot time that nobody told", cloud, Question{Kind: Boot}, Unknown, "", 0},
		{"clock", healthy, Question{Kind: Clock}, Unknown, "", 0},
		{"abi", healthy, Question{Kind: TorchABI}, Known, "0\n", 0},
		{"abi without torch", bare, Question{Kind: TorchABI}, Absent, "", 0},
		{"reach", cloud, Question{Kind: Reach, Args: []string{"quay.io", "mirrors.huaweicloud.com", "other.example"}}, Known, "quay.io -\nmirrors.huaweicloud.com 200\n", 0},
		{"lock", bare, Question{Kind: Locks}, Known, "", 0},
		{"lock that nobody asked for", healthy, Question{Kind: Locks}, Unknown, "", 0},
		{"sandbox", cloud, Question{Kind: Sandbox}, Known, "kind=runc\nvirt=kubepods\ncontainer=kubepods\n", 0},
		{"sandbox of a machine", healthy, Question{Kind: Sandbox}, Known, "kind=none\nvirt=none\ncontainer=none\n", 0},
		{"shells", healthy, Question{Kind: Shells}, Known, "sh=/usr/bin/bash\nlogin=/bin/bash\n", 0},
		{"python", healthy, Question{Kind: Python, Args: []string{"sqlite3", "bz2"}}, Known, "version=3.10.17\npath=/usr/bin/python3\nsqlite3=true\n", 0},
		{"packages", healthy, Question{Kind: Packages}, Known, "torch-npu 2.5.1\n", 0},
		{"env of the login", healthy, Question{Kind: Env}, Known, "ATB_HOME_PATH=/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_0\x00", 0},
		{"env of a process", healthy, Question{Kind: Env, Args: []string{"4711"}}, Unknown, "", 0},
		{"command with a folder", healthy, Question{Kind: Exec, Args: []string{"/usr/local/bin/npu-smi", "info", "-m"}}, Known, "Ascend 910B3", 0},
		{"command as root by root", healthy, Question{Kind: Exec, Args: []string{"dmesg"}, Root: true}, Known, "devmm_init", 0},
		{"command that is not there", bare, Question{Kind: Exec, Args: []string{"npu-smi", "info"}}, Absent, "", 0},
		{"tool that is there, asked something else", healthy, Question{Kind: Exec, Args: []string{"npu-smi", "info", "-t", "power", "-i", "0"}}, Unknown, "", 0},
		{"npu-smi as the user", ipro, Question{Kind: Exec, Args: []string{"npu-smi", "info"}}, Known, "", 187},
		{"npu-smi as root", ipro, Question{Kind: Exec, Args: []string{"npu-smi", "info"}, Root: true}, Known, "", 127},
		{"npu-smi as root with the library path", ipro, Question{Kind: Exec, Args: []string{"npu-smi", "info"}, Root: true, Env: lib}, Known, "310P3", 0},
		{"another library path", ipro, Question{Kind: Exec, Args: []string{"npu-smi", "info"}, Root: true, Env: []string{"LD_LIBRARY_PATH=/x"}}, Known, "310P3", 0},
		{"root without sudo", cloud, Question{Kind: Exec, Args: []string{"dmesg"}, Root: true}, Unknown, "", 0},
		{"hostname", healthy, Question{Kind: Hostname}, Known, "name=npu-01\nresolves=192.0.2.31\n", 0},
		{"limits without core", Replay("a", fixture(t, "a3-16die-cann85")), Question{Kind: Limits}, Known, "nofile=1048576\nmemlock_kb=unlimited\n", 0},
		{"ports", cloud, Question{Kind: Ports}, Known, "8888 - -\n", 0},
	} {
		a := askOne(t, c.h, c.q)
		if a.State != c.state || !strings.Contains(string(a.Stdout), c.holds) || c.holds == "" && len(a.Stdout) > 0 && c.q.Kind != Exec || a.Exit != c.exit {
			t.Errorf("%s: %s %v exit %d\n%s", c.name, a.State, a.Err, a.Exit, a.Stdout)
		}
		if a.State == Unknown && a.Err == nil {
			t.Errorf("%s: unknown without a reason", c.name)
		}
	}
}

func TestWorldsDifferInWhatSilenceMeans(t *testing.T) {
	const text = `world: WORLD
facts: {tools_present: [sh], tools_absent: [gcc], mounts: [{path: /, total_kb: 1}], disks: {/data: {path: /data, total_kb: 5}}}
files: {/etc/a: "x\n"}
commands: {uname -m: {stdout: "x86_64\n", exit: 0}}
absent: [file /etc/b, command npu-smi]
unknown: {file /etc/c: "/etc/c: permission denied", root command dmesg: no elevated rights}
`
	for _, c := range []struct {
		q            Question
		closed, open State
	}{
		{Question{Kind: File, Args: []string{"/etc/a"}}, Known, Known},
		{Question{Kind: File, Args: []string{"/etc/b"}}, Absent, Absent},
		{Question{Kind: File, Args: []string{"/etc/c"}}, Unknown, Unknown},
		{Question{Kind: File, Args: []string{"/etc/d"}}, Absent, Unknown},
		{Question{Kind: Link, Args: []string{"/etc/d"}}, Absent, Unknown},
		{Question{Kind: Glob, Args: []string{"/etc/*"}}, Known, Unknown},
		{Question{Kind: Stat, Args: []string{"/etc/d"}}, Known, Unknown},
		{Question{Kind: Exec, Args: []string{"npu-smi", "info"}}, Absent, Absent},
		{Question{Kind: Exec, Args: []string{"hccn_tool"}}, Absent, Unknown},
		{Question{Kind: Exec, Args: []string{"dmesg"}, Root: true}, Unknown, Unknown},
		{Question{Kind: Tools, Args: []string{"sh", "gcc"}}, Known, Known},
		{Question{Kind: Tools, Args: []string{"sh", "make"}}, Known, Unknown},
		{Question{Kind: Disk, Args: []string{"/data"}}, Known, Known},
		{Question{Kind: Disk, Args: []string{"/data/x"}}, Known, Unknown},
		{Question{Kind: Identity}, Unknown, Unknown},
		{Question{Kind: "of next year"}, Unknown, Unknown},
	} {
		for world, want := range map[World]State{Closed: c.closed, Open: c.open} {
			a := askOne(t, describe(t, strings.Replace(text, "WORLD", string(world), 1)), c.q)
			if a.State != want {
				t.Errorf("%s, %s: %s (%v), want %s", questionLine(c.q), world, a.State, a.Err, want)
			}
		}
	}
	a := askOne(t, describe(t, strings.Replace(text, "WORLD", "open", 1)), Question{Kind: Exec, Args: []string{"dmesg"}, Root: true})
	if !errors.Is(a.Err, ErrNoRoot) {
		t.Errorf("the reason lost its meaning: %v", a.Err)
	}
}

func TestReplayKeepsTimeLimits(t *testing.T) {
	h := describe(t, `world: closed
facts: {tools_present: [npu-smi]}
commands:
  npu-smi info: {stdout: "late\n", wall_ms: 20000}
  npu-smi info -m: {stdout: "map\n"}
  slow: {wall_ms: 15000}
  killed: {exit: 137}
`)
	q := func(d time.Duration, argv ...string) Question { return Question{Kind: Exec, Args: argv, Timeout: d} }
	got := h.Ask(context.Background(), []Question{q(0, "slow"), q(time.Second, "slow"), q(0, "killed"), q(30*time.Second, "npu-smi", "info"), q(0, "npu-smi", "info"), q(0, "npu-smi", "info", "-m")})
	for i, want := range []error{nil, ErrTimeout, ErrTimeout, nil, ErrTimeout, errHung} {
		if !errors.Is(got[i].Err, want) || (want == nil) != (got[i].State == Known) {
			t.Errorf("question %d: %s %v, want %v", i, got[i].State, got[i].Err, want)
		}
	}
}

func TestReplayRunsReadsAndRefusesToChange(t *testing.T) {
	h := Replay("x.yaml", fixture(t, "ubuntu2004-300ipro-310p3"))
	ctx := context.Background()
	if h.String() != "replay:x.yaml" {
		t.Errorf("%s", h)
	}
	r, err := h.Run(ctx, Command{Argv: []string{"npu-smi", "info"}})
	if err != nil || r.Exit != 187 {
		t.Errorf("a command that said no is a result: %v exit %d", err, r.Exit)
	}
	var out strings.Builder
	if r, err = h.Run(ctx, Command{Argv: []string{"uname", "-m"}, Stdout: &out}); err != nil || out.String() != "x86_64\n" || r.Stdout != nil {
		t.Errorf("%v %q %q", err, out.String(), r.Stdout)
	}
	if _, err = h.Run(ctx, Command{Argv: []string{"hccn_tool"}}); !errors.Is(err, ErrNoCommand) {
		t.Errorf("no such command: %v", err)
	}
	if _, err = h.Run(ctx, Command{Argv: []string{"npu-smi", "set"}}); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("a tool that is there: %v", err)
	}
	if _, err = h.ReadFile(ctx, "/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	if data, err := h.ReadFile(ctx, "/etc/os-release"); err != nil || !strings.Contains(string(data), "Ubuntu") {
		t.Errorf("%v %q", err, data)
	}
	if err = h.WriteFile(ctx, "/tmp/x", nil, 0o600); !errors.Is(err, ErrReadOnly) {
		t.Errorf("write: %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if a := h.Ask(stopped, []Question{{Kind: Identity}})[0]; a.State != Unknown || !errors.Is(a.Err, context.Canceled) {
		t.Errorf("cancelled: %+v", a)
	}
	if _, err = h.Run(stopped, Command{Argv: []string{"uname", "-m"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDescriptionsAreReadStrictly(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "# nothing\n", "d.yaml:1: the file is empty"},
		{"world", "world: half\n", `d.yaml:1: world: want closed or open, got "half"`},
		{"no world", "files: {}\n", "world: want closed or open"},
		{"unknown key", "world: open\nfacts:\n  gilbc: '2.28'\n", "d.yaml:3: unknown key facts.gilbc, did you mean glibc"},
		{"unknown key of a node", "world: open\nnodes:\n  /dev/davinci0: {type: c, mod: '0660'}\n", "d.yaml:3: unknown key nodes./dev/davinci0.mod, did you mean mode"},
		{"kind", "world: open\nfacts: {page_size: big}\n", `d.yaml:2: facts.page_size: want a whole number, got "big"`},
		{"mapping", "world: open\nfiles: [a]\n", "d.yaml:2: files: want a mapping, got a list"},
		{"half a number", "world: open\nfacts: {page_size: 1.5}\n", "want a whole number"},
		{"no value", "world: open\nfiles:\n  /etc/a:\n", "d.yaml:3: files./etc/a has no value"},
		{"relative path", "world: open\nfiles:\n  etc/a: x\n", `d.yaml:3: files: want an absolute path, got "etc/a"`},
		{"mode", "world: open\nstat: {/a: {mode: '0888'}}\n", "want octal digits"},
		{"exit", "world: open\ncommands: {x: {exit: 300}}\n", "want exit 0 to 255"},
		{"quote", "world: open\ncommands: {\"x 'y\": {exit: 0}}\n", "a quote is not closed"},
		{"time", "world: open\nfacts: {boot_time: yesterday}\n", "want a time such as"},
		{"base64", "world: open\nanswers: {clock: {stdout_base64: '*', exit: 0}}\n", "want base64"},
		{"anchor", "world: &a open\nid: *a\n", "anchors and aliases are not accepted"},
		{"tag", "world: !!binary open\n", "tags are not accepted"},
		{"twice", "world: open\nworld: open\n", "key world stands twice, first on line 1"},
		{"two documents", "world: open\n---\nworld: open\n", "d.yaml:2: a second document begins"},
		{"not YAML", "world: [open\n", "not YAML"},
		{"not UTF-8", "world: open\nid: \xff\n", "d.yaml:2: not UTF-8"},
		{"deep", "world: open\ntitle: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "\n", "nested deeper"},
		{"long", "world: open\n# " + strings.Repeat(",", maxMarks+1), "lines and commas"},
		{"large", "world: open\n# " + strings.Repeat("x", maxDescription), "is over"},
	} {
		_, err := LoadDescription("d.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestShellWords(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  a  b\t c\n", []string{"a", "b", "c"}},
		{`a 'b c' "d 'e'" f\ g ''`, []string{"a", "b c", "d 'e'", "f g", ""}},
		{`"a\"b" 'it'\''s' "\n"`, []string{`a"b`, "it's", `\n`}},
	} {
		if got, ok := shellWords(c.line); !ok || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q %v", c.line, got, ok)
		}
	}
	for _, open := range []string{"'a", `"a`, `a\`} {
		if _, ok := shellWords(open); ok {
			t.Errorf("%q: an open quote was not seen", open)
		}
	}
}

func TestTreeFollowsLinksAndSeesCircles(t *testing.T) {
	h := describe(t, `world: closed
files: {/a/b/f: "1\n", /a/.hidden: "2\n", /z: "3\n"}
links: {/l: a, /m: /l/b, /a/up: ../z, /c1: c2, /c2: c1, /dead: nowhere}
`)
	for _, c := range []struct{ path, want string }{
		{"/l/b/f", "1\n"}, {"/m/f", "1\n"}, {"/a/up", "3\n"}, {"/m/../.hidden", "2\n"}, {"/c1", ""}, {"/dead", ""},
	} {
		a := askOne(t, h, Question{Kind: File, Args: []string{c.path}})
		if string(a.Stdout) != c.want || (a.State == Known) != (c.want != "") {
			t.Errorf("%s: %s %q", c.path, a.State, a.Stdout)
		}
	}
	for _, c := range []struct{ pattern, want string }{
		{"/l/*", "/l/b\n/l/up\n"}, {"/l/.h*", "/l/.hidden\n"}, {"/*/b/f", "/a/b/f\n/l/b/f\n"}, {"/[!a-k]", "/l\n/m\n/z\n"}, {"/d*", "/dead\n"}, {"/a/b/f", "/a/b/f\n"}, {"/x*", ""}, {"/[", ""},
	} {
		if a := askOne(t, h, Question{Kind: Glob, Args: []string{c.pattern}}); string(a.Stdout) != c.want {
			t.Errorf("%s: %q, want %q", c.pattern, a.Stdout, c.want)
		}
	}
}

func FuzzDescription(f *testing.F) {
	f.Add([]byte("world: open\nfiles: {/etc/a: \"x\\n\"}\nabsent: [file /b]\n"))
	f.Add([]byte("world: closed\nfacts:\n  listening: [22, {port: 80, pid: 1, command: x}]\n  boot_time: 17\nlinks: {/a: b, /b: a}\n"))
	f.Add([]byte("world: closed\ncommands:\n  sudo -n env A=b /x/y 'z': {stdout: |\n      a\n    , exit: 3}\n"))
	f.Add([]byte("world: closed\nverdict: {checks: [{id: a, status: [pass, warn]}]}\nstat: {/a: {type: l, mtime: 5}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := LoadDescription("fuzz.yaml", data)
		if err != nil {
			return
		}
		h := Replay("fuzz", d)
		for _, a := range h.Ask(context.Background(), everyKind()) {
			if a.State != Known && a.State != Absent && (a.State != Unknown || a.Err == nil) {
				t.Fatalf("%+v", a)
			}
		}
	})
}

// everyKind asks one question of each kind, and some that cannot be asked.
func everyKind() []Question {
	var qs []Question
	for _, k := range []Kind{File, Glob, Stat, Link, Exec, Disk, Identity, Limits, Tools, Env, Nodes, PCI, Packages, Python,
		Hostname, Clock, Boot, Ports, Locks, Shells, Procs, Reach, Sandbox, TorchABI, ""} {
		qs = append(qs, Question{Kind: k}, Question{Kind: k, Args: []string{"/a"}}, Question{Kind: k, Args: []string{"a/*"}, Root: true})
	}
	return qs
}
