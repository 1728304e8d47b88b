package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ascendctl/ascendctl/internal/report"
)

// command is one command as data. cobra parses and completes; what people
// read comes from here, in their language.
type command struct {
	use      string // "inspect <FILE>"
	alias    string // another name, "" = none
	group    report.Text
	short    report.Text // one imperative sentence, no full stop
	long     report.Text
	examples []example
	exits    report.Text
	flags    func(*flagSet)
	files    []string // extensions that complete the argument
	formats  []string // of -o, beside table, json and yaml
	works    bool     // does more than look
	run      func(ctx context.Context, args []string) error
	sub      []command
}

// example is a comment and the line under it.
type example struct {
	about report.Text
	line  string
}

// The groups of flags in help, in this order.
var (
	flagsWhat   = report.Text{En: "What", Zh: "内容"}
	flagsTarget = report.Text{En: "Target", Zh: "目标"}
	flagsLimits = report.Text{En: "Limits", Zh: "限制"}
	flagsSafety = report.Text{En: "Safety", Zh: "安全"}
	flagsOutput = report.Text{En: "Output", Zh: "输出"}
)

// flagSet takes flags with both texts; it picks the one of this run.
type flagSet struct {
	*pflag.FlagSet
	lang report.Lang
	in   report.Text // the group that what follows belongs to
}

const groupKey = "group"

func (f *flagSet) text(p *string, name, value string, about report.Text) {
	f.StringVar(p, name, value, about.In(f.lang))
	f.mark(name)
}

func (f *flagSet) texts(p *[]string, name string, about report.Text) {
	f.StringArrayVar(p, name, nil, about.In(f.lang))
	f.mark(name)
}

func (f *flagSet) number(p *int, name string, value int, about report.Text) {
	f.IntVar(p, name, value, about.In(f.lang))
	f.mark(name)
}

func (f *flagSet) yes(p *bool, name, letter string, about report.Text) {
	f.BoolVarP(p, name, letter, false, about.In(f.lang))
	f.mark(name)
}

func (f *flagSet) value(v pflag.Value, name string, about report.Text) {
	f.Var(v, name, about.In(f.lang))
	f.mark(name)
}

// hidden takes a flag that people need not know.
func (f *flagSet) hidden(p *string, name string) {
	f.StringVar(p, name, "", "")
	_ = f.MarkHidden(name) // fails only for a flag that is not there
}

func (f *flagSet) mark(name string) {
	_ = f.SetAnnotation(name, groupKey, []string{f.in.In(f.lang)}) // fails only for a flag that is not there
}

// build makes the cobra command of c and of all below it; flags only where
// wanted says so, because they are most of the work.
func (s *session) build(c command, wanted func(command) bool) *cobra.Command {
	cc := &cobra.Command{
		Use: c.use, Short: c.short.In(s.lang), Long: c.long.In(s.lang),
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		ValidArgsFunction: completeFiles(c.files),
	}
	cc.SetHelpFunc(func(cc *cobra.Command, _ []string) { s.help(c, cc) })
	cc.SetFlagErrorFunc(func(cc *cobra.Command, err error) error { return flagProblem(cc, err) })
	if c.alias != "" {
		cc.Aliases = []string{c.alias}
	}
	f := &flagSet{FlagSet: cc.Flags(), lang: s.lang, in: flagsWhat}
	if c.flags != nil && wanted(c) {
		c.flags(f)
	}
	cc.Args = func(cc *cobra.Command, args []string) error { return checkArgs(c, cc, args) }
	cc.RunE = func(cc *cobra.Command, args []string) error {
		if c.run == nil {
			return cc.Help()
		}
		s.ran, s.works = strings.TrimPrefix(cc.CommandPath(), Name+" "), c.works
		if err := s.checkGlobals(cc, c.formats); err != nil {
			return err
		}
		return c.run(cc.Context(), args)
	}
	for _, sub := range c.sub {
		cc.AddCommand(s.build(sub, wanted))
	}
	return cc
}

// checkArgs compares the arguments with the words of use: <REQUIRED> and
// [OPTIONAL], each once, or with dots behind it any number of times.
func checkArgs(c command, cc *cobra.Command, args []string) error {
	if len(c.sub) > 0 && !strings.ContainsAny(c.use, "[<") {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cc, args[0])
	}
	need, may := 0, 0
	for _, w := range strings.Fields(c.use)[1:] {
		switch {
		case strings.HasPrefix(w, "<"):
			need, may = need+1, may+1
		case strings.HasPrefix(w, "[") && w != "[flags]":
			may++
		}
		if strings.HasSuffix(w, "...") {
			may = len(args)
		}
	}
	line := strings.TrimSpace(strings.TrimSuffix(cc.CommandPath(), c.name()) + c.use)
	run := cc.CommandPath() + " --help"
	switch {
	case len(args) < need:
		return usage(report.T("%s needs an argument", "%s 缺少参数", cc.CommandPath()), report.Same(line),
			report.T("give it after the command", "在命令后给出该参数"), run)
	case len(args) > may:
		return usage(report.T("%s: argument %q is one too many", "%s：参数 %q 多余", cc.CommandPath(), args[may]), report.Same(line),
			report.T("leave it out, or quote what belongs together", "去掉该参数，或给应为一体的内容加引号"), run)
	}
	return nil
}

func (c command) name() string { return strings.Fields(c.use)[0] }

func unknownCommand(cc *cobra.Command, word string) error {
	do := report.T("choose one of: %s", "可用的子命令：%s", strings.Join(names(cc), ", "))
	if near := report.Nearest(word, names(cc)); near != "" {
		do = report.T("did you mean %s", "是否指 %s", near)
	}
	return usage(report.T("unknown command %q", "未知命令 %q", word), report.Text{}, do, cc.CommandPath()+" --help")
}

func names(cc *cobra.Command) []string {
	var out []string
	for _, sub := range cc.Commands() {
		if !sub.Hidden {
			out = append(out, sub.Name())
		}
	}
	return out
}

// flagProblem says in both languages what pflag says in English.
func flagProblem(cc *cobra.Command, err error) error {
	var (
		none    *pflag.NotExistError
		value   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	what, why, do := report.Same(err.Error()), report.Text{}, report.T("see the flags of this command", "查看该命令的选项")
	switch {
	case errors.As(err, &none):
		name := "--" + none.GetSpecifiedName()
		if none.GetSpecifiedShortnames() != "" {
			name = "-" + none.GetSpecifiedName()
		}
		what = report.T("unknown flag: %s", "未知选项：%s", name)
		var known []string
		cc.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		what = report.T("%s%s", "%s%s", what, report.Meant(name, known))
	case errors.As(err, &value):
		what = report.T("--%s needs a value", "--%s 缺少取值", value.GetFlag().Name)
		do = report.T("give %s", "给出 %s", report.Same(value.GetFlag().Usage))
	case errors.As(err, &invalid):
		what = report.T("--%s %s: not a value it takes", "--%s %s：取值无效", invalid.GetFlag().Name, invalid.GetValue())
		why = report.Same(invalid.Unwrap().Error())
		if want := (*report.Problem)(nil); errors.As(err, &want) {
			why = want.What
		}
		do = report.T("give %s", "给出 %s", report.Same(invalid.GetFlag().Usage))
	}
	return usage(what, why, do, cc.CommandPath()+" --help")
}

func completeFiles(extensions []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// oneOf refuses a value that is none of those.
func oneOf(flag, got string, want ...string) error {
	if slices.Contains(want, got) {
		return nil
	}
	return usage(report.T("--%s %s: not a value it takes", "--%s %s：取值无效", flag, got), report.Text{},
		report.T("give one of: %s", "可用取值：%s", strings.Join(want, ", ")), "")
}
