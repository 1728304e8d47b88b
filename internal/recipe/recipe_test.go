package recipe

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestShippedRecipes is the schema check of recipes/.
func TestShippedRecipes(t *testing.T) {
	b := book.New(book.Layer{Name: "recipes", FS: os.DirFS("../../recipes")})
	r, err := Find(b, "*.yaml", "cpu-demo")
	if err != nil {
		t.Fatal(err)
	}
	if r.Backend != "cpu" || r.Source == "" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat("../../" + r.Model); err != nil {
		t.Error(err)
	}
	var p *report.Problem
	if _, err := Find(b, "*.yaml", "cpu-dem"); !errors.As(err, &p) || p.Exit != report.ExitUsage || !strings.Contains(p.Do.En, "cpu-demo") {
		t.Errorf("%v", err)
	}
}

func TestBadRecipesAreNamedByLine(t *testing.T) {
	const head = "schema: 1\nas_of: 2026-11-30\nrecipes:\n  - id: x\n    title: {en: a, zh: 甲}\n    source: 'ran: here'\n"
	for _, c := range []struct{ rows, want string }{
		{"    model: m.onnx\n    backnd: cpu\n", "backend"},
		{"    backend: cpu\n", "model is missing"},
		{"    model: m.onnx\n    backend: gpu\n", "want auto, cpu or npu"},
		{"    model: m.onnx\n    max_batch: -1\n", "want 1 or more"},
	} {
		b := book.New(book.Layer{Name: "mine", User: true, FS: fstest.MapFS{"r.yaml": {Data: []byte(head + c.rows)}}})
		if _, err := Find(b, "*.yaml", "x"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "r.yaml:") {
			t.Errorf("%q: %v", c.rows, err)
		}
	}
}
