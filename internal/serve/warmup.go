package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/infer"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

// probeRows is the batch of the check that rows do not meet. Three, because
// with two a model that mixes neighbours symmetrically could still look right.
const probeRows = 3

// maxTrial bounds the elements of one row of a trial, 64 Mi.
const maxTrial = 64 << 20

// freeDims are the sizes tried for a variable dim other than axis 0, in this
// order: many models take any, some need room for their windows.
var freeDims = []int64{8, 64, 224, 1}

// Batching tells whether requests may share a batch.
type Batching struct {
	On      bool
	MaxRows int         // rows of a batch; 1 when off
	Why     report.Text // why it is off
}

var (
	reasonOption = report.T("turned off by the maximum batch of 1", "最大 batch 设为 1，已关闭")
	reasonRows   = report.T("a batch gave an output whose axis 0 is not its rows", "某个 batch 的输出第 0 轴与其行数不一致")
	reasonNone   = report.T("the model has no inputs or no outputs", "模型没有输入或没有输出")
	reasonGears  = report.T("the model was compiled for fixed gears", "模型按固定档位编译")
)

// fixedAxis says why the signature alone rules batches out; zero when it does not.
func fixedAxis(d infer.Description) report.Text {
	sig := d.Signature
	if len(d.Gears) > 1 && !d.Gears[0].Pads {
		return reasonGears
	}
	if len(sig.Inputs) == 0 || len(sig.Outputs) == 0 {
		return reasonNone
	}
	for _, p := range sig.Inputs {
		if len(p.Dims) == 0 || p.Dims[0] >= 0 {
			return report.T("axis 0 of input %s is fixed", "输入 %s 的第 0 轴是固定的", p.Name)
		}
	}
	if name := batchName(sig); name != "" {
		for _, p := range sig.Inputs {
			if slices.Contains(p.DimNames[min(1, len(p.DimNames)):], name) {
				return report.T("%s is axis 0 and also another axis of input %s", "%s 既是第 0 轴，又是输入 %s 的另一轴", name, p.Name)
			}
		}
	}
	for _, p := range sig.Outputs {
		if len(p.Dims) == 0 || p.Dims[0] >= 0 {
			return report.T("axis 0 of output %s is fixed", "输出 %s 的第 0 轴是固定的", p.Name)
		}
	}
	return report.Text{}
}

// batchName is the symbolic name of axis 0 of the inputs, or "".
func batchName(sig oip.Signature) string {
	if len(sig.Inputs) == 0 || len(sig.Inputs[0].DimNames) == 0 || sig.Inputs[0].Dims[0] >= 0 {
		return ""
	}
	return sig.Inputs[0].DimNames[0]
}

// warm runs a loaded model before anyone waits for it, and finds out whether
// its requests may share a batch. That axis 0 varies does not say that rows are
// independent (a softmax over it is enough), so random rows are run one by one
// and together and must give the same. An error means that the backend cannot
// go on or ctx ended; a model that dislikes random data is merely not batched.
func warm(ctx context.Context, b infer.Backend, maxRows int, seed uint64) (Batching, error) {
	off := Batching{MaxRows: 1, Why: fixedAxis(b.Describe())}
	if off.Why.IsZero() && maxRows < 2 {
		off.Why = reasonOption
	}
	sig := b.Describe().Signature
	if !off.Why.IsZero() {
		_, err := firstRun(ctx, b, sig, rand.New(rand.NewPCG(seed, 0)))
		return off, fatal(ctx, err)
	}
	for round := range uint64(2) {
		why, err := rowsIndependent(ctx, b, sig, rand.New(rand.NewPCG(seed, round)))
		if err := fatal(ctx, err); err != nil {
			return off, err
		}
		if err != nil {
			why = report.T("a trial run failed: %s", "试运行失败：%s", report.Same(err.Error()))
		}
		if !why.IsZero() {
			off.Why = why
			return off, nil
		}
	}
	d := b.Describe()
	if most := d.MaxRows(); most > 0 {
		maxRows = min(maxRows, most)
	}
	return Batching{On: true, MaxRows: maxRows}, nil
}

// fatal keeps those errors that end the start of a service.
func fatal(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failure, ok := errors.AsType[*infer.Error](err); ok && (failure.Class == infer.Lost || failure.Class == infer.Closed) {
		return err
	}
	return nil
}

// firstRun finds a size for the variable dims that the model takes, and runs
// one row of it.
func firstRun(ctx context.Context, b infer.Backend, sig oip.Signature, rng *rand.Rand) (free int64, err error) {
	for _, free = range freeDims {
		if !small(sig, free) {
			err = errors.New("its inputs are too large to try")
			continue
		}
		if _, err = trial(ctx, b, sig, randomInputs(sig, 1, free, rng)); err == nil || fatal(ctx, err) != nil || !variable(sig) {
			return free, err
		}
	}
	return free, err
}

// small tells whether one row with that size of the variable dims is worth
// the memory of a trial.
func small(sig oip.Signature, free int64) bool {
	left := int64(maxTrial)
	for _, p := range sig.Inputs {
		dims := slices.Clone(p.Dims)
		for a := range dims {
			if dims[a] < 0 {
				dims[a] = free
			}
		}
		if len(p.Dims) > 0 && p.Dims[0] < 0 {
			dims[0] = 1
		}
		n, ok := ascend.Elements(dims)
		if !ok || n > left {
			return false
		}
		left -= n
	}
	return true
}

// variable tells whether a dim other than axis 0 of an input is open.
func variable(sig oip.Signature) bool {
	for _, p := range sig.Inputs {
		for i, d := range p.Dims {
			if i > 0 && d < 0 {
				return true
			}
		}
	}
	return false
}

// rowsIndependent runs random rows apart and together and compares.
func rowsIndependent(ctx context.Context, b infer.Backend, sig oip.Signature, rng *rand.Rand) (report.Text, error) {
	free, err := firstRun(ctx, b, sig, rng)
	if err != nil {
		return report.Text{}, err
	}
	apart := make([][]oip.Tensor, probeRows)
	joined := randomInputs(sig, 0, free, rng)
	for r := range apart {
		row := randomInputs(sig, 1, free, rng)
		if apart[r], err = trial(ctx, b, sig, row); err != nil {
			return report.Text{}, err
		}
		for i := range joined {
			joined[i].Shape[0]++
			joined[i].Data = append(joined[i].Data, row[i].Data...)
		}
	}
	batch, err := trial(ctx, b, sig, joined)
	if err != nil {
		return report.Text{}, err
	}
	for o, whole := range batch {
		if len(whole.Shape) == 0 || whole.Shape[0] != probeRows {
			return reasonRows, nil
		}
		var rows []byte
		for _, single := range apart {
			if len(single[o].Shape) == 0 || single[o].Shape[0] != 1 {
				return reasonRows, nil
			}
			rows = append(rows, single[o].Data...)
		}
		if !alike(whole.DType, rows, whole.Data) {
			return report.T("output %s of a row depends on the other rows of its batch", "输出 %s 的一行取决于同 batch 的其他行", whole.Name), nil
		}
	}
	return report.Text{}, nil
}

// trial runs inputs in memory of its own.
func trial(ctx context.Context, b infer.Backend, sig oip.Signature, inputs []oip.Tensor) ([]oip.Tensor, error) {
	batch := infer.Batch{
		Inputs: inputs,
		Alloc:  func(_ int, size int64) ([]byte, error) { return make([]byte, size), nil },
	}
	for _, p := range sig.Outputs {
		batch.Outputs = append(batch.Outputs, oip.Tensor{Name: p.Name})
	}
	d := b.Describe()
	d.Shift(&batch)
	err := b.Run(ctx, &batch)
	return batch.Outputs, err
}

// randomInputs makes inputs of that many rows: floats in [0, 1), integers 0 or
// 1, which are valid indices and masks almost everywhere. Dims of one symbolic
// name are equal; a variable axis 0 and its namesakes are rows.
func randomInputs(sig oip.Signature, rows, free int64, rng *rand.Rand) []oip.Tensor {
	batch := batchName(sig)
	inputs := make([]oip.Tensor, len(sig.Inputs))
	for i, p := range sig.Inputs {
		t := oip.Tensor{Name: p.Name, DType: p.DType, Shape: make([]int64, len(p.Dims))}
		for a, d := range p.Dims {
			switch {
			case d >= 0:
			case a == 0 || batch != "" && a < len(p.DimNames) && p.DimNames[a] == batch:
				d = rows
			default:
				d = free
			}
			t.Shape[a] = d
		}
		n, _ := ascend.Elements(t.Shape)
		t.Data = randomData(p.DType, n, rng)
		inputs[i] = t
	}
	return inputs
}

func randomData(d ascend.DType, n int64, rng *rand.Rand) []byte {
	size, ok := d.Size(1)
	if d == ascend.String {
		size = 5
	} else if !ok {
		return nil
	}
	data := make([]byte, n*size)
	for at := data; len(at) > 0; at = at[size:] {
		switch d {
		case ascend.Float:
			binary.LittleEndian.PutUint32(at, math.Float32bits(rng.Float32()))
		case ascend.Double:
			binary.LittleEndian.PutUint64(at, math.Float64bits(rng.Float64()))
		case ascend.Float16: // bit patterns between 1/8 and 1
			binary.LittleEndian.PutUint16(at, 0x3000+uint16(rng.UintN(0x0c00)))
		case ascend.BFloat16:
			binary.LittleEndian.PutUint16(at, uint16(math.Float32bits(rng.Float32())>>16))
		case ascend.String: // "0" or "1"
			binary.LittleEndian.PutUint32(at, 1)
			at[4] = '0' + byte(rng.UintN(2))
		default:
			at[0] = byte(rng.UintN(2))
		}
	}
	return data
}

// alike compares two outputs: bit for bit, or floats within what the other
// order of sums in a larger batch may change.
func alike(d ascend.DType, want, got []byte) bool {
	if bytes.Equal(want, got) {
		return true
	}
	at, rtol, atol := floatAt(d)
	if at == nil || len(want) != len(got) {
		return false
	}
	size, _ := d.Size(1)
	for i := 0; i < len(want); i += int(size) {
		w, g := at(want[i:]), at(got[i:])
		same := w == g || math.IsNaN(w) && math.IsNaN(g)
		if !same && !(math.Abs(w-g) <= atol+rtol*math.Abs(w)) {
			return false
		}
	}
	return true
}

// floatAt gives the reader of a floating type and its tolerances; nil for other
// types. The 16-bit types carry 8 to 11 bits of a number, hence the wider ones.
func floatAt(d ascend.DType) (at func([]byte) float64, rtol, atol float64) {
	switch d {
	case ascend.Float:
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }, 1e-3, 1e-4
	case ascend.Double:
		return func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }, 1e-3, 1e-4
	case ascend.BFloat16:
		return func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}, 2e-2, 1e-2
	case ascend.Float16:
		return func(b []byte) float64 { return half(binary.LittleEndian.Uint16(b)) }, 1e-2, 1e-3
	}
	return nil, 0, 0
}

// half is the value of an IEEE 754 binary16.
func half(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 31:
		v = math.Inf(1)
		if frac != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if h>>15 != 0 {
		v = -v
	}
	return v
}
