package matrix_test

import (
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/ascendctl/ascendctl/compat"
)

// row is a row as written; the rules of this file are about what is written,
// so nothing of the engine is used.
type row = map[string]any

// shape names the keys of a section's rows beside id, source and status: those
// that every row has and those that some have. A key outside is misspelt or
// stale, a key that no row has is a line here to delete.
type shape struct{ every, some string }

var shapes = map[string]shape{
	"cann.releases": {"version track stage spellings released_status released_basis arch",
		"released files files_status files_source community_spelling chips hdk python note running_version innerversion numpy images t_version os_added"},
	"cann.naming":      {"what text", ""},
	"cann.ops_toolkit": {"ops toolkit", "rule note"},
	"chips.families": {"generation pci npu_smi_name products bf16 first_cann engines",
		"ops_on last_cann engine_notes soc_version kernels_package pci_subsystem memory_status name_trap memory name_note kernels_note"},
	"chips.socs":              {"soc_version short generation bf16 in_cann_8_1", "note npu_arch runtime_soc_id bf16_note trap"},
	"chips.cloud":             {"name generation", "hdk cann os"},
	"conflicts.conflicts":     {"about a b prefer", ""},
	"driver.lines":            {"line versions cann_matched", "note"},
	"driver.cann_hdk":         {"cann hdk relation", "chips note scope os"},
	"driver.cann_hdk_floor":   {"cann hdk", ""},
	"driver.inner_versions":   {"component version", "innerversion compatible_version compatible_version_fw chips compatible_version_drv package_version"},
	"driver.firmware_pairs":   {"hdk firmware", "chips note crossed"},
	"known_bad.known_bad":     {"when verdict effect", "fix"},
	"mindie.rows":             {"mindie", "cann sets python note hdk mindcluster aliases alias_note released"},
	"mindie.env":              {"item value", ""},
	"mindspore.rows":          {"mindspore", "cann relation cann_spelled hdk solution conflict note python stage import_accepts date python_disputed"},
	"mindspore.env":           {"item value", "arch"},
	"mindspore.lite":          {"mindspore_lite", "chips note python arch os_tested"},
	"nonexistent.nonexistent": {"component version verdict say", ""},
	"order.version_order":     {"component kind values", ""},
	"os.products":             {"product arch os", ""},
	"os.product_aliases":      {"alias rows", ""},
	"os.other_lists":          {"product os", "scope arch"},
	"os.kernels":              {"product os arch", "default_kernel gcc driver_install refused"},
	"os.needs":                {"component", "gcc glibc note order"},
	"os.glibc_of_os":          {"os glibc", ""},
	"others.others": {"package", "version cann cann_note python glibc chips torch_npu note rule gcc os tensorflow triton_ascend pta hdk relation " +
		"mindspore kubernetes vllm_ascend"},
	"rules.rules":               {"name cls parts test", ""},
	"sglang.docs":               {"sglang hdk cann pta memfabric", "triton python torch torch_npu triton_ascend sgl_kernel_npu zbal"},
	"sglang.sgl_kernel_npu":     {"cann", "sgl_kernel_npu chips torch note python torch_npu component hdk"},
	"sglang.images":             {"", "sglang cann chips note image"},
	"torch_npu.releases":        {"torch_npu torch cann pta relation", "python date python_disputed note branch disputed conflict stage"},
	"torch_npu.tagged_packages": {"torch_npu torch stage", "pta tag date cann cann_status cann_source python requires_torch note relation"},
	"torch_npu.dev_and_local":   {"torch_npu torch kind", "note cann used_by"},
	"torch_npu.pta_cann":        {"pta cann", "note"},
	"torch_npu.python_by_torch": {"torch python", ""},
	"torch_npu.wheels":          {"torch arch tag glibc", "gcc"},
	"torch_npu.numpy_advice":    {"python numpy", ""},
	"torch_npu.lifecycle":       {"torch_npu state", "next note first_release eol"},
	"vllm_ascend.releases": {"vllm_ascend stage vllm python cann torch torch_npu soc",
		"date image_cann pins note mindie_turbo soc_note soc_disputed also_accepted triton_ascend mooncake"},
	"vllm_ascend.image_suffix": {"registry chip os tag", ""},
	"vllm_ascend.soc_build":    {"generation SOC_VERSION", ""},
}

// keyed are the sections in which the value of one key stands for one row only.
// The others may say a thing twice, from two sources.
var keyed = map[string]string{
	"cann.releases": "version", "driver.lines": "line", "driver.cann_hdk_floor": "cann", "chips.families": "generation", "chips.socs": "soc_version",
	"torch_npu.pta_cann": "pta", "torch_npu.lifecycle": "torch_npu", "vllm_ascend.releases": "vllm_ascend", "vllm_ascend.soc_build": "generation",
	"mindspore.rows": "mindspore", "mindie.rows": "mindie", "os.product_aliases": "alias", "os.glibc_of_os": "os",
}

// written reads every section of the embedded matrix as "file.section".
func written(t testing.TB, files fs.FS) map[string][]row {
	t.Helper()
	names, err := fs.Glob(files, "matrix/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]row{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		var f map[string]any
		if err := yaml.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if day, ok := f["as_of"].(time.Time); !ok || f["schema"] != 1 || day.Year() < 2026 {
			t.Errorf("%s: want schema: 1 and as_of: a day, got %v and %v", name, f["schema"], f["as_of"])
		}
		for section, rows := range f {
			if section == "schema" || section == "as_of" {
				continue
			}
			at := strings.TrimSuffix(strings.TrimPrefix(name, "matrix/"), ".yaml") + "." + section
			for _, r := range rows.([]any) {
				all[at] = append(all[at], r.(map[string]any))
			}
		}
	}
	return all
}

// TestEveryRowIsSourced: id, source and status, and only keys of the section.
func TestEveryRowIsSourced(t *testing.T) {
	all, rows := written(t, compat.FS), 0
	for at, s := range shapes {
		used := map[string]bool{}
		ids := map[string]bool{}
		every := append(strings.Fields(s.every), "id", "source", "status")
		some := strings.Fields(s.some)
		for i, r := range all[at] {
			rows++
			id := fmt.Sprint(r["id"])
			for _, key := range every {
				if r[key] == nil || r[key] == "" {
					t.Errorf("%s: row %d (%s) lacks %s", at, i, id, key)
				}
			}
			for key := range r {
				used[key] = true
				if !slices.Contains(every, key) && !slices.Contains(some, key) {
					t.Errorf("%s: row %s has the unknown key %s", at, id, key)
				}
				if status := r[key]; strings.HasSuffix(key, "status") && !slices.Contains([]any{"src", "seen", "guess"}, status) {
					t.Errorf("%s: row %s: %s is %v, want src, seen or guess", at, id, key, status)
				}
			}
			if ids[id] || strings.ContainsFunc(id, unicode.IsSpace) {
				t.Errorf("%s: id %q stands twice or is no word", at, id)
			}
			ids[id] = true
		}
		for _, key := range slices.Concat(every, some) {
			if !used[key] {
				t.Errorf("%s: no row has %s: delete it here", at, key)
			}
		}
	}
	for at := range all {
		if _, ok := shapes[at]; !ok {
			t.Errorf("section %s has no shape", at)
		}
	}
	if rows < 850 {
		t.Errorf("%d rows: the walk is broken", rows)
	}
}

var (
	cannForm  = regexp.MustCompile(`^(>=|<=|<)?\d+\.\d+\.(X|RC\d+|\d+)(\.\d+|\.alpha\d{3}|\.beta\d|-(alpha|beta|rc)\.\d+)?$`)
	hdkForm   = regexp.MustCompile(`(?i)^(>=|>)?\d+\.\d+(\.(X|\*|RC\d+(\.[1-9][0-9]*)?|\d+(\.\d+)*))?$`)
	pep440    = regexp.MustCompile(`^\d+\.\d+(\.\d+){0,2}(\.?rc\d+|-rc\d+)?(\.post\d+)?(\.dev\d+)?(\+git[0-9a-f]{7})?$`)
	ptaForm   = regexp.MustCompile(`^\d+\.\d+\.(X|\d+|rc\d+)(\.\d+|\.tr\d+|-beta\.\d|-0day)?$`)
	firmwares = regexp.MustCompile(`^\d+(\.\d+){3,4}$`)
	pythons   = regexp.MustCompile(`^(\d\.\d+(\.\d+)?(-\d\.\d+)?|(==|>=)3\.\d+(,<3\.\d+)?)$`)
	digits    = regexp.MustCompile(`^\d+(\.\d+)*$`)
)

// forms tells how the versions of a column are spelt.
var forms = map[string]*regexp.Regexp{
	"cann.releases version": cannForm, "cann.releases python.min": digits,
	"driver.cann_hdk cann": cannForm, "driver.cann_hdk hdk": hdkForm, "driver.cann_hdk_floor cann": cannForm, "driver.cann_hdk_floor hdk": hdkForm,
	"driver.lines versions": hdkForm, "driver.firmware_pairs hdk": hdkForm, "driver.firmware_pairs firmware": firmwares,
	"torch_npu.releases torch_npu": pep440, "torch_npu.releases torch": pep440, "torch_npu.releases cann": cannForm, "torch_npu.releases pta": ptaForm,
	"torch_npu.releases python":           pythons,
	"torch_npu.tagged_packages torch_npu": pep440, "torch_npu.tagged_packages torch": pep440, "torch_npu.tagged_packages cann": cannForm,
	"torch_npu.tagged_packages pta": ptaForm, "torch_npu.dev_and_local torch_npu": pep440, "torch_npu.dev_and_local cann": cannForm,
	"torch_npu.pta_cann pta": ptaForm, "torch_npu.pta_cann cann": cannForm, "torch_npu.python_by_torch torch": pep440,
	"torch_npu.python_by_torch python": pythons, "torch_npu.lifecycle torch_npu": pep440,
	"vllm_ascend.releases vllm_ascend": regexp.MustCompile(pep440.String() + `|^main@\d{4}-\d\d-\d\d$`), "vllm_ascend.releases vllm": pep440,
	"vllm_ascend.releases cann": cannForm, "vllm_ascend.releases torch": pep440, "vllm_ascend.releases torch_npu": pep440,
	"vllm_ascend.releases triton_ascend": pep440, "vllm_ascend.releases python": pythons,
	"mindspore.rows mindspore": pep440, "mindspore.rows cann": cannForm, "mindspore.rows hdk": hdkForm,
	"mindie.rows cann": cannForm, "mindie.rows hdk": hdkForm, "os.glibc_of_os glibc": digits,
}

func TestVersionsAreSpeltAsTheirParsersWant(t *testing.T) {
	all, seen := written(t, compat.FS), 0
	for column, form := range forms {
		at, key, _ := strings.Cut(column, " ")
		found := 0
		for _, r := range all[at] {
			for _, v := range textsAt(r, strings.Split(key, ".")...) {
				found++
				if !form.MatchString(v) {
					t.Errorf("%s: row %v: %s %q is no version of the form %s", at, r["id"], key, v, form)
				}
			}
		}
		if seen += found; found == 0 {
			t.Errorf("%s: no row has a value", column)
		}
	}
	t.Logf("%d values", seen)
}

// textsAt gives the texts under a path of keys, one or a list.
func textsAt(r row, path ...string) []string {
	switch v := r[path[0]].(type) {
	case nil:
		return nil
	case map[string]any:
		return textsAt(v, path[1:]...)
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = fmt.Sprint(v[i])
		}
		return out
	default:
		return []string{fmt.Sprint(v)}
	}
}

// TestNoTwoRowsContradict: a key that stands for one row stands once, a pair of
// driver and CANN is not both refused and promised, and a package has one torch.
func TestNoTwoRowsContradict(t *testing.T) {
	all := written(t, compat.FS)
	for at, key := range keyed {
		first := map[string]any{}
		for _, r := range all[at] {
			v := fmt.Sprint(r[key])
			if first[v] != nil {
				t.Errorf("%s: rows %v and %v have the same %s %s", at, first[v], r["id"], key, v)
			}
			first[v] = r["id"]
		}
	}
	pairs := map[string]row{}
	for _, r := range all["driver.cann_hdk"] {
		promise := r["relation"] != "not_compatible"
		if slices.Contains([]any{"listed_together", "min", "seen_ok", "seen_trouble", "known_bad"}, r["relation"]) {
			continue
		}
		for _, hdk := range textsAt(r, "hdk") {
			k := fmt.Sprint(r["cann"], " ", hdk, " ", r["chips"])
			if o := pairs[k]; o != nil && promise != (o["relation"] != "not_compatible") {
				t.Errorf("driver.cann_hdk: rows %v and %v contradict each other", o["id"], r["id"])
			}
			pairs[k] = r
		}
	}
	torch := map[string]any{}
	for _, at := range []string{"torch_npu.releases", "torch_npu.tagged_packages", "torch_npu.dev_and_local"} {
		for _, r := range all[at] {
			k := fmt.Sprint(r["torch_npu"])
			if o := torch[k]; o != nil && o != r["torch"] {
				t.Errorf("%s: torch_npu %s with torch %v and %v", at, k, o, r["torch"])
			}
			torch[k] = r["torch"]
		}
	}
}

// TestReferencesHold: a row or text that names another one names one that is there.
func TestReferencesHold(t *testing.T) {
	all := written(t, compat.FS)
	ids := map[string]bool{}
	for _, at := range []string{"conflicts.conflicts", "known_bad.known_bad", "rules.rules"} {
		for _, r := range all[at] {
			ids[fmt.Sprint(r["id"])] = true
		}
	}
	name := regexp.MustCompile(`\b(CF|KB|R)\d\d\b`)
	found := 0
	for at, rows := range all {
		for _, r := range rows {
			for _, s := range textsOf(r) {
				for _, id := range name.FindAllString(s, -1) {
					if found++; !ids[id] {
						t.Errorf("%s: row %v names %s, which is not there", at, r["id"], id)
					}
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d references: the walk is broken", found)
	}
	products := map[string]bool{}
	for _, at := range []string{"os.products", "os.other_lists", "os.kernels"} {
		for _, r := range all[at] {
			products[fmt.Sprint(r["product"])] = true
		}
	}
	for _, r := range all["os.product_aliases"] {
		for _, p := range textsAt(r, "rows") {
			if !products[p] {
				t.Errorf("os.product_aliases: %v stands for %s, which is no row", r["alias"], p)
			}
		}
	}
	for _, r := range all["known_bad.known_bad"] {
		for key := range r["when"].(map[string]any) {
			if !askable[key] {
				t.Errorf("known_bad: %v asks for the part %s, which nobody can give", r["id"], key)
			}
		}
	}
}

// askable is what a stack can be asked about (docs/matrix.md).
var askable = func() map[string]bool {
	m := map[string]bool{}
	for _, p := range strings.Fields(`chip soc_version product os arch kernel glibc python cann driver firmware torch torch_npu pta vllm vllm_ascend
		triton triton_ascend mindspore mindie mindie_turbo sglang numpy transformers nnal ops_package paddle_custom_npu dlinfer_ascend
		kernels_package dtype abi model model_kind memory`) {
		m[p] = true
	}
	return m
}()

// textsOf gives every text inside a value.
func textsOf(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			out = append(out, textsOf(x)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, textsOf(v[k])...)
		}
	}
	return out
}

// TestTheRulesOfThisFileCanRefuse feeds them rows that are wrong.
func TestTheRulesOfThisFileCanRefuse(t *testing.T) {
	for form, bad := range map[*regexp.Regexp][]string{
		cannForm: {"8.2.RC", "7.0 RC1", "8.5.0-beta1", "8.3", "x", "8.2.rc1"}, hdkForm: {"25", "25.0.RC", "v25.0.RC1", "25.0-RC1"},
		pep440: {"2", "2.7.1-post1", "2.1.0rc", "2.7.1.post"}, pythons: {"3", "3.9+", "3.9 - 3.11"}, firmwares: {"7.5.0", "7.5.0.x.1"},
	} {
		for _, v := range bad {
			if form.MatchString(v) {
				t.Errorf("%s takes %q", form, v)
			}
		}
	}
	if got := textsAt(row{"a": map[string]any{"b": []any{"x", 1}}}, "a", "b"); !reflect.DeepEqual(got, []string{"x", "1"}) {
		t.Errorf("%v", got)
	}
	if got := textsOf(row{"b": []any{"x", 1}, "a": row{"en": "y"}}); !reflect.DeepEqual(got, []string{"y", "x"}) {
		t.Errorf("%v", got)
	}
}
