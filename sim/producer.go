package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// producer is a simulated producer: it keeps batches of each partition in order,
// has several in flight, and sends again, with the same sequence, what it has no
// answer for.
type producer struct {
	w    *world
	n    uint64
	plan *ProducerPlan
	link *link
	draw roller

	id       int64 // producer id; -1: not asked for yet, or plain
	epoch    int16
	asking   bool
	bumping  bool // it asks for a new epoch as soon as nothing is open
	session  uint64
	lines    []line // by partition
	inFlight int
	resting  bool
	done     bool // it makes no new batches
	fails    int
}

// line is what a producer has open on one partition, in order.
type line struct {
	sequence int32
	order    int64
	acked    int64 // behind the last record acknowledged in this session
	open     []*parcel
}

// parcel is one batch on its way.
type parcel struct {
	partition int32
	first     uint64 // the id of its first record
	count     int
	bytes     record.Batch
	sent      bool // under way on the present connection
	born      env.Time
	topicID   [16]byte
	event     int64 // in the history; 0: not there, or ended
	tries     int
	spoilt    bool // it was sent with a byte changed this time
	refused   bool // it was sent once only, and surely not appended
}

func newProducer(w *world, n int, plan *ProducerPlan) *producer {
	p := &producer{w: w, n: uint64(n), plan: plan, id: -1, draw: roller{d: w.dice, p: drawProducer, entity: uint64(n)}}
	p.lines = make([]line, w.plan.Topics[plan.Topic].Partitions)
	return p
}

func (p *producer) name() string { return "producer-" + utoa(p.n) }

func (p *producer) begin() { p.w.in(env.Time(p.draw.below(int64(p.plan.Every))), p.tick) }

// tick makes one batch, if there is room for it, and comes again.
func (p *producer) tick() {
	if p.done {
		return
	}
	p.w.in(p.w.crowd.resting()+p.plan.Every/2+env.Time(p.draw.below(int64(p.plan.Every))), p.tick)
	if p.w.crowd.resting() > 0 {
		return
	}
	topic := p.w.crowd.topic(p.plan.Topic)
	if topic == nil || p.open() >= p.plan.InFlight || p.bumping || p.asking {
		p.pump()
		return
	}
	if p.plan.Idempotent && p.id < 0 {
		p.askID()
		return
	}
	p.make(topic)
	p.pump()
}

func (p *producer) open() int {
	n := 0
	for i := range p.lines {
		n += len(p.lines[i].open)
	}
	return n
}

// make adds a batch of new records to a partition's line.
func (p *producer) make(topic *topicTruth) {
	part := int32(p.draw.below(int64(len(p.lines))))
	l := &p.lines[part]
	now := p.w.clock().WallMillis()
	count := 1 + int(p.draw.below(int64(p.plan.Records)))
	c := &parcel{partition: part, count: count, born: p.w.now, topicID: topic.id}
	spec := record.NoProducer()
	session := uint64(0)
	if p.plan.Idempotent {
		spec.ProducerID, spec.ProducerEpoch, spec.Sequence = p.id, p.epoch, l.sequence
		l.sequence = record.AddSequence(l.sequence, int32(count))
		session = p.session
	}
	records := make([]record.Record, count)
	for i := range records {
		size := 8 + int(p.draw.below(int64(p.plan.ValueBytes)))
		at := now + p.draw.between(-20, 20)
		id := p.w.truth.newRecord(recordTruth{topic: p.plan.Topic, partition: part, time: at, size: int32(size), session: session, order: l.order})
		if i == 0 {
			c.first = id
		}
		l.order++
		records[i] = record.Record{Time: at, Value: fill(id, size)}
		if p.draw.chance(300) {
			records[i].Key = []byte("key-" + utoa(id%16))
		}
	}
	c.bytes = record.Build(spec, records)
	if p.plan.Codecs {
		codec := pick(&p.draw, env.None, env.Gzip, env.Snappy, env.LZ4, env.Zstd)
		if codec == env.Zstd && p.plan.Version < 7 { // KIP-110
			codec = env.Gzip
		}
		c.bytes = pack(c.bytes, codec)
	}
	l.open = append(l.open, c)
}

// pump sends what is not under way, each partition in its order.
func (p *producer) pump() {
	if p.resting || p.asking {
		return
	}
	if p.open() == 0 {
		if p.bumping {
			p.bump()
		}
		return
	}
	if p.link != nil && !p.link.open && len(p.link.waiting) > 0 {
		return // what was under way on the lost connection goes first on the next one
	}
	if !p.connect() {
		p.rest(100 * env.Millisecond)
		return
	}
	for i := range p.lines {
		open := p.lines[i].open
		under := len(open) > 0 && open[0].sent // under way since earlier
		for k, c := range open {
			// As Kafka's producer does, a batch goes again only when it is the first
			// that has no answer: else it could overtake those before it.
			if k > 0 && under && c.tries > 0 && p.plan.Idempotent {
				break
			}
			if !c.sent {
				p.send(c)
				if !p.link.open {
					return // lost meanwhile; the answers to what was sent tell us
				}
			}
		}
	}
}

func (p *producer) connect() bool {
	if p.link == nil || !p.link.open {
		p.link = p.w.net.dial(p.name())
	}
	return p.link != nil
}

func (p *producer) rest(d env.Time) {
	if p.resting {
		return
	}
	p.resting = true
	p.w.in(d/2+env.Time(p.draw.below(int64(d))), func() {
		p.resting = false
		p.pump()
	})
}

func (p *producer) send(c *parcel) {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(p.plan.Version)
	req.Acks = p.plan.Acks
	req.TimeoutMillis = int32(p.plan.Timeout / env.Millisecond)
	topic := p.w.truth.topics[c.topicID]
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic.name, topic.id
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition = c.partition
	part.Records = c.bytes
	c.spoilt = !p.w.faults.healed && p.draw.chance(p.w.plan.Net.Corrupt)
	if c.spoilt {
		part.Records = append([]byte(nil), c.bytes...)
		part.Records[record.HeaderSize+int(p.draw.below(int64(len(c.bytes)-record.HeaderSize)))] ^= 1 << p.draw.below(8)
		p.w.stats.drew("corrupt-batch")
	}
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	c.sent = true
	c.tries++
	c.refused = false
	for i := range c.count {
		p.w.truth.records[c.first+uint64(i)].attempts++
	}
	if c.tries == 1 {
		p.w.story.produce(p, p.w.truth.log(c.topicID, c.partition), c)
	}
	p.inFlight++
	if p.plan.Acks == 0 {
		p.settle(c)
	}
	p.link.send(req, p.plan.Timeout+p.plan.Timeout/4, func(r kmsg.Response) {
		p.inFlight--
		if p.plan.Acks == 0 {
			return
		}
		if r == nil {
			c.sent = false
			p.failed(c)
			return
		}
		p.answered(c, r.(*kmsg.ProduceResponse))
	})
}

// settle ends a parcel.
func (p *producer) settle(c *parcel) {
	l := &p.lines[c.partition]
	for i := range l.open {
		if l.open[i] == c {
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return
		}
	}
}

func (p *producer) answered(c *parcel, r *kmsg.ProduceResponse) {
	a := &r.Topics[0].Partitions[0]
	l := p.w.truth.log(c.topicID, c.partition)
	switch a.ErrorCode {
	case env.NoError:
		p.fails = 0
		p.settle(c)
		line := &p.lines[c.partition]
		p.holdGap(l, line, c)
		line.acked = max(line.acked, p.w.truth.records[c.first].order+int64(c.count))
		p.w.story.produced(c, a.BaseOffset)
		p.w.truth.produced(l, a.BaseOffset, c.first, c.count, p.plan.Acks, a.LogAppendTime)
		if p.plan.Idempotent && p.draw.chance(p.plan.Bumps) {
			p.bumping = true
		}
		p.pump()
	case env.CorruptMessage:
		if !c.spoilt {
			p.w.fail(inconsistent, "%s: a sound batch of %s is called corrupt", l, p.name())
		}
		c.sent = false
		c.refused = c.tries == 1
		p.failed(c)
	case env.DuplicateSequenceNumber: // stored long ago, the offset is forgotten
		p.settle(c)
		p.pump()
	case env.OutOfOrderSequenceNumber, env.UnknownProducerID, env.InvalidProducerEpoch:
		c.sent = false
		if !p.plan.Idempotent {
			p.w.fail(notOnce, "%s: a plain producer is answered error %d", l, a.ErrorCode)
		}
		if p.lines[c.partition].open[0] != c {
			p.failed(c) // an earlier one did not arrive; all go again in order
			return
		}
		acked := p.lines[c.partition].acked
		if acked > 0 && p.w.truth.records[c.first].order == acked && p.resentSame(l) {
			p.w.fail(notOnce, "%s: %s sends sequence %d of producer %d epoch %d, the next one due, and is refused with error %d",
				l, p.name(), c.bytes.BaseSequence(), p.id, p.epoch, a.ErrorCode)
		}
		p.abandon()
	case env.UnknownTopicOrPartition, env.UnknownTopicID:
		if !p.w.plan.Topics[p.plan.Topic].Churn {
			p.w.fail(lost, "%s is gone: error %d", l, a.ErrorCode)
		}
		p.settle(c)
		p.restart()
	case env.NotLeaderOrFollower, env.RequestTimedOut, env.KafkaStorageError, leaderNotAvailable:
		c.sent = false
		p.failed(c)
	default:
		p.w.fail(inconsistent, "%s: a sound batch of %s is refused with error %d", l, p.name(), a.ErrorCode)
	}
}

// holdGap: a batch may not be taken while the one before it was surely refused.
func (p *producer) holdGap(l *logTruth, line *line, c *parcel) {
	if !p.plan.Idempotent || line.acked == 0 || !p.resentSame(l) {
		return
	}
	for _, o := range line.open {
		if o.refused && o.first < c.first {
			p.w.fail(notOnce, "%s: sequence %d of producer %d epoch %d is taken, and %d before it was refused", l, c.bytes.BaseSequence(), p.id, p.epoch, o.bytes.BaseSequence())
		}
	}
}

// resentSame tells whether a refused sequence breaks a promise: on a durable
// topic nothing that the broker knew of this producer may be forgotten. (A broker
// that knows nothing of a producer takes any sequence first, KIP-360: then one
// that overtook others shuts them out.)
func (p *producer) resentSame(l *logTruth) bool {
	return !l.topic.relaxed && !p.w.plan.Topics[p.plan.Topic].Churn && !l.rotten
}

// failed waits a moment before what failed goes again.
func (p *producer) failed(c *parcel) {
	p.fails++
	if p.w.now-c.born > 120*env.Second && !p.w.faults.healed || p.w.crowd.topicID(p.plan.Topic) != c.topicID {
		p.abandon()
		return
	}
	p.rest(50 * env.Millisecond)
}

// abandon gives up all that is open: nobody will know what became of it. What is
// under way may still arrive.
func (p *producer) abandon() {
	for i := range p.lines {
		p.lines[i].open = nil
	}
	if p.link != nil {
		p.link.close()
	}
	p.restart()
}

// restart makes it a new producer.
func (p *producer) restart() {
	if p.plan.Idempotent {
		for i := range p.lines {
			for _, c := range p.lines[i].open {
				p.settle(c)
			}
			p.lines[i] = line{}
		}
		p.id, p.bumping = -1, false
	}
}

// bump goes on under the next epoch, as Kafka's idempotent producer does by
// itself, or under a new producer id where the epochs end.
func (p *producer) bump() {
	p.bumping = false
	for i := range p.lines {
		p.lines[i] = line{}
	}
	p.session = p.w.crowd.newSession()
	if p.epoch++; p.epoch > p.w.plan.Limits.EpochMax-1 || p.draw.chance(200) {
		p.id = -1
	}
}

func (p *producer) askID() {
	if p.resting {
		return
	}
	if !p.connect() {
		p.rest(100 * env.Millisecond)
		return
	}
	p.asking = true
	req := kmsg.NewPtrInitProducerIDRequest()
	req.SetVersion(pick(&p.draw, int16(0), 1, 2, 3, 4, 5))
	req.ProducerID, req.ProducerEpoch = -1, -1
	req.TransactionTimeoutMillis = 60000
	p.link.send(req, 30*env.Second, func(r kmsg.Response) {
		p.asking = false
		if r == nil {
			p.rest(100 * env.Millisecond)
			return
		}
		a := r.(*kmsg.InitProducerIDResponse)
		if a.ErrorCode != env.NoError {
			p.w.crowd.checkRefusal("InitProducerId", a.ErrorCode)
			p.rest(200 * env.Millisecond)
			return
		}
		p.w.crowd.newProducerID(a.ProducerID)
		p.id, p.epoch = a.ProducerID, a.ProducerEpoch
		p.session = p.w.crowd.newSession()
		p.lines = make([]line, len(p.lines))
	})
}
