package cmd

import (
	"context"
	"maps"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/matrix"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) compatCommand() command {
	return command{
		use:   "compat",
		group: groupLook,
		short: report.T("Say which versions belong together", "判断各版本是否配套"),
		long: report.T("Answers from a table of published statements, each with its source. What nobody has published is unknown;\nunknown is never the same as unsupported. Parts that are not given are not guessed, they are listed as unchecked.",
			"依据已发布的配套信息作答，每条都有来源。没有发布过的组合为未知，未知不等于不支持。未给出的部件不推测，只列为未检查。"),
		examples: []example{
			{report.T("do these belong together", "这些版本是否配套"), "ascendctl compat check chip=910B3 driver=25.2.0 cann=8.3.RC1 torch_npu=2.7.1"},
			{report.T("why, by which row, from which source", "原因、依据条目与来源"), "ascendctl compat explain cann=9.1.0 vllm_ascend=0.23.0"},
			{report.T("what fits the driver of npu01", "npu01 的驱动适配哪些版本"), "ascendctl compat suggest --host root@npu01"},
		},
		exits: report.T("0 supported or unknown, 3 unsupported, 4 unknown (--fail-on warn), 64 usage", "0 支持或未知，3 不支持，4 未知（--fail-on warn），64 用法错误"),
		sub:   []command{s.compatCheckCommand(false), s.compatCheckCommand(true), s.suggestCommand(), s.compatListCommand(), s.compatLintCommand(), s.compatDiffCommand()},
	}
}

type compatOptions struct {
	targetFlags
	failOn string
}

// flags of a command that takes parts from the line, a host, or both.
func (o *compatOptions) flags(f *flagSet) {
	o.targetFlags.flags(f)
	f.in = flagsSafety
	f.text(&o.failOn, "fail-on", "error", report.T("`LEVEL` that makes the exit code 3 or 4: error, warn, never", "使退出码为 3 或 4 的级别 `LEVEL`：error、warn、never"))
}

func (s *session) compatCheckCommand(explain bool) command {
	var o compatOptions
	c := command{
		use:   "check [KEY=VALUE]...",
		short: report.T("Check whether versions belong together", "检查各版本是否配套"),
		examples: []example{
			{report.T("versions you name", "指定版本"), "ascendctl compat check driver=24.1.0 cann=8.2.RC1"},
			{report.T("what a host has", "主机上的版本"), "ascendctl compat check --host root@npu01"},
			{report.T("a host with one part changed", "主机上的版本，替换其中一项"), "ascendctl compat check --host root@npu01 cann=9.1.0"},
		},
		exits: report.T("0 supported or unknown, 3 unsupported, 4 unknown (--fail-on warn), 5 unreachable, 64 usage", "0 支持或未知，3 不支持，4 未知（--fail-on warn），5 不可达，64 用法错误"),
		flags: o.flags,
	}
	if explain {
		c.use = "explain [KEY=VALUE]..."
		c.short = report.T("Show the row and source behind every pair", "显示每一对部件的依据条目与来源")
		c.examples = []example{
			{report.T("every pair of a stack", "一组版本的每一对部件"), "ascendctl compat explain chip=910B4 driver=25.2.0 cann=9.1.0 vllm_ascend=0.23.0"},
			{report.T("for a script", "供脚本使用"), "ascendctl compat explain cann=8.2.RC1 torch_npu=2.5.1.post1 -o json"},
		}
	}
	c.run = func(ctx context.Context, args []string) error { return s.compat(ctx, o, args, explain) }
	return c
}

// matrix opens the tables of all layers.
func (s *session) matrix() (*matrix.Matrix, error) {
	return matrix.Load(s.layers()...)
}

func (s *session) compat(ctx context.Context, o compatOptions, args []string, explain bool) error {
	if err := oneOf("fail-on", o.failOn, "error", "warn", "never"); err != nil {
		return err
	}
	parts, err := matrix.ParseParts(args)
	if err != nil {
		return err
	}
	m, err := s.matrix()
	if err != nil {
		return err
	}
	stacks, err := s.stacks(ctx, o.targetFlags, parts, "compat check")
	if err != nil {
		return err
	}
	d, codes := screen.Compat{Explain: explain || s.flags.verbose}, []report.Exit{}
	for _, k := range stacks {
		h := screen.CompatHost{Host: k.host}
		if k.err != nil {
			h.Error, h.Exit = why(k.err), exitCode(ctx, k.err)
		} else if h, err = s.compatOf(m, o, k, explain); err != nil {
			return err
		}
		d.Hosts, codes = append(d.Hosts, h), append(codes, h.Exit)
	}
	d.Envelope = s.envelope("compat/v1")
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(codes...)
}

// compatOf judges one stack and says what to run next.
func (s *session) compatOf(m *matrix.Matrix, o compatOptions, k stack, explained bool) (screen.CompatHost, error) {
	v, err := m.Resolve(k.parts)
	h := screen.CompatHost{Host: k.host, Verdict: v}
	if err != nil {
		return h, err
	}
	h.DataDays, h.DataOld = v.Old(s.app.Now())
	switch {
	case o.failOn == "never":
	case v.Verdict == matrix.Unsupported:
		h.Exit = report.ExitNo
	case v.Verdict == matrix.Unknown && o.failOn == "warn":
		h.Exit = report.ExitWarnings
	}
	switch {
	case v.Verdict != matrix.Supported && k.at()+k.wanted() != "":
		h.Next = s.ours("ascendctl compat suggest" + k.at() + k.wanted())
	case v.Verdict != matrix.Supported && k.host == "local":
		h.Next = s.ours("ascendctl compat suggest --host local")
	case v.Verdict != matrix.Supported: // nothing is left that would have to be kept
	case !explained:
		h.Next = s.ours("ascendctl compat explain" + k.at() + k.line())
	}
	return h, nil
}

// stack is what one host has, with what was given on the line over it.
type stack struct {
	host                string
	parts, given, found matrix.Parts // parts: given over found
	managed             []string     // what a provider looks after
	flags               targetFlags
	err                 error
}

func (k stack) at() string { return k.flags.at(k.host) }

// line gives the parts of the command line again, as they can be pasted.
func (k stack) line() string { return partsLine(k.given, matrix.PartNames()) }

// wanted keeps what is hard to change and leaves the versions above it to be
// chosen anew.
func (k stack) wanted() string {
	return partsLine(k.given, []string{"chip", "product", "arch", "os", "driver", "vllm_ascend", "mindie", "sglang", "mindspore"})
}

func partsLine(p matrix.Parts, names []string) string {
	var b strings.Builder
	for _, n := range names {
		if p[n] != "" {
			b.WriteString(" " + report.Line(n+"="+p[n]))
		}
	}
	return b.String()
}

// stacks are the hosts asked, or the given parts alone where no host is named.
func (s *session) stacks(ctx context.Context, t targetFlags, given matrix.Parts, command string) ([]stack, error) {
	if len(t.hosts) == 0 && t.file == "" {
		if len(given) == 0 {
			return nil, usage(report.T("nothing to judge: no part and no host", "没有可判断的内容：未给出部件，也未指定主机"), report.Text{},
				report.T("give KEY=VALUE, or --host", "给出 KEY=VALUE，或 --host"), "ascendctl "+command+" --help")
		}
		return []stack{{parts: given, given: given}}, nil
	}
	ts, err := s.targets(t)
	if err != nil {
		return nil, err
	}
	look, err := s.lookOptions(facts.Options{Serving: true})
	if err != nil {
		return nil, err
	}
	var out []stack
	for _, r := range onEach(ctx, s, t, ts, func(ctx context.Context, t host.Target, h host.Host) (stack, error) {
		f := facts.Collect(ctx, h, look)
		k := stack{found: stackOf(&f), given: given, managed: t.Managed}
		if t.Product != "" {
			k.found["product"] = t.Product
		}
		k.parts = maps.Clone(k.found)
		maps.Copy(k.parts, given)
		return k, nil
	}) {
		r.value.host, r.value.err, r.value.flags = r.name, r.err, t
		out = append(out, r.value)
	}
	if len(out) == 1 && out[0].err != nil {
		return nil, out[0].err
	}
	return out, nil
}
