package acl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/dl"
	"github.com/ascendctl/ascendctl/internal/report"
)

// known is a small book of codes.
func known(code string) (Meaning, bool) {
	m, ok := map[string]Meaning{
		"500002": {Name: "GE_FAILURE", Text: report.T("anything", "任何"), Action: RestartProcess},
		"500001": {Name: "FAILURE", Action: RestartProcess},
		"107002": {Name: "RT_CONTEXT_NULL", Action: FixCode},
		"507008": {Text: report.T("chip", "芯片"), Action: Reject},
		"507015": {Action: ReloadContext},
		"EE1003": {Text: report.T("argument", "参数"), Action: FixCode},
		"E10001": {Action: Reject},
		"EZ9999": {Action: collectLog},
	}[code]
	return m, ok
}

func TestMeaningComesFromTheCodeOrItsText(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   int
		text   string
		action Action
		cause  string
	}{
		{"a code of its own", 107002, "[PID: 1] t X(E10001): y", FixCode, ""},
		{"unknown, caller", 145999, "", Reject, ""},
		{"unknown, resource", 207999, "", UnloadSomething, ""},
		{"unknown, inside", 507999, "", RestartProcess, ""},
		{"collected, no text", 500002, "", ReloadContext, ""},
		{"collected, text code", 500002, "[PID: 1] t Invalid_Argument(E10001): Value Ascend910", Reject, "E10001"},
		{"collected, text code up to 8.3", 500002, "E10001: [PID: 1] t Value", Reject, "E10001"},
		{"the executor's own", CodeNoExecutor, "[PID: 1] t Invalid_Argument(E10001): y", Reject, "E10001"},
		{"collected, inner error alone", 500002, "EZ9999: Inner Error!\nEZ9999[PID: 1] t (EZ9999):  words", ReloadContext, ""},
		{"collected, inner error first", 500001, "EZ9999: Inner Error!\n(E10001): y", Reject, "E10001"},
		{"collected, number wins", 500002, "(E10001): a\n   TraceBack\n  error code is 507015", ReloadContext, "507015"},
		{"collected, number in hex", 500002, "ModelCheckCompatibility failed ret: 0x7BC80", Reject, "507008"},
		{"collected, other hex", 500002, "at 0x7BC11 and 0xFFFFFFFFF", ReloadContext, ""},
	} {
		e := failure("aclmdlExecute", c.code, c.text, known)
		if e.Action != c.action || e.Cause != c.cause {
			t.Errorf("%s: got %s by %q, want %s by %q", c.name, e.Action, e.Cause, c.action, c.cause)
		}
	}
	if got := causes("EZ9999: Inner Error!\n(E10001): y"); !slices.Equal(got, []string{"E10001"}) {
		t.Errorf("causes %q", got)
	}
	if e := failure("aclInit", 500000, "", nil); e.Action != ReloadContext || e.Error() != "aclInit: 500000" {
		t.Errorf("without a book: %v", e)
	}
}

func TestNewestBlockWithoutItsOwnLines(t *testing.T) {
	const unbound = "[PID: 9] t Invalid_Argument_API_Call_Sequence(EE1018): Context validation failed. Reason: No valid context is bound to the current thread.\n"
	own := "[PID: 9] t Invalid_Argument(EE1018): rtGetDevMsg execution failed, the context is a null pointer\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"one", "[PID: 9] t X(EE1003): a\n        TraceBack\n", "[PID: 9] t X(EE1003): a\n        TraceBack"},
		{"older ones behind", "(EE1003): new\r\n\n(EE1003): old", "(EE1003): new"},
		{"blank lines first", "\n \n(EE1003): new\n\nold", "(EE1003): new"},
		{"of its own", own + "        TraceBack\n        open device failed[FILE:/root/a.d/b.cc][LINE:3]", "        TraceBack\n        open device failed[FILE:b.cc][LINE:3]"},
		{"of its own, with its advice", own + "        Solution: 1. Check the input\n        Possible Cause: none\n        TraceBack\n        init SoC version failed\n        chipType=0 does not support get device msg feature.", "        TraceBack\n        init SoC version failed"},
		{"advice of a failure stays", "(EE1003): new\n        Solution: 1. Check the input", "(EE1003): new\n        Solution: 1. Check the input"},
		{"only its own", own, ""},
		{"of its own, 2026-08", unbound + "        Solution: Correct the call\n(EE1003): new", "(EE1003): new"},
		{"broken letters", "a\xffb", "a?b"},
	} {
		if got := newest(507033, c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestErrorSaysTheFirstLineThatSays keeps the want of a context where that is the
// failure, and passes over headings.
func TestErrorSaysTheFirstLineThatSays(t *testing.T) {
	for _, c := range []struct {
		code       int
		text, want string
	}{
		{107002, "t (EE1018): Context validation failed. Reason: No valid context is bound", "x: RT_CONTEXT_NULL (107002): t (EE1018): Context validation failed. Reason: No valid context is bound"},
		{507033, "t (EE1018): Context validation failed. Reason: No valid context is bound\nTraceBack (most recent call last):\n   open device failed", "x: 507033: open device failed"},
		{507033, "TraceBack (most recent call last):", "x: 507033"},
		{500000, "[PID: 29627] 2026-11-30-15:03:43.634.575 Invalid_Argument(EL0003): The argument is invalid.\nTraceBack (most recent call last):", "x: 500000: Invalid_Argument(EL0003): The argument is invalid."},
		{145013, "E19999: Internal error!\nE19999[PID: 4543] 2026-11-30-14:44:02.756.239 (E19999):  no such gear[FUNC:IsX][FILE:ge_executor.cc][LINE:157]", "x: 145013: (E19999):  no such gear"},
	} {
		if got := failure("x", c.code, c.text, known).Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func FuzzNewest(f *testing.F) {
	f.Add("[PID: 9] t X(EE1003): a\n\nold")
	f.Add("\xff\xfe\n/a/b/c\n0x7BC80 507015 EZ9999")
	f.Fuzz(func(t *testing.T, text string) {
		got := newest(507033, text)
		if strings.Contains(got, "\n\n") || strings.Contains(got, "rtGetDevMsg") {
			t.Errorf("%q -> %q", text, got)
		}
		for _, c := range causes(got) {
			if len(c) != 6 {
				t.Errorf("cause %q of %q", c, text)
			}
		}
	})
}

func TestProblemNamesTheCommandThatExplains(t *testing.T) {
	p := failure("aclmdlLoadFromFile", 500002, "ret: 0x7BC80", known).Problem(report.T("cannot load x.om", "无法加载 x.om"))
	if p.Run != "ascendctl explain 507008" || !strings.Contains(p.Why.Zh, "芯片") || !strings.Contains(p.Why.En, "GE_FAILURE (500002)") {
		t.Errorf("got %+v", p)
	}
	if p := refuse("aclrtFree", FixCode, ErrBusy, "no").Problem(report.Same("x")); p.Run != "" || !errors.Is(p, ErrBusy) {
		t.Errorf("got %+v", p)
	}
}

func TestLoaderTextsAreExplained(t *testing.T) {
	const asked = "/opt/cann/lib64/libascendcl.so"
	for _, c := range []struct{ detail, what, run string }{
		{asked + ": cannot open shared object file: No such file or directory", "CANN is not installed", ""},
		{"libascendcl.so: cannot open shared object file: No such file or directory", "CANN is not installed", ""},
		{"libacl_mdl.so: cannot open shared object file: No such file or directory", "libraries beside it", ""},
		{"libascend_hal.so: cannot open shared object file: No such file or directory", "NPU driver", ""},
		{"libc_sec.so: cannot open shared object file: No such file or directory", "libraries beside it", "source /opt/cann/set_env.sh"},
		{"libgert.so: undefined symbol: _ZN2ge5GraphE", "two CANN releases", ""},
		{"/lib/libc.so.6: version `GLIBC_2.34' not found (required by x)", "older than the CANN package", ""},
		{"libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "older than the CANN package", ""},
		{"libgomp.so.1: cannot allocate memory in static TLS block", "too late", ""},
		{asked + ": wrong ELF class: ELFCLASS32", "another architecture", ""},
		{asked + ": file too short", "damaged", ""},
		{asked + ": cannot open shared object file: Permission denied", "may not be read", ""},
		{asked + ": something new", "cannot be opened", ""},
	} {
		p := unusable(asked, &dl.Error{Path: asked, Detail: c.detail})
		if !strings.Contains(p.What.En, c.what) || p.What.Zh == "" || p.Do.Zh == "" || p.Why.En != c.detail || !errors.Is(p, ErrNoLibrary) || c.run != "" && p.Run != c.run {
			t.Errorf("%s: got %s; do %s; run %s", c.detail, p, p.Do.En, p.Run)
		}
	}
}

// TestHalfOfCANNIsNamed is an installation without its part for models.
func TestHalfOfCANNIsNamed(t *testing.T) {
	const asked = "/opt/cann/lib64/libacl_mdl.so"
	if p := unusable(asked, &dl.Error{Path: asked, Detail: asked + ": cannot open shared object file: No such file or directory"}); !strings.Contains(p.What.En, "not its library for models") {
		t.Errorf("got %s", p)
	}
}

func TestSearchTakesOnePlaceWhole(t *testing.T) {
	env := map[string]string{"ASCEND_HOME_PATH": "/env", "HOME": "/home/u", "ASCEND_TOOLKIT_HOME": "relative"}
	for _, c := range []struct {
		name, explicit string
		there          []string
		want           [][]string
	}{
		{"nothing", "", nil, [][]string{{"libascendcl.so"}, {"libacl_rt.so", "libacl_mdl.so"}}},
		{"the environment first", "", []string{"/env/lib64/libascendcl.so", "/usr/local/Ascend/cann/lib64/libascendcl.so"}, [][]string{{"/env/lib64/libascendcl.so"}}},
		{"both layouts", "", []string{"/usr/local/Ascend/cann/lib64/libascendcl.so", "/usr/local/Ascend/cann/lib64/libacl_rt.so", "/usr/local/Ascend/cann/lib64/libacl_mdl.so"},
			[][]string{{"/usr/local/Ascend/cann/lib64/libascendcl.so"}, {"/usr/local/Ascend/cann/lib64/libacl_rt.so", "/usr/local/Ascend/cann/lib64/libacl_mdl.so"}}},
		{"half a pair", "", []string{"/env/lib64/libacl_rt.so", "/home/u/Ascend/nnrt/latest/lib64/libascendcl.so"}, [][]string{{"/home/u/Ascend/nnrt/latest/lib64/libascendcl.so"}}},
		{"an explicit file", "/x/libascendcl.so.1", nil, [][]string{{"/x/libascendcl.so.1"}}},
		{"an explicit half", "/x/libacl_mdl.so", nil, [][]string{{"/x/libacl_rt.so", "/x/libacl_mdl.so"}}},
		{"an explicit home", "/x", []string{"/x/lib64/libascendcl.so", "/env/lib64/libascendcl.so"}, [][]string{{"/x/lib64/libascendcl.so"}}},
		{"an explicit folder with half a pair", "/x", []string{"/x/lib64/libacl_rt.so"}, [][]string{{"/x/lib64/libacl_rt.so", "/x/lib64/libacl_mdl.so"}}},
		{"an explicit folder without", "/x", []string{"/env/lib64/libascendcl.so"}, [][]string{{"/x/libascendcl.so"}}},
	} {
		f := Search(Searcher{Explicit: c.explicit, Getenv: func(k string) string { return env[k] }, Exists: func(p string) bool { return slices.Contains(c.there, p) }})
		if !slices.EqualFunc(f.Layouts, c.want, slices.Equal) || len(f.Tried) == 0 || slices.Contains(f.Tried, "relative/lib64") {
			t.Errorf("%s: got %v after %v", c.name, f.Layouts, f.Tried)
		}
	}
}

func TestGearDimsAreBelievedWhereTheyFit(t *testing.T) {
	in := []Port{{Dims: []int64{-1, 3}}, {Dims: []int64{-1}}}
	for _, c := range []struct {
		kind   string
		values []int64
		want   [][]int64
	}{
		{GearBatch, []int64{4}, [][]int64{{4, 3}, {4}}},
		{GearDims, []int64{2, 3, 5}, [][]int64{{2, 3}, {5}}},
		{GearDims, []int64{5, 2, 3}, nil}, // another order of --input_shape
		{GearDims, []int64{2, 3}, nil},
		{GearDims, []int64{2, 3, 5, 1}, nil},
		{GearBatch, nil, nil},
	} {
		d := Desc{Inputs: in}
		d.add(c.kind, c.values...)
		if got := d.Gears[0].Dims; !slices.EqualFunc(got, c.want, slices.Equal) || (got == nil) != (c.want == nil) {
			t.Errorf("%s %d: got %d, want %d", c.kind, c.values, got, c.want)
		}
	}
}
