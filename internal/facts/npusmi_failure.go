package facts

import (
	"regexp"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

// dcmiCodes are the return codes of the driver's management library
// (src: hicann/driver dcmi headers).
var dcmiCodes = map[int]report.Text{
	-8001: report.T("invalid parameter", "参数无效"),
	-8002: report.T("operation not permitted", "无操作权限"),
	-8003: report.T("memory", "内存操作失败"),
	-8004: report.T("secure function", "安全函数失败"),
	-8005: report.T("inner error", "内部错误"),
	-8006: report.T("timeout", "超时"),
	-8007: report.T("invalid device id", "设备 ID 无效"),
	-8008: report.T("device does not exist", "设备不存在"),
	-8009: report.T("ioctl failed", "ioctl 失败"),
	-8010: report.T("message not sent", "消息发送失败"),
	-8011: report.T("message not received", "消息接收失败"),
	-8012: report.T("device not ready", "设备未就绪"),
	-8013: report.T("not supported in a container", "容器内不支持"),
	-8014: report.T("file error", "文件操作失败"),
	-8015: report.T("reset failed", "复位失败"),
	-8016: report.T("aborted", "操作已中止"),
	-8017: report.T("upgrade under way", "正在升级"),
	-8020: report.T("device is used", "设备已被占用"),
	-8022: report.T("partition not right", "分区不正确"),
	-8023: report.T("configuration missing", "缺少配置"),
	-8255: report.T("not supported", "不支持"),
}

// smiSign tells a failure by its words.
type smiSign struct {
	error  SmiError
	stream string
	exit   int // what the shell sees with it; 0 = no statement
	words  func() *regexp.Regexp
	cause  report.Text // with {code}, {meaning} or {library}
}

// smiSigns, the more special first (src: hicann/driver npucli; seen:
// vllm-project/vllm-ascend 632 and 2698, Ascend/cann-container-image 46). The
// loader and the shell also speak the language of the login.
var smiSigns = []smiSign{
	{SmiNoLibraries, "stderr", 127, pattern(`npu-smi: error while loading shared libraries: (?P<library>[\w.+-]+)`),
		report.T("the driver's libraries are not on the loader's path: {library} was not found", "驱动的库不在加载路径中：未找到 {library}")},
	{SmiNotExecutable, "stderr", 126, pattern(`npu-smi['’]?(?:: |：)(?:Permission denied|权限不够)|permission denied: (?:\S*/)?npu-smi$`),
		report.T("this user may not execute npu-smi: the driver was installed for its run-time user only", "当前用户无权执行 npu-smi：驱动只为其运行用户安装")},
	{SmiNotInstalled, "stderr", 127, pattern(`npu-smi['’]?(?:: |：)(?:command not found|not found|No such file or directory|未找到命令|找不到命令|没有那个文件或目录)` +
		`|[Cc]ommand '?npu-smi'? not found|(?:未找到|找不到)命令 ?[“']npu-smi` +
		`|(?:command not found|Unknown command): (?:\S*/)?npu-smi$|"(?:\S*/)?npu-smi": (?:executable file not found|stat \S+ no such file)`),
		report.T("npu-smi is not installed, or its folder is not on PATH", "未安装 npu-smi，或其目录不在 PATH 中")},
	{SmiDeviceBusy, "stdout", 172, pattern(`because the device is used\. ret is (?P<code>-\d+)`),
		report.T("another container holds the device and sharing is off (DCMI code {code})", "设备已被其他容器占用且未开启共享（DCMI 返回码 {code}）")},
	{SmiDCMIInit, "stdout", 0, pattern(`dcmi mod(?:ule|el) initialize[d]? failed.*?ret is (?P<code>-\d+)`),
		report.T("npu-smi could not open the driver (DCMI code {code}: {meaning})", "npu-smi 无法打开驱动（DCMI 返回码 {code}：{meaning}）")},
	{SmiBoardType, "stdout", 0, pattern(`npu get board type failed\. ret is (?P<code>-?\d+)`),
		report.T("a card does not say what it is (DCMI code {code}: {meaning})", "有卡无法上报类型（DCMI 返回码 {code}：{meaning}）")},
	{SmiCommandFailed, "stdout", 0, pattern(`Failed to execute npu-smi .*ret is (?P<code>-?\d+)`),
		report.T("the driver refused the question (DCMI code {code}: {meaning})", "驱动拒绝了该查询（DCMI 返回码 {code}：{meaning}）")},
	{SmiNoCard, "stdout", 0, pattern(`There is no NPU card on this server\.`),
		report.T("the driver works, and there is no NPU card", "驱动正常，但没有 NPU 卡")},
	{SmiNeedRoot, "stdout", 0, pattern(`Operation not permitted, only root user on physical machine`),
		report.T("only root on the physical machine may do this", "只有物理机上的 root 可以执行")},
	{SmiNotHere, "stdout", 0, pattern(`This command cannot be executed on a VM or container`),
		report.T("not possible in a virtual machine or a container", "虚拟机或容器内不可执行")},
	{SmiCardID, "stdout", 0, pattern(`This command must input card id`),
		report.T("the command lacks -i, the slot NPU id", "命令缺少 -i（槽位 NPU ID）")},
	{SmiUnknownWord, "stdout", 211, pattern(`Command or option is not found\.`),
		report.T("this npu-smi does not know the command", "该版本 npu-smi 没有此命令")},
}

var smiUnsupported = pattern(`^This device does not support `)

// failureIn looks for a failure in both streams.
func failureIn(stdout, stderr smiText) *SmiFailure {
	f := stdout.failure()
	if f == nil {
		if f = stderr.failure(); f != nil {
			f.Stream = "stderr"
		}
	}
	return f
}

func (t smiText) failure() *SmiFailure {
	for i, line := range t.lines {
		cut := !t.whole && i == len(t.lines)-1
		for _, s := range smiSigns {
			if m := s.words().FindStringSubmatch(line); m != nil {
				return s.failure(line, m, cut)
			}
		}
	}
	return nil
}

func (s smiSign) failure(line string, m []string, cut bool) *SmiFailure {
	f := &SmiFailure{Error: s.error, Line: line, Stream: s.stream, Cause: s.cause}
	meaning := report.T("not in the list", "不在列表中")
	if i := s.words().SubexpIndex("code"); i > 0 {
		code := smiInt(m[i])
		known := false
		if code != nil {
			var said report.Text
			if said, known = dcmiCodes[*code]; known {
				meaning = said
			}
		}
		if known || !cut { // a cut number is no number
			f.Code = code
		}
		if f.Code != nil && *f.Code == -8020 {
			f.Error = SmiDeviceBusy
		}
		fill(&f.Cause, "{code}", report.Same(m[i]))
	}
	if i := s.words().SubexpIndex("library"); i > 0 {
		f.Library = m[i]
		fill(&f.Cause, "{library}", report.Same(m[i]))
	}
	fill(&f.Cause, "{meaning}", meaning)
	return f
}

func fill(t *report.Text, place string, v report.Text) {
	t.En = strings.ReplaceAll(t.En, place, v.En)
	t.Zh = strings.ReplaceAll(t.Zh, place, v.Zh)
}

// silence is the failure of an output that says nothing we know.
func silence(stdout, stderr smiText, exit *int) *SmiFailure {
	killed := exit != nil && (*exit == exitTimeout || *exit == exitKilled)
	switch {
	case killed:
		return &SmiFailure{Error: SmiTimeout, Stream: "stdout",
			Cause: report.T("npu-smi did not answer in time: it is blocked in the driver", "npu-smi 未在限定时间内应答：阻塞在驱动中")}
	case stdout.empty() && stderr.empty():
		return &SmiFailure{Error: SmiNoOutput, Stream: "stdout",
			Cause: report.T("npu-smi printed nothing", "npu-smi 没有任何输出")}
	}
	return &SmiFailure{Error: SmiUnrecognised, Stream: "stdout",
		Cause: report.T("the text is no output of npu-smi that we know", "该文本不是已知的 npu-smi 输出")}
}

// Exit statuses of timeout(1): the limit was reached; it had to kill.
const (
	exitTimeout = 124
	exitKilled  = 137
)
