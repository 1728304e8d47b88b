// Package matrix says which versions belong together. It is rows of YAML (one
// fact each, with source, date and status) and the eighteen rules R01 to R18
// that read them; no version number stands in its code.
//
// An answer is supported, unsupported or unknown, and unknown is its own answer:
// nobody has said anything, or those who have disagree.
package matrix

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// sections are the tables of the matrix by file; a file of that name may stand
// in any layer under matrix/.
var sections = map[string][]string{
	"cann":        {"releases", "naming", "ops_toolkit"},
	"driver":      {"lines", "cann_hdk", "cann_hdk_floor", "inner_versions", "firmware_pairs"},
	"torch_npu":   {"releases", "tagged_packages", "dev_and_local", "pta_cann", "python_by_torch", "wheels", "numpy_advice", "lifecycle"},
	"vllm_ascend": {"releases", "image_suffix", "soc_build"},
	"mindspore":   {"rows", "env", "lite"},
	"mindie":      {"rows", "env"},
	"sglang":      {"docs", "sgl_kernel_npu", "images"},
	"others":      {"others"},
	"chips":       {"families", "socs", "cloud"},
	"os":          {"products", "product_aliases", "other_lists", "kernels", "needs", "glibc_of_os"},
	"order":       {"version_order"},
	"nonexistent": {"nonexistent"},
	"known_bad":   {"known_bad"},
	"conflicts":   {"conflicts"},
	"rules":       {"rules"},
}

// Sections lists the tables as FILE.SECTION, sorted.
func Sections() []string {
	var out []string
	for file, names := range sections {
		for _, n := range names {
			out = append(out, file+"."+n)
		}
	}
	slices.Sort(out)
	return out
}

// Matrix is the data in layers. A section is decoded when a rule first needs
// it. It is safe for concurrent use.
type Matrix struct {
	book    *book.Book
	quick   *compact // nil where a layer lies on the embedded one
	DataDay string   // YYYY-MM-DD of the newest file

	mu     sync.Mutex
	rows   map[string][]book.Row
	tables map[string]any
	err    error // the first section that could not be read
}

// Load makes a matrix of layers, lowest first: embedded, signed update, the
// folder of --compat. Each has its files under matrix/. The lowest may hold
// matrix/matrix.bin, the same rows in a form that loads faster; it is used as
// long as no other layer has a file of the matrix. Mistakes and contradictions
// in a user's layer are told at once, as a *report.Problem (exit 64).
func Load(layers ...book.Layer) (*Matrix, error) {
	if len(layers) == 0 {
		return nil, errors.New("a matrix needs a layer")
	}
	m := &Matrix{book: book.New(layers...), rows: map[string][]book.Row{}, tables: map[string]any{}}
	over := map[string]bool{} // files that an upper layer has
	for _, l := range layers[1:] {
		names, err := filesOf(l)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			over[n] = true
		}
	}
	if len(over) == 0 {
		if data, err := slurp(layers[0].FS, compactFile); err == nil {
			if m.quick, err = openCompact(layers[0].Name, data); err != nil {
				return nil, err
			}
			m.DataDay = m.quick.day
			return m, nil
		}
	}
	return m, m.readOver(over)
}

// slurp reads a file into one string, copied once.
func slurp(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(info.Size(), 1<<20)))
	}
	_, err = io.Copy(&b, io.LimitReader(f, 8<<20))
	return b.String(), err
}

// filesOf names the files of the matrix in a layer; one that nobody reads is a
// mistake, for it would silently do nothing.
func filesOf(l book.Layer) (names []string, err error) {
	entries, err := fs.ReadDir(l.FS, "matrix")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s/matrix: %w", l.Name, err)
	}
	for _, e := range entries {
		name, ext, _ := strings.Cut(e.Name(), ".")
		if ext != "yaml" && ext != "yml" {
			continue
		}
		if sections[name] == nil || ext != "yaml" {
			var known []string
			for k := range sections {
				known = append(known, k+".yaml")
			}
			return nil, usage(report.T("%s: no table of the matrix has this name%s", "%s：版本配套表没有同名的文件%s",
				path.Join(l.Name, "matrix", e.Name()), report.Meant(e.Name(), known)),
				report.T("rename or remove the file", "重命名或删除该文件"))
		}
		names = append(names, name)
	}
	return names, nil
}

// readOver reads every section that an upper layer touches, so that its
// mistakes are found now and not when a rule happens to need them.
func (m *Matrix) readOver(over map[string]bool) error {
	origins, err := m.book.AsOf("matrix/*.yaml")
	if err != nil {
		return err
	}
	for _, o := range origins {
		m.DataDay = max(m.DataDay, o.AsOf.Format("2006-01-02"))
	}
	for file := range over {
		for _, section := range sections[file] {
			m.section(file + "." + section)
		}
	}
	if m.err != nil {
		return m.err
	}
	if len(over) == 0 {
		return nil
	}
	return m.contradictions()
}

// section gives the rows of FILE.SECTION. What cannot be read gives none and is
// kept in m.err, so that rules need no error path of their own.
func (m *Matrix) section(name string) []book.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(name)
}

func (m *Matrix) read(name string) []book.Row {
	if rows, ok := m.rows[name]; ok {
		return rows
	}
	file, section, _ := strings.Cut(name, ".")
	var rows []book.Row
	var err error
	if m.quick != nil {
		rows, err = m.quick.rows(name)
	} else {
		rows, err = book.Free(m.book, "matrix/"+file+".yaml", section)
	}
	if err != nil && m.err == nil {
		m.err = err
	}
	m.rows[name] = rows
	return rows
}

// table gives the rows of a section in the shape a rule wants, parsed once.
func table[T any](m *Matrix, name string, read func(*book.Row) T) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.tables[name].([]T); ok {
		return t
	}
	rows := m.read(name)
	out := make([]T, len(rows))
	for i := range rows {
		out[i] = read(&rows[i])
	}
	m.tables[name] = out
	return out
}

// failed gives the error of a section that a rule needed and could not have.
func (m *Matrix) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Rows gives the rows of FILE.SECTION in the order of the file; they are not to
// be changed.
func (m *Matrix) Rows(section string) ([]book.Row, error) {
	rows := slices.Clone(m.section(section))
	return rows, m.failed()
}

// Compact writes the whole matrix in the form that loads fast.
func (m *Matrix) Compact() ([]byte, error) {
	all := map[string][]book.Row{}
	for _, name := range Sections() {
		all[name] = m.section(name)
	}
	return encode(m.DataDay, all), m.failed()
}
