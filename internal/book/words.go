package book

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// hole finds {name} and the verbs of fmt. The blank flag of fmt is left out,
// so that "96% done" is no place-holder.
var hole = pattern(`%%|\{[a-z][a-z0-9_.]*\}|%(\[\d+\])?[-+#0]*\d*(\.\d+)?[a-zA-Z]`)

// placeholders gives what two halves of a text must share: names in any order
// and number, and verbs in their order unless each says its number itself.
func placeholders(s string) []string {
	var names, verbs []string
	numbered := true
	for _, h := range hole().FindAllString(s, -1) {
		switch {
		case h == "%%":
		case h[0] == '{':
			names = append(names, h)
		default:
			verbs = append(verbs, h)
			numbered = numbered && h[1] == '['
		}
	}
	slices.Sort(names)
	if numbered {
		slices.Sort(verbs)
		verbs = slices.Compact(verbs)
	}
	return append(slices.Compact(names), verbs...)
}

// kindOf names what stands there.
func kindOf(n *yaml.Node) report.Text {
	switch {
	case n.Kind == yaml.MappingNode:
		return report.T("a mapping", "映射")
	case n.Kind == yaml.SequenceNode:
		return report.T("a list", "列表")
	case isNull(n):
		return report.T("nothing", "空值")
	}
	return report.T("a single value", "单个值")
}

// wanted names a type of a single value.
func wanted(t reflect.Type) report.Text {
	if t == reflect.TypeFor[time.Duration]() {
		return report.T("a duration such as 30s", "时长，如 30s")
	}
	switch t.Kind() {
	case reflect.String:
		return report.T("a text in one piece", "一段文字")
	case reflect.Bool:
		return report.T("true or false", " true 或 false")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return report.T("a whole number", "整数")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return report.T("a whole number from 0", "非负整数")
	case reflect.Float32, reflect.Float64:
		return report.T("a number", "数字")
	}
	if t == timeType {
		return report.T("a day such as 2026-11-30", "日期，如 2026-11-30")
	}
	return report.T("a value of type %s", "类型为 %s 的值", t)
}

// shown quotes a value in a message, cut to a bearable length.
func shown(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return kindOf(n)
	}
	return quoted(n.Value)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func names(sets ...map[string]reflect.Type) []string {
	var all []string
	for _, s := range sets {
		all = slices.AppendSeq(all, maps.Keys(s))
	}
	return all
}

func join(path, key string) string {
	if path == "" {
		return word(key)
	}
	return path + "." + word(key)
}

// word is a key or a name in a message: as it stands when it is one, else
// quoted and cut.
func word(s string) string {
	if len(s) <= 60 && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	v := []rune(s)
	if len(v) > 60 {
		v = append(v[:60:60], []rune("...")...)
	}
	return strconv.Quote(string(v))
}

// pattern compiles when first used: start-up pays for nothing it does not need.
func pattern(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}
