package hub

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/report"
)

func (t tool) name() string { return t.tool + " " + t.version }

// otherWay is what is always possible: the library by hand.
var otherWay = report.Text{
	En: "or copy a libonnxruntime.so to this host and name it in ASCENDCTL_ORT_LIB",
	Zh: "或将 libonnxruntime.so 复制到本机，并用 ASCENDCTL_ORT_LIB 指定",
}

// final gives the problem of an error that no other row can cure, nil for one
// that another might.
func (o *Options) final(ctx context.Context, p Package, err error) *report.Problem {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if noSpace(err) {
		// Archive and library stand side by side for a moment, and pip keeps a
		// second copy of the archive while it works.
		need := (2*p.Size + p.LibrarySize + 1<<20 - 1) >> 20
		return &report.Problem{
			What: report.T("no space left for ONNX Runtime in %s", "%s 空间不足，无法存放 ONNX Runtime", o.Cache),
			Why:  report.T("%s; about %d MiB are needed for a moment", "%s；过程中约需 %d MiB", reasonOf(err), need),
			Do:   report.T("free space there, or name another folder in XDG_CACHE_HOME", "清理该目录所在磁盘，或用 XDG_CACHE_HOME 指定其他目录"),
			Run:  "df -h " + quoteArg(o.Cache),
			Exit: report.ExitFailed, Err: err,
		}
	}
	// A path or link error outside the archive is about our own folder.
	var pe *fs.PathError
	var le *os.LinkError
	var f *failure
	if !errors.As(err, &f) && (errors.As(err, &pe) || errors.As(err, &le)) {
		return &report.Problem{
			What: report.T("cannot write to %s", "无法写入 %s", filepath.Join(o.Cache, "onnxruntime")),
			Why:  report.Same(err.Error()),
			Do:   report.T("make it writable for this user, or name another folder in XDG_CACHE_HOME", "赋予当前用户写权限，或用 XDG_CACHE_HOME 指定其他目录"),
			Run:  "ls -ld " + quoteArg(o.Cache),
			Exit: report.ExitFailed, Err: err,
		}
	}
	return nil
}

func interrupted(ctx context.Context) *report.Problem {
	p := &report.Problem{
		What: report.T("fetching ONNX Runtime was interrupted, nothing is left of it", "下载 ONNX Runtime 被中断，未留下文件"),
		Exit: report.ExitInterrupted, Err: context.Cause(ctx),
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.What = report.T("fetching ONNX Runtime took longer than allowed, nothing is left of it", "下载 ONNX Runtime 超时，未留下文件")
		p.Do = report.T("allow more time with --deadline", "用 --deadline 延长时间")
		p.Exit = report.ExitFailed
	}
	return p
}

// reasonOf is why one row failed, in both languages where the words are ours.
func reasonOf(err error) report.Text {
	var f *failure
	var m *mismatch
	switch {
	case errors.As(err, &f):
		return f.reason
	case errors.As(err, &m):
		return m.text()
	}
	return report.Same(err.Error())
}

func (o *Options) allFailed(tried []report.Text, offline bool) *report.Problem {
	do := report.T("have the package from elsewhere (a mirror that holds it), %s", "换用含有该包的镜像源，%s", otherWay)
	if offline {
		do = report.T("give pip or npm a mirror or a proxy that this host reaches, %s", "为 pip 或 npm 配置本机可达的镜像源或代理，%s", otherWay)
	}
	return &report.Problem{
		What: report.T("cannot fetch ONNX Runtime for %s/%s", "无法下载 %s/%s 的 ONNX Runtime", o.OS, o.Arch),
		Why:  lines(tried),
		Do:   do,
		Run:  "ascendctl data fetch onnxruntime --dry-run",
		Exit: report.ExitFailed,
	}
}

// pipPackage tells by the ID of /etc/os-release how a distribution installs
// pip; the package has one name on all of them.
var pipPackage = map[string]string{
	"debian": "apt-get install -y python3-pip", "ubuntu": "apt-get install -y python3-pip",
	"openEuler": "dnf install -y python3-pip", "euleros": "yum install -y python3-pip", "kylin": "yum install -y python3-pip",
	"centos": "yum install -y python3-pip", "rhel": "dnf install -y python3-pip", "rocky": "dnf install -y python3-pip",
	"almalinux": "dnf install -y python3-pip", "anolis": "dnf install -y python3-pip", "fedora": "dnf install -y python3-pip",
	"sles": "zypper install -y python3-pip", "opensuse-leap": "zypper install -y python3-pip",
}

func (o *Options) noCarrier(lacking []report.Text) *report.Problem {
	return &report.Problem{
		What: report.T("cannot fetch ONNX Runtime: no working pip or npm on this host", "无法下载 ONNX Runtime：本机没有可用的 pip 或 npm"),
		Why:  lines(lacking),
		Do:   report.T("install the package python3-pip, %s", "安装软件包 python3-pip，%s", otherWay),
		Run:  pipPackage[o.Distro],
		Exit: report.ExitFailed,
	}
}

func (o *Options) unsupported() *report.Problem {
	var known []string
	for _, p := range o.Rows {
		if name := "linux/" + p.Arch; !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return &report.Problem{
		What: report.T("no ONNX Runtime is known for %s/%s", "没有适用于 %s/%s 的 ONNX Runtime", o.OS, o.Arch),
		Why:  report.T("it is known for %s", "已知的平台为 %s", strings.Join(known, ", ")),
		Do:   report.T("run models on a host of these kinds", "在上述平台的主机上运行模型"),
		Exit: report.ExitFailed,
	}
}

func lines(all []report.Text) report.Text {
	var en, zh []string
	for _, t := range all {
		en, zh = append(en, t.En), append(zh, t.Zh)
	}
	return report.Text{En: strings.Join(en, "\n"), Zh: strings.Join(zh, "\n")}
}

// quoteArg makes a path one word of a shell.
func quoteArg(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
