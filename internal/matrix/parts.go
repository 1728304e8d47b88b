package matrix

import (
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Parts are the given parts of a stack, part name -> version or value. What is
// not there was not given; nothing is ever derived.
type Parts map[string]string

// None is the value of a part that was looked for and is not installed; only
// ops_package knows it.
const None = "none"

// part is what the engine knows about the name of a part.
type part struct {
	name   string
	scheme Scheme
}

// partTable has every part a stack can have, in the order of screens: what is
// hard to change stands first.
var partTable = []part{
	{"chip", Text}, {"soc_version", Text}, {"product", Text}, {"arch", Text}, {"os", Text}, {"kernel", Text}, {"glibc", Opaque},
	{"driver", HDK}, {"firmware", Opaque}, {"cann", CANN}, {"nnal", CANN}, {"ops_package", CANN}, {"kernels_package", Text},
	{"python", Opaque}, {"torch", PEP440}, {"torch_npu", PEP440}, {"pta", Opaque}, {"triton", PEP440}, {"triton_ascend", PEP440},
	{"vllm", PEP440}, {"vllm_ascend", PEP440}, {"mindspore", PEP440}, {"mindie", Opaque}, {"mindie_turbo", PEP440},
	{"sglang", PEP440}, {"numpy", PEP440}, {"transformers", PEP440}, {"paddle_custom_npu", PEP440}, {"dlinfer_ascend", PEP440},
	{"abi", Text}, {"dtype", Text}, {"model", Text}, {"model_kind", Text}, {"memory", Text},
}

// PartNames lists the parts a stack can have, what is hard to change first.
func PartNames() []string {
	names := make([]string, len(partTable))
	for i, p := range partTable {
		names[i] = p.name
	}
	return names
}

func schemeOf(name string) Scheme {
	for _, p := range partTable {
		if p.name == name {
			return p.scheme
		}
	}
	return Text
}

// otherNames are words people use for a part and that are no misspelling of it.
var otherNames = map[string]string{"hdk": "driver", "npu_driver": "driver", "npu": "chip", "soc": "chip", "card": "product", "server": "product", "toolkit": "cann", "fw": "firmware", "py": "python", "ops": "ops_package", "system": "os"}

// ParseParts reads KEY=VALUE arguments. A key may be written with dashes. An
// unknown key, a missing value and one part given twice are told as a
// *report.Problem (exit 64).
func ParseParts(args []string) (Parts, error) {
	p := Parts{}
	for _, arg := range args {
		key, value, found := strings.Cut(arg, "=")
		name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), "-", "_")
		value = strings.TrimSpace(value)
		was, twice := p[name]
		switch {
		case !found || value == "":
			return nil, usage(report.T("%q gives no value", "%q 未给出值", arg),
				report.T("write KEY=VALUE, for example %s", "写成 KEY=VALUE，例如 %s", "cann=8.2.RC1"))
		case twice && was != value:
			return nil, usage(report.T("%s is given twice: %s and %s", "%s 给出了 2 次：%s 和 %s", name, was, value),
				report.T("give each part once", "每个部件只给出一次"))
		}
		p[name] = value
	}
	return p, p.check()
}

// check refuses names that no rule could ever read.
func (p Parts) check() error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if slices.Contains(PartNames(), name) {
			continue
		}
		meant := report.Meant(name, PartNames())
		if other := otherNames[name]; other != "" {
			meant = report.T(", did you mean %s", "，是否应为 %s", other)
		}
		return usage(report.T("no part of a stack is called %s%s", "没有名为 %s 的部件%s", name, meant),
			report.T("the parts are: %s", "可用的部件：%s", strings.Join(PartNames(), ", ")))
	}
	return nil
}

func usage(what, do report.Text) error {
	return &report.Problem{What: what, Do: do, Exit: report.ExitUsage, Run: "ascendctl compat check --help"}
}
