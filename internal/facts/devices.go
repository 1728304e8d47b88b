package facts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ascendctl/ascendctl/internal/host"
	"github.com/ascendctl/ascendctl/internal/report"
)

// Device is one chip as programs count it, with who holds it. A nil number was
// not printed.
type Device struct {
	Logic     *int      `json:"logic,omitempty"` // what ASCEND_RT_VISIBLE_DEVICES counts; nil = nobody told
	NPU       int       `json:"npu"`             // slot NPU id
	Chip      int       `json:"chip"`
	Phy       *int      `json:"phy,omitempty"` // N of /dev/davinciN, where npu-smi tells
	Name      string    `json:"name"`
	Health    string    `json:"health"` // as printed; "" = not read
	HBM       bool      `json:"hbm"`    // the memory below is HBM, not shared DDR
	UsedMB    *int      `json:"used_mb,omitempty"`
	TotalMB   *int      `json:"total_mb,omitempty"`
	CorePct   *int      `json:"core_pct,omitempty"`
	PowerW    *float64  `json:"power_w,omitempty"`
	TempC     *int      `json:"temp_c,omitempty"`
	Processes []Process `json:"processes,omitempty"`
	Idle      bool      `json:"idle"` // npu-smi itself says that nobody runs there
}

// Free is true when the device surely is: healthy, no process, and its memory
// not above idleMB, because a process of another container is not listed (0: the
// memory is not looked at). What is not known is not free.
func (d Device) Free(idleMB int) bool {
	if d.Health != "OK" || len(d.Processes) > 0 || !d.Idle {
		return false
	}
	return idleMB == 0 || !d.HBM || d.UsedMB != nil && *d.UsedMB <= idleMB
}

// Devices joins the table, the map and the processes of npu-smi.
func (f *Facts) Devices() Fact[[]Device] {
	out := Fact[[]Device]{State: f.NPUInfo.State, Source: f.NPUInfo.Source, Note: f.NPUInfo.Note}
	n := f.NPUInfo.Value
	if !f.NPUInfo.Known() {
		return out
	}
	if len(n.Chips) == 0 {
		out.State, out.Note = host.Unknown, "npu-smi gave no table"
		if n.Failure != nil {
			out.Note = n.Failure.Line
		}
		return out
	}
	for _, c := range n.Chips {
		if c.NPU == nil {
			continue
		}
		out.Value = append(out.Value, f.device(c))
	}
	return out
}

func (f *Facts) device(c SmiChip) Device {
	d := Device{NPU: *c.NPU, Chip: max(0, orNone(c.Chip)), Logic: c.Device, Phy: c.Phy, Name: c.Name, Health: c.Health,
		CorePct: c.CorePct, PowerW: c.PowerW, TempC: c.TempC, Idle: slices.Contains(f.NPUInfo.Value.IdleNPUs, *c.NPU)}
	memory := c.HBMMB
	if d.HBM = memory != nil && (memory[1] == nil || *memory[1] > 0); !d.HBM {
		memory = c.MemMB
	}
	if memory != nil {
		d.UsedMB, d.TotalMB = memory[0], memory[1]
	}
	for _, m := range f.NPUMap.Value.Map {
		if m.NPU != nil && *m.NPU == d.NPU && max(0, orNone(m.Chip)) == d.Chip {
			if m.Logic != nil {
				d.Logic = m.Logic
			}
			if m.Phy != nil {
				d.Phy = m.Phy
			}
		}
	}
	listed := false
	for _, p := range f.Processes.Value {
		if p.NPU == d.NPU {
			listed = true
			if max(0, p.Chip) == d.Chip {
				d.Processes = append(d.Processes, p)
			}
		}
	}
	// The tool speaks of whole NPUs: when it lists the processes of one chip of
	// a card, the other chips of that card are idle.
	d.Idle = d.Idle || listed && len(d.Processes) == 0
	return d
}

// Sample is who holds which device at one moment.
type Sample struct {
	Target  string         `json:"target"`
	Taken   time.Time      `json:"taken"`
	OwnOnly bool           `json:"own_only"` // inside a container: processes of others are not listed
	Devices Fact[[]Device] `json:"devices"`
}

// TakeSample looks once: npu-smi, then /proc for the processes it named.
func TakeSample(ctx context.Context, h host.Host, now func() time.Time) Sample {
	l := &look{procs: map[int]Process{}}
	l.Target = h.String()
	s := Sample{Target: l.Target, Taken: now()}
	ask := func(f *Fact[NPUSmi], args ...string) query {
		return l.smi(f, within(smiTime, run(append([]string{"npu-smi"}, args...)...)))
	}
	put(ctx, h, []query{
		{typed(host.Sandbox), func(a host.Answer) {
			c := pairs(clean(a.Stdout), "=")["container"]
			s.OwnOnly = a.State == host.Known && c != "" && c != "none"
		}},
		ask(&l.NPUInfo, "info"), ask(&l.NPUMap, "info", "-m"),
	})
	put(ctx, h, l.processes())
	l.concludeProcesses()
	s.Devices = l.Devices()
	return s
}

// DeviceSet is what --device asks for: logic ids, or every free device.
type DeviceSet struct {
	Free bool
	IDs  []int // ascending
}

// ParseDevices reads "0", "0-3", "0,2" or "free". The ids must rise, because
// the runtime refuses every other list as a whole (source: hicann/runtime).
func ParseDevices(s string) (DeviceSet, error) {
	if s == "free" {
		return DeviceSet{Free: true}, nil
	}
	const most = 1024
	var d DeviceSet
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := deviceID(first)
		b := a
		if isRange && err == nil {
			b, err = deviceID(last)
		}
		if err != nil || b < a || b >= most {
			return DeviceSet{}, badDevices(s, report.T("%q is not a logic id or a range of them", "%q 不是逻辑 ID，也不是 ID 范围", part))
		}
		if n := len(d.IDs); n > 0 && a <= d.IDs[n-1] {
			return DeviceSet{}, badDevices(s, report.T("%d follows %d: the runtime takes rising ids only and refuses any other list as a whole", "%d 排在 %d 之后：运行时只接受递增的 ID，否则整个列表都被拒绝", a, d.IDs[n-1]))
		}
		for ; a <= b; a++ {
			d.IDs = append(d.IDs, a)
		}
	}
	return d, nil
}

func deviceID(s string) (int, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return strconv.Atoi(s)
}

func badDevices(s string, why report.Text) error {
	return &report.Problem{
		What: report.T("cannot read the device list %q", "无法解析设备列表 %q", s),
		Why:  why,
		Do:   report.T("give rising logic ids such as 0, 0-3 or 0,2, or the word free", "指定递增的逻辑 ID，例如 0、0-3 或 0,2，或者写 free"),
		Exit: report.ExitUsage,
	}
}

// Pick gives the logic ids the set means on a host, ascending. idleMB is that
// of Device.Free.
func (d DeviceSet) Pick(devices Fact[[]Device], idleMB int) ([]int, error) {
	if !devices.Known() {
		if !d.Free {
			return d.IDs, nil // nothing speaks against them
		}
		return nil, &report.Problem{
			What: report.T("cannot tell which devices are free", "无法判断哪些设备空闲"),
			Why:  report.Same(strings.TrimSuffix(devices.Source+": "+devices.Note, ": ")),
			Do:   report.T("name the devices instead", "改为直接指定设备"),
			Exit: report.ExitFailed,
		}
	}
	var out, all []int
	unnamed := 0 // free, but nobody told their logic ids
	for _, dev := range devices.Value {
		switch {
		case dev.Logic != nil && dev.Free(idleMB):
			out = append(out, *dev.Logic)
			fallthrough
		case dev.Logic != nil:
			all = append(all, *dev.Logic)
		case dev.Free(idleMB):
			unnamed++
		}
	}
	slices.Sort(out)
	slices.Sort(all)
	if !d.Free {
		return d.named(all)
	}
	if len(out) == 0 && unnamed > 0 {
		return nil, &report.Problem{
			What: report.T("cannot name the free devices", "无法给出空闲设备的 ID"),
			Why:  report.T("%d devices are free, but npu-smi info -m told no logic ids", "有 %d 个设备空闲，但 npu-smi info -m 没有给出逻辑 ID", unnamed),
			Do:   report.T("name the devices instead", "改为直接指定设备"),
			Exit: report.ExitFailed,
		}
	}
	if len(out) == 0 {
		return nil, &report.Problem{
			What: report.T("no device is free", "没有空闲设备"),
			Why:  report.T("%d devices, each ill, held by a process, or not known to be free", "共 %d 个设备，均为异常、被进程占用或无法确认空闲", len(devices.Value)),
			Do:   report.T("see who holds them", "查看占用者"),
			Run:  "ascendctl top",
			Exit: report.ExitNo,
		}
	}
	return out, nil
}

func (d DeviceSet) named(all []int) ([]int, error) {
	for _, id := range d.IDs {
		if len(all) > 0 && !slices.Contains(all, id) {
			return nil, &report.Problem{
				What: report.T("no device %d", "没有设备 %d", id),
				Why:  report.T("logic ids here: %s", "此处的逻辑 ID：%s", strings.Trim(fmt.Sprint(all), "[]")),
				Do:   report.T("choose among these", "从中选择"),
				Run:  "ascendctl top",
				Exit: report.ExitUsage,
			}
		}
	}
	return d.IDs, nil
}
