package bench

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/oip"
	"github.com/ascendctl/ascendctl/internal/report"
)

// randomRequests is how many requests without data hold different rows, and
// randomLevel how long a level without data is.
const (
	randomRequests = 64
	randomLevel    = 1000
)

// feed deals the rows out. It does not change.
type feed struct {
	arrays []oip.Tensor // all rows, in the order of the metadata
	rows   int          // of the arrays
	each   int          // of a request
	random bool
	labels []int64
	output string
}

// newFeed checks the data against the model.
func newFeed(o *Options, meta oip.Metadata) (*feed, error) {
	sig, err := meta.Signature()
	if err != nil {
		return nil, &report.Problem{
			What: report.T("cannot put load on model %s", "无法压测模型 %s", o.Model),
			Why:  report.Same(err.Error()), Exit: report.ExitFailed, Err: err,
		}
	}
	f := &feed{each: o.Rows, labels: o.Labels, output: o.Output}
	for _, p := range sig.Inputs {
		if len(p.Dims) > 0 && p.Dims[0] >= 0 && p.Dims[0] != int64(o.Rows) {
			return nil, usage(report.T("input %s takes exactly %d rows in a request, not %d", "输入 %s 每个请求只接受 %d 行，而不是 %d 行", p.Name, p.Dims[0], o.Rows))
		}
	}
	if o.Data == nil {
		err = f.invent(sig, o.Seed)
	} else {
		err = f.adopt(o, sig)
	}
	if err != nil {
		return nil, err
	}
	return f, f.judged(sig)
}

// adopt takes the arrays of o.
func (f *feed) adopt(o *Options, sig oip.Signature) error {
	f.rows = -1
	for _, p := range sig.Inputs {
		t, ok := o.Data[p.Name]
		if !ok {
			return usage(report.T("no data for input %s", "缺少输入 %s 的数据", p.Name))
		}
		t.Name = p.Name
		if want, got := typeOf(p.DType, p.Dims), typeOf(t.DType, t.Shape); !fits(p, t) {
			return usage(report.T("data of input %s: expected %s, got %s", "输入 %s 的数据：应为 %s，实际为 %s", p.Name, want, got))
		}
		if rows := int(t.Shape[0]); f.rows >= 0 && rows != f.rows {
			return usage(report.T("data of input %s has %d rows, that of the others %d", "输入 %s 的数据有 %d 行，其他输入有 %d 行", p.Name, rows, f.rows))
		}
		f.rows = int(t.Shape[0])
		f.arrays = append(f.arrays, t)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Data)) {
		if !slices.ContainsFunc(f.arrays, func(t oip.Tensor) bool { return t.Name == name }) {
			return usage(report.T("the model has no input %s", "模型没有输入 %s", name))
		}
	}
	switch {
	case f.rows < 1:
		return usage(report.T("the data have no rows", "数据为空"))
	case f.labels != nil && len(f.labels) != f.rows:
		return usage(report.T("%d labels for %d rows of data", "标签有 %d 个，数据有 %d 行", len(f.labels), f.rows))
	}
	return nil
}

// fits tells whether rows of t can be sent for p.
func fits(p oip.Port, t oip.Tensor) bool {
	if _, fixed := t.DType.Size(1); !fixed || t.DType != p.DType || len(t.Shape) == 0 || len(t.Shape) != len(p.Dims) {
		return false
	}
	for i, d := range p.Dims[1:] {
		if d >= 0 && d != t.Shape[i+1] {
			return false
		}
	}
	return true
}

func typeOf(d ascend.DType, dims []int64) string {
	word, _ := oip.Datatype(d)
	text := make([]string, len(dims))
	for i, n := range dims {
		text[i] = itoa(n)
	}
	return word + " [" + strings.Join(text, ",") + "]"
}

// invent makes random rows.
func (f *feed) invent(sig oip.Signature, seed uint64) error {
	f.random, f.rows = true, randomRequests*f.each
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, p := range sig.Inputs {
		t := oip.Tensor{Name: p.Name, DType: p.DType, Shape: slices.Clone(p.Dims)}
		if len(t.Shape) == 0 {
			return usage(report.T("input %s has no rows: give data", "输入 %s 没有行：必须提供数据", p.Name))
		}
		for i := range t.Shape {
			t.Shape[i] = max(t.Shape[i], 1)
			if p.Dims[i] == 0 {
				t.Shape[i] = 0
			}
		}
		t.Shape[0] = int64(f.rows)
		n, ok := ascend.Elements(t.Shape)
		size, fixed := p.DType.Size(n)
		if !ok || !fixed || size > maxInvented {
			return usage(report.T("no random data for input %s of %s: give data", "无法为输入 %s（%s）生成随机数据：必须提供数据", p.Name, typeOf(p.DType, p.Dims)))
		}
		t.Data = make([]byte, size)
		fill(t, rng)
		f.arrays = append(f.arrays, t)
	}
	return nil
}

// maxInvented bounds the random data of one input, 1 GiB.
const maxInvented = 1 << 30

func fill(t oip.Tensor, rng *rand.Rand) {
	size, _ := t.DType.Size(1)
	for at := t.Data; len(at) > 0; at = at[size:] {
		switch t.DType {
		case ascend.Float:
			binary.LittleEndian.PutUint32(at, math.Float32bits(rng.Float32()))
		case ascend.Double:
			binary.LittleEndian.PutUint64(at, math.Float64bits(rng.Float64()))
		case ascend.Float16: // bit patterns between 1/8 and 1
			binary.LittleEndian.PutUint16(at, 0x3000+uint16(rng.UintN(0x0c00)))
		case ascend.BFloat16:
			binary.LittleEndian.PutUint16(at, uint16(math.Float32bits(rng.Float32())>>16))
		default:
			at[0] = byte(rng.UintN(2))
		}
	}
}

// judged resolves the output that labels are compared with.
func (f *feed) judged(sig oip.Signature) error {
	if f.labels == nil {
		return nil
	}
	if f.output == "" && len(sig.Outputs) == 1 {
		f.output = sig.Outputs[0].Name
	}
	var names []string
	for _, p := range sig.Outputs {
		if p.Name == f.output {
			return nil
		}
		names = append(names, p.Name)
	}
	if f.output == "" {
		return usage(report.T("labels need the name of one output: %s", "指定标签时必须指定一个输出：%s", strings.Join(names, ", ")))
	}
	return usage(report.T("the model has no output %s, it has: %s", "模型没有输出 %s，它的输出有：%s", f.output, strings.Join(names, ", ")))
}

// once is the number of requests that a level has when nothing says it.
func (f *feed) once() int {
	if f.random {
		return randomLevel
	}
	return f.blocks()
}

func (f *feed) blocks() int { return (f.rows + f.each - 1) / f.each }

// take gives the inputs of request n and the labels of its rows. dst is reused.
func (f *feed) take(n int, dst []oip.Tensor) (inputs []oip.Tensor, labels []int64) {
	from := n % f.blocks() * f.each
	to := min(from+f.each, f.rows)
	dst = dst[:0]
	for _, t := range f.arrays {
		row := len(t.Data) / f.rows
		shape := slices.Clone(t.Shape)
		shape[0] = int64(to - from)
		t.Shape, t.Data = shape, t.Data[from*row:to*row]
		dst = append(dst, t)
	}
	if f.labels != nil {
		labels = f.labels[from:to]
	}
	return dst, labels
}
