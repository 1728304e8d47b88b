package matrix_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/compat"
)

// corrected are sources that the collected facts give wrongly or under a name
// that says nothing here: ours -> theirs. A row of ours that is corrected later
// gets a line, so that a fact never changes unseen.
var corrected = map[string]string{
	// A comma without quotes cut it in two.
	"PyPI vllm-ascend@0.30.0rc2 docs/source/user_guide/release_notes.md (0.23.0, dependencies) and getting_started/installation.md; " +
		"hicann/release-management 9.0.0/release-notes.md@2026-05-06; hicann/community QA/test-report CANN 9.1.0-beta.2@2026-07-08; " +
		"vllm-project/vllm-ascend Dockerfile.a5 tags; issue 13086": "PyPI vllm-ascend@0.30.0rc2 docs/source/user_guide/release_notes.md (0.23.0",
	"ours: the rows of this data": "this file",
	"a public blog post of 2025":  "002_7137915edde23a3a.txt",
}

// dropped are rows that are no facts: a cloud flavor that does not exist, kept
// there as the claim of a text about it.
var dropped = []string{`"name":"ascend910b.8xlarge (seed 000)"`}

// home is where the sections of the collected facts went, where not to their own name.
var home = map[string]string{"version_order": "order"}

// TestNoFactIsLost compares every row of the collected facts with the shipped
// ones: all that is not a sentence must be there, unchanged. More may be here.
func TestNoFactIsLost(t *testing.T) {
	facts := collected(t)
	if facts == nil {
		return
	}
	all, lost, n := written(t, compat.FS), 0, 0
	for at, rows := range facts {
		have := map[string]int{}
		for _, r := range all[at] {
			have[bare(t, at, r)]++
		}
		for _, r := range rows {
			fact := bare(t, at, r)
			n++
			if have[fact]--; have[fact] < 0 && !drop(fact) {
				t.Errorf("%s: lost or changed: %s", at, fact)
				lost++
			}
		}
	}
	if n < 850 {
		t.Errorf("%d facts: the walk is broken", n)
	}
	t.Logf("%d facts, %d lost", n, lost)
}

// collected reads the facts as "file.section", nil where they are not at hand:
// they lie beside the repository while it is built, and always in CI.
func collected(t *testing.T) map[string][]row {
	t.Helper()
	shared := os.Getenv("ASCENDCTL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	text, err := os.ReadFile(filepath.Join(shared, "facts", "compat.yaml"))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Logf("no collected facts at %s: nothing to compare", shared)
		return nil
	}
	var f map[string]any
	if err := errors.Join(err, yaml.Unmarshal(text, &f)); err != nil {
		t.Fatal(err)
	}
	out := map[string][]row{}
	for top, v := range f {
		sections, _ := v.(map[string]any)
		if list, ok := v.([]any); ok {
			sections = map[string]any{top: list}
		}
		if top == "how_to_evaluate" || top == "seeds" { // prose; the claims are in docs/folklore.md
			continue
		}
		file := top
		if home[top] != "" {
			file = home[top]
		}
		for section, rows := range sections {
			for _, r := range rows.([]any) {
				out[file+"."+section] = append(out[file+"."+section], r.(map[string]any))
			}
		}
	}
	return out
}

// bare is a row without what is ours: id, sentences, gaps, and the source of an alias.
func bare(t *testing.T, at string, r row) string {
	t.Helper()
	facts := row{}
	for k, v := range strip(at, r).(row) {
		s, _ := v.(string)
		_, _, text := inTwo(v)
		switch {
		case k == "id" && at != "known_bad.known_bad" && at != "conflicts.conflicts" && at != "rules.rules":
		case at == "os.product_aliases" && (k == "source" || k == "status"):
		case text, k == "value" && slices.Contains([]any{"310P", "import check", "rule"}, r["item"]): // sentences among the values of env
		case corrected[s] != "":
			facts[k] = corrected[s]
		default:
			facts[k] = v
		}
	}
	b, err := json.Marshal(facts) // sorts the keys
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// strip leaves out sentences and nulls at any depth.
func strip(at string, v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = strip(at, v[i])
		}
		return out
	case map[string]any:
		out := row{}
		for k, x := range v {
			if x != nil && !isSentence(at, k) {
				out[k] = strip(at, x)
			}
		}
		return out
	}
	return v
}

func drop(fact string) bool {
	for _, d := range dropped {
		if strings.Contains(fact, d) {
			return true
		}
	}
	return false
}

func TestBareSeesAChange(t *testing.T) {
	r := row{"id": "x", "cann": "9.1.0", "note": "gone", "also_accepted": []any{row{"cann": "9.2.0", "why": "gone"}}, "released": nil}
	want := `{"also_accepted":[{"cann":"9.2.0"}],"cann":"9.1.0"}`
	if got := bare(t, "vllm_ascend.releases", r); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r["cann"] = "9.1.1"
	if bare(t, "vllm_ascend.releases", r) == want {
		t.Error("does not see a change")
	}
}
