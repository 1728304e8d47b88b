package cann

import (
	"path"
	"slices"
	"strings"
)

// Roots are the folders that hold CANN: the vendor's, and those of installs
// that a person made for himself. * stands for any user.
var Roots = []string{"/usr/local/Ascend", "/root/Ascend", "/home/*/Ascend"}

const kernels = "/opp/built-in/op_impl/ai_core/tbe/kernel"

// Patterns are the globs that show every CANN below a root and the links that
// lead to it, without knowing a version beforehand. What they find tells what
// else to ask (Listing.Want). (Layouts: leideng/CANN-8.1.RC1 up to 8.3;
// hicann/runtime README and the Dockerfiles of Ascend/cann-container-image from
// 8.5 on.)
func Patterns(root string) []string {
	return []string{root + "/*", root + "/*/*", root + "/ascend-toolkit/*/*", root + "/nnal/atb/*"}
}

// Want is what to ask about the trees that were seen.
type Want struct {
	Globs, Texts, Links, Modes []string
}

// components are the parts whose versions matter; those of 8.5 and later keep
// them below share/info.
var components = []string{"runtime", "compiler", "opp", "opp_kernel", "toolkit", "hccl"}

// Want sorts out which texts, links and modes of the paths found so far, and
// which folders besides, are needed to read the trees.
func (l *Listing) Want() (w Want) {
	for _, p := range l.Paths() {
		dir, base := path.Split(p)
		parent := path.Base(dir)
		switch kind := treeName(p); {
		case parent == "atb" && base != "set_env.sh":
			w.Links = append(w.Links, p)
			w.Texts = append(w.Texts, p+"/version.info")
			w.Globs = append(w.Globs, p+"/atb/cxx_abi_*")
		case parent == "latest" && path.Base(path.Dir(path.Clean(dir))) == "ascend-toolkit":
			w.Links = append(w.Links, p)
		case kind != "":
			w.Links = append(w.Links, p)
			if !active(p) || l.alone(p) {
				w = l.wantTree(w, p, kind)
			} else if base == "latest" {
				w.Texts = append(w.Texts, p+"/version.cfg")
			}
		}
	}
	return w
}

// alone is true for a `latest` or `cann` that no folder with a version stands
// beside: it may be the tree itself.
func (l *Listing) alone(p string) bool {
	for q := range l.seen {
		if path.Dir(q) == path.Dir(p) && treeName(q) != "" && !active(q) {
			return false
		}
	}
	return true
}

func (l *Listing) wantTree(w Want, p, kind string) Want {
	w.Globs = append(w.Globs, p+kernels+"/*", p+kernels+"/config/*")
	w.Modes = append(w.Modes, HomeFiles(p)...)
	w.Texts = append(w.Texts, p+"/version.cfg")
	for _, arch := range []string{"aarch64", "x86_64"} { // a package for another CPU is found, too
		w.Texts = append(w.Texts, p+"/"+arch+"-linux/ascend_"+kind+"_install.info")
		if strings.HasPrefix(path.Base(p), "cann") {
			w.Texts = append(w.Texts, p+"/"+arch+"-linux/ascend_ops_install.info")
		}
	}
	for _, part := range components {
		if strings.HasPrefix(path.Base(p), "cann") {
			w.Texts = append(w.Texts, p+"/share/info/"+part+"/version.info")
		} else {
			w.Texts = append(w.Texts, p+"/"+part+"/version.info")
		}
	}
	w.Texts = slices.DeleteFunc(w.Texts, func(t string) bool { // the listing shows that its folder is not there
		first, _, deeper := strings.Cut(strings.TrimPrefix(t, p+"/"), "/")
		return strings.HasPrefix(t, p+"/") && deeper && l.missing(p+"/"+first)
	})
	return w
}

// treeName is the kind of tree that lies, or may lie, at p: toolkit, nnrt, nnae.
func treeName(p string) string {
	dir, base := path.Split(p)
	if base == "set_env.sh" {
		return ""
	}
	switch parent := path.Base(dir); {
	case parent == "ascend-toolkit":
		return "toolkit"
	case parent == "nnrt", parent == "nnae":
		return parent
	case base == "cann", strings.HasPrefix(base, "cann-"):
		return "toolkit"
	}
	return ""
}

// Listing is what was seen of a host: the paths that the patterns found, the
// targets of those that are links, the texts and what stat said of the rest.
type Listing struct {
	Links map[string]string
	Text  map[string]string
	Modes map[string]File
	// Homes are trees that the environment names, wherever they lie.
	Homes []string

	seen   map[string]bool
	listed []string // patterns of folders whose children were all asked for
}

// NewListing makes an empty one.
func NewListing() *Listing {
	return &Listing{Links: map[string]string{}, Text: map[string]string{}, Modes: map[string]File{}, seen: map[string]bool{}}
}

// Add tells which paths a pattern found.
func (l *Listing) Add(pattern string, paths []string) {
	for _, p := range paths {
		l.seen[p] = true
	}
	if dir, star := strings.CutSuffix(pattern, "/*"); star {
		l.listed = append(l.listed, dir)
	}
	if strings.HasSuffix(pattern, "/cann*") {
		l.listed = append(l.listed, pattern)
	}
}

// Paths are all that were found, sorted.
func (l *Listing) Paths() []string {
	out := make([]string, 0, len(l.seen))
	for p := range l.seen {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// resolve follows the links of the listing in every part of p. ok is false when
// a link leads nowhere, as far as the listing can tell, or in a circle.
func (l *Listing) resolve(p string) (real string, ok bool) {
	const most = 16
	real = "/"
	parts := strings.Split(strings.Trim(path.Clean(p), "/"), "/")
	for hops := 0; len(parts) > 0; {
		at := path.Join(real, parts[0])
		parts = parts[1:]
		target, isLink := l.Links[at]
		if !isLink {
			real = at
			continue
		}
		if hops++; hops > most {
			return p, false
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		parts = append(strings.Split(strings.Trim(path.Clean(target), "/"), "/"), parts...)
		real = "/"
	}
	return real, !l.missing(real)
}

// missing is true when the place of p was listed and p is not in it.
func (l *Listing) missing(p string) bool {
	if l.seen[p] {
		return false
	}
	return slices.ContainsFunc(l.listed, func(pattern string) bool {
		at := path.Dir(p)
		if strings.HasSuffix(pattern, "*") && path.Base(pattern) != "*" { // a part of the names of a folder
			at = p
		}
		ok, _ := path.Match(pattern, at)
		return ok
	})
}
