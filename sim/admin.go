package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// admin is a simulated administrator: it creates the topics of the plan, looks at
// metadata, changes settings, deletes records, and deletes and creates the topics
// that are there for it.
type admin struct {
	w    *world
	n    uint64
	plan *AdminPlan
	link *link
	draw roller
	busy bool
	done bool
	turn uint64
}

func newAdmin(w *world, n int, plan *AdminPlan) *admin {
	return &admin{w: w, n: uint64(n), plan: plan, draw: roller{d: w.dice, p: drawAdmin, entity: uint64(n)}}
}

func (a *admin) name() string { return "admin-" + utoa(a.n) }

func (a *admin) begin() { a.later(env.Millisecond) }

func (a *admin) later(d env.Time) {
	a.busy = false
	a.w.in(d/2+env.Time(a.draw.below(int64(d)+1)), a.act)
}

// ask sends a request; no answer costs a moment's rest.
func (a *admin) ask(req kmsg.Request, then func(kmsg.Response)) {
	a.link.send(req, 40*env.Second, func(r kmsg.Response) {
		if r != nil {
			then(r)
		}
		if r == nil {
			a.later(200 * env.Millisecond)
			return
		}
		a.later(a.plan.Every)
	})
}

func (a *admin) act() {
	if a.done {
		return
	}
	if rest := a.w.crowd.resting(); rest > 0 {
		a.later(rest + time500)
		return
	}
	if a.link == nil || !a.link.open {
		if a.link = a.w.net.dial(a.name()); a.link == nil {
			a.later(200 * env.Millisecond)
			return
		}
	}
	a.busy = true
	a.turn++
	for i := range a.w.crowd.topics {
		if t := &a.w.crowd.topics[i]; a.n == 1 && t.now == nil && !t.created && t.changes == 0 {
			a.create(i)
			return
		}
	}
	if a.turn%2 == 0 {
		a.metadata()
		return
	}
	switch a.draw.below(7) {
	case 0:
		if len(a.plan.Churn) > 0 {
			a.churn(a.plan.Churn[a.draw.below(int64(len(a.plan.Churn)))])
			return
		}
		a.metadata()
	case 1:
		a.deleteRecords()
	case 2:
		a.describeConfigs()
	case 3:
		a.alterConfigs()
	case 4:
		a.describeProducers()
	case 5:
		a.look()
	default:
		a.epochEnd()
	}
}

// churn deletes a topic that is there and creates one that is not.
func (a *admin) churn(plan int) {
	switch t := &a.w.crowd.topics[plan]; {
	case t.now != nil:
		a.delete(plan)
	case t.created: // its id is not known yet
		a.metadata()
	default:
		a.create(plan)
	}
}

func (a *admin) create(plan int) {
	t := &a.w.plan.Topics[plan]
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(pick(&a.draw, int16(5), 6, 7))
	req.TimeoutMillis = 20000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.Name, t.Partitions, 1
	for _, c := range t.Configs {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = c.Name, kmsg.StringPtr(c.Value)
		topic.Configs = append(topic.Configs, config)
	}
	req.Topics = append(req.Topics, topic)
	a.change(plan, req, func(r kmsg.Response) int16 {
		res := &r.(*kmsg.CreateTopicsResponse).Topics[0]
		if res.ErrorCode == env.TopicAlreadyExists && a.w.crowd.inDoubt(plan) {
			return env.RequestTimedOut // an earlier request may have done it
		}
		return res.ErrorCode
	}, true)
}

func (a *admin) delete(plan int) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.SetVersion(pick(&a.draw, int16(4), 5))
	req.TimeoutMillis = 20000
	req.TopicNames = []string{a.w.plan.Topics[plan].Name}
	a.w.crowd.topics[plan].now = nil
	a.change(plan, req, func(r kmsg.Response) int16 {
		code := r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode
		if code == env.UnknownTopicOrPartition && a.w.crowd.inDoubt(plan) {
			return env.RequestTimedOut
		}
		return code
	}, false)
}

// change sends a creation or deletion and keeps the books about what may be now.
func (a *admin) change(plan int, req kmsg.Request, code func(kmsg.Response) int16, creation bool) {
	t := &a.w.crowd.topics[plan]
	t.changes++
	t.pending++
	a.link.send(req, 40*env.Second, func(r kmsg.Response) {
		t.pending--
		switch {
		case r == nil:
			a.w.crowd.doubted(plan)
			t.created = creation // so that it is looked for, not created at once
			a.later(200 * env.Millisecond)
			return
		default:
			switch c := code(r); c {
			case env.NoError:
				t.created = creation
			default:
				a.w.crowd.checkRefusal(kmsg.NameForKey(req.Key()), c)
				a.w.crowd.doubted(plan)
			}
		}
		a.later(a.plan.Every)
	})
}

// metadata refreshes what clients know, and holds that topics are there or not as
// acknowledged (P7).
func (a *admin) metadata() {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(pick(&a.draw, int16(10), 11, 12, 13))
	req.AllowAutoTopicCreation = false
	changes := make([]uint64, len(a.w.crowd.topics))
	for i := range a.w.crowd.topics {
		t := &a.w.crowd.topics[i]
		changes[i] = t.changes
		if t.pending > 0 {
			changes[i] = 0
		}
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(a.w.plan.Topics[i].Name)
		req.Topics = append(req.Topics, topic)
	}
	a.ask(req, func(r kmsg.Response) {
		res := r.(*kmsg.MetadataResponse)
		for i := range res.Topics {
			a.seen(&res.Topics[i], changes)
		}
	})
}

func (a *admin) seen(m *kmsg.MetadataResponseTopic, changes []uint64) {
	plan := -1
	for i := range a.w.plan.Topics {
		if m.Topic != nil && a.w.plan.Topics[i].Name == *m.Topic {
			plan = i
		}
	}
	if plan < 0 {
		a.w.fail(inconsistent, "Metadata tells of a topic that nobody asked for: %v", m.Topic)
	}
	t := &a.w.crowd.topics[plan]
	still := changes[plan] != 0 && changes[plan] == t.changes // nothing changed while we asked
	switch m.ErrorCode {
	case env.NoError:
		if still && !t.created && !a.w.crowd.inDoubt(plan) {
			a.w.fail(inconsistent, "topic %s is there, and its deletion was acknowledged", *m.Topic)
		}
		if t.now != nil && t.now.id != m.TopicID && still {
			a.w.fail(lost, "topic %s has the id %x; it had %x and nobody deleted it", *m.Topic, m.TopicID, t.now.id)
		}
		if n := int32(len(m.Partitions)); n != a.w.plan.Topics[plan].Partitions {
			a.w.fail(lost, "topic %s has %d partitions, created with %d", *m.Topic, n, a.w.plan.Topics[plan].Partitions)
		}
		if still {
			t.now = a.w.truth.topic(m.TopicID, plan, len(m.Partitions))
			t.created = true
		}
	case env.UnknownTopicOrPartition:
		if still && t.created && !a.w.crowd.inDoubt(plan) && t.now != nil {
			a.w.fail(lost, "topic %s is not there, and its creation was acknowledged", *m.Topic)
		}
		// It may be that the creation's end is unknown: then it is tried again. A
		// late copy may still create it.
		if t.pending == 0 && t.now == nil && still {
			t.created = false
			if !a.w.plan.Topics[plan].Churn {
				t.changes = 0
			}
		}
	default:
		a.w.crowd.checkRefusal("Metadata", m.ErrorCode)
	}
}

// someLog picks a partition of a topic that stays.
func (a *admin) someLog(from func(*TopicPlan) bool) *logTruth {
	var logs []*logTruth
	for i := range a.w.crowd.topics {
		if t := a.w.crowd.topics[i].now; t != nil && from(&a.w.plan.Topics[i]) {
			logs = append(logs, t.parts...)
		}
	}
	if len(logs) == 0 {
		return nil
	}
	return logs[a.draw.below(int64(len(logs)))]
}

func stays(t *TopicPlan) bool { return !t.Churn }

func (a *admin) deleteRecords() {
	l := a.someLog(func(t *TopicPlan) bool { return !t.Churn && t.Purge })
	if l == nil || l.floor <= l.start || !a.draw.chance(400) {
		a.metadata()
		return
	}
	to := l.start + a.draw.below((l.floor-l.start)/2+1)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.SetVersion(pick(&a.draw, int16(0), 1, 2))
	req.TimeoutMillis = 20000
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = l.topic.name
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Partition, part.Offset = l.partition, to
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	l.purge = max(l.purge, to)
	v := l.view()
	event := a.w.story.purge(a, l, to)
	a.ask(req, func(r kmsg.Response) {
		p := &r.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
		if p.ErrorCode != env.NoError {
			if p.ErrorCode != env.OffsetOutOfRange || !l.blind && !l.topic.relaxed && to > l.start {
				a.w.crowd.checkRefusal("DeleteRecords", p.ErrorCode)
			}
			return
		}
		if p.LowWatermark < to {
			a.w.fail(inconsistent, "%s: DeleteRecords to %d leaves the log's start at %d", l, to, p.LowWatermark)
		}
		a.w.truth.bounds(l, v, -1, p.LowWatermark)
		l.begun = max(l.begun, to)
		a.w.story.purged(event)
	})
}

// describeConfigs holds that settings are as they were set last, or as a request
// of unknown end may have set them.
func (a *admin) describeConfigs() {
	l := a.someLog(stays)
	if l == nil {
		a.metadata()
		return
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.SetVersion(pick(&a.draw, int16(1), 2, 3, 4))
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, l.topic.name
	req.Resources = append(req.Resources, res)
	possible := append([]string(nil), l.topic.possible...)
	set := l.topic.sets
	a.ask(req, func(r kmsg.Response) {
		answer := &r.(*kmsg.DescribeConfigsResponse).Resources[0]
		if answer.ErrorCode != env.NoError {
			a.w.crowd.checkRefusal("DescribeConfigs", answer.ErrorCode)
			return
		}
		if set != l.topic.sets || len(possible) == 0 {
			return
		}
		for i := range answer.Configs {
			c := &answer.Configs[i]
			if c.Name != changedSetting {
				continue
			}
			for _, p := range possible {
				if c.Value != nil && *c.Value == p {
					return
				}
			}
			a.w.fail(lost, "topic %s: %s is not one of %v, which were set", l.topic.name, changedSetting, possible)
		}
		a.w.fail(inconsistent, "topic %s: DescribeConfigs does not name %s", l.topic.name, changedSetting)
	})
}

// changedSetting is the setting that administrators change: it has no effect on
// what the other oracles watch.
const changedSetting = "file.delete.delay.ms"

func (a *admin) alterConfigs() {
	l := a.someLog(stays)
	if l == nil {
		a.metadata()
		return
	}
	value := utoa(uint64(60000 + a.draw.below(1000)))
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.SetVersion(pick(&a.draw, int16(0), 1))
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, l.topic.name
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = changedSetting, kmsg.StringPtr(value)
	res.Configs = append(res.Configs, config)
	req.Resources = append(req.Resources, res)
	t := l.topic
	t.sets++
	t.setting++
	t.unsure = t.unsure || t.setting > 1
	if len(t.possible) == 0 {
		t.possible = append(t.possible, "60000") // the default
	}
	t.possible = append(t.possible, value)
	a.link.send(req, 40*env.Second, func(r kmsg.Response) {
		t.setting--
		if r == nil {
			t.unsure = true // it may arrive late, at any time
			a.later(200 * env.Millisecond)
			return
		}
		answer := &r.(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
		if answer.ErrorCode != env.NoError {
			a.w.crowd.checkRefusal("IncrementalAlterConfigs", answer.ErrorCode)
		} else if !t.unsure {
			t.possible = t.possible[:0]
			t.possible = append(t.possible, value)
		}
		t.sets++
		a.later(a.plan.Every)
	})
}

func (a *admin) describeProducers() {
	l := a.someLog(stays)
	if l == nil {
		a.metadata()
		return
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic, topic.Partitions = l.topic.name, []int32{l.partition}
	req.Topics = append(req.Topics, topic)
	a.ask(req, func(r kmsg.Response) {
		p := &r.(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0]
		if p.ErrorCode != env.NoError {
			a.w.crowd.checkRefusal("DescribeProducers", p.ErrorCode)
		}
	})
}

// look asks what tools ask; it must be answered, whatever the answer is.
func (a *admin) look() {
	var req kmsg.Request
	switch a.draw.below(5) {
	case 0:
		req = kmsg.NewPtrDescribeClusterRequest()
	case 1:
		req = kmsg.NewPtrDescribeLogDirsRequest()
	case 2:
		r := kmsg.NewPtrDescribeTopicPartitionsRequest()
		for i := range a.w.plan.Topics {
			t := kmsg.NewDescribeTopicPartitionsRequestTopic()
			t.Topic = a.w.plan.Topics[i].Name
			r.Topics = append(r.Topics, t)
		}
		r.ResponsePartitionLimit = int32(a.draw.between(1, 5))
		req = r
	case 3:
		req = kmsg.NewPtrListConfigResourcesRequest()
	default:
		req = kmsg.NewPtrApiVersionsRequest()
	}
	least, most, _, _ := door.Range(req.Key())
	req.SetVersion(int16(a.draw.between(int64(least), int64(most))))
	a.ask(req, func(kmsg.Response) {})
}

// epochEnd asks where a leader epoch ends (KIP-101) and holds that the answer is in the log.
func (a *admin) epochEnd() {
	l := a.someLog(stays)
	if l == nil {
		a.metadata()
		return
	}
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.SetVersion(pick(&a.draw, int16(2), 3, 4))
	req.ReplicaID = -1
	topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
	topic.Topic = l.topic.name
	part := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	part.Partition, part.CurrentLeaderEpoch, part.LeaderEpoch = l.partition, -1, int32(a.draw.below(int64(a.w.stats.Recoveries)+1))
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	asked := part.LeaderEpoch
	a.ask(req, func(r kmsg.Response) {
		p := &r.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		if p.ErrorCode != env.NoError {
			a.w.crowd.checkRefusal("OffsetForLeaderEpoch", p.ErrorCode)
			return
		}
		if p.LeaderEpoch > asked {
			a.w.fail(malformed, "%s: asked for the end of epoch %d, told of the later %d", l, asked, p.LeaderEpoch)
		}
	})
}
