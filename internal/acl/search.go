package acl

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	wholeName = "libascendcl.so"
	rtName    = "libacl_rt.so"
	mdlName   = "libacl_mdl.so"
)

// Searcher is what a search looks at. Nothing is loaded and no file is read.
type Searcher struct {
	Explicit string // a library, its folder or the home of CANN; then nothing else is tried
	Getenv   func(string) string
	Exists   func(path string) bool
}

// Found is what Open tries, in this order: the files of one layout each, all of
// one place.
type Found struct {
	Layouts [][]string
	Tried   []string // places looked at, for the message when opening fails
}

// Search gives the libraries of the first place that has any: the explicit one,
// the home that the environment names, the usual homes, else the bare names,
// which are left to the loader. Libraries of two places are never mixed: two
// releases of CANN in one process end in undefined symbols.
func Search(s Searcher) Found {
	if s.Explicit != "" {
		return s.explicit()
	}
	var f Found
	for _, home := range s.homes() {
		dir := filepath.Join(home, "lib64")
		f.Tried = append(f.Tried, dir)
		if f.Layouts = s.layouts(dir); f.Layouts != nil {
			return f
		}
	}
	f.Layouts, f.Tried = [][]string{{wholeName}, {rtName, mdlName}}, append(f.Tried, wholeName)
	return f
}

func (s Searcher) homes() (out []string) {
	roots := []string{"/usr/local/Ascend"}
	if h := s.Getenv("HOME"); h != "" {
		roots = append(roots, filepath.Join(h, "Ascend"))
	}
	all := []string{s.Getenv("ASCEND_HOME_PATH"), s.Getenv("ASCEND_TOOLKIT_HOME")}
	for _, r := range roots {
		for _, home := range []string{"cann", "ascend-toolkit/latest", "nnrt/latest", "nnae/latest"} {
			all = append(all, filepath.Join(r, home))
		}
	}
	for _, home := range all {
		// Relative: whoever owns the working folder could plant one.
		if filepath.IsAbs(home) && !slices.Contains(out, home) {
			out = append(out, home)
		}
	}
	return out
}

// layouts gives what a folder has; nil for nothing.
func (s Searcher) layouts(dir string) (out [][]string) {
	if whole := filepath.Join(dir, wholeName); s.Exists(whole) {
		out = append(out, []string{whole})
	}
	if rt, mdl := filepath.Join(dir, rtName), filepath.Join(dir, mdlName); s.Exists(rt) && s.Exists(mdl) {
		out = append(out, []string{rt, mdl})
	}
	return out
}

func (s Searcher) explicit() Found {
	f := Found{Tried: []string{s.Explicit}}
	dir, name := filepath.Split(s.Explicit)
	switch {
	case name == rtName || name == mdlName:
		f.Layouts = [][]string{{dir + rtName, dir + mdlName}}
	case strings.Contains(name, ".so"):
		f.Layouts = [][]string{{s.Explicit}}
	default:
		for _, d := range []string{s.Explicit, filepath.Join(s.Explicit, "lib64")} {
			if f.Layouts = s.layouts(d); f.Layouts != nil {
				return f
			}
		}
		for _, d := range []string{s.Explicit, filepath.Join(s.Explicit, "lib64")} {
			if rt := filepath.Join(d, rtName); s.Exists(rt) { // half of it is there: the loader names the other half
				f.Layouts = [][]string{{rt, filepath.Join(d, mdlName)}}
				return f
			}
		}
		f.Layouts = [][]string{{filepath.Join(s.Explicit, wholeName)}}
	}
	return f
}
