package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// DescribeLogDirs (KIP-113): v1 throttles, v2 is flexible, v3 has an error for the
// whole, v4 tells the volume's size (KIP-827), v5 whether it takes new logs (KIP-1066).

func (b *Broker) onDescribeLogDirs(r env.Request, req *kmsg.DescribeLogDirsRequest, out *env.Outbox) {
	res := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = b.layers().Text("log.dirs")
	if b.cfg.Disk > 0 {
		dir.TotalBytes, dir.UsableBytes = b.cfg.Disk, max(b.space, -1)
	}
	asked := askedLogs(req)
	for _, t := range b.image.Topics {
		wanted, listed := asked[t.Name]
		if req.Topics != nil && !listed {
			continue
		}
		d := kmsg.NewDescribeLogDirsResponseDirTopic()
		d.Topic = t.Name
		for n := range t.Partitions {
			if req.Topics == nil || wanted[int32(n)] {
				d.Partitions = b.describeLog(d.Partitions, t, int32(n))
			}
		}
		if len(d.Partitions) > 0 {
			dir.Topics = append(dir.Topics, d)
		}
	}
	res.Dirs = append(res.Dirs, dir)
	b.reply(out, r.Conn, r.N, res)
}

// askedLogs are the partitions that a request names, by topic.
func askedLogs(req *kmsg.DescribeLogDirsRequest) map[string]map[int32]bool {
	asked := map[string]map[int32]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		if asked[t.Topic] == nil {
			asked[t.Topic] = map[int32]bool{}
		}
		for _, p := range t.Partitions {
			asked[t.Topic][p] = true
		}
	}
	return asked
}

// describeLog adds a partition that has its log here.
func (b *Broker) describeLog(list []kmsg.DescribeLogDirsResponseDirTopicPartition, t *metadata.Topic, n int32) []kmsg.DescribeLogDirsResponseDirTopicPartition {
	slot, ok := b.find(env.LogID{Topic: t.ID, Partition: n})
	if !ok {
		return list
	}
	p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	p.Partition, p.Size = n, b.parts[slot].rep.Log.Size()
	return append(list, p)
}
