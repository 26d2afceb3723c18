package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// OffsetForLeaderEpoch (KIP-101, KIP-320): v2 brought the client's own epoch, v3
// the replica id, v4 is flexible.

func (b *Broker) onOffsetForLeaderEpoch(r env.Request, req *kmsg.OffsetForLeaderEpochRequest, out *env.Outbox) {
	res := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range req.Topics {
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = req.Topics[i].Topic
		ref := b.topicOf(topic.Topic, [16]byte{}, false)
		for _, in := range req.Topics[i].Partitions {
			a := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			a.Partition, a.LeaderEpoch, a.EndOffset = in.Partition, -1, -1
			slot, ok := b.find(env.LogID{Topic: ref.id, Partition: in.Partition})
			switch {
			case ref.code != env.NoError:
				a.ErrorCode = ref.code
			case !ok:
				a.ErrorCode = env.UnknownTopicOrPartition
			default:
				rep := &b.parts[slot].rep
				if a.ErrorCode = checkEpoch(rep, in.CurrentLeaderEpoch); a.ErrorCode == env.NoError {
					a.LeaderEpoch, a.EndOffset = b.epochEnd(slot, in.LeaderEpoch)
				}
			}
			topic.Partitions = append(topic.Partitions, a)
		}
		res.Topics = append(res.Topics, topic)
	}
	b.reply(out, r.Conn, r.N, res)
}

// epochEnd is the end of the largest epoch up to the one asked; -1, -1 when there is none.
func (b *Broker) epochEnd(slot, epoch int32) (int32, int64) {
	rep := &b.parts[slot].rep
	switch {
	case epoch == -1 || epoch > rep.Epoch():
		return -1, -1
	case epoch == rep.Epoch():
		return epoch, rep.HW()
	}
	e, end := rep.Log.EpochEnd(epoch)
	return e, min(end, rep.HW())
}
