package cmd

import (
	"context"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) diffCommand() command {
	var t targetFlags
	return command{
		use:   "diff [A] [B]",
		short: report.T("Compare a good host with a bad one, or a whole fleet", "比较正常主机与异常主机，或比较整批主机"),
		examples: []example{
			{report.T("two hosts, or recordings of them", "两台主机，或其主机记录"), "ascendctl facts diff root@npu01 replay:npu02.yaml"},
			{report.T("what differs over a fleet", "整批主机间的差异"), "ascendctl facts diff --hosts hosts.yaml"},
		},
		exits: report.T("0 compared, 5 a host gave no answer, 64 usage", "0 已比较，5 有主机无应答，64 用法错误"),
		flags: t.flags,
		run: func(ctx context.Context, args []string) error {
			t.hosts = append(t.hosts, args...)
			ts, err := s.targets(t)
			if err != nil {
				return err
			}
			if len(ts) < 2 {
				return usage(report.T("facts diff compares two hosts or more", "facts diff 至少比较 2 台主机"), report.Text{},
					report.T("name two, or a hosts file", "指定 2 台主机，或主机清单"), "ascendctl facts diff --help")
			}
			return s.diff(ctx, t, ts)
		},
	}
}

func (s *session) diff(ctx context.Context, t targetFlags, ts []host.Target) error {
	look, err := s.lookOptions(facts.Options{Serving: true})
	if err != nil {
		return err
	}
	done := onEach(ctx, s, t, ts, func(ctx context.Context, t host.Target, h host.Host) (*facts.Facts, error) {
		f := facts.Collect(ctx, h, look)
		f.Target = t.Name
		return &f, nil
	})
	if len(ts) == 2 {
		for _, r := range done {
			if r.err != nil {
				return r.err
			}
		}
		d := screen.Diff{A: ts[0].Name, B: ts[1].Name, Facts: facts.Diff(done[0].value, done[1].value), Verbose: s.flags.verbose}
		d.Envelope = s.envelope("facts-diff/v1")
		return s.show(d)
	}
	var fleet []*facts.Facts
	d, codes := screen.Drift{}, []report.Exit{}
	for _, r := range done {
		if r.err != nil {
			d.Silent = append(d.Silent, screen.DriftSilent{Host: r.name, Error: *why(r.err)})
			codes = append(codes, exitCode(ctx, r.err))
			continue
		}
		fleet, d.Hosts = append(fleet, r.value), append(d.Hosts, r.name)
	}
	d.Differs = facts.Drifts(fleet)
	d.Envelope = s.envelope("facts-drift/v1")
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(codes...)
}
