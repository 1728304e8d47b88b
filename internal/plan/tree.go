package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// putBack puts every path of a deed back and names what it could not.
func (x *run) putBack(ctx context.Context, d *did) (left []Left, err error) {
	for i, t := range slices.Backward(d.Touch) { // folders first, for paths in them
		if t.How == "tree" {
			if err := x.mend(ctx, slot(d.n, i), t.Path); err != nil {
				return nil, err
			}
		}
	}
	for i, t := range slices.Backward(d.Touch) {
		if t.How == "tree" {
			continue
		}
		out, err := call(ctx, x.site.journal, nil, "restore", x.folder(), t.How, slot(d.n, i), t.Path, t.Line)
		if err != nil {
			return nil, err
		}
		for l := range strings.Lines(out) {
			switch word, place, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " "); word {
			case "kept":
				left = append(left, Left{d.Step, t.Path, "was changed since; that version is now " + place})
			case "left":
				left = append(left, Left{d.Step, t.Path, "is not empty: others have put something there"})
			}
		}
	}
	for i, t := range d.Touch {
		if t.How != "tree" {
			continue
		}
		still, err := x.still(ctx, slot(d.n, i), t.Path)
		if err != nil {
			return nil, err
		}
		for _, l := range still {
			left = append(left, Left{d.Step, l.Path, l.Why})
		}
	}
	return left, nil
}

// node is one line of the list of a tree.
type node struct {
	mark byte // - was, + came by the act, ? came later
	kind string
	mode, uid, gid,
	size, time, target, path string
}

// nodes reads what changes prints.
func nodes(text string) (out []node, err error) {
	for l := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(l, "\n"), "\t", 8)
		if len(f) != 8 || len(f[0]) != 2 || !strings.Contains("-+?", f[0][:1]) {
			return nil, fmt.Errorf("cannot read the list of a tree: %.80q", l)
		}
		out = append(out, node{f[0][0], f[0][1:], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
	}
	return out, nil
}

func (x *run) changes(ctx context.Context, slot, path string) (was, now map[string]node, err error) {
	text, err := call(ctx, x.site.journal, nil, "changes", x.folder(), slot, path)
	if err != nil {
		return nil, nil, err
	}
	all, err := nodes(text)
	was, now = map[string]node{}, map[string]node{}
	for _, n := range all {
		if n.mark == '-' {
			was[n.path] = n
		} else {
			now[n.path] = n
		}
	}
	return was, now, err
}

// mend removes what the deed brought and puts back folders, links, owners and
// modes. Contents are not in a list, so they are somebody else's business.
func (x *run) mend(ctx context.Context, slot, path string) error {
	was, now, err := x.changes(ctx, slot, path)
	if err != nil {
		return err
	}
	var files, dirs []string
	var ops strings.Builder
	for _, p := range slices.Sorted(maps.Keys(now)) {
		n, w := now[p], was[p]
		switch {
		case n.mark != '+' || w.kind != "" && !(w.kind != n.kind && (w.kind == "d" || w.kind == "l")):
		case n.kind == "d":
			dirs = append(dirs, p)
		default:
			files = append(files, p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(was)) {
		if op := was[p].mended(now[p]); op != "" {
			w := was[p]
			fmt.Fprintln(&ops, strings.Join([]string{op, w.mode, w.uid, w.gid, w.target, p}, "\t"))
		}
	}
	slices.Reverse(dirs) // what is inside goes first
	for _, s := range []struct {
		fn, in string
	}{{"strip", zero(files)}, {"stripdirs", zero(dirs)}, {"mend", ops.String()}} {
		if s.in == "" {
			continue
		}
		if _, err := call(ctx, x.site.journal, strings.NewReader(s.in), s.fn); err != nil {
			return err
		}
	}
	return nil
}

func zero(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return strings.Join(paths, "\x00") + "\x00"
}

// mended is what brings a node back to what it was, as far as a list knows.
func (n node) mended(now node) string {
	switch same := n.kind == now.kind; {
	case n.kind == "d" && !same:
		return "mkdir"
	case n.kind == "l" && (!same || n.target != now.target):
		return "link"
	case same && n.size == now.size && n.time == now.time:
		return "own"
	}
	return ""
}

// still lists what differs from before after all was put back, at most twenty
// names.
func (x *run) still(ctx context.Context, slot, path string) (left []Left, err error) {
	was, now, err := x.changes(ctx, slot, path)
	if err != nil {
		return nil, err
	}
	for p, n := range now {
		w, before := was[p]
		switch {
		case !before && n.mark == '?':
			left = append(left, Left{Path: p, Why: "came after this change and is not ours to remove"})
		case !before:
			left = append(left, Left{Path: p, Why: "could not be removed"})
		case w.size != n.size || w.time != n.time:
			left = append(left, Left{Path: p, Why: "has another content than before"})
		default:
			left = append(left, Left{Path: p, Why: "has another owner or mode than before"})
		}
	}
	for p := range was {
		if _, there := now[p]; !there {
			left = append(left, Left{Path: p, Why: "is missing"})
		}
	}
	slices.SortFunc(left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
	if more := len(left) - 20; more > 0 {
		left = append(left[:20], Left{Path: path, Why: fmt.Sprintf("and %d names more in it", more)})
	}
	return left, nil
}
