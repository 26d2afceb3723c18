package sim

import (
	"strings"

	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/linearizability"
)

// chronicle writes down what clients did and saw, for the judge that knows
// nothing but that (linearizability): a second opinion on every run, by other
// code than truth's, and the same as judges a real broker.
type chronicle struct {
	w       *world
	history linearizability.History
}

// tells whether a topic is written down. One that is deleted and created again is not.
func (c *chronicle) tells(topic int) bool { return !c.w.plan.Topics[topic].Churn }

// Processes of the history: consumers, plain producers, and sessions of
// idempotent ones, which are processes of their own.
const (
	consumerProcess = 0
	plainProcess    = 1 << 10
	sessionProcess  = 1 << 20
)

func (c *chronicle) produce(p *producer, l *logTruth, x *parcel) {
	if !c.tells(p.plan.Topic) {
		return
	}
	o := linearizability.Operation{Process: plainProcess + int64(p.n), Op: linearizability.Produce, Topic: l.topic.name, Partition: l.partition}
	if p.plan.Idempotent {
		o.Process, o.Idempotent = sessionProcess+int64(p.session), true
	}
	switch p.plan.Acks {
	case 0:
		o.Acks = linearizability.AcksNone
	case 1:
		o.Acks = linearizability.AcksOne
	}
	for i := range x.count {
		o.Sent = append(o.Sent, linearizability.Record{ID: x.first + uint64(i)})
	}
	x.event = c.history.Invoke(o)
}

func (c *chronicle) produced(x *parcel, base int64) {
	if x.event == 0 {
		return
	}
	r := linearizability.NoResult()
	r.Base, r.Attempts = base, x.tries
	c.history.Done(x.event, linearizability.OK, r)
	x.event = 0
}

// poll begins the polls of a fetch, one for each partition.
func (c *chronicle) poll(r *consumer, topic *topicTruth, asked []int64) []int64 {
	if !c.tells(topic.plan) {
		return nil
	}
	events := make([]int64, len(asked))
	for i, from := range asked {
		events[i] = c.history.Invoke(linearizability.Operation{Process: consumerProcess + int64(r.n), Op: linearizability.Poll, Topic: topic.name, Partition: int32(i), Offset: from})
	}
	return events
}

// auditProcess is the auditor's.
const auditProcess = 1 << 9

func (c *chronicle) audit(l *logTruth, from int64) int64 {
	if !c.tells(l.topic.plan) {
		return 0
	}
	return c.history.Invoke(linearizability.Operation{Process: auditProcess, Op: linearizability.Poll, Topic: l.topic.name, Partition: l.partition, Offset: from})
}

func (c *chronicle) polled(event, from, hw, start int64, data []byte) {
	r := linearizability.NoResult()
	r.End, r.Start = hw, start
	for b, rest, ok := record.Next(data); ok; b, rest, ok = record.Next(rest) {
		plain, _ := unpack(b)
		records, _ := record.Parse(b, plain)
		for i := range records {
			if records[i].Offset >= from {
				r.Records = append(r.Records, linearizability.Record{ID: recordID(&records[i]), Offset: records[i].Offset})
			}
		}
	}
	c.history.Done(event, linearizability.OK, r)
}

func (c *chronicle) latest(r *consumer, l *logTruth) int64 {
	if !c.tells(l.topic.plan) {
		return 0
	}
	return c.history.Invoke(linearizability.Operation{Process: consumerProcess + int64(r.n), Op: linearizability.Latest, Topic: l.topic.name, Partition: l.partition})
}

func (c *chronicle) toldLatest(event, end int64) {
	if event > 0 {
		r := linearizability.NoResult()
		r.End = end
		c.history.Done(event, linearizability.OK, r)
	}
}

func (c *chronicle) purge(a *admin, l *logTruth, to int64) int64 {
	return c.history.Invoke(linearizability.Operation{Process: consumerProcess - int64(a.n), Op: linearizability.Delete, Topic: l.topic.name, Partition: l.partition, Offset: to})
}

func (c *chronicle) purged(event int64) {
	c.history.Done(event, linearizability.OK, linearizability.NoResult())
}

// judge holds the whole history against the promises. Where synced bytes were
// changed, what is missing may be refused, and a history can not tell the difference.
func (c *chronicle) judge() {
	if c.w.truth.damaged() {
		return
	}
	c.history.Note(linearizability.Final, "every partition was read to its end")
	find := func(name string) *TopicPlan {
		for i := range c.w.plan.Topics {
			if c.w.plan.Topics[i].Name == name {
				return &c.w.plan.Topics[i]
			}
		}
		return &TopicPlan{}
	}
	v := linearizability.Check(&c.history, linearizability.Options{
		Relaxed: func(topic string) bool { return find(topic).Relaxed() },
		Expires: func(topic string) bool {
			t := find(topic)
			return t.Purge || t.setting("retention.ms")+t.setting("retention.bytes") != ""
		},
		FetchEnds: true,
	})
	c.w.stats.Judged += int64(v.Operations)
	if v.Judgement() != linearizability.Holds {
		var b strings.Builder
		v.Report(&b)
		what := notLinear
		if v.Judgement() == linearizability.Undecided {
			what = undecided
		}
		if v.Has(linearizability.LostWrite) || v.Has(linearizability.Unseen) {
			what = lost
		}
		c.w.fail(what, "the history of what clients saw: %s", b.String())
	}
}
