//go:build unix

package plan

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/report"
)

func one(acts ...Act) Plan {
	return Plan{Name: "one", Title: title("one"), Again: "ascendctl install-cann --host h", Steps: []Step{{ID: "s", Title: title("s"), Do: acts}}}
}

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	return string(data)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(text), 0o644))
}

func TestUndoTouchesNothingOfOthers(t *testing.T) {
	root, dir := world(t)
	h, o := host.NewLocal(), options(dir, "")
	p := one(
		File{Path: root + "/etc/app.conf", Data: []byte("a=2\n")}, Dir{Path: root + "/opt/made"},
		Line{Path: root + "/home/.bashrc", Text: "ours"},
		Command{Argv: []string{"/bin/sh", "-c", installer, "sh", root}, Check: Exists(root + "/opt/new/done"), Touch: []Touch{{Path: root + "/opt/new", Tree: true}, {Path: root + "/etc/version", Shared: true}, {Path: root + "/opt/latest"}}},
	)
	if out, err := apply(t, h, p, o); err != nil {
		t.Fatalf("%+v %v", out, err)
	}
	write(t, root+"/etc/app.conf", "a=3 by hand\n")
	write(t, root+"/opt/made/theirs", "x")
	write(t, root+"/opt/new/lib/theirs", "x")
	write(t, root+"/etc/version", "theirs")
	write(t, root+"/home/.bashrc", read(t, root+"/home/.bashrc")+"theirs\n")
	out, err := takeBack(t, h, "", o)
	if exitOf(err) != report.ExitStuck || out.State != Undone {
		t.Errorf("%+v %v", out, err)
	}
	var left []string
	for _, l := range out.Left {
		left = append(left, strings.TrimPrefix(l.Path, root))
		if rest, ok := strings.CutPrefix(l.Why, "was changed since; that version is now "); ok && read(t, rest) != "a=3 by hand\n" {
			t.Errorf("the version of others is not in %s", rest)
		}
	}
	slices.Sort(left)
	// Folders that hold something of others stay and are named as well.
	if want := []string{"/etc/app.conf", "/opt/made", "/opt/new", "/opt/new/lib", "/opt/new/lib/theirs"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	for name, want := range map[string]string{"/etc/app.conf": "a=1\n", "/opt/made/theirs": "x", "/opt/new/lib/theirs": "x", "/etc/version": "theirs", "/home/.bashrc": "alias a=b\ntheirs\n"} {
		if got := read(t, root+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := os.Lstat(root + "/opt/new/lib/a.so"); err == nil {
		t.Error("a file of the installer stays")
	}
	if m, err := Make(t.Context(), h, Plan{Name: "other", Steps: p.Steps}, o); err != nil {
		t.Errorf("what is left to others blocks the host: %v %v", m, err)
	}
}

func TestALaterChangeIsTakenBackFirst(t *testing.T) {
	root, dir := world(t)
	h, o := host.NewLocal(), options(dir, "")
	first, err := apply(t, h, one(File{Path: root + "/etc/app.conf", Data: []byte("1")}), o)
	must(t, err)
	p := one(File{Path: root + "/etc/app.conf", Data: []byte("2")})
	p.Name = "two"
	second, err := apply(t, h, p, o)
	must(t, err)
	var pr *report.Problem
	if _, err := Undo(t.Context(), h, first.ID, o); !errors.As(err, &pr) || !strings.Contains(pr.Run, second.ID) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"1", "a=1\n"} {
		if _, err := takeBack(t, h, "", o); err != nil || read(t, root+"/etc/app.conf") != want {
			t.Errorf("%v: %q", err, read(t, root+"/etc/app.conf"))
		}
	}
	if _, err := Undo(t.Context(), h, "20260101T000000Z", o); exitOf(err) != report.ExitUsage {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestConsent(t *testing.T) {
	root, dir := world(t)
	p := one(File{Path: root + "/x"})
	p.Steps[0].Risk = RiskDriver
	yes := func(context.Context, []Shown, string) (bool, error) { return true, nil }
	for _, c := range []struct {
		name string
		c    Consent
		exit report.Exit
		run  string
	}{
		{"no terminal", Consent{}, report.ExitNotAgreed, " --yes --accept-risk replace-driver"},
		{"yes is not a risk", Consent{Yes: true}, report.ExitNotAgreed, " --accept-risk replace-driver"},
		{"a risk is not yes", Consent{Risks: []string{RiskDriver}}, report.ExitNotAgreed, " --yes"},
		{"unknown risk", Consent{Yes: true, Risks: []string{"replace-drivers"}}, report.ExitUsage, ""},
		{"declined", Consent{Ask: func(_ context.Context, _ []Shown, risk string) (bool, error) { return risk == "", nil }}, report.ExitNotAgreed, " --yes --accept-risk replace-driver"},
		{"asked", Consent{Ask: yes}, report.ExitOK, ""},
		{"flags", Consent{Yes: true, Risks: []string{RiskDriver}}, report.ExitOK, ""},
	} {
		m, err := Make(t.Context(), host.NewLocal(), p, options(dir, ""))
		must(t, err)
		err = Agree(t.Context(), c.c, m)
		var pr *report.Problem
		errors.As(err, &pr)
		if c.exit == report.ExitOK && err != nil || c.exit != report.ExitOK && (pr == nil || pr.Exit != c.exit || c.run != "" && pr.Run != p.Again+c.run) {
			t.Errorf("%s: %+v", c.name, pr)
		}
		if err != nil {
			if _, err := m.Run(t.Context()); exitOf(err) != report.ExitNotAgreed {
				t.Errorf("%s: it ran: %v", c.name, err)
			}
		}
	}
	if _, err := os.Lstat(root + "/x"); err == nil {
		t.Error("changed without consent")
	}
}

func TestALockIsNeverStolenSilently(t *testing.T) {
	root, dir := world(t)
	pid, kill := holder(t)
	o := options(dir, pid)
	o.hook = func(p point) error {
		if p.where == "after begin" {
			panic(errKilled)
		}
		return nil
	}
	p := one(File{Path: root + "/x", Data: []byte("x")})
	mayDie(func() (Outcome, error) { return apply(t, host.NewLocal(), p, o) })
	o = options(dir, "")
	var taken []string
	o.Tell = func(e Event) {
		if e.Is == Taken {
			taken = append(taken, e.Why)
		}
	}
	out, err := apply(t, host.NewLocal(), p, o)
	if !errors.Is(err, errHeld) || !strings.Contains(err.Error(), pid) || !strings.Contains(err.Error(), "ann@laptop") || len(taken) > 0 {
		t.Errorf("held by a process that lives: %+v %v %q", out, err, taken)
	}
	kill()
	if out, err := apply(t, host.NewLocal(), p, o); err != nil || out.State != Done || len(taken) != 1 {
		t.Errorf("its process is gone: %+v %v %q", out, err, taken)
	}
	if _, err := os.Stat(dir + "/lock"); err == nil {
		t.Error("the lock stays after the run")
	}
}

func TestARunWhoseLockWasTakenStops(t *testing.T) {
	root, dir := world(t)
	o, n := options(dir, ""), 0
	o.hook = func(p point) error {
		if n += count(p.where == "before done"); n == 2 {
			write(t, dir+"/lock", "somebody else\n")
		}
		return nil
	}
	out, err := apply(t, host.NewLocal(), one(File{Path: root + "/a"}, File{Path: root + "/b"}, File{Path: root + "/c"}), o)
	if !errors.Is(err, errLost) || out.State != Stuck {
		t.Errorf("%+v %v", out, err)
	}
	for name, want := range map[string]bool{"/a": true, "/b": true, "/c": false} { // nor does it undo
		if _, err := os.Lstat(root + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARebootIsGoneThrough(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, root)
	boot := filepath.Join(t.TempDir(), "boot")
	write(t, boot, "boot-1\n")
	p := Plan{Name: "driver", Title: title("driver"), Steps: []Step{
		{ID: "a", Title: title("a"), Do: []Act{File{Path: root + "/a"}}},
		{ID: "r", Title: title("r"), Risk: RiskReboot, Do: []Act{Reboot{Argv: []string{"touch", boot + ".asked"}}}},
		{ID: "b", Title: title("b"), Do: []Act{File{Path: root + "/b"}}},
	}}
	go1 := func(c Consent) (Outcome, error) {
		m, err := Make(t.Context(), &breaking{Host: host.NewLocal(), boot: boot}, p, options(dir, ""))
		must(t, err)
		must(t, Agree(t.Context(), c, m))
		return m.Run(t.Context())
	}
	for i, c := range []Consent{{Yes: true}, {Yes: true, Risks: []string{RiskReboot}}} {
		if out, err := go1(c); err != nil || out.State != Restart {
			t.Errorf("%+v %v", out, err)
		}
		if _, err := os.Stat(boot + ".asked"); (err == nil) != (i == 1) {
			t.Errorf("consent %+v: reboot asked: %v", c, err)
		}
	}
	if _, err := os.Stat(root + "/b"); err == nil {
		t.Error("it went on before the host had restarted")
	}
	write(t, boot, "boot-2\n")
	if out, err := go1(Consent{Yes: true}); err != nil || out.State != Done {
		t.Errorf("after the restart: %+v %v", out, err)
	}
	if out, err := takeBack(t, &breaking{Host: host.NewLocal(), boot: boot}, "", options(dir, "")); err != nil {
		t.Errorf("%+v %v", out, err)
	}
	if d := cmp.Diff(before, snapshot(t, root)); d != "" {
		t.Error(d)
	}
}

func TestCancellingUndoes(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, root)
	ctx, stop := context.WithCancel(t.Context())
	o := options(dir, "")
	o.Tell = func(e Event) {
		if e.Is == Started && e.Step == "line" {
			stop()
		}
	}
	m, err := Make(ctx, host.NewLocal(), sample(root), o)
	must(t, err)
	must(t, Agree(ctx, Consent{Yes: true}, m))
	if out, err := m.Run(ctx); out.State != Undone || out.Failed != "line" || exitOf(err) != report.ExitInterrupted {
		t.Errorf("%+v %v", out, err)
	}
	if d := cmp.Diff(before, snapshot(t, root)); d != "" {
		t.Error(d)
	}
}

// TestKilledForReal is kill -9 of a process of its own, which holds the lock.
func TestKilledForReal(t *testing.T) {
	if root := os.Getenv("PLAN_TEST_ROOT"); root != "" {
		o := options(os.Getenv("PLAN_TEST_DIR"), "")
		n, _ := strconv.Atoi(os.Getenv("PLAN_TEST_POINT"))
		o.hook = func(point) error {
			if n--; n == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		}
		apply(t, host.NewLocal(), sample(root), o)
		return
	}
	for _, point := range []int{11, 77} {
		root, dir := world(t)
		before := snapshot(t, root)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledForReal$")
		cmd.Env = append(os.Environ(), "PLAN_TEST_ROOT="+root, "PLAN_TEST_DIR="+dir, "PLAN_TEST_POINT="+strconv.Itoa(point))
		if err := cmd.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("point %d: %v", point, err)
		}
		if out, err := apply(t, host.NewLocal(), sample(root), options(dir, "")); err != nil || out.State != Done {
			t.Errorf("point %d: %+v %v", point, out, err)
		}
		if _, err := takeBack(t, host.NewLocal(), "", options(dir, "")); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(before, snapshot(t, root)); d != "" {
			t.Errorf("point %d: %s", point, d)
		}
	}
}

// TestOverARealServerThatIsCut loses the connection in the middle and comes back.
func TestOverARealServerThatIsCut(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, root)
	d := hosttest.StartSSHD(t, "MaxSessions 1")
	open := func() host.Host {
		h, err := host.Connect(t.Context(), d.Target(t), d.Options(t))
		must(t, err)
		t.Cleanup(func() { h.Close() })
		return h
	}
	h, o := open(), options(dir, "")
	o.Tell = func(e Event) {
		if e.Is == Started && e.Step == "run" {
			h.Close()
		}
	}
	if out, err := apply(t, h, sample(root), o); out.State != Lost || exitOf(err) != report.ExitUnreachable {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := apply(t, open(), sample(root), options(dir, "")); err != nil || out.State != Done {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := takeBack(t, open(), "", options(dir, "")); err != nil {
		t.Errorf("%+v %v", out, err)
	}
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Error(diff)
	}
}

// TestUndoWithoutAnIDMeansWhatCanComeBack: what was deleted for good is passed
// over, and a step is told of once, however many acts it had.
func TestUndoWithoutAnIDMeansWhatCanComeBack(t *testing.T) {
	root, dir := world(t)
	o := options(dir, "")
	kept := one(File{Path: root + "/a"}, File{Path: root + "/b"})
	_, err := apply(t, host.NewLocal(), kept, o)
	must(t, err)
	gone := one(Command{Argv: []string{"rm", "-f", root + "/home/x"}, Check: func(context.Context, host.Host) (bool, error) {
		_, err := os.Lstat(root + "/home/x")
		return err != nil, nil
	}})
	gone.Name, gone.Steps[0].Keeps = "clean", title("it is gone")
	must(t, os.WriteFile(root+"/home/x", nil, 0o644))
	_, err = apply(t, host.NewLocal(), gone, o)
	must(t, err)
	told := 0
	o.Tell = func(e Event) {
		if e.Is == Undid {
			told++
		}
	}
	m, err := Undo(t.Context(), host.NewLocal(), "", o)
	must(t, err)
	if m.Show().Name != "one" {
		t.Fatalf("it takes back %q", m.Show().Name)
	}
	must(t, Agree(t.Context(), Consent{Yes: true}, m))
	if _, err := m.Run(t.Context()); err != nil || told != 1 {
		t.Errorf("%v, told of %d steps", err, told)
	}
	if _, err := Undo(t.Context(), host.NewLocal(), "", o); err == nil {
		t.Error("what was deleted is offered to be taken back")
	}
}
