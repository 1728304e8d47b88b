//go:build linux

package install

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/host/hosttest"
	"github.com/ascendctl/ascendctl/internal/plan"
)

var every = flag.Bool("install.every", false, "break installs at every point, not at a sample")

// The ways in which a step is broken off.
const (
	cutLine    = "cut connection"
	killRemote = "kill remote process"
	killSelf   = "kill ascendctl"
	fullDisk   = "full disk"
	corrupt    = "corrupt package"
	noSudo     = "refused sudo"
	powerLoss  = "power loss"
	aroundLine = "kill ascendctl around a journal line"
)

var faults = []string{cutLine, killRemote, killSelf, fullDisk, corrupt, noSudo, powerLoss}

// site is a step, and how the host is before and after it.
type site struct {
	*world
	step          plan.Step
	user          string
	before, after map[string]hosttest.Entry
	points        map[string]int
}

// alone is the step as a plan of its own.
func alone(s plan.Step) plan.Plan {
	s.Needs = nil
	return plan.Plan{Name: "one", Title: s.Title, Again: "ascendctl install-cann", Steps: []plan.Step{s}}
}

// whole runs the step to its end, restarts included.
func (s *site) whole(t testing.TB, login string) (plan.Outcome, host.Host, error) {
	t.Helper()
	for {
		h := s.Dial(t, login)
		boots := s.Boots()
		out, err := s.run(t, h, alone(s.step), plan.Risks()...)
		if out.State != plan.Restart || err != nil {
			return out, h, err
		}
		s.restarted(t, boots)
	}
}

// attempt breaks the step off, and heals what was broken.
func (s *site) attempt(t testing.TB, b *breaking, login string) (out plan.Outcome, err error) {
	t.Helper()
	raw, err := host.Connect(t.Context(), s.Target(t, login), s.Options(t))
	if err != nil {
		t.Fatal(err)
	}
	b.Host, b.t, b.w = raw, t, s.world
	if b.name != "" && b.kind != corrupt {
		_ = os.Remove(s.holds(b.name + ".reached"))
		s.Sh(t, `: >"/.laid/hold/$1"`, b.name)
	}
	boots, asked := s.Boots(), s.reboots(t)
	defer func() {
		if r := recover(); r != nil && r != any(errGone) {
			panic(r)
		}
		raw.Close()
		_ = os.Remove(s.holds(b.name))
		_ = os.Remove(s.holds("spoil"))
		if s.reboots(t) > asked { // also by a run of which nobody hears any more
			s.restarted(t, boots)
		}
		for _, heal := range b.heal {
			heal()
		}
	}()
	p := alone(s.step)
	if b.kind == corrupt {
		s.corrupt(t, b, &p)
	}
	return s.run(t, b, p, plan.Risks()...)
}

// reboots counts how often the host was told to restart.
func (s *site) reboots(t testing.TB) (n int) {
	for _, call := range s.Calls(t) {
		n += count01(call == "systemctl reboot")
	}
	return n
}

// corrupt damages the package on its way (even), or where it lies.
func (s *site) corrupt(t testing.TB, b *breaking, p *plan.Plan) {
	t.Helper()
	if b.name == "pip" {
		b.hit = true
		s.Sh(t, ": >/.laid/hold/spoil")
		return
	}
	if b.deep%2 == 1 {
		return
	}
	b.hit = true
	acts := slices.Clone(p.Steps[0].Do)
	for i, a := range acts {
		if u, ok := a.(plan.Upload); ok {
			u.Src = &spoilt{src: u.Src, size: u.Size}
			acts[i] = u
		}
	}
	p.Steps[0].Do = acts
}

// broken breaks the step off, and then either repeats it and takes it back, or
// takes it back at once (how 1). The end is that of an unbroken run, and the
// start is that of before.
func (s *site) broken(t testing.TB, b *breaking, how int) {
	t.Helper()
	login := s.user
	if login == "" && b.kind != noSudo {
		login = "root" // three times as fast as through sudo
	}
	b.step = s.step
	if s.step.ID == "os.packages" {
		s.Sh(t, "rm -f /var/lib/rpm/simulated")
	}
	out, err := s.attempt(t, b, login)
	where := fmt.Sprintf("%s: %s, %d: %s %v", s.step.ID, cmp.Or(b.name, "its call")+" "+b.kind, b.deep, out.State, err)
	if !b.hit {
		t.Errorf("%s: it was not felt", where)
		return
	}
	s.points[b.kind]++
	if out.State == plan.Undone {
		s.same(t, s.before, where+"; it says undone, and")
	}
	if how != 1 {
		again, _, err := s.whole(t, login)
		if err != nil {
			t.Errorf("%s; again: %+v %v\n%s", where, again, err, told(err))
			return
		}
		s.same(t, s.after, where+"; after the same command again")
		s.tidy(t, where+"; after the same command again")
	}
	if back, err := s.undo(t, s.Dial(t, login), ""); err != nil && !nothingLeft(err) {
		t.Errorf("%s; undo: %+v %v\n%s", where, back, err, told(err))
	}
	s.same(t, s.before, where+"; after undo")
	s.tidy(t, where+"; after undo")
}

// tidy: no package, and nothing that an installer unpacked, is left in our folders.
func (s *site) tidy(t testing.TB, when string) {
	t.Helper()
	if left := s.Sh(t, "find /var/lib/ascendctl/stage /home/ubuntu/.local/state/ascendctl/stage -mindepth 1 2>/dev/null || :"); left != "" {
		t.Errorf("%s there still is\n%s", when, left)
	}
}

// nothingLeft: the broken run had changed nothing, or taken all back.
func nothingLeft(err error) bool { return strings.Contains(err.Error(), "no change to take back") }

// visit breaks a step in every way that applies to it, then does it for good.
func (s *site) visit(t *testing.T, nth int) {
	t.Helper()
	s.Sh(t, "rm -rf /var/lib/ascendctl/journal /home/ubuntu/.local/state/ascendctl/journal")
	s.before = s.snapshot(t)
	count := &breaking{kind: aroundLine, deep: 1 << 20, step: s.step}
	if _, err := s.attempt(t, count, cmp.Or(s.user, "root")); err != nil {
		t.Fatalf("%s: %v\n%s", s.step.ID, err, told(err))
	}
	if _, _, err := s.whole(t, cmp.Or(s.user, "root")); err != nil {
		t.Fatalf("%s: %v", s.step.ID, err)
	}
	s.after = s.snapshot(t)
	if count.lines == 0 { // the steps before it have done it on their way
		return
	}
	if s.step.ID == "os.packages" || s.step.ID == "hdk.reboot" { // not taken back, so every break starts from them
		s.before = s.after
	} else if _, err := s.undo(t, s.Dial(t, cmp.Or(s.user, "root")), ""); err != nil {
		t.Fatalf("%s: undo %v\n%s", s.step.ID, err, told(err))
	}
	s.same(t, s.before, s.step.ID+" done and undone")
	uploads := slices.ContainsFunc(s.step.Do, func(a plan.Act) bool { _, ok := a.(plan.Upload); return ok })
	brief := s.user == "" && !*every && slices.Contains([]string{"cann.nnal", "python.venv", "python.packages"}, s.step.ID)
	for k, kind := range faults {
		if kind == corrupt && !uploads && s.step.ID != "python.packages" || kind == noSudo && !s.step.Root ||
			brief && slices.Contains([]string{cutLine, killSelf, corrupt}, kind) { // the other host has these
			continue
		}
		for round := range 1 + 5*count01(*every) {
			where := []string{"late", "early", "middle"}[(nth+k+round)%3]
			if round == 0 && (kind == killRemote || kind == powerLoss) {
				where = "late" // the version can be read already, and not all is there
			}
			s.broken(t, &breaking{kind: kind, name: holdOf(s.step.ID, where), deep: nth + k + round}, (nth+k+round/3)%2)
		}
	}
	stride := 19
	switch {
	case *every:
		stride = 1
	case brief:
		stride = 40
	}
	for at := nth % stride; at < 2*count.lines; at += stride {
		s.broken(t, &breaking{kind: aroundLine, deep: at}, at%3)
	}
	if _, _, err := s.whole(t, cmp.Or(s.user, "root")); err != nil {
		t.Fatalf("%s: %v", s.step.ID, err)
	}
}

func count01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestEveryStepSurvivesEveryBreak breaks each step of an install off in every
// way; the same command reaches the same end, and undo the start.
func TestEveryStepSurvivesEveryBreak(t *testing.T) {
	for name, c := range map[string]struct {
		system bareSystem
		want   Want
		user   string
	}{
		"as root on a bare openEuler": {openEuler, Want{For: "vllm-ascend@0.23.0", With: []string{"vllm-ascend"}}, ""},
		"for one user on a Debian":    {debian, Want{CANN: "8.1.RC1", User: true, With: []string{"torch_npu"}}, "ubuntu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := layBare(t, c.system)
			h := w.Dial(t, "")
			c.want.Pip.IndexURL = w.index(t, w.steps(t, h, c.want).Pins...)
			s := &site{world: w, user: c.user, points: map[string]int{}}
			began := time.Now()
			for i, step := range w.steps(t, h, c.want).Plan.Steps {
				s.step = step
				s.visit(t, i)
				t.Logf("%s: %d points so far, %v", step.ID, total(s.points), time.Since(began).Round(time.Second))
				if t.Failed() {
					break
				}
			}
			if !t.Failed() {
				t.Logf("%d points, 100 %% converged and undone: %v", total(s.points), s.points)
				t.Logf("not restored by undo: %s; /tmp of a killed pip; device nodes, which follow the restarts", strings.Join(sorted(stays("~")), " "))
			}
		})
	}
}

func total(points map[string]int) (n int) {
	for _, k := range points {
		n += k
	}
	return n
}
