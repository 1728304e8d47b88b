package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Fault is what is wrong with a variable of an environment.
type Fault string

const (
	Invented Fault = "fictional" // no component reads it
	Gone     Fault = "removed"   // what is installed reads it no more
	Early    Fault = "early"     // what is installed does not read it yet
	Value    Fault = "value"     // set to what it does not take
	Misused  Fault = "misused"   // read by others than people think
	Misspelt Fault = "misspelt"  // not known, and a known one is near
	Clash    Fault = "conflict"  // it stands against another one
)

// Found is one fault.
type Found struct {
	Name   string      `json:"name"`
	Value  string      `json:"value"`
	Fault  Fault       `json:"fault"`
	Text   report.Text `json:"text"` // what is wrong, without the name
	Do     report.Text `json:"do,omitzero"`
	Source string      `json:"source,omitempty"`
}

// Installed answers which version of a product ("CANN", "vllm-ascend") is
// there; "" = none, or not known: then nothing is said about versions. Compare
// orders two versions of that product; it is not asked where Version is nil.
type Installed struct {
	Version func(product string) string
	Compare func(product, a, b string) int
}

// Judge looks at an environment, by name, and gives its faults in the order of
// the names. A name that is not known is a fault only when its head belongs to
// Ascend and a known name is near: this file does not know every variable.
func (s *Settings) Judge(env map[string]string, in Installed) (out []Found) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		i, known := s.at[strings.ToLower(name)]
		if known && s.entries[i].ID == name {
			if f, bad := s.entries[i].judge(value, in); bad {
				out = append(out, f)
			}
			continue
		}
		if !ours(name) {
			continue
		}
		if meant := s.Meant(name); !meant.IsZero() {
			out = append(out, Found{Name: name, Value: value, Fault: Misspelt, Text: report.T("not known%s", "未知变量%s", meant)})
		}
	}
	for _, c := range s.conflicts {
		if f, bad := c.judge(env); bad {
			out = append(out, f)
		}
	}
	return out
}

// ours is true for names that only Ascend software would use. VLLM_ and
// PYTORCH_ have readers upstream that this file does not list.
func ours(name string) bool {
	for _, head := range []string{"ASCEND", "HCCL_", "HCOMM_", "VLLM_ASCEND_", "ATB_", "ASDOPS_", "ACLNN_", "MINDIE_", "MIES_", "PYTORCH_NPU_", "TORCH_NPU_"} {
		if strings.HasPrefix(name, head) {
			return true
		}
	}
	return false
}

func (e Entry) judge(value string, in Installed) (Found, bool) {
	f := Found{Name: e.ID, Value: value, Do: e.Instead, Source: e.Source}
	switch {
	case e.Kind == Fictional:
		f.Fault, f.Text = Invented, report.T("fictional: no component reads it", "该变量不存在：没有任何组件读取")
	case e.Exported != "" && in.dropped(e.Of, e.Gone):
		f.Fault, f.Text = Gone, report.T("set_env.sh of %s %s sets it no more", "%s %s 的 set_env.sh 已不再设置", e.Of, in.Version(e.Of))
	case in.after(e.Of, e.Until) || in.dropped(e.Of, e.Gone):
		f.Fault, f.Text = Gone, report.T("%s %s does not read it any more", "%s %s 已不再读取", e.Of, in.Version(e.Of))
	case in.before(e.Of, e.Since):
		f.Fault, f.Text = Early, report.T("%s %s does not read it yet, %s is the first that does", "%s %s 尚不读取，自 %s 起支持", e.Of, in.Version(e.Of), e.Since)
	case e.Kind == Real && !e.Instead.IsZero():
		f.Fault, f.Text = Misused, e.What
	case value != "" && !e.Values.Take(value):
		f.Fault, f.Text = Value, report.T("takes %s", "可取 %s", e.Values)
	default:
		return f, false
	}
	return f, true
}

// after is true when the product is known to be later than the last version.
func (in Installed) after(product, last string) bool {
	have := in.version(product)
	return have != "" && last != "" && in.Compare(product, have, last) > 0
}

// dropped is true when the product is known to be of a train without it.
func (in Installed) dropped(product, gone string) bool {
	have := in.version(product)
	return have != "" && gone != "" && in.Compare(product, train(have), gone) >= 0
}

// train is the release that a candidate belongs to: 8.2.RC1 comes before 8.2,
// but what 8.2 dropped is gone in it.
func train(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func (in Installed) before(product, version string) bool {
	have := in.version(product)
	return have != "" && version != "" && in.Compare(product, have, version) < 0
}

func (in Installed) version(product string) string {
	if in.Version == nil || product == "" {
		return ""
	}
	return in.Version(product)
}

func (c Conflict) judge(env map[string]string) (Found, bool) {
	for name, want := range c.When {
		if value, set := env[name]; !set || !want.Take(value) {
			return Found{}, false
		}
	}
	if len(c.Rising) == 2 {
		a, errA := strconv.Atoi(env[c.Rising[0]])
		b, errB := strconv.Atoi(env[c.Rising[1]])
		if errA != nil || errB != nil || a < b {
			return Found{}, false
		}
	}
	names := slices.Sorted(maps.Keys(c.When))
	return Found{Name: strings.Join(names, " "), Value: env[names[0]], Fault: Clash, Text: c.Text, Source: c.Source}, true
}
