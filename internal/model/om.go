package model

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ascendctl/ascendctl/internal/report"
)

// The container of an .om (sources: hicann/ge om_file_helper and its model
// header; the layouts of files by ATC 1.75, 1.80, 5.0.4 and 8.0). All numbers
// are little-endian.
const (
	omHeader  = 256
	omLayout1 = 0x10000000
	omLayout2 = 0x20000000
	// maxPartitions bounds all tables of a file together; a table has about
	// six, a file with an unknown shape a few dozen tables.
	maxPartitions = 1 << 16
)

// The model types of the header that are not read as a single model.
const (
	omFlow   = 3
	omBundle = 5
)

// The partitions that are looked into.
const (
	partModel   = 0
	partWeights = 1
	partTasks   = 2
	partInOut   = 8
)

// partitionNames are the words of the vendor's enum, by number.
var partitionNames = map[uint32]string{
	0: "MODEL_DEF", 1: "WEIGHTS", 2: "TASK_INFO", 3: "TBE_KERNELS", 4: "CUST_AICPU_KERNELS", 5: "SO_BINS",
	6: "FLOW_MODEL", 7: "FLOW_SUBMODEL", 8: "MODEL_INOUT_INFO", 9: "STATIC_TASK_DESC", 10: "DYNAMIC_TASK_DESC",
	11: "TASK_PARAM", 12: "TILING_DATA", 20: "PRE_MODEL_DESC", 21: "PRE_MODEL_SQE", 22: "PRE_KERNEL_ARGS",
	24: "BUNDLE_MODEL_INFO", 25: "BUNDLE_MODEL_VAR", 26: "CUSTOM_OPS",
}

// OM is what the header and the partition tables of an .om say.
type OM struct {
	Header     string      `json:"header"`     // version of the layout: 0x10000000, 0x20000000, or "OM2" and its own
	TableBits  int         `json:"table_bits"` // 32, or 64 where the file may pass 4 GiB; 0 in OM2, which has no table
	ModelNum   *int64      `json:"model_num"`  // nil: the first layout has no such field
	Tables     int         `json:"tables"`
	InOut      bool        `json:"inout"` // has a MODEL_INOUT_INFO partition (CANN 7 and later)
	Encrypted  bool        `json:"encrypted"`
	Dynamic    bool        `json:"dynamic"`  // compiled for shapes that are not known
	External   bool        `json:"external"` // has weights in files of a folder beside it
	Body       int64       `json:"body"`     // bytes behind the header
	Partitions []Partition `json:"partitions"`
}

func (*OM) kind() Kind { return KindOM }

// Partition is a part of an .om. Its offset counts from the end of its table.
type Partition struct {
	Type   string `json:"type"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	Table  int    `json:"table,omitempty"` // from 0; only files of unknown shapes have several

	number uint32
	start  int64 // in the file
}

// Compiled is what only a compiled model tells. Nil is "not recorded".
type Compiled struct {
	Chip     Recorded `json:"chip"` // the soc_version it was compiled for; it runs on no other
	Compiler Compiler `json:"compiler"`
	Memory   Memory   `json:"memory"`
	Gears    Gears    `json:"gears"`
	Command  Command  `json:"command"`
}

// Compiler is what ATC wrote about itself and its work.
type Compiler struct {
	ATC       Recorded `json:"atc"`       // a component number: 7.6.0.1.220 came with CANN 8.0.0
	OPP       Recorded `json:"opp"`       // of the operator package, likewise
	CANN      Recorded `json:"cann"`      // the release, where the stored command was run from its folder
	Framework Recorded `json:"framework"` // of the source model
	Target    Recorded `json:"target"`
	Platform  Recorded `json:"platform"`
	Host      Recorded `json:"host"` // os/cpu that host code inside is for
	Streams   *int64   `json:"streams"`
	Events    *int64   `json:"events"`
}

// Memory is what loading takes on the device, in bytes, as aclmdlQuerySize
// answers it; buffers of inputs and outputs come on top.
type Memory struct {
	Work     *int64 `json:"work"` // 0 for unknown shapes; nil: the runtime would refuse the question
	Weight   int64  `json:"weight"`
	ZeroCopy *int64 `json:"zero_copy"`
}

// om reads one file.
type om struct {
	*wire
	m       *Model
	box     OM
	out     Compiled
	name    Recorded
	unknown bool  // is_unknow_model
	count   int64 // model_num, 0 or 1 for one
	attrs   dictionary
	graph   omGraph
}

// readOM fills m from the file under w.
func readOM(w *wire, m *Model) error {
	o := &om{wire: w, m: m}
	w.depth = 1 // the container is the outermost message
	if err := o.header(); err != nil {
		return err
	}
	if err := o.tables(); err != nil {
		return err
	}
	if err := o.parts(); err != nil {
		return err
	}
	m.Container, m.Graph, m.Compiled = &o.box, o.name, &o.out
	m.Nodes, m.Ops, m.GraphInputs = o.graph.nodes, o.graph.ops, len(o.graph.inputs)
	m.Initializers = Initializers{Count: o.graph.constants, Bytes: o.out.Memory.Weight}
	m.Inputs, m.Outputs = o.graph.inputs, o.graph.outputs
	if o.out.Gears.Kind == GearDims {
		o.out.Gears.fill(o.inOrder())
	}
	return nil
}

// header reads the 256 bytes in front and refuses what cannot be read on.
func (o *om) header() error {
	if o.size < omHeader {
		return &damage{at: o.size, in: "header", cut: true, what: report.T("the file has %d bytes, its header alone takes %d", "文件只有 %d 字节，仅文件头就应占 %d 字节", o.size, omHeader)}
	}
	h := span{wire: o.wire, in: "header", end: omHeader}
	version, short := h.u32At(8), h.u32At(76)
	encrypted, kind := h.byteAt(80) == 1, h.byteAt(82)
	o.name = Recorded(h.textAt(84, 32))
	o.box = OM{Header: fmt.Sprintf("%#08x", version), TableBits: 32, Encrypted: encrypted, Body: int64(short)}
	platform := int64(156)
	if version == omLayout2 {
		o.count, platform = int64(h.u32At(156)), 160
		o.box.ModelNum = &o.count
		o.unknown = h.byteAt(193) == 1
		if long := h.u64At(184); long != 0 {
			o.box.TableBits, o.box.Body = 64, int64(long)
		}
	}
	o.out.Compiler.Platform = Recorded(h.textAt(platform, 20))
	switch {
	case h.err != nil:
		return h.err
	case version != omLayout1 && version != omLayout2:
		return o.refuse(report.T("its header has version %s; known are 0x10000000 and 0x20000000", "文件头版本为 %s；已知版本为 0x10000000 和 0x20000000", o.box.Header),
			report.T("use a release of this tool that knows it, or compile the model with an older CANN", "使用支持该版本的本工具新版，或用较早的 CANN 重新转换模型"))
	case encrypted:
		return o.refuse(report.T("it is encrypted; its content cannot be read without the key, only its name is open: %q", "文件已加密；没有密钥（key）无法读取其内容，可见的只有名称：%q", string(o.name)),
			report.T("compile the model again without --encrypt_mode", "不带 --encrypt_mode 重新转换模型"))
	case kind == omBundle:
		return o.refuse(report.T("it is a bundle of %d models, which the runtime does not load as one", "其中打包了 %d 个模型（bundle），运行时不能作为单个模型加载", o.count),
			report.T("compile each model into an .om of its own", "将各模型分别转换为单独的 .om"))
	case kind == omFlow:
		return o.refuse(report.T("it is a flow model, which needs a flow engine", "它是 flow 模型，需要 flow 引擎运行"),
			report.T("compile the model itself into an .om", "将其中的模型单独转换为 .om"))
	}
	o.box.Dynamic = o.unknown || o.count > 1
	return o.body()
}

// body compares the size in the header with the file: the runtime refuses any
// difference, in both directions.
func (o *om) body() error {
	have := o.size - omHeader
	d := &damage{at: 76, in: "header", what: report.T("the header promises %d bytes behind it, there are %d", "文件头声明其后有 %d 字节，实际有 %d 字节", o.box.Body, have)}
	switch {
	case o.box.Body == have:
		return nil
	case o.box.Body > have:
		d.cut = true
	}
	return d
}

// refuse is for a sound file that is not read.
func (o *om) refuse(why, do report.Text) error {
	return &report.Problem{What: report.T("OM file %s is not one that can be read", "OM 文件 %s 无法读取", o.m.File), Why: why, Do: do, Exit: report.ExitFailed}
}

// tables reads the partition tables; each lies before its partitions.
func (o *om) tables() error {
	n := int64(1)
	if o.box.Dynamic {
		n = max(o.count, 1)
	}
	at := int64(omHeader)
	for table := range n {
		next, err := o.table(at, int(table))
		if err != nil {
			return err
		}
		at = next
		o.box.Tables++
	}
	if at != o.size {
		return &damage{at: at, in: "partition table", what: report.T("%d bytes lie behind the last partition", "最后一个分区之后还有 %d 字节", o.size-at)}
	}
	return nil
}

// table reads the table at offset at and gives the offset behind its
// partitions.
func (o *om) table(at int64, index int) (next int64, err error) {
	t := span{wire: o.wire, in: "partition table", at: at, end: o.size}
	entry, count := int64(12), int64(t.u32())
	if o.box.TableBits == 64 {
		entry = 24
		t.u32() // padding
	}
	if t.err == nil && (count == 0 || count*entry > t.left() || len(o.box.Partitions)+int(count) > maxPartitions) {
		return 0, t.damage(report.T("it claims %d partitions in %d bytes", "声明有 %d 个分区，只剩 %d 字节", count, t.left()))
	}
	base := t.at + count*entry
	next = base
	for range count {
		p := Partition{Table: index, number: t.u32()}
		if entry == 24 {
			t.u32() // padding
			p.Offset, p.Size = int64(t.u64()), int64(t.u64())
		} else {
			p.Offset, p.Size = int64(t.u32()), int64(t.u32())
		}
		if t.err != nil {
			return 0, t.err
		}
		if p.Type = partitionNames[p.number]; p.Type == "" {
			p.Type = fmt.Sprintf("TYPE_%d", p.number)
		}
		room := o.size - base
		if p.Offset < 0 || p.Size < 0 || p.Offset > room || p.Size > room-p.Offset {
			return 0, t.damage(report.T("partition %s has %d bytes at %d, the file has room for %d", "分区 %s 在偏移 %[3]d 处占 %[2]d 字节，文件只能容纳 %[4]d 字节", p.Type, p.Size, p.Offset, room))
		}
		p.start = base + p.Offset
		next = max(next, p.start+p.Size)
		o.box.Partitions = append(o.box.Partitions, p)
	}
	return next, t.err
}

// parts reads the partitions of the first model that tell something, and sums
// up the weights of all.
func (o *om) parts() error {
	first := map[uint32]*Partition{}
	for i := range o.box.Partitions {
		p := &o.box.Partitions[i]
		if p.number == partWeights {
			o.out.Memory.Weight += p.Size
		}
		if first[p.number] == nil && p.Table == 0 {
			first[p.number] = p
		}
	}
	def := first[partModel]
	if def == nil {
		return &damage{at: omHeader, in: "partition table", what: report.T("there is no MODEL_DEF partition", "缺少 MODEL_DEF 分区")}
	}
	if err := o.modelDef(o.part(def)); err != nil {
		return err
	}
	if p := first[partInOut]; p != nil {
		o.box.InOut = true
		if err := o.inOut(p); err != nil {
			return err
		}
	}
	if o.box.Dynamic {
		o.out.Memory.Work = new(int64)
		return nil
	}
	if p := first[partTasks]; p != nil {
		return o.tasks(o.part(p))
	}
	return nil
}

// part is a partition as one message.
func (o *om) part(p *Partition) field {
	return field{in: p.Type, typ: protowire.BytesType, tag: p.start, start: p.start, end: p.start + p.Size}
}

// tasks takes the work memory from where the runtime takes it, the
// ModelTaskDef; the attribute of the same name is what people see.
func (o *om) tasks(f field) error {
	o.out.Memory.Work = new(int64)
	return o.walk(f, "ModelTaskDef", func(f field) (err error) {
		if f.num == 11 {
			*o.out.Memory.Work, err = f.number()
		}
		return err
	})
}

// span reads numbers in a row; its first error stays.
type span struct {
	*wire
	in      string
	at, end int64
	err     error
}

func (s *span) left() int64 { return s.end - s.at }

func (s *span) damage(what report.Text) error { return &damage{at: s.at, in: s.in, what: what} }

// take gives the next n <= 8 bytes, zeros after an error.
func (s *span) take(n int64) []byte {
	if s.err == nil && n > s.left() {
		s.err = s.damage(report.T("%d bytes are needed, %d are left", "需要 %d 字节，只剩 %d 字节", n, s.left()))
	}
	if s.err == nil {
		var b []byte
		if b, s.err = s.peek(s.at, n); s.err == nil {
			s.at += n
			return b
		}
	}
	return make([]byte, n)
}

func (s *span) u32() (v uint32) {
	for i, b := range s.take(4) {
		v |= uint32(b) << (8 * i)
	}
	return v
}

func (s *span) u64() (v uint64) {
	for i, b := range s.take(8) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// text reads n bytes as a text.
func (s *span) text(n int64) string {
	if s.err == nil && n > s.left() {
		s.err = s.damage(report.T("a text of %d bytes is claimed, %d are left", "声明文本有 %d 字节，只剩 %d 字节", n, s.left()))
	}
	if s.err != nil {
		return ""
	}
	var out string
	out, s.err = s.wire.text(field{in: s.in, typ: protowire.BytesType, tag: s.at, start: s.at, end: s.at + n})
	s.at += n
	return out
}

func (s *span) byteAt(at int64) byte { s.at = at; return s.take(1)[0] }

func (s *span) u32At(at int64) uint32 { s.at = at; return s.u32() }

func (s *span) u64At(at int64) uint64 { s.at = at; return s.u64() }

// textAt is a text in a fixed field, without the zeros behind it.
func (s *span) textAt(at, n int64) string {
	s.at = at
	text, _, _ := strings.Cut(s.text(n), "\x00")
	return text
}
