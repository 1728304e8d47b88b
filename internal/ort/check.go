package ort

import (
	"encoding/binary"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// check refuses a tensor that would make C read past its data, or see a value
// its types cannot hold. n is the number of elements.
func (t Tensor) check() (n int64, err error) {
	n, ok := ascend.Elements(t.Shape)
	if !ok {
		return 0, invalid("shape %d has a negative dim or too many elements", t.Shape)
	}
	if t.DType == ascend.String {
		return n, checkStrings(t.Data, n)
	}
	want, ok := t.DType.Size(n)
	if !ok {
		return 0, invalid("tensors of element type %v cannot be passed", t.DType)
	}
	if int64(len(t.Data)) != want {
		return 0, invalid("%d bytes for shape %d of %v, expected %d", len(t.Data), t.Shape, t.DType, want)
	}
	if t.DType == ascend.Bool {
		// To C++ any other byte is undefined behaviour: a kernel may count it
		// as 2 in one pass and as 1 in the next.
		for i, b := range t.Data {
			if b > 1 {
				return 0, invalid("bool element %d is %d, expected 0 or 1", i, b)
			}
		}
	}
	return n, nil
}

func checkStrings(data []byte, n int64) error {
	for i := range n {
		if len(data) < 4 {
			return invalid("data ends before string element %d of %d", i, n)
		}
		size := binary.LittleEndian.Uint32(data)
		if uint64(size) > uint64(len(data)-4) {
			return invalid("string element %d of %d is %d bytes long, %d are left", i, n, size, len(data)-4)
		}
		data = data[4+size:]
	}
	if len(data) > 0 {
		return invalid("%d bytes are left after the last of %d string elements", len(data), n)
	}
	return nil
}
