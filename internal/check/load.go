package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/settings"
)

// Catalogue holds the checks in two orders: as people read them, and as they
// are judged, needs first.
type Catalogue struct {
	groups []Group
	specs  []Spec
	at     map[string]int
	order  []int

	matrix   *matrix.Matrix // nil: what reads it is unknown
	settings *settings.Settings
}

const file = "checks.yaml"

// Load reads the catalogue, with the version matrix and the settings that its
// judges know; m may be nil for who only lists. It refuses ids that do not exist and circles of
// needs, which would make a cause its own consequence.
func Load(b *book.Book, m *matrix.Matrix) (*Catalogue, error) {
	groups, err := book.Rows[Group](b, file, "groups")
	if err != nil {
		return nil, err
	}
	specs, err := book.Rows[Spec](b, file, "checks")
	if err != nil {
		return nil, err
	}
	known, err := settings.Load(b)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{groups: groups, specs: specs, at: map[string]int{}, matrix: m, settings: known}
	slices.SortStableFunc(c.specs, func(x, y Spec) int { return cmp.Compare(c.rank(x.ID), c.rank(y.ID)) })
	for i, s := range c.specs {
		c.at[s.ID] = i
	}
	if err := c.sort(); err != nil {
		return nil, &report.Problem{
			What: report.T("the catalogue of checks cannot be used", "检查项目录无法使用"),
			Why:  report.Same(file + ": " + err.Error()),
			Do:   report.T("correct the rows that --compat adds", "修正 --compat 所加的行"),
			Exit: report.ExitUsage,
		}
	}
	return c, nil
}

// rank is the place of a check's group.
func (c *Catalogue) rank(id string) int {
	return slices.IndexFunc(c.groups, func(g Group) bool { return g.ID == groupOf(id) })
}

func groupOf(id string) string {
	g, _, _ := strings.Cut(id, ".")
	return g
}

// sort walks the needs depth first.
func (c *Catalogue) sort() error {
	const walking, done = 1, 2
	state := make([]int, len(c.specs))
	var visit func(i int, path []string) error
	visit = func(i int, path []string) error {
		s := c.specs[i]
		path = append(path, s.ID)
		if state[i] == walking {
			return fmt.Errorf("a circle of needs: %s", strings.Join(path[slices.Index(path, s.ID):], " -> "))
		}
		if state[i] == done {
			return nil
		}
		state[i] = walking
		for _, id := range s.before() {
			k, ok := c.at[id]
			if !ok {
				return fmt.Errorf("%s: needs or when name %s, which is no check", s.ID, id)
			}
			if err := visit(k, path); err != nil {
				return err
			}
		}
		state[i] = done
		c.order = append(c.order, i)
		return nil
	}
	for i, s := range c.specs {
		if c.rank(s.ID) < 0 {
			return fmt.Errorf("%s: there is no group %s", s.ID, groupOf(s.ID))
		}
		if err := visit(i, nil); err != nil {
			return err
		}
	}
	return nil
}

// Row is a check as `list checks` shows it.
type Row struct {
	ID       string          `json:"id"`
	Group    string          `json:"group"`
	Severity report.Severity `json:"severity"`
	Text     report.Text     `json:"text"`
}

// List gives the checks in the order people read them.
func (c *Catalogue) List() []Row {
	rows := make([]Row, len(c.specs))
	for i, s := range c.specs {
		rows[i] = Row{s.ID, groupOf(s.ID), s.Severity, s.Title}
	}
	return rows
}

// IDs gives the names of all checks.
func (c *Catalogue) IDs() []string {
	ids := make([]string, len(c.specs))
	for i, s := range c.specs {
		ids[i] = s.ID
	}
	return ids
}

// Groups gives the headings in order.
func (c *Catalogue) Groups() []Group { return slices.Clone(c.groups) }

// Spec gives the row of a check.
func (c *Catalogue) Spec(id string) (Spec, bool) {
	i, ok := c.at[id]
	if !ok {
		return Spec{}, false
	}
	return c.specs[i], true
}

// Cured is true for a finding that goes away when these are installed, so that
// an installation does not stop for what it came to repair.
func (c *Catalogue) Cured(f report.Finding, installs []string) bool {
	s, ok := c.Spec(f.ID)
	return ok && overlap(s.CuredBy, installs)
}

// Wants says what must be looked for so that the checks of a scene can judge.
func (c *Catalogue) Wants(s Scene) facts.Options {
	o := facts.Options{Serving: s.task() == "serve" || s.task() == "train", MultiNode: s.multiNode(), Deep: s.Deep,
		RankTable: s.RankTable, Peers: s.Peers}
	if s.InstallPath != "" {
		o.Disks = append(o.Disks, s.InstallPath)
		o.Roots = append(o.Roots, s.InstallPath)
	}
	if spec, ok := c.Spec("net.mirror"); ok && s.Online {
		o.Reach = spec.list("hosts")
	}
	return o
}
