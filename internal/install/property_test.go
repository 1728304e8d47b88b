package install

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestRulesHoldForEveryHostAndWant changes described hosts and asks for
// anything: whatever comes out keeps to the rules.
func TestRulesHoldForEveryHostAndWant(t *testing.T) {
	m, d := knowledge(t)
	var hosts []*facts.Facts
	for _, name := range described(t) {
		f, _ := seen(t, name)
		hosts = append(hosts, f)
	}
	plans, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f := *rapid.SampledFrom(hosts).Draw(t, "host")
		change(t, &f)
		w := anyWant(t)
		s, err := Steps(w, &f, m, d)
		if err != nil {
			var p *report.Problem
			if !errors.As(err, &p) || p.Exit != report.ExitUsage && p.Exit != report.ExitNo || p.Do.IsZero() {
				t.Fatalf("not a problem with an exit and advice: %v", err)
			}
			refused++
			return
		}
		plans++
		keepsTheRules(t, s, w, &f, m)
		again, err := Steps(w, &f, m, d)
		if err != nil || spelt(again, err) != spelt(s, nil) {
			t.Fatal("the same question gives another plan")
		}
	})
	t.Logf("%d plans, %d refusals", plans, refused)
	if plans < 10 || refused < 1 {
		t.Error("the draw is one-sided")
	}
}

func change(t *rapid.T, f *facts.Facts) {
	switch rapid.IntRange(0, 4).Draw(t, "driver") {
	case 0:
		f.Driver = facts.Fact[facts.Driver]{State: host.Absent}
	case 1:
		f.Driver = facts.Fact[facts.Driver]{State: host.Unknown, Note: "no"}
	case 2:
		f.Driver = facts.Fact[facts.Driver]{State: host.Known, Value: facts.Driver{Version: rapid.SampledFrom(strings.Fields("23.0.3 24.1.0 25.2.0 25.3.rc1 25.5.0 26.0.rc1 99.9.9 odd")).Draw(t, "version")}}
	}
	if rapid.Bool().Draw(t, "no cann") {
		f.CANN = facts.Fact[cann.Installed]{State: host.Absent}
	}
	if rapid.Bool().Draw(t, "container") {
		f.Marks = facts.Fact[[]string]{State: host.Known, Value: []string{"/.dockerenv"}}
	}
}

func anyWant(t *rapid.T) (w Want) {
	pick := func(name, words string) string {
		if rapid.IntRange(0, 2).Draw(t, name+" given") > 0 {
			return ""
		}
		return rapid.SampledFrom(strings.Fields(words)).Draw(t, name)
	}
	w = Want{For: pick("for", "vllm-ascend vllm-ascend@0.23.0 vllm-ascend@0.18.0 mindspore@2.9.0 om om om vlm-ascend vllm-ascend@9.9"),
		CANN: pick("cann", "8.0.0 8.1.RC1 8.3.RC1 8.5.0 9.0.0 9.1.0 9.3.0 8.2.RC"), Driver: pick("hdk", "26.0.RC1 25.2.0 1.2.3"),
		Path: pick("path", "/data/Ascend /data/Ascend /opt/x ../x"), Tmpdir: pick("tmp", "/data/tmp"), UID: pick("uid", "1000"),
		User: rapid.Bool().Draw(t, "user"), SkipOS: rapid.Bool().Draw(t, "skip"), Unfinished: rapid.Bool().Draw(t, "unfinished")}
	if set := pick("with", "torch_npu vllm-ascend mindspore cann cann nonsense"); set != "" {
		w.With = []string{set}
	}
	if rapid.Bool().Draw(t, "managed") {
		w.Managed = []string{"driver", "firmware"}
	}
	return w
}

func keepsTheRules(t *rapid.T, s *Set, w Want, f *facts.Facts, m *matrix.Matrix) {
	at := map[string]int{}
	for i, st := range s.Plan.Steps {
		at[st.ID] = i + 1
		if w.User && st.Root {
			t.Fatalf("a user install has step %s as root", st.ID)
		}
		for _, need := range st.Needs {
			if at[need] == 0 {
				t.Fatalf("%s needs %s, which does not come before it", st.ID, need)
			}
		}
		for _, a := range st.Do {
			if c, ok := a.(plan.Command); ok && strings.ContainsAny(strings.Join(c.Argv, " "), "\x00") {
				t.Fatalf("%s: a NUL in %q", st.ID, c.Argv)
			}
		}
	}
	hdk := at["hdk.driver"] > 0
	driver := f.Driver.Value.Version
	if hdk && (len(w.Managed) > 0 || w.User || f.Driver.State == host.Unknown || len(f.Marks.Value) > 0) {
		t.Fatal("a driver that is not ours to touch is touched")
	}
	v, err := m.Resolve(matrix.Parts{"driver": driver, "cann": s.Parts["cann"]})
	if p := v.Pair("R04", "driver"); hdk && driver != "" && w.Driver == "" && !w.Unfinished && err == nil && p != nil && p.Verdict == matrix.Supported {
		chip, err := m.Resolve(matrix.Parts{"driver": driver, "cann": s.Parts["cann"], "chip": f.Generation.Value})
		if q := chip.Pair("R04", "driver"); err == nil && q != nil && q.Verdict == matrix.Supported {
			t.Fatalf("driver %s is replaced though CANN %s takes it", driver, s.Parts["cann"])
		}
	}
	order := []string{"os.packages", "packages.folder", "user.account", "hdk.driver", "hdk.firmware", "hdk.reboot", "cann.toolkit", "cann.kernels", "cann.ops", "cann.links", "cann.nnal", "python.venv", "python.packages"}
	if st := at["hdk.firmware"]; hdk && st > 0 && st < at["hdk.driver"] {
		order[3], order[4] = order[4], order[3]
		if f.Driver.Absent() {
			t.Fatal("on a bare host the driver comes first")
		}
	}
	last := 0
	for _, id := range order {
		if at[id] > 0 && at[id] < last {
			t.Fatalf("%s comes too early: %v", id, at)
		}
		last = max(last, at[id])
	}
	if s.Verdict.Verdict == matrix.Unsupported && s.Refused() == nil && !slices.ContainsFunc(s.Notes, func(n report.Text) bool { return strings.Contains(n.En, "what is here already") }) {
		t.Fatal("an unsupported stack is neither refused nor told of")
	}
}

// TestAfterTheDriverTheSameCommandGoesOn: with the driver in, which a first run
// put there, the same want gives the same CANN under the same name.
func TestAfterTheDriverTheSameCommandGoesOn(t *testing.T) {
	m, d := knowledge(t)
	for key, w := range wants() {
		f, _ := seen(t, "ubuntu2204-a2-no-driver")
		first, err := Steps(w, f, m, d)
		if err != nil {
			t.Fatal(key, err)
		}
		driver := first.Parts["driver"]
		f.Driver = facts.Fact[facts.Driver]{State: host.Known, Value: facts.Driver{Version: strings.ToLower(driver)}}
		then, err := Steps(w, f, m, d)
		if err != nil || then.Parts["cann"] != first.Parts["cann"] || then.Plan.Name != first.Plan.Name {
			t.Errorf("%s: %v after %v: %v", key, then, first.Parts, err)
			continue
		}
		w.Unfinished = true
		resumed, err := Steps(w, f, m, d)
		if err != nil || driver != "" && len(resumed.Plan.Steps) != len(first.Plan.Steps) {
			t.Errorf("%s: a plan that is gone on with lost steps: %v", key, err)
		}
	}
}

// TestEveryLineCanBePasted gives the lines of the plans to a real shell.
func TestEveryLineCanBePasted(t *testing.T) {
	m, d := knowledge(t)
	n := 0
	for _, name := range described(t) {
		f, _ := seen(t, name)
		for _, w := range wants() {
			w.Path, w.Tmpdir = "/data/it's; $(touch x)/Ascend", "/data/a b"
			s, err := Steps(w, f, m, d)
			if err != nil {
				continue
			}
			var want, lines []string
			for _, st := range s.Plan.Steps {
				for _, a := range st.Do {
					if c, ok := a.(plan.Command); ok && len(c.Argv) > 0 {
						want = append(want, c.Argv...)
						lines = append(lines, "printf '%s\\0' "+report.Line(c.Argv...))
					}
				}
			}
			out, err := exec.Command("/bin/sh", "-c", strings.Join(lines, "\n")).Output()
			if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s: a shell reads %q, meant was %q: %v", name, got, want, err)
			}
			n += len(lines)
		}
	}
	t.Logf("%d lines", n)
}

// TestThePlanIsTakenAndHidesSecrets holds plans against this machine, where
// none of their parts is installed. Nothing is changed.
func TestThePlanIsTakenAndHidesSecrets(t *testing.T) {
	m, d := knowledge(t)
	f, _ := seen(t, "ubuntu2204-a2-no-driver")
	for _, w := range []Want{
		{For: "vllm-ascend@0.23.0", With: []string{"vllm-ascend"}, DockerRuntime: "latest", Pip: Pip{IndexURL: "https://ann:s3cret-one@pypi.example.com/simple",
			Extra: []string{"https://other.example.com/s?token=s3cret-two"}, Proxy: "http://bob:s3cret-three@proxy.example.com:3128", NoProxy: "localhost"}},
		{CANN: "8.3.RC1", With: []string{"torch_npu"}, User: true, Path: filepath.Join(t.TempDir(), "Ascend")},
	} {
		s, err := Steps(w, f, m, d)
		if err != nil {
			t.Fatal(err)
		}
		made, err := plan.Make(t.Context(), host.NewLocal(), s.Plan, plan.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		shown := made.Show()
		text, err := json.Marshal([]any{shown, s.Indexes, s.Notes, s.Findings})
		if err != nil || strings.Contains(string(text), "s3cret") {
			t.Errorf("a secret is shown: %v %s", err, text)
		}
		for _, st := range shown.Steps {
			if st.Keep && st.ID != "os.packages" && st.ID != "user.account" {
				t.Errorf("%s is kept on a machine that has nothing of it", st.ID)
			}
		}
		if err := plan.Agree(t.Context(), plan.Consent{Yes: true, Risks: plan.Risks()}, made); err != nil {
			t.Fatal(err)
		}
		if out, err := made.Run(t.Context()); err == nil || out.State != plan.Nothing || !strings.Contains(err.Error(), "not at hand") {
			t.Errorf("a plan without its packages ran: %v %v", out, err)
		}
	}
}
