package cmd

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ascendctl/ascendctl/internal/report"
)

// help writes the page of one command: sentence, usage, examples, commands,
// flags by group, exit codes.
func (s *session) help(c command, cc *cobra.Command) {
	o := s.out
	o.Say(c.short)
	if !c.long.IsZero() {
		o.Print("\n")
		o.Say(c.long)
	}
	o.Print("\n%s\n  %s\n", report.T("Usage:", "用法：").In(s.lang), s.usageLine(c, cc))
	if len(c.examples) > 0 {
		o.Print("\n%s\n", report.T("Examples:", "示例：").In(s.lang))
		for i, e := range c.examples {
			if i > 0 {
				o.Print("\n")
			}
			o.Print("  # %s\n  %s\n", e.about.In(s.lang), e.line)
		}
	}
	s.helpCommands(c)
	own, every := s.flagBlocks(cc)
	for _, b := range own {
		o.Print("\n%s\n%s", b.head+colon(s.lang), b.lines)
	}
	if cc.HasParent() {
		o.Print("\n%s\n", report.T("Flags that every command has: ascendctl --help", "所有命令通用的选项：ascendctl --help").In(s.lang))
	} else {
		o.Print("\n%s\n%s", report.T("Flags of every command:", "所有命令通用的选项：").In(s.lang), every)
	}
	if !c.exits.IsZero() {
		o.Print("\n%s%s\n", report.T("Exit codes: ", "退出码：").In(s.lang), c.exits.In(s.lang))
	}
}

func colon(l report.Lang) string { return report.T(":", "：").In(l) }

func (s *session) usageLine(c command, cc *cobra.Command) string {
	line := strings.TrimSuffix(cc.CommandPath(), c.name()) + c.use
	switch {
	case len(c.sub) > 0 && strings.HasSuffix(c.use, "]..."): // serve [MODEL]...
		line = strings.TrimSuffix(line, "]...") + report.T("... | command]", "... | 命令]").In(s.lang)
	case len(c.sub) > 0 && c.run != nil:
		line += " " + report.T("[command]", "[命令]").In(s.lang)
	case len(c.sub) > 0:
		line += " " + report.T("<command>", "<命令>").In(s.lang)
	}
	return line + " [flags]"
}

// helpCommands lists what is below, under the names of its groups.
func (s *session) helpCommands(c command) {
	group, w := report.Text{}, 0
	for _, sub := range c.sub {
		w = max(w, len(sub.name()))
	}
	for i, sub := range c.sub {
		if sub.short.IsZero() {
			continue
		}
		if i == 0 || sub.group != group {
			group = sub.group
			head := report.T("Commands", "命令")
			if !group.IsZero() {
				head = group
			}
			s.out.Print("\n%s\n", head.In(s.lang)+colon(s.lang))
		}
		s.out.Print("  %-*s  %s\n", w, sub.name(), sub.short.In(s.lang))
	}
}

type flagBlock struct{ head, lines string }

// flagBlocks sorts a command's flags into its own, by group, and those it
// shares with all.
func (s *session) flagBlocks(cc *cobra.Command) (own []flagBlock, every string) {
	sets := map[string]*pflag.FlagSet{}
	cc.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		g := f.Annotations[groupKey]
		if f.Hidden || len(g) == 0 {
			return
		}
		if sets[g[0]] == nil {
			sets[g[0]] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		sets[g[0]].AddFlag(f)
	})
	for _, g := range []report.Text{flagsWhat, flagsTarget, flagsLimits, flagsSafety, flagsOutput} {
		if set := sets[g.In(s.lang)]; set != nil {
			own = append(own, flagBlock{g.In(s.lang), s.flagLines(set)})
		}
	}
	return own, s.flagLines(cc.Root().PersistentFlags())
}

// flagLines is pflag's table; the one English word in it is ours to translate.
func (s *session) flagLines(set *pflag.FlagSet) string {
	defaults := regexp.MustCompile(`(?m) \(default "?(.*?)"?\)$`)
	return defaults.ReplaceAllString(set.FlagUsages(), report.T(" (default $1)", "（默认 $1）").In(s.lang))
}
