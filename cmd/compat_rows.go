package cmd

import (
	"context"
	"strings"

	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) compatListCommand() command {
	return command{
		use:   "list [SECTION] [KEY=VALUE]...",
		short: report.T("List rows of the tables with their sources", "列出配套表的条目及来源"),
		examples: []example{
			{report.T("the names of the tables", "各表的名称"), "ascendctl compat list"},
			{report.T("which drivers CANN 9.1.0 was released with", "CANN 9.1.0 对应的驱动"), "ascendctl compat list driver.cann_hdk cann=9.1.0 -v"},
		},
		exits: report.T("0 listed, 64 usage", "0 已列出，64 用法错误"),
		run: func(_ context.Context, args []string) error {
			d := screen.CompatList{Sections: matrix.Sections(), Verbose: s.flags.verbose}
			section := ""
			if len(args) > 0 && !strings.Contains(args[0], "=") {
				section, args = args[0], args[1:]
			}
			filter, err := matrix.ParseParts(args)
			if err != nil {
				return err
			}
			m, err := s.matrix()
			if err != nil {
				return err
			}
			if section != "" || len(filter) > 0 || s.format != "table" {
				if d.Rows, err = m.List(section, filter); err != nil {
					return err
				}
			}
			d.Envelope = s.envelope("compat-list/v1")
			return s.show(d)
		},
	}
}

func (s *session) compatLintCommand() command {
	return command{
		use:   "lint",
		short: report.T("Check the tables, with --compat also yours", "检查配套表，可用 --compat 加上自有数据"),
		examples: []example{
			{report.T("a folder of corrections", "自有的修正数据目录"), "ascendctl compat lint --compat ./ours"},
		},
		exits: report.T("0 clean, 3 complaints, 64 a file cannot be read", "0 无问题，3 有问题，64 文件无法读取"),
		run: func(context.Context, []string) error {
			found, err := matrix.Lint(s.layers()...)
			if err != nil {
				return err
			}
			if err := s.show(screen.CompatLint{Envelope: s.envelope("compat-lint/v1"), Complaints: found}); err != nil {
				return err
			}
			if len(found) > 0 {
				return verdict(report.ExitNo)
			}
			return nil
		},
	}
}

func (s *session) compatDiffCommand() command {
	var t targetFlags
	return command{
		use:   "diff [A] [B]",
		short: report.T("Compare two stacks: parts, or hosts", "比较两组版本：部件列表或主机"),
		examples: []example{
			{report.T("two sets of versions", "两组版本"), "ascendctl compat diff cann=8.2.RC1,torch_npu=2.5.1.post1 cann=8.3.RC1,torch_npu=2.7.1"},
			{report.T("two hosts", "两台主机"), "ascendctl compat diff --host root@npu01 --host root@npu02"},
			{report.T("a host with a set", "主机与一组版本"), "ascendctl compat diff --host root@npu01 cann=9.1.0,vllm_ascend=0.23.0"},
		},
		exits: report.T("0 compared, 5 a host gave no answer, 64 usage", "0 已比较，5 有主机无应答，64 用法错误"),
		flags: t.flags,
		run:   func(ctx context.Context, args []string) error { return s.compatDiff(ctx, t, args) },
	}
}

func (s *session) compatDiff(ctx context.Context, t targetFlags, args []string) error {
	var sides []stack
	if len(t.hosts) > 0 || t.file != "" {
		hosts, err := s.stacks(ctx, t, nil, "compat diff")
		if err != nil {
			return err
		}
		sides = hosts
	}
	for _, a := range args {
		p, err := matrix.ParseParts(strings.Split(a, ","))
		if err != nil {
			return err
		}
		sides = append(sides, stack{host: a, parts: p})
	}
	if len(sides) != 2 {
		return usage(report.T("compat diff compares two stacks, %d were given", "compat diff 比较两组版本，实际给出了 %d 组", len(sides)), report.Text{},
			report.T("give two of: a host, KEY=VALUE,KEY=VALUE", "给出其中两项：主机，或 KEY=VALUE,KEY=VALUE"), "ascendctl compat diff --help")
	}
	for _, k := range sides {
		if k.err != nil {
			return k.err
		}
	}
	m, err := s.matrix()
	if err != nil {
		return err
	}
	diff, err := m.Diff(sides[0].parts, sides[1].parts)
	if err != nil {
		return err
	}
	d := screen.CompatDiff{Names: [2]string{sides[0].host, sides[1].host}, Diff: diff}
	d.Envelope = s.envelope("compat-diff/v1")
	return s.show(d)
}
