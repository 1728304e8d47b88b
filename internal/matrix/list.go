package matrix

import (
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// ListRow is one row as a person reads it.
type ListRow struct {
	Section string `json:"section"` // FILE.SECTION
	ID      string `json:"id"`
	Source  string `json:"source"`
	Date    string `json:"date,omitempty"`
	Status  string `json:"status,omitempty"`
	At      string `json:"at"`    // LAYER/FILE, with the line where the layers were read from YAML
	Cells   []Cell `json:"cells"` // the other keys, in the order of the row
}

// Cell is one key of a row; lists are joined with commas.
type Cell struct {
	Key   string      `json:"key"`
	Value report.Text `json:"value"`
}

// List gives the rows of a section (driver.cann_hdk), a file (driver) or all
// (""), in the order of the files; with a filter, those that name every given
// part with that version. An unknown section is a *report.Problem (exit 64).
func (m *Matrix) List(section string, filter Parts) ([]ListRow, error) {
	if err := filter.check(); err != nil {
		return nil, err
	}
	var names []string
	for _, name := range Sections() {
		if file, _, _ := strings.Cut(name, "."); section == "" || section == name || section == file {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		known := Sections()
		for file := range sections {
			known = append(known, file)
		}
		return nil, usage(report.T("no table of the matrix is called %q%s", "版本配套表没有名为 %q 的表%s", section, report.Meant(section, known)),
			report.T("the tables are: %s", "可用的表：%s", strings.Join(Sections(), ", ")))
	}
	out := []ListRow{}
	for _, name := range names {
		rows := m.section(name)
		for i := range rows {
			if r := &rows[i]; m.named(name, r, filter) {
				out = append(out, listed(name, r))
			}
		}
	}
	return out, m.failed()
}

// rowKeys are the keys under which rows name a part, where it is not its name.
var rowKeys = map[string][]string{"driver": {"hdk"}, "cann": {"cann", "toolkit"}, "chip": {"chips", "soc", "generation", "chip"},
	"os": {"os"}, "product": {"product", "alias"}}

// named is true when the row names every part of the filter.
func (m *Matrix) named(section string, r *book.Row, filter Parts) bool {
	for part, text := range filter {
		keys := rowKeys[part]
		if keys == nil {
			keys = []string{part}
		}
		if part == "cann" && section == "cann.releases" {
			keys = []string{"version"}
		}
		if !slices.ContainsFunc(keys, func(k string) bool { return m.names(r.Get(k), part, text) }) {
			return false
		}
	}
	return true
}

func (m *Matrix) names(v book.Value, part, text string) bool {
	switch scheme := schemeOf(part); {
	case part == "chip":
		c, ok := m.Chip(text)
		return ok && c.among(v.Strings())
	case part == "cann":
		return parseAny(CANN, v.Strings()).has(m.cann(text))
	case scheme == Text:
		return slices.ContainsFunc(v.Strings(), func(s string) bool { return strings.EqualFold(s, text) })
	default:
		want, _ := Parse(scheme, text)
		return parseAny(scheme, v.Strings()).has(want)
	}
}

func listed(section string, r *book.Row) ListRow {
	out := ListRow{Section: section, ID: r.ID, Source: r.Str("source"), Status: r.Str("status"), At: r.At, Cells: []Cell{}}
	out.Date = dateOf(out.Source)
	if d := r.Str("date"); d != "" {
		out.Date = d
	}
	for _, f := range r.Map {
		if !slices.Contains([]string{"id", "source", "status", "date"}, f.Key) {
			out.Cells = append(out.Cells, Cell{f.Key, flat(f.Value)})
		}
	}
	return out
}

// flat writes any value in one line of each language.
func flat(v book.Value) report.Text {
	if en := v.Str("en"); en != "" {
		return report.Text{En: en, Zh: v.Str("zh")}
	}
	var en, zh []string
	for _, e := range v.List {
		t := flat(e)
		en, zh = append(en, t.En), append(zh, t.Zh)
	}
	for _, f := range v.Map {
		t := flat(f.Value)
		en, zh = append(en, f.Key+" "+t.En), append(zh, f.Key+" "+t.Zh)
	}
	if len(en) == 0 {
		return report.Same(v.Text)
	}
	return report.Text{En: strings.Join(en, ", "), Zh: strings.Join(zh, ", ")}
}

// Diff is two stacks side by side.
type Diff struct {
	Parts    []Change `json:"parts"` // the parts that differ; empty where a side has none
	A        Verdict  `json:"a"`
	B        Verdict  `json:"b"`
	DataDate string   `json:"data_date"`
}

// Diff compares two stacks part by part and judges both.
func (m *Matrix) Diff(a, b Parts) (Diff, error) {
	va, err := m.Resolve(a)
	if err != nil {
		return Diff{}, err
	}
	vb, err := m.Resolve(b)
	if err != nil {
		return Diff{}, err
	}
	d := Diff{Parts: []Change{}, A: va, B: vb, DataDate: m.DataDay}
	for _, name := range PartNames() {
		if x, y := va.Parts[name], vb.Parts[name]; x != y {
			d.Parts = append(d.Parts, Change{name, x, y})
		}
	}
	return d, nil
}
