package broker

import (
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/replica"
)

// read is a read of a segment that is under way, and whom it is for.
type read struct {
	slot   int32
	conn   env.ConnID
	ticket replica.Ticket // of a Fetch or ListOffsets; 0: the metadata log is loaded
	part   int
	plan   log.Plan
}

// startRead asks the disk for what a plan says.
func (b *Broker) startRead(r read, out *env.Outbox) {
	b.lastID++
	id := env.ReadID(b.lastID)
	b.reads[id] = &r
	b.parts[r.slot].rep.Log.Began(r.plan)
	b.reading += int64(r.plan.MaxBytes)
	if c := b.conns[r.conn]; c != nil {
		c.owed += int64(r.plan.MaxBytes)
	}
	out.Reads = append(out.Reads, env.Read{Read: id, Segment: r.plan.Segment, At: r.plan.At, MaxBytes: r.plan.MaxBytes})
}

func (b *Broker) onLoaded(e env.Loaded, out *env.Outbox) {
	r := b.reads[e.Read]
	if r == nil {
		panic("broker: bytes that nobody asked for")
	}
	delete(b.reads, e.Read)
	b.reading -= int64(r.plan.MaxBytes)
	if c := b.conns[r.conn]; c != nil {
		c.owed -= int64(r.plan.MaxBytes)
	}
	b.parts[r.slot].rep.Log.Ended(r.plan)
	if r.ticket == 0 {
		b.metaLoaded(r, e.Data, e.Damaged, out)
	} else if q := b.pending.get(r.ticket); q != nil {
		if q.fetch != nil {
			b.fetchLoaded(r, e.Data, e.Damaged, out)
		} else {
			b.listLoaded(r, e.Data, e.Damaged, out)
		}
	}
	b.pump(r.slot, out)
	b.feed()
}
