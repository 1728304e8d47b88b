package codes

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/report"
)

// shipped are the files of the binary, read from the folder: this room may not
// import them.
func shipped(t testing.TB, more ...book.Layer) *Book {
	t.Helper()
	return Load(book.New(append([]book.Layer{{Name: "compat", FS: os.DirFS("../../compat")}}, more...)...))
}

// brief writes an entry as a line that tests can compare.
func brief(entries []Entry) string {
	var out []string
	for _, e := range entries {
		s := e.Family + " " + e.Code
		if e.Range {
			s += " range"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestAQueryGivesAllMeaningsRanked(t *testing.T) {
	c := shipped(t)
	for _, x := range []struct{ query, want string }{
		{"107002", "acl 107002"},
		{" error 107002? ", ""}, // no form that logs print
		{"0x1A1FA", "acl 107002"},
		{"1a1fa", "acl 107002"},
		{"7BC80", "acl 507008"},
		{"-107002", "acl 107002"},
		{"+107002", "acl 107002"},
		{"acl_error_rt_context_null", "acl 107002"},
		{"CONTEXT_NULL", "acl 107002, runtime 0x7070001"},
		{"507899", "acl 507899"},
		{"161001", "aclnn 161001"},
		{"-8005", "dcmi -8005"},
		{"8005", "dcmi -8005"},
		{"4294959291", "dcmi -8005"},
		{"187", "dcmi -8005"},
		{"211", "dcmi -9005"},
		{"DCMI_ERR_CODE_INNER_ERR", "dcmi -8005"},
		{"-99999", "dcmi -99999"},
		{"9", "hccl 9, hal 9"},
		{"37", "hal 37, scheduler 0x25"},
		{"0x25", "scheduler 0x25, hal 37"},
		{"87", "hal 87, scheduler 0x57"},
		{"drv_error_resource_occupied", "hal 87"},
		{"hccl_e_timeout", "hccl 9"},
		{"WAIT_TIMEOUT", "acl 107019, hal 16, runtime 0x71a0000"},
		{"0x7010001", "runtime 0x7010001"},
		{"117506049", "runtime 0x7010001"},
		{"1343225857", "ge 1343225857"},
		{"4294967295", "ge 4294967295"},
		{"ez9999", "text EZ9999"},
		{"E10016:", "text E10016"},
		{"(EI0006)", "text EI0006"},
		{"w11001", "text W11001"},
		{"EG10000", "text EG10000"},
		{"ERR00100", "torch ERR00100"},
		{"599999", "acl 599999 range"},
		{"107999", "acl 107999 range"},
		{"0x7190099", "runtime 0x7190099 range"},
		{"12", "hccl 12"},
		{"92", "hal 92 range, scheduler 0x5c range"},
		{"-8021", "dcmi -8021 range"},
		{"EZ7777", "text EZ7777 range"},
		{"EK8888", "text EK8888 range"},
		{"ERR00555", "torch ERR00555 range"},
		{"drvRetCode=87", "hal 87"},
		{"[PID: 1] 2026-01-16-13:02:36.801.136 Inner_Error(EZ9999): x, error code is 507015", "text EZ9999, acl 507015"},
	} {
		entries, err := c.Explain(x.query)
		if got := brief(entries); got != x.want && !(got == "" && x.want == "") {
			t.Errorf("%q: got %s (%v), want %s", x.query, got, err, x.want)
		}
		if (err == nil) != (x.want != "") {
			t.Errorf("%q: error %v", x.query, err)
		}
	}
}

func TestAnEntrySaysWhatItsNeighboursKnow(t *testing.T) {
	c := shipped(t)
	one := func(q string) Entry {
		t.Helper()
		e, err := c.Explain(q)
		if err != nil || len(e) == 0 {
			t.Fatalf("%s: %v", q, err)
		}
		return e[0]
	}
	if e := one("0x7010001"); e.ACL != 507033 || e.ACLName == "" || e.Remedy.Zh == "" || e.Action != one("507033").Action {
		t.Errorf("a runtime code says nothing of its ACL code: %+v", e)
	}
	if e := one("DRV_ERROR_BUSY"); e.ACL != 507899 || e.Action != "retry" || len(e.Causes) > 0 || !e.Remedy.IsZero() {
		t.Errorf("a driver code takes what is true of others: %+v", e)
	}
	if e := one("DRV_ERROR_INVALID_DEVICE"); len(e.Causes) == 0 || e.Remedy.Zh == "" {
		t.Errorf("a driver code says nothing of its ACL code: %+v", e)
	}
	if e := one("E50000"); e.Meaning.Zh == "" || len(e.Causes) != 3 || e.Remedy.Zh == "" || e.Action != "reject" {
		t.Errorf("a kernel rule has not what its class knows: %+v", e)
	}
	if e := one("E19010"); e.Now != "E13010" || len(e.Messages) != 1 || e.Messages[0].Releases != UpTo83 ||
		!strings.HasPrefix(e.Messages[0].Line, "E19010: [PID: n] time ") {
		t.Errorf("a code of 8.x: %+v", e)
	}
	if e := one("EE1001"); len(e.Messages) != 2 || e.Messages[0].Line != "[PID: n] time Invalid_Argument(EE1001): The argument is invalid. Reason: {extend_info}" ||
		e.Messages[1].Line != "EE1001: [PID: n] time The argument is invalid.Reason: {extend_info}" {
		t.Errorf("both generations: %+v", e.Messages)
	}
	if e := one("187"); !strings.Contains(e.As.En, "exit status 187") || e.As.Zh == "" {
		t.Errorf("the way of the query: %+v", e.As)
	}
	if e := one("107900"); len(e.Near) != 2 || !strings.HasPrefix(e.Near[0], "1070") || !strings.HasPrefix(e.Near[1], "145000 ") {
		t.Errorf("neighbours of a number: %v", e.Near)
	}
	if e := one("ERR02200"); e.Name != "DIST" || !strings.Contains(e.Meaning.En, "HCCL") || !strings.Contains(e.Meaning.Zh, "HCCL") {
		t.Errorf("torch_npu: %+v", e)
	}
}

func TestUnknownCodesNameTheNearest(t *testing.T) {
	c := shipped(t)
	for _, x := range []struct {
		query, near string
		exit        report.Exit
	}{
		{"5070155", "507015", report.ExitNo},
		{"E1OO16", "E10016", report.ExitNo},
		{"ACL_ERROR_RT_CONTEX_NULL", "ACL_ERROR_RT_CONTEXT_NULL", report.ExitNo},
		{"hccl_e_timout", "HCCL_E_TIMEOUT", report.ExitNo},
		{"EY0001", "", report.ExitNo},
		{"999999999999999999999999", "", report.ExitNo},
		{"", "", report.ExitUsage},
		{"hello", "", report.ExitUsage},
		{"what is wrong", "", report.ExitUsage},
		{"\xff\x00\n", "", report.ExitUsage},
		{strings.Repeat("错", 4000), "", report.ExitUsage},
		{strings.Repeat("9", 1<<20), "", report.ExitNo},
	} {
		name := fmt.Sprintf("%.20q", x.query)
		entries, err := c.Explain(x.query)
		var p *report.Problem
		if !errors.As(err, &p) || len(entries) > 0 {
			t.Errorf("%s: %v %v", name, entries, err)
			continue
		}
		if !strings.Contains(p.What.En, x.near) || !strings.Contains(p.What.Zh, x.near) || p.Exit != x.exit || p.Do.Zh == "" || len(p.What.En) > 300 {
			t.Errorf("%s: %s, exit %d", name, p.What.En, p.Exit)
		}
	}
}

func TestFindKnowsTheFormsOfLogs(t *testing.T) {
	c := shipped(t)
	for _, x := range []struct{ log, want string }{
		{"E10016: [PID: 123] 2025-06-16-13:02:36.801.136 Opname [x] is invalid", "text E10016"},
		{"rank0: [PID: 123] 2026-01-16-13:02:36.801.136 Invalid_Argument_Operator_Name(E10016): message", "text E10016"},
		{"[PID: 5] 2026-01-16-13:02:36.801.136 (EZ9999): x", "text EZ9999"},
		{"EZ9999[PID: 123] 2026-01-16-13:02:36.801.136 Inner(EZ9999):  tiling", "text EZ9999"},
		{"EZ9999: Inner Error!", "text EZ9999"},
		{"npuSynchronizeDevice, error code is 507015", "acl 507015"},
		{"error code:507015", "acl 507015"},
		{"ret = 507033 then runtime result = 207001", "acl 507033, acl 207001"},
		{"errorCode is 100000", "acl 100000"},
		{"ErrCode=507899, desc=[driver error:internal error], InnerCode=0x7020010", "acl 507899, runtime 0x7020010"},
		{"load model failed, ret 0x7BC80; ret = 0x7BC80", "acl 507008"},
		{"ge result = 145000", "acl 145000"},
		{"drvRetCode=87, device_id=3", "hal 87"},
		{"retCode=0x31, [vector core exception]", "scheduler 0x31"},
		{"HCCL function error: HcclAllGather, error code is 4", "hccl 4"},
		{"dcmi module initialize failed. ret is -8005", "dcmi -8005"},
		{"ErrorNo: 1343225857(Parameter's invalid!)", "ge 1343225857"},
		{"[ERROR] 2026-01-16 (PID:1, Device:0, RankID:-1) ERR00100 PTA call acl api failed", "torch ERR00100"},
		{"got ACL_ERROR_RT_CONTEXT_NULL", "acl 107002"},
		{"ModuleNotFoundError: No module named 'decorator'", "sign module-missing"},
		{"", ""},
		{"507015 rows, exit 107002, port 8005", ""},
		{"error code = 0x800000", ""},
		{"ret[328004", ""},
		{"E0316 12:00:01.123 x.cc:5] glog", ""},
		{"EY9999: no family", ""},
	} {
		hits, err := c.Find("before\n" + x.log + "\r\nafter")
		if err != nil {
			t.Fatal(err)
		}
		var entries []Entry
		for _, h := range hits {
			entries = append(entries, h.Entry)
			if h.Line != 2 || !strings.Contains(x.log, h.Text) {
				t.Errorf("%q: hit %+v", x.log, h)
			}
		}
		if got := brief(entries); got != x.want {
			t.Errorf("%q: got %q, want %q", x.log, got, x.want)
		}
	}
}

func TestByACL(t *testing.T) {
	c := shipped(t)
	for code, want := range map[int]string{107002: "ACL_ERROR_RT_CONTEXT_NULL fix_code", 161001: "ACLNN_ERR_PARAM_NULLPTR reject", 507999: " ", 1: "none", -5: "none"} {
		e, ok := c.ByACL(code)
		got := e.Name + " " + e.Action
		if !ok {
			got = "none"
		}
		if got != want || ok && e.Meaning.Zh == "" {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}

// reads counts which files are opened.
type reads struct {
	fs.FS
	names map[string]bool
}

func (r reads) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, ".yaml") {
		r.names[name] = true
	}
	return r.FS.Open(name)
}

func TestOnlyFilesThatCanAnswerAreRead(t *testing.T) {
	for query, want := range map[string][]string{
		"EI0006":                     {"families", "text-run"},
		"HCCL_E_TIMEOUT":             {"families", "hccl"},
		"0x7010001":                  {"acl-call", "acl-inner", "acl-state", "families", "runtime"},
		"DRV_ERROR_INNER_ERR":        {"acl-call", "acl-inner", "acl-state", "families", "hal"},
		"ERR99999":                   {"families"},
		"ACL_ERROR_RT_CONTEXT_NULL ": {"acl-call", "acl-inner", "acl-state", "families"},
	} {
		r := reads{os.DirFS("../../compat"), map[string]bool{}}
		c := Load(book.New(book.Layer{Name: "compat", FS: r}))
		if len(r.names) > 0 {
			t.Fatalf("Load opened %v", r.names)
		}
		if _, err := c.Explain(query); err != nil {
			t.Fatal(err)
		}
		var got []string
		for name := range maps.Keys(r.names) {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(name, "codes/"), ".yaml"))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s read %v, want %v", query, got, want)
		}
	}
}

func TestALayerAddsAndCorrectsCodes(t *testing.T) {
	layer := func(body string) book.Layer {
		return book.Layer{Name: "mine", User: true, FS: fstest.MapFS{"codes/hccl.yaml": {Data: []byte("schema: 1\nas_of: 2027-01-01\nhccl:\n" + body)}}}
	}
	c := shipped(t, layer("  - {id: 9, name: HCCL_E_TIMEOUT, class: comm, meaning: {en: waited, zh: 等待}, source: our notes}\n  - {id: 77, meaning: {en: new, zh: 新增}, source: our notes}\n"))
	if e, err := c.Explain("hccl_e_timeout"); err != nil || e[0].Meaning.En != "waited" || !slices.Equal(e[0].Sources, []string{"our notes"}) {
		t.Errorf("%+v %v", e, err)
	}
	if e, err := c.Explain("77"); err != nil || e[0].Family != "hccl" {
		t.Errorf("%+v %v", e, err)
	}
	for body, want := range map[string]string{
		"  - {id: nine, source: s}\n":                `mine/codes/hccl.yaml:4: row nine: id: want a number (107002, -8005, 0x7010001) or a text code (E10016), got "nine"`,
		"  - {id: 9, meening: x, source: s}\n":       "mine/codes/hccl.yaml:4: unknown key meening, did you mean meaning",
		"  - {id: 9, class: devise, source: s}\n":    `got "devise", did you mean device`,
		"  - {id: 9, action: re-try, source: s}\n":   `got "re-try", did you mean retry`,
		"  - {id: 9, meaning: {en: a}, source: s}\n": "mine/codes/hccl.yaml:4: meaning: zh is missing",
	} {
		_, err := shipped(t, layer(body)).Explain("9")
		var p *report.Problem
		if !errors.As(err, &p) || p.Exit != report.ExitUsage || p.Why.En != want {
			t.Errorf("%q: %v", body, err)
		}
	}
}
