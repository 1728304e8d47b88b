package report

// Exit is the status a command ends with; one table for all commands.
type Exit int

const (
	ExitOK          Exit = 0
	ExitFailed      Exit = 1
	ExitNo          Exit = 3
	ExitWarnings    Exit = 4
	ExitUnreachable Exit = 5
	ExitNotAgreed   Exit = 6
	ExitUndone      Exit = 7
	ExitStuck       Exit = 8
	ExitUsage       Exit = 64
	ExitInterrupted Exit = 130
)

// ExitMeaning is one row of docs/exit-codes.md.
type ExitMeaning struct {
	Code    Exit
	Means   Text
	Example Text
}

// ExitTable lists every status in order of number. 2 is left to the Go
// runtime, which uses it for a crash.
func ExitTable() []ExitMeaning {
	return []ExitMeaning{
		{ExitOK, T("ok", "成功"),
			T("also a verdict `unknown`, a `--dry-run`, and a doctor that found nothing", "也包括结论为 `unknown`、`--dry-run`，以及诊断未发现问题")},
		{ExitFailed, T("the tool ran and failed", "工具已运行但失败"),
			T("a file is corrupt, a library is missing, a port is busy", "文件损坏、缺少动态库、端口被占用")},
		{2, T("never used by ascendctl", "ascendctl 不使用"),
			T("the Go runtime says 2 for a crash: report a bug", "Go 运行时崩溃时返回 2：属于缺陷，应上报")},
		{ExitNo, T("the answer is no", "结论为否"),
			T("preflight: not ready; compat: unsupported; bench: a wrong answer", "preflight：未就绪；compat：不支持；bench：答案有误")},
		{ExitWarnings, T("warnings, with `--fail-on warn`", "有警告且指定了 `--fail-on warn`"),
			T("a check warns or is unknown", "有检查项为警告或未知")},
		{ExitUnreachable, T("host unreachable or connection lost", "主机不可达或连接中断"),
			T("connection refused, host key changed", "连接被拒绝、主机密钥已变更")},
		{ExitNotAgreed, T("not agreed, nothing was changed", "未确认，未做任何变更"),
			T("declined, or consent was needed and there was no terminal", "已拒绝，或需要确认但没有终端")},
		{ExitUndone, T("failed and undone", "失败且已撤销"),
			T("the host is as it was", "主机状态与变更前一致")},
		{ExitStuck, T("failed and not undone", "失败且未能撤销"),
			T("the journal says what is left", "日志记录了遗留内容")},
		{ExitUsage, T("usage", "用法错误"),
			T("flag, argument, config, recipe, hosts file", "选项、参数、配置、部署配方、主机清单有误")},
		{ExitInterrupted, T("interrupted", "被中断"),
			T("Ctrl-C", "Ctrl-C")},
	}
}

// worst is the order in which statuses win over many hosts.
var worst = []Exit{ExitStuck, ExitUndone, ExitFailed, ExitUnreachable, ExitNo, ExitWarnings, ExitNotAgreed, ExitUsage, ExitInterrupted}

// Worst gives the status of a whole from those of its parts.
func Worst(codes ...Exit) Exit {
	for _, w := range worst {
		for _, c := range codes {
			if c == w {
				return w
			}
		}
	}
	return ExitOK
}
