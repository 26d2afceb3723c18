package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// Metadata: v0 asks for all topics with an empty list, v1 with a null one; v1 has
// the controller, v2 the cluster's id, v4 lets the client forbid creation, v5 has
// offline replicas, v7 leader epochs, v8 to v10 what the client may do, v9 is
// flexible, v10 has topic ids, v12 asks by id, v13 has an error for the whole.
//
// Topics that are created on the way are answered with their leader once they are
// durable: Kafka answers UNKNOWN_TOPIC_OR_PARTITION first, and clients ask again.

func (b *Broker) onMetadata(r env.Request, req *kmsg.MetadataRequest, out *env.Outbox) {
	if !b.lowSpace() && len(missingTopics(b.image, req, b.layers().Bool("auto.create.topics.enable"))) > 0 {
		b.admin.queue = append(b.admin.queue, b.asOp(opCreate, r))
		return
	}
	b.reply(out, r.Conn, r.N, b.metadataResponse(req, b.conns[r.Conn].listener))
}

// decideAutoCreate creates the topics that a Metadata request names and that are
// still not there. One that can not be created is answered as unknown.
func (b *Broker) decideAutoCreate(req *kmsg.MetadataRequest) []metadata.Record {
	if b.lowSpace() {
		return nil // it was not when the request came
	}
	var topics []controller.NewTopic
	for _, name := range missingTopics(b.image, req, b.layers().Bool("auto.create.topics.enable")) {
		topics = append(topics, controller.NewTopic{Name: name, Partitions: -1, Replication: -1})
	}
	records, _ := controller.CreateTopics(b.deciding(), topics, false)
	return records
}

// missingTopics are the topics that the request wants created, each once.
func missingTopics(m *metadata.Image, req *kmsg.MetadataRequest, enabled bool) []string {
	if !enabled || req.Version >= 4 && !req.AllowAutoTopicCreation {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for i := range req.Topics {
		name, null := nullable(req.Topics[i].Topic)
		if null || req.Topics[i].TopicID != [16]byte{} || seen[name] {
			continue
		}
		seen[name] = true
		if m.Topic(name) == nil && creatable(name) {
			names = append(names, name)
		}
	}
	return names
}

// creatable: a client's asking for it may create the topic.
func creatable(name string) bool {
	return controller.LegalName(name).None() && name != metadata.MetadataName && !internalTopic(name)
}

func (b *Broker) metadataResponse(req *kmsg.MetadataRequest, listener string) *kmsg.MetadataResponse {
	return describeMetadata(b.image, &b.cfg, listener, req)
}

func describeMetadata(m *metadata.Image, cfg *env.Config, listener string, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	res := req.ResponseKind().(*kmsg.MetadataResponse)
	res.ClusterID, res.ControllerID = kmsg.StringPtr(cfg.ClusterID), cfg.NodeID
	for i := range m.Brokers {
		known := &m.Brokers[i]
		e, ok := endpoint(known, listener)
		if !ok || known.Fenced {
			continue
		}
		n := kmsg.NewMetadataResponseBroker()
		n.NodeID, n.Host, n.Port, n.Rack = known.ID, e.Host, int32(e.Port), rack(known)
		res.Brokers = append(res.Brokers, n)
	}
	if req.IncludeClusterAuthorizedOperations {
		res.AuthorizedOperations = clusterOperations
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, t := range m.Topics {
			res.Topics = append(res.Topics, describeTopic(m, t, req))
		}
		return res
	}
	seen := map[kmsgTopic]bool{}
	for i := range req.Topics {
		name, null := nullable(req.Topics[i].Topic)
		asked := kmsgTopic{name, null, req.Topics[i].TopicID}
		key := asked
		if key.id != [16]byte{} {
			key.name, key.null = "", true // one topic asked by many names beside its id would be any amount of memory
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		res.Topics = append(res.Topics, askedTopic(m, asked, req))
	}
	return res
}

// kmsgTopic is a topic as a Metadata request names it.
type kmsgTopic struct {
	name string
	null bool
	id   [16]byte
}

// askedTopic answers one topic of a request. An id counts more than a name.
func askedTopic(m *metadata.Image, asked kmsgTopic, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	refused := kmsg.NewMetadataResponseTopic()
	refused.TopicID = asked.id
	if req.Version < 12 {
		refused.Topic = kmsg.StringPtr(asked.name) // it could not be null
	}
	switch {
	case asked.null && req.Version < 12:
		refused.ErrorCode = env.InvalidRequest
		return refused
	case asked.id != [16]byte{} || asked.null:
		if t := m.TopicByID(asked.id); t != nil {
			return describeTopic(m, t, req)
		}
		refused.ErrorCode = env.UnknownTopicID
		return refused
	}
	if t := m.Topic(asked.name); t != nil {
		return describeTopic(m, t, req)
	}
	refused.Topic, refused.IsInternal = kmsg.StringPtr(asked.name), internalTopic(asked.name)
	refused.ErrorCode = env.UnknownTopicOrPartition
	if p := controller.LegalName(asked.name); !p.None() {
		refused.ErrorCode = p.Code
	}
	if req.IncludeTopicAuthorizedOperations {
		refused.AuthorizedOperations = topicOperations
	}
	return refused
}

func describeTopic(m *metadata.Image, t *metadata.Topic, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	d := kmsg.NewMetadataResponseTopic()
	d.Topic, d.TopicID, d.IsInternal = kmsg.StringPtr(t.Name), t.ID, internalTopic(t.Name)
	if req.IncludeTopicAuthorizedOperations {
		d.AuthorizedOperations = topicOperations
	}
	d.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.Partitions))
	for n := range t.Partitions {
		state := &t.Partitions[n]
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(n), state.Leader, state.LeaderEpoch
		p.Replicas, p.ISR, p.OfflineReplicas = state.Replicas, state.ISR, offline(m, state.Replicas)
		if state.Leader == metadata.NoLeader {
			p.ErrorCode = env.LeaderNotAvailable
		}
		d.Partitions = append(d.Partitions, p)
	}
	return d
}
