package screen

import (
	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/codes"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
)

// chosen are the documents that help to choose: versions, codes, environment.
func chosen() map[string]Document {
	fits := matrix.Pair{Rule: "R05", Parts: []string{"vllm_ascend", "cann"}, Verdict: matrix.Supported, Tier: matrix.Matched, Row: "vllm_ascend/0.23.0",
		Text: report.T("stands in one set of vllm-ascend 0.23.0", "属于 vllm-ascend 0.23.0 的同一组配套"), Source: "versioning_policy.md@2026-08-20", Date: "2026-08-17", Status: "src",
		Conflict: []matrix.Conflict{{ID: "CF06", Text: report.T("pages disagree", "页面不一致")}}}
	open := matrix.Pair{Rule: "R04", Parts: []string{"driver", "cann"}, Verdict: matrix.Unknown, Text: report.T("nothing is said about driver 25.2.0 with CANN 9.1.0", "没有关于驱动 25.2.0 与 CANN 9.1.0 的说法"),
		Nearest: []matrix.Near{{Part: "driver", Value: "26.1.0"}}}
	no := open
	no.Verdict, no.Nearest = matrix.Unsupported, nil
	parts := matrix.Parts{"chip": "910B4", "driver": "25.2.0", "cann": "9.1.0", "vllm_ascend": "0.23.0"}
	verdict := func(answer matrix.Answer, pairs ...matrix.Pair) matrix.Verdict {
		v := matrix.Verdict{Verdict: answer, Parts: parts, Pairs: pairs, Unchecked: []string{"firmware", "python"}, DataDate: "2026-11-30"}
		if answer == matrix.Supported {
			v.Tier = matrix.Compatible
		}
		return v
	}
	best := matrix.Suggestion{Kind: "least_change", Engine: "vllm_ascend", Row: "vllm_ascend/0.23.0", Keep: []string{"chip"}, Parts: parts, Verdict: verdict(matrix.Supported, fits),
		Change: []matrix.Change{{Part: "driver", From: "24.1.0", To: "25.2.0"}, {Part: "cann", To: "9.1.0"}}, Images: []string{"quay.io/ascend/vllm-ascend:v0.23.0"},
		Files: []string{"Ascend-cann-toolkit_9.1.0_linux-aarch64.run"}, Notes: []report.Text{report.T("reboot after the driver", "更换驱动后须重启")}}
	doubtful := best
	doubtful.Kind, doubtful.Verdict = "newest", verdict(matrix.Unknown, open)
	code := codes.Entry{Code: "107002", Family: "acl", FamilyTitle: report.T("AscendCL return code", "AscendCL 返回码"), Name: "ACL_ERROR_RT_CONTEXT_NULL",
		Meaning: report.T("the calling thread has no context", "调用线程没有 Context"), Causes: []report.Text{report.T("device already reset", "设备已复位")},
		Remedy: report.T("set the context first", "先设置 Context"), Sources: []string{"hicann/runtime headers"}, Status: "src"}
	near := codes.Entry{Code: "107999", Family: "acl", FamilyTitle: code.FamilyTitle, Range: true, Near: []string{"107002"}, Meaning: report.T("wrong use", "用法错误"), Status: "guess"}
	env := Env{Host: "npu01", Load: `eval "$(ascendctl env -o bash)"`, Tree: cann.Tree{Version: "9.1.0", Path: "/usr/local/Ascend/cann-9.1.0"}, NNAL: &cann.NNAL{Version: "9.1.0", Path: "/usr/local/Ascend/nnal/atb/9.1.0"}, ABI: 1,
		Moves: []cann.Move{{Name: "ASCEND_HOME_PATH", Act: "set", Value: "/usr/local/Ascend/cann"}, {Name: "PATH", Act: "keep", Front: 2},
			{Name: "LD_LIBRARY_PATH", Act: "set", Front: 5, Kept: 2, Var: cann.Var{Why: report.T("libraries of CANN", "CANN 的动态库"), From: []string{"/usr/local/Ascend/cann/set_env.sh"}, Front: []string{"/usr/local/Ascend/cann/lib64"}}},
			{Name: "LD_LIBRARY_PATH", Act: "drop", Drop: []string{"/usr/local/Ascend/ascend-toolkit/8.1.RC1/lib64"}}}}
	explained := env
	explained.Explain, explained.Moves = true, env.Moves[2:3]
	ready := env
	ready.Moves = env.Moves[1:2]
	return map[string]Document{
		"compat":            Compat{Hosts: []CompatHost{{Verdict: verdict(matrix.Supported, fits), Next: "ascendctl compat explain cann=9.1.0"}}},
		"compat-explain":    Compat{Explain: true, Hosts: []CompatHost{{Host: "npu01", Verdict: verdict(matrix.Supported, fits), DataDays: 200, DataOld: true}}},
		"compat-no":         Compat{Hosts: []CompatHost{{Verdict: verdict(matrix.Unsupported, no, fits), Exit: report.ExitNo, Next: "ascendctl compat suggest chip=910B4"}, {Host: "npu03", Error: &refused}}},
		"compat-suggest":    Suggest{Verbose: true, Hosts: []SuggestHost{{Host: "npu01", Advice: matrix.Advice{Suggestions: []matrix.Suggestion{best}}, Next: "ascendctl compat explain cann=9.1.0"}}},
		"compat-suggest-no": Suggest{Hosts: []SuggestHost{{Advice: matrix.Advice{Suggestions: []matrix.Suggestion{doubtful}, None: report.T("0.99 has no row", "没有 0.99 的条目")}}, {Host: "npu03", Error: &refused}}},
		"compat-list":       CompatList{Verbose: true, Rows: []matrix.ListRow{{Section: "driver.cann_hdk", ID: "9.1.0/25.2.X", Source: "release notes", Status: "src", At: "compat/matrix/driver.yaml", Cells: []matrix.Cell{{Key: "relation", Value: report.Same("compatible")}}}}},
		"compat-tables":     CompatList{Sections: []string{"cann.releases", "driver.cann_hdk"}},
		"compat-lint":       CompatLint{Complaints: []matrix.Complaint{{At: "ours/matrix/driver.yaml:5", Row: "x", Text: report.T("no status", "缺少 status")}}},
		"compat-diff":       CompatDiff{Names: [2]string{"npu01", "npu02"}, Diff: matrix.Diff{Parts: []matrix.Change{{Part: "cann", From: "8.2.RC1"}}, A: verdict(matrix.Supported, fits), B: verdict(matrix.Unknown, open), DataDate: "2026-11-30"}},
		"explain":           Explain{Answer: codes.Answer{Query: "107002", Entries: []codes.Entry{code}}, Verbose: true},
		"explain-range":     Explain{Answer: codes.Answer{Query: "107999", Entries: []codes.Entry{near, code, code, code}}},
		"env":               env, "env-explain": explained, "env-ready": ready,
	}
}
