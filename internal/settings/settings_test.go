package settings

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/compat"
	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

func embedded() *book.Book { return book.New(book.Layer{Name: "compat", FS: compat.FS}) }

func load(t *testing.T) *Settings {
	t.Helper()
	s, err := Load(embedded())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// numbers orders dotted versions; a candidate comes before its release.
func numbers(a, b string) int {
	parse := func(v string) (out []int) {
		for _, w := range strings.FieldsFunc(strings.ToLower(v), func(r rune) bool { return r == '.' }) {
			if n, err := strconv.Atoi(w); err == nil {
				out = append(out, n)
			} else {
				out = append(out, -1)
			}
		}
		for len(out) < 4 {
			out = append(out, 0)
		}
		return out
	}
	return slices.Compare(parse(a), parse(b))
}

func with(versions map[string]string) Installed {
	return Installed{Version: func(p string) string { return versions[p] }, Compare: func(_, a, b string) int { return numbers(a, b) }}
}

func TestJudgeNamesEveryKindOfFault(t *testing.T) {
	s := load(t)
	for name, c := range map[string]struct {
		env  map[string]string
		in   Installed
		want []string // name fault
	}{
		"nothing":                  {map[string]string{"HOME": "/root", "LANG": "C"}, Installed{}, nil},
		"a sound environment":      {map[string]string{"ASCEND_HOME_PATH": "/a", "HCCL_BUFFSIZE": "1024", "TASK_QUEUE_ENABLE": "2", "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT": "true"}, Installed{}, nil},
		"an invention":             {map[string]string{"VLLM_USE_CANN": "1"}, Installed{}, []string{"VLLM_USE_CANN fictional"}}, // fictional
		"one that others read":     {map[string]string{"ASCEND_DEVICE_ID": "0,1"}, Installed{}, []string{"ASCEND_DEVICE_ID misused"}},
		"a value that is none":     {map[string]string{"HCCL_CONNECT_TIMEOUT": "60"}, Installed{}, []string{"HCCL_CONNECT_TIMEOUT value"}},
		"a value in steps":         {map[string]string{"HCCL_RDMA_TC": "130"}, Installed{}, []string{"HCCL_RDMA_TC value"}},
		"a list that falls":        {map[string]string{"ASCEND_RT_VISIBLE_DEVICES": "3,1"}, Installed{}, []string{"ASCEND_RT_VISIBLE_DEVICES value"}},
		"a name that is near":      {map[string]string{"ASCEND_RT_VISIBLE_DEVICE": "0"}, Installed{}, []string{"ASCEND_RT_VISIBLE_DEVICE misspelt"}},
		"removed, version unknown": {map[string]string{"VLLM_ASCEND_ENABLE_DBO": "1"}, Installed{}, nil},
		"removed":                  {map[string]string{"VLLM_ASCEND_ENABLE_DBO": "1"}, with(map[string]string{"vllm-ascend": "0.18.0"}), []string{"VLLM_ASCEND_ENABLE_DBO removed"}},
		"the last that reads it":   {map[string]string{"VLLM_ASCEND_ENABLE_DBO": "1"}, with(map[string]string{"vllm-ascend": "0.11.0"}), nil},
		"a candidate of the train that dropped it": {map[string]string{"ATB_RUNNER_POOL_SIZE": "64"},
			with(map[string]string{"CANN": "8.2.RC1"}), []string{"ATB_RUNNER_POOL_SIZE removed"}},
		"too early": {map[string]string{"ASCEND_LOG_PRINT_TO_STDOUT": "1"}, with(map[string]string{"CANN": "9.1.0"}), []string{"ASCEND_LOG_PRINT_TO_STDOUT early"}},
		"two that clash": {map[string]string{"HCCL_EXEC_TIMEOUT": "1836", "HCCL_EVENT_TIMEOUT": "1800"}, Installed{},
			[]string{"HCCL_EVENT_TIMEOUT HCCL_EXEC_TIMEOUT conflict"}},
		"two that do not":    {map[string]string{"HCCL_EXEC_TIMEOUT": "1836", "HCCL_EVENT_TIMEOUT": "1868"}, Installed{}, nil},
		"a value and a mode": {map[string]string{"HCCL_OP_EXPANSION_MODE": "AIV", "HCCL_EXEC_TIMEOUT": "0"}, Installed{}, []string{"HCCL_EXEC_TIMEOUT HCCL_OP_EXPANSION_MODE conflict"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range s.Judge(c.env, c.in) {
				got = append(got, f.Name+" "+string(f.Fault))
				if f.Text.IsZero() || f.Fault == Invented && (f.Do.IsZero() || f.Source == "") {
					t.Errorf("says too little: %+v", f)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The environment blocks of the two blog posts, as a person would paste them:
// each of their inventions and misuses is named (seeds, acceptance S03).
func TestTheBlocksOfThePostsAreNamedWhole(t *testing.T) {
	env := map[string]string{ // those that are fictional say so in compat/env.yaml
		"ASCEND_HOME": "/usr/local/Ascend", "ASCEND_DEVICE_ID": "0,1,2,3", "LD_LIBRARY_PATH": "/usr/local/Ascend/fwkacllib/lib64",
		"ASCEND_OP_FUSION_ENABLE": "1", "ASCEND_HCCL_PRIORITY": "high", "ASCEND_HBM_CACHE_ENABLE": "1", // fictional
		"ASCEND_MEM_FRAGMENT_CLEAN_THRESHOLD": "100", "ASCEND_HETEROGENEOUS_MEMORY_MANAGER_ENABLE": "1", "VLLM_CPU_MEM_CACHE": "0", // fictional
		"VLLM_USE_CANN": "1", // fictional
	}
	faults := map[Fault]int{}
	for _, f := range load(t).Judge(env, Installed{}) {
		faults[f.Fault]++
	}
	if faults[Invented] != 7 || faults[Misused] != 2 || len(faults) != 2 {
		t.Errorf("%v", faults)
	}
}

func TestLookFindsNamesSpellingsAndInventions(t *testing.T) {
	s := load(t)
	for word, id := range map[string]string{
		"hccl_buffsize": "HCCL_BUFFSIZE", "HCCL_BUFFSIZE=200": "HCCL_BUFFSIZE", "npu-smi  reset": "npu-smi-reset", // fictional
		"page_size=16384": "page_size", "npu-smi -r": "npu-smi-reset", // fictional
	} {
		if e, ok := s.Look(word); !ok || e.ID != id {
			t.Errorf("%s: %v %v", word, e.ID, ok)
		}
	}
	if e, ok := s.Look("HOME"); ok {
		t.Errorf("HOME is %+v", e)
	}
	if got := s.Meant("HCCL_BUFSIZE").En; !strings.Contains(got, "HCCL_BUFFSIZE") {
		t.Error(got)
	}
	for _, e := range s.All() {
		if m := s.Meant(e.ID + "S").En; e.Kind == Fictional && strings.HasSuffix(m, " "+e.ID) {
			t.Errorf("suggests an invention: %s", m)
		}
	}
}

func TestNNALExportsLessFromVersionToVersion(t *testing.T) {
	s := load(t)
	last := 99
	for _, version := range []string{"8.1.RC1", "8.2.RC1", "8.3.RC1", "8.5.0", ""} {
		got := s.Exported("nnal", version, numbers)
		if len(got) > last || len(got) < 9 {
			t.Errorf("%s exports %d, the one before %d", version, len(got), last)
		}
		last = len(got)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		values  Values
		in, out string // space separated
	}{
		{"", "x 1", ""},
		{"0|1", "0 1", "2 true 01x"},
		{"true|false", "true TRUE False", "1 yes"},
		{"120..7200", "120 7200 300", "119 7201 x 1.5"},
		{"-1|1..", "-1 1 999999", "0 -2"},
		{"0..255/4", "0 132 252", "1 130 256"},
		{"ids", "0 0,1 2,5,7", "1,0 0,0 x 0,x 0,"},
		{"*", "x", ""},
	} {
		for _, v := range strings.Fields(c.in) {
			if !c.values.Take(v) {
				t.Errorf("%q refuses %s", c.values, v)
			}
		}
		for _, v := range strings.Fields(c.out) {
			if c.values.Take(v) {
				t.Errorf("%q takes %s", c.values, v)
			}
		}
	}
	for _, bad := range []Values{"1..x", "5..1", "0..9/0", "..", "a..b"} {
		if bad.check() == nil {
			t.Errorf("%s is no mistake", bad)
		}
	}
}

func TestRowsThatWouldMisleadAreRefused(t *testing.T) {
	const head = "schema: 1\nas_of: 2026-11-30\nothers: []\nconflicts: []\nvariables:\n  - {id: A, source: s, "
	what := "what: {en: a, zh: 甲}, instead: {en: b, zh: 乙}, status: src, "
	for row, want := range map[string]string{
		what + "kind: fictive}":                               "kind fictive: want real, removed or fictional",
		what + "kind: removed}":                               "needs until or gone",
		what + "kind: removed, until: '1'}":                   "versions without the product",
		"kind: fictional, what: {en: a, zh: 甲}, status: src}": "needs instead",
		what + "kind: real, form: word}":                      "want option, command or file",
		what + "kind: real, values: 1..x}":                    "want words, a..b",
		what + "kind: real, exported: toolkit}":               "want nnal",
		"kind: real, status: src}":                            "what is missing",
		what + "kind: real, vaules: '1'}":                     "unknown key vaules, did you mean values",
		"kind: real, what: {en: a, zh: 甲}}":                   "status is missing",
	} {
		fs := fstest.MapFS{"env.yaml": {Data: []byte(head + row + "\n")}}
		if _, err := Load(book.New(book.Layer{Name: "k", FS: fs})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
}

// Every line of the data that holds an invented name says what it is, and the
// Chinese keeps to the glossary.
func TestTheDataItself(t *testing.T) {
	data, err := os.ReadFile("../../compat/env.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := load(t)
	stuck := regexp.MustCompile(`[\p{Han}][A-Za-z0-9]|[A-Za-z0-9][\p{Han}]|您|请[^求]|！|延迟|显卡`)
	kinds := map[Kind]int{}
	for _, e := range s.All() {
		kinds[e.Kind]++
		for _, text := range []report.Text{e.What, e.Instead, e.Note} {
			if m := stuck.FindString(text.Zh); m != "" {
				t.Errorf("%s: %s in %s", e.ID, m, text.Zh)
			}
			if strings.HasSuffix(text.En, ".") || strings.HasSuffix(text.Zh, "。") {
				t.Errorf("%s ends with a full stop", e.ID)
			}
		}
		if e.Kind != Fictional {
			continue
		}
		word := regexp.MustCompile(`(^|[^A-Z_])` + regexp.QuoteMeta(e.ID) + `($|[^A-Z_])`)
		for i, line := range strings.Split(string(data), "\n") {
			if word.MatchString(line) && !strings.Contains(line, "fictional") {
				t.Errorf("env.yaml:%d holds %s and does not say that it is fictional", i+1, e.ID)
			}
		}
	}
	if kinds[Real] < 280 || kinds[Removed] < 70 || kinds[Fictional] < 20 {
		t.Errorf("too few rows: %v", kinds)
	}
	for _, c := range s.conflicts {
		for name := range c.When {
			if _, ok := s.Look(name); !ok {
				t.Errorf("conflict %s: %s is not known", c.ID, name)
			}
		}
	}
}

func TestContainerOfEachGeneration(t *testing.T) {
	everything := func(string) bool { return true }
	for generation, want := range map[string]string{
		"A2":   "/dev/davinci_manager /dev/devmm_svm /dev/hisi_hdc",
		"310B": "/dev/davinci_manager /dev/svm0 /dev/ts_aisle",
		"950":  "/dev/davinci_manager /dev/hisi_hdc /dev/ummu /dev/uburma",
	} {
		g, err := Container(embedded(), generation, "", "/usr/local/Ascend/driver", everything)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(g.Nodes, " "); !strings.HasPrefix(got, want) || len(g.Missing) > 0 || g.Shm != "1g" {
			t.Errorf("%s: %+v", generation, g)
		}
		if !slices.Contains(g.Mounts, "/usr/local/Ascend/driver/lib64") {
			t.Errorf("%s: %v", generation, g.Mounts)
		}
	}
	bare, err := Container(embedded(), "A2", "sglang", "/d", func(p string) bool { return p == "/usr/local/sbin/npu-smi" || p == "/dev/hisi_hdc" })
	if err != nil {
		t.Fatal(err)
	}
	want := Given{Nodes: []string{"/dev/hisi_hdc"}, Mounts: []string{"/usr/local/sbin/npu-smi"}, Shm: "16g",
		Missing: []string{"/dev/davinci_manager", "/dev/devmm_svm", "/d/lib64", "/d/version.info", "/etc/ascend_install.info"}}
	if d := cmp.Diff(want, bare); d != "" {
		t.Error(d)
	}
}
