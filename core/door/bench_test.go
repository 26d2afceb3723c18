package door

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// text is half compressible.
func text(n int, seed int64) []byte {
	r := rand.New(rand.NewSource(seed))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.Intn(4)*r.Intn(3))
	}
	return b
}

func BenchmarkOpenProduce(b *testing.B) {
	for _, shape := range []struct{ records, size int }{{1, 1 << 10}, {16, 1 << 10}, {160, 100}, {1000, 1 << 10}} {
		for c := env.None; c <= env.Zstd; c++ {
			var records []record.Record
			for i := range shape.records {
				records = append(records, record.Record{Time: int64(i), Key: []byte("key"), Value: text(shape.size, int64(i))})
			}
			plain := record.Build(record.NoProducer(), records)
			frame := produceFrame(11, compressed(c, plain))
			b.Run(fmt.Sprintf("%dx%d/codec%d", shape.records, shape.size, c), func(b *testing.B) {
				var s Scratch
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				for b.Loop() {
					if _, r, err := s.Open(frame, DefaultLimits()); err != nil || r.Batches[0].Fault != 0 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
