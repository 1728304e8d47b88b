package cmd

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/hub"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
	"github.com/ascendctl/ascendctl/internal/ui"
)

func (s *session) dataCommand() command {
	return command{
		use:   "data",
		group: groupKeep,
		short: report.T("Bring what ascendctl itself needs", "获取 ascendctl 自身所需的数据"),
		sub:   []command{s.fetchCommand()},
	}
}

func (s *session) fetchCommand() command {
	var dry bool
	var arch string
	return command{
		use:   "fetch <THING>",
		short: report.T("Download the pinned ONNX Runtime library into the cache", "将固定版本的 ONNX Runtime 动态库下载到缓存目录"),
		long: report.T("THING is onnxruntime. The file comes through this machine's pip or npm, with their mirrors and proxies,\nand is checked against built-in digests. No package is installed; only the cache folder is written.",
			"THING 取 onnxruntime。文件通过本机的 pip 或 npm 获取，沿用其镜像与代理配置，并按内置摘要校验。\n不安装任何软件包，仅写入缓存目录。"),
		examples: []example{
			{report.T("what would be run", "查看将执行的命令"), "ascendctl data fetch onnxruntime --dry-run"},
			{report.T("get it", "下载"), "ascendctl data fetch onnxruntime"},
			{report.T("for an arm64 host, to be copied there", "供 arm64 主机使用，再复制过去"), "ascendctl data fetch onnxruntime --arch arm64"},
		},
		exits: report.T("0 there and verified, 1 not to be had, 64 usage", "0 已就位并通过校验，1 无法获取，64 用法错误"),
		works: true,
		flags: func(f *flagSet) {
			f.text(&arch, "arch", runtime.GOARCH, report.T("`ARCH` of the library: amd64, arm64", "动态库架构 `ARCH`：amd64、arm64"))
			f.in = flagsSafety
			f.yes(&dry, "dry-run", "", report.T("only show what would be run", "仅显示将执行的命令"))
		},
		run: func(ctx context.Context, args []string) error {
			if args[0] != "onnxruntime" {
				return usage(report.T("data fetch does not know %q", "data fetch 不支持 %q", args[0]), report.Text{},
					report.T("give %s", "可用取值：%s", "onnxruntime"), "ascendctl data fetch onnxruntime")
			}
			if err := oneOf("arch", arch, "amd64", "arm64"); err != nil {
				return err
			}
			return s.fetch(ctx, arch, dry)
		},
	}
}

func (s *session) fetch(ctx context.Context, arch string, dry bool) error {
	b, err := s.book()
	if err != nil {
		return err
	}
	rows, err := book.Rows[hub.Package](b, "packages.yaml", "onnxruntime")
	if err != nil {
		return err
	}
	task := s.reporter().Start(report.T("fetch onnxruntime", "下载 onnxruntime"), ui.Size)
	o := hub.Options{
		Rows: rows, Cache: s.app.cacheDir(), OS: s.fetchOS(arch), Arch: arch, Distro: distro(),
		Exec: s.app.Exec, LookPath: s.app.LookPath, Log: s.log.Logger, Redact: s.secrets,
		Progress: func(note report.Text, done, total int64) {
			task.Note(note)
			task.Set(done, total)
		},
	}
	d := screen.Fetch{}
	if dry {
		plan, err := hub.Plan(ctx, o)
		task.End(err)
		if err != nil {
			return err
		}
		d.Plan = &plan
	} else {
		result, err := hub.Fetch(ctx, o)
		task.End(err)
		if err != nil {
			return err
		}
		d.Result = &result
	}
	d.Envelope = s.envelope("fetch/v1")
	return s.show(d)
}

// fetchOS: a library named by --arch is for a Linux host wherever it is
// fetched; the default is for this machine.
func (s *session) fetchOS(arch string) string {
	if arch != runtime.GOARCH {
		return "linux"
	}
	return runtime.GOOS
}

// distro is ID of /etc/os-release: debian, openEuler, kylin.
func distro() string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "ID="); ok {
			return strings.Trim(id, `"'`)
		}
	}
	return ""
}
