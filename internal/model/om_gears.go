package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The kinds of gears.
const (
	GearBatch = "batch" // one number
	GearImage = "image" // height and width
	GearDims  = "dims"  // every dimension of every input, in the order of --input_shape
)

// gearKinds are the numbers of mbatch_dynamic_type (source: hicann/ge
// DynamicInputType).
var gearKinds = map[int64]string{1: GearBatch, 2: GearImage, 3: GearDims}

// kindByWidth is for files that do not say the kind.
func kindByWidth(n int) string {
	switch n {
	case 1:
		return GearBatch
	case 2:
		return GearImage
	}
	return GearDims
}

// Gears are the shapes a model was compiled for, when there are several. The
// zero Gears is a model without.
type Gears struct {
	Kind   string
	Values [][]int64 // a row for each gear
}

// maxGearDims is how many dims a gear has at most (source: ACL_MAX_DIM_CNT).
const maxGearDims = 128

// fill puts those dims into gears of dims that are the same in all and stand
// in no file (source: hicann/ge GetCurDynamicDims). all are the dims of all
// inputs; rows that do not fit them stay as they are.
func (g *Gears) fill(all []Dim) {
	open := 0
	for _, d := range all {
		if !d.Fixed() {
			open++
		}
	}
	for i, row := range g.Values {
		if len(row) != open || len(all) > maxGearDims {
			continue
		}
		whole := make([]int64, len(all))
		for at, d := range all {
			if whole[at] = d.Value; !d.Fixed() {
				whole[at], row = row[0], row[1:]
			}
		}
		g.Values[i] = whole
	}
}

// MarshalJSON writes "none", {"batch":[1,2]}, {"image":[[h,w]]} or
// {"dims":[[..]]}.
func (g Gears) MarshalJSON() ([]byte, error) {
	switch g.Kind {
	case "":
		return []byte(`"none"`), nil
	case GearBatch:
		flat := make([]int64, 0, len(g.Values))
		for _, row := range g.Values {
			flat = append(flat, row...)
		}
		return json.Marshal(map[string][]int64{g.Kind: flat})
	}
	return json.Marshal(map[string][][]int64{g.Kind: g.Values})
}

// String is "batch 1,2,4,8", "image 224x224, 448x448" or "dims 1x16, 1x32";
// "" for none.
func (g Gears) String() string {
	words := make([]string, len(g.Values))
	for i, row := range g.Values {
		words[i] = strings.ReplaceAll(strings.Trim(fmt.Sprint(row), "[]"), " ", "x")
	}
	switch g.Kind {
	case "":
		return ""
	case GearBatch:
		return g.Kind + " " + strings.Join(words, ",")
	}
	return g.Kind + " " + strings.Join(words, ", ")
}
