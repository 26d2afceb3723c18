package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// consumer is a simulated consumer: it reads all partitions of a topic from any
// offset, with long polls and, where the plan says so, a fetch session (KIP-227).
type consumer struct {
	w    *world
	n    uint64
	plan *ConsumerPlan
	link *link
	draw roller

	topic   *topicTruth
	at      []position
	session int32
	epoch   int32
	fetches uint64
	busy    bool
	done    bool
}

// position is where a consumer stands in a partition.
type position struct {
	offset int64
	told   int64 // the offset that the session knows; -1: it does not know the partition
	lost   bool  // the offset must be found anew
}

func newConsumer(w *world, n int, plan *ConsumerPlan) *consumer {
	return &consumer{w: w, n: uint64(n), plan: plan, draw: roller{d: w.dice, p: drawConsumer, entity: uint64(n)}}
}

func (c *consumer) name() string { return "consumer-" + utoa(c.n) }

func (c *consumer) begin() { c.later(c.plan.Every) }

func (c *consumer) later(d env.Time) {
	c.busy = false
	c.w.in(d/2+env.Time(c.draw.below(int64(d)+1)), c.poll)
}

// poll is the consumer's loop: one request at a time.
func (c *consumer) poll() {
	if c.done {
		return
	}
	topic := c.w.crowd.topic(c.plan.Topic)
	if topic == nil || c.w.crowd.resting() > 0 {
		c.later(c.w.crowd.resting() + time500)
		return
	}
	if topic != c.topic {
		c.topic = topic
		c.at = make([]position, len(topic.parts))
		for i := range c.at {
			c.at[i] = position{told: -1}
		}
		c.newSession()
	}
	if c.link == nil || !c.link.open {
		c.link = c.w.net.dial(c.name())
		c.newSession()
	}
	if c.link == nil {
		c.later(100 * env.Millisecond)
		return
	}
	c.busy = true
	for i := range c.at {
		if c.at[i].lost || c.draw.chance(c.plan.Lists) {
			c.list(int32(i))
			return
		}
	}
	c.fetch()
}

const time500 = 500 * env.Millisecond

func (c *consumer) newSession() {
	c.session, c.epoch = 0, 0
	for i := range c.at {
		c.at[i].told = -1
	}
}

func (c *consumer) fetch() {
	c.fetches++
	if c.draw.chance(c.plan.Rewinds) {
		p := &c.at[c.draw.below(int64(len(c.at)))]
		l := c.topic.parts[0]
		for i := range c.at {
			if &c.at[i] == p {
				l = c.topic.parts[i]
			}
		}
		p.offset = l.start + c.draw.below(l.floor-l.start+1)
	}
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(c.plan.Version)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = c.plan.MaxWait, c.plan.MinBytes, c.plan.MaxBytes
	req.SessionEpoch = -1
	if c.plan.Session && c.plan.Version >= 7 {
		req.SessionID, req.SessionEpoch = c.session, c.epoch
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = c.topic.name, c.topic.id
	asked := make([]int64, len(c.at))
	views := make([]view, len(c.at))
	for i := range c.at {
		p := &c.at[i]
		asked[i], views[i] = p.offset, c.topic.parts[i].view()
		if req.SessionEpoch > 0 && p.told == p.offset {
			continue
		}
		p.told = p.offset
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.CurrentLeaderEpoch = int32(i), p.offset, -1
		part.PartitionMaxBytes = c.plan.MaxBytes/2 + 1
		topic.Partitions = append(topic.Partitions, part)
	}
	if len(topic.Partitions) > 0 {
		req.Topics = append(req.Topics, topic)
	}
	mine := c.topic
	changes := c.w.crowd.topics[c.plan.Topic].changes
	events := c.w.story.poll(c, mine, asked)
	c.link.send(req, 40*env.Second+env.Time(c.plan.MaxWait)*env.Millisecond, func(r kmsg.Response) {
		if r == nil {
			c.later(100 * env.Millisecond)
			return
		}
		// A name may mean another topic by now; an id never does.
		sure := c.plan.Version >= 13 || !c.w.plan.Topics[c.plan.Topic].Churn || changes == c.w.crowd.topics[c.plan.Topic].changes && c.w.crowd.topics[c.plan.Topic].pending == 0
		c.fetched(mine, asked, views, events, r.(*kmsg.FetchResponse), sure)
	})
}

func (c *consumer) fetched(topic *topicTruth, asked []int64, views []view, events []int64, r *kmsg.FetchResponse, sure bool) {
	if topic != c.topic || !sure {
		c.newSession()
		c.later(c.plan.Every)
		return
	}
	switch r.ErrorCode {
	case env.NoError:
	case env.FetchSessionIDNotFound, env.InvalidFetchSessionEpoch, env.FetchSessionTopicIDError:
		c.newSession()
		c.later(c.plan.Every)
		return
	default:
		if !c.w.plan.Topics[c.plan.Topic].Churn {
			c.w.crowd.checkRefusal("Fetch", r.ErrorCode)
		}
		c.later(100 * env.Millisecond)
		return
	}
	if c.plan.Session && c.plan.Version >= 7 {
		if c.epoch == 0 {
			c.session = r.SessionID
		}
		if c.epoch++; c.session == 0 {
			c.epoch = 0
		}
	}
	for i := range r.Topics {
		for k := range r.Topics[i].Partitions {
			c.part(topic, asked, views, events, &r.Topics[i].Partitions[k])
		}
	}
	c.later(c.plan.Every)
}

func (c *consumer) part(topic *topicTruth, asked []int64, views []view, events []int64, p *kmsg.FetchResponseTopicPartition) {
	i := p.Partition
	if int(i) >= len(asked) {
		c.w.fail(inconsistent, "%s: an answer for partition %d, which does not exist", c.name(), i)
	}
	l := topic.parts[i]
	start := p.LogStartOffset
	if c.plan.Version < 5 {
		start = -1
	}
	switch p.ErrorCode {
	case env.NoError:
		if events != nil {
			c.w.story.polled(events[i], asked[i], p.HighWatermark, start, p.RecordBatches)
		}
		c.at[i].offset = c.w.truth.fetched(l, views[i], asked[i], p.HighWatermark, start, p.RecordBatches)
	case env.OffsetOutOfRange:
		c.w.truth.outOfRange(l, views[i], asked[i])
		c.at[i].lost = true
	case env.UnknownTopicOrPartition, env.UnknownTopicID:
		if !c.w.plan.Topics[c.plan.Topic].Churn {
			c.w.fail(lost, "%s is gone: error %d", l, p.ErrorCode)
		}
		c.newSession()
	case env.KafkaStorageError:
		if !l.rotten {
			c.w.fail(lost, "%s offset %d: KAFKA_STORAGE_ERROR on a sound disk", l, asked[i])
		}
		c.at[i].lost = true
	default:
		c.w.crowd.checkRefusal("Fetch", p.ErrorCode)
	}
}

// list asks where a partition begins or ends, or for a timestamp.
func (c *consumer) list(partition int32) {
	p := &c.at[partition]
	l := c.topic.parts[partition]
	ask := pick(&c.draw, int64(-1), -2, 0)
	if ask == 0 {
		ask = c.w.clock().WallMillis() - c.draw.below(int64(c.w.now/env.Millisecond)+1000)
		if n := int64(len(l.claims)); n > 0 && c.draw.chance(500) { // the very time of some record
			if x := l.claims[c.draw.below(n)]; x.id != 0 && x.time > 0 {
				ask = x.time
			}
		}
	}
	if p.lost {
		ask = -2
		if p.offset > l.start {
			ask = -1
		}
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(pick(&c.draw, int16(1), 2, 3, 4, 5, 6, 7, 8))
	req.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = c.topic.name
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.CurrentLeaderEpoch, part.Timestamp = partition, -1, ask
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	v := l.view()
	mine := c.topic
	event := int64(0)
	if ask == -1 {
		event = c.w.story.latest(c, l)
	}
	cache := &c.w.crowd.topics[c.plan.Topic]
	changes := cache.changes
	c.link.send(req, 40*env.Second, func(r kmsg.Response) {
		if r == nil {
			c.later(100 * env.Millisecond)
			return
		}
		if mine == c.topic && (!c.w.plan.Topics[c.plan.Topic].Churn || changes == cache.changes && cache.pending == 0 && !c.w.crowd.inDoubt(c.plan.Topic)) {
			c.listed(l, v, p, ask, event, &r.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0])
		}
		c.later(c.plan.Every)
	})
}

func (c *consumer) listed(l *logTruth, v view, p *position, ask, event int64, a *kmsg.ListOffsetsResponseTopicPartition) {
	if a.ErrorCode != env.NoError {
		if !c.w.plan.Topics[c.plan.Topic].Churn {
			c.w.crowd.checkRefusal("ListOffsets", a.ErrorCode)
		}
		return
	}
	switch ask {
	case -1:
		c.w.story.toldLatest(event, a.Offset)
		c.w.truth.bounds(l, v, a.Offset, -1)
	case -2:
		c.w.truth.bounds(l, v, -1, a.Offset)
	default:
		c.w.truth.foundTime(l, v, ask, a.Offset, a.Timestamp)
		return
	}
	if p.lost {
		p.lost = false
		p.offset = a.Offset
	}
}
