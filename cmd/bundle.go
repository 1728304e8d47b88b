package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/cann"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/install"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

type bundleOptions struct {
	installOptions
	soc, arch, pythonVersion, glibc, out string
}

func (s *session) bundleCommand() command {
	var o bundleOptions
	return command{
		use:   "bundle",
		group: groupKeep,
		works: true,
		short: report.T("Make an offline bundle for a chip, an architecture and a row", "按芯片、架构与配套表条目制作离线安装包集合"),
		long: report.T("Downloads everything that install-cann would need, verifies it, and writes one tar with a manifest. On the\nother side: install-cann --from FILE.",
			"下载 install-cann 所需的全部内容，校验后写成一个带清单的 tar 文件。在目标侧使用 install-cann --from FILE。"),
		examples: []example{
			{report.T("for the chip of a host", "按某台主机的芯片制作"), "ascendctl bundle --out npu.tar --host root@npu01 --for vllm-ascend@0.23.0 --with vllm-ascend"},
			{report.T("without a host at hand", "手边没有主机时"), "ascendctl bundle --out npu.tar --soc Ascend910B3 --arch aarch64 --python-version 3.11 --cann 8.5.0"},
			{report.T("what it would hold", "将包含的内容"), "ascendctl bundle --out npu.tar --soc Ascend910B3 --arch aarch64 --cann 8.5.0 --dry-run"},
		},
		exits: report.T("0 written, 1 a download failed, 3 versions do not fit, 64 usage", "0 已写出，1 下载失败，3 版本不配套，64 用法错误"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.text(&o.out, "out", "", report.T("`FILE` to write", "要写出的 `FILE`"))
			f.text(&o.soc, "soc", "", report.T("chip `NAME`: Ascend910B3, Ascend310P3 (default asked from --host)", "芯片 `NAME`：Ascend910B3、Ascend310P3（默认询问 --host）"))
			f.text(&o.arch, "arch", "", report.T("`ARCH` of the hosts: aarch64, x86_64", "主机架构 `ARCH`：aarch64、x86_64"))
			f.text(&o.workload, "for", "", report.T("`WORKLOAD[@VERSION]` the bundle is for", "离线包对应的负载 `WORKLOAD[@VERSION]`"))
			f.text(&o.installOptions.cann, "cann", "", report.T("CANN `VERSION`", "CANN 版本 `VERSION`"))
			f.text(&o.driver, "driver", "", report.T("HDK `VERSION` of driver and firmware", "驱动与固件的 HDK 版本 `VERSION`"))
			f.text(&o.with, "with", "", report.T("Python sets in `LIST`: torch_npu, vllm-ascend, mindspore, cann", "Python 软件包组 `LIST`：torch_npu、vllm-ascend、mindspore、cann"))
			f.text(&o.pythonVersion, "python-version", "3.11", report.T("Python `VERSION` of the hosts", "主机的 Python 版本 `VERSION`"))
			f.text(&o.glibc, "glibc", "2.28", report.T("glibc `VERSION` of the hosts", "主机的 glibc 版本 `VERSION`"))
			f.text(&o.from, "from", "", report.T("packages from `DIR|URL` instead of the vendor's addresses", "软件包取自 `DIR|URL`，代替厂商地址"))
			f.text(&o.index, "index-url", "", report.T("pip index `URL` (default as pip is configured here)", "pip 索引 `URL`（默认采用本机 pip 配置）"))
			f.in = flagsSafety
			f.yes(&o.dryRun, "dry-run", "", report.T("only say what it would hold", "仅列出将包含的内容"))
		},
		run: func(ctx context.Context, _ []string) error { return s.bundle(ctx, o) },
	}
}

func (s *session) bundle(ctx context.Context, o bundleOptions) error {
	out := o.out
	if out == "" && !o.dryRun {
		return usage(report.T("bundle is not told which file to write", "未指定要写出的文件"), report.Text{}, report.T("name it with --out, or only look with --dry-run", "用 --out 指定，或用 --dry-run 仅查看"),
			s.again()+" --out npu.tar")
	}
	if dir, err := os.Stat(filepath.Dir(out)); !o.dryRun && (err != nil || !dir.IsDir()) {
		return usage(report.T("there is no folder for %s", "没有可写入 %s 的目录", out), report.Text{}, report.T("make it, or name another file", "先创建该目录，或指定其他文件"), "")
	}
	if _, err := os.Stat(out); err == nil && !o.dryRun {
		return usage(report.T("%s is there already", "%s 已存在", out), report.Text{}, report.T("name a new file, or remove it first", "指定新的文件名，或先将其删除"), "")
	}
	r, err := s.packing(o.installOptions)
	if err != nil {
		return err
	}
	defer r.fetch.Close()
	f, err := s.bundled(ctx, o, r)
	if err != nil {
		return err
	}
	w := o.want(s, &site{target: host.Target{}})
	set, err := install.Steps(w, f, r.matrix, r.data)
	if err != nil {
		return err
	}
	var items []install.Item
	for _, p := range set.Packages {
		items = append(items, install.ItemOf(p))
	}
	var wheels []install.Wheels
	if len(set.Pins) > 0 {
		wheels = append(wheels, wheelsOf(set, f))
	}
	d := screen.Downloads{Host: f.Generation.Value + " " + f.Arch.Value}
	if o.dryRun {
		if d.Files, err = r.fetch.Print(ctx, items, wheels); err != nil {
			return err
		}
		d.Envelope = s.envelope("downloads/v1")
		return s.show(d)
	}
	m := install.Manifest{By: Name + " " + s.app.Build.Version, Made: s.app.Now().UTC(), Chip: f.Generation.Value, Arch: f.Arch.Value, Row: set.Row, Python: f.Python.Value.Version}
	if m, err = r.fetch.Bundle(ctx, out, m, items, wheels); err != nil {
		var p *report.Problem
		if errors.As(err, &p) && strings.HasSuffix(p.Run, " --print-urls") { // bundle says it so
			copied := *p
			copied.Run = s.again() + " --dry-run"
			return &copied
		}
		return err
	}
	line := []string{Name, "install-cann", "--from", out}
	for _, f := range [][2]string{{"--for", o.workload}, {"--cann", o.installOptions.cann}, {"--driver", o.driver}, {"--with", o.with}} {
		if f[1] != "" {
			line = append(line, f[0], f[1])
		}
	}
	doc := screen.Bundled{File: out, Manifest: m, Next: report.Line(append(line, "--dry-run")...)}
	doc.Envelope = s.envelope("bundle/v1")
	return s.show(doc)
}

// kindOf is a host like that one with nothing of CANN on it: a bundle is for
// others of its kind too, and what this one has already would be missing there.
// Its driver stays, because CANN must fit it, unless another was named.
func kindOf(f *facts.Facts, driver bool) *facts.Facts {
	k := *f
	k.CANN, k.Packages, k.Env = facts.Fact[cann.Installed]{State: host.Absent}, facts.Fact[map[string]string]{State: host.Absent}, facts.Fact[map[string]string]{}
	if driver {
		k.Driver, k.Firmware = facts.Fact[facts.Driver]{State: host.Absent}, facts.Fact[facts.Firmware]{State: host.Absent}
	}
	return &k
}

// bundled is the host the bundle is for: the one named, or one that has nothing
// but the chip and the architecture named.
func (s *session) bundled(ctx context.Context, o bundleOptions, r *packing) (*facts.Facts, error) {
	if len(o.hosts) > 0 || o.file != "" {
		ts, err := s.targets(o.targetFlags)
		if err != nil {
			return nil, err
		}
		if len(ts) != 1 {
			return nil, usage(report.T("a bundle is for one kind of host, %d were named", "离线包对应一种主机，实际指定了 %d 台", len(ts)), report.Text{},
				report.T("name one with --host: it does for all that are like it", "用 --host 指定 1 台，同类主机可共用"), "")
		}
		look, err := s.lookOptions(facts.Options{})
		if err != nil {
			return nil, err
		}
		done := onEach(ctx, s, o.targetFlags, ts, func(ctx context.Context, _ host.Target, h host.Host) (*facts.Facts, error) {
			f := facts.Collect(ctx, h, look)
			return &f, nil
		})
		if done[0].err != nil {
			return nil, done[0].err
		}
		return kindOf(done[0].value, o.driver != ""), nil
	}
	chip, ok := r.matrix.Chip(o.soc)
	if !ok {
		return nil, usage(report.T("--soc %q names no chip", "--soc %q 不是芯片名称", o.soc), report.Text{}, report.T("name one, such as Ascend910B3, or a --host", "指定芯片，如 Ascend910B3，或指定 --host"), "ascendctl bundle --help")
	}
	if !slices.Contains([]string{"aarch64", "x86_64"}, o.arch) {
		return nil, oneOf("arch", o.arch, "aarch64", "x86_64")
	}
	known := func(v string) facts.Fact[string] { return facts.Fact[string]{Value: v, State: host.Known} }
	return &facts.Facts{Target: o.soc, Arch: known(o.arch), Generation: known(chip.Generation), Glibc: known(o.glibc),
		Python: facts.Fact[facts.Python]{Value: facts.Python{Version: o.pythonVersion}, State: host.Known},
		Driver: facts.Fact[facts.Driver]{State: host.Absent}, Firmware: facts.Fact[facts.Firmware]{State: host.Absent}}, nil
}
