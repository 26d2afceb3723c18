package broker

// Stand-ins until topics.go, configs.go, cluster.go, metadata.go, logdirs.go exist: whoever writes one deletes its lines here.

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

func (b *Broker) decideCreateTopics(req *kmsg.CreateTopicsRequest, a *answer) []metadata.Record {
	ctx := controller.Context{Image: b.image, Layers: b.layers(), Seed: b.cfg.Seed, At: b.parts[b.meta.slot].rep.Log.End()}
	var topics []controller.NewTopic
	for _, t := range req.Topics {
		topics = append(topics, controller.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, Replication: t.ReplicationFactor})
	}
	records, made := controller.CreateTopics(ctx, topics, false)
	a.createTopics = req.ResponseKind().(*kmsg.CreateTopicsResponse)
	for _, m := range made {
		r := kmsg.NewCreateTopicsResponseTopic()
		r.Topic, r.ErrorCode, r.TopicID = m.Name, m.Problem.Code, m.ID
		a.createTopics.Topics = append(a.createTopics.Topics, r)
	}
	return records
}
func (b *Broker) decideDeleteTopics(req *kmsg.DeleteTopicsRequest, a *answer) []metadata.Record {
	panic("broker: not here yet")
}
func (b *Broker) decideCreatePartitions(req *kmsg.CreatePartitionsRequest, a *answer) []metadata.Record {
	panic("broker: not here yet")
}
func (b *Broker) decideAlterConfigs(req *kmsg.AlterConfigsRequest, a *answer) []metadata.Record {
	panic("broker: not here yet")
}
func (b *Broker) decideIncrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest, a *answer) []metadata.Record {
	panic("broker: not here yet")
}
func (b *Broker) decideAutoCreate(req *kmsg.MetadataRequest) []metadata.Record {
	panic("broker: not here yet")
}
func (b *Broker) refuseAdmin(req kmsg.Request, a *answer, code int16) []metadata.Record {
	panic("broker: not here yet")
}
func (b *Broker) metadataResponse(req *kmsg.MetadataRequest, listener string) *kmsg.MetadataResponse {
	res := req.ResponseKind().(*kmsg.MetadataResponse)
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Host, broker.Port = b.cfg.NodeID, b.cfg.Advertised[0].Host, b.cfg.Advertised[0].Port
	res.Brokers = append(res.Brokers, broker)
	res.ControllerID, res.ClusterID = b.cfg.NodeID, kmsg.StringPtr(b.cfg.ClusterID)
	for _, t := range b.image.Topics {
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic, rt.TopicID = kmsg.StringPtr(t.Name), t.ID
		for n, p := range t.Partitions {
			rp := kmsg.NewMetadataResponseTopicPartition()
			rp.Partition, rp.Leader, rp.LeaderEpoch, rp.Replicas, rp.ISR = int32(n), p.Leader, p.LeaderEpoch, p.Replicas, p.ISR
			rt.Partitions = append(rt.Partitions, rp)
		}
		res.Topics = append(res.Topics, rt)
	}
	return res
}
func (b *Broker) onMetadata(r env.Request, req *kmsg.MetadataRequest, out *env.Outbox) {
	b.reply(out, r.Conn, r.N, b.metadataResponse(req, ""), 0)
}
func (b *Broker) onDescribeLogDirs(r env.Request, req *kmsg.DescribeLogDirsRequest, out *env.Outbox) {
	panic("broker: not here yet")
}
func (b *Broker) onDescribeCluster(r env.Request, req *kmsg.DescribeClusterRequest, out *env.Outbox) {
	panic("broker: not here yet")
}
func (b *Broker) onDescribeTopicPartitions(r env.Request, req *kmsg.DescribeTopicPartitionsRequest, out *env.Outbox) {
	panic("broker: not here yet")
}
func (b *Broker) onDescribeConfigs(r env.Request, req *kmsg.DescribeConfigsRequest, out *env.Outbox) {
	panic("broker: not here yet")
}
func (b *Broker) onListConfigResources(r env.Request, req *kmsg.ListConfigResourcesRequest, out *env.Outbox) {
	panic("broker: not here yet")
}
