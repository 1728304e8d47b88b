package model

import (
	"fmt"
	"strings"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/report"
)

// The records of MODEL_INOUT_INFO (source: hicann/ge ModelDescType; 0 and 1
// seen in files of CANN 8, the gears never).
const (
	recInputs  = 0
	recOutputs = 1
	recBatch   = 2
	recImage   = 3
	recDims    = 4
)

// inOut reads the partition that answers aclmdlGetDescFromFile: what it says
// is what the runtime will say, so it overrules the graph. Padded sizes it
// lacks.
func (o *om) inOut(p *Partition) error {
	all := span{wire: o.wire, in: p.Type, at: p.start, end: p.start + p.Size}
	for all.err == nil && all.left() > 0 {
		kind, length := all.u32(), int64(all.u32())
		if all.err != nil {
			break
		}
		if length > all.left() {
			return all.damage(report.T("record %d claims %d bytes, %d are left", "记录 %d 声明 %d 字节，只剩 %d 字节", kind, length, all.left()))
		}
		rec := span{wire: o.wire, in: p.Type, at: all.at, end: all.at + length}
		if err := o.record(kind, &rec); err != nil {
			return err
		}
		all.at += length
	}
	return all.err
}

func (o *om) record(kind uint32, rec *span) error {
	switch kind {
	case recInputs:
		ports := rec.ports()
		copyPadded(ports, o.graph.inputs)
		o.graph.inputs = ports
	case recOutputs:
		ports := rec.ports()
		copyPadded(ports, o.graph.outputs)
		o.graph.outputs = ports
	case recBatch, recImage, recDims:
		if g := rec.gears(kind); g.Values != nil {
			o.out.Gears = g
		}
	}
	return rec.err
}

func copyPadded(to, from []Port) {
	if len(to) != len(from) {
		return
	}
	for i := range to {
		if from[i].Padded != nil {
			to[i].pad(*from[i].Padded)
		}
	}
}

// items reads how many entries of at least size bytes follow.
func (s *span) items(size int64) int64 {
	n := int64(s.u32())
	if s.err == nil && n*size > s.left() {
		s.err = s.damage(report.T("%d entries of %d bytes or more are claimed, %d bytes are left", "声明有 %d 项，每项至少 %d 字节，只剩 %d 字节", n, size, s.left()))
	}
	if s.err != nil {
		return 0
	}
	return n
}

func (s *span) ports() []Port {
	ports := []Port{}
	for range min(s.items(32), maxPorts) {
		size, format, dtype := int64(s.u64()), int32(s.u32()), int32(s.u32())
		name, dims, v2, ranges := int64(s.u32()), int64(s.u32()), int64(s.u32()), int64(s.u32())
		p := Port{Name: s.text(name), Layout: formatWord(format)}
		p.Gear = strings.HasPrefix(p.Name, gearInput)
		e := aclElement(int64(dtype))
		p.DType, p.Word = e.dtype, e.word
		p.Dims = openDims(s.row(dims))
		s.row(v2)
		for r := s.row(ranges); len(r) > 1; r = r[2:] {
			p.Range = append(p.Range, [2]int64{r[0], r[1]})
		}
		if s.err != nil {
			return nil
		}
		if size > 0 {
			p.Bytes = &size
		}
		ports = append(ports, p)
	}
	return ports
}

// row reads the numbers in the next bytes.
func (s *span) row(bytes int64) []int64 {
	if s.err == nil && (bytes > s.left() || bytes%8 != 0 || bytes > 8*2*maxRank) {
		s.err = s.damage(report.T("a shape of %d bytes is claimed, %d are left and the most is %d", "声明 shape 占 %d 字节，只剩 %d 字节，且上限为 %d 字节", bytes, s.left(), 8*2*maxRank))
	}
	out := []int64{}
	for range bytes / 8 {
		if s.err != nil {
			return nil
		}
		out = append(out, int64(s.u64()))
	}
	return out
}

func (s *span) gears(kind uint32) Gears {
	g := Gears{Kind: gearKinds[int64(kind)-recBatch+1]}
	if kind == recBatch {
		for range s.items(8) {
			g.Values = append(g.Values, []int64{int64(s.u64())})
		}
	} else {
		widths := make([]int64, 0, 8)
		for range s.items(4) {
			widths = append(widths, int64(s.u32()))
		}
		for _, n := range widths {
			g.Values = append(g.Values, s.row(n*8))
		}
	}
	if s.err == nil && len(g.Values) > maxGears {
		s.err = s.damage(report.T("the model has %d gears, expected at most %d", "模型有 %d 个档位，应不超过 %d 个", len(g.Values), maxGears))
	}
	return g
}

// types relates the element types of the graph files and those of the ACL
// interface with ours (sources: hicann/metadef ge_ir.proto, acl_base.h).
var types = [...]struct {
	ge, acl int64
	elem    element
}{
	{1, 0, known(ascend.Float)}, {2, 1, known(ascend.Float16)}, {3, 2, known(ascend.Int8)}, {4, 4, known(ascend.Uint8)},
	{5, 6, known(ascend.Int16)}, {6, 7, known(ascend.Uint16)}, {7, 3, known(ascend.Int32)}, {8, 9, known(ascend.Int64)},
	{9, 8, known(ascend.Uint32)}, {10, 10, known(ascend.Uint64)}, {11, 12, known(ascend.Bool)}, {12, 11, known(ascend.Double)},
	{13, 13, known(ascend.String)}, {16, 16, known(ascend.Complex64)}, {17, 17, known(ascend.Complex128)},
	{27, 27, known(ascend.BFloat16)}, {28, 29, known(ascend.Int4)}, {34, 35, known(ascend.Float8E5M2)}, {35, 36, known(ascend.Float8E4M3FN)},
	{29, 30, element{word: "UINT1", bits: 1}}, {32, 33, element{word: "COMPLEX32", bits: 32}}, {33, 34, element{word: "HIFLOAT8", bits: 8}},
	{36, 37, element{word: "FLOAT8E8M0", bits: 8}}, {37, 38, element{word: "FLOAT6E3M2", bits: 6}}, {38, 39, element{word: "FLOAT6E2M3", bits: 6}},
	{39, 40, element{word: "FLOAT4E2M1", bits: 4}}, {40, 41, element{word: "FLOAT4E1M2", bits: 4}},
}

func known(d ascend.DType) element { return element{dtype: d, word: Recorded(d.ONNX())} }

// geElement is the type behind a number of ge.proto's DataType; 0 is none.
func geElement(n int64) element {
	for _, t := range types {
		if t.ge == n {
			return t.elem
		}
	}
	return strange(n, 0)
}

// aclElement is the type behind a number of aclDataType; -1 is none.
func aclElement(n int64) element {
	for _, t := range types {
		if t.acl == n {
			return t.elem
		}
	}
	return strange(n, -1)
}

func strange(n, none int64) element {
	if n == none {
		return element{}
	}
	return element{word: Recorded(fmt.Sprintf("TYPE_%d", n))}
}

// formats are the words of aclFormat that inputs and outputs can have.
var formats = map[int32]string{
	0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 12: "NC1HWC0_C04", 16: "HWCN", 27: "NDHWC", 29: "FRACTAL_NZ",
	30: "NCDHW", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D", 35: "NC", 47: "NCL",
}

func formatWord(n int32) string {
	if w := formats[n]; w != "" || n == -1 {
		return w
	}
	return fmt.Sprintf("FORMAT_%d", n)
}
