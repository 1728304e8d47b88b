package facts

import (
	"slices"
	"strings"
)

// ParseNPUSmi reads the output of one run. The text decides what it is;
// command ("" = not known) and exit (nil = not known) only fill what the text
// leaves open. It never fails: what it cannot read is left out and said so.
//
// Hand the streams in as they came. The last line of an output that is not a
// table counts only with its line end, because a cut number is another number.
func ParseNPUSmi(stdout, stderr []byte, command string, exit *int) NPUSmi {
	out := NPUSmi{Command: command, Exit: exit}
	text, errs := cleanSmi(stdout), cleanSmi(stderr)
	cmd := commandOf(command)
	killed := exit != nil && *exit == exitTimeout
	out.warn(text)
	out.warn(errs)
	if tab := out; tab.table(text) && (len(tab.Chips) > 0 || tab.VNPU != nil || failureIn(text, errs) == nil) {
		tab.Truncated = tab.Truncated || killed
		return tab
	}
	if out.answer(text, cmd) {
		out.Truncated = out.Truncated || !text.whole || killed && out.Type != SmiWatch
		return out
	}
	out.refused(text, failureIn(text, errs), cmd)
	if out.Kind == "" && !out.asPrinted(text, cmd) {
		out.Kind, out.Failure = SmiFailed, silence(text, errs, exit)
	}
	return out
}

// smiCommand is what the command line says: the word after -t, -i and -c.
type smiCommand struct {
	known     bool
	typ       SmiType
	npu, chip *int
}

func commandOf(line string) smiCommand {
	words := strings.Fields(line)
	c := smiCommand{known: len(words) > 0}
	after := func(flag string) string {
		if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	c.typ, c.npu, c.chip = SmiType(after("-t")), smiCount(after("-i")), smiCount(after("-c"))
	switch {
	case c.typ != "":
	case slices.Contains(words, "-l"):
		c.typ = SmiListT
	case slices.Contains(words, "-m"):
		c.typ = SmiMapT
	case slices.Contains(words, "watch"):
		c.typ = SmiWatch
	case slices.Contains(words, "-v"):
		c.typ = SmiVersion
	case slices.Contains(words, "info"):
		c.typ = SmiInfo
	}
	return c
}

func (n *NPUSmi) warn(t smiText) {
	for _, l := range t.lines {
		if strings.Contains(l, "driver package may not be completely installed") && len(n.Warnings) == 0 {
			n.Warnings = []string{"driver_incomplete"}
		}
	}
}

// table reads a bar table: npu-smi info or info-vnpu.
func (n *NPUSmi) table(text smiText) bool {
	blocks, width, cut := blocksOf(text.lines)
	if len(blocks) == 0 && width == 0 {
		return false
	}
	t := smiTable{out: n}
	if n.VNPU = vnpuHead(blocks); n.VNPU != nil {
		n.Kind, n.Type = SmiOther, SmiVNPUT
	} else {
		n.Kind, n.Type, n.Chips, n.Processes, n.IdleNPUs = SmiTable, SmiInfo, []SmiChip{}, []SmiProcess{}, []int{}
	}
	for i, b := range blocks {
		t.block(b, cut && i == len(blocks)-1)
	}
	if v := n.VNPU; v != nil {
		n.Truncated = cut || v.Total == nil || len(v.VNPUs) < *v.Total
		return true
	}
	n.Layout = layoutOf(t.chips, width)
	n.Truncated = cut || t.short(n.Layout)
	return t.chips != nil || t.procs || n.ToolVersion != ""
}

// smiLayouts names the generations (facts of 21.0 to 26.0, one capture each at
// least): columns between the outer bars, what stands beside or instead of
// Chip, and which memories have a column.
var smiLayouts = []struct {
	name      string
	width     int
	left      smiField
	hbm, huge bool
}{
	{"A", 96, "chip", true, true}, {"A3", 96, "phy", true, true}, {"B", 104, "device", false, true},
	{"C", 78, "device", false, false}, {"D", 92, "device", false, true}, {"E", 84, "chip", true, false},
	{"F", 91, "chip", true, true}, {"G", 114, "chip", true, true}, {"G", 114, "phy", true, true},
	{"H", 114, "npu", true, true}, {"I", 97, "npu", true, true}, {"I", 97, "chip", true, true}, {"I", 97, "phy", true, true},
}

func layoutOf(h *smiHeader, width int) string {
	if h == nil {
		return ""
	}
	left := smiField("chip")
	switch {
	case h.single:
		left = "npu"
	case h.has("phy"):
		left = "phy"
	case h.has("device"):
		left = "device"
	}
	for _, l := range smiLayouts {
		if l.width == width && l.left == left && l.hbm == h.has("hbm_mb") && l.huge == h.has("hugepages") {
			return l.name
		}
	}
	return ""
}

// short is true when the text ends before the output does.
//
// The process table belongs to every output of chips with HBM and of 310 and
// 310P cards since 22.0; boards without PCIe have none. It speaks of every NPU
// in the order of the chip table: two or more in that order and then nothing is
// a cut. One alone is no order: outputs exist that leave NPUs out.
func (t *smiTable) short(layout string) bool {
	var npus []int
	card := false
	for _, c := range t.out.Chips {
		if c.NPU != nil && !slices.Contains(npus, *c.NPU) {
			npus = append(npus, *c.NPU)
		}
		card = card || c.BusID != ""
	}
	switch {
	case len(t.out.Chips) == 0:
		return true
	case t.procs:
		n := len(t.reads)
		return n == 0 || n >= 2 && n < len(npus) && slices.Equal(npus[:n], t.reads)
	case slices.Contains([]string{"C", "D", "E", "F"}, layout):
		return false
	}
	return t.chips.has("hbm_mb") || layout == "B" && card
}

var (
	vnpuValues = pattern(`^(?:(?:\d+|NA)/(?:\d+|NA)\s*)+$`)
	vnpuTotal  = pattern(`^Total number of vnpu: (\d{1,6})$`)
)

// vnpuHead finds the resource box of info-vnpu, nil when there is none. Its
// values stand under a header of names and one of units.
func vnpuHead(blocks []smiBlock) *SmiVNPU {
	var v *SmiVNPU
	var names []string
	for _, b := range blocks {
		for _, r := range b.rows {
			line := r.text()
			switch m := vnpuTotal().FindStringSubmatch(line); {
			case v == nil && (strings.HasPrefix(line, "NPU resource static info") || strings.HasPrefix(line, "Vnpu ID")):
				v = &SmiVNPU{VNPUs: []SmiInstance{}}
			case v == nil || r.cut:
			case m != nil:
				v.Total = smiCount(m[1])
			case strings.HasPrefix(smiNorm(line), "aicore") || slices.Contains(strings.Fields(line), "AICORE"):
				names = chunks(line)
			case names != nil && vnpuValues().MatchString(line):
				v.resources(names, strings.Fields(line))
			}
		}
	}
	return v
}

func (v *SmiVNPU) resources(names, values []string) {
	if len(names) != len(values) {
		return
	}
	for i, name := range names {
		p := smiPair(values[i])
		if p == nil || slices.Index(names, name) != i {
			continue
		}
		switch name {
		case "AICORE":
			v.AICoreFree, v.AICoreTotal = p[0], p[1]
		case "Memory":
			v.MemFreeGB, v.MemTotalGB = p[0], p[1]
		}
	}
}

var smiVersionLine = pattern(`^npu-smi version: (\S+)$`)

// answer reads every output without bars.
func (n *NPUSmi) answer(text smiText, cmd smiCommand) bool {
	lines := text.ended()
	n.Kind = SmiOther
	for _, l := range lines {
		if m := smiVersionLine().FindStringSubmatch(l); m != nil {
			n.Type, n.ToolVersion = SmiVersion, m[1]
			return true
		}
	}
	switch {
	case watch(lines, n):
		n.Type = SmiWatch
	case topology(lines, n):
		n.Type = SmiTopoT
	case mapping(lines, n):
		n.Type = SmiMapT
	case procMem(lines, n):
		n.Type = SmiProcMem
		n.asked(cmd)
	default:
		k := keysOf(lines)
		if !k.known {
			n.Kind = ""
			return false
		}
		n.keys(k, cmd)
	}
	return true
}

// keys reads "key : value" lines by the question they answer.
func (n *NPUSmi) keys(k smiKeys, cmd smiCommand) {
	if n.Type = k.typ; n.Type == "" {
		n.Type = cmd.typ
	}
	n.NPU = smiCount(k.first("npuid"))
	n.asked(cmd)
	switch n.Type {
	case SmiListT:
		k.list(n)
	case SmiBoardT:
		k.board(n)
	case SmiHealthT:
		k.health(n)
		k.chips(n, cmd.chip, cmd.known)
	default:
		k.chips(n, cmd.chip, cmd.known)
		want := smiCount(k.first("chipcount"))
		n.Truncated = len(n.Chips) == 0 || want != nil && len(n.Chips) < *want && cmd.chip == nil
	}
}

// asked takes the id the command names where the text names none.
func (n *NPUSmi) asked(cmd smiCommand) {
	if n.NPU == nil {
		n.NPU = cmd.npu
	}
}

// refused reads an output that answers by saying no.
func (n *NPUSmi) refused(text smiText, f *SmiFailure, cmd smiCommand) {
	no := slices.ContainsFunc(text.lines, smiUnsupported().MatchString)
	switch {
	case no:
		n.Kind, n.Type, n.Support = SmiOther, cmd.typ, new(bool)
	case f == nil:
	case f.Error == SmiUnknownWord:
		n.Kind, n.Failure = SmiOther, f
		if cmd.typ != "" && cmd.typ != SmiInfo { // an older driver knows fewer types
			n.Type, n.Support = cmd.typ, new(bool)
		}
	default:
		n.Kind, n.Failure = SmiFailed, f
	}
	if n.Kind != "" {
		n.asked(cmd)
	}
}

// asPrinted is the last resort: a type without a decoder keeps its lines.
func (n *NPUSmi) asPrinted(text smiText, cmd smiCommand) bool {
	k := keysOf(text.ended())
	if len(k.blocks) == 0 || cmd.typ == "" && k.first("npuid") == "" {
		return false
	}
	n.Kind, n.Type, n.Fields = SmiOther, cmd.typ, k.blocks
	n.NPU = smiCount(k.first("npuid"))
	n.asked(cmd)
	n.Truncated = !text.whole
	return true
}
