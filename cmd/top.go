package cmd

import (
	"context"
	"time"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) topCommand() command {
	var t targetFlags
	var watch bool
	every := durationValue(2 * time.Second)
	return command{
		use:   "top",
		group: groupLook,
		short: report.T("Show who holds which device, on many hosts", "显示多台主机上各设备的占用者"),
		examples: []example{
			{report.T("this machine, once", "本机，一次"), "ascendctl top"},
			{report.T("a fleet, again and again", "一批主机，持续刷新"), "ascendctl top --hosts hosts.yaml --watch"},
		},
		exits: report.T("0 looked, 5 a host gave no answer, 64 usage", "0 已查看，5 有主机无应答，64 用法错误"),
		flags: func(f *flagSet) {
			t.flags(f)
			f.in = flagsOutput
			f.yes(&watch, "watch", "", report.T("look again and again until Ctrl-C", "持续刷新，直到 Ctrl-C"))
			f.value(&every, "interval", report.T("`TIME` between two looks", "两次查看的间隔 `TIME`"))
		},
		run: func(ctx context.Context, _ []string) error {
			ts, err := s.targets(t)
			if err != nil {
				return err
			}
			if !watch {
				return s.top(ctx, t, ts)
			}
			return s.watch(ctx, t, ts, max(time.Duration(every), 500*time.Millisecond))
		},
	}
}

// watch redraws until the person leaves: that is its good end.
func (s *session) watch(ctx context.Context, t targetFlags, ts []host.Target, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if s.out.TTY() && s.format == "table" {
			s.out.Print("\x1b[H\x1b[2J")
		}
		err := s.top(ctx, t, ts)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err != nil && len(ts) == 1 {
			return err // one machine that is gone stays gone
		}
	}
}

func (s *session) top(ctx context.Context, t targetFlags, ts []host.Target) error {
	done := onEach(ctx, s, t, ts, func(ctx context.Context, _ host.Target, h host.Host) (facts.Sample, error) {
		return facts.TakeSample(ctx, h, s.app.Now), nil
	})
	if len(done) == 1 && done[0].err != nil {
		return done[0].err
	}
	d, codes := screen.Top{Verbose: s.flags.verbose, Now: s.app.Now()}, []report.Exit{}
	for _, r := range done {
		h := screen.TopHost{Host: r.name}
		if r.err != nil {
			h.Error = why(r.err)
			codes = append(codes, exitCode(ctx, r.err))
		} else {
			h.Sample = &r.value
		}
		d.Hosts = append(d.Hosts, h)
	}
	d.Envelope = s.envelope("top/v1")
	if err := s.show(d); err != nil {
		return err
	}
	return verdictOf(codes...)
}
