package cann

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Read makes trees, links and nnal of a listing. It never fails: what a text
// does not say stays empty.
func Read(l *Listing) Installed {
	var in Installed
	trees := map[string]*Tree{}
	for _, p := range l.Paths() {
		kind := treeName(p)
		if kind == "" {
			continue
		}
		real, ok := l.resolve(p)
		if active(p) {
			in.Links = append(in.Links, l.activeLink(p, real, ok))
		}
		if _, isLink := l.Links[p]; isLink || !ok || l.linkFolder(p) {
			continue
		}
		if t := l.tree(p, kind); t != nil {
			trees[p] = t
		}
	}
	for i := range in.Links {
		if t := trees[in.Links[i].Real]; t != nil {
			in.Links[i].Version = t.Version
			if t.Active == "" || path.Base(in.Links[i].Path) == "cann" {
				t.Active = in.Links[i].Path
			}
		}
	}
	for _, home := range l.Homes {
		if t := l.home(home, trees, in.Links); t != nil {
			trees[home] = t
		}
	}
	for _, p := range slices.Sorted(maps.Keys(trees)) {
		t := trees[p]
		t.Dangling = append(l.dangling(t.Active), t.Dangling...)
		in.Trees = append(in.Trees, *t)
	}
	in.NNAL = l.nnal()
	return in
}

// home reads the tree that the environment names, unless it was found already.
func (l *Listing) home(p string, trees map[string]*Tree, links []Link) *Tree {
	real, _ := l.resolve(p)
	known := slices.ContainsFunc(links, func(k Link) bool { return k.Path == p && trees[k.Real] != nil })
	if known || trees[real] != nil || trees[p] != nil || !l.hasInfo(p) {
		return nil
	}
	t := l.tree(p, "toolkit")
	if t != nil {
		t.Active = p
	}
	return t
}

func active(p string) bool { return path.Base(p) == "latest" || path.Base(p) == "cann" }

// linkFolder is true for `latest` of up to 8.3: a folder of links, no tree.
func (l *Listing) linkFolder(p string) bool { return path.Base(p) == "latest" }

// activeLink follows a link, or the links inside a folder of them: the part
// that holds the install.info decides, because parts can lead apart.
func (l *Listing) activeLink(p, real string, ok bool) Link {
	out := Link{Path: p, Target: l.Links[p]}
	if out.Target != "" {
		if ok {
			out.Real = real
		}
		return out
	}
	out.Folder = true
	votes := map[string]int{}
	for _, child := range l.children(p) {
		if target, isLink := l.Links[child]; isLink && target != "" {
			if r, ok := l.resolve(child); ok {
				weight := 1
				if strings.HasSuffix(child, "-linux") {
					weight = 100
				}
				votes[path.Dir(r)] += weight
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(votes)) {
		if votes[dir] > votes[out.Real] {
			out.Real = dir
		}
	}
	if len(votes) == 0 && l.hasInfo(p) { // a real tree that is called latest, or cann
		out.Real = p
	}
	return out
}

func (l *Listing) children(dir string) (out []string) {
	for _, p := range l.Paths() {
		if path.Dir(p) == dir {
			out = append(out, p)
		}
	}
	return out
}

func (l *Listing) hasInfo(tree string) bool {
	for p := range l.Text {
		if strings.HasPrefix(p, tree+"/") && strings.HasSuffix(p, "_install.info") {
			return true
		}
	}
	return false
}

// dangling are the children of the folder of links that lead nowhere.
func (l *Listing) dangling(active string) (out []string) {
	if active == "" {
		return nil
	}
	for _, child := range l.children(active) {
		if _, isLink := l.Links[child]; isLink {
			if _, ok := l.resolve(child); !ok {
				out = append(out, child)
			}
		}
	}
	return out
}

// tree reads one; nil when nothing below p says that it is one.
func (l *Listing) tree(p, kind string) *Tree {
	t := &Tree{Path: p, Kind: kind, Layout: "8.3", Components: map[string]Component{}, User: strings.HasPrefix(p, "/home/") || strings.HasPrefix(p, "/root/")}
	if strings.HasPrefix(path.Base(p), "cann") {
		t.Layout = "8.5"
	}
	for _, name := range slices.Sorted(maps.Keys(l.Text)) {
		below, ok := strings.CutPrefix(name, p+"/")
		if !ok {
			continue
		}
		l.text(t, name, below)
	}
	for _, child := range l.Paths() {
		if folder, ok := strings.CutPrefix(child, p+kernels+"/"); ok && path.Base(folder) != "config" {
			if k := path.Base(folder); !slices.Contains(t.Kernels, k) {
				t.Kernels = append(t.Kernels, k)
			}
		}
	}
	slices.Sort(t.Kernels)
	for _, name := range []string{"set_env.sh", "bin/atc"} {
		if f, ok := l.Modes[p+"/"+name]; ok {
			t.Files = append(t.Files, f)
		}
	}
	for _, cfg := range []string{p + "/version.cfg", path.Dir(p) + "/latest/version.cfg"} {
		if text := l.Text[cfg]; text != "" && len(t.Running) == 0 && l.leadsHere(cfg, p) {
			t.Running = running(text)
		}
	}
	if t.Version == "" && len(t.Components) == 0 && len(t.Kernels) == 0 && len(t.Files) == 0 {
		return nil
	}
	return t
}

// leadsHere is true when the folder of links that holds cfg is that of tree p.
func (l *Listing) leadsHere(cfg, p string) bool {
	dir := path.Dir(cfg)
	real, _ := l.resolve(dir)
	return real == p || l.activeLink(dir, real, true).Real == p
}

// text takes one info file below a tree.
func (l *Listing) text(t *Tree, name, below string) {
	m := pairs(l.Text[name])
	base := path.Base(below)
	switch {
	case base == "ascend_ops_install.info":
		t.OpsVersion, t.OpsInfo = m["version"], name
	case strings.HasSuffix(base, "_install.info") && strings.Count(below, "/") <= 1:
		if t.Version != "" || m["version"] == "" {
			return
		}
		t.Version, t.Inner, t.Arch, t.Info = m["version"], m["innerversion"], m["arch"], name
		t.Compatible = bracketed(m["compatible_version"])
	case base == "version.info":
		c := Component{Version: m["Version"], VersionDir: m["version_dir"]}
		for k, v := range m {
			if what, ok := strings.CutPrefix(k, "required_"); ok {
				if c.Requires == nil {
					c.Requires = map[string]string{}
				}
				c.Requires[what] = strings.Trim(v, `"`)
			}
		}
		t.Components[path.Base(path.Dir(below))] = c
	}
}

// running reads version.cfg: runtime_running_version=[7.7.0.1.238:8.1.RC1].
func running(text string) map[string]string {
	out := map[string]string{}
	for k, v := range pairs(text) {
		if part, ok := strings.CutSuffix(k, "_running_version"); ok {
			if b := bracketed(v); len(b) > 0 {
				out[part] = b[len(b)-1]
			}
		}
	}
	return out
}

func (l *Listing) nnal() (out []NNAL) {
	for _, p := range l.Paths() {
		if path.Base(path.Dir(p)) != "atb" || path.Base(path.Dir(path.Dir(p))) != "nnal" {
			continue
		}
		base := path.Base(p)
		target, isLink := l.Links[p]
		if base == "set_env.sh" || isLink && base != "latest" {
			continue
		}
		if base == "latest" {
			if _, ok := l.resolve(p); isLink && !ok && target != "" {
				out = append(out, NNAL{Path: p, Dangles: true})
			}
			continue
		}
		out = append(out, l.atb(p))
	}
	return out
}

// atb reads one version folder of nnal/atb.
func (l *Listing) atb(p string) NNAL {
	n := NNAL{Path: p}
	if text, ok := l.Text[p+"/version.info"]; ok {
		n.Info = p + "/version.info"
		for line := range strings.SplitSeq(text, "\n") { // "Ascend-cann-atb : 8.1.RC1"
			k, v, _ := strings.Cut(line, ":")
			switch strings.TrimSpace(k) {
			case "Ascend-cann-atb":
				n.Version = strings.TrimSpace(v)
			case "Platform":
				n.Arch = strings.TrimSpace(v)
			}
		}
	}
	for _, abi := range l.children(p + "/atb") {
		if v, err := strconv.Atoi(strings.TrimPrefix(path.Base(abi), "cxx_abi_")); err == nil && !slices.Contains(n.ABIs, v) {
			n.ABIs = append(n.ABIs, v)
		}
	}
	parent := path.Dir(p)
	if real, ok := l.resolve(parent + "/latest"); ok && real == p {
		n.Active = true
	}
	if l.seen[parent+"/set_env.sh"] {
		n.SetEnv = parent + "/set_env.sh"
	}
	return n
}

// pairs reads key=value lines; everything else is not ours.
func pairs(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			m[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return m
}

// bracketed reads "[a],[b]".
func bracketed(s string) (out []string) {
	for {
		_, rest, open := strings.Cut(s, "[")
		inner, after, shut := strings.Cut(rest, "]")
		if !open || !shut {
			return out
		}
		if inner = strings.TrimSpace(inner); inner != "" {
			out = append(out, inner)
		}
		s = after
	}
}
