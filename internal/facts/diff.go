package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/host"
)

// Entry is one comparable thing about a host. Serial numbers, addresses, times
// and load make no entries: they differ between any two hosts.
type Entry struct {
	Key   string     `json:"key"`             // "driver", "env LD_LIBRARY_PATH", "python torch-npu"
	Check string     `json:"check,omitempty"` // the check that judges it
	State host.State `json:"state"`
	Text  string     `json:"text,omitempty"`  // what is compared
	Short string     `json:"short,omitempty"` // what a screen shows instead, when Text is long
}

// Verdict is how two entries compare.
type Verdict string

const (
	Same    Verdict = "same"
	Differs Verdict = "differs"
	Unsure  Verdict = "unsure" // one side could not be asked: no difference was seen
)

// Compared is one key on two hosts.
type Compared struct {
	Key     string  `json:"key"`
	Check   string  `json:"check,omitempty"`
	Verdict Verdict `json:"verdict"`
	A       Entry   `json:"a"`
	B       Entry   `json:"b"`
}

// Diff compares two hosts key by key: what differs first, in the order of what
// most likely matters, then what is unsure, then what is the same.
func Diff(a, b *Facts) []Compared {
	left, right := a.Entries(), b.Entries()
	var out []Compared
	for _, key := range keys(left, right) {
		x, y := find(left, key), find(right, key)
		c := Compared{Key: key, Check: cmp.Or(x.Check, y.Check), A: x, B: y, Verdict: verdict(x, y)}
		out = append(out, c)
	}
	order := []Verdict{Differs, Unsure, Same}
	slices.SortStableFunc(out, func(p, q Compared) int {
		return cmp.Compare(slices.Index(order, p.Verdict), slices.Index(order, q.Verdict))
	})
	return out
}

func verdict(x, y Entry) Verdict {
	switch {
	case !x.sure() || !y.sure():
		return Unsure
	case x.State != y.State || x.Text != y.Text:
		return Differs
	}
	return Same
}

func (e Entry) sure() bool { return e.State == host.Known || e.State == host.Absent }

// Drift is one key on which hosts of a fleet differ.
type Drift struct {
	Key      string   `json:"key"`
	Check    string   `json:"check,omitempty"`
	Majority Entry    `json:"majority"`
	Has      []string `json:"has"` // hosts with it
	Others   []Other  `json:"others"`
	Unsure   []string `json:"unsure,omitempty"` // hosts that could not be asked
}

// Other is a value that is not the majority's, and who has it.
type Other struct {
	Entry Entry    `json:"entry"`
	Hosts []string `json:"hosts"`
}

// Drifts tells what differs over a fleet, in the order of what most likely
// matters. The most frequent value is the majority; of two as frequent ones
// that of the earlier host.
func Drifts(fleet []*Facts) (out []Drift) {
	all := make([][]Entry, len(fleet))
	for i, f := range fleet {
		all[i] = f.Entries()
	}
	for _, key := range keys(all...) {
		if d, differs := drift(key, fleet, all); differs {
			out = append(out, d)
		}
	}
	return out
}

func drift(key string, fleet []*Facts, all [][]Entry) (Drift, bool) {
	d := Drift{Key: key}
	var groups []Other
	for i, entries := range all {
		e := find(entries, key)
		d.Check = cmp.Or(d.Check, e.Check)
		if !e.sure() {
			d.Unsure = append(d.Unsure, fleet[i].Target)
			continue
		}
		at := slices.IndexFunc(groups, func(o Other) bool { return verdict(o.Entry, e) == Same })
		if at < 0 {
			groups, at = append(groups, Other{Entry: e}), len(groups)
		}
		groups[at].Hosts = append(groups[at].Hosts, fleet[i].Target)
	}
	if len(groups) < 2 {
		return d, false
	}
	slices.SortStableFunc(groups, func(p, q Other) int { return cmp.Compare(len(q.Hosts), len(p.Hosts)) })
	d.Majority, d.Has, d.Others = groups[0].Entry, groups[0].Hosts, groups[1:]
	return d, true
}

// keys merges the keys of all in the order of rows, and inside a row by name.
// The bare kind, which a host has that tells nothing of it, is left out where
// another host tells more.
func keys(all ...[]Entry) []string {
	seen, told := map[string]bool{}, map[string]bool{}
	for _, entries := range all {
		for _, e := range entries {
			seen[e.Key] = true
			if kind, _, listed := strings.Cut(e.Key, " "); listed {
				told[kind] = true
			}
		}
	}
	var out []string
	for key := range seen {
		if !told[key] {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(p, q string) int {
		_, i := rowOf(p)
		_, j := rowOf(q)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(p, q))
	})
	return out
}

// find gives the entry of a key. A name that a whole list does not have is
// absent; any other that is not there is unknown.
func find(entries []Entry, key string) Entry {
	kind, _, listed := strings.Cut(key, " ")
	r, _ := rowOf(key)
	missing := Entry{Key: key, Check: r.check, State: host.Unknown}
	for _, e := range entries {
		k, _, _ := strings.Cut(e.Key, " ")
		switch {
		case e.Key == key:
			return e
		case k == kind && listed && (r.whole && e.sure() || e.State == host.Absent):
			missing.State = host.Absent
		}
	}
	return missing
}

// rowOf is the row that makes the key, and its place.
func rowOf(key string) (row, int) {
	kind, _, _ := strings.Cut(key, " ")
	i := slices.IndexFunc(rows, func(r row) bool { return r.kind == kind })
	return rows[i], i
}
