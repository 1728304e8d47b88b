package cmd

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ascendctl/ascendctl/internal/report"
)

// The groups of commands in help.
var (
	groupDaily = report.Text{En: "Daily", Zh: "日常"}
	groupLook  = report.Text{En: "Look and choose", Zh: "查看与选择"}
	groupKeep  = report.Text{En: "Move and keep", Zh: "搬运与保存"}
)

// tree is every command there is.
func (s *session) tree() *cobra.Command { return s.treeWith(func(command) bool { return true }) }

// treeFor is tree for one line: a command that no word of it names cannot be
// run by it, and does without its flags.
func (s *session) treeFor(args []string) *cobra.Command {
	return s.treeWith(func(c command) bool {
		return slices.Contains(args, c.name()) || c.alias != "" && slices.Contains(args, c.alias)
	})
}

func (s *session) treeWith(wanted func(command) bool) *cobra.Command {
	root := s.build(command{
		use:   Name,
		short: report.T("Take a Huawei Ascend NPU host from bare to serving", "将昇腾 NPU 主机从裸机带到可提供推理服务"),
		long: report.T("This release looks at hosts, judges them, chooses versions, installs CANN by a plan that can be undone, and serves\nONNX models on the CPU and .om models through ACL. See docs/ for what works today.",
			"当前版本可查看并检查主机、选择配套版本、按可撤销的变更计划安装 CANN，并在 CPU 上提供 ONNX 模型、通过 ACL 提供 .om 模型的推理服务。\n现有能力见 docs/。"),
		examples: []example{
			{report.T("can this machine run the workload", "本机能否运行该工作负载"), "ascendctl preflight --for vllm-ascend"},
			{report.T("who holds which device", "各设备由谁占用"), "ascendctl top"},
			{report.T("serve a model on http://127.0.0.1:8000", "在 http://127.0.0.1:8000 提供模型服务"), "ascendctl serve model.onnx"},
		},
		exits: report.T("the same for all commands, see docs/exit-codes.md", "所有命令一致，见 docs/exit-codes.md"),
		sub:   []command{s.preflightCommand(), s.installCommand(), s.envCommand(), s.serveCommand(), s.benchCommand(), s.factsCommand(), s.topCommand(), s.compatCommand(), s.explainCommand(), s.inspectCommand(), s.listCommand(), s.bundleCommand(), s.cleanCommand(), s.undoCommand(), s.dataCommand(), s.versionCommand(), s.completionCommand(), s.helpCommand()},
	}, wanted)
	s.globals(&flagSet{FlagSet: root.PersistentFlags(), lang: s.lang})
	root.SetOut(s.app.Out)
	root.SetErr(s.app.Err)
	// cobra would add its own help command, in English only.
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			root.SetHelpCommand(c)
		}
	}
	return root
}

func (s *session) globals(f *flagSet) {
	g := &s.flags
	f.StringVarP(&g.output, "output", "o", s.format, report.T("`FORMAT` of the answer: table, json, yaml; preflight also junit; env also bash, fish, dotenv, systemd, docker", "输出格式 `FORMAT`：table、json、yaml；preflight 还支持 junit；env 还支持 bash、fish、dotenv、systemd、docker").In(s.lang))
	f.text(&g.lang, "lang", "", report.T("`LANG` of what people read: en, zh (default from the locale)", "界面语言 `LANG`：en、zh（默认取自 locale）"))
	f.text(&g.compat, "compat", "", report.T("overlay `DIR` over all built-in knowledge", "覆盖内置数据的目录 `DIR`"))
	f.text(&g.config, "config", "", report.T("config `FILE` instead of ~/.config/ascendctl/config.yaml", "配置文件 `FILE`，代替 ~/.config/ascendctl/config.yaml"))
	f.text(&g.progress, "progress", "auto", report.T("how long work is shown, `KIND`: auto, tty, plain, none", "耗时操作的进度显示方式 `KIND`：auto、tty、plain、none"))
	f.yes(&g.verbose, "verbose", "v", report.T("show evidence too", "同时显示依据"))
	f.yes(&g.quiet, "quiet", "q", report.T("only the verdict and the next command", "仅显示结论与下一步命令"))
	f.yes(&g.noColor, "no-color", "", report.T("no colour, as NO_COLOR", "不使用颜色，等同 NO_COLOR"))
	f.text(&g.logLevel, "log-level", "", report.T("`LEVEL` of the log file: debug, info, warn, error (default info)", "日志文件级别 `LEVEL`：debug、info、warn、error（默认 info）"))
	f.text(&g.logFormat, "log-format", "text", report.T("`FORMAT` of the log file: text, json", "日志文件格式 `FORMAT`：text、json"))
	f.text(&g.logFile, "log-file", "", report.T("log to `FILE` (default one per run in ~/.local/state/ascendctl/log)", "日志写入 `FILE`（默认每次运行一个，位于 ~/.local/state/ascendctl/log）"))
	f.yes(&g.help, "help", "h", report.T("this page", "显示本页"))
}

// checkGlobals refuses what the early reading of the line let pass.
func (s *session) checkGlobals(cc *cobra.Command, formats []string) error {
	var level slog.Level
	checks := []error{
		oneOf("output", s.format, append([]string{"table", "json", "yaml"}, formats...)...),
		oneOf("lang", first(s.flags.lang, "en"), "en", "zh"),
		oneOf("progress", s.flags.progress, "auto", "tty", "plain", "none"),
		oneOf("log-format", s.flags.logFormat, "text", "json"),
	}
	if s.flags.logLevel != "" && level.UnmarshalText([]byte(s.flags.logLevel)) != nil {
		checks = append(checks, oneOf("log-level", s.flags.logLevel, "debug", "info", "warn", "error"))
	}
	for _, err := range checks {
		if err != nil {
			err.(*report.Problem).Run = cc.CommandPath() + " --help"
			return err
		}
	}
	return nil
}

func (s *session) helpCommand() command {
	return command{
		use:   "help [COMMAND]",
		group: groupKeep,
		short: report.T("Explain a command", "说明某个命令"),
		run: func(_ context.Context, args []string) error {
			cc, rest, err := s.tree().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cc, rest[0])
			}
			return cc.Help()
		},
	}
}

func (s *session) completionCommand() command {
	return command{
		use:   "completion <SHELL>",
		group: groupKeep,
		short: report.T("Print the completion script of a shell", "打印 shell 补全脚本"),
		examples: []example{
			{report.T("for this shell", "用于当前 shell"), "source <(ascendctl completion bash)"},
			{report.T("for every new zsh", "用于今后的 zsh"), `ascendctl completion zsh > "${fpath[1]}/_ascendctl"`},
		},
		exits: report.T("0 printed, 64 unknown shell", "0 已打印，64 未知 shell"),
		run: func(_ context.Context, args []string) error {
			root := s.tree()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.app.Out, true)
			case "zsh":
				return root.GenZshCompletion(s.app.Out)
			case "fish":
				return root.GenFishCompletion(s.app.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.app.Out)
			}
			return usage(report.T("no completion for %s", "不支持 %s 的补全", args[0]), report.Text{},
				report.T("give one of: %s", "可用取值：%s", "bash, fish, powershell, zsh"), "ascendctl completion bash")
		},
	}
}
