package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// Ten thousand consumers poll one partition; a produce wakes them all.
func BenchmarkAProduceWakesTenThousandPolls(b *testing.B) {
	const polls = 10_000
	h := newHot(b, 100)
	for c := range polls {
		h.s.b.Step(h.s.now, env.Opened{Conn: env.ConnID(c + 2)}, &h.out)
	}
	from, n := int64(0), uint64(0)
	for b.Loop() {
		b.StopTimer()
		n++
		for c := range polls {
			req := fetchRequest(12, 1000, "test")
			req.Topics[0].Partitions[0].FetchOffset = from
			h.s.b.Step(h.s.now, env.Request{Conn: env.ConnID(c + 2), N: n, Body: req, Size: 100}, &h.out)
		}
		h.out.Reset()
		r := h.request()
		h.n++
		h.seq++
		r.N = h.n
		h.s.b.Step(h.s.now, r, &h.out)
		b.StartTimer()
		h.s.b.Step(h.s.now, env.Journaled{Written: h.seq, Synced: h.seq}, &h.out)
		b.StopTimer()
		if len(h.out.Replies) != polls+1 {
			b.Fatal(len(h.out.Replies))
		}
		for _, r := range h.out.Replies {
			h.s.b.Step(h.s.now, env.Sent{Conn: r.Conn, N: r.N}, &env.Outbox{})
		}
		h.out.Reset()
		from++
		b.StartTimer()
	}
}

// Ten thousand connections, each with a long poll of 100 partitions that never
// ends, come to their end one after the other.
func BenchmarkTenThousandPollsOfAHundredPartitionsEnd(b *testing.B) {
	const polls = 1000
	for b.Loop() {
		b.StopTimer()
		h := newHot(b, 100)
		grow := createRequest(7, "wide")
		grow.Topics[0].NumPartitions = 100
		h.n++
		h.seq++
		h.s.b.Step(h.s.now, env.Request{Conn: 1, N: h.n, Body: grow, Size: 100}, &h.out)
		h.s.b.Step(h.s.now, env.Journaled{Written: h.seq, Synced: h.seq}, &h.out)
		for c := range polls {
			h.s.b.Step(h.s.now, env.Opened{Conn: env.ConnID(c + 2)}, &h.out)
			req := fetchRequest(12, 1000, "wide")
			req.Topics[0].Partitions = nil
			for p := range int32(100) {
				part := kmsg.NewFetchRequestTopicPartition()
				part.Partition, part.PartitionMaxBytes = p, 1<<20
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, part)
			}
			h.s.b.Step(h.s.now, env.Request{Conn: env.ConnID(c + 2), N: 1, Body: req, Size: 100}, &h.out)
		}
		b.StartTimer()
		for c := polls - 1; c >= 0; c-- {
			h.s.b.Step(h.s.now, env.Hangup{Conn: env.ConnID(c + 2)}, &h.out)
		}
	}
}

// Ten thousand partitions have a small tail each, and the tails budget presses.
func BenchmarkTenThousandSmallTailsAreStored(b *testing.B) {
	const partitions = 10_000
	for b.Loop() {
		b.StopTimer()
		r := newRig(b, func(l *env.Limits) { l.Tails = 16 << 20 })
		create := createRequest(7, "wide")
		create.Topics[0].NumPartitions = partitions
		var out env.Outbox
		quick := func(ev env.Event) {
			r.b.Step(r.now, ev, &out)
		}
		quick(env.Request{Conn: 1, N: 1, Body: create, Size: 100})
		seq := out.Journal[len(out.Journal)-1].Seq
		quick(env.Journaled{Written: seq, Synced: seq})
		b.StartTimer()
		for p := range int32(partitions) {
			req := kmsg.NewPtrProduceRequest()
			req.Version, req.Acks, req.TimeoutMillis = 9, -1, 1000
			t, q := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
			t.Topic, q.Partition = "wide", p
			q.Records = record.Build(record.NoProducer(), []record.Record{{Value: make([]byte, 1000)}})
			t.Partitions = append(t.Partitions, q)
			req.Topics = append(req.Topics, t)
			quick(env.Request{Conn: 1, N: uint64(p) + 2, Body: req, Size: len(q.Records), Batches: []env.BatchInfo{{Count: 1}}})
		}
		stored := 0
		for {
			if n := len(out.Journal); n > 0 {
				seq = out.Journal[n-1].Seq
			}
			stores := out.Stores
			out = env.Outbox{}
			if seq > r.b.journal.Synced() {
				quick(env.Journaled{Written: seq, Synced: seq})
			} else if len(stores) == 0 {
				break
			}
			for _, s := range stores {
				end := s.At
				for _, d := range s.Data {
					end += int64(len(d))
				}
				quick(env.Stored{Segment: s.Segment, Written: end, Synced: end})
				stored++
			}
		}
		b.ReportMetric(float64(stored), "stores")
	}
}

// The disk hangs and five thousand produces wait at the door; then it goes on.
func BenchmarkFiveThousandProducesWaitAtTheDoor(b *testing.B) {
	const produces = 5000
	for b.Loop() {
		h := newHot(b, 1000)
		h.s.b.lim.Unwritten = 2000
		var last uint64
		for c := range produces {
			h.s.b.Step(h.s.now, env.Opened{Conn: env.ConnID(c + 2)}, &h.out)
			r := h.request()
			r.Conn, r.N = env.ConnID(c+2), 1
			h.s.b.Step(h.s.now, r, &h.out)
			h.s.b.WakeAt()
		}
		for len(h.s.b.lobby.queue) > 0 {
			last = uint64(h.s.b.journal.Next() - 1)
			h.s.b.Step(h.s.now, env.Journaled{Written: env.Seq(last), Synced: env.Seq(last)}, &h.out)
			h.out.Reset()
		}
	}
}
