package log

import (
	"testing"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

func BenchmarkCheckAndAppend(b *testing.B) {
	w := newBench(plainSettings())
	one := batch(7, 0, 0, 1)
	b.ReportAllocs()
	sequence := int32(0)
	for b.Loop() {
		data := append(record.Batch(nil), one...)
		data[53], data[54], data[55], data[56] = byte(sequence>>24), byte(sequence>>16), byte(sequence>>8), byte(sequence)
		sequence++
		if v := w.l.Check(data, w.now.WallMillis()); v != (Verdict{}) {
			b.Fatal(v)
		}
		w.l.Append(&w.j, &w.out, w.now, data, env.BatchInfo{}, 0)
		if sequence%256 == 0 {
			w.store()
			w.l.Checkpoint(&w.j, &w.out)
			w.confirm()
			w.out.Drops = nil
		}
	}
}

func BenchmarkReadFromMemory(b *testing.B) {
	w := newBench(plainSettings())
	for i := range int32(100) {
		w.append(batch(7, 0, i, 10))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p := w.l.Read(nil, 500, w.l.End(), 10, true); p.State != Ready {
			b.Fatal(p.State)
		}
	}
}

func BenchmarkRestore(b *testing.B) {
	w := newBench(plainSettings())
	w.append(batch(7, 0, 0, 1))
	w.confirm()
	w.l.Carry(&w.j, &w.out)
	header := w.out.Journal[0].Header
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Restore(testID, header, 9, env.DefaultLimits()); !ok {
			b.Fatal("no checkpoint")
		}
	}
}
