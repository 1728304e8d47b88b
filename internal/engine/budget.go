package engine

import (
	"fmt"
	"math"

	"github.com/ascendctl/ascendctl/internal/report"
)

// Need is the device memory of one model, in bytes, each number that of one
// instance.
type Need struct {
	Model         string
	Instances     int // 0: 1
	Weights, Work int64
	IO            int64 // inputs and outputs at the largest gear
}

// Room is the memory there is, in bytes.
type Room struct {
	Free, Total int64 // as the device tells
	// Available is MemAvailable of the system on RC boards, where both are one
	// pool and what the device calls free counts no page cache; 0 elsewhere.
	Available int64
	Reserve   int64 // for contexts, streams and AI CPU; 0: the default
}

// Budget is the verdict, with its numbers in bytes.
type Budget struct {
	Fits          bool
	Room          int64 // what can be given out at all
	Reserve       int64 // kept back from it
	Need, Short   int64
	needs         []Need
	systemIsShort bool
}

// Fit adds up what models need and compares it with what there is, before
// anything is loaded. The default reserve is 512 MiB or 5 %: the lesser on a
// card; the greater on an RC board, where the system lives in the same memory.
func Fit(r Room, needs []Need) Budget {
	b := Budget{Room: max(r.Free, 0), Reserve: r.Reserve, needs: needs}
	if r.Available > 0 && r.Available < b.Room {
		b.Room, b.systemIsShort = r.Available, true
	}
	if b.Reserve == 0 {
		b.Reserve = min(512<<20, r.Total/20)
		if r.Available > 0 {
			b.Reserve = max(512<<20, r.Total/20)
		}
	}
	for _, n := range needs {
		b.Need = plus(b.Need, n.bytes())
	}
	b.Short = max(plus(b.Need, b.Reserve)-b.Room, 0)
	b.Fits = b.Short == 0
	return b
}

func (n Need) bytes() int64 {
	k, one := int64(max(n.Instances, 1)), plus(plus(max(n.Weights, 0), max(n.Work, 0)), max(n.IO, 0))
	if one > math.MaxInt64/k {
		return math.MaxInt64
	}
	return one * k
}

// plus stops at the largest number: sizes come from files.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// text is the sum of one model.
func (n Need) text() report.Text {
	return report.T("%s %d x (weights %s + work %s + inputs and outputs %s)", "%s %d x（权重 %s + 工作内存 %s + 输入输出 %s）",
		n.Model, max(n.Instances, 1), gib(n.Weights), gib(n.Work), gib(n.IO))
}

// Problem says what does not fit, with the numbers; nil when all fits.
func (b Budget) Problem(device int) *report.Problem {
	if b.Fits {
		return nil
	}
	var list report.Text
	for i, n := range b.needs {
		if list = report.T("%s; %s", "%s；%s", list, n.text()); i == 0 {
			list = n.text()
		}
	}
	free := report.T("free on the device", "设备空闲")
	if b.systemIsShort {
		free = report.T("available to the system (MemAvailable)", "系统可用（MemAvailable）")
	}
	return &report.Problem{
		What: report.T("the models do not fit on device %d: %s are short", "设备 %d 内存不足以加载模型：缺少 %s", device, gib(b.Short)),
		Why: report.T("needed %s: %s; kept back %s, %s: %s", "需要 %s：%s；预留 %s，%s：%s",
			gib(b.Need), list, gib(b.Reserve), free, gib(b.Room)),
		Do:   report.T("serve fewer models or instances, or compile smaller gears", "减少模型或实例数量，或编译更小的档位"),
		Exit: report.ExitFailed,
	}
}

// gib writes a size as people compare it; small ones keep their digits.
func gib(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
