package screen

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Inspect is what a model file says about itself.
type Inspect struct {
	report.Envelope
	model.Model
}

// most is how many operators a screen names.
const most = 10

// Show writes the document for people.
func (d Inspect) Show(o *ui.Out) {
	if om, ok := d.Container.(*model.OM); ok {
		d.showOM(o, om)
		return
	}
	c, _ := d.Container.(*model.ONNX)
	o.Print("%s  ONNX IR %d, %s, %s\n", o.Bold(d.File), c.IR, opsets(c.Opsets), ui.Bytes(d.Bytes))
	o.Pairs(2, []ui.Pair{
		head(report.T("graph", "图"), string(d.Graph)),
		head(report.T("producer", "导出工具"), producer(d.Producer)),
		head(report.T("nodes", "图节点"), fmt.Sprintf("%d: %s", d.Nodes, strings.Join(histogram(d.Ops), ", "))),
		head(report.T("weights", "权重"), report.T("%d tensors, %s", "%d 个 Tensor，%s", d.Initializers.Count, ui.Bytes(d.Initializers.Bytes)).In(o.Lang())),
		head(report.T("external", "外部数据"), external(o, c)),
	})
	var rows [][]string
	for _, p := range d.Inputs {
		rows = append(rows, port(report.T("input", "输入").In(o.Lang()), p))
	}
	for _, p := range d.Outputs {
		rows = append(rows, port(report.T("output", "输出").In(o.Lang()), p))
	}
	o.Table([]ui.Column{{}, {Head: report.T("NAME", "名称")}, {Head: report.T("TYPE", "类型")}, {Head: report.Same("SHAPE")}, {Head: report.T("BYTES", "字节"), Right: true}}, rows)
	o.Say(report.T("Next: %s", "下一步：%s", report.Line("ascendctl", "serve", d.File)))
}

func port(kind string, p model.Port) []string {
	dtype := p.DType.String()
	if p.Type != "" {
		dtype = p.Full
	}
	size := "?"
	if p.Bytes != nil {
		size = fmt.Sprint(*p.Bytes)
	}
	return []string{kind, p.Name, dtype, shape(p.Dims), size}
}

// shape is "[batch,1,8,8]"; "?" where even the number of dims is unknown.
func shape(dims []model.Dim) string {
	if dims == nil {
		return "?"
	}
	words := make([]string, len(dims))
	for i, d := range dims {
		words[i] = d.String()
	}
	return "[" + strings.Join(words, ",") + "]"
}

func producer(p *model.Producer) string {
	if p == nil {
		return ""
	}
	return strings.TrimSpace(string(p.Name) + " " + string(p.Version))
}

// opsets names the default domain first: it is the one people ask for.
func opsets(byDomain map[string]int64) string {
	domains := make([]string, 0, len(byDomain))
	for d := range byDomain {
		domains = append(domains, d)
	}
	sort.Slice(domains, func(i, j int) bool {
		return domains[i] == "ai.onnx" || domains[j] != "ai.onnx" && domains[i] < domains[j]
	})
	for i, d := range domains {
		domains[i] = fmt.Sprintf("%s opset %d", d, byDomain[d])
	}
	return strings.Join(domains, ", ")
}

// histogram is "12 Conv", most frequent first.
func histogram(ops map[string]int) []string {
	names := make([]string, 0, len(ops))
	for n := range ops {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if ops[a] != ops[b] {
			return ops[b] - ops[a]
		}
		return strings.Compare(a, b)
	})
	rest := max(0, len(names)-most)
	names = names[:len(names)-rest]
	for i, n := range names {
		names[i] = fmt.Sprintf("%d %s", ops[n], n)
	}
	if rest > 0 {
		names = append(names, fmt.Sprintf("+%d", rest))
	}
	return names
}

func external(o *ui.Out, c *model.ONNX) string {
	if !c.External {
		return ""
	}
	return report.T("weights lie in files beside it, which have to be copied along", "权重位于同目录的其他文件中，复制模型时须一并复制").In(o.Lang())
}
