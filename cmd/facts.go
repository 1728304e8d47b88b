package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/book"
	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

type factsOptions struct {
	targetFlags
	recordFlags
	pid    int
	deep   bool
	reach  []string
	smi    string
	smiCmd string
	pasted pastedExit
}

// pastedExit is --npu-smi-exit: not given is not the same as 0.
type pastedExit struct{ code *int }

func (p *pastedExit) String() string { return "" }
func (p *pastedExit) Type() string   { return "N" }

func (p *pastedExit) Set(s string) error {
	var n int
	if _, err := fmt.Sscanf(s+"\n", "%d\n", &n); err != nil || n < 0 || n > 255 {
		return wants(report.T("want an exit status, 0 to 255", "应为退出码，0 到 255"))
	}
	p.code = &n
	return nil
}

func (s *session) factsCommand() command {
	var o factsOptions
	return command{
		use:   "facts",
		group: groupLook,
		short: report.T("Show what is known about hosts, as data", "以数据形式显示主机的已知信息"),
		long: report.T("Looks only: files, device nodes, npu-smi with a time limit. What could not be asked is unknown, never \"not there\".",
			"只读查看：文件、设备节点、带时限的 npu-smi。无法询问的内容为未知，绝不视为不存在。"),
		examples: []example{
			{report.T("this machine", "本机"), "ascendctl facts"},
			{report.T("another one, all of it, as JSON", "另一台主机的全部信息，JSON 格式"), "ascendctl facts --host root@npu01 -o json"},
			{report.T("a recording to send to somebody", "供发送给他人的主机记录"), "ascendctl facts --host root@npu01 --record npu01.yaml"},
			{report.T("a pasted table", "粘贴的表格"), "ascendctl facts --npu-smi table.txt"},
		},
		exits: report.T("0 looked, 5 a host gave no answer, 64 usage", "0 已查看，5 有主机无应答，64 用法错误"),
		flags: func(f *flagSet) {
			o.targetFlags.flags(f)
			f.in = flagsWhat
			f.number(&o.pid, "pid", 0, report.T("also the environment of process `PID`", "同时显示进程 `PID` 的环境变量"))
			f.texts(&o.reach, "reach", report.T("try an HTTPS request to `HOST` from there; repeatable", "从该主机尝试以 HTTPS 访问 `HOST`；可重复给出"))
			f.yes(&o.deep, "deep", "", report.T("also what takes long", "同时查看耗时较长的内容"))
			f.text(&o.smi, "npu-smi", "", report.T("read pasted output of npu-smi from `FILE`, - for stdin, and ask no host", "从 `FILE` 读取粘贴的 npu-smi 输出，- 为标准输入，不询问主机"))
			f.text(&o.smiCmd, "npu-smi-cmd", "", report.T("`ARGS` it was called with: \"info -t board -i 0\"", "其调用参数 `ARGS`，例如 \"info -t board -i 0\""))
			f.value(&o.pasted, "npu-smi-exit", report.T("its exit status `N`", "其退出码 `N`"))
			o.recordFlags.flags(f)
		},
		sub: []command{s.diffCommand()},
		run: func(ctx context.Context, _ []string) error {
			if o.smi != "" {
				return s.pastedSMI(o)
			}
			return s.facts(ctx, o)
		},
	}
}

// pastedSMI reads a table that somebody pasted: no host is asked.
func (s *session) pastedSMI(o factsOptions) error {
	text, err := s.readInput("--npu-smi", o.smi)
	if err != nil {
		return err
	}
	cmdline := o.smiCmd
	if cmdline != "" && !strings.HasPrefix(cmdline, "npu-smi") {
		cmdline = "npu-smi " + cmdline
	}
	return s.show(screen.NPUSmi{Envelope: s.envelope("npu-smi/v1"), NPUSmi: facts.ParseNPUSmi(text, nil, cmdline, o.pasted.code)})
}

func (s *session) facts(ctx context.Context, o factsOptions) error {
	ts, err := s.targets(o.targetFlags)
	if err != nil {
		return err
	}
	if err := o.recordFlags.one(ts); err != nil {
		return err
	}
	look, err := s.lookOptions(facts.Options{PID: o.pid, Deep: o.deep, Serving: true, Reach: o.reach})
	if err != nil {
		return err
	}
	done := onEach(ctx, s, o.targetFlags, ts, func(ctx context.Context, t host.Target, h host.Host) (facts.Facts, error) {
		h, tape := tapeOf(h, o.recordFlags)
		f := facts.Collect(ctx, h, look)
		return f, s.writeRecording(o.recordFlags, tape, host.Wanted{})
	})
	if len(done) == 1 && done[0].err != nil {
		return done[0].err
	}
	d, worst := screen.Facts{}, []report.Exit{}
	for _, r := range done {
		h := screen.HostFacts{Host: r.name}
		if r.err != nil {
			h.Error = why(r.err)
			worst = append(worst, exitCode(ctx, r.err))
		} else {
			h.Facts = &r.value
		}
		d.Hosts = append(d.Hosts, h)
	}
	d.Envelope = s.envelope("facts/v1")
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(worst...)
}

// verdictOf is nil for a clean end.
func verdictOf(codes ...report.Exit) error {
	if w := report.Worst(codes...); w != report.ExitOK {
		return verdict(w)
	}
	return nil
}

// tapeOf puts a recorder before the host where one is wanted.
func tapeOf(h host.Host, o recordFlags) (host.Host, *host.Recorder) {
	if o.file == "" {
		return h, nil
	}
	r := host.Record(h)
	return r, r
}

// lookOptions adds what a look needs to know: tables of chips and boards.
func (s *session) lookOptions(o facts.Options) (facts.Options, error) {
	b, err := s.book()
	if err != nil {
		return o, err
	}
	if o.Chips, err = book.Rows[facts.Chip](b, "soc.yaml", "pci"); err != nil {
		return o, err
	}
	o.Boards, err = book.Rows[facts.Board](b, "soc.yaml", "boards")
	o.Now = func() time.Time { return s.app.Now() }
	return o, err
}
