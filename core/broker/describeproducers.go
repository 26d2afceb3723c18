package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
)

// DescribeProducers (KIP-664): v0 is flexible.

func (b *Broker) onDescribeProducers(r env.Request, req *kmsg.DescribeProducersRequest, out *env.Outbox) {
	res := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	answered := map[listed]bool{} // never ranged over
	for i := range req.Topics {
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = req.Topics[i].Topic
		ref := b.topicOf(topic.Topic, [16]byte{}, false)
		for _, partition := range req.Topics[i].Partitions {
			if name := (listed{topic.Topic, partition}); answered[name] {
				continue // a small request could otherwise ask for any amount of memory
			} else {
				answered[name] = true
			}
			a := kmsg.NewDescribeProducersResponseTopicPartition()
			a.Partition = partition
			slot, ok := b.find(env.LogID{Topic: ref.id, Partition: partition})
			switch {
			case !controller.LegalName(topic.Topic).None():
				a.ErrorCode = env.InvalidTopicException
			case ref.code != env.NoError:
				a.ErrorCode = ref.code
			case !ok:
				a.ErrorCode = env.UnknownTopicOrPartition
			default:
				a.ActiveProducers = b.activeProducers(slot)
			}
			topic.Partitions = append(topic.Partitions, a)
		}
		res.Topics = append(res.Topics, topic)
	}
	b.reply(out, r.Conn, r.N, res)
}

func (b *Broker) activeProducers(slot int32) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	var active []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
	for _, p := range b.parts[slot].rep.Log.Producers() {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch, a.LastSequence = p.ID, int32(p.Epoch), p.LastSequence
		a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = p.LastTime, -1, -1
		active = append(active, a)
	}
	return active
}
