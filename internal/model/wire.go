package model

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ascendctl/ascendctl/internal/report"
)

const (
	// window is how much of the file is in memory at a time.
	window = 64 << 10
	// maxDepth is the nesting at which protobuf's own C++ and Java readers
	// give up by default (source: protobuf CodedInputStream); a graph inside a
	// node's attribute takes three levels.
	maxDepth = 100
	// maxMessage is the largest message protobuf allows (source: protobuf
	// encoding guide, "Size limits").
	maxMessage = 1<<31 - 1
	// maxText bounds a name; real ones are some hundred bytes.
	maxText = 64 << 10
)

// damage is a place where the bytes break the format.
type damage struct {
	at      int64  // offset in the file
	in      string // the message or table it lies in, by its name in the sources
	what    report.Text
	cut     bool // more bytes are claimed than the file has: most likely cut short
	refused bool // well formed, but not to be followed
}

func (d *damage) text() report.Text {
	return report.T("at byte %d, in %s: %s", "字节 %d 处，%s 中：%s", d.at, d.in, d.what)
}

func (d *damage) Error() string { return d.text().En }

// wire walks protobuf messages where they lie in a file. Payloads nobody asks
// for are stepped over, so a walk costs a window of memory however large the
// weights are, and nothing is ever allocated by a length that is only claimed.
type wire struct {
	src   io.ReaderAt
	size  int64
	buf   []byte
	held  []byte // the part of buf that is filled
	at    int64  // offset of held
	depth int
	// format is what the file is called in messages.
	format string
}

func newWire(src io.ReaderAt, size int64, window int) *wire {
	return &wire{format: "ONNX", src: src, size: size, buf: make([]byte, min(int64(window), max(size, 1)))}
}

// field is one field of a message.
type field struct {
	in         string // name of the message it belongs to
	num        protowire.Number
	typ        protowire.Type
	tag        int64  // offset of its first byte
	val        uint64 // of a varint or fixed-size field
	start, end int64  // of the payload; end is the first byte after the field
}

func (f field) length() int64 { return f.end - f.start }

func (f field) damage(what report.Text) error {
	return &damage{at: f.tag, in: f.in, what: what}
}

// want refuses a field that is not written as its definition says.
func (f field) want(typ protowire.Type) error {
	if f.typ == typ {
		return nil
	}
	return f.damage(report.T("field %d has wire type %d, expected %d", "字段 %d 的编码类型为 %d，应为 %d", f.num, f.typ, typ))
}

// number is the value of an integer field.
func (f field) number() (int64, error) {
	return int64(f.val), f.want(protowire.VarintType)
}

// whole is the file as one message.
func (w *wire) whole() field { return field{typ: protowire.BytesType, end: w.size} }

// walk shows every field of the message in f to visit; in is the message's
// name. It ends with the first error.
func (w *wire) walk(f field, in string, visit func(field) error) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	if w.depth == maxDepth {
		return f.damage(report.T("messages are nested more than %d deep", "消息嵌套超过 %d 层", maxDepth))
	}
	w.depth++
	defer func() { w.depth-- }()
	for at := f.start; at < f.end; {
		sub, err := w.next(at, f.end, in)
		if err != nil {
			return err
		}
		if err := visit(sub); err != nil {
			return err
		}
		at = sub.end
	}
	return nil
}

// next reads the field at offset at of a message that ends at end.
func (w *wire) next(at, end int64, in string) (field, error) {
	f := field{in: in, tag: at}
	// A tag and a value or length: two varints of at most ten bytes.
	head, err := w.peek(at, min(2*10, end-at))
	if err != nil {
		return f, err
	}
	num, typ, n := protowire.ConsumeTag(head)
	if n < 0 {
		return f, w.incomplete(f, end, n)
	}
	f.num, f.typ = num, typ
	used := 0
	switch head = head[n:]; typ {
	case protowire.VarintType, protowire.BytesType:
		f.val, used = protowire.ConsumeVarint(head)
	case protowire.Fixed32Type:
		var v uint32
		v, used = protowire.ConsumeFixed32(head)
		f.val = uint64(v)
	case protowire.Fixed64Type:
		f.val, used = protowire.ConsumeFixed64(head)
	default: // groups, and the two numbers without a meaning
		return f, f.damage(report.T("field %d has wire type %d, which %s does not use", "字段 %d 的编码类型为 %d，%s 不使用该类型", num, typ, w.format))
	}
	if used < 0 {
		return f, w.incomplete(f, end, used)
	}
	f.start = at + int64(n+used)
	f.end = f.start
	if typ == protowire.BytesType {
		return w.payload(f, end)
	}
	return f, nil
}

// payload checks a claimed length against what the message can hold.
func (w *wire) payload(f field, end int64) (field, error) {
	left := end - f.start
	if f.val > maxMessage {
		return f, f.damage(report.T("field %d claims %d bytes, protobuf allows at most %d", "字段 %d 声明 %d 字节，protobuf 最多允许 %d 字节", f.num, f.val, maxMessage))
	}
	if int64(f.val) > left {
		return f, w.short(f, end, report.T("field %d claims %d bytes, %d are left", "字段 %d 声明 %d 字节，只剩 %d 字节", f.num, f.val, left))
	}
	f.end = f.start + int64(f.val)
	return f, nil
}

// incomplete is the error for a tag or value that protowire refused with n.
func (w *wire) incomplete(f field, end int64, n int) error {
	if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
		return w.short(f, end, report.T("the message ends inside a field", "消息在字段中间结束"))
	}
	return f.damage(report.T("there is no valid field", "没有有效的字段"))
}

// short is damage that a file which lost its end would show: it is told apart
// from other damage where the outermost message runs to the end of the file.
func (w *wire) short(f field, end int64, what report.Text) error {
	d := &damage{at: f.tag, in: f.in, what: what}
	d.cut = w.depth == 1 && end == w.size
	return d
}

// text is the payload of a string field.
func (w *wire) text(f field) (string, error) {
	if err := f.want(protowire.BytesType); err != nil {
		return "", err
	}
	if f.length() > maxText {
		return "", f.damage(report.T("field %d is a text of %d bytes, expected at most %d", "字段 %d 是 %d 字节的文本，应不超过 %d 字节", f.num, f.length(), maxText))
	}
	var b strings.Builder
	for at := f.start; at < f.end; {
		part, err := w.peek(at, f.end-at)
		if err != nil {
			return "", err
		}
		b.Write(part)
		at += int64(len(part))
	}
	return b.String(), nil
}

// numbers appends the values of a repeated integer field, packed or not, and
// refuses more than most.
func (w *wire) numbers(to []int64, f field, most int) ([]int64, error) {
	if f.typ == protowire.VarintType {
		if len(to) == most {
			return nil, f.damage(report.T("field %d has more than %d entries", "字段 %d 超过 %d 项", f.num, most))
		}
		return append(to, int64(f.val)), nil
	}
	if err := f.want(protowire.BytesType); err != nil {
		return nil, err
	}
	for at := f.start; at < f.end; {
		b, err := w.peek(at, min(10, f.end-at))
		if err != nil {
			return nil, err
		}
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, f.damage(report.T("field %d holds an incomplete number", "字段 %d 含有不完整的数值", f.num))
		}
		if len(to) == most {
			return nil, f.damage(report.T("field %d has more than %d entries", "字段 %d 超过 %d 项", f.num, most))
		}
		to = append(to, int64(v))
		at += int64(n)
	}
	return to, nil
}

// peek gives n bytes at offset at, or the whole window where n is larger. They
// are valid until the next call. The caller has made sure the file has them.
func (w *wire) peek(at, n int64) ([]byte, error) {
	n = min(n, int64(len(w.buf)))
	if at < w.at || at+n > w.at+int64(len(w.held)) {
		w.held = w.buf[:min(int64(len(w.buf)), w.size-at)]
		got, err := w.src.ReadAt(w.held, at)
		if got < len(w.held) {
			w.held = nil
			return nil, fmt.Errorf("at byte %d of %d: %w", at, w.size, err)
		}
		w.at = at
	}
	return w.held[at-w.at:][:n], nil
}
