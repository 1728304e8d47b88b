package install

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/internal/report"
)

// shared is where the facts lie that the data was made from; without them the
// data stands for itself.
const shared = "../../../shared/facts/"

func TestPackageDataEqualsTheFacts(t *testing.T) {
	text, err := os.ReadFile(shared + "packages.yaml")
	if err != nil {
		t.Logf("no shared facts here: %v", err)
		return
	}
	var facts map[string]yaml.Node
	if err := yaml.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	_, d := knowledge(t)
	n := 0
	for _, section := range fileSections {
		var want []map[string]any
		node := facts[section]
		if err := node.Decode(&want); err != nil {
			t.Fatal(err)
		}
		have := map[string]fileRow{}
		for _, r := range d.files[section] {
			have[r.name()+r.SHA256] = r
		}
		for _, w := range want {
			if w["sha256"] == nil {
				continue
			}
			n++
			key := fmt.Sprint(w["file"], w["sha256"])
			r, ok := have[key]
			if !ok {
				t.Errorf("%s: %v is missing", section, w["file"])
				continue
			}
			delete(have, key)
			at, _ := w["u"].([]any)
			if one, ok := w["u"].(string); ok {
				at = []any{one}
			}
			got := []string{r.V, r.Part, r.Chip, r.Arch, r.OS, r.Py, r.ABI, r.HDK, r.Page, fmt.Sprint(r.Suspect), fmt.Sprint(r.Conflict), strings.Join(r.At, " ")}
			wanted := []string{}
			for _, k := range strings.Fields("v part chip arch os py abi hdk page") {
				wanted = append(wanted, text1(w[k]))
			}
			wanted = append(wanted, fmt.Sprint(w["suspect"] == true), fmt.Sprint(w["conflict"] == true), strings.Trim(fmt.Sprint(at), "[]"))
			if !slices.Equal(got, wanted) {
				t.Errorf("%s: %v: have %q, the facts say %q", section, w["file"], got, wanted)
			}
			if _, noted := w["note"]; !noted && r.URL != text1(w["url"]) {
				t.Errorf("%s: %v: address %q, the facts say %v", section, w["file"], r.URL, w["url"])
			}
		}
		for key := range have {
			t.Errorf("%s: %s is in no fact", section, key)
		}
	}
	t.Logf("%d files compared", n)
}

func text1(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func TestSystemDataEqualsTheFacts(t *testing.T) {
	text, err := os.ReadFile(shared + "os-packages.yaml")
	if err != nil {
		t.Logf("no shared facts here: %v", err)
		return
	}
	var facts struct {
		Systems []struct {
			Key, Arch, PM                       string
			OS                                  map[string]string `yaml:"os_release"`
			Cards, Driver, CANN, Python, Docker []string
		}
		Minimum []struct{ Card, Driver, Firmware string }
	}
	if err := yaml.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	_, d := knowledge(t)
	for _, w := range facts.Systems {
		r := find(d.systems, func(r systemRow) bool { return r.ID == w.Key })
		if r == nil {
			t.Errorf("%s is missing", w.Key)
			continue
		}
		got := fmt.Sprint(r.Arch, r.PM, r.OS, r.Version, r.Cards, r.Driver, r.CANN, r.Python, r.Docker)
		want := fmt.Sprint(w.Arch, w.PM, strings.ToLower(w.OS["ID"]), w.OS["VERSION_ID"], w.Cards, w.Driver, w.CANN, w.Python, w.Docker)
		if got != want {
			t.Errorf("%s: have %s, the facts say %s", w.Key, got, want)
		}
	}
	if len(d.systems) != len(facts.Systems) || len(d.minimum) != len(facts.Minimum) || len(d.systems) < 60 {
		t.Errorf("%d systems and %d minima, the facts have %d and %d", len(d.systems), len(d.minimum), len(facts.Systems), len(facts.Minimum))
	}
}

func TestFindGivesThePackageOrItsNeighbour(t *testing.T) {
	_, d := knowledge(t)
	for _, c := range []struct{ kind, version, chip, arch, file, sha string }{
		{"hdk", "26.0.rc1", "910b", "aarch64", "Ascend-hdk-910b-npu_26.0.rc1_linux-aarch64.zip", "c09dbd1b"},
		{"hdk", "26.0.RC1", "910b", "x86_64", "Ascend-hdk-910b-npu_26.0.rc1_linux-x86-64.zip", "cea2efc3"},
		{"toolkit", "8.5.0", "", "aarch64", "Ascend-cann-toolkit_8.5.0_linux-aarch64.zip", ""},
		{"kernels", "8.3.RC1", "910b", "x86_64", "Ascend-cann-kernels-910b_8.3.RC1_linux-x86_64.zip", ""},
		{"ops", "8.5.0", "a3", "aarch64", "Ascend-cann-A3-ops_8.5.0_linux-aarch64.zip", ""},
		{"docker-runtime", "6.0.0", "", "aarch64", "Ascend-docker-runtime_6.0.0_linux-aarch64.run", "1faddb73"},
	} {
		p, err := d.Find(c.kind, c.version, c.chip, c.arch)
		if err != nil || p.File != c.file || !strings.HasPrefix(p.SHA256, c.sha) || len(p.SHA256) != 64 || len(p.Parts) == 0 || p.URL == "" || p.Referer == "" {
			t.Errorf("%v: %+v, %v", c, p, err)
		}
	}
	for _, c := range []struct{ kind, version, chip, says string }{
		{"tolkit", "8.5.0", "", "toolkit"},
		{"toolkit", "8.5.00", "", "8.5.0"},
		{"hdk", "25.2.1", "910b", "25.2.0"},
		{"hdk", "26.0.RC1", "A3", "known versions"},
	} {
		_, err := d.Find(c.kind, c.version, c.chip, "aarch64")
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != report.ExitUsage || !strings.Contains(p.What.En+p.Do.En, c.says) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestDigestsThatCannotBeRightAreNotHeldAgainstAFile: see wrong_digests of the
// facts.
func TestDigestsThatCannotBeRightAreNotHeldAgainstAFile(t *testing.T) {
	_, d := knowledge(t)
	n := 0
	for _, files := range d.files {
		for _, f := range files {
			if f.Suspect {
				n++
				if p := d.packageOf("wheel", f); p.SHA256 != "" {
					t.Errorf("%s keeps a digest that cannot be right", f.ID)
				}
			}
			for _, at := range f.At {
				if url, _ := d.address(at, f.name()); strings.HasPrefix(at, "O") != (url == "") || strings.Contains(url, "+") {
					t.Errorf("%s at %s: address %q", f.ID, at, url)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no row is marked suspect")
	}
	if w, ok := d.Wheel("torch-npu", "2.10.0", "cp310", "x86_64"); !ok || w.SHA256 == "" {
		t.Errorf("torch_npu 2.10.0: %+v %v", w, ok)
	}
}

// TestPartsAreFoundByEitherSpelling: drivers say x86-64 where the list says
// x86_64.
func TestPartsAreFoundByEitherSpelling(t *testing.T) {
	_, d := knowledge(t)
	p, err := d.Find("hdk", "26.0.RC1", "910b", "x86_64")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range p.Parts {
		if part.Name != "driver" {
			continue
		}
		for name, want := range map[string]bool{"Ascend-hdk-910b-npu-driver_26.0.rc1_linux-x86-64.run": true, "Ascend-hdk-910b-npu-driver_26.0.rc1_linux-x86_64.run": true,
			"Ascend-hdk-910b-npu-driver_26.0.rc1_linux-aarch64.run": false} {
			if got, err := path.Match(part.Pattern, name); err != nil || got != want {
				t.Errorf("%s against %s: %v %v", part.Pattern, name, got, err)
			}
		}
	}
}
