package cmd

import (
	"context"
	"strings"

	"github.com/ascendctl/ascendctl/internal/codes"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/screen"
)

func (s *session) explainCommand() command {
	return command{
		use:   "explain <CODE>...",
		group: groupLook,
		short: report.T("Explain an error code of the Ascend stack", "说明昇腾软件栈的错误码"),
		long: report.T("Numbers and names of ACL, aclnn, HCCL, DCMI and the driver, and text codes such as E10016 and EZ9999.\nOne number can mean several things; the likeliest stands first.",
			"支持 ACL、aclnn、HCCL、DCMI 与驱动的数字和名称，以及 E10016、EZ9999 等文本码。\n同一数字可能有多种含义，最可能的排在最前。"),
		examples: []example{
			{report.T("a return code", "返回码"), "ascendctl explain 107002"},
			{report.T("a code in a log", "日志中的错误码"), "ascendctl explain EZ9999"},
			{report.T("a negative one", "负数"), "ascendctl explain -8005"},
			{report.T("a whole line of a log", "整行日志"), `ascendctl explain "aclrtSetDevice failed, ret = 507033"`},
		},
		exits: report.T("0 explained, 3 no such code is known, 64 not a code", "0 已说明，3 未收录该码，64 不是错误码"),
		run: func(_ context.Context, args []string) error {
			b, err := s.book()
			if err != nil {
				return err
			}
			query := strings.Join(args, " ")
			entries, err := codes.Load(b).Explain(query)
			if err != nil {
				return err
			}
			return s.show(screen.Explain{Envelope: s.envelope("explain/v1"), Answer: codes.Answer{Query: query, Entries: entries}, Verbose: s.flags.verbose})
		},
	}
}
