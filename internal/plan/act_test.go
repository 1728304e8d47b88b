//go:build unix

package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

func TestAUnitIsEnabledAndTakenBack(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, root)
	bin := t.TempDir()
	write(t, bin+"/systemctl", `#!/bin/sh
shift; d=$H/.config/systemd/user; l=$d/default.target.wants/x.service
case $1 in
daemon-reload) [ -e "$d/x.service" ] && echo reload with >>"$L" || echo reload without >>"$L" ;;
enable) echo enable >>"$L"; mkdir -p "${l%/*}"; ln -s ../x.service "$l" ;;
disable) echo disable >>"$L"; rm "$l" ;;
*) [ -L "$l" ] ;;
esac`)
	must(t, os.Chmod(bin+"/systemctl", 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("H", root+"/home")
	t.Setenv("L", bin+"/log")
	p := one(Unit("x.service", "[Service]\n", root+"/home")...)
	if out, err := apply(t, host.NewLocal(), p, options(dir, "")); err != nil {
		t.Fatalf("%+v %v", out, err)
	}
	if out, err := apply(t, host.NewLocal(), p, options(dir, "")); err != nil || out.State != Nothing {
		t.Errorf("%+v %v", out, err)
	}
	if out, err := takeBack(t, host.NewLocal(), "", options(dir, "")); err != nil {
		t.Errorf("%+v %v", out, err)
	}
	if got, want := read(t, bin+"/log"), "reload with\nenable\ndisable\nreload without\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if d := cmp.Diff(before, snapshot(t, root)); d != "" {
		t.Error(d)
	}
}

// TestAnAccountComesAndGoes makes a real throw-away account, as CI may.
func TestAnAccountComesAndGoes(t *testing.T) {
	dir, name := t.TempDir(), "ascplan"+strconv.Itoa(os.Getpid())
	home := dir + "/home"
	p := one(Group(name, ""), User(name, "", name, home, "/bin/sh"))
	p.Steps[0].Root = true
	o := options(dir+"/journal", "")
	if out, err := apply(t, host.NewLocal(), p, o); err != nil {
		t.Fatalf("%+v %v", out, err)
	}
	passwd := read(t, "/etc/passwd")
	if _, err := os.Stat(home); err != nil || !strings.Contains(passwd, "\n"+name+":") {
		t.Errorf("no account: %v", err)
	}
	if out, err := takeBack(t, host.NewLocal(), "", o); err != nil {
		t.Errorf("%+v %v", out, err)
	}
	if _, err := os.Lstat(home); err == nil || strings.Contains(read(t, "/etc/passwd")+read(t, "/etc/group")+read(t, "/etc/shadow"), name) {
		t.Error("the account stays")
	}
}

func TestADetachedCommandIsFoundAgain(t *testing.T) {
	root, dir := world(t)
	before := snapshot(t, root)
	p := one(Command{
		Argv:  []string{"sh", "-c", `echo started >>"$1/log"; while [ ! -e "$1/go" ]; do sleep 0.02; done; echo end >>"$1/log"`, "sh", root},
		Check: Exits("grep", "-q", "end", root+"/log"), Touch: []Touch{{Path: root + "/log"}}, Long: true,
	})
	pid, kill := holder(t)
	o := options(dir, pid)
	b := &breaking{Host: host.NewLocal()}
	o.Tell = func(e Event) {
		if e.Is == Waiting {
			b.dead = true
		}
	}
	if out, err := apply(t, b, p, o); out.State != Lost || exitOf(err) != report.ExitUnreachable {
		t.Errorf("%+v %v", out, err)
	}
	kill()
	write(t, root+"/go", "")
	if out, err := apply(t, host.NewLocal(), p, options(dir, "")); err != nil || out.State != Done {
		t.Fatalf("%+v %v", out, err)
	}
	if got := read(t, root+"/log"); got != "started\nend\n" {
		t.Errorf("it ran %q", got)
	}
	must(t, os.Remove(root+"/go"))
	if _, err := takeBack(t, host.NewLocal(), "", options(dir, "")); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, snapshot(t, root)); d != "" {
		t.Error(d)
	}
}

func TestSecretsReachTheCommandAndNothingElse(t *testing.T) {
	root, dir := world(t)
	const secret = "s3cr3t value/'\"$x"
	for _, long := range []bool{false, true} {
		b := &breaking{Host: host.NewLocal()}
		name := root + "/got" + strconv.FormatBool(long)
		p := one(
			File{Path: name + ".conf", Data: []byte(secret), Secret: true},
			Command{
				Argv: []string{"sh", "-c", `printf %s "$PW" >"$1"; cat >>"$1"`, "sh", name}, Stdin: "y\n", Secret: []Var{{"PW", secret}},
				Check: Exists(name), Touch: []Touch{{Path: name}}, Long: long,
			})
		m, err := Make(t.Context(), b, p, options(dir, ""))
		must(t, err)
		shown, err := json.Marshal(m.Show())
		must(t, err)
		must(t, Agree(t.Context(), Consent{Yes: true}, m))
		if out, err := m.Run(t.Context()); err != nil {
			t.Fatalf("%+v %v", out, err)
		}
		if got := read(t, name); got != secret+"y\n" {
			t.Errorf("the command got %q", got)
		}
		seen := string(shown)
		for _, c := range b.ran {
			seen += strings.Join(c.Argv, " ") + strings.Join(c.Env, " ")
		}
		journals, _ := filepath.Glob(dir + "/*/journal")
		for _, j := range journals {
			seen += read(t, j)
		}
		if strings.Contains(seen, "s3cr3t") || strings.Contains(seen, sum([]byte(secret))) {
			t.Error("the secret is in argv, the plan or the journal")
		}
		takeBack(t, host.NewLocal(), "", options(dir, ""))
	}
}

// TestWhatIsShownIsWhatRuns compares commands and contents, in order.
func TestWhatIsShownIsWhatRuns(t *testing.T) {
	root, dir := world(t)
	p := sample(root)
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.ID == "pkg" }) // an upload is the door's own
	b := &breaking{Host: host.NewLocal()}
	m, err := Make(t.Context(), b, p, options(dir, ""))
	must(t, err)
	must(t, Agree(t.Context(), Consent{Yes: true}, m))
	var want, got []string
	for _, s := range m.Show().Steps {
		for _, a := range s.Acts {
			if !s.Keep {
				want = append(want, strings.TrimSpace(a.Kind+" "+a.Path+" "+strings.Join(a.Argv, " ")))
			}
		}
	}
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasSuffix(s, "/etc/never") }) // not there: nothing to do
	b.ran = nil
	_, err = m.Run(t.Context())
	must(t, err)
	kinds := map[string]string{"place": "file", "link": "link", "folder": "dir", "take": "gone", "twin": "copy", "line": "line"}
	for _, c := range b.ran {
		if len(c.Argv) < 5 || !strings.HasPrefix(c.Argv[2], functions) {
			got = append(got, "run  "+strings.Join(c.Argv, " "))
			continue
		}
		if kind := kinds[c.Argv[4]]; kind != "" {
			at := map[string]int{"gone": 7, "copy": 6}[kind]
			got = append(got, kind+" "+c.Argv[max(at, 5)])
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAFleetStopsAtTheFirstFailure(t *testing.T) {
	for _, serial := range []int{1, 2} {
		var ms []*Made
		for i := range 4 {
			root, dir := world(t)
			p := one(File{Path: root + "/x"})
			if i == 1 {
				p = one(File{Path: root + "/no/such/folder/x"})
			}
			m, err := Make(t.Context(), host.NewLocal(), p, options(dir, ""))
			must(t, err)
			ms = append(ms, m)
		}
		must(t, Agree(t.Context(), Consent{Yes: true}, ms...))
		out := Roll(t.Context(), ms, serial)
		var states []State
		for _, r := range out {
			states = append(states, r.State)
		}
		if states[0] != Done || states[1] != Undone || states[3] != NotDone || serial == 1 && states[2] != NotDone {
			t.Errorf("serial %d: %v", serial, states)
		}
		if Exit(out) != report.ExitUndone {
			t.Errorf("exit %d", Exit(out))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# a\n" + `{"v":1,"event":"open","head":{"name":"x"}}` + "\n" + `{"v":1,"event":"begin","n":1,"act":{"step":"s","key":"k"}}` + "\n" + `{"v":1,"event":"undone","n":1}`)
	f.Add("{}")
	f.Fuzz(func(t *testing.T, text string) {
		es, err := parse(text)
		if err == nil {
			for _, e := range es {
				if e.Acts < 0 || e.Acts > len(e.acts) {
					t.Errorf("%d of %d acts", e.Acts, len(e.acts))
				}
			}
		}
		_, _ = nodes(text)
	})
}

func TestAJournalThatCannotBeReadIsNamed(t *testing.T) {
	root, dir := world(t)
	must(t, os.MkdirAll(dir+"/20260101T000000Z", 0o700))
	for _, text := range []string{"{", `{"v":2,"event":"open"}`, `{"v":1,"event":"begin","n":1}`, `{"v":1,"event":"open","head":{"name":"x"}}` + "\n" + `{"v":1,"event":"done","n":9}`} {
		write(t, dir+"/20260101T000000Z/journal", text+"\n")
		_, err := Make(t.Context(), host.NewLocal(), one(File{Path: root + "/x"}), options(dir, ""))
		if err == nil || !strings.Contains(err.Error(), "20260101T000000Z on the host, line ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
