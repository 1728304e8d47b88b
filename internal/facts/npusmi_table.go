package facts

import (
	"slices"
	"strconv"
	"strings"
)

// tableWords are the header words of npu-smi info, of its process table and of
// info-vnpu (src: hicann/driver npucli npu_info_print.c; releases 21.0 to 26.0).
var tableWords = map[string]smiField{
	"npu": "npu", "npuid": "npu", "chip": "chip", "phyid": "phy", "device": "device", "name": "name",
	"health": "health", "busid": "bus_id", "power(w)": "power_w", "temp(c)": "temp_c",
	"aicore(%)": "core_pct", "npuutil(%)": "core_pct",
	"hugepagesusage(page)": "hugepages", "memoryusage(mb)": "mem_mb", "hbmusage(mb)": "hbm_mb",

	"processid": "pid", "processname": "process_name", "processmemory(mb)": "process_mb",
	"processidincontainer": "pid_in_container",

	"vnpuid": "vnpu", "vgroupid": "group", "containerid": "container", "status": "status", "templatename": "template",
}

// smiTableOf says which table a column proves.
var smiTableOf = map[smiField]string{
	"name": "chips", "health": "chips", "bus_id": "chips", "power_w": "chips", "temp_c": "chips", "core_pct": "chips",
	"hugepages": "chips", "mem_mb": "chips", "hbm_mb": "chips", "device": "chips", "phy": "chips",
	"pid": "processes", "process_name": "processes", "process_mb": "processes", "pid_in_container": "processes",
	"vnpu": "vnpus", "group": "vnpus", "container": "vnpus", "template": "vnpus",
}

// smiRow is one line between bars. What follows the last bar was cut off, or
// is not the tool's.
type smiRow struct {
	cells []string
	cut   bool
}

func (r smiRow) text() string { return strings.TrimSpace(strings.Join(r.cells, " ")) }

// smiBlock is the rows between two borders.
type smiBlock struct {
	rows  []smiRow
	fresh bool // a new table starts here: two borders in a row
}

// blocksOf cuts bar lines into blocks. Every other line is noise. cut says that
// the last bar line stops early; width is the columns between the outer bars.
func blocksOf(lines []string) (blocks []smiBlock, width int, cut bool) {
	b, above := smiBlock{fresh: true}, ""
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+") || strings.HasPrefix(line, "|="):
			cut = len(line) < 2 || !strings.ContainsAny(line[len(line)-1:], "+|") || width > 0 && len(line) != width+2
			if !cut && width == 0 {
				width = len(line) - 2
			}
			if len(b.rows) > 0 {
				blocks = append(blocks, b)
				b = smiBlock{}
			} else if above != "" && strings.HasPrefix(line, "+-") {
				b.fresh = true
			}
			above = line
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(line[1:], "|")
			last := len(cells) - 1
			cut = strings.TrimSpace(cells[last]) != "" || last == 0
			b.rows = append(b.rows, smiRow{cells[:last], cut})
		}
	}
	if len(b.rows) > 0 {
		blocks, cut = append(blocks, b), true
	}
	return blocks, width, cut
}

// smiHeader is the meaning of a table's columns: row, cell, column.
type smiHeader struct {
	rows   [][][]smiField
	part   string // chips, processes, vnpus; "" = cannot be told
	fields []smiField
	single bool // "NPU ID" and no Chip: one chip per NPU
}

var smiNumber = pattern(`^\d+(\.\d+)?(/\d+)?$`)

func (r smiRow) hasNumber() bool {
	return slices.ContainsFunc(strings.Fields(r.text()), smiNumber().MatchString)
}

func (r smiRow) hasWord() bool {
	return slices.ContainsFunc(r.cells, func(c string) bool {
		return slices.ContainsFunc(columnsOf(c, tableWords), func(f smiField) bool { return f != "" })
	})
}

// headerOf takes the header off a block: its first rows, one of which has a
// known word. Data rows always hold a number and header rows never do, so it
// ends at the first number even where somebody left the borders out.
func headerOf(rows []smiRow) (*smiHeader, []smiRow) {
	n := slices.IndexFunc(rows, smiRow.hasNumber)
	if n < 0 {
		n = len(rows)
	}
	if n == 0 || n > 2 || !slices.ContainsFunc(rows[:n], smiRow.hasWord) {
		return nil, rows
	}
	h := &smiHeader{}
	for _, r := range rows[:n] {
		var row [][]smiField
		for _, c := range r.cells {
			row = append(row, columnsOf(c, tableWords))
			h.single = h.single || smiNorm(c) == "npuid"
		}
		h.rows = append(h.rows, row)
	}
	noDoubles(h.rows)
	for _, f := range slices.Concat(slices.Concat(h.rows...)...) {
		h.fields = append(h.fields, f)
		if p := smiTableOf[f]; p != "" && h.part == "" {
			h.part = p
		}
	}
	h.single = h.single && !h.has("chip")
	return h, rows[n:]
}

func (h *smiHeader) has(f smiField) bool { return slices.Contains(h.fields, f) }

// read hands every value of a record to set; false when a row does not fit.
func (h *smiHeader) read(record []smiRow, set func(smiField, string)) bool {
	for i, r := range record {
		if len(r.cells) > len(h.rows[i]) || len(r.cells) < len(h.rows[i]) && !r.cut {
			return false
		}
	}
	for i, r := range record {
		for j, cell := range r.cells {
			cols := h.rows[i][j]
			for k, v := range valuesOf(cell, len(cols)) {
				if k < len(cols) && cols[k] != "" {
					set(cols[k], v)
				}
			}
		}
	}
	return true
}

var (
	smiBanner = pattern(`npu-smi\s+([0-9][\w.+-]*)\s+Version:\s*([0-9][\w.+-]*)`)
	idleLine  = pattern(`^No running processes found in NPU (\d{1,9})$`)
)

// smiTable walks the blocks of a bar table into out.
type smiTable struct {
	out     *NPUSmi
	head    *smiHeader
	chips   *smiHeader // header of the chip table, once seen
	procs   bool       // a process table has begun
	reads   []int      // NPUs the process table speaks of, in its order
	stopped bool       // a second output follows; the first counts
}

func (t *smiTable) block(b smiBlock, last bool) {
	if b.fresh {
		t.head = nil
	}
	rows := b.rows
	if m := bannerOf(rows); m != nil {
		if t.stopped = t.chips != nil; !t.stopped {
			t.out.ToolVersion, t.out.DriverVersion = m[1], m[2]
		}
		rows = rows[1:]
	}
	h, rest := headerOf(rows)
	if h != nil {
		if t.stopped = t.stopped || h.part == "chips" && t.chips != nil; !t.stopped {
			t.begin(h)
		}
	}
	if t.stopped {
		t.out.Skipped += len(rest)
		return
	}
	rest = slices.DeleteFunc(slices.Clone(rest), t.idle)
	t.records(rest, last)
}

func bannerOf(rows []smiRow) []string {
	if len(rows) == 0 || len(rows[0].cells) != 1 {
		return nil
	}
	return smiBanner().FindStringSubmatch(rows[0].cells[0])
}

func (t *smiTable) begin(h *smiHeader) {
	t.head = h
	switch h.part {
	case "chips":
		t.chips = h
	case "processes":
		t.procs = true
	}
}

func (t *smiTable) idle(r smiRow) bool {
	m := idleLine().FindStringSubmatch(r.text())
	if m == nil || r.cut && len(r.cells) == 0 {
		return false
	}
	npu, _ := strconv.Atoi(m[1])
	if t.procs = true; len(t.reads) < maxDevices && !slices.Contains(t.out.IdleNPUs, npu) {
		t.out.IdleNPUs = append(t.out.IdleNPUs, npu)
	}
	t.mention(npu)
	return true
}

func (t *smiTable) mention(npu int) {
	if len(t.reads) < maxDevices && !slices.Contains(t.reads, npu) {
		t.reads = append(t.reads, npu)
	}
}

// records cuts rows into records of the header's height. A record that lacks a
// row counts only where the text stops.
func (t *smiTable) records(rows []smiRow, last bool) {
	if t.head == nil || t.head.part == "" {
		t.out.Skipped += len(rows)
		return
	}
	n := len(t.head.rows)
	for len(rows) > 0 {
		k := min(n, len(rows))
		if whole := len(rows)%n == 0 || last; !whole || !t.record(rows[:k]) {
			t.out.Skipped += k
		}
		rows = rows[k:]
	}
}

func (t *smiTable) record(rows []smiRow) bool {
	switch t.head.part {
	case "chips":
		var c SmiChip
		ok := t.head.read(rows, c.set)
		if c == (SmiChip{}) || len(t.out.Chips) == maxDevices || slices.ContainsFunc(t.out.Chips, c.same) {
			return false
		}
		if t.head.single && c.NPU != nil {
			c.Chip = new(int)
		}
		t.out.Chips = append(t.out.Chips, c)
		return ok
	case "processes":
		return t.process(rows)
	default:
		return t.instance(rows)
	}
}

// same is true for the same known chip.
func (c SmiChip) same(d SmiChip) bool {
	return c.NPU != nil && c.Chip != nil && d.NPU != nil && d.Chip != nil && *c.NPU == *d.NPU && *c.Chip == *d.Chip
}

func (t *smiTable) process(rows []smiRow) bool {
	var p SmiProcess
	pid := (*int)(nil)
	ok := t.head.read(rows, func(f smiField, v string) {
		switch f {
		case "npu":
			p.NPU = smiCount(v)
		case "chip":
			p.Chip = smiCount(v)
		case "pid":
			pid = smiCount(v)
		case "pid_in_container":
			p.PIDInContainer = smiCount(v)
		case "process_name":
			p.Name = v
		case "process_mb":
			p.MemMB = smiCount(v)
		}
	})
	if p.NPU != nil {
		t.mention(*p.NPU)
	}
	if !ok || pid == nil {
		return false
	}
	if p.PID = *pid; t.head.single && p.NPU != nil {
		p.Chip = new(int)
	}
	t.out.Processes = append(t.out.Processes, p)
	return true
}

func (t *smiTable) instance(rows []smiRow) bool {
	var v SmiInstance
	ok := t.head.read(rows, func(f smiField, s string) {
		switch f {
		case "vnpu":
			v.ID = smiCount(s)
		case "group":
			v.Group = smiCount(s)
		case "status":
			v.Status = smiCount(s)
		case "container":
			v.Container = s
		case "template":
			v.Template = s
		}
	})
	if !ok || v == (SmiInstance{}) || t.out.VNPU == nil {
		return false
	}
	t.out.VNPU.VNPUs = append(t.out.VNPU.VNPUs, v)
	return true
}
