package broker

import (
	"slices"

	"fmt"

	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/metadata"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/replica"
)

// metadataLog is the log of the cluster's metadata: an ordinary log with an id of
// its own, as in KRaft.
func metadataLog() env.LogID { return env.LogID{Topic: metadata.MetadataTopic()} }

// metaSettings are the metadata log's: always durable, nothing ever dropped.
func metaSettings() log.Settings {
	return log.Settings{SegmentBytes: 64 << 20, SegmentAge: -1, RetentionBytes: -1, RetentionTime: -1, ProducerExpiry: env.Hour}
}

// metaLog is the metadata log's place and what of it is not applied yet.
type metaLog struct {
	slot    int32
	applied int64 // the image is the log up to here
	waiting []metaBatch
}

// metaBatch is a batch that was appended and not committed.
type metaBatch struct {
	end  int64
	data record.Batch
}

// metaIdle tells whether the image is all that was ever decided.
func (b *Broker) metaIdle() bool { return b.meta.applied == b.parts[b.meta.slot].rep.Log.End() }

// appendMeta appends a decision's records as one batch and returns its end.
func (b *Broker) appendMeta(records []metadata.Record, out *env.Outbox) int64 {
	built := make([]record.Record, 0, len(records))
	for _, r := range records {
		built = append(built, record.Record{Time: b.now.WallMillis(), Value: metadata.Append(nil, r)})
	}
	batch := record.Build(record.NoProducer(), built)
	info := env.BatchInfo{Count: int32(len(built)), FirstTime: b.now.WallMillis(), MaxTime: b.now.WallMillis()}
	_, end := b.append(b.meta.slot, batchIn{batch, info}, out)
	b.meta.waiting = append(b.meta.waiting, metaBatch{end, batch})
	return end
}

// metaCommitted applies what has been committed and ends the decision it was for.
func (b *Broker) metaCommitted(out *env.Outbox) {
	if b.phase < registering {
		return
	}
	hw := b.parts[b.meta.slot].rep.HW()
	for len(b.meta.waiting) > 0 && b.meta.waiting[0].end <= hw {
		m := b.meta.waiting[0]
		b.meta.waiting = b.meta.waiting[1:]
		b.meta.applied = m.end
		for _, r := range metaRecords(m.data) {
			if gone, ok := r.(metadata.RemoveTopic); ok {
				b.dropTopic(b.image.TopicByID(gone.ID), out) // while the image knows its partitions
			}
			b.image.Apply(r)
			b.follow(r)
		}
	}
	if f := b.admin.flight; f != nil && f.end <= b.meta.applied {
		b.decided(out)
	}
}

// applyMeta applies whole batches of the metadata log to the image, at the start,
// and returns their end.
func (b *Broker) applyMeta(data []byte) (end int64) {
	for len(data) > 0 {
		batch, rest, ok := record.Next(data)
		if !ok {
			panic("broker: the metadata log was read and is no batch")
		}
		for _, r := range metaRecords(batch) {
			b.image.Apply(r)
		}
		end, data = batch.End(), rest
	}
	return end
}

func metaRecords(batch record.Batch) []metadata.Record {
	records, ok := record.Parse(batch, batch.Records())
	if !ok {
		panic(fmt.Sprintf("broker: %v of the metadata log does not parse", batch))
	}
	var list []metadata.Record
	for i := range records {
		r, err := metadata.Parse(records[i].Value)
		if err != nil {
			panic(fmt.Sprintf("broker: metadata record %d: %v", records[i].Offset, err))
		}
		list = append(list, r)
	}
	return list
}

// follow does on this node what a committed record says.
func (b *Broker) follow(r metadata.Record) {
	switch r := r.(type) {
	case metadata.RegisterBroker:
		b.leadAll()
	case metadata.AddPartition:
		b.assume(b.image.TopicByID(r.Topic), r.Partition)
		b.lead(b.image.TopicByID(r.Topic), r.Partition)
	case metadata.SetConfig:
		b.configured(r.Resource)
	case metadata.ProducerIDs:
		b.ids.next, b.ids.end = r.Next-b.lim.ProducerIDs, r.Next
	}
}

// assume gives a partition that is mine its log, its topic's name and settings.
func (b *Broker) assume(t *metadata.Topic, n int32) {
	state, _ := t.Partition(n)
	if !state.HasReplica(b.cfg.NodeID) {
		return
	}
	id := env.LogID{Topic: t.ID, Partition: n}
	slot, ok := b.find(id)
	if !ok {
		slot = b.add(partition{id: id, rep: replica.New(b.firstLog(id))})
	}
	p := &b.parts[slot]
	p.topic, p.live, p.replicas = t.Name, true, int32(len(state.Replicas))
	b.configure(slot, b.settingsOf(b.image.TopicConfigs(t.Name)))
}

// firstLog is the log of a partition of which nothing survived: it is new, or a
// damage has taken all that spoke of it. Then it must not begin anew at offset 0.
func (b *Broker) firstLog(id env.LogID) *log.Log {
	if len(b.starts.damages) == 0 {
		return log.New(id, log.Settings{}, b.lim)
	}
	l := log.Begin(id, b.lim)
	for _, d := range b.starts.damages {
		l.Damaged(d, slices.Contains(d.Logs, id))
	}
	l.Recovered(b.now)
	return l
}

// assumeAll does so for every partition of the image.
func (b *Broker) assumeAll() {
	for _, t := range b.image.Topics {
		for n := range t.Partitions {
			b.assume(t, int32(n))
		}
	}
}

// lead begins the leadership that the image gives this node.
func (b *Broker) lead(t *metadata.Topic, partition int32) {
	state, _ := t.Partition(partition)
	slot, ok := b.find(env.LogID{Topic: t.ID, Partition: partition})
	if !ok || !state.Leads(b.cfg.NodeID) {
		return
	}
	rep := &b.parts[slot].rep
	if state.LeaderEpoch <= rep.Log.LastEpoch() && b.acceptsLoss(metadataLog()) {
		b.starts.outlived = true
		return
	}
	rep.Lead(state.LeaderEpoch)
}

func (b *Broker) leadAll() {
	for _, t := range b.image.Topics {
		for n := range t.Partitions {
			b.lead(t, int32(n))
		}
	}
}

// dropTopic ends the logs of a topic whose removal is committed.
func (b *Broker) dropTopic(t *metadata.Topic, out *env.Outbox) {
	for n := range t.Partitions {
		if slot, ok := b.find(env.LogID{Topic: t.ID, Partition: int32(n)}); ok {
			b.removeLog(slot, out)
		}
	}
}

// configured takes changed settings into the partitions that they concern.
func (b *Broker) configured(r metadata.Resource) {
	for slot := range b.parts {
		p := &b.parts[slot]
		if p.live && int32(slot) != b.meta.slot && (r.Type != metadata.TopicResource || r.Name == p.topic) {
			b.configure(int32(slot), b.settingsOf(b.image.TopicConfigs(p.topic)))
		}
	}
}

func (b *Broker) configure(slot int32, set settings) {
	p := &b.parts[slot]
	p.set = set
	p.rep.Log.Apply(set.log(span(b.layers().Long("producer.id.expiration.ms"))))
}

// topicRef is a topic as a request names it.
type topicRef struct {
	id   [16]byte
	code int16 // NoError, or why it is not there
}

// topicOf finds the topic that a request means, by id or by name.
func (b *Broker) topicOf(name string, id [16]byte, byID bool) topicRef {
	if byID {
		if b.image.TopicByID(id) == nil {
			return topicRef{id, env.UnknownTopicID}
		}
		return topicRef{id, env.NoError}
	}
	t := b.image.Topic(name)
	if t == nil {
		return topicRef{code: env.UnknownTopicOrPartition}
	}
	return topicRef{t.ID, env.NoError}
}

// decideRegistration begins this life.
func (b *Broker) decideRegistration() []metadata.Record {
	r := controller.Registration{Broker: b.cfg.NodeID, Incarnation: b.cfg.Incarnation, Rack: b.cfg.Rack}
	for _, e := range b.cfg.Advertised {
		r.Endpoints = append(r.Endpoints, metadata.Endpoint{Listener: e.Listener, Host: e.Host, Port: uint16(e.Port)})
	}
	return controller.RegisterBroker(b.deciding(), r)
}

// decideBlock takes the next block of producer ids.
func (b *Broker) decideBlock() []metadata.Record {
	return controller.AllocateProducerIDs(b.deciding(), b.cfg.NodeID, b.lim.ProducerIDs)
}
