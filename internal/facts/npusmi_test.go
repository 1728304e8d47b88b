package facts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"
)

// smiCase is one row of testdata/cases/npu-smi/index.yaml, whose head explains
// every key.
type smiCase struct {
	File    string         `yaml:"file"`
	Command string         `yaml:"command"`
	Exit    *int           `yaml:"exit"`
	Stream  string         `yaml:"stream"`
	Expect  map[string]any `yaml:"expect"`
	text    []byte
	listed  map[string]any // every key of the row
}

// smiFolder holds the captures. The case set itself runs through the command
// line, in package cmd.
const smiFolder = "../../testdata/cases/npu-smi"

func smiCases(t testing.TB) []smiCase {
	t.Helper()
	dir := smiFolder
	raw, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct{ Captures []yaml.Node }
	if err := yaml.Unmarshal(raw, &index); err != nil {
		t.Fatal(err)
	}
	var out []smiCase
	for _, n := range index.Captures {
		var c smiCase
		if err := n.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if err := n.Decode(&c.listed); err != nil {
			t.Fatal(err)
		}
		if c.text, err = os.ReadFile(filepath.Join(dir, c.File)); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		t.Fatalf("no captures in %s", dir)
	}
	return out
}

// parse hands the text in on the stream it came on.
func (c smiCase) parse() NPUSmi {
	if c.Stream == "stderr" {
		return ParseNPUSmi(nil, c.text, c.Command, c.Exit)
	}
	return ParseNPUSmi(c.text, nil, c.Command, c.Exit)
}

// plain is a value as JSON sees it.
func plain(t testing.TB, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func compact(v any) string { raw, _ := json.Marshal(v); return string(raw) }

// A pasted file has no command and no exit status; the text alone decides.
func TestTextAloneDecides(t *testing.T) {
	for _, c := range smiCases(t) {
		if c.File == "err-timeout-empty.txt" { // nothing to decide with
			if got := ParseNPUSmi(c.text, nil, "", nil); got.Failure == nil || got.Failure.Error != SmiNoOutput {
				t.Errorf("an empty file: %+v", got.Failure)
			}
			continue
		}
		with, without := c.parse(), ParseNPUSmi(c.text, nil, "", nil)
		if with.Kind != without.Kind {
			t.Errorf("%s: kind %s with the command, %s without", c.File, with.Kind, without.Kind)
		}
		if with.Type != without.Type && with.Support == nil {
			t.Errorf("%s: type %s with the command, %s without", c.File, with.Type, without.Type)
		}
		if with.Failure != nil && (without.Failure == nil || with.Failure.Error != without.Failure.Error || with.Failure.Stream != without.Failure.Stream) {
			t.Errorf("%s: failure %+v with the command, %+v without", c.File, with.Failure, without.Failure)
		}
		if with.Kind == SmiTable && compact(with.Chips) != compact(without.Chips) {
			t.Errorf("%s: chips differ without the command", c.File)
		}
	}
}

// Facts are kept as JSON and judged later: nothing may be lost on the way.
func TestSmiSurvivesJSON(t *testing.T) {
	for _, c := range smiCases(t) {
		before := c.parse()
		raw, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		var after NPUSmi
		if err := json.Unmarshal(raw, &after); err != nil {
			t.Fatalf("%s: %v", c.File, err)
		}
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s: JSON loses something:\n%s\n%s", c.File, raw, compact(after))
		}
	}
}

// Every failure says why in both languages, with nothing left to fill in.
func TestFailuresSayWhy(t *testing.T) {
	for _, c := range smiCases(t) {
		f := c.parse().Failure
		if f == nil {
			continue
		}
		for _, s := range []string{f.Cause.En, f.Cause.Zh} {
			if s == "" || slices.Contains([]byte(s), '{') {
				t.Errorf("%s: cause %q", c.File, s)
			}
		}
	}
}

func BenchmarkParseNPUSmi(b *testing.B) {
	for _, c := range smiCases(b) {
		if c.listed["layout"] == "A3" {
			b.Run(c.File, func(b *testing.B) {
				b.SetBytes(int64(len(c.text)))
				for b.Loop() {
					c.parse()
				}
			})
		}
	}
}
