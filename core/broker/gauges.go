package broker

import "github.com/orrery-log/orrery/core/env"

// gaugesEvery is the least time between two tellings of the gauges. Nobody is
// woken for them: a broker that does nothing has nothing new to tell.
const gaugesEvery = env.Second

// gauges tells how full the budgets are. The names end in /metrics.
func (b *Broker) gauges(out *env.Outbox) {
	if b.now.Mono < b.told {
		return
	}
	b.told = b.now.Mono + gaugesEvery
	for _, g := range [...]struct {
		name  string
		value int64
	}{
		{"journal.bytes", b.journal.Behind()},
		{"journal.unwritten.bytes", b.journal.Unwritten()},
		{"tails.bytes", b.tails},
		{"reads.bytes", b.reading},
		{"replies.bytes", b.unsent},
		{"partitions", int64(len(b.slots))},
		{"requests.parked", int64(b.pending.count)},
		{"requests.waiting", int64(len(b.lobby.queue))},
	} {
		out.Notes = append(out.Notes, env.Note{Kind: env.Gauge, Name: g.name, Value: g.value})
	}
}
