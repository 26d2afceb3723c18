package broker

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// CreateTopics: v2 is the oldest, v4 took -1 for the defaults (KIP-464), v5 is
// flexible and tells the topic's configuration (KIP-525), v6 throttles, v7 tells
// the topic's id (KIP-516).
//
// DeleteTopics: v1 is the oldest, v3 has an error of its own for disabled deletion,
// v4 is flexible, v5 has error messages, v6 deletes by id (KIP-516).
//
// CreatePartitions (KIP-195): v2 is flexible, v3 throttles.

// deciding is what decisions rest on.
func (b *Broker) deciding() controller.Context {
	return controller.Context{Image: b.image, Layers: b.layers(), Seed: b.cfg.Seed, At: b.parts[b.meta.slot].rep.Log.End()}
}

func (b *Broker) decideCreateTopics(req *kmsg.CreateTopicsRequest, a *answer) []metadata.Record {
	records, created := controller.CreateTopics(b.deciding(), newTopics(req), req.ValidateOnly)
	a.createTopics = createTopicsResponse(req, created, b.layers())
	return records
}

func newTopics(req *kmsg.CreateTopicsRequest) []controller.NewTopic {
	topics := make([]controller.NewTopic, 0, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		n := controller.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, Replication: t.ReplicationFactor}
		for _, r := range t.ReplicaAssignment {
			n.Assignment = append(n.Assignment, controller.Assignment{Partition: r.Partition, Replicas: r.Replicas})
		}
		for _, c := range t.Configs {
			value, null := nullable(c.Value)
			n.Configs = append(n.Configs, controller.NewConfig{Name: c.Name, Value: value, Null: null})
		}
		topics = append(topics, n)
	}
	return topics
}

func createTopicsResponse(req *kmsg.CreateTopicsRequest, created []controller.CreatedTopic, layers config.Layers) *kmsg.CreateTopicsResponse {
	res := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	for i := range created {
		c := &created[i]
		t := kmsg.NewCreateTopicsResponseTopic()
		t.Topic, t.ErrorCode, t.ErrorMessage = c.Name, c.Problem.Code, message(c.Problem)
		t.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null is not the same as none
		if c.Problem.None() {
			t.TopicID, t.NumPartitions, t.ReplicationFactor = c.ID, c.Partitions, c.Replication
			if req.Version >= 5 {
				t.Configs = createdConfigs(c.Configs, layers)
			}
		}
		res.Topics = append(res.Topics, t)
	}
	return res
}

// createdConfigs is the whole configuration of a new topic.
func createdConfigs(overrides []env.Property, layers config.Layers) []kmsg.CreateTopicsResponseTopicConfig {
	settings := config.Settings(config.Topic)
	list := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(settings))
	for i := range settings {
		r := layers.Topic(overrides, &settings[i])
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = settings[i].Name, kmsg.StringPtr(r.Value), int8(r.Source)
		list = append(list, c)
	}
	return list
}

func (b *Broker) decideDeleteTopics(req *kmsg.DeleteTopicsRequest, a *answer) []metadata.Record {
	records, deleted := controller.DeleteTopics(b.deciding(), topicRefs(req))
	a.deleteTopics = deleteTopicsResponse(req, deleted)
	return records
}

func topicRefs(req *kmsg.DeleteTopicsRequest) []controller.TopicRef {
	var refs []controller.TopicRef
	if req.Version < 6 {
		for _, name := range req.TopicNames {
			refs = append(refs, controller.TopicRef{Name: name, Named: true})
		}
		return refs
	}
	for i := range req.Topics {
		name, null := nullable(req.Topics[i].Topic)
		refs = append(refs, controller.TopicRef{Name: name, Named: !null, ID: req.Topics[i].TopicID})
	}
	return refs
}

func deleteTopicsResponse(req *kmsg.DeleteTopicsRequest, deleted []controller.DeletedTopic) *kmsg.DeleteTopicsResponse {
	res := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	for _, d := range deleted {
		t := kmsg.NewDeleteTopicsResponseTopic()
		if d.Ref.Named {
			t.Topic = kmsg.StringPtr(d.Ref.Name)
		}
		t.TopicID, t.ErrorCode, t.ErrorMessage = d.Ref.ID, d.Problem.Code, message(d.Problem)
		if t.ErrorCode == env.TopicDeletionDisabled && req.Version < 3 {
			t.ErrorCode = env.InvalidRequest
		}
		res.Topics = append(res.Topics, t)
	}
	return res
}

func (b *Broker) decideCreatePartitions(req *kmsg.CreatePartitionsRequest, a *answer) []metadata.Record {
	wishes := make([]controller.MorePartitions, 0, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		w := controller.MorePartitions{Topic: t.Topic, Count: t.Count, Assigned: t.Assignment != nil}
		for _, r := range t.Assignment {
			w.Assignment = append(w.Assignment, r.Replicas)
		}
		wishes = append(wishes, w)
	}
	records, grown := controller.CreatePartitions(b.deciding(), wishes, req.ValidateOnly)
	a.createPartitions = createPartitionsResponse(req, grown)
	return records
}

func createPartitionsResponse(req *kmsg.CreatePartitionsRequest, grown []controller.GrownTopic) *kmsg.CreatePartitionsResponse {
	res := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	for _, g := range grown {
		t := kmsg.NewCreatePartitionsResponseTopic()
		t.Topic, t.ErrorCode, t.ErrorMessage = g.Topic, g.Problem.Code, message(g.Problem)
		res.Topics = append(res.Topics, t)
	}
	return res
}

// messageMax bounds a message: old versions carry lengths of 16 bits, and a
// message may quote what a client sent.
const messageMax = 1000

// message is a problem's text as responses carry it; nil when there is none.
func message(p controller.Problem) *string {
	if p.None() {
		return nil
	}
	text := p.Message
	if len(text) > messageMax {
		text = strings.ToValidUTF8(text[:messageMax], "") + "…"
	}
	return &text
}

func nullable(s *string) (value string, null bool) {
	if s == nil {
		return "", true
	}
	return *s, false
}
