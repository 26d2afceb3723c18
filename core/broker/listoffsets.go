package broker

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/replica"
)

// ListOffsets: v2 brought isolation levels, v4 leader epochs, v6 is flexible, v7
// the largest timestamp (KIP-734), v8 the earliest local offset (KIP-405), v9 the
// latest tiered one (KIP-1005), v10 a time-out for remote storage, v11 the
// earliest offset that is not uploaded yet (KIP-1023).

// The timestamps that mean a place.
const (
	latest          = -1
	earliest        = -2
	maxTimestamp    = -3
	earliestLocal   = -4
	latestTiered    = -5
	earliestPending = -6
)

// list is a parked ListOffsets. Its partitions are searched one after the other,
// so that a request holds one read or job at a time, however many it names.
type list struct {
	res   *kmsg.ListOffsetsResponse
	parts []listPart
	next  int  // the partition that is searched, or will be when there is room
	busy  bool // its read or job is under way
}

// listPart is a partition that is asked for a time.
type listPart struct {
	id           env.LogID
	topic, index int
	query        log.TimeQuery
	batchEnd     int64 // of the batch that a job looks into
}

func (b *Broker) onListOffsets(r env.Request, req *kmsg.ListOffsetsRequest, out *env.Outbox) {
	l := &list{res: req.ResponseKind().(*kmsg.ListOffsetsResponse)}
	t := b.park(pending{conn: r.Conn, n: r.N, deadline: b.now.Mono + env.Minute, list: l})
	named := timesNamed(req)
	answered := map[listed]bool{} // never ranged over
	for i := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = req.Topics[i].Topic
		l.res.Topics = append(l.res.Topics, topic)
		ref := b.topicOf(topic.Topic, [16]byte{}, false)
		for _, in := range req.Topics[i].Partitions {
			name := listed{topic.Topic, in.Partition}
			if named[name] > 1 && answered[name] {
				continue
			}
			answered[name] = true
			a := kmsg.NewListOffsetsResponseTopicPartition()
			a.Partition, a.Offset, a.Timestamp, a.LeaderEpoch = in.Partition, -1, -1, -1
			id := env.LogID{Topic: ref.id, Partition: in.Partition}
			slot, ok := b.find(id)
			switch {
			case named[name] > 1:
				a.ErrorCode = env.InvalidRequest
			case ref.code != env.NoError:
				a.ErrorCode = ref.code
			case !ok:
				a.ErrorCode = env.UnknownTopicOrPartition
			default:
				known := in.CurrentLeaderEpoch
				if req.Version < 4 {
					known = -1
				}
				if a.ErrorCode = checkEpoch(&b.parts[slot].rep, known); a.ErrorCode == env.NoError && in.Timestamp < 0 {
					b.listPlace(slot, req.Version, in.Timestamp, &a)
				}
			}
			l.res.Topics[i].Partitions = append(l.res.Topics[i].Partitions, a)
			if a.ErrorCode == env.NoError && in.Timestamp >= 0 {
				q := log.TimeQuery{Time: in.Timestamp, Limit: b.parts[slot].rep.ReadLimit()}
				l.parts = append(l.parts, listPart{id: id, topic: i, index: len(l.res.Topics[i].Partitions) - 1, query: q})
			}
		}
	}
	b.touch(t)
}

// timesNamed counts how often a request names each partition.
func timesNamed(req *kmsg.ListOffsetsRequest) map[listed]int {
	count := map[listed]int{} // never ranged over
	for i := range req.Topics {
		for k := range req.Topics[i].Partitions {
			count[listed{req.Topics[i].Topic, req.Topics[i].Partitions[k].Partition}]++
		}
	}
	return count
}

// listed is a partition as a request names it.
type listed struct {
	topic     string
	partition int32
}

// listPlace answers one of the timestamps that mean a place.
func (b *Broker) listPlace(slot int32, version int16, place int64, a *kmsg.ListOffsetsResponseTopicPartition) {
	rep := &b.parts[slot].rep
	switch {
	case place == latest:
		a.Offset, a.LeaderEpoch = rep.HW(), rep.Epoch()
	case place == earliest, place == earliestLocal && version >= 8:
		if a.Offset = rep.Log.Start(); a.Offset < rep.Log.End() {
			a.LeaderEpoch = rep.Log.EpochAt(a.Offset)
		} else {
			a.LeaderEpoch = rep.Epoch()
		}
	case place == maxTimestamp && version >= 7:
		if a.Timestamp, a.Offset = rep.Log.MaxTime(rep.ReadLimit()); a.Offset >= 0 {
			a.LeaderEpoch = rep.Log.EpochAt(a.Offset)
		}
	case place == latestTiered && version >= 9, place == earliestPending && version >= 11:
		// nothing is tiered: offset -1
	default:
		a.ErrorCode = env.UnsupportedVersion
	}
}

// search takes the next step of finding a time, until it has to wait.
func (b *Broker) search(t replica.Ticket, n int, out *env.Outbox) {
	q := b.pending.get(t)
	part := &q.list.parts[n]
	slot, ok := b.find(part.id)
	if !ok {
		b.found(q.list, n, -1, -1, env.UnknownTopicOrPartition)
		return
	}
	b.searched(t, n, slot, b.parts[slot].rep.Log.FindTime(&b.index, &part.query), out)
}

// searched takes what a log says to a search.
func (b *Broker) searched(t replica.Ticket, n int, slot int32, plan log.Plan, out *env.Outbox) {
	q := b.pending.get(t)
	query := &q.list.parts[n].query
	switch plan.State {
	case log.Load:
		q.list.busy = true
		b.startRead(read{slot: slot, ticket: t, part: n, conn: q.conn, plan: plan}, out)
	case log.Ready:
		q.list.busy = true
		q.list.parts[n].batchEnd = record.Batch(plan.Data).End()
		held := int64(cap(plan.Data)) // what it was read with stays until the job is done
		b.reading += held
		b.startJob(out, env.FindTime, plan.Data, [2]int64{query.Time, query.From}, job{list: t, part: n, held: held})
	case log.Empty:
		b.found(q.list, n, -1, -1, env.NoError)
	case log.Damaged:
		b.noteDamage(slot, query.From, out)
		b.found(q.list, n, -1, -1, env.KafkaStorageError)
	default:
		panic(fmt.Sprintf("broker: a search is %v", plan.State))
	}
}

// listLoaded goes on with a search whose bytes have come.
func (b *Broker) listLoaded(r *read, data []byte, damaged bool, out *env.Outbox) {
	q := b.pending.get(r.ticket)
	part := &q.list.parts[r.part]
	q.list.busy = false
	if p := &b.parts[r.slot]; !p.live || p.id != part.id {
		b.found(q.list, r.part, -1, -1, env.UnknownTopicOrPartition)
	} else {
		b.searched(r.ticket, r.part, r.slot, p.rep.Log.LoadedTime(&b.index, &part.query, r.plan, data, damaged), out)
	}
	b.touch(r.ticket)
}

// listFound takes a job's result: the record's offset and timestamp.
func (b *Broker) listFound(t replica.Ticket, n int, data []byte) {
	q := b.pending.get(t)
	if q == nil {
		return
	}
	q.list.busy = false
	if len(data) == 16 {
		b.found(q.list, n, int64(binary.BigEndian.Uint64(data)), int64(binary.BigEndian.Uint64(data[8:])), env.NoError)
	} else {
		// The batch's largest timestamp promised a record that is before the start.
		part := &q.list.parts[n]
		part.query.From = part.batchEnd
	}
	b.touch(t)
}

// found ends one part.
func (b *Broker) found(l *list, n int, offset, ms int64, code int16) {
	part := &l.parts[n]
	a := &l.res.Topics[part.topic].Partitions[part.index]
	a.ErrorCode, a.Offset, a.Timestamp = code, offset, ms
	if slot, ok := b.find(part.id); ok && offset >= 0 {
		a.LeaderEpoch = b.parts[slot].rep.Log.EpochAt(offset)
	}
	l.next++
}

func (b *Broker) listSettled(t replica.Ticket, q *pending, out *env.Outbox) {
	l := q.list
	for b.conns[q.conn] != nil && l.next < len(l.parts) {
		if l.busy {
			return // reads and jobs always come back
		}
		if b.reading > 0 && b.reading >= b.lim.Reads {
			b.starve(t, q)
			return
		}
		b.search(t, l.next, out)
	}
	b.reply(out, q.conn, q.n, q.list.res)
	b.end(t)
}
