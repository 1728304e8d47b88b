package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/serve"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Serve says what is being served and where.
type Serve struct {
	report.Envelope
	URL       string       `json:"url"`
	Listen    string       `json:"listen"` // address and port really taken
	Open      bool         `json:"open"`   // reachable from other machines, without a token
	ReadyMS   int64        `json:"ready_ms"`
	Models    []ServeModel `json:"models"`
	AccessLog string       `json:"access_log,omitempty"` // file of the access log
	Drain     float64      `json:"drain_seconds"`        // how long a stop waits for running requests
}

// ServeModel is one model of a service.
type ServeModel struct {
	Name     string      `json:"name"`
	File     string      `json:"file"`
	Platform string      `json:"platform"` // OIP platform word
	Inputs   []ServePort `json:"inputs"`
	Outputs  []ServePort `json:"outputs"`
	Device   ServeDevice `json:"device"`
	MaxBatch int         `json:"max_batch"`         // rows of one run; 1: requests run alone
	Alone    report.Text `json:"alone,omitzero"`    // why requests run alone
	Lanes    int         `json:"lanes"`             // runs at once
	WarmMS   int64       `json:"load_and_warm_ms"`  // loading and warm-up
	Compiled report.Text `json:"compiled,omitzero"` // of an .om: its chip, gears and memory
	Units    []ServeUnit `json:"devices,omitempty"` // that run it in worker processes
}

// ServeUnit is one device of a model and what was measured on it.
type ServeUnit struct {
	Device    int         `json:"device"`
	Name      string      `json:"name"`
	Instances int         `json:"instances"` // of the model, side by side
	LoadedMS  int64       `json:"loaded_ms"`
	PID       int         `json:"pid"`
	Costs     []ServeCost `json:"costs"` // s(g), one for each gear
}

// ServeCost is how long a gear keeps its device busy, copies included.
type ServeCost struct {
	Rows     int     `json:"rows"`
	MedianMS float64 `json:"median_ms"`
	P99MS    float64 `json:"p99_ms"`
}

// ServePort is one input or output.
type ServePort struct {
	Name  string      `json:"name"`
	DType string      `json:"dtype"` // ONNX word
	Dims  []model.Dim `json:"dims"`  // number, symbolic name, or "?"
}

// ServeDevice is where a model runs.
type ServeDevice struct {
	Kind      string `json:"kind"` // cpu, npu, sim
	Name      string `json:"name"`
	Library   string `json:"library,omitempty"` // the file really loaded
	Simulated bool   `json:"simulated"`
}

// FromServe takes what a service knows of its models; their files it does not
// know.
func FromServe(infos []serve.Info) []ServeModel {
	var out []ServeModel
	for _, i := range infos {
		m := ServeModel{
			Name: i.Name, Platform: i.Platform,
			Inputs: ports(i.Signature.Inputs), Outputs: ports(i.Signature.Outputs),
			Device:   ServeDevice(i.Device),
			MaxBatch: i.Batching.MaxRows, Lanes: i.Lanes,
			WarmMS: (i.Opened + i.Warm).Milliseconds(),
		}
		if !i.Batching.On {
			m.Alone = i.Batching.Why
		}
		for _, d := range i.Devices {
			u := ServeUnit{Device: d.Device, Name: d.Name, Instances: d.Instances, LoadedMS: d.LoadedMS, PID: d.PID}
			for _, c := range d.Costs {
				copies := c.CopyIn + c.CopyOut
				u.Costs = append(u.Costs, ServeCost{c.Rows, milli(c.Median + copies), milli(c.P99 + copies)})
			}
			m.Units = append(m.Units, u)
		}
		out = append(out, m)
	}
	return out
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// CompiledFor says what an .om was compiled for and what it takes; zero for
// other models.
func CompiledFor(m *model.Model) report.Text {
	if m == nil || m.Compiled == nil {
		return report.Text{}
	}
	gears, work := report.T("one shape", "固定 shape"), report.Same("?")
	if g := m.Gears.String(); g != "" {
		gears = report.T("gears %s", "档位 %s", g)
	}
	if m.Memory.Work != nil {
		work = report.Same(ui.Bytes(*m.Memory.Work))
	}
	return report.T("%s, %s, work memory %s, weights %s", "%s，%s，工作内存 %s，权重 %s", cmp.Or(string(m.Chip), "?"), gears, work, ui.Bytes(m.Memory.Weight))
}

func ports(ps []oip.Port) (out []ServePort) {
	for _, p := range ps {
		dims := make([]model.Dim, len(p.Dims))
		for i, d := range p.Dims {
			dims[i] = model.Dim{Value: d, Name: p.DimNames[i]}
		}
		out = append(out, ServePort{p.Name, p.DType.ONNX(), dims})
	}
	return out
}

// Show writes the screen of a service that is ready.
func (d Serve) Show(o *ui.Out) {
	for _, m := range d.Models {
		o.Print("%s  %s -> %s\n", o.Bold(m.File), signature(m.Inputs), signature(m.Outputs))
		if !m.Compiled.IsZero() {
			o.Say(report.T("  compiled  %s", "  编译      %s", m.Compiled))
		}
		if len(m.Units) == 0 || m.Device.Simulated {
			o.Say(report.T("  device    %s", "  设备      %s", device(m.Device)))
		}
		if m.Alone.IsZero() {
			o.Say(report.T("  batching  up to %d rows a run: what waits when the device is free; nothing waits on a timer",
				"  组 batch  每次最多 %d 行：设备空闲时取走排队的请求，不使用定时器", m.MaxBatch))
		} else {
			o.Say(report.T("  batching  off: %s", "  组 batch  关闭：%s", m.Alone))
		}
		if len(m.Units) > 0 && m.Units[0].Instances > 1 {
			o.Say(report.T("  instances %d on each device, side by side", "  实例      每个设备 %d 个，并行运行", m.Units[0].Instances))
		}
		m.table(o)
	}
	if d.Open {
		o.Say(report.T("  open      %s answers other machines, without a token", "  开放      %s 可被其他机器访问，且不需要令牌", d.Listen))
	}
	o.Print("\n")
	o.Say(report.T("Ready in %s  %s   (Open Inference Protocol v2, /metrics, /readyz)", "就绪，用时 %s  %s   （Open Inference Protocol v2，/metrics，/readyz）",
		ui.Duration(time.Duration(d.ReadyMS)*time.Millisecond), d.URL))
	if len(d.Models) > 0 {
		o.Say(report.T("Try:  curl -s %s/v2/models/%s", "试用：curl -s %s/v2/models/%s", d.URL, d.Models[0].Name))
	}
	o.Say(report.T("Stop: Ctrl-C drains for up to %s", "停止：Ctrl-C，最多用 %s 排空请求", ui.Duration(time.Duration(d.Drain*float64(time.Second)))))
}

// mostGears is how many gears a table has room for; the largest is among them.
const mostGears = 6

// table shows s(g) of each device.
func (m ServeModel) table(o *ui.Out) {
	if len(m.Units) == 0 || len(m.Units[0].Costs) == 0 {
		return
	}
	cols := []ui.Column{{Head: report.T("DEVICE", "设备")}, right("LOADED", "加载用时")}
	first := m.Units[0].Costs
	shown := first[:min(len(first), mostGears)]
	for k, c := range shown {
		if k == mostGears-1 {
			c = first[len(first)-1]
		}
		cols = append(cols, right(fmt.Sprintf("s(%d) ms", c.Rows), fmt.Sprintf("s(%d) ms", c.Rows)))
	}
	var rows [][]string
	for _, u := range m.Units {
		row := []string{fmt.Sprint(u.Device), ui.Duration(time.Duration(u.LoadedMS) * time.Millisecond)}
		best, rate := 0, 0.0
		for k, c := range u.Costs {
			if k < mostGears-1 || k == len(u.Costs)-1 {
				row = append(row, fmt.Sprintf("%.2f", c.MedianMS))
			}
			if r := float64(c.Rows) * 1000 / max(c.MedianMS, 0.001); r > rate {
				best, rate = c.Rows, r
			}
		}
		rows = append(rows, append(row, report.T("%.0f/s in gear %d", "%.0f/s，档位 %d", rate, best).In(o.Lang())))
	}
	o.Table(append(cols, ui.Column{Head: report.T("BEST RATE", "最高速率")}), rows)
}

// device says what runs the model, and what does not.
func device(d ServeDevice) report.Text {
	switch {
	case d.Simulated:
		return report.T("SIMULATED, not an NPU", "模拟设备，非 NPU")
	case d.Kind == "cpu":
		return report.T("CPU, %s (no NPU is used)", "CPU，%s（未使用 NPU）", d.Name)
	}
	return report.Same(d.Name)
}

func signature(ps []ServePort) string {
	words := make([]string, len(ps))
	for i, p := range ps {
		words[i] = fmt.Sprintf("%s %s %s", p.Name, screenType(p.DType), shape(p.Dims))
	}
	return strings.Join(words, ", ")
}

// screenType turns FLOAT into float32.
func screenType(onnx string) string {
	for d := ascend.Undefined; d <= ascend.Int4; d++ {
		if d.ONNX() == onnx {
			return d.String()
		}
	}
	return strings.ToLower(onnx)
}
