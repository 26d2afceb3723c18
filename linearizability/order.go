package linearizability

import (
	"cmp"
	"fmt"
	"slices"
)

// A partition is an append-only register: append puts a batch at the end, latest
// reads the end. When every append's offset is known, only one order of the
// operations is possible: by offset, a read of end v after all that lies below v
// and before all that lies at or above it. The history is linearizable if each
// operation can be given a point inside its interval such that the points come
// in that order:
//
//	point = the latest Invoke of all that comes before, or its own
//	      > Return  →  no such point: the one with that Invoke began after this
//	                   one was answered, and must yet come before it
//
// An acknowledged append was answered at its Return; one whose outcome is unknown
// but whose record was read has time for ever.

// step is one operation in the forced order.
type step struct {
	base, end int64 // an append fills [base, end); a read of the end has base == end
	call, ret int64
	read      bool
	op        *Operation
}

// never is the return of an operation that was not answered.
const never = int64(1) << 62

// steps are the operations of the partition in the forced order. A read of end v
// stands before the append at v.
func (log *observed) steps(opt *Options) []step {
	steps := make([]step, 0, len(log.produces)+len(log.latests))
	for _, o := range log.produces {
		if acknowledged(o) {
			steps = append(steps, step{o.Result.Base, o.Result.Base + int64(len(o.Sent)), o.Invoke, o.Return, false, o})
		}
	}
	for i := range log.slots {
		if s := &log.slots[i]; s.by != nil && s.ack == nil {
			if n, ok := log.ids[s.id]; ok && log.sent[n].first.Outcome != Fail {
				o := log.sent[n].first
				steps = append(steps, step{log.offsets[i], log.offsets[i] + 1, o.Invoke, never, false, o})
			}
		}
	}
	for _, o := range log.latests {
		steps = append(steps, step{o.Result.End, o.Result.End, o.Invoke, o.Return, true, o})
	}
	if opt.FetchEnds {
		for _, o := range log.ops {
			if o.Op == Poll && o.Outcome == OK && o.Result.End >= 0 {
				steps = append(steps, step{o.Result.End, o.Result.End, o.Invoke, o.Return, true, o})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		if d := cmp.Compare(a.base, b.base); d != 0 {
			return d
		}
		return cmp.Compare(a.end, b.end)
	})
	return steps
}

// checkOrder is the greedy sweep.
func (log *observed) checkOrder(c *findings) {
	steps := log.steps(&c.opt)
	var latest, whole *step // the step before with the latest call; the append before with the highest end
	for i := 0; i < len(steps); {
		n := i + 1
		for steps[i].read && n < len(steps) && steps[n].read && steps[n].base == steps[i].base {
			n++ // reads of one end are in no order among themselves
		}
		for j := i; j < n; j++ {
			s := &steps[j]
			if latest != nil && latest.call > s.ret {
				log.misplaced(c, latest, s)
			}
			if s.read && whole != nil && whole.end > s.end {
				log.inside(c, whole, s)
			}
		}
		for j := i; j < n; j++ {
			s := &steps[j]
			if latest == nil || s.call > latest.call {
				latest = s
			}
			if !s.read && (whole == nil || s.end > whole.end) {
				whole = s
			}
		}
		i = n
	}
	log.checkVanished(c, steps)
}

// misplaced: before stands before after in the log, but began when after was answered.
func (log *observed) misplaced(c *findings, before, after *step) {
	if before.op.Process == after.op.Process && acknowledged(before.op) && acknowledged(after.op) {
		return // checkSends says it better
	}
	a := Anomaly{Kind: NotLinearizable, Offset: after.base}
	if !after.read {
		a.Record = after.op.Sent[0].ID
	}
	if c.wants(a.Kind) {
		a.Text = fmt.Sprintf("%s was answered at event %d; only then, at event %d, began %s, which has to come before it.",
			after.describe(), after.ret, before.call, before.describe())
	}
	c.found(log.stretch, a, after.op, before.op)
}

// inside: a read of the end lies within a batch.
func (log *observed) inside(c *findings, batch, read *step) {
	c.found(log.stretch, Anomaly{Kind: NotLinearizable, Offset: read.end,
		Text: fmt.Sprintf("The log's end was said to be %d, inside the batch at [%d, %d).", read.end, batch.base, batch.end)}, batch.op, read.op)
}

func (s *step) describe() string {
	switch {
	case s.read && s.op.Op == Poll:
		return fmt.Sprintf("a poll that told the watermark %d", s.end)
	case s.read:
		return fmt.Sprintf("a read of the end %d", s.end)
	default:
		return fmt.Sprintf("the append at [%d, %d)", s.base, s.end)
	}
}

// checkVanished: what a consumer has read lies before every end that is asked for later.
func (log *observed) checkVanished(c *findings, steps []step) {
	polls := slices.Clone(log.polls)
	slices.SortFunc(polls, func(a, b *Operation) int { return cmp.Compare(span(b)[1], span(a)[1]) })
	var first *Operation // of the polls that read past the step's end, the one answered first
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		if !s.read {
			continue
		}
		for len(polls) > 0 && span(polls[0])[1] > s.end {
			if first == nil || polls[0].Return < first.Return {
				first = polls[0]
			}
			polls = polls[1:]
		}
		if first != nil && first.Return < s.call {
			a := Anomaly{Kind: NotLinearizable, Offset: s.end}
			if c.wants(a.Kind) {
				a.Text = fmt.Sprintf("Offset %d was read, and later the log's end was said to be %d.", span(first)[1]-1, s.end)
			}
			c.found(log.stretch, a, first, s.op)
		}
	}
}
