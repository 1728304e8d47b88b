package cmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

type suggestOptions struct {
	targetFlags
	keep []string
}

func (s *session) suggestCommand() command {
	var o suggestOptions
	return command{
		use:   "suggest [KEY=VALUE]...",
		short: report.T("Suggest a stack for what is there", "根据现状推荐一组版本"),
		long: report.T("Keeps what is hard to change: chip, system, driver, CANN, Python, engine, in this order. A driver that a\nprovider manages (hosts file, managed) is never proposed for replacement. An engine with a version asks for the\nleast change that reaches it.",
			"优先保留难以变更的部分，顺序为芯片、操作系统、驱动、CANN、Python、推理引擎。由服务商管理的驱动\n（主机清单 managed）绝不建议更换。给出推理引擎的版本时，求达到该版本的最小变更。"),
		examples: []example{
			{report.T("the newest engine for this driver", "适配该驱动的最新推理引擎"), "ascendctl compat suggest chip=910B4 driver=25.2.0"},
			{report.T("the least change for a wanted engine", "达到所需引擎版本的最小变更"), "ascendctl compat suggest chip=910B4 driver=24.1.0 vllm_ascend=0.13.0"},
			{report.T("for a host", "针对某台主机"), "ascendctl compat suggest --host root@npu01"},
			{report.T("the driver must stay", "必须保留驱动"), "ascendctl compat suggest driver=24.1.0 mindie=any --keep driver"},
		},
		exits: report.T("0 something fits, 3 nothing fits, 5 unreachable, 64 usage", "0 有可用版本，3 没有可用版本，5 不可达，64 用法错误"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.texts(&o.keep, "keep", report.T("`PART` that must stay; repeatable", "必须保留的部件 `PART`；可重复给出"))
		},
		run: func(ctx context.Context, args []string) error { return s.suggest(ctx, o, args) },
	}
}

func (s *session) suggest(ctx context.Context, o suggestOptions, args []string) error {
	given, err := matrix.ParseParts(args)
	if err != nil {
		return err
	}
	for _, k := range o.keep {
		if !slices.Contains(matrix.PartNames(), k) {
			return usage(report.T("--keep %s: no part of a stack%s", "--keep %s：不是部件名%s", k, report.Meant(k, matrix.PartNames())), report.Text{},
				report.T("the parts are: %s", "可用的部件：%s", strings.Join(matrix.PartNames(), ", ")), "")
		}
	}
	m, err := s.matrix()
	if err != nil {
		return err
	}
	want := matrix.Parts{}
	for _, p := range matrix.EngineParts() {
		if v, ok := given[p]; ok {
			want[p] = v
		}
	}
	stacks, err := s.stacks(ctx, o.targetFlags, given, "compat suggest")
	if err != nil {
		return err
	}
	d, codes := screen.Suggest{Verbose: s.flags.verbose}, []report.Exit{}
	for _, k := range stacks {
		h := screen.SuggestHost{Host: k.host}
		if k.err != nil {
			h.Error = why(k.err)
			codes = append(codes, exitCode(ctx, k.err))
		} else if h.Advice, err = m.Suggest(k.ask(want, o.keep)); err != nil {
			return err
		} else if len(h.Suggestions) == 0 {
			codes = append(codes, report.ExitNo)
		} else {
			h.Next = s.nextOf(k, h.Suggestions[0])
		}
		d.Hosts = append(d.Hosts, h)
	}
	d.Envelope = s.envelope("compat-suggest/v1")
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(codes...)
}

// ask turns a stack into a question: what is given as an engine is wanted, the
// rest is there.
func (k stack) ask(want matrix.Parts, keep []string) matrix.Ask {
	have := maps.Clone(k.parts)
	for p := range want {
		if k.found[p] == "" {
			delete(have, p)
		} else {
			have[p] = k.found[p]
		}
	}
	return matrix.Ask{Have: have, Want: want, Fixed: slices.Concat(keep, k.managed)}
}

// nextOf is the command that takes a host to a suggestion, or shows the row
// behind it.
func (s *session) nextOf(k stack, best matrix.Suggestion) string {
	engine := map[string]string{"vllm_ascend": "vllm-ascend", "torch_npu": "torch"}[best.Engine]
	if engine == "" {
		engine = best.Engine
	}
	if next := s.ours("ascendctl install-cann" + k.at() + " --for " + report.Line(engine+"@"+best.Parts[best.Engine]) + " --dry-run"); next != "" && k.host != "" {
		return next
	}
	return s.ours("ascendctl compat explain" + partsLine(best.Parts, matrix.PartNames()))
}
