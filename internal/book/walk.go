package book

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// walker holds a YAML tree against a Go type before it is decoded, because
// decoding a node neither refuses unknown keys nor tells every line.
type walker struct {
	file  string
	wrong *mistakes
	keys  map[reflect.Type]map[string]reflect.Type
}

var (
	textType    = reflect.TypeFor[report.Text]()
	timeType    = reflect.TypeFor[time.Time]()
	nodeType    = reflect.TypeFor[yaml.Node]()
	unmarshaler = reflect.TypeFor[yaml.Unmarshaler]()
	textReader  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// row checks one row of a section against its type and gives its id.
func (w *walker) row(n *yaml.Node, t reflect.Type) string {
	if n.Kind != yaml.MappingNode {
		return w.rowOf(n, nil)
	}
	known := w.known(t)
	if known == nil {
		w.say(n, "rows of type %s cannot be checked", "无法检查类型为 %s 的行", t)
		return ""
	}
	extra := map[string]reflect.Type{"id": reflect.TypeFor[string](), "source": reflect.TypeFor[string]()}
	return w.rowOf(n, w.mapping(n, known, extra, ""))
}

// rowOf checks what every row needs; got has the values of its keys.
func (w *walker) rowOf(n *yaml.Node, got map[string]*yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		w.say(n, "want a row with id and source, got %s", "应为含 id 和 source 的行，实为%s", kindOf(n))
		return ""
	}
	for _, key := range []string{"id", "source"} {
		switch v := got[key]; {
		case v == nil:
			w.say(n, "%s is missing", "缺少 %s", key)
		case v.Kind == yaml.ScalarNode && !isNull(v) && strings.TrimSpace(v.Value) == "":
			w.say(v, "%s has no value", "%s 没有值", key)
		}
	}
	if s := got["status"]; s != nil && !slices.Contains([]string{"src", "seen", "guess"}, s.Value) {
		w.say(s, "status: want src, seen or guess, got %s", "status：应为 src、seen 或 guess，实为 %s", shown(s))
	}
	if got["id"] == nil {
		return ""
	}
	id := got["id"].Value
	if len(id) > 200 || strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		w.say(got["id"], "id: want one word of at most 200 bytes, got %s", "id：应为不超过 200 字节的单词，实为 %s", shown(got["id"]))
	}
	return id
}

// mapping checks the keys of a struct and gives the values that stand there.
func (w *walker) mapping(n *yaml.Node, known, extra map[string]reflect.Type, path string) map[string]*yaml.Node {
	got := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		t, ok := known[key.Value]
		if !ok {
			t, ok = extra[key.Value]
		}
		if !ok {
			w.say(key, "unknown key %s%s", "未知的键 %s%s", join(path, key.Value), report.Meant(key.Value, names(known, extra)))
			continue
		}
		got[key.Value] = value
		w.value(value, t, join(path, key.Value))
	}
	return got
}

// value checks one value; path names it in messages.
func (w *walker) value(n *yaml.Node, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// What decodes itself is asked when it does.
	own := t == nodeType || reflect.PointerTo(t).Implements(unmarshaler)
	switch {
	case own || t.Kind() == reflect.Interface:
	case isNull(n):
		w.say(n, "%s has no value", "%s 没有值", path)
	case t == textType:
		w.text(n, path)
	case t != timeType && !reflect.PointerTo(t).Implements(textReader) && w.inside(n, t, path):
	default:
		w.leaf(n, t, path)
	}
}

// inside checks what holds other values; false for a type that holds none.
func (w *walker) inside(n *yaml.Node, t reflect.Type, path string) bool {
	want := yaml.MappingNode
	switch {
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		want = yaml.SequenceNode
	default:
		return false
	}
	switch {
	case n.Kind != want && want == yaml.SequenceNode:
		w.say(n, "%s: want a list, got %s", "%s：应为列表，实为%s", path, kindOf(n))
	case n.Kind != want:
		w.say(n, "%s: want a mapping, got %s", "%s：应为映射，实为%s", path, kindOf(n))
	case t.Kind() == reflect.Struct:
		w.mapping(n, w.known(t), nil, path)
	case t.Kind() == reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			w.leaf(n.Content[i], t.Key(), path)
			w.value(n.Content[i+1], t.Elem(), join(path, n.Content[i].Value))
		}
	default:
		for i, c := range n.Content {
			w.value(c, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	}
	return true
}

// leaf checks a value that stands alone.
func (w *walker) leaf(n *yaml.Node, t reflect.Type, path string) {
	fits := n.Kind == yaml.ScalarNode && n.Decode(reflect.New(t).Interface()) == nil
	if k := t.Kind(); k >= reflect.Int && k <= reflect.Uint64 && n.Tag == "!!float" {
		fits = false // yaml.v3 would cut 1.5 down to 1
	}
	if !fits {
		w.say(n, "%s: want %s, got %s", "%s：应为%s，实为 %s", path, wanted(t), shown(n))
	}
}

// text checks a sentence in two languages.
func (w *walker) text(n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		w.say(n, "%s: want a text {en: ..., zh: ...}, got %s", "%s：应为文本 {en: ..., zh: ...}，实为%s", path, kindOf(n))
		return
	}
	got := w.mapping(n, w.known(textType), nil, path)
	for _, half := range []string{"en", "zh"} {
		if got[half] == nil || strings.TrimSpace(got[half].Value) == "" {
			w.say(n, "%s: %s is missing", "%s：缺少 %s", path, half)
			return
		}
	}
	if en, zh := placeholders(got["en"].Value), placeholders(got["zh"].Value); !slices.Equal(en, zh) {
		w.say(n, "%s: en and zh have different place-holders: %v and %v", "%s：en 与 zh 的占位符不同：%v 与 %v", path, en, zh)
	}
}

// known gives the yaml keys of a struct type and their types, nil for another
// type. Without a tag a field is named as yaml.v3 names it: in lower case.
func (w *walker) known(t reflect.Type) map[string]reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	if k := w.keys[t]; k != nil {
		return k
	}
	k := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case len(f.Index) > 1 || !f.IsExported() || key == "-":
		case strings.Contains(options, "inline"):
			for name, ft := range w.known(f.Type) {
				k[name] = ft
			}
		case key == "":
			k[strings.ToLower(f.Name)] = f.Type
		default:
			k[key] = f.Type
		}
	}
	if w.keys == nil {
		w.keys = map[reflect.Type]map[string]reflect.Type{}
	}
	w.keys[t] = k
	return k
}

func (w *walker) say(n *yaml.Node, en, zh string, args ...any) {
	w.wrong.add(w.file, n.Line, en, zh, args...)
}
