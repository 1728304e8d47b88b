package omtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// field appends a varint field of a protobuf message. protowire is left to the
// reader, so that the two do not share a mistake.
func field(m []byte, number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(number)<<3), v)
}

// sub appends a field of bytes: a text or a message.
func sub[T []byte | string](m []byte, number int, v T) []byte {
	m = binary.AppendUvarint(m, uint64(number)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(v))), v...)
}

// packed appends a repeated integer field.
func packed(m []byte, number int, row []int64) []byte {
	var data []byte
	for _, n := range row {
		data = binary.AppendUvarint(data, uint64(n))
	}
	return sub(m, number, data)
}

func bits(row []bool) []int64 {
	out := make([]int64, len(row))
	for i, b := range row {
		if b {
			out[i] = 1
		}
	}
	return out
}

// words of a file with compressed attributes: each attribute name and text has
// a number.
type words struct {
	compress      bool
	names, values []string
	coded         []bool
}

// key is the name of an attribute as it is stored.
func (w *words) key(name string, text bool) (key string, coded bool) {
	if !w.compress {
		return name, false
	}
	at := slices.Index(w.names, name)
	if at < 0 {
		at = len(w.names)
		w.names, w.coded = append(w.names, name), append(w.coded, text)
	}
	key = "\x00"
	for n := at; ; n /= 127 {
		key += string([]byte{byte(n%127) + 1})
		if n < 127 {
			return key, w.coded[at]
		}
	}
}

func (w *words) text(s string) int64 {
	at := slices.Index(w.values, s)
	if at < 0 {
		at = len(w.values)
		w.values = append(w.values, s)
	}
	return int64(at)
}

// attrs appends an attribute map in field number. Values are int64, bool,
// string, []int64, []string, []bool, [][2]int64, and constant.
func (w *words) attrs(m []byte, number int, values map[string]any) []byte {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		_, text := value.(string)
		_, texts := value.([]string)
		key, coded := w.key(name, text || texts)
		m = sub(m, number, sub(sub(nil, 1, key), 2, w.value(value, coded)))
	}
	return m
}

func (w *words) value(value any, coded bool) []byte {
	switch v := value.(type) {
	case int64:
		return field(nil, 3, uint64(v))
	case string:
		if coded {
			return field(nil, 3, uint64(w.text(v)))
		}
		return sub(nil, 2, v)
	case []int64:
		return sub(nil, 1, field(packed(nil, 3, v), 20, 2))
	case []bool:
		return sub(nil, 1, field(packed(nil, 5, bits(v)), 20, 4))
	case []string:
		if coded {
			row := make([]int64, len(v))
			for i, s := range v {
				row[i] = w.text(s)
			}
			return w.value(row, false) // by its type too a list of numbers: the true loader looks
		}
		var list []byte
		for _, s := range v {
			list = sub(list, 2, s)
		}
		return sub(nil, 1, field(list, 20, 1))
	case [][2]int64:
		var rows []byte
		for _, r := range v {
			rows = sub(rows, 1, packed(nil, 1, r[:]))
		}
		return sub(nil, 14, rows)
	case constant:
		desc := w.tensor(Tensor{DType: "UINT8"}, []int64{int64(v)}, 0, nil)
		return sub(nil, 12, sub(nil, 1, field(field(desc, 11, uint64(v)), 18, 0)))
	}
	panic(fmt.Sprintf("omtest: no attribute of type %T", value))
}

// constant is a weight: all bytes of the weight partition.
type constant int64

// tensor is a TensorDescriptor.
func (w *words) tensor(t Tensor, dims []int64, size int64, values map[string]any) []byte {
	m := field(nil, 2, uint64(kinds[t.DType].ge))
	m = sub(m, 3, packed(nil, 1, dims))
	m = sub(m, 4, t.layout())
	m = w.attrs(m, 5, values)
	return field(field(m, 9, 1), 10, uint64(size)) // 9: the size stands here, not among the attributes
}
