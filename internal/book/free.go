package book

import (
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Row is a row that no Go type describes: the shapes of a large table are in
// its file. Map has all keys of the row in the order of the file, id and source
// among them.
type Row struct {
	ID   string
	At   string // "compat/matrix/cann.yaml:12"
	User bool   // of a layer that the caller of the program wrote
	Value
}

// Value is a scalar as it is written (3.10 stays 3.10), a list or a mapping;
// the zero value stands for null and for what is absent.
type Value struct {
	Text string
	List []Value
	Map  []Field
}

// Field is one key of a mapping.
type Field struct {
	Key   string
	Value Value
}

// Get gives the value of a key, the zero value where there is none.
func (v *Value) Get(key string) Value {
	for i := range v.Map {
		if v.Map[i].Key == key {
			return v.Map[i].Value
		}
	}
	return Value{}
}

// Str gives a scalar, empty for anything else.
func (v *Value) Str(key string) string { return v.Get(key).Text }

// Strs gives the scalars of a list; a scalar is a list of one.
func (v *Value) Strs(key string) []string { return v.Get(key).Strings() }

// Strings gives the scalars of a list; a scalar is a list of one.
func (v Value) Strings() []string {
	if v.Text != "" {
		return []string{v.Text}
	}
	out := make([]string, 0, len(v.List))
	for _, e := range v.List {
		out = append(out, e.Text)
	}
	return out
}

// Prose gives a sentence, which may be written in one language or as {en, zh}.
func (v *Value) Prose(key string) report.Text {
	s := v.Get(key)
	if en := s.Str("en"); en != "" {
		return report.Text{En: en, Zh: s.Str("zh")}
	}
	return report.Same(s.Text)
}

// Free is Rows for rows without a Go type: id, source, status and layers are
// held as there, and a user's row may have only the keys that rows of the
// section have in the layers below, each in one of the shapes it has there.
func Free(b *Book, pattern, section string) ([]Row, error) {
	var rows []Row
	at, known := map[string]int{}, map[string]bool{}
	shapes := map[string]map[yaml.Kind]bool{}
	for i, layer := range b.layers {
		docs, wrong := b.open(i, pattern)
		first := map[string]string{}
		for _, d := range docs {
			if layer.User {
				d.knownSections(known, wrong)
			}
			f := freeReader{d: d, section: section, user: layer.User, first: first, shapes: shapes, wrong: wrong}
			for _, row := range f.rows() {
				if k, ok := at[row.ID]; ok {
					rows[k] = row
					continue
				}
				at[row.ID] = len(rows)
				rows = append(rows, row)
			}
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
	if !known[section] {
		return nil, fmt.Errorf("no layer of the book has a section %s in %s", section, pattern)
	}
	return rows, nil
}

// freeReader reads one section of one file.
type freeReader struct {
	d       *document
	section string
	user    bool
	first   map[string]string             // id -> where it stands in this layer
	shapes  map[string]map[yaml.Kind]bool // key -> how the layers below write it
	wrong   *mistakes
}

func (f freeReader) rows() (out []Row) {
	list := f.d.sections[f.section]
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		f.wrong.add(f.d.name, list.Line, "section %s: want a list of rows, got %s", "分区 %s：应为行的列表，实为%s", f.section, kindOf(list))
		return nil
	}
	for _, n := range list.Content {
		where := fmt.Sprintf("%s:%d", f.d.name, n.Line)
		id := f.check(n)
		if twice := f.first[id]; twice != "" && id != "" {
			f.wrong.add(f.d.name, n.Line, "id %s stands twice, first at %s", "id %s 重复，首次出现于 %s", word(id), twice)
		}
		f.first[id] = where
		out = append(out, Row{ID: id, At: where, User: f.user, Value: valueOf(n)})
	}
	return out
}

// check holds a row against what every row needs and what the layers below have.
func (f freeReader) check(n *yaml.Node) (id string) {
	w := walker{file: f.d.name, wrong: f.wrong}
	if n.Kind != yaml.MappingNode {
		return w.rowOf(n, nil)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		kinds := f.shapes[key.Value]
		switch {
		case !f.user && kinds == nil:
			f.shapes[key.Value] = map[yaml.Kind]bool{value.Kind: true}
		case !f.user:
			kinds[value.Kind] = true
		case kinds == nil && key.Value != "status":
			w.say(key, "unknown key %s%s", "未知的键 %s%s", word(key.Value), report.Meant(key.Value, slices.Collect(maps.Keys(f.shapes))))
		case kinds != nil && !kinds[value.Kind]:
			w.say(value, "%s: no row below writes %s here", "%s：下层各行此处均不是%s", key.Value, kindOf(value))
		}
	}
	got := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isNull(n.Content[i+1]) {
			got[n.Content[i].Value] = n.Content[i+1]
		}
	}
	return w.rowOf(n, got)
}

func valueOf(n *yaml.Node) Value {
	switch {
	case isNull(n):
		return Value{}
	case n.Kind == yaml.SequenceNode:
		list := make([]Value, len(n.Content))
		for i, c := range n.Content {
			list[i] = valueOf(c)
		}
		return Value{List: list}
	case n.Kind == yaml.MappingNode:
		fields := make([]Field, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			fields = append(fields, Field{n.Content[i].Value, valueOf(n.Content[i+1])})
		}
		return Value{Map: fields}
	}
	return Value{Text: n.Value}
}
