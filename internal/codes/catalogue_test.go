package codes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// catalogue reads one of the shared catalogues, the oracle of the tests below.
// They lie beside the repository: CI must have them, elsewhere a copy of the
// repository alone is fine.
func catalogue(t *testing.T, name string, into any) bool {
	t.Helper()
	shared := os.Getenv("ASCENDCTL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(shared, "facts", name))
	if err != nil && os.Getenv("CI") != "true" {
		t.Logf("NOT TESTED, the shared catalogue is not here: %v", err)
		return false
	}
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

type fact struct {
	Name, Class, Action, Since, T, T8, Title string
	Meaning, Remedy, Hint                    string
	RenamedTo                                string `yaml:"renamed_to"`
	RenamedFrom                              string `yaml:"renamed_from"`
	Causes, In                               []string
	ACL                                      int64
}

// is finds the entry of a family among the meanings of a query.
func is(t *testing.T, c *Book, query, family, code string) (Entry, bool) {
	t.Helper()
	entries, err := c.Explain(query)
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Family == family && e.Code == code })
	if err != nil || i < 0 || entries[i].Range {
		t.Errorf("%s: no exact %s %s: %s %v", query, family, code, brief(entries), err)
		return Entry{}, false
	}
	return entries[i], true
}

func TestEveryNumberOfTheSharedCatalogueAnswersByCodeAndName(t *testing.T) {
	var all struct {
		Codes, Aclnn, Hccl, Driver map[int64]fact
		Runtime                    map[int64]fact       `yaml:"runtime_internal"`
		Scheduler                  map[int64]fact       `yaml:"task_scheduler"`
		GE                         map[string]yaml.Node `yaml:"graph_engine_log"`
	}
	if !catalogue(t, "acl-errors.yaml", &all) {
		return
	}
	c := shipped(t)
	asked := 0
	for family, rows := range map[string]map[int64]fact{"acl": all.Codes, "aclnn": all.Aclnn, "hccl": all.Hccl, "hal": all.Driver, "runtime": all.Runtime, "scheduler": all.Scheduler} {
		for n, want := range rows {
			code := fmt.Sprint(n)
			switch family {
			case "runtime":
				code = fmt.Sprintf("0x%07x", n)
			case "scheduler":
				code = fmt.Sprintf("0x%02x", n)
			}
			for _, query := range []string{fmt.Sprint(n), fmt.Sprintf("0x%X", n), want.Name, strings.ToLower(want.Name)} {
				asked++
				e, ok := is(t, c, query, family, code)
				if !ok {
					continue
				}
				if e.Name != want.Name || want.Class != "" && e.Class != want.Class || want.Action != "" && e.Action != want.Action || want.ACL != 0 && e.ACL != want.ACL {
					t.Errorf("%s: got %s %s %s %d, want %+v", query, e.Name, e.Class, e.Action, e.ACL, want)
				}
				if want.Causes != nil && len(e.Causes) != len(want.Causes) || want.Remedy != "" && e.Remedy.IsZero() || e.Meaning.IsZero() {
					t.Errorf("%s: causes, remedy or meaning lost: %+v", query, e)
				}
			}
		}
	}
	ge := 0
	var base, step int64
	node(t, all.GE["base"], &base)
	node(t, all.GE["step"], &step)
	for module, name := range map[int64]string{0: "common", 9: "executor", 10: "generator"} {
		var texts map[int64]string
		node(t, all.GE[name], &texts)
		for n := range texts {
			code := fmt.Sprint(base + step*module + n)
			is(t, c, code, "ge", code)
			ge++
		}
	}
	if asked < 4*650 || ge < 30 {
		t.Errorf("only %d questions and %d log numbers", asked, ge)
	}
	t.Logf("%d questions, %d log numbers", asked, ge)
}

func node(t *testing.T, n yaml.Node, into any) {
	t.Helper()
	if err := n.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestEveryTextCodeOfTheSharedCatalogueAnswers(t *testing.T) {
	var all struct {
		Codes    map[string]fact
		Patterns []struct{ Re, Class string } `yaml:"text_patterns"`
	}
	if !catalogue(t, "ascend-error-codes.yaml", &all) {
		return
	}
	c := shipped(t)
	for code, want := range all.Codes {
		e, ok := is(t, c, strings.ToLower(code), "text", code)
		if !ok {
			continue
		}
		if e.Class != want.Class || e.Now != want.RenamedTo || e.Was != want.RenamedFrom || want.Causes != nil && len(e.Causes) != len(want.Causes) ||
			e.Meaning.IsZero() || want.Remedy != "" && e.Remedy.IsZero() {
			t.Errorf("%s: got %+v, want %+v", code, e, want)
		}
		got := map[string]string{}
		for _, m := range e.Messages {
			got[m.Releases] = m.Line
			if hits, err := c.Find(strings.NewReplacer("[PID: n] time", "[PID: 7] 2026-01-16-13:02:36.801.136").Replace(m.Line)); err != nil || len(hits) == 0 || hits[0].Entry.Code != code {
				t.Errorf("%s is not found in its own line %q", code, m.Line)
			}
		}
		old := want.T
		if want.T8 != "" {
			old = want.T8
		}
		f8 := slices.Contains(want.In, "f8")
		if line, ok := got[From85]; ok != !slices.Equal(want.In, []string{"f8"}) || ok && !strings.HasSuffix(line, "("+code+"): "+want.T) {
			t.Errorf("%s from 8.5: %q", code, line)
		}
		if line, ok := got[UpTo83]; f8 && (!ok || line != code+": [PID: n] time "+old) {
			t.Errorf("%s up to 8.3: %q", code, line)
		}
	}
	signs, err := book.Rows[sign](c.b, "codes/patterns.yaml", "patterns")
	if err != nil || len(signs) != len(all.Patterns) {
		t.Fatalf("%d signs, want %d: %v", len(signs), len(all.Patterns), err)
	}
	for i, p := range all.Patterns {
		if signs[i].Re != p.Re || signs[i].Class != p.Class {
			t.Errorf("sign %s differs from %q", signs[i].ID, p.Re)
		}
	}
	if len(all.Codes) < 600 {
		t.Errorf("only %d codes", len(all.Codes))
	}
	t.Logf("%d codes, %d signs", len(all.Codes), len(signs))
}

// everything decodes all families.
func everything(t testing.TB, c *Book) (rows []row) {
	t.Helper()
	l, err := c.lore()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	add := func(files, name string) {
		s, err := c.section(files, name)
		if err != nil {
			t.Fatal(err)
		}
		if !seen[files+name] {
			rows = append(rows, s.rows...)
		}
		seen[files+name] = true
	}
	for _, f := range l.families {
		add(f.Files, f.ID)
	}
	for _, f := range l.prefixes {
		add(f.Files, text)
	}
	return rows
}

func TestEveryRowIsReachableAndWhole(t *testing.T) {
	c := shipped(t)
	l, err := c.lore()
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	rows := everything(t, c)
	for _, r := range rows {
		codes[r.ID] = true
	}
	for _, r := range rows {
		for _, key := range strings.Fields(r.Source) {
			if l.sources[key] == "" {
				t.Errorf("%s: source %s is not spelled out", r.ID, key)
			}
		}
		if r.ACL != 0 && !codes[fmt.Sprint(r.ACL)] || r.Now != "" && !codes[r.Now] || r.Was != "" && !codes[r.Was] {
			t.Errorf("%s names a code that has no row: %d %s %s", r.ID, r.ACL, r.Now, r.Was)
		}
		if isText(r.ID) && (r.Text == "" || r.Class == "") {
			t.Errorf("%s lacks text or class", r.ID)
		}
		entries, err := c.Explain(r.ID)
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		e := entries[0]
		for _, x := range entries {
			if x.Code == r.ID && x.Name == r.Name {
				e = x
			}
		}
		if e.Code != r.ID || e.Meaning.En == "" || e.Meaning.Zh == "" || len(e.Sources) == 0 || e.FamilyTitle.Zh == "" || e.Class == "" && r.ID != "0" && e.Family != "ge" {
			t.Errorf("%s is not whole: %+v", r.ID, e)
		}
	}
	for _, s := range l.shapes {
		for _, id := range strings.Fields(s.Family) {
			if _, ok := l.family(id); !ok && id != text && id != torch {
				t.Errorf("shape %s names family %s", s.ID, id)
			}
		}
	}
	for _, s := range l.spans {
		f, ok := l.family(s.Family)
		if !ok || s.Low < f.Low || s.High > f.High || s.Low > s.High {
			t.Errorf("range %s lies outside its family", s.ID)
		}
	}
	for _, k := range l.classes {
		if _, ok := l.actions[k.Action]; !ok && k.Action != "" {
			t.Errorf("class %s names action %s", k.ID, k.Action)
		}
	}
	t.Logf("%d rows", len(rows))
}

// texts gives every text pair of the files with its line.
func texts(t *testing.T, visit func(where string, x report.Text)) {
	t.Helper()
	fsys := os.DirFS("../../compat")
	files, err := fs.Glob(fsys, "codes/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			t.Fatal(err)
		}
		var root yaml.Node
		if err := yaml.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		var walk func(n *yaml.Node)
		walk = func(n *yaml.Node) {
			var x struct{ En, Zh string }
			if n.Kind == yaml.MappingNode && n.Content[0].Value == "en" && n.Decode(&x) == nil {
				visit(fmt.Sprintf("%s:%d", file, n.Line), report.Text(x))
				return
			}
			for _, m := range n.Content {
				walk(m)
			}
		}
		walk(&root)
	}
}

func TestTheChineseFollowsTheGlossary(t *testing.T) {
	stuck := regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}|\p{Han} [，。；：（）、]|[，。；：（、] |\p{Han}[,;:()]`)
	never := regexp.MustCompile(`显卡|板卡|延迟|填充|形状|错误代码|操作符|重置|仿真|您|抱歉|！|……|[“”‘’→×•]|[^申]请([^求]|$)|^请[^求]`)
	n := 0
	texts(t, func(where string, x report.Text) {
		n++
		if m := stuck.FindString(x.Zh); m != "" {
			t.Errorf("%s: blank or width at %q in %q", where, m, x.Zh)
		}
		if m := never.FindString(x.Zh); m != "" {
			t.Errorf("%s: %q in %q", where, m, x.Zh)
		}
		if x.En == x.Zh && len(strings.Fields(x.En)) > 2 || strings.ContainsFunc(x.En, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: not translated: %q %q", where, x.En, x.Zh)
		}
		if strings.HasSuffix(x.Zh, "。") || strings.HasSuffix(x.En, ".") && !strings.HasSuffix(x.En, "..") {
			t.Errorf("%s: a full stop ends %q", where, x.Zh)
		}
	})
	if n < 2000 {
		t.Errorf("only %d texts: the walk is broken", n)
	}
	t.Logf("%d texts", n)
}

func FuzzExplain(f *testing.F) {
	for _, s := range []string{"107002", "-8005", "0x7BC80", "EZ9999", "E", "EE", "ERR99999", "--1", "+0x", "0x7fffffffffffffff", "-9223372036854775808", "drvRetCode=87", "acl_", "\xff", "4294967295", "187"} {
		f.Add(s)
	}
	c := shipped(f)
	everything(f, c)
	f.Fuzz(func(t *testing.T, query string) {
		entries, err := c.Explain(query)
		if (err == nil) != (len(entries) > 0) {
			t.Fatalf("%q: %d entries and %v", query, len(entries), err)
		}
		for _, e := range entries {
			if e.Code == "" || e.Family == "" || e.Meaning.En == "" || e.Meaning.Zh == "" || len(e.Sources) == 0 || e.Sources[0] == "" {
				t.Fatalf("%q: not whole: %+v", query, e)
			}
			if again, err := c.Explain(e.Code); e.Family != "sign" && (err != nil || !slices.ContainsFunc(again, func(x Entry) bool { return x.Code == e.Code && x.Family == e.Family })) {
				t.Fatalf("%q: its own code %s does not lead back: %v", query, e.Code, err)
			}
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"E10016: x", "[PID: 1] 2026-01-16-13:02:36 A(EZ9999): y", "ret = 0x7BC80\nret is -8005\r\n", "ErrCode=507899, InnerCode=0x7020010", "retCode=0x31, [", "ErrorNo: 9999999999", "EE9999: Inner Error!\n\n", "ACL_ERROR_", "Killed \x00"} {
		f.Add(s)
	}
	c := shipped(f)
	f.Fuzz(func(t *testing.T, log string) {
		hits, err := c.Find(log)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(log, "\n")
		last := 0
		for _, h := range hits {
			if h.Line < max(1, last) || h.Line > len(lines) || !strings.Contains(lines[h.Line-1], h.Text) || h.Entry.Code == "" {
				t.Fatalf("%q: %+v", log, h)
			}
			last = h.Line
		}
	})
}

// BenchmarkExplain compares the first question to a fresh book, which decodes
// the families it needs, with one that needs nearly all of them.
func BenchmarkExplain(b *testing.B) {
	for _, query := range []string{"EI0006", "HCCL_E_TIMEOUT", "107002", "9", "0x7010001", "E1OO16"} {
		b.Run("first/"+query, func(b *testing.B) {
			for b.Loop() {
				_, _ = shipped(b).Explain(query)
			}
		})
	}
	c := shipped(b)
	b.Run("again/107002", func(b *testing.B) {
		for b.Loop() {
			_, _ = c.Explain("107002")
		}
	})
}
