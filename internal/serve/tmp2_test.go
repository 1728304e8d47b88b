package serve

import (
	"context"
	"testing"
	"time"
)

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		time.Now()
	}
}
func BenchmarkCancel(b *testing.B) {
	p, c := context.WithCancel(context.Background())
	defer c()
	for b.Loop() {
		_, q := context.WithCancel(p)
		q()
	}
}
func BenchmarkDo(b *testing.B) {
	p, c := context.WithCancel(context.Background())
	defer c()
	f := &fake{sig: vectors(1, 1)}
	f.batches = nil
	q := testQueue(f, 32, 1, 100)
	j := rowsOf(p, 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		f.batches = f.batches[:0]
		j.outputs = nil
		if err := q.do(j); err != nil {
			b.Fatal(err)
		}
		j.release()
	}
}
