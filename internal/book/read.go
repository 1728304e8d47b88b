package book

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

const (
	// maxFile bounds a file: a parsed node costs some hundred bytes, so this
	// bounds the memory that a hostile file can ask for too.
	maxFile = 1 << 20
	// maxDepth bounds nesting; knowledge is flat, so this is generous.
	maxDepth = 64
	// schema is the one generation of file heads that this build reads.
	schema = "1"
)

// document is one file of knowledge: its head, and its sections undecoded.
type document struct {
	name     string // layer and file, as messages name it
	file     string
	asOf     time.Time
	sections map[string]*yaml.Node
	lines    map[string]int // section -> line of its key
	wrong    mistakes
}

// readDocument never fails: what is wrong is kept with the document.
func readDocument(l Layer, file string) *document {
	d := &document{name: l.Name + "/" + file, file: file, sections: map[string]*yaml.Node{}, lines: map[string]int{}}
	data, err := slurp(l.FS, file)
	if err != nil {
		d.wrong.add(d.name, 0, "cannot be read: %s", "无法读取：%s", err)
		d.wrong.cause = err
		return d
	}
	top := parse(data, d.name, &d.wrong)
	switch {
	case d.wrong.n > 0:
	case top == nil:
		d.wrong.add(d.name, 1, "the file is empty: want schema, as_of and sections", "文件为空：应有 schema、as_of 和各分区")
	case top.Kind != yaml.MappingNode:
		d.wrong.add(d.name, top.Line, "want a mapping with schema, as_of and sections, got %s",
			"应为含 schema、as_of 和各分区的映射，实为%s", kindOf(top))
	default:
		d.head(top)
	}
	return d
}

// head takes schema and as_of and keeps the rest as sections.
func (d *document) head(top *yaml.Node) {
	var version, asOf *yaml.Node
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		switch key.Value {
		case "schema":
			version = value
		case "as_of":
			asOf = value
		default:
			d.sections[key.Value], d.lines[key.Value] = value, key.Line
		}
	}
	switch {
	case version == nil:
		d.wrong.add(d.name, top.Line, "schema is missing: want schema: %s", "缺少 schema：应有 schema: %s", schema)
	case version.Value != schema:
		d.wrong.add(d.name, version.Line, "schema: got %s, this build reads schema %s", "schema：实为 %s，此版本只读取 schema %s",
			shown(version), schema)
	}
	if asOf == nil {
		d.wrong.add(d.name, top.Line, "as_of is missing: want the day of the knowledge, as 2026-11-30", "缺少 as_of：应为知识的日期，如 2026-11-30")
		return
	}
	day, err := time.Parse(time.DateOnly, asOf.Value)
	if err != nil {
		d.wrong.add(d.name, asOf.Line, "as_of: want a day as 2026-11-30, got %s", "as_of：应为日期，如 2026-11-30，实为 %s", shown(asOf))
	}
	d.asOf = day
}

// knownSections refuses a section that no layer below has: a misspelt one would
// silently do nothing.
func (d *document) knownSections(known map[string]bool, wrong *mistakes) {
	if len(known) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.sections)) {
		if !known[name] {
			wrong.add(d.name, d.lines[name], "unknown section %s%s", "未知的分区 %s%s", word(name), report.Meant(name, slices.Collect(maps.Keys(known))))
		}
	}
}

// slurp reads a regular file of bounded size.
func slurp(fsys fs.FS, file string) ([]byte, error) {
	// Asked before opening: opening a pipe would wait for a writer.
	info, err := fs.Stat(fsys, file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("want a regular file, got %s", info.Mode())
	}
	f, err := fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1)) // parse refuses what is over the bound
}

// parse gives the only document of data, nil for none. After a mistake what it
// gives means nothing.
func parse(data []byte, name string, wrong *mistakes) *yaml.Node {
	if len(data) > maxFile {
		wrong.add(name, 0, "is over %d bytes", "超过 %d 字节", maxFile)
		return nil
	}
	if at := notUTF8(data); at >= 0 {
		wrong.add(name, lineAt(data, at), "not UTF-8", "不是 UTF-8")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		line, text := syntax(err, data)
		wrong.add(name, line, "not YAML: %s", "不是 YAML：%s", text)
		return nil
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		wrong.add(name, next.Line, "a second document begins: want one", "此处开始第二个文档：只应有一个")
		return nil
	case !errors.Is(err, io.EOF):
		line, text := syntax(err, data)
		wrong.add(name, line, "not YAML: %s", "不是 YAML：%s", text)
		return nil
	}
	top := doc.Content[0]
	if isNull(top) {
		return nil // comments only
	}
	sound(top, name, 1, wrong)
	return top
}

// sound refuses what knowledge never needs and what makes a small file mean a
// large or a surprising one: anchors, aliases, tags, merge keys, deep nesting,
// keys that are no plain words, keys that stand twice.
func sound(n *yaml.Node, name string, depth int, wrong *mistakes) {
	switch {
	case wrong.n >= listed:
		return
	case depth > maxDepth:
		wrong.add(name, n.Line, "nested deeper than %d", "嵌套超过 %d 层", maxDepth)
		return
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		wrong.add(name, n.Line, "anchors and aliases are not accepted: write the value out", "不接受锚点和别名：写出完整的值")
		return
	case n.Style&yaml.TaggedStyle != 0:
		wrong.add(name, n.Line, "tags are not accepted: got %s", "不接受标签：实为 %s", word(n.Tag))
		return
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			sound(c, name, depth+1, wrong)
		}
		return
	}
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || isNull(key) {
			wrong.add(name, key.Line, "a key must be a plain word", "键必须是普通单词")
			continue
		}
		sound(key, name, depth+1, wrong)
		if line := first[key.Value]; line > 0 {
			wrong.add(name, key.Line, "key %s stands twice, first on line %d", "键 %s 重复，首次出现于第 %d 行", word(key.Value), line)
		}
		first[key.Value] = key.Line
		sound(n.Content[i+1], name, depth+1, wrong)
	}
}

var (
	yamlLine = pattern(`^yaml: (?:line (\d+): )?`)
	tabbed   = pattern(`^ *\t`)
	anchor   = pattern(`^unknown anchor '([^']+)'`)
)

// syntax makes an error of the YAML parser exact. The parser counts lines from
// 0 for "did not find expected ..." and from 1 elsewhere, names none for the
// first line and none for an alias without anchor (yaml.v3 3.0.1, fail).
func syntax(err error, data []byte) (line int, text report.Text) {
	m := yamlLine().FindStringSubmatch(err.Error())
	if m == nil {
		return 0, report.Same(err.Error())
	}
	words := err.Error()[len(m[0]):]
	line, _ = strconv.Atoi(m[1])
	if line == 0 || strings.HasPrefix(words, "did not find expected") {
		line++
	}
	lines := bytes.Split(data, []byte("\n"))
	if a := anchor().FindStringSubmatch(words); a != nil {
		at := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte("*"+a[1])) })
		return at + 1, report.T("anchors and aliases are not accepted: *%s", "不接受锚点和别名：*%s", word(a[1]))
	}
	for i := line - 1; i < len(lines); i++ {
		if tabbed().Match(lines[i]) {
			return i + 1, report.T("a tab in the indentation: use blanks", "缩进中有制表符：应使用空格")
		}
	}
	return min(line, len(lines)), report.Same(words)
}

// plain is an error of yaml.v3 in one line, without its prefix.
func plain(err error) string {
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		return te.Errors[0]
	}
	return strings.TrimPrefix(err.Error(), "yaml: ")
}

func notUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

func lineAt(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }
