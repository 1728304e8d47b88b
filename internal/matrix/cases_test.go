package matrix_test

import (
	"os"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/matrix"
)

func embedded() book.Layer { return book.Layer{Name: "compat", FS: compat.FS} }

func load(t testing.TB, layers ...book.Layer) *matrix.Matrix {
	t.Helper()
	m, err := matrix.Load(append([]book.Layer{embedded()}, layers...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type testCase struct {
	ID     string             `yaml:"id"`
	Given  map[string]*string `yaml:"given"`
	Expect matrix.Answer      `yaml:"expect"`
	Rule   string             `yaml:"rule"`
}

func (c testCase) parts() matrix.Parts {
	p := matrix.Parts{}
	for k, v := range c.Given {
		p[k] = matrix.None
		if v != nil {
			p[k] = *v
		}
	}
	return p
}

func cases(t testing.TB) []testCase {
	t.Helper()
	data, err := os.ReadFile("../../testdata/cases/compat-cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []testCase `yaml:"cases"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 105 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	return file.Cases
}

// TestCasesCompat: every case of the shared set gives its verdict, and the rule
// it names is among those that say so.
func TestCasesCompat(t *testing.T) {
	m := load(t)
	for _, c := range cases(t) {
		v, err := m.Resolve(c.parts())
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		if v.Verdict != c.Expect {
			t.Errorf("%s: %s, want %s (%s)", c.ID, v.Verdict, c.Expect, c.Rule)
			for _, p := range v.Pairs {
				t.Logf("  %s %v %s %s: %s", p.Rule, p.Parts, p.Verdict, p.Row, p.Text.En)
			}
		}
		decided := false
		for _, p := range v.Pairs {
			decided = decided || p.Rule == c.Rule && p.Verdict == c.Expect
		}
		if !decided {
			t.Errorf("%s: no pair of %s says %s", c.ID, c.Rule, c.Expect)
		}
	}
}
