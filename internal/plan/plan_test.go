//go:build unix

package plan

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world lays a small host: files, links, folders, odd names, owners, modes.
func world(t testing.TB) (root, journals string) {
	t.Helper()
	base := memory(t)
	root, journals = base+"/root", base+"/state/journal"
	for _, d := range []string{"etc", "etc/conf.d", "opt/old/sub", "home", "srv/in", "var"} {
		must(t, os.MkdirAll(root+"/"+d, 0o755))
	}
	write := func(name, text string, perm os.FileMode) {
		must(t, os.WriteFile(root+"/"+name, []byte(text), perm))
		must(t, os.Chmod(root+"/"+name, perm))
	}
	write("etc/app.conf", "a=1\n", 0o640)
	write("etc/secret", "old\n", 0o600)
	write("home/it's a name", "x", 0o644)
	write("opt/old/bin", "old program", 0o4755)
	write("opt/old/sub/data", "data", 0o444)
	write("home/.bashrc", "alias a=b", 0o644)
	write("srv/in/page", "page", 0o604)
	must(t, os.Symlink("old", root+"/opt/current"))
	must(t, os.Symlink("nowhere/at all", root+"/opt/old/dangling"))
	must(t, os.Chmod(root+"/etc/conf.d", 0o2750))
	if os.Geteuid() == 0 {
		must(t, os.Lchown(root+"/etc/app.conf", 12, 34))
		must(t, os.Lchown(root+"/opt/old/dangling", 12, 34))
	}
	return root, journals
}

// memory is a folder that needs no disk, where there is one: runs write through.
func memory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "ascendctl-plan-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// installer is a program that leaves a tree, a note elsewhere and a log, as an
// installer does, and knows how to take most of it off.
const installer = `mkdir -p "$1/opt/new/lib"; echo lib >"$1/opt/new/lib/a.so"; ln -s a.so "$1/opt/new/lib/b.so"
chmod 700 "$1/opt/old/sub"; echo new >"$1/etc/version"; ln -sfn new "$1/opt/latest"; echo y >"$1/opt/new/done"`

// sample uses every kind of act.
func sample(root string) Plan {
	pkg := bytes.Repeat([]byte("package"), 3000)
	return Plan{Name: "install sample", Title: title("sample"), Again: "ascendctl install-cann", Steps: []Step{
		{ID: "conf", Title: title("configuration"), Root: true, Do: []Act{
			File{Path: root + "/etc/app.conf", Data: []byte("a=2\n")},
			File{Path: root + "/etc/fresh", Data: []byte("fresh\n"), Mode: 0o600},
			File{Path: root + "/etc/secret", Data: []byte("hunter2hunter2"), Mode: 0o600, Secret: true},
		}},
		{ID: "links", Title: title("links"), Root: true, Needs: []string{"tree"}, Do: []Act{
			Link{root + "/opt/current", "new"}, Link{root + "/opt/it's", "b c"},
		}},
		{ID: "tree", Title: title("tree"), Root: true, Do: []Act{
			Dir{Path: root + "/opt/made", Mode: 0o750}, Dir{Path: root + "/opt/made/in"}, Dir{Path: root + "/etc/conf.d", Mode: 0o755},
			Copy{root + "/srv/in/page", root + "/opt/made/in/copy"}, Copy{root + "/srv", root + "/opt/srv"},
		}},
		{ID: "line", Title: title("line"), Root: true, Do: []Act{
			Line{Path: root + "/home/.bashrc", Text: "source it's"}, Line{Path: root + "/home/.profile", Text: "one"},
		}},
		{ID: "pkg", Title: title("package"), Root: true, Do: []Act{
			Upload{Path: root + "/home/x.run", Src: bytes.NewReader(pkg), Size: int64(len(pkg)), SHA256: sum(pkg), Mode: 0o755, From: "https://example.com/x.run"},
		}},
		{ID: "run", Title: title("installer"), Root: true, Do: []Act{Command{
			Argv: []string{"/bin/sh", "-c", installer, "sh", root}, Check: Exists(root + "/opt/new/done"),
			Undo:  []string{"/bin/sh", "-c", `rm -rf "$1/opt/new"; rm -f "$1/etc/version"`, "sh", root},
			Touch: []Touch{{Path: root + "/opt", Tree: true}, {Path: root + "/etc/version"}},
		}}},
		{ID: "gone", Title: title("old tree"), Root: true, Do: []Act{Gone{root + "/home/it's a name"}, Gone{root + "/etc/never"}}},
	}}
}

func TestAPlanIsAppliedFoundDoneAndTakenBack(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, root)
	h, o := host.NewLocal(), options(dir, "")
	out, err := apply(t, h, sample(root), o)
	if err != nil || out.State != Done {
		t.Fatalf("%+v %v", out, err)
	}
	after := snapshot(t, root)
	if cmp.Equal(before, after) {
		t.Fatal("nothing changed")
	}
	again, err := apply(t, h, sample(root), o)
	if err != nil || again.State != Nothing {
		t.Fatalf("not found done: %+v %v", again, err)
	}
	back, err := takeBack(t, h, "", o)
	if err != nil || back.State != Undone {
		t.Fatalf("%+v %v", back, err)
	}
	if d := cmp.Diff(before, snapshot(t, root)); d != "" {
		t.Error(d)
	}
	if _, err := takeBack(t, h, out.ID, o); report.ExitUsage != exitOf(err) {
		t.Errorf("taken back twice: %v", err)
	}
}

func TestBadPlansAreRefused(t *testing.T) {
	ok := File{Path: "/tmp/x"}
	for name, s := range map[string]struct {
		p    []Step
		want string
	}{
		"no act":         {[]Step{{ID: "a", Title: title("a")}}, "something to do"},
		"twice":          {[]Step{{ID: "a", Title: title("a"), Do: []Act{ok}}, {ID: "a", Title: title("a"), Do: []Act{File{Path: "/tmp/y"}}}}, "id of its own"},
		"unknown need":   {[]Step{{ID: "a", Title: title("a"), Needs: []string{"b"}, Do: []Act{ok}}}, "needs step b"},
		"circle":         {[]Step{{ID: "a", Title: title("a"), Needs: []string{"a"}, Do: []Act{ok}}}, "needs itself"},
		"unknown risk":   {[]Step{{ID: "a", Title: title("a"), Risk: "explode", Do: []Act{ok}}}, "risk"},
		"relative":       {[]Step{{ID: "a", Title: title("a"), Do: []Act{File{Path: "x"}}}}, "absolute path"},
		"not clean":      {[]Step{{ID: "a", Title: title("a"), Do: []Act{File{Path: "/a/../b"}}}}, "absolute path"},
		"no check":       {[]Step{{ID: "a", Title: title("a"), Do: []Act{Command{Argv: []string{"x"}, Undo: []string{"y"}}}}}, "needs a check"},
		"no undo":        {[]Step{{ID: "a", Title: title("a"), Do: []Act{Command{Argv: []string{"x"}, Check: Exists("/x")}}}}, "needs an undo"},
		"secret in argv": {[]Step{{ID: "a", Title: title("a"), Do: []Act{Command{Argv: []string{"pip", "https://u:p4ssw0rd@h/"}, Check: Exists("/x"), Undo: []string{"y"}}}}}, "secret"},
		"own secret":     {[]Step{{ID: "a", Title: title("a"), Do: []Act{Command{Argv: []string{"x", "abcdef"}, Secret: []Var{{"A", "abcdef"}}, Check: Exists("/x"), Undo: []string{"y"}}}}}, "secret"},
		"contradiction":  {[]Step{{ID: "a", Title: title("a"), Do: []Act{ok, Line{Path: "/tmp/x", Text: "l"}}}}, "two acts want"},
		"gone above":     {[]Step{{ID: "a", Title: title("a"), Do: []Act{ok, Gone{"/tmp"}}}}, "gone"},
		"hidden reboot":  {[]Step{{ID: "a", Title: title("a"), Do: []Act{ok, Reboot{}}, Risk: RiskReboot}}, "reboot"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(t.Context(), host.NewLocal(), Plan{Name: "p", Steps: s.p}, Options{Dir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), s.want) {
				t.Errorf("%v, want %q", err, s.want)
			}
		})
	}
}

func TestACorruptPackageIsRefusedBeforeAnyChange(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, filepath.Dir(root))
	p := sample(root)
	u := p.Steps[4].Do[0].(Upload)
	u.SHA256 = strings.Repeat("0", 64)
	p.Steps[4].Do[0] = u
	_, err := apply(t, host.NewLocal(), p, options(dir, ""))
	var pr *report.Problem
	if !errors.As(err, &pr) || pr.Exit != report.ExitFailed || !strings.Contains(pr.Why.En, u.SHA256) {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(before, snapshot(t, filepath.Dir(root))); d != "" {
		t.Error(d)
	}
}
