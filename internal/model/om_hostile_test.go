package model_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ascendctl/ascendctl/internal/model"
	"github.com/ascendctl/ascendctl/internal/model/omtest"
	"github.com/ascendctl/ascendctl/internal/report"
)

// TestOMsThatAreNotReadAreNamed: none of them is called damaged.
func TestOMsThatAreNotReadAreNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*omtest.File)
		en, zh string
	}{
		{"encrypted", func(f *omtest.File) { f.Encrypted = true }, `it is encrypted; its content cannot be read without the key, only its name is open: "net"`, "已加密"},
		{"bundle", func(f *omtest.File) { f.Type = 5; f.SubModels = 2 }, "it is a bundle of 3 models", "打包了 3 个模型"},
		{"flow", func(f *omtest.File) { f.Type = 3 }, "it is a flow model", "flow 模型"},
		{"newer", func(f *omtest.File) { f.Version = 0x30000000 }, "its header has version 0x30000000; known are 0x10000000 and 0x20000000", "文件头版本为 0x30000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := sample()
			f.Name, f.Generation = "net", omtest.Layout2
			c.change(&f)
			_, err := model.ReadIn(f.Encode(), 1<<16)
			p := model.AsProblem(t, err)
			if !strings.Contains(p.Error(), c.en) || !strings.Contains(p.Why.Zh, c.zh) || p.Do.IsZero() {
				t.Errorf("got %q / %q, expected %q / %q and advice", p.Error(), p.Why.Zh, c.en, c.zh)
			}
			if strings.Contains(p.Error(), "damaged") || strings.Contains(p.Error(), "cut") {
				t.Errorf("%q calls a sound file damaged", p.Error())
			}
		})
	}
}

// TestHostileOMs has one line for each way a container can lie.
func TestHostileOMs(t *testing.T) {
	put32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	put64 := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return b }
	}
	for _, c := range []struct {
		name   string
		g      omtest.Generation
		change func([]byte) []byte
		want   string
	}{
		{"header alone", omtest.Layout2, func(b []byte) []byte { return b[:100] }, "is cut short: at byte 100, in header: the file has 100 bytes, its header alone takes 256"},
		{"magic alone", omtest.Layout2, func(b []byte) []byte { return b[:4] }, "is cut short"},
		{"one byte lost", omtest.Layout1, func(b []byte) []byte { return b[:len(b)-1] }, "is cut short: at byte 76, in header: the header promises"},
		{"one byte more", omtest.Wide, func(b []byte) []byte { return append(b, 0) }, "is damaged: at byte 76, in header: the header promises"},
		{"body of 2^64-1", omtest.Wide, put64(184, 1<<64-1), "in header: the header promises -1 bytes"},
		{"no partitions", omtest.Layout2, put32(256, 0), "it claims 0 partitions"},
		{"2^32-1 partitions", omtest.Layout2, put32(256, 1<<32-1), "it claims 4294967295 partitions"},
		{"2^32-1 partitions, wide", omtest.Wide, put32(256, 1<<32-1), "it claims 4294967295 partitions"},
		{"partition behind the end", omtest.Layout2, put32(264, 1<<31), "partition MODEL_DEF has"},
		{"partition longer than the file", omtest.Layout2, put32(268, 1<<32-1), "partition MODEL_DEF has 4294967295 bytes at 0"},
		{"wide offset beyond 2^63", omtest.Wide, put64(264+8, 1<<63), "partition MODEL_INOUT_INFO has"},
		{"wide sum beyond 2^63", omtest.Wide, put64(264+16, 1<<63-1), "partition MODEL_INOUT_INFO has 9223372036854775807 bytes"},
		{"no model", omtest.Layout2, put32(260, 99), "there is no MODEL_DEF partition"},
		{"a gap at the end", omtest.Layout2, func(b []byte) []byte {
			b = append(b, 1, 2, 3)
			binary.LittleEndian.PutUint32(b[76:], uint32(len(b)-256))
			return b
		}, "3 bytes lie behind the last partition"},
		{"model of rubbish", omtest.Layout2, func(b []byte) []byte { copy(b[308:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"); return b }, "OM file m.om is damaged: at byte 308, in ModelDef: there is no valid field"},
		{"record longer than its partition", omtest.Wide, put32(264+5*24+4, 1<<31), "record 0 claims 2147483648 bytes"},
		{"many inputs", omtest.Wide, put32(264+5*24+8, 1<<31), "2147483648 entries of 32 bytes or more are claimed"},
		{"long name", omtest.Wide, put32(264+5*24+12+16, 1<<31), "a text of 2147483648 bytes is claimed"},
		{"odd shape", omtest.Wide, put32(264+5*24+12+20, 7), "a shape of 7 bytes is claimed"},
		{"many models", omtest.Layout2, func(b []byte) []byte { b[193] = 1; return put32(156, 1<<32-1)(b) }, "in partition table: 4 bytes are needed, 0 are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := sample()
			f.Generation = c.g
			_, err := model.ReadIn(c.change(f.Encode()), 1<<16)
			if p := model.AsProblem(t, err); !strings.Contains(p.Error(), c.want) {
				t.Errorf("got      %s\nexpected %s", p.Error(), c.want)
			}
		})
	}
}

// TestGearsThatLie: a count of gears is believed only as far as they are there.
func TestGearsThatLie(t *testing.T) {
	f := batched()
	data := f.Encode()
	at := bytes.Index(data, []byte("_batch_num")) // then the value: field 2, 2 bytes, field 3, the number
	data[at+len("_batch_num")+3] = 9
	_, err := model.ReadIn(data, 1<<16)
	if p := model.AsProblem(t, err); !strings.Contains(p.Error(), "gear 4 of 9 has no values (_pred_value_4)") {
		t.Error(p)
	}
}

// TestCutOMs cuts a file at every byte: the size in the header tells each.
func TestCutOMs(t *testing.T) {
	f := batched()
	f.Generation, f.Weights = omtest.Wide, nil
	data := f.Encode()
	for n := range data {
		if _, err := model.ReadIn(data[:n], 1<<10); err == nil {
			t.Fatalf("cut at byte %d it was read", n)
		} else if p := model.AsProblem(t, err); n >= 4 && !strings.Contains(p.Error(), "is cut short") {
			t.Fatalf("cut at byte %d: %s", n, p)
		}
	}
}

// TestChangedOMs changes each byte of a file in turn: a problem or a model that
// can be told, never a crash.
func TestChangedOMs(t *testing.T) {
	f := batched()
	f.Generation, f.Weights, f.Command = omtest.Wide, nil, ""
	data := f.Encode()
	for i := range data {
		for _, v := range []byte{0, 0x7f, 0xff} {
			was := data[i]
			data[i] = v
			if m, err := model.ReadIn(data, 1<<12); err != nil {
				model.AsProblem(t, err)
			} else {
				saneOM(t, m, int64(len(data)))
			}
			data[i] = was
		}
	}
}

func saneOM(t *testing.T, m *model.Model, size int64) {
	t.Helper()
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
	if m.Kind != model.KindOM {
		return
	}
	box := m.Container.(*model.OM)
	for _, p := range box.Partitions {
		if p.Size < 0 || p.Size > size || p.Offset < 0 || p.Offset > size || p.Type == "" {
			t.Errorf("partition %+v", p)
		}
	}
	for _, p := range append(m.Inputs, m.Outputs...) {
		if p.Bytes != nil && *p.Bytes <= 0 || p.Padded != nil && p.Bytes == nil {
			t.Errorf("port %+v", p)
		}
	}
	if m.Nodes > int(size) || (m.Gears.Kind == "") != (len(m.Gears.Values) == 0) {
		t.Errorf("%d nodes, gears %+v", m.Nodes, m.Gears)
	}
}

// TestWeightsOfAnOMAreNotRead reads a file that is nearly all weights.
func TestWeightsOfAnOMAreNotRead(t *testing.T) {
	f := sample()
	f.Weights = nil
	small := f.Encode()
	// The weights partition is the second of four and the table entry holds
	// its size; what lies behind moves up.
	const large = 256 << 20
	le := binary.LittleEndian
	def := int64(le.Uint32(small[256+4+8:]))
	cut := 256 + 52 + def
	head, tail := bytes.Clone(small[:cut]), small[cut:]
	le.PutUint32(head[76:], uint32(int64(len(small))-256+large))
	le.PutUint32(head[256+4+12+8:], large)
	for _, entry := range []int{2, 3} {
		at := 256 + 4 + 12*entry + 4
		le.PutUint32(head[at:], le.Uint32(head[at:])+large)
	}
	src := &hollow{head: head, tail: tail, middle: large}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := model.Read(src, src.size(), "m.om")
	runtime.ReadMemStats(&after)
	if err != nil || m.Memory.Weight != large {
		t.Fatalf("%v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 || src.read > 1<<20 {
		t.Errorf("%d bytes were allocated and %d read", used, src.read)
	}
}

// hollow is a file with zeros between head and tail.
type hollow struct {
	head, tail   []byte
	middle, read int64
}

func (h *hollow) size() int64 { return int64(len(h.head)+len(h.tail)) + h.middle }

func (h *hollow) ReadAt(p []byte, off int64) (int, error) {
	h.read += int64(len(p))
	for i := range p {
		switch at := off + int64(i); {
		case at < int64(len(h.head)):
			p[i] = h.head[at]
		case at < int64(len(h.head))+h.middle:
			p[i] = 0
		case at < h.size():
			p[i] = h.tail[at-h.middle-int64(len(h.head))]
		default:
			return i, io.EOF
		}
	}
	return len(p), nil
}

// FuzzOM holds the reader to its word on any bytes behind the magic, and in
// windows of any size.
func FuzzOM(f *testing.F) {
	for g := range generations {
		plain, geared, open := sample(), batched(), sample()
		open.Dynamic, open.SubModels = g != omtest.Layout1, 1
		for _, file := range []omtest.File{plain, geared, open} {
			file.Generation, file.Weights = g, nil
			f.Add(file.Encode())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if data = bytes.Clone(data); len(data) >= 256 {
			copy(data, "IMOD")
			if binary.LittleEndian.Uint64(data[184:]) == 0 { // past the check of the size
				binary.LittleEndian.PutUint32(data[76:], uint32(len(data)-256))
			} else {
				binary.LittleEndian.PutUint64(data[184:], uint64(len(data)-256))
			}
		}
		m, err := model.ReadIn(data, 1<<16)
		small, smallErr := model.ReadIn(data, 24)
		if (err == nil) != (smallErr == nil) {
			if p, ok := err.(*report.Problem); !ok || p.Err != nil || bytes.HasPrefix(data, []byte("IMOD")) {
				t.Fatalf("whole: %v; in windows: %v", err, smallErr)
			}
			return
		}
		if err != nil {
			model.AsProblem(t, err)
			return
		}
		if d := cmp.Diff(m, small, unexported); d != "" {
			t.Fatalf("in windows it reads differently:\n%s", d)
		}
		saneOM(t, m, int64(len(data)))
	})
}
