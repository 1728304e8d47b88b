package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

const (
	// maxDepth bounds nesting: descriptions and hosts files are flat.
	maxDepth = 40
	// maxMarks bounds what a parsed document costs: a node takes some two
	// hundred bytes and needs a line end or a comma to begin after.
	maxMarks = 400_000
	// toldMistakes is how many mistakes are told; the rest is counted.
	toldMistakes = 20
)

// mistakes collects what is wrong with one file that a person wrote.
type mistakes struct {
	file  string
	n     int
	lines []report.Text
}

// add keeps one mistake; line 0 stands for the file as a whole.
func (m *mistakes) add(line int, en, zh string, args ...any) {
	if m.n++; len(m.lines) == toldMistakes {
		return
	}
	where := m.file
	if line > 0 {
		where = fmt.Sprintf("%s:%d", m.file, line)
	}
	t := report.T(en, zh, args...)
	m.lines = append(m.lines, report.Text{En: where + ": " + t.En, Zh: where + ": " + t.Zh})
}

// err gives all mistakes as one *report.Problem (exit 64), nil for none.
func (m *mistakes) err() error {
	if m.n == 0 {
		return nil
	}
	all := m.lines[0]
	for _, l := range m.lines[1:] {
		all = report.Text{En: all.En + "\n" + l.En, Zh: all.Zh + "\n" + l.Zh}
	}
	if more := m.n - len(m.lines); more > 0 {
		all = report.T("%s\nand %d more", "%s\n另有 %d 处", all, more)
	}
	return &report.Problem{
		What: report.T("%s has mistakes: %d", "%s 有错误：%d 处", m.file, m.n),
		Why:  all,
		Do:   report.T("correct the lines named above", "修正上述各行"),
		Exit: report.ExitUsage,
	}
}

// parseYAML gives the only document of data, nil when there is none or when a
// mistake was found. Anchors, aliases, tags, merge keys and keys that stand
// twice are mistakes: they make a small file mean a large or a surprising one.
func (m *mistakes) parseYAML(data []byte, limit int) *yaml.Node {
	switch marks := bytes.Count(data, []byte{'\n'}) + bytes.Count(data, []byte{','}); {
	case len(data) > limit:
		m.add(0, "is over %d bytes", "超过 %d 字节", limit)
	case marks > maxMarks:
		m.add(0, "has over %d lines and commas", "换行和逗号超过 %d 个", maxMarks)
	case !utf8.Valid(data):
		at := 0
		for r, n := utf8.DecodeRune(data); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(data[at:]) {
			at += n
		}
		m.add(1+bytes.Count(data[:at], []byte{'\n'}), "not UTF-8", "不是 UTF-8")
	}
	if m.n > 0 {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		err = dec.Decode(&next)
	}
	switch {
	case err == nil:
		m.add(next.Line, "a second document begins: want one", "此处开始第二个文档：只应有一个")
	case !errors.Is(err, io.EOF):
		line, words := yamlFault(err)
		m.add(line, "not YAML: %s", "不是 YAML：%s", words)
	case !isNull(doc.Content[0]):
		m.sound(doc.Content[0], 1)
		return doc.Content[0]
	}
	return nil
}

// yamlFault splits an error of the parser. It counts lines from 0 for "did not
// find expected ..." and from 1 elsewhere (yaml.v3 3.0.1, parser.fail).
func yamlFault(err error) (line int, words string) {
	head := regexp.MustCompile(`^yaml: (?:line (\d+): )?`).FindStringSubmatch(err.Error())
	if head == nil {
		return 0, err.Error()
	}
	words = err.Error()[len(head[0]):]
	line, _ = strconv.Atoi(head[1])
	if line == 0 || strings.HasPrefix(words, "did not find expected") {
		line++
	}
	return line, words
}

func (m *mistakes) sound(n *yaml.Node, depth int) {
	switch {
	case m.n >= toldMistakes:
		return
	case depth > maxDepth:
		m.add(n.Line, "nested deeper than %d", "嵌套超过 %d 层", maxDepth)
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		m.add(n.Line, "anchors and aliases are not accepted: write the value out", "不接受锚点和别名：写出完整的值")
		return
	case n.Style&yaml.TaggedStyle != 0 && n.Tag == "!vault":
		m.add(n.Line, "a vaulted value cannot be read: name a variable with password_env", "无法读取 vault 加密的值：用 password_env 指定变量名")
		return
	case n.Style&yaml.TaggedStyle != 0:
		m.add(n.Line, "tags are not accepted: got %s", "不接受标签：实为 %s", brief(n.Tag))
		return
	}
	first := map[string]int{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			switch line := first[c.Value]; {
			case c.Kind != yaml.ScalarNode || c.Tag == "!!merge" || isNull(c):
				m.add(c.Line, "a key must be a plain word", "键必须是普通单词")
			case line > 0:
				m.add(c.Line, "key %s stands twice, first on line %d", "键 %s 重复，首次出现于第 %d 行", brief(c.Value), line)
			}
			first[c.Value] = c.Line
		}
		m.sound(c, depth+1)
	}
}

// decode fills the struct that into points to, after it has held the tree
// against its type: known keys only, and a value of the right kind for each.
func (m *mistakes) decode(n *yaml.Node, into any) {
	before := m.n
	m.fits(n, reflect.TypeOf(into).Elem(), "")
	if m.n > before {
		return
	}
	if err := n.Decode(into); err != nil {
		line, words := yamlFault(err)
		m.add(line, "%s", "%s", words)
	}
}

// fits holds one value against a type; path names it in messages.
func (m *mistakes) fits(n *yaml.Node, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]())
	switch {
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		m.fields(n, t, path)
	case own:
		if err := n.Decode(reflect.New(t).Interface()); err != nil {
			_, words := yamlFault(err)
			said := report.Same(words)
			if p, ok := err.(*report.Problem); ok {
				said = p.What
			}
			m.add(n.Line, "%s: %s", "%s：%s", path, said)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			m.fits(n.Content[i+1], t.Elem(), dotted(path, n.Content[i].Value))
		}
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, c := range n.Content {
			m.fits(c, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case isNull(n):
		m.add(n.Line, "%s has no value", "%s 没有值", cmp.Or(path, "the file"))
	case n.Kind == yaml.ScalarNode && scalarFits(n, t):
	default:
		m.add(n.Line, "%s: want %s, got %s", "%s：应为%s，实为%s", cmp.Or(path, m.file), wantedKind(t), gotKind(n))
	}
}

func (m *mistakes) fields(n *yaml.Node, t reflect.Type, path string) {
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); key != "" && key != "-" {
			known[key] = f.Type
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if ft, ok := known[key.Value]; ok {
			m.fits(value, ft, dotted(path, key.Value))
			continue
		}
		names := make([]string, 0, len(known))
		for k := range known {
			names = append(names, k)
		}
		m.add(key.Line, "unknown key %s%s", "未知的键 %s%s", dotted(path, key.Value), report.Meant(key.Value, names))
	}
}

func scalarFits(n *yaml.Node, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int64: // yaml.v3 would cut 1.5 down to 1
		return n.Tag == "!!int" && n.Decode(reflect.New(t).Interface()) == nil
	case reflect.Bool:
		return n.Tag == "!!bool"
	}
	return t.Kind() == reflect.String
}

func wantedKind(t reflect.Type) report.Text {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return report.T("a mapping", "映射")
	case reflect.Slice:
		return report.T("a list", "列表")
	case reflect.Int, reflect.Int64:
		return report.T("a whole number", "整数")
	case reflect.Bool:
		return report.T("true or false", " true 或 false")
	}
	return report.T("a text in one piece", "一段文字")
}

func gotKind(n *yaml.Node) report.Text {
	switch n.Kind {
	case yaml.MappingNode:
		return report.T("a mapping", "映射")
	case yaml.SequenceNode:
		return report.T("a list", "列表")
	}
	return report.T("%s", " %s", strconv.Quote(brief(n.Value)))
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func dotted(path, key string) string {
	if path == "" {
		return brief(key)
	}
	return path + "." + brief(key)
}

// brief makes a word of a file bearable in a message.
func brief(s string) string {
	r := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s))
	if len(r) > 60 {
		r = append(r[:60:60], []rune("...")...)
	}
	return string(r)
}
