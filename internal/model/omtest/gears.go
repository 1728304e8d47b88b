package omtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/model"
)

// rows are the gears as a file has them. Of gears of dims those dimensions are
// left out that are the same in all (source: hicann/ge GetCurDynamicDims; a
// true library refuses a setter on rows of other length).
func (f File) rows() (out [][]int64) {
	if f.Gears.Kind != model.GearDims {
		return f.Gears.Values
	}
	all := slices.Concat(f.GearInputs...)
	for _, row := range f.Gears.Values {
		var open []int64
		for i, d := range all {
			if d < 0 {
				open = append(open, row[i])
			}
		}
		out = append(out, open)
	}
	return out
}

// shown are the dims of input i as people see them.
func (f File) shown(i int, t Tensor) []int64 {
	if f.Gears.Kind != "" && i < len(f.GearInputs) {
		return f.GearInputs[i]
	}
	return t.Dims
}

// order are the inputs as --input_shape named them.
func (f File) order() (names []string) {
	for _, t := range f.Inputs {
		names = append(names, t.Name)
	}
	return names
}

// choice are the attributes of the Case op that picks the gear.
func (f File) choice() map[string]any {
	values := map[string]any{
		"_batch_num":                 int64(len(f.Gears.Values)),
		"mbatch_dynamic_type":        map[string]int64{model.GearBatch: 1, model.GearImage: 2, model.GearDims: 3}[f.Gears.Kind],
		"user_designate_shape_order": f.order(),
	}
	for i, row := range f.rows() {
		values[fmt.Sprintf("_pred_value_%d", i)] = row
	}
	return values
}

// outputDims are the output shapes of each gear: "gear,output,dims...". An
// output of the shape of the input with its number follows that, and one of
// the largest batch follows the batch.
func (f File) outputDims() (out []string) {
	largest := slices.MaxFunc(f.rows(), slices.Compare)[0]
	for gear, row := range f.rows() {
		for i, t := range f.Outputs {
			dims := t.Dims
			switch {
			case i < len(f.GearInputs) && slices.Equal(t.Dims, f.Inputs[i].Dims):
				dims = f.inGear(row, i)
			case f.Gears.Kind == model.GearBatch && len(dims) > 0 && dims[0] == largest:
				dims = append([]int64{row[0]}, dims[1:]...)
			}
			out = append(out, fmt.Sprintf("%d,%d,%s", gear, i, strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", ",")))
		}
	}
	return out
}

// inGear are the dims of input i in a gear.
func (f File) inGear(row []int64, i int) []int64 {
	next := 0
	var dims []int64
	for _, shown := range f.GearInputs[:i+1] {
		dims = slices.Clone(shown)
		for at, d := range dims {
			if d < 0 {
				dims[at] = row[next%len(row)]
				next++
			}
		}
	}
	return dims
}
