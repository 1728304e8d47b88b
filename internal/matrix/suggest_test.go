package matrix_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ascendctl/ascendctl/internal/matrix"
)

// brief writes a suggestion in one line.
func brief(s matrix.Suggestion) string {
	var to []string
	for _, c := range s.Change {
		to = append(to, c.Part+"="+c.To)
	}
	return s.Kind + " " + s.Row + " " + string(s.Verdict.Verdict) + " " + string(s.Verdict.Tier) + ": " + strings.Join(to, " ")
}

func TestSuggestions(t *testing.T) {
	m := load(t)
	for name, c := range map[string]struct {
		ask  matrix.Ask
		want []string
		none string
	}{
		"newest engine under an old driver": {ask: matrix.Ask{Have: matrix.Parts{"chip": "910B4", "driver": "24.1.0"}}, want: []string{
			"newest vllm_ascend/0.9.1 supported compatible: cann=8.2.RC1 python=3.11 torch=2.5.1 torch_npu=2.5.1.post1 vllm=0.9.1 vllm_ascend=0.9.1",
			"newest_rc vllm_ascend/0.11.0rc0 supported compatible: cann=8.2.RC1 python=3.11 torch=2.7.1 torch_npu=2.7.1.dev20250724 vllm=0.11.0rc3 vllm_ascend=0.11.0rc0"}},
		"least upgrade for a wanted engine": {ask: matrix.Ask{Have: matrix.Parts{"chip": "910B4", "driver": "25.2.0", "cann": "8.1.RC1", "python": "3.11"}, Want: matrix.Parts{"vllm_ascend": "0.23.0"}}, want: []string{
			"least_change vllm_ascend/0.23.0 supported compatible: cann=9.1.0 torch=2.10.0 torch_npu=2.10.0.post4 triton_ascend=3.2.2 vllm=0.23.0 vllm_ascend=0.23.0",
			"newest vllm_ascend/0.23.0.post1 supported compatible: cann=9.1.0 torch=2.10.0 torch_npu=2.10.0.post4 triton_ascend=3.2.2 vllm=0.23.0 vllm_ascend=0.23.0.post1",
			"newest_rc vllm_ascend/0.29.0rc1 supported compatible: cann=9.1.0 torch=2.10.0 torch_npu=2.10.0.post4 triton_ascend=3.2.2 vllm=0.29.0 vllm_ascend=0.29.0rc1"}},
		"the nearer of two accepted sets": {ask: matrix.Ask{Have: matrix.Parts{"chip": "910B4", "driver": "26.0.RC1", "cann": "9.0.0", "python": "3.11"}, Want: matrix.Parts{"vllm_ascend": "0.18.0"}}, want: []string{
			"least_change vllm_ascend/0.18.0 supported matched: torch=2.9.0 torch_npu=2.9.0.post2 triton_ascend=3.2.1 vllm=0.18.0 vllm_ascend=0.18.0", "newest", "newest_rc"}},
		"a driver below the window must go": {ask: matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "24.1.0"}, Want: matrix.Parts{"vllm_ascend": "0.23.0"}}, want: []string{
			"least_change vllm_ascend/0.23.0 supported matched: driver=26.0.RC1 cann=9.1.0 python=3.12 torch=2.10.0 torch_npu=2.10.0.post4 triton_ascend=3.2.2 vllm=0.23.0 vllm_ascend=0.23.0", "newest", "newest_rc"}},
		"a driver that a provider looks after stays": {ask: matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "24.1.0"}, Want: matrix.Parts{"vllm_ascend": "0.23.0"}, Fixed: []string{"driver", "firmware"}},
			want: []string{"newest vllm_ascend/0.9.1", "newest_rc vllm_ascend/0.11.0rc0"}, none: "vllm_ascend 0.23.0 has no stack on driver 24.1.0, which must stay"},
		"a driver that nothing takes goes, the CANN stays": {ask: matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "23.0.RC2", "firmware": "6.4.0.4.220", "cann": "8.2.RC1", "python": "3.10"}}, want: []string{
			"new_driver vllm_ascend/0.9.1 supported matched: driver=25.2.0 firmware=7.7.0.6.236 torch=2.5.1 torch_npu=2.5.1.post1 vllm=0.9.1 vllm_ascend=0.9.1"}},
		"a driver that nothing takes and that must stay": {ask: matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "23.0.RC2", "cann": "8.2.RC1"}, Fixed: []string{"driver"}}, want: []string{"newest vllm_ascend/0.18.0 unknown"}},
		"no triton on 310P": {ask: matrix.Ask{Have: matrix.Parts{"chip": "310P3", "driver": "25.5.2"}, Want: matrix.Parts{"vllm_ascend": "0.20.2rc1"}}, want: []string{
			"least_change vllm_ascend/0.20.2rc1 supported tested: cann=9.1.0-beta.1 python=3.11 torch=2.10.0 torch_npu=2.10.0 vllm=0.20.2 vllm_ascend=0.20.2rc1", "newest", "newest_rc"}},
		"no engine for the chip": {ask: matrix.Ask{Have: matrix.Parts{"chip": "A1", "driver": "25.2.0"}}, none: "vllm_ascend does not run on A1"},
		"a version nobody knows": {ask: matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "25.5.0"}, Want: matrix.Parts{"vllm_ascend": "9.9"}}, want: []string{"newest", "newest_rc"}, none: "no row knows vllm_ascend 9.9"},
		"MindIE":                 {ask: matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "25.2.0"}, Want: matrix.Parts{"mindie": ""}}, want: []string{"newest mindie/2.3.0 supported compatible: cann=8.5.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := m.Suggest(c.ask)
			if err != nil {
				t.Fatal(err)
			}
			if c.none == "" != got.None.IsZero() || !strings.Contains(got.None.En, c.none) {
				t.Errorf("none: %q", got.None.En)
			}
			var lines []string
			for _, s := range got.Suggestions {
				lines = append(lines, brief(s))
			}
			if len(lines) != len(c.want) {
				t.Fatalf("%d suggestions:\n%s", len(lines), strings.Join(lines, "\n"))
			}
			for i, l := range lines {
				if !strings.HasPrefix(l, c.want[i]) {
					t.Errorf("got  %s\nwant %s", l, c.want[i])
				}
			}
		})
	}
}

func TestSuggestionsNameImagesAndFiles(t *testing.T) {
	m := load(t)
	for _, c := range []struct {
		have   matrix.Parts
		want   string
		images []string
		files  []string
	}{
		{matrix.Parts{"chip": "910B4", "driver": "25.5.0", "arch": "arm64", "os": "openEuler 22.03"}, "0.13.0",
			[]string{"quay.io/ascend/vllm-ascend:v0.13.0-openeuler", "quay.io/ascend/vllm-ascend:v0.13.0"},
			[]string{"Ascend-cann-toolkit_8.5.0_linux-aarch64.run", "Ascend-cann-910b-ops_8.5.0_linux-aarch64.run", "Ascend-cann-nnal_8.5.0_linux-aarch64.run"}},
		// 8.3.RC1 is accepted too, and nothing is said about 25.3.RC1 with 8.3.RC2.
		{matrix.Parts{"chip": "A3", "driver": "25.3.RC1", "arch": "x86_64"}, "0.11.0", []string{"quay.io/ascend/vllm-ascend:v0.11.0-a3"},
			[]string{"Ascend-cann-toolkit_8.3.RC1_linux-x86_64.run", "Atlas-A3-cann-kernels_8.3.RC1_linux-x86_64.run", "Ascend-cann-nnal_8.3.RC1_linux-x86_64.run"}},
		{matrix.Parts{"chip": "310P3", "driver": "25.5.2"}, "0.23.0", []string{"quay.io/ascend/vllm-ascend:v0.23.0-310p"}, nil},
		{matrix.Parts{"chip": "950DT"}, "0.23.0", nil, nil},
	} {
		got, err := m.Suggest(matrix.Ask{Have: c.have, Want: matrix.Parts{"vllm_ascend": c.want}})
		if err != nil || len(got.Suggestions) == 0 {
			t.Fatalf("%v: %v %v", c.have, got, err)
		}
		s := got.Suggestions[0]
		if d := cmp.Diff([][]string{c.images, c.files}, [][]string{s.Images, s.Files}); d != "" {
			t.Errorf("%v: %s", c.have, d)
		}
		if c.images == nil && !strings.Contains(s.Notes[len(s.Notes)-1].En, "v0.23.0-a5") {
			t.Errorf("both spellings of the 950DT image should be noted: %v", s.Notes)
		}
	}
}

// TestEverySuggestionResolves: whatever is there and wanted, a suggestion is
// supported, or its verdict says unknown; what is fixed stays, and the present
// driver is never replaced by an older one.
func TestEverySuggestionResolves(t *testing.T) {
	m := load(t)
	drivers := []string{"", "23.0.6", "24.1.RC3", "24.1.0", "25.0.RC1", "25.2.0", "25.3.RC1", "25.5.1", "26.0.RC1", "26.1.0", "25.6.RC1", "31.0.0"}
	chips := []string{"", "910B3", "A3", "310P3", "950DT", "950PR", "A1", "310B4", "910", "nonsense"}
	rapid.Check(t, func(r *rapid.T) {
		have := matrix.Parts{}
		put := func(part string, values ...string) {
			if v := rapid.SampledFrom(values).Draw(r, part); v != "" {
				have[part] = v
			}
		}
		put("driver", drivers...)
		put("chip", chips...)
		put("cann", "", "8.0.0", "8.2.RC1", "8.5.0", "9.1.0", "8.2.RC")
		put("python", "", "3.8", "3.11", "3.14")
		put("firmware", "", "7.5.0.3.220", "7.7.0.6.236")
		put("arch", "", "aarch64")
		ask := matrix.Ask{Have: have, Want: matrix.Parts{}}
		engine := rapid.SampledFrom(matrix.EngineParts()).Draw(r, "engine")
		ask.Want[engine] = rapid.SampledFrom([]string{"", "0.11.0", "0.18.0", "2.1.RC1", "2.7.1", "0.5.9", "2.7.0", "nonsense"}).Draw(r, "want")
		if rapid.Bool().Draw(r, "managed") {
			ask.Fixed = []string{"driver", "firmware"}
		}
		before := maps.Clone(have)
		got, err := m.Suggest(ask)
		if err != nil {
			r.Fatal(err)
		}
		if !maps.Equal(before, have) {
			r.Fatal("the question was changed")
		}
		if len(got.Suggestions) == 0 && (got.None.En == "" || got.None.Zh == "") {
			r.Fatal("nothing, and no reason")
		}
		for _, s := range got.Suggestions {
			v, err := m.Resolve(s.Parts)
			if err != nil || v.Verdict != s.Verdict.Verdict || v.Verdict == matrix.Unsupported || s.Kind == "" || s.Parts[engine] == "" {
				r.Fatalf("%s resolves to %s %v", brief(s), v.Verdict, err)
			}
			for _, part := range ask.Fixed {
				if have[part] != "" && s.Parts[part] != "" && s.Parts[part] != have[part] {
					r.Fatalf("%s was fixed at %s: %s", part, have[part], brief(s))
				}
			}
			if s.Kind != "least_change" && s.Kind != "new_driver" && have["driver"] != "" && s.Parts["driver"] != have["driver"] {
				r.Fatalf("%s replaces driver %s", brief(s), have["driver"])
			}
			was, _ := matrix.Parse(matrix.HDK, have["driver"])
			now, _ := matrix.Parse(matrix.HDK, s.Parts["driver"])
			if c, ok := now.Compare(was); ok && c < 0 {
				r.Fatalf("%s goes back from %s", brief(s), have["driver"])
			}
			for _, c := range s.Change {
				if slices.Contains(s.Keep, c.Part) || c.To == "" || c.To == c.From {
					r.Fatalf("%+v of %s", c, brief(s))
				}
			}
		}
	})
}
