package cann

import (
	"strings"
	"testing"
)

// The wanted lists are what the vendor's scripts leave behind in a clean shell,
// empty elements, doubled entries and stubs beside a driver left out.
func TestEnvOfEachGeneration(t *testing.T) {
	const root, driver = "/usr/local/Ascend", "/usr/local/Ascend/driver"
	tiling := "opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/aarch64"
	drivers := " driver/lib64 driver/lib64/common driver/lib64/driver"
	for _, tc := range []struct {
		tree   Tree
		driver string
		want   map[string]string // below the tree, or "driver/" below the driver
	}{
		{Tree{Path: root + "/ascend-toolkit/8.1.RC1", Layout: "8.3", Version: "8.1.RC1", Active: root + "/ascend-toolkit/latest"}, "", map[string]string{
			"ASCEND_TOOLKIT_HOME": ".", "TOOLCHAIN_HOME": "toolkit", "ASCEND_OPP_PATH": "opp",
			"PATH":            "bin compiler/ccec_compiler/bin tools/ccec_compiler/bin",
			"LD_LIBRARY_PATH": "tools/aml/lib64 tools/aml/lib64/plugin lib64 lib64/plugin/opskernel lib64/plugin/nnengine " + tiling,
			"PYTHONPATH":      "python/site-packages opp/built-in/op_impl/ai_core/tbe"}},
		{Tree{Path: root + "/cann-8.5.0", Layout: "8.5", Version: "8.5.0", Active: root + "/cann"}, driver, map[string]string{
			"ASCEND_HOME_PATH":  ".",
			"PATH":              "bin tools/ccec_compiler/bin tools/profiler/bin tools/ascend_system_advisor/asys tools/show_kernel_debug_data tools/msobjdump",
			"LD_LIBRARY_PATH":   "lib64 lib64/plugin/opskernel lib64/plugin/nnengine " + tiling + " tools/aml/lib64 tools/aml/lib64/plugin" + drivers,
			"CMAKE_PREFIX_PATH": "toolkit/tools/tikicpulib/lib/cmake lib64/cmake"}},
		{Tree{Path: root + "/cann-9.0.0", Layout: "8.5", Version: "9.0.0"}, "", map[string]string{
			"LD_LIBRARY_PATH": "lib64 lib64/plugin/opskernel lib64/plugin/nnengine " + tiling + " devlib"}},
	} {
		home := tc.tree.Path
		if tc.tree.Layout == "8.3" {
			home = tc.tree.Active
		}
		got := map[string]string{}
		for _, v := range Env(tc.tree, Needs{Arch: "aarch64", Driver: tc.driver}) {
			all := v.Value + strings.Join(append(v.Front, v.Back...), " ")
			all = strings.ReplaceAll(all, driver, "driver")
			got[v.Name] = strings.ReplaceAll(strings.ReplaceAll(all+" ", home+" ", ". "), home+"/", "")
		}
		for name, want := range tc.want {
			if strings.TrimSpace(got[name]) != want {
				t.Errorf("%s %s:\n got %s\nwant %s", tc.tree.Version, name, got[name], want)
			}
		}
	}
}

func TestEnvChoosesTheABIOfTorch(t *testing.T) {
	n := &NNAL{Path: "/usr/local/Ascend/nnal/atb/8.5.0", Active: true}
	for abi, want := range map[int]string{0: "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_0", 1: "/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_1"} {
		vars := Env(Tree{Path: "/c", Layout: "8.5"}, Needs{Arch: "x86_64", NNAL: n, ABI: abi})
		last := vars[len(vars)-1]
		if last.Name != "ATB_HOME_PATH" || last.Value != want {
			t.Errorf("ABI %d: %+v", abi, last)
		}
		for _, v := range vars {
			if v.Name == "LD_LIBRARY_PATH" && v.Front[0] != want+"/lib" {
				t.Errorf("ABI %d: %v", abi, v.Front)
			}
		}
	}
}
