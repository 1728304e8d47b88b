package matrix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
)

// compactFile is the matrix in a form that costs nothing until it is asked for:
// a table of strings, then the sections one after the other. Texts are pieces of
// the file itself, so a section is decoded without copying them.
//
//	magic "acm1", day (10 bytes)
//	n, then n+1 offsets into the text (uint32 little endian), then the text
//	count, then per section: name (string number), length in bytes, rows
//
// Numbers are uvarints. A value is its string number times four, a list its
// length times four plus one, a mapping its length times four plus two, null
// three.
const compactFile = "matrix/matrix.bin"

const (
	magic    = "acm1"
	dayBytes = len("2006-01-02")
	maxDepth = 16
)

const (
	isText = iota
	isList
	isMap
	isNull
)

var errCompact = errors.New("matrix.bin is damaged: run go test ./internal/matrix -run TestCompact -update")

type compact struct {
	layer   string // whose rows these are
	day     string
	offsets string
	text    string
	at      map[string]string // section -> its bytes
}

// openCompact reads the head of the compact form.
func openCompact(layer, data string) (*compact, error) {
	rest, ok := strings.CutPrefix(data, magic)
	if !ok || len(rest) < dayBytes {
		return nil, errCompact
	}
	c := &compact{layer: layer, day: rest[:dayBytes], at: map[string]string{}}
	r := &reader{c: c, rest: rest[dayBytes:]}
	n := r.num()
	c.offsets = r.take((n + 1) * 4)
	if r.bad || n < 0 {
		return nil, errCompact
	}
	c.text = r.take(int(binary.LittleEndian.Uint32([]byte(c.offsets[n*4:]))))
	for range r.num() {
		name := r.str(r.num())
		c.at[name] = r.take(r.num())
		if r.bad {
			return nil, errCompact
		}
	}
	return c, nil
}

// rows decodes one section.
func (c *compact) rows(name string) ([]book.Row, error) {
	bytes, ok := c.at[name]
	if !ok {
		return nil, fmt.Errorf("matrix.bin has no section %s", name)
	}
	r := &reader{c: c, rest: bytes}
	n := r.num()
	if n > len(bytes) {
		return nil, errCompact
	}
	out := make([]book.Row, n)
	for i := range out {
		out[i].Value = r.value(0)
		out[i].ID = out[i].Str("id")
		file, _, _ := strings.Cut(name, ".")
		out[i].At = c.layer + "/matrix/" + file + ".yaml"
	}
	if r.bad {
		return nil, errCompact
	}
	return out, nil
}

type reader struct {
	c      *compact
	rest   string
	bad    bool
	fields []book.Field // the room of mappings to come
}

func (r *reader) num() int {
	var n uint64
	for i := 0; i < len(r.rest) && i < 5; i++ {
		n |= uint64(r.rest[i]&0x7f) << (7 * i)
		if r.rest[i] < 0x80 {
			r.rest = r.rest[i+1:]
			return int(n)
		}
	}
	r.bad = true
	return 0
}

func (r *reader) take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.bad = true
		return ""
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) str(i int) string {
	o := r.c.offsets
	if i < 0 || i*4+8 > len(o) {
		r.bad = true
		return ""
	}
	from, to := u32(o[i*4:]), u32(o[i*4+4:])
	if from > to || to > len(r.c.text) {
		r.bad = true
		return ""
	}
	return r.c.text[from:to]
}

func u32(s string) int { return int(s[0]) | int(s[1])<<8 | int(s[2])<<16 | int(s[3])<<24 }

func (r *reader) value(depth int) (v book.Value) {
	n := r.num()
	kind, n := n&3, n>>2
	switch {
	case r.bad || depth > maxDepth:
		r.bad = true
	case kind == isText:
		v.Text = r.str(n)
	case kind == isNull:
	case n > len(r.rest):
		r.bad = true
	case kind == isList:
		v.List = make([]book.Value, n)
		for i := range v.List {
			v.List[i] = r.value(depth + 1)
		}
	default:
		v.Map = r.room(n)
		for i := range v.Map {
			v.Map[i].Key = r.str(r.num())
			v.Map[i].Value = r.value(depth + 1)
		}
	}
	return v
}

// room gives space for n fields out of a large piece: one allocation for many
// rows.
func (r *reader) room(n int) []book.Field {
	if n > len(r.fields) {
		r.fields = make([]book.Field, max(n, min(512, len(r.rest)/2)))
	}
	out := r.fields[:n:n]
	r.fields = r.fields[n:]
	return out
}

// encode writes the compact form of sections.
func encode(day string, rows map[string][]book.Row) []byte {
	w := &writer{numbers: map[string]int{}}
	type part struct {
		name  int
		bytes []byte
	}
	var parts []part
	for _, name := range Sections() {
		w.out = binary.AppendUvarint(nil, uint64(len(rows[name])))
		for i := range rows[name] {
			w.value(rows[name][i].Value)
		}
		parts = append(parts, part{w.number(name), slices.Clone(w.out)})
	}
	out := append([]byte(magic), day...)
	out = binary.AppendUvarint(out, uint64(len(w.texts)))
	var text []byte
	for _, t := range append(w.texts, "") {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
		text = append(text, t...)
	}
	out = append(out, text...)
	out = binary.AppendUvarint(out, uint64(len(parts)))
	for _, p := range parts {
		out = binary.AppendUvarint(out, uint64(p.name))
		out = binary.AppendUvarint(out, uint64(len(p.bytes)))
		out = append(out, p.bytes...)
	}
	return out
}

type writer struct {
	out     []byte
	texts   []string
	numbers map[string]int
}

func (w *writer) number(s string) int {
	i, ok := w.numbers[s]
	if !ok {
		i = len(w.texts)
		w.numbers[s] = i
		w.texts = append(w.texts, s)
	}
	return i
}

func (w *writer) value(v book.Value) {
	put := func(n, kind int) { w.out = binary.AppendUvarint(w.out, uint64(n<<2|kind)) }
	switch {
	case v.Text != "":
		put(w.number(v.Text), isText)
	case v.List != nil:
		put(len(v.List), isList)
		for _, e := range v.List {
			w.value(e)
		}
	case v.Map != nil:
		put(len(v.Map), isMap)
		for _, f := range v.Map {
			w.out = binary.AppendUvarint(w.out, uint64(w.number(f.Key)))
			w.value(f.Value)
		}
	default:
		put(0, isNull)
	}
}
