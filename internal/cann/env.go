package cann

import (
	"fmt"
	"path"
	"strings"
)

// Var is one variable a process needs: Value, or folders in front of whatever a
// search path holds already.
type Var struct {
	Name  string   `json:"name"`
	Value string   `json:"value,omitempty"`
	Front []string `json:"front,omitempty"`
}

// Needs says where else than in the tree a process looks.
type Needs struct {
	Arch   string // as uname -m gives it
	Driver string // root of the driver; "" = none here
	NNAL   *NNAL  // nil: no nnal
	ABI    int    // of torch: 0 or 1; chooses among the builds of nnal
}

// Env is the environment that a process needs to use the tree: what the
// vendor's set_env.sh of that generation exports, without its quirks (an empty
// element, entries twice, stubs where there is a driver, another python to ask
// for the ABI). It gives no tuning defaults. (Sources: leideng/CANN-8.1.RC1
// set_env.sh; hicann/runtime scripts/package/runtime/set_env.sh v8.5.0 and
// 2026; Ascend/cann-container-image for nnal.)
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
	const tbe = "opp/built-in/op_impl/ai_core/tbe"
	libs := below("lib64", "lib64/plugin/opskernel", "lib64/plugin/nnengine", tbe+"/op_tiling/lib/linux/"+n.Arch)
	aml := below("tools/aml/lib64", "tools/aml/lib64/plugin")
	bins := below("bin", "tools/ccec_compiler/bin", "tools/profiler/bin", "tools/ascend_system_advisor/asys", "tools/show_kernel_debug_data", "tools/msobjdump")
	switch {
	case t.Layout == "8.3":
		libs = append(aml, libs...)
		bins = below("bin", "compiler/ccec_compiler/bin", "tools/ccec_compiler/bin")
	case strings.HasPrefix(t.Version, "8."): // 9.x has no aml
		libs = append(libs, aml...)
	}
	if n.Driver != "" {
		libs = append(libs, n.Driver+"/lib64", n.Driver+"/lib64/common", n.Driver+"/lib64/driver")
	} else if t.Layout != "8.3" {
		libs = append(libs, below("devlib")...) // stubs to link against; never where a driver is
	}
	out := []Var{
		{Name: "ASCEND_TOOLKIT_HOME", Value: home}, {Name: "ASCEND_HOME_PATH", Value: home}, {Name: "ASCEND_OPP_PATH", Value: home + "/opp"},
		{Name: "ASCEND_AICPU_PATH", Value: home}, {Name: "TOOLCHAIN_HOME", Value: home + "/toolkit"},
		{Name: "PATH", Front: bins}, {Name: "LD_LIBRARY_PATH", Front: libs}, {Name: "PYTHONPATH", Front: below("python/site-packages", tbe)},
	}
	if t.Layout != "8.3" {
		out = append(out, Var{Name: "CMAKE_PREFIX_PATH", Front: below("toolkit/tools/tikicpulib/lib/cmake", "lib64/cmake")})
	}
	return withNNAL(out, n)
}

// withNNAL puts the build of nnal for the ABI in front.
func withNNAL(vars []Var, n Needs) []Var {
	if n.NNAL == nil {
		return vars
	}
	at := n.NNAL.Path
	if n.NNAL.Active {
		at = path.Dir(at) + "/latest"
	}
	atb := fmt.Sprintf("%s/atb/cxx_abi_%d", at, n.ABI)
	for i, v := range vars {
		switch v.Name {
		case "PATH":
			vars[i].Front = append([]string{atb + "/bin"}, v.Front...)
		case "LD_LIBRARY_PATH":
			vars[i].Front = append([]string{atb + "/lib", atb + "/examples", atb + "/tests/atbopstest"}, v.Front...)
		}
	}
	return append(vars, Var{Name: "ATB_HOME_PATH", Value: atb})
}
