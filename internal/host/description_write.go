package host

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// yamlOf writes a struct as YAML with the style of each text chosen here: the
// one yaml.v3 3.0.1 chooses loses texts that begin with a tab or a line end.
func yamlOf(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(nodeOf(reflect.ValueOf(v))); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// nodeOf makes the node of a value; the order of maps is that of their keys.
func nodeOf(v reflect.Value) *yaml.Node {
	if m, ok := v.Interface().(yaml.Marshaler); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		if plain, err := m.MarshalYAML(); err == nil {
			return nodeOf(reflect.ValueOf(plain))
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return nodeOf(v.Elem())
	case reflect.Struct:
		return structNode(v)
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			n.Content = append(n.Content, textNode(k.String()), nodeOf(v.MapIndex(k)))
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, nodeOf(v.Index(i)))
		}
		return n
	case reflect.String:
		return textNode(v.String())
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v.Interface())}
}

func structNode(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	short := true
	for i := range v.NumField() {
		key, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		f := v.Field(i)
		if key == "" || strings.Contains(options, "omitempty") && f.IsZero() {
			continue
		}
		value := nodeOf(f)
		short = short && value.Kind == yaml.ScalarNode && value.Style&yaml.LiteralStyle == 0 && len(value.Value) < 60
		n.Content = append(n.Content, textNode(key), value)
	}
	if short {
		n.Style = yaml.FlowStyle
	}
	return n
}

// textNode writes whole lines as a block, what a block could lose in quotes.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	lines := strings.HasSuffix(s, "\n") && !strings.HasSuffix(s, "\n\n") && !strings.ContainsAny(s[:1], " \t\n#")
	switch odd := strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); {
	case lines && len(s) > 1 && !odd && !strings.Contains(s, " \n"):
		n.Style = yaml.LiteralStyle
	case odd || strings.Contains(s, "\n"):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
