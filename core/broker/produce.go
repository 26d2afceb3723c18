package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/replica"
)

// Produce: v3 brought record batches of format v2 and transactional ids, v5 the
// log start offset in the answer, v8 error messages and the records at fault,
// v9 is flexible, v10 the current leader (KIP-951), v13 topics by id.
//
//	onProduce        acks, room, each partition: topic, leader, batch, sequence
//	  appendPart     base offset and epoch in place; journal; a waiter
//	onJournaled      the durable end rises, the watermark rises, waiters wake
//	produceSettled   when no part is missing, or at the deadline: the answer

// produce is a parked Produce request.
type produce struct {
	acks    int16
	held    int64 // its frame's bytes, counted at the connection until the reply
	res     *kmsg.ProduceResponse
	parts   []producePart
	missing int // parts that have no answer yet
}

// producePart is one partition of a Produce.
type producePart struct {
	id           env.LogID
	topic, index int // where its answer is in res
	end          int64
	appended     bool // end is known and waited for
	done         bool // it has its answer
}

// batchIn is a verified batch on its way into a log.
type batchIn struct {
	data record.Batch
	info env.BatchInfo
}

func (b *Broker) onProduce(r env.Request, req *kmsg.ProduceRequest, out *env.Outbox) {
	if !b.waitAtDoor(r, req) {
		b.produce(r, req, b.deadline(req.TimeoutMillis), out)
	}
}

// deadline is the Mono time in so many milliseconds; at most an hour, at least now.
func (b *Broker) deadline(millis int32) env.Time {
	return b.now.Mono + min(max(env.Time(millis), 0)*env.Millisecond, env.Hour)
}

// produce appends what can be appended and parks the rest.
func (b *Broker) produce(r env.Request, req *kmsg.ProduceRequest, deadline env.Time, out *env.Outbox) {
	p := newProduce(req, r.Size)
	b.hold(r.Conn, p.held)
	t := b.park(pending{conn: r.Conn, n: r.N, deadline: deadline, produce: p})
	refused := b.refuseProduce(req)
	batch := 0
	for i := range req.Topics {
		topic := &req.Topics[i]
		for k := range topic.Partitions {
			part := &p.parts[batch]
			if refused != env.NoError {
				p.refuse(part, refused, "")
			} else {
				b.producePart(t, p, batch, b.topicOf(topic.Topic, topic.TopicID, req.Version >= 13), topic.Partitions[k].Partition,
					batchIn{topic.Partitions[k].Records, r.Batches[batch]}, r.Size, out)
			}
			batch++
		}
	}
	b.touch(t)
}

// newProduce lays out the answer to a request, one part for each partition in order.
func newProduce(req *kmsg.ProduceRequest, size int) *produce {
	p := &produce{acks: req.Acks, held: int64(size), res: req.ResponseKind().(*kmsg.ProduceResponse)}
	for i := range req.Topics {
		res := kmsg.NewProduceResponseTopic()
		res.Topic, res.TopicID = req.Topics[i].Topic, req.Topics[i].TopicID
		for k := range req.Topics[i].Partitions {
			answer := kmsg.NewProduceResponseTopicPartition()
			answer.Partition = req.Topics[i].Partitions[k].Partition
			answer.BaseOffset, answer.LogAppendTime, answer.LogStartOffset = -1, -1, -1
			res.Partitions = append(res.Partitions, answer)
			p.parts = append(p.parts, producePart{topic: i, index: k})
		}
		p.res.Topics = append(p.res.Topics, res)
	}
	p.missing = len(p.parts)
	return p
}

// refuseProduce finds what is wrong with the request as a whole.
func (b *Broker) refuseProduce(req *kmsg.ProduceRequest) int16 {
	switch {
	case req.Acks < -1 || req.Acks > 1:
		return env.InvalidRequiredAcks
	case req.TransactionID != nil:
		return env.InvalidRequest
	case b.lowSpace():
		return env.KafkaStorageError
	}
	return env.NoError
}

// producePart checks one partition's batch and appends it, or stalls it behind a job.
func (b *Broker) producePart(t replica.Ticket, p *produce, n int, topic topicRef, partition int32, batch batchIn, frame int, out *env.Outbox) {
	part := &p.parts[n]
	if topic.code != env.NoError {
		p.refuse(part, topic.code, "")
		return
	}
	part.id = env.LogID{Topic: topic.id, Partition: partition}
	slot, ok := b.find(part.id)
	if !ok {
		p.refuse(part, env.UnknownTopicOrPartition, "")
		return
	}
	if code, why := b.refuseBatch(&b.parts[slot], p.acks, batch); code != env.NoError {
		b.refusePart(p, part, slot, code, why)
		return
	}
	// One small batch kept in memory must not pin the large frame that it came in.
	if len(batch.data)*4 < frame {
		batch.data = append(record.Batch(nil), batch.data...)
	}
	if b.stall(t, n, slot, batch, out) {
		return
	}
	b.appendPart(t, p, n, slot, batch, out)
}

// refuseBatch is why a partition does not take a batch; NoError: it does.
func (b *Broker) refuseBatch(part *partition, acks int16, batch batchIn) (int16, string) {
	set := &part.set
	switch {
	case batch.info.Fault != env.NoError:
		return batch.info.Fault, batch.info.Why
	case !part.rep.Leading():
		return env.NotLeaderOrFollower, ""
	case part.rep.Log.RefusesAppends() != env.NoError:
		return part.rep.Log.RefusesAppends(), "this partition's log is damaged; see orrery disk inspect"
	case int64(len(batch.data)) > set.MaxMessageBytes:
		return env.MessageTooLarge, ""
	case acks == -1 && !enoughInSync(1, set.MinInsyncReplicas, part.replicas):
		return env.NotEnoughReplicas, ""
	case batch.info.Transaction:
		return env.TransactionalIDAuthorizationFailed, "a transactional batch in a request without a transactional id"
	case set.Compact && batch.info.Keyless:
		return env.InvalidRecord, "a compacted topic takes only records with a key"
	case !set.LogAppendTime && (set.refusesTime(batch.info.MaxTime, b.now.WallMillis()) || set.refusesTime(batch.info.MinTime, b.now.WallMillis())):
		return env.InvalidTimestamp, "timestamp out of the range that message.timestamp.before.max.ms and message.timestamp.after.max.ms allow"
	}
	return env.NoError, ""
}

// enoughInSync: acks=all needs min.insync.replicas, or all when there are fewer (KIP-966).
func enoughInSync(isr, least, replicas int32) bool { return isr >= min(least, replicas) }

// appendPart appends a batch, or recognises it as a repetition, and waits for its end.
func (b *Broker) appendPart(t replica.Ticket, p *produce, n int, slot int32, batch batchIn, out *env.Outbox) {
	part, at := &p.parts[n], &b.parts[slot]
	v := at.rep.Log.Check(batch.data, b.now.WallMillis())
	if v.Code != env.NoError {
		b.refusePart(p, part, slot, v.Code, "")
		return
	}
	answer := &p.res.Topics[part.topic].Partitions[part.index]
	stamp := b.now.WallMillis()
	if v.Duplicate {
		answer.BaseOffset, part.end, stamp = v.Base, v.End, v.Time
	} else {
		if at.set.LogAppendTime {
			batch.data.Stamp(stamp)
			batch.info.FirstTime, batch.info.MaxTime, batch.info.MaxTimeAt = stamp, stamp, 0
		} else if batch.data.LogAppendTime() {
			batch.data.ClearStamp()
		}
		answer.BaseOffset, part.end = b.append(slot, batch, out)
	}
	if at.set.LogAppendTime {
		answer.LogAppendTime = stamp
	}
	answer.LogStartOffset = at.rep.Log.Start()
	part.appended = true
	switch p.acks {
	case -1:
		at.rep.WaitCommitted(part.end, t)
	case 1:
		at.rep.WaitWritten(part.end, t)
	}
}

// refuse answers one part with an error.
func (p *produce) refuse(part *producePart, code int16, why string) {
	answer := &p.res.Topics[part.topic].Partitions[part.index]
	answer.ErrorCode = code
	answer.BaseOffset, answer.LogAppendTime, answer.LogStartOffset = -1, -1, -1
	if why != "" {
		answer.ErrorMessage = kmsg.StringPtr(why)
	}
	part.done = true
	p.missing--
}

// refusePart answers one part with an error of its log, which tells where it starts.
func (b *Broker) refusePart(p *produce, part *producePart, slot int32, code int16, why string) {
	p.refuse(part, code, why)
	if code != env.CorruptMessage && code != env.NotLeaderOrFollower {
		p.res.Topics[part.topic].Partitions[part.index].LogStartOffset = b.parts[slot].rep.Log.Start()
	}
}

// produceSettled answers when every part has its answer or the time is up.
func (b *Broker) produceSettled(t replica.Ticket, q *pending, out *env.Outbox) {
	p := q.produce
	late := b.now.Mono >= q.deadline
	for i := range p.parts {
		part := &p.parts[i]
		if part.done {
			continue
		}
		slot, here := b.find(part.id)
		switch {
		case !here:
			p.refuse(part, env.UnknownTopicOrPartition, "")
		case part.appended && produceAcked(p.acks, &b.parts[slot].rep, part.end):
			part.done = true
			p.missing--
		case late && p.acks != 0:
			p.refuse(part, env.RequestTimedOut, "")
		}
	}
	_, live := b.conns[q.conn]
	if p.missing > 0 && live {
		b.alarm(t, q)
		return
	}
	b.release(q.conn, p.held)
	switch {
	case p.acks != 0:
		b.reply(out, q.conn, q.n, p.res)
	case p.failed():
		b.silence(out, q.conn, q.n, env.Close) // the only way to tell a client that waits for nothing
	default:
		b.silence(out, q.conn, q.n, env.Silent)
	}
	b.end(t)
}

// produceAcked tells whether a part may be acknowledged.
func produceAcked(acks int16, r *replica.Replica, end int64) bool {
	switch acks {
	case -1:
		return r.Committed(end)
	case 1:
		return r.WrittenTo(end)
	default:
		return true
	}
}

func (p *produce) failed() bool {
	for i := range p.parts {
		if p.res.Topics[p.parts[i].topic].Partitions[p.parts[i].index].ErrorCode != env.NoError {
			return true
		}
	}
	return false
}
