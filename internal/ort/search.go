package ort

import (
	"path/filepath"
	"strconv"
	"strings"
)

// BareName is what is left to the loader when nothing else was found.
const BareName = "libonnxruntime.so.1"

// libName begins the name of every build: libonnxruntime.so, .so.1, .so.1.32.0.
const libName = "libonnxruntime.so"

// How a library was found.
const (
	Given  = "given"  // named by a flag or the environment
	Beside = "beside" // beside the program
	Cached = "cache"  // fetched by ascendctl
	Pip    = "pip"    // part of an installed Python package
	System = "system" // in a folder of the loader
	Loader = "loader" // not seen; the loader is asked for the bare name
)

// Searcher is what a search looks at. Nothing is loaded and no file is read.
type Searcher struct {
	Explicit string // what a flag or the environment names; then nothing else is tried
	Beside   string // folder of the running program
	Cache    string // our cache folder
	Arch     string // Go's word: amd64, arm64
	Getenv   func(string) string
	Glob     func(pattern string) ([]string, error) // as filepath.Glob
}

// Candidate is a library that may be opened. Version is taken from the file's
// name and "" where the name has none.
type Candidate struct {
	File, How, Version string
}

// place is a pattern of folders, and the word for what is found there.
type place struct{ how, folder string }

// Search finds the library to open: the explicit one, else the newest one in
// the first place that has any (beside the program, our cache, Python packages,
// the loader's folders), else the bare name. tried lists the places, for the
// message when opening fails.
func Search(s Searcher) (found Candidate, tried []string) {
	if s.Explicit != "" {
		_, v := nameVersion(filepath.Base(s.Explicit))
		return Candidate{s.Explicit, Given, v}, []string{s.Explicit}
	}
	for p := range s.places {
		pattern := filepath.Join(p.folder, libName+"*")
		tried = append(tried, pattern)
		files, err := s.Glob(pattern)
		if err != nil {
			continue // only a malformed pattern, as a strange environment may make
		}
		if c, ok := newest(files); ok {
			c.How = p.how
			return c, tried
		}
	}
	return Candidate{File: BareName, How: Loader}, append(tried, BareName)
}

// places lists the folders in the order of preference: ours before what is
// there for others, an active Python environment before the system's.
func (s Searcher) places(yield func(place) bool) {
	more := true // until somebody has found what was looked for
	add := func(how, root string, below ...string) {
		if !filepath.IsAbs(root) { // relative: whoever owns the working folder could plant one
			return
		}
		for _, b := range below {
			if more {
				more = yield(place{how, filepath.Join(literal(root), b)})
			}
		}
	}
	const site, dist, capi = "site-packages", "dist-packages", "onnxruntime/capi"
	venv := []string{"lib/python3*/" + site + "/" + capi, "lib64/python3*/" + site + "/" + capi}
	add(Beside, s.Beside, "")
	add(Cached, s.Cache, filepath.Join("onnxruntime", "*", literal(s.Arch)))
	add(Pip, s.Getenv("VIRTUAL_ENV"), venv...)
	add(Pip, s.Getenv("CONDA_PREFIX"), venv...)
	add(Pip, s.Getenv("PYENV_ROOT"), "versions/*/"+venv[0])
	add(Pip, s.Getenv("HOME"), ".local/"+venv[0])
	for _, prefix := range []string{"/usr/local", "/usr"} {
		add(Pip, prefix, append(venv[:2:2], "lib/python3*/"+dist+"/"+capi)...)
	}
	for _, dir := range strings.Split(s.Getenv("LD_LIBRARY_PATH"), ":") {
		add(System, dir, "")
	}
	for _, dir := range append(archDirs[s.Arch], "/usr/local/lib64", "/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib") {
		add(System, dir, "")
	}
}

// archDirs are the folders of systems that keep libraries per architecture.
var archDirs = map[string][]string{
	"amd64": {"/usr/lib/x86_64-linux-gnu"},
	"arm64": {"/usr/lib/aarch64-linux-gnu"},
}

// literal makes a path match itself in a pattern.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// newest picks the highest version; a file whose name tells none loses against
// one that does. Releases that Open would refuse are passed over.
func newest(files []string) (best Candidate, ok bool) {
	for _, f := range files {
		isLib, v := nameVersion(filepath.Base(f))
		if !isLib || v != "" && !usable(v) {
			continue
		}
		if !ok || older(best.Version, v) {
			best, ok = Candidate{File: f, Version: v}, true
		}
	}
	return best, ok
}

// nameVersion tells whether a file is named like the library, and the version
// its name gives. libonnxruntime.so.1 is a name without a version: 1 is that of
// its interface.
func nameVersion(name string) (isLib bool, version string) {
	rest, isLib := strings.CutPrefix(name, libName)
	if !isLib || rest == "" {
		return isLib, ""
	}
	version, isLib = strings.CutPrefix(rest, ".")
	parts := strings.Split(version, ".")
	for _, p := range parts {
		if n, err := strconv.Atoi(p); err != nil || n < 0 {
			return false, ""
		}
	}
	if len(parts) < 2 {
		return isLib, ""
	}
	return isLib, version
}

// older compares dotted numbers.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x < y
		}
	}
	return len(as) < len(bs)
}
