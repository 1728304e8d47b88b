package check

import (
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

// ownNotes are the words in which facts and hosts say why nothing is known. A
// %s stands for more words, which may be ours again or those of a tool.
func ownNotes() []report.Text {
	return []report.Text{
		report.T("no answer in time", "未在限定时间内应答"),
		report.T("not asked: npu-smi hung before", "未查询：此前 npu-smi 无响应"),
		report.T("no elevated rights", "没有提权权限"),
		report.T("no elevated rights: %s", "没有提权权限：%s"),
		report.T("sudo asks %s for a password", "sudo 要求 %s 输入密码"),
		report.T("sudo is switched off for this host", "该主机已关闭 sudo"),
		report.T("sudo refused", "sudo 拒绝"),
		report.T("the host has no %s", "主机没有 %s"),
		report.T("the host ended the answer with %s", "主机以 %s 结束应答"),
		report.T("the host gave fewer answers than questions", "主机的应答少于查询"),
		report.T("the host does not tell the time of change", "主机未提供修改时间"),
		report.T("answer too large", "应答过大"),
		report.T("host unreachable", "主机不可达"),
		report.T("no answer", "无应答"),
		report.T("command not found", "未找到命令"),
		report.T("no command %s", "没有命令 %s"),
		report.T("%s: not recorded", "%s：主机记录中没有"),
		report.T("not recorded", "主机记录中没有"),
		report.T("exit %s", "返回码 %s"),
		report.T("npu-smi gave no table", "npu-smi 没有给出表格"),
		report.T("the running kernel is not known", "当前内核未知"),
		report.T("no systemd-detect-virt, and no mark of a container or a hypervisor", "没有 systemd-detect-virt，也没有容器或虚拟机的标记"),
		report.T("hccn_tool of the 950 has no such question", "950 的 hccn_tool 没有该查询"),
		report.T("musl, not glibc", "C 库为 musl，而非 glibc"),
		report.T("limit %s: want a number or unlimited", "限额 %s：应为数字或 unlimited"),
		report.T("want %s, got %s", "应为 %s，实为 %s"),
		report.T("a number", "数字"),
		report.T("a number or unlimited for %s", "%s 的数字或 unlimited"),
		report.T("a version", "版本号"),
		report.T("a file system", "文件系统"),
		report.T("a table of ports", "网口表"),
		report.T("an interface with an address", "带地址的网口"),
		report.T("a rank table (%s)", "rank table 文件（%s）"),
		report.T("one line", "一行"),
		report.T("one word", "一个词"),
		report.T("one word in brackets", "方括号中的一个词"),
		report.T("one file", "一个文件"),
		report.T("yes or no", "yes 或 no"),
		report.T("ID= of os-release", "os-release 的 ID="),
		report.T("CPU(s) of lscpu", "lscpu 的 CPU(s)"),
		report.T("SecureBoot enabled or disabled", "SecureBoot enabled 或 disabled"),
		report.T("npu-smi, a file", "npu-smi 文件"),
		report.T("lines of passwd", "passwd 的行"),
		report.T("lines of group", "group 的行"),
		report.T("addresses of ip -o addr", "ip -o addr 的地址"),
		report.T("KEY=VALUE lines", "KEY=VALUE 行"),
	}
}

// noted gives a note of facts in both languages; what is not ours stays as it
// came: words of a tool, of the loader, of the system.
func noted(note string) report.Text {
	for _, t := range ownNotes() {
		if got, ok := filled(t, note); ok {
			return got
		}
	}
	return raw(note)
}

// filled matches a note with a text of up to two %s.
func filled(t report.Text, note string) (report.Text, bool) {
	parts := strings.Split(t.En, "%s")
	rest, ok := strings.CutPrefix(note, parts[0])
	if !ok || len(parts) == 1 {
		return t, ok && rest == ""
	}
	var args []any
	for _, after := range parts[1 : len(parts)-1] {
		word, more, ok := strings.Cut(rest, after)
		if !ok {
			return t, false
		}
		args, rest = append(args, noted(word)), more
	}
	last, ok := strings.CutSuffix(rest, parts[len(parts)-1])
	if !ok || last == "" {
		return t, false
	}
	return report.T(t.En, t.Zh, append(args, noted(last))...), true
}

// reason says why a fact is not known.
func reason[T any](f facts.Fact[T]) report.Text {
	if f.Note == "" {
		return report.T("not asked", "未查询")
	}
	return noted(f.Note)
}
