package broker

import (
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/replica"
)

// stalledAppend is an append that waits for its batch to be recompressed, or
// behind one that does: the order of arrival at a partition is the order of its
// offsets.
type stalledAppend struct {
	ticket replica.Ticket
	part   int
	job    env.JobID // 0: its batch is ready
	batch  batchIn
}

// job is a computation under way.
type job struct {
	slot int32          // of the partition whose append waits, or
	list replica.Ticket // the ListOffsets that waits
	part int
	held int64 // bytes read that it looks into, counted as being read
}

// stall queues an append that can not be made now. False: it can.
func (b *Broker) stall(t replica.Ticket, part int, slot int32, batch batchIn, out *env.Outbox) bool {
	p := &b.parts[slot]
	change := p.set.recompresses(batch.data.Codec())
	if !change && len(p.queue) == 0 {
		return false
	}
	s := stalledAppend{ticket: t, part: part, batch: batch}
	if change {
		s.job = b.startJob(out, env.Recompress, batch.data, [2]int64{int64(p.set.Codec), int64(p.set.Level)}, job{slot: slot})
	}
	p.queue = append(p.queue, s)
	b.stalled += int64(len(s.batch.data))
	return true
}

func (b *Broker) startJob(out *env.Outbox, kind env.JobKind, data []byte, args [2]int64, j job) env.JobID {
	b.lastID++
	id := env.JobID(b.lastID)
	b.jobs[id] = &j
	out.Jobs = append(out.Jobs, env.Job{Job: id, Kind: kind, Data: data, Args: args})
	return id
}

func (b *Broker) onDone(e env.Done, out *env.Outbox) {
	j := b.jobs[e.Job]
	if j == nil {
		panic("broker: a job that nobody started is done")
	}
	delete(b.jobs, e.Job)
	if j.list != 0 {
		b.reading -= j.held
		b.feed()
		b.listFound(j.list, j.part, e.Data)
		return
	}
	p := &b.parts[j.slot]
	for i := range p.queue {
		if s := &p.queue[i]; s.job == e.Job {
			b.stalled -= int64(len(s.batch.data))
			s.recompressed(e.Data)
			b.stalled += int64(len(s.batch.data))
			break
		}
	}
	b.unstall(j.slot, out)
}

// recompressed takes the job's result in place of what the client sent.
func (s *stalledAppend) recompressed(data []byte) {
	s.job = 0
	if data == nil {
		s.batch.info.Fault, s.batch.info.Why = env.CorruptMessage, "the batch could not be recompressed"
		return
	}
	s.batch.data = data
	s.batch.info.Codec = s.batch.data.Codec()
}

// dropStalled forgets the appends of a partition that goes away.
func (b *Broker) dropStalled(p *partition) {
	for i := range p.queue {
		b.stalled -= int64(len(p.queue[i].batch.data))
		b.touch(p.queue[i].ticket)
	}
	p.queue = nil
}

// unstall makes the appends at the head of a partition's queue that are ready.
func (b *Broker) unstall(slot int32, out *env.Outbox) {
	for len(b.parts[slot].queue) > 0 && b.parts[slot].queue[0].job == 0 {
		p := &b.parts[slot]
		s := p.queue[0]
		p.queue = p.queue[1:]
		if len(p.queue) == 0 {
			p.queue = nil
		}
		b.stalled -= int64(len(s.batch.data))
		q := b.pending.get(s.ticket)
		if q == nil || q.produce == nil {
			continue // its client is gone or was told that time ran out
		}
		if code, why := b.refuseBatch(p, q.produce.acks, s.batch); code != env.NoError {
			b.refusePart(q.produce, &q.produce.parts[s.part], slot, code, why)
		} else {
			b.appendPart(s.ticket, q.produce, s.part, slot, s.batch, out)
		}
		b.touch(s.ticket)
	}
}
