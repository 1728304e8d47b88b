package facts

import (
	"github.com/ascendctl/ascendctl/internal/report"
)

// NPUSmi is what one run of npu-smi said. A value that the text does not give
// is nil (absent in JSON), never 0: "could not read" is not "nothing there".
// Kind tells which of the fields can be set; Type which question it answers.
type NPUSmi struct {
	Kind    SmiKind `json:"kind"`
	Type    SmiType `json:"type,omitempty"` // "" = the text does not decide it
	Command string  `json:"command,omitempty"`
	Exit    *int    `json:"exit,omitempty"`   // as handed in
	Layout  string  `json:"layout,omitempty"` // of a table: A A3 B C D E F G H I; "" = a new one

	ToolVersion   string `json:"tool_version,omitempty"`
	DriverVersion string `json:"driver_version,omitempty"`

	NPU *int `json:"npu,omitempty"` // slot NPU id a -t question was about
	// Chips are the rows of a table, or the chip blocks of usages, common, ecc
	// and the like, in the order printed.
	Chips []SmiChip `json:"chips,omitzero"`
	// Processes are the rows of the process table or of proc-mem. An NPU that is
	// neither here nor in IdleNPUs is unknown, not idle.
	Processes []SmiProcess `json:"processes,omitzero"`
	IdleNPUs  []int        `json:"idle_npus,omitzero"` // the tool says so itself

	// Truncated: the text stops before its end; what is here was printed whole.
	Truncated bool `json:"truncated"`
	// Skipped counts the rows that look like data but fit no header.
	Skipped  int      `json:"skipped,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // driver_incomplete

	List    *SmiList    `json:"list,omitempty"`
	Map     []SmiMap    `json:"map,omitzero"`
	MCURows *int        `json:"mcu_rows,omitempty"` // board controllers among the rows of the map; no devices
	Board   *SmiBoard   `json:"board,omitempty"`
	Health  *SmiHealth  `json:"health,omitempty"`
	Topo    *SmiTopo    `json:"topo,omitempty"`
	VNPU    *SmiVNPU    `json:"vnpu,omitempty"`
	Samples []SmiChip   `json:"samples,omitzero"`    // of info watch
	MCU     bool        `json:"mcu_block,omitempty"` // -t common: a block of the board controller was left out
	Fields  [][]SmiPair `json:"fields,omitempty"`    // of a type without a decoder: its lines by block, as printed
	Support *bool       `json:"supported,omitempty"` // false: the device does not know the question
	Failure *SmiFailure `json:"failure,omitempty"`   // nil: the question was answered
}

// SmiKind is the coarse shape of an answer.
type SmiKind string

const (
	SmiTable  SmiKind = "table"   // npu-smi info
	SmiOther  SmiKind = "other"   // every other answer, "not supported" included
	SmiFailed SmiKind = "failure" // no answer; Failure says why
)

// SmiType is the question: the word after -t, or the form of info.
type SmiType string

const (
	SmiInfo    SmiType = "info"
	SmiListT   SmiType = "list" // info -l
	SmiMapT    SmiType = "map"  // info -m
	SmiBoardT  SmiType = "board"
	SmiUsages  SmiType = "usages"
	SmiCommon  SmiType = "common"
	SmiHealthT SmiType = "health"
	SmiECC     SmiType = "ecc"
	SmiProcMem SmiType = "proc-mem"
	SmiTopoT   SmiType = "topo"
	SmiVNPUT   SmiType = "info-vnpu"
	SmiWatch   SmiType = "watch"
	SmiVersion SmiType = "version" // -v
)

// Pair is used and total; a side that prints NA is nil.
type Pair [2]*int

// SmiChip is what one output says about one chip.
type SmiChip struct {
	NPU       *int   `json:"npu,omitempty"`    // slot NPU id
	Chip      *int   `json:"chip,omitempty"`   // index on the card; 0 on 950, which has one chip per NPU
	Device    *int   `json:"device,omitempty"` // logic id, printed for cards without HBM
	Phy       *int   `json:"phy,omitempty"`    // physical id, A3: the N of /dev/davinciN
	Name      string `json:"name,omitempty"`
	Health    string `json:"health,omitempty"` // OK Warning Alarm Critical UNKNOWN, as printed
	BusID     string `json:"bus_id,omitempty"` // "" = printed NA, or not read
	Hugepages *Pair  `json:"hugepages,omitempty"`
	MemMB     *Pair  `json:"mem_mb,omitempty"` // DDR; 0/0 where the chip has only HBM
	HBMMB     *Pair  `json:"hbm_mb,omitempty"`

	PowerW  *float64 `json:"power_w,omitempty"` // nil on 310P and on the second die of A3
	TempC   *int     `json:"temp_c,omitempty"`
	CorePct *int     `json:"core_pct,omitempty"` // AICore(%), on 950 NPU Util(%); a sample

	// -t usages, -t common, watch
	MemPct        *int `json:"mem_pct,omitempty"`
	MemCapacityMB *int `json:"mem_capacity_mb,omitempty"`
	HBMCapacityMB *int `json:"hbm_capacity_mb,omitempty"`
	HBMPct        *int `json:"hbm_pct,omitempty"`
	AICorePct     *int `json:"aicore_pct,omitempty"`
	AICPUPct      *int `json:"aicpu_pct,omitempty"`
	CtrlCPUPct    *int `json:"ctrlcpu_pct,omitempty"`
	NPUPct        *int `json:"npu_pct,omitempty"`
	MemBWPct      *int `json:"mem_bw_pct,omitempty"` // of watch
	AICoreMHz     *int `json:"aicore_mhz,omitempty"`
	AICoreCurMHz  *int `json:"aicore_cur_mhz,omitempty"`
	AICoreCount   *int `json:"aicore_count,omitempty"`

	// -t ecc
	DDRSingleBit      *int `json:"ddr_single_bit,omitempty"`
	DDRDoubleBit      *int `json:"ddr_double_bit,omitempty"`
	DDRDoubleBitTotal *int `json:"ddr_double_bit_total,omitempty"`
	DDRIsolatedPages  *int `json:"ddr_double_bit_isolated_pages,omitempty"`
	HBMSingleBit      *int `json:"hbm_single_bit,omitempty"`
	HBMDoubleBit      *int `json:"hbm_double_bit,omitempty"`
	HBMDoubleBitTotal *int `json:"hbm_double_bit_total,omitempty"`
	HBMIsolatedPages  *int `json:"hbm_double_bit_isolated_pages,omitempty"`
}

// SmiProcess is one process that holds a chip. Name "" = not known: where the
// tool cannot read it, it prints a blank. At most 15 characters are printed.
type SmiProcess struct {
	NPU            *int   `json:"npu,omitempty"`
	Chip           *int   `json:"chip,omitempty"`
	PID            int    `json:"pid"`
	PIDInContainer *int   `json:"pid_in_container,omitempty"`
	Name           string `json:"name"`
	MemMB          *int   `json:"mem_mb,omitempty"`
}

// SmiList is info -l.
type SmiList struct {
	Total *int      `json:"total,omitempty"`
	NPUs  []SmiCard `json:"npus"`
}

// SmiCard is one NPU of info -l. ChipCount is not printed on 950.
type SmiCard struct {
	NPU       int    `json:"npu"`
	ChipCount *int   `json:"chip_count,omitempty"`
	Product   string `json:"product,omitempty"`
	Serial    string `json:"serial,omitempty"`
}

// SmiMap is one chip of info -m.
type SmiMap struct {
	NPU   *int   `json:"npu,omitempty"`
	Slot  *int   `json:"slot,omitempty"` // 950
	Chip  *int   `json:"chip,omitempty"`
	Logic *int   `json:"logic,omitempty"`
	Phy   *int   `json:"phy,omitempty"` // A3, 950
	Name  string `json:"name,omitempty"`
}

// SmiBoard is -t board, of a card or (with -c) of a chip. NA is "".
type SmiBoard struct {
	DriverVersion   string `json:"driver_version,omitempty"`
	FirmwareVersion string `json:"firmware_version,omitempty"`
	// Compatibility of driver and firmware: OK, NOK, UNKNOWN, or NOT SUPPORT,
	// which everybody but root on the physical machine gets and which is no
	// mismatch.
	Compatibility string `json:"compatibility,omitempty"`
	BoardID       string `json:"board_id,omitempty"`
	PCIVendor     string `json:"pci_vendor,omitempty"` // 0x19E5
	PCIDevice     string `json:"pci_device,omitempty"`
	SubVendor     string `json:"subsystem_vendor,omitempty"`
	SubDevice     string `json:"subsystem_device,omitempty"`
	BusID         string `json:"bus_id,omitempty"`
	Product       string `json:"product,omitempty"`
	Serial        string `json:"serial,omitempty"`
	ChipCount     *int   `json:"chip_count,omitempty"`
	FaultyChips   *int   `json:"faulty_chip_count,omitempty"`
	Chip          *int   `json:"chip,omitempty"`
	ChipType      string `json:"chip_type,omitempty"`
	ChipName      string `json:"chip_name,omitempty"`
	NPUName       string `json:"npu_name,omitempty"` // A3 and 950: 9392
	// SoC is the soc_version the two names make; "" = they do not say.
	SoC string `json:"soc,omitempty"`
}

// SmiHealth is -t health. Errors is empty when the tool prints NA, nil when it
// says nothing about codes.
type SmiHealth struct {
	Health string   `json:"health"`
	Errors []string `json:"errors,omitzero"`
	Info   string   `json:"info,omitempty"`
}

// SmiTopo is -t topo: Cells[i][j] is the link from Labels[i] to Labels[j].
type SmiTopo struct {
	Labels   []string          `json:"labels"`             // NPU0, or Phy-ID0 on A3
	Cells    [][]string        `json:"cells"`              // X HCCS XLink SIO PIX PXB PHB SYS NA ...
	Affinity map[string]string `json:"affinity,omitempty"` // id to CPUs, "144-167"
	Links    string            `json:"links,omitempty"`    // "HCCS between all" when every pair has the same link
}

// SmiVNPU is -t info-vnpu.
type SmiVNPU struct {
	AICoreFree  *int          `json:"aicore_free,omitempty"`
	AICoreTotal *int          `json:"aicore_total,omitempty"`
	MemFreeGB   *int          `json:"mem_free_gb,omitempty"`
	MemTotalGB  *int          `json:"mem_total_gb,omitempty"`
	Total       *int          `json:"total,omitempty"`
	VNPUs       []SmiInstance `json:"vnpus"`
}

// SmiInstance is one vNPU.
type SmiInstance struct {
	ID        *int   `json:"id,omitempty"` // physical id * 16 + 100 and up
	Group     *int   `json:"group,omitempty"`
	Container string `json:"container,omitempty"`
	Status    *int   `json:"status,omitempty"`
	Template  string `json:"template,omitempty"` // vir02
}

// SmiPair is one line "key : value" as printed.
type SmiPair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// SmiFailure says why there is no answer.
type SmiFailure struct {
	Error   SmiError    `json:"error"`
	Code    *int        `json:"code,omitempty"` // DCMI code, negative
	Line    string      `json:"line,omitempty"` // as printed
	Stream  string      `json:"stream"`         // stdout or stderr: where this message is written
	Library string      `json:"library,omitempty"`
	Cause   report.Text `json:"cause"`
}

// SmiError is a class of failure. The names are stable: checks key on them.
type SmiError string

const (
	SmiDCMIInit      SmiError = "dcmi_init"
	SmiDeviceBusy    SmiError = "device_busy"
	SmiBoardType     SmiError = "board_type"
	SmiCommandFailed SmiError = "command_failed"
	SmiNotInstalled  SmiError = "not_installed_or_path"
	SmiNoLibraries   SmiError = "driver_libs_not_on_path"
	SmiNotExecutable SmiError = "npu_smi_not_executable"
	SmiNoCard        SmiError = "no_card"
	SmiNeedRoot      SmiError = "need_root_on_host"
	SmiNotHere       SmiError = "not_in_vm_or_container"
	SmiCardID        SmiError = "card_id_missing"
	SmiUnknownWord   SmiError = "unknown_command"
	SmiTimeout       SmiError = "timeout"
	SmiNoOutput      SmiError = "no_output"
	SmiUnrecognised  SmiError = "unrecognised"
)
