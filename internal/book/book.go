// Package book loads knowledge: YAML files in layers, read when a section is
// first asked for, strictly, with every mistake named by file and line. It is
// the only reader of YAML beside the screens that write it.
package book

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Layer is one set of knowledge files.
type Layer struct {
	// Name stands before the file name in messages: "compat", or the folder
	// that a person named.
	Name string
	FS   fs.FS
	// User marks files that the caller of the program wrote: their mistakes
	// are mistakes of use (exit 64), those of the other layers are ours.
	User bool
}

// Origin tells where knowledge comes from and how old it is.
type Origin struct {
	Layer string
	File  string
	AsOf  time.Time // day, UTC
}

// Book is knowledge in layers. It is safe for concurrent use.
type Book struct {
	layers []Layer

	mu   sync.Mutex
	read map[place]*document
}

type place struct {
	layer int
	file  string
}

// New makes a book. A later layer wins over an earlier one; nothing is read yet.
func New(layers ...Layer) *Book {
	return &Book{layers: layers, read: map[place]*document{}}
}

// Rows gives the rows of one section in all files whose names match the
// pattern (fs.Glob), in the order of their first appearance. A row with the id
// of an earlier layer's replaces that one where it stood; other rows are added.
//
// A file is a mapping with `schema: 1`, `as_of: YYYY-MM-DD` and sections, each
// a list of rows. A row needs `id` and `source`; a `status`, where T has one,
// is src (read in a named source), seen (users' outputs) or guess; its other
// keys are those of T's yaml tags. When T has a method Check() error, every row
// is asked. All mistakes of a layer are told at once: as a *report.Problem for
// a user's layer, else as a plain error of "file:line: message" lines.
func Rows[T any](b *Book, pattern, section string) ([]T, error) {
	var rows []T
	at := map[string]int{}
	known := map[string]bool{} // sections of the layers below
	found := false
	for i, layer := range b.layers {
		docs, wrong := b.open(i, pattern)
		first := map[string]string{} // id -> file:line in this layer
		for _, d := range docs {
			if layer.User {
				d.knownSections(known, wrong)
			}
			found = found || d.sections[section] != nil
			readRows(d, section, first, wrong, func(id string, row T) {
				if k, ok := at[id]; ok {
					rows[k] = row
					return
				}
				at[id] = len(rows)
				rows = append(rows, row)
			})
		}
		if err := wrong.err(layer.User); err != nil {
			return nil, err
		}
		for _, d := range docs {
			for name := range d.sections {
				known[name] = true
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("no layer of the book has a section %s in %s", section, pattern)
	}
	return rows, nil
}

// readRows checks and decodes the rows of one file's section.
func readRows[T any](d *document, section string, first map[string]string, wrong *mistakes, add func(string, T)) {
	list := d.sections[section]
	if list == nil {
		return
	}
	if list.Kind != yaml.SequenceNode {
		wrong.add(d.name, list.Line, "section %s: want a list of rows, got %s", "分区 %s：应为行的列表，实为%s", section, kindOf(list))
		return
	}
	w := walker{file: d.name, wrong: wrong}
	for _, node := range list.Content {
		before := wrong.n
		id := w.row(node, reflect.TypeFor[T]())
		if where, twice := first[id]; twice && id != "" {
			wrong.add(d.name, node.Line, "id %s stands twice, first at %s", "id %s 重复，首次出现于 %s", word(id), where)
		}
		first[id] = fmt.Sprintf("%s:%d", d.name, node.Line)
		if wrong.n > before {
			continue
		}
		var row T
		if err := decode(node, &row); err != nil {
			wrong.add(d.name, node.Line, "row %s: %s", "行 %s：%s", id, inWords(err))
			continue
		}
		add(id, row)
	}
}

// decode fills into, which the walker has found to fit, and asks it.
func decode(n *yaml.Node, into any) error {
	if err := n.Decode(into); err != nil {
		return errors.New(plain(err))
	}
	if c, ok := into.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}

// AsOf tells for every file that matches the pattern which layer has it and of
// which day it is, lowest layer first.
func (b *Book) AsOf(pattern string) ([]Origin, error) {
	var origins []Origin
	for i, layer := range b.layers {
		files, err := fs.Glob(layer.FS, pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", pattern, err)
		}
		slices.Sort(files)
		for _, file := range files {
			day, ok := peekDay(layer, file)
			if !ok { // read it whole: that names the mistake
				docs, wrong := b.open(i, file)
				if err := wrong.err(layer.User); err != nil || len(docs) == 0 {
					return nil, err
				}
				day = docs[0].asOf
			}
			origins = append(origins, Origin{Layer: layer.Name, File: file, AsOf: day})
		}
	}
	return origins, nil
}

// peekDay finds the day in the two lines that plainly head a file, without
// reading the rest: it is asked for at every start, and YAML is slow.
func peekDay(l Layer, file string) (day time.Time, ok bool) {
	f, err := l.FS.Open(file)
	if err != nil {
		return day, false
	}
	defer f.Close()
	known := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case key == "" || key[0] == '#':
		case key == "schema":
			known = value == schema
		case key == "as_of":
			day, err = time.Parse(time.DateOnly, value)
			return day, known && err == nil
		default:
			return day, false
		}
	}
	return day, false
}

// open reads the files of one layer that match, each once in the book's life.
func (b *Book) open(layer int, pattern string) ([]*document, *mistakes) {
	wrong := &mistakes{}
	l := b.layers[layer]
	files, err := fs.Glob(l.FS, pattern)
	if err != nil {
		wrong.add(l.Name, 0, "pattern %s: %s", "模式 %s：%s", pattern, err)
	}
	slices.Sort(files)
	b.mu.Lock()
	defer b.mu.Unlock()
	var docs []*document
	for _, file := range files {
		d := b.read[place{layer, file}]
		if d == nil {
			d = readDocument(l, file)
			b.read[place{layer, file}] = d
		}
		wrong.take(&d.wrong)
		docs = append(docs, d)
	}
	return docs, wrong
}

// Strict decodes a single YAML document that a person wrote, such as a config
// file, into the struct that into points to: known keys only, no key twice, no
// anchors, aliases or tags. Keys that are absent, and an empty file, leave what
// into held. Mistakes come as one *report.Problem (exit 64) with "name:line"
// for each.
func Strict(data []byte, name string, into any) error {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("book.Strict of %s: want a pointer to a struct, got %T", name, into)
	}
	wrong := &mistakes{}
	node := parse(data, name, wrong)
	if node == nil || wrong.n > 0 {
		return wrong.err(true)
	}
	if node.Kind != yaml.MappingNode {
		wrong.add(name, node.Line, "want a mapping, got %s", "应为映射，实为%s", kindOf(node))
		return wrong.err(true)
	}
	w := walker{file: name, wrong: wrong}
	w.mapping(node, w.known(t.Elem()), nil, "")
	if wrong.n == 0 {
		if err := decode(node, into); err != nil {
			wrong.add(name, node.Line, "%s", "%s", inWords(err))
		}
	}
	return wrong.err(true)
}

// CheckLayers tells of user's layers that would silently do nothing: folders
// that cannot be listed, and YAML files at their top that no layer below has.
// It reads no file.
func (b *Book) CheckLayers() error {
	known := map[string]bool{}
	wrong := &mistakes{}
	for _, l := range b.layers {
		entries, err := fs.ReadDir(l.FS, ".")
		if err != nil {
			wrong.add(l.Name, 0, "cannot be read: %s", "无法读取：%s", err)
			wrong.cause = err
		}
		for _, e := range entries {
			ext := path.Ext(e.Name())
			if !l.User {
				known[e.Name()] = true
			} else if (ext == ".yaml" || ext == ".yml") && !known[e.Name()] {
				wrong.add(l.Name+"/"+e.Name(), 0, "no knowledge file has this name%s", "没有同名的知识文件%s",
					report.Meant(e.Name(), slices.Collect(maps.Keys(known))))
			}
		}
	}
	return wrong.err(true)
}

// inWords keeps both languages of an error that has them.
func inWords(err error) report.Text {
	if p, ok := err.(*report.Problem); ok {
		return p.What
	}
	return report.Same(err.Error())
}
