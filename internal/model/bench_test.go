package model

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkOpen measures a file whose weights are most of it, one of many
// small weights, which cannot be stepped over, and one of many nodes.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		name    string
		weights int
		floats  int64
		nodes   int
	}{
		{"256MiB/64weights", 64, 1 << 20, 64},
		{"256MiB/65536weights", 1 << 16, 1 << 10, 64},
		{"nodes/100000", 1, 1, 100_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			var body msg
			for i := range c.nodes {
				body = body.sub(1, nodeOf("Relu").str(3, fmt.Sprintf("/layer%d/Relu", i)))
			}
			for i := range c.weights {
				body = body.sub(5, floats(fmt.Sprintf("layer%d.weight", i), c.floats))
			}
			data := modelOf(graphOf(body))
			path := filepath.Join(b.TempDir(), "model.onnx")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Open(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
