package acl

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ascendctl/ascendctl/internal/dl"
	"github.com/ascendctl/ascendctl/internal/report"
)

// sign is a text of the loader (glibc) and what it means on a host with CANN.
type sign struct {
	any  []string // one of them is in the text
	what report.Text
	do   report.Text
}

// signs are tried in their order; the file that could not be found decides the
// rest.
func signs() []sign {
	return []sign{
		{[]string{"static TLS block"},
			report.T("the ACL library came too late into this process", "ACL 库加载过晚"),
			report.T("start ascendctl with LD_PRELOAD naming the library of the message", "设置 LD_PRELOAD 为该库后启动 ascendctl")},
		{[]string{"version `GLIBC", "version `CXXABI"},
			report.T("this host is older than the CANN package, or another libstdc++ comes first", "主机版本低于 CANN 包的要求，或优先加载了其他 libstdc++"),
			report.T("take conda folders out of LD_LIBRARY_PATH, or use a CANN release for this system", "从 LD_LIBRARY_PATH 中去除 conda 目录，或使用适合本系统的 CANN 版本")},
		{[]string{"undefined symbol"},
			report.T("libraries of two CANN releases are mixed", "混用了两个版本的 CANN 库"),
			report.T("leave one CANN release in LD_LIBRARY_PATH", "LD_LIBRARY_PATH 中只保留一个 CANN 版本")},
		{[]string{"wrong ELF class", "file too short", "invalid ELF header", "cannot read file data", "cannot open shared object file: Exec format error"},
			report.T("the ACL library is of another architecture or damaged", "ACL 库属于其他架构或已损坏"),
			report.T("install the CANN package of this architecture again", "重新安装本架构的 CANN 包")},
		{[]string{"Permission denied", "failed to map segment", "Operation not permitted"},
			report.T("the ACL library may not be read or run", "ACL 库无法读取或执行"),
			report.T("give the run-time user read permission, and check that the file system is not mounted noexec", "为运行用户授予读权限，并确认文件系统未以 noexec 挂载")},
	}
}

// unusable explains why a library could not be opened. It wraps ErrNoLibrary.
func unusable(asked string, err *dl.Error) *report.Problem {
	p := &report.Problem{Why: report.Same(err.Detail), Exit: report.ExitFailed, Run: "ascendctl preflight",
		Err: fmt.Errorf("%w: %w", ErrNoLibrary, err)}
	for _, s := range signs() {
		for _, text := range s.any {
			if strings.Contains(err.Detail, text) {
				p.What, p.Do = s.what, s.do
				return p
			}
		}
	}
	file, gone := absent(err.Detail)
	switch name := filepath.Base(file); {
	case !gone:
		p.What = report.T("the ACL library cannot be opened", "无法打开 ACL 库")
		p.Do = report.T("check the CANN installation", "检查 CANN 安装")
	case name == mdlName && name == filepath.Base(asked):
		p.What = report.T("CANN is found, but not its library for models", "已找到 CANN，但缺少其模型库")
		p.Do = report.T("install the toolkit or the runtime package of CANN whole", "完整安装 CANN 的 toolkit 或运行时包")
	case name == filepath.Base(asked):
		p.What = report.T("CANN is not installed here, or not where ascendctl looks", "未安装 CANN，或不在 ascendctl 查找的位置")
		p.Do = report.T("install CANN, or set ASCEND_HOME_PATH", "安装 CANN，或设置 ASCEND_HOME_PATH")
	case name == "libascend_hal.so" || name == "libdrvdsmi_host.so" || name == "libdcmi.so":
		p.What = report.T("the libraries of the NPU driver are missing", "缺少 NPU 驱动的动态库")
		p.Do = report.T("install the driver; in a container, mount /usr/local/Ascend/driver", "安装驱动；容器中须挂载 /usr/local/Ascend/driver")
	default:
		p.What = report.T("CANN is found, but not the libraries beside it", "已找到 CANN，但缺少其同目录的动态库")
		p.Do = report.T("load the environment of CANN in the shell that starts ascendctl", "在启动 ascendctl 的 shell 中加载 CANN 环境变量")
		if dir := filepath.Dir(asked); filepath.IsAbs(asked) {
			p.Run = report.Line("source", filepath.Join(filepath.Dir(dir), "set_env.sh"))
		}
	}
	return p
}

// absent gives the library that a text says is not there.
func absent(detail string) (file string, ok bool) {
	file, rest, ok := strings.Cut(detail, ": ")
	return file, ok && strings.HasPrefix(rest, "cannot open shared object file: No such file")
}
