package linearizability

import (
	"cmp"
	"fmt"
	"slices"
)

// Options say what the world was allowed to do while the history was made. The
// zero Options allow nothing beyond the promises of a durable topic.
type Options struct {
	// Expires says that retention may move the topic's log start: the start that
	// answers tell is believed. Otherwise only DeleteRecords moves it.
	Expires func(topic string) bool
	// Relaxed says that the topic's acks do not wait for the medium: at each
	// PowerLoss it may lose a tail, so each stretch between two is judged alone.
	Relaxed func(topic string) bool
	// FetchEnds says that the watermark in a Poll's answer is the leader's own and
	// never old, as on a single node, so that it counts as a read of the end.
	FetchEnds bool
	// Examples is how many anomalies of each kind are kept; 0: five.
	Examples int
}

func (o *Options) expires(topic string) bool { return o.Expires != nil && o.Expires(topic) }
func (o *Options) relaxed(topic string) bool { return o.Relaxed != nil && o.Relaxed(topic) }

// Check judges a history by linear passes: every anomaly, and linearizability by
// a greedy sweep in the order that the known offsets force.
func Check(h *History, opt Options) Verdict {
	c := newFindings(opt)
	parts := split(h, &opt)
	for i := range parts {
		parts[i].check(c)
	}
	c.verdict.Partitions = countPartitions(h)
	c.verdict.Operations = len(h.ops)
	if c.verdict.Acknowledged == 0 && c.verdict.Read == 0 && c.verdict.Ends == 0 {
		c.doubt("the history has no acknowledged record, no record read and no end read: there is nothing to judge")
	}
	sortAnomalies(c.verdict.Anomalies)
	return c.verdict
}

// check runs every pass over one stretch of one partition.
func (p *stretch) check(c *findings) {
	log := p.observe(c)
	log.checkRecords(c)
	log.checkLost(c)
	log.checkPolls(c)
	log.checkSends(c)
	log.checkStarts(c)
	log.checkOrder(c)
}

// findings collects what the passes find.
type findings struct {
	opt     Options
	verdict Verdict
}

func newFindings(opt Options) *findings {
	if opt.Examples <= 0 {
		opt.Examples = 5
	}
	return &findings{opt: opt}
}

// wants says whether the next anomaly of this kind is kept with its evidence;
// the caller builds no text for one that is not.
func (c *findings) wants(k Kind) bool { return c.verdict.Count[k] < c.opt.Examples }

// found counts an anomaly, and keeps it when it is one of the first of its kind.
func (c *findings) found(p *stretch, a Anomaly, evidence ...*Operation) {
	if c.wants(a.Kind) {
		a.Topic, a.Partition = p.topic, p.partition
		for _, o := range evidence {
			if o != nil && !slices.ContainsFunc(a.Evidence, func(e Operation) bool { return e.Invoke == o.Invoke }) {
				a.Evidence = append(a.Evidence, *o)
			}
		}
		c.verdict.Anomalies = append(c.verdict.Anomalies, a)
	}
	c.verdict.Count[a.Kind]++
}

func (c *findings) doubt(format string, args ...any) {
	c.verdict.Doubts = append(c.verdict.Doubts, fmt.Sprintf(format, args...))
}

func sortAnomalies(as []Anomaly) {
	slices.SortStableFunc(as, func(a, b Anomaly) int { return cmp.Compare(a.Kind, b.Kind) })
}

// place is one partition of one topic.
type place struct {
	topic     string
	partition int32
}

// stretch is one partition's part of a history within which every promise is
// asserted: all of it, or of a relaxed topic the time between two losses of power.
type stretch struct {
	place
	ops   []*Operation // by Invoke
	last  bool         // no stretch of this partition follows
	final bool         // the history says that after it all was read to the end
}

func countPartitions(h *History) int {
	seen := make(map[place]struct{})
	for i := range h.ops {
		seen[place{h.ops[i].Topic, h.ops[i].Partition}] = struct{}{}
	}
	return len(seen)
}

// split sorts the operations by partition, in the order of their first one.
func split(h *History, opt *Options) []stretch {
	var parts []stretch
	at := make(map[place]int)
	for i := range h.ops {
		o := &h.ops[i]
		key := place{o.Topic, o.Partition}
		n, ok := at[key]
		if !ok {
			n = len(parts)
			at[key] = n
			parts = append(parts, stretch{place: key, last: true})
		}
		parts[n].ops = append(parts[n].ops, o)
	}
	var losses []int64
	for _, n := range h.notes {
		switch n.Kind {
		case PowerLoss:
			losses = append(losses, n.Event)
		case Final:
			for i := range parts {
				parts[i].final = true
			}
		}
	}
	if len(losses) == 0 {
		return parts
	}
	var cut []stretch
	for _, p := range parts {
		if opt.relaxed(p.topic) {
			cut = append(cut, p.cut(losses)...)
		} else {
			cut = append(cut, p)
		}
	}
	return cut
}

// cut divides a relaxed topic's partition at the losses of power.
//
// A produce of an earlier stretch may have left its records in this one or not:
// it is here as one whose outcome is unknown. A read that spans a loss belongs to
// neither side.
func (p *stretch) cut(losses []int64) []stretch {
	var parts []stretch
	from := int64(0)
	for i := 0; i <= len(losses); i++ {
		to := int64(1) << 62
		if i < len(losses) {
			to = losses[i]
		}
		s := stretch{place: p.place, last: i == len(losses), final: p.final && i == len(losses)}
		for _, o := range p.ops {
			within := o.Invoke > from && (o.Return == 0 || o.Return < to)
			switch {
			case o.Invoke > to:
			case within, o.Op == Delete, o.Op == Produce && o.Outcome == Fail:
				s.ops = append(s.ops, o)
			case o.Op == Produce:
				doubtful := *o
				doubtful.Return, doubtful.Outcome = 0, Unknown
				s.ops = append(s.ops, &doubtful)
			}
		}
		parts = append(parts, s)
		from = to
	}
	return parts
}
