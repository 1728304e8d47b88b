package check

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
)

func ours() *book.Book { return book.New(book.Layer{Name: "compat", FS: compat.FS}) }

func catalogue(t testing.TB) *Catalogue {
	t.Helper()
	c, err := Load(ours())
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
func sceneOf(w host.Wanted) Scene {
	return Scene{Task: w.Task, CANN: w.Cann, Chip: w.Chip, Engine: w.Engine, Installs: w.Installs, Managed: w.Managed,
		Product: w.Product, User: w.User, Cards: w.Cards, Devices: w.Devices, Nodes: w.Nodes, Ports: w.Ports, Uses: w.Uses,
		InstallPath: w.InstallPath, Online: w.Online, Deep: w.Deep}
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
