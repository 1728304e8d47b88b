package cann

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Var is one variable a process needs: Value, or folders before and behind
// whatever a search path holds already.
type Var struct {
	Name  string   `json:"name"`
	Value string   `json:"value,omitempty"`
	Front []string `json:"front,omitempty"`
	Back  []string `json:"back,omitempty"`
	// Default is true for a value that what a person set goes before.
	Default bool        `json:"default,omitempty"`
	Why     report.Text `json:"why"`
	From    []string    `json:"from,omitempty"` // the files of the host that say so
}

// Needs says where else than in the tree a process looks.
type Needs struct {
	Arch   string // as uname -m gives it
	Driver string // root of the driver; "" = none here
	NNAL   *NNAL  // nil: no nnal
	ABI    int    // of torch: 0 or 1; chooses among the builds of nnal
	// Defaults are what the script of that nnal exports, as data has it; Home
	// fills {HOME} in, as ATB_HOME_PATH fills {ATB_HOME_PATH}.
	Defaults []Var
	Home     string
}

// Env is the environment that a process needs to use the tree: what the
// vendor's set_env.sh of that generation exports in a clean shell, but for
// Differences. (Sources: leideng/CANN-8.1.RC1 set_env.sh; hicann/runtime
// scripts/package/runtime/set_env.sh v8.5.0 and 2026; Ascend/cann-container-image
// for nnal.)
func Env(t Tree, n Needs) []Var {
	home := t.Path
	if t.Layout == "8.3" && strings.HasSuffix(t.Active, "/latest") {
		home = t.Active // what the vendor's script names; parts of several packages meet there
	}
	below := func(names ...string) (out []string) {
		for _, name := range names {
			out = append(out, home+"/"+name)
		}
		return out
	}
	from := []string{t.Path}
	if t.Info != "" {
		from = []string{t.Info}
	}
	const tbe = "opp/built-in/op_impl/ai_core/tbe"
	bins, libs, stubs := t.folders(below, tbe+"/op_tiling/lib/linux/"+n.Arch)
	libsFrom := from
	if n.Driver != "" {
		libs, stubs = append(libs, n.Driver+"/lib64", n.Driver+"/lib64/common", n.Driver+"/lib64/driver"), nil
		libsFrom = append(slices.Clone(from), n.Driver+"/version.info")
	}
	out := []Var{
		{Name: "ASCEND_TOOLKIT_HOME", Value: home, Why: report.T("root of CANN, for builds", "CANN 根目录，供编译使用")},
		{Name: "ASCEND_HOME_PATH", Value: home, Why: report.T("root of CANN, for runtime, torch_npu and engines", "CANN 根目录，供 runtime、torch_npu 和推理引擎使用")},
		{Name: "ASCEND_OPP_PATH", Value: home + "/opp", Why: report.T("operator packages", "算子包")},
		{Name: "ASCEND_AICPU_PATH", Value: home, Why: report.T("kernels of the AI CPU", "AI CPU 的 kernel")},
		{Name: "TOOLCHAIN_HOME", Value: home + "/toolkit", Why: report.T("developer tools", "开发工具")},
		{Name: "PATH", Front: bins, Why: report.T("commands such as atc", "atc 等命令")},
		{Name: "LD_LIBRARY_PATH", Front: libs, Back: stubs, Why: report.T("libraries of CANN and of the driver", "CANN 和驱动的动态库")},
		{Name: "PYTHONPATH", Front: below("python/site-packages", tbe), Why: report.T("Python modules acl, te and tbe", "Python 模块 acl、te、tbe")},
	}
	if t.Layout != "8.3" {
		out = append(out, Var{Name: "CMAKE_PREFIX_PATH", Front: below("toolkit/tools/tikicpulib/lib/cmake", "lib64/cmake"), Why: report.T("packages for CMake", "CMake 包")})
	}
	for i := range out {
		out[i].From = from
		if out[i].Name == "LD_LIBRARY_PATH" {
			out[i].From = libsFrom
		}
	}
	return withNNAL(out, n)
}

// folders of a generation: commands, libraries, and the stubs to link against
// where there is no driver.
func (t Tree) folders(below func(...string) []string, tiling string) (bins, libs, stubs []string) {
	libs = below("lib64", "lib64/plugin/opskernel", "lib64/plugin/nnengine", tiling)
	aml := below("tools/aml/lib64", "tools/aml/lib64/plugin")
	if t.Layout == "8.3" {
		bins = below("bin", "compiler/ccec_compiler/bin")
		if !strings.HasPrefix(t.Version, "7.") && !strings.HasPrefix(t.Version, "6.") {
			bins = append(bins, below("tools/ccec_compiler/bin")...)
		}
		return bins, append(aml, libs...), nil
	}
	if strings.HasPrefix(t.Version, "8.") { // 9.x has no aml
		libs = append(libs, aml...)
	}
	bins = below("bin", "tools/ccec_compiler/bin", "tools/profiler/bin", "tools/ascend_system_advisor/asys", "tools/show_kernel_debug_data", "tools/msobjdump")
	return bins, libs, below("devlib")
}

// withNNAL puts the build of nnal for the ABI in front.
func withNNAL(vars []Var, n Needs) []Var {
	if n.NNAL == nil {
		return vars
	}
	from := n.NNAL.Info
	if from == "" {
		from = n.NNAL.Path
	}
	atb := n.atb()
	for i, v := range vars {
		switch v.Name {
		case "PATH":
			vars[i].Front = append([]string{atb + "/bin"}, v.Front...)
		case "LD_LIBRARY_PATH":
			vars[i].Front = append([]string{atb + "/lib", atb + "/examples", atb + "/tests/atbopstest"}, v.Front...)
		default:
			continue
		}
		vars[i].From = append(slices.Clone(v.From), from)
	}
	vars = append(vars, Var{Name: "ATB_HOME_PATH", Value: atb, From: []string{from},
		Why: report.T("nnal, built for C++ ABI %d as torch is", "nnal，按 torch 的 C++ ABI %d 编译", n.ABI)})
	fill := strings.NewReplacer("{HOME}", n.Home, "{ATB_HOME_PATH}", atb)
	for _, d := range n.Defaults {
		d.Value, d.Default, d.From = fill.Replace(d.Value), true, []string{from}
		if d.Why.IsZero() {
			d.Why = report.T("default of nnal; what is set already stays", "nnal 的默认值，已设置的保留")
		}
		vars = append(vars, d)
	}
	return vars
}

// atb is the folder of the build of nnal for the ABI.
func (n Needs) atb() string {
	at := n.NNAL.Path
	if n.NNAL.Active {
		at = path.Dir(at) + "/latest"
	}
	return fmt.Sprintf("%s/atb/cxx_abi_%d", at, n.ABI)
}

// Foreign are the folders of every other CANN and nnal, and of the other build
// of this nnal. What lies below them must leave the search paths: the loader
// would mix two versions.
func (in Installed) Foreign(t Tree, n Needs) (out []string) {
	add := func(p string) {
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, o := range in.Trees {
		if o.Path != t.Path {
			add(o.Path)
		}
	}
	for _, k := range in.Links {
		if k.Real != t.Path && k.Path != t.Active {
			add(k.Path)
		}
	}
	if n.NNAL == nil {
		return out
	}
	for _, o := range in.NNAL {
		if o.Path != n.NNAL.Path {
			add(o.Path)
		} else {
			add(strings.TrimSuffix(n.atb(), fmt.Sprint(n.ABI)) + fmt.Sprint(1-n.ABI))
		}
	}
	return out
}

// Difference is a way in which Env leaves the vendor's script on purpose.
type Difference struct {
	ID  string
	Why report.Text
}

// Differences are all of them; a test compares the rest variable by variable.
func Differences() []Difference {
	return []Difference{
		{"empty", report.T("no empty element: it would make the current folder part of a search path", "不含空元素：空元素会把当前目录加入搜索路径")},
		{"once", report.T("each folder stands once, however often the environment is loaded", "每个目录只出现一次，重复加载也不增长")},
		{"one-cann", report.T("folders of another CANN or nnal leave every search path", "其他 CANN 或 nnal 的目录会从所有搜索路径中移除")},
		{"driver", report.T("folders of the driver stand there when there is a driver, and only then", "仅在存在驱动时加入驱动目录")},
		{"sbin", report.T("/sbin is not added to PATH: the script needs it for itself", "不向 PATH 追加 /sbin：该目录仅供脚本自身使用")},
		{"yours", report.T("a default of nnal does not replace what you set", "nnal 的默认值不覆盖已设置的变量")},
	}
}
