package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/report"
)

var library = [2]string{"onnxruntime/capi/libonnxruntime.so.1.32.0", strings.Repeat("the library\n", 5000)}
var nodeLibrary = [2]string{"package/bin/napi-v6/linux/x64/libonnxruntime.so.1", "the library of npm"}

// problem wants err to be a problem with this exit.
func problem(t *testing.T, err error, exit report.Exit) *report.Problem {
	t.Helper()
	var p *report.Problem
	if !errors.As(err, &p) || p.Exit != exit {
		t.Fatalf("want a problem with exit %d, got %#v", exit, err)
	}
	for _, text := range []report.Text{p.What, p.Why, p.Do} {
		if (text.En == "") != (text.Zh == "") {
			t.Errorf("half a text: %#v", text)
		}
	}
	return p
}

// fetched wants the library of p in the cache of m, and nothing else there.
func fetched(t *testing.T, m *machine, p Package, text string) {
	t.Helper()
	file := fmt.Sprintf("onnxruntime/%s/amd64/libonnxruntime.so.%s", p.Version, p.Version)
	if left := m.left(); !slices.Equal(left, []string{file}) {
		t.Errorf("in the cache: %v", left)
	}
	data, err := os.ReadFile(filepath.Join(m.cache, file))
	if err != nil || string(data) != text {
		t.Errorf("library: %d bytes, %v", len(data), err)
	}
	if info, err := os.Stat(filepath.Join(m.cache, file)); err == nil && info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
}

const pipArgs = "download --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 --python-version 312 " +
	"--implementation cp --abi cp312 --dest . --require-hashes -r requirements.txt"

func TestPipBringsTheLibrary(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("pypi", library, [2]string{"onnxruntime/__init__.py", "x"})
	m.pip(`cat requirements.txt >> ` + m.log + `; env | grep -E '^(PIP_REQUIRE|TMPDIR)' | sed "s|$PWD|HERE|" | sort >> ` + m.log + `
touch "$TMPDIR/rest"; cp ` + file + ` .`)
	m.npm("exit 1")
	o := m.options(p)
	var notes []string
	o.Progress = func(note report.Text, done, total int64) {
		if done == 0 || done == total {
			notes = append(notes, fmt.Sprint(note.En, " ", done, "/", total))
		}
	}
	r, err := Fetch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fetched(t, m, p, library[1])
	want := Result{File: filepath.Join(m.cache, "onnxruntime/1.32.0/amd64/libonnxruntime.so.1.32.0"), Version: "1.32.0", Bytes: 60000,
		SHA256: sum(library[1]), Carrier: "pip 23.2.1", Command: "python3 -m pip " + pipArgs}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	if want := "python3 " + pipArgs + "\nonnxruntime==1.32.0 --hash=sha256:" + p.SHA256 + "\nPIP_REQUIRE_VIRTUALENV=0\nTMPDIR=HERE/tmp\n"; m.called() != want {
		t.Errorf("called\n%s\nwant\n%s", m.called(), want)
	}
	notes = slices.Compact(notes)
	if d := cmp.Diff([]string{fmt.Sprintf("pip downloads onnxruntime 1.32.0 0/%d", p.Size), fmt.Sprintf("verifying %s %d/%d", p.File, p.Size, p.Size),
		"unpacking " + p.Member + " 60000/60000"}, notes); d != "" {
		t.Error(d)
	}
}

func TestNpmBringsTheLibraryWhereThereIsNoPip(t *testing.T) {
	m := newMachine(t)
	pip, _ := m.archive("pypi", library)
	p, file := m.archive("npm", nodeLibrary, [2]string{"package/package.json", "{}"})
	m.npm("cp " + file + " .; echo npm notice; echo onnxruntime-node-1.30.0.tgz")
	r, err := Fetch(t.Context(), m.options(pip, p))
	if err != nil {
		t.Fatal(err)
	}
	fetched(t, m, p, nodeLibrary[1])
	if m.called() != "npm pack --ignore-scripts onnxruntime-node@1.30.0\n" || r.Carrier != "npm 6.14.18" || r.Tried != nil {
		t.Errorf("called %q, %+v", m.called(), r)
	}
}

// TestAPipThatIsTooOld: before 19.2 it asks the Python it runs on whether the
// newest wheel fits. The words are those of pip 18.1.
func TestAPipThatIsTooOldTakesTheOlderWheel(t *testing.T) {
	m := newMachine(t)
	p, _ := m.archive("pypi", library)
	old, file := m.archive("pypi", [2]string{"onnxruntime/capi/libonnxruntime.so.1.20.1", "old"})
	old.Version = "1.20.1"
	m.program("python3", "echo /usr/bin/python3: No module named pip; exit 1")
	m.program("pip3", `[ "$1" = --version ] && { echo "DEPRECATION: old"; echo "pip 18.1 from /usr (python 3.6)"; exit; }
said "$@"
grep -q 1.20.1 requirements.txt && { cp `+file+` .; exit; }
echo "Looking in links: /opt/wheels"
echo "Collecting onnxruntime==1.32.0 (from -r r.txt (line 1))"
echo "  Could not find a version that satisfies the requirement onnxruntime==1.32.0 (from -r r.txt (line 1)) (from versions: 1.17.0, 1.20.1)"
echo "No matching distribution found for onnxruntime==1.32.0 (from -r r.txt (line 1))"
exit 1`)
	r, err := Fetch(t.Context(), m.options(p, old))
	if err != nil {
		t.Fatal(err)
	}
	fetched(t, m, old, "old")
	want := "pip 18.1, onnxruntime 1.32.0: exit 1: Could not find a version that satisfies the requirement onnxruntime==1.32.0 " +
		"(from -r r.txt (line 1)) (from versions: 1.17.0, 1.20.1) / No matching distribution found for onnxruntime==1.32.0 (from -r r.txt (line 1))"
	if len(r.Tried) != 1 || r.Tried[0].En != want || !strings.HasPrefix(r.Command, "pip3 download ") {
		t.Errorf("%+v", r)
	}
}

// Words of pip 23.2.1 and npm 11.19.1 where nothing listens.
const (
	pipOffline = `echo "Looking in indexes: http://u:s3cret@mirror.local/simple"
for n in 4 3 2 1 0; do echo "WARNING: Retrying (Retry(total=$n, connect=None)) after connection broken by 'NewConnectionError(0x7f00$n: [Errno 111] Connection refused)': /simple/onnxruntime/" >&2; done
echo "ERROR: Could not find a version that satisfies the requirement onnxruntime==1.32.0 (from versions: none)" >&2
echo "ERROR: No matching distribution found for onnxruntime==1.32.0" >&2
exit 1`
	npmOffline = `{ echo "npm error code ECONNREFUSED"
echo "npm error syscall connect"
echo "npm error FetchError: request to http://u:s3cret@mirror.local/onnxruntime-node failed, reason: connect ECONNREFUSED"
echo "npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/index.js:130:14)"
echo "npm error   code: 'ECONNREFUSED',"
echo "npm error }"
echo "npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: 'npm help config'"
echo "npm error A complete log of this run can be found in: /root/.npm/_logs/x.log"; } >&2
exit 1`
)

func TestBothCarriersFailingTellsBothReasons(t *testing.T) {
	m := newMachine(t)
	p, _ := m.archive("pypi", library)
	old := p
	old.ID, old.Version = "old", "1.20.1"
	n, _ := m.archive("npm", nodeLibrary)
	m.pip(pipOffline)
	m.npm(npmOffline)
	_, err := Fetch(t.Context(), m.options(p, n, old))
	pr := problem(t, err, report.ExitFailed)
	want := "pip 23.2.1, onnxruntime 1.32.0: exit 1: WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by " +
		"'NewConnectionError(0x7f004: [Errno 111] Connection refused)': /simple/onnxruntime/ / " +
		"ERROR: Could not find a version that satisfies the requirement onnxruntime==1.32.0 (from versions: none) / " +
		"ERROR: No matching distribution found for onnxruntime==1.32.0\n" +
		"npm 6.14.18, onnxruntime-node 1.30.0: exit 1: npm error code ECONNREFUSED / npm error syscall connect / " +
		"npm error FetchError: request to http://***@mirror.local/onnxruntime-node failed, reason: connect ECONNREFUSED"
	if d := cmp.Diff(want, pr.Why.En); d != "" {
		t.Error(d)
	}
	if strings.Count(m.called(), "python3") != 1 {
		t.Errorf("an index that was not reached was asked again:\n%s", m.called())
	}
	if !strings.Contains(pr.Do.En, "mirror or a proxy") || pr.Run == "" || !strings.Contains(pr.Why.Zh, "退出码 1") {
		t.Errorf("%+v", pr)
	}
	if left := m.left(); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

func TestWhatIsNotTheKnownFileIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		carrier string
		members [][2]string
		spoil   func(*Package)
		mangle  string // shell, on the archive the tool brings
		want    string
	}{
		"archive of another size":    {"pypi", [][2]string{library}, nil, "echo >> $(ls *.whl)", "is not the known file: want %d bytes, got "},
		"archive of another content": {"pypi", [][2]string{library}, func(p *Package) { p.SHA256 = sum("other") }, "", "whl is not the known file: want sha256 " + sum("other")},
		"no archive":                 {"npm", [][2]string{nodeLibrary}, nil, "rm *.tgz", "the tool left no file onnxruntime-node-1.30.0.tgz"},
		"two other archives":         {"pypi", [][2]string{library}, nil, "mv *.whl a.whl; cp a.whl b.whl", "the tool left no file"},
		"library missing in a wheel": {"pypi", [][2]string{library}, func(p *Package) { p.Member = "x/y" }, "", "no member x/y"},
		"library missing in a tgz":   {"npm", [][2]string{nodeLibrary}, func(p *Package) { p.Member = "x/y" }, "", "no member x/y"},
		"library is a link":          {"npm", [][2]string{{"lib", "->/etc/passwd"}}, func(p *Package) { p.LibrarySize = 9 }, "", "no member lib"},
		"library is longer":          {"npm", [][2]string{nodeLibrary}, func(p *Package) { p.LibrarySize-- }, "", "want 17 bytes, got more"},
		"library is shorter":         {"pypi", [][2]string{library}, func(p *Package) { p.LibrarySize++ }, "", "want 60001 bytes, got 60000 bytes"},
		"library of another content": {"pypi", [][2]string{library}, func(p *Package) { p.LibrarySHA256 = sum("x") }, "", "1.32.0 is not the known file: want sha256 " + sum("x")},
		"wheel that is none": {"pypi", [][2]string{library}, func(p *Package) { p.Size, p.SHA256 = 3, sum("abc") },
			"printf abc > $(ls *.whl)", "zip: not a valid zip file"},
		"tgz that is none": {"npm", [][2]string{nodeLibrary}, func(p *Package) { p.Size, p.SHA256 = 3, sum("abc") },
			"printf abc > $(ls *.tgz)", "onnxruntime-node-1.30.0.tgz: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			p, file := m.archive(c.carrier, c.members...)
			script := "cp " + file + " . && " + c.mangle + "\n:"
			if c.mangle == "" {
				script = "cp " + file + " ."
			}
			if c.spoil != nil {
				c.spoil(&p)
			}
			m.pip(script)
			m.npm(script)
			_, err := Fetch(t.Context(), m.options(p))
			want := strings.Replace(c.want, "%d", fmt.Sprint(p.Size), 1)
			if pr := problem(t, err, report.ExitFailed); !strings.Contains(pr.Why.En, want) || !strings.Contains(pr.Do.En, "from elsewhere") {
				t.Errorf("got %s; %s\nwant %s", pr.Why.En, pr.Do.En, want)
			}
			if left := m.left(); len(left) > 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

func TestAWrongFileOfOneCarrierLeadsToTheNext(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("pypi", library)
	n, tgz := m.archive("npm", nodeLibrary)
	m.pip("cp " + file + " .; echo >> $(ls *.whl)")
	m.npm("cp " + tgz + " other-name.tgz") // a mirror may name it otherwise; the digest decides
	r, err := Fetch(t.Context(), m.options(p, n))
	if err != nil {
		t.Fatal(err)
	}
	fetched(t, m, n, nodeLibrary[1])
	if len(r.Tried) != 1 || !strings.Contains(r.Tried[0].En, "is not the known file") || !strings.Contains(r.Tried[0].Zh, "与已知文件不符") {
		t.Errorf("%+v", r.Tried)
	}
}

func TestWhatIsThereIsNotFetchedAgain(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("pypi", library)
	other, _ := m.archive("npm", nodeLibrary)
	m.pip("cp " + file + " .")
	o := m.options(other, p) // found although another row comes first
	first, err := Fetch(t.Context(), m.options(p))
	if err != nil {
		t.Fatal(err)
	}
	o.Exec = func(context.Context, Command) ([]byte, int, error) { panic("ran a command") }
	again, err := Fetch(t.Context(), o)
	if err != nil || !again.Already || again.File != first.File || again.Command != "" {
		t.Errorf("%+v %v", again, err)
	}
	plan, err := Plan(t.Context(), o)
	if err != nil || !plan.Already || plan.File != first.File || plan.Steps != nil {
		t.Errorf("%+v %v", plan, err)
	}
	for name, spoil := range map[string]string{"same size": strings.Repeat("THE LIBRARY\n", 5000), "cut": "the", "empty": ""} {
		if err := os.WriteFile(first.File, []byte(spoil), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := Fetch(t.Context(), m.options(p)); err != nil || r.Already {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		fetched(t, m, p, library[1])
	}
}

func TestAnInterruptedFetchLeavesNothing(t *testing.T) {
	for name, deadline := range map[string]bool{"cancelled": false, "deadline": true} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			p, _ := m.archive("pypi", library)
			m.pip("echo half > half.whl; touch " + m.log + ".started; sleep 1000")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			exit := report.ExitInterrupted
			if deadline {
				ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				exit = report.ExitFailed
			} else {
				go func() {
					for _, err := os.Stat(m.log + ".started"); err != nil && ctx.Err() == nil; _, err = os.Stat(m.log + ".started") {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			_, err := Fetch(ctx, m.options(p))
			pr := problem(t, err, exit)
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v", pr)
			}
			if left := m.left(); len(left) > 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

func TestAnEndWhileUnpackingLeavesNothing(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("npm", library) // larger than one read
	m.npm("cp " + file + " .")
	ctx, cancel := context.WithCancel(t.Context())
	o := m.options(p)
	o.Progress = func(note report.Text, done, total int64) {
		if strings.HasPrefix(note.En, "unpacking") {
			cancel()
		}
	}
	_, err := Fetch(ctx, o)
	problem(t, err, report.ExitInterrupted)
	if left := m.left(); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

func TestManyFetchesAtOnce(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("pypi", library)
	m.pip("cp " + file + " .")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := Fetch(t.Context(), m.options(p))
			if err != nil {
				t.Error(err)
				return
			}
			if data, err := os.ReadFile(r.File); err != nil || string(data) != library[1] {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
	wg.Wait()
	fetched(t, m, p, library[1])
}

func TestLeftoversOfKilledFetchesAreSwept(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("pypi", library)
	m.pip("cp " + file + " .")
	root := filepath.Join(m.cache, "onnxruntime")
	for name, age := range map[string]time.Duration{".fetch-old": 25 * time.Hour, ".fetch-young": 23 * time.Hour, "other": 99 * time.Hour} {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Fetch(t.Context(), m.options(p)); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(root)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{".fetch-young", "1.32.0", "other"}) {
		t.Error(names)
	}
}

func TestPlanTellsTheCommandsAndChangesNothing(t *testing.T) {
	m := newMachine(t)
	p, _ := m.archive("pypi", library)
	n, _ := m.archive("npm", nodeLibrary)
	m.pip("exit 1")
	m.npm("exit 1")
	plan, err := Plan(t.Context(), m.options(n, p))
	want := Planned{File: filepath.Join(m.cache, "onnxruntime/1.30.0/amd64/libonnxruntime.so.1.30.0"), Steps: []Step{
		{Version: "1.30.0", Carrier: "npm 6.14.18", Command: "npm pack --ignore-scripts onnxruntime-node@1.30.0", Bytes: n.Size},
		{Version: "1.32.0", Carrier: "pip 23.2.1", Command: "python3 -m pip " + pipArgs, Bytes: p.Size,
			Requirements: "onnxruntime==1.32.0 --hash=sha256:" + p.SHA256 + "\n"}}}
	if d := cmp.Diff(want, plan); d != "" || err != nil {
		t.Error(d, err)
	}
	if m.called() != "" || len(m.left()) != 0 {
		t.Errorf("called %q, left %v", m.called(), m.left())
	}
	if _, err := os.Stat(m.cache); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cache folder was made")
	}
}

func TestWithoutACarrier(t *testing.T) {
	for distro, want := range map[string]string{"debian": "apt-get install -y python3-pip", "openEuler": "dnf install -y python3-pip", "plan9": ""} {
		m := newMachine(t)
		p, _ := m.archive("pypi", library)
		n, _ := m.archive("npm", nodeLibrary)
		o := m.options(p, n)
		o.Distro = distro
		_, err := Fetch(t.Context(), o)
		pr := problem(t, err, report.ExitFailed)
		if pr.Run != want || !strings.Contains(pr.Do.En, "python3-pip") || pr.Why.En != "pip: not found\nnpm: not found" {
			t.Errorf("%s: %+v", distro, pr)
		}
		m.program("python3", "echo /usr/bin/python3: No module named pip; exit 1")
		m.program("npm", "kill -9 $$")
		_, err = Fetch(t.Context(), o)
		pr = problem(t, err, report.ExitFailed)
		if pr.Why.En != "python3 -m pip: exit 1: /usr/bin/python3: No module named pip\nnpm: exit -1 without a word" {
			t.Errorf("%s: %+v", distro, pr)
		}
		if err := os.WriteFile(filepath.Join(m.bin, "npm"), []byte("no program"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = Plan(t.Context(), o)
		if pr = problem(t, err, report.ExitFailed); !strings.Contains(pr.Why.En, "npm: cannot be run: ") {
			t.Errorf("%s: %+v", distro, pr)
		}
	}
}

func TestUnknownMachines(t *testing.T) {
	m := newMachine(t)
	p, _ := m.archive("pypi", library)
	arm := p
	arm.Arch = "arm64"
	for _, c := range [][2]string{{"darwin", "arm64"}, {"windows", "amd64"}, {"linux", "riscv64"}} {
		o := m.options(p, arm)
		o.OS, o.Arch = c[0], c[1]
		_, err := Fetch(t.Context(), o)
		pr := problem(t, err, report.ExitFailed)
		if pr.What.En != "no ONNX Runtime is known for "+c[0]+"/"+c[1] || pr.Why.En != "it is known for linux/amd64, linux/arm64" {
			t.Errorf("%+v", pr)
		}
	}
}

func TestAFullDisk(t *testing.T) {
	m := newMachine(t)
	p, _ := m.archive("pypi", library)
	n, _ := m.archive("npm", nodeLibrary)
	m.pip("echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device' >&2; exit 1")
	m.npm("exit 0")
	_, err := Fetch(t.Context(), m.options(p, n))
	pr := problem(t, err, report.ExitFailed)
	if pr.What.En != "no space left for ONNX Runtime in "+m.cache || !strings.Contains(pr.Why.En, "about 1 MiB are needed") || strings.Contains(m.called(), "npm") {
		t.Errorf("%+v\n%s", pr, m.called())
	}
	o := m.options(p)
	pr = o.final(t.Context(), p, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if pr == nil || !strings.HasPrefix(pr.What.En, "no space left") {
		t.Errorf("our own write: %+v", pr)
	}
}

func TestACacheThatCannotBeWritten(t *testing.T) {
	m := newMachine(t)
	p, file := m.archive("pypi", library)
	m.pip("cp " + file + " .")
	o := m.options(p)
	o.Cache = m.log + "/below" // a file stands in the way, which stops root too
	if err := os.WriteFile(m.log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Fetch(t.Context(), o)
	if pr := problem(t, err, report.ExitFailed); !strings.HasPrefix(pr.What.En, "cannot write to "+o.Cache) {
		t.Errorf("%+v", pr)
	}
	if err := os.MkdirAll(filepath.Join(p.target(m.cache), "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Fetch(t.Context(), m.options(p)) // a folder stands where the library belongs
	problem(t, err, report.ExitFailed)
	o.Cache = ""
	_, err = Fetch(t.Context(), o)
	problem(t, err, report.ExitUsage)
}

func TestRowsThatCannotBeRight(t *testing.T) {
	m := newMachine(t)
	good, _ := m.archive("pypi", library)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Package){
		"carrier: want pypi or npm":    func(p *Package) { p.Carrier = "conda" },
		"package: want":                func(p *Package) { p.Package = "--index-url=x" },
		"version: want":                func(p *Package) { p.Version = "../../x" },
		"arch: want":                   func(p *Package) { p.Arch = "../x" },
		"file: want a file name":       func(p *Package) { p.File = "../x.whl" },
		"file: want a wheel":           func(p *Package) { p.File = "onnxruntime-1.32.0.whl" },
		"sha256: want 64":              func(p *Package) { p.SHA256 = "abc" },
		"library_sha256: want 64":      func(p *Package) { p.LibrarySHA256 = "" },
		"size: want 1 byte to 1 GiB":   func(p *Package) { p.Size = -1 },
		"library_size: want 1 byte":    func(p *Package) { p.LibrarySize = 1 << 40 },
		"member: want a path":          func(p *Package) { p.Member = "/etc/passwd" },
		"version: want a version such": func(p *Package) { p.Version = "1.32.0 --hash=x" },
	} {
		p := good
		spoil(&p)
		_, err := Fetch(t.Context(), m.options(p))
		if pr := problem(t, err, report.ExitUsage); !strings.HasPrefix(pr.Why.En, want) {
			t.Errorf("got %s, want %s", pr.Why.En, want)
		}
	}
}

func TestReasonsAreShortAndClean(t *testing.T) {
	o := Options{Redact: &report.Redactor{}}
	o.Redact.Add("hunter22")
	for name, c := range map[string]struct {
		out  string
		want []string
	}{
		"nothing":  {"", nil},
		"colours":  {"\x1b[31mERROR:\x1b[0m no\x07\r\n", []string{"ERROR: no"}},
		"progress": {"  10%\r  20%\rERROR: x", []string{"10%", "ERROR: x"}},
		"secrets":  {"see https://me:pw@host/x?token=abc and hunter22", []string{"see https://***@host/x?token=*** and ***"}},
		"many":     {"a\nb\nc\nd\ne\nf", []string{"c", "d", "e", "f"}},
		"long":     {strings.Repeat("é", 9999), []string{strings.Repeat("é", keptRunes) + "..."}},
		"noise":    {"Collecting x\n[notice] A new release of pip\nERROR: y\nWARNING: a new release of pip is there", []string{"ERROR: y"}},
	} {
		if d := cmp.Diff(c.want, o.reasons(carriers["pypi"], []byte(c.out))); d != "" && len(c.want)+len(d) > 0 && c.want != nil {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got := o.reasons(carriers["npm"], []byte("warn\nnpm ERR! code E404\nnpm ERR! 404 Not Found\n\nnpm ERR! A complete log of this run")); !slices.Equal(got, []string{"npm ERR! code E404", "npm ERR! 404 Not Found"}) {
		t.Error(got)
	}
}
