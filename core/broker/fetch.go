package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/replica"
)

// Fetch: v4 brought isolation levels, v5 the log start offset, v7 sessions
// (KIP-227), v9 leader epochs (KIP-320), v11 the rack, v12 is flexible and has
// the last fetched epoch, v13 names topics by id, v15 the replica state, v16
// node endpoints (KIP-951), v17 the directory id, v18 the replica's watermark.
//
//	onFetch        the session: which partitions, from where
//	fetchSettled   not enough yet: wait at every partition, or until the deadline
//	  gather       read from memory, or ask the disk
//	onLoaded       verify, clip to the log as it is now
//	  answerFetch  when nothing is on its way

// fetch is a parked Fetch request.
type fetch struct {
	version  int16
	minBytes int64
	maxBytes int64
	session  int32 // 0: none
	turn     int   // the session's, when this request came
	replica  int32 // the broker that asks; negative: a consumer
	stable   bool  // read_committed
	full     bool  // the answer names every partition, changed or not
	parts    []fetchPart
	ripe     bool // there was enough to read, or no time left
	gathered bool // reading has begun; nothing but its reads is waited for
	loading  int  // reads that are under way
}

// fetchPart is one partition of a Fetch.
type fetchPart struct {
	id        env.LogID
	topic     string
	from      int64
	max       int32
	epoch     int32 // what the client thinks the leader epoch is; -1: unknown
	lastEpoch int32 // the epoch of the last record it has; -1: unknown
	code      int16
	diverging *kmsg.FetchResponseTopicPartitionDivergingEpoch
	data      []byte
	at        int // its place in the session
	minOne    bool
	polls     bool  // its ticket stands at the partition
	limit     int32 // bytes that this part may bring, in this answer
}

func (b *Broker) onFetch(r env.Request, req *kmsg.FetchRequest, out *env.Outbox) {
	f := &fetch{version: req.Version, minBytes: int64(max(req.MinBytes, 0)), maxBytes: int64(max(req.MaxBytes, 0)), full: true}
	if req.MaxBytes < 0 {
		f.maxBytes = int64(b.lim.FetchMax)
	}
	if f.replica, f.stable = req.ReplicaID, req.IsolationLevel == 1; req.Version >= 15 {
		f.replica = req.ReplicaState.ID
	}
	if code := b.openSession(req, f); code != env.NoError {
		res := req.ResponseKind().(*kmsg.FetchResponse)
		res.ErrorCode = code
		b.reply(out, r.Conn, r.N, res)
		return
	}
	t := b.park(pending{conn: r.Conn, n: r.N, deadline: b.deadline(req.MaxWaitMillis), fetch: f})
	for i := range f.parts {
		b.checkFetch(f, &f.parts[i])
	}
	b.touch(t)
}

// checkFetch finds what forbids reading a partition.
func (b *Broker) checkFetch(f *fetch, part *fetchPart) {
	if part.code != env.NoError {
		return
	}
	slot, ok := b.find(part.id)
	if !ok {
		part.code = env.UnknownTopicOrPartition
		return
	}
	r := &b.parts[slot].rep
	if f.replica >= 0 {
		part.code = env.NotLeaderOrFollower // it is no replica of this partition
		return
	}
	part.code = checkEpoch(r, part.epoch)
	if part.code != env.NoError || part.lastEpoch < 0 {
		return
	}
	// KIP-595: a reader whose last record is of an epoch that ended before its
	// position has read something that is not in this log.
	epoch, end := r.Log.EpochEnd(part.lastEpoch)
	if part.lastEpoch == r.Epoch() {
		epoch, end = r.Epoch(), r.Log.End() // it may have no record yet
	}
	if epoch < 0 || part.lastEpoch > r.Epoch() {
		part.code = env.OffsetOutOfRange // an epoch that this log can say nothing of
	} else if epoch != part.lastEpoch || end < part.from {
		d := kmsg.NewFetchResponseTopicPartitionDivergingEpoch()
		d.Epoch, d.EndOffset = epoch, end
		part.diverging = &d
	}
}

// checkEpoch compares the leader epoch that a client knows with ours (KIP-320).
func checkEpoch(r *replica.Replica, known int32) int16 {
	switch {
	case !r.Leading():
		return env.NotLeaderOrFollower
	case known >= 0 && known < r.Epoch():
		return env.FencedLeaderEpoch
	case known > r.Epoch():
		return env.UnknownLeaderEpoch
	}
	return env.NoError
}

// fetchSettled reads when there is enough, and answers when all is read.
func (b *Broker) fetchSettled(t replica.Ticket, q *pending, out *env.Outbox) {
	f := q.fetch
	if b.conns[q.conn] == nil {
		b.endFetch(t, q)
		return
	}
	if !f.gathered {
		late := b.now.Mono >= q.deadline
		if f.ripe = f.ripe || late || b.enough(f); !f.ripe {
			b.poll(t, f)
			b.alarm(t, q)
			return
		}
		room := b.replyRoom(q.conn)
		if room <= 0 && !late {
			b.starve(t, q)
			b.alarm(t, q)
			return
		}
		b.gather(t, q, room, out)
	}
	if f.loading == 0 {
		b.answerFetch(q, out)
		b.endFetch(t, q)
	}
}

// enough tells whether a fetch need not wait: KIP-74's minimum is there, a
// partition has an error, or one has filled its own maximum.
func (b *Broker) enough(f *fetch) bool {
	if f.minBytes == 0 || len(f.parts) == 0 {
		return true
	}
	sum := int64(0)
	for i := range f.parts {
		part := &f.parts[i]
		slot, ok := b.find(part.id)
		if part.code != env.NoError || part.diverging != nil || !ok {
			return true
		}
		r := &b.parts[slot].rep
		if part.from < r.Log.Start() || part.from > r.Log.End() {
			return true
		}
		need := max(1, min(int64(part.max), f.minBytes-sum)) // a maximum of 0 brings one batch, too
		got := r.Log.Available(part.from, r.ReadLimit(), need)
		if got > 0 && got >= int64(part.max) {
			return true
		}
		if sum += got; sum >= f.minBytes {
			return true
		}
	}
	return false
}

// poll has every partition touch the fetch when its watermark rises.
func (b *Broker) poll(t replica.Ticket, f *fetch) {
	for i := range f.parts {
		part := &f.parts[i]
		if part.polls {
			continue
		}
		if slot, ok := b.find(part.id); ok {
			part.polls = true
			b.parts[slot].rep.Poll(replica.Poll{Ticket: t, Part: int32(i)})
		}
	}
}

// replyRoom is how many bytes a reply to this connection may have now.
func (b *Broker) replyRoom(id env.ConnID) int64 {
	c := b.conns[id]
	held := b.unsent + b.reading
	room := b.lim.Replies*3/4 - held
	switch {
	case held == 0:
		room = max(room, 1)
	case c.owed == 0:
		// The last quarter is for those that take their answers, a little for each,
		// so that clients that read nothing do not hold up the others.
		room = max(room, min(smallReply, b.lim.Replies-held))
	}
	share := b.lim.Replies*int64(b.lim.ConnShare)/100 - c.owed
	if c.owed == 0 {
		share = max(share, 1)
	}
	return min(room, share, b.lim.Reads)
}

// smallReply is what a connection that owes nothing may be sent when others have
// left little room.
const smallReply = 64 << 10

// gather reads every partition, the first ones first, within the sizes asked.
// The first partition that has anything brings at least one batch (KIP-74).
func (b *Broker) gather(t replica.Ticket, q *pending, room int64, out *env.Outbox) {
	f := q.fetch
	f.gathered = true
	left := min(f.maxBytes, int64(b.lim.FetchMax), room)
	empty := room > 0
	for i := range f.parts {
		part := &f.parts[i]
		if part.code != env.NoError || part.diverging != nil || left <= 0 && !empty {
			continue
		}
		part.limit, part.minOne = int32(min(int64(max(part.max, 0)), left)), empty
		if part.limit == 0 && !empty {
			continue
		}
		slot, ok := b.find(part.id)
		if !ok {
			part.code = env.UnknownTopicOrPartition
			continue
		}
		r := &b.parts[slot].rep
		plan := r.Log.Read(&b.index, part.from, r.ReadLimit(), part.limit, part.minOne)
		used := b.planned(t, q, i, slot, plan, out)
		left -= used
		empty = empty && used == 0
	}
}

// planned takes what a partition's log says to a read, and returns the bytes
// that the part will bring at most.
func (b *Broker) planned(t replica.Ticket, q *pending, i int, slot int32, plan log.Plan, out *env.Outbox) int64 {
	f := q.fetch
	part := &f.parts[i]
	switch plan.State {
	case log.Ready:
		part.data = plan.Data
		return int64(len(plan.Data))
	case log.Load:
		if f.loading > 0 && b.reading+int64(plan.MaxBytes) > b.lim.Reads {
			return 0 // a load asks for more than the part may bring: this one is for the next fetch
		}
		f.loading++
		b.startRead(read{slot: slot, ticket: t, part: i, conn: q.conn, plan: plan}, out)
		return max(int64(part.limit), 1)
	case log.Empty:
	case log.OutOfRange:
		part.code = env.OffsetOutOfRange
	case log.Damaged:
		part.code = env.KafkaStorageError
		b.noteDamage(slot, part.from, out)
	}
	return 0
}

// noteDamage says once in a life that a partition's records can not be read: a
// client that tries again and again should not fill the log.
func (b *Broker) noteDamage(slot int32, offset int64, out *env.Outbox) {
	p := &b.parts[slot]
	if p.hurt {
		return
	}
	p.hurt = true
	out.Notes = append(out.Notes, env.Note{Kind: env.Warn, Name: "log.damaged", Log: p.id, Value: offset,
		Text: fmt.Sprintf("%s-%d is damaged at offset %d: what is sound is served; orrery disk inspect tells more", p.topic, p.id.Partition, offset)})
}

// fetchLoaded goes on with a part whose bytes have come.
func (b *Broker) fetchLoaded(r *read, data []byte, damaged bool, out *env.Outbox) {
	q := b.pending.get(r.ticket)
	if q == nil {
		return
	}
	q.fetch.loading--
	part := &q.fetch.parts[r.part]
	p := &b.parts[r.slot]
	if !p.live || p.id != part.id {
		part.code = env.UnknownTopicOrPartition
	} else {
		plan := p.rep.Log.Loaded(&b.index, r.plan, data, damaged, part.from, p.rep.ReadLimit(), part.limit, part.minOne)
		b.planned(r.ticket, q, r.part, r.slot, plan, out)
	}
	b.touch(r.ticket)
}

// answerFetch builds the response from what was gathered.
func (b *Broker) answerFetch(q *pending, out *env.Outbox) {
	f := q.fetch
	res := kmsg.NewPtrFetchResponse()
	res.SetVersion(f.version)
	res.SessionID = f.session
	session := b.sessions.finder(f)
	for i := range f.parts {
		part := &f.parts[i]
		answer := b.answerPart(f, part)
		if !session.part(part).worthTelling(f, &answer) {
			continue
		}
		n := len(res.Topics)
		if n == 0 || res.Topics[n-1].TopicID != part.id.Topic || res.Topics[n-1].Topic != part.topic {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = part.topic, part.id.Topic
			res.Topics = append(res.Topics, topic)
			n++
		}
		res.Topics[n-1].Partitions = append(res.Topics[n-1].Partitions, answer)
	}
	if session.q != nil {
		session.q.rotate()
	}
	b.reply(out, q.conn, q.n, res)
}

// answerPart is the answer for one partition, with its numbers as they are now.
func (b *Broker) answerPart(f *fetch, part *fetchPart) kmsg.FetchResponseTopicPartition {
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.Partition, answer.ErrorCode = part.id.Partition, part.code
	answer.HighWatermark, answer.LastStableOffset, answer.LogStartOffset = -1, -1, -1
	answer.RecordBatches = []byte{} // null makes librdkafka drop the whole answer
	if f.stable {
		answer.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	slot, ok := b.find(part.id)
	if part.code == env.NotLeaderOrFollower && ok && f.version >= 16 {
		answer.CurrentLeader.LeaderID, answer.CurrentLeader.LeaderEpoch = b.cfg.NodeID, b.parts[slot].rep.Epoch()
	}
	if part.code != env.NoError {
		return answer
	}
	if !ok {
		answer.ErrorCode = env.UnknownTopicOrPartition
		return answer
	}
	r := &b.parts[slot].rep
	answer.HighWatermark, answer.LastStableOffset, answer.LogStartOffset = r.HW(), r.HW(), r.Log.Start()
	if part.diverging != nil {
		answer.DivergingEpoch = *part.diverging
	} else if part.data != nil {
		answer.RecordBatches = part.data
	}
	return answer
}

// endFetch forgets a fetch wherever it waits.
func (b *Broker) endFetch(t replica.Ticket, q *pending) {
	parts := q.fetch.parts
	b.end(t)
	live := func(t replica.Ticket) bool { return b.pending.get(t) != nil }
	for i := range parts {
		if slot, ok := b.find(parts[i].id); ok && parts[i].polls {
			b.parts[slot].rep.Unpoll(live)
		}
	}
}

// starve has a request looked at again when there is room.
func (b *Broker) starve(t replica.Ticket, q *pending) {
	if !q.starved {
		q.starved = true
		b.starved = append(b.starved, t)
	}
}

// feed looks again at the requests that waited for room.
func (b *Broker) feed() {
	for _, t := range b.starved {
		if q := b.pending.get(t); q != nil {
			q.starved = false
			b.touch(t)
		}
	}
	b.starved = b.starved[:0]
	b.fed = len(b.crowd) > 0
}
