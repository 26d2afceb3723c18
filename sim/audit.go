package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// auditor reads every partition from its start to its end once faults have
// stopped: all that was acknowledged must be there, at its place, once.
type auditor struct {
	w     *world
	link  *link
	logs  []*logTruth
	at    int64
	begun bool // the start of the present log is known
	last  map[uint64]int64
	tries int
}

func newAuditor(w *world) *auditor {
	a := &auditor{w: w}
	for i := range w.crowd.topics {
		if t := w.crowd.topics[i].now; t != nil {
			a.logs = append(a.logs, t.parts...)
		}
	}
	return a
}

func (a *auditor) done() bool { return len(a.logs) == 0 }

func (a *auditor) again(d env.Time) { a.w.in(d, a.next) }

func (a *auditor) next() {
	if a.done() {
		return
	}
	if a.link == nil || !a.link.open {
		if a.link = a.w.net.dial("auditor"); a.link == nil {
			a.again(100 * env.Millisecond)
			return
		}
	}
	if !a.begun {
		a.start()
		return
	}
	a.fetch()
}

func (a *auditor) start() {
	l := a.logs[0]
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(5)
	req.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = l.topic.name
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.CurrentLeaderEpoch, part.Timestamp = l.partition, -1, -2
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	v := l.view()
	a.link.send(req, 30*env.Second, func(r kmsg.Response) {
		if r == nil {
			a.again(100 * env.Millisecond)
			return
		}
		p := &r.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		switch {
		case a.isGone(l, p.ErrorCode):
			a.nextLog()
			return
		case p.ErrorCode != env.NoError:
			a.w.crowd.checkRefusal("ListOffsets", p.ErrorCode)
			a.again(200 * env.Millisecond)
			return
		}
		a.w.truth.bounds(l, v, -1, p.Offset)
		a.at, a.begun, a.last = p.Offset, true, map[uint64]int64{}
		a.again(0)
	})
}

func (a *auditor) fetch() {
	l := a.logs[0]
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 100, 1, 1<<20, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = l.topic.name
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.CurrentLeaderEpoch, part.PartitionMaxBytes = l.partition, a.at, -1, 1<<20
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	v := l.view()
	event := a.w.story.audit(l, a.at)
	a.link.send(req, 30*env.Second, func(r kmsg.Response) {
		if r == nil || r.(*kmsg.FetchResponse).ErrorCode != 0 {
			a.again(100 * env.Millisecond)
			return
		}
		a.take(l, v, event, &r.(*kmsg.FetchResponse).Topics[0].Partitions[0])
	})
}

func (a *auditor) take(l *logTruth, v view, event int64, p *kmsg.FetchResponseTopicPartition) {
	if a.isGone(l, p.ErrorCode) {
		a.nextLog()
		return
	}
	switch p.ErrorCode {
	case env.NoError:
	case env.OffsetOutOfRange: // retention went on meanwhile
		a.w.truth.outOfRange(l, v, a.at)
		a.begun = false
		a.again(0)
		return
	case env.KafkaStorageError:
		if !l.rotten {
			a.w.fail(lost, "%s offset %d: KAFKA_STORAGE_ERROR on a sound disk", l, a.at)
		}
		a.nextLog()
		return
	default:
		a.w.crowd.checkRefusal("Fetch", p.ErrorCode)
		a.again(100 * env.Millisecond)
		return
	}
	if event > 0 {
		a.w.story.polled(event, a.at, p.HighWatermark, p.LogStartOffset, p.RecordBatches)
	}
	next := a.w.truth.fetched(l, v, a.at, p.HighWatermark, p.LogStartOffset, p.RecordBatches)
	for o := a.at; o < next; o++ {
		a.order(l, o)
	}
	if next >= p.HighWatermark {
		a.nextLog()
		return
	}
	if a.tries++; next > a.at {
		a.tries = 0
	}
	if l.blind && a.tries > 3 {
		a.nextLog() // a loss at the end that an operator has accepted: it is stepped over when something follows
		return
	}
	if a.tries > 1000 {
		a.w.fail(stuck, "%s: offset %d is below the watermark %d and is not answered", l, a.at, p.HighWatermark)
	}
	a.at = next
	a.again(0)
}

func (a *auditor) nextLog() {
	a.logs, a.begun, a.tries = a.logs[1:], false, 0
	a.again(0)
}

// order holds that an idempotent producer's records stand in the order of their sequence.
func (a *auditor) order(l *logTruth, o int64) {
	if o >= int64(len(l.claims)) || l.claims[o].id == 0 {
		return
	}
	r := &a.w.truth.records[l.claims[o].id]
	if r.session == 0 {
		return
	}
	if last, ok := a.last[r.session]; ok && r.order <= last {
		a.w.fail(notOnce, "%s: at offset %d stands record %d of session %d, behind its record %d", l, o, r.order, r.session, last)
	}
	a.last[r.session] = r.order
}

// isGone: a deletion that nobody waits for any more may still have arrived.
func (a *auditor) isGone(l *logTruth, code int16) bool {
	return code == env.UnknownTopicOrPartition && a.w.plan.Topics[l.topic.plan].Churn
}
