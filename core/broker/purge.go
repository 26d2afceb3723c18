package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/replica"
)

// DeleteRecords (KIP-107): v2 is flexible. The log start rises at once; the
// answer waits until that survives a loss of power.

// purge is a parked DeleteRecords.
type purge struct {
	res     *kmsg.DeleteRecordsResponse
	seq     env.Seq // the answer waits until it is Synced
	waiting bool    // its ticket stands in b.synced
}

func (b *Broker) onDeleteRecords(r env.Request, req *kmsg.DeleteRecordsRequest, out *env.Outbox) {
	p := &purge{res: req.ResponseKind().(*kmsg.DeleteRecordsResponse)}
	for i := range req.Topics {
		topic := kmsg.NewDeleteRecordsResponseTopic()
		topic.Topic = req.Topics[i].Topic
		ref := b.topicOf(topic.Topic, [16]byte{}, false)
		for _, in := range req.Topics[i].Partitions {
			a := kmsg.NewDeleteRecordsResponseTopicPartition()
			a.Partition, a.LowWatermark = in.Partition, -1
			slot, ok := b.find(env.LogID{Topic: ref.id, Partition: in.Partition})
			switch {
			case ref.code != env.NoError:
				a.ErrorCode = ref.code
			case !ok:
				a.ErrorCode = env.UnknownTopicOrPartition
			default:
				a.ErrorCode = b.purgePart(p, slot, in.Offset, out)
				if a.ErrorCode == env.NoError {
					a.LowWatermark = b.parts[slot].rep.Log.Start()
				}
			}
			topic.Partitions = append(topic.Partitions, a)
		}
		res := &p.res.Topics
		*res = append(*res, topic)
	}
	t := b.park(pending{conn: r.Conn, n: r.N, deadline: b.deadline(req.TimeoutMillis), purge: p})
	b.touch(t)
}

// purgePart raises one log's start. Offset -1 means the watermark.
func (b *Broker) purgePart(p *purge, slot int32, offset int64, out *env.Outbox) int16 {
	rep := &b.parts[slot].rep
	if offset == -1 {
		offset = rep.HW()
	}
	switch {
	case !rep.Leading():
		return env.NotLeaderOrFollower
	case !b.parts[slot].set.Delete:
		return env.PolicyViolation
	case offset < 0 || !mayPurge(offset, rep.HW()):
		return env.OffsetOutOfRange
	case offset <= rep.Log.Start():
		// Retention has moved it there, perhaps by an entry that is not Synced.
		if b.journal.Synced() < rep.Log.SetStart(&b.journal, out, offset) {
			p.seq = b.journal.Next() - 1
		}
		return env.NoError
	}
	first := len(out.Journal)
	before := rep.Log.TailBytes()
	p.seq = rep.Log.SetStart(&b.journal, out, offset)
	b.tailsMoved(rep.Log.TailBytes() - before)
	b.noteEntries(slot, out, first)
	b.keeper.lookAgain()
	return env.NoError
}

// mayPurge: only what is committed may be deleted.
func mayPurge(offset, hw int64) bool { return offset <= hw }

func (b *Broker) purgeSettled(t replica.Ticket, q *pending, out *env.Outbox) {
	p := q.purge
	late := b.now.Mono >= q.deadline
	if _, live := b.conns[q.conn]; live && !late && b.journal.Synced() < p.seq {
		if !p.waiting { // seq is the newest entry: this is the Step that journaled it
			p.waiting = true
			b.synced.Push(p.seq, t)
		}
		b.alarm(t, q)
		return
	}
	if b.journal.Synced() < p.seq {
		for i := range p.res.Topics {
			for k := range p.res.Topics[i].Partitions {
				if a := &p.res.Topics[i].Partitions[k]; a.ErrorCode == env.NoError {
					a.ErrorCode, a.LowWatermark = env.RequestTimedOut, -1
				}
			}
		}
	}
	b.reply(out, q.conn, q.n, p.res)
	b.end(t)
}
