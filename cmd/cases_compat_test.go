package cmd_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// compatCase is one row of compat-cases.yaml. given keeps every value as it is
// written, 3.10 and not 3.1.
type compatCase struct {
	ID     string               `yaml:"id"`
	Given  map[string]yaml.Node `yaml:"given"`
	Expect string               `yaml:"expect"`
	Rule   string               `yaml:"rule"`
	Why    string               `yaml:"why"`
}

// args are the parts as a person gives them; null is "looked for, not there".
func (c compatCase) args() []string {
	args := []string{"compat", "check", "-o", "json"}
	for part, n := range c.Given {
		value := n.Value
		if n.Tag == "!!null" {
			value = "none"
		}
		args = append(args, part+"="+value)
	}
	return args
}

// TestCasesCompat holds compat check against every row of the case set: the
// verdict, its exit code, and that the rule the row names had its say.
func TestCasesCompat(t *testing.T) {
	data, err := os.ReadFile(casesFolder("compat-cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Cases []compatCase }
	if err := yaml.Unmarshal(data, &set); err != nil || len(set.Cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	passed := 0
	for _, c := range set.Cases {
		misses := compatMisses(c, answer(t, -1, c.args()...))
		for _, m := range misses {
			t.Errorf("%s: %s (%s)", c.ID, m, c.Why)
		}
		if len(misses) == 0 {
			passed++
		}
	}
	fmt.Printf("passed %d of %d\n", passed, len(set.Cases))
}

func compatMisses(c compatCase, got map[string]any) (misses []string) {
	stacks, _ := got["stacks"].([]any)
	if len(stacks) != 1 {
		return []string{"no answer"}
	}
	stack, _ := stacks[0].(map[string]any)
	if stack["verdict"] != c.Expect {
		misses = append(misses, fmt.Sprintf("got %v, want %s", stack["verdict"], c.Expect))
	}
	if want := map[string]int{"unsupported": 3}[c.Expect]; got["exit status"] != want {
		misses = append(misses, fmt.Sprintf("exit %v, want %d", got["exit status"], want))
	}
	var rules []string
	pairs, _ := stack["pairs"].([]any)
	for _, p := range pairs {
		pair, _ := p.(map[string]any)
		rules = append(rules, fmt.Sprint(pair["rule"]))
	}
	// A stack that nobody has said anything about has no pairs.
	if c.Rule != "" && len(rules) > 0 && !strings.Contains(strings.Join(rules, " "), c.Rule) {
		misses = append(misses, fmt.Sprintf("rule %s said nothing, only %v", c.Rule, rules))
	}
	return misses
}

// TestCasesCompatCanFail: a wrong verdict and a silent rule are noticed.
func TestCasesCompatCanFail(t *testing.T) {
	c := compatCase{ID: "S01", Expect: "supported", Rule: "R05"}
	for name, stack := range map[string]map[string]any{
		"verdict": {"verdict": "unknown", "pairs": []any{map[string]any{"rule": "R05"}}},
		"rule":    {"verdict": "supported", "pairs": []any{map[string]any{"rule": "R01"}}},
	} {
		if len(compatMisses(c, map[string]any{"stacks": []any{stack}, "exit status": 0})) == 0 {
			t.Errorf("a wrong %s passes", name)
		}
	}
}
