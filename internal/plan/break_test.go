//go:build unix

package plan

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

var every = flag.Bool("plan.every", false, "break at every command of every call, not at a sample")

// parts are the steps of the sample as plans of their own, and the whole.
func parts(root string) (ps []Plan) {
	whole := sample(root)
	for _, s := range whole.Steps {
		s.Needs = nil
		ps = append(ps, Plan{Name: whole.Name, Title: whole.Title, Steps: []Step{s}})
	}
	return append(ps, whole)
}

// broken is one break of one part and how to look at what came of it.
type broken struct {
	part int
	want map[string]string // the end of an unbroken run
}

// unbroken runs a part and counts its calls and its points.
func unbroken(t testing.TB, part int) (b broken, calls, points int) {
	root, dir := world(t)
	h, o := &breaking{Host: host.NewLocal()}, options(dir, "")
	o.hook = func(point) error { points++; return nil }
	if out, err := apply(t, h, parts(root)[part], o); err != nil {
		t.Fatalf("part %d: %+v %v", part, out, err)
	}
	return broken{part, snapshot(t, root)}, h.calls, points
}

// TestEveryBreakConverges breaks runs at each call and, in scripts, deep in
// them; then the same command must reach the same end, and undo the start.
func TestEveryBreakConverges(t *testing.T) {
	points, total := map[string]int{}, 0
	for part := range parts("/x") {
		b, calls, _ := unbroken(t, part)
		stride := 1
		if calls > 40 && !*every { // the whole plan: the parts have its calls
			stride = 23
		}
		for at := 1; at <= calls; at += stride {
			for k, kind := range []string{cutLine, killRemote, fullDisk, noSudo} {
				if !*every && (at+part+k)%6 > 0 { // the kinds take turns
					continue
				}
				deep, next := 1+at*7%20, 0
				if *every && k < 2 && calls <= 40 {
					deep, next = 1, 1
				}
				for felt := true; felt && !t.Failed(); deep += next {
					felt = b.converge(t, &breaking{kind: kind, at: at, deep: deep}, 0)
					points[kind] += count(felt)
					total += count(felt)
					if next == 0 {
						break
					}
				}
			}
		}
		t.Logf("part %d, %d calls: %d points so far", part, calls, total)
	}
	t.Logf("%d points, 100 %% converged and undone: %v", total, points)
	if total < 40 {
		t.Errorf("only %d points were felt", total)
	}
}

// TestKilledAroundEveryJournalWrite ends this side before and after each line
// of the journal and each act; the host never hears of it again.
func TestKilledAroundEveryJournalWrite(t *testing.T) {
	seen, total := map[string]int{}, 0
	for part := range parts("/x") {
		b, calls, points := unbroken(t, part)
		stride := 1 + 2*count(!*every)
		if calls > 40 && !*every {
			stride = 41
		}
		for at := 1 + part%stride; at <= points; at += stride {
			n := 0
			h := &breaking{kind: killSelf}
			h.hook = func(p point) error {
				if n++; n == at {
					seen[p.where]++
					h.dead = true
					panic(errKilled)
				}
				return nil
			}
			if !b.converge(t, h, at%3) {
				t.Fatalf("point %d of %d was never reached", at, points)
			}
			total++
		}
		t.Logf("part %d, %d lines and acts: %d points so far", part, points, total)
	}
	t.Logf("%d points, 100 %% converged and undone: %v", total, seen)
	for _, where := range []string{"before lock", "after lock", "before open", "after open", "before begin", "after begin", "before do", "after do", "before done", "after done", "before end", "after end"} {
		if seen[where] == 0 {
			t.Errorf("no run was killed %s", where)
		}
	}
}

// converge breaks one run, repeats it and takes it back; with how 1 it is taken
// back at once. It says whether the break was felt.
func (b broken) converge(t testing.TB, h *breaking, how int) bool {
	t.Helper()
	root, dir := world(t)
	before := snapshot(t, root)
	plan := parts(root)[b.part]
	pid, kill := holder(t)
	h.Host = host.NewLocal()
	o := options(dir, pid)
	if h.hook != nil {
		o.hook = h.hook
	}
	out, err := mayDie(func() (Outcome, error) { return apply(t, h, plan, o) })
	kill()
	where := fmt.Sprintf("part %d: %s at call %d deep %d: %+v %v", b.part, h.kind, h.at, h.deep, out, err)
	same := func(want map[string]string, when string) {
		if d := cmp.Diff(want, snapshot(t, root)); d != "" {
			t.Errorf("%s; %s\n%s", where, when, d)
		}
	}
	if out.State == Undone {
		same(before, "said undone, but")
	}
	local := host.NewLocal()
	if how != 1 {
		if again, err := apply(t, local, plan, options(dir, "")); err != nil {
			t.Errorf("%s; again: %+v %v", where, again, err)
		}
		same(b.want, "another end state")
	}
	if back, err := takeBack(t, local, "", options(dir, "")); err != nil && (how != 1 || exitOf(err) != report.ExitUsage) {
		t.Errorf("%s; undo: %+v %v", where, back, err)
	}
	same(before, "undo left")
	return h.hit || err == errKilled
}

// TestATreeMovesBetweenDisks: where the journal lies on another disk, moving is
// copying and removing, and may end in between.
func TestATreeMovesBetweenDisks(t *testing.T) {
	points := 0
	for deep := 1; ; deep += 1 + 2*count(!*every) {
		root, _ := world(t)
		dir, before := t.TempDir(), snapshot(t, root)
		p := one(Gone{root + "/opt/old"})
		b := &breaking{Host: host.NewLocal(), kind: cutLine, at: 6, deep: deep} // where, looks, lock, where, looks, open
		b.at += 3                                                               // looks, begin, take
		pid, kill := holder(t)
		apply(t, b, p, options(dir, pid))
		kill()
		undo := &breaking{Host: host.NewLocal(), kind: cutLine, at: 4, deep: deep} // where, lock, where, restore
		pid, kill = holder(t)
		if _, err := apply(t, host.NewLocal(), p, options(dir, pid)); err != nil {
			t.Errorf("deep %d: %v", deep, err)
		}
		if _, err := os.Lstat(root + "/opt/old"); err == nil {
			t.Errorf("deep %d: it is still there", deep)
		}
		takeBack(t, undo, "", options(dir, pid))
		kill()
		if _, err := takeBack(t, host.NewLocal(), "", options(dir, "")); err != nil && exitOf(err) != report.ExitUsage {
			t.Errorf("deep %d: %v", deep, err)
		}
		if d := cmp.Diff(before, snapshot(t, root)); d != "" {
			t.Errorf("deep %d: %s", deep, d)
		}
		if points += count(b.hit) + count(undo.hit); !b.hit && !undo.hit || t.Failed() {
			break
		}
	}
	t.Logf("%d points", points)
	if points < 8 {
		t.Error("the breaks were not felt")
	}
}

var errKilled = fmt.Errorf("killed")

func mayDie(f func() (Outcome, error)) (out Outcome, err error) {
	defer func() {
		if r := recover(); r == errKilled {
			err = errKilled
		} else if r != nil {
			panic(r)
		}
	}()
	return f()
}
