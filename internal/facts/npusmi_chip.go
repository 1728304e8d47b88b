package facts

import (
	"strings"
)

// chipInts are the whole numbers of a chip by field; chipPairs likewise.
var chipInts = map[smiField]func(*SmiChip) **int{
	"npu":    func(c *SmiChip) **int { return &c.NPU },
	"chip":   func(c *SmiChip) **int { return &c.Chip },
	"device": func(c *SmiChip) **int { return &c.Device },
	"phy":    func(c *SmiChip) **int { return &c.Phy },

	"core_pct":    func(c *SmiChip) **int { return &c.CorePct },
	"mem_pct":     func(c *SmiChip) **int { return &c.MemPct },
	"hbm_pct":     func(c *SmiChip) **int { return &c.HBMPct },
	"aicore_pct":  func(c *SmiChip) **int { return &c.AICorePct },
	"aicpu_pct":   func(c *SmiChip) **int { return &c.AICPUPct },
	"ctrlcpu_pct": func(c *SmiChip) **int { return &c.CtrlCPUPct },
	"npu_pct":     func(c *SmiChip) **int { return &c.NPUPct },
	"mem_bw_pct":  func(c *SmiChip) **int { return &c.MemBWPct },

	"mem_capacity_mb": func(c *SmiChip) **int { return &c.MemCapacityMB },
	"hbm_capacity_mb": func(c *SmiChip) **int { return &c.HBMCapacityMB },
	"aicore_mhz":      func(c *SmiChip) **int { return &c.AICoreMHz },
	"aicore_cur_mhz":  func(c *SmiChip) **int { return &c.AICoreCurMHz },
	"aicore_count":    func(c *SmiChip) **int { return &c.AICoreCount },

	"ddr_single_bit":                func(c *SmiChip) **int { return &c.DDRSingleBit },
	"ddr_double_bit":                func(c *SmiChip) **int { return &c.DDRDoubleBit },
	"ddr_double_bit_total":          func(c *SmiChip) **int { return &c.DDRDoubleBitTotal },
	"ddr_double_bit_isolated_pages": func(c *SmiChip) **int { return &c.DDRIsolatedPages },
	"hbm_single_bit":                func(c *SmiChip) **int { return &c.HBMSingleBit },
	"hbm_double_bit":                func(c *SmiChip) **int { return &c.HBMDoubleBit },
	"hbm_double_bit_total":          func(c *SmiChip) **int { return &c.HBMDoubleBitTotal },
	"hbm_double_bit_isolated_pages": func(c *SmiChip) **int { return &c.HBMIsolatedPages },
}

var chipPairs = map[smiField]func(*SmiChip) **Pair{
	"hugepages": func(c *SmiChip) **Pair { return &c.Hugepages },
	"mem_mb":    func(c *SmiChip) **Pair { return &c.MemMB },
	"hbm_mb":    func(c *SmiChip) **Pair { return &c.HBMMB },
}

var (
	busID      = pattern(`^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$`)
	healthWord = pattern(`^[A-Za-z]{2,16}$`)
)

// set reads one value; what has not the form of its field stays unknown.
func (c *SmiChip) set(f smiField, v string) {
	if na(v) {
		return
	}
	if at, ok := chipInts[f]; ok {
		if strings.HasSuffix(string(f), "_pct") {
			*at(c) = smiPct(v)
		} else {
			*at(c) = smiCount(v)
		}
		return
	}
	if at, ok := chipPairs[f]; ok {
		*at(c) = smiPair(v)
		return
	}
	switch f {
	case "power_w":
		c.PowerW = smiFloat(v)
	case "temp_c":
		c.TempC = smiInt(v) // a cold start may be below zero
	case "name":
		c.Name = v
	case "health":
		if healthWord().MatchString(v) {
			c.Health = v
		}
	case "bus_id":
		if busID().MatchString(v) {
			c.BusID = v
		}
	}
}
