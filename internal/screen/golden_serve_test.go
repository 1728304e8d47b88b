package screen

import (
	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/report"
)

// servedNPU is a service on two devices: a model of eight gears, of which a table
// shows six, and two instances of another.
func servedNPU() Serve {
	unit := func(device int, ms ...float64) ServeUnit {
		u := ServeUnit{Device: device, Name: "Ascend310P3", Instances: 1, LoadedMS: 1400, PID: 4123 + device}
		for g, m := range ms {
			u.Costs = append(u.Costs, ServeCost{Rows: 1 << g, MedianMS: m, P99MS: 2 * m})
		}
		return u
	}
	work := int64(38 << 20)
	m := ServeModel{Name: "resnet50", File: "resnet50.om", Inputs: []ServePort{{"data", "FLOAT", []model.Dim{{Value: -1}, {Value: 3}}}},
		Outputs: []ServePort{{"prob", "FLOAT", []model.Dim{{Value: -1}, {Value: 1000}}}}, MaxBatch: 128, Lanes: 2,
		Device: ServeDevice{Kind: "npu", Name: "Ascend310P3, device 0"}, Compiled: CompiledFor(&model.Model{Compiled: &model.Compiled{Chip: "Ascend310P3", Memory: model.Memory{Work: &work, Weight: 53800000},
			Gears: model.Gears{Kind: model.GearBatch, Values: [][]int64{{1}, {2}, {4}, {8}, {16}, {32}, {64}, {128}}}}}),
		Units: []ServeUnit{unit(0, 6.1, 6.6, 8.4, 12.6, 20.9, 37.5, 70.7, 137.1), unit(1, 6.1, 6.6, 8.4, 12.7, 21.1, 37.9, 71.4, 138.4)}}
	twice := m
	twice.Name, twice.File, twice.MaxBatch, twice.Lanes, twice.Compiled = "net", "net.om", 1, 4, CompiledFor(&model.Model{Compiled: &model.Compiled{Chip: "Ascend310P3"}})
	twice.Alone, twice.Units = report.T("axis 0 of input data is fixed", "输入 data 的第 0 轴是固定的"), []ServeUnit{unit(0, 2.5), unit(1, 2.6)}
	for i := range twice.Units {
		twice.Units[i].Instances = 2
	}
	return Serve{URL: "http://127.0.0.1:8000", Listen: "127.0.0.1:8000", ReadyMS: 3900, Models: []ServeModel{m, twice}, Drain: 30}
}

func selfTested() SelfTest {
	folder := SelfItem{ID: "file.folder", Title: report.T("a folder in place of a model", "以目录代替模型"), Expect: []string{"500002", "145006"}, Got: "145002", Source: "hicann/ge"}
	chip := SelfItem{ID: "soc.named", Title: report.T("the chip has a name", "返回芯片名称"), Expect: []string{"yes"}, Got: "yes", Holds: true, Source: "hicann/runtime"}
	return SelfTest{Libraries: []string{"libacl_rt.so", "libacl_mdl.so"}, Layout: "split", Version: "1.17.0", Lacks: []string{"aclrtStreamAbort"}, Simulated: true, SoC: "Ascend310P3", Items: []SelfItem{chip, folder}}
}
