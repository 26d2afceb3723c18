package disk

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/orrery-log/orrery/core/env"
)

// BenchmarkRounds is the write path as a whole: a round journals one batch for
// each of some partitions, and the next comes when it is synced (depth rounds at
// a time); every partition is stored in pieces of a MiB, and the journal is cut
// behind what is synced in segments.
func BenchmarkRounds(b *testing.B) {
	for _, depth := range []int{1, 4} {
		for _, batch := range []int{4, 16, 64} {
			for _, dirty := range []int{10, 100} {
				b.Run(fmt.Sprintf("depth=%d/%dKiBx%d", depth, batch, dirty), func(b *testing.B) { benchRounds(b, batch<<10, dirty, depth) })
			}
		}
	}
}

const benchPartitions = 100

// benchPartition is what the core knows of a partition.
type benchPartition struct {
	segment env.SegmentID
	at      int64
	tail    [][]byte
	size    int64
	first   env.Seq // of tail
	stored  []benchStore
}

// benchStore is a Store that is not synced: the journal is needed from first on.
type benchStore struct {
	end   int64
	first env.Seq
}

func benchRounds(b *testing.B, batch, dirty, depth int) {
	r := newRig(b, Options{Dir: b.TempDir()})
	parts := make([]*benchPartition, benchPartitions)
	bySegment := map[env.SegmentID]*benchPartition{}
	for i := range parts {
		parts[i] = &benchPartition{segment: segmentID(byte(i), 0)}
		bySegment[parts[i].segment] = parts[i]
	}
	payload := make([]byte, batch)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	header := make([]byte, 24)
	var out env.Outbox
	b.SetBytes(int64(batch * dirty))
	b.ReportAllocs()
	b.ResetTimer()
	start, cpu := time.Now(), cpuTime(b)
	var ends []env.Seq
	var cut env.Seq
	turn := 0
	for n := range b.N {
		out.Reset()
		for range dirty {
			p := parts[turn%benchPartitions]
			turn++
			e := env.Entry{Seq: r.next, Log: p.segment.Log(), Sync: true, Header: header, Payload: payload}
			r.next++
			out.Journal = append(out.Journal, e)
			if len(p.tail) == 0 {
				p.first = e.Seq
			}
			p.tail, p.size = append(p.tail, payload), p.size+int64(batch)
			if p.size >= 1<<20 {
				out.Stores = append(out.Stores, env.Store{Segment: p.segment, At: p.at, Data: p.tail})
				p.at += p.size
				p.stored = append(p.stored, benchStore{p.at, p.first})
				p.tail, p.size = nil, 0
			}
		}
		if n%64 == 63 {
			least := r.next
			for _, p := range parts {
				for len(p.stored) > 0 && p.stored[0].end <= r.stored[p.segment].Synced {
					p.stored = p.stored[1:]
				}
				if len(p.stored) > 0 {
					least = min(least, p.stored[0].first)
				} else if len(p.tail) > 0 {
					least = min(least, p.first)
				}
			}
			if least > cut {
				cut = least
				out.Cuts = append(out.Cuts, cut)
			}
		}
		r.d.Act(&out)
		ends = append(ends, r.next-1)
		if len(ends) >= depth {
			end := ends[0]
			ends = ends[1:]
			r.until(func() bool { return r.synced >= end })
		}
	}
	r.until(func() bool { return r.synced >= r.next-1 })
	gb := float64(b.N) * float64(batch*dirty) / 1e9
	b.ReportMetric(gb*1000/time.Since(start).Seconds(), "syncedMB/s")
	b.ReportMetric((cpuTime(b)-cpu).Seconds()/gb, "CPUs/GB")
}

// cpuTime is what the process has used, the kernel's work for it included.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStart opens a directory whose journal has 256 MiB and takes all pieces.
func BenchmarkStart(b *testing.B) {
	r := newRig(b, Options{Dir: b.TempDir()})
	payload := make([]byte, 16<<10)
	const entries = 16 << 10
	for range entries / 256 {
		var out env.Outbox
		for range 256 {
			out.Journal = append(out.Journal, env.Entry{Seq: r.next, Log: logID(byte(r.next)), Header: payload[:24], Payload: payload})
			r.next++
		}
		r.d.Act(&out)
		r.until(func() bool { return r.written >= r.next-1 })
	}
	r.close()
	b.SetBytes(entries * int64(len(payload)))
	b.ResetTimer()
	for range b.N {
		d, err := Open(r.opts)
		if err != nil {
			b.Fatal(err)
		}
		for last := false; !last; {
			p, err := d.Survived()
			if err != nil {
				b.Fatal(err)
			}
			last = p.Last
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
	}
	r.d = nil
}
