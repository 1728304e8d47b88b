package model

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ascendctl/ascendctl/internal/ascend"
	"github.com/ascendctl/ascendctl/internal/report"
)

// tensor is what a TensorProto says; its data stay in the file.
type tensor struct {
	name  string
	dims  []int64
	elem  element
	bytes int64 // see Initializers

	raw      int64 // length of raw_data, -1 without it
	room     int64 // at most so many elements lie in the typed fields
	texts    int64 // bytes of string_data
	external bool
	entries  map[string]string // external_data
}

// element is the type of an element.
type element struct {
	dtype ascend.DType
	word  Recorded
	bits  int64 // only for types that dtype does not know
}

// newer are the types behind those of ascend.DType, from number 23 on
// (source: onnx.proto, onnx 1.23).
var newer = [...]element{
	{word: "FLOAT4E2M1", bits: 4},
	{word: "FLOAT8E8M0", bits: 8},
	{word: "UINT2", bits: 2},
	{word: "INT2", bits: 2},
	{word: "FLOAT6E2M3", bits: 6},
	{word: "FLOAT6E3M2", bits: 6},
}

// elementOf gives the type behind a number of TensorProto.DataType. A number
// nobody has defined yet is still told.
func elementOf(n int64) element {
	const first = int64(ascend.Int4) + 1
	switch {
	case n == 0:
		return element{}
	case n > 0 && n < first:
		d := ascend.DType(n)
		return element{dtype: d, word: Recorded(d.ONNX())}
	case n >= first && n < first+int64(len(newer)):
		return newer[n-first]
	}
	return element{word: Recorded(fmt.Sprintf("TYPE_%d", n))}
}

// size is the bytes of n elements; ok is false where that is not fixed, not
// known or more than an int64 holds.
func (e element) size(n int64) (bytes int64, ok bool) {
	if e.bits == 0 {
		return e.dtype.Size(n)
	}
	if n < 0 || n > (math.MaxInt64-7)/e.bits {
		return 0, false
	}
	return (n*e.bits + 7) / 8, true
}

func (o *onnx) tensor(f field) (tensor, error) {
	t := tensor{raw: -1}
	err := o.walk(f, "TensorProto", func(f field) (err error) {
		switch f.num {
		case 1:
			t.dims, err = o.numbers(t.dims, f, maxRank)
		case 2:
			var n int64
			n, err = f.number()
			t.elem = elementOf(n)
		case 4, 5, 6, 7, 10, 11:
			t.stored(f)
		case 8:
			t.name, err = o.text(f)
		case 9:
			t.raw, err = f.length(), f.want(protowire.BytesType)
		case 13:
			err = o.entry(f, &t)
		case 14:
			var n int64
			n, err = f.number()
			t.external = n == 1
		}
		return err
	})
	if err != nil {
		return t, err
	}
	return t, o.settle(f, &t)
}

// stored counts what a typed data field can hold at most: of the packed
// integers every byte may be one, and the types under a byte put up to four
// elements in one.
func (t *tensor) stored(f field) {
	switch {
	case f.num == 6:
		t.room++
		t.texts += f.length()
	case f.typ != protowire.BytesType:
		t.room += 4
	case f.num == 4:
		t.room += f.length() / 4
	case f.num == 10:
		t.room += f.length() / 8
	default:
		t.room += 4 * f.length()
	}
}

// entry reads one StringStringEntryProto of external_data.
func (o *onnx) entry(f field, t *tensor) error {
	var key, value string
	err := o.walk(f, "StringStringEntryProto", func(f field) (err error) {
		switch f.num {
		case 1:
			key, err = o.text(f)
		case 2:
			value, err = o.text(f)
		}
		return err
	})
	if t.entries == nil {
		t.entries = map[string]string{}
	}
	t.entries[key] = value
	return err
}

// settle works out the bytes of a tensor and holds its claims against its
// data: a reader that believes dims alone repeats a lie.
func (o *onnx) settle(f field, t *tensor) error {
	f.in = "TensorProto"
	n, ok := ascend.Elements(t.dims)
	if !ok {
		return f.damage(report.T("tensor %.80q has dims %v, expected numbers from 0 whose product fits 64 bits", "Tensor %.80q 的维度为 %v，应为非负数且乘积不超过 64 位", t.name, t.dims))
	}
	bytes, fixed := t.elem.size(n)
	switch {
	case fixed:
		t.bytes = bytes
	case t.elem.word == "":
		return f.damage(report.T("tensor %.80q has no data_type (field 2)", "Tensor %.80q 缺少 data_type（字段 2）", t.name))
	case t.elem.dtype == ascend.String:
		t.bytes = t.texts
	case t.elem.dtype != ascend.Undefined || t.elem.bits != 0:
		return f.damage(report.T("tensor %.80q with dims %v is larger than 2^60 bytes", "Tensor %.80q 的维度为 %v，超过 2^60 字节", t.name, t.dims))
	default: // a type from the future: what is stored is what is known
		t.bytes = max(t.raw, 0)
	}
	inside := t.raw >= 0 || t.room > 0
	switch {
	case t.external, len(t.entries) > 0 && !inside:
		return o.outside(f, t)
	case fixed && t.raw >= 0 && t.raw != t.bytes:
		return f.damage(report.T("tensor %.80q holds %d bytes, its dims %v of %s take %d", "Tensor %.80q 含 %d 字节，维度 %v 的 %s 应占 %d 字节", t.name, t.raw, t.dims, t.elem.word, t.bytes))
	case t.raw < 0 && n > t.room:
		return f.damage(report.T("tensor %.80q has dims %v, but data for at most %d elements", "Tensor %.80q 的维度为 %v，但数据最多只有 %d 个元素", t.name, t.dims, t.room))
	}
	return nil
}

// outside notes a tensor whose data lie in a file beside the model.
func (o *onnx) outside(f field, t *tensor) error {
	location := t.entries["location"]
	if !beside(location) {
		err := f.damage(report.T("tensor %.80q has its data in %.80q, expected a file in the folder of the model", "Tensor %.80q 的数据位于 %.80q，应为模型所在目录内的文件", t.name, location))
		err.(*damage).refused = true
		return err
	}
	offset, err := t.count(f, "offset", 0)
	if err != nil {
		return err
	}
	length, err := t.count(f, "length", t.bytes)
	if err != nil {
		return err
	}
	if _, fixed := t.elem.size(0); fixed && length != t.bytes {
		return f.damage(report.T("tensor %.80q has %d bytes of external data, its dims %v of %s take %d", "Tensor %.80q 的外部数据为 %d 字节，维度 %v 的 %s 应占 %d 字节", t.name, length, t.dims, t.elem.word, t.bytes))
	}
	if offset > math.MaxInt64-length {
		return f.damage(report.T("tensor %.80q ends beyond 2^63 bytes of its file", "Tensor %.80q 的结束位置超过文件的 2^63 字节", t.name))
	}
	file := o.beside[location]
	file.Location = location
	file.Tensors++
	file.MinBytes = max(file.MinBytes, offset+length)
	o.beside[location] = file
	return nil
}

// count is a number among the external_data entries.
func (t *tensor) count(f field, key string, absent int64) (int64, error) {
	s, ok := t.entries[key]
	if !ok {
		return absent, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, f.damage(report.T("external_data of tensor %.80q has %s %.80q, expected a number of bytes", "Tensor %.80q 的 external_data 中 %s 为 %.80q，应为字节数", t.name, key, s))
	}
	return n, nil
}

// beside is true for a path that stays in the model's folder, on any system:
// relative, no step upwards, no drive, nothing that cannot be printed.
func beside(location string) bool {
	slashed := strings.ReplaceAll(location, `\`, "/")
	drive := len(slashed) > 1 && slashed[1] == ':'
	if slashed == "" || drive || path.IsAbs(slashed) || strings.ContainsFunc(slashed, unicode.IsControl) {
		return false
	}
	for step := range strings.SplitSeq(slashed, "/") {
		if step == ".." {
			return false
		}
	}
	return path.Clean(slashed) != "."
}
