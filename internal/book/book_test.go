package book

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/report"
)

// tool is a row with everything a row can hold.
type tool struct {
	ID      string            `yaml:"id"`
	Version string            `yaml:"version"`
	Size    int64             `yaml:"size"`
	Count   uint8             `yaml:"count"`
	Share   float64           `yaml:"share"`
	Fast    bool              `yaml:"fast"`
	Wait    time.Duration     `yaml:"wait"`
	Day     time.Time         `yaml:"day"`
	Title   report.Text       `yaml:"title"`
	Parts   []part            `yaml:"parts"`
	Env     map[string]string `yaml:"env"`
	More    *part             `yaml:"more"`
	Free    any               `yaml:"free"`
	Status  string            `yaml:"status"`
	hidden  string
}

type part struct {
	Name  string      `yaml:"name"`
	Title report.Text `yaml:"title"`
}

func (t tool) Check() error {
	if t.Version == "0" {
		return errors.New("version 0 is none")
	}
	return nil
}

const head = "schema: 1\nas_of: 2026-11-30\ntools:\n"

func layer(name, text string) Layer {
	return Layer{Name: name, FS: fstest.MapFS{"tools.yaml": {Data: []byte(text)}}}
}

func TestRowsDecodeEveryKindOfValue(t *testing.T) {
	const text = head + `  - id: a
    source: 'src: somewhere'
    status: seen
    version: 1.10
    size: 5000000000
    count: 255
    share: 0.5
    fast: true
    wait: 90s
    day: 2026-11-30
    title: {en: "%s of {n}, 96% done", zh: "{n} 的 %s，已完成 96%"}
    parts: [{name: p, title: {en: x, zh: 甲}}]
    env: {A: b}
    more: {name: q}
    free: [1, {x: y}]
`
	rows, err := Rows[tool](New(layer("base", text)), "*.yaml", "tools")
	if err != nil {
		t.Fatal(err)
	}
	want := []tool{{ID: "a", Status: "seen", Version: "1.10", Size: 5000000000, Count: 255, Share: 0.5, Fast: true, Wait: 90 * time.Second,
		Day:   time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
		Title: report.Text{En: "%s of {n}, 96% done", Zh: "{n} 的 %s，已完成 96%"},
		Parts: []part{{"p", report.Text{En: "x", Zh: "甲"}}}, Env: map[string]string{"A": "b"}, More: &part{Name: "q"},
		Free: []any{1, map[string]any{"x": "y"}}, hidden: ""}}
	if d := cmp.Diff(want, rows, cmp.AllowUnexported(tool{})); d != "" {
		t.Error(d)
	}
}

// TestMistakes pins file, line and words of everything that can be wrong.
func TestMistakes(t *testing.T) {
	row := func(lines string) string { return head + "  - id: a\n    source: s\n    " + lines + "\n" }
	for name, c := range map[string]struct{ in, want string }{
		"unknown key":           {row("vesion: 1"), "k/tools.yaml:6: unknown key vesion, did you mean version"},
		"unknown key, far":      {row("zzz: 1"), "k/tools.yaml:6: unknown key zzz"},
		"unexported field":      {row("hidden: 1"), "k/tools.yaml:6: unknown key hidden"},
		"unknown nested key":    {row("parts:\n      - name: x\n        tilte: {en: a, zh: b}"), "k/tools.yaml:8: unknown key parts[0].tilte, did you mean title"},
		"unknown key of text":   {row("title: {en: a, zh: b, ch: c}"), "k/tools.yaml:6: unknown key title.ch, did you mean zh"},
		"long odd key":          {row("'" + strings.Repeat("x y", 99) + "': 1"), `k/tools.yaml:6: unknown key "` + strings.Repeat("x y", 20) + `..."`},
		"no id":                 {head + "  - source: s\n", "k/tools.yaml:4: id is missing"},
		"no source":             {head + "  - id: a\n", "k/tools.yaml:4: source is missing"},
		"empty id":              {head + "  - id: ''\n    source: s\n", "k/tools.yaml:4: id has no value"},
		"empty source":          {head + "  - id: a\n    source:\n", "k/tools.yaml:5: source has no value"},
		"id of two words":       {head + "  - id: a b\n    source: s\n", `k/tools.yaml:4: id: want one word of at most 200 bytes, got "a b"`},
		"id is a list":          {head + "  - id: [a]\n    source: s\n", "k/tools.yaml:4: id: want a text in one piece, got a list"},
		"id twice":              {head + "  - {id: a, source: s}\n  - {id: b, source: s}\n  - {id: a, source: s}\n", "k/tools.yaml:6: id a stands twice, first at k/tools.yaml:4"},
		"status":                {row("status: maybe"), `k/tools.yaml:6: status: want src, seen or guess, got "maybe"`},
		"row is no mapping":     {head + "  - hello\n", "k/tools.yaml:4: want a row with id and source, got a single value"},
		"section is no list":    {"schema: 1\nas_of: 2026-11-30\ntools: {a: b}\n", "k/tools.yaml:3: section tools: want a list of rows, got a mapping"},
		"whole number":          {row("size: big"), `k/tools.yaml:6: size: want a whole number, got "big"`},
		"fraction":              {row("size: 1.5"), `k/tools.yaml:6: size: want a whole number, got "1.5"`},
		"too large":             {row("count: 256"), `k/tools.yaml:6: count: want a whole number from 0, got "256"`},
		"number":                {row("share: half"), `k/tools.yaml:6: share: want a number, got "half"`},
		"bool":                  {row("fast: 1"), `k/tools.yaml:6: fast: want true or false, got "1"`},
		"duration without unit": {row("wait: 90"), `k/tools.yaml:6: wait: want a duration such as 30s, got "90"`},
		"day":                   {row("day: soon"), `k/tools.yaml:6: day: want a day such as 2026-11-30, got "soon"`},
		"list":                  {row("parts: x"), "k/tools.yaml:6: parts: want a list, got a single value"},
		"mapping":               {row("more: [x]"), "k/tools.yaml:6: more: want a mapping, got a list"},
		"element":               {row("parts:\n      - name: [x]"), "k/tools.yaml:7: parts[0].name: want a text in one piece, got a list"},
		"value in a map":        {row("env: {A: [b]}"), "k/tools.yaml:6: env.A: want a text in one piece, got a list"},
		"nothing":               {row("version:"), "k/tools.yaml:6: version has no value"},
		"empty element":         {row("parts: [~]"), "k/tools.yaml:6: parts[0] has no value"},
		"own check":             {row("version: 0"), "k/tools.yaml:4: row a: version 0 is none"},
		"text without Chinese":  {row("title: {en: a}"), "k/tools.yaml:6: title: zh is missing"},
		"text without English":  {row("title: {en: ' ', zh: b}"), "k/tools.yaml:6: title: en is missing"},
		"text is one sentence":  {row("title: hello"), "k/tools.yaml:6: title: want a text {en: ..., zh: ...}, got a single value"},
		"names of place-holders": {row("title: {en: '{a} {b}', zh: '{a}'}"),
			"k/tools.yaml:6: title: en and zh have different place-holders: [{a} {b}] and [{a}]"},
		"order of verbs":      {row("title: {en: '%s %d', zh: '%d %s'}"), "k/tools.yaml:6: title: en and zh have different place-holders: [%s %d] and [%d %s]"},
		"no schema":           {"as_of: 2026-11-30\ntools: []\n", "k/tools.yaml:1: schema is missing: want schema: 1"},
		"schema of tomorrow":  {"schema: 2\nas_of: 2026-11-30\ntools: []\n", `k/tools.yaml:1: schema: got "2", this build reads schema 1`},
		"no day":              {"schema: 1\ntools: []\n", "k/tools.yaml:1: as_of is missing: want the day of the knowledge, as 2026-11-30"},
		"no day of the year":  {"schema: 1\nas_of: 2026-02-30\ntools: []\n", `k/tools.yaml:2: as_of: want a day as 2026-11-30, got "2026-02-30"`},
		"empty":               {"# nothing\n", "k/tools.yaml:1: the file is empty: want schema, as_of and sections"},
		"list at the top":     {"- a\n", "k/tools.yaml:1: want a mapping with schema, as_of and sections, got a list"},
		"key twice":           {head + "  - id: a\n    source: s\n    id: b\n", "k/tools.yaml:6: key id stands twice, first on line 4"},
		"section twice":       {head + "  []\ntools: []\n", "k/tools.yaml:5: key tools stands twice, first on line 3"},
		"key is a list":       {head + "  - ? [a]\n    : b\n", "k/tools.yaml:4: a key must be a plain word"},
		"merge key":           {head + "  - <<: {id: a}\n", "k/tools.yaml:4: a key must be a plain word"},
		"anchor":              {head + "  - &x {id: a}\n", "k/tools.yaml:4: anchors and aliases are not accepted: write the value out"},
		"alias of nothing":    {head + "  - *x\n", "k/tools.yaml:4: not YAML: anchors and aliases are not accepted: *x"},
		"tag":                 {head + "  - !!binary aGk=\n", "k/tools.yaml:4: tags are not accepted: got !!binary"},
		"two documents":       {head + "  []\n---\na: b\n", "k/tools.yaml:5: a second document begins: want one"},
		"tab":                 {head + "  - id: a\n\tsource: s\n", "k/tools.yaml:5: not YAML: a tab in the indentation: use blanks"},
		"open quote":          {head + "  - id: \"a\n", "k/tools.yaml:4: not YAML: found unexpected end of stream"},
		"open bracket":        {head + "  - [a\n", "k/tools.yaml:4: not YAML: did not find expected ',' or ']'"},
		"two colons":          {"schema: 1: 2\n", "k/tools.yaml:1: not YAML: mapping values are not allowed in this context"},
		"not UTF-8":           {head + "  - id: \xff\n", "k/tools.yaml:4: not UTF-8"},
		"deep":                {head + "  - " + strings.Repeat("[", 99) + strings.Repeat("]", 99), "k/tools.yaml:4: nested deeper than 64"},
		"deeper than parsers": {head + "  - " + strings.Repeat("[", 20000), "k/tools.yaml:4: not YAML: exceeded max depth of 10000"},
		"large":               {strings.Repeat("#", 1<<20+1), "k/tools.yaml: is over 1048576 bytes"},
		"many mistakes at once": {row("vesion: 1\n    size: x"),
			"k/tools.yaml:6: unknown key vesion, did you mean version\nk/tools.yaml:7: size: want a whole number, got \"x\""},
	} {
		t.Run(name, func(t *testing.T) {
			l := layer("k", c.in)
			_, err := Rows[tool](New(l), "tools.yaml", "tools")
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			var p *report.Problem
			if errors.As(err, &p) {
				t.Error("a mistake of ours was told as one of the user's")
			}
			l.User = true
			_, err = Rows[tool](New(l), "tools.yaml", "tools")
			if !errors.As(err, &p) || p.Exit != report.ExitUsage || p.Why.En != c.want || p.Why.Zh == "" || p.What.Zh == p.What.En ||
				!strings.HasPrefix(p.What.En, "k/tools.yaml has mistakes: ") {
				t.Errorf("as a user's file: %#v", err)
			}
		})
	}
}

func TestMistakesAreBounded(t *testing.T) {
	_, err := Rows[tool](New(layer("k", head+strings.Repeat("  - x\n", 500))), "*.yaml", "tools")
	if lines := strings.Split(err.Error(), "\n"); len(lines) != listed+1 || lines[listed] != "and 480 more" {
		t.Errorf("got %d lines, the last: %s", len(lines), lines[len(lines)-1])
	}
}

func TestLaterLayersReplaceAndAddRows(t *testing.T) {
	rows := func(spec ...string) string {
		out := head
		for _, s := range spec {
			id, v, _ := strings.Cut(s, "=")
			out += fmt.Sprintf("  - {id: %s, version: '%s', source: s}\n", id, v)
		}
		return out
	}
	user := layer("mine", rows("b=user", "e=user"))
	user.User = true
	b := New(layer("base", rows("a=1", "b=1", "c=1")), layer("update", rows("c=2", "d=2", "a=2")), user)
	got, err := Rows[tool](b, "tools.yaml", "tools")
	if err != nil {
		t.Fatal(err)
	}
	var line []string
	for _, r := range got {
		line = append(line, r.ID+"="+r.Version)
	}
	if s := strings.Join(line, " "); s != "a=2 b=user c=2 d=2 e=user" {
		t.Error(s)
	}
}

func TestRowsOfManyFiles(t *testing.T) {
	fsys := fstest.MapFS{
		"rules/b.yaml": {Data: []byte(head + "  - {id: b, source: s}\n")},
		"rules/a.yaml": {Data: []byte(head + "  - {id: a, source: s}\n")},
		"rules/c.yaml": {Data: []byte("schema: 1\nas_of: 2026-11-30\nother: []\n")},
	}
	rows, err := Rows[tool](New(Layer{Name: "k", FS: fsys}), "rules/*.yaml", "tools")
	if err != nil || len(rows) != 2 || rows[0].ID != "a" || rows[1].ID != "b" {
		t.Errorf("%v %v", rows, err)
	}
	fsys["rules/d.yaml"] = &fstest.MapFile{Data: []byte(head + "  - {id: a, source: s}\n")}
	_, err = Rows[tool](New(Layer{Name: "k", FS: fsys}), "rules/*.yaml", "tools")
	if err == nil || err.Error() != "k/rules/d.yaml:4: id a stands twice, first at k/rules/a.yaml:4" {
		t.Error(err)
	}
}

func TestAUserLayerKnowsOnlyTheSectionsBelow(t *testing.T) {
	user := layer("mine", "schema: 1\nas_of: 2026-11-30\ntoolz: []\n")
	user.User = true
	_, err := Rows[tool](New(layer("base", head+"  []\n"), user), "tools.yaml", "tools")
	var p *report.Problem
	if !errors.As(err, &p) || p.Why.En != "mine/tools.yaml:3: unknown section toolz, did you mean tools" {
		t.Errorf("%v", err)
	}
}

func TestCheckLayersFindsWhatWouldDoNothing(t *testing.T) {
	user := Layer{Name: "mine", User: true, FS: fstest.MapFS{"tool.yaml": {}, "tools.yaml": {}, "README.md": {}}}
	err := New(layer("base", ""), user).CheckLayers()
	var p *report.Problem
	if !errors.As(err, &p) || p.Why.En != "mine/tool.yaml: no knowledge file has this name, did you mean tools.yaml" {
		t.Errorf("%v", err)
	}
	gone := Layer{Name: "gone", User: true, FS: lost{}}
	if err := New(gone).CheckLayers(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := New(layer("base", "")).CheckLayers(); err != nil {
		t.Error(err)
	}
}

type lost struct{}

func (lost) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func TestAMissingSectionIsAnError(t *testing.T) {
	for _, pattern := range []string{"tools.yaml", "nothing.yaml"} {
		_, err := Rows[tool](New(layer("k", head+"  []\n")), pattern, "gone")
		if err == nil || err.Error() != "no layer of the book has a section gone in "+pattern {
			t.Error(err)
		}
	}
	if rows, err := Rows[tool](New(layer("k", head+"  []\n")), "tools.yaml", "tools"); err != nil || len(rows) != 0 {
		t.Errorf("an empty section: %v %v", rows, err)
	}
	if _, err := Rows[string](New(layer("k", head+"  - {id: a}\n")), "tools.yaml", "tools"); err == nil {
		t.Error("rows of strings were accepted")
	}
	if _, err := Rows[tool](New(layer("k", "")), "[", "tools"); err == nil || !strings.Contains(err.Error(), "syntax error in pattern") {
		t.Error(err)
	}
}

// counting is a file system that knows how often its files were opened.
type counting struct {
	fs.FS
	mu     sync.Mutex
	opened map[string]int
}

func (c *counting) Open(name string) (fs.File, error) {
	c.mu.Lock()
	c.opened[name]++
	c.mu.Unlock()
	return c.FS.Open(name)
}

func (c *counting) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

func TestNothingIsReadBeforeItIsAskedForAndNothingTwice(t *testing.T) {
	c := &counting{opened: map[string]int{}, FS: fstest.MapFS{
		"tools.yaml": {Data: []byte(head + "  - {id: a, source: s}\nbroken: [{id: a, nonsense: 1}]\n")},
		"other.yaml": {Data: []byte("\t")}}}
	b := New(Layer{Name: "k", FS: c})
	if len(c.opened) != 0 {
		t.Fatalf("New opened %v", c.opened)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if rows, err := Rows[tool](b, "tools.yaml", "tools"); err != nil || len(rows) != 1 {
				t.Errorf("%v %v", rows, err)
			}
		})
	}
	wg.Wait()
	if c.opened["tools.yaml"] != 1 || c.opened["other.yaml"] != 0 {
		t.Errorf("opened %v", c.opened)
	}
	if _, err := Rows[tool](b, "tools.yaml", "broken"); err == nil {
		t.Error("a broken section was accepted once it was asked for")
	}
}

func TestAsOfTellsLayersAndDays(t *testing.T) {
	b := New(layer("base", head+"  []\n"), layer("update", "schema: 1\nas_of: 2027-01-02\n"))
	got, err := b.AsOf("*.yaml")
	want := []Origin{{"base", "tools.yaml", time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
		{"update", "tools.yaml", time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, broken := range []string{"x: [", "schema: 2\nas_of: 2026-11-30\n", "schema: 1\nas_of: today\n", "schema: 1\n", ""} {
		if got, err := New(layer("base", broken)).AsOf("*.yaml"); err == nil {
			t.Errorf("%q has a date: %v", broken, got)
		}
	}
	for _, unusual := range []string{"as_of: 2026-11-30\nschema: 1\n", "schema:   1\nas_of: '2026-11-30'\n", "# head\n\nschema: 1\n# day\nas_of: 2026-11-30\n"} {
		if got, err := New(layer("base", unusual)).AsOf("*.yaml"); err != nil || len(got) != 1 || got[0].AsOf != want[0].AsOf {
			t.Errorf("%q: %v %v", unusual, got, err)
		}
	}
}
