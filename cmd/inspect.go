package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
	"github.com/ascendctl/ascendctl/internal/ui"
)

func (s *session) inspectCommand() command {
	var paths bool
	return command{
		use:   "inspect <FILE>",
		group: groupLook,
		short: report.T("Show what a model file says about itself", "显示模型文件的自述信息"),
		examples: []example{
			{report.T("inputs, outputs, opset, operators", "输入、输出、opset 与算子"), "ascendctl inspect resnet50.onnx"},
			{report.T("a compiled model: chip, gears, memory, compiler", "已编译的模型：芯片、档位、内存与编译器"), "ascendctl inspect resnet50.om"},
			{report.T("for a script", "供脚本使用"), "ascendctl inspect resnet50.onnx -o json"},
		},
		exits: report.T("0 read, 1 not a model or damaged", "0 已读取，1 不是模型文件或已损坏"),
		flags: func(f *flagSet) {
			f.yes(&paths, "show-paths", "", report.T("also the paths in the command that compiled the model; they name its builder's folders", "同时显示编译命令中的路径；这些路径会暴露构建者的目录"))
		},
		files: []string{"onnx", "om", "mindir"},
		run: func(_ context.Context, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			if paths && m.Compiled != nil {
				m.Command.Reveal()
			}
			return s.show(screen.Inspect{Envelope: s.envelope("inspect/v1"), Model: *m})
		},
	}
}

// show writes the answer to stdout in the form of -o.
func (s *session) show(d screen.Document) error {
	if s.flags.quiet && s.format == "table" {
		return s.showEnd(d)
	}
	return screen.Write(s.format, s.app.Out, s.out, d)
}

// showEnd writes the last line of what people read, which has the verdict, and
// where that one only names the next command the line before it too.
func (s *session) showEnd(d screen.Document) error {
	var all strings.Builder
	out := ui.New(ui.Options{W: &all, TTY: s.app.OutTTY, Columns: s.app.Columns, Lang: s.lang, NoColor: true, Getenv: s.app.Getenv})
	if err := screen.Write(s.format, &all, out, d); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(all.String(), "\n"), "\n")
	last := len(lines) - 1
	next := report.T("Next: %s", "下一步：%s", "").In(s.lang)
	if last > 0 && strings.HasPrefix(lines[last], next) {
		last--
	}
	_, err := fmt.Fprintln(s.app.Out, strings.Join(lines[last:], "\n"))
	return err
}
