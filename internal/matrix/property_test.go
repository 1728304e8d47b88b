package matrix_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/matrix"
)

// values are all values of a part that the rows know, in the spelling of the
// rows.
func (o *oracle) values() map[string][]string {
	out := map[string][]string{}
	add := func(part string, texts ...string) {
		for _, t := range texts {
			plain := t != "" && !strings.ContainsAny(t, " *<>=@") && !strings.HasSuffix(t, ".X") && t != "any"
			if (plain || kinds[part] == "") && !slices.Contains(out[part], t) {
				out[part] = append(out[part], t)
			}
		}
	}
	for name, rows := range o.tables {
		for _, r := range rows {
			for part := range kinds {
				switch {
				case part == "python" || part == "glibc" || name == "others.others":
				case part == "driver":
					add(part, r.l("hdk")...)
				default:
					add(part, r.l(part)...)
				}
			}
			if name == "cann.releases" {
				add("cann", r.s("version"), r.s("t_version"))
			}
			add("product", r.s("product"), r.s("alias"))
			if strings.HasPrefix(name, "os.") {
				add("os", r.l("os")...)
			}
			add("chip", r.s("soc_version"), r.s("generation"))
			add("soc_version", r.s("soc_version"))
			add("kernels_package", r.s("kernels_package"))
		}
	}
	add("chip", "950DT", "950PR", "Ascend910", "910B")
	add("python", "3.7", "3.8", "3.9", "3.10.12", "3.11", "3.12", "3.13", "3.14")
	add("glibc", "2.17", "2.28", "2.31", "2.34", "2.38")
	add("arch", "aarch64", "x86_64", "arm64", "riscv64")
	add("numpy", "1.19.1", "1.26.4", "2.0.0", "2.2.6", "3.0.0")
	add("transformers", "4.49.0", "4.57.1", "4.57.4", "5.5.4", "5.14.1")
	add("dtype", "float16", "bf16", "fp8")
	add("abi", "0", "1")
	add("ops_package", "none", "8.5.0", "8.5.2", "9.0.0", "9.0.1", "9.1.0")
	add("nnal", "8.1.RC1", "8.5.0", "9.1.0")
	add("triton", "3.2.0")
	add("kernel", "5.15.0-97", "6.5.0-45-generic", "6.6.0-1")
	return out
}

// TestEveryPartOfEverySupportedCaseAgreesWithTheOracle replaces each part of
// each supported case by every other known value, and adds each part that is
// not there, and holds the engine's verdict against that of the oracle.
func TestEveryPartOfEverySupportedCaseAgreesWithTheOracle(t *testing.T) {
	m, o := load(t), newOracle(t)
	known := o.values()
	asked, wrong := 0, 0
	ask := func(id string, p matrix.Parts) {
		v, err := m.Judge(p)
		if err != nil {
			t.Fatal(err)
		}
		asked++
		if want := o.verdict(p); string(v.Verdict) != want {
			if wrong++; wrong <= 20 {
				t.Errorf("%s %v: %s, the oracle says %s", id, p, v.Verdict, want)
				for _, pair := range v.Pairs {
					t.Logf("    %s %v %s %s", pair.Rule, pair.Parts, pair.Verdict, pair.Text.En)
				}
			}
		}
	}
	for _, c := range cases(t) {
		given := c.parts()
		ask(c.ID, given)
		if c.Expect != matrix.Supported {
			continue
		}
		for part, values := range known {
			for _, v := range values {
				p := maps.Clone(given)
				p[part] = v
				if _, there := given[part]; there || len(values) < 12 {
					ask(c.ID, p)
				}
			}
		}
	}
	t.Logf("%d stacks, %d differ", asked, wrong)
	if asked < 10000 {
		t.Errorf("only %d stacks were asked", asked)
	}
}

// TestUnknownSpellingsAreNeverSupported spoils one version or name of a
// supported case; what the rows do not know is never promised.
func TestUnknownSpellingsAreNeverSupported(t *testing.T) {
	m, o := load(t), newOracle(t)
	known := o.values()
	var good []testCase
	for _, c := range cases(t) {
		if c.Expect == matrix.Supported {
			good = append(good, c)
		}
	}
	ran := 0
	rapid.Check(t, func(r *rapid.T) {
		for range 20 {
			p := rapid.SampledFrom(good).Draw(r, "case").parts()
			part, spoilt := spoil(r, p)
			kind := kinds[part]
			if spoilt == "" || slices.ContainsFunc(known[part], func(k string) bool {
				return strings.EqualFold(k, strings.Join(strings.Fields(spoilt), " ")) || kind != "" && o.same(kind, k, o.cannOf(spoilt)) || part == "chip" && o.chip(spoilt).ok
			}) {
				continue
			}
			p[part] = spoilt
			ran++
			v, err := m.Judge(p)
			if err != nil {
				r.Fatal(err)
			}
			if v.Verdict == matrix.Supported {
				r.Fatalf("%v is supported with the unknown %s %q", p, part, spoilt)
			}
		}
	})
	t.Logf("%d unknown spellings", ran)
	if ran < 1000 {
		t.Errorf("only %d unknown spellings were tried", ran)
	}
}

// spoil changes one value of the parts whose existence R17 judges.
func spoil(r *rapid.T, p matrix.Parts) (part, value string) {
	var parts []string
	for _, name := range []string{"chip", "product", "cann", "torch_npu", "vllm_ascend", "mindie", "mindspore"} {
		if p[name] != "" {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "", ""
	}
	part = rapid.SampledFrom(parts).Draw(r, "part")
	at := rapid.IntRange(0, len(p[part])).Draw(r, "at")
	cut := rapid.IntRange(0, min(2, len(p[part])-at)).Draw(r, "cut")
	put := rapid.StringMatching(`[0-9A-Za-z. _-]{0,3}`).Draw(r, "put")
	return part, strings.TrimSpace(p[part][:at] + put + p[part][at+cut:])
}
