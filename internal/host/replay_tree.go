package host

import (
	"path"
	"slices"
	"strings"
)

// tree is the file system of a description: what it lists, and the folders
// that those paths imply.
type tree struct {
	kind     map[string]byte // path -> f d l c b
	links    map[string]string
	children map[string][]string // folder -> names, sorted
}

// maxLinks is how many symlinks Linux follows before it says ELOOP.
const maxLinks = 40

func newTree(d *Description) *tree {
	t := &tree{kind: map[string]byte{"/": 'd'}, links: map[string]string{}, children: map[string][]string{}}
	for p := range d.Files {
		t.put(path.Clean(p), 'f')
	}
	for p, n := range d.Nodes {
		t.put(path.Clean(p), (n.Type + "c")[0])
	}
	for p, target := range d.Links {
		t.put(path.Clean(p), 'l')
		t.links[path.Clean(p)] = target
	}
	for p, s := range d.Stat {
		p = path.Clean(p)
		if t.kind[p] == 0 {
			t.put(p, (s.Type + "d")[0])
		}
	}
	for dir := range t.children {
		slices.Sort(t.children[dir])
	}
	return t
}

func (t *tree) put(p string, kind byte) {
	for p != "/" {
		old := t.kind[p]
		if old == 0 {
			dir, name := path.Split(p)
			dir = path.Clean(dir)
			t.children[dir] = append(t.children[dir], name)
		}
		if old == 0 || kind != 'd' {
			t.kind[p] = kind
		}
		p, kind = path.Dir(p), 'd'
		if t.kind[p] != 0 && t.kind[p] != 'd' {
			return // below a link or a file: reached by nobody
		}
	}
}

// resolve follows the links of all parts of p but, unless last, of its last.
// It gives the real path, and false when something on the way is not there.
func (t *tree) resolve(p string, last bool) (string, bool) {
	hops := 0
	real, rest := "/", strings.Split(p, "/") // not cleaned: ".." after a link leads elsewhere
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		next := path.Join(real, name) // ".." is the parent of the real folder
		switch t.kind[next] {
		case 0:
			return next, false
		case 'l':
			if len(rest) == 0 && !last {
				return next, true
			}
			if hops++; hops > maxLinks {
				return next, false
			}
			target := t.links[next]
			if path.IsAbs(target) {
				real = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		default:
			real = next
		}
	}
	return real, true
}

// nearest gives the real path of p or of its nearest parent that exists.
func (t *tree) nearest(p string) string {
	for {
		if real, ok := t.resolve(p, true); ok || p == "/" {
			return real
		}
		p = path.Dir(p)
	}
}

// glob gives the paths that match, as a POSIX shell lists them: sorted, links
// followed on the way, and no name with a leading dot for a pattern without.
func (t *tree) glob(pattern string) []string {
	found := []string{"/"}
	for part := range strings.SplitSeq(path.Clean(pattern), "/") {
		if part == "" {
			continue
		}
		var next []string
		for _, dir := range found {
			real, ok := t.resolve(dir, true)
			if !ok {
				continue
			}
			if !strings.ContainsAny(part, `*?[\`) {
				if _, ok := t.resolve(path.Join(dir, part), false); ok {
					next = append(next, path.Join(dir, part))
				}
				continue
			}
			for _, name := range t.children[real] {
				if ok, err := path.Match(strings.ReplaceAll(part, "[!", "[^"), name); err == nil && ok && strings.HasPrefix(part, ".") == strings.HasPrefix(name, ".") {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		found = next
	}
	slices.Sort(found)
	return found
}
