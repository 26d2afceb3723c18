package broker

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// DescribeTopicPartitions (KIP-966): v0 is flexible. Topics come in the order of
// their names, in pages of partitions; the cursor names where the next one begins.

// pageMax is the most partitions of one answer (Kafka's max.request.partition.size.limit).
const pageMax = 2000

func (b *Broker) onDescribeTopicPartitions(r env.Request, req *kmsg.DescribeTopicPartitionsRequest, out *env.Outbox) {
	b.reply(out, r.Conn, r.N, describeTopicPartitions(b.image, req))
}

func describeTopicPartitions(m *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	res := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	names := describedNames(m, req)
	first := int32(0)
	if c := req.Cursor; c != nil {
		at, listed := slices.BinarySearch(names, c.Topic)
		if c.Partition < 0 || !listed && len(req.Topics) > 0 {
			return refusePage(res, req)
		}
		names = names[at:]
		if listed {
			first = c.Partition
		}
	}
	left := max(1, min(int(req.ResponsePartitionLimit), pageMax))
	for i, name := range names {
		if left == 0 {
			res.NextCursor = nextCursor(name, 0)
			break
		}
		from := int32(0)
		if i == 0 {
			from = first
		}
		t, next := pageOf(m, name, from, left)
		left -= len(t.Partitions)
		res.Topics = append(res.Topics, t)
		if next >= 0 {
			res.NextCursor = nextCursor(name, next)
			break
		}
	}
	return res
}

// describedNames are the topics that were asked for, sorted, each once; all when
// none is named.
func describedNames(m *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	if len(req.Topics) == 0 {
		for _, t := range m.Topics {
			names = append(names, t.Name)
		}
		return names
	}
	for i := range req.Topics {
		names = append(names, req.Topics[i].Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refusePage answers a cursor that points nowhere.
func refusePage(res *kmsg.DescribeTopicPartitionsResponse, req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	for i := range req.Topics {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.Topic, t.ErrorCode = kmsg.StringPtr(req.Topics[i].Topic), env.InvalidRequest
		res.Topics = append(res.Topics, t)
	}
	return res
}

// pageOf describes a topic from a partition on, at most count of them; next is the
// first that did not fit, or -1.
func pageOf(m *metadata.Image, name string, from int32, count int) (d kmsg.DescribeTopicPartitionsResponseTopic, next int32) {
	d = kmsg.NewDescribeTopicPartitionsResponseTopic()
	d.Topic, d.IsInternal, d.AuthorizedOperations = kmsg.StringPtr(name), internalTopic(name), topicOperations
	t := m.Topic(name)
	if t == nil {
		d.ErrorCode = env.UnknownTopicOrPartition
		if p := controller.LegalName(name); !p.None() {
			d.ErrorCode = p.Code
		}
		return d, -1
	}
	d.TopicID = t.ID
	for n := int(from); n < len(t.Partitions); n++ {
		if len(d.Partitions) == count {
			return d, int32(n)
		}
		state := &t.Partitions[n]
		p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		p.Partition, p.LeaderID, p.LeaderEpoch = int32(n), state.Leader, state.LeaderEpoch
		p.Replicas, p.ISR, p.OfflineReplicas = state.Replicas, state.ISR, offline(m, state.Replicas)
		p.EligibleLeaderReplicas, p.LastKnownELR = []int32{}, []int32{} // null would mean: not known
		if state.Leader == metadata.NoLeader {
			p.ErrorCode = env.LeaderNotAvailable
		}
		d.Partitions = append(d.Partitions, p)
	}
	return d, -1
}

func nextCursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	if partition < 0 {
		panic(fmt.Sprintf("broker: a cursor at %s-%d", topic, partition))
	}
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}
