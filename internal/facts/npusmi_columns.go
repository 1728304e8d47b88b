package facts

import (
	"slices"
	"strings"
)

// mapWords are the columns of info -m; watchWords those of info watch, where
// NPU and AI Core utilisation are two columns.
var (
	mapWords = map[string]smiField{
		"npuid": "npu", "slotid": "slot", "chipid": "chip", "chiplogicid": "logic", "chipphyid": "phy", "chipname": "name",
	}
	watchWords = map[string]smiField{
		"npuid(idx)": "npu", "chipid(idx)": "chip", "pwr(w)": "power_w", "temp(c)": "temp_c", "aicore(%)": "aicore_pct",
		"aicpu(%)": "aicpu_pct", "ctrlcpu(%)": "ctrlcpu_pct", "memory(%)": "mem_pct", "memorybw(%)": "mem_bw_pct",
		"npuutil(%)": "npu_pct",
	}
)

// heading reads a line as the header of columns without bars.
func heading(line string, known map[string]smiField) []smiField {
	cols := columnsOf(line, known)
	noDoubles([][][]smiField{{cols}})
	return cols
}

func countKnown(cols []smiField) (n int) {
	for _, f := range cols {
		if f != "" {
			n++
		}
	}
	return n
}

// mapping reads info -m. A row without logic id is a board controller; without
// a name and a logic column nobody can tell the two, so nothing is read.
func mapping(lines []string, out *NPUSmi) bool {
	var cols []smiField
	for _, line := range lines {
		if cols == nil {
			if c := heading(line, mapWords); countKnown(c) >= 2 {
				cols = c
			}
			continue
		}
		vs := valuesOf(line, len(cols))
		if line != "" && vs == nil {
			out.Skipped++
		}
		out.mapRow(cols, vs)
	}
	if cols == nil {
		return false
	}
	byName, byLogic := slices.Contains(cols, "name"), slices.Contains(cols, "logic")
	switch {
	case byName && out.MCURows == nil:
		out.MCURows = new(int)
	case !byName && !byLogic:
		out.Skipped += len(out.Map)
		out.Map = nil
	}
	if out.Map == nil && (byName || byLogic) {
		out.Map = []SmiMap{}
		out.Truncated = true
	}
	return true
}

func (n *NPUSmi) mapRow(cols []smiField, vs []string) {
	var m SmiMap
	ints := map[smiField]**int{"npu": &m.NPU, "slot": &m.Slot, "chip": &m.Chip, "logic": &m.Logic, "phy": &m.Phy}
	mcu := false
	for i, v := range vs {
		if at, ok := ints[cols[i]]; ok {
			*at = smiCount(v)
			mcu = mcu || cols[i] == "logic" && v == "-"
		} else if cols[i] == "name" && !na(v) {
			m.Name = v
		}
	}
	switch {
	case strings.EqualFold(m.Name, "mcu"):
		if n.MCURows == nil {
			n.MCURows = new(int)
		}
		*n.MCURows++
	case mcu && m.Name == "":
	case m == SmiMap{Name: m.Name}: // noise that happens to have as many words
	default:
		n.Map = append(n.Map, m)
	}
}

// watch reads info watch; its header comes again every so often.
func watch(lines []string, out *NPUSmi) bool {
	var cols []smiField
	for _, line := range lines {
		if c := heading(line, watchWords); countKnown(c) >= 2 {
			if cols = c; out.Samples == nil {
				out.Samples = []SmiChip{}
			}
			continue
		}
		if cols == nil || line == "" {
			continue
		}
		var c SmiChip
		if vs := strings.Fields(line); len(vs) == len(cols) {
			for i, v := range vs {
				c.set(cols[i], v)
			}
		}
		if c == (SmiChip{}) {
			out.Skipped++
			continue
		}
		out.Samples = append(out.Samples, c)
	}
	return cols != nil
}

var (
	topoLabel = pattern(`^(?:NPU|Phy-ID)(\d{1,5})$`)
	topoLink  = pattern(`^[A-Za-z_0-9]{1,12}$`)
)

// topology reads -t topo: a head of labels, then a row for each. Labels other
// than NPUs (950 has NICs) are kept as printed.
func topology(lines []string, out *NPUSmi) bool {
	var t *SmiTopo
	var head []string
	affinity := false
	for _, line := range lines {
		if t == nil {
			if head, affinity = topoHead(line); head != nil {
				t = &SmiTopo{Affinity: map[string]string{}}
			}
			continue
		}
		vs := strings.Fields(line)
		if len(vs) == 0 || !slices.Contains(head, vs[0]) || slices.Contains(t.Labels, vs[0]) {
			continue
		}
		want := 1 + len(head)
		if affinity && len(vs) == want+1 {
			if id := topoLabel().FindStringSubmatch(vs[0]); id != nil && !na(vs[want]) {
				t.Affinity[id[1]] = vs[want]
			}
		} else if len(vs) != want {
			out.Skipped++
			continue
		}
		t.Labels = append(t.Labels, vs[0])
		t.Cells = append(t.Cells, vs[1:want])
	}
	if t == nil {
		return false
	}
	if !slices.Equal(t.Labels, head) { // rows are missing: no square, no statement about all
		out.Truncated = true
		t.Labels, t.Cells = head, nil
	}
	t.Links = t.uniform()
	out.Topo = t
	return true
}

func topoHead(line string) (labels []string, affinity bool) {
	npus := 0
	for _, w := range chunks(line) {
		switch {
		case smiNorm(w) == "cpuaffinity":
			affinity = true
		case w == "" || strings.Contains(w, " ") || affinity:
			return nil, false
		default:
			labels = append(labels, w)
			if topoLabel().MatchString(w) {
				npus++
			}
		}
	}
	if npus == 0 || npus < 2 && !affinity || len(labels) > maxDevices {
		return nil, false
	}
	return labels, affinity
}

// uniform says when every pair of different devices has the same link.
func (t *SmiTopo) uniform() string {
	word := ""
	for i, row := range t.Cells {
		for j, c := range row {
			if i == j {
				continue
			}
			if word == "" {
				word = c
			}
			if c != word || !topoLink().MatchString(c) || na(c) {
				return ""
			}
		}
	}
	if word == "" {
		return ""
	}
	return word + " between all"
}
