package facts

import (
	"strings"
	"testing"
)

// Composed texts: what the captures do not hold.

func TestChipBlocks(t *testing.T) {
	const duo = "\tNPU ID   : 1\n\tChip Count   : 2\n\n\tMemory Usage Rate(%)   : 36\n\tAicpu Usage Rate(%)   : 3\n\tChip ID   : 0\n\n" +
		"\tMemory Usage Rate(%)   : 81\n\tAicpu Usage Rate(%)   : 4\n\tChip ID   : 1\n"
	for name, c := range map[string]struct{ text, command, chips string }{
		"the id comes last":      {duo, "npu-smi info -t usages -i 1", `[{"chip":0,"mem_pct":36,"aicpu_pct":3},{"chip":1,"mem_pct":81,"aicpu_pct":4}]`},
		"empty lines are lost":   {strings.ReplaceAll(duo, "\n\n", "\n"), "", `[{"chip":0,"mem_pct":36,"aicpu_pct":3},{"chip":1,"mem_pct":81,"aicpu_pct":4}]`},
		"one id is lost":         {strings.Replace(duo, "\tChip ID   : 0\n", "", 1), "npu-smi info -t usages -i 1", `[{"chip":1,"mem_pct":81,"aicpu_pct":4}]`},
		"both ids are lost":      {strings.ReplaceAll(duo, "Chip", "Foo"), "npu-smi info -t usages -i 1", `null`},
		"nothing says which":     {"\tNPU ID   : 1\n\tAicpu Usage Rate(%)   : 3\n", "", `[{"aicpu_pct":3}]`},
		"the command says which": {"\tNPU ID   : 1\n\tAicpu Usage Rate(%)   : 3\n", "npu-smi info -t usages -i 1 -c 1", `[{"chip":1,"aicpu_pct":3}]`},
		"a share above 100":      {"\tNPU ID   : 1\n\tChip ID   : 0\n\tAicpu Usage Rate(%)   : 300\n\tCtrlcpu Usage Rate(%)   : 2\n", "", `[{"chip":0,"ctrlcpu_pct":2}]`},
		"another unit":           {"\tNPU ID   : 1\n\tChip ID   : 0\n\tHBM Capacity(GB)   : 64\n\tCtrlcpu Usage Rate(%)   : 2\n", "", `[{"chip":0,"ctrlcpu_pct":2}]`},
	} {
		if got := compact(ParseNPUSmi([]byte(c.text), nil, c.command, nil).Chips); got != c.chips {
			t.Errorf("%s: %s, want %s", name, got, c.chips)
		}
	}
}

func TestHealthOfTwoChips(t *testing.T) {
	n := ParseNPUSmi([]byte("\tChip ID : 0\n\tHealth : OK\n\n\tChip ID : 1\n\tHealth : Warning\n"), nil, "npu-smi info -t health -i 1", nil)
	if n.Health != nil || compact(n.Chips) != `[{"chip":0,"health":"OK"},{"chip":1,"health":"Warning"}]` {
		t.Errorf("%+v %s", n.Health, compact(n.Chips))
	}
}

func TestFailureWords(t *testing.T) {
	exit := func(n int) *int { return &n }
	for _, c := range []struct {
		stdout, stderr, command string
		exit                    *int
		error                   SmiError
		stream                  string
		code                    int
	}{
		{"", "sh: 1: npu-smi: not found\n", "npu-smi info", exit(127), SmiNotInstalled, "stderr", 0},
		{"", "-bash: npu-smi: 未找到命令\n", "npu-smi info", exit(127), SmiNotInstalled, "stderr", 0},
		{"", "sudo: npu-smi: command not found\n", "sudo -n npu-smi info", exit(1), SmiNotInstalled, "stderr", 0},
		{"", "timeout: failed to run command 'npu-smi': No such file or directory\n", "timeout 10 npu-smi info", exit(127), SmiNotInstalled, "stderr", 0},
		{"", "fish: Unknown command: npu-smi\n", "npu-smi info", exit(127), SmiNotInstalled, "stderr", 0},
		{"", "找不到命令 “npu-smi”，但可以通过以下软件包安装它：\n", "npu-smi info", exit(127), SmiNotInstalled, "stderr", 0},
		{"", "sudo：npu-smi：找不到命令\n", "sudo npu-smi info", exit(1), SmiNotInstalled, "stderr", 0},
		{"", "zsh: permission denied: /usr/local/sbin/npu-smi\n", "npu-smi info", exit(126), SmiNotExecutable, "stderr", 0},
		{"", "zsh: command not found: npu-smi-top\n", "npu-smi-top", exit(127), SmiUnrecognised, "stdout", 0},
		{"", "bash: /usr/local/bin/npu-smi: 权限不够\n", "npu-smi info", exit(126), SmiNotExecutable, "stderr", 0},
		{"npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file: No such file or directory\n", "", "", nil, SmiNoLibraries, "stderr", 0},
		{"dcmi module initialize failed. ret is -8020\n", "", "npu-smi info", exit(172), SmiDeviceBusy, "stdout", -8020},
		{"npu get board type failed. ret is -8008\n", "", "npu-smi info", exit(184), SmiBoardType, "stdout", -8008},
		{"Failed to execute npu-smi info. ret is -8255.\n", "", "npu-smi info -t topo", exit(193), SmiCommandFailed, "stdout", -8255},
		{"This command must input card id.\n", "", "npu-smi info -t board", nil, SmiCardID, "stdout", 0},
		{"This command cannot be executed on a VM or container.\n", "", "npu-smi info -t info-vnpu -i 0 -c 0", exit(183), SmiNotHere, "stdout", 0},
		{"dcmi module initialize failed. ret is -80", "", "npu-smi info", nil, SmiDCMIInit, "stdout", 0}, // cut: no code rather than another one
		{"DrvMngGetConsoleLogLevel failed. (ret=4)\n", "", "npu-smi info", exit(124), SmiTimeout, "stdout", 0},
		{"", "", "npu-smi info", exit(137), SmiTimeout, "stdout", 0},
		{"", "", "npu-smi info -t flash -i 0", exit(0), SmiNoOutput, "stdout", 0},
		{"Permission denied (publickey).\n", "", "", nil, SmiUnrecognised, "stdout", 0},
		{"+----\n", "", "npu-smi info", nil, SmiUnrecognised, "stdout", 0},
	} {
		n := ParseNPUSmi([]byte(c.stdout), []byte(c.stderr), c.command, c.exit)
		if n.Kind != SmiFailed || n.Failure == nil {
			t.Errorf("%q: %s", c.stdout+c.stderr, n.Kind)
			continue
		}
		code := 0
		if n.Failure.Code != nil {
			code = *n.Failure.Code
		}
		if n.Failure.Error != c.error || n.Failure.Stream != c.stream || code != c.code {
			t.Errorf("%q: %s on %s code %d, want %s on %s code %d", c.stdout+c.stderr, n.Failure.Error, n.Failure.Stream, code, c.error, c.stream, c.code)
		}
	}
}

// "Does not know the question" is an answer, and not the same as a failure.
func TestUnsupportedQuestions(t *testing.T) {
	for text, want := range map[string]bool{
		"This device does not support querying product.\n":            false,
		"Command or option is not found.\nUsage: npu-smi <Command>\n": false,
	} {
		n := ParseNPUSmi([]byte(text), nil, "npu-smi info -t spod-info -i 0 -c 0", nil)
		if n.Kind != SmiOther || n.Type != "spod-info" || n.Support == nil || *n.Support != want {
			t.Errorf("%q: %s %s %v", text, n.Kind, n.Type, n.Support)
		}
	}
}

// A question nobody decodes keeps its lines; a table whose driver then fails
// keeps its chips.
func TestNothingIsThrownAway(t *testing.T) {
	n := ParseNPUSmi([]byte("\tNPU ID : 0\n\tChip ID : 0\n\tRX Error Count : 7\n"), nil, "npu-smi info -t pcie-err -i 0 -c 0", nil)
	if n.Kind != SmiOther || n.Type != "pcie-err" || compact(n.Fields) != `[[{"key":"NPU ID","value":"0"},{"key":"Chip ID","value":"0"},{"key":"RX Error Count","value":"7"}]]` {
		t.Errorf("%s %s %s", n.Kind, n.Type, compact(n.Fields))
	}
	for _, c := range smiCases(t) {
		if c.listed["layout"] == "A3" {
			failing := c
			failing.text = append(append([]byte{}, c.text...), "dcmi module initialize failed. ret is -8012\n"...)
			if got := failing.parse(); len(got.Chips) != len(c.parse().Chips) || got.Kind != SmiTable {
				t.Errorf("%s: %s with %d chips", c.File, got.Kind, len(got.Chips))
			}
		}
	}
	// Killed in the middle: what came is a table, and it is cut.
	limit := exitTimeout
	for _, c := range smiCases(t) {
		if c.listed["layout"] == "A" {
			if got := ParseNPUSmi(c.text, nil, c.Command, &limit); got.Kind != SmiTable || !got.Truncated {
				t.Errorf("%s killed: %s, truncated %v", c.File, got.Kind, got.Truncated)
			}
		}
	}
}
