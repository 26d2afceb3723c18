package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// hot is a broker that serves one topic to one connection.
type hot struct {
	s     *script
	out   env.Outbox
	n     uint64
	seq   env.Seq
	batch record.Batch
}

func newHot(t testing.TB, size int) *hot {
	h := &hot{s: newScript(&testing.T{})}
	h.s.b.lim.StoreBytes = 1 << 40 // storing is measured elsewhere
	h.s.b.lim.Tails, h.s.b.lim.Journal = 1<<40, 1<<40
	for _, ev := range []env.Event{
		env.Survived{Last: true}, env.Journaled{Written: 1, Synced: 1}, env.Opened{Conn: 1},
		h.s.request([]string{"1", "create", "test"}), env.Journaled{Written: 2, Synced: 2},
	} {
		h.s.b.Step(h.s.now, ev, &h.out)
		h.out.Reset()
	}
	h.n, h.seq = 1, 2
	h.batch = record.Build(record.NoProducer(), []record.Record{{Value: make([]byte, size)}})
	require.Equal(t, serving, h.s.b.phase)
	return h
}

// request is a fresh Produce, as the door would make it.
func (h *hot) request() env.Request {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 11, -1, 1000
	topic, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic = "test"
	p.Records = append([]byte(nil), h.batch...)
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return env.Request{Conn: 1, Body: req, Size: len(p.Records) + 60, Batches: []env.BatchInfo{{Count: 1}}}
}

// produce takes a request through append, sync and answer.
func (h *hot) produce(r env.Request) {
	h.n++
	h.seq++
	r.N = h.n
	h.s.b.Step(h.s.now, r, &h.out)
	h.s.b.Step(h.s.now, env.Journaled{Written: h.seq, Synced: h.seq}, &h.out)
	if len(h.out.Replies) != 1 {
		panic("broker: a produce without its reply")
	}
	h.out.Reset()
}

// The response and what is parked cost allocations; the journal, the log and the
// waiting must not.
func TestProduceKeepsItsAllocationBudget(t *testing.T) {
	h := newHot(t, 1000)
	requests := make([]env.Request, 400)
	for i := range requests {
		requests[i] = h.request()
	}
	i := 0
	n := testing.AllocsPerRun(300, func() { h.produce(requests[i]); i++ })
	require.LessOrEqual(t, n, 8.0)
}

func BenchmarkStepProduce16KiB(b *testing.B) {
	h := newHot(b, 16<<10)
	b.SetBytes(16 << 10)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r := h.request()
		if h.seq%1000 == 0 { // a log that only grows would measure the garbage collector
			h = newHot(b, 16<<10)
		}
		b.StartTimer()
		h.produce(r)
	}
}
