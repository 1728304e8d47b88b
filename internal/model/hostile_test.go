package model

import (
	"bytes"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

func varints(values []uint64) (b []byte) {
	for _, v := range values {
		b = protowire.AppendVarint(b, v)
	}
	return b
}

// nested wraps leaf in n fields numbered num, inside out, in linear time.
func nested(n int, leaf msg, nums ...protowire.Number) msg {
	heads, size := make([][]byte, n), len(leaf)
	for i := range n {
		heads[i] = msg{}.claim(nums[i%len(nums)], uint64(size))
		size += len(heads[i])
	}
	out := make(msg, 0, size)
	for i := n - 1; i >= 0; i-- {
		out = append(out, heads[i]...)
	}
	return append(out, leaf...)
}

// TestHostileFiles has one line for each way a file can lie.
func TestHostileFiles(t *testing.T) {
	weight := func(w msg) msg { return modelOf(graphOf(one(5, w))) }
	const minus = math.MaxUint64
	for _, c := range []struct {
		name string
		data msg
		want string
	}{
		{"graph longer than the file", msg{}.num(1, 8).claim(7, 1000).str(2, "g"), "is cut short: at byte 2, in ModelProto: field 7 claims 1000 bytes, 3 are left"},
		{"graph longer than protobuf allows", msg{}.num(1, 8).claim(7, 1<<62), "is damaged: at byte 2, in ModelProto: field 7 claims 4611686018427387904 bytes, protobuf allows at most 2147483647"},
		{"length of 2^64-1", msg{}.num(1, 8).claim(7, minus), "claims 18446744073709551615 bytes"},
		{"node longer than its graph", modelOf(msg{}.claim(1, 99)), "is damaged: at byte 11, in GraphProto: field 1 claims 99 bytes, 0 are left"},
		{"number cut at the end", append(msg{}.num(1, 8), 0x28, 0xff), "is cut short: at byte 2, in ModelProto: the message ends inside a field"},
		{"number without an end", msg{}.num(1, 8).then(append(msg{0x28}, bytes.Repeat([]byte{0xff}, 30)...)), "is damaged: at byte 2, in ModelProto: there is no valid field"},
		{"field number zero", msg{}.num(1, 8).then(msg{0x02, 0x00}, make(msg, 40)), "is damaged: at byte 2"},
		{"group", msg{}.num(1, 8).then(msg{0x3b, 0x3c}), "field 7 has wire type 3, which ONNX does not use"},
		{"graph that is a number", msg{}.num(1, 8).num(7, 1), "field 7 has wire type 0, expected 2"},
		{"name that is a number", modelOf(msg{}.num(2, 5)), "in GraphProto: field 2 has wire type 0, expected 2"},
		{"data type that is a text", weight(msg{}.str(2, "FLOAT")), "in TensorProto: field 2 has wire type 2, expected 0"},
		{"raw data that is a number", weight(msg{}.num(2, 1).num(9, 5)), "in TensorProto: field 9 has wire type 0, expected 2"},
		{"dims as fixed numbers", weight(msg{}.then(msg{0x0d, 1, 0, 0, 0})), "in TensorProto: field 1 has wire type 5, expected 2"},
		{"packed dims cut", weight(msg{}.str(1, "\x80")), "field 1 holds an incomplete number"},
		{"too many packed dims", weight(msg{}.str(1, strings.Repeat("\x01", maxRank+1))), "field 1 has more than 64 entries"},
		{"too many dims", weight(bytes.Repeat(msg{}.num(1, 1), maxRank+1)), "field 1 has more than 64 entries"},
		{"name of a megabyte", modelOf(msg{}.str(2, strings.Repeat("a", 1<<20))), "field 2 is a text of 1048576 bytes, expected at most 65536"},
		{"no version", msg{}.sub(7, graphOf()).sub(8, msg{}.num(2, 17)), "ir_version (field 1) is 0, expected 1 or more"},
		{"negative version", msg{}.num(1, -8).sub(7, graphOf()), "ir_version (field 1) is -8"},
		{"no graph", msg{}.num(1, 8).str(2, "pytorch"), "is cut short: at byte 11, in ModelProto: there is no graph"},
		{"no opset", msg{}.num(1, 8).sub(7, graphOf()), "there is no opset_import"},
		{"negative opset", modelOf(graphOf()).sub(8, msg{}.str(1, "x").num(2, -1)), `the version of opset "x" is -1`},
		{"node without an operator", modelOf(graphOf(one(1, msg{}.str(1, "x")))), "the node has no op_type"},
		{"input without a name", modelOf(graphOf(one(11, msg{}))), "an input or output has no name"},
		{"weight without a type", weight(msg{}.num(1, 1).str(8, "w")), `tensor "w" has no data_type`},
		{"negative dim", weight(msg{}.num(1, -5).num(2, 1).str(8, "w")), `tensor "w" has dims [-5]`},
		{"dims beyond 64 bits", weight(msg{}.num(1, 1<<62).num(1, 1<<62).num(2, 1)), "expected numbers from 0 whose product fits 64 bits"},
		{"bytes beyond 64 bits", weight(msg{}.num(1, 1<<62).num(2, 11)), "is larger than 2^60 bytes"},
		{"short data", weight(msg{}.num(1, 5).num(2, 1).str(8, "w").str(9, "12345678")), `tensor "w" holds 8 bytes, its dims [5] of FLOAT take 20`},
		{"no data", weight(msg{}.num(1, 1<<40).num(2, 1).str(8, "w")), `tensor "w" has dims [1099511627776], but data for at most 0 elements`},
		{"little typed data", weight(msg{}.num(1, 1000).num(2, 7).str(7, "abc")), "but data for at most 12 elements"},
		{"weights beyond 64 bits together", modelOf(graphOf(bytes.Repeat(one(5, hugeOutside("w")), 17))), "the weights are larger than 2^63 bytes"},
		{"nested graph is held to the same", modelOf(graphOf(one(1, nodeOf("If").sub(5, one(6, one(1, msg{})))))), "the node has no op_type"},
		{"graphs nested without end", modelOf(nested(99_999, msg{}, 6, 5, 1)), "messages are nested more than 100 deep"},
		{"types nested without end", modelOf(graphOf(one(11, valueOf("p", nested(100_000, msg{}, 1, 4))))), "messages are nested more than 100 deep"},
		{"too many dimensions", modelOf(graphOf(one(11, valueOf("p", tensorOf(1, make([]any, maxRank+1)...))))), "a shape has more than 64 dimensions"},
		{"too many inputs", modelOf(bytes.Repeat(one(11, msg{}.str(1, "p")), maxPorts+1)), "more than 262144 inputs or outputs"},
		{"long names are cut in messages", weight(msg{}.num(1, 1).num(2, 1).str(8, strings.Repeat("a", 5000))), `tensor "` + strings.Repeat("a", 80) + `" has dims [1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.data)
			if p := asProblem(t, err); !strings.Contains(p.Error(), c.want) {
				t.Errorf("got      %s\nexpected %s", p.Error(), c.want)
			}
		})
	}
}

func hugeOutside(name string) msg {
	return msg{}.num(1, 1<<57).num(2, 1).str(8, name).sub(13, msg{}.str(1, "location").str(2, "w")).num(14, 1)
}

func TestExternalDataStaysInTheFolder(t *testing.T) {
	for _, bad := range []string{"", "/etc/passwd", "../w", "a/../../w", `..\w`, `a\..\..\w`, `\\host\w`, `C:\w`, "c:w", "a\x00b", "a\nb", "."} {
		_, err := parse(modelOf(graphOf(one(5, external("w", bad)))))
		if p := asProblem(t, err); !strings.Contains(p.Error(), "is refused") || !strings.Contains(p.Error(), "expected a file in the folder of the model") {
			t.Errorf("location %q: %s", bad, p.Error())
		}
	}
	for _, good := range []string{"w", "w.bin", "data/w.bin", "..w", "a..b/w", "权重.bin", "onnx::MatMul_12"} {
		if _, err := parse(modelOf(graphOf(one(5, external("w", good))))); err != nil {
			t.Errorf("location %q: %v", good, err)
		}
	}
	for _, c := range []struct{ key, value string }{
		{"offset", "-1"}, {"offset", "x"}, {"offset", "99999999999999999999"}, {"length", "-1"}, {"length", "17"}, {"offset", "9223372036854775800"},
	} {
		if _, err := parse(modelOf(graphOf(one(5, external("w", "w", c.key, c.value))))); err == nil {
			t.Errorf("%s %q was taken", c.key, c.value)
		}
	}
}

// TestCutAnywhere cuts the digits model all along. What may still be read
// is a file that lost only fields nobody reads.
func TestCutAnywhere(t *testing.T) {
	data, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := read(newWire(bytes.NewReader(data), int64(len(data)), 512), "m")
	if err != nil {
		t.Fatal(err)
	}
	tried, failed := 0, 0
	for n := 0; n < len(data); n++ {
		if n > 8<<10 && n < len(data)-8<<10 {
			n += 6 // inside the weights every seventh will do
		}
		tried++
		m, err := read(newWire(bytes.NewReader(data[:n]), int64(n), 512), "m")
		if err != nil {
			asProblem(t, err)
			failed++
			continue
		}
		if m.Bytes = whole.Bytes; !cmp.Equal(m, whole) {
			t.Fatalf("cut at byte %d it reads as another model", n)
		}
	}
	if failed < tried-16 {
		t.Errorf("only %d of %d cuts were noticed", failed, tried)
	}
}

// TestMemoryDoesNotFollowClaims reads files that promise much, and a large one.
func TestMemoryDoesNotFollowClaims(t *testing.T) {
	const large = 256 << 20
	weight := msg{}.num(1, large/4).num(2, 1).str(8, "w").claim(9, large)
	graph := msg{}.claim(5, uint64(len(weight))+large).then(weight)
	big := msg{}.num(1, 8).claim(7, uint64(len(graph))+large).then(graph)
	tail := msg{}.sub(8, msg{}.num(2, 17))
	sources := map[string]io.ReaderAt{
		"claims": bytes.NewReader(msg{}.num(1, 8).claim(7, maxMessage)),
		"weight": &sparseFile{size: int64(len(big)) + large + int64(len(tail)), head: big, tail: tail},
	}
	for name, src := range sources {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Read(src, sizeOf(src), "m.onnx")
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
		if name == "weight" && (err != nil || m.Initializers.Bytes != large) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sparseFile is a large file of zeros between a head and a tail.
type sparseFile struct {
	size       int64
	head, tail []byte
}

func (s *sparseFile) Size() int64 { return s.size }

func (s *sparseFile) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		switch at := off + int64(i); {
		case at >= s.size:
			return i, io.EOF
		case at < int64(len(s.head)):
			p[i] = s.head[at]
		case at >= s.size-int64(len(s.tail)):
			p[i] = s.tail[at-s.size+int64(len(s.tail))]
		default:
			p[i] = 0
		}
	}
	return len(p), nil
}

func sizeOf(r io.ReaderAt) int64 { return r.(interface{ Size() int64 }).Size() }
