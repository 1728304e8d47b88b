package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/plan"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// changeFlags are those of every command that changes hosts.
type changeFlags struct {
	dryRun, yes bool
	risks       []string
	serial      int
}

func (c *changeFlags) flags(f *flagSet) {
	f.in = flagsSafety
	f.yes(&c.dryRun, "dry-run", "", report.T("show the plan, change nothing", "仅显示变更计划，不做变更"))
	f.yes(&c.yes, "yes", "y", report.T("agree to the plan, not to its risks", "同意变更计划（不含其中的风险）"))
	f.texts(&c.risks, "accept-risk", report.T("agree to the dangers in `LIST`: %s; repeatable", "同意列出的风险 `LIST`：%s；可重复给出", strings.Join(plan.Risks(), ", ")))
	f.number(&c.serial, "serial", 1, report.T("change `N` hosts at once; a failure stops the rest", "同时变更 `N` 台主机；出现失败即停止其余主机"))
}

// check refuses dangers nobody knows, before any host is asked.
func (c changeFlags) check() error {
	for _, r := range c.accepted() {
		if err := oneOf("accept-risk", r, plan.Risks()...); err != nil {
			return err
		}
	}
	return nil
}

func (c changeFlags) accepted() []string {
	return strings.FieldsFunc(strings.Join(c.risks, ","), func(r rune) bool { return r == ',' || r == ' ' })
}

// recorded is true for a host that is a file: it can be looked at only.
func recorded(h host.Host) bool {
	_, ok := h.(interface{ Wanted() host.Wanted })
	return ok
}

// onlyLook refuses to change a recording.
func onlyLook() error {
	return usage(report.T("a recording cannot be changed", "主机记录无法变更"), report.Text{}, report.T("name the host itself, or only look with --dry-run", "指定主机本身，或用 --dry-run 仅查看"), "")
}

// site is one host with its door open, and the plan for it.
type site struct {
	target host.Target
	host   host.Host
	made   *plan.Made
	show   screen.ChangePlan
	err    error
	refuse error // a precondition: the plan can be shown and not run
}

// sites opens every host; those that do not answer keep their error. close
// must be called.
func (s *session) sites(ctx context.Context, f targetFlags, ts []host.Target) (all []*site, closeAll func()) {
	opened := host.Each(ctx, ts, f.parallel, 0, func(ctx context.Context, t host.Target) (host.Host, error) { return s.connect(ctx, t, f) })
	for i, o := range opened {
		all = append(all, &site{target: ts[i], host: o.Value, err: o.Err})
	}
	return all, func() {
		for _, k := range all {
			if k.host != nil {
				_ = k.host.Close()
			}
		}
	}
}

// onSites does the same at every open site at once.
func (s *session) onSites(ctx context.Context, f targetFlags, all []*site, do func(context.Context, *site) error) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, f.parallel))
	for _, k := range all {
		if k.err != nil {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			k.err = placed(do(ctx, k), f.at, k.target.Name)
		})
	}
	wg.Wait()
}

// planOptions are those of every run: who changes, what must not be shown, and
// who hears of it.
func (s *session) planOptions() plan.Options {
	name := ""
	if s.app.Hostname != nil {
		name, _ = s.app.Hostname() // only a name in a journal
	}
	return plan.Options{Redact: s.secrets, Now: s.app.Now, Who: first(s.app.Getenv("USER"), "?") + "@" + first(name, "?"), Tell: s.teller()}
}

// teller writes how a change goes to stderr and to the log, one line a step;
// what takes long is heard of every ten seconds.
func (s *session) teller() func(plan.Event) {
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(e plan.Event) {
		mu.Lock()
		defer mu.Unlock()
		s.log.Info("step", "host", e.Host, "step", e.Step, "is", string(e.Is), "why", e.Why, "ms", e.Took.Milliseconds())
		at := fmt.Sprintf("[%d/%d]", e.N, e.Of)
		switch e.Is {
		case plan.Started:
			last[e.Host] = s.app.Now()
		case plan.Finished:
			s.err.Say(report.T("%s %s  %s  done in %s", "%s %s  %s  完成，用时 %s", e.Host, at, e.Title, ui.Duration(e.Took)))
		case plan.Found:
			s.err.Say(report.T("%s %s  %s  was done already", "%s %s  %s  之前已完成", e.Host, at, e.Title))
		case plan.Failed:
			s.err.Say(report.T("%s %s  %s  failed after %s: %s", "%s %s  %s  失败，用时 %s：%s", e.Host, at, e.Title, ui.Duration(e.Took), e.Why))
		case plan.Undid:
			s.err.Say(report.T("%s undo  %s  done", "%s 撤销  %s  完成", e.Host, e.Title))
		case plan.Stays:
			s.err.Say(report.T("%s undo  %s  left: %s", "%s 撤销  %s  遗留：%s", e.Host, e.Title, e.Why))
		case plan.Taken:
			s.err.Say(report.T("%s the lock of a run that is gone was taken over", "%s 接管了已不存在的运行留下的锁", e.Host))
		case plan.Waiting:
			if s.app.Now().Sub(last[e.Host]) < 10*time.Second {
				return
			}
			last[e.Host] = s.app.Now()
			if e.Size > 0 {
				s.err.Say(report.T("%s %s  %s  %d %%", "%s %s  %s  %d %%", e.Host, at, e.Title, e.Sent*100/e.Size))
				return
			}
			s.err.Say(report.T("%s %s  %s  waiting for %s, %s", "%s %s  %s  等待 %s，已 %s", e.Host, at, e.Title, e.Act, ui.Duration(e.Took)))
		}
	}
}

// course is what differs from one changing command to the next.
type course struct {
	again string                      // the command line to go on with
	at    func(name string) string    // names a host on a command line
	first func(context.Context) error // runs when all is agreed to, before any plan; may be nil
	next  func(*site) string          // what to run when all is done; may be nil
	final bool                        // undo gives nothing back: it is not offered
}

// change shows the plans, asks, runs them and says what came of it.
func (s *session) change(ctx context.Context, c changeFlags, all []*site, k course) error {
	d := screen.Change{Verbose: s.flags.verbose}
	var made []*plan.Made
	var failed error
	for _, on := range all {
		if on.err != nil {
			failed = on.err
			on.show = screen.ChangePlan{Error: why(on.err)}
		} else if on.made != nil { // a recording has a draft only
			on.show.Shown = on.made.Show()
			made = append(made, on.made)
		}
		on.show.Host = on.target.Name
		d.Plans = append(d.Plans, on.show)
	}
	if failed != nil && len(all) == 1 {
		return failed
	}
	d.Envelope = s.envelope("change/v1")
	changes := 0
	for _, p := range d.Plans {
		changes += p.Changes()
	}
	if c.dryRun && changes > 0 && len(made) == len(all) {
		d.Again = k.again
	}
	err := refused(ctx, c, all, k)
	if err == nil && changes > 0 && !c.dryRun {
		if s.format == "table" { // read before it is agreed to; as data it stands beside its results
			if err := s.show(d); err != nil {
				return err
			}
		}
		if err = s.agree(ctx, c, made, k); err != nil && s.format == "table" {
			return err
		}
	}
	if err != nil || c.dryRun || changes == 0 {
		return errors.Join(s.show(d), err)
	}
	if k.first != nil {
		if err := k.first(ctx); err != nil {
			return err
		}
	}
	return s.roll(ctx, c, d, all, made, k)
}

// refused says why the plans cannot be run, or as a verdict that a fleet that
// was only looked at has not answered whole.
func refused(ctx context.Context, c changeFlags, all []*site, k course) error {
	for _, on := range all {
		switch {
		case on.err == nil:
		case c.dryRun:
			return verdict(exitCode(ctx, on.err))
		default: // a fleet is changed whole or not at all
			return &report.Problem{What: report.T("not every host has a plan: nothing was changed", "并非所有主机都有变更计划：未做任何变更"), Why: *why(on.err),
				Do: report.T("mend that host or leave it out", "先修复该主机，或将其排除"), Exit: exitCode(ctx, on.err), Err: on.err}
		}
	}
	for _, on := range all {
		var p *report.Problem
		if errors.As(placed(on.refuse, k.at, on.target.Name), &p) {
			if len(all) > 1 {
				p.What = report.T("%s: %s", "%s：%s", on.target.Name, p.What)
			}
			return p
		}
	}
	for _, on := range all {
		if !c.dryRun && on.show.Changes() > 0 && recorded(on.host) {
			return onlyLook()
		}
	}
	return nil
}

// agree asks for consent. What nobody could read first, nobody is asked about.
func (s *session) agree(ctx context.Context, c changeFlags, made []*plan.Made, k course) error {
	ask := s.consent()
	if s.format != "table" {
		ask = nil
	}
	err := plan.Agree(ctx, plan.Consent{Yes: c.yes, Risks: c.accepted(), Ask: ask}, made...)
	var p *report.Problem
	if errors.As(err, &p) && p.Run == "" {
		copied := *p
		copied.Run = k.again
		return &copied
	}
	return err
}

// placed makes the line that a problem tells people to run speak of the host as
// it was named here: rooms below know its name and not the hosts file.
func placed(err error, at func(string) string, name string) error {
	var p *report.Problem
	if !errors.As(err, &p) {
		return err
	}
	copied := *p
	short := " --host " + report.Line(name)
	if !strings.Contains(p.Run, " --hosts ") && !strings.Contains(p.Run, " -i ") && !strings.Contains(p.Run, " --identity ") { // else it is the line this run began with
		copied.Run = strings.Replace(p.Run, short, at(name), 1)
	}
	return &copied
}

// consent asks the person at the terminal; nil where nobody is there.
func (s *session) consent() func(context.Context, []plan.Shown, string) (bool, error) {
	if s.app.Ask == nil || s.app.Getenv("CI") != "" {
		return nil
	}
	return func(ctx context.Context, _ []plan.Shown, risk string) (bool, error) {
		question := report.T("Apply? [y/N]", "执行变更？[y/N]")
		if risk != "" {
			question = report.T("Accept the risk %s? [y/N]", "接受风险 %s？[y/N]", risk)
		}
		answer, err := s.app.Ask(ctx, question.In(s.lang), true)
		return err == nil && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")), err
	}
}

// roll runs what was agreed to.
func (s *session) roll(ctx context.Context, c changeFlags, d screen.Change, all []*site, made []*plan.Made, k course) error {
	rolled := plan.Roll(ctx, made, c.serial)
	var first error
	for i, r := range rolled {
		o := screen.ChangeOutcome{Host: all[i].target.Name, Outcome: r.Outcome, TookMS: r.Took.Milliseconds()}
		if r.Err != nil {
			o.Error, first = why(r.Err), placed(r.Err, k.at, all[i].target.Name)
		}
		d.Results = append(d.Results, o)
	}
	restarts := false
	for i, r := range rolled {
		restarts = restarts || r.State == plan.Restart
		if r.ID != "" && r.State == plan.Done && !k.final {
			d.Undo = append(d.Undo, s.ours("ascendctl undo"+k.at(all[i].target.Name)+" "+r.ID))
		}
	}
	switch {
	case first != nil && len(rolled) == 1: // its problem says what to do
	case first != nil, restarts: // on any of them
		d.Next = s.ours(k.again)
	case k.next != nil:
		d.Next = s.ours(k.next(all[0]))
	}
	d.Envelope = s.envelope("change/v1")
	if err := s.show(d); err != nil {
		return err
	}
	if len(rolled) == 1 && first != nil {
		return first
	}
	return verdictOf(plan.Exit(rolled))
}

// again is this command line without the flags that only show, secrets masked.
func (s *session) again(without ...string) string {
	words := []string{Name}
	for _, a := range s.args {
		if !slices.Contains(without, a) {
			words = append(words, a)
		}
	}
	return s.secrets.String(report.Line(words...))
}
