package screen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// showOM is Show for an .om.
func (d Inspect) showOM(o *ui.Out, c *model.OM) {
	o.Print("%s  %s\n", o.Bold(d.File), report.T(".om, container %s, %s, %s", ".om，容器 %s，%s，%s", c.Header, ui.Bytes(d.Bytes), shapes(d.Gears, c)).In(o.Lang()))
	o.Pairs(2, []ui.Pair{
		head(report.T("graph", "图"), string(d.Graph)),
		head(report.T("chip", "芯片"), d.chip().In(o.Lang())),
		head(report.T("compiler", "编译器"), d.compiler().In(o.Lang())),
		head(report.T("nodes", "图节点"), fmt.Sprintf("%d: %s", d.Nodes, strings.Join(histogram(d.Ops), ", "))),
		head(report.T("memory", "内存"), d.memory().In(o.Lang())),
		head(report.T("streams", "流"), d.streams().In(o.Lang())),
		head(report.T("external", "外部数据"), outside(c).In(o.Lang())),
		head(report.T("command", "命令"), string(d.Command.Line)),
		head(report.Text{}, d.hidden().In(o.Lang())),
	})
	var rows [][]string
	for _, p := range d.Inputs {
		kind := report.T("input", "输入")
		if p.Gear {
			kind = report.T("gear", "档位")
		}
		rows = append(rows, omPort(kind.In(o.Lang()), p))
	}
	for _, p := range d.Outputs {
		rows = append(rows, omPort(report.T("output", "输出").In(o.Lang()), p))
	}
	o.Table([]ui.Column{{}, {Head: report.T("NAME", "名称")}, {Head: report.T("TYPE", "类型")}, {Head: report.Same("SHAPE")}, {Head: report.T("LAYOUT", "排布")},
		{Head: report.T("BYTES", "字节"), Right: true}, {Head: report.T("PADDED", "补齐后"), Right: true}}, rows)
	if d.Chip != "" {
		o.Say(report.T("Runs on %s only.", "只能在 %s 上运行。", string(d.Chip)))
	}
	o.Say(report.T("Next: %s", "下一步：%s", report.Line("ascendctl", "serve", d.File)))
}

// shapes says what the model was compiled for.
func shapes(g model.Gears, c *model.OM) report.Text {
	switch {
	case c.Dynamic:
		return report.T("dynamic shape", "动态 shape")
	case g.Kind != "":
		return report.T("gears %s", "档位 %s", g)
	}
	return report.T("static shape", "静态 shape")
}

func (d Inspect) chip() report.Text {
	if d.Chip == "" {
		return report.T("unknown: the file records none", "未知：文件未记录")
	}
	return report.Same(string(d.Chip))
}

// compiler is "atc 7.6.0.1.220 (CANN 8.0.0), from Onnx".
func (d Inspect) compiler() report.Text {
	c := d.Compiler
	if c.ATC == "" {
		return report.Text{}
	}
	words := "atc " + string(c.ATC)
	if c.CANN != "" {
		words += " (CANN " + string(c.CANN) + ")"
	}
	t := report.Same(words)
	if c.Framework != "" {
		t = report.T("%s, from %s", "%s，来源 %s", t, string(c.Framework))
	}
	if c.Host != "" {
		t = report.T("%s, host code for %s", "%s，主机侧代码面向 %s", t, string(c.Host))
	}
	return t
}

func (d Inspect) memory() report.Text {
	work := report.T("unknown", "未知")
	if d.Memory.Work != nil {
		work = report.Same(grouped(*d.Memory.Work) + " B")
	}
	return report.T("work %s, weights %s B: what aclmdlQuerySize would say", "工作内存：%s，权重：%s B，与 aclmdlQuerySize 的结果一致", work, grouped(d.Memory.Weight))
}

func (d Inspect) streams() report.Text {
	if d.Compiler.Streams == nil {
		return report.Text{}
	}
	events := report.T("unknown", "未知")
	if n := d.Compiler.Events; n != nil {
		events = report.Same(strconv.FormatInt(*n, 10))
	}
	return report.T("%d, events %s", "%d，事件 %s", *d.Compiler.Streams, events)
}

func outside(c *model.OM) report.Text {
	if !c.External {
		return report.Text{}
	}
	return report.T("weights lie in the folder weight beside it, which has to be copied along", "权重位于同目录的 weight 文件夹中，复制模型时须一并复制")
}

func (d Inspect) hidden() report.Text {
	if len(d.Command.Hidden) == 0 {
		return report.Text{}
	}
	return report.T("(hidden, as they may name the builder's folders: %s; --show-paths)", "（以下选项可能含构建者的目录，未显示：%s；使用 --show-paths 显示）", strings.Join(d.Command.Hidden, ", "))
}

func omPort(kind string, p model.Port) []string {
	// Types newer than the table have a word only.
	row := port(kind, p)
	if p.DType.ONNX() != string(p.Word) && p.Word != "" {
		row[2] = strings.ToLower(string(p.Word))
	}
	padded := ""
	if p.Padded != nil {
		padded = strconv.FormatInt(*p.Padded, 10)
	}
	return append(row[:4:4], p.Layout, row[4], padded)
}

// grouped is a number with a comma before every three digits: 6,014,464.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
