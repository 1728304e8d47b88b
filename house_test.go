package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ascendctl/ascendctl"

// house is the picture of docs/architecture.md as a table: a room's floor and
// the rooms it may import. A package that is missing here fails the test, so
// nobody adds a room by accident. A sideways edge needs a reason in sideways.
var house = map[string]struct {
	floor float64
	may   string
}{
	"internal/ascend":        {0, ""},
	"internal/report":        {0, ""},
	"internal/book":          {0, "internal/report"},
	"internal/dl":            {0, ""},
	"internal/host":          {1, ""},
	"internal/cann":          {1, ""},
	"internal/ort":           {1, "internal/dl"},
	"internal/acl":           {1, "internal/dl"},
	"internal/ui":            {1, ""},
	"internal/model":         {1, ""},
	"internal/recipe":        {1, "internal/book"},
	"internal/matrix":        {1, "internal/book"},
	"internal/codes":         {1, "internal/book"},
	"internal/settings":      {1, "internal/book"},
	"internal/oip":           {1, ""},
	"internal/metrics":       {1, ""},
	"internal/infer":         {2, "internal/acl internal/ort internal/model internal/oip internal/metrics"},
	"internal/front":         {2, "internal/metrics"},
	"internal/facts":         {2, "internal/host internal/cann"},
	"internal/engine":        {2, "internal/recipe internal/cann internal/metrics"},
	"internal/plan":          {2, "internal/host"},
	"internal/host/hosttest": {2, "internal/host"},  // only tests import it
	"internal/model/omtest":  {2, "internal/model"}, // only tests import it
	"internal/check":         {3, "internal/facts internal/host internal/cann internal/matrix internal/settings internal/book"},
	"internal/install":       {3, "internal/plan internal/facts internal/host internal/matrix internal/cann internal/book"},
	"internal/serve":         {3, "internal/infer internal/engine internal/cann internal/facts internal/front internal/oip internal/model internal/metrics"},
	"internal/bench":         {3, "internal/infer internal/oip internal/model internal/metrics"},
	"internal/hub":           {3, "internal/model"},
	"internal/screen":        {4, "internal/ui internal/model internal/ort internal/oip internal/serve internal/bench internal/hub internal/host internal/cann internal/facts internal/check internal/matrix internal/codes internal/settings internal/plan internal/install"},
	"compat":                 {4, ""}, // data: only cmd hands it to book
	"recipes":                {4, ""},
	"cmd":                    {4.5, "*"},
	"":                       {5, "cmd"}, // main.go
}

// words may be imported by every room above floor 0.
var words = []string{"internal/ascend", "internal/report"}

var sideways = map[string]string{ // "from to" -> why
	"internal/book internal/report": "a book refuses a row whose text lacks a language, and its errors are problems",
}

// onlyHere keeps dangerous imports in the rooms that exist for them.
var onlyHere = map[string][]string{
	"C":                                 {"internal/dl", "internal/ort", "internal/acl"},
	"unsafe":                            {"internal/dl", "internal/ort", "internal/acl", "internal/infer", "internal/serve"}, // serve: its buffers are aligned
	"github.com/spf13/cobra":            {"cmd"},
	"github.com/spf13/pflag":            {"cmd"},
	"golang.org/x/crypto/ssh":           {"internal/host", "internal/host/hosttest"},
	"github.com/melbahja/goph":          {"internal/host"},
	"gopkg.in/yaml.v3":                  {"internal/book", "internal/host", "internal/screen"},
	"github.com/charmbracelet/lipgloss": {"internal/ui"},
	"github.com/schollz/progressbar/v3": {"internal/ui"},
	"golang.org/x/term":                 {"", "cmd"},
	"google.golang.org/protobuf/encoding/protowire": {"internal/model"},
}

type pkg struct {
	ImportPath, Dir string
	Imports         []string
}

// TestHouse holds the walls: every package has a line, every edge is in it.
func TestHouse(t *testing.T) {
	seen := goFolders(t) // walked here, so that the test cache notices a new room
	for _, p := range listPackages(t) {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		delete(seen, room)
		if strings.HasPrefix(room, "testdata/") {
			continue
		}
		row, ok := house[room]
		if !ok {
			t.Errorf("package %q has no line in the house: give it a floor and its edges, here and in docs/architecture.md", room)
			continue
		}
		for _, imp := range p.Imports {
			if rooms, guarded := onlyHere[imp]; guarded && !slices.Contains(rooms, room) {
				t.Errorf("%s imports %s, which belongs to %v alone", room, imp, rooms)
			}
			if to, ours := strings.CutPrefix(imp, module+"/"); ours {
				edge(t, room, row.floor, row.may, to)
			}
		}
	}
	for room := range seen {
		if !strings.HasPrefix(room, "testdata") && house[room].floor != 5 {
			t.Errorf("folder %q holds Go files that no build sees", room)
		}
	}
}

func edge(t *testing.T, from string, floor float64, may, to string) {
	t.Helper()
	target, ok := house[to]
	word := slices.Contains(words, to) && floor > 0
	switch {
	case !ok:
		t.Errorf("%s imports %s, which is not in the house", from, to)
	case target.floor > floor:
		t.Errorf("%s (floor %g) imports %s (floor %g): never upwards", from, floor, to, target.floor)
	case !word && may != "*" && !slices.Contains(strings.Fields(may), to):
		t.Errorf("%s imports %s, which its line does not allow", from, to)
	case target.floor == floor && sideways[from+" "+to] == "":
		t.Errorf("%s imports %s sideways without a reason", from, to)
	}
}

func listPackages(t *testing.T) (out []pkg) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports", "./...")
	data, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	if len(out) < 10 {
		t.Fatalf("go list found %d packages", len(out))
	}
	return out
}

func goFolders(t *testing.T) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			dir := filepath.ToSlash(filepath.Dir(p))
			seen[strings.TrimPrefix(dir, ".")] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestNothingWorksAtStart: no init, and no pattern compiled before it is used;
// every command would pay for it.
func TestNothingWorksAtStart(t *testing.T) {
	early := regexp.MustCompile(`(?m)^(func init\(\)|(var )?\s?\w+\s*=\s*regexp\.MustCompile)`)
	for dir := range goFolders(t) {
		files, err := filepath.Glob(filepath.Join(".", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if m := early.Find(data); m != nil && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s works at start: %s", name, m)
			}
		}
	}
	if !early.MatchString("var x = regexp.MustCompile(`a`)") || !early.MatchString("func init() {") || early.MatchString("\tx := regexp.MustCompile(`a`)") {
		t.Error("the rule itself is broken")
	}
}

// TestHouseSaysNo proves that the walls can refuse.
func TestHouseSaysNo(t *testing.T) {
	for _, c := range []struct {
		name, from string
		floor      float64
		may, to    string
	}{
		{"upwards", "internal/model", 1, "internal/serve", "internal/serve"},
		{"not in the line", "internal/serve", 3, "", "internal/ort"},
		{"sideways", "internal/oip", 1, "internal/metrics", "internal/metrics"},
		{"unknown room", "internal/serve", 3, "internal/util", "internal/util"},
	} {
		probe := &testing.T{}
		edge(probe, c.from, c.floor, c.may, c.to)
		if !probe.Failed() {
			t.Errorf("%s: %s -> %s was allowed", c.name, c.from, c.to)
		}
	}
}
