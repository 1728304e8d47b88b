//go:build unix

package plan

import (
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/host"
)

// anyPlan draws acts on paths of the world that do not spoil each other.
func anyPlan(rt *rapid.T, root string) Plan {
	p := Plan{Name: "any", Title: title("any")}
	mode := rapid.SampledFrom([]fs.FileMode{0, 0o600, 0o755, 0o644 | fs.ModeSticky, 0o4711 &^ 0o4000})
	data := rapid.SliceOfN(rapid.Byte(), 0, 40)
	name := rapid.StringMatching(`[a-z '"$*;-]{1,6}`)
	file := func(path string) Act {
		return File{Path: path, Data: data.Draw(rt, "data"), Mode: mode.Draw(rt, "mode")}
	}
	fresh := root + "/opt/" + name.Draw(rt, "dir") + "_"
	choices := [][]Act{
		{file(root + "/etc/app.conf")},
		{file(root + "/etc/" + name.Draw(rt, "file") + ".x")},
		{file(root + "/opt/current")},
		{Link{root + "/home/" + name.Draw(rt, "link") + ".l", name.Draw(rt, "target")}},
		{Dir{Path: fresh, Mode: mode.Draw(rt, "mode") | 0o700}, file(fresh + "/a"), Dir{Path: fresh + "/b"}, Copy{root + "/srv", fresh + "/b/c"}},
		{Gone{root + "/opt/old"}},
		{Gone{root + "/home/it's a name"}, Gone{root + "/etc/secret"}},
		{Line{Path: root + "/home/.bashrc", Text: "-" + name.Draw(rt, "line")}, Line{Path: root + "/home/.bashrc", Text: "#"}},
		{Dir{Path: root + "/etc/conf.d", Mode: 0o700}},
		{Command{Argv: []string{"/bin/sh", "-c", `cd "$1" && mkdir -p in/x && echo a >in/x/f && ln -sfn f in/x/l && chmod 710 in && echo ok >done`, "sh", root + "/var"}, Check: Exists(root + "/var/done"), Touch: []Touch{{Path: root + "/var", Tree: true}}}},
	}
	for i, on := range rapid.SliceOfN(rapid.Bool(), len(choices), len(choices)).Draw(rt, "which") {
		if on || i == 0 {
			p.Steps = append(p.Steps, Step{ID: fmt.Sprint(i), Title: title("t"), Do: choices[i]})
		}
	}
	return p
}

// TestAnyPlanBrokenAnywhereConverges: random plans, random breaks.
func TestAnyPlanBrokenAnywhereConverges(t *testing.T) {
	n, felt := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		if n >= 8 && !*every { // rapid asks for a hundred
			return
		}
		n++
		root, dir := world(t)
		p := anyPlan(rt, root)
		before := snapshot(t, root)
		kind := rapid.SampledFrom([]string{cutLine, killRemote, fullDisk, noSudo}).Draw(rt, "kind")
		asRoot := rapid.Bool().Draw(rt, "root")
		for i := range p.Steps {
			p.Steps[i].Root = asRoot || kind == noSudo
		}
		whole := &breaking{Host: host.NewLocal()}
		if out, err := apply(t, whole, p, options(dir, "")); err != nil {
			rt.Fatalf("unbroken: %+v %v", out, err)
		}
		want := snapshot(t, root)
		if out, err := takeBack(t, host.NewLocal(), "", options(dir, "")); err != nil {
			rt.Fatalf("undo: %+v %v", out, err)
		}
		if d := cmp.Diff(before, snapshot(t, root)); d != "" {
			rt.Fatalf("undo left %s", d)
		}
		must(t, os.RemoveAll(dir))
		b := &breaking{Host: host.NewLocal(), kind: kind, at: rapid.IntRange(1, whole.calls).Draw(rt, "at"), deep: rapid.IntRange(1, 60).Draw(rt, "deep")}
		pid, kill := holder(t)
		out, err := apply(t, b, p, options(dir, pid))
		kill()
		felt += count(b.hit)
		if out.State == Undone {
			if d := cmp.Diff(before, snapshot(t, root)); d != "" {
				rt.Fatalf("%v: said undone, but %s", err, d)
			}
		}
		if again, err := apply(t, host.NewLocal(), p, options(dir, "")); err != nil {
			rt.Fatalf("%+v, again: %+v %v", out, again, err)
		}
		if d := cmp.Diff(want, snapshot(t, root)); d != "" {
			rt.Fatalf("another end state: %s", d)
		}
		if len(want) > 0 && !cmp.Equal(before, want) {
			if back, err := takeBack(t, host.NewLocal(), "", options(dir, "")); err != nil {
				rt.Fatalf("undo: %+v %v", back, err)
			}
		}
		if d := cmp.Diff(before, snapshot(t, root)); d != "" {
			rt.Fatalf("undo left %s", d)
		}
	})
	t.Logf("%d plans, %d breaks felt, all converged and undone", n, felt)
}
