package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/ascendctl/ascendctl/internal/report"
)

var (
	errMismatch = errors.New("not the known file")
	errMissing  = errors.New("file not to be had")
)

// problem makes every error one that people can act on.
func (f *Fetcher) problem(ctx context.Context, err error) error {
	var p *report.Problem
	var pe *os.PathError
	var le *os.LinkError
	switch {
	case ctx.Err() != nil:
		return &report.Problem{What: report.T("bringing files was interrupted; the next run goes on behind what is here", "获取文件被中断，下次从已有部分继续"),
			Exit: report.ExitInterrupted, Err: context.Cause(ctx)}
	case errors.As(err, &p):
		return p
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return &report.Problem{What: report.T("no space left in %s", "%s 空间已满", f.Cache), Why: report.Same(err.Error()),
			Do:  report.T("free space there, or name another folder in XDG_CACHE_HOME", "清理该目录所在磁盘，或用 XDG_CACHE_HOME 指定其他目录"),
			Run: report.Line("df", "-h", f.Cache), Exit: report.ExitFailed, Err: err}
	case errors.As(err, &pe) || errors.As(err, &le):
		return &report.Problem{What: report.T("cannot read or write a file here", "无法读写本机文件"), Why: report.Same(err.Error()),
			Do:   report.T("make it readable and the cache writable for this user, or name another folder in XDG_CACHE_HOME", "确保当前用户可读该文件且可写缓存目录，或用 XDG_CACHE_HOME 指定其他目录"),
			Exit: report.ExitFailed, Err: err}
	}
	why := report.Same(err.Error())
	if f.Redact != nil {
		why = report.Same(f.Redact.String(err.Error()))
	}
	return &report.Problem{What: report.T("cannot bring the files", "无法获取所需文件"), Why: why, Exit: report.ExitFailed, Err: err}
}

func (f *Fetcher) mismatch(it Item, where string, want, got report.Text) *report.Problem {
	return &report.Problem{
		What: report.T("%s is not the file the data knows", "%s 与数据中记录的文件不一致", it.Name),
		Why:  report.T("%s: expected %s, got %s", "%s：应为 %s，实为 %s", where, want, got),
		Do:   report.T("get it again; if it stays so, the source has another build", "重新获取；若仍不一致，则该来源提供的是其他构建"),
		Exit: report.ExitFailed, Err: errMismatch,
	}
}

func (f *Fetcher) unreached(it Item, err error) *report.Problem {
	return &report.Problem{
		What: report.T("cannot download %s", "无法下载 %s", it.Name),
		Why:  report.T("%s: %s", "%s：%s", f.shown(f.address(it)), f.Redact.String(err.Error())),
		Do: report.T("check the network and HTTPS_PROXY, or download it elsewhere and name its folder with --from; what came is kept",
			"检查网络与 HTTPS_PROXY，或在其他机器下载后用 --from 指定所在目录；已下载部分会保留"),
		Run: "ascendctl install-cann --print-urls", Exit: report.ExitFailed, Err: err,
	}
}

func (f *Fetcher) refused(it Item, r *http.Response) *report.Problem {
	do := report.T("download it elsewhere and name its folder with --from", "在其他机器下载后用 --from 指定所在目录")
	switch r.StatusCode {
	case http.StatusProxyAuthRequired:
		do = report.T("give the proxy's user and password in HTTPS_PROXY", "在 HTTPS_PROXY 中填写代理的用户名和密码")
	case http.StatusUnauthorized, http.StatusForbidden:
		do = report.T("the server wants a login: sign in with a browser, download it and name its folder with --from", "服务器要求登录：用浏览器登录下载后，用 --from 指定所在目录")
	}
	return &report.Problem{
		What: report.T("cannot download %s", "无法下载 %s", it.Name),
		Why:  report.T("%s answers %s", "%s 返回 %s", f.shown(r.Request.URL.String()), clipped(r.Status)),
		Do:   do, Run: "ascendctl install-cann --print-urls", Exit: report.ExitFailed, Err: fmt.Errorf("status %d", r.StatusCode),
	}
}

func (f *Fetcher) foreign(it Item, why report.Text) *report.Problem {
	return &report.Problem{
		What: report.T("%s is not offered there as a file", "该地址不提供文件 %s", it.Name),
		Why:  report.T("%s: %s", "%s：%s", f.shown(f.address(it)), why),
		Do:   report.T("check the address and the proxy; a login page can stand in between", "检查地址和代理，中间可能有登录页"), Exit: report.ExitFailed, Err: errMissing,
	}
}

// missing tells all files at once that cannot be had, with the nearest names.
func (f *Fetcher) missing(lacking []Item) *report.Problem {
	var why []report.Text
	for _, it := range lacking {
		switch {
		case f.shelf != nil && otherArch(it.Name, f.shelf.names()) != "":
			why = append(why, report.T("%s is not in %s; %s there is for another architecture", "%s 不在 %s 中；其中的 %s 适用于其他架构", it.Name, f.shelf.String(), otherArch(it.Name, f.shelf.names())))
		case f.shelf != nil:
			why = append(why, report.T("%s is not in %s%s", "%s 不在 %s 中%s", it.Name, f.shelf.String(), report.Meant(it.Name, f.shelf.names())))
		case it.Page != "":
			why = append(why, report.T("%s is behind a login: %s", "%s 需登录下载：%s", it.Name, it.Page))
		default:
			why = append(why, report.T("%s: no address is known", "%s：没有已知的下载地址", it.Name))
		}
	}
	return &report.Problem{
		What: report.T("%d files are missing", "缺少 %d 个文件", len(lacking)), Why: lined(why),
		Do:  report.T("download them elsewhere and name their folder with --from", "在其他机器下载后用 --from 指定所在目录"),
		Run: "ascendctl install-cann --print-urls", Exit: report.ExitFailed, Err: errMissing,
	}
}

// otherArch names a file that differs in nothing but the architecture.
func otherArch(name string, names []string) string {
	bare := func(s string) string {
		return strings.NewReplacer("aarch64", "*", "x86_64", "*", "x86-64", "*").Replace(strings.TrimSuffix(strings.TrimSuffix(s, ".zip"), ".run"))
	}
	for _, n := range names {
		if n != name && bare(n) == bare(name) && strings.Contains(bare(n), "*") {
			return n
		}
	}
	return ""
}

func lined(all []report.Text) report.Text {
	var en, zh []string
	for _, t := range all {
		en, zh = append(en, t.En), append(zh, t.Zh)
	}
	return report.Text{En: strings.Join(en, "\n"), Zh: strings.Join(zh, "\n")}
}
