package cmd

import (
	"context"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) inspectCommand() command {
	return command{
		use:   "inspect <FILE>",
		group: groupLook,
		short: report.T("Show what a model file says about itself", "显示模型文件的自述信息"),
		examples: []example{
			{report.T("inputs, outputs, opset, operators", "输入、输出、opset 与算子"), "ascendctl inspect resnet50.onnx"},
			{report.T("for a script", "供脚本使用"), "ascendctl inspect resnet50.onnx -o json"},
		},
		exits: report.T("0 read, 1 not a model or damaged", "0 已读取，1 不是模型文件或已损坏"),
		files: []string{"onnx", "om", "mindir"},
		run: func(_ context.Context, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			return s.show(screen.Inspect{Envelope: s.envelope("inspect/v1"), Model: *m})
		},
	}
}

// show writes the answer to stdout in the form of -o.
func (s *session) show(d screen.Document) error {
	return screen.Write(s.format, s.app.Out, s.out, d)
}
