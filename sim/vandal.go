package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// vandal is a hostile client (P9): it sends sound requests with some of their
// bytes changed, and half requests, and never reads an answer. Whatever it sends
// may cost its own connection and nothing else.
type vandal struct {
	w     *world
	every env.Time
	link  *link
	draw  roller
	done  bool
}

func newVandal(w *world, n int, every env.Time) *vandal {
	return &vandal{w: w, every: every, draw: roller{d: w.dice, p: drawVandal, entity: uint64(n)}}
}

func (v *vandal) begin() { v.w.in(env.Time(v.draw.below(int64(v.every))), v.act) }

func (v *vandal) act() {
	if v.done {
		return
	}
	v.w.in(v.w.crowd.resting()+v.every/2+env.Time(v.draw.below(int64(v.every))), v.act)
	if v.w.crowd.resting() > 0 {
		return
	}
	if v.link == nil || !v.link.open || !v.link.served && v.link.n > 0 || v.draw.chance(200) {
		if v.link != nil {
			v.link.close()
		}
		if v.link = v.w.net.dial("vandal"); v.link == nil {
			return
		}
	}
	l, name := v.link, "vandal"
	frame := door.EncodeRequest(nil, int32(v.draw.below(1<<31)), &name, v.request())[4:]
	for range v.draw.below(4) {
		frame[v.draw.below(int64(len(frame)))] = byte(v.draw.next())
	}
	if v.draw.chance(100) {
		frame = frame[:v.draw.below(int64(len(frame)))]
	}
	if key, _, ok := door.Peek(frame); !ok || !harmless[key] {
		return // a changed key may have become a request that really changes something
	}
	v.w.stats.drew("hostile-frame")
	v.w.net.toBroker(l, func() { l.arrive(frame) })
}

// harmless are the APIs whose requests change no topic that other clients use.
var harmless = map[int16]bool{int16(kmsg.Produce): true, int16(kmsg.Fetch): true, int16(kmsg.ListOffsets): true, int16(kmsg.Metadata): true, int16(kmsg.ApiVersions): true,
	int16(kmsg.OffsetForLeaderEpoch): true, int16(kmsg.DescribeConfigs): true, int16(kmsg.DescribeProducers): true, int16(kmsg.DescribeCluster): true,
	int16(kmsg.DescribeLogDirs): true, int16(kmsg.DescribeTopicPartitions): true, int16(kmsg.ListConfigResources): true, int16(kmsg.InitProducerID): true}

// nowhere is a topic that does not exist: what a vandal produces goes there.
const nowhere = "nowhere"

func (v *vandal) request() kmsg.Request {
	keys := []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.ApiVersions, kmsg.OffsetForLeaderEpoch, kmsg.DescribeConfigs,
		kmsg.DescribeProducers, kmsg.DescribeCluster, kmsg.DescribeLogDirs, kmsg.DescribeTopicPartitions, kmsg.ListConfigResources, kmsg.InitProducerID}
	key := keys[v.draw.below(int64(len(keys)))]
	req := kmsg.RequestForKey(int16(key))
	least, most, _, _ := door.Range(int16(key))
	req.SetVersion(int16(v.draw.between(int64(least), int64(most))))
	name := v.w.plan.Topics[v.draw.below(int64(len(v.w.plan.Topics)))].Name
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = record.Build(record.NoProducer(), []record.Record{{Value: []byte("hostile")}})
		t := kmsg.NewProduceRequestTopic()
		t.Topic, t.Partitions = nowhere, append(t.Partitions, p)
		r.Acks, r.Topics = pick(&v.draw, int16(-1), 0, 1), append(r.Topics, t)
	case *kmsg.FetchRequest:
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset, p.PartitionMaxBytes = v.draw.between(-1, 1000), 1<<20
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.Partitions = name, append(t.Partitions, p)
		r.MaxBytes, r.MaxWaitMillis, r.Topics = 1<<20, 500, append(r.Topics, t)
	case *kmsg.ListOffsetsRequest:
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = v.draw.between(-6, 1)
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = name, append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	case *kmsg.MetadataRequest:
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		r.Topics = append(r.Topics, t)
	}
	return req
}
