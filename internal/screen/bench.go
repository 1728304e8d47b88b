package screen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ascendctl/ascendctl/internal/bench"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Bench is what a run measured.
type Bench struct {
	report.Envelope
	bench.Result
}

// Show writes the document for people.
func (d Bench) Show(o *ui.Out) {
	dev := ServeDevice{Kind: d.Device.Kind, Name: d.Device.Name, Simulated: d.Device.Simulated}
	o.Say(report.T("%s on %s, closed loop, rows per request: %d", "%s 运行于 %s，闭环，每个请求的行数：%d", o.Bold(d.Model), device(dev), d.RowsPerSend))
	var rows [][]string
	for _, l := range d.Levels {
		right := "-"
		if l.Accuracy != nil {
			right = fmt.Sprintf("%.2f %%", l.Accuracy.Percent)
		}
		rows = append(rows, []string{fmt.Sprint(l.Concurrency), fmt.Sprintf("%.0f", l.PerSecond), ms(l.P50), ms(l.P90), ms(l.P99), ms(l.Max), meanBatch(l), right, fmt.Sprint(l.Errors)})
	}
	o.Print("\n")
	o.Table([]ui.Column{
		right("CONCURRENCY", "并发数"), right("REQ/S", "请求/s"), right("P50 ms", "P50 ms"), right("P90 ms", "P90 ms"), right("P99 ms", "P99 ms"),
		right("MAX ms", "最大 ms"), right("MEAN BATCH", "平均 batch"), right("ACCURACY", "准确率"), right("ERRORS", "错误"),
	}, rows)
	d.last(o)
}

func right(en, zh string) ui.Column { return ui.Column{Head: report.Text{En: en, Zh: zh}, Right: true} }

// last says what a person in a hurry reads.
func (d Bench) last(o *ui.Out) {
	o.Print("\n")
	for _, l := range d.Levels {
		for _, kind := range slices.Sorted(maps.Keys(l.ErrorKinds)) {
			o.Say(report.T("%d clients: %d errors of kind %s", "%d 个客户端：%d 个 %s 错误", l.Concurrency, l.ErrorKinds[kind], kind))
		}
		if l.FirstError != "" {
			o.Say(report.T("  the first: %s", "  首个：%s", l.FirstError))
		}
		if a := l.Accuracy; a != nil {
			o.Say(report.T("accuracy %.2f %% (%d of %d right), %.0f req/s, P50 %s ms, P99 %s ms, mean batch %s", "准确率 %.2f %%（正确 %d，共 %d），%.0f 请求/s，P50 %s ms，P99 %s ms，平均 batch %s",
				a.Percent, a.Right, a.Total, l.PerSecond, ms(l.P50), ms(l.P99), meanBatch(l)))
		}
	}
}

// meanBatch is "-" where the service does not count its batches.
func meanBatch(l bench.Level) string {
	if l.MeanBatch == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *l.MeanBatch)
}
