// Package screen turns results into documents: one struct each, whose JSON is
// the struct and whose table is made from it, so the two cannot differ.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Document is an answer that a person can read too.
type Document interface {
	Show(o *ui.Out)
}

// Kind is one row of docs/json.md.
type Kind struct {
	Schema string // "inspect/v1"
	Made   string // the command that gives it
	Doc    Document
}

// Kinds lists every document there is.
func Kinds() []Kind {
	return []Kind{
		{"version/v1", "ascendctl version -o json", Version{}},
		{"inspect/v1", "ascendctl inspect FILE -o json", Inspect{}},
		{"serve/v1", "ascendctl serve MODEL -o json", Serve{}},
		{"self-test/v1", "ascendctl serve self-test -o json", SelfTest{}},
		{"bench/v1", "ascendctl bench URL -o json", Bench{}},
		{"facts/v1", "ascendctl facts -o json", Facts{}},
		{"facts-diff/v1", "ascendctl facts diff A B -o json", Diff{}},
		{"facts-drift/v1", "ascendctl facts diff --hosts FILE -o json", Drift{}},
		{"npu-smi/v1", "ascendctl facts --npu-smi FILE -o json", NPUSmi{}},
		{"top/v1", "ascendctl top -o json", Top{}},
		{"preflight/v1", "ascendctl preflight -o json", Preflight{}},
		{"checks/v1", "ascendctl list checks -o json", Checks{}},
		{"compat/v1", "ascendctl compat check KEY=VALUE -o json", Compat{}},
		{"compat-suggest/v1", "ascendctl compat suggest KEY=VALUE -o json", Suggest{}},
		{"compat-list/v1", "ascendctl compat list -o json", CompatList{}},
		{"compat-lint/v1", "ascendctl compat lint -o json", CompatLint{}},
		{"compat-diff/v1", "ascendctl compat diff A B -o json", CompatDiff{}},
		{"change/v1", "ascendctl install-cann -o json", Change{}},
		{"downloads/v1", "ascendctl install-cann --print-urls -o json", Downloads{}},
		{"journals/v1", "ascendctl undo --list -o json", Journals{}},
		{"bundle/v1", "ascendctl bundle --out FILE -o json", Bundled{}},
		{"env/v1", "ascendctl env -o json", Env{}},
		{"explain/v1", "ascendctl explain CODE -o json", Explain{}},
		{"fetch/v1", "ascendctl data fetch onnxruntime -o json", Fetch{}},
	}
}

// Write writes a document as table, json or yaml; o is the same stream as w,
// for people.
func Write(format string, w io.Writer, o *ui.Out, d Document) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(d)
	case "yaml":
		return writeYAML(w, d)
	case "junit":
		if j, ok := d.(interface{ JUnit(report.Lang) JUnit }); ok {
			return writeJUnit(w, j.JUnit(o.Lang()))
		}
	}
	d.Show(o)
	return nil
}

// writeYAML goes by way of JSON, so both have the same keys and order.
func writeYAML(w io.Writer, d Document) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil {
		return err
	}
	plain(&n)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// plain takes the JSON look off a tree: blocks, and quotes only where needed.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

// milliseconds with three significant digits at most.
func ms(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// head is "label  value" with the label in the language of the screen.
func head(label report.Text, value string) ui.Pair { return ui.Pair{Label: label, Value: value} }
