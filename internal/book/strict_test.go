package book

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ascendctl/ascendctl/internal/report"
)

type config struct {
	Lang    string        `yaml:"lang"`
	Timeout time.Duration `yaml:"timeout"`
	Hosts   []struct {
		Name string `yaml:"name"`
		Port int    `yaml:"port"`
	} `yaml:"hosts"`
	Shared `yaml:",inline"`
}

type Shared struct {
	Level string `yaml:"level"`
}

func (c *config) Check() error {
	if c.Lang == "fr" {
		return &report.Problem{What: report.T("lang fr is not spoken here", "不支持语言 fr")}
	}
	return nil
}

func TestStrictKeepsWhatAFileDoesNotSay(t *testing.T) {
	for _, text := range []string{"", "# only words\n", "---\n", "timeout: 5s\nhosts: [{name: a, port: 22}]\nlevel: warn\n"} {
		c := config{Lang: "zh"}
		if err := Strict([]byte(text), "config.yaml", &c); err != nil || c.Lang != "zh" {
			t.Errorf("%q: %v %+v", text, err, c)
		}
		if full := strings.HasPrefix(text, "timeout"); full && (c.Timeout != 5*time.Second || c.Hosts[0].Port != 22 || c.Level != "warn") {
			t.Errorf("%+v", c)
		}
	}
}

func TestStrictRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"lnag: en":                          "config.yaml:1: unknown key lnag, did you mean lang",
		"\nhosts:\n- {name: a, prot: 1}":    "config.yaml:3: unknown key hosts[0].prot, did you mean port",
		"levle: x":                          "config.yaml:1: unknown key levle, did you mean level",
		"shared: {}":                        "config.yaml:1: unknown key shared",
		"lang: en\nlang: zh":                "config.yaml:2: key lang stands twice, first on line 1",
		"hosts: [{port: x}]":                `config.yaml:1: hosts[0].port: want a whole number, got "x"`,
		"a: &a [1]\nb: [*a, *a]":            "config.yaml:1: anchors and aliases are not accepted: write the value out\nconfig.yaml:2: anchors and aliases are not accepted: write the value out\nconfig.yaml:2: anchors and aliases are not accepted: write the value out",
		"- a":                               "config.yaml:1: want a mapping, got a list",
		"hello":                             "config.yaml:1: want a mapping, got a single value",
		"lang: fr":                          "config.yaml:1: lang fr is not spoken here",
		"lang: en\n---\nlang: zh":           "config.yaml:2: a second document begins: want one",
		"lang: en\n--- {":                   "config.yaml:2: not YAML: did not find expected node content",
		"lang: en\n\ttimeout: 5s":           "config.yaml:2: not YAML: a tab in the indentation: use blanks",
		"lang: \x01":                        "config.yaml:1: not YAML: control characters are not allowed",
		"lang: [en":                         "config.yaml:1: not YAML: did not find expected ',' or ']'",
		"lang: en\n\xfe\xff":                "config.yaml:2: not UTF-8",
		"lang: " + strings.Repeat("x", 2e6): "config.yaml: is over 1048576 bytes",
	} {
		var p *report.Problem
		err := Strict([]byte(in), "config.yaml", &config{})
		if !errors.As(err, &p) || p.Exit != report.ExitUsage || p.Why.En != want {
			t.Errorf("%.40q\ngot  %v\nwant %s", in, err, want)
		}
	}
	if err := Strict([]byte("a: 1"), "x", config{}); err == nil {
		t.Error("took a value that cannot be filled")
	}
	if err := Strict([]byte("a: 1"), "x", nil); err == nil {
		t.Error("took nil")
	}
}

// TestHostileFilesEndSoon pins that no small file makes much work: each of
// these is under the size bound and built to blow up a careless reader.
func TestHostileFilesEndSoon(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	many := strings.Builder{}
	for many.Len() < maxFile-64 {
		many.WriteString("- [{},{},{},{}]\n")
	}
	for name, text := range map[string]string{
		"alias bomb":      bomb,
		"many small":      many.String(),
		"one long key":    "? " + strings.Repeat("k", maxFile-16) + "\n: 1\n",
		"deep blocks":     deepBlocks(1000),
		"deep flow":       strings.Repeat("{a: ", 9000),
		"quotes":          strings.Repeat("'", maxFile-1),
		"dashes":          strings.Repeat("- ", maxFile/2-1),
		"question marks":  strings.Repeat("? ", maxFile/2-1),
		"document starts": strings.Repeat("---\n", maxFile/4-1),
	} {
		t.Run(name, func(t *testing.T) {
			if len(text) > maxFile {
				t.Fatal("over the bound, so it tests only that")
			}
			if err := Strict([]byte(text), "x.yaml", &config{}); err == nil || len(err.Error()) > 4000 {
				t.Errorf("%.300v", err)
			}
		})
	}
}

func deepBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "tools.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Rows[tool](New(Layer{Name: "mine", FS: os.DirFS(dir), User: true}), "tools.yaml", "tools")
	var p *report.Problem
	if !errors.As(err, &p) || !strings.HasPrefix(p.Why.En, "mine/tools.yaml: cannot be read: want a regular file, got p") {
		t.Errorf("%v", err)
	}
	endless := Layer{Name: "mine", FS: os.DirFS("/dev"), User: true}
	if _, err = Rows[tool](New(endless), "zero", "tools"); err == nil {
		t.Error("read a device")
	}
	if err := os.Symlink("gone", filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err = Rows[tool](New(Layer{Name: "mine", FS: os.DirFS(dir)}), "b*.yaml", "tools"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dead link: %v", err)
	}
}

func TestPlaceholders(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"96% used":               "",
		"100%, %% and 5%":        "",
		"{b} {a} {b} {A} { c}":   "{a} {b}",
		"%s %d %5.1f %q":         "%s %d %5.1f %q",
		"%[2]s %[1]s %[2]s":      "%[1]s %[2]s",
		"%[2]s %s":               "%[2]s %s",
		"{host.name}: %-8s|%+vx": "{host.name} %-8s %+v",
	} {
		if got := strings.Join(placeholders(in), " "); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// FuzzBook feeds any bytes to both readers: no panic, and what is accepted
// keeps the promises of a row.
func FuzzBook(f *testing.F) {
	for _, s := range []string{
		head + "  - {id: a, source: s}\n", head + "  - id: a\n    source: s\n    title: {en: '%s', zh: '%s'}\n    parts: [{name: x}]\n",
		"a: &x [*x]", "- - - -", "? [a]\n: b", "--- {", "<<: {a: b}", "a: |\n\tb", "schema: 1\nas_of: 2026-11-30\ntools: [{id: ~}]", "\ufeffa: b", "a: !!float x",
		"%YAML 1.2\n---\na: 1\n...\n", "{a: b, a: c}", head + "  - {id: a, source: s, size: 0x10, share: .inf, free: {1: 2}, env: {1: 2}}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := New(Layer{Name: "k", FS: fstest.MapFS{"x.yaml": {Data: data}}, User: true})
		rows, err := Rows[tool](b, "x.yaml", "tools")
		for _, r := range rows {
			if r.ID == "" || r.Title.IsZero() != (r.Title.En == "" || r.Title.Zh == "") {
				t.Errorf("accepted %+v", r)
			}
		}
		if err != nil && len(err.Error()) > 1<<16 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		var c config
		_ = Strict(data, "x.yaml", &c)
	})
}
