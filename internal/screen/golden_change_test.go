package screen

import (
	"time"

	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
)

// changed are the documents of changes: plans, what came of them, what to bring.
func changed() map[string]Document {
	undone, sum := report.T("can be undone", "可撤销"), "60ba8e1e21a3b56d2e4e3b3a7d6c1b0f9e8d7c6b5a4938271605f4e3d2c1b0a9"
	run := func(argv ...string) plan.ShownAct { return plan.ShownAct{Kind: "run", Argv: argv} }
	toolkit := plan.ShownStep{ID: "cann.toolkit", Title: report.T("toolkit 9.1.0", "toolkit 9.1.0"), Root: true, Undo: undone, Acts: []plan.ShownAct{
		{Kind: "dir", Path: "/var/lib/ascendctl/stage/cann.toolkit", Mode: "700", Owner: "root:root"},
		{Kind: "upload", Path: "/var/lib/ascendctl/stage/cann.toolkit/t.run", From: "/data/t.run", Size: 2 << 30, SHA256: sum, Mode: "500"},
		{Kind: "run", Argv: []string{"bash", "t.run", "--install", "--quiet"}, Env: []string{"LD_LIBRARY_PATH="}, Long: true}, run("rm", "-rf", "--", "/var/lib/ascendctl/stage/cann.toolkit")}}
	links := plan.ShownStep{ID: "cann.links", Title: report.T("links", "链接"), Undo: undone, Acts: []plan.ShownAct{
		{Kind: "link", Path: "/usr/local/Ascend/cann", Target: "cann-9.1.0"}, {Kind: "line", Path: "/etc/profile", Text: "umask 022"}, {Kind: "gone", Path: "/usr/local/Ascend/old"},
		{Kind: "file", Path: "/etc/pip.conf", Mode: "644", Owner: "root:root", Text: "[global]\nindex-url = https://example.com/simple\n"}, {Kind: "undo", Undo: []string{"systemctl", "daemon-reload"}}}}
	reboot := plan.ShownStep{ID: "reboot", Title: report.T("restart the host", "重启主机"), Risk: plan.RiskReboot, Undo: report.T("undo keeps: %s", "撤销时保留：%s", report.T("a restart", "重启")), Acts: []plan.ShownAct{{Kind: "reboot", Argv: []string{"systemctl", "reboot"}}}}
	had := plan.ShownStep{ID: "os.user", Title: report.T("user HwHiAiUser", "用户 HwHiAiUser"), Keep: true, Undo: undone}
	shown := plan.Shown{Host: "npu01", Name: "install-cann", Title: report.T("CANN 9.1.0 (row vllm_ascend/0.23.0)", "CANN 9.1.0（版本配套表 vllm_ascend/0.23.0）"), Journal: "/var/lib/ascendctl/journal",
		Steps: []plan.ShownStep{had, toolkit, links, reboot}, Risks: []string{plan.RiskReboot}, Undo: report.T("undo keeps something, as the steps say", "撤销会保留部分内容，见各步骤")}
	full := ChangePlan{Shown: shown, Row: "vllm_ascend/0.23.0", Keep: []ChangeKept{{Part: "driver", Version: "25.2.0", Why: report.T("takes CANN 9.1.0", "支持 CANN 9.1.0")}},
		Notes:  []report.Text{report.T("8.1.RC1 stays installed", "保留已安装的 8.1.RC1")},
		Checks: []report.Finding{{ID: "install.busy", Status: report.Fail, Severity: report.Error, Text: report.T("no process uses an NPU", "没有进程占用 NPU"), Evidence: []report.Evidence{{Source: "npu-smi info", Seen: report.Same("4123 python3")}}, Fix: report.T("end these processes first", "先结束这些进程"), Run: "ascendctl top --host npu01"}}}
	resumed, nothing := full, full
	resumed.Resumes, resumed.Checks = "20261130T014500Z", nil
	nothing.Steps, nothing.Checks, nothing.Risks, nothing.Notes = []plan.ShownStep{had}, nil, nil, nil
	clean := ChangePlan{Shown: plan.Shown{Host: "npu01", Name: "clean", Title: report.T("delete what is left behind, %s", "清理遗留内容，%s", report.Same("12.4 GiB")), Undo: shown.Undo,
		Steps: []plan.ShownStep{{ID: "clean.kernel_meta:/srv/llm", Title: report.T("%s in %s: %d, %s", "%[1]s %[3]d 项，%[4]s，位于 %[2]s", report.T("kernel_meta folders", "kernel_meta 目录"), "/srv/llm", 3, "12.4 GiB"),
			Undo: report.T("undo keeps: %s", "撤销时保留：%s", report.T("what is deleted does not come back", "已删除的内容不会恢复")), Acts: []plan.ShownAct{run("find", "/srv/llm/kernel_meta", "-xdev", "-uid", "0", "-delete")}}}},
		Keep: []ChangeKept{{Part: "cores", Version: "/root/core.4123", Why: report.T("in use by process %s", "正被进程 %s 使用", "881")}}}
	failed := report.T("toolkit failed", "toolkit 失败")
	undid := ChangePlan{Shown: plan.Shown{Host: "npu01", Undoes: "20261130T014500Z", Title: shown.Title, Undo: report.T("an undo is not undone; run the first command again instead", "撤销本身不可撤销；可重新运行原命令"),
		Steps: []plan.ShownStep{{ID: "cann.links", Title: links.Title, Undo: undone, Acts: []plan.ShownAct{{Kind: "restore", Path: "/usr/local/Ascend/cann"}}}}}}
	page := "https://support.huawei.com/x"
	return map[string]Document{
		"change":         Change{Plans: []ChangePlan{full}},
		"change-dry-run": Change{Plans: []ChangePlan{resumed}, Again: "ascendctl install-cann --host npu01 --cann 9.1.0", Verbose: true},
		"change-nothing": Change{Plans: []ChangePlan{nothing}},
		"change-fleet":   Change{Plans: []ChangePlan{nothing, {Shown: plan.Shown{Host: "npu03"}, Error: &refused}}},
		"change-undo":    Change{Plans: []ChangePlan{undid}},
		"change-undone":  Change{Results: []ChangeOutcome{{Host: "npu01", TookMS: 2000, Outcome: plan.Outcome{ID: "20261130T014500Z", State: plan.Undone}}}},
		"clean":          Change{Plans: []ChangePlan{clean}, Again: "ascendctl clean --host npu01 --yes"},
		"change-done": Change{Results: []ChangeOutcome{{Host: "npu01", TookMS: 544000, Outcome: plan.Outcome{ID: "20261130T014500Z", State: plan.Done, Keeps: []report.Text{report.T("packages of the system", "操作系统软件包")}}}},
			Undo: []string{"ascendctl undo --host npu01 20261130T014500Z"}, Next: "ascendctl preflight --host npu01"},
		"change-results": Change{Results: []ChangeOutcome{
			{Host: "npu01", TookMS: 2000, Outcome: plan.Outcome{State: plan.Nothing}}, {Host: "npu02", TookMS: 90000, Outcome: plan.Outcome{State: plan.Restart}},
			{Host: "npu03", TookMS: 38000, Error: &failed, Outcome: plan.Outcome{State: plan.Undone, Failed: "cann.toolkit"}},
			{Host: "npu04", TookMS: 38000, Error: &failed, Outcome: plan.Outcome{State: plan.Stuck, Left: []plan.Left{{Step: "cann.toolkit", Path: "/usr/local/Ascend", Why: "others have changed it"}}}},
			{Host: "npu05", Outcome: plan.Outcome{State: plan.Lost}}, {Host: "npu06", Outcome: plan.Outcome{State: plan.NotDone}}}},
		"downloads": Downloads{Host: "npu01", Files: []install.Printed{
			{Item: "toolkit-9.1.0-aarch64", Name: "t.run", URL: "https://example.com/t.run", Size: 2 << 30, SHA256: sum, Command: "curl -fLO -e https://example.com/ https://example.com/t.run", Check: "sha256sum -c t.run.sha256"},
			{Item: "nnal-9.1.0-aarch64", Name: "n.run", Command: "curl -fLO https://example.com/n.run"}, {Item: "hdk", Name: "d.zip", Page: page}, {Item: "ops", Name: "o.run", Size: 1 << 30, SHA256: sum, Here: true}}},
		"downloads-nothing": Downloads{Host: "npu01"},
		"bundle": Bundled{File: "npu.tar", Next: "ascendctl install-cann --from npu.tar --cann 9.1.0 --dry-run", Manifest: install.Manifest{Schema: 1, By: "ascendctl 1.0.0", Made: time.Unix(0, 0).UTC(), Chip: "Ascend910B3", Arch: "aarch64", Row: "vllm_ascend/0.23.0", Python: "3.11",
			Files: []install.BundleFile{{Path: "packages/t.run", Kind: "package", Item: "toolkit", Size: 2 << 30, SHA256: sum, Verified: true}, {Path: "wheels/torch-2.10.0.whl", Kind: "wheel", Item: "torch", Size: 90 << 20, SHA256: sum}}}},
		"journals": Journals{Hosts: []JournalHost{{Host: "npu01", Changes: []*plan.Entry{
			{ID: "20261130T014500Z", State: plan.Open, Who: "ann@laptop", Title: shown.Title}, {ID: "20261129T014500Z", State: plan.Done, Who: "ann@laptop", Title: clean.Title}, {ID: "20261128T014500Z", State: plan.Undone, Who: "?@ci", Title: shown.Title}}},
			{Host: "npu03", Error: &refused}}},
		"journals-none": Journals{Hosts: []JournalHost{{Host: "npu01"}}},
	}
}
