package facts

import "time"

// probes is everything a look asks, cheap and safe things first: bus, files,
// and npu-smi last, because it can hang. docs/adding-a-probe.md tells how to
// add one.
var probes = []probe{
	{"clock", (*look).clock, nil},
	{"system", (*look).system, (*look).systemMore},
	{"limits", (*look).limits, nil},
	{"disks", (*look).disks, (*look).moreDisks},
	{"place", (*look).place, (*look).board},
	{"people", (*look).people, nil},
	{"pci", (*look).pci, (*look).resources},
	{"nodes", (*look).nodes, nil},
	{"driver", (*look).driver, (*look).driverElsewhere},
	{"modules", (*look).modules, (*look).moduleFiles},
	{"cann", (*look).cannPaths, (*look).cannFiles},
	{"tools", (*look).tools, nil},
	{"python", (*look).python, (*look).torch},
	{"env", (*look).env, (*look).searchPaths},
	{"network", (*look).network, (*look).pip},
	{"docker", (*look).docker, (*look).runtimes},
	{"kernel_log", (*look).kernelLog, (*look).kernelLogAsRoot},
	{"npu_smi", (*look).npuSmi, (*look).npuSmiMore},
	{"hccn", (*look).hccnConf, (*look).hccn},
}

// conclusions are drawn when all answers are in.
var conclusions = []func(*look){(*look).concludeVirt, (*look).concludeGeneration, (*look).concludeCANN, (*look).concludeProcesses}

// Time limits of commands that wait for hardware (facts: one npu-smi info takes
// 1 to 3 s for eight cards).
const (
	smiTime  = 15 * time.Second
	hccnTime = 5 * time.Second
	pingTime = 15 * time.Second // three packets, each waited for
)

// Where the vendor's installers put things (source: hicann/driver scripts).
const (
	vendorRoot = "/usr/local/Ascend"
	driverRoot = vendorRoot + "/driver"
)
