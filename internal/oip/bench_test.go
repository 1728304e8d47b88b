package oip

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ascendctl/ascendctl/internal/ascend"
)

// One turn of a server: a request is read, its input goes back as the output.
func BenchmarkTurn(b *testing.B) {
	for _, size := range []int{1 << 10, 48 << 10} {
		for _, binary := range []bool{true, false} {
			b.Run(fmt.Sprintf("%dKiB/binary=%v", size>>10, binary), func(b *testing.B) {
				rows := int64(size / 16)
				data := make([]byte, 0, size)
				for range size / 4 {
					data = append(data, le(rand.Float32())...)
				}
				sig := Signature{[]Port{port("image", ascend.Float, -1, 4)}, []Port{port("image", ascend.Float, -1, 4)}}
				body, n, err := AppendRequest(nil, &Request{ID: "42", Inputs: []Tensor{{"image", ascend.Float, []int64{rows, 4}, data}}}, binary)
				if err != nil {
					b.Fatal(err)
				}
				header := headerOf(n)
				wants := make([]bool, 1)
				var out []byte
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					r, err := DecodeRequest(body, header, sig)
					if err != nil {
						b.Fatal(err)
					}
					wants[0] = r.Outputs[0].Binary
					answer := Response{Model: "digits", Version: "1", ID: r.ID, Outputs: r.Inputs, Binary: wants}
					if out, _, err = answer.Append(out[:0]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
