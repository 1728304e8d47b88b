package check

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

func ours() *book.Book { return book.New(book.Layer{Name: "compat", FS: compat.FS}) }

func catalogue(t testing.TB) *Catalogue {
	t.Helper()
	m, err := matrix.Load(book.Layer{Name: "compat", FS: compat.FS})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(ours(), m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func describe(t testing.TB, file string) *host.Description {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := host.LoadDescription(filepath.Base(file), data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sceneOf is what the flags of preflight would make of a description's target.
func sceneOf(w host.Wanted) Scene { return Of(w) }

// TestEveryVerdictOfTheCases holds Host against the verdict of every described
// host: each status, the roots that explain it, overall and exit.
func TestEveryVerdictOfTheCases(t *testing.T) {
	c := catalogue(t)
	files, err := filepath.Glob("../../testdata/cases/hosts/*.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d descriptions: %v", len(files), err)
	}
	for _, file := range files {
		d := describe(t, file)
		s := Of(d.Target)
		got := Host(c, see(t, c, d, s), s)
		for _, w := range d.Verdict.Checks {
			i := slices.IndexFunc(got, func(f report.Finding) bool { return f.ID == w.ID })
			if i < 0 {
				t.Errorf("%s: no check %s", d.ID, w.ID)
				continue
			}
			if f := got[i]; !slices.Contains(w.Status, string(f.Status)) || !slices.Equal(w.Because, f.Because) {
				t.Errorf("%s: %s: want %v because %v (%s), got %s because %v: %+v", d.ID, w.ID, w.Status, w.Because, w.Why, f.Status, f.Because, f.Evidence)
			}
		}
		if overall, exit := Overall(got); string(overall) != d.Verdict.Overall || int(exit) != d.Verdict.Exit {
			t.Errorf("%s: want overall %s exit %d, got %s %d", d.ID, d.Verdict.Overall, d.Verdict.Exit, overall, exit)
		}
	}
}

// see looks at a described host as preflight does.
func see(t testing.TB, c *Catalogue, d *host.Description, s Scene) *facts.Facts {
	t.Helper()
	o := c.Wants(s)
	o.Reach = unique(append(o.Reach, keys(d.Facts.Reachable)...)) // a person names further mirrors
	var err error
	if o.Chips, err = book.Rows[facts.Chip](ours(), "soc.yaml", "pci"); err != nil {
		t.Fatal(err)
	}
	if o.Boards, err = book.Rows[facts.Board](ours(), "soc.yaml", "boards"); err != nil {
		t.Fatal(err)
	}
	f := facts.Collect(context.Background(), host.Replay(d.ID, d), o)
	return &f
}
