package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ascendctl/ascendctl/internal/facts"
	"github.com/ascendctl/ascendctl/internal/report"
)

var npuJudges = map[string]judge{
	"npu.health":       {"words:dict harmless:lists", npuHealth},
	"npu.fault":        {"card_drop:word link_down:word hbm_uncorrectable:word prewarning:word", npuFault},
	"npu.ecc":          {"isolated:number", npuECC},
	"npu.temp":         {"warm:number hot:number idle:number", npuTemp},
	"npu.hbm_capacity": {"sizes:lists share:number", npuCapacity},
	"npu.hbm_free":     {"margin:number", npuFree},
	"npu.busy":         {"process:number hidden:number", npuBusy},
	"npu.freq":         {"load:number", npuFreq},
	"npu.mixed":        {"", npuMixed},
	"npu.latency":      {"good:number timeout:number", npuLatency},
	"npu.topo":         {"column:word", npuTopo},
	"npu.ids":          {"", npuIDs},
}

// eachRow judges the rows of npu-smi info.
func (l *look) eachRow(chips []facts.SmiChip, see func(c facts.SmiChip) verdict) verdict {
	if rows(l.table()) == 0 {
		return unknown(l.table().Source, note(l.table()))
	}
	var all []verdict
	for _, c := range chips {
		all = append(all, see(c))
	}
	if len(all) == 0 {
		return unknown(l.table().Source, report.T("no row for the chips of the job", "没有作业所用芯片的数据行"))
	}
	return worst(all...)
}

// place names a chip as people find it on the machine.
func place(c facts.SmiChip) report.Text {
	return report.T("NPU %s chip %s", "NPU %s 芯片 %s", num(c.NPU), num(c.Chip))
}

func noCode() report.Text { return report.T("no code", "没有故障码") }

func noProcess() report.Text { return report.T("no process", "没有进程") }

func num(p *int) string {
	if p == nil {
		return "?"
	}
	return strconv.Itoa(*p)
}

func same(a, b *int) bool { return a != nil && b != nil && *a == *b }

// logic is the id that --device counts by: of the table where it prints one, of
// the map, else the place in the table.
func (l *look) logic(c facts.SmiChip, at int) int {
	if c.Device != nil {
		return *c.Device
	}
	for _, m := range l.mapped() {
		if same(m.NPU, c.NPU) && same(m.Chip, c.Chip) && m.Logic != nil {
			return *m.Logic
		}
	}
	return at
}

// jobRows gives the rows of the chips that the job uses.
func (l *look) jobRows() (out []facts.SmiChip) {
	for i, c := range l.table().Value.Chips {
		if len(l.job.Devices) == 0 || slices.Contains(l.job.Devices, l.logic(c, i)) {
			out = append(out, c)
		}
	}
	return out
}

// codes gives the fault codes of a chip; false when nothing told them.
func (l *look) codes(c facts.SmiChip) ([]string, bool) {
	for _, a := range l.NPUHealth {
		h := a.Answer.Value.Health
		if same(&a.NPU, c.NPU) && same(&a.Chip, c.Chip) && a.Answer.Known() && h != nil && h.Errors != nil {
			return h.Errors, true
		}
	}
	return nil, false
}

func npuHealth(l *look) verdict {
	return l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		if c.Health == "" {
			return unknown(l.table().Source, says(place(c), report.T("health not read", "未读到健康状态")))
		}
		status := report.Status(l.dict("words")[c.Health])
		codes, read := l.codes(c)
		seen := says(place(c), raw(append([]string{c.Health}, codes...)...))
		harmless := l.lists("harmless")[c.Name]
		switch {
		case weight[status] == 0:
			return unknown(l.table().Source, seen)
		case c.Health != "Alarm" || len(harmless) == 0: // only an Alarm can be a harmless one
		case !read:
			return unknown(l.table().Source, report.T("%s, no code read", "%s，未读到故障码", seen))
		case len(codes) > 0 && !slices.ContainsFunc(codes, func(s string) bool { return !slices.Contains(harmless, s) }):
			status = report.Warn
		}
		return ifElse(status == report.Pass, status, l.table().Source, seen, raw("OK"))
	})
}

func npuFault(l *look) verdict {
	grave := []string{l.word("card_drop"), l.word("hbm_uncorrectable")}
	if l.job.multiNode() {
		grave = append(grave, l.word("link_down"))
	}
	return l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		codes, ok := l.codes(c)
		switch {
		case !ok && c.Health != "OK":
			return unknown(l.table().Source, report.T("%s, no code read", "%s，未读到故障码", says(place(c), orNone(c.Health))))
		case len(codes) == 0:
			return pass(l.table().Source, says(place(c), orNone("")))
		case overlap(codes, grave):
			return fail(l.table().Source, says(place(c), raw(codes...)), noCode())
		}
		return warn(l.table().Source, says(place(c), raw(codes...)), noCode())
	})
}

func npuECC(l *look) verdict {
	chips := l.table().Value.Chips
	if len(chips) > 0 && !l.job.Deep && !slices.ContainsFunc(chips, func(c facts.SmiChip) bool { return c.Health != "OK" }) {
		return skip("when", report.T("every chip is OK, and deep was not asked for", "所有芯片均为 OK，且未要求深度检查"))
	}
	if rows(l.table()) == 0 || len(l.NPUECC) == 0 {
		return unknown(l.table().Source, note(l.table()))
	}
	var all []verdict
	for _, a := range l.NPUECC {
		if !answered(a.Answer) || len(a.Answer.Value.Chips) == 0 {
			all = append(all, unknown(a.Answer.Source, note(a.Answer)))
			continue
		}
		for _, c := range a.Answer.Value.Chips {
			all = append(all, l.ecc(a, c))
		}
	}
	return worst(all...)
}

func (l *look) ecc(a facts.ChipAnswer, c facts.SmiChip) verdict {
	counted, isolated := 0, 0
	for _, n := range []*int{c.DDRSingleBit, c.DDRDoubleBit, c.DDRDoubleBitTotal, c.HBMSingleBit, c.HBMDoubleBit, c.HBMDoubleBitTotal} {
		if n != nil {
			counted += *n
		}
	}
	for _, n := range []*int{c.DDRIsolatedPages, c.HBMIsolatedPages} {
		if n != nil {
			isolated += *n
		}
	}
	seen := report.T("NPU %d chip %d: %d errors, %d isolated pages", "NPU %d 芯片 %d：%d 个错误，%d 个隔离页", a.NPU, a.Chip, counted, isolated)
	switch {
	case float64(isolated) >= l.number("isolated"):
		return fail(a.Answer.Source, seen, below(l.shown("isolated")))
	case counted+isolated > 0:
		return warn(a.Answer.Source, seen, report.T("nothing counted", "计数为零"))
	}
	return pass(a.Answer.Source, seen)
}

func npuTemp(l *look) verdict {
	return l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		if c.TempC == nil {
			return unknown(l.table().Source, says(place(c), report.T("no temperature", "没有温度")))
		}
		t, seen := float64(*c.TempC), report.T("%s: %d C, AICore %s %%", "%s：%d°C，AICore 利用率 %s%%", place(c), *c.TempC, num(c.CorePct))
		idle := c.CorePct != nil && float64(*c.CorePct) <= l.number("idle")
		switch {
		case t >= l.number("hot"):
			return fail(l.table().Source, seen, below(l.shown("hot")))
		case t >= l.number("warm") && idle:
			return warn(l.table().Source, seen, report.T("< %s while idle", "空闲时 < %s", l.shown("warm")))
		}
		return pass(l.table().Source, seen)
	})
}

func npuCapacity(l *look) verdict {
	_, vm := l.virt()
	return l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		sizes := l.lists("sizes")[c.Name]
		if len(sizes) == 0 || c.HBMMB == nil || c.HBMMB[1] == nil {
			return unknown(l.table().Source, report.T("%s: %s, no size to compare", "%s：%s，没有可比较的容量", place(c), orNone(c.Name)))
		}
		smallest := -1.0
		for _, s := range sizes {
			if n, err := strconv.ParseFloat(s, 64); err == nil && (smallest < 0 || n < smallest) {
				smallest = n
			}
		}
		bad := report.Fail
		if vm == yes {
			bad = report.Warn // a slice is plausible
		}
		return ifElse(float64(*c.HBMMB[1])*percent >= smallest*l.number("share"), bad, l.table().Source,
			says(place(c), fmt.Sprintf("%d MB", *c.HBMMB[1])), report.T("%s MB", "%s MB", either(sizes)))
	})
}

// memory gives used and total of what the chip computes in, in MB.
func memory(c facts.SmiChip) (used, total int, ok bool) {
	for _, p := range []*facts.Pair{c.HBMMB, c.MemMB} {
		if p != nil && p[0] != nil && p[1] != nil && *p[1] > 0 {
			return *p[0], *p[1], true
		}
	}
	return 0, 0, false
}

func below(most any) report.Text { return report.T("< %s", "< %s", most) }

const mbPerGiB = 1024 // npu-smi counts MB in powers of two: 65536 of a 64 GB chip

func npuFree(l *look) verdict {
	if rows(l.table()) > 0 && l.job.JobGiB == 0 {
		return noTarget(report.T("memory of the job on one chip", "作业在单个芯片上的显存"))
	}
	return l.eachRow(l.jobRows(), func(c facts.SmiChip) verdict {
		used, total, ok := memory(c)
		if !ok {
			return unknown(l.table().Source, says(place(c), report.T("memory not read", "未读到显存")))
		}
		free := float64(total-used) / mbPerGiB
		seen := report.T("%s: %.1f GiB free", "%s：空闲 %.1f GiB", place(c), free)
		return atLeast(free/l.job.JobGiB, 1+l.number("margin")/percent, 1, l.table().Source, seen,
			report.T(">= %.1f GiB and %s", ">= %.1f GiB，外加 %s", l.job.JobGiB, l.shown("margin")))
	})
}

func npuBusy(l *look) verdict {
	t := l.table()
	v := l.eachRow(l.jobRows(), func(c facts.SmiChip) verdict { return l.busy(c) })
	if v.status == report.Pass {
		for i, c := range t.Value.Chips {
			if len(l.job.Devices) > 0 && !slices.Contains(l.job.Devices, l.logic(c, i)) && l.busy(c).status != report.Pass {
				v.evidence = append(v.evidence, report.Evidence{Source: t.Source, Seen: report.T("outside the job: %s", "作业之外：%s", l.busy(c).evidence[0].Seen)})
			}
		}
	}
	return v
}

// busy looks at one chip. Where the tool prints no process table at all (SoC
// boards), only the memory speaks.
func (l *look) busy(c facts.SmiChip) verdict {
	t := l.table()
	largest, of := -1, facts.SmiProcess{}
	for _, p := range t.Value.Processes {
		if same(p.NPU, c.NPU) && (p.Chip == nil || same(p.Chip, c.Chip)) && p.MemMB != nil && *p.MemMB > largest {
			largest, of = *p.MemMB, p
		}
	}
	quiet := c.NPU != nil && slices.Contains(t.Value.IdleNPUs, *c.NPU)
	used := 0
	if c.HBMMB != nil && c.HBMMB[0] != nil {
		used = *c.HBMMB[0]
	}
	switch {
	case largest >= 0:
		seen := report.T("%s: pid %d %s, %d MB", "%s：进程 pid %d %s，%d MB", place(c), of.PID, cmp.Or(of.Name, "?"), largest)
		bad := report.Warn
		if float64(largest) > l.number("process") {
			bad = report.Fail
		}
		return say(bad, t.Source, seen, noProcess())
	case float64(used) > l.number("hidden"):
		return fail(t.Source, report.T("%s: %d MB used, no process shown", "%s：已用 %d MB，未显示进程", place(c), used), atMost(l.shown("hidden")))
	case t.Value.Truncated && !quiet:
		return unknown(t.Source, says(place(c), report.T("the text ends before its processes", "输出在其进程之前中断")))
	}
	return pass(t.Source, says(place(c), noProcess()))
}

func npuFreq(l *look) verdict {
	if len(l.NPUCommon) == 0 {
		return unknown(l.table().Source, report.T("not read", "未读取"))
	}
	var all []verdict
	for _, a := range l.NPUCommon {
		if !answered(a.Answer) {
			all = append(all, unknown(a.Answer.Source, note(a.Answer)))
		}
		for _, c := range a.Answer.Value.Chips {
			if c.AICoreMHz == nil || c.AICoreCurMHz == nil {
				continue
			}
			seen := report.T("NPU %d chip %d: %d of %d MHz, AICore %s %%", "NPU %d 芯片 %d：%d MHz（满频 %d MHz），AICore 利用率 %s%%", a.NPU, a.Chip, *c.AICoreCurMHz, *c.AICoreMHz, num(c.AICorePct))
			busy := c.AICorePct != nil && float64(*c.AICorePct) >= l.number("load")
			all = append(all, ifElse(*c.AICoreCurMHz >= *c.AICoreMHz || !busy, report.Fail, a.Answer.Source, seen, report.T("full under load", "有负载时满频")))
		}
	}
	if len(all) == 0 {
		return unknown(l.NPUCommon[0].Answer.Source, report.T("no frequency", "没有频率"))
	}
	return worst(all...)
}

func npuMixed(l *look) verdict {
	var names []string
	v := l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		names = append(names, c.Name)
		return pass(l.table().Source, raw(c.Name))
	})
	if v.status != report.Pass {
		return v
	}
	names = unique(names)
	return ifElse(len(names) == 1, report.Warn, l.table().Source, raw(names...), report.T("one model", "同一型号"))
}

func npuLatency(l *look) verdict {
	f, wanted := l.NPUInfo, below(l.shown("good"))
	switch {
	case hung(f):
		return fail(f.Source, noted(f.Note), wanted)
	case rows(f) == 0 || f.Value.Failure != nil:
		return unknown(f.Source, note(f))
	case !l.NPUInfoMS.Known():
		return unknown(f.Source, report.T("its time was not taken", "未计时"))
	}
	s := float64(l.NPUInfoMS.Value) / 1000
	seen := raw(fmt.Sprintf("%.1f s", s))
	switch {
	case s < l.number("good"):
		return pass(f.Source, seen)
	case s < l.number("timeout"):
		return warn(f.Source, seen, wanted)
	}
	return fail(f.Source, seen, wanted)
}

func npuTopo(l *look) verdict {
	f := l.NPUTopo
	t := f.Value.Topo
	switch {
	case f.Known() && f.Value.Support != nil && !*f.Value.Support:
		return warn(f.Source, report.T("not supported", "不支持"), raw(l.word("column")))
	case !f.Known() || t == nil || len(t.Cells) == 0:
		return unknown(f.Source, note(f))
	}
	return ifElse(len(t.Affinity) > 0, report.Warn, f.Source, report.T("%d labels", "%d 个标签", len(t.Labels)), report.T("a column %s", "含 %s 列", l.word("column")))
}

func npuIDs(l *look) verdict {
	f := l.NPUMap
	if !answered(f) || len(l.mapped()) == 0 {
		return unknown(f.Source, note(f))
	}
	var ids []int
	for _, m := range l.mapped() {
		if m.NPU != nil && !slices.Contains(ids, *m.NPU) {
			ids = append(ids, *m.NPU)
		}
	}
	slices.Sort(ids)
	gaps := len(ids) == 0 || ids[0] != 0 || ids[len(ids)-1] != len(ids)-1
	return ifElse(!gaps, report.Warn, f.Source, report.T("NPU ids %s", "NPU 编号 %s", strings.Trim(fmt.Sprint(ids), "[]")), report.T("0, 1, 2 ... without gaps", "0, 1, 2 ... 连续无缺号"))
}
