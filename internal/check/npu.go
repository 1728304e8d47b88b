package check

import (
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
		return unknown(l.table().Source, "no row for the chips of the job")
	}
	return worst(all...)
}

// place names a chip as people find it on the machine.
func place(c facts.SmiChip) string { return fmt.Sprintf("NPU %s chip %s", num(c.NPU), num(c.Chip)) }

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
			return unknown(l.table().Source, place(c)+": health not read")
		}
		status := report.Status(l.dict("words")[c.Health])
		codes, read := l.codes(c)
		seen := strings.TrimSpace(place(c) + ": " + c.Health + " " + strings.Join(codes, " "))
		harmless := l.lists("harmless")[c.Name]
		switch {
		case weight[status] == 0:
			return unknown(l.table().Source, seen)
		case c.Health != "Alarm" || len(harmless) == 0: // only an Alarm can be a harmless one
		case !read:
			return unknown(l.table().Source, seen+", no code read")
		case len(codes) > 0 && !slices.ContainsFunc(codes, func(s string) bool { return !slices.Contains(harmless, s) }):
			status = report.Warn
		}
		return ifElse(status == report.Pass, status, l.table().Source, seen, "OK")
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
			return unknown(l.table().Source, place(c)+": "+orNone(c.Health)+", no code read")
		case len(codes) == 0:
			return pass(l.table().Source, place(c)+": none")
		case overlap(codes, grave):
			return fail(l.table().Source, place(c)+": "+strings.Join(codes, " "), "no code")
		}
		return warn(l.table().Source, place(c)+": "+strings.Join(codes, " "), "no code")
	})
}

func npuECC(l *look) verdict {
	chips := l.table().Value.Chips
	if len(chips) > 0 && !l.job.Deep && !slices.ContainsFunc(chips, func(c facts.SmiChip) bool { return c.Health != "OK" }) {
		return skip("when", "every chip is OK, and deep was not asked for")
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
	seen := fmt.Sprintf("NPU %d chip %d: %d errors, %d isolated pages", a.NPU, a.Chip, counted, isolated)
	switch {
	case float64(isolated) >= l.number("isolated"):
		return fail(a.Answer.Source, seen, "<", l.shown("isolated"))
	case counted+isolated > 0:
		return warn(a.Answer.Source, seen, "nothing counted")
	}
	return pass(a.Answer.Source, seen)
}

func npuTemp(l *look) verdict {
	return l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		if c.TempC == nil {
			return unknown(l.table().Source, place(c)+": no temperature")
		}
		t, seen := float64(*c.TempC), fmt.Sprintf("%s: %d C, AICore %s %%", place(c), *c.TempC, num(c.CorePct))
		idle := c.CorePct != nil && float64(*c.CorePct) <= l.number("idle")
		switch {
		case t >= l.number("hot"):
			return fail(l.table().Source, seen, "<", l.shown("hot"))
		case t >= l.number("warm") && idle:
			return warn(l.table().Source, seen, "<", l.shown("warm"), "while idle")
		}
		return pass(l.table().Source, seen)
	})
}

func npuCapacity(l *look) verdict {
	_, vm := l.virt()
	return l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		sizes := l.lists("sizes")[c.Name]
		if len(sizes) == 0 || c.HBMMB == nil || c.HBMMB[1] == nil {
			return unknown(l.table().Source, place(c)+": "+orNone(c.Name)+", no size to compare")
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
			fmt.Sprintf("%s: %d MB", place(c), *c.HBMMB[1]), strings.Join(sizes, " or ")+" MB")
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

const mbPerGiB = 1024 // npu-smi counts MB in powers of two: 65536 of a 64 GB chip

func npuFree(l *look) verdict {
	if rows(l.table()) > 0 && l.job.JobGiB == 0 {
		return noTarget("memory of the job on one chip")
	}
	return l.eachRow(l.jobRows(), func(c facts.SmiChip) verdict {
		used, total, ok := memory(c)
		if !ok {
			return unknown(l.table().Source, place(c)+": memory not read")
		}
		free := float64(total-used) / mbPerGiB
		seen := fmt.Sprintf("%s: %.1f GiB free", place(c), free)
		return atLeast(free/l.job.JobGiB, 1+l.number("margin")/percent, 1, l.table().Source, seen, fmt.Sprintf(">= %.1f GiB and %s", l.job.JobGiB, l.shown("margin")))
	})
}

func npuBusy(l *look) verdict {
	t := l.table()
	v := l.eachRow(l.jobRows(), func(c facts.SmiChip) verdict { return l.busy(c) })
	if v.status == report.Pass {
		for i, c := range t.Value.Chips {
			if len(l.job.Devices) > 0 && !slices.Contains(l.job.Devices, l.logic(c, i)) && l.busy(c).status != report.Pass {
				v.evidence = append(v.evidence, report.Evidence{Source: t.Source, Seen: "outside the job: " + l.busy(c).evidence[0].Seen})
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
		seen := fmt.Sprintf("%s: pid %d %s, %d MB", place(c), of.PID, orNone(of.Name), largest)
		bad := report.Warn
		if float64(largest) > l.number("process") {
			bad = report.Fail
		}
		return say(bad, t.Source, seen, "no process")
	case float64(used) > l.number("hidden"):
		return fail(t.Source, fmt.Sprintf("%s: %d MB used, no process shown", place(c), used), "<=", l.shown("hidden"))
	case t.Value.Truncated && !quiet:
		return unknown(t.Source, place(c)+": the text ends before its processes")
	}
	return pass(t.Source, place(c)+": no process")
}

func npuFreq(l *look) verdict {
	if len(l.NPUCommon) == 0 {
		return unknown(l.table().Source, "not read")
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
			seen := fmt.Sprintf("NPU %d chip %d: %d of %d MHz, AICore %s %%", a.NPU, a.Chip, *c.AICoreCurMHz, *c.AICoreMHz, num(c.AICorePct))
			busy := c.AICorePct != nil && float64(*c.AICorePct) >= l.number("load")
			all = append(all, ifElse(*c.AICoreCurMHz >= *c.AICoreMHz || !busy, report.Fail, a.Answer.Source, seen, "full under load"))
		}
	}
	if len(all) == 0 {
		return unknown(l.NPUCommon[0].Answer.Source, "no frequency")
	}
	return worst(all...)
}

func npuMixed(l *look) verdict {
	var names []string
	v := l.eachRow(l.table().Value.Chips, func(c facts.SmiChip) verdict {
		names = append(names, c.Name)
		return pass(l.table().Source, c.Name)
	})
	if v.status != report.Pass {
		return v
	}
	names = unique(names)
	return ifElse(len(names) == 1, report.Warn, l.table().Source, strings.Join(names, " "), "one model")
}

func npuLatency(l *look) verdict {
	f, wanted := l.NPUInfo, "< "+l.shown("good")
	switch {
	case hung(f):
		return fail(f.Source, f.Note, wanted)
	case rows(f) == 0 || f.Value.Failure != nil:
		return unknown(f.Source, note(f))
	case !l.NPUInfoMS.Known():
		return unknown(f.Source, "its time was not taken")
	}
	s := float64(l.NPUInfoMS.Value) / 1000
	seen := fmt.Sprintf("%.1f s", s)
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
		return warn(f.Source, "not supported", l.word("column"))
	case !f.Known() || t == nil || len(t.Cells) == 0:
		return unknown(f.Source, note(f))
	}
	return ifElse(len(t.Affinity) > 0, report.Warn, f.Source, count(len(t.Labels), "labels"), "a column "+l.word("column"))
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
	return ifElse(!gaps, report.Warn, f.Source, "NPU ids "+strings.Trim(fmt.Sprint(ids), "[]"), "0, 1, 2 ... without gaps")
}
