package cmd

import (
	"cmp"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/matrix"
)

// packagesOf names the Python distributions that are parts of a stack.
var packagesOf = map[string]string{
	"torch": "torch", "torch-npu": "torch_npu", "triton": "triton", "triton-ascend": "triton_ascend", "vllm": "vllm", "vllm-ascend": "vllm_ascend",
	"mindspore": "mindspore", "mindie-turbo": "mindie_turbo", "sglang": "sglang", "numpy": "numpy", "transformers": "transformers",
	"paddle-custom-npu": "paddle_custom_npu", "dlinfer-ascend": "dlinfer_ascend",
}

// stackOf is what is known of a host as parts of a stack. What could not be
// asked is left out, so that it is unchecked and never guessed.
func stackOf(f *facts.Facts) matrix.Parts {
	p := matrix.Parts{}
	set := func(name, value string) {
		if value != "" {
			p[name] = value
		}
	}
	set("arch", f.Arch.Value)
	set("kernel", f.Kernel.Value)
	set("glibc", f.Glibc.Value)
	set("os", systemOf(f.OS.Value))
	set("chip", chipOf(f))
	set("driver", f.Driver.Value.Version)
	set("firmware", f.Firmware.Value.Version)
	if f.Python.Known() {
		set("python", f.Python.Value.Version)
	}
	for name, part := range packagesOf {
		set(part, f.Packages.Value[name])
	}
	if t, ok := f.ActiveTree(); ok {
		set("cann", t.Version)
		set("ops_package", t.OpsVersion)
	}
	if n, ok := f.ActiveNNAL(); ok {
		set("nnal", n.Version)
	}
	return p
}

// systemOf spells a system as tables do: "openEuler 22.03 LTS-SP4", whose
// service pack stands only in the pretty name, and "ubuntu 22.04".
func systemOf(o facts.OS) string {
	if strings.Contains(o.Name, "SP") {
		return strings.NewReplacer("(", "", ")", "").Replace(o.Name)
	}
	return strings.TrimSpace(cmp.Or(o.ID, o.Name) + " " + o.Release())
}

// chipOf is the SoC where npu-smi names it, else the generation the bus gives.
func chipOf(f *facts.Facts) string {
	for _, b := range []facts.Fact[facts.NPUSmi]{f.NPUChip, f.NPUBoardRoot, f.NPUBoard} {
		if b.Known() && b.Value.Board != nil && b.Value.Board.SoC != "" {
			return b.Value.Board.SoC
		}
	}
	return f.Generation.Value
}
