package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// npy lays out a file of that format version by hand.
func npy(major byte, header string, data []byte) []byte {
	b := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', major, 0}
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), data...)
}

func TestReadNPYReadsEveryTypeAndFormat(t *testing.T) {
	for descr, want := range map[string]ascend.DType{
		"<f4": ascend.Float, "<f8": ascend.Double, "<f2": ascend.Float16, "|b1": ascend.Bool,
		"|i1": ascend.Int8, "<i2": ascend.Int16, "<i4": ascend.Int32, "<i8": ascend.Int64,
		"|u1": ascend.Uint8, "<u2": ascend.Uint16, "<u4": ascend.Uint32, "<u8": ascend.Uint64,
	} {
		for _, major := range []byte{1, 2, 3} {
			size, _ := want.Size(6)
			data := bytes.Repeat([]byte{1, 0, 1}, int(size)/3)
			header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }", descr)
			got, err := ReadNPY("x.npy", bytes.NewReader(npy(major, header+"   \n", data)))
			if err != nil {
				t.Errorf("%s, format %d: %v", descr, major, err)
				continue
			}
			if got.DType != want || !slices.Equal(got.Shape, []int64{2, 3}) || !bytes.Equal(got.Data, data) {
				t.Errorf("%s, format %d: got %s %v of %d bytes", descr, major, got.DType, got.Shape, len(got.Data))
			}
		}
	}
}

func TestReadNPYReadsHeadersOfAllWriters(t *testing.T) {
	for header, want := range map[string][]int64{
		`{'descr': '<f4', 'fortran_order': False, 'shape': ()}`:             {},
		`{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}`:           {1},
		`{"shape": (1L, 1L), "descr": "<f4", "fortran_order": False}`:       {1, 1},
		` { 'descr' :'<f4','fortran_order':False,'shape':( 1 , 1, 1 , ), }`: {1, 1, 1},
	} {
		got, err := ReadNPY("x.npy", bytes.NewReader(npy(1, header, make([]byte, 4))))
		if err != nil || !slices.Equal(got.Shape, want) {
			t.Errorf("%s: got %v, %v, want %v", header, got.Shape, err, want)
		}
	}
}

func TestReadNPYSaysWhatIsWrong(t *testing.T) {
	good := "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	put := func(old, new string) []byte { return npy(1, strings.Replace(good, old, new, 1), make([]byte, 8)) }
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "not a NumPy file"},
		"another format":  {[]byte("PK\x03\x04 an .npz is a zip"), "not a NumPy file"},
		"format 4":        {npy(4, good, nil), "expected 1.0, 2.0 or 3.0"},
		"cut length":      {npy(1, good, nil)[:9], "cut off in the header"},
		"cut header":      {npy(1, good, nil)[:30], "cut off in the header"},
		"huge header":     {npy(2, good, nil)[:8:8], "cut off in the header"},
		"header of 4 GiB": {append(npy(2, "", nil)[:8:8], 0xff, 0xff, 0xff, 0xff), "expected at most"},
		"short data":      {npy(1, good, make([]byte, 7)), "expected 8 bytes of data for shape [2] of float32, got 7"},
		"long data":       {npy(1, good, make([]byte, 9)), "got more"},
		"a huge shape":    {put("(2,)", "(999999999, 999999)"), "cut off: expected"},
		"an overflow":     {put("(2,)", "(9999999999, 9999999999)"), "too large"},
		"a negative dim":  {put("(2,)", "(-2,)"), "stopped at"},
		"70 dims":         {put("(2,)", "("+strings.Repeat("1,", 70)+")"), "stopped at"},
		"big endian":      {put("<f4", ">f4"), "expected little endian"},
		"objects":         {put("<f4", "|O"), `descr "|O"`},
		"text":            {put("<f4", "<U7"), `descr "<U7"`},
		"complex":         {put("<f4", "<c8"), `descr "<c8"`},
		"a wide b1":       {put("<f4", "|f4"), `descr "|f4"`},
		"only an order":   {put("<f4", "<"), `descr "<"`},
		"a record":        {put("'<f4'", "[('a', '<f4')]"), "descr"},
		"fortran order":   {put("False", "True"), "fortran_order: expected False"},
		"a key twice":     {put("'shape'", "'descr'"), "twice"},
		"an unknown key":  {put("'shape'", "'color'"), `unknown key "color"`},
		"a missing key":   {put(", 'shape': (2,), ", ""), "expected the keys"},
		"no dict":         {put("{", "["), "stopped at"},
		"something after": {put("}", "} x"), "stopped at"},
		"an open dict":    {put("}", ""), "stopped at"},
	} {
		_, err := ReadNPY("x.npy", bytes.NewReader(c.file))
		if err == nil || !strings.HasPrefix(err.Error(), "x.npy: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to name x.npy and say %q", name, err, c.want)
		}
	}
}

func TestReadNPYReadsTheDigits(t *testing.T) {
	for name, want := range map[string]struct {
		dtype ascend.DType
		shape []int64
	}{
		"images.npy": {ascend.Float, []int64{360, 1, 8, 8}},
		"labels.npy": {ascend.Int64, []int64{360}},
		"logits.npy": {ascend.Float, []int64{360, 10}},
	} {
		f, err := os.Open("../../testdata/models/digits/" + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadNPY(name, f)
		f.Close()
		if err != nil || got.DType != want.dtype || !slices.Equal(got.Shape, want.shape) {
			t.Errorf("%s: got %s %v, %v, want %s %v", name, got.DType, got.Shape, err, want.dtype, want.shape)
		}
		if name != "labels.npy" {
			continue
		}
		labels, err := Labels(name, got)
		if err != nil || len(labels) != 360 || slices.Min(labels) != 0 || slices.Max(labels) != 9 {
			t.Errorf("labels: %d, %v, want 360 from 0 to 9", len(labels), err)
		}
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", make([]byte, 8)))
	f.Add(npy(2, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", []byte{1}))
	f.Add(npy(3, `{"descr": "<i8", "fortran_order": False, "shape": (0, 9)}`, nil))
	f.Add(npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 9999)}", nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := ReadNPY("x", bytes.NewReader(file))
		if err != nil {
			return
		}
		n, ok := ascend.Elements(got.Shape)
		if size, fits := got.DType.Size(n); !ok || !fits || int64(len(got.Data)) != size {
			t.Errorf("%s %v with %d bytes", got.DType, got.Shape, len(got.Data))
		}
	})
}
