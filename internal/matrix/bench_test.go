package matrix_test

import (
	"testing"

	"github.com/ascendctl/ascendctl/internal/matrix"
)

// stack is a question with every part the start-up bound names.
var stack = matrix.Parts{"chip": "910B3", "driver": "25.5.2", "cann": "9.0.0", "torch": "2.10.0", "torch_npu": "2.10.0",
	"vllm_ascend": "0.20.2rc1", "vllm": "0.20.2", "python": "3.11"}

func resolve(b *testing.B, m *matrix.Matrix, p matrix.Parts) {
	b.Helper()
	v, err := m.Resolve(p)
	if err != nil || v.Verdict == "" {
		b.Fatal(v, err)
	}
}

// BenchmarkLoadCompact is what `compat check` pays once: load and first answer.
func BenchmarkLoadCompact(b *testing.B) {
	for b.Loop() {
		resolve(b, load(b), stack)
	}
}

// BenchmarkLoadYAML is the same from the files people edit, as with --compat.
func BenchmarkLoadYAML(b *testing.B) {
	l := yamlOnly(b)
	for b.Loop() {
		m, err := matrix.Load(l)
		if err != nil {
			b.Fatal(err)
		}
		resolve(b, m, stack)
	}
}

// BenchmarkResolve is an answer once the rows are read.
func BenchmarkResolve(b *testing.B) {
	m := load(b)
	resolve(b, m, stack)
	for b.Loop() {
		resolve(b, m, stack)
	}
}

// BenchmarkResolveUnknown looks for neighbours too.
func BenchmarkResolveUnknown(b *testing.B) {
	m := load(b)
	p := matrix.Parts{"chip": "A2", "cann": "8.3.RC2", "driver": "24.1.0", "torch_npu": "2.9.1", "torch": "2.9.1"}
	resolve(b, m, p)
	for b.Loop() {
		resolve(b, m, p)
	}
}

// BenchmarkSuggest builds and judges every stack the rows have.
func BenchmarkSuggest(b *testing.B) {
	m := load(b)
	for b.Loop() {
		if a, err := m.Suggest(matrix.Ask{Have: matrix.Parts{"chip": "A2", "driver": "25.2.0"}}); err != nil || len(a.Suggestions) == 0 {
			b.Fatal(a, err)
		}
	}
}
