package screen

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
)

var update = flag.Bool("update", false, "write docs/json.md, docs/exit-codes.md and docs/schema")

const docs = "../../docs"

// TestSchemasAreCurrent keeps docs/schema and docs/json.md equal to the Go
// types. The end-to-end tests hold every real answer against these schemas.
func TestSchemasAreCurrent(t *testing.T) {
	page := &bytes.Buffer{}
	page.WriteString("# JSON of ascendctl\n\nMade from the Go types by `make docs`. Every answer starts with the same head: `schema` (such as `ascendctl.inspect/v1`), `tool` {name, version, commit}, `started` (RFC 3339), `duration_ms`. Keys are only ever added within a version; an enum is a lower-case word; a `text` holds both languages. The schemas lie in `docs/schema/`.\n")
	kinds := Kinds()
	for _, k := range kinds {
		s := document("ascendctl."+k.Schema, reflect.TypeOf(k.Doc))
		same(t, filepath.Join(docs, "schema", strings.ReplaceAll(k.Schema, "/", ".")+".json"), indent(t, s))
		fmt.Fprintf(page, "\n## ascendctl.%s\n\n`%s`\n\n", k.Schema, k.Made)
		page.WriteString("| key | type | what |\n| --- | --- | --- |\n")
		rows(page, comments(t), reflect.TypeOf(k.Doc), "", map[reflect.Type]string{})
	}
	same(t, filepath.Join(docs, "schema", "error.json"), indent(t, document("ascendctl error", reflect.TypeOf(report.ProblemJSON{}))))
	page.WriteString("\n## Errors\n\nWith `-o json` a failure is one JSON value on stderr.\n\n| key | type | what |\n| --- | --- | --- |\n")
	rows(page, comments(t), reflect.TypeOf(report.ProblemJSON{}), "", map[reflect.Type]string{})
	same(t, filepath.Join(docs, "json.md"), page.Bytes())
}

// TestExitCodeDocs keeps docs/exit-codes.md equal to the constants.
func TestExitCodeDocs(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Exit codes\n\nOne table for all commands, made from the constants by `make docs`. Over many hosts the worst wins, in the order 8, 7, 1, 5, 3, 4, 6, 64, 130, 0.\n\n| code | means | examples | 含义 | 示例 |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range report.ExitTable() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", r.Code, r.Means.En, r.Example.En, r.Means.Zh, r.Example.Zh)
	}
	same(t, filepath.Join(docs, "exit-codes.md"), b.Bytes())
}

// TestSchemasSayNo proves that a schema refuses what it should.
func TestSchemasSayNo(t *testing.T) {
	c := jsonschema.NewCompiler()
	schema := c.MustCompile(filepath.Join(docs, "schema", "version.v1.json"))
	var good any
	data, err := json.Marshal(Version{Envelope: report.Envelope{Schema: "ascendctl.version/v1", Started: time.Now()}})
	if err != nil || json.Unmarshal(data, &good) != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(good); err != nil {
		t.Fatalf("a good document is refused: %v", err)
	}
	bad := good.(map[string]any)
	bad["surprise"] = 1
	if schema.Validate(bad) == nil {
		t.Error("an unknown key is accepted")
	}
	delete(bad, "surprise")
	delete(bad, "schema")
	if schema.Validate(bad) == nil {
		t.Error("a missing key is accepted")
	}
}

func same(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says (%v): run make docs", name, err)
	}
}

func indent(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// special are types that write their own JSON.
var special = map[reflect.Type]map[string]any{
	reflect.TypeFor[model.Recorded](): {"type": []string{"string", "null"}},
	reflect.TypeFor[model.Dim]():      {"type": []string{"integer", "string"}},
	reflect.TypeFor[facts.Limit]():    {"type": []string{"integer", "string", "null"}},
	reflect.TypeFor[model.Gears]():    {"type": []string{"string", "object"}},
}

// containers are what the container of a model can be.
var containers = []reflect.Type{reflect.TypeFor[model.ONNX](), reflect.TypeFor[model.OM]()}

// document is the schema of a whole answer; structs below it stand in $defs.
func document(title string, t reflect.Type) map[string]any {
	defs := map[string]any{}
	s := structSchema(t, defs)
	s["$schema"], s["title"], s["$defs"] = "https://json-schema.org/draft/2020-12/schema", title, defs
	return s
}

// schemaOf is the JSON Schema of a Go type as encoding/json writes it.
func schemaOf(t reflect.Type, defs map[string]any) map[string]any {
	if s, ok := special[t]; ok {
		return s
	}
	if t == reflect.TypeFor[model.Container]() {
		var all []any
		for _, c := range containers {
			all = append(all, schemaOf(c, defs))
		}
		return map[string]any{"anyOf": all}
	}
	if t == reflect.TypeOf(time.Time{}) {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	if word, ok := jsonWord(t); ok {
		return map[string]any{"type": word}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t.Elem(), defs), map[string]any{"type": "null"}}}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem(), defs)}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem(), defs)}
	case reflect.Struct:
		name := path.Base(t.PkgPath()) + "." + strings.NewReplacer("[", "_", "]", "", "/", "_", "*", "", "{", "", "}", "").Replace(t.Name())
		if defs[name] == nil {
			defs[name] = true // against a type within itself
			defs[name] = structSchema(t, defs)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	}
	panic("no schema for " + t.String())
}

func structSchema(t reflect.Type, defs map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	each(t, func(f reflect.StructField, key string, optional bool) {
		properties[key] = schemaOf(f.Type, defs)
		if !optional {
			required = append(required, key)
		}
	})
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// jsonWord is the type of a scalar; types that write themselves say which by
// what their zero value becomes.
func jsonWord(t reflect.Type) (string, bool) {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) && t.Kind() != reflect.Pointer {
		return "", false
	}
	switch t.Kind() {
	case reflect.String:
		return "string", true
	case reflect.Bool:
		return "boolean", true
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Uint32, reflect.Uint8:
		return "integer", true
	case reflect.Float64, reflect.Float32:
		return "number", true
	}
	return "", false
}

// each visits the fields that JSON shows, embedded structs flattened.
func each(t reflect.Type, visit func(f reflect.StructField, key string, optional bool)) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !f.IsExported():
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Pointer: // all of it or nothing
			each(f.Type.Elem(), func(f reflect.StructField, key string, _ bool) { visit(f, key, true) })
		case f.Anonymous && tag == "":
			each(f.Type, visit)
		default:
			if tag == "" {
				tag = f.Name
			}
			visit(f, tag, strings.Contains(options, "omit"))
		}
	}
}

// rows writes one line a key, nested keys with a dot, arrays with []. A struct
// that was written out before is only named by where.
func rows(b *bytes.Buffer, doc map[string]string, t reflect.Type, prefix string, seen map[reflect.Type]string) {
	owner := t
	each(t, func(f reflect.StructField, key string, optional bool) {
		kind, inner := describe(f.Type)
		if optional {
			kind += ", optional"
		}
		if prefix == "" && fieldOwner(owner, f) == "report.Envelope" {
			return // said once, at the top of the page
		}
		text := doc[fieldOwner(owner, f)+"."+f.Name]
		at := seen[inner]
		if inner != nil && at != "" {
			text = strings.TrimSpace(text + " (as `" + at + "`)")
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, key, kind, text)
		if inner != nil && at == "" && inner != reflect.TypeOf(report.Text{}) {
			seen[inner] = prefix + key
			suffix := "."
			if strings.HasPrefix(kind, "array") {
				suffix = "[]."
			}
			rows(b, doc, inner, prefix+key+suffix, seen)
		}
		if f.Type == reflect.TypeFor[model.Container]() {
			for _, c := range containers {
				rows(b, doc, c, prefix+key+"("+strings.ToLower(c.Name())+").", seen)
			}
		}
	})
}

// fieldOwner is the name of the struct that declares f, which for a flattened
// field is not the one being shown.
func fieldOwner(t reflect.Type, f reflect.StructField) string {
	for i := range t.NumField() {
		e := t.Field(i)
		inner := e.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if e.Anonymous && inner.Kind() == reflect.Struct {
			if _, ok := inner.FieldByName(f.Name); ok {
				return fieldOwner(inner, f)
			}
		}
	}
	name, _, _ := strings.Cut(t.Name(), "[") // Fact[int] is declared as Fact
	return path.Base(t.PkgPath()) + "." + name
}

func describe(t reflect.Type) (kind string, inner reflect.Type) {
	switch {
	case t == reflect.TypeOf(time.Time{}):
		return "RFC 3339 time", nil
	case t == reflect.TypeOf(report.Text{}):
		return "text {en, zh}", nil
	case t == reflect.TypeFor[model.Dim]():
		return "integer or string", nil
	case t == reflect.TypeFor[model.Recorded]():
		return "string or null", nil
	case t == reflect.TypeFor[facts.Limit]():
		return "integer or \"unlimited\"", nil
	case t == reflect.TypeFor[model.Gears]():
		return "\"none\" or object", nil
	case t == reflect.TypeFor[model.Container]():
		return "object", nil
	case t.Kind() == reflect.Pointer:
		kind, inner = describe(t.Elem())
		return kind + " or null", inner
	case t.Kind() == reflect.Slice:
		kind, inner = describe(t.Elem())
		return "array of " + kind, inner
	case t.Kind() == reflect.Map:
		kind, _ = describe(t.Elem())
		return "object of " + kind, nil
	case t.Kind() == reflect.Struct:
		return "object", t
	}
	if word, ok := jsonWord(t); ok {
		return word, nil
	}
	return "any", nil
}

// comments reads what the source says of each field: "Struct.Field" -> text.
func comments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources", err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structComments(out, f.Name.Name+"."+spec.Name.Name, s)
				}
			}
			return true
		})
	}
	return out
}

func structComments(out map[string]string, name string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		text := f.Doc.Text() + f.Comment.Text()
		for _, n := range f.Names {
			out[name+"."+n.Name] = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
		}
	}
}
