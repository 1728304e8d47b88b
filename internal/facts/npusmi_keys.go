package facts

import (
	"slices"
	"strings"
)

// keyWords are the keys of "key : value" outputs that become fields of a chip
// (src: hicann/driver npucli npu_chip_info.c, docs/en/Ascend_950_npu-smi; seen:
// gpustack/gpustack issue 2135).
var keyWords = map[string]smiField{
	"npuid": "npu", "chipid": "chip", "healthstatus": "health", "health": "health",

	"memorycapacity(mb)": "mem_capacity_mb", "ddrcapacity(mb)": "mem_capacity_mb", "hbmcapacity(mb)": "hbm_capacity_mb",
	"memoryusagerate(%)": "mem_pct", "ddrusagerate(%)": "mem_pct", "hbmusagerate(%)": "hbm_pct",
	"aicoreusagerate(%)": "aicore_pct", "aicpuusagerate(%)": "aicpu_pct", "ctrlcpuusagerate(%)": "ctrlcpu_pct",
	"npuutilization(%)": "npu_pct",
	"aicorefreq(mhz)":   "aicore_mhz", "aicorecurfreq(mhz)": "aicore_cur_mhz", "aicorecount": "aicore_count",
	"temperature(c)": "temp_c", "npurealtimepower(w)": "power_w",

	"ddrsinglebiterrorcount": "ddr_single_bit", "ddrdoublebiterrorcount": "ddr_double_bit",
	"ddrdoublebitaggregatetotalerrcnt": "ddr_double_bit_total", "ddrdoublebitisolatedpagescount": "ddr_double_bit_isolated_pages",
	"hbmsinglebiterrorcount": "hbm_single_bit", "hbmdoublebiterrorcount": "hbm_double_bit",
	"hbmdoublebitaggregatetotalerrcnt": "hbm_double_bit_total", "hbmdoublebitisolatedpagescount": "hbm_double_bit_isolated_pages",
}

// keyTypes are keys that only one question prints.
var keyTypes = map[string]SmiType{
	"totalcount": SmiListT, "cardcount": SmiListT,
	"healthstatus": SmiHealthT, "health": SmiHealthT, "errorinformation": SmiHealthT,
	"ddrcapacity(mb)": SmiUsages, "hbmcapacity(mb)": SmiUsages, "memorycapacity(mb)": SmiUsages,
	"ctrlcpuusagerate(%)": SmiUsages, "aicpuusagerate(%)": SmiUsages,
	"aicorefreq(mhz)": SmiCommon, "aicorecurfreq(mhz)": SmiCommon, "npurealtimepower(w)": SmiCommon,
	"softwareversion": SmiBoardT, "pcbid": SmiBoardT, "boardid": SmiBoardT, "bomid": SmiBoardT, "chipversion": SmiBoardT,
	"ddrdoublebiterrorcount": SmiECC, "hbmdoublebiterrorcount": SmiECC,
}

// keyIDs are keys that every question prints: alone they answer nothing.
var keyIDs = []string{"npuid", "chipid", "chipcount"}

var (
	// The blank before the colon tells a key from a shell's message.
	keyLine  = pattern(`^([A-Z][\w ()/%.-]*?)\s+:(?:\s+(.*))?$`)
	procLine = pattern(`^Process id:\s*(\d+)\s+Process name:\s*(.*?)\s*Process memory\(MB\):\s*(\d+)$`)
)

const noProcess = "No process in device."

// smiKeys is a "key : value" output by block. A block ends at an empty line, or
// where a key comes again: pasted text may have lost its empty lines.
type smiKeys struct {
	blocks [][]SmiPair
	known  bool // it says more than ids
	typ    SmiType
}

func keysOf(lines []string) smiKeys {
	var k smiKeys
	var b []SmiPair
	seen := map[string]bool{}
	flush := func() {
		if len(b) > 0 {
			k.blocks = append(k.blocks, b)
		}
		b, seen = nil, map[string]bool{}
	}
	for _, line := range lines {
		if line == "" {
			flush()
		}
		m := keyLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n := smiNorm(m[1])
		// The board controller's block begins with its name.
		if seen[n] || strings.EqualFold(m[2], "mcu") && seen["chipid"] {
			flush()
		}
		seen[n] = true
		b = append(b, SmiPair{m[1], strings.TrimSpace(m[2])})
		if typ := keyTypes[n]; typ != "" && k.typ == "" {
			k.typ = typ
		}
		if _, ours := keyWords[n]; (ours || keyTypes[n] != "") && !slices.Contains(keyIDs, n) {
			k.known = true
		}
	}
	flush()
	return k
}

// get is the first value of a key in a block; "" for NA.
func get(block []SmiPair, key string) string {
	for _, p := range block {
		if smiNorm(p.Key) == key {
			if na(p.Value) {
				return ""
			}
			return p.Value
		}
	}
	return ""
}

// first is the first value of a key in any block.
func (k smiKeys) first(key string) string {
	for _, b := range k.blocks {
		if v := get(b, key); v != "" {
			return v
		}
	}
	return ""
}

// chips reads a chip out of each block. asked is the -c of the command.
func (k smiKeys) chips(out *NPUSmi, asked *int, commandKnown bool) {
	var named, bare []SmiChip
	for _, b := range k.blocks {
		if strings.EqualFold(get(b, "chipname"), "mcu") {
			out.MCU = true
			continue
		}
		var c SmiChip
		for _, p := range b {
			c.set(keyWords[smiNorm(p.Key)], p.Value)
		}
		c.NPU = nil // stands once for all, in NPU
		switch id := c.Chip; {
		case c == SmiChip{Chip: id}: // ids only
		case id != nil:
			named = append(named, c)
		default:
			bare = append(bare, c)
		}
	}
	// Where one block names its chip, one that does not belongs to nobody knows
	// whom. A lone block is the chip asked for, or the only one of a 950, whose
	// outputs count no chips.
	switch {
	case len(named) > 0 || len(bare) > 1:
		out.Skipped += len(bare)
	case len(bare) == 1:
		if bare[0].Chip = asked; asked == nil && commandKnown && k.first("chipcount") == "" {
			bare[0].Chip = new(int)
		}
		named = bare
	}
	out.Chips = named
}

func (k smiKeys) list(out *NPUSmi) {
	l := &SmiList{NPUs: []SmiCard{}, Total: smiCount(k.first("totalcount"))}
	if l.Total == nil {
		l.Total = smiCount(k.first("cardcount"))
	}
	for _, b := range k.blocks {
		if npu := smiCount(get(b, "npuid")); npu != nil {
			l.NPUs = append(l.NPUs, SmiCard{*npu, smiCount(get(b, "chipcount")), get(b, "productname"), get(b, "serialnumber")})
		}
	}
	out.NPU, out.List = nil, l
	out.Truncated = out.Truncated || l.Total != nil && len(l.NPUs) < *l.Total
}

func (k smiKeys) board(out *NPUSmi) {
	var b SmiBoard
	for key, to := range map[string]*string{
		"softwareversion": &b.DriverVersion, "firmwareversion": &b.FirmwareVersion, "compatibility": &b.Compatibility,
		"boardid": &b.BoardID, "pcivendorid": &b.PCIVendor, "pcideviceid": &b.PCIDevice, "subsystemvendorid": &b.SubVendor,
		"subsystemdeviceid": &b.SubDevice, "productname": &b.Product, "serialnumber": &b.Serial,
		"chiptype": &b.ChipType, "chipname": &b.ChipName, "npuname": &b.NPUName,
	} {
		*to = k.first(key)
	}
	if id := k.first("pciebusinfo"); busID().MatchString(id) {
		b.BusID = id
	}
	b.Chip, b.ChipCount, b.FaultyChips = smiCount(k.first("chipid")), smiCount(k.first("chipcount")), smiCount(k.first("faultychipcount"))
	b.SoC = socOf(b)
	out.Board = &b
}

// socOf puts the soc_version together as vllm-ascend's setup.py and hicann/ge
// do: type and name before A3, chip and NPU name from A3 on.
func socOf(b SmiBoard) string {
	switch {
	case b.ChipName == "":
		return ""
	case strings.Contains(b.ChipName, "A2G3"):
		return "Ascend910B1"
	case b.ChipType != "":
		return b.ChipType + strings.TrimPrefix(b.ChipName, b.ChipType)
	case b.NPUName != "":
		return b.ChipName + "_" + b.NPUName
	}
	return ""
}

var errorCode = pattern(`[0-9A-Za-z]+`)

func (k smiKeys) health(out *NPUSmi) {
	var h SmiHealth
	said := 0
	for _, b := range k.blocks {
		v := get(b, "healthstatus")
		if v == "" {
			v = get(b, "health")
		}
		if !healthWord().MatchString(v) {
			continue
		}
		said++
		h = SmiHealth{Health: v, Info: get(b, "errorinformation")}
		if i := slices.IndexFunc(b, func(p SmiPair) bool { return smiNorm(p.Key) == "errorcode" }); i >= 0 {
			h.Errors = []string{}
			if !na(b[i].Value) {
				h.Errors = errorCode().FindAllString(b[i].Value, -1)
			}
		}
	}
	if said == 1 { // several chips: each in Chips
		out.Health = &h
	}
}

// procMem reads -t proc-mem, which prints ids first and a line per process.
func procMem(lines []string, out *NPUSmi) bool {
	var npu, chip *int
	found := false
	for _, line := range lines {
		if m := keyLine().FindStringSubmatch(line); m != nil {
			switch smiNorm(m[1]) {
			case "npuid":
				npu = smiCount(m[2])
			case "chipid":
				chip = smiCount(m[2])
			}
		}
		m := procLine().FindStringSubmatch(line)
		if m == nil && line != noProcess {
			continue
		}
		if found = true; out.Processes == nil {
			out.Processes = []SmiProcess{}
		}
		if m == nil {
			continue
		}
		if pid := smiCount(m[1]); pid != nil {
			out.Processes = append(out.Processes, SmiProcess{NPU: npu, Chip: chip, PID: *pid, Name: m[2], MemMB: smiCount(m[3])})
		}
	}
	if found {
		out.NPU = npu
	}
	return found
}
