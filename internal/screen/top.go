package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
	"github.com/ascendctl/ascendctl/internal/ui"
)

// Top is who holds which device, at one moment.
type Top struct {
	report.Envelope
	Hosts []TopHost `json:"hosts"`

	Verbose bool      `json:"-"` // power, temperature, the whole command
	Now     time.Time `json:"-"` // for ages
}

// TopHost is one host: a sample, or why there is none.
type TopHost struct {
	Host   string        `json:"host"`
	Sample *facts.Sample `json:"sample,omitempty"`
	Error  *report.Text  `json:"error,omitempty"`
}

// Show writes the document for people.
func (d Top) Show(o *ui.Out) {
	cols := []ui.Column{
		{Head: report.T("HOST", "主机")}, {Head: report.Same("DEV"), Right: true}, {Head: report.Same("NPU/CHIP")}, {Head: report.T("NAME", "名称")},
		{Head: report.T("HEALTH", "健康状态")}, {Head: report.T("MEM GiB", "显存 GiB"), Right: true}, {Head: report.Same("AICORE"), Right: true},
	}
	if d.Verbose {
		cols = append(cols, right("POWER W", "功耗 W"), right("TEMP C", "温度 C"))
	}
	cols = append(cols, right("PID", "PID"), ui.Column{Head: report.T("USER", "用户")}, right("AGE", "时长"),
		ui.Column{Head: report.T("CONTAINER", "容器")}, ui.Column{Head: report.T("COMMAND", "命令")})
	var rows [][]string
	var own []string
	free := map[string][]string{}
	busy, ill, total := 0, 0, 0
	for _, h := range d.Hosts {
		if h.Error != nil {
			continue
		}
		if h.Sample.OwnOnly {
			own = append(own, h.Host)
		}
		for _, dev := range h.Sample.Devices.Value {
			total++
			switch {
			case dev.Health != "OK":
				ill++
			case dev.Free(0):
				free[h.Host] = append(free[h.Host], number(dev.Logic))
			default:
				busy++
			}
			rows = append(rows, d.rows(h.Host, dev)...)
		}
	}
	o.Table(cols, rows)
	o.Print("\n")
	d.tail(o, own, free, total, busy, ill)
}

// tail says what the table cannot.
func (d Top) tail(o *ui.Out, own []string, free map[string][]string, total, busy, ill int) {
	frees := 0
	var words []string
	for _, h := range d.Hosts {
		switch {
		case h.Error != nil:
			o.Say(report.T("%s  no answer: %s", "%s  无应答：%s", h.Host, *h.Error))
		case !h.Sample.Devices.Known():
			o.Say(report.T("%s  devices unknown: %s", "%s  设备未知：%s", h.Host, first(h.Sample.Devices.Note, "npu-smi")))
		}
		if ids := free[h.Host]; len(ids) > 0 {
			frees += len(ids)
			words = append(words, h.Host+" "+strings.Join(ids, ","))
		}
	}
	if len(own) > 0 {
		o.Say(report.T("inside a container only its own processes are to be seen: %s", "在容器内只能看到容器自身的进程：%s", strings.Join(own, " ")))
	}
	o.Say(report.T("hosts: %d, devices: %d, busy or not known: %d, free: %d, ill: %d", "主机：%d，设备：%d，占用或未知：%d，空闲：%d，异常状态：%d",
		len(d.Hosts), total, busy, frees, ill))
	if len(words) > 0 {
		o.Say(report.T("Free: %s", "空闲：%s", strings.Join(words, "; ")))
	}
	o.Say(report.T("Stop a process by its own service; never by name", "通过其所属服务停止进程，切勿按名称结束进程"))
}

// rows is one line a process, and one for a device without any.
func (d Top) rows(host string, dev facts.Device) (rows [][]string) {
	head := []string{host, number(dev.Logic), fmt.Sprintf("%d/%d", dev.NPU, dev.Chip), dev.Name, first(dev.Health, "?"), gib(dev.UsedMB) + "/" + gib(dev.TotalMB), number(dev.CorePct) + "%"}
	if d.Verbose {
		power := "?"
		if dev.PowerW != nil {
			power = strconv.FormatFloat(*dev.PowerW, 'f', 1, 64)
		}
		head = append(head, power, number(dev.TempC))
	}
	if len(dev.Processes) == 0 {
		none := "-"
		if !dev.Idle {
			none = "?"
		}
		return [][]string{append(head, none, "", "", "", "")}
	}
	for _, p := range dev.Processes {
		age := "?"
		if !p.Started.IsZero() {
			age = ui.Duration(d.Now.Sub(p.Started).Round(time.Second))
		}
		command := first(p.Name, p.Command)
		if d.Verbose {
			command = first(p.Command, p.Name)
		}
		rows = append(rows, append(head[:len(head):len(head)], fmt.Sprint(p.PID), first(p.User, "?"), age, first(p.Container, "-"), cut(command, 60)))
	}
	return rows
}

func gib(mb *int) string {
	if mb == nil {
		return "?"
	}
	return strconv.FormatFloat(float64(*mb)/1024, 'f', 1, 64)
}
