package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/host"
)

func knowledge(t testing.TB) (o Options) {
	t.Helper()
	b := book.New(book.Layer{Name: "compat", FS: compat.FS})
	var err error
	if o.Chips, err = book.Rows[Chip](b, "soc.yaml", "pci"); err != nil {
		t.Fatal(err)
	}
	if o.Boards, err = book.Rows[Board](b, "soc.yaml", "boards"); err != nil {
		t.Fatal(err)
	}
	return o
}

func caseFiles(t testing.TB) []string {
	t.Helper()
	const dir = "../../testdata/cases"
	files, _ := filepath.Glob(dir + "/hosts/*.yaml")
	if len(files) < 10 {
		t.Fatalf("%d host descriptions in %s", len(files), dir)
	}
	return files
}

// described opens a description as a host, and gives its facts: block as YAML
// has it, read here independently of the door.
func described(t testing.TB, file string) (host.Host, map[string]any) {
	t.Helper()
	h, err := host.OpenReplay(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Facts map[string]any `yaml:"facts"`
	}
	if err := yaml.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return h, d.Facts
}

// TestARecordingGivesTheSameFacts records a look at each description and looks
// at the recording.
func TestARecordingGivesTheSameFacts(t *testing.T) {
	for _, file := range caseFiles(t) {
		h, _ := described(t, file)
		r := host.Record(h)
		want := Collect(t.Context(), r, everything(t))
		data, err := r.YAML(host.RecordOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := host.LoadDescription(file, data)
		if err != nil {
			t.Fatal(err)
		}
		got := Collect(t.Context(), host.Replay(file, d), everything(t))
		// Not of the host: when we looked.
		got.ClockOffset, want.ClockOffset = Fact[float64]{}, Fact[float64]{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-described +recorded)\n%s", filepath.Base(file), diff)
		}
	}
}

// TestEveryDescribedValueIsReported compares the facts: block of every host
// description with what Collect learns through the door.
func TestEveryDescribedValueIsReported(t *testing.T) {
	values, misses := 0, 0
	for _, file := range caseFiles(t) {
		h, want := described(t, file)
		o := knowledge(t)
		if r, ok := want["reachable"].(map[string]any); ok {
			o.Reach = sortedKeys(r)
		}
		f := Collect(t.Context(), h, o)
		n, missed := compare("", want, any(f.Block()))
		values, misses = values+n, misses+len(missed)
		for _, m := range missed {
			t.Errorf("%s: %s", filepath.Base(file), m)
		}
	}
	t.Logf("passed %d of %d", values-misses, values)
}

// compare walks what is wanted; a list is wanted as a subset.
func compare(at string, want, got any) (n int, missed []string) {
	switch w := want.(type) {
	case map[string]any:
		for _, k := range sortedKeys(w) {
			m, miss := compare(at+"."+k, w[k], member(got, k))
			n, missed = n+m, append(missed, miss...)
		}
		return n, missed
	case []any:
		for _, e := range w {
			var one any
			if m, ok := e.(map[string]any); ok {
				key := m["path"]
				if key == nil {
					key = m["name"]
				}
				one = member(got, fmt.Sprint(key))
				k, miss := compare(fmt.Sprintf("%s[%v]", at, key), e, one)
				n, missed = n+k, append(missed, miss...)
				continue
			}
			n++
			if !has(got, fmt.Sprint(e)) {
				missed = append(missed, fmt.Sprintf("%s: want %v in %v", at, e, got))
			}
		}
		return n, missed
	}
	if stamp, ok := want.(time.Time); ok {
		want = stamp.UTC().Format(time.RFC3339)
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return 1, []string{fmt.Sprintf("%s: want %v, got %v", at, want, got)}
	}
	return 1, nil
}

func has(list any, want string) bool {
	v := reflect.ValueOf(list)
	if v.Kind() != reflect.Slice {
		return false
	}
	for i := range v.Len() {
		if fmt.Sprint(v.Index(i).Interface()) == want {
			return true
		}
	}
	return false
}

func member(v any, key string) any {
	switch x := v.(type) {
	case block:
		return x[key]
	case map[string]any:
		return x[key]
	case map[string]string:
		if s, ok := x[key]; ok {
			return s
		}
	case map[string]bool:
		if s, ok := x[key]; ok {
			return s
		}
	case []map[string]any:
		for _, m := range x {
			if m["path"] == key || m["name"] == key {
				return m
			}
		}
	}
	return nil
}
