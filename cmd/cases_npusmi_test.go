package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/cmd"
)

// smiCase is one row of testdata/cases/npu-smi/index.yaml, whose head explains
// every key.
type smiCase struct {
	File    string         `yaml:"file"`
	Command string         `yaml:"command"`
	Exit    *int           `yaml:"exit"`
	Expect  map[string]any `yaml:"expect"`
	listed  map[string]any // every key of the row
}

// casesFolder is $ASCENDCTL_CASES, else the cases of this repository.
func casesFolder(kind string) string {
	if dir := os.Getenv("ASCENDCTL_CASES"); dir != "" {
		return filepath.Join(dir, kind)
	}
	return filepath.Join("..", "testdata", "cases", kind)
}

// TestCasesNPUSmi reads every capture as a person who pastes it would, and
// compares what comes out with every key of its row.
func TestCasesNPUSmi(t *testing.T) {
	dir := casesFolder("npu-smi")
	raw, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct{ Captures []yaml.Node }
	if err := yaml.Unmarshal(raw, &index); err != nil || len(index.Captures) == 0 {
		t.Fatalf("no captures in %s: %v", dir, err)
	}
	passed := 0
	for _, n := range index.Captures {
		var c smiCase
		if err := n.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if err := n.Decode(&c.listed); err != nil {
			t.Fatal(err)
		}
		misses := smiMisses(c, paste(t, dir, c))
		for _, m := range misses {
			t.Error(m)
		}
		if len(misses) == 0 {
			passed++
		}
	}
	fmt.Printf("passed %d of %d\n", passed, len(index.Captures))
}

// TestCasesNPUSmiCanFail: every wrong value is noticed.
func TestCasesNPUSmiCanFail(t *testing.T) {
	c := smiCase{File: "910a-21.0.2.txt", listed: map[string]any{"kind": "table", "chips": []any{map[string]any{"npu": 1, "temp_c": 56}}}}
	for _, chip := range []string{`{"npu":1,"temp_c":0}`, `{"npu":1}`, `{"npu":1,"temp_c":56,"device":0}`} {
		var got map[string]any
		if err := json.Unmarshal([]byte(`{"kind":"table","chips":[`+chip+`]}`), &got); err != nil {
			t.Fatal(err)
		}
		if len(smiMisses(c, got)) == 0 {
			t.Errorf("%s passes", chip)
		}
	}
}

// paste is facts --npu-smi FILE -o json.
func paste(t *testing.T, dir string, c smiCase) map[string]any {
	t.Helper()
	args := []string{"facts", "--npu-smi", filepath.Join(dir, c.File), "-o", "json"}
	if c.Command != "" {
		args = append(args, "--npu-smi-cmd", c.Command)
	}
	if c.Exit != nil {
		args = append(args, "--npu-smi-exit", strconv.Itoa(*c.Exit))
	}
	return answer(t, 0, args...)
}

// answer runs one command line in this process and gives the JSON it printed;
// want is its exit status, negative for any.
func answer(t *testing.T, want int, args ...string) map[string]any {
	t.Helper()
	var out, errs bytes.Buffer
	code := cmd.Main(context.Background(), cmd.App{
		Out: &out, Err: &errs, Now: time.Now, Getenv: func(string) string { return "" },
	}, args)
	got := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || want >= 0 && code != want {
		t.Fatalf("%v: exit %d, %v\n%s", args, code, err, errs.Bytes())
	}
	got["exit status"] = code
	return got
}

// smiMisses compares the JSON of a parsed capture with every key of its row.
// What the row does not list must be unknown in the chips and processes of a table.
func smiMisses(c smiCase, g map[string]any) (misses []string) {
	say := func(format string, a ...any) { misses = append(misses, c.File+": "+fmt.Sprintf(format, a...)) }
	flat := map[string]any{}
	for _, section := range []string{"list", "board", "health", "topo", "vnpu", "failure"} {
		if m, ok := g[section].(map[string]any); ok {
			for k, v := range m {
				flat[k] = v
			}
		}
	}
	for k, v := range g {
		if _, section := v.(map[string]any); !section {
			flat[k] = v
		}
	}
	for _, k := range []string{"kind", "layout", "tool_version", "driver_version", "truncated", "warnings", "idle_npus", "exit", "stream"} {
		if want, ok := c.listed[k]; ok && !(k == "exit" && want == nil) && !alike(plain(want), flat[k], false) {
			say("%s: got %v, want %v", k, flat[k], want)
		}
	}
	for _, k := range []string{"chips", "processes"} {
		if want, ok := c.listed[k]; ok && !alike(plain(want), flat[k], true) {
			say("%s:\n got  %s\n want %s", k, compact(flat[k]), compact(plain(want)))
		}
	}
	for k, want := range c.Expect {
		if !alike(plain(want), flat[k], false) {
			say("expect %s: got %s, want %v", k, compact(flat[k]), want)
		}
	}
	return misses
}

func compact(v any) string { raw, _ := json.Marshal(v); return string(raw) }

// alike: the same value; null, an absent key and an empty word are all unknown.
// Lists have equal length. In strict maps a key that is not listed must be unknown.
func alike(want, got any, strict bool) bool {
	switch w := want.(type) {
	case nil:
		return got == nil || got == ""
	case map[string]any:
		g, ok := got.(map[string]any)
		for k := range w {
			ok = ok && alike(w[k], g[k], strict)
		}
		for k := range g {
			if _, listed := w[k]; strict && !listed {
				ok = ok && alike(nil, g[k], strict)
			}
		}
		return ok
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !alike(w[i], g[i], strict) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(want, got)
}
